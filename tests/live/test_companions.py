"""Several tools change one class: sessions, JaCoCo, Byteman, a redefinition. Each works as it would alone."""

from __future__ import annotations

import csv
import hashlib
import itertools
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from btpy.engine.session import Session
from btpy.events.aggregates import Count
from btpy.wire.messages import Late, LateOutcome
from tests import agents, jcmd
from tests.cli.test_trace import started
from tests.jdks import all_jdks, compiled, java
from tests.live.scripts import program, waited
from tests.maven import BYTEMAN, JACOCO_AGENT, JACOCO_CLI, artifact
from tests.targets import PATIENCE, Programs, Target, shared_programs, target

JAVA = Path(__file__).parents[1] / "java"
SOURCES = [JAVA / f"{name}.java" for name in ("Observer", "Stage", "Subject")]

SCRIPTS = (
    '@OnMethod(class="Subject", method="work", location=ENTRY) { @n = count(); @sum = sum(arg0); }',
    '@OnMethod(class="Subject", method="work", location=EXIT) { @n = count(); @took = hist(duration); }',
    '@OnMethod(class="Subject", method="work", location=RAISE) { @n = count(); }',
)

CALLED_13 = str(sum(-1 if n % 5 == 4 else n * 2 + len("subject") for n in range(13)))
OTHER_CALLED_13 = str(sum(n * 1000 + len("subject") for n in range(13)))
"""The answer to ``call 13``, and the answer with the other version of Subject."""


@contextmanager
def stage(jdk: int, directory: Path, *flags: str, ready: str = "ready") -> Iterator[Target]:
    """The program Stage, verified, with the observer as its agent."""
    options = ["-Xverify:all", f"-javaagent:{agents.observer(directory)}", *flags]
    with target(jdk, "Stage", classpath=[compiled(SOURCES)], flags=options, ready=ready) as jvm:
        yield jvm


@pytest.fixture(scope="module")
def stages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Programs]:
    """Stage on each Java version, with the original Subject, for the tests that leave it there. At the end, no thread
    of the agent runs in these programs.
    """

    @contextmanager
    def left_alone(jdk: int) -> Iterator[Target]:
        with stage(jdk, tmp_path_factory.mktemp(f"stage{jdk}")) as jvm:
            asked(jvm, "call 1")
            yield jvm
            waited(lambda: without_agent(jvm), "threads of the agent stay")

    with shared_programs(left_alone) as stages:
        yield stages


def without_agent(jvm: Target) -> bool:
    return "btpy" not in jcmd.tell(jvm.pid, "Thread.print")


def put_back(jvm: Target) -> None:
    """Redefines Subject with its original code. Before JDK 20, btpy must see this, as it remembers redefinitions for
    the JVM.
    """
    with Session.attach(jvm.pid) as session:
        session.deployer.load(program(SCRIPTS[0]))
        asked(jvm, f"redefine Subject {compiled(SOURCES) / 'Subject.class'}")
    assert asked(jvm, "call 13") == CALLED_13


def asked(target: Target, command: str) -> str:
    """The answer of Stage to one command."""
    target.send(command)
    word = command.split()[0]
    return target.wait_for(f"{word} ").removeprefix(f"{word} ")


def digest(target: Target, directory: Path, name: str = "Subject") -> str:
    """SHA-256 of a class file after all agents have transformed it."""
    agents.load(target.pid, agents.observer(directory))
    return asked(target, f"digest {name}")


def counted(session: Session) -> int:
    counts = {content.map.name: dict(content.entries) for content in session.delivery.snapshot()}["n"]
    count = counts.get((), Count(0))
    assert isinstance(count, Count)
    return count.n


def orders(sessions: int) -> list[tuple[int, ...]]:
    """Every order in which sessions can begin and end; each number appears twice."""
    return sorted(set(itertools.permutations([*range(sessions)] * 2)))


@pytest.mark.parametrize("jdk", [11, 25], ids=["jdk11", "jdk25"])
def test_sessions_come_and_go_in_every_order(stages: Programs, jdk: int, tmp_path: Path) -> None:
    jvm = stages(jdk)
    before = digest(jvm, tmp_path)
    for order in orders(2):
        there: dict[int, Session] = {}
        expected = [0, 0]
        for at in order:
            if at in there:
                assert counted(there[at]) == expected[at], order
                receipt = there.pop(at).departure.detach()
                assert receipt.clean, (order, receipt)
            else:
                there[at] = Session.attach(jvm.pid)
                there[at].deployer.load(program(SCRIPTS[at]))
            assert asked(jvm, "call 13") == CALLED_13
            for path in there:
                expected[path] += 13
    assert digest(jvm, tmp_path) == before


def test_three_sessions_weave_a_class_while_it_is_loaded(tmp_path: Path) -> None:
    with stage(21, tmp_path) as jvm:
        sessions = [Session.attach(jvm.pid) for _ in SCRIPTS]
        for session, script in zip(sessions, SCRIPTS, strict=True):
            session.deployer.load(program(script), missing="ignore")
        counts = (13, 13, 2)
        for turn, at in enumerate((1, 0, 2), 1):
            assert asked(jvm, "call 13") == CALLED_13
            assert counted(sessions[at]) == turn * counts[at]
            assert sessions[at].departure.detach().clean
        assert asked(jvm, "call 13") == CALLED_13


