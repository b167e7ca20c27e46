"""What completion knows of the target and of the session: asked from the thread that completes, answered at once or
after a short wait, never by changing anything in the target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from btpy.repl.classes import ClassIndex
from btpy.repl.members import Members


class Word(NamedTuple):
    """Something of the session by its name, and what to say of it: a map, a probe, a library, a parameter."""

    text: str
    about: str


class Metadata(Protocol):
    @property
    def classes(self) -> ClassIndex: ...

    def members(self, class_name: str) -> Members | None:
        """None for a class that has no class file, or whose class file did not come in time."""

    @property
    def maps(self) -> Sequence[Word]: ...

    @property
    def probes(self) -> Sequence[Word]:
        """By number, then by name."""

    @property
    def libraries(self) -> Sequence[Word]: ...

    @property
    def parameters(self) -> Sequence[Word]:
        """Parameters of scripts, functions and libraries that were imported before."""

    @property
    def events(self) -> Sequence[Word]:
        """What ``send`` can run."""
