"""Python's cyclic garbage collector, put off while much is made that stays.

Thousands of classes are read, planned and woven into objects that live on and that no cycle holds. The collector looks
at all of them again and again, for nothing: left alone it takes between a third and a half of the time. What was made
meanwhile counts as old then, as if it had been looked at: the collector looks at it when it looks at everything. That
it does by what it has seen grow old itself, so it is told to when there is much more than the last time: who attaches
again and again leaves the sessions before behind.
"""

from __future__ import annotations

import gc
from collections.abc import Callable

from btpy.held import Held


def _disable() -> Callable[[], None]:
    was_enabled = gc.isenabled()
    gc.disable()
    return _enable if was_enabled else gc.disable


_FEW = 100_000
_bound = 0
"""Objects, beyond which the collector is to look at everything; 0: it is not known yet how many there are."""


def _enable() -> None:
    global _bound
    if not gc.get_freeze_count():  # else they are somebody else's, who wants them to stay so
        objects = _made_old()
        if objects > _bound:
            if _bound:
                gc.collect()
                objects = _made_old()
            _bound = 2 * objects + _FEW
    gc.enable()


def _made_old() -> int:
    """Moves all objects into the oldest generation, without a look at any of them; how many they are."""
    gc.freeze()
    objects = gc.get_freeze_count()
    gc.unfreeze()
    return objects


_put_off = Held(_disable)


def put_off() -> Held:
    """No collection in any thread until the last user has left; then it is as it was before the first came."""
    return _put_off
