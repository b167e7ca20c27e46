"""The reach of a session: other users find no way in, and no secret in ports, sockets, files, command lines, properties
and names.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from btpy.engine.session import Session
from btpy.wire.channel import Listener
from tests.jdks import all_jdks
from tests.live.scripts import counted, own_tmp, program
from tests.targets import Target

__all__ = ["own_tmp"]

SCRIPT = '@OnMethod(class="Counted", method="step", location=ENTRY) { @n = count(); }'
NOBODY = 65534
as_nobody = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root and setpriv to be another user"
)


def listening(pid: int) -> set[str]:
    """Local addresses of the sockets of a process that listen: TCP, UDP and Unix, from /proc."""
    inodes = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            match = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(entry))
        except OSError:
            continue
        if match is not None:
            inodes.add(match[1])
    addresses = set()
    for name, inode_at, state in (("tcp", 9, "0A"), ("tcp6", 9, "0A"), ("udp", 9, None), ("udp6", 9, None)):
        for line in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]:
            columns = line.split()
            if columns[inode_at] in inodes and state in (None, columns[3]):
                addresses.add(f"{name} {columns[1]}")
    for line in Path(f"/proc/{pid}/net/unix").read_text().splitlines()[1:]:
        columns = line.split()
        accepts = int(columns[3], 16) & 0x10000  # __SO_ACCEPTCON
        if columns[6] in inodes and accepts:
            addresses.add(f"unix {columns[7] if len(columns) > 7 else ''}")
    return addresses


class Watch(threading.Thread):
    """Repeats the check until the block ends."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self._over = threading.Event()
        self.seen: set[str] = set()
        self.looks = 0

    def run(self) -> None:
        while not self._over.wait(0.002):
            self.look()

    def look(self) -> None:
        self.seen |= listening(self._pid)
        self.looks += 1

    def __enter__(self) -> Watch:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()


@all_jdks
def test_the_target_opens_no_port_at_any_time(jdk: int) -> None:
    with counted(jdk) as target, Watch(target.pid) as watch:
        for _ in range(3):
            with Session.attach(target.pid) as session:
                session.deployer.load(program(SCRIPT))
                target.send("call 7")
                target.wait_for("called")
                watch.look()
                assert session.departure.detach().clean
    assert watch.looks
    assert watch.seen <= {f"unix /tmp/.java_pid{target.pid}.tmp", f"unix /tmp/.java_pid{target.pid}"}  # HotSpot's own


@pytest.fixture
def listener(own_tmp: Path) -> Iterator[Listener]:
    result = Listener.unix()
    yield result
    result.close()


def test_the_socket_is_for_its_user_alone(listener: Listener) -> None:
    directory = listener.directory
    assert directory is not None
    assert directory.stat().st_mode & 0o777 == 0o700
    assert (directory / "socket").stat().st_mode & 0o777 == 0o600


@as_nobody
def test_another_user_cannot_connect_read_or_take_its_place(listener: Listener) -> None:
    directory = listener.directory
    assert directory is not None
    attempts = textwrap.dedent(f"""
        import os, socket
        path = {str(directory / "socket")!r}
        done = []
        for attempt in (
            lambda: socket.socket(socket.AF_UNIX).connect(path),
            lambda: os.listdir({str(directory)!r}),
            lambda: os.stat(path),
            lambda: os.unlink(path),
            lambda: os.rename({str(directory)!r}, {str(directory)!r} + "x"),
            lambda: socket.socket(socket.AF_UNIX).bind({str(directory)!r} + "/other"),
        ):
            try:
                attempt()
                done.append("reached")
            except OSError as error:
                done.append(type(error).__name__)
        print(*done)
    """)
    identity = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    interpreter = os.path.realpath(sys.executable)
    ran = subprocess.run([*identity, interpreter, "-I", "-c", attempts], capture_output=True, text=True)
    if "Permission denied" in ran.stderr and not ran.stdout:
        pytest.skip("another user cannot run this Python at all")
    assert ran.stdout.split() == ["PermissionError"] * 6, ran.stderr


@as_nobody
def test_another_user_cannot_join_an_unattended_session() -> None:
    """A client joins through the attach mechanism of the JVM, which refuses other users."""
    with counted(17) as target:
        with Session.attach(target.pid) as session:
            session.deployer.load(program(SCRIPT))
            assert session.departure.leave(60, "left")
        door = f"/tmp/.java_pid{target.pid}"
        assert os.stat(door).st_mode & 0o077 == 0
        knock = f"import socket; socket.socket(socket.AF_UNIX).connect({door!r})"
        identity = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        ran = subprocess.run([*identity, os.path.realpath(sys.executable), "-I", "-c", knock], capture_output=True)
        assert ran.returncode != 0


def test_a_peer_without_the_secret_gets_nothing_and_blocks_no_other_peer() -> None:
    """The loopback port of a client whose target is too old for Unix sockets."""
    result = Listener.tcp()
    try:
        port = int(result.address.removeprefix("tcp:"))
        strangers = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)]
        for stranger in strangers[::2]:
            stranger.sendall(secrets.token_bytes(64))
        for stranger in strangers:
            stranger.close()
        with pytest.raises(TimeoutError):
            result.accept(0.2)
    finally:
        result.close()


@all_jdks
def test_nothing_secret_can_be_seen(jdk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The secret is not in arguments, environment, thread names or output of the target, nor in arguments of the
    client's helper.
    """
    drawn: list[bytes] = []
    token_bytes = secrets.token_bytes

    def remembered(count: int) -> bytes:
        drawn.append(token_bytes(count))
        return drawn[-1]

    monkeypatch.setattr("btpy.wire.channel.secrets.token_bytes", remembered)
    with counted(jdk) as target, Session.attach(target.pid) as session:
        session.deployer.load(program(SCRIPT))
        assert drawn
        public = visible_of(target)
        for child in Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split():
            public += Path(f"/proc/{child}/cmdline").read_bytes()
        for secret in drawn:
            assert secret not in public
            assert secret.hex().encode() not in public
        assert session.departure.detach().clean


def visible_of(target: Target) -> bytes:
    process = Path(f"/proc/{target.pid}")
    names = b"".join((task / "comm").read_bytes() for task in (process / "task").iterdir())
    target.send("threads")
    threads = target.wait_for("threads")
    output = "\n".join([threads, *target.stdout, *target.stderr]).encode()
    return (process / "cmdline").read_bytes() + (process / "environ").read_bytes() + names + output