COVERED = """
@OnMethod(class="Subject", location=EXIT, pending=true) { @n = count(); @by[method] = count(); }
"""


def coverage(directory: Path, name: str) -> list[list[str]]:
    """JaCoCo's own report on the classes of Stage: rows of missed and covered instructions, branches and lines."""
    report = directory / f"{name}.csv"
    command = [
        java(25),
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "-jar",
        artifact(JACOCO_CLI),
        "report",
        directory / f"{name}.exec",
    ]
    options = ["--classfiles", compiled(SOURCES), "--csv", report, "--quiet"]
    subprocess.run([*map(str, command), *map(str, options)], check=True, timeout=PATIENCE, capture_output=True)
    return list(csv.reader(report.read_text().splitlines()))


def ended(jvm: Target) -> None:
    jvm.process.stdin.close()  # type: ignore[union-attr]
    assert jvm.wait() == 0
    assert jvm.stderr == []


@pytest.mark.parametrize("jdk", [11, 25], ids=["jdk11", "jdk25"])
def test_jacoco_that_was_there_first_counts_the_same(jdk: int, tmp_path: Path) -> None:
    jacoco = f"-javaagent:{artifact(JACOCO_AGENT)}=destfile={tmp_path}"
    with stage(jdk, tmp_path, f"{jacoco}/plain.exec") as jvm:
        asked(jvm, "call 13")
        ended(jvm)
    with stage(jdk, tmp_path, f"{jacoco}/traced.exec") as jvm:
        asked(jvm, "call 1")
        before = digest(jvm, tmp_path)
        with Session.attach(jvm.pid) as session:
            session.deployer.load(program(COVERED))
            assert asked(jvm, "call 13") == CALLED_13
            assert counted(session) == 13 + 2  # constructors
            assert digest(jvm, tmp_path) != before
            assert session.departure.detach().clean
        assert digest(jvm, tmp_path) == before
        ended(jvm)
    plain, traced = coverage(tmp_path, "plain"), coverage(tmp_path, "traced")
    assert [row for row in traced if row[2] == "Subject"] == [row for row in plain if row[2] == "Subject"]
    (subject,) = (row for row in plain if row[2] == "Subject")
    assert subject[3:] != ["0"] * len(subject[3:])


def test_jacoco_that_comes_later_counts_the_same(tmp_path: Path) -> None:
    options = f"destfile={tmp_path}/later.exec"
    with stage(17, tmp_path) as jvm:
        with Session.attach(jvm.pid) as session:
            session.deployer.load(program(COVERED), missing="ignore")
            asked(jvm, f"premain {artifact(JACOCO_AGENT)} {options}")
            assert asked(jvm, "call 13") == CALLED_13
            assert counted(session) == 13 + 2
            assert session.departure.detach().clean
        ended(jvm)
    (subject,) = (row for row in coverage(tmp_path, "later") if row[2] == "Subject")
    assert subject[3:] != ["0"] * len(subject[3:])


RULE = """
RULE each call
CLASS Subject
METHOD work
AT ENTRY
IF TRUE
DO System.out.println("byteman " + $1)
ENDRULE
"""


def byteman_lines(jvm: Target) -> int:
    return sum(line.startswith("byteman ") for line in jvm.stdout)


@pytest.mark.parametrize("jdk", [11, 21], ids=["jdk11", "jdk21"])
def test_byteman_that_was_there_first_works_on(jdk: int, tmp_path: Path) -> None:
    rules = tmp_path / "rules.btm"
    rules.write_text(RULE)
    with stage(jdk, tmp_path, f"-javaagent:{artifact(BYTEMAN)}=script:{rules}") as jvm:
        asked(jvm, "call 3")
        before = digest(jvm, tmp_path)
        with Session.attach(jvm.pid) as session:
            session.deployer.load(program(SCRIPTS[1]))
            assert asked(jvm, "call 13") == CALLED_13
            assert counted(session) == 13
            assert session.departure.detach().clean
        assert digest(jvm, tmp_path) == before
        asked(jvm, "call 5")
        assert byteman_lines(jvm) == 3 + 13 + 5


def test_byteman_that_comes_later_works_on(tmp_path: Path) -> None:
    rules = tmp_path / "rules.btm"
    rules.write_text(RULE)
    with stage(17, tmp_path) as jvm:
        asked(jvm, "call 3")
        with Session.attach(jvm.pid) as session:
            session.deployer.load(program(SCRIPTS[1]))
            agents.load(jvm.pid, artifact(BYTEMAN), f"script:{rules}")
            assert asked(jvm, "call 13") == CALLED_13
            assert counted(session) == 13
            assert session.departure.detach().clean
        asked(jvm, "call 5")
        assert byteman_lines(jvm) == 13 + 5


