"""Signals while probes are in place.

The first interrupt asks: the run ends, the target is put back, the summary is printed. The second insists:
``KeyboardInterrupt`` leaves everything at once, and the agent, its connection gone, puts the target back by itself.
"""

from __future__ import annotations

import os
import signal
from types import FrameType, TracebackType
from typing import Any


class Signals:
    """A context. Outside of :meth:`ask`, an interrupt is a ``KeyboardInterrupt`` like anywhere else in Python.

    ``stop``: the name of the signal that asked to end.
    """

    def __init__(self, *, to_file: bool) -> None:
        self.stop: str | None = None
        self._wants_maps = False
        self._wants_reopen = False
        self._to_file = to_file
        self._asking = False
        self._before: dict[int, Any] = {}

    def ask(self) -> None:
        """From now on the first interrupt only asks."""
        self._asking = True

    @property
    def pending(self) -> bool:
        """Whether a signal waits to be acted on."""
        return self.stop is not None or self._wants_maps or self._wants_reopen

    def take_maps(self) -> bool:
        """Whether SIGUSR1 came since the last call."""
        wanted, self._wants_maps = self._wants_maps, False
        return wanted

    def take_reopen(self) -> bool:
        """Whether SIGHUP came since the last call, with output going to a file: it may have been rotated away."""
        wanted, self._wants_reopen = self._wants_reopen, False
        return wanted

    def __enter__(self) -> Signals:
        handlers = {
            signal.SIGINT: self._interrupted,
            signal.SIGTERM: self._interrupted,
            signal.SIGHUP: self._hung_up,
            signal.SIGUSR1: self._maps_wanted,
        }
        for number, handler in handlers.items():
            # A signal that the parent ignores (nohup) stays ignored.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, handler)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        if self.stop is None and self._asking:
            self.stop = signal.Signals(number).name
            if number == signal.SIGINT and os.isatty(2):
                os.write(2, b"\n")  # the terminal has echoed ^C
            return
        raise KeyboardInterrupt

    def _hung_up(self, number: int, frame: FrameType | None) -> None:
        if self._to_file:
            self._wants_reopen = True
        else:
            self._interrupted(number, frame)

    def _maps_wanted(self, number: int, frame: FrameType | None) -> None:
        self._wants_maps = True
