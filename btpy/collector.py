"""Python's cyclic garbage collector, put off while much is made that stays.

Thousands of classes are read, planned and woven into objects that live on and that no cycle holds. The collector looks
at all of them again and again, for nothing: left alone it takes between a third and a half of the time.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_users = 0
_was_enabled = False


@contextmanager
def put_off() -> Iterator[None]:
    """No collection in any thread until the last user has left; then it is as it was before the first came."""
    global _users, _was_enabled
    with _lock:
        if not _users:
            _was_enabled = gc.isenabled()
            gc.disable()
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users and _was_enabled:
                gc.enable()
