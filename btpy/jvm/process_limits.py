"""Limits of the operating system, and of compiled code, that the agent could exceed.

btpy reads them from ``/proc`` and from the file systems of control groups, before it loads the agent. It reads the
limits of the memory and of the threads of the target's control group (version 1 and 2, and the groups above it), of its
address space (``ulimit -v``), of the threads of its user (``ulimit -u``), and of the code cache of the JVM.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from btpy.dataclass import dataclass
from btpy.jvm import procfs

LITTLE_MEMORY = "little-memory"
"""The value of ``--allow`` for a process that is near one of these limits."""

MIB = 1024 * 1024

_MEMORY_NEEDED = 24 * MIB
"""Metaspace, stacks and buffers of the agent, heap that was not in use before, and recompiled code."""

_ADDRESS_SPACE_NEEDED = 64 * MIB
"""Stacks of four threads (-Xss, 1 MB), metaspace, and an arena of the C library."""

_THREADS_NEEDED = 8
"""The threads of the agent."""

_CODE_CACHE_NEEDED = 512 * 1024

_UNLIMITED = 1 << 60
"""Version 1 of control groups writes a number near 2^63 for no limit."""

_PROC = Path("/proc")
_CGROUPS = Path("/sys/fs/cgroup")
_RESERVED_TO_ROOT = 1 << 24 | 1 << 21
"""CAP_SYS_RESOURCE and CAP_SYS_ADMIN: ``ulimit -u`` does not apply to a process with one of these capabilities."""


@dataclass(frozen=True, slots=True)
class Limit:
    """``left``: the free part of ``most``. ``needed``: the part that the agent needs. The figures are bytes if
    ``in_bytes``. ``set_by``: the origin of the limit.
    ``then``: the effect of reaching it. ``remedy``: a way to raise the limit.
    """

    name: str
    set_by: str
    most: int
    left: int
    needed: int
    then: str
    remedy: str
    in_bytes: bool = True

    @property
    def is_near(self) -> bool:
        return self.left < self.needed

    def shown(self, number: int) -> str:
        return f"{number / MIB:.1f} MB" if self.in_bytes else str(number)


def limits(pid: int, proc: Path = _PROC, cgroups: Path = _CGROUPS) -> tuple[Limit, ...]:
    """The limits of a process, as far as they can be read."""
    status = procfs.text(proc / str(pid) / "status")
    groups = procfs.text(proc / str(pid) / "cgroup")
    return (
        *_group_memory(groups, cgroups),
        *_group_threads(groups, cgroups),
        *_address_space(status, procfs.text(proc / str(pid) / "limits")),
        *_user_threads(status, procfs.text(proc / str(pid) / "limits"), proc),
    )


def code_cache(answer: str) -> Limit | None:
    """What ``Compiler.codecache`` printed; None if it cannot be parsed."""
    rows = re.findall(r"^CodeHeap .*?size=(\d+)Kb.*? free=(\d+)Kb", answer, re.MULTILINE)
    rows = rows or re.findall(r"^CodeCache: size=(\d+)Kb.*? free=(\d+)Kb", answer, re.MULTILINE)
    if not rows:
        return None
    return Limit(
        name="code cache",
        set_by="-XX:ReservedCodeCacheSize",
        most=sum(int(size) for size, _ in rows) * 1024,
        left=sum(int(free) for _, free in rows) * 1024,
        needed=_CODE_CACHE_NEEDED,
        then="a full code cache stops the compiler",
        remedy="start the JVM with a larger -XX:ReservedCodeCacheSize",
    )


def oom_kills(pid: int, proc: Path = _PROC, cgroups: Path = _CGROUPS) -> tuple[tuple[Path, int], ...]:
    """Files in which the kernel counts the processes of a control group that it has killed for lack of memory, and the
    current counts."""
    groups = procfs.text(proc / str(pid) / "cgroup")
    files = [directory / "memory.events" for directory in group_directories(groups, "", cgroups)]
    files += [directory / "memory.oom_control" for directory in group_directories(groups, "memory", cgroups)]
    return tuple((path, count) for path in files if (count := oom_kills_in(path)) is not None)


def oom_kills_in(path: Path) -> int | None:
    counted = re.search(r"^oom_kill (\d+)$", procfs.text(path), re.MULTILINE)
    return int(counted[1]) if counted else None


def _group_memory(groups: str, cgroups: Path) -> Iterator[Limit]:
    """The memory limit with the least free memory, of the control group and the groups above it."""
    limits = [
        limit
        for controller, names in _MEMORY_FILES.items()
        for directory in group_directories(groups, controller, cgroups)
        if (limit := _memory_of(directory, *names))
    ]
    if limits:
        yield min(limits, key=lambda limit: limit.left)


_MEMORY_FILES = {
    "": ("memory.max", "memory.current", ("inactive_file", "active_file")),
    "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes", ("total_inactive_file", "total_active_file")),
}
"""By the controller: the files with the limit and the usage, and in memory.stat the pages of files, which the kernel
takes back before it kills a process."""


def _memory_of(directory: Path, limit: str, usage: str, reclaimable: tuple[str, str]) -> Limit | None:
    most, current = _number(directory / limit), _number(directory / usage)
    if most is None or current is None or most >= _UNLIMITED:
        return None
    statistics = dict(re.findall(r"^(\w+) (\d+)$", procfs.text(directory / "memory.stat"), re.MULTILINE))
    files = sum(int(statistics.get(name, 0)) for name in reclaimable)
    return Limit(
        name="memory",
        set_by=f"{limit} of its control group",
        most=most,
        left=max(0, most - max(0, current - files)),
        needed=_MEMORY_NEEDED,
        then="the kernel kills a process of a control group that has no memory left",
        remedy="give the container or service more memory (docker update --memory, limits.memory, MemoryMax=)",
    )


def _group_threads(groups: str, cgroups: Path) -> Iterator[Limit]:
    limits = []
    for directory in (*group_directories(groups, "", cgroups), *group_directories(groups, "pids", cgroups)):
        most, current = _number(directory / "pids.max"), _number(directory / "pids.current")
        if most is not None and current is not None:
            remedy = "allow the container or service more threads (docker update --pids-limit, TasksMax=)"
            limits.append(_threads("pids.max of its control group", most, current, remedy))
    if limits:
        yield min(limits, key=lambda limit: limit.left)


def _user_threads(status: str, limits_: str, proc: Path) -> Iterator[Limit]:
    most = _soft(limits_, "Max processes")
    uid = _field(status, r"Uid:\s+(\d+)")
    capabilities = _field(status, r"CapEff:\s+([0-9a-f]+)", 16)
    if most is None or not uid or (capabilities or 0) & _RESERVED_TO_ROOT:
        return
    current = 0
    for directory in proc.iterdir():
        if directory.name.isdigit():
            other = procfs.text(directory / "status")
            if _field(other, r"Uid:\s+(\d+)") == uid:
                current += _field(other, r"Threads:\s+(\d+)") or 0
    yield _threads("ulimit -u of its user", most, current, "raise the limit: ulimit -u, or nproc in limits.conf")


def _threads(set_by: str, most: int, current: int, remedy: str) -> Limit:
    return Limit(
        name="threads",
        set_by=set_by,
        most=most,
        left=max(0, most - current),
        needed=_THREADS_NEEDED,
        then="the next thread that the program starts would fail with an OutOfMemoryError",
        remedy=remedy,
        in_bytes=False,
    )


def _address_space(status: str, limits_: str) -> Iterator[Limit]:
    most = _soft(limits_, "Max address space")
    size = _field(status, r"VmSize:\s+(\d+) kB")
    if most is not None and size is not None:
        yield Limit(
            name="address space",
            set_by="ulimit -v",
            most=most,
            left=max(0, most - size * 1024),
            needed=_ADDRESS_SPACE_NEEDED,
            then="a thread or a library that gets no addresses fails",
            remedy="start the JVM with a larger ulimit -v, or without a limit",
        )


def group_directories(groups: str, controller: str, cgroups: Path) -> list[Path]:
    """Directories of the control group and of the groups above it, the innermost first. ``groups``: the text of
    ``/proc/PID/cgroup``. ``controller``: the controller of version 1; empty
    for version 2.
    """
    match = re.search(rf"^\d+:(?:[\w=]+,)*{controller}(?:,[\w=]+)*:(/.*)$", groups, re.MULTILINE)
    if match is None:
        return []
    roots = (cgroups / controller,) if controller else (cgroups, cgroups / "unified")
    directories = []
    for root in roots:
        # In a container, the path may be the path on the host, while the group of its last part is mounted as the root.
        path = os.path.normpath(match[1])
        while True:
            directory = root / path.lstrip("/")
            if directory.is_dir():
                directories.append(directory)
            if path == "/":
                break
            path = os.path.dirname(path)
    return directories


def _soft(limits_: str, name: str) -> int | None:
    """The soft limit; None if no limit is set."""
    match = re.search(rf"^{name}\s+(\d+)\s", limits_, re.MULTILINE)
    return int(match[1]) if match else None


def _field(status: str, pattern: str, base: int = 10) -> int | None:
    match = re.search(rf"^{pattern}", status, re.MULTILINE)
    return int(match[1], base) if match else None


def _number(path: Path) -> int | None:
    text = procfs.text(path).strip()
    return int(text) if text.isdigit() else None
