"""Limits how many records of each probe are decoded in a second, when there are more than a person can read.

The client only counts the other records, by their kinds (:func:`btpy.events.record_decoder.tally`). Counting takes a
small part of the time of decoding, so the client keeps up with the target, and shows rare events even among many
frequent ones.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import Final

from btpy.model.templates import Template, TemplateKind

DECISIONS: Final = (TemplateKind.COMMIT, TemplateKind.DISCARD, TemplateKind.EXIT)
"""Records of these kinds have the id of the speculation that they commit or discard, or the exit status."""


class ReadingLimit:
    """``most``: how many records of one probe are decoded in a second. ``templates``: the templates of the session,
    which may grow. Records of a speculation, and records that commit or discard a speculation, are always decoded."""

    def __init__(self, most: int, templates: Sequence[Template]) -> None:
        self.most = most
        self._templates = templates
        self._second = 0
        self._read: Counter[int] = Counter()

    def take(self, template: int, probe: int, count: int) -> int:
        """The number of records that may be decoded, of ``count`` records that arrived together."""
        if 0 <= template < len(self._templates):
            about = self._templates[template]
            if about.speculative or about.kind in DECISIONS:
                return count
        second = int(time.monotonic())
        if second != self._second:
            self._second = second
            self._read.clear()
        accepted = max(0, min(count, self.most - self._read[probe]))
        self._read[probe] += accepted
        return accepted
