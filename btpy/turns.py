"""How long a thread waits for its turn.

One thread of Python runs at a time. Who comes back from the socket waits until the one that runs gives up its turn:
five milliseconds, each time, while a thread of the application waits for its class. When the rest of the client was
busy, weaving ahead or writing lines, an answer that takes half a millisecond of work came after eleven.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

from btpy.held import Held

SHORT = 0.0005
"""Seconds. What changing turns ten times as often costs cannot be measured."""


def _shorten() -> Callable[[], None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(SHORT, before))
    return partial(sys.setswitchinterval, before)


_short = Held(_shorten)


def short() -> Held:
    """Short turns for all threads until the last user has left; then as long as they were before the first came."""
    return _short
