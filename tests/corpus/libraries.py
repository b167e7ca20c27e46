"""Weaves libraries and compares what verifiers say of their classes before and after.

Every class of a library is written below one directory by the name that it has, wherever its jar has it; a library is
linked by a loader of its own that finds the woven classes first, then the library's other classes, then what it needs.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from btpy.classfile import opcodes as op
from btpy.classfile.bytecode import scan
from btpy.classfile.reader import ClassFile
from btpy.errors import ClassFileError
from tests.corpus.jdk import handlers, program, run

_STACK_MAPS_SINCE = 50
"""The class-file version from which java.lang.classfile verifies (JVMS §4.10)."""


@dataclass(frozen=True)
class Unpacked:
    """``root``: the classes of a library, ``names``: their internal names.

    ``old``: those that java.lang.classfile does not verify. ``subroutines``: how many of their methods have a ``jsr``.
    ``broken``: entries of jars that cannot be read.
    """

    root: Path
    names: tuple[str, ...]
    old: frozenset[str]
    subroutines: int
    broken: tuple[str, ...]


def unpack(jars: list[Path], root: Path) -> Unpacked:
    """Writes the classes of jars by their names; of several with one name the first. Those of versions are left out."""
    names: dict[str, None] = {}
    old = set()
    broken = []
    subroutines = 0
    for jar in jars:
        for entry, data in _class_files(jar):
            try:
                file = ClassFile.parse(data)
                name = file.name
                if file.major < _STACK_MAPS_SINCE:
                    subroutines += sum(_has_subroutine(method.code.code) for method in file.methods if method.code)
            except ClassFileError as error:
                broken.append(f"{jar.name}!{entry}: {error}")
                continue
            if name in names or name.endswith("module-info"):
                continue
            names[name] = None
            if file.major < _STACK_MAPS_SINCE:
                old.add(name)
            out = root / f"{name}.class"
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_bytes(data)
    return Unpacked(root, tuple(names), frozenset(old), subroutines, tuple(broken))


def _class_files(jar: Path) -> Iterator[tuple[str, bytes]]:
    if jar.is_dir():
        for path in sorted(jar.rglob("*.class")):
            yield str(path.relative_to(jar)), path.read_bytes()
        return
    with zipfile.ZipFile(jar) as archive:
        for entry in archive.namelist():
            if entry.endswith(".class") and not entry.startswith("META-INF/versions/"):
                yield entry, archive.read(entry)


def _has_subroutine(code: bytes) -> bool:
    return any(code[at] in (op.JSR, op.JSR_W) for at in scan(code).starts)


@dataclass(frozen=True)
class Verdict:
    """``worse``: classes with an error of a verifier that they had not before weaving, with this error.

    ``linked``: the number of classes linked under ``-Xverify:all``. ``asking``: old classes that no longer link, as
    another class is missing: at a handler, their verifier looks for the common type of a local variable in its ranges.
    ``unlinkable``: the number of classes that did not link before weaving, because another class is missing;
    java.lang.classfile has verified ``verified`` of them. ``wrong``: classes that the JVM refuses unwoven.
    """

    worse: tuple[str, ...]
    asking: tuple[str, ...]
    linked: int
    unlinkable: int
    verified: int
    wrong: tuple[str, ...]


@dataclass(frozen=True)
class Findings:
    """What HotSpot of JDK 25 says when it links a class: ``linked``, or ``missing``, ``refused``, ``shadowed`` and a
    text; and the errors that java.lang.classfile finds, by class and method."""

    outcomes: dict[str, str]
    errors: dict[tuple[str, str], str]


def examine(library: Unpacked, paths: Iterable[Path], root: Path, needs: list[Path], scratch: Path) -> Findings:
    """Examines the classes at ``paths`` below ``root``."""
    names = [str(path).removesuffix(".class").replace("/", ".") for path in paths]
    sources = [root, handlers(), library.root, *needs]
    newer = [name for name in names if name.replace(".", "/") not in library.old]
    return Findings(_linked(scratch, names, sources), _errors(scratch, newer, root, sources))


def judge(library: Unpacked, before: Findings, after: Findings) -> Verdict:
    worse = []
    asking = []
    for name, now in after.outcomes.items():
        then = _kind(before.outcomes[name])
        if then == "linked" and _kind(now) == "missing" and name.replace(".", "/") in library.old:
            asking.append(f"{name}: {now}")
        elif (then == "linked") > (_kind(now) == "linked") or (then == "missing" and _kind(now) == "refused"):
            worse.append(f"{name}: {now}")
    worse += sorted(text for key, text in after.errors.items() if key not in before.errors)
    unlinkable = [name for name in after.outcomes if _kind(before.outcomes[name]) == "missing"]
    wrong = [
        f"{name}: {before.outcomes[name]}"
        for name in after.outcomes
        if _kind(before.outcomes[name]) in ("refused", "shadowed")
    ]
    verified = sum(name.replace(".", "/") not in library.old for name in unlinkable)
    linked = sum(_kind(now) == "linked" for now in after.outcomes.values())
    return Verdict(tuple(worse), tuple(asking), linked, len(unlinkable), verified, tuple(wrong))


_FLAGS = ("-Xverify:all", "-XX:TieredStopAtLevel=1")


def _listing(scratch: Path, names: list[str]) -> str:
    path = scratch / "names.txt"
    path.write_text("".join(f"{name}\n" for name in names))
    return str(path)


def _linked(scratch: Path, names: list[str], sources: list[Path]) -> dict[str, str]:
    arguments = [_listing(scratch, names), *map(str, sources)]
    output = run(25, scratch, program("LinkLibrary"), "LinkLibrary", *arguments, flags=_FLAGS)
    outcomes = dict(line.split(" ", 1) for line in output.splitlines())
    assert list(outcomes) == names
    return outcomes


def _kind(outcome: str) -> str:
    return outcome.partition(" ")[0]


def _errors(scratch: Path, names: list[str], root: Path, sources: list[Path]) -> dict[tuple[str, str], str]:
    arguments = [_listing(scratch, names), str(root), *map(str, sources)]
    output = run(25, scratch, program("VerifyLibrary"), "VerifyLibrary", *arguments, flags=_FLAGS)
    errors = {}
    for line in output.splitlines():
        name, _, error = line.partition(" ")
        method = re.search(r"in (?:method )?(\S+\(.*?\))", error)
        errors[name, method[1] if method else error] = line
    return errors
