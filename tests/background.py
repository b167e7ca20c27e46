"""Tests and benchmarks that run as background jobs of a shell."""

from __future__ import annotations

import signal


def accept_ctrl_c() -> None:
    """Handles SIGINT and SIGHUP again. Background jobs ignore them, and their children inherit that, so nobody could
    end a ``btpy`` of a test with Ctrl-C.
    """
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)
