"""Reads the records of ``btpy trace``. They come from another process, so a record may have any values."""

from __future__ import annotations

from typing import NamedTuple

from btpy.errors import ProtocolError
from btpy.events.records import CutString, Record, Value
from btpy.events.requests import Run


class Ended(NamedTuple):
    """The end of a call. ``failed``: the class of the exception that it threw."""

    took: int
    failed: str


class RootEnded(NamedTuple):
    """The end of a root call. ``drawn``: the user wants its tree. ``began``: None if its beginning was not seen.
    ``flow``: the number of its flow; None: it had no flow."""

    took: int
    failed: str
    drawn: bool
    began: int | None
    flow: int | None


def ended(record: Record) -> Ended:
    """Raises ProtocolError."""
    took, failed = _values(record, 2)
    return Ended(_nanos(took), _text(failed))


def root_ended(record: Record) -> RootEnded:
    """Raises ProtocolError."""
    took, failed, drawn, began, flow = _values(record, 5)
    if began is None or flow is None:  # the budget has left out the probe that begins the flow
        return RootEnded(_nanos(took), _text(failed), _flag(drawn), None, None)
    return RootEnded(_nanos(took), _text(failed), _flag(drawn), _number(began), _number(flow))


def task_ran(record: Record) -> tuple[int, Run]:
    """The number of the flow of a root call, and a task that another thread ran for it. Raises ProtocolError."""
    flow, number, by, tid, thread, handed, began, end, running = _values(record, 9)
    run = Run(
        number=_number(number),
        by=_number(by),
        tid=_number(tid),
        thread=_text(thread),
        handed=_number(handed),
        began=_number(began),
        ended=_number(end),
        running=_flag(running),
    )
    if not (0 <= run.by < run.number and run.began <= run.ended):
        raise ProtocolError(f"task {run.number} of task {run.by}, from {run.began} to {run.ended}")
    return _number(flow), run


def _values(record: Record, count: int) -> tuple[Value, ...]:
    if len(record.values) != count:
        raise ProtocolError(f"{len(record.values)} values instead of {count}")
    return record.values


def _number(value: Value) -> int:
    if type(value) is not int:
        raise ProtocolError(f"{type(value).__name__} instead of a number")
    return value


def _nanos(value: Value) -> int:
    number = _number(value)
    if number < 0:
        raise ProtocolError(f"a duration of {number} ns")
    return number


def _flag(value: Value) -> bool:
    if not isinstance(value, bool):
        raise ProtocolError(f"{type(value).__name__} instead of true or false")
    return value


def _text(value: Value) -> str:
    if isinstance(value, CutString):
        return value.text
    if value is not None and not isinstance(value, str):
        raise ProtocolError(f"{type(value).__name__} instead of a text")
    return value or ""
