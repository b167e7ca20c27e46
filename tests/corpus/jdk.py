"""Weaves whole JDKs and asks their JVMs and java.lang.classfile whether the result verifies."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from btpy.classfile.reader import ClassFile
from btpy.plan.plan import ClassPlan, OperandKind
from tests.corpus.weaving import JAVA, NOTHING, Corpus, Plan, ends, weave_all
from tests.jdks import compiled, java
from tests.weave.advice import with_advice

SHORT_RUN = ("-XX:TieredStopAtLevel=1",)
"""A flag for a program that ends before code of the optimizing compiler has saved what the compiler takes."""

_FEW = 1000
"""The number of classes up to which their verification is a short run."""


def program(name: str) -> Path:
    return compiled([JAVA / f"{name}.java"])


def handlers() -> Path:
    """The directory with the class of the handlers."""
    return compiled([JAVA / f"{NOTHING}.java"])


def run(jdk: int, scratch: Path, classpath: Path, *arguments: str, flags: tuple[str, ...] = ()) -> str:
    """The output of a Java program run in ``scratch``. AssertionError with everything it said when it fails."""
    command = [str(java(jdk)), "-Xmx512m", "-XX:+UseSerialGC", *flags, "-cp", str(classpath), *arguments]
    result = subprocess.run(command, capture_output=True, text=True, timeout=1800, cwd=scratch)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def weave_jdk(jdk: int, scratch: Path, module: str, step: int, plan_of: Plan = ends, first: int = 0) -> Corpus:
    """Weaves a plan into each ``step``-th class of a module (or ``all``) of a JDK, from the ``first`` on."""
    booting = boot_classes(jdk)

    def plan(file: ClassFile) -> ClassPlan:
        return untimed(plan_of(file)) if file.name in booting else plan_of(file)

    return weave_all(class_files(jdk, module, step, first), scratch / "woven", plan)


@lru_cache(maxsize=1)
def class_files(jdk: int, module: str, step: int, first: int) -> tuple[tuple[Path, bytes], ...]:
    """The class files of a JDK, each with its path below the directory of all modules. Tests that follow each other
    weave different plans into the same classes.
    """
    with TemporaryDirectory() as scratch:
        root = Path(scratch)
        run(jdk, root, program("Extract"), "Extract", scratch, module, str(step), str(first), flags=SHORT_RUN)
        return tuple((path.relative_to(root), path.read_bytes()) for path in sorted(root.rglob("*.class")))


@cache
def boot_classes(jdk: int) -> frozenset[str]:
    """Internal names of the classes that a JVM loads while it boots."""
    with TemporaryDirectory() as scratch:
        log = Path(scratch) / "boot.log"
        flags = ("-Xverify:all", f"-Xlog:class+load:file={log}")
        run(jdk, log.parent, program("Link"), "Link", os.devnull, flags=flags)
        matches = re.findall(r"(\S+) source: ", log.read_text())
    return frozenset(name.replace(".", "/") for name in matches)


def untimed(plan: ClassPlan) -> ClassPlan:
    """The plan without durations: ``System.nanoTime`` cannot be called by the code that links native methods."""
    methods = []
    for method in plan.methods:
        kinds = [{operand.kind for operand in advice.operands} for advice in method.advice]
        untimed_advice = [a for a, of in zip(method.advice, kinds, strict=True) if OperandKind.DURATION not in of]
        methods.append(with_advice(method, *untimed_advice))
    return replace(plan, methods=tuple(methods))


def link(jdk: int, corpus: Corpus) -> str:
    """What ``Link`` prints in a JVM whose modules are patched with the woven classes, under ``-Xverify:all``."""
    listing = corpus.root.parent / "names.txt"
    names = [f"{path.parts[0]}/{'.'.join(path.parts[1:]).removesuffix('.class')}" for path in corpus.changed]
    listing.write_text("\n".join(names) + "\n")
    flags = ["-Xverify:all", "--add-modules", "ALL-SYSTEM", *_flags(corpus)]
    for module in sorted({"java.base", *(path.name for path in corpus.root.iterdir())}):
        patches = [corpus.root / module, *([handlers()] if module == "java.base" else [])]
        flags += ["--patch-module", f"{module}={os.pathsep.join(str(path) for path in patches if path.exists())}"]
    return run(jdk, corpus.root.parent, program("Link"), "Link", str(listing), flags=tuple(flags))


def verify(corpus: Corpus) -> str:
    """What java.lang.classfile of JDK 25 says of classes of JDK 25."""
    modules = ("--add-modules", "ALL-SYSTEM")  # it asks the running JVM for superclasses
    return run(25, corpus.root.parent, program("Verify"), "Verify", str(corpus.root), flags=(*modules, *_flags(corpus)))


def _flags(corpus: Corpus) -> tuple[str, ...]:
    return SHORT_RUN if len(corpus.changed) <= _FEW else ()
