"""The state that the parts of one elaboration share: where the body runs, its inputs, and its variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field

from btpy.dataclass import dataclass
from btpy.lang import program, typed_tree
from btpy.lang.builtins import Place
from btpy.lang.check.attachments import Report
from btpy.lang.check.classes import ANY_METHOD, NOTHING_KNOWN, Classes, Subject
from btpy.lang.check.faults import FaultError
from btpy.lang.inputs import Input, InputKind
from btpy.lang.program import TemplatePlace
from btpy.lang.syntax import nodes
from btpy.lang.typed_tree import Entry, Expr, Shape, Statement
from btpy.model.diagnostics import Label
from btpy.model.jfr import JfrEvent
from btpy.model.maps import Map
from btpy.model.permissions import DEFAULT_PERMISSIONS, Permissions
from btpy.model.source import Span
from btpy.model.templates import Slot, Template, TemplateKind
from btpy.model.types import Type

MakeTemplate = Callable[[TemplatePlace, Template], int]
"""Returns the id of the template for a place. The check keeps the template; binding looks it up."""


@dataclass(frozen=True, slots=True)
class Local:
    """A variable of the body; ``span``: where it was defined; ``in_entry``: inside ``entry(…)``; ``secret``: its value
    must not be shown."""

    index: int
    type: Type
    span: Span
    in_entry: bool = False
    secret: bool = False


@dataclass(frozen=True, slots=True)
class Frame:
    """A call of a function of the script that is being inlined. ``result``: the variable in which ``return`` puts its
    value; None if the function returns no value. ``is_statement``: the call is a separate statement, so ``skip()`` can
    end the firing."""

    function: nodes.Function
    result: Local | None
    is_statement: bool


@dataclass(slots=True)
class Context:
    """The elaboration of one body for one shape (None: any). ``places``: where it runs; ``location``: the label that
    explains them.

    ``evaluate`` types an expression of the syntax, ``elaborate`` a block: the modules of operators, calls and
    statements use each other through these two functions. ``in_entry``: inside ``entry(…)``. ``samples``: the type of
    each value for a map, by map id, in order; ``scoped_samples``: the type of each value for a thread variable, by its
    name, and whether it is a secret. ``speculation``: in a body that speculates, the variable with the id of the
    speculation.

    ``functions``: the functions of the script by name; ``frame``: the function that is being inlined; ``calls``: packed
    spans of the enclosing calls; ``inlined``: the number of functions inlined so far.
    ``subscribers``: the probes that subscribe to this probe; ``event``: the values provided to the subscriber that is
    being inlined.
    ``permissions``: the permissions of the user; ``classes``: the known classes of the traced program; ``subject``: the
    name of the traced method in messages.
    ``jfr_events``: the JFR events by name. Without a shape, the elaboration adds the new events of the body.
    """

    evaluate: Callable[[Context, nodes.Expression], Expr]
    elaborate: Callable[[Context, nodes.Block], tuple[Statement, ...]]
    probe: program.Probe
    places: tuple[Place, ...]
    location: Label | None
    shape: Shape | None
    maps: dict[str, Map]
    make_template: MakeTemplate
    report: Report
    functions: Mapping[str, nodes.Function] = field(default_factory=dict)
    subscribers: tuple[program.Probe, ...] = ()
    permissions: Permissions = DEFAULT_PERMISSIONS
    classes: Classes = NOTHING_KNOWN
    subject: Subject = ANY_METHOD
    inputs: list[Input] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    entry_texts: dict[tuple[int, str], typed_tree.InputValue] = field(default_factory=dict)
    in_entry: bool = False
    frame: Frame | None = None
    calls: tuple[int, ...] = ()
    inlined: int = 0
    event: Mapping[str, Local | None] | None = None
    scopes: list[dict[str, Local]] = field(default_factory=lambda: [{}])
    locals: list[str] = field(default_factory=list)
    samples: list[tuple[int, Type]] = field(default_factory=list)
    scoped: Mapping[str, program.ScopedVariable] = field(default_factory=dict)
    scoped_samples: list[tuple[str, Type, bool]] = field(default_factory=list)
    speculation: Local | None = None
    jfr_events: dict[str, JfrEvent] = field(default_factory=dict)

    def value(self, tree: nodes.Expression) -> Expr:
        """The typed expression; never of type VOID. Raises FaultError."""
        return self.evaluate(self, tree)

    def block(self, tree: nodes.Block) -> tuple[Statement, ...]:
        """The typed statements; the faults of each are reported."""
        return self.elaborate(self, tree)

    def template(
        self,
        span: Span,
        kind: TemplateKind,
        parts: tuple[str | Slot, ...] = (),
        name: str = "",
        maps: tuple[int, ...] = (),
        options: tuple[tuple[str, object], ...] = (),
        flushed: tuple[int, ...] = (),
    ) -> int:
        """The id of the template of the statement at ``span``."""
        place = TemplatePlace(self.probe.id, (*self.calls, span.packed))
        template = Template(-1, self.probe.id, kind, parts, name, maps, options, flushed=flushed)
        return self.make_template(place, template)

    def find_local(self, name: str) -> Local | None:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def input(self, kind: InputKind, index: int, descriptor: str) -> Input:
        """The input. It is added if it is new."""
        for input_ in self.inputs:
            if input_.kind is kind and input_.index == index and input_.descriptor == descriptor:
                return input_
        new_input = Input(kind, index, descriptor)
        self.inputs.append(new_input)
        return new_input

    def input_value(
        self, type_: Type, span: Span, kind: InputKind, index: int = 0, descriptor: str = ""
    ) -> typed_tree.InputValue:
        """The value of an input. ``descriptor``: the descriptor of the input, if it is not that of the type."""
        return typed_tree.InputValue(type_, span, self.input(kind, index, descriptor or type_.slot))

    def define(self, name: str, type_: Type, span: Span, *, secret: bool = False) -> Local:
        """A new variable in the innermost scope."""
        local = self.hide(type_, span, secret=secret)
        self.scopes[-1][name] = local
        return local

    def hide(self, type_: Type, span: Span, *, secret: bool = False) -> Local:
        """A new variable that the script cannot name."""
        local = Local(len(self.locals), type_, span, self.in_entry, secret)
        self.locals.append(type_.slot)
        return local

    @contextmanager
    def scope(self) -> Iterator[None]:
        """A scope of variables that ends with the block."""
        self.scopes.append({})
        try:
            yield
        finally:
            self.scopes.pop()

    @contextmanager
    def reporting(self) -> Iterator[None]:
        """Reports the fault that ends the block."""
        try:
            yield
        except FaultError as fault:
            self.report(fault.diagnostic)
