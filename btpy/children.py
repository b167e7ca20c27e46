"""Starts other programs. No other module of btpy starts processes.

btpy is often run as root, in a directory that others can write and with an environment that was made for other
programs. Python takes modules from the working directory and from ``PYTHON*`` variables, Java takes options and classes
from ``JAVA_TOOL_OPTIONS`` and ``CLASSPATH``, and the dynamic linker takes libraries from ``LD_*``. So btpy protects its
own child processes:

- a child runs in the root directory, unless it works in another directory;
- it gets the variables that are named here, and no others;
- Python runs isolated (``-I -S``): its modules come from its own library and from the directories of btpy and its
  packages.

A program that the user names (the application of ``btpy run``, the editor) is started as a shell would start it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from importlib.machinery import PathFinder
from pathlib import Path

DEVNULL, PIPE = subprocess.DEVNULL, subprocess.PIPE
TimeoutExpired = subprocess.TimeoutExpired
TextProcess = subprocess.Popen[str]
Process = subprocess.Popen[bytes]

LOCALE = ("LANG", "LC_ALL", "LC_CTYPE")
"""Variables that the JVM uses to encode file names."""

PLACES = (
    *("HOME", "JAVA_HOME", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER"),
    *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"),
)
"""Variables with which a child process of btpy finds the same files."""

CHOICES = ("BTPY_PATH", "BTPY_TRUST", "SUDO_UID")
"""Variables with which a child process of btpy runs the same programs."""

_PACKAGES = ("jpype", "prompt_toolkit", "wcwidth")
"""The packages that the helpers of btpy import."""

_START = (
    "import sys; sys.path += {directories!r}; "
    "from importlib import import_module; sys.exit(import_module(sys.argv.pop(1)).main())"
)


def environment(*names: str) -> dict[str, str]:
    """The values of the variables that are set in this process."""
    return {name: os.environ[name] for name in names if name in os.environ}


def program_path(name: str, path: str | None = None) -> str | None:
    """The absolute path of a program as a shell finds it on PATH; None: there is none.

    A shell also finds programs in the working directory, if PATH has an empty or relative entry. This does not. A
    ``name`` with a slash is a path.
    """
    if "/" in name:
        return os.path.abspath(name) if _is_program(name) else None
    directories = (os.environ.get("PATH", os.defpath) if path is None else path).split(os.pathsep)
    candidates = (os.path.join(directory, name) for directory in directories if os.path.isabs(directory))
    return next(filter(_is_program, candidates), None)


def helper(module: str, *arguments: str) -> list[str]:
    """The command for an isolated Python process that calls ``main()`` of a module of btpy."""
    return [sys.executable, "-I", "-S", "-c", _START.format(directories=_directories()), module, *arguments]


def start(
    command: Sequence[str],
    *,
    inherited: Iterable[str] = (),
    stdin: int = DEVNULL,
    stdout: int = DEVNULL,
    descriptors: Sequence[int] = (),
) -> TextProcess:
    """Start a child that belongs to btpy. ``inherited``: the variables for the child; ``descriptors``: the descriptors
    that the child inherits besides standard input and output. Ctrl-C reaches this process, but not the child.
    """
    return subprocess.Popen(
        [*command],
        stdin=stdin,
        stdout=stdout,
        stderr=DEVNULL,
        env=environment(*inherited),
        cwd="/",
        pass_fds=[*descriptors],
        text=True,
        start_new_session=True,
    )


def run_helper(
    module: str, *arguments: str, inherited: Iterable[str] = (), directory: Path = Path("/")
) -> subprocess.CompletedProcess[str]:
    """Run a helper to its end. ``directory``: its working directory, from which no modules are loaded."""
    return subprocess.run(
        helper(module, *arguments),
        cwd=directory,
        env=environment(*inherited),
        stdin=DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


def start_connected(command: Sequence[str]) -> Process:
    """Start a program of the user, such as ssh, with the user's environment and directory. Its standard input, output
    and error are pipes. Ctrl-C reaches this process, but not the program.
    """
    return subprocess.Popen([*command], stdin=PIPE, stdout=PIPE, stderr=PIPE, bufsize=0, start_new_session=True)


def output_of(command: Sequence[str], most: int) -> tuple[int, bytes]:
    """Runs a program of the user that ends by itself; returns its status and its standard output. A program that writes
    more than ``most`` bytes is killed. Its standard error is the standard error of this process.
    """
    with subprocess.Popen([*command], stdin=DEVNULL, stdout=PIPE) as process:
        assert process.stdout is not None
        data = process.stdout.read(most)
        if len(data) == most:
            process.kill()
    return process.returncode, data


def start_for_user(command: Sequence[str]) -> Process:
    """Start the user's program, with the user's environment, directory and terminal."""
    return subprocess.Popen([*command])


def run_for_user(command: Sequence[str]) -> int:
    """Like :func:`start_for_user`; waits until the process ends, and returns its status. Raises FileNotFoundError."""
    program = program_path(command[0])
    if program is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), command[0])
    return subprocess.run([program, *command[1:]], check=False).returncode


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _directories() -> list[str]:
    """The directories of btpy and the packages of its helpers.

    ``python -m btpy`` and a user's own program have their working directory first on ``sys.path``. Packages are not
    searched there, unless btpy itself is there.
    """
    ours = str(Path(__file__).absolute().parents[1])
    own_directories = {""}
    with contextlib.suppress(OSError):  # the working directory no longer exists
        own_directories = {"", os.getcwd()} - {ours}
    path = [entry for entry in sys.path if entry not in own_directories and os.path.isabs(entry)]
    directories: dict[str, None] = {}
    for name in _PACKAGES:
        specification = PathFinder.find_spec(name, path)
        if specification is not None and specification.origin is not None:
            directories[str(Path(specification.origin).parents[1])] = None
    return [*directories, ours]
