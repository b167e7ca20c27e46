"""``thread.x``, ``state(object).x`` and ``flow.x``: values that a script keeps for the running thread, for an object,
or for a unit of work.

A name is one variable for the whole script. As for maps, its type follows from all values stored in it. Numbers of one
type are stored as primitives, so adding to them allocates nothing. Other values are stored as in maps. Reading gives
null when the thread or the object has no value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from btpy.lang import typed_tree
from btpy.lang.builtins import EXITS, ON_TARGET, Function, Place
from btpy.lang.check.attachments import Report
from btpy.lang.check.context import Context
from btpy.lang.check.conversions import boxed, convert, may_be_number, mistyped, typed_null, widen
from btpy.lang.check.faults import FaultError, fault, named
from btpy.lang.check.operators import Operand, binary
from btpy.lang.check.redaction import is_secret
from btpy.lang.hints import foreign_names
from btpy.lang.inputs import Ambient, InputKind
from btpy.lang.program import ScopedVariable
from btpy.lang.syntax import nodes
from btpy.lang.typed_tree import Expr, Statement
from btpy.model.diagnostics import Diagnostic, Fix, Label, did_you_mean, quote
from btpy.model.scopes import Scope
from btpy.model.source import Span
from btpy.model.types import ANY, DOUBLE, DURATION, INT, LONG, STRING, Kind, Type

MOST = 32
"""Variables of one script, for each scope."""

_OF_FLOW = {"id": Ambient.FLOW_ID, "parent": Ambient.FLOW_PARENT, "elapsed": Ambient.FLOW_ELAPSED}
"""The facts of a flow."""
_CHANGING = ("begin_flow", "leave_flow", "resume_flow", "enter_flow")
"""Functions that change the flow of the thread."""

_KEYS = {Scope.THREAD: "tid", Scope.OBJECT: "id(object)", Scope.FLOW: "flow.id"}
_SCOPES = {Scope.THREAD: "thread variables", Scope.OBJECT: "variables of objects", Scope.FLOW: "values of flows"}
_KINDS = {Scope.THREAD: "thread variable", Scope.OBJECT: "variable of an object", Scope.FLOW: "value of a flow"}


def scoped_variables(
    trees: Sequence[nodes.Tree], earlier: Mapping[str, ScopedVariable], first: Mapping[Scope, int], report: Report
) -> dict[str, ScopedVariable]:
    """The variables of ``earlier`` scripts, and all variables that are assigned somewhere, by key, in source
    order. The indexes of new variables begin at ``first`` of their scope.
    """
    assigned: dict[str, nodes.ScopedVariable] = {}
    for tree in trees:
        for node in nodes.walk(tree):
            target = node.target if isinstance(node, nodes.Assign | nodes.Step) else None
            if isinstance(target, nodes.ScopedVariable) and not _is_fact(target):
                assigned.setdefault(target.key, target)
    variables = dict(earlier)
    for scope in Scope:
        new = [target for key, target in assigned.items() if key not in earlier and target.scope is scope]
        for extra in new[max(0, MOST - first[scope]) :][:1]:
            report(_too_many(extra, first[scope] + len(new)))
        of = min(first[scope] + len(new), MOST)
        for index, target in enumerate(new, first[scope]):
            variables[target.key] = ScopedVariable(index, target.name, ANY, of, scope=scope)
    return variables


def _too_many(extra: nodes.ScopedVariable, count: int) -> Diagnostic:
    return Diagnostic(
        "BT223",
        f"there can be at most {MOST} {_SCOPES[extra.scope]}",
        Label(extra.span, f"number {MOST + 1} of {count}"),
        help=(f"keep values that belong together under one key of a map:  @name[{_KEYS[extra.scope]}] = …",),
    )


def typed(
    variables: Mapping[str, ScopedVariable], samples: Iterable[tuple[str, Type, bool]]
) -> dict[str, ScopedVariable]:
    """The variables with their types, which follow from all stored values."""
    types: dict[str, Type] = {}
    secrets: set[str] = set()
    for key, sample, secret in samples:
        if secret:
            secrets.add(key)
        if sample.kind is not Kind.NULL:
            type_ = _storage(sample)
            types[key] = type_ if types.get(key, type_) == type_ else _joined(types[key], type_)
    return {
        key: replace(variable, type=types.get(key, ANY), secret=key in secrets) for key, variable in variables.items()
    }


def _storage(sample: Type) -> Type:
    """The type in which a variable keeps a value of this type."""
    plain = replace(sample, nullable=False)
    return LONG if plain.kind is Kind.INT else plain


def _joined(one: Type, other: Type) -> Type:
    numbers = (Kind.LONG, Kind.DOUBLE)
    return DOUBLE if one.kind in numbers and other.kind in numbers else ANY


def is_number(type_: Type) -> bool:
    """Whether variables of the type are stored as primitive numbers."""
    return type_.kind in (Kind.LONG, Kind.DURATION, Kind.BYTES, Kind.DOUBLE)


def _is_fact(tree: nodes.ScopedVariable) -> bool:
    return tree.scope is Scope.FLOW and tree.name in _OF_FLOW


def scoped_value(context: Context, tree: nodes.ScopedVariable) -> Expr:
    if _is_fact(tree):
        _require_target(context, tree.span, f"flow.{tree.name}")
        type_ = DURATION if tree.name == "elapsed" else LONG
        return typed_tree.AmbientValue(type_.or_null(), tree.span, _OF_FLOW[tree.name])
    variable = _find(context, tree)
    return typed_tree.ScopedValue(variable.type.or_null(), tree.span, variable, _owner(context, tree))


def scoped_assign(context: Context, target: nodes.ScopedVariable, tree: nodes.Assign) -> Statement:
    if _is_fact(target):
        help_ = ("a probe can set other values of a flow:  flow.name = …",)
        raise fault("BT401", f"`flow.{target.name}` is read-only", Label(target.span, "counted by btpy"), help=help_)
    variable = _find(context, target)
    of = _owner(context, target)
    operator = tree.operator.text
    value = context.value(tree.value)
    context.scoped_samples.append((target.key, value.type, is_secret(context, tree.value)))
    if operator == "=":
        return typed_tree.ScopedStore(variable, _stored_as(context, variable, value, tree.value), target.span, of)
    if not may_be_number(value.type) and not (operator == "+=" and value.type.kind is Kind.STRING):
        raise FaultError(mistyped(context, value, tree.value, f"`{operator}` needs a number, not {named(value.type)}"))
    if operator in ("+=", "-=") and is_number(variable.type) and not value.type.is_reference:
        difference = _stored_as(context, variable, value, tree.value)
        if operator == "-=":
            difference = typed_tree.Unary(difference.type, difference.span, "-", difference)
        return typed_tree.ScopedAdd(variable, difference, target.span, of)
    old = typed_tree.ScopedValue(variable.type.or_null(), target.span, variable, of)
    start: int | str = "" if variable.type.kind is Kind.STRING or value.type.kind is Kind.STRING else 0
    nothing = typed_tree.Constant(STRING if start == "" else ANY, target.span, start)
    before = typed_tree.Coalesce(STRING if start == "" else ANY, target.span, boxed(old), boxed(nothing))
    number = typed_tree.Convert(variable.type, target.span, before) if is_number(variable.type) else before
    result = binary(context, operator[:-1], Operand(number, target), Operand(value, tree.value), tree.span)
    return typed_tree.ScopedStore(variable, _stored_as(context, variable, result, tree.value), target.span, of)


def _stored_as(context: Context, variable: ScopedVariable, value: Expr, tree: nodes.Expression) -> Expr:
    """A primitive if the value is certainly a number; otherwise a reference, which may be null."""
    if not is_number(variable.type) or value.type.is_reference:
        return boxed(typed_null(value))
    if value.type.is_numeric:
        return widen(value, DOUBLE if variable.type.kind is Kind.DOUBLE else LONG)
    return convert(context, value, variable.type, tree, f"`{variable.title}`")


def _owner(context: Context, tree: nodes.ScopedVariable) -> Expr | None:
    """The object whose variable it is; None for a variable of the thread."""
    return None if tree.object is None else stateful(context, tree.object)


def stateful(context: Context, tree: nodes.Expression, where: str = "state") -> Expr:
    """An object that may have variables. A value that the script creates cannot have variables, because each use may
    create another object."""
    value = context.value(tree)
    if value.type.kind not in (Kind.OBJECT, Kind.ANY, Kind.ARRAY):
        fault = mistyped(context, value, tree, f"`{where}` needs an object, not {named(value.type)}")
        help_ = f"use a map to keep values by text or number:  @name[{tree.span.text}] = …"
        raise FaultError(replace(fault, help=(help_,)) if where == "state" else fault)
    return value


def _find(context: Context, tree: nodes.ScopedVariable) -> ScopedVariable:
    if tree.scope is not Scope.OBJECT:
        _require_target(context, tree.span, f"{tree.scope.value}.{tree.name}")
    variable = context.scoped.get(tree.key)
    if variable is None:
        replacement = foreign_names.OF_THREAD.get(tree.name) if tree.scope is Scope.THREAD else None
        variable_names = [variable.name for variable in context.scoped.values() if variable.scope is tree.scope]
        title = tree.scope.spelled(tree.name)
        raise fault(
            "BT101",
            f"unknown {_KINDS[tree.scope]} `{title}`",
            Label(tree.span, "never assigned"),
            help=did_you_mean(title, [tree.scope.spelled(name) for name in variable_names])
            if replacement is None
            else (f"for the thread write `{replacement}`",),
            notes=(f"{_SCOPES[tree.scope]}: " + quote(variable_names),) if variable_names else (),
            fixes=() if replacement is None else (Fix(tree.span, replacement),),
        )
    return variable


def flow_change(context: Context, function: Function, call: nodes.Call) -> Statement:
    """A call of ``begin_flow()`` or of another function of flows. At ENTRY the woven method keeps the flow that was
    current before the call."""
    _require_target(context, call.span, f"{function.name}()")
    of = stateful(context, call.arguments[0].value, function.name) if call.arguments else None
    entered = None
    if function.name in _CHANGING and context.places:
        if context.places == (Place.ENTRY,):
            change = 0 if function.name == "begin_flow" else 1
            entered = context.input_value(INT, call.span, InputKind.FLOW, change)
        elif EXITS.issuperset(context.places):
            context.input(InputKind.FLOW, 2, "I")
    return typed_tree.FlowChange(function.name, of, entered, call.span)


def clear_thread(context: Context, span: Span) -> Statement:
    _require_target(context, span, "clear_thread()")
    return typed_tree.ThreadClear()


def _require_target(context: Context, span: Span, name: str) -> None:
    for place in context.places:
        if place not in ON_TARGET:
            raise fault(
                "BT105",
                f"`{name}` does not exist in {place.value}",
                Label(span, "known on threads of the traced program"),
                (context.location,) if context.location is not None else (),
                help=("to keep a value for all threads, use a map:  @name = …",),
            )
