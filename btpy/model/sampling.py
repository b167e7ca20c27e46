"""Sampling and limits: they decide which hits of a probe fire."""

from __future__ import annotations

from btpy.dataclass import dataclass
from btpy.model.words import NumberedWord


class SampleMode(NumberedWord):
    """The way in which a number selects the hits that fire: every n-th, one in n on average, at most n a second."""

    ALL = "all", 0
    EVERY = "every", 1
    RATE = "rate", 2
    MAX_RATE = "max_rate", 3


@dataclass(frozen=True, slots=True)
class Sampling:
    """``@Sample``. ``number``: n for every n-th hit, the share of hits, or the most hits a second.

    ``by_thread``: the decision is made at method entry and is valid on that thread until the exit. ``group``: id of the
    first of the probes that share one decision because they sample the same methods by thread.
    """

    mode: SampleMode
    number: float
    by_thread: bool
    adaptive: bool
    group: int


@dataclass(frozen=True, slots=True)
class Limit:
    """``@Limit``: firings until the probe is disabled, firings a second, ns until it is disabled; 0: no limit."""

    hits: int = 0
    rate: int = 0
    lifetime: int = 0


NO_LIMIT = Limit()
