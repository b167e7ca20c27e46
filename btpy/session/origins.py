"""Class files of loaded classes, from the archives that they were loaded from.

The agent reads class files too (READ), whatever loader has them, but one after the other and in the target. Where this
process sees the same files it reads them by itself, which takes less of both. What it finds is a guess, as is what a
loader gives out: who uses it compares it with what the JVM shows.

The target says which archive, and gets back what was made of it: only for one that could read it itself
(``JvmProcess.shares_files``), and has it open.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import unquote

from btpy.classfile.archive import Archive
from btpy.jvm.processes import JvmProcess
from btpy.wire.messages import LoadedClass

_FILE = "file:"


@contextmanager
def origins(process: JvmProcess) -> Iterator[Callable[[LoadedClass], bytes | None]]:
    """Gives the class file of a class that the process has loaded; None where it is not known or cannot be read."""
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

        def class_file(loaded: LoadedClass) -> bytes | None:
            url = loaded.code_source
            if url not in archives:
                archives[url] = archive_of(url)
            archive, path = archives[url], loaded.name.replace(".", "/") + ".class"
            return archive.read(path) if archive is not None and path in archive else None

        yield class_file
