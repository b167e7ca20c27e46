"""Weaves whole JDKs and asks their JVMs and java.lang.classfile whether the result verifies."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from btpy.classfile.reader import ClassFile
from btpy.plan.plan import ClassPlan, OperandKind, Point, Refusal
from btpy.weave.weaver import weave
from tests.jdks import compiled, java
from tests.weave import advice

JAVA = Path(__file__).parent / "java"
NOTHING = "btpy/proof/Nothing"


@dataclass(frozen=True)
class Corpus:
    """``root``: woven classes by module. ``names``: ``module/binary.name`` of each class that was changed."""

    root: Path
    names: tuple[str, ...]
    classes: int
    methods: int
    sites: int
    refusals: tuple[Refusal, ...]
    seconds: float


def program(name: str) -> Path:
    return compiled([JAVA / f"{name}.java"])


def run(jdk: int, scratch: Path, classpath: Path, *arguments: str, flags: tuple[str, ...] = ()) -> str:
    """The output of a Java program run in ``scratch``. AssertionError with everything it said when it fails."""
    command = [str(java(jdk)), "-Xmx512m", "-XX:+UseSerialGC", *flags, "-cp", str(classpath), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800, cwd=scratch)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


Plan = Callable[[ClassFile], ClassPlan]


def ends(file: ClassFile) -> ClassPlan:
    """Everything at entry, return and throw."""
    return advice.everything(file, NOTHING)


def inside(*points: Point) -> Plan:
    """Everything at these points inside methods; at all of them when none is given."""
    if points == (Point.LINE,):
        return lines
    return lambda file: advice.inside(file, NOTHING, points or advice.INSIDE_POINTS)


def lines(file: ClassFile) -> ClassPlan:
    """The classes of these JDKs have no line numbers: a line begins at every third instruction."""
    return advice.lines_everywhere(file, NOTHING)


def all_at_once(file: ClassFile) -> ClassPlan:
    return advice.joined(ends(file), inside()(file), advice.lines_everywhere(file, NOTHING, 7))


def weave_jdk(jdk: int, scratch: Path, module: str, step: int, planned: Plan = ends) -> Corpus:
    """Weaves a plan into each ``step``-th class of a module (or ``all``) of a JDK."""
    original = scratch / "original"
    woven = scratch / "woven"
    run(jdk, scratch, program("Extract"), "Extract", str(original), module, str(step))
    booting = boot_classes(jdk, scratch)
    names = []
    refusals: list[Refusal] = []
    classes = methods = sites = 0
    spent = 0.0
    for path in sorted(original.rglob("*.class")):
        data = path.read_bytes()
        plan = planned(ClassFile.parse(data))
        if plan.class_name in booting:
            plan = untimed(plan)
        before = time.process_time()
        result = weave(data, plan, (1 << 24) + sites)
        spent += time.process_time() - before
        classes += 1
        methods += len(plan.methods)
        sites += len(result.sites)
        refusals += result.refusals
        if result.data is not None:
            relative = path.relative_to(original)
            out = woven / relative
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_bytes(result.data)
            names.append(f"{relative.parts[0]}/{'.'.join(relative.parts[1:])[: -len('.class')]}")
    return Corpus(woven, tuple(names), classes, methods, sites, tuple(refusals), spent)


def boot_classes(jdk: int, scratch: Path) -> frozenset[str]:
    """Internal names of the classes that a JVM loads while it boots."""
    log = scratch / "boot.log"
    run(jdk, scratch, program("Link"), "Link", os.devnull, flags=("-Xverify:all", f"-Xlog:class+load:file={log}"))
    found = re.findall(r"(\S+) source: ", log.read_text())
    return frozenset(name.replace(".", "/") for name in found)


def untimed(plan: ClassPlan) -> ClassPlan:
    """The plan without durations: ``System.nanoTime`` cannot be called by the code that links native methods."""
    methods = []
    for method in plan.methods:
        kinds = [{operand.kind for operand in advice.operands} for advice in method.advice]
        kept = [a for a, of in zip(method.advice, kinds, strict=True) if OperandKind.DURATION not in of]
        methods.append(replace(method, advice=tuple(kept)))
    return replace(plan, methods=tuple(methods))


def link(jdk: int, corpus: Corpus) -> str:
    """What ``Link`` prints in a JVM whose modules are patched with the woven classes, under ``-Xverify:all``."""
    handlers = compiled([JAVA / NOTHING.rpartition("/")[0] / "Nothing.java"])
    listing = corpus.root.parent / "names.txt"
    listing.write_text("\n".join(corpus.names) + "\n")
    flags = ["-Xverify:all", "--add-modules", "ALL-SYSTEM"]
    for module in sorted(path.name for path in corpus.root.iterdir()):
        patches = [str(corpus.root / module)]
        if module == "java.base":
            patches.append(str(handlers))
        flags += ["--patch-module", f"{module}={os.pathsep.join(patches)}"]
    if not (corpus.root / "java.base").exists():
        flags += ["--patch-module", f"java.base={handlers}"]
    return run(jdk, corpus.root.parent, program("Link"), "Link", str(listing), flags=tuple(flags))


def verify(corpus: Corpus) -> str:
    """What java.lang.classfile of JDK 25 says of classes of JDK 25."""
    flags = ("--add-modules", "ALL-SYSTEM")  # it asks the running JVM for superclasses
    return run(25, corpus.root.parent, program("Verify"), "Verify", str(corpus.root), flags=flags)
