"""The processor time that a JVM got, and the time that its threads waited for a processor, as Linux reports them."""

from __future__ import annotations

from pathlib import Path

from btpy.dataclass import dataclass
from btpy.jvm import procfs
from btpy.jvm.process_limits import group_directories

_CONTROLLERS = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class Scheduling:
    """Figures since the process began, without threads that have ended. ``ran``: the nanoseconds for which the threads
    of the process ran; ``waited``: the nanoseconds for which they were ready to run and had no processor. ``periods``:
    the periods with a limit of processor time for the control group of the process; ``throttled``: the periods in which
    the group has used up this limit.
    """

    ran: int = 0
    waited: int = 0
    periods: int = 0
    throttled: int = 0

    def since(self, earlier: Scheduling) -> Scheduling:
        return Scheduling(
            max(self.ran - earlier.ran, 0),
            max(self.waited - earlier.waited, 0),
            max(self.periods - earlier.periods, 0),
            max(self.throttled - earlier.throttled, 0),
        )


def scheduling_of(pid: int, proc: Path = Path("/proc"), controllers: Path = _CONTROLLERS) -> Scheduling:
    """All values are 0 if they cannot be read: on other systems, or because the process has ended."""
    ran = waited = 0
    for path in (proc / str(pid) / "task").glob("*/schedstat"):
        words = procfs.text(path).split()
        if len(words) == 3:
            ran, waited = ran + int(words[0]), waited + int(words[1])
    limits = dict(line.split() for line in _cpu_stat(pid, proc, controllers).splitlines() if len(line.split()) == 2)
    return Scheduling(ran, waited, int(limits.get("nr_periods", 0)), int(limits.get("nr_throttled", 0)))


def _cpu_stat(pid: int, proc: Path, controllers: Path) -> str:
    """The text of the first ``cpu.stat`` with periods in the control groups of the process."""
    groups = procfs.text(proc / str(pid) / "cgroup")
    for controller in ("", "cpu"):  # version 2 of control groups, and version 1
        for directory in group_directories(groups, controller, controllers):
            text = procfs.text(directory / "cpu.stat")
            if "nr_periods" in text:
                return text
    return ""