@all_jdks
def test_a_class_that_is_redefined_keeps_its_probes_and_its_new_code(
    stages: Programs, jdk: int, tmp_path: Path
) -> None:
    """This also holds before JDK 20, where the JVM forgets redefinitions of transformed classes (JDK-7124710)."""
    first, other = compiled(SOURCES) / "Subject.class", compiled([JAVA / "other" / "Subject.java"]) / "Subject.class"
    jvm = stages(jdk)
    with Session.attach(jvm.pid) as session:
        session.deployer.load(program(SCRIPTS[1]))
        assert asked(jvm, "call 13") == CALLED_13
        asked(jvm, f"redefine Subject {other}")
        assert asked(jvm, "call 13") == OTHER_CALLED_13
        with Session.attach(jvm.pid) as second:
            second.deployer.load(program(SCRIPTS[0]))
            assert asked(jvm, "call 13") == OTHER_CALLED_13
            assert counted(second) == 13
            assert second.departure.detach().clean
        assert counted(session) == 39
        assert session.departure.detach().clean
    assert asked(jvm, "call 13") == OTHER_CALLED_13
    with Session.attach(jvm.pid) as session:
        session.deployer.load(program(SCRIPTS[1]))
        assert asked(jvm, "call 13") == OTHER_CALLED_13
        asked(jvm, f"redefine Subject {first}")
        assert asked(jvm, "call 13") == CALLED_13
        assert counted(session) == 26
        assert session.departure.detach().clean
    assert asked(jvm, "call 13") == CALLED_13
    if jdk >= 20:
        assert digest(jvm, tmp_path) == hashlib.sha256(first.read_bytes()).hexdigest()


@pytest.mark.parametrize("jdk", [11, 17, 25], ids=["jdk11", "jdk17", "jdk25"])
def test_a_class_that_is_redefined_under_two_sessions_is_woven_once_by_each(
    stages: Programs, jdk: int, tmp_path: Path
) -> None:
    first, other = compiled(SOURCES) / "Subject.class", compiled([JAVA / "other" / "Subject.java"]) / "Subject.class"
    jvm = stages(jdk)
    with Session.attach(jvm.pid) as one, Session.attach(jvm.pid) as two:
        for session in (one, two):
            session.deployer.load(program(SCRIPTS[0]))
        expected = 0
        for version, answer in ((other, OTHER_CALLED_13), (first, CALLED_13), (other, OTHER_CALLED_13)):
            asked(jvm, f"redefine Subject {version}")
            for _ in range(3):
                assert asked(jvm, "call 13") == answer
                expected += 13
                assert [counted(one), counted(two)] == [expected, expected]
                digest(jvm, tmp_path)  # causes a retransformation of the class
        assert one.departure.detach().clean
        digest(jvm, tmp_path)
        assert asked(jvm, "call 13") == OTHER_CALLED_13
        assert counted(two) == expected + 13
        assert two.departure.detach().clean
        assert asked(jvm, "call 13") == OTHER_CALLED_13
    put_back(jvm)


REFUSED = """
@OnMethod(class="Subject", method="work", location=NEW(class="java.lang.IllegalArgumentException")) probe refused
{ @n = count(); }
"""


def changes(session: Session) -> list[tuple[str, str]]:
    """Reports about classes that another tool has changed, and about probes without a place in the new code."""
    results = [item for item in session.delivery.items(None) if isinstance(item, Late)]
    return [(late.class_name, late.reason) for late in results if late.outcome is LateOutcome.CHANGED]


@pytest.mark.parametrize("jdk", [11, 25], ids=["jdk11", "jdk25"])
def test_probes_that_a_redefined_class_loses_are_reported(stages: Programs, jdk: int, tmp_path: Path) -> None:
    """No reports about other sessions, or about another agent that does not change the code."""
    first, other = compiled(SOURCES) / "Subject.class", compiled([JAVA / "other" / "Subject.java"]) / "Subject.class"
    both = '@OnMethod(class="Subject", method="work") probe begun { }' + REFUSED
    jvm = stages(jdk)
    with Session.attach(jvm.pid) as session:
        session.deployer.load(program(SCRIPTS[1]))
        with Session.attach(jvm.pid) as second:
            second.deployer.load(program(both))
            asked(jvm, f"redefine Subject {other}")
            asked(jvm, f"redefine Subject {first}")
            digest(jvm, tmp_path)
            assert session.departure.detach().clean
            assert asked(jvm, "call 13") == CALLED_13
            assert counted(second) == 2
            assert second.departure.detach().clean
            assert changes(second) == [("Subject", "refused is no longer in work(int)"), ("Subject", "")]
        assert changes(session) == [("Subject", ""), ("Subject", "")]


def test_a_watcher_is_told_of_a_redefinition(stages: Programs) -> None:
    other = compiled([JAVA / "other" / "Subject.java"]) / "Subject.class"
    jvm = stages(17)
    with started(jvm.pid, "-e", f"{SCRIPTS[1]} {REFUSED}") as tracer:
        waited(lambda: any("Ctrl-C to end" in line for line in tracer.stderr), "the banner")
        asked(jvm, f"redefine Subject {other}")
        message = "warning: another agent has changed Subject (app): refused is no longer in work(int)"
        waited(lambda: message in tracer.stderr, f"the line {message!r}")
    put_back(jvm)
