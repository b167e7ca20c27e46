"""A process that looks like a JVM to btpy, and an agent that sends any message of a test.

The process maps a ``libjvm.so``, has performance counters and listens on the attach socket. So btpy attaches to it as
to any JVM. The process passes each attach request on to the test. In the test, an :class:`Impostor` connects to btpy's
socket as the agent would, completes the handshake, and answers every request as an honest agent does. A ``Lie`` changes
the messages that the impostor sends.
"""

from __future__ import annotations

import ctypes
import hashlib
import hmac
import json
import os
import pwd
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from btpy.events.aggregates import CONTENT, COUNTS, SKIPS
from btpy.events.record_decoder import fewest_values
from btpy.jvm import attach
from btpy.lang.program import Program
from btpy.wire import codec, messages
from btpy.wire.messages import Message
from tests.security.test_neighbour import counters, text_counter
from tests.targets import PATIENCE
from tests.wire.peer import Peer

PROCESS = """
import json, mmap, os, signal, socket, sys
signal.signal(signal.SIGQUIT, signal.SIG_IGN)
library, counters, directory = sys.argv[1:4]
open("/proc/self/comm", "w").write("btpy-events")  # the name of the thread that a session has
pid = os.getpid()
os.makedirs(directory, 0o755, exist_ok=True)
with open(f"{directory}/{pid}", "wb") as file:
    file.write(bytes.fromhex(counters))
with open(library, "rb") as file:
    mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
path = f"/tmp/.java_pid{pid}"
server = socket.socket(socket.AF_UNIX)
os.umask(0o177)
sys.stdin.readline()  # now there is no such path of a process that had this number
server.bind(path)
server.listen()
print("ready", flush=True)
while True:
    connection, _ = server.accept()
    with connection:
        request = b""
        try:
            while request.count(b"\\0") < 5:
                part = connection.recv(65536)
                if not part:
                    break
                request += part
        except OSError:  # btpy has given the attach up
            continue
        words = [word.decode("utf-8", "replace") for word in request.split(b"\\0")]
        print(json.dumps(words), flush=True)
        line = sys.stdin.readline()
        if not line:
            break
        try:
            connection.sendall(bytes.fromhex(line))
        except OSError:
            pass
"""
LOADED = b"0\nreturn code: 0\n"

Lie = Callable[[Message, "Impostor"], Sequence[bytes]]
"""Takes a message that the honest agent would send; gives the frames that the impostor sends in its place."""


def honest(message: Message, impostor: Impostor) -> Sequence[bytes]:
    return [codec.encode(message)]


