"""JVMs in containers and namespaces, and btpy without some privilege: btpy works, or names the missing privilege at
once.

In every case the target prints nothing, and its directories stay clean.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from btpy import files
from btpy.errors import AttachError
from btpy.jvm import attach, processes, target_side
from btpy.jvm.delegate import Delegate
from tests.containers.cells import (
    AS_NOBODY,
    BTPY_AS_NOBODY,
    NEW_TMP,
    NOBODY,
    OWN_USERS,
    ROOT,
    assert_traced,
    cell,
    container,
    doctor,
    in_own_users,
    needs_root,
    refusal,
    require,
    require_to_run,
    without,
)
from tests.jdks import java_home
from tests.live.scripts import counted, waited

pytestmark = needs_root

SAMPLE = (8, 11, 17, 25)
sample = pytest.mark.parametrize("jdk", SAMPLE, ids=[f"jdk{major}" for major in SAMPLE])


@sample
def test_a_jvm_with_a_tmp_of_its_own_is_traced(jdk: int) -> None:
    """The target has the same pid in its namespace as outside, as under systemd's PrivateTmp."""
    require_to_run(*NEW_TMP)
    with cell(jdk, prefix=NEW_TMP) as target_cell:
        assert target_cell.process.in_container
        assert_traced(target_cell)
        target_cell.assert_undisturbed()


@pytest.mark.parametrize("user", [0, NOBODY])
@pytest.mark.parametrize("jdk", [11, 25])
def test_a_jvm_in_a_container_of_runc_is_traced(jdk: int, user: int, tmp_path: Path) -> None:
    """The target has its own pid, mount, network and IPC namespaces. On JDK 11 the agent connects to a port of the
    loopback interface in that network namespace.
    """
    with container(tmp_path, user=user) as inside, cell(jdk, prefix=inside, readable=True) as target_cell:
        assert target_cell.process.uid == user
        assert target_cell.process.namespace_pid < target_cell.process.pid
        assert not target_cell.process.shares_network
        assert_traced(target_cell)
        target_cell.assert_undisturbed()


def test_a_jvm_in_a_sandbox_of_bubblewrap_is_traced() -> None:
    sandbox = ("bwrap", "--dev-bind", "/", "/", "--tmpfs", "/tmp", "--unshare-pid", "--proc", "/proc")
    require_to_run(*sandbox)
    with cell(17, prefix=(*sandbox, "--die-with-parent")) as target_cell:
        assert target_cell.process.namespace_pid < target_cell.process.pid
        assert_traced(target_cell)
        target_cell.assert_undisturbed()


def test_a_tmp_that_is_a_symbolic_link_is_resolved_in_the_targets_own_root(tmp_path: Path) -> None:
    """An absolute link leads to a directory of the container, not to the directory of that name on this machine."""
    with container(tmp_path, user=0, tmp="/elsewhere") as inside, cell(17, prefix=inside) as target_cell:
        assert not Path("/elsewhere").exists()
        assert_traced(target_cell)
        assert os.listdir(f"/proc/{target_cell.process.pid}/root/elsewhere")
        target_cell.assert_undisturbed()


def test_root_without_ptrace_names_the_capability() -> None:
    """btpy cannot see that the JVM has the same /tmp, so it sends no signal."""
    require_to_run(*NEW_TMP)
    with cell(17, prefix=(*NEW_TMP, *AS_NOBODY), readable=True) as target_cell:
        message = refusal(target_cell, *without("sys_ptrace"))
        assert message.startswith(
            f"error[BT501]: cannot attach to pid {target_cell.process.pid}: btpy runs as root without"
        )
        assert "CAP_SYS_PTRACE" in message
        assert "--cap-add=SYS_PTRACE" in message
        assert "sudo -u nobody btpy" in message
        target_cell.assert_undisturbed()


@pytest.mark.parametrize("jdk", [8, 17])
def test_root_without_ptrace_attaches_where_the_counters_show_the_same_tmp(jdk: int) -> None:
    """The case of docker exec: root of the container, and an application that runs as another user."""
    with cell(jdk, prefix=AS_NOBODY, readable=True) as target_cell:
        result = doctor(target_cell.process.pid, prefix=without("sys_ptrace"))
        assert result.returncode == 0, result.stdout
        assert "root may do more than this needs:  sudo -u nobody btpy …" in result.stdout
        target_cell.assert_undisturbed()


