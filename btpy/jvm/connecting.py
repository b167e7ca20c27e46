"""Loads the agent into a target and waits for its connection.

It runs on separate threads, so that the client can continue meanwhile, for example with the imports of
:mod:`btpy.engine.session`, which take 0.1 s.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Collection
from types import TracebackType

from btpy import timeline
from btpy.errors import AttachError, BtpyError
from btpy.jvm import attach, endings, peers, problems, processes
from btpy.jvm.processes import JvmProcess
from btpy.model.attach_method import AttachMethod
from btpy.wire.channel import Listener
from btpy.wire.messages import Welcome

ATTACH_SECONDS = 30.0
CALL_SECONDS = 15.0
"""The time limit for a loaded agent to connect, in seconds. In a target without free memory the agent never
connects."""

GUARDED_CALL_SECONDS = 2.0
"""The same limit for a target with a security manager. An agent without permissions never connects."""

_BETWEEN_LOOKS = 0.25
"""Seconds between checks whether the target still runs, before the agent has connected."""


class Connecting:
    """An attach in progress, to a JvmProcess, a pid, or a name for :func:`btpy.jvm.processes.find`.
    ``allow``: capabilities, as for ``--allow``; ``method``: as for ``--attach``.

    Raises AttachError at once when the target is known to be out of reach. If the ``with`` block ends before the
    connection was taken, the attach is cancelled: an agent that connects later finds no client and leaves.
    """

    def __init__(
        self,
        target: JvmProcess | int | str,
        *,
        allow: Collection[str] = (),
        method: AttachMethod = AttachMethod.DIRECT,
    ) -> None:
        self.process = target if isinstance(target, JvmProcess) else processes.find(str(target))
        attach.require_permission(self.process)
        self._allow = allow
        self._java_home = attach.attach_api_home(self.process) if method is AttachMethod.JPYPE else None
        self._delegate = None if self._java_home else attach.delegate_of(self.process)
        if self._delegate is None:
            attach.prepare(self.process, method)
            has_unix_sockets = attach.has_unix_sockets(self.process)
            self._listener = Listener.unix() if has_unix_sockets else Listener.tcp(peers.of_user(self.process.uid))
            if self._listener.directory is not None:
                attach.entrust(self._listener.directory)
        else:
            try:
                with timeline.step("wait for the delegate"):
                    self._listener = self._delegate.listen()
            except BaseException:
                self._delegate.close()
                raise
        self._connected: tuple[socket.socket, Welcome] | None = None
        self._failure: BtpyError | None = None
        self._thread = threading.Thread(target=self._run, name="btpy-connecting", daemon=True)
        self._thread.start()

    def __enter__(self) -> Connecting:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._listener.close()
        self._thread.join()
        if self._connected is not None:
            self._connected[0].close()

    @property
    def way(self) -> str:
        """The way of the attach, after "attached"."""
        return f"through JPype and Java at {self._java_home}" if self._java_home else "directly, without Java"

    @property
    def address(self) -> str:
        """The address for the agent: ``unix:/path`` or ``tcp:port``."""
        return self._listener.address

    def take(self) -> tuple[socket.socket, Welcome]:
        """The connection, after the handshake. Raises AttachError with the obstacle and the remedy."""
        self._thread.join()
        if self._failure is not None:
            raise self._failure
        assert self._connected is not None
        connected, self._connected = self._connected, None
        return connected

    def _run(self) -> None:
        try:
            connection, welcome = self._connect()
            if not welcome.retransformation:
                connection.close()
                raise problems.no_retransformation(self.process.pid)
            self._connected = connection, welcome
        except BtpyError as error:
            self._failure = error
        finally:
            self._listener.close()
            if self._delegate is not None:
                self._delegate.close()

    def _connect(self) -> tuple[socket.socket, Welcome]:
        """Attach on a thread, because the Attach API cannot be interrupted, and wait for the agent to connect. Raises
        AttachError.
        """
        process = self.process
        failures: list[AttachError] = []
        loaded, over = threading.Event(), threading.Event()
        threading.Thread(target=self._load, args=(loaded, over, failures), name="btpy-attach", daemon=True).start()
        try:
            with timeline.step("wait for the connection"):
                return self._listener.accept(ATTACH_SECONDS)
        except ConnectionAbortedError:
            raise failures[0] if failures else AttachError("the attach was given up") from None
        except TimeoutError as error:
            if not processes.is_alive(process):
                raise problems.ended(process.pid, endings.likely_causes(process)) from None
            if not loaded.is_set():
                raise silent(process, ATTACH_SECONDS) from None
            raise problems.did_not_connect(process.pid, str(error)) from None
        finally:
            over.set()

    def _load(self, loaded: threading.Event, over: threading.Event, failures: list[AttachError]) -> None:
        """Load the agent, then watch until ``over`` whether it can still connect."""
        process, listener = self.process, self._listener
        call_seconds = GUARDED_CALL_SECONDS if process.security_manager else CALL_SECONDS
        try:
            attach.attach(process, listener.options, self._delegate, self._allow)
            loaded.set()
            deadline = time.monotonic() + call_seconds
            while not over.wait(_BETWEEN_LOOKS):
                if not processes.is_alive(process):
                    raise problems.ended(process.pid, endings.likely_causes(process))
                if time.monotonic() >= deadline and process.security_manager:
                    raise problems.security_manager(process.pid, process.security_manager, str(attach.agent_jar()))
                if time.monotonic() >= deadline:
                    raise problems.did_not_connect(process.pid, listener.refused)
        except AttachError as error:
            failures.append(error)
            listener.close()


def silent(process: JvmProcess, seconds: float) -> AttachError:
    """The error for a JVM that does not answer, with a possible reason."""
    if processes.is_stopped(process):
        return problems.stopped(process.pid)
    return problems.no_answer(process.pid, f"no answer in {seconds:.0f} s")
