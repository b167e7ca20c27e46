"""A JVM that is started with the agent in it. It does not run its main method until the probes are installed."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from btpy import children
from btpy.errors import AttachError, UsageError
from btpy.jvm import attach, launch, peers, problems, processes
from btpy.jvm.processes import JvmProcess
from btpy.wire.channel import UNIX_SOCKETS_SINCE, Listener
from btpy.wire.messages import Welcome

START_SECONDS = 30.0
"""The time limit from the start of a JVM to the connection of the agent, in seconds. The JVM waits for the probes
equally long at most."""

_NO_SUCH_PROCESS = "BT502"


class Launching:
    """A Java command in progress, like :class:`btpy.jvm.connecting.Connecting` for an attach.

    Raises UsageError if the command does not start Java. Leaving the ``with`` block does not end the JVM.
    """

    def __init__(self, command: Sequence[str]) -> None:
        executable = children.program_path(command[0])
        if executable is None:
            raise UsageError(f"there is no command {command[0]!r}")
        home = Path(os.path.realpath(executable)).parent.parent
        version = launch.feature_version(home)
        if Path(executable).name.removesuffix(".exe") not in ("java", "javaw"):
            raise UsageError(
                f"{command[0]} is not java",
                help=["if this program starts Java, attach to that JVM when it runs: btpy NAME FILE.bt"],
            )
        unix = version is not None and version >= UNIX_SOCKETS_SINCE
        self._listener = Listener.unix() if unix else Listener.tcp(peers.of_user(os.geteuid()))
        try:
            options = f"{self._listener.options},wait={START_SECONDS * 1000:.0f}"
            agent = f"-javaagent:{attach.agent_jar()}={options}"
            self.child = children.start_for_user([executable, agent, *command[1:]])
        except BaseException:
            self._listener.close()
            raise

    def __enter__(self) -> Launching:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._listener.close()

    @property
    def process(self) -> JvmProcess:
        """The new JVM. Raises AttachError (BT507) if it has ended."""
        try:
            return processes.describe(self.child.pid)
        except AttachError as error:
            if error.code != _NO_SUCH_PROCESS:
                raise
            raise problems.ended(self.child.pid) from None

    def take(self) -> tuple[socket.socket, Welcome]:
        """The connection, after the handshake. Raises AttachError (BT507, BT514)."""
        watch = threading.Thread(target=self._give_up_with_the_child, name="btpy-child", daemon=True)
        watch.start()
        try:
            return self._listener.accept(START_SECONDS)
        except ConnectionAbortedError:
            raise problems.ended(self.child.pid) from None
        except TimeoutError as error:
            raise problems.did_not_connect(self.child.pid, str(error)) from None
        finally:
            self._listener.close()

    def _give_up_with_the_child(self) -> None:
        self.child.wait()
        self._listener.close()
