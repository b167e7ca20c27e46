"""Machines for tests of ``btpy --hosts``: namespaces with a network, processes and a /tmp of their own, and an sshd in
each. The client reaches them by the real ``ssh``, with keys and a configuration that only the test has.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.jdks import compiled
from tests.live.scripts import JAVA, waited
from tests.targets import Target, target

SBIN = "/usr/sbin"  # not on the PATH of every user
SMALL = ("-Xmx16m", "-Xss256k", "-XX:TieredStopAtLevel=1")

_INIT = """
set -e
mount -t proc proc /proc
mount -t tmpfs tmpfs /run
mkdir /run/sshd /run/node
mount --bind "$1" /run/node
mount -t tmpfs -o mode=1777 tmpfs /tmp
mkdir -p ~/.cache/btpy/pushed
mount -t tmpfs -o mode=0700 tmpfs ~/.cache/btpy/pushed
hostname "$2"
/usr/sbin/sshd -D -e -f /run/node/sshd_config 2>/run/node/log &
wait
"""

_SSHD = """
HostKey /run/node/host_key
AuthorizedKeysFile /run/node/authorized_keys
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
StrictModes no
UsePAM no
PidFile none
MaxStartups 100
SetEnv PATH=/run/node/bin:/usr/bin:/bin:/usr/sbin:/sbin
"""

_SSH = """
Host {name}
    HostName {address}
"""

_SSH_ALL = """
Host *
    User {user}
    IdentityFile {directory}/key
    IdentitiesOnly yes
    UserKnownHostsFile {directory}/known_hosts
    GlobalKnownHostsFile /dev/null
    StrictHostKeyChecking yes
    ControlPath none
"""


class Node:
    """A machine. ``init``: the first process of the machine; when this process ends, the machine ends."""

    def __init__(self, name: str, address: str, directory: Path, init: subprocess.Popen[bytes], pid: int) -> None:
        self.name = name
        self.address = address
        self.directory = directory
        self._starter = init
        self.init = pid

    @property
    def inside(self) -> tuple[str, ...]:
        """The words to put in front of a command so that it runs in the machine."""
        return ("nsenter", "-t", str(self.init), "--mount", "--pid", "--net", "--uts")

    @property
    def commands(self) -> dict[int, str]:
        """The command lines of the machine's processes by their pids, without the first process and the sshd that
        listens.
        """
        lines = {}
        for entry in Path(f"/proc/{self.init}/root/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and entry.name != "1":
                    lines[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
        return {pid: line for pid, line in lines.items() if line and "[listener]" not in line}

    @property
    def of_btpy(self) -> list[str]:
        """The command lines of btpy."""
        return [line for line in self.commands.values() if " -m btpy" in line or "python3 -I -S -c" in line]

    @property
    def connections(self) -> list[str]:
        """The command lines of sshd, one for each login."""
        return [line for line in self.commands.values() if line.startswith("sshd")]

    def program(self, name: str, text: str) -> None:
        """Puts a program on the PATH of users who log in."""
        path = self.directory / "bin" / name
        path.write_text(text)
        path.chmod(0o755)

    @contextmanager
    def jvm(self, name: str) -> Iterator[Target]:
        """The program Traffic, in a JVM that is as small as possible."""
        with target(
            17,
            "Traffic",
            classpath=[compiled([JAVA / "Traffic.java"], release=11)],
            flags=(*SMALL, f"-Dbtpy.name={name}"),
            prefix=(*self.inside, "setpriv", "--pdeathsig", "KILL"),  # nsenter is killed, and java is its child
        ) as program:
            yield program

    def signal(self, number: int, containing: str) -> list[int]:
        """Sends a signal to the processes whose command lines contain this text. Returns their pids in the machine."""
        pids = [pid for pid, line in self.commands.items() if containing in line]
        if pids:
            self.run("kill", f"-{number}", *map(str, pids))
        return pids

    def unplug(self) -> None:
        """Cuts the machine off the network: no packet comes or goes, and neither side gets a message."""
        self.run("ip", "link", "set", "eth0", "down")

    def run(self, *command: str) -> str:
        result = subprocess.run([*self.inside, *command], capture_output=True, text=True, check=True)
        return result.stdout

    def kill(self) -> None:
        """Ends the machine with all its processes at once."""
        if self._starter.poll() is None:
            os.kill(self.init, 9)
        self._starter.wait()

    @property
    def sessions(self) -> int:
        """The number of btpy's sessions in the machine's JVMs. Each session has one thread with the name below."""
        names = []
        for process in Path(f"/proc/{self.init}/root/proc").glob("[1-9]*"):
            with contextlib.suppress(OSError):  # a process that has just ended
                for comm in process.glob("task/*/comm"):
                    with contextlib.suppress(OSError):  # a thread that has just ended
                        names.append(comm.read_text().strip())
        return names.count("btpy-events")


class Nodes:
    """Machines by their names. ``ssh``: the command that reaches them."""

    def __init__(self, directory: Path, ssh: str, nodes: dict[str, Node]) -> None:
        self.directory = directory
        self.ssh = ssh
        self.by_name = nodes

    def __getitem__(self, name: str) -> Node:
        return self.by_name[name]

    def refuse_key(self, name: str) -> None:
        """Makes the machine refuse the client's key: from now on it expects a different key."""
        other = self.directory / "other"
        _key(other)
        (self[name].directory / "authorized_keys").write_text(other.with_suffix(".pub").read_text())


