"""Messages of the agent that the caller has not taken yet. The queue keeps the credit of the agent (docs/protocol.md,
Flow).

While fewer than CAPACITY bytes wait, it returns the credit for event bytes when they arrive. If more bytes wait, it
returns the credit when the caller takes the events. So the buffers of the target stay empty as long as this process has
room. If the caller takes no more (a terminal with Ctrl-S), the agent stops sending: it drops events and counts them.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable

from btpy.errors import BtpyError, ProtocolError
from btpy.events.record_decoder import tally
from btpy.wire.codec import encode
from btpy.wire.messages import EVENT_CREDIT, Counters, Events, Message

CAPACITY = 16 * 1024 * 1024
"""Up to this many bytes of waiting events, credit is returned at once."""

OTHERS_CAPACITY = 32 * 1024 * 1024
"""The maximum number of bytes of waiting messages of other types, which have no credit. Further messages are dropped
and counted."""

RELEASE_BYTES = 64 * 1024

MAX_PROBES = 1 << 16
"""The largest number of probes whose records are counted. No session has so many probes."""


class EventQueue:
    """The reading thread fills it, and the caller's thread empties it. ``release`` sends RELEASE."""

    def __init__(self, release: Callable[[int], None]) -> None:
        self._release = release
        self._state = threading.Condition()
        self._waiting: deque[tuple[Message, int, int]] = deque()  # message, its size, credit held back for it
        self._event_bytes = 0
        self._other_bytes = 0
        self._used = 0
        self._unreturned_credit = 0
        self._unbounded = False
        self._has_ended = False
        self.failure: BtpyError | None = None
        self.dropped = 0
        self.delivered: Counter[int] = Counter()
        self.delivered_records = 0  # the sum of ``delivered``
        self.counters = Counters(())

    def put(self, message: Message) -> None:
        """Raises ProtocolError when the agent sends more events than it has credit for, or records without a frame."""
        if isinstance(message, Events):
            size = len(message.records)
            self._count(message.records)
            with self._state:
                self._used += size
                if self._used > EVENT_CREDIT:
                    raise ProtocolError(f"the agent sent {self._used - EVENT_CREDIT} bytes of events above its credit")
                room = self._unbounded or self._event_bytes < CAPACITY
                self._event_bytes += size
                self._waiting.append((message, size, 0 if room else size))
                owed = self._settle(size if room else 0)
                self._state.notify_all()
            self._give_back(owed)
            return
        size = len(encode(message))
        with self._state:
            if isinstance(message, Counters):
                self.counters = message
            if self._other_bytes + size > OTHERS_CAPACITY:
                self.dropped += 1
                return
            self._other_bytes += size
            self._waiting.append((message, size, 0))
            self._state.notify_all()

    def end(self, failure: BtpyError | None) -> None:
        """No more messages will come."""
        with self._state:
            self._has_ended = True
            self.failure = failure
            self._state.notify_all()

    def take(self, deadline: float | None) -> Message | None:
        """The next message; None at ``deadline`` (``time.monotonic``) and at the end."""
        with self._state:
            while not self._waiting:
                if self._has_ended:
                    return None
                seconds = None if deadline is None else deadline - time.monotonic()
                if seconds is not None and seconds <= 0:
                    return None
                self._state.wait(seconds)
            message, size, credit = self._waiting.popleft()
            if isinstance(message, Events):
                self._event_bytes -= size
            else:
                self._other_bytes -= size
            owed = self._settle(credit)
        self._give_back(owed)
        return message

    @property
    def exhausted(self) -> bool:
        """Whether the caller has taken all messages and no more will come."""
        with self._state:
            return self._has_ended and not self._waiting

    def accept_all(self) -> None:
        """From now on give all credit back at once: the agent is leaving, and has to empty its buffers."""
        with self._state:
            self._unbounded = True
            owed = self._settle(sum(credit for _, _, credit in self._waiting), at_once=True)
            self._waiting = deque((message, size, 0) for message, size, _ in self._waiting)
        self._give_back(owed)

    def _settle(self, size: int, *, at_once: bool = False) -> int:
        """Adds ``size`` bytes to the credit that is due, and returns the part to return now."""
        self._unreturned_credit += size
        if self._unreturned_credit < RELEASE_BYTES and not at_once:
            return 0
        owed, self._unreturned_credit = self._unreturned_credit, 0
        self._used -= owed
        return owed

    def _give_back(self, owed: int) -> None:
        if owed and not self._has_ended:
            self._release(owed)

    def _count(self, records: bytes) -> None:
        for (_, probe), count in tally(records).items():
            self.delivered[probe] += count
            self.delivered_records += count
        if len(self.delivered) > MAX_PROBES:
            raise ProtocolError(f"records of more than {MAX_PROBES} probes")
