"""btpy attaches to a JVM whose metaspace is nearly full only with permission."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

import btpy
from btpy.api.doctor import Outcome, examine
from btpy.engine.session import Session
from btpy.errors import AttachError
from btpy.jvm import jcmd, metaspace, processes
from btpy.jvm.attach import agent_jar
from tests.cli.test_command import btpy as command
from tests.jdks import compiled
from tests.jvm.test_attach import namespaces, needs_root
from tests.live.scripts import JAVA
from tests.targets import Target, target

METASPACE = ("Metaspace", "-XX:MaxMetaspaceSize=40m")
HEADERS = ("Compressed Class Space", "-XX:CompressedClassSpaceSize=16m")
COUNT = ("-e", "Cramped::step { @n = count() }", "--for", "100ms")
EXIT = "-XX:+ExitOnOutOfMemoryError"


@contextmanager
def cramped(jdk: int, space: tuple[str, str], room: int, *flags: str, prefix: Sequence[str] = ()) -> Iterator[Target]:
    """A JVM with this number of KiB left in the space."""
    classes = compiled([JAVA / "Cramped.java"], release=11, flags=["-XDstringConcat=inline"])
    pool, flag = space
    with target(jdk, "Cramped", pool, str(room), classpath=[classes], flags=[flag, *flags], prefix=prefix) as program:
        yield program


@pytest.mark.parametrize(
    ("jdk", "space", "room", "name"),
    [
        (11, METASPACE, 6000, "metaspace"),
        (17, HEADERS, 700, "compressed class space"),
        (21, HEADERS, 700, "compressed class space"),
        (25, METASPACE, 6000, "metaspace"),
    ],
)
def test_it_is_refused_before_anything_is_loaded(jdk: int, space: tuple[str, str], room: int, name: str) -> None:
    with cramped(jdk, space, room, EXIT) as jvm:
        result = command(str(jvm.pid), *COUNT)
        assert result.returncode == 3, result.stderr
        assert result.stderr.startswith(f"error[BT519]: the JVM {jvm.pid} has ")
        flag, _, limit = space[1].partition("=")
        assert f" of {name} left, of {limit.removesuffix('m')} MB ({flag}): " in result.stderr
        assert f"all of it, and {EXIT} ends the JVM in that case\n" in result.stderr
        assert f"  = help: start it with a larger {flag}: btpy needs " in result.stderr
        assert result.stderr.endswith(f" '{COUNT[1]}' --for 100ms --allow little-metaspace\n")
        assert not processes.describe(jvm.pid).has_agent
        jvm.send("211")
        jvm.wait_for("loaded 211")


@pytest.mark.parametrize(("jdk", "space", "room"), [(11, HEADERS, 150), (17, METASPACE, 1500), (25, METASPACE, 1500)])
def test_the_refused_attach_would_have_ended_the_jvm(
    jdk: int, space: tuple[str, str], room: int, tmp_path: Path
) -> None:
    report = f"-XX:ErrorFile={tmp_path / 'report'}"  # sometimes JDK 11 reads its classes while it exits, and crashes
    unshared = "-Xshare:off"  # classes of the JDK that the attach loads are shared, and take no room, by default
    with cramped(jdk, space, room, EXIT, report, unshared) as jvm:
        result = command(str(jvm.pid), *COUNT, "--allow", "little-metaspace")
        assert jvm.wait() == 3
        assert result.returncode in (3, 5), result.stderr
        assert any("java.lang.OutOfMemoryError" in line for line in jvm.stdout)


def test_permission_lets_it_attach_and_a_loaded_agent_needs_none() -> None:
    with cramped(17, METASPACE, 6000) as jvm:
        with btpy.attach(jvm.pid, allow=["little-metaspace"]) as session:
            session.add("Cramped::step { @n = count() }")
            for _ in range(7):
                jvm.send("1")
                jvm.wait_for("loaded 1")
            assert session.maps["@n"].value == 7
        assert processes.describe(jvm.pid).has_agent
        with Session.attach(jvm.pid) as again:
            assert again.departure.detach().clean


def test_an_agent_loaded_at_start_has_taken_no_memory_yet() -> None:
    with cramped(17, METASPACE, 6000, f"-javaagent:{agent_jar()}") as jvm:
        with pytest.raises(AttachError) as caught:
            Session.attach(jvm.pid)
        assert caught.value.code == "BT519"
        with btpy.attach(jvm.pid, allow=["little-metaspace"]), Session.attach(jvm.pid) as second:  # like btpy stop
            assert second.departure.detach().clean


def test_the_doctor_loads_nothing_either() -> None:
    with cramped(25, METASPACE, 6000) as jvm:
        steps = {step.name: step for step in examine(str(jvm.pid))}
        assert (steps["metaspace"].outcome, steps["metaspace"].code) == (Outcome.FAILED, "BT519")
        assert steps["agent loads"].outcome is Outcome.UNTESTED
        assert not processes.describe(jvm.pid).has_agent


@pytest.mark.parametrize("jdk", [11, 25])
def test_without_shortage_nothing_is_reported(jdk: int) -> None:
    with cramped(jdk, METASPACE, 12_000) as jvm:
        results = {step.name: step for step in examine(str(jvm.pid))}
        assert results["metaspace"].outcome is Outcome.PASSED
        assert "MB of metaspace" in results["metaspace"].detail
        assert results["leaves clean"].outcome is Outcome.PASSED


@needs_root
def test_a_jvm_in_a_container_is_checked_too() -> None:
    with cramped(17, METASPACE, 6000, "-Dbtpy.name=cramped", prefix=namespaces("--pid", "--fork", "--kill-child")):
        with pytest.raises(AttachError) as caught:
            Session.attach("cramped")
        assert caught.value.code == "BT519"
        for allow in (["little-metaspace"], []):  # the JVM recognises the removed copy of the jar by its name
            with btpy.attach("cramped", allow=allow) as session:
                assert session.detach().clean


OF_11 = """
Usage:
  Non-class:  30040.00 KB capacity, 29854.77 KB (>99%) used,   144.86 KB ( <1%) free+waste,    40.38 KB ( <1%) overhead.
      Class:   5431.00 KB capacity,  5325.04 KB ( 98%) used,    87.52 KB (  2%) free+waste,    18.44 KB ( <1%) overhead.
       Both:  35471.00 KB capacity, 35179.80 KB (>99%) used,   232.38 KB ( <1%) free+waste,    58.81 KB ( <1%) overhead.

