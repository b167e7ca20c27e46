"""Classes that do not belong to the application: those of ``frameworks.txt`` and those that the user adds."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from btpy.dataclass import dataclass

APPLICATION = "<app>"
"""The class pattern of the application: all classes except those of the JDK, of frameworks and drivers, and generated
classes."""

JDK = "jdk"
"""The section of the file with the classes of the JDK."""


@dataclass(frozen=True, slots=True)
class Frameworks:
    """Globs of class names. A glob that begins with ``!`` keeps classes that other globs skip."""

    globs: tuple[str, ...]

    @property
    def text(self) -> str:
        """The globs in the form that the runtime reads."""
        return ",".join(self.globs)

    @property
    def application(self) -> str:
        """A class pattern (a regular expression) for the classes that no glob skips."""
        skipped = "|".join(_beginning(glob) for glob in self.globs if not glob.startswith("!"))
        beginnings = [_beginning(glob[1:]) for glob in self.globs if glob.startswith("!")]
        keeping = f"(?={'|'.join(beginnings)}).*|" if beginnings else ""
        return f"/{keeping}(?!{skipped}).*/"


def _beginning(glob: str) -> str:
    """A regular expression that matches the beginning of each name that the glob matches."""
    text = glob.rstrip("*")
    return re.escape(text).replace(r"\*", ".*").replace(r"\?", ".") + ("" if text != glob else "$")


def split(text: str) -> tuple[str, ...]:
    """The globs of a list with commas."""
    return tuple(glob for part in text.split(",") if (glob := part.strip()))


def frameworks(extra: Iterable[str] = ()) -> Frameworks:
    """The globs of the file, and ``extra`` ones of the user."""
    return Frameworks((*(glob for globs in _sections().values() for glob in globs), *extra))


def jdk() -> Frameworks:
    return Frameworks(_sections()[JDK])


@cache
def _sections() -> dict[str, tuple[str, ...]]:
    sections: dict[str, list[str]] = {}
    section: list[str] = []
    for line in Path(__file__).with_name("frameworks.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = sections.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            section.append(line)
    return {name: tuple(globs) for name, globs in sections.items()}
