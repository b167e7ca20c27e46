"""Weaves libraries and compares what verifiers say of their classes before and after.

Every class of a library is written below one directory by the name that it has, wherever its jar has it; a library is
linked by a loader of its own that finds the woven classes first, then the library's other classes, then what it needs.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from btpy.classfile import opcodes as op
from btpy.classfile.bytecode import scan
from btpy.classfile.reader import ClassFile
from btpy.errors import ClassFileError
from tests.corpus.jdk import handlers, program, run
from tests.corpus.weaving import Corpus

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
    """``worse``: classes of which a verifier says after weaving what it did not say before, with that.

    ``linked``: classes linked under ``-Xverify:all``. ``asking``: old ones that link no longer for lack of a class:
    at a handler their verifier looks for what the types of a local variable in its ranges have in common.
    ``unlinkable``: not linkable before for lack of a class, ``verified`` of them by java.lang.classfile.
    ``wrong``: what the JVM refuses as it is in the jar.
    """

    worse: tuple[str, ...]
    asking: tuple[str, ...]
    linked: int
    unlinkable: int
    verified: int
    wrong: tuple[str, ...]


def judge(library: Unpacked, corpus: Corpus, needs: list[Path]) -> Verdict:
    """What HotSpot and java.lang.classfile of JDK 25 say of the changed classes beyond what they say unwoven."""
    names = [str(path).removesuffix(".class").replace("/", ".") for path in corpus.changed]
    scratch = corpus.root.parent
    listing = scratch / "names.txt"
    listing.write_text("\n".join(names) + "\n")
    sources = [library.root, *needs]
    before = _linked(scratch, listing, sources)
    after = _linked(scratch, listing, [corpus.root, handlers(), *sources])
    worse = []
    asking = []
    for name in names:
        then, now = _kind(before[name]), _kind(after[name])
        if then == "linked" and now == "missing" and name.replace(".", "/") in library.old:
            asking.append(f"{name}: {after[name]}")
        elif (then == "linked") > (now == "linked") or (then == "missing" and now == "refused"):
            worse.append(f"{name}: {after[name]}")
    newer = [name for name in names if name.replace(".", "/") not in library.old]
    listing.write_text("".join(f"{name}\n" for name in newer))
    known = _errors(scratch, listing, library.root, sources)
    found = _errors(scratch, listing, corpus.root, [handlers(), *sources])
    worse += sorted(text for key, text in found.items() if key not in known)
    unlinkable = [name for name in names if _kind(before[name]) == "missing"]
    wrong = [f"{name}: {before[name]}" for name in names if _kind(before[name]) in ("refused", "shadowed")]
    verified = len(set(newer).intersection(unlinkable))
    linked = sum(_kind(after[name]) == "linked" for name in names)
    return Verdict(tuple(worse), tuple(asking), linked, len(unlinkable), verified, tuple(wrong))


def _linked(scratch: Path, listing: Path, sources: list[Path]) -> dict[str, str]:
    """Outcomes by class."""
    said = run(25, scratch, program("LinkLibrary"), "LinkLibrary", str(listing), *map(str, sources), flags=_STRICT)
    outcomes = dict(line.split(" ", 1) for line in said.splitlines())
    assert len(outcomes) == len(listing.read_text().split())
    return outcomes


_STRICT = ("-Xverify:all", "-XX:-UsePerfData")


def _kind(outcome: str) -> str:
    return outcome.partition(" ")[0]


def _errors(scratch: Path, listing: Path, root: Path, sources: list[Path]) -> dict[tuple[str, str], str]:
    """The errors that java.lang.classfile finds, by class and method."""
    said = run(25, scratch, program("VerifyLibrary"), "VerifyLibrary", str(listing), str(root), *map(str, sources))
    errors = {}
    for line in said.splitlines():
        name, _, error = line.partition(" ")
        method = re.search(r"in (?:method )?(\S+\(.*?\))", error)
        errors[name, method[1] if method else error] = line
    return errors