def _key(path: Path) -> None:
    if not path.exists():
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", str(path)], check=True)


def _child(parent: int) -> int:
    """The first child of a process, once it has one."""
    path = Path(f"/proc/{parent}/task/{parent}/children")
    waited(lambda: path.read_text().strip() != "", "no child")
    return int(path.read_text().split()[0])


@contextmanager
def nodes(directory: Path, *names: str) -> Iterator[Nodes]:
    """Machines with these names, 250 at most. Skips the test where they cannot be made."""
    if os.geteuid() != 0:
        pytest.skip("makes namespaces")
    for tool in ("unshare", "nsenter", "ip", "ssh", "sshd"):
        if shutil.which(tool, path=os.environ["PATH"] + os.pathsep + SBIN) is None:
            pytest.skip(f"{tool} is not installed: make tools")
    _key(directory / "key")
    with ExitStack() as stack:
        hub = stack.enter_context(_started(["unshare", "--net", "--fork", "--kill-child", "sleep", "infinity"]))
        network = ("nsenter", f"--net=/proc/{_child(hub.pid)}/ns/net")
        nodes_by_name = {
            name: stack.enter_context(_node(directory, network, name, at)) for at, name in enumerate(names, 1)
        }
        configuration = "".join(_SSH.format(name=node.name, address=node.address) for node in nodes_by_name.values())
        configuration += _SSH_ALL.format(user=getpass.getuser(), directory=directory)
        (directory / "config").write_text(configuration)
        known_hosts = [
            f"{node.address} {(node.directory / 'host_key.pub').read_text()}" for node in nodes_by_name.values()
        ]
        (directory / "known_hosts").write_text("".join(known_hosts))
        ssh = " ".join([*network, "ssh", "-F", str(directory / "config")])
        for node in nodes_by_name.values():
            log = node.directory / "log"
            waited(lambda log=log: "Server listening" in log.read_text(), f"{node.name} does not listen")  # type: ignore[misc]
        yield Nodes(directory, ssh, nodes_by_name)


@contextmanager
def _started(command: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def _node(parent: Path, network: Sequence[str], name: str, number: int) -> Iterator[Node]:
    directory = parent / f"node-{name}"
    (directory / "bin").mkdir(parents=True)
    (directory / "sshd_config").write_text(_SSHD)
    (directory / "authorized_keys").write_text((parent / "key.pub").read_text())
    (directory / "log").touch()
    _key(directory / "host_key")
    namespaces = ("--net", "--pid", "--mount", "--uts", "--fork", "--kill-child")
    with _started([*network, "unshare", *namespaces, "sh", "-c", _INIT, "sh", str(directory), name]) as starter:
        init = _child(starter.pid)
        device, here, there = f"node{number}", f"10.91.{number}.1/30", f"10.91.{number}.2/30"
        for command in (
            ("link", "add", device, "type", "veth", "peer", "name", "eth0", "netns", str(init)),
            ("addr", "add", here, "dev", device),
            ("link", "set", device, "up"),
        ):
            subprocess.run([*network, "ip", *command], check=True)
        node = Node(name, there.partition("/")[0], directory, starter, init)
        node.program("btpy", f'#!/bin/sh\nexec {sys.executable} -m btpy "$@"\n')
        inside = ("nsenter", "-t", str(init), "--net", "ip")
        for line in (f"addr add {there} dev eth0", "link set eth0 up", "link set lo up"):
            subprocess.run([*inside, *line.split()], check=True)
        yield node
