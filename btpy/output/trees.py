"""Timed calls as trees, in place of the records that say them one by one; all else as another writer has it."""

from __future__ import annotations

from collections.abc import Sequence

from btpy.events.calltree import Call, CallTrees, MergedTrees
from btpy.events.records import Record
from btpy.output.calltree import tree_json, tree_lines
from btpy.output.ndjson import NdjsonWriter
from btpy.output.silent import SilentWriter
from btpy.output.stream import Stream
from btpy.output.style import Style
from btpy.output.writer import Attached, Context, End, Loss, ProbeError, Restraint, Writer

_ROOT = "root"
"""The probe whose records are the calls that trees are drawn of: what they took, what was thrown, whether to draw.
Those of other probes say calls below."""


class TreeWriter(SilentWriter):
    """As text one tree for each root method, merged over its calls, at the end and whenever :meth:`draw` is asked for;
    as JSON a tree for each call. ``least``: share of a tree that a row must have in the text. ``most``: calls, None:
    all that come. ``drawn``: calls so far that the trees have; ``called``: so often, of all."""

    def __init__(
        self, writer: Writer, stream: Stream, context: Context, style: Style, *, least: float, most: int | None
    ) -> None:
        self.drawn = self.called = 0
        self._writer = writer
        self._stream = stream
        self._context = context
        self._style = style
        self._least = least
        self._most = most
        self._trees = CallTrees()
        self.merged = MergedTrees()
        self._shown = 0

    def records(self, records: Sequence[Record]) -> None:
        probes, sites = self._context.outline.probes, self._context.sites
        for record in records:
            site = sites[record.site]
            took, failed, *wanted = record.values
            assert isinstance(took, int)
            threw = str(failed or "")
            if probes[record.probe].name != _ROOT:
                caller = site.class_name, site.method
                call = Call(site.target_class, site.member, site.line, record.nanos, took, threw, caller)
                self._trees.ended(record.tid, call)
                continue
            self.called += 1
            tree = self._trees.root(record.tid, Call(site.class_name, site.method, 0, record.nanos, took, threw))
            if wanted == [True] and self.drawn != self._most:
                self._add(tree, record)

    def _add(self, tree: Call, record: Record) -> None:
        self.drawn += 1
        self.merged.add(tree)
        if isinstance(self._writer, NdjsonWriter):
            self._writer.tree(record, tree_json(tree))

    def draw(self) -> None:
        """Writes the trees as they are now, unless they are written already."""
        if isinstance(self._writer, NdjsonWriter) or self._shown == self.drawn:
            return
        self._shown = self.drawn
        for root in self.merged.roots:
            lines = [*tree_lines(root, self._style, self._least), ""]
            self._stream.write("".join(line + "\n" for line in lines))

    def attached(self, attached: Attached) -> None:
        self._writer.attached(attached)

    def note(self, text: str) -> None:
        self._writer.note(text)

    def probe_error(self, error: ProbeError) -> None:
        self._writer.probe_error(error)

    def lost(self, loss: Loss) -> None:
        self._writer.lost(loss)

    def restrained(self, restraint: Restraint) -> None:
        self._writer.restrained(restraint)

    def end(self, end: End) -> None:
        self.draw()
        self._writer.end(end)

    def close(self) -> None:
        self._writer.close()
