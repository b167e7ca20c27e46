"""Class files of a target that this process reads itself, without the agent.

There are two sources: the archives of the loaded classes (:func:`class_files`), and the places where the loaders of
the target look for classes, loaded or not (:class:`ClassPath`).

A class file found here is a guess: the JVM may load another class file of that name. The caller compares the file with
the bytes that the JVM shows. The target can choose which files this process reads, and this process sends it their
woven content. Therefore this process reads files only for a target that could read them itself
(``JvmProcess.shares_files``).
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import stat
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote

from btpy.classfile.archive import MAX_CLASS_BYTES, UNREADABLE, Archive, read_entry
from btpy.dataclass import dataclass
from btpy.jvm.processes import ARCHIVES, JvmProcess
from btpy.wire.messages import LoadedClass

_FILE = "file:"

MAX_ARCHIVE_BYTES = 64 * 1024 * 1024
"""The largest size of an archive inside an archive: btpy reads it as a whole."""

MAX_FILES = 50_000
"""The largest number of files that are read in the directories of a class path, which the target chooses."""

MAX_MANIFEST_BYTES = 1024 * 1024

_ROOTS = re.compile(r"(?:BOOT-INF/classes|WEB-INF/classes|META-INF/versions/(\d+))/")
T = TypeVar("T")


Wanted = Callable[[str], bool]
"""Whether a class of that (binary) name is wanted."""

Place = Callable[[Wanted], Iterator[tuple[str, bytes]]]
"""Binary name and content of the wanted class files in a directory or an archive."""


@contextmanager
def class_files(process: JvmProcess) -> Iterator[Callable[[LoadedClass], bytes | None]]:
    """Returns the class file of a loaded class, from its archive; None if the archive is not known or cannot be read.
    This is faster than asking the agent, which reads one class file after the other in the target.
    """
    opened = frozenset(process.open_archives if process.shares_files else ())
    archives: dict[str, Archive | None] = {}  # by code source

    with ExitStack() as closing:

        def archive_of(url: str) -> Archive | None:
            path = os.path.realpath(unquote(url.removeprefix(_FILE))) if url.startswith(_FILE) else ""
            if path in opened:
                with contextlib.suppress(OSError, ValueError):
                    archive = Archive(path)
                    closing.callback(archive.close)
                    return archive
            return None

        def class_file(loaded_class: LoadedClass) -> bytes | None:
            url = loaded_class.code_source
            if url not in archives:
                archives[url] = archive_of(url)
            archive = archives[url]
            return None if archive is None else archive.read(loaded_class.name.replace(".", "/") + ".class")

        yield class_file


@dataclass(frozen=True, slots=True)
class ClassPath:
    """Directories and archives on the class path and the module path of a target, the class paths in their manifests,
    and archives that the process has open (a class loader of the application opens its files). It also reads archives
    inside archives, one level deep, as in Spring Boot and web applications.

    ``located``: the entries of the class path and the module path, absolute in the target.
    """

    process: JvmProcess
    located: tuple[str, ...]

    def places(self) -> Iterator[Place]:
        """Yields the sources that can be read, one after the other. The caller must exhaust a source before it takes
        the next source.
        """
        version = self.process.feature_version or 8
        names: set[str] = set()
        queue = [*self.located, *self.process.open_archives]
        while queue:
            at = queue.pop(0)
            if at in names:
                continue
            names.add(at)
            path = Path(at)
            mode = _mode(path)
            if stat.S_ISDIR(mode):
                queue += _readable(partial(_archives_in, path))
                yield partial(_readable, partial(_below, path))
            elif stat.S_ISREG(mode):
                with contextlib.suppress(*UNREADABLE), zipfile.ZipFile(path) as archive:
                    queue += _readable(partial(_named_in_manifest, archive, at))
                    yield partial(_readable, partial(_in_archive, archive, version))
                    for content in _inner_archives(archive):
                        yield partial(_readable, partial(_in_archive_of, content, version))


def _mode(path: Path) -> int:
    """The type and permission bits of a file; 0 if there is none, or the system refuses its name."""
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return 0


def _readable(read: Callable[..., Iterator[T]], *arguments: object) -> Iterator[T]:
    """The entries that can be read. A damaged entry ends the list."""
    with contextlib.suppress(*UNREADABLE):
        yield from read(*arguments)


def _archives_in(directory: Path) -> Iterator[str]:
    for name in sorted(os.listdir(directory)):
        if name.endswith(ARCHIVES):
            yield f"{directory}/{name}"


def _named_in_manifest(archive: zipfile.ZipFile, at: str) -> Iterator[str]:
    """The paths that Class-Path names, relative to the archive (JAR File Specification)."""
    try:
        manifest = archive.getinfo("META-INF/MANIFEST.MF")
    except KeyError:
        return
    if manifest.file_size > MAX_MANIFEST_BYTES:
        return
    text = re.sub(r"\r?\n ", "", read_entry(archive, manifest, MAX_MANIFEST_BYTES).decode("utf-8", "replace"))
    match = re.search(r"^Class-Path: *(.*)$", text, re.MULTILINE | re.IGNORECASE)
    for path in match[1].split() if match else ():
        yield os.path.normpath(os.path.join(os.path.dirname(at), path.removeprefix("file:")))


def _below(directory: Path, wanted: Wanted) -> Iterator[tuple[str, bytes]]:
    count = 0
    for parent, _, files in os.walk(directory):
        count += len(files) + 1
        if count > MAX_FILES:
            return
        package = os.path.relpath(parent, directory).replace(os.sep, ".").lstrip(".")
        for file in sorted(files):
            name = f"{package}.{file}"[:-6].lstrip(".")
            if file.endswith(".class") and wanted(name):
                path = Path(parent, file)
                if path.is_file() and path.stat().st_size <= MAX_CLASS_BYTES:  # do not read a pipe, which may never end
                    yield name, path.read_bytes()


def _inner_archives(archive: zipfile.ZipFile) -> Iterator[bytes]:
    for entry in archive.infolist():
        if entry.filename.endswith(ARCHIVES) and entry.file_size <= MAX_ARCHIVE_BYTES:
            yield read_entry(archive, entry, MAX_ARCHIVE_BYTES)


def _in_archive_of(content: bytes, version: int, wanted: Wanted) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        yield from _in_archive(archive, version, wanted)


def _in_archive(archive: zipfile.ZipFile, version: int, is_wanted: Wanted) -> Iterator[tuple[str, bytes]]:
    """All versions of a class (JEP 238) that this JVM could take: its loader takes the newest."""
    for entry in archive.infolist():
        path = entry.filename
        if not path.endswith(".class") or entry.file_size > MAX_CLASS_BYTES:
            continue
        root = _ROOTS.match(path)
        if root is not None and int(root[1] or 0) > version:
            continue
        name = path[root.end() if root is not None else 0 : -6].replace("/", ".")
        if is_wanted(name):
            yield name, read_entry(archive, entry, MAX_CLASS_BYTES)
