"""The cells of containers and namespaces, with jattach beside btpy: btpy reaches each JVM that jattach reaches.

jattach only sends a command to the JVM; btpy loads its agent, counts calls, and leaves. async-profiler attaches with
the code of jattach. ``python -m pytest -s -m proof tests/containers/test_beside_jattach.py`` prints the table.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.containers.cells import (
    AS_NOBODY,
    NEW_TMP,
    NOBODY,
    OWN_USERS,
    Cell,
    cell,
    container,
    doctor,
    in_own_users,
    needs_root,
    require,
    without,
)

pytestmark = [needs_root, pytest.mark.proof]

JDKS = (8, 11, 17, 25)
_SECONDS = 60
_NETWORK = ("unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")
_SANDBOX = ("bwrap", "--dev-bind", "/", "/", "--tmpfs", "/tmp", "--unshare-pid", "--proc", "/proc", "--die-with-parent")
_READ_ONLY_TMP = ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o ro none /tmp && exec "$@"', "sh")
_OWN_USERS_AND_TMP = in_own_users("sh", "-c", 'mount -t tmpfs none /tmp && exec "$@"', "sh")

Opened = Callable[[int, Path], AbstractContextManager[Cell]]


@dataclass(frozen=True)
class Situation:
    """``opened``: starts a JVM of a Java version, given a scratch directory. ``client``: the prefix that starts jattach
    and btpy."""

    name: str
    opened: Opened
    client: Sequence[str] = ()


def behind(*prefix: str, readable: bool = False) -> Opened:
    return lambda jdk, directory: cell(jdk, prefix=prefix, readable=readable)


def in_container(user: int) -> Opened:
    @contextmanager
    def opened(jdk: int, directory: Path) -> Iterator[Cell]:
        with container(directory, user=user) as inside, cell(jdk, prefix=inside, readable=True) as target_cell:
            yield target_cell

    return opened


SITUATIONS = (
    Situation("the same user, no container", behind()),
    Situation("another user, btpy as root", behind(*AS_NOBODY, readable=True)),
    Situation("a /tmp of its own (PrivateTmp)", behind(*NEW_TMP)),
    Situation("a /tmp that cannot be written", behind(*_READ_ONLY_TMP)),
    Situation("a container of runc, root", in_container(0)),
    Situation("a container of runc, nobody", in_container(NOBODY)),
    Situation("a sandbox of bubblewrap with its own pids", behind(*_SANDBOX)),
    Situation("a network namespace", behind(*_NETWORK)),
    Situation("a user namespace, with a /tmp of its own", behind(*_OWN_USERS_AND_TMP, readable=True)),
    Situation("another user, root without SYS_PTRACE", behind(*AS_NOBODY, readable=True), without("sys_ptrace")),
    Situation("a /tmp of its own, root without SYS_PTRACE", behind(*NEW_TMP), without("sys_ptrace")),
    Situation("a /tmp of its own, the client in a user namespace", behind(*NEW_TMP), OWN_USERS),
)


@pytest.mark.timeout(900)
def test_btpy_reaches_each_jvm_that_jattach_reaches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    require("jattach", "runc", "bwrap", "ip")
    with capsys.disabled():
        print(f"\n\nbtpy · jattach\n\n| JVM | {' | '.join(f'JDK {jdk}' for jdk in JDKS)} |")
        print("|---" * (len(JDKS) + 1) + "|", end="")
    only_jattach = []
    for number, situation in enumerate(SITUATIONS):
        words = []
        for jdk in JDKS:
            scratch = tmp_path / f"{number}-{jdk}"
            scratch.mkdir()
            reached = beside(situation, jdk, scratch)
            if reached == (False, True):
                only_jattach.append((situation.name, jdk))
            words.append(f"{'yes' if reached[0] else 'no'} · {'yes' if reached[1] else 'no'}")
        with capsys.disabled():
            print(f"\n| {situation.name} | {' | '.join(words)} |", end="", flush=True)
    assert only_jattach == []


def beside(situation: Situation, jdk: int, scratch: Path) -> tuple[bool, bool]:
    """Whether btpy reaches the JVM, and whether jattach does. Each tool has a fresh JVM, because the first attach
    starts the JVM's attach listener.
    """
    with situation.opened(jdk, scratch) as target_cell:
        by_btpy = doctor(target_cell.process.pid, prefix=situation.client).returncode == 0
        if by_btpy:  # a failed attach may leave its file for a minute
            target_cell.assert_undisturbed()
    directory = scratch / "again"
    directory.mkdir()
    with situation.opened(jdk, directory) as target_cell:
        command = [*situation.client, "jattach", str(target_cell.process.pid), "properties"]
        by_jattach = subprocess.run(command, capture_output=True, timeout=_SECONDS).returncode == 0
    return by_btpy, by_jattach
