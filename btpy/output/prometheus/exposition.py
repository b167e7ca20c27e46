"""The exposition of a run: asks for the maps when a server scrapes, and encodes them."""

from __future__ import annotations

import threading
import time

from btpy.output.origin import Origin
from btpy.output.prometheus.families import LEFT_OUT, PREFIX, Families, FamilySample
from btpy.output.prometheus.negotiation import encoder_of
from btpy.output.prometheus.server import Server
from btpy.output.prometheus.settings import ExpositionSettings
from btpy.output.prometheus.writer import ExpositionWriter
from btpy.output.writer import Context

LEAST_SECONDS = 0.5
"""The least number of seconds between two readings, even if servers scrape more often. A reading takes time of the
target."""

PATIENCE = 3.0
"""Seconds that a scrape waits for a new reading. After that time it gets the last reading."""


class Exposition:
    """``scrapes``: the number of answered scrapes."""

    def __init__(self, settings: ExpositionSettings) -> None:
        """Raises UsageError for an address on which this process cannot listen."""
        self._targets: list[ExpositionWriter] = []
        self._changed = threading.Condition()
        self._wanted = False
        self._has_closed = self._has_failed = False
        self._begun = self._readings = 0  # numbers of readings
        self._last = float("-inf")
        self._making = threading.Lock()
        self._pages: tuple[int, dict[str, bytes]] = (-1, {})  # the number of a reading, and its pages by content type
        self._server = Server(settings, self.page)

    @property
    def address(self) -> str:
        return self._server.address

    @property
    def scrapes(self) -> int:
        return self._server.answered

    def start(self) -> None:
        self._server.start()

    def writer(self, context: Context, origin: Origin) -> ExpositionWriter:
        writer = ExpositionWriter(context, origin)
        with self._changed:
            self._targets.append(writer)
        return writer

    def begin_report(self) -> bool:
        """Returns whether a scrape waits for a reading, and a reading is possible now."""
        with self._changed:
            is_due = self._wanted and time.monotonic() - self._last >= LEAST_SECONDS
            if is_due:
                self._wanted = False
                self._begun += 1
            return is_due

    def report(self) -> None:
        """Called when the maps of all targets have just been read."""
        with self._changed:
            self._readings = self._begun
            self._last = time.monotonic()
            self._changed.notify_all()

    def notices(self) -> list[str]:
        """The text that a page could not be made, only once."""
        failure, self._server.failure = self._server.failure, ""
        if not failure or self._has_failed:
            return []
        self._has_failed = True
        return [f"a scrape of {self.address} failed, which is a bug in btpy: {failure}"]

    def close(self) -> None:
        with self._changed:
            self._has_closed = True
            self._changed.notify_all()
        self._server.close()

    def page(self, accept: str) -> tuple[str, bytes]:
        """The content type and the text, for a header ``Accept``. Called by threads of the server."""
        self._read()
        encode, content_type = encoder_of(accept)
        with self._making:  # one page at a time, even if many clients scrape
            reading, pages = self._pages
            if reading != self._readings:
                reading, pages = self._pages = self._readings, {}
            if content_type not in pages:
                pages[content_type] = encode(self._families())
            return content_type, pages[content_type]

    def _read(self) -> None:
        """Waits for a reading that begins after this scrape."""
        with self._changed:
            needed = self._begun + 1
            self._wanted = True
            self._changed.wait_for(lambda: self._readings >= needed or self._has_closed, PATIENCE)

    def _families(self) -> Families:
        families = Families()
        with self._changed:
            targets = list(self._targets)
        for target in targets:
            target.add_to(families)
        left_out = families.family(PREFIX + LEFT_OUT, "gauge", "series for which the exposition has no room")
        families.add_always(left_out, FamilySample("", {}, families.left_out))
        return families
