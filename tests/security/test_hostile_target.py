"""A target whose agent knows the secret, completes the handshake and then lies in every message.

It tries wrong sizes, numbers, ids, order and texts, answers without a request, floods, and class files that take
much to read. btpy must end or go on with an error of its own (no traceback, no internal error) within a
generous time, no control character reaches an output, the memory of btpy is bounded, and btpy writes only the files
that the user named.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from btpy.cli.main import main
from btpy.lang.check.checker import check_source
from btpy.model.source import Source
from btpy.wire import messages
from btpy.wire.messages import FROM_AGENT, Hello, Message, Welcome
from tests.containers.cells import NOBODY, needs_root, passable, readable_cache
from tests.live.scripts import counted_classes
from tests.output.otlp.backend import backend
from tests.security.lies import HOSTILE, LIES, about
from tests.security.stand_in import StandIn, counters_of, honest, stand_in
from tests.targets import PATIENCE

ROOT = Path(__file__).parents[2]

LIMIT = 30.0
"""Seconds for one run of btpy. An honest run takes a tenth of a second."""

ANSWER_SECONDS = 0.5
"""Seconds that btpy waits for an answer in these tests; users wait for 30 s. The honest stand-in needs a
millisecond."""

ENDING_SECONDS = 0.1
"""Seconds that btpy waits for the end of a JVM that has closed the connection. All stand-ins go on."""

PATIENCE_OF_USER = 10.0
"""Seconds after which the user presses Ctrl-C."""

SCRIPT = """
Counted::step { print(arg0, arg1, stack(3)); printf("%s|%-8s|%d|%5.2f", arg0, arg0, arg1, arg1); @n[arg0] = count(); }
Counted::step @return { emit("seen", text=arg0, took=duration); warn(arg0); print(@n); }
"""
LATER = SCRIPT + "Counted$Square::area @entry { @late = count() }\n"
SUBTYPES = SCRIPT + "+Counted.Shape::area @entry { @areas = count() }\n"


class Hang(BaseException):
    """btpy still runs. btpy must not catch it."""


class User:
    """Runs btpy, presses Ctrl-C when it takes long (``has_interrupted``), and stops waiting for it at the limit."""

    def __init__(self) -> None:
        self.has_interrupted = False

    @contextmanager
    def waiting(self) -> Iterator[None]:
        def tick(number: int, at: FrameType | None) -> None:
            if self.has_interrupted:
                raise Hang(f"btpy still runs after {LIMIT} s")
            self.has_interrupted = True
            signal.setitimer(signal.ITIMER_REAL, LIMIT)
            os.kill(os.getpid(), signal.SIGINT)

        self.has_interrupted = False
        before = signal.signal(signal.SIGALRM, tick)
        signal.setitimer(signal.ITIMER_REAL, PATIENCE_OF_USER)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def readable_directory() -> Iterator[Path]:
    """A directory that other users can read. (pytest closes its own directories to other users whenever it starts.)"""
    with tempfile.TemporaryDirectory(prefix="stand-ins-", dir="/tmp") as name:
        path = Path(name)
        path.chmod(0o755)
        yield path


Targets = dict[tuple[int, int | None], StandIn]


@pytest.fixture(scope="module")
def targets(readable_directory: Path) -> Iterator[Callable[..., StandIn]]:
    """Stand-ins by the version of their JDK and their user; one process each for the whole module."""
    programs: Targets = {}
    opened = []

    def get(jdk: int, uid: int | None = None) -> StandIn:
        if (jdk, uid) not in programs:
            manager = stand_in(readable_directory / f"{jdk}-{uid}", jdk, uid=uid)
            target = programs[jdk, uid] = manager.__enter__()
            opened.append(manager)
            target.classes = {"Counted": (counted_classes() / "Counted.class").read_bytes()}
        target = programs[jdk, uid]
        target.lie, target.extra = honest, tuple
        target.program = check_source(Source("lies.bt", SCRIPT))
        return target

    yield get
    for manager in opened:
        manager.__exit__(None, None, None)


def bad_characters(text: str) -> set[str]:
    return {hex(ord(char)) for char in set(text) if not char.isprintable() and char != "\n"} - {hex(ord("\t"))}


class Run:
    """One run of the command in its own directory: exit status, printed texts and written files."""

    def __init__(self, directory: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.directory = directory
        self._capfd = capfd
        self.outputs: dict[str, str] = {}
        self.status = 0
        self.user = User()

    def __call__(self, *arguments: str) -> int:
        self._capfd.readouterr()
        with self.user.waiting():
            self.status = main(arguments)
        out, err = self._capfd.readouterr()
        self.outputs = {"stdout": out, "stderr": err}
        return self.status

    def check(self, *files: str) -> None:
        """``files``: the files that the user named. Their texts are checked, too."""
        names = {path.name for path in self.directory.iterdir()}
        assert names <= {*files}, f"files that nobody asked for: {names - {*files}}"
        for name in names:
            if not name.endswith(".btz"):
                self.outputs[name] = (self.directory / name).read_bytes().decode("utf-8")
        for name, text in self.outputs.items():
            check_text(name, text)
        assert self.status in (0, 1, 2, 3, 4, 5, 6, 130), self.outputs
        assert self.status not in (2, 3, 5) or "error" in self.outputs["stderr"], self.outputs


class RunAsUser(Run):
    """A run as an ordinary user, in a separate process."""

    def __call__(self, *arguments: str) -> int:
        command = [sys.executable, "-c", IMPATIENT.format(seconds=ANSWER_SECONDS, ending=ENDING_SECONDS), *arguments]
        home = str(self.directory.parent / "state")
        environment = {**os.environ, "HOME": home, "XDG_STATE_HOME": home, "PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.directory,
            env=environment,
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
        )
        self.user.has_interrupted = False
        try:
            out, err = process.communicate(timeout=2 * PATIENCE_OF_USER)  # it starts Python
        except subprocess.TimeoutExpired:
            self.user.has_interrupted = True
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=LIMIT)
        # A Python process that is ending has restored the default effect of the signal.
        self.status = 130 if process.returncode == -signal.SIGINT else process.returncode
        self.outputs = {"stdout": out, "stderr": err}
        return self.status


IMPATIENT = """
import sys
from btpy.engine import agent, target
from btpy.jvm import connecting
agent.ANSWER_SECONDS = agent.RESTORE_SECONDS = agent.WEAVE_SECONDS = connecting.CALL_SECONDS = {seconds}
target._ENDING_SECONDS = {ending}
from btpy.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def check_text(name: str, text: str) -> None:
    assert "internal error" not in text, text
    assert "Traceback" not in text, text
    assert "this is a bug" not in text, text
    assert not bad_characters(text), (name, bad_characters(text), text)


