"""Names and members of the target's classes, for completion: a separate thread reads them; they are cached and
refreshed on demand.

Nothing here blocks the keyboard: completion runs on another thread, and uses the available names after a short wait.
"""

from __future__ import annotations

import threading
import time
from typing import Protocol

from btpy.completion.classes import ClassIndex, LoadedType
from btpy.completion.members import Members
from btpy.errors import BtpyError, ClassFileError
from btpy.wire.messages import Classes

FRESH_SECONDS = 3.0
"""After this many seconds, a completion also searches for newly loaded classes."""

_FIRST_WAIT = 2.0  # seconds to wait for the first list of classes
_WAIT = 0.5  # seconds to wait for a class file
_MOST_KEPT = 2000  # the number of classes whose members are kept


class Target(Protocol):
    """The loaded classes of a session; any thread may ask."""

    def all(self, since: int = 0) -> Classes:
        """All classes, or the classes that were loaded since an earlier answer."""

    def class_file(self, name: str) -> bytes | None: ...


class Inventory:
    """After ``close`` the thread of the inventory ends with the current request."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._index = ClassIndex()
        self._types: dict[str, LoadedType] = {}
        self._members: dict[str, Members | None] = {}
        self._requests: list[str] = []
        self._state = threading.Condition()
        self._stale = True
        self._ready = False
        self._closed = False
        self._since = 0
        self._refreshed = 0.0
        threading.Thread(target=self._run, name="btpy-inventory", daemon=True).start()

    @property
    def classes(self) -> ClassIndex:
        """The state at the last request, at most some seconds ago."""
        with self._state:
            self._state.wait_for(lambda: self._ready or self._closed, _FIRST_WAIT)
            if time.monotonic() - self._refreshed > FRESH_SECONDS:
                self._stale = True
                self._state.notify_all()
            return self._index

    def members(self, class_name: str) -> Members | None:
        with self._state:
            if class_name not in self._members:
                self._requests.append(class_name)
                self._state.notify_all()
                self._state.wait_for(lambda: class_name in self._members or self._closed, _WAIT)
            return self._members.get(class_name)

    def close(self) -> None:
        with self._state:
            self._closed = True
            self._state.notify_all()

    # The methods below run on the thread of the inventory.

    def _run(self) -> None:
        while True:
            with self._state:
                self._state.wait_for(lambda: self._closed or self._stale or self._requests)
                if self._closed:
                    return
                request = self._requests.pop() if self._requests else None
            try:
                if request is not None:
                    self._read(request)
                else:
                    self._refresh()
            except BtpyError:  # the target has ended: keep the known names
                self.close()

    def _refresh(self) -> None:
        classes = self._target.all(self._since)
        fresh = {class_.name: LoadedType.of(class_) for class_ in classes.classes}
        index = ClassIndex([*self._types.values(), *fresh.values()]) if fresh or not self._ready else self._index
        with self._state:
            self._types |= fresh
            self._index = index
            self._since = classes.request
            self._refreshed = time.monotonic()
            self._stale = False
            self._ready = True
            self._state.notify_all()

    def _read(self, name: str) -> None:
        data = self._target.class_file(name)
        try:
            members = None if data is None else Members.parse(data)
        except ClassFileError:
            members = None
        with self._state:
            if len(self._members) >= _MOST_KEPT:
                del self._members[next(iter(self._members))]
            self._members[name] = members
            self._state.notify_all()
