"""The variables that a name can mean: of the body, the language, the traced method, or the operation at a point."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from btpy.lang import typed_tree
from btpy.lang.builtins import (
    FACTS,
    FRAME_PLACES,
    FRAME_POINTS,
    FUNCTIONS,
    IN_METHODS,
    INDENT,
    OFF_TARGET,
    SELF_TIME,
    VARIABLES,
    Place,
    Variable,
)
from btpy.lang.check.context import Context
from btpy.lang.check.conversions import type_of_name, widen
from btpy.lang.check.faults import FaultError, counted, fault
from btpy.lang.check.redaction import is_secret_argument
from btpy.lang.hints import foreign_names
from btpy.lang.inputs import Ambient, InputKind
from btpy.lang.syntax import nodes
from btpy.lang.typed_tree import Expr, OperationShape, Shape
from btpy.model.attachments import MethodAttachment
from btpy.model.diagnostics import Diagnostic, Fix, Label, did_you_mean, nearest, quote
from btpy.model.points import Point
from btpy.model.secrets import REDACTED
from btpy.model.source import Span
from btpy.model.templates import SiteFact
from btpy.model.types import ANY, BYTES, DURATION, INT, LONG, OBJECT, STRING, VOID, Kind, Type

_OBJECT = "Ljava/lang/Object;"

ALL = ("args", "targs")
"""Variables with many values. A script can print them, or index them with a constant."""

_WITH_EXCEPTION = (Point.THROW, Point.CALL_THROW, Point.RAISE, Point.CATCH)
_THROWS = (Point.THROW, Point.CALL_THROW)

# Sizes of arrays for `size`, with compressed references and class pointers (heaps below 32 GB).
_ARRAY_HEADER = 16
_ALIGNMENT = 8
_REFERENCE = 4

_ARGUMENT = re.compile(r"arg(0|[1-9]\d*)")
_IN_METHODS = "known where a traced method runs"
_OTHER_NAMES = {
    (Place.NEW, "size"): "shallow_size(target)",
    (Place.FIELD_GET, "oldval"): "retval",
    (Place.FIELD_GET, "newval"): "retval",
    (Place.ARRAY_GET, "newval"): "retval",
    (Place.FIELD_SET, "retval"): "newval",
    (Place.ARRAY_SET, "retval"): "newval",
    **{(Place[name], "target"): "lock" for name in ("SYNC_ENTER_BEFORE", "SYNC_ENTER", "SYNC_EXIT", "SYNC_EXIT_AFTER")},
    (Place.RAISE, "target"): "exception",
    (Place.CATCH, "target"): "exception",
    (Place.CAST, "retval"): "target",
}


def refuse_shadowing(context: Context, name: nodes.Identifier) -> None:
    text = name.text
    local = context.find_local(text)
    formal = next((formal for formal in context.probe.formals or () if formal.name == text), None)
    if local is None and formal is None and text not in VARIABLES and not _ARGUMENT.fullmatch(text):
        return
    first = local.span if local is not None else formal.span if formal is not None else None
    raise fault(
        "BT102",
        f"`{text}` is already defined",
        Label(name.span, "the second definition" if first else "a built-in name"),
        (Label(first, "the first"),) if first else (),
        help=("choose another name",),
    )


def not_assignable(context: Context, target: nodes.Name, tree: nodes.Assign) -> Diagnostic:
    is_variable = target.text in VARIABLES or any(formal.name == target.text for formal in context.probe.formals or ())
    if is_variable or _ARGUMENT.fullmatch(target.text):
        return Diagnostic(
            "BT401",
            f"`{target.text}` is read-only",
            Label(target.span),
            help=("keep a value of your own:  let x = …",),
        )
    help_ = did_you_mean(target.text, [name for scope in context.scopes for name in scope])
    if tree.operator.text == "=":
        help_ = (*help_, f"to declare a new variable:  let {target.text} = …", f"or a map:  @{target.text} = …")
    elif not help_:
        help_ = (
            f"a map counts over all firings, without a declaration:  @{target.text} {tree.operator.text} …",
            f"a variable of this firing needs a declaration:  let {target.text} = 0;",
        )
    return Diagnostic("BT101", f"unknown name `{target.text}`", Label(target.span, "not defined here"), help=help_)


def all_arguments(context: Context, name: str, span: Span) -> tuple[Expr, ...]:
    """All arguments, for ``print(args)`` and ``print(targs)``. Empty as long as the method is not known."""
    if context.shape is None:
        return ()
    if name == "args":
        return tuple(
            typed_tree.Constant(STRING, span, REDACTED)
            if context.permissions.redact and is_secret_argument(context, f"arg{index}")
            else argument_value(context, index, span)
            for index in range(len(context.shape.parameters))
        )
    count = len(_offered(context, name).arguments)
    return tuple(call_argument_value(context, index, span) for index in range(count))


def live_variables(context: Context, function: Span, span: Span) -> tuple[Expr, ...]:
    """Name and value of every live local variable, for ``print(locals())``."""
    places = [place for place in context.places if place not in FRAME_PLACES]
    if places and context.shape is None:
        raise FaultError(absent(context, "locals()", places[0], function, "known at LINE, RAISE and CATCH"))
    pairs: list[Expr] = []
    for index, variable in enumerate(context.shape.variables if context.shape is not None else ()):
        pairs.append(typed_tree.Constant(STRING, span, variable.name))
        if context.permissions.redact and context.permissions.secrets.names_secret(variable.name):
            pairs.append(typed_tree.Constant(STRING, span, REDACTED))
        else:
            pairs.append(_frame_variable(context, index, span))
    return tuple(pairs)


def is_known(context: Context, name: str) -> bool:
    """Whether ``name`` is a variable here: of the body, the language, or the traced method (``$name``)."""
    return (
        name in VARIABLES
        or context.find_local(name) is not None
        or _ARGUMENT.fullmatch(name) is not None
        or any(formal.name == name for formal in context.probe.formals or ())
        or name.startswith("$")
    )


def resolve(context: Context, tree: nodes.Name) -> Expr:
    name, span = tree.text, tree.span
    local = context.find_local(name)
    if local is not None:
        if context.in_entry and not local.in_entry:
            raise fault(
                "BT105",
                f"`{name}` does not exist at entry",
                Label(span, "a variable of the body"),
                (Label(local.span, "defined here"),),
            )
        return typed_tree.LocalValue(local.type, span, local.index)
    for index, formal in enumerate(context.probe.formals or ()):
        if formal.name == name:
            return argument_value(context, index, span)
    argument = _ARGUMENT.fullmatch(name)
    if argument is not None and len(name) < 7:
        _require_method(context, name, span)
        return argument_value(context, int(argument.group(1)), span)
    variable = VARIABLES.get(name)
    if variable is None:
        raise FaultError(_unknown(context, tree))
    require_place(context, variable, span)
    return variable_value(context, variable, span)


def variable_value(context: Context, variable: Variable, span: Span) -> Expr:
    shape = context.shape
    value = fact(context, variable.name, span)
    if value is not None:
        return value
    if isinstance(variable.source, Ambient):
        return typed_tree.AmbientValue(variable.type, span, variable.source)
    if variable.source is SiteFact.PROBE:
        return typed_tree.Constant(STRING, span, context.probe.name)
    if variable.source is not None:
        return typed_tree.SiteValue(variable.type, span, variable.source)
    match variable.name:
        case "self":
            if shape is not None and shape.static:
                return typed_tree.Constant(OBJECT, span, None)
            self_type = shape.self_type if shape is not None else OBJECT
            return context.input_value(self_type, span, InputKind.SELF)
        case "retval":
            return _retval(context, span)
        case "exception":
            if shape is not None and shape.point not in _WITH_EXCEPTION and context.places != (Place.UNCAUGHT,):
                return typed_tree.Constant(OBJECT, span, None)
            return context.input_value(OBJECT, span, InputKind.EXCEPTION)
        case "duration":
            return context.input_value(DURATION, span, InputKind.DURATION)
        case "depth":
            return context.input_value(INT, span, InputKind.DEPTH)
        case "indent":
            depth = context.input_value(INT, span, InputKind.DEPTH)
            return typed_tree.BuiltinCall(STRING, span, INDENT, (depth,))
        case "self_time":
            duration = context.input_value(DURATION, span, InputKind.DURATION)
            nested = context.input_value(LONG, span, InputKind.NESTED)
            return typed_tree.BuiltinCall(DURATION, span, SELF_TIME, (duration, nested))
        case "target" | "lock":
            type_ = OBJECT if shape is None else _offered(context, variable.name).target
            if type_ is None:
                return typed_tree.Constant(OBJECT, span, None)
            return context.input_value(type_, span, InputKind.TARGET)
        case "oldval":
            return _operand(context, InputKind.OLD_VALUE, variable.name, span)
        case "newval":
            return _operand(context, InputKind.NEW_VALUE, variable.name, span)
        case "index":
            return context.input_value(INT, span, InputKind.INDEX)
        case "length":
            return _length(context, 0, span)
        case "size":
            return _size(context, span)
        case _:  # error, event, flow, args, targs
            raise FaultError(_not_one_value(context, variable.name, span))


def _not_one_value(context: Context, name: str, span: Span) -> Diagnostic:
    """The fault for a name that has several values."""
    if name == "error":
        fields = ", ".join(field.name for field in FACTS[Place.FAILURE])
        return Diagnostic("BT108", "`error` is not one value", Label(span), help=(f"one of {fields}",))
    if name == "event":
        return Diagnostic(
            "BT108",
            "`event` is all provided values, not one value",
            Label(span),
            help=("one of the values is event.name",),
            notes=("it has: " + quote(context.event or ()),),
        )
    if name == "flow":
        works = "flow.id is the number of the flow, and null outside of a flow"
        return Diagnostic("BT108", "`flow` is all values of a unit of work, not one value", Label(span), help=(works,))
    works = "print(targs) and targs[0] work"
    if name == "args":
        works = "print(args) and args[0] work; one argument is arg0, arg1, … or $name"
    return Diagnostic("BT108", f"`{name}` is all arguments, not one value", Label(span), help=(works,))


def fact(context: Context, name: str, span: Span) -> Expr | None:
    """The value of an event with this ``name``, if the agent sends one."""
    facts = FACTS.get(context.places[0], ()) if context.places else ()  # a function that nothing calls has no place
    for index, event_fact in enumerate(facts):
        if event_fact.name == name:
            return context.input_value(event_fact.type, span, InputKind.FACT, index, _OBJECT)
    return None


def _retval(context: Context, span: Span) -> Expr:
    shape = context.shape
    if shape is None:
        return context.input_value(ANY, span, InputKind.RETVAL)
    returns, descriptor = shape.returns, shape.return_descriptor
    if shape.operation is not None:
        returns, descriptor = shape.operation.value or VOID, shape.operation.value_descriptor
    if returns.kind is Kind.VOID:
        prefix = "called " if shape.operation is not None else ""
        raise fault(
            "BT205",
            f"`retval` does not exist: the {prefix}method returns nothing",
            Label(span, "of a void method"),
            help=(f'match only {prefix}methods that return something:  type="int (..)"',),
        )
    if shape.point in _THROWS:
        return typed_tree.Constant(returns if returns.is_reference else ANY, span, None)
    return context.input_value(returns, span, InputKind.RETVAL, 0, descriptor)


def _offered(context: Context, name: str) -> OperationShape:
    assert context.shape is not None
    if context.shape.operation is None:
        raise ValueError(f"`{name}` at {context.shape.point.name} of a shape without an operation")
    return context.shape.operation


def _operand(context: Context, kind: InputKind, name: str, span: Span) -> Expr:
    """``oldval`` and ``newval``."""
    if context.shape is None:
        return context.input_value(ANY, span, kind)
    operation = _offered(context, name)
    return context.input_value(operation.value or ANY, span, kind, 0, operation.value_descriptor)


def call_argument_value(context: Context, index: int, span: Span) -> Expr:
    if context.shape is None:
        return context.input_value(ANY, span, InputKind.TARGET_ARG, index)
    operation = _offered(context, "targs")
    count = len(operation.arguments)
    if index >= count:
        raise fault(
            "BT112",
            f"the called method has no argument {index}",
            Label(span),
            notes=(_parameters_there(count, "targs[0]", f"targs[{count - 1}]"),),
        )
    return context.input_value(
        operation.arguments[index], span, InputKind.TARGET_ARG, index, operation.argument_descriptors[index]
    )


def _length(context: Context, dimension: int, span: Span) -> Expr:
    return context.input_value(INT, span, InputKind.LENGTH, dimension)


def _size(context: Context, span: Span) -> Expr:
    """Bytes of a new array and of the arrays in it.

    For each dimension: the number of arrays × (header + length × element size, rounded up). Only the last dimension
    with a length can have primitive elements; the others hold references.
    """
    dimensions, element = 1, 1
    if context.shape is not None:
        operation = _offered(context, "size")
        dimensions, element = operation.dimensions, operation.element_size

    def number(value: int) -> Expr:
        return typed_tree.Constant(LONG, span, value)

    def binary(operator: str, left: Expr, right: Expr) -> Expr:
        return typed_tree.Binary(LONG, span, operator, left, right)

    total: Expr | None = None
    arrays: Expr | None = None
    for dimension in range(dimensions):
        last = dimension == dimensions - 1
        length = widen(_length(context, dimension, span), LONG)
        content = binary("*", length, number(element if last else _REFERENCE))
        rounded = binary("&", binary("+", content, number(_ARRAY_HEADER + _ALIGNMENT - 1)), number(-_ALIGNMENT))
        bytes_ = rounded if arrays is None else binary("*", arrays, rounded)
        total = bytes_ if total is None else binary("+", total, bytes_)
        arrays = length if arrays is None else binary("*", arrays, length)
    assert total is not None
    return replace(total, type=BYTES)


def _frame_variable(context: Context, index: int, span: Span) -> Expr:
    assert context.shape is not None
    variable = context.shape.variables[index]
    return context.input_value(variable.type, span, InputKind.FRAME_VARIABLE, index, variable.descriptor)


def target_variable(context: Context, tree: nodes.TargetVariable) -> Expr:
    name, span = tree.name, tree.span
    _require_method(context, f"${name}", span)
    for index, formal in enumerate(context.probe.formals or ()):
        if formal.name == name:
            return argument_value(context, index, span)
    if context.shape is None:
        formals = context.probe.formals
        if formals is not None and not context.probe.open_formals and FRAME_PLACES.isdisjoint(context.places):
            raise _no_parameter(name, span, [formal.name for formal in formals])
        return context.input_value(ANY, span, InputKind.ARG)
    if context.shape.point in FRAME_POINTS and not context.in_entry:
        return _live_variable(context, context.shape, tree)
    names = context.shape.names
    if name in names:
        return argument_value(context, names.index(name), span)
    parameters = [name for name in names if name is not None]
    if not parameters and names:
        numbered = ", ".join(f"{parameter} p{at}" for at, parameter in enumerate(context.shape.parameters))
        raise fault(
            "BT112",
            f"the parameters of the traced method have no names, so `${name}` is unknown",
            Label(span),
            help=(
                "use arg0, arg1, …",
                f"or name them:  probe name({numbered})",
            ),
            notes=("the class was compiled without -g and without -parameters",),
        )
    raise _no_parameter(name, span, parameters)


def _no_parameter(name: str, span: Span, parameters: Sequence[str]) -> FaultError:
    return fault(
        "BT112",
        f"the traced method has no parameter `{name}`",
        Label(span),
        help=did_you_mean(f"${name}", [f"${parameter}" for parameter in parameters]),
        notes=("parameters: " + (quote(f"${parameter}" for parameter in parameters) or "none"),),
    )


def _live_variable(context: Context, shape: Shape, tree: nodes.TargetVariable) -> Expr:
    """A live variable has its current value. A parameter whose variable is unknown has its value at entry. A variable
    that is not live here is null.
    """
    name, span = tree.name, tree.span
    live = [variable.name for variable in shape.variables]
    if name in live:
        return _frame_variable(context, live.index(name), span)
    if name in shape.names:
        return argument_value(context, shape.names.index(name), span)
    if name in shape.absent_variables:
        return typed_tree.Constant(ANY, span, None)
    names = sorted({*live, *shape.absent_variables, *(name for name in shape.names if name is not None)})
    if names:
        notes: tuple[str, ...] = ("variables: " + quote(f"${variable}" for variable in names),)
    else:
        notes = ("the class was compiled without -g: its variables have no names",)
    raise fault(
        "BT112",
        f"the traced method has no variable `{name}`",
        Label(span),
        help=did_you_mean(f"${name}", [f"${variable}" for variable in names]),
        notes=notes,
    )


def argument_value(context: Context, index: int, span: Span) -> Expr:
    shape = context.shape
    if shape is None:
        formals = context.probe.formals
        if formals is not None and index >= len(formals) and not context.probe.open_formals:
            raise FaultError(_no_argument(index, span, len(formals)))
        declared_type = _declared(context, index)
        return context.input_value(declared_type, span, InputKind.ARG, index, _OBJECT)
    if index >= len(shape.parameters):
        raise FaultError(_no_argument(index, span, len(shape.parameters)))
    return context.input_value(shape.parameters[index], span, InputKind.ARG, index, shape.descriptors[index])


def _declared(context: Context, index: int) -> Type:
    formals = context.probe.tree.formals or ()
    return type_of_name(formals[index].type) if index < len(formals) else ANY


def _parameters_there(count: int, first: str, last: str) -> str:
    """``first`` and ``last``: how a script names the first and the last parameter."""
    return f"it has {counted(count, 'parameter')}: {first} … {last}" if count else "it has no parameters"


def _no_argument(index: int, span: Span, count: int) -> Diagnostic:
    return Diagnostic(
        "BT112",
        f"the traced method has no `arg{index}`",
        Label(span),
        notes=(_parameters_there(count, "arg0", f"arg{count - 1}"),),
    )


def _require_method(context: Context, name: str, span: Span) -> None:
    places = [place for place in context.places if place in OFF_TARGET or place is Place.PROBE]
    if places:
        raise FaultError(absent(context, name, places[0], span, _IN_METHODS))


def require_place(context: Context, variable: Variable, span: Span) -> None:
    places = (Place.ENTRY,) if context.in_entry else context.places
    missing = [place for place in places if place not in variable.places]
    if missing and context.shape is None:
        raise FaultError(
            absent(
                context,
                variable.name,
                missing[0],
                span,
                f"known at {variable.known_at}" if variable.known_at else _IN_METHODS,
            )
        )


def absent(context: Context, name: str, place: Place, span: Span, text: str) -> Diagnostic:
    if context.in_entry and place is Place.ENTRY:
        return Diagnostic("BT105", f"`{name}` does not exist at entry", Label(span, text))
    help_: tuple[str, ...] = ()
    if place is Place.ENTRY and name in ("duration", "retval", "exception"):
        better = {"duration": "EXIT", "retval": "RETURN", "exception": "THROW"}[name]
        extra = "        (also covers exceptions)" if name == "duration" else ""
        help_ = (
            f"change the location:  location={better}{extra}",
            "a value from entry can be used at exit:  entry(arg0)",
        )
    elif place in (Place.RETURN, Place.THROW) and name in ("retval", "exception"):
        help_ = ("EXIT has `retval` and `exception`, one of them null:  location=EXIT",)
    elif place is Place.CALL_BEFORE and name in ("duration", "retval", "exception"):
        help_ = ("when the call has ended:  location=CALL(…, when=AFTER)",)
    elif place is Place.SYNC_ENTER_BEFORE and name == "duration":
        help_ = ("when the monitor has been entered:  location=SYNC_ENTER(when=AFTER)",)
    elif name in foreign_names.OF_METHOD and place in (Place.ENTRY, Place.RETURN, Place.THROW, Place.EXIT):
        help_ = (foreign_names.OF_METHOD[name],)
    elif place is Place.PROBE:
        help_ = ("the values of an event:  event.name",)
    elif (place, name) in _OTHER_NAMES:
        help_ = (f"here it is called `{_OTHER_NAMES[place, name]}`",)
    secondary = (context.location,) if context.location is not None else ()
    return Diagnostic(
        "BT105",
        f"`{name}` does not exist {'at' if place in IN_METHODS else 'in'} {place.value}",
        Label(span, text),
        secondary,
        help=help_,
    )


def _unknown(context: Context, tree: nodes.Name) -> Diagnostic:
    names = _names_here(context)
    function = FUNCTIONS.get(tree.text)
    member = re.match(r"\s*\.\s*([A-Za-z_]\w*)", tree.span.source.text[tree.span.end : tree.span.end + 80])
    of_member = foreign_names.advice_for_member(tree.text, member[1]) if member is not None else ()
    help_ = (
        of_member or foreign_names.advice_for_name(tree.text) or did_you_mean(tree.text, names) or _elsewhere(tree.text)
    )
    if function is not None:
        help_ = (f"it is a function:  {function.synopsis}",)
    elif tree.text in context.maps:
        help_ = (f"did you mean `@{tree.text}`?",)
    elif not help_ and "args" in names:
        help_ = (
            f"write a $ before a parameter of the method:  ${tree.text}",
            f"a field of its object:  self.{tree.text}    a map:  @{tree.text}",
        )
    places = ", ".join(place.value for place in context.places)
    replacement = foreign_names.NAMES.get(tree.text)
    variable = VARIABLES.get(replacement or "")
    if variable is not None and variable.known_at and not all(place in variable.places for place in context.places):
        help_ = (f"write {variable.name}, which is known at {variable.known_at}",)
    return Diagnostic(
        "BT101",
        f"unknown name `{tree.text}`",
        Label(tree.span, "not defined here"),
        help=help_,
        notes=(f"at {places} you can use: {quote(names, 11)}",),
        fixes=(Fix(tree.span, replacement),)
        if replacement is not None and help_ == foreign_names.advice_for_name(tree.text)
        else (),
    )


def _elsewhere(name: str) -> tuple[str, ...]:
    """The help for a misspelled variable that exists at other places."""
    meant = [VARIABLES[candidate] for candidate in nearest(name, VARIABLES)]
    return tuple(
        f"did you mean `{variable.name}`? It is known at {variable.known_at}" for variable in meant if variable.known_at
    )


def _names_here(context: Context) -> list[str]:
    scope_names = [name for scope in reversed(context.scopes) for name in scope]
    formals = [formal.name for formal in context.probe.formals or ()]
    usable = [
        variable.name for variable in VARIABLES.values() if all(place in variable.places for place in context.places)
    ]
    first = [name for name in ("duration", "retval", "exception", "self", "args") if name in usable]
    arguments = ["arg0", "arg1"] if "args" in usable else []
    shape = context.shape
    names = [f"${name}" for name in (shape.names if shape else ()) if name]
    names += [
        f"${variable.name}" for variable in (shape.variables if shape else ()) if f"${variable.name}" not in names
    ]
    if shape is None and arguments and not formals:
        names = [f"${name}" for name in _parameter_names(context)] or ["$name"]
    common = [name for name in ("depth", "method", "cls") if name in usable]
    rest = [*common, *(name for name in usable if name not in (*first, *common))]
    return [*scope_names, *formals, *first, *arguments, *names, *rest]


def _parameter_names(context: Context) -> tuple[str, ...]:
    """The traced method, if the probe names exactly one known method."""
    attachment = context.probe.attachment
    if not isinstance(attachment, MethodAttachment):
        return ()
    patterns = (*attachment.classes, *attachment.methods)
    return context.classes.parameter_names(patterns[0].text, patterns[1].text) if len(patterns) == 2 else ()


def stands_for_all(context: Context, tree: nodes.Expression) -> Variable | None:
    """The variable ``args`` or ``targs`` if the expression is one of the two; otherwise None."""
    if not isinstance(tree, nodes.Name) or tree.text not in ALL or context.find_local(tree.text) is not None:
        return None
    formal = any(formal.name == tree.text for formal in context.probe.formals or ())
    return None if formal else VARIABLES[tree.text]