@pytest.fixture
def run(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    work, state = (tmp_path / name for name in ("work", "state"))
    for path in (work, state):
        path.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    monkeypatch.setenv("HOME", str(state))
    monkeypatch.setattr("btpy.engine.agent.ANSWER_SECONDS", ANSWER_SECONDS)
    monkeypatch.setattr("btpy.engine.agent.RESTORE_SECONDS", ANSWER_SECONDS)
    monkeypatch.setattr("btpy.engine.agent.WEAVE_SECONDS", ANSWER_SECONDS)
    monkeypatch.setattr("btpy.jvm.connecting.CALL_SECONDS", ANSWER_SECONDS)
    monkeypatch.setattr("btpy.engine.target._ENDING_SECONDS", ENDING_SECONDS)
    return Run(work, capfd)


@pytest.fixture
def run_as_user(request: pytest.FixtureRequest, capfd: pytest.CaptureFixture[str]) -> Iterator[Run]:
    with readable_cache():  # must begin before ``run`` changes the home directory
        run: Run = request.getfixturevalue("run")
        for path in (run.directory, run.directory.parent / "state"):
            os.chown(path, NOBODY, NOBODY)
        with passable(run.directory.parent):
            yield RunAsUser(run.directory, capfd)


def traced(run: Run, target: StandIn, *options: str) -> None:
    run(str(target.pid), "-e", SCRIPT, "--for", "50ms", "--hits", "0", "--record", "run.btz", *options)


def as_ndjson(run: Run, target: StandIn) -> None:
    traced(run, target, "-f", "ndjson", "-o", "run.ndjson")


def exported(run: Run, target: StandIn) -> None:
    with backend() as receiver:
        traced(run, target, "-o", receiver.url)


def later(run: Run, target: StandIn) -> None:
    target.program = check_source(Source("lies.bt", LATER))
    run(str(target.pid), "-e", LATER, "--for", "300ms", "--hits", "0", "--missing", "ignore")


def subtypes(run: Run, target: StandIn) -> None:
    target.program = check_source(Source("lies.bt", SUBTYPES))
    question = arriving()
    target.extra = lambda: (question,)
    run(str(target.pid), "-e", SUBTYPES, "--for", "100ms", "--hits", "0", "--missing", "ignore")


def unattended(run: Run, target: StandIn) -> None:
    run(str(target.pid), "-e", SCRIPT, "-x")


def listing(run: Run, target: StandIn) -> None:
    run("sessions", str(target.pid))


def joining(run: Run, target: StandIn) -> None:
    run("attach", str(target.pid), "left", "--for", "50ms")


def arriving() -> Message:
    """A class that is being loaded, whose supertypes the client does not know."""
    data = (counted_classes() / "Counted$Square.class").read_bytes()
    return messages.ClassBytes(10_000, 0, "Counted$Square", "app@1", "a.Stranger", ("b.Stranger",), data)


COMMANDS: dict[type[Message], Callable[[Run, StandIn], None]] = {
    **dict.fromkeys((Hello, Welcome, *FROM_AGENT), traced),
    messages.Locations: later,
    messages.Supertypes: subtypes,
    messages.Sessions: listing,
    messages.Joined: joining,
    messages.Left: unattended,
}
"""For each kind of message, the command that receives it."""

EXTRA: dict[type[Message], Message] = {
    messages.Exiting: messages.Exiting(),
    messages.Trouble: messages.Trouble("OutOfMemoryError: Metaspace"),
}
"""Messages that an honest agent sends only after a fault."""

KINDS = pytest.mark.parametrize("kind", list(COMMANDS), ids=lambda kind: kind.__name__)


def lied(target: StandIn, run: Run, kind: type[Message], name: str, command: Callable[[Run, StandIn], None]) -> None:
    """One run of the command against a target that tells one lie."""
    messages: list[Message] = []
    target.lie = about(kind, LIES[name], messages)
    if kind in EXTRA:
        target.extra = lambda: (EXTRA[kind],)
    command(run, target)
    target.settle()
    assert messages, f"no {kind.__name__} was sent: status {run.status}, {run.outputs}"
    run.check("run.btz", "run.ndjson")
    assert not run.user.has_interrupted, f"only Ctrl-C ended btpy: {run.outputs}"


def all_lied(
    run: Run, kind: type[Message], cases: Iterable[tuple[str, StandIn, Callable[[Run, StandIn], None]]]
) -> None:
    """Tells the lies one after the other, and fails with a list of all lies that broke btpy."""
    failures = []
    for name, target, command in cases:
        try:
            lied(target, run, kind, name, command)
        except (AssertionError, Hang) as error:
            failures.append(f"{name}: {type(error).__name__}: {str(error)[:2000]}")
    assert not failures, "\n\n".join(failures)


@pytest.mark.parametrize("jdk", [11, 25])
def test_an_honest_stand_in_is_traced(targets: Callable[..., StandIn], run: Run, jdk: int) -> None:
    """The runs of the other tests differ from this run only by the lies."""
    target = targets(jdk)
    traced(run, target)
    target.settle()
    run.check("run.btz")
    assert run.status == 0, run.outputs
    assert "abc" in run.outputs["stdout"]


@KINDS
def test_false_data_in_each_message(kind: type[Message], targets: Callable[..., StandIn], run: Run) -> None:
    """A quarter of the lies for each kind of message, alternately on a stand-in of JDK 11 and of JDK 25."""
    lies = enumerate(some_commands(kind, 4))
    all_lied(run, kind, ((name, targets((11, 25)[at % 2]), command) for at, (name, command) in lies))


def some_commands(kind: type[Message], every: int) -> Iterator[tuple[str, Callable[[Run, StandIn], None]]]:
    """Every n-th lie (``every``), with a different first lie for each kind of message. Every second run exports to a
    backend.
    """
    first = list(COMMANDS).index(kind) % every
    for at, name in enumerate(list(LIES)[first::every]):
        yield name, exported if at % 2 and COMMANDS[kind] is traced else COMMANDS[kind]


@needs_root
@KINDS
def test_false_data_for_an_ordinary_user(
    kind: type[Message], targets: Callable[..., StandIn], run_as_user: Run
) -> None:
    """btpy and the target run as the same user."""
    target = targets(25, NOBODY)
    all_lied(run_as_user, kind, ((name, target, command) for name, command in some_commands(kind, len(LIES))))


@pytest.mark.proof
@needs_root
@pytest.mark.parametrize("jdk", [11, 25])
@KINDS
def test_every_lie_to_an_ordinary_user(
    kind: type[Message], jdk: int, targets: Callable[..., StandIn], run_as_user: Run
) -> None:
    target = targets(jdk, NOBODY)
    all_lied(run_as_user, kind, ((name, target, command) for name, command in some_commands(kind, 1)))


@pytest.mark.proof
@pytest.mark.parametrize("jdk", [11, 25])
@pytest.mark.parametrize("uid", [None, pytest.param(NOBODY, marks=needs_root)], ids=["own", "nobody"])
@KINDS
def test_every_lie_in_each_message(
    kind: type[Message], uid: int | None, jdk: int, targets: Callable[..., StandIn], run: Run
) -> None:
    if kind is messages.Locations and uid is not None:
        with pytest.raises(AssertionError, match="no Locations was sent"):  # root does not read files for other users
            lied(targets(jdk, uid), run, kind, "empty texts", COMMANDS[kind])
        return
    commands = (traced, as_ndjson, exported) if COMMANDS[kind] is traced else (COMMANDS[kind],)
    all_lied(run, kind, ((name, targets(jdk, uid), command) for name in LIES for command in commands))


FLOOD_MESSAGES = 200
FLOOD_BYTES = 1 << 20
PEAK_BYTES = 400 << 20
"""The memory that btpy may take in a flood. Without a flood it takes 100 MiB."""


def peak_memory(pid: int) -> int:
    """Bytes that a process has taken at most since it began its program; 0 when it has ended. (The system counts a
    child's ``ru_maxrss`` from the memory of the process that started it.)"""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:")), 0)


def text(number: int) -> str:
    """A text that no other message has."""
    return f"{number}" + HOSTILE + "x" * FLOOD_BYTES


FLOODS: dict[str, Callable[[int], Message]] = {
    "stacks": lambda number: messages.Stacks(
        tuple(
            messages.Stack(1000 * number + at, (messages.StackFrame(f"{number}.{at}" + "x" * 1000, "m", 1),))
            for at in range(1, 1000)
        )
    ),
    "the same stack": lambda number: messages.Stacks((messages.Stack(1, ()),) * 100_000),
    "errors": lambda number: messages.Errors(
        (messages.ProbeFailure(0, number << 11, messages.ErrorKind.INDEX, 1, text(number)),)
    ),
    "late classes": lambda number: messages.Late(text(number), text(number), messages.LateOutcome.REFUSED, "late"),
    "classes to weave": lambda number: messages.ClassBytes(
        10_000 + number,
        0,
        "Counted",
        f"loader@{number}",
        "java.lang.Object",
        (),
        b"\xca\xfe\xba\xbe" + bytes(FLOOD_BYTES),
    ),
    "counters": lambda number: messages.Counters(tuple(map(counters_of, range(6000)))),
}


@pytest.mark.parametrize(
    "flood",
    [pytest.param(name, marks=[pytest.mark.proof] * (name in ("the same stack", "counters"))) for name in FLOODS],
)
def test_a_flood_takes_bounded_memory(flood: str, targets: Callable[..., StandIn], tmp_path: Path) -> None:
    """The command as users run it, in its own process, whose memory the system measures."""
    target = targets(25)
    target.extra = lambda: map(FLOODS[flood], range(1, FLOOD_MESSAGES))
    with (tmp_path / "out").open("wb") as out, (tmp_path / "err").open("wb") as err:
        command = [sys.executable, "-m", "btpy", str(target.pid), "-e", SCRIPT, "--for", "2s", "--hits", "0"]
        process = subprocess.Popen(command, stdout=out, stderr=err, env={**os.environ, "HOME": str(tmp_path)})
        watchdog = threading.Timer(PATIENCE, process.kill)
        watchdog.start()
        peak = 0
        while process.poll() is None:
            peak = max(peak, peak_memory(process.pid))
            time.sleep(0.02)
        watchdog.cancel()
    target.settle()
    assert process.returncode in (0, 1, 3, 5), (tmp_path / "err").read_text()[:10_000]
    for name in ("out", "err"):
        check_text(name, (tmp_path / name).read_text())
    assert 0 < peak < PEAK_BYTES
    assert "stack" not in flood or "MiB of stacks" in (tmp_path / "err").read_text()
