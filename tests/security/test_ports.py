"""Other processes at the loopback port to which an agent before Java 16 connects: they cannot keep the agent out."""

from __future__ import annotations

import os
import select
import shutil
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from btpy.jvm import peers
from btpy.wire.channel import MAX_CONNECTIONS, Listener
from tests.containers.cells import BTPY_AS_NOBODY, NOBODY, needs_root
from tests.wire.test_channel import connected

STRANGERS = 3 * MAX_CONNECTIONS
KNOCK = textwrap.dedent("""
    import socket, sys
    strangers = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(int(sys.argv[2]))]
    print("connected", flush=True)
    print(sum(stranger.recv(1) == b"" for stranger in strangers), "refused", flush=True)
    sys.stdin.read()
""")


@contextmanager
def strangers(port: int, prefix: tuple[str, ...] = ()) -> Iterator[subprocess.Popen[str]]:
    """A process that has connected many times and sends nothing."""
    command = [*prefix, sys.executable, "-I", "-c", KNOCK, str(port), str(STRANGERS)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "connected\n"
        try:
            yield process
        finally:
            process.kill()


def port_of(listener: Listener) -> int:
    return int(listener.address.removeprefix("tcp:"))


@needs_root
def test_another_user_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("btpy.wire.channel.HANDSHAKE_SECONDS", 1000.0)
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed")
    listener = Listener.tcp(peers.of_user(os.geteuid()))
    with strangers(port_of(listener), BTPY_AS_NOBODY) as process:
        assert process.stdout is not None
        assert select.select([process.stdout], [], [], 20.0)[0], "strangers have been given a place"
        assert process.stdout.readline() == f"{STRANGERS} refused\n"
        with connected(listener) as both:
            assert both.welcome.pid == 42


def test_silent_strangers_of_the_same_user_make_room() -> None:
    listener = Listener.tcp(peers.of_user(os.geteuid()))
    with strangers(port_of(listener)), connected(listener) as both:
        assert both.welcome.pid == 42


@pytest.mark.parametrize("host", ["127.0.0.1", "::ffff:127.0.0.1"])
def test_the_user_of_a_connection(host: str) -> None:
    """Java connects from a socket of IPv6."""
    tables = [Path("/proc/self/net/tcp"), Path("/proc/self/net/tcp6")]
    with socket.create_server(("127.0.0.1", 0)) as server:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(family) as client:
            try:
                client.connect((host, server.getsockname()[1]))
            except OSError as error:
                pytest.skip(f"no IPv6 here: {error}")
            connection, _ = server.accept()
            with connection:
                assert peers.peer_user(connection, tables) == os.geteuid() != NOBODY
