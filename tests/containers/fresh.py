"""A container as from an image of Python: Debian with Python and pip, but no Java, no network, and no file of this
machine. pip installs from a directory of wheels.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.containers.cells import DEBUGGING, ROOT, detached, require, sets_of, specification
from tests.jdks import cache, locked

_DEBIAN, _PYTHON = "bookworm", "3.11"
"""A release of Debian, and the version of its Python."""

_MAKE = (
    *("mmdebstrap", "--quiet", "--variant=essential", "--format=tar"),
    *("--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr", "--include=usr-is-merged,python3-venv"),
    '--aptopt=APT::Install-Recommends "false"',
)
ENVIRONMENT = "/opt/environment"
_WHEELS = "/wheels"
_PIP = (sys.executable, "-m", "pip")


def python_root(directory: Path) -> Path:
    """The root directory of a new container. Debian's packages for it are downloaded once."""
    require("mmdebstrap", "runc")
    archive = cache() / f"python-{_DEBIAN}.tar"
    with locked(archive.stem):
        if not archive.exists():
            unfinished = archive.with_suffix(".unfinished")
            subprocess.run([*_MAKE, _DEBIAN, str(unfinished)], check=True)
            unfinished.rename(archive)
    root = directory / "rootfs"
    root.mkdir()
    subprocess.run(["tar", "--extract", "--file", archive, "--directory", root], check=True)
    return root


def download(lock: str, directory: Path) -> None:
    """The wheels of a lock file of .ci, for the Python of the container."""
    command = [*_PIP, "download", "--quiet", "--no-deps", "--require-hashes", "--only-binary", ":all:"]
    command += ["--python-version", _PYTHON, "--dest", str(directory), "--requirement", str(ROOT / ".ci" / lock)]
    subprocess.run(command, check=True)


@contextmanager
def tracing_container(root: Path, wheels: Path, directory: Path) -> Iterator[tuple[str, ...]]:
    """A container that may trace other processes of the machine, as with ``docker run --pid=host
    --cap-add=SYS_PTRACE``; yields the prefix that starts a command in it as root.
    """
    content = specification(directory)
    content["root"] = {"path": str(root), "readonly": False}
    content["process"]["capabilities"] = sets_of(DEBUGGING)
    content["linux"]["namespaces"] = [one for one in content["linux"]["namespaces"] if one["type"] != "pid"]
    content["mounts"].append({"destination": _WHEELS, "type": "bind", "source": str(wheels), "options": ["bind", "ro"]})
    with detached(directory, content, user=0) as inside:
        yield inside


def install(inside: Sequence[str], *packages: str) -> None:
    """Installs packages in an environment of the container."""
    printed(inside, "python3", "-m", "venv", ENVIRONMENT)
    pip = f"{ENVIRONMENT}/bin/pip"
    printed(inside, pip, "install", "--quiet", "--no-index", f"--find-links={_WHEELS}", *packages)


def printed(inside: Sequence[str], *command: str) -> str:
    """The standard output of a command in the container."""
    result = subprocess.run([*inside, *command], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()
