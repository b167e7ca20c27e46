"""Python's cyclic garbage collector, put off while much is made that stays.

Thousands of classes are read, planned and woven into objects that live on and that no cycle holds. The collector looks
at all of them again and again, for nothing: left alone it takes between a third and a half of the time. What was made
meanwhile counts as old then, as if it had been looked at: the collector looks at it when it looks at everything.
"""

from __future__ import annotations

import gc
from collections.abc import Callable

from btpy.held import Held


def _disable() -> Callable[[], None]:
    was_enabled = gc.isenabled()
    gc.disable()
    return _enable if was_enabled else gc.disable


def _enable() -> None:
    if not gc.get_freeze_count():  # else they are somebody else's, who wants them to stay so
        gc.freeze()
        gc.unfreeze()  # into the oldest generation, without a look at any of them
    gc.enable()


_put_off = Held(_disable)


def put_off() -> Held:
    """No collection in any thread until the last user has left; then it is as it was before the first came."""
    return _put_off
