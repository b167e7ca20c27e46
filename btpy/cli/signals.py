"""Signals while probes are in place.

The first interrupt ends the run regularly: btpy restores the target and prints the summary. The second insists:
``KeyboardInterrupt`` ends btpy immediately. The agent notices the closed connection and restores the target. Other
signals are stored, and the run reacts to them between two items.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class Signals:
    """A context. Outside of :meth:`ask`, an interrupt raises ``KeyboardInterrupt``, as usual in Python.

    ``stop``: the name of the signal that ends the run. ``echoed``: whether the terminal shows ``^C`` at the cursor.
    """

    def __init__(self, *, to_file: bool) -> None:
        self.stop: str | None = None
        self.echoed = os.isatty(2)
        self._pending_signals: set[int] = set()
        self._to_file = to_file
        self._asking = False
        self._attended = False
        self._before: dict[int, Any] = {}

    def ask(self) -> None:
        """From now on the first interrupt ends the run regularly."""
        self._asking = True

    def attend(self, attended: bool) -> None:
        """Whether the run checks stored signals often. If so, the run restores the terminal after Ctrl-Z, and stops the
        process itself.
        """
        self._attended = attended

    @property
    def pending(self) -> bool:
        """Whether a stored signal has not been handled yet."""
        return self.stop is not None or bool(self._pending_signals)

    def take(self, number: signal.Signals) -> bool:
        """Whether this signal arrived since the last call: SIGUSR1 (the user asks for the maps), SIGQUIT (pause),
        SIGWINCH, SIGTSTP, or SIGHUP if the output goes to a file, which another program may have renamed.
        """
        is_pending = number in self._pending_signals
        self._pending_signals.discard(number)
        return is_pending

    def suspend(self) -> None:
        """Stop the process, as Ctrl-Z does by default; returns when it is continued."""
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        # The signal is sent to this thread, so that the thread does not continue before the process has stopped.
        signal.pthread_kill(threading.get_ident(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, self._stopped)

    def __enter__(self) -> Signals:
        handlers = {
            signal.SIGINT: self._interrupted,
            signal.SIGTERM: self._interrupted,
            signal.SIGHUP: self._note if self._to_file else self._interrupted,
            signal.SIGUSR1: self._note,
            signal.SIGQUIT: self._note,
            signal.SIGWINCH: self._note,
            signal.SIGTSTP: self._stopped,
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
            if number == signal.SIGINT and self.echoed:
                with contextlib.suppress(OSError):  # the terminal was closed
                    os.write(2, b"\n")
            return
        raise KeyboardInterrupt

    def _stopped(self, number: int, frame: FrameType | None) -> None:
        if self._attended:
            self._note(number, frame)
        else:
            self.suspend()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._pending_signals.add(number)
