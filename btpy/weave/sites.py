"""The numbers of the places where code is inserted, and ranges of code with holes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from btpy.plan.plan import Advice, Point, Site


def without(ranges: Iterable[tuple[int, int]], holes: Sequence[int]) -> list[tuple[int, int]]:
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

    def __init__(self, first: int, class_name: str, method: str, descriptor: str) -> None:
        self._first = first
        self._place = (class_name, method, descriptor)
        self.sites: list[Site] = []

    @property
    def next(self) -> int:
        """The id that the next site gets."""
        return self._first + len(self.sites)

    def number_all(self, advices: Iterable[Advice], line: int) -> int:
        """Numbers the sites of advice at the ends of the method. Returns the id of the first site."""
        sites = self.sites
        first = number = self._first + len(sites)
        place = self._place
        new = tuple.__new__  # the method that the constructor of a named tuple calls
        for advice in advices:
            site = (number, advice.probe, advice.point, *place, line, advice.target_class, advice.member, "")
            sites.append(new(Site, site))
            number += 1
        return first

    def number(self, probe: int, point: Point, line: int, target_class: str = "", member: str = "") -> int:
        sites = self.sites
        number = self._first + len(sites)
        class_name, method, descriptor = self._place
        sites.append(Site(number, probe, point, class_name, method, descriptor, line, target_class, member))
        return number
