"""A deadline for a whole exchange over a socket.

The timeout of a socket is not enough: it applies to a single call, so a server could send a byte a second forever.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from types import TracebackType


class Deadline:
    """A ``with`` block that raises TimeoutError at its end if it takes longer than ``seconds``. When the time is over,
    the socket of the exchange is shut down, so that no read or write goes on."""

    def __init__(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self.expire)
        self._timer.daemon = True
        self._socket: socket.socket | None = None
        self._has_passed = False

    def __enter__(self) -> Deadline:
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """An answer that the deadline has cut off can look complete, and its error can have any type."""
        self._timer.cancel()
        if self._has_passed and (error is None or isinstance(error, Exception)):
            raise TimeoutError from error

    def watch(self, connected: socket.socket) -> None:
        """Names the socket of the exchange. The steps before, such as the handshake of TLS, need a timeout of their
        own. Raises TimeoutError if they took too long."""
        self._socket = connected
        if self._has_passed:
            raise TimeoutError

    def expire(self) -> None:
        """Ends the exchange now. Any thread may call this."""
        self._has_passed = True
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
