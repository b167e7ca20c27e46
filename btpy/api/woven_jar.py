"""Adds the other entries to a jar of woven classes, so that a JVM runs it like the original jar.

A JVM takes each class from the first entry of its class path that has it. So a jar or directory with woven classes also
has to have

- all versions of a class that has several versions (JEP 238), and ``Multi-Release: true``; otherwise another version
  would run;
- every class of a jar that is signed or sealed, because the JVM refuses to load a signed or sealed
  package from two places. The signature does not fit woven classes: it is left out.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from btpy.classfile.archive import pieces, read_entry
from btpy.dataclass import dataclass

MANIFEST = "META-INF/MANIFEST.MF"
MAX_MANIFEST_BYTES = 16 * 1024 * 1024
"""The manifest of a signed jar has a digest of each entry."""

_SIGNATURE = re.compile(r"META-INF/(?:[^/]+\.(?:SF|RSA|DSA|EC)|SIG-[^/]*)", re.IGNORECASE)
"""The files of a signature (JAR File Specification, "Signed JAR File")."""

_VERSIONED = re.compile(r"META-INF/versions/\d+/")
_LINE_BYTES = 72  # includes the line end (JAR File Specification, "Notes on Manifest and Signature Files")
_DIGEST = re.compile(r".*-Digest(?:-.*)?|Magic", re.IGNORECASE)

Attributes = dict[str, str]


@dataclass(frozen=True, slots=True)
class SourceJar:
    """A jar that is the origin of woven classes. ``main``: the attributes of its manifest. ``sections``: the attributes
    of single entries without the digests of a signature.
    """

    path: Path
    main: Attributes
    sections: dict[str, Attributes]
    is_signed: bool

    @staticmethod
    def read(path: Path) -> SourceJar:
        """Raises the errors of ``zipfile``."""
        with zipfile.ZipFile(path) as jar:
            names = jar.namelist()
            text = read_entry(jar, jar.getinfo(MANIFEST), MAX_MANIFEST_BYTES) if MANIFEST in names else b""
        main, sections = parsed(text)
        entries = {
            name: {key: value for key, value in section.items() if not _DIGEST.fullmatch(key)}
            for name, section in sections
        }
        is_signed = any(_SIGNATURE.fullmatch(name) and name.upper().endswith(".SF") for name in names)
        return SourceJar(path, main, {name: section for name, section in entries.items() if section}, is_signed)

    @property
    def is_multi_release(self) -> bool:
        return _flag(self.main, "Multi-Release")

    @property
    def is_whole(self) -> bool:
        """Whether the output needs the whole jar, and not only its woven classes."""
        return self.is_signed or any(_flag(section, "Sealed") for section in (self.main, *self.sections.values()))

    def companions(self, woven: Collection[str]) -> Iterator[tuple[str, Iterator[bytes]]]:
        """The entries of the output that are not ``woven``, in pieces. The caller must use a piece before it takes the
        next piece. Raises the errors of ``zipfile``.
        """
        classes = {_unversioned(entry) for entry in woven}
        with zipfile.ZipFile(self.path) as jar:
            for entry in dict.fromkeys(jar.namelist()):
                if entry in woven or entry.endswith("/") or entry.upper() == MANIFEST or not is_inside(entry):
                    continue
                if (self.is_whole and not _SIGNATURE.fullmatch(entry)) or (
                    self.is_multi_release and _unversioned(entry) in classes
                ):
                    yield entry, pieces(jar, jar.getinfo(entry))


def manifest(sources: Iterable[SourceJar]) -> bytes | None:
    """The manifest of a jar with woven classes of these jars; None: the jar needs no manifest. The manifest of a single
    jar is kept. If there are several jars, only the attributes that decide which class runs are kept."""
    jars = list(sources)
    main = dict(jars[0].main) if len(jars) == 1 else {}
    sections = jars[0].sections if len(jars) == 1 else {}
    for name in [name for name in main if name.lower() in ("manifest-version", "signature-version")]:
        del main[name]
    if any(jar.is_multi_release for jar in jars) and not _flag(main, "Multi-Release"):
        main["Multi-Release"] = "true"
    if not main and not sections:
        return None
    lines = [_attribute("Manifest-Version", "1.0"), *(_attribute(*attribute) for attribute in main.items()), b"\r\n"]
    for name, attributes in sections.items():
        lines += (_attribute("Name", name), *(_attribute(*attribute) for attribute in attributes.items()), b"\r\n")
    return b"".join(lines)


def parsed(text: bytes) -> tuple[Attributes, list[tuple[str, Attributes]]]:
    """The main attributes of a manifest, and the attributes of each entry that it names."""
    unfolded = re.sub(r"(?:\r\n|\n|\r) ", "", text.decode("utf-8", "replace"))
    groups: list[Attributes] = [{}]
    for line in re.split(r"\r\n|\n|\r", unfolded):
        name, colon, value = line.partition(":")
        if colon:
            groups[-1][name] = value.removeprefix(" ")
        elif groups[-1]:
            groups.append({})
    sections = [(group.pop("Name"), group) for group in groups[1:] if "Name" in group]
    return groups[0], sections


def is_inside(entry: str) -> bool:
    """Whether the path of an entry stays inside the directory or the jar that it is written to, and is the only path
    that leads there. Programs on other systems read a backslash as a slash, and a letter with a colon as a drive.
    """
    parts = entry.replace("\\", "/").split("/")
    return not {"", ".", ".."} & {*parts} and ":" not in parts[0] and "\0" not in entry


def _unversioned(entry: str) -> str:
    return _VERSIONED.sub("", entry, count=1)


def _flag(attributes: Attributes, name: str) -> bool:
    return any(key.lower() == name.lower() and value.strip().lower() == "true" for key, value in attributes.items())


def _attribute(name: str, value: str) -> bytes:
    """A line of a manifest. A long line is folded."""
    rest = f"{name}: {value}".encode()
    lines = []
    most = _LINE_BYTES - 2
    while len(rest) > most:
        end = most
        while rest[end] & 0xC0 == 0x80:  # do not cut inside a character
            end -= 1
        lines.append(rest[:end])
        rest = b" " + rest[end:]
    return b"".join(line + b"\r\n" for line in (*lines, rest))
