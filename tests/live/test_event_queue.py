"""The credit that the client gives, and the events that it keeps while no reader takes them."""

from __future__ import annotations

import struct
import time

import pytest

from btpy.engine import event_queue as inbox_module
from btpy.engine.event_queue import CAPACITY, RELEASE_BYTES, EventQueue
from btpy.errors import ProtocolError, TargetGone
from btpy.wire.messages import EVENT_CREDIT, Counters, Events, Late, LateOutcome, Message, ProbeCounters, ProbeState

RECORD = 64


def events(size: int, probe: int = 0, template: int = 0) -> Events:
    record = struct.pack("<iiii", RECORD, template, 1, probe) + bytes(RECORD - 16)
    return Events(record * (size // RECORD))


def taken(inbox: EventQueue) -> Message | None:
    return inbox.take(time.monotonic())


def test_credit_comes_back_at_once_while_there_is_room() -> None:
    released: list[int] = []
    inbox = EventQueue(released.append)
    for _ in range(100):
        inbox.put(events(RELEASE_BYTES))
    assert sum(released) == 100 * RELEASE_BYTES


def test_small_amounts_are_given_back_together() -> None:
    released: list[int] = []
    inbox = EventQueue(released.append)
    inbox.put(events(RELEASE_BYTES - RECORD))
    assert released == []
    inbox.put(events(RECORD))
    assert released == [RELEASE_BYTES]


def filled(released: list[int]) -> EventQueue:
    """A full queue, whose sender has used up its credit."""
    inbox = EventQueue(released.append)
    while sum(released) < CAPACITY:
        inbox.put(events(RELEASE_BYTES))
    for _ in range(EVENT_CREDIT // RELEASE_BYTES):
        inbox.put(events(RELEASE_BYTES))
    return inbox


def test_credit_is_withheld_until_a_reader_takes_events() -> None:
    released: list[int] = []
    inbox = filled(released)
    assert sum(released) == CAPACITY
    for _ in range(CAPACITY // RELEASE_BYTES):
        taken(inbox)
    assert sum(released) == CAPACITY
    taken(inbox)
    assert sum(released) == CAPACITY + RELEASE_BYTES


def test_events_above_the_credit_are_a_breach() -> None:
    inbox = filled([])
    with pytest.raises(ProtocolError, match="64 bytes of events above its credit"):
        inbox.put(events(RECORD))


def test_a_leaving_agent_gets_all_credit_at_once() -> None:
    released: list[int] = []
    inbox = filled(released)
    inbox.accept_all()
    assert sum(released) == CAPACITY + EVENT_CREDIT
    inbox.put(events(RELEASE_BYTES))
    assert sum(released) == CAPACITY + EVENT_CREDIT + RELEASE_BYTES


def test_records_are_counted_by_probe_but_not_the_names_of_threads() -> None:
    inbox = EventQueue(lambda size: None)
    inbox.put(events(3 * RECORD, probe=5))
    inbox.put(events(2 * RECORD, probe=7))
    inbox.put(events(RECORD, probe=5, template=-1))
    assert dict(inbox.delivered) == {5: 3, 7: 2}


@pytest.mark.parametrize(
    "records", [b"\0" * 16, struct.pack("<i", 15) + bytes(12), bytes(7), struct.pack("<i", -8) * 4]
)
def test_ambiguous_records_breach_the_protocol(records: bytes) -> None:
    with pytest.raises(ProtocolError):
        EventQueue(lambda size: None).put(Events(records))


def test_messages_without_credit_are_bounded_and_their_loss_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox_module, "OTHERS_CAPACITY", 1000)
    inbox = EventQueue(lambda size: None)
    for number in range(100):
        inbox.put(Late(f"a.B{number:02d}", "app", LateOutcome.WOVEN, ""))
    count = 0
    while taken(inbox) is not None:
        count += 1
    assert count + inbox.dropped == 100
    assert 0 < count < 100
    inbox.put(Late("a.B", "app", LateOutcome.WOVEN, ""))
    assert taken(inbox) is not None


def test_the_latest_counters_are_known_even_when_they_could_not_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox_module, "OTHERS_CAPACITY", 0)
    inbox = EventQueue(lambda size: None)
    counters = Counters((ProbeCounters(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, ProbeState.ON),))
    inbox.put(counters)
    assert taken(inbox) is None
    assert inbox.counters == counters


def test_the_end_comes_after_all_earlier_messages() -> None:
    inbox = EventQueue(lambda size: None)
    inbox.put(events(RECORD))
    inbox.end(TargetGone("gone"))
    assert not inbox.exhausted
    assert taken(inbox) == events(RECORD)
    assert inbox.take(None) is None
    assert inbox.exhausted
