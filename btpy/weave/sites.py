"""Where in a method code is inserted, and the numbers of the places.

A finder takes the walked code of a method and gives offsets of instructions; a new location is a new finder.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from btpy.classfile import opcodes as op
from btpy.classfile.bytecode import Bytecode
from btpy.plan.plan import Point, Site


def returns(bytecode: Bytecode) -> list[int]:
    """The return instructions, in the order of the code."""
    code = bytecode.code
    return [at for at in bytecode.starts if op.IRETURN <= code[at] <= op.RETURN]


def without(ranges: Iterable[tuple[int, int]], holes: Sequence[int]) -> list[tuple[int, int]]:
    """Ranges of offsets without the one-byte instructions at ``holes`` (ascending)."""
    out = []
    for start, end in ranges:
        for hole in holes:
            if start <= hole < end:
                out.append((start, hole))
                start = hole + 1
        out.append((start, end))
    return [(start, end) for start, end in out if start < end]


class Numbering:
    """Gives out site ids in one method: ``first`` and up, in the order of the calls."""

    def __init__(self, first: int, class_name: str, method: str, descriptor: str) -> None:
        self._first = first
        self._place = (class_name, method, descriptor)
        self.sites: list[Site] = []

    def number(self, probe: int, point: Point, line: int, target_class: str = "", member: str = "") -> int:
        site = Site(self._first + len(self.sites), probe, point, *self._place, line, target_class, member)
        self.sites.append(site)
        return site.id
