"""A script that is open in an editor: its diagnostics and its declarations. It does not depend on an editor or a
protocol.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from btpy.api.libraries import Libraries
from btpy.api.programs import Program, check_source, parameters, placeholders
from btpy.completion.classes import ClassIndex
from btpy.completion.members import Members
from btpy.completion.metadata import Word
from btpy.completion.suggestions import Wanted
from btpy.dataclass import dataclass
from btpy.errors import NothingMatched, ProtocolError, ScriptError, TargetGone, UsageError
from btpy.lsp.target import LiveTarget
from btpy.model.diagnostics import Diagnostic, Label, Severity
from btpy.model.permissions import Permissions
from btpy.model.scopes import Scope
from btpy.model.source import Source, Span

_MAP = re.compile(r"@[a-z_]\w*")
_SCOPED = re.compile(r"\b(thread|flow|state)(?:\([^()\n]*\))?\.([a-z_]\w*)\s*[-+]?=(?!=)")
_DECLARED = re.compile(r"\b(param|fn)\s+(\w+)\s*([^;={]*)")


@dataclass(frozen=True, slots=True)
class Checked:
    """``program``: None means the script has errors."""

    source: Source
    diagnostics: tuple[Diagnostic, ...]
    program: Program | None


def checked(
    source: Source, libraries: Libraries, permissions: Permissions, target: LiveTarget | None = None
) -> Checked:
    """The diagnostics of the script, or, if it has none, the diagnostics of its match with the target. The arguments of
    a later run are not known, so placeholders are used.
    """
    program = None
    try:
        values = placeholders(parameters(source))
        program = check_source(source, libraries, values, permissions)
        diagnostics = [*program.warnings, *_unfit(program, target)]
    except (ScriptError, NothingMatched) as error:
        diagnostics = list(error.diagnostics)
    except UsageError as error:
        label = Label(Span(source, 0, 0))
        diagnostics = [Diagnostic("", str(error), label, help=tuple(error.help), severity=Severity.WARNING)]
    return Checked(source, tuple(diagnostics), program)


def _unfit(program: Program, target: LiveTarget | None) -> list[Diagnostic]:
    """The reasons why probes do not fit the target. They become warnings, because the script may be for another JVM, or
    for later."""
    session = None if target is None else target.session
    try:
        diagnostics = [] if session is None else session.scripts.unfit(program)
    except (TargetGone, ProtocolError):  # the imported library will be searched again
        diagnostics = []
    return [replace(diagnostic, severity=Severity.WARNING) for diagnostic in diagnostics]


class Words:
    """The names that completion knows at a place of a script (:class:`btpy.completion.metadata.Metadata`). ``known``:
    the program of the last version without errors.
    """

    def __init__(self, text: str, program: Program | None, libraries: Libraries, target: LiveTarget | None) -> None:
        self._text = text
        self._program = program
        self._libraries = libraries
        self._target = target

    @property
    def classes(self) -> ClassIndex:
        return ClassIndex() if self._target is None else self._target.classes

    def members(self, class_name: str) -> Members | None:
        return None if self._target is None else self._target.members(class_name)

    @property
    def maps(self) -> Sequence[Word]:
        kinds = {map_.title: map_.kind.value for map_ in self._program.maps} if self._program is not None else {}
        return [Word(name, kinds.get(name, "")) for name in dict.fromkeys([*kinds, *_MAP.findall(self._text)])]

    @property
    def scoped_variables(self) -> Sequence[Word]:
        variables = self._program.scoped_variables if self._program is not None else ()
        types = {variable.title: str(variable.type) for variable in variables}
        names = (Scope(scope).spelled(name) for scope, name in _SCOPED.findall(self._text))
        return [Word(name, types.get(name, "")) for name in dict.fromkeys([*types, *names])]

    @property
    def libraries(self) -> Sequence[Word]:
        return [Word(library.name, library.path.name) for library in self._libraries.all()]

    @property
    def parameters(self) -> Sequence[Word]:
        declarations = (match.groups() for match in _DECLARED.finditer(self._text))
        return [
            Word(f"{name}(" if kind == "fn" else name, f"{kind} {name}{rest}".strip())
            for kind, name, rest in declarations
        ]

    @property
    def commands(self) -> Sequence[Word]:
        return ()

    def arguments_of(self, command: str) -> Sequence[Word] | Wanted:
        return ()