@pytest.mark.parametrize("own_tmp", [True, False])
def test_a_jvm_with_capabilities_is_attached_to_only_where_it_has_the_same_tmp(own_tmp: bool) -> None:
    """The kernel forbids the JVM's own user to inspect it, for example when its launcher has cap_net_bind_service."""
    prefix = ("setpriv", "--inh-caps=+net_bind_service", "--ambient-caps=+net_bind_service", *AS_NOBODY[1:])
    with cell(17, prefix=(*NEW_TMP, *prefix) if own_tmp else prefix, readable=True) as target_cell:
        if own_tmp:
            message = refusal(target_cell, *BTPY_AS_NOBODY)
            assert message.startswith(
                f"error[BT501]: cannot attach to pid {target_cell.process.pid}: it has capabilities"
            )
        else:
            result = doctor(target_cell.process.pid, prefix=BTPY_AS_NOBODY)
            assert result.returncode == 0, result.stdout
        target_cell.assert_undisturbed()


def test_root_that_cannot_change_its_user_gets_an_error() -> None:
    with cell(17, prefix=AS_NOBODY, readable=True) as target_cell:
        message = refusal(target_cell, *without("setuid", "setgid"))
        assert (
            f"error[BT501]: cannot attach to pid {target_cell.process.pid}: btpy cannot act as its user nobody"
            in message
        )
        assert f"setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups btpy" in message
        target_cell.assert_undisturbed()


@pytest.mark.parametrize("jdk", [11, 17])
def test_a_jvm_in_a_user_namespace_of_its_own_is_traced(jdk: int) -> None:
    """Root can neither create files in the target's /tmp nor send it requests, because root is nobody there."""
    prefix = in_own_users("sh", "-c", 'mount -t tmpfs none /tmp && exec "$@"', "sh")
    require_to_run(*prefix)
    with cell(jdk, prefix=prefix, readable=True) as target_cell:
        assert not target_cell.process.shares_users
        assert_traced(target_cell)
        target_cell.assert_undisturbed()


def test_btpy_in_its_own_user_namespace_gets_an_error() -> None:
    require_to_run(*OWN_USERS)
    with cell(17, prefix=NEW_TMP) as target_cell:
        message = refusal(target_cell, *OWN_USERS)
        assert (
            f"error[BT501]: cannot attach to pid {target_cell.process.pid}: it runs in another user namespace"
            in message
        )
        assert f"nsenter -t {target_cell.process.pid} --all btpy" in message
        target_cell.assert_undisturbed()


LOOPBACK_UP = ("unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")


def test_a_jvm_in_a_network_namespace_is_traced() -> None:
    require("ip")
    require_to_run(*LOOPBACK_UP)
    with cell(11, prefix=LOOPBACK_UP) as target_cell:
        assert not target_cell.process.shares_network
        assert_traced(target_cell)
        target_cell.assert_undisturbed()


def test_without_the_privilege_to_enter_a_network_namespace_the_remedy_is_nsenter() -> None:
    require("ip", "nsenter")
    require_to_run(*LOOPBACK_UP)
    with cell(11, prefix=LOOPBACK_UP) as target_cell:
        message = refusal(target_cell, *without("sys_admin"))
        assert f"error[BT509]: the JVM {target_cell.process.pid} has a network namespace of its own" in message
        assert f"nsenter -t {target_cell.process.pid} -n btpy {target_cell.process.pid}" in message
        target_cell.assert_undisturbed()
        result = doctor(target_cell.process.pid, prefix=("nsenter", "-t", str(target_cell.process.pid), "-n"))
        assert result.returncode == 0, result.stdout
        target_cell.assert_undisturbed()


