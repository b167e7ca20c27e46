"""The free metaspace of a JVM, which btpy reads before it loads anything.

``-XX:MaxMetaspaceSize`` limits the memory of classes. ``-XX:CompressedClassSpaceSize`` limits the part for their
headers (1 GB by default). An agent that exhausts one of the two damages the application: the next class load or lambda
fails with an OutOfMemoryError, and a JVM with ``-XX:+ExitOnOutOfMemoryError`` ends.

The diagnostic command ``VM.metaspace basic`` (since JDK 11) is answered in 0.3 ms and without a safepoint. The
performance counters (:mod:`btpy.jvm.perfdata`) are not enough, because they have the values of the last collection. The
agent cannot ask in place of btpy: the JVM must load the agent's classes first, and the classes of java.lang.management,
which need even more metaspace.
"""

from __future__ import annotations

import re

from btpy.dataclass import dataclass
from btpy.jvm.jcmd import Ask

LITTLE_METASPACE = "little-metaspace"
"""The value of ``--allow`` for a JVM that may run out of metaspace."""

NEEDED = 8 * 1024
"""KiB. The agent with a probe needs 2 to 3 MB of metaspace permanently. The rest is for woven code, which exists twice
until the JVM has dropped the old code, and for classes that the application will load.
"""

NEEDED_FOR_HEADERS = 1024
"""KiB. The headers of the agent's classes need 0.4 MB."""


@dataclass(frozen=True, slots=True)
class Space:
    """KiB. ``flag`` bounds it."""

    name: str
    flag: str
    limit: int
    taken: int
    needed: int

    @property
    def left(self) -> int:
        return max(0, self.limit - self.taken)

    @property
    def is_scarce(self) -> bool:
        return self.left < self.needed


def spaces(ask: Ask) -> tuple[Space, ...]:
    """The limited spaces of the JVM; none if it does not report them, as before JDK 11."""
    try:
        return parse(ask("VM.metaspace basic scale=K"))
    except OSError:  # attaching finds the reason and reports it better
        return ()


def parse(answer: str) -> tuple[Space, ...]:
    """Reads the output of ``VM.metaspace basic scale=K``.

    Up to JDK 15, the chunks of loaders count as used memory, because their free chunks are reused. Since JDK 16 the
    committed memory counts as used memory. It excludes freed chunks (JEP 387).
    """
    capacities: dict[str, int] = {}
    for label, figures in re.findall(_ROW, answer, re.MULTILINE):
        for number in re.findall(_TAKEN, figures):
            capacities.setdefault(label or "Both", int(number))  # the capacity comes before the committed memory
    bounded = []
    for name, label, flag, needed in _SPACES:
        limit = re.search(rf"^{flag}: {_KIB}", answer, re.MULTILINE)
        if limit is not None and label in capacities:
            bounded.append(Space(name, f"-XX:{flag}", int(limit[1]), capacities[label], needed))
    return tuple(bounded)


_ROW = r"^ *(?:(Non-class|Class|Both)(?: space)?: *)?(\d.*)$"
_KIB = r"\b(\d{1,15})\.\d\d KB"
_TAKEN = rf"{_KIB} (?:\([^)]*\) )?(?:capacity|committed)"
_SPACES = (
    ("metaspace", "Both", "MaxMetaspaceSize", NEEDED),
    ("compressed class space", "Class", "CompressedClassSpaceSize", NEEDED_FOR_HEADERS),
)


def megabytes(kib: int) -> str:
    return f"{kib / 1024:.1f} MB" if kib % 1024 else f"{kib // 1024} MB"