Virtual space:
  Non-class space:    30720.00 KB reserved,   30208.00 KB ( 98%) committed
      Class space:    32768.00 KB reserved,    5464.00 KB ( 17%) committed
             Both:    63488.00 KB reserved,   35672.00 KB ( 56%) committed

MaxMetaspaceSize: 40960.00 KB
CompressedClassSpaceSize: 32768.00 KB
"""
OF_17 = """
Usage:
  Non-class:  29637.88 KB used.
      Class:   5399.63 KB used.
       Both:  35037.52 KB used.

Virtual space:
  Non-class space:    65536.00 KB reserved,   29760.00 KB ( 45%) committed,  1 nodes.
      Class space:    32768.00 KB reserved,    5504.00 KB ( 17%) committed,  1 nodes.
             Both:    98304.00 KB reserved,   35264.00 KB ( 36%) committed.

MaxMetaspaceSize: unlimited
CompressedClassSpaceSize: 32768.00 KB
"""
WITHOUT_CLASS_SPACE = """
Usage:
 5749.23 KB used.

Virtual space:
  65536.00 KB reserved,    5824.00 KB (  9%) committed,  1 nodes.

MaxMetaspaceSize: 40960.00 KB
No class space
"""


@pytest.mark.parametrize(
    ("answer", "spaces"),
    [
        (OF_11, [("metaspace", 40960 - 35471), ("compressed class space", 32768 - 5431)]),
        (OF_17, [("compressed class space", 32768 - 5504)]),
        (WITHOUT_CLASS_SPACE, [("metaspace", 40960 - 5824)]),
        ("1\njava.lang.IllegalArgumentException: Unknown diagnostic command\n", []),
        ("", []),
        ("Both: 1.2.3 KB capacity\nMaxMetaspaceSize: 9" + "9" * 5000 + ".00 KB\n" + " " * 3000 + "\n" + "1" * 3000, []),
    ],
)
def test_the_memory_counters_of_the_jvm_are_read(answer: str, spaces: list[tuple[str, int]]) -> None:
    assert [(space.name, space.left) for space in metaspace.parse(answer)] == spaces


def test_an_answer_without_an_end_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jcmd, "PATIENCE", 0.2)
    with socket.socket(socket.AF_UNIX) as jvm:
        jvm.bind(str(tmp_path / "socket"))
        jvm.listen()
        over = threading.Event()

        def dribble() -> None:
            connection, _ = jvm.accept()
            with connection, contextlib.suppress(BrokenPipeError):
                while not over.wait(0.01):
                    connection.sendall(b"0")

        dribbling = threading.Thread(target=dribble)
        dribbling.start()
        try:
            with socket.socket(socket.AF_UNIX) as asking:
                asking.connect(str(tmp_path / "socket"))
                assert metaspace.spaces(partial(jcmd.answer, asking)) == ()
        finally:
            over.set()
            dribbling.join()
