"""The free heap of a JVM, which btpy reads before it loads anything.

With ``-XX:+ExitOnOutOfMemoryError`` an OutOfMemoryError in any thread ends the JVM, including threads of the agent. The
diagnostic command ``GC.heap_info`` reports, for each collector, the used part of the heap and its maximum. The used
part contains garbage. Therefore, if too little is free, btpy asks again for a while, because a collection frees a part
of the heap.

A JVM without that command (before JDK 9) has performance counters (:mod:`btpy.jvm.perfdata`), which have the same
values at its last collection.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from btpy.dataclass import dataclass
from btpy.jvm.perfdata import Counters, number

LITTLE_HEAP = "little-heap"
"""The value of ``--allow`` for a JVM that may run out of heap."""

_KIB_OF_AGENT = 15 * 256
"""Heap that the agent needs with its buffers and a few probes, while it is loaded."""

_SMALLEST_ASKED_OF_ZGC = 32 * 1024
"""For ZGC, btpy does not ask about a heap below this size (KiB). Such a heap has few pages of 2 MiB, and the
answering thread could take the last page.
"""

_BYTES_PER_CLASS = 300
"""Heap for each class in a list of the loaded classes."""

_PATIENCE = 3.0
_BETWEEN_LOOKS = 0.05

_GENERATION = re.compile(
    r"^ *[\w][\w -]*? +total (?:reserved \d+K, committed )?(?P<total>\d+)K, used (?P<used>\d+)K"
    r" \[(?P<low>0x[0-9a-f]+), ?(?P<middle>0x[0-9a-f]+)(?:, ?(?P<high>0x[0-9a-f]+))?\)",
    re.MULTILINE,
)
"""``DefNew total 39296K, used 11264K [0x…, 0x…, 0x…)``: the beginning of the reserved memory, the end of its committed
part, and its end. G1 prints only the beginning and the end."""

_SURVIVOR = re.compile(r"^ *from +space (\d+)K,", re.MULTILINE)
_ZGC = re.compile(r"^ *ZHeap +used (?P<used>\d+[KMG]).*?max capacity (?P<max>\d+[KMG])", re.MULTILINE)
_EVACUATION_PERCENT = 5
"""The share of the heap that Shenandoah keeps free to copy objects to (-XX:ShenandoahEvacReserve)."""

_SHENANDOAH = re.compile(r"^ *(?P<max>\d+[BKMG]) max, .*?(?P<used>\d+[BKMG]) used", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Heap:
    """All sizes are in KiB. ``survivor``: the part that only a collection fills. ``most`` excludes this part, because a
    program cannot allocate in it when the other spaces are full.
    """

    most: int
    used: int
    survivor: int = 0

    @property
    def free(self) -> int:
        return max(0, self.most - self.used)

    def needed(self, loaded_classes: int) -> int:
        """Free KiB that the agent needs, including the reserve for the application (``Headroom.java``)."""
        reserve = max(1024, min(4096, self.most // 64))
        return reserve + _KIB_OF_AGENT + loaded_classes * _BYTES_PER_CLASS // 1024


def parse(answer: str) -> Heap | None:
    """What ``GC.heap_info`` printed; None if it cannot be parsed."""
    if match := _ZGC.search(answer):
        return Heap(_kib(match["max"]), _kib(match["used"]))
    if match := _SHENANDOAH.search(answer):
        reserve = _kib(match["max"]) * _EVACUATION_PERCENT // 100
        return Heap(_kib(match["max"]) - reserve, _kib(match["used"]), reserve)
    generations = list(_GENERATION.finditer(answer))
    if not generations:
        return None
    survivor = sum(int(size) for size in _SURVIVOR.findall(answer))
    usage = sum(int(generation["used"]) for generation in generations)
    return Heap(sum(map(_most, generations)) - survivor, usage, survivor)


def of_counters(counters: Counters) -> Heap | None:
    """The figures of the performance counters; None if they are missing."""
    young, old = (_counted(counters, generation) for generation in (0, 1))
    if young is None or old is None or old.most == 0:
        return None
    shared = abs(young.most - old.most) <= 1  # G1: each generation may grow to the whole heap
    survivor = 0 if shared else number(counters, "sun.gc.generation.0.space.2.capacity") // 1024
    return Heap(old.most if shared else young.most + old.most - 2 * survivor, young.used + old.used, survivor)


def too_small_to_ask(counters: Counters) -> int | None:
    """The largest heap, in KiB, in which the answering thread could take the last memory; None if the question is
    harmless, or if the counters do not tell the size of the heap.
    """
    names = (str(counters.get(f"sun.gc.collector.{collector}.name", "")) for collector in range(3))
    if not any(name.startswith("Z") for name in names):
        return None
    most = number(counters, "sun.gc.generation.1.maxCapacity") // 1024
    return most if 0 < most < _SMALLEST_ASKED_OF_ZGC else None


def look(ask: Callable[[], Heap | None], loaded_classes: int, patience: float = _PATIENCE) -> Heap | None:
    """The first reading of the heap with enough free memory, or else the reading with the most free memory. None if the
    JVM does not report it.
    """
    deadline = time.monotonic() + patience
    best = heap = ask()
    while heap is not None and best is not None:
        best = max(best, heap, key=lambda seen: seen.free)
        if best.free >= best.needed(loaded_classes) or time.monotonic() >= deadline:
            break
        time.sleep(_BETWEEN_LOOKS)
        heap = ask()
    return best


def _most(generation: re.Match[str]) -> int:
    low, middle = int(generation["low"], 16), int(generation["middle"], 16)
    if generation["high"] is None:
        return (middle - low) // 1024
    return int(generation["total"]) + (int(generation["high"], 16) - middle) // 1024


def _kib(size: str) -> int:
    amount = int(size[:-1])
    return {"B": amount // 1024, "K": amount, "M": amount << 10, "G": amount << 20}[size[-1]]


def _counted(counters: Counters, generation: int) -> Heap | None:
    name = f"sun.gc.generation.{generation}"
    if f"{name}.maxCapacity" not in counters:
        return None
    usage = sum(number(counters, f"{name}.space.{space}.used") for space in range(3))
    return Heap(number(counters, f"{name}.maxCapacity") // 1024, usage // 1024)
