"""Shows timed calls as trees instead of single records. Another writer writes everything else."""

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
"""The probe whose records are the root calls: their duration, their exception, and whether to draw a tree. Records of
other probes are calls below them.
"""


class TreeWriter(SilentWriter):
    """In text there is one tree for each root method, merged over its calls, at the end and at each :meth:`draw`. In
    JSON there is a tree for each call. ``least``: share of a tree that a row must have in the text. ``most``: the
    number of calls, None: no limit. ``drawn``: the number of calls in the trees so far; ``called``: the number of all
    calls.
    """

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
        self._drawn_before = 0

    def records(self, records: Sequence[Record]) -> None:
        probes, sites = self._context.outline.probes, self._context.sites
        for record in records:
            site = sites[record.site]
            took, failed, *operands = record.values
            assert isinstance(took, int)
            threw = str(failed or "")
            if probes[record.probe].name != _ROOT:
                caller = site.class_name, site.method
                call = Call(site.target_class, site.member, site.line, record.nanos, took, threw, caller)
                self._trees.ended(record.tid, call)
                continue
            self.called += 1
            tree = self._trees.root(record.tid, Call(site.class_name, site.method, 0, record.nanos, took, threw))
            if operands == [True] and self.drawn != self._most:
                self._add(tree, record)

    def _add(self, tree: Call, record: Record) -> None:
        self.drawn += 1
        self.merged.add(tree)
        if isinstance(self._writer, NdjsonWriter):
            self._writer.tree(record, tree_json(tree))

    def draw(self) -> None:
        """Writes the current trees, unless they are unchanged since the last time."""
        if isinstance(self._writer, NdjsonWriter) or self._drawn_before == self.drawn:
            return
        self._drawn_before = self.drawn
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
