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
_users = 0
_before = 0.0


@contextmanager
def short() -> Iterator[None]:
    """Short turns for all threads until the last user has left; then as long as they were before the first came."""
    global _users, _before
    with _lock:
        if not _users:
            _before = sys.getswitchinterval()
            sys.setswitchinterval(min(SHORT, _before))
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                sys.setswitchinterval(_before)
