"""Containers and namespaces for a JVM or btpy, made with the tools of the system, and checks that btpy leaves nothing
there.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from btpy.engine.session import Session
from btpy.events.aggregates import Count
from btpy.jvm.processes import JvmProcess, find
from tests.jdks import cache
from tests.live.scripts import counted, program, waited
from tests.targets import Target

ROOT = Path(__file__).parents[2]
NOBODY = 65534
CALLS = 1009
SCRIPT = "Counted::step { @n = count() }"
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
BTPY_AS_NOBODY = (*AS_NOBODY, "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
"""The Python that runs the tests may be in a directory that only root can read; the capability lets btpy read it. The
capability gives no access to other processes."""
DEBUGGING = ("CAP_SYS_PTRACE", "CAP_SETUID", "CAP_SETGID", "CAP_KILL", "CAP_DAC_OVERRIDE", "CAP_CHOWN", "CAP_FOWNER")
"""The capabilities of `docker run --cap-add=SYS_PTRACE` and of a debug container by `kubectl debug --profile=general`
that matter here: the usual ones, and SYS_PTRACE."""
NEW_TMP = ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o mode=1777 none /tmp && exec "$@"', "sh")
OWN_USERS = ("unshare", "--user", "--map-root-user", "--mount")

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="makes namespaces and changes users")


def require(*commands: str) -> None:
    """Skips the test where a command is missing."""
    for command in commands:
        if shutil.which(command) is None:
            pytest.skip(f"{command} is not installed: make tools")


def require_to_run(*prefix: str) -> None:
    """Skips the test where this machine forbids what the prefix does."""
    require(prefix[0])
    result = subprocess.run([*prefix, "true"], capture_output=True, text=True)
    if result.returncode != 0:
        pytest.skip(f"this machine forbids {' '.join(prefix[:3])}: {result.stderr.strip()}")


def without(*capabilities: str) -> tuple[str, ...]:
    """A prefix that starts a command as root without these capabilities."""
    names = ",".join(f"-{capability}" for capability in capabilities)
    return "setpriv", f"--bounding-set={names}", f"--inh-caps={names}"


def in_own_users(*command: str) -> tuple[str, ...]:
    return (*AS_NOBODY, *OWN_USERS, *command)


@dataclass(frozen=True)
class Cell:
    """A running program ``Counted``. ``process``: the facts that btpy reads about it from the test's process."""

    target: Target
    process: JvmProcess

    @property
    def left(self) -> list[str]:
        """Files that btpy could have left in the directories of the target."""
        pid = self.process.pid
        inside = f".attach_pid{self.process.namespace_pid}"
        files = [f"/proc/{pid}/cwd/{inside}", f"/proc/{pid}/root/tmp/{inside}"]
        if self.process.in_container:  # the /tmp that all tests share has other files
            files += [str(path) for path in Path(f"/proc/{pid}/root/tmp").glob("btpy-*")]
        return [path for path in files if os.path.lexists(path)]

    def assert_undisturbed(self) -> None:
        """Checks that there is no thread dump and no file of btpy, and that the program goes on."""
        self.target.send("call 3")
        self.target.wait_for("called 3")
        assert [line for line in self.target.stdout if not line.startswith(("ready", "called"))] == []
        waited(lambda: not self.left, f"left: {self.left}")


@contextmanager
def cell(jdk: int, *flags: str, prefix: Sequence[str] = (), readable: bool = False) -> Iterator[Cell]:
    """The program, started by ``prefix``. ``readable``: another user must be able to read it and its JVM."""
    name = f"cell-{uuid.uuid4().hex[:12]}"
    with (
        readable_cache() if readable else nothing(),
        counted(jdk, f"-Dbtpy.name={name}", *flags, prefix=prefix) as target,
    ):
        yield Cell(target, find(name))


@contextmanager
def nothing() -> Iterator[None]:
    yield


