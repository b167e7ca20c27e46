"""The latest events, by number: used by ``:last``, ``:get`` and ``:grep``. Memory is bounded."""

from __future__ import annotations

import re
from collections import deque

from btpy.dataclass import dataclass

KEPT = 5000
"""The number of events that are kept."""

_MOST_CHARACTERS = 4000  # of an event


@dataclass(frozen=True, slots=True)
class Event:
    """``number``: from 1, in the order of arrival. ``wall_nanos``: since 1970; ``where``: ``Class.method:line``."""

    number: int
    wall_nanos: int
    probe: str
    thread: str
    where: str
    text: str


class Recent:
    def __init__(self, kept: int = KEPT) -> None:
        self._events: deque[Event] = deque(maxlen=kept)
        self.seen = 0

    def add(self, wall_nanos: int, probe: str, thread: str, where: str, text: str) -> Event:
        self.seen += 1
        event = Event(self.seen, wall_nanos, probe, thread, where, text[:_MOST_CHARACTERS])
        self._events.append(event)
        return event

    def skip(self, count: int) -> None:
        """Events that are not kept have numbers, too."""
        self.seen += count

    def last(self, count: int) -> list[Event]:
        return list(self._events)[-count:] if count > 0 else []

    def get(self, number: int) -> Event | None:
        return next((event for event in list(self._events) if event.number == number), None)

    def grep(self, pattern: re.Pattern[str]) -> list[Event]:
        return [event for event in list(self._events) if pattern.search(event.text)]