class Impostor(Peer):
    """``classes``: names and class files that it reports as loaded. ``program``: the script, which defines the layout
    of records. ``lie``: changes each message that it sends. ``extra``: further messages that it sends after the first
    weave.
    """

    def __init__(
        self,
        options: str,
        classes: dict[str, bytes],
        program: Program,
        lie: Lie,
        extra: Callable[[], Iterable[Message]],
    ) -> None:
        super().__init__(options)
        self.socket.settimeout(PATIENCE)
        self.lie = lie
        self.owed: list[bytes] = []
        """Frames that a lie has not sent yet."""
        self._extra = extra
        self._classes = classes
        self._program = program
        self._question = 0
        self._has_woven = False
        self._hangs_up = False
        self._probes: tuple[int, ...] = ()

    def say(self, *said: Message) -> None:
        """Sends messages, changed by the lie."""
        for message in said:
            for frame in self.lie(message, self):
                self.socket.sendall(frame)
            if self._hangs_up:
                raise ConnectionError("this agent has hung up")

    def introduce(self, jdk: int) -> None:
        """The handshake. Does not check the client's proof: this agent accepts any client."""
        nonce = os.urandom(32)
        self.say(messages.Hello(messages.MAGIC, messages.VERSION, nonce))
        proof = self.receive()
        assert isinstance(proof, messages.Proof)
        mac = hmac.new(self.secret, b"agent" + proof.nonce + nonce, hashlib.sha256).digest()
        names = (f"{jdk}.0.1", "OpenJDK 64-Bit Server VM", "Counted")
        self.say(messages.Welcome(mac, attach.agent_build(), 42, *names, 1, time.time_ns(), 3, True))

    def serve(self) -> None:
        """Answers requests until the client closes the connection."""
        while (message := self.receive()) is not None:
            for answer in self.answers(message):
                self.say(answer)
            if isinstance(message, messages.Detach | messages.Leave):
                self._close_in_order()
                return

    def hang_up(self) -> bytes:
        """Ends the connection after the frames sent so far; gives an empty frame."""
        self._hangs_up = True
        return b""

    def _close_in_order(self) -> None:
        """Reads what the client still sends. Closing at once would discard the frames that the client has not read."""
        while self.receive() is not None:
            pass

    def answers(self, request: Message) -> Iterator[Message]:
        match request:
            case messages.Configure():
                yield messages.Configured(1)
            case messages.Search():
                yield self._search(request)
            case messages.Read():
                files = dict(enumerate(self._classes.values(), 1))
                class_files = tuple(messages.ClassFileOf(id_, files.get(id_, b"")) for id_ in request.class_ids)
                yield messages.ClassFiles(request.request, class_files)
            case messages.LookUp():
                facts = tuple(messages.TypeFact(name, "java.lang.Object", ()) for name in request.names)
                yield messages.Supertypes(request.request, facts)
            case messages.Weave():
                yield from self._weave(request)
            case messages.Snapshot():
                yield messages.Errors((messages.ProbeFailure(0, 0, messages.ErrorKind.INDEX, 3, "index 9 of 3"),))
                yield messages.Maps(request.request, contents(self._program, request.map_ids))
            case messages.Ping():
                yield messages.Pong(request.request)
            case messages.Restore():
                yield messages.Restored(request.request, 1, 1, 0, ())
            case messages.Detach():
                yield messages.Counters(tuple(map(counters_of, self._probes)))
                yield messages.Farewell(request.request, (), 1, 100)
            case messages.ListSessions():
                info = messages.SessionInfo(1, "left", 10**9, 10**10, 0, 1, 1, 1, 0)
                yield messages.Sessions(request.request, (info,))
            case messages.Join():
                handed = (messages.HandedOver(0, 1),)
                yield messages.Joined(request.request, "", 1, "left", 10**10, b"no description", handed)
            case messages.Leave():
                yield messages.Left(request.request, "", 1)
            case messages.Locate():
                yield messages.Locations(request.request, ())
            case messages.Install():
                self._probes += tuple(probe.id for probe in request.probes)
                yield messages.Done(request.request, "")
            case messages.Release() | messages.Go() | messages.Woven():
                pass
            case _:
                yield messages.Done(request.request, "")  # type: ignore[attr-defined]

    def _search(self, request: messages.Search) -> messages.Classes:
        simple = [name.rpartition(".")[2] for name in self._classes]
        classes = tuple(
            loaded_class(id_, name)
            for id_, name in enumerate(self._classes, 1)
            if not request.since
            and any(word in pattern.text for pattern in request.patterns for word in (*simple, ".*"))
        )
        return messages.Classes(request.request, len(self._classes), len(classes), classes)

    def _weave(self, request: messages.Weave) -> Iterator[Message]:
        names = dict(enumerate(self._classes, 1))
        for id_ in request.class_ids:
            name = names.get(id_, "Counted")
            self._question += 1
            yield messages.ClassBytes(
                self._question, id_, name, "app@1", "java.lang.Object", (), self._classes.get(name, b"")
            )
        yield messages.WeaveResult(request.request, (), 0, 1, 1000, 2000, 500)
        if not self._has_woven:
            self._has_woven = True
            yield from unasked(self._program)
            yield from self._extra()


def loaded_class(id_: int, name: str) -> messages.LoadedClass:
    return messages.LoadedClass(
        id_, name, "app@1", "java.lang.Object", (), 0x21, True, "file:/app.jar", messages.LoadedRefusal.NONE
    )


def counters_of(probe: int) -> messages.ProbeCounters:
    fields: tuple[Any, ...] = (probe, *[0] * 17, messages.ProbeState.ON)
    return messages.ProbeCounters(*fields)


def unasked(program: Program) -> Iterator[Message]:
    """One of each message that an agent sends without a request."""
    yield messages.Stacks((messages.Stack(1, (messages.StackFrame("Counted", "step", 26),)),))
    yield messages.Events(b"".join(records(program)))
    yield messages.Map(map_template(program), 10**9, contents(program, (0,)))
    yield messages.Errors((messages.ProbeFailure(0, 0, messages.ErrorKind.NULL_OPERAND, 2, "the operand is null"),))
    yield messages.Counters((counters_of(0),))
    yield messages.Late("Counted$Square", "app@1", messages.LateOutcome.MISSED_DEADLINE, "too late")
    yield messages.Restrained(0, messages.RestraintStep.SAMPLED, 2, 30_000, 20_000, 0)
    yield messages.Pong(0xFFFFFFFF)


def map_template(program: Program) -> int:
    return next((template.id for template in program.templates if template.kind.name == "MAP"), 0)


