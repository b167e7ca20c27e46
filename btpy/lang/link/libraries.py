"""The search path for libraries: the directory of the importing file, the directories of ``-I`` and ``$BTPY_PATH``, the
user's own directory (``~/.config/btpy/probes``), and the libraries that come with btpy. ``btpy.name`` means only the
libraries that come with btpy. btpy looks for a name on the command line first among the libraries that come with btpy,
and never in the working directory.

A probe runs inside other people's programs, so a library that another user may have written is refused
(:mod:`btpy.files`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from btpy import files
from btpy.dataclass import dataclass
from btpy.model.diagnostics import did_you_mean_one_of, nearest
from btpy.model.source import read_text

SUFFIX = ".bt"
PACKAGED = "btpy"
"""First part of the names of the libraries that come with btpy."""


_JAVA = re.compile(r"(java|javax|jakarta|jdk|org|com|net|io)\.\w+\.\w")
_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


class LibraryError(Exception):
    """A library cannot be found or read. ``help``: remedies."""

    def __init__(self, message: str, help: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.help = help


class NoLibrary(LibraryError):
    """No library has this name."""


@dataclass(frozen=True, slots=True)
class Library:
    """A file of a search path; ``name``: the name in an ``import``."""

    name: str
    path: Path


def packaged_directory() -> Path:
    """The libraries that come with btpy: in an installed package, or beside it in a source tree."""
    installed = Path(__file__).parents[2] / "_probes"
    return installed if installed.is_dir() else installed.parent.parent / "probes"


def is_name(text: str) -> bool:
    """Whether ``text`` can be the name of a library."""
    return _NAME.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Libraries:
    """A search path: ``directories`` in order; ``packaged`` comes last. ``texts``: saved contents of files. If they are
    given, no other files exist.
    """

    directories: tuple[Path, ...] = ()
    packaged: Path = field(default_factory=packaged_directory)
    texts: Mapping[Path, str] | None = None

    @staticmethod
    def of(environment: Mapping[str, str], first: Iterable[Path] = ()) -> Libraries:
        """``first``: the directories of ``-I``."""
        folders = [Path(folder) for folder in environment.get("BTPY_PATH", "").split(os.pathsep) if folder]
        home = environment.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
        return Libraries((*first, *folders, Path(home) / "btpy" / "probes"))

    def shown(self, path: Path) -> str:
        """The name of a file in messages: ``btpy/name.bt`` for libraries that come with btpy."""
        packaged = self.packaged.resolve()
        if packaged in path.parents:
            return f"{PACKAGED}/{path.relative_to(packaged)}"
        directory = Path.cwd()
        return str(path.relative_to(directory)) if directory in path.parents else str(path)

    def find(self, name: str, *, quoted: bool, beside: Path | None) -> Path:
        """The file of a library. ``quoted``: ``name`` is a path; ``beside``: the directory of the importing file.

        Raises LibraryError.
        """
        return self._first(name, list(self._candidates(name, quoted, beside)))

    def named(self, name: str) -> Path:
        """The file of a library that the command line names. Raises LibraryError."""
        candidates = self._candidates(name, False, None) if is_name(name) else ()
        return self._first(name, sorted(candidates, key=lambda candidate: candidate[0] != self.packaged))

    def _first(self, name: str, candidates: Sequence[tuple[Path, Path]]) -> Path:
        for directory, relative in candidates:
            path = directory / relative
            if self.texts is not None and (path in self.texts or path.resolve() in self.texts):
                return path if path in self.texts else path.resolve()
            if self.texts is None and os.path.isfile(path):
                if directory != self.packaged:
                    _require_trusted(directory, path.parent)
                return path.resolve()
        searched = ["the libraries of btpy" if folder == self.packaged else str(folder) for folder, _ in candidates]
        names = [library.name for library in self.all()]
        bare = {library.removeprefix(f"{PACKAGED}."): library for library in names}
        near = nearest(name, names) or [bare[library] for library in nearest(name, bare)]
        help_ = did_you_mean_one_of(near)
        if _JAVA.match(name):
            help_ = ("classes need no import: they are written with their package, as com.acme.Order",)
        if searched:
            help_ = (*help_, "searched: " + ", ".join(searched))
        raise NoLibrary(f"there is no library {name!r}", help_)

    def read(self, path: Path) -> str:
        """The text of a library that was found. Raises LibraryError."""
        if self.texts is not None:
            return self.texts[path]
        return read(path, own=self.packaged.resolve() in path.parents)

    def all(self) -> list[Library]:
        """Every library of the search path by name. If several libraries have one name, the first counts. The libraries
        that come with btpy are last."""
        paths: dict[str, Path] = {}
        for directory in self.directories:
            for name, path in _listed(directory):
                paths.setdefault(name, path)
        for name, path in _listed(self.packaged):
            paths.setdefault(f"{PACKAGED}.{name}", path)
        return [Library(name, path) for name, path in paths.items()]

    def _candidates(self, name: str, quoted: bool, beside: Path | None) -> Iterator[tuple[Path, Path]]:
        first, _, rest = name.partition(".")
        if quoted:
            relative = Path(name)
        elif first == PACKAGED and rest:
            yield self.packaged, Path(*rest.split(".")).with_suffix(SUFFIX)
            return
        else:
            relative = Path(*name.split(".")).with_suffix(SUFFIX)
        if beside is not None or quoted:
            yield beside or Path(), relative
        for directory in (*self.directories, self.packaged):
            yield directory, relative


def read(path: Path, *, own: bool = False) -> str:
    """The text of a library. ``own``: it comes with btpy, and may belong to the user who installed btpy. Raises
    LibraryError.
    """
    try:
        with path.open("rb") if own else files.open_trusted(path) as file:
            return read_text(file)
    except files.Untrusted as error:
        raise LibraryError(str(error), error.help) from None
    except OSError as cause:
        raise LibraryError(f"{path} cannot be read: {(cause.strerror or str(cause)).lower()}") from cause
    except ValueError as cause:
        raise LibraryError(f"{path} is {cause}") from cause


def _listed(directory: Path) -> Iterator[tuple[str, Path]]:
    """The libraries in a directory. There are none if the directory is missing, or if this user cannot reach it. A run
    on another host may have the search path of its client, whose directories do not exist there.
    """
    if os.path.isdir(directory):
        for path in sorted(directory.rglob("*" + SUFFIX)):
            name = ".".join(path.relative_to(directory).with_suffix("").parts)
            if is_name(name):
                yield name, path


def _require_trusted(*directories: Path) -> None:
    """Raises LibraryError where another user could have put the library there."""
    try:
        for directory in directories:
            files.require_trusted(directory)
    except files.Untrusted as error:
        raise LibraryError(str(error), (*error.help, "keep your own libraries in ~/.config/btpy/probes")) from None