@pytest.mark.parametrize("jdk", [8, 11, 17])
def test_a_security_manager_is_read_from_the_options(jdk: int) -> None:
    with cell(jdk, "-Djava.security.manager") as target_cell:
        message = refusal(target_cell)
        assert message.startswith(
            f"error[BT508]: the JVM {target_cell.process.pid} runs under a security manager (-Djava.security.manager)"
        )
        assert "heap" not in message
        assert "permission java.security.AllPermission" in message
        assert not Path(f"/tmp/.java_pid{target_cell.process.pid}").exists(), "it was not asked anything"
        target_cell.assert_undisturbed()


@pytest.mark.parametrize("value", ["allow", "disallow"])
def test_an_option_that_sets_no_security_manager_is_no_obstacle(value: str) -> None:
    with cell(17, f"-Djava.security.manager={value}") as target_cell:
        assert target_cell.process.security_manager == ""


@pytest.mark.parametrize("jdk", [8, 17])
def test_the_policy_that_the_help_shows_is_enough(jdk: int, tmp_path: Path) -> None:
    policy = tmp_path / "policy"
    policy.touch()
    options = ("-Djava.security.manager", f"-Djava.security.policy={policy}")
    with cell(jdk, *options) as target_cell:
        message = refusal(target_cell)
        assert message.startswith("error[BT508]: ")
        grant = message[message.index("grant codeBase") :].partition("\n")[0]
        result = doctor(target_cell.process.pid)
        assert result.returncode == 3, result.stdout
        target_cell.assert_undisturbed()
    policy.write_text(grant)
    with cell(jdk, *options) as target_cell:
        result = doctor(target_cell.process.pid)
        assert result.returncode == 0, result.stdout
        target_cell.assert_undisturbed()


@pytest.mark.parametrize("jdk", [8, 17])
def test_a_runtime_in_a_directory_named_jre_has_its_version(jdk: int, tmp_path: Path) -> None:
    home = shutil.copytree(java_home(jdk), tmp_path / "jre", symlinks=True)
    launcher = ("sh", "-c", 'shift; exec "$0" "$@"', str(home / "bin" / "java"))
    with cell(jdk, "-XX:-UsePerfData", prefix=launcher) as target_cell:
        assert Path(target_cell.process.java_home) == home
        assert target_cell.process.feature_version == jdk


WAKING = """
import os, signal, sys
from btpy import files
from btpy.errors import AttachError
from btpy.jvm import attach, processes, target_side
from btpy.jvm.delegate import Delegate
delegate = Delegate(processes.find(sys.argv[1]))
os.kill(int(sys.argv[1]), signal.SIGSTOP)
print("waking", flush=True)
delegate.wake()
"""


