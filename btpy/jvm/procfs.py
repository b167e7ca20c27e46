"""Reads /proc for one process. Importing the module is cheap."""

from __future__ import annotations

import os
import time
from pathlib import Path

PROC = Path("/proc")

CAP_SYS_PTRACE = 19

_MAX_ENVIRONMENT = 1 << 20  # bytes
_FIELD_START_TIME = 22  # of /proc/<pid>/stat, proc(5)


def text(path: Path, limit: int = -1) -> str:
    """At most ``limit`` bytes of a file; empty if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(limit).decode("utf-8", "replace")
    except OSError:
        return ""


def environment(directory: Path) -> dict[str, str]:
    """The environment of the process with this directory in /proc; empty if this process may not read it. The first of
    two variables with one name counts, as in Java."""
    variables = text(directory / "environ", _MAX_ENVIRONMENT).split("\0")
    return {name: value for name, _, value in (variable.partition("=") for variable in reversed(variables))}


def status(pid: int | str) -> dict[str, str]:
    """The lines of /proc/<pid>/status. Raises OSError."""
    lines = (PROC / str(pid) / "status").read_text(errors="replace").splitlines()
    return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}


def boot_id() -> str:
    """The id of the current boot; empty if it is not known."""
    return text(PROC / "sys" / "kernel" / "random" / "boot_id").strip()


def start_ticks(pid: int) -> int:
    """The start time of the process, in clock ticks since boot. Raises OSError."""
    line = (PROC / str(pid) / "stat").read_text(errors="replace")
    after_name = line.rpartition(")")[2].split()  # begins with field 3; the name before it may contain any character
    return int(after_name[_FIELD_START_TIME - 3])


def started_ns(pid: int) -> int:
    """The start time of the process on the clock of ``time.monotonic_ns``, exact to a tick of 10 ms. Raises OSError."""
    since_boot = start_ticks(pid) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    suspended = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    return since_boot - suspended


def catches(lines: dict[str, str], number: int) -> bool:
    """Whether a process with that status handles the signal. A JVM that is just starting or runs with -Xrs does not
    handle SIGQUIT, which would end it.
    """
    return bool(int(lines.get("SigCgt", "0"), 16) >> (number - 1) & 1)


def has_capability(lines: dict[str, str], capability: int) -> bool:
    """Whether the capability is effective in a process with that status."""
    return bool(int(lines.get("CapEff", "0"), 16) >> capability & 1)


def id_map(pid: int | str) -> str:
    """The mapping from user ids of the process's user namespace to the ids of this process; empty if it is not
    known."""
    return text(PROC / str(pid) / "uid_map")


def may_look_into(pid: int) -> bool:
    """Whether its root directory, working directory and namespaces can be opened (ptrace(2), PTRACE_MODE_READ)."""
    try:
        (PROC / str(pid) / "root").readlink()
    except OSError:
        return False
    return True
