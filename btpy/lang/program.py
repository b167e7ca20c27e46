"""The checked program, which the planner and the code generator use.

A script is checked before any class is known. Therefore there are two steps:

1. ``checker.check(tree, source)`` gives a :class:`Program`. Each probe keeps its syntax tree. Everything that does not
   depend on the traced classes has been checked, and the ids of maps and templates are fixed.
2. ``checker.bind(program, probe, shape)`` types one probe against one matched method and gives a
   :class:`btpy.lang.typed_tree.BoundProbe`, whose tree is typed to the last node. Two methods with the same shape share
   a bound probe, and so a handler class.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from btpy.dataclass import dataclass
from btpy.model.attachments import Attachment, ProbeAttachment
from btpy.model.jfr import JfrEvent
from btpy.model.maps import Map
from btpy.model.permissions import DEFAULT_PERMISSIONS, Permissions
from btpy.model.sampling import NO_LIMIT, Limit, Sampling
from btpy.model.scopes import Scope, variable_key
from btpy.model.source import Source, Span
from btpy.model.templates import Template
from btpy.model.types import Type

if TYPE_CHECKING:
    from btpy.lang.syntax import nodes
    from btpy.model.diagnostics import Diagnostic


@dataclass(frozen=True, slots=True)
class Formal:
    """A typed header parameter: ``type``: as the script has it (``String``, ``int``, ``java.util.List``)."""

    type: str
    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class Probe:
    """One probe. ``formals``: None means no header list; ``open_formals``: the list ends with ``..``. ``level``: the
    lowest level of the session at which it is enabled; None: only a command enables it.
    """

    id: int
    name: str
    attachment: Attachment
    formals: tuple[Formal, ...] | None
    open_formals: bool
    tree: nodes.Probe = field(repr=False)
    span: Span
    calls: tuple[nodes.Function, ...] = field(default=(), repr=False)  # all functions of the script that it may call
    doc: str = ""
    unit: str = ""
    tested: str = ""  # the versions of a framework with which the probe was tested

    sampling: Sampling | None = None
    limit: Limit = NO_LIMIT
    level: int | None = 0

    @property
    def text(self) -> str:
        """The source text of all code that the handler runs, without subscribers."""
        return "\n".join([self.span.text, *(function.span.text for function in self.calls)])


Value = int | float | bool | str
"""Of a parameter."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """``type``: in the spelling of scripts. ``default``: None means the user must give a value. ``help``: its
    description in listings.
    """

    name: str
    type: str
    default: Value | None
    help: str
    span: Span


@dataclass(frozen=True, slots=True)
class Given:
    """The settings of the command line for a script: ``arguments``: names and values of parameters; ``directories``:
    the search path for libraries.
    """

    arguments: tuple[tuple[str, str], ...] = ()
    directories: tuple[Path, ...] = ()


NOTHING_GIVEN = Given()


@dataclass(frozen=True, slots=True)
class ScopedVariable:
    """``thread.x`` or ``state(object).x``; ``type``: LONG, DURATION, BYTES, DOUBLE, or a reference type; ANY if the
    values have several types.
    ``of``: the number of variables of the script in that scope; ``secret``: a probe stores a secret in it."""

    index: int
    name: str
    type: Type
    of: int
    secret: bool = False
    scope: Scope = Scope.THREAD

    @property
    def key(self) -> str:
        return variable_key(self.scope, self.name)

    @property
    def title(self) -> str:
        """The variable as a script writes it."""
        return self.scope.spelled(self.name)


@dataclass(frozen=True, slots=True)
class TemplatePlace:
    """The place of a template: the probe, and the packed spans of the calls that lead to the statement, the statement
    itself last. A function that is called twice makes a template for each call."""

    probe: int
    spans: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """A script without errors. Ids index the tuples; a probe error reports its place as ``Span.packed``.

    ``functions``: the functions of the script and its libraries, by name. ``libraries``: their sources. ``parameters``:
    the parameters of the script itself.

    A running session accepts more scripts. The program of a further script has ``earlier``, the program that it
    extends. Ids do not change. Probes, maps, templates and scoped variables are those of all scripts; the other fields
    describe the last script. ``removed``: ids of removed probes, whose last records can still be decoded. If two maps
    have the same name, the name means the later one.

    ``template_ids``: the ids of templates, by the probe in whose handler a template is sent, and the template's place.
    ``jfr_events``: the JFR events that active probes write, by name.
    """

    source: Source
    probes: tuple[Probe, ...]
    maps: tuple[Map, ...]
    templates: tuple[Template, ...]
    doc: str = ""
    settings: tuple[tuple[str, object], ...] = ()
    warnings: tuple[Diagnostic, ...] = ()
    permissions: Permissions = DEFAULT_PERMISSIONS
    functions: Mapping[str, nodes.Function] = field(default_factory=dict, repr=False)
    libraries: tuple[Source, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    scoped_variables: tuple[ScopedVariable, ...] = ()
    earlier: Program | None = field(default=None, repr=False)
    removed: frozenset[int] = frozenset()
    given: Given = NOTHING_GIVEN
    template_ids: Mapping[tuple[int, TemplatePlace], int] = field(default_factory=dict, repr=False)
    jfr_events: Mapping[str, JfrEvent] = field(default_factory=dict, repr=False)

    @property
    def scripts(self) -> tuple[Program, ...]:
        """The versions of the program after each of its scripts, in order. The last is this program."""
        programs = [self]
        while programs[-1].earlier is not None:
            programs.append(programs[-1].earlier)
        return tuple(reversed(programs))

    @property
    def sources(self) -> tuple[Source, ...]:
        """All sources, in the order of their bases."""
        by_base = {library.base: library for script in self.scripts for library in (script.source, *script.libraries)}
        return tuple(by_base[base] for base in sorted(by_base))

    @property
    def own(self) -> tuple[Probe, ...]:
        """The probes of the last script."""
        return self.probes[len(self.earlier.probes) if self.earlier is not None else 0 :]

    @property
    def active(self) -> tuple[Probe, ...]:
        """The probes that have not been removed."""
        return tuple(probe for probe in self.probes if probe.id not in self.removed)

    def script_of(self, probe: Probe) -> Program:
        """The version in ``scripts`` whose script brought the probe."""
        script = self
        while script.earlier is not None and probe.id < len(script.earlier.probes):
            script = script.earlier
        return script

    def without(self, probes: Iterable[int]) -> Program:
        """The program without these probes."""
        return replace(self, removed=self.removed | frozenset(probes))

    def fires_in(self, probe: Probe) -> Probe:
        """The probe in whose handler a probe fires: itself, unless it is a subscriber."""
        attachment = probe.attachment
        return self.probes[attachment.host] if isinstance(attachment, ProbeAttachment) else probe

    def subscribers(self, probe: Probe) -> tuple[Probe, ...]:
        """The probes whose bodies run where ``probe`` says ``provide``."""
        return tuple(
            subscriber
            for subscriber in self.active
            if isinstance(subscriber.attachment, ProbeAttachment) and subscriber.attachment.host == probe.id
        )
