"""The Java source of a class, if it can be found near its code: ``-sources.jar``, source directories, src.zip."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

from btpy import files
from btpy.api.session import Session
from btpy.api.woven_jar import is_inside
from btpy.classfile.archive import UNREADABLE, read_entry
from btpy.classfile.disassembler import disassemble
from btpy.classfile.reader import ClassFile
from btpy.dataclass import dataclass
from btpy.plan.listing import ListedMethod

_SOURCE_DIRECTORIES = ("src/main/java", "src/main/kotlin", "src/main/scala", "src/main/groovy", "src/test/java", "src")
_LEVELS = 5  # number of parent directories that are searched for sources
_MOST_BYTES = 5_000_000


@dataclass(frozen=True, slots=True)
class FoundSource:
    """``place``: the location of the text. Without a text, ``looked_at`` has the searched locations. ``data``: the
    class file.
    """

    text: str
    place: str
    looked_at: tuple[str, ...]
    data: bytes

    def disassembly(self, method: ListedMethod) -> str:
        """Raises ClassFileError."""
        file = ClassFile.parse(self.data)
        members = (
            candidate
            for candidate in file.methods
            if (candidate.name, candidate.descriptor) == (method.name, method.descriptor)
        )
        return "".join(disassemble(file, member) for member in members)


def find_source(session: Session, name: str, source_file: str, more: Sequence[Path]) -> FoundSource:
    """The source of the class with this name. ``source_file``: the name in its class file; ``more``: directories and
    jars that the user has named.
    """
    looked_at: list[str] = []
    code = next(iter(session.classes.named(name)), None)
    location = code.code_source if code is not None else ""
    package = name.rpartition(".")[0].replace(".", "/")
    file = f"{package}/{source_file}" if package else source_file
    for place in (*more, *_places(location, session)) if is_inside(file) else ():
        where = f"{place}" + ("" if place.suffix in (".jar", ".zip") else f"/{file}")
        if where in looked_at:
            continue
        text = _in_archive(place, file) if place.suffix in (".jar", ".zip") else _in_directory(place, file)
        if text is not None:
            return FoundSource(text, f"{place}: {file}", (), b"")
        looked_at.append(where)
    return FoundSource("", "", tuple(looked_at), session.classes.class_file(name) or b"")


def _places(location: str, session: Session) -> Iterator[Path]:
    """The target reports the location of its code. btpy reads it only if the target could read it itself."""
    if not session.target.process.shares_files:
        return
    if not location:
        home = session.target.process.java_home
        if home:
            yield Path(home) / "lib" / "src.zip"
        return
    path = Path(unquote(location.removeprefix("file:")))
    if path.suffix == ".jar":
        yield path.with_name(f"{path.stem}-sources.jar")
        yield path.parent / "sources" / f"{path.stem}-sources.jar"
    for directory in [path, *path.parents][1 : _LEVELS + 1]:
        for name in _SOURCE_DIRECTORIES:
            if (directory / name).is_dir():
                yield directory / name


def _in_directory(place: Path, file: str) -> str | None:
    try:
        with files.closing(files.open_path(place)) as directory:
            text = files.read_foreign(file, _MOST_BYTES + 1, directory=directory, follow=True)
    except OSError:
        return None
    return text.decode("utf-8", "replace") if len(text) <= _MOST_BYTES else None


def _in_archive(place: Path, file: str) -> str | None:
    try:
        with zipfile.ZipFile(place) as archive:
            names = [name for name in archive.namelist() if name == file or name.endswith(f"/{file}")]
            entry = archive.getinfo(names[0]) if names else None
            return None if entry is None else read_entry(archive, entry, _MOST_BYTES).decode("utf-8", "replace")
    except UNREADABLE:
        return None
