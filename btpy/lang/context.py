"""The state that the parts of one elaboration share: where the body runs, what it takes in, the variables it makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from btpy.lang import program, syntax
from btpy.lang.attachments import Report
from btpy.lang.builtins import Place
from btpy.lang.diagnostics import Label
from btpy.lang.faults import FaultError
from btpy.lang.program import Entry, Expr, Input, InputKind, Map, Shape, Slot, TemplateKind
from btpy.lang.source import Span
from btpy.lang.types import Type

NewTemplate = Callable[
    [TemplateKind, "tuple[str | Slot, ...]", str, "tuple[int, ...]", "tuple[tuple[str, object], ...]"], int
]
"""Gives the id of the next template of the probe: makes it in the check, counts it off when binding."""


@dataclass(frozen=True, slots=True)
class Local:
    """A variable of the body; ``span``: where it was defined; ``in_entry``: inside ``entry(…)``."""

    index: int
    type: Type
    span: Span
    in_entry: bool = False


@dataclass(slots=True)
class Context:
    """One body against one shape (None: any). ``places``: where it runs; ``location``: the label that explains them.

    ``evaluate`` types an expression of the syntax: operators, calls and statements meet it here, so that none of their
    modules needs the one above it. ``in_entry``: inside ``entry(…)``. ``samples``: type of each value that goes into a
    map, by map id, in order.
    """

    probe: program.Probe
    places: tuple[Place, ...]
    location: Label | None
    shape: Shape | None
    maps: dict[str, Map]
    new_template: NewTemplate
    report: Report
    evaluate: Callable[[Context, syntax.Expression], Expr]
    inputs: list[Input] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    entry_texts: dict[str, program.InputValue] = field(default_factory=dict)
    in_entry: bool = False
    scopes: list[dict[str, Local]] = field(default_factory=lambda: [{}])
    locals: list[str] = field(default_factory=list)
    samples: list[tuple[int, Type]] = field(default_factory=list)

    def value(self, tree: syntax.Expression) -> Expr:
        """The typed expression; never of type VOID. Raises FaultError."""
        return self.evaluate(self, tree)

    def find_local(self, name: str) -> Local | None:
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    def input(self, kind: InputKind, index: int, descriptor: str) -> Input:
        """The input, taken in if it was not yet."""
        wanted = Input(kind, index, descriptor)
        if wanted not in self.inputs:
            self.inputs.append(wanted)
        return wanted

    def define(self, name: str, type_: Type, span: Span) -> Local:
        """A new variable in the innermost scope."""
        local = self.hide(type_, span)
        self.scopes[-1][name] = local
        return local

    def hide(self, type_: Type, span: Span) -> Local:
        """A new variable that the script cannot name."""
        local = Local(len(self.locals), type_, span, self.in_entry)
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
