"""How long a thread waits for its turn.

One thread of Python runs at a time. Who comes back from the socket waits until the one that runs gives up its turn:
five milliseconds, each time, while a thread of the application waits for its class. When the rest of the client was
busy, weaving ahead or writing lines, an answer that takes half a millisecond of work came after eleven.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SHORT = 0.0005
"""Seconds. What changing turns ten times as often costs cannot be measured."""

_lock = threading.Lock()
_wanted: list[float] = []
"""By those who want short turns now; before them, how long turns are without."""


@contextmanager
def short(seconds: float = SHORT) -> Iterator[None]:
    """Turns of so many seconds at most for all threads; when the last who wants them so has left, as long as they were
    before the first came."""
    with _lock:
        if not _wanted:
            _wanted.append(sys.getswitchinterval())
        _wanted.append(seconds)
        sys.setswitchinterval(min(_wanted))
    try:
        yield
    finally:
        with _lock:
            _wanted.remove(seconds)
            sys.setswitchinterval(min(_wanted))
            if len(_wanted) == 1:
                _wanted.clear()
