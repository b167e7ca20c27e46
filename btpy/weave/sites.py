"""The numbers of the places where code is inserted, and ranges of code with holes."""

from __future__ import annotations

from collections.abc import Iterable

from btpy.dataclass import new_tuple
from btpy.plan.plan import Advice, Point, Site


def without(ranges: Iterable[tuple[int, int]], holes: list[int]) -> list[tuple[int, int]]:
    """The ranges of offsets without the one-byte instructions at ``holes`` (ascending)."""
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

    def __init__(self, first: int, class_name: str, loader: str, method: str, descriptor: str) -> None:
        self._first = first
        self._class_name = class_name
        self._loader = loader
        self._method = method
        self._descriptor = descriptor
        self.sites: list[Site] = []

    @property
    def next(self) -> int:
        """The id that the next site gets."""
        return self._first + len(self.sites)

    def number_all(self, advices: list[Advice], line: int) -> int:
        """Numbers the sites of advice at the ends of the method. Returns the id of the first site."""
        first = self.next
        for advice in advices:
            self.number(advice.probe, advice.point, line, advice.target_class, advice.member)
        return first

    def number(self, probe: int, point: Point, line: int, target_class: str = "", member: str = "") -> int:
        number = self._first + len(self.sites)
        class_name, method, descriptor = self._class_name, self._method, self._descriptor
        place = (number, probe, point, class_name, method, descriptor, line, target_class, member, self._loader)
        self.sites.append(new_tuple(Site, place))
        return number
