"""The last contents of maps, for the time after the target has ended: a target that is killed sends no message.

A thread reads them every two seconds, or less often if reading is slow: it uses at most a twentieth of the time.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable

from btpy.api.results import MapContent
from btpy.api.session import Session
from btpy.dataclass import dataclass
from btpy.errors import BtpyError, TargetGone

_SECONDS = 2.0
_SHARE = 20


@dataclass(frozen=True, slots=True)
class KeptMap:
    """``read_at``: by ``time.monotonic``; ``last``: the probes had already ended, so this content is final."""

    content: MapContent
    read_at: float
    last: bool


class KeptMaps:
    """The maps by title, in the order of the session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._contents: dict[str, KeptMap] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="btpy-kept-maps", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._over.set()

    def read(self, titles: Iterable[str] | None = None) -> dict[str, KeptMap]:
        """The current content of all maps (or of the maps with these titles), or the last content if the target has
        ended."""
        maps = self._session.maps
        present = list(maps)
        requested = present if titles is None else set(titles)
        selected = [title for title in present if title in requested]
        with contextlib.suppress(TargetGone):
            for title in selected:
                content, now = maps[title].content, time.monotonic()
                self._contents[title] = KeptMap(content, now, maps.frozen)
        return {title: self._contents[title] for title in selected if title in self._contents}

    def _run(self) -> None:
        pause = _SECONDS
        while not self._over.wait(pause) and not self._session.ended:
            began = time.monotonic()
            with contextlib.suppress(BtpyError):  # a request for a map will report the error
                self.read()
            pause = max(_SECONDS, _SHARE * (time.monotonic() - began))