@pytest.mark.parametrize("jdk", [8, 17])
def test_a_client_that_is_killed_while_the_jvm_is_woken_leaves_no_attach_file(jdk: int) -> None:
    """The attach file and the delegate stay until the JVM has seen the file; without the file the JVM would print its
    threads.
    """
    with cell(jdk) as target_cell:
        client = subprocess.Popen(
            [sys.executable, "-c", WAKING, str(target_cell.process.pid)],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        with client:
            assert client.stdout is not None
            assert client.stdout.readline() == b"waking\n"
            waited(lambda: bool(target_cell.left), "no attach file")
            client.kill()
        os.kill(target_cell.process.pid, signal.SIGCONT)
        target_cell.assert_undisturbed()


def test_a_jvm_that_is_stopped_during_the_attach_is_reported_and_no_file_stays_when_it_continues() -> None:
    with cell(17) as target_cell:
        os.kill(target_cell.process.pid, signal.SIGSTOP)
        with pytest.raises(AttachError) as caught:
            attach.attach(target_cell.process, "socket=unix:/nowhere,secret=00", None)
        assert (caught.value.code, caught.value.help) == ("BT513", (f"kill -CONT {target_cell.process.pid}",))
        assert target_cell.left
        os.kill(target_cell.process.pid, signal.SIGCONT)
        target_cell.assert_undisturbed()


def test_an_attach_file_that_was_left_is_used_and_removed() -> None:
    """A killed delegate has left an old attach file; no process waits for it."""
    with counted(17) as target:
        attach_file = Path(f"/proc/{target.pid}/cwd/.attach_pid{target.pid}")
        attach_file.touch(mode=0o600)
        os.utime(attach_file, (1, 1))
        with Delegate(processes.describe(target.pid)) as delegate:
            delegate.wake()
        assert not attach_file.exists()
        assert target.stdout == ["ready"]


def test_an_attach_file_that_was_left_beside_a_listening_jvm_is_removed() -> None:
    """An old file is from a delegate that was killed after the signal; no process waits for it. A client still waits
    for a young file."""
    with counted(17) as target:
        process = processes.describe(target.pid)
        attach.wake(process)
        attach_file = Path(f"/proc/{target.pid}/cwd/.attach_pid{target.pid}")
        for age, stays in ((1, True), (3600, False)):
            attach_file.touch(mode=0o600)
            os.utime(attach_file, (time.time() - age,) * 2)
            with Delegate(process) as delegate:
                delegate.wake()
            assert attach_file.exists() == stays


def test_an_attach_file_of_another_user_in_tmp_blocks_nobody() -> None:
    with counted(17) as target:
        foreign = Path(f"/tmp/.attach_pid{target.pid}")
        foreign.touch()
        os.chown(foreign, 65534, 65534)
        try:
            with Delegate(processes.describe(target.pid)) as delegate:
                delegate.wake()
            assert foreign.exists()
            assert not Path(f"/proc/{target.pid}/cwd/.attach_pid{target.pid}").exists()
        finally:
            foreign.unlink()
        assert target.stdout == ["ready"]


def test_a_jvm_that_stays_frozen_keeps_no_attach_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target_side, "WAKE_SECONDS", 0.2)
    monkeypatch.setattr(target_side, "LINGER_SECONDS", 0.2)
    with counted(17) as target:
        process = processes.describe(target.pid)
        file = Path(f"/tmp/.attach_pid{target.pid}")  # not in the working directory, which other containers may share
        side = target_side._TargetSide(process.pid, process.namespace_pid, process.start_ticks, str(process.root))
        os.kill(process.pid, signal.SIGSTOP)
        try:
            with pytest.raises(target_side._Failure) as caught:
                side.answer({"do": "wake"}, [])
            assert (caught.value.step, caught.value.path) == ("silent", str(file))
            assert file.exists()
            side.close()
            assert not file.exists()
        finally:
            os.kill(process.pid, signal.SIGCONT)


def test_what_was_opened_by_a_pid_that_is_free_again_is_not_used() -> None:
    """The target ends while btpy opens its directories, and another process may get its pid."""
    with counted(17) as target:
        process = processes.describe(target.pid)
        opened = files.open_directory

        def open_after_the_end(root: Path, name: str) -> int:
            target.send("halt")
            target.wait()
            return opened(root, name)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(files, "open_directory", open_after_the_end)
            with pytest.raises(target_side._Failure) as caught:
                target_side._TargetSide(process.pid, process.namespace_pid, process.start_ticks, "/")
        assert caught.value.step == "ended"


def test_the_socket_of_another_user_is_named_and_not_connected_to() -> None:
    """In a /tmp with the sticky bit the target's user cannot remove the socket."""
    with cell(17, prefix=AS_NOBODY, readable=True) as target_cell:
        path = Path(f"/tmp/.java_pid{target_cell.process.pid}")
        path.unlink(missing_ok=True)  # removes the socket of a killed JVM with the same pid
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(path))
            listening.listen()
            listening.setblocking(False)
            message = refusal(target_cell)
            with pytest.raises(BlockingIOError):
                listening.accept()
        assert f"error[BT517]: {path} is left from another JVM" in message
        path.unlink()
        target_cell.assert_undisturbed()


def test_two_clients_send_one_signal() -> None:
    """A JVM that already listens would answer the second signal with a thread dump."""
    for _ in range(5):
        with counted(17) as target:
            process = processes.describe(target.pid)
            waking = [subprocess.Popen([sys.executable, "-c", BOTH, str(process.pid)], cwd=ROOT) for _ in range(2)]
            assert [client.wait() for client in waking] == [0, 0]
            target.send("call 3")
            target.wait_for("called 3")
            assert target.stdout == ["ready", "called 3 refused 0"]


BOTH = """
import sys
from btpy.jvm import attach, processes
attach.wake(processes.find(sys.argv[1]))
"""
