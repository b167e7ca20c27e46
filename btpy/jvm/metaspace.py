"""How much metaspace a JVM has left, asked of it before anything is loaded into it.

HotSpot bounds the memory of classes where ``-XX:MaxMetaspaceSize`` does, and the part of it that their headers take by
``-XX:CompressedClassSpaceSize`` (1 GB, unless that or the other says less). An agent that takes the last of it harms
the application: the next class that it loads, or lambda that it links, fails with an OutOfMemoryError, and a JVM with
``-XX:+ExitOnOutOfMemoryError`` ends.

The diagnostic command ``VM.metaspace basic`` (since JDK 11) is answered in 0.3 ms and without a safepoint. The
performance counters (:mod:`btpy.jvm.perfdata`) will not do: they say what there was after the last collection. The
agent could only look when its classes are there, with the classes of java.lang.management, which take more.
"""

from __future__ import annotations

import re

from btpy.frozen import dataclass
from btpy.jvm.jcmd import Ask

LITTLE_METASPACE = "little-metaspace"
"""The value of ``--allow`` for a JVM that may run out of metaspace."""

NEEDED = 8 * 1024
"""KiB. The agent with a probe takes 2 to 3 MB of metaspace, for good. The rest is for woven code, which exists twice
until the JVM has dropped the old code, and for classes that the application will load."""

NEEDED_FOR_HEADERS = 1024
"""KiB, of which the agent takes 0.4 MB."""


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
    """The bounded spaces of the JVM; none when it does not tell, as before JDK 11."""
    try:
        return parse(ask("VM.metaspace basic scale=K"))
    except OSError:  # attaching finds out what is the matter, and says it better
        return ()


def parse(answer: str) -> tuple[Space, ...]:
    """Reads the output of ``VM.metaspace basic scale=K``.

    Taken is what holds chunks of loaders, up to JDK 15, whose free chunks are used again; since then what is committed,
    of which freed chunks are no part (JEP 387).
    """
    taken: dict[str, int] = {}
    for label, figures in re.findall(_ROW, answer, re.MULTILINE):
        for number in re.findall(_TAKEN, figures):
            taken.setdefault(label or "Both", int(number))  # capacity is told before what is committed
    bounded = []
    for name, label, flag, needed in _SPACES:
        limit = re.search(rf"^{flag}: {_KIB}", answer, re.MULTILINE)
        if limit is not None and label in taken:
            bounded.append(Space(name, f"-XX:{flag}", int(limit[1]), taken[label], needed))
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
