"""What completion knows of the target, and of where the text will go: asked from the thread that completes, answered at
once or after a short wait, never by changing anything in the target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from btpy.completion.classes import ClassIndex
from btpy.completion.members import Members
from btpy.completion.suggestions import Wanted


class Word(NamedTuple):
    """Something by its name, and what to say of it: a map, a probe, a library, a parameter."""

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
    def libraries(self) -> Sequence[Word]: ...

    @property
    def parameters(self) -> Sequence[Word]:
        """Parameters of scripts, functions and libraries that were imported before."""

    @property
    def commands(self) -> Sequence[Word]:
        """Of a prompt."""

    def arguments_of(self, command: str) -> Sequence[Word] | Wanted:
        """What the arguments of a command can be; ``Wanted.CLASS``: classes of the target and their methods."""
