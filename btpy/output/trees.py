"""Shows timed calls as trees instead of single records. Another writer writes everything else."""

from __future__ import annotations

from collections.abc import Sequence

from btpy.errors import ProtocolError
from btpy.events.call_records import ended, root_ended, task_ran
from btpy.events.call_tasks import PendingTasks, node_of, with_tasks
from btpy.events.calltree import Call, CallTrees, MergedTrees
from btpy.events.items import errors_of
from btpy.events.records import Record
from btpy.model.sites import Site
from btpy.model.templates import TemplateKind
from btpy.output.calltree import named, tree_json, tree_lines
from btpy.output.chrome import PROCESS, ChromeWriter
from btpy.output.chrome_requests import process
from btpy.output.ndjson import NdjsonWriter
from btpy.output.stream import Stream
from btpy.output.style import Style
from btpy.output.writer import Attached, Context, End, Loss, ProbeError, Restraint, Writer, template_of
from btpy.wire.messages import Errors

_ROOT = "root"
"""The name of the probe whose records are root calls. Before such a record, the probe sends a record for each task that
another thread ran for the call. Records of other probes are calls.
"""


class TreeWriter(Writer):
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
        self._tasks = PendingTasks()
        self._unreadable: list[tuple[int, str]] = []

    def records(self, records: Sequence[Record]) -> None:
        for record in records:
            try:
                self._take(record)
            except ProtocolError as error:
                self._unreadable.append((record.probe, str(error)))

    def errors(self) -> Errors | None:
        """The records that could not be read since the last call, as errors of their probes."""
        unreadable, self._unreadable = self._unreadable, []
        return errors_of(unreadable, self._context.outline)

    @property
    def tasks_left_out(self) -> int:
        return self._tasks.left_out

    @property
    def calls_left_out(self) -> int:
        """The number of calls that are too deep for a tree."""
        return self._trees.too_deep

    def _take(self, record: Record) -> None:
        if template_of(self._context, record.template).kind is TemplateKind.EMIT:
            self._tasks.add(record.tid, *task_ran(record))
            return
        site = self._context.sites.get(record.site)
        if site is None:
            raise ProtocolError(f"site {record.site}, which was never woven")
        if self._context.outline.probes[record.probe].name == _ROOT:
            self._root(record, site)
            return
        took, failed = ended(record)
        caller = site.class_name, site.method
        call = Call(site.target_class, site.member, site.line, record.nanos, took, failed, caller)
        self._trees.ended(record.tid, call)

    def _root(self, record: Record, site: Site) -> None:
        root = root_ended(record)
        self.called += 1
        call = Call(site.class_name, site.method, 0, root.end, root.took, root.failed, tid=record.tid)
        tree = self._trees.root(record.tid, call)
        runs = self._tasks.take(record.tid, root.flow)
        if root.drawn and self.drawn != self._most:
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
