"""Builds btpy/_agent/btpy-agent.jar from agent-java/src/main/java: a hook of hatchling, and a command for development.

Both also make the tables of the parser from its grammar. The hook also has the demonstration shop built
(examples/shop/build_shop.py), which ships in the package as well.

The jar is a function of the sources and the compiler: entries in order, no timestamps. Its manifest and its code carry
the build id, a hash of the sources, so that a jar that is already there and made of exactly these sources is kept and
no JDK is needed. A source distribution ships the jar.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # run as a command, where hatchling is not installed
    BuildHookInterface = object

JAR = Path("btpy/_agent/btpy-agent.jar")
GRAMMAR = Path("btpy/lang/syntax/grammar.lark")
TABLES = GRAMMAR.with_suffix(".json")
SHOP_JAR = Path("btpy/_demo/shop.jar")
SHOP = Path("examples/shop/build_shop.py")
SOURCES = Path("agent-java/src/main/java")
LAUNCHER = Path("btpy/launcher")
BOOT_CLASSES = "btpy/boot.classes"
RELEASE = "8"
SHORT_RUN = ("-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC")
"""The quick compiler of HotSpot and the serial collector save half of javac's processor time."""

EPOCH = (1980, 1, 1, 0, 0, 0)


class AgentBuildHook(BuildHookInterface):  # type: ignore[misc]
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        build(root)
        build_tables(root)
        build_shop(root)
        build_data["artifacts"] += [JAR.as_posix(), SHOP_JAR.as_posix(), TABLES.as_posix()]


def build(root: Path) -> Path:
    """Make the jar unless it is there for these sources. Raises RuntimeError when there is no javac or it fails."""
    jar = root / JAR
    sources = sorted((root / SOURCES).rglob("*.java"))
    identity = build_id(root, sources)
    if built_from(jar) == identity:
        return jar
    with tempfile.TemporaryDirectory() as scratch:
        classes = Path(scratch)
        generated = classes / "Build.java"
        generated.write_text(
            "package btpy.agent;\n\n"
            "/** Which sources this agent was built from. */\n"
            f'final class Build {{\n    static final String ID = "{identity}";\n\n    private Build() {{\n    }}\n}}\n'
        )
        compile_java([generated, *sources], classes)
        generated.unlink()
        jar.parent.mkdir(parents=True, exist_ok=True)
        write_jar(root, jar, classes, identity)
    return jar


def build_tables(root: Path) -> None:
    """Make the tables of the parser. Lark raises GrammarError where the grammar has a conflict."""
    with importing_from(root):
        from btpy.lang.syntax.tables import STARTS, tables
    (root / TABLES).write_text(tables((root / GRAMMAR).read_text(encoding="utf-8"), STARTS), encoding="utf-8")


@contextmanager
def importing_from(root: Path) -> Iterator[None]:
    sys.path.insert(0, str(root))
    try:
        yield
    finally:
        sys.path.pop(0)


def build_shop(root: Path) -> None:
    """Make the shop unless it is there for these sources. One that is there stays when there is no javac: a source
    distribution ships it.
    """
    jar = root / SHOP_JAR
    identity = build_id(root, [root / SHOP, *sorted((root / SHOP).parent.glob("src/**/*.java"))])
    if built_from(jar) == identity:
        return
    specification = importlib.util.spec_from_file_location("build_shop", root / SHOP)
    assert specification is not None
    assert specification.loader is not None
    builder = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(builder)
    try:
        builder.build(jar, identity)
    except FileNotFoundError:
        if not jar.exists():
            raise


def build_id(root: Path, sources: list[Path]) -> str:
    """16 hex digits over the names and contents of the sources."""
    digest = hashlib.sha256()
    for source in sources:
        digest.update(source.relative_to(root).as_posix().encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def built_from(jar: Path) -> str | None:
    """The build id in the manifest of a jar; None when there is no such jar."""
    try:
        with zipfile.ZipFile(jar) as archive:
            lines = archive.read("META-INF/MANIFEST.MF").decode().splitlines()
    except (OSError, KeyError, zipfile.BadZipFile):
        return None
    return next((line.partition(": ")[2] for line in lines if line.startswith("Build-Id: ")), None)


def compile_java(sources: list[Path], classes: Path) -> None:
    home = os.environ.get("JAVA_HOME")
    javac = shutil.which("javac", path=f"{home}/bin") if home else None
    javac = javac or shutil.which("javac")
    if javac is None:
        raise RuntimeError("building the agent takes a JDK: javac is neither in JAVA_HOME nor on PATH")
    # -source and -target, not --release: the latter hides jdk.internal.misc and what is newer than Java 8.
    # No line numbers, which would be a sixth of the jar: no stack of the agent is ever shown.
    options = [
        "-source",
        RELEASE,
        "-target",
        RELEASE,
        "-g:source",
        "-Xlint:all,-options",
        "-XDignore.symbol.file",
    ]
    command = [javac, *SHORT_RUN, *options, "-proc:none", "-encoding", "UTF-8", "-d", str(classes), *map(str, sources)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"the agent does not compile:\n{result.stderr}{result.stdout}")


def write_jar(root: Path, jar: Path, classes: Path, identity: str) -> None:
    """The manifest is stored, because btpy and the JVM read it as it is. The classes are deflated: a target reads them
    once in its life, which takes it 2 ms, and the jar is half as large."""
    manifest = (
        "Manifest-Version: 1.0\n"
        "Agent-Class: BtpyLauncher\n"
        "Premain-Class: BtpyLauncher\n"
        "Can-Retransform-Classes: true\n"
        f"Build-Id: {identity}\n"
        "\n"
    )
    partial = jar.with_name(f"{jar.name}.{os.getpid()}")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_entry("META-INF/MANIFEST.MF"), manifest)
        for path in launcher_classes(classes):
            archive.writestr(_entry(path.relative_to(classes).as_posix()), path.read_bytes(), zipfile.ZIP_DEFLATED, 9)
        archive.writestr(_entry(BOOT_CLASSES), boot_classes(root, classes), zipfile.ZIP_DEFLATED, 9)
    partial.replace(jar)


def launcher_classes(classes: Path) -> list[Path]:
    return sorted([*classes.glob("*.class"), *(classes / LAUNCHER).glob("*.class")])


def boot_classes(root: Path, classes: Path) -> bytes:
    """The class files that the launcher defines in the boot loader, supertypes first, each after its length (u4)."""
    with importing_from(root):
        from btpy.classfile.reader import ClassFile
    paths = sorted({*classes.rglob("*.class")} - {*launcher_classes(classes)})
    files = {parsed.name: parsed for parsed in (ClassFile.parse(path.read_bytes()) for path in paths)}
    ordered: dict[str, bytes] = {}

    def add(name: str | None) -> None:
        if name in files and name not in ordered:
            parsed = files[name]
            for parent in (parsed.super_name, *parsed.interfaces):
                add(parent)
            ordered[name] = parsed.data

    for name in files:
        add(name)
    return b"".join(len(data).to_bytes(4) + data for data in ordered.values())


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, EPOCH)
    entry.external_attr = 0o644 << 16
    return entry


if __name__ == "__main__":
    try:
        tree = Path(__file__).resolve().parent.parent
        build_tables(tree)
        print(build(tree))
    except RuntimeError as problem:
        sys.exit(str(problem))
