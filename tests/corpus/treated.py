"""A library whose classes other tools have changed: shrunk and renamed, woven with aspects, instrumented, generated.

Each is made once and kept in the cache, by the content of what it is made from.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from tests.corpus import jdk
from tests.corpus.weaving import JAVA
from tests.jdks import cache, compiled, java, javac, locked
from tests.maven import JACOCO_AGENT, JACOCO_CLI, artifact

LIBRARY = "com.fasterxml.jackson.core:jackson-core:2.18.1"
_ASPECTJ_TOOLS = "org.aspectj:aspectjtools:1.9.22.1"
ASPECTJ_RUNTIME = "org.aspectj:aspectjrt:1.9.22.1"
_BYTE_BUDDY = "net.bytebuddy:byte-buddy:1.15.10"
_PROGUARD = "net.sf.proguard:proguard-base:6.2.2"
AGENT_OF_COVERAGE = JACOCO_AGENT
ARTIFACTS = (LIBRARY, _ASPECTJ_TOOLS, ASPECTJ_RUNTIME, _BYTE_BUDDY, _PROGUARD, JACOCO_CLI)

_OBFUSCATING = """
-keep,allowobfuscation,allowoptimization class ** { *; }
-dontshrink
-dontwarn
-dontnote
-overloadaggressively
-repackageclasses ''
-allowaccessmodification
-mergeinterfacesaggressively
"""


def obfuscated() -> Path:
    """By ProGuard: optimized, overloaded by return type, all in one package."""

    def make(out: Path) -> None:
        jdk.run(11, out, jdk.program("Extract"), "Extract", str(out / "jdk"), "java.base", "1", "0")
        (out / "rules.pro").write_text(_OBFUSCATING)
        library = f"{artifact(LIBRARY)}(!META-INF/**,!module-info.class)"
        arguments = ["@rules.pro", "-injars", library, "-outjars", "classes.jar", "-libraryjars", "jdk/java.base"]
        _java(out, [artifact(_PROGUARD)], "proguard.ProGuard", *arguments)
        (out / "classes.jar").rename(out / "classes")

    return _made("obfuscated", _OBFUSCATING, make)


def with_aspects() -> Path:
    """By ajc, which inlines ``around`` advice and makes closures for it."""
    aspect = JAVA / "Everywhere.aj"

    def make(out: Path) -> None:
        arguments = ["-1.8", "-nowarn", "-proc:none", "-inpath", str(artifact(LIBRARY)), "-d", str(out / "classes")]
        classpath = ["-cp", str(artifact(ASPECTJ_RUNTIME))]
        _java(out, [artifact(_ASPECTJ_TOOLS)], "org.aspectj.tools.ajc.Main", *arguments, *classpath, str(aspect))

    return _made("aspects", aspect.read_text(), make)


def instrumented() -> Path:
    """By JaCoCo, as it does for coverage without an agent."""

    def make(out: Path) -> None:
        (out / "classes").mkdir()
        with zipfile.ZipFile(artifact(LIBRARY)) as archive:
            archive.extractall(out / "library")
        arguments = ["instrument", str(out / "library"), "--dest", str(out / "classes")]
        _java(out, [artifact(JACOCO_CLI)], "org.jacoco.cli.internal.Main", *arguments)

    return _made("instrumented", "", make)


def generated() -> Path:
    """By Byte Buddy: advice inlined, methods delegated."""
    source = JAVA / "ByteBuddyClasses.java"

    def make(out: Path) -> None:
        (out / "classes").mkdir()
        program = compiled([source], classpath=[artifact(_BYTE_BUDDY)])
        classpath = [program, artifact(_BYTE_BUDDY)]
        _java(out, classpath, "ByteBuddyClasses", str(out / "classes"), str(artifact(LIBRARY)))

    return _made("generated", source.read_text(), make)


def _java(scratch: Path, classpath: list[Path], main: str, *arguments: str) -> None:
    machine = javac().parent / "java" if main.startswith("org.aspectj") else java(17)
    command = [str(machine), "-Xmx700m", "-XX:+UseSerialGC", "-cp", ":".join(map(str, classpath)), main, *arguments]
    result = subprocess.run(command, cwd=scratch, capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stdout + result.stderr


def _made(name: str, source: str, make: Callable[[Path], None]) -> Path:
    """The classes that ``make`` leaves in ``classes``, a directory or a jar, in the directory that it is given."""
    key = hashlib.sha256(repr((source, ARTIFACTS)).encode()).hexdigest()[:16]
    directory = cache() / "treated" / f"{name}-{key}"
    with locked(f"treated-{name}"):
        if not directory.exists():
            directory.parent.mkdir(exist_ok=True)
            scratch = Path(tempfile.mkdtemp(dir=directory.parent))
            try:
                make(scratch)
                (scratch / "classes").rename(directory)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
    return directory
