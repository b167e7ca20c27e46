"""Two process-wide settings of the Python interpreter, which change while a session needs it.

**The cyclic garbage collector.** btpy reads, plans and weaves thousands of classes into objects that stay alive and are
in no cycle. The collector would visit all of them repeatedly without a result, and take between a third and a half of
the time. After a pause, the new objects count as old, as if the collector had visited them. It visits old
objects only after many of them have been added since the last full collection, and it does not count objects from the
time of the pause. Therefore this module runs a full collection when the number of objects has doubled. Otherwise a
program that attaches again and again would keep the objects of all its sessions.

**The switch interval.** One thread of Python runs at a time. A thread that returns from the socket waits until the
running thread gives up the interpreter, five milliseconds by default, while a thread of the application waits for its
class. When other threads of the client were busy, an answer that needs half a millisecond of work took eleven
milliseconds.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SHORT = 0.0005
"""Seconds, a tenth of the default. The cost of the more frequent switches is too small to measure."""

_FEW = 100_000


_pause_lock = threading.Lock()
_pauses = 0
"""The number of present users of :func:`gc_paused`."""

_was_enabled = False
"""Whether the garbage collector was enabled before the first of these users."""


@contextmanager
def gc_paused() -> Iterator[None]:
    """No thread runs the garbage collector until the last user has left; then its earlier setting is restored."""
    global _pauses, _was_enabled
    with _pause_lock:
        if not _pauses:
            _was_enabled = gc.isenabled()
            gc.disable()
        _pauses += 1
    try:
        yield
    finally:
        with _pause_lock:
            _pauses -= 1
            if not _pauses:
                (_resume if _was_enabled else gc.disable)()


_objects = 0
"""An estimate of the objects of all pauses. Python counts the objects that a pause adds; objects that are freed after
it stay in the estimate, so it is rather too high. A real count visits each object, which takes much longer."""

_most_objects = 0
"""The number of objects beyond which the next resumption runs a full collection; 0: no pause has ended yet."""


def _resume() -> None:
    global _objects, _most_objects
    if not gc.get_freeze_count():  # otherwise the application has frozen objects, which must stay frozen
        _objects += gc.get_count()[0]
        gc.freeze()
        gc.unfreeze()  # into the oldest generation
        if not _most_objects:
            _most_objects = 2 * _objects + _FEW
        elif _objects > _most_objects:
            _collect_if_many()
    gc.enable()


def _collect_if_many() -> None:
    """Runs a full collection if the real number of objects is beyond the limit, too."""
    global _objects, _most_objects
    _objects = _counted_objects()
    if _objects > _most_objects:
        gc.collect()
        _objects = _counted_objects()
        _most_objects = 2 * _objects + _FEW


def _counted_objects() -> int:
    """The number of all objects. Afterwards they are in the oldest generation."""
    gc.freeze()
    objects = gc.get_freeze_count()
    gc.unfreeze()
    return objects


_interval_lock = threading.Lock()
_intervals: list[float] = []
"""The interval before the first user, then the interval of each user."""


@contextmanager
def switch_interval(seconds: float = SHORT) -> Iterator[None]:
    """The maximum number of seconds that a thread runs before another thread may run. The shortest interval of all
    users is set; after the last has left, the earlier interval is restored.
    """
    with _interval_lock:
        if not _intervals:
            _intervals.append(sys.getswitchinterval())
        _intervals.append(seconds)
        sys.setswitchinterval(min(_intervals))
    try:
        yield
    finally:
        with _interval_lock:
            _intervals.remove(seconds)
            sys.setswitchinterval(min(_intervals))
            if len(_intervals) == 1:
                _intervals.clear()
