"""One server under load. In each round a disturbance happens while btpy traces the server; a seed chooses the
disturbance. After each round the server must have given only right answers, no worker may be stuck, its standard error
must be empty, no thread of the agent may remain, and the traced classes must have the same SHA-256 as before.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from unittest import mock

from btpy.engine.receipt import Receipt
from btpy.engine.session import Session
from btpy.engine.target import Limits
from btpy.errors import BtpyError
from btpy.events.items import PrintedMaps
from btpy.lang.check.checker import check_source
from btpy.lang.program import Program
from btpy.model.patterns import ClassPatternKind
from btpy.model.source import Source
from btpy.wire.messages import ClassBytes
from tests.agent.client import connect
from tests.agent.conftest import EXHAUSTED
from tests.jdks import compiled, java
from tests.maven import H2, artifact
from tests.targets import PATIENCE, Target

SCRIPT = """
org.h2.command.CommandContainer::query @entry { @queries = count(); }
org.h2.jdbc.JdbcPreparedStatement::executeQuery @return { @took = hist(duration); print(duration, stack(4)); }
org.h2.value.Value::* @entry { @values[method] = count(); }
ChaosServer::descend @entry { print(depth); }
ChaosServer::turn @entry { @turns = count(); }
@OnMethod(class="ChaosServer$Late", method="*", location=ENTRY, pending=true) { @late = count(); }
@OnTimer(50ms) { print(@queries); }
@OnEnd { print("end"); }
"""
HASHED = ("org.h2.command.CommandContainer", "org.h2.jdbc.JdbcPreparedStatement", "org.h2.value.Value")
FLAGS = ("-XX:MaxMetaspaceSize=48m", "-XX:-OmitStackTraceInFastThrow", "-Xmx192m")


JUMPS = (-400 * 86_400, -3_600, -1, 0, 1, 30, 3_600, 400 * 86_400)
"""Seconds by which clocks jump."""


class Clock:
    """The false time of day of a process that runs with ``env`` (``clock.c``)."""

    def __init__(self, directory: Path) -> None:
        library = directory / "clock.so"
        source = Path(__file__).parent / "clock.c"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
        self._file = directory / "clock"
        self._file.write_bytes(bytes(8))
        self.env = {"LD_PRELOAD": str(library), "CHAOS_CLOCK": str(self._file)}

    def jump(self, seconds: int) -> None:
        """Changes the time of day of the process by this number of seconds."""
        with self._file.open("r+b") as mapped:
            mapped.write(seconds.to_bytes(8, sys.byteorder, signed=True))


def delayed(connection: socket.socket, random_: random.Random) -> socket.socket:
    """A relay of the connection that passes the data on in pieces, some of them late."""
    outer, inner = socket.socketpair()

    def relay(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(random_.choice((1, 3, 64, 4096, 65536))):
                time.sleep(random_.random() ** 4 * 0.05)
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def both() -> None:
        with connection, inner:
            back = threading.Thread(target=relay, args=(inner, connection), daemon=True)
            back.start()
            relay(connection, inner)
            back.join()

    threading.Thread(target=both, daemon=True).start()
    return outer


class Server:
    """The server, started again when a round has killed it. ``clocks``: whether its time of day can be changed."""

    def __init__(self, jdk: int, jar: Path, *flags: str, clocks: bool = False) -> None:
        self.jdk = jdk
        self._agent = jar
        h2 = artifact(H2)
        # A target without metaspace must still answer, so the first "+" on strings must not define classes.
        source = Path(__file__).parent / "java" / "ChaosServer.java"
        classes = compiled([source], classpath=[h2], flags=["-XDstringConcat=inline"])
        self._directory = tempfile.TemporaryDirectory(prefix="btpy-chaos-")
        log = Path(self._directory.name) / "hs_err.log"
        dynamic = ["-XX:+EnableDynamicAgentLoading"] if jdk >= 21 else []
        self._command = [str(java(jdk)), *FLAGS, *flags, *dynamic, f"-XX:ErrorFile={log}", "-XX:+UseSerialGC"]
        self._command += ["-cp", f"{classes}{os.pathsep}{h2}", "ChaosServer"]
        self._log = log
        self.clock = Clock(Path(self._directory.name)) if clocks else None
        self._start()

    def _start(self) -> None:
        env = {**os.environ, **self.clock.env} if self.clock else None
        self.target = Target(["prlimit", "--nofile=400", *self._command], env)
        self.target.wait_for("ready")
        self._hashes = self.hashes()

    @property
    def pid(self) -> int:
        return self.target.pid

    def order(self, what: str) -> str:
        self.target.send(what)
        return self.target.wait_for(f"> {what}").removeprefix(f"> {what} ")

    def hashes(self) -> dict[str, str]:
        """SHA-256 of the bytes that the JVM gives a transformer for each class, without btpy."""
        client = connect(self.pid, self._agent, tcp=self.jdk < 16)
        results: dict[str, str] = {}

        def look(question: ClassBytes) -> None:
            results[question.name] = hashlib.sha256(question.data).hexdigest()

        try:
            client.weaver = look
            client.configure()
            ids = [client.search(ClassPatternKind.EXACT, name).classes for name in HASHED]
            client.weave(*(class_.id for classes in ids for class_ in classes))
            client.detach()
        finally:
            client.close()
        return results

    def check(self) -> None:
        """Raises AssertionError."""
        assert self.target.process.poll() is None, "the server has died"
        report = self.order("report")
        assert " wrong 0 " in report, report
        assert report.endswith("stuck none"), report
        assert not report.startswith("answers 0 "), report
        deadline = time.monotonic() + PATIENCE
        while threads := agent_threads(self.pid):
            assert time.monotonic() < deadline, f"{threads} are still there"
            time.sleep(0.02)
        assert self.hashes() == self._hashes, "a class is not what it was"
        lines = [line for line in self.target.stderr if EXHAUSTED not in line]
        assert lines == [], lines
        assert not self._log.exists(), self._log.read_text()[:2000]

    def kill(self) -> None:
        self.target.stop()
        self._start()

    def close(self) -> None:
        self.target.stop()
        self._directory.cleanup()


def accounted(receipt: Receipt) -> None:
    for account in receipt.accounts:
        assert account.produced == account.delivered + account.dropped, account


def agent_threads(pid: int) -> list[str]:
    results = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            name = (task / "comm").read_text().strip()
            if name.startswith("btpy"):
                results.append(name)
    return results


class Chaos:
    """Rounds of one server; ``ran`` counts the rounds by kind."""

    def __init__(self, server: Server, seed: int) -> None:
        self._server = server
        self._random = random.Random(seed)
        self._program = check_source(Source("chaos.bt", SCRIPT))
        self.ran: Counter[str] = Counter()

    def round(self) -> None:
        """One. Raises AssertionError with the name of the round."""
        kinds = [
            self.client_killed,
            self.client_interrupted,
            self.client_stopped,
            self.client_without_disk,
            self.connection_cut,
            self.frame_cut,
            self.target_killed,
            *(self._target(what) for what in ("interrupt", "heap", "metaspace", "files", "deep", "stop", "storm")),
        ]
        if self._server.clock:
            kinds = [self.frames_delayed, self.target_clock, self.client_clock]
        kind = self._random.choice(kinds)
        moment = self._random.random() ** 2 * 1.5
        name = kind.__name__
        try:
            kind(moment)
            self._server.check()
        except BaseException as error:
            error.add_note(f"round {sum(self.ran.values())}: {name} after {moment:.3f} s on JDK {self._server.jdk}")
            raise
        self.ran[name] += 1

    @contextlib.contextmanager
    def _client(self, *arguments: str, env: Mapping[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
        command = [sys.executable, "-m", "btpy", str(self._server.pid), "-e", SCRIPT, "--hits", "0", *arguments]
        environment = {**os.environ, **(env or {})}
        with tempfile.TemporaryFile("w+") as stderr:
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr, env=environment)
            try:
                yield process
            except AssertionError as error:
                stderr.seek(0)
                error.add_note(stderr.read())
                raise
            finally:
                process.kill()
                process.wait()

    def client_killed(self, moment: float) -> None:
        with self._client():
            time.sleep(0.3 + moment)

    def client_interrupted(self, moment: float) -> None:
        with self._client() as client:
            time.sleep(0.8 + moment)
            client.send_signal(signal.SIGINT)
            client.wait(PATIENCE)

    def client_stopped(self, moment: float) -> None:
        with self._client() as client:
            time.sleep(0.3 + moment)
            client.send_signal(signal.SIGSTOP)
            time.sleep(0.5)
            client.send_signal(signal.SIGCONT)
            time.sleep(0.1)

    def client_without_disk(self, moment: float) -> None:
        with self._client("-o", "/dev/full") as client:
            client.wait(PATIENCE)

    def client_clock(self, moment: float) -> None:
        """The client's time of day jumps, also while it attaches and while it leaves. It must leave normally."""
        with tempfile.TemporaryDirectory() as directory:
            clock = Clock(Path(directory))
            with self._client(env=clock.env) as client:
                for _ in range(3):
                    time.sleep(moment / 3)
                    clock.jump(self._random.choice(JUMPS))
                deadline = time.monotonic() + PATIENCE
                while not agent_threads(self._server.pid):
                    assert time.monotonic() < deadline, "it does not attach"
                    time.sleep(0.02)
                time.sleep(moment)
                client.send_signal(signal.SIGINT)
                clock.jump(self._random.choice(JUMPS))
                status = client.wait(PATIENCE)
                assert status in (0, 128 + signal.SIGINT, -signal.SIGINT), status  # not 0 if btpy was still attaching

    def _session(self) -> Session:
        return Session.attach(self._server.pid, Limits(event_buffer_bytes=1 << 20))

    def _loaded(self, session: Session, program: Program | None = None) -> None:
        session.deployer.load(program or self._program, missing="ignore")

    def connection_cut(self, moment: float) -> None:
        """A signal comes at any moment of attaching, weaving, streaming or detaching."""
        with self._session() as session:
            timer = threading.Timer(moment / 3, session.close)
            timer.start()
            with contextlib.suppress(BtpyError):
                self._loaded(session)
                for _ in session.delivery.items(self._random.random() / 2):
                    pass
                session.departure.detach()
            timer.join()

    def frame_cut(self, moment: float) -> None:
        """Sends half a message, waits, and closes the connection."""
        client = connect(self._server.pid, self._server._agent, tcp=self._server.jdk < 16)
        try:
            client.configure()
            client.connection.sendall(b"\0\0\0\x40\x11\0\0")
            time.sleep(moment / 5)
        finally:
            client.close()

    def frames_delayed(self, moment: float) -> None:
        """All data between client and agent come in pieces and late. Nothing may be lost."""
        accept = socket.socket.accept

        def slow(server: socket.socket) -> tuple[socket.socket, object]:
            connection, address = accept(server)
            return delayed(connection, random.Random(moment)), address

        with mock.patch.object(socket.socket, "accept", slow), self._session() as session:
            self._loaded(session)
            for _ in session.delivery.items(moment / 2):
                pass
            accounted(session.departure.detach())

    def target_clock(self, moment: float) -> None:
        """The target's time of day jumps. Its events must stay in order, and no timer may stop."""
        assert self._server.clock
        with self._session() as session:
            self._loaded(session)
            times: list[int] = []
            count = 0
            for _ in range(4):
                self._server.clock.jump(self._random.choice(JUMPS))
                before, deadline = count, time.monotonic() + PATIENCE
                while count < before + 2:
                    assert time.monotonic() < deadline, "the timer stands still"
                    for item in session.delivery.items(0.1):
                        if isinstance(item, PrintedMaps):
                            count += 1
                            times.append(item.nano_time)
                time.sleep(moment / 10)
            assert times == sorted(times), times
            self._server.clock.jump(self._random.choice(JUMPS))
            accounted(session.departure.detach())
        self._server.clock.jump(0)

    def target_killed(self, moment: float) -> None:
        killed = threading.Timer(moment / 2, self._server.target.process.kill)
        with contextlib.suppress(BtpyError):
            killed.start()
            with self._session() as session:
                self._loaded(session)
                for _ in session.delivery.items(2):
                    pass
        killed.join()
        self._server.kill()

    def _target(self, what: str) -> Callable[[float], None]:
        """The target disturbs itself while it is traced. Every record that its probes produced must be delivered or
        counted as dropped.

        The disturbance begins after the agent was loaded: a JVM without memory prints to standard error that it cannot
        load an agent (java.lang.instrument ASSERTION FAILED), and btpy cannot prevent that.
        """

        def disturbed(moment: float) -> None:
            orders = threading.Timer(moment / 3, lambda: self._server.target.send(what))
            with contextlib.suppress(BtpyError), self._session() as session:
                orders.start()
                self._loaded(session)
                for _ in session.delivery.items(0.3):
                    pass
                orders.join()
                self._server.target.wait_for(f"> {what}")
                accounted(session.departure.detach())
            if orders.ident is not None:
                orders.join()

        disturbed.__name__ = f"target_{what}"
        return disturbed
