"""A stand-in for ssh: it runs the command on this machine. The name of a host determines its behaviour and its JVM: the
stand-in replaces ``@HOST@`` in a request by the name.
"""

from __future__ import annotations

import os
import stat
import sys
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.live.traffic import traffic
from tests.targets import Target

REMOTE = f"{sys.executable} -m btpy"

_SCRIPT = """#!/bin/sh
while [ "$1" != "--" ]; do shift; done
host=$2
shift 2
echo $$ > "$FAKE_SSH/$host.pid"
edit=
case "$host" in
    refuses*) echo "ssh: connect to host $host port 22: Connection refused" >&2; exit 255;;
    empty*) exec btpy-that-is-not-there;;
    noisy*) echo "Welcome to $host"; echo "Last login: today";;
    another*) edit='s/@sizes/@other/g';;
    older*) edit='s/"btpy": "[^"]*"/"btpy": "0.0.7"/';;
    garbage*) head -c 100000 /dev/zero; exec sleep 600;;
    hostile*) printf '\\211BTN\\r\\n\\032\\n\\0\\001\\0\\0\\0\\001\\377\\377\\377\\377'; exec sleep 600;;
    silent*) exec sleep 600;;
esac
sed -u -e "$edit" -e "s/@HOST@/$host/" | sh -c 'echo $$ > "$FAKE_SSH/$0.pid"; exec "$@"' "$host" $*
"""


@contextmanager
def fake_ssh(directory: Path) -> Iterator[dict[str, str]]:
    """The environment in which ``ssh`` is the stand-in."""
    program = directory / "ssh"
    program.write_text(_SCRIPT)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    yield {"PATH": f"{directory}{os.pathsep}{os.environ['PATH']}", "FAKE_SSH": str(directory)}


def pid_of(directory: Path, host: str) -> int:
    """The pid of btpy on a host, or of the stand-in if btpy has not started there."""
    return int((directory / f"{host}.pid").read_text())


class Jvms:
    """JVMs by host. All JVMs of an object have one name, by which each host finds its own JVM."""

    def __init__(self) -> None:
        self.name = f"traffic-{uuid.uuid4().hex[:12]}"
        self._stack = ExitStack()
        self._running: dict[str, Target] = {}

    def on(self, host: str) -> Target:
        """The JVM of the host. It starts if it does not run."""
        if host not in self._running or self._running[host].process.poll() is not None:
            self._running[host] = self._stack.enter_context(traffic(17, f"-Dbtpy.name={self.name}-{host}"))
        return self._running[host]

    def stop(self) -> None:
        self._running.clear()
        self._stack.close()


_kept: Jvms | None = None


@contextmanager
def kept_jvms() -> Iterator[None]:
    """Until the block ends, :func:`jvms_on` keeps its JVMs for the next test. After a failure it stops them."""
    global _kept
    _kept = Jvms()
    try:
        yield
    finally:
        _kept.stop()
        _kept = None


@contextmanager
def jvms_on(*hosts: str) -> Iterator[tuple[str, dict[str, Target]]]:
    """Runs a JVM for each host. Yields the name of the target, by which each host finds its own JVM, and the JVMs by
    host."""
    jvms = _kept or Jvms()
    try:
        yield f"{jvms.name}-@HOST@", {host: jvms.on(host) for host in hosts}
    except BaseException:
        jvms.stop()
        raise
    if jvms is not _kept:
        jvms.stop()