def string(text: str) -> bytes:
    raw = text.encode("utf-16-le", "surrogatepass")
    return struct.pack("<BH", 8, len(raw) // 2) + raw


def record(template: int, probe: int, values: Sequence[bytes], *, nanos: int = 2, tid: int = 7) -> bytes:
    body = b"".join(values) + b"\xff"
    size = 32 + len(body) + -(32 + len(body)) % 8
    head = struct.pack("<iiiiqq", size, template, 1 << 24 | 1, probe, nanos, tid)
    return (head + body).ljust(size, b"\0")


def records(program: Program, text: str = "abc", *, nanos: int = 2) -> Iterator[bytes]:
    """The name of a thread, then a record of each template that takes values."""
    yield record(-1, 0, [string(text)], nanos=nanos)
    for template in program.templates:
        if template.kind.name in ("PRINT", "EMIT", "WARN"):
            yield record(template.id, 0, [string(text)] * fewest_values(template), nanos=nanos)


def contents(program: Program, ids: Sequence[int], key: bytes = string("abc"), cell: int = 3) -> bytes:
    """The contents of maps with one key each, as MAPS has them."""
    out = struct.pack(">I", len(ids))
    for id_ in ids:
        declared = program.maps[id_]
        entry = struct.pack(">I", declared.keys and 1) + (key if declared.keys else b"")
        entry += struct.pack(">IqI", 1, cell, 0)
        out += CONTENT.pack(id_, 0, 0) + SKIPS.pack(0, 1, 0, 0)
        out += COUNTS.pack(0, 1) + entry + struct.pack(">I", 0)
    return out


@contextmanager
def acting_as(uid: int) -> Iterator[None]:
    """Lets this thread open files and make sockets as that user (setfsuid(2)). btpy accepts connections to a port only
    from the user of the target."""
    libc = ctypes.CDLL(None)
    libc.setfsuid(uid)
    try:
        yield
    finally:
        libc.setfsuid(os.geteuid())


def performance_data(jdk: int) -> bytes:
    values = {"java.property.java.version": f"{jdk}.0.1", "sun.rt.javaCommand": "Counted"}
    return counters(*(text_counter(name.encode(), value.encode()) for name, value in values.items()))


class StandIn:
    """The process, and the impostors that were loaded into it. ``uid``: the user of the process; None for the user of
    the tests."""

    def __init__(self, directory: Path, jdk: int, *, uid: int | None = None) -> None:
        library = directory / "lib" / "server" / "libjvm.so"
        library.parent.mkdir(parents=True, exist_ok=True)
        library.write_bytes(bytes(4096))
        user = pwd.getpwuid(os.geteuid() if uid is None else uid).pw_name
        self.jdk = jdk
        self._uid = os.geteuid() if uid is None else uid
        self._counters = Path(f"/tmp/hsperfdata_stand-in-{user}-{os.getpid()}-{directory.name}")
        self._process = subprocess.Popen(
            [
                *(sys.executable if uid is None else "/usr/bin/python3", "-I", "-c", PROCESS, str(library)),
                *(performance_data(jdk).hex(), str(self._counters)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd="/",
            user=uid,
            group=uid,
            extra_groups=None if uid is None else [],
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        self.pid: int = self._process.pid
        Path(f"/tmp/.java_pid{self.pid}").unlink(missing_ok=True)  # the file of a killed JVM with this pid
        self._stdin.write("\n")
        self._stdin.flush()
        assert self._stdout.readline() == "ready\n"
        self.program: Program | None = None
        self.classes: dict[str, bytes] = {}
        self.lie: Lie = honest
        self.extra: Callable[[], Iterable[Message]] = tuple
        self._impostors: list[Impostor] = []
        self._failures: list[BaseException] = []
        self._talking: list[threading.Thread] = []
        self._thread = threading.Thread(target=self._attend, daemon=True)
        self._thread.start()

    def _attend(self) -> None:
        """Answers attach requests. A ``load`` makes an impostor connect."""
        for line in self._stdout:
            words = json.loads(line)
            answer = b"0\n"
            if len(words) > 4 and words[1] == "load":
                answer = LOADED
                with suppress(OSError, ValueError):  # btpy has given up the attach and removed its socket and secret
                    self._begin(words[4].partition("=")[2])
            with suppress(BrokenPipeError):
                self._stdin.write(answer.hex() + "\n")
                self._stdin.flush()

    def _begin(self, options: str) -> None:
        assert self.program is not None
        with acting_as(self._uid):
            impostor = Impostor(options, self.classes, self.program, self.lie, self.extra)
        self._impostors.append(impostor)

        def talk() -> None:
            try:
                impostor.introduce(self.jdk)
                impostor.serve()
            except (OSError, AssertionError):
                pass  # the client may close the connection at any time
            except BaseException as error:
                self._failures.append(error)
            finally:
                impostor.socket.close()

        thread = threading.Thread(target=talk, daemon=True)
        self._talking.append(thread)
        thread.start()

    def settle(self) -> None:
        """Waits until the impostors have ended. Raises the first of their failures."""
        deadline = time.monotonic() + PATIENCE
        for thread in self._talking:
            thread.join(max(0.0, deadline - time.monotonic()))
            assert not thread.is_alive(), "an impostor still talks"
        self._talking.clear()
        if self._failures:
            raise self._failures.pop()

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        self._thread.join()
        for pipe in (self._stdin, self._stdout):
            with suppress(BrokenPipeError):
                pipe.close()
        for impostor in self._impostors:
            impostor.socket.close()
        Path(f"/tmp/.java_pid{self.pid}").unlink(missing_ok=True)
        for path in self._counters.iterdir():
            path.unlink()
        self._counters.rmdir()


@contextmanager
def stand_in(directory: Path, jdk: int, *, uid: int | None = None) -> Iterator[StandIn]:
    process = StandIn(directory, jdk, uid=uid)
    try:
        yield process
    finally:
        process.stop()
