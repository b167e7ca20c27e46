"""Runs a program unwoven, and again with advice in all classes that it loaded."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from btpy.classfile import jimage
from btpy.classfile.reader import ClassFile
from btpy.plan.plan import ClassPlan, RefusalReason
from btpy.weave.weaver import weave
from tests.corpus.weaving import Plan
from tests.jdks import compiled
from tests.running.programs import Program
from tests.weave import advice

TALLY = "btpy/proof/Tally"
PATIENCE = 1800
"""Seconds after which a program counts as hanging."""

_LOADED = re.compile(r"(\S+) source: \S")
_SIGNATURE = re.compile(r"META-INF/[^/]*\.(SF|RSA|DSA|EC)")
_JAR = re.compile(r"file:[^\s)]*/(?:\d+-)?([^/\s)]+\.jar)")
_VERSIONED = re.compile(r"META-INF/versions/\d+/")


def ends(file: ClassFile) -> ClassPlan:
    """Advice at the entry and the exits of all methods."""
    return advice.everything(file, TALLY)


def everything(file: ClassFile) -> ClassPlan:
    """Advice with all operands at every place."""
    return advice.joined(advice.everything(file, TALLY), advice.inside(file, TALLY))


@dataclass(frozen=True)
class Outcome:
    """``files``: for each file with the same content in every run, its path and its SHA-256."""

    status: int
    stdout: str
    stderr: str
    files: dict[str, str]


@dataclass(frozen=True)
class Woven:
    """``refused``: the number of unwoven methods; btpy refuses only methods that would pass 64 kB."""

    program: Program
    classes: int
    methods: int
    sites: int
    refused: int


def handlers() -> Path:
    return compiled([Path(__file__).parent / "java" / f"{TALLY}.java"])


def run(java: Path, program: Program, directory: Path) -> tuple[Outcome, frozenset[str]]:
    """Runs the program in an empty directory. Returns its results and the internal names of its loaded classes."""
    work = directory / "work"
    work.mkdir(parents=True)
    log = directory / "loaded.txt"
    command = [str(java), "-Xmx768m", "-XX:+UseSerialGC", f"-Xlog:class+load:file={log}::filecount=0"]
    # With classes added to the boot loader the JVM may share fewer of its own classes. The JVM warns about that in both
    # runs or in none.
    command += [
        f"-Xbootclasspath/a:{handlers()}",
        "-Xshare:off",
        f"-Dbtpy.tally={directory / 'tally.txt'}",
        *program.flags,
    ]
    if program.classpath:
        command += ["-cp", os.pathsep.join(map(str, program.classpath))]
    result = subprocess.run(
        [*command, *program.main.split(), *program.arguments],
        cwd=work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    results = sorted(path for path in work.glob(program.results) if path.is_file()) if program.results else []
    files = {str(path.relative_to(work)): hashlib.sha256(path.read_bytes()).hexdigest() for path in results}
    class_names = frozenset(name.replace(".", "/") for name in _LOADED.findall(log.read_text()))
    stderr = _JAR.sub(r"\1", result.stderr)  # the JVM warns about calls of libraries, and names their jars
    return Outcome(result.returncode, result.stdout, stderr, files), class_names


def tallied(directory: Path) -> tuple[int, int]:
    """The number of calls of handlers without a value, and with a value."""
    calls, values = (directory / "tally.txt").read_text().split()
    return int(calls), int(values)


class _Weaver:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.classes = self.methods = self.sites = self.refused = 0

    def weave(self, data: bytes) -> bytes:
        file = ClassFile.parse(data)
        if file.name.rpartition("/")[2] in ("module-info", "package-info"):
            return data
        plan = self._plan(file)
        result = weave(data, plan, (1 << 24) + self.sites)
        assert all(refusal.reason is RefusalReason.TOO_LARGE for refusal in result.refusals), result.refusals
        self.classes += 1
        self.methods += len(plan.methods)
        self.sites += len(result.sites)
        self.refused += len(result.refusals)
        return result.data or data


def woven(program: Program, class_names: frozenset[str], java: Path, plan: Plan, directory: Path) -> Woven:
    """The program with the plan woven into its classes, and into those of its modules that are in ``class_names``."""
    directory.mkdir()
    weaver = _Weaver(plan)
    classpath = []
    for number, path in enumerate(program.classpath):
        out = directory / f"{number}-{path.name}"
        if path.is_dir():
            shutil.copytree(path, out)
            for class_file in sorted(out.rglob("*.class")):
                class_file.write_bytes(weaver.weave(class_file.read_bytes()))
        else:
            _weave_jar(path, out, class_names, weaver)
        classpath.append(out)
    flags = list(program.flags)
    for module in program.modules:
        out = directory / module
        for name, data in _of_module(java, module):
            if name in class_names:
                file = out / f"{name}.class"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(weaver.weave(data))
        flags += ["--patch-module", f"{module}={out}", "--add-reads", f"{module}=ALL-UNNAMED"]
    woven_program = replace(program, classpath=tuple(classpath), flags=tuple(flags))
    return Woven(woven_program, weaver.classes, weaver.methods, weaver.sites, weaver.refused)


def _weave_jar(path: Path, out: Path, class_names: frozenset[str], weaver: _Weaver) -> None:
    """Copies a jar without its signatures: they would not fit the woven classes."""
    with zipfile.ZipFile(path) as jar, zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as copy:
        for entry in jar.infolist():
            if entry.is_dir() or _SIGNATURE.fullmatch(entry.filename):
                continue
            data = jar.read(entry)
            name = _VERSIONED.sub("", entry.filename)
            if name.endswith(".class") and name.removesuffix(".class") in class_names:
                data = weaver.weave(data)
            copy.writestr(entry.filename, data)


def _of_module(java: Path, module: str) -> Iterator[tuple[str, bytes]]:
    """Internal names and class files of a module of a JDK."""
    for owner, name, read in jimage.classes(java.resolve().parents[1] / "lib" / "modules"):
        if owner == module:
            yield name, read()
