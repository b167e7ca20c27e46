"""Reads the records of ``btpy trace``, and the tasks that ``btpy slow`` reports, too.

They come from another process, so a record may have any values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from btpy.errors import ProtocolError
from btpy.events.records import Record, Value
from btpy.events.requests import Run
from btpy.events.typed_values import flag, nanos, number, text


class Ended(NamedTuple):
    """The end of a call. ``failed``: the class of the exception that it threw."""

    took: int
    failed: str


class RootEnded(NamedTuple):
    """The end of a root call. ``drawn``: the user wants its tree. ``end``: the moment of the end, before the records of
    its tasks were made. ``flow``: the number of its flow; None: it had no flow."""

    took: int
    failed: str
    drawn: bool
    end: int
    flow: int | None


def ended(record: Record) -> Ended:
    """Raises ProtocolError."""
    took, failed = _values(record, 2)
    return Ended(nanos(took), text(failed))


def root_ended(record: Record) -> RootEnded:
    """Raises ProtocolError."""
    took, failed, drawn, end, flow = _values(record, 5)
    number_of_flow = None if flow is None else number(flow)  # None: the budget has left out the probe that begins it
    return RootEnded(nanos(took), text(failed), flag(drawn), number(end), number_of_flow)


def task_ran(record: Record) -> tuple[int, Run]:
    """The number of the flow of a root call, and a task that another thread ran for it. Raises ProtocolError."""
    flow, *task = _values(record, 9)
    return number(flow), run_of(task)


def run_of(values: Sequence[object]) -> Run:
    """The work of one thread, from its fields in their order. Raises ProtocolError."""
    id_, by, tid, thread, handed, began, end, running = values
    run = Run(
        number=number(id_),
        by=number(by),
        tid=number(tid),
        thread=text(thread),
        handed=number(handed),
        began=number(began),
        ended=number(end),
        running=flag(running),
    )
    if not (0 <= run.by < run.number and run.began <= run.ended):
        raise ProtocolError(f"task {run.number} of task {run.by}, from {run.began} to {run.ended}")
    return run


def _values(record: Record, count: int) -> tuple[Value, ...]:
    if len(record.values) != count:
        raise ProtocolError(f"{len(record.values)} values instead of {count}")
    return record.values
