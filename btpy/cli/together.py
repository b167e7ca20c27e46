"""The maps of a run as one, however many targets it has."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from btpy.events.aggregates import MapContent, can_be_merged, merge
from btpy.events.stacks import StackTable
from btpy.live.merging import Shares, with_stacks

if TYPE_CHECKING:
    from btpy.cli.traced import Traced
    from btpy.output.writer import Writer


class Together:
    """``running``: the targets, of which some may end. ``writer``: of several, makes what writes merged maps, whose
    stacks are in the table that it is given; None: there is one target, which writes its own.

    A target that is found to be gone says so at its next turn.
    """

    def __init__(self, running: Sequence[Traced], writer: Callable[[StackTable], Writer] | None) -> None:
        self._running = running
        self.stacks = StackTable() if writer is not None else running[0].context.stacks
        self._shares = Shares(self.stacks)
        self._writer = None if writer is None else writer(self.stacks)
        self._read: dict[int, float] = {}  # when, by pid
        self._at_end: set[str] = set()  # titles of maps that are to be shown then
        self._asked: dict[int, list[MapContent]] = {}  # what @OnEnd prints of them, by template
        self._killed: list[MapContent] = []
        self._outline = running[0].context.outline

    @property
    def of_several(self) -> bool:
        return self._writer is not None

    def read(self, titles: Iterable[str] | None = None) -> list[MapContent]:
        """These maps, or all, as they are now, for who looks at them: where they cannot be merged, with the pid before
        the key."""
        found: list[MapContent] = []
        for each in self._running:
            with each.noticing():
                maps = each.session.maps
                contents = [maps[title].content for title in (maps if titles is None else titles)]
                self._put(each, contents)
                found += contents
        return self._shares.merged(content.map for content in found) if self.of_several else found

    def show(self) -> None:
        """Writes all maps as they are now. Raises OutputError."""
        found: list[MapContent] = []
        for each in self._running:
            with each.noticing():
                contents = each.show_maps()
                self._put(each, contents)
                found += contents
        self._write(found)

    def left(self, one: Traced, contents: Sequence[MapContent]) -> None:
        """What the maps of a target held at its end."""
        self._put(one, contents)
        for template, content in one.showing.asked_at_end.items():
            moved = with_stacks(content, one.context.stacks, self.stacks)
            self._asked.setdefault(template, []).append(moved)
        self._at_end.update(content.map.title for content in one.showing.unprinted(contents))

    def lost(self, one: Traced) -> tuple[list[MapContent], float | None]:
        """What the maps of a target held that has been killed, and how many seconds ago; None: they were never read."""
        pid = one.session.target.pid
        contents = self._shares.of(pid)
        self._killed += contents
        self._at_end.update(content.map.title for content in one.showing.unprinted(contents))
        return contents, time.monotonic() - self._read[pid] if pid in self._read else None

    def end(self) -> None:
        """Writes what is to be shown at the end: what ``@OnEnd`` prints as it asks for it. Raises OutputError."""
        if self._writer is None:
            return
        for template, shares in self._asked.items():
            map_ = shares[0].map
            killed = [content for content in self._killed if content.map.id == map_.id]
            self._writer.map(merge([*shares, *killed]), self._outline.templates[template], None)
            self._at_end.discard(map_.title)
        self._write(content for content in self._shares.unmerged if content.map.title in self._at_end)
        self._writer.close()

    def _put(self, one: Traced, contents: Iterable[MapContent]) -> None:
        pid = one.session.target.pid
        self._shares.put(pid, contents, one.context.stacks)
        self._read[pid] = time.monotonic()

    def _write(self, contents: Iterable[MapContent]) -> None:
        if self._writer is None:
            return
        for merged in self._shares.merged(content.map for content in contents if can_be_merged(content.map)):
            if merged.entries:
                self._writer.map(merged, None, None)
