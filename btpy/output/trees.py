"""Shows timed calls as trees instead of single records. Another writer writes everything else."""

from __future__ import annotations

from collections.abc import Sequence

from btpy.events.call_tasks import node_of, with_tasks
from btpy.events.calltree import MAX_THREADS, Call, CallTrees, MergedTrees
from btpy.events.records import Record
from btpy.events.requests import Run
from btpy.model.templates import TemplateKind
from btpy.output.calltree import named, tree_json, tree_lines
from btpy.output.chrome import PROCESS, ChromeWriter
from btpy.output.chrome_requests import process
from btpy.output.ndjson import NdjsonWriter
from btpy.output.silent import SilentWriter
from btpy.output.stream import Stream
from btpy.output.style import Style
from btpy.output.writer import Attached, Context, End, Loss, ProbeError, Restraint, Writer, template_of

_ROOT = "root"
"""The name of the probe whose records are root calls. Such a record has the duration and the exception of the call,
whether to draw a tree, and when the call began. Before this record, the probe sends a record for each task that another
thread ran for the call. Records of other probes are calls.
"""

MAX_RUNS = 256
"""The largest number of tasks of one call. The script of ``btpy trace`` sends no more, but a hostile target could."""


class TreeWriter(SilentWriter):
    """In text there is one tree for each root method, merged over its calls, at the end and at each :meth:`draw`. In
    JSON, and on a timeline, there is a tree for each call. ``least``: the share of the tree's time from which a row is
    shown in the text. ``most``: the largest number of calls; None: no limit. ``drawn``: the number of calls in the
    trees so far; ``called``: the number of all calls.
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
        self._runs: dict[int, list[Run]] = {}  # the tasks of the call that is ending, by its thread

    def records(self, records: Sequence[Record]) -> None:
        for record in records:
            if template_of(self._context, record).kind is TemplateKind.EMIT:
                self._add_run(record)
            elif self._context.outline.probes[record.probe].name == _ROOT:
                self._root(record)
            else:
                site = self._context.sites[record.site]
                duration, failed = record.values
                assert isinstance(duration, int)
                caller, threw = (site.class_name, site.method), str(failed or "")
                call = Call(site.target_class, site.member, site.line, record.nanos, duration, threw, caller)
                self._trees.ended(record.tid, call)

    def _add_run(self, record: Record) -> None:
        if record.tid not in self._runs and len(self._runs) >= MAX_THREADS:
            del self._runs[next(iter(self._runs))]
        runs = self._runs.setdefault(record.tid, [])
        if len(runs) < MAX_RUNS:
            runs.append(_run(record))

    def _root(self, record: Record) -> None:
        site = self._context.sites[record.site]
        duration, failed, drawn, began = record.values
        assert isinstance(duration, int)
        assert isinstance(began, int)
        self.called += 1
        call = Call(site.class_name, site.method, 0, began + duration, duration, str(failed or ""), tid=record.tid)
        tree = self._trees.root(record.tid, call)
        runs = self._runs.pop(record.tid, [])
        if drawn and self.drawn != self._most:
            self._add(with_tasks(tree, record.thread, runs, self._trees) if runs else tree, record)

    def _add(self, tree: Call, record: Record) -> None:
        self.drawn += 1
        self.merged.add(tree)
        if isinstance(self._writer, NdjsonWriter):
            self._writer.tree(record, tree_json(tree))
        elif isinstance(self._writer, ChromeWriter):
            root = node_of(tree, named(tree.owner, tree.name), record.thread)
            self._writer.events(process(PROCESS + self.drawn, root, self._context.clock.nano_time))

    def draw(self) -> None:
        """Writes the current trees, unless they are unchanged since the last time."""
        if isinstance(self._writer, NdjsonWriter | ChromeWriter) or self._drawn_before == self.drawn:
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


def _run(record: Record) -> Run:
    number, by, tid, thread, handed, began, end, running = record.values
    assert isinstance(number, int)
    assert isinstance(by, int)
    assert isinstance(tid, int)
    assert isinstance(handed, int)
    assert isinstance(began, int)
    assert isinstance(end, int)
    return Run(number, by, tid, str(thread or ""), handed, began, end, bool(running))
