"""Passes the items of a target to every reader. Each reader has its own bounded queue."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from btpy.errors import BtpyError

KEPT = 10_000
"""The number of past items that are kept for a reader that subscribes later."""

T = TypeVar("T")


class Reader(Generic[T]):
    """Takes the items, in order. ``dropped``: items that this reader did not take in time, and that were replaced by
    later items.
    """

    def __init__(self, feed: Feed[T], most: int) -> None:
        self._feed = feed
        self._most = most
        self._waiting: deque[T] = deque()
        self._wake: Callable[[], None] | None = None
        self.dropped = 0

    def take(self, deadline: float | None = None) -> T | None:
        """The next item; None at ``deadline`` (``time.monotonic``) and at the end.

        Raises the error that ended the feed, once the reader has taken all earlier items.
        """
        with self._feed.changed:
            return self._waiting.popleft() if self._has_item(deadline) else None

    def take_all(self, deadline: float) -> list[T]:
        """All waiting items, as soon as an item waits. Empty at ``deadline`` and at the end. Raises as :meth:`take`."""
        with self._feed.changed:
            batch = list(self._waiting) if self._has_item(deadline) else []
            self._waiting.clear()
            return batch

    async def take_async(self) -> T | None:
        """The next item; None at the end. Raises as :meth:`take`."""
        import asyncio  # importing asyncio takes a sixth of the import time of a run at the terminal

        loop = asyncio.get_running_loop()
        woken = asyncio.Event()

        def wake() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(woken.set)

        while True:
            with self._feed.changed:
                if self._waiting:
                    return self._waiting.popleft()
                if self._feed.ended:
                    self._end()
                    return None
                woken.clear()
                self._wake = wake
            await woken.wait()

    def close(self) -> None:
        """Take nothing more."""
        with self._feed.changed:
            self._feed.leave(self)
            self._waiting.clear()

    def _has_item(self, deadline: float | None) -> bool:
        """Waits for an item. False at ``deadline`` and at the end. Raises as :meth:`take`."""
        while not self._waiting:
            if self._feed.ended:
                self._end()
                return False
            seconds = None if deadline is None else deadline - time.monotonic()
            if seconds is not None and seconds <= 0:
                return False
            self._feed.changed.wait(seconds)
        return True

    def _end(self) -> None:
        if self._feed.failure is not None:
            raise self._feed.failure

    def _put(self, entries: Iterable[T]) -> None:
        self._waiting += entries
        while len(self._waiting) > self._most:
            self._waiting.popleft()
            self.dropped += 1
        if self._wake is not None:
            self._wake()
            self._wake = None


class Feed(Generic[T]):
    """``forgotten``: the number of items before the first item that is kept for later readers."""

    def __init__(self, kept: int = KEPT) -> None:
        self.changed = threading.Condition()
        self.ended = False
        self.failure: BtpyError | None = None
        self.forgotten = 0
        self._past_items: deque[T] = deque(maxlen=kept)
        self._most_kept = kept
        self._readers: list[Reader[T]] = []

    def reader(self, most: int, *, from_start: bool = True) -> Reader[T]:
        """``most``: the number of items that may wait for the reader. ``from_start``: the reader also gets earlier
        items, as far as they are kept. Earlier items that are no longer kept count as dropped. Without kept items, a
        reader begins with the next item.
        """
        with self.changed:
            reader: Reader[T] = Reader(self, max(most, self._most_kept))
            if from_start and self._most_kept:
                reader.dropped = self.forgotten
                reader._put(self._past_items)
            self._readers.append(reader)
            return reader

    def put(self, entries: Iterable[T]) -> None:
        entry_list = list(entries)
        with self.changed:
            self.forgotten += max(0, len(self._past_items) + len(entry_list) - self._most_kept)
            self._past_items += entry_list
            for reader in self._readers:
                reader._put(entry_list)
            self.changed.notify_all()

    def end(self, failure: BtpyError | None) -> None:
        """Nothing more comes."""
        with self.changed:
            self.ended, self.failure = True, failure
            for reader in self._readers:
                reader._put(())
            self.changed.notify_all()

    def leave(self, reader: Reader[T]) -> None:
        if reader in self._readers:
            self._readers.remove(reader)
