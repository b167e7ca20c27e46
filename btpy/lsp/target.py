"""The JVM whose classes the editor completes. It may start later, or start again after it has ended."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable

from btpy.api.session import Session, attach
from btpy.completion.classes import ClassIndex
from btpy.completion.inventory import Inventory
from btpy.completion.members import Members
from btpy.errors import BtpyError
from btpy.model.permissions import Permissions

_BETWEEN = 5.0  # seconds between two attempts to reach it


class LiveTarget:
    """``name``: pid, or part of a name. ``tell``: called with a text for each change: attached, failed with the reason,
    ended. Its sessions have no probes, and their requests change nothing.
    """

    def __init__(self, name: str, permissions: Permissions, tell: Callable[[str, bool], None]) -> None:
        self._name = name
        self._permissions = permissions
        self._tell = tell
        self._state = threading.Lock()
        self._session: Session | None = None
        self._inventory: Inventory | None = None
        self._tried = float("-inf")
        self._last_text = ""

    @property
    def session(self) -> Session | None:
        """Waits while an attach is in progress."""
        with self._state:
            if self._session is not None and self._session.ended:
                self._say(f"{self._session.target.main} has ended: its classes are no longer known", good=False)
                self._leave()
            if self._session is None and time.monotonic() - self._tried >= _BETWEEN:
                self._attach()
                self._tried = time.monotonic()
            return self._session

    @property
    def classes(self) -> ClassIndex:
        return ClassIndex() if self.session is None or self._inventory is None else self._inventory.classes

    def members(self, class_name: str) -> Members | None:
        return None if self.session is None or self._inventory is None else self._inventory.members(class_name)

    def close(self) -> None:
        with self._state:
            self._leave()

    def _attach(self) -> None:
        pid = int(self._name) if self._name.isdecimal() else self._name
        try:
            self._session = attach(
                pid, allow=self._permissions.allow, redact=self._permissions.redact, secrets=self._permissions.secrets
            )
        except BtpyError as error:
            self._say("; ".join([str(error), *error.help]), good=False)
        else:
            self._inventory = Inventory(self._session.classes)
            self._say(f"classes are those of {self._session.target.main} ({self._session.target.pid})", good=True)

    def _leave(self) -> None:
        if self._inventory is not None:
            self._inventory.close()
        if self._session is not None:
            with contextlib.suppress(BtpyError):
                self._session.detach()
            self._session.close()
        self._session = self._inventory = None

    def _say(self, text: str, *, good: bool) -> None:
        if text != self._last_text:
            self._last_text = text
            self._tell(text, good)