@contextmanager
def readable_cache() -> Iterator[None]:
    """Lets other users pass the directories above the JDKs and classes of the tests, and above this interpreter.

    Only one test at a time uses this: at its end it closes directories that a parallel test could still need. Tests use
    :func:`passable` inside of this block, so only one test at a time uses it, too.
    """
    with (cache() / "readable.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with passable(cache()), passable(Path(sys.executable).resolve().parent):
            for path in (cache() / "classes").iterdir():
                path.chmod(0o755)
            yield


@contextmanager
def passable(directory: Path) -> Iterator[None]:
    """Lets other users pass the directory and those above it."""
    modes = {path: path.stat().st_mode for path in (directory, *directory.parents) if not path.stat().st_mode & 0o001}
    try:
        for path, mode in modes.items():
            path.chmod(mode | 0o001)
        yield
    finally:
        for path, mode in modes.items():
            path.chmod(mode)


def assert_traced(target_cell: Cell) -> None:
    """Attaches from this process, counts a prime number of calls, and checks that the class is restored."""
    with Session.attach(target_cell.process) as session:
        deployment = session.deployer.load(program("Counted::step { @n = count(); }"))
        assert deployment.methods == 1
        target_cell.target.send(f"call {CALLS}")
        target_cell.target.wait_for("called")
        (content,) = session.delivery.snapshot()
        assert content.entries == (((), Count(CALLS)),)
        assert session.departure.detach().clean


def doctor(pid: int, *, prefix: Sequence[str] = (), **environment: str) -> subprocess.CompletedProcess[str]:
    """``btpy doctor``, started by ``prefix``: it attaches, runs a probe and leaves."""
    return subprocess.run(
        [*prefix, sys.executable, "-m", "btpy", "doctor", str(pid)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        timeout=100,
    )


def assert_counts(btpy: Target, target_cell: Cell) -> None:
    """Checks that a running ``btpy … -e "Counted::step { @n = count() }"`` sees each call, and then leaves."""
    waited(lambda: any(line.startswith("btpy: 1 probe") for line in btpy.stderr), "the probe")
    target_cell.target.send(f"call {CALLS}")
    target_cell.target.wait_for("called")
    btpy.process.send_signal(signal.SIGINT)
    assert btpy.wait() == 0, btpy.stderr
    assert btpy.stdout == [f"@n  {CALLS}"]
    target_cell.assert_undisturbed()


def refusal(target_cell: Cell, *prefix: str, **environment: str) -> str:
    """The message of ``btpy PID -e …``, which must refuse."""
    result = subprocess.run(
        [*prefix, sys.executable, "-m", "btpy", str(target_cell.process.pid), "-e", "Counted::step { @n = count() }"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        timeout=100,
    )
    assert (result.returncode, result.stdout) == (3, "")
    return result.stderr


@contextmanager
def container(
    directory: Path, *, user: int, tmp: str = "/tmp", group: str = "", hostname: str = ""
) -> Iterator[tuple[str, ...]]:
    """A container of runc with its own namespaces; yields the prefix that starts a command in it. ``tmp``: the target
    of its link /tmp. ``group``: the path of its control group; ``hostname``: the text of its /etc/hostname.
    """
    content = with_files_of_this_machine(directory, tmp=tmp)
    if group:
        content["linux"]["cgroupsPath"] = group
    if hostname:
        file = directory / "hostname"
        file.write_text(f"{hostname}\n")
        content["mounts"].append(bind(file, "/etc/hostname"))
    with detached(directory, content, user) as prefix:
        yield prefix


def with_files_of_this_machine(directory: Path, *, tmp: str = "/tmp") -> dict[str, Any]:
    """The specification of a container with the programs of this machine, the JDKs and classes of the tests, and a
    ``/tmp`` of its own. ``tmp``: the target of its link /tmp."""
    require("runc")
    rootfs = directory / "rootfs"
    rootfs.mkdir()
    for link in ("bin", "lib", "lib64", "sbin"):
        if Path("/", link).is_symlink():
            (rootfs / link).symlink_to(os.readlink(f"/{link}"))
    if tmp != "/tmp":
        (rootfs / "tmp").symlink_to(tmp)
    content = specification(directory)
    content["root"] = {"path": str(rootfs), "readonly": False}
    shared = ["/usr", "/etc", str(cache())]
    shared += [f"/{name}" for name in ("lib64",) if not Path("/", name).is_symlink()]
    content["mounts"] += [bind(Path(path), path) for path in shared]
    content["mounts"].append({"destination": tmp, "type": "tmpfs", "source": "tmpfs", "options": ["mode=1777"]})
    return content


def bind(source: Path, destination: str) -> dict[str, Any]:
    """A mount that shows a file or directory of this machine in a container, which cannot change it."""
    return {"destination": destination, "type": "bind", "source": str(source), "options": ["rbind", "ro"]}


def specification(directory: Path) -> dict[str, Any]:
    """The specification of a container, as runc proposes it, without limits and without the mounts of its cgroups."""
    subprocess.run(["runc", "spec"], cwd=directory, check=True)
    content: dict[str, Any] = json.loads((directory / "config.json").read_text())
    content["process"]["terminal"] = False
    content["linux"].pop("resources", None)
    content["mounts"] = [mount for mount in content["mounts"] if mount["type"] not in ("cgroup", "sysfs", "mqueue")]
    return content


def sets_of(capabilities: Sequence[str]) -> dict[str, list[str]]:
    """The sets of the specification for a program that has these capabilities."""
    return {kind: list(capabilities) for kind in ("bounding", "effective", "permitted")}


@contextmanager
def detached(directory: Path, content: dict[str, Any], user: int) -> Iterator[tuple[str, ...]]:
    """A container of this specification; yields the prefix that starts a command in it."""
    content["process"]["args"] = ["sleep", "3600"]
    (directory / "config.json").write_text(json.dumps(content))
    name = f"btpy-test-{uuid.uuid4().hex[:12]}"
    runc = ("runc", "--root", str(directory / "state"))
    with (directory / "errors").open("w+") as errors:  # not a pipe, because the container would keep it open
        result = subprocess.run(
            [*runc, "run", "--detach", "--bundle", str(directory), name],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        errors.seek(0)
        if result.returncode != 0:
            pytest.skip(f"runc cannot start a container here: {errors.read().strip()}")
    try:
        yield (*runc, "exec", "--user", f"{user}:{user}", name)
    finally:
        subprocess.run([*runc, "delete", "--force", name], capture_output=True)


@contextmanager
def first_process(directory: Path, content: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yields the prefix that starts a command as the first process of a container of this specification."""
    file = directory / "config.json"
    file.write_text(json.dumps(content))
    name = f"btpy-test-{uuid.uuid4().hex[:12]}"
    runc = ("runc", "--root", str(directory / "state"))
    command = [*runc, "run", "--bundle", str(directory), name]
    try:
        yield (sys.executable, "-c", _RUN, str(file), json.dumps(command))
    finally:
        subprocess.run([*runc, "delete", "--force", name], capture_output=True)


_RUN = """
import json, os, sys
file, command, *arguments = sys.argv[1:]
content = json.load(open(file))
content["process"]["args"] = arguments
json.dump(content, open(file, "w"))
command = json.loads(command)
os.execvp(command[0], command)
"""
"""Puts the command, which is known only when it starts, into the specification, and becomes runc."""
