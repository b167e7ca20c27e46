"""The maps of a run, merged over its targets."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from btpy.api.merged_maps import Shares, Source, with_stacks
from btpy.api.results import MapContent, StackTable, can_be_merged, merge

if TYPE_CHECKING:
    from btpy.cli.target_run import TargetRun
    from btpy.output.writer import Context, Writer
    from btpy.present.presenter import Presenter


class Contributor(Protocol):
    """A target, or the recording of a target."""

    context: Context
    showing: Presenter


class FinalMaps:
    """The maps of several targets, each read at the end of its target. ``first``: the context of one target.
    ``writer``: creates the writer of merged maps, for the context of all targets; None: there is one target, which
    writes its own maps.
    """

    def __init__(self, first: Context, writer: Callable[[Context], Writer] | None) -> None:
        self.stacks = StackTable() if writer is not None else first.stacks
        self._shares = Shares(self.stacks)
        of_all = replace(first, sites={}, stacks=self.stacks, pid=None, host=None)
        self._writer = None if writer is None else writer(of_all)
        self._at_end: set[str] = set()  # titles of maps to show at the end
        self._printed_at_end: dict[int, list[MapContent]] = {}  # the maps that @OnEnd prints, by template
        self._killed: list[MapContent] = []
        self._outline = first.outline

    def left(self, one: Contributor, contents: Sequence[MapContent]) -> None:
        """Adds the maps of one target at its end."""
        self._put(one, contents)
        for template, content in one.showing.asked_at_end.items():
            moved = with_stacks(content, one.context.stacks, self.stacks)
            self._printed_at_end.setdefault(template, []).append(moved)
        self._at_end.update(content.map.title for content in one.showing.unprinted(contents))

    def shown(self, moment: Mapping[Contributor, Sequence[MapContent]]) -> None:
        """Writes the maps of each target at a moment before the end. Raises OutputError."""
        shares = Shares(self.stacks)
        for one, contents in moment.items():
            shares.put(one.context.source, contents, one.context.stacks)
        self._write(shares, shares.unmerged)

    def end(self) -> None:
        """Writes the maps that are due at the end. Maps that ``@OnEnd`` prints have the form of this print. Raises
        OutputError.
        """
        if self._writer is None:
            return
        for template, shares in self._printed_at_end.items():
            map_ = shares[0].map
            killed = [content for content in self._killed if content.map.id == map_.id]
            self._writer.map(merge([*shares, *killed]), self._outline.templates[template], None)
            self._at_end.discard(map_.title)
        unmerged = [content for content in self._shares.unmerged if content.map.title in self._at_end]
        self._write(self._shares, unmerged)
        self._writer.close()

    def _put(self, one: Contributor, contents: Iterable[MapContent]) -> None:
        self._shares.put(one.context.source, contents, one.context.stacks)

    def _write(self, shares: Shares, contents: Iterable[MapContent]) -> None:
        if self._writer is None:
            return
        for merged in shares.merged(content.map for content in contents if can_be_merged(content.map)):
            if merged.entries or merged.skips is not None:
                self._writer.map(merged, None, None)


class MergedMaps(FinalMaps):
    """``running``: the targets. Some targets may end during the run. ``writer``: as in :class:`FinalMaps`.

    If a target has ended, the next turn of the target reports its end.
    """

    def __init__(self, runs: Sequence[TargetRun], writer: Callable[[Context], Writer] | None) -> None:
        super().__init__(runs[0].context, writer)
        self._running = runs
        self._read: dict[Source, float] = {}  # when

    @property
    def of_several(self) -> bool:
        return self._writer is not None

    def read(self, titles: Iterable[str] | None = None) -> list[MapContent]:
        """The current content of these maps, or of all. Maps that cannot be merged have the source before the key."""

        def read(run: TargetRun) -> list[MapContent]:
            maps = run.session.maps
            return [maps[title].content for title in (maps if titles is None else titles)]

        all_contents = self._of_running(read)
        return self._shares.merged(content.map for content in all_contents) if self.of_several else all_contents

    def show(self) -> None:
        """Writes the current content of all maps. Raises OutputError."""
        self._write(self._shares, self._of_running(lambda run: run.show_maps()))

    def _of_running(self, read: Callable[[TargetRun], list[MapContent]]) -> list[MapContent]:
        """The maps that ``read`` returns for each running target."""
        all_contents: list[MapContent] = []
        for run in self._running:
            with run.noticing():
                contents = read(run)
                self._put(run, contents)
                all_contents += contents
        return all_contents

    def lost(self, one: TargetRun) -> tuple[list[MapContent], float | None]:
        """The last contents of the maps of a killed target, and their age in seconds; None: they were never read."""
        source = one.context.source
        contents = self._shares.of(source)
        self._killed += contents
        self._at_end.update(content.map.title for content in one.showing.unprinted(contents))
        return contents, time.monotonic() - self._read[source] if source in self._read else None

    def _put(self, one: Contributor, contents: Iterable[MapContent]) -> None:
        super()._put(one, contents)
        self._read[one.context.source] = time.monotonic()
