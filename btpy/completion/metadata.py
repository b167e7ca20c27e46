"""The names that completion knows from the target and from the script. The completion thread uses them. It gets an
answer at once or after a short wait, and nothing in the target changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from btpy.completion.classes import ClassIndex
from btpy.completion.members import Members
from btpy.completion.suggestions import Wanted


class Word(NamedTuple):
    """The name of a map, probe, library or parameter, with a description."""

    text: str
    about: str


class Metadata(Protocol):
    @property
    def classes(self) -> ClassIndex: ...

    def members(self, class_name: str) -> Members | None:
        """None for a class without a class file, or if the class file did not arrive in time."""

    @property
    def maps(self) -> Sequence[Word]: ...

    @property
    def scoped_variables(self) -> Sequence[Word]:
        """Variables of threads, objects and flows, as :class:`~btpy.model.scopes.Scope` spells them."""

    @property
    def libraries(self) -> Sequence[Word]: ...

    @property
    def parameters(self) -> Sequence[Word]:
        """Parameters of scripts, functions and libraries that were imported earlier."""

    @property
    def commands(self) -> Sequence[Word]:
        """Of a prompt."""

    def arguments_of(self, command: str) -> Sequence[Word] | Wanted:
        """The candidates for the arguments of a command; ``Wanted.CLASS``: classes of the target and their methods."""
