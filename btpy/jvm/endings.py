"""The possible reason for the end of a traced JVM.

Only the parent process of the JVM gets the exit status. The options of the JVM and the counters of its control group
tell the likely cause.
"""

from __future__ import annotations

from btpy.jvm import process_limits, processes
from btpy.jvm.processes import JvmProcess

_ENDING_SECONDS = 0.2
"""Seconds that a JVM without memory may need to end."""


def likely_causes(process: JvmProcess) -> list[str]:
    """The hints in sentences for the user; empty if there are none."""
    causes = []
    if any((process_limits.oom_kills_in(path) or 0) > count for path, count in process.oom_kills):
        causes.append(
            "the kernel has killed a process of its control group because the group had no memory left:"
            " give the container or service more memory, or the JVM a smaller -Xmx"
        )
    if option := process.ends_without_memory:
        causes.append(
            f"it ran with {option}, which ends it when any thread runs out of memory:"
            " look for OutOfMemoryError in its output, and start it with a larger -Xmx"
        )
    return causes


def died_of(process: JvmProcess) -> list[str]:
    """The likely causes if the JVM has crashed, or will end because of an OutOfMemoryError. Empty if it runs or has
    ended normally.
    """
    patience = _ENDING_SECONDS if process.ends_without_memory else 0.0
    return likely_causes(process) if processes.has_ended(process, patience) else []
