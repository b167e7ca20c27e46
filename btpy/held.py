"""Settings of the whole process that several hold at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType


class Held:
    """A context manager that any thread may enter: ``take`` runs for the first that holds it, and what ``take`` returns
    for the last that leaves."""

    def __init__(self, take: Callable[[], Callable[[], None]]) -> None:
        self._take = take
        self._lock = threading.Lock()
        self._holders = 0
        self._give_back: Callable[[], None]

    def __enter__(self) -> None:
        with self._lock:
            if not self._holders:
                self._give_back = self._take()
            self._holders += 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._lock:
            self._holders -= 1
            if not self._holders:
                self._give_back()
