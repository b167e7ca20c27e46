"""Calls of functions of the language: their signatures and arguments."""

from __future__ import annotations

from dataclasses import replace

from btpy.lang import builtins, typed_tree
from btpy.lang.builtins import (
    AGGREGATIONS,
    FRAME_WITHOUT,
    FUNCTIONS,
    LOCALS,
    SHOWN,
    STACK_WITHOUT,
    STATE,
    STRFTIME,
    VARIABLES,
    Function,
    Place,
    Signature,
)
from btpy.lang.check import operators
from btpy.lang.check.context import Context
from btpy.lang.check.conversions import convert, is_object, mistyped, typed_null
from btpy.lang.check.faults import FaultError, arity, fault, named
from btpy.lang.check.frameworks import Frameworks, frameworks, jdk
from btpy.lang.check.functions import inline
from btpy.lang.check.variables import absent, fact, is_known, live_variables
from btpy.lang.hints import foreign_names
from btpy.lang.inputs import InputKind
from btpy.lang.syntax import nodes
from btpy.lang.typed_tree import Entry, Expr
from btpy.model.diagnostics import Diagnostic, Fix, Label, Severity, did_you_mean
from btpy.model.source import Span
from btpy.model.types import BOOLEAN, INT, STRING, Kind
from btpy.remedies import Permission


def call_value(context: Context, tree: nodes.Call) -> Expr:
    name = tree.function.text
    if name == "entry":
        return _entry(context, tree)
    if name in context.functions:
        expansion = inline(context, tree)
        if expansion.value is None:
            raise fault(
                "BT108", f"`{name}` returns nothing", Label(tree.function.span, "this must be a separate statement")
            )
        return expansion
    function = FUNCTIONS.get(name)
    if function is None:
        raise FaultError(_aggregation(tree) if name in AGGREGATIONS else _unknown(context, tree))
    if name == LOCALS:
        all_locals(context, tree)
    else:
        check_place(context, function, tree.function.span)
    problem = _no_value(tree, function)
    if problem is not None:
        raise FaultError(problem)
    if name == "owner_name":
        _check_owner(context, tree)
    if name in builtins.OF_CONTEXT:
        _check_key(tree)
    values = function_arguments(context, tree, function)
    if function.group is builtins.Group.STACKS and not (values and values[0].type.is_reference):
        values = _own_stack(context, tree, function, values)
    return _builtin(context, function, tree.span, values)


def _aggregation(tree: nodes.Call) -> Diagnostic:
    """The fault when an aggregation is used as a value."""
    name = tree.function.text
    if name in ("max", "min") and len(tree.arguments) == 2:
        remedy = _greater_or_less(tree)
    else:
        remedy = f"write @name = {_shortened(tree)}"
    label = Label(tree.function.span, "possible only as the value of a map")
    return Diagnostic("BT208", f"`{name}` is an aggregation", label, help=(remedy,))


def _no_value(tree: nodes.Call, function: Function) -> Diagnostic | None:
    """The reason why a call has no value that a probe can use; None if it has a value."""
    name = tree.function.text
    if name == LOCALS:
        works = "print(locals()) works; one variable is $name"
        return Diagnostic("BT108", "`locals()` is all variables, not one value", Label(tree.span), help=(works,))
    if name == STATE:
        works = f"{_shortened(tree)}.name is a variable of the object"
        problem = "`state(…)` is all variables of an object, not one value"
        return Diagnostic("BT108", problem, Label(tree.span), help=(works,))
    if name in SHOWN:
        works = f"print({_shortened(tree)})"
        return Diagnostic("BT108", f"`{name}()` is for output, not one value", Label(tree.span), help=(works,))
    if name == STRFTIME:
        return Diagnostic(
            "BT108",
            "the text of `strftime` can only be printed",
            Label(tree.span),
            help=("keep the time itself:  now",),
            notes=("the time is formatted by btpy, not in the traced program",),
        )
    if function.statement:
        return Diagnostic(
            "BT108", f"`{name}` has no value", Label(tree.function.span, "this must be a separate statement")
        )
    return None


def _shortened(tree: nodes.Call) -> str:
    """The text of the call. A long call is shown without its arguments."""
    return tree.span.text if len(tree.span.text) < 40 else f"{tree.function.text}(…)"


def _own_stack(context: Context, tree: nodes.Call, function: Function, values: list[Expr]) -> list[Expr]:
    """The arguments of ``stack``, ``frame``, ``app_frame`` and ``caller`` without an exception: they are about the
    thread that the probe fires on, or that it samples. Raises FaultError where the body runs on btpy's own thread."""
    places = [place for place in context.places if place not in builtins.ON_STACKS]
    if places:
        raise fault(
            "BT105",
            f"`{function.name}()` does not exist in {places[0].value}",
            Label(tree.span, "this body runs on btpy's own thread, not on a thread of the traced program"),
            (context.location,) if context.location is not None else (),
            help=(
                "stacks of busy threads:  @OnSample(99) { @busy[stack()] = count() }",
                "stacks of all threads, printed:  print_threads()",
            ),
        )
    sampled = fact(context, builtins.SAMPLED_STACK, tree.span)
    return values if sampled is None else [sampled, *values]


def _greater_or_less(tree: nodes.Call) -> str:
    """``max(a, b)`` as an expression."""
    left, right = (argument.span.text for argument in tree.arguments)
    return f"of two values:  {left} {'>' if tree.function.text == 'max' else '<'} {right} ? {left} : {right}"


def _unknown(context: Context, tree: nodes.Call) -> Diagnostic:
    name = tree.function.text
    is_value = name not in foreign_names.FUNCTIONS and (name in VARIABLES or is_known(context, name))
    value = name if is_value else foreign_names.value_of(name)
    if value is not None:
        help_: tuple[str, ...] = (f"`{value}` is a value: write it without ()",)
    else:
        help_ = foreign_names.advice_for_function(name) or did_you_mean(
            name, (*context.functions, *FUNCTIONS, *AGGREGATIONS)
        )
    fixes = (Fix(tree.span, value),) if value is not None and not tree.arguments else ()
    return Diagnostic(
        "BT101", f"unknown function `{name}`", Label(tree.function.span, "not defined"), help=help_, fixes=fixes
    )


def _check_owner(context: Context, tree: nodes.Call) -> None:
    """Warns when the script asks for the owner of a monitor."""
    operand = tree.arguments[0].value if tree.arguments else None
    if isinstance(operand, nodes.Name) and operand.text == "lock" and context.find_local("lock") is None:
        context.report(
            Diagnostic(
                "BT211",
                "the JVM does not tell who owns a monitor",
                Label(tree.span, "always null"),
                help=("where it waits:  @mon_wait[cls, method, line] = hist(duration)",),
                notes=("the owner of a lock of java.util.concurrent is known:  owner_name(self)",),
                severity=Severity.WARNING,
            )
        )


def _check_key(tree: nodes.Call) -> None:
    """Raises FaultError unless the key is a constant: its name tells btpy whether the value is a secret."""
    key = tree.arguments[0].value if tree.arguments else None
    if key is not None and not (isinstance(key, nodes.Literal) and isinstance(key.value, str)):
        name = tree.function.text
        raise fault("BT107", f"the key of `{name}` must be a constant string", Label(key.span))


def check_place(context: Context, function: Function, span: Span) -> None:
    """Raises FaultError for a function that is not allowed here."""
    places = [place for place in context.places if place not in function.places]
    if places and function.group is builtins.Group.CONTEXT:
        raise FaultError(absent(context, f"{function.name}()", places[0], span, "known where a traced method runs"))
    if places:
        raise fault(
            "BT105",
            f"`{function.name}()` does not run at {places[0].value}",
            Label(span, "too slow for a thread of the traced program"),
            (context.location,) if context.location is not None else (),
            help=("call it in @OnTimer, @OnBegin, @OnEnd or @OnEvent, and keep its result in a map",),
        )
    if function.allow and function.allow not in context.permissions.allow:
        raise fault(
            "BT411",
            f"`{function.name}()` is not allowed",
            Label(span, "the traced program stops during this call"),
            help=(Permission(function.allow),),
        )


def function_arguments(context: Context, tree: nodes.Call, function: Function) -> list[Expr]:
    """Arguments in the types of the parameters, with defaults for omitted arguments."""
    name = function.name
    arguments, signature = match_arguments(context, tree, name, function.synopsis, function.signatures)
    values: list[Expr] = []
    for argument, parameter in zip(arguments, signature.parameters, strict=True):
        if argument is None:
            values.append(typed_tree.Constant(parameter.type, tree.span, parameter.default))
            continue
        value = context.value(argument)
        if parameter.name == "exception" and value.type.kind is Kind.STRING:
            message = f"`{name}` takes an exception here, not {named(value.type)}"
            raise FaultError(mistyped(context, value, argument, message))
        values.append(convert(context, value, parameter.type, argument, f"`{parameter.name}` of `{name}`"))
    if name == "len" and values[0].type.kind in (Kind.STACK,):
        raise FaultError(
            mistyped(context, values[0], tree.arguments[0].value, f"{named(values[0].type)} has no length")
        )
    if function.redacts:
        values.append(typed_tree.Constant(BOOLEAN, tree.span, context.permissions.redact))
    return values


def _builtin(context: Context, function: Function, span: Span, values: list[Expr]) -> Expr:
    match function.name:
        case "caller":
            one = typed_tree.Constant(INT, span, 1)
            return typed_tree.BuiltinCall(function.result, span, "frame", (*values, one))
        case "frame" | "stack" as name:
            *others, skip = values
            if isinstance(skip, typed_tree.Constant) and not skip.value:
                return typed_tree.BuiltinCall(function.result, span, name, tuple(others))
            without = FRAME_WITHOUT if name == "frame" else STACK_WITHOUT
            return typed_tree.BuiltinCall(function.result, span, without, tuple(values))
        case "lock_waits":
            globs = typed_tree.Constant(STRING, span, frameworks(context.permissions.frameworks).text)
            return typed_tree.BuiltinCall(function.result, span, function.name, (globs,))
        case "app_frame":
            return _app_frame(context, function, span, values)
        case builtins.MATCHES:
            text, pattern = values
            return operators.match(text, pattern, span)
        case name:
            return typed_tree.BuiltinCall(function.result, span, name, tuple(values))


def _app_frame(context: Context, function: Function, span: Span, values: list[Expr]) -> Expr:
    """The frame of the application. If the stack has none, it is the first frame outside of the JDK. If all frames are
    of the JDK, it is the caller of the traced method, or the method that created the exception.
    """

    def without(skipped: Frameworks) -> Expr:
        text = typed_tree.Constant(STRING, span, skipped.text)
        return typed_tree.BuiltinCall(function.result, span, FRAME_WITHOUT, (*values, text))

    *exception, n = values
    frame = without(frameworks(context.permissions.frameworks))
    if not isinstance(n, typed_tree.Constant) or n.value != 0:
        return frame
    nearest = typed_tree.Constant(INT, span, 0 if exception else 1)
    plain = typed_tree.BuiltinCall(function.result, span, "frame", (*exception, nearest))
    outside_jdk = typed_tree.Coalesce(function.result, span, without(jdk()), plain)
    return typed_tree.Coalesce(function.result, span, frame, outside_jdk)


def match_arguments(
    context: Context, call: nodes.Call, name: str, synopsis: str, signatures: tuple[Signature, ...]
) -> tuple[list[nodes.Expression | None], Signature]:
    """Arguments in the order of the parameters of the signature that fits, None for defaults."""
    signature = _signature(context, call, signatures)
    if signature is None:
        least = min(signature.required_count for signature in signatures)
        most = max(len(signature.parameters) for signature in signatures)
        raise FaultError(arity(call, name, synopsis, least, most))
    values: list[nodes.Expression | None] = [None] * len(signature.parameters)
    names = [parameter.name for parameter in signature.parameters]
    position = 0
    for argument in call.arguments:
        if argument.name is None:
            values[position] = argument.value
            position += 1
            continue
        if argument.name.text not in names:
            raise fault(
                "BT107",
                f"`{name}` has no argument `{argument.name.text}`",
                Label(argument.name.span),
                help=did_you_mean(argument.name.text, names),
                notes=(synopsis,),
            )
        at = names.index(argument.name.text)
        if values[at] is not None:
            raise fault("BT102", f"`{argument.name.text}` is given twice", Label(argument.span))
        values[at] = argument.value
    for value, parameter in zip(values, signature.parameters, strict=True):
        if value is None and parameter.default is None:
            raise FaultError(arity(call, name, synopsis, signature.required_count, len(names)))
    return values, signature


def _signature(context: Context, call: nodes.Call, signatures: tuple[Signature, ...]) -> Signature | None:
    count = len(call.arguments)
    fitting = [signature for signature in signatures if signature.takes(count)]
    if len(fitting) > 1 and call.arguments[0].name is None:
        first = context.value(call.arguments[0].value).type
        same_kind = [overload for overload in fitting if overload.parameters[0].type.is_reference == is_object(first)]
        fitting = same_kind or fitting
    return fitting[0] if fitting else None


def _entry(context: Context, tree: nodes.Call) -> Expr:
    span = tree.span
    if len(tree.arguments) != 1 or tree.arguments[0].name is not None:
        raise FaultError(arity(tree, "entry", FUNCTIONS["entry"].synopsis, 1, 1))
    if context.in_entry:
        raise fault("BT108", "`entry` inside `entry`", Label(tree.function.span, "write one `entry`"))
    exits = (Place.RETURN, Place.THROW, Place.EXIT)
    places = [place for place in context.places if place not in exits]
    if places and context.shape is None:
        raise FaultError(absent(context, "entry(…)", places[0], tree.function.span, "known at RETURN, THROW, EXIT"))
    place = tree.arguments[0].value.span
    key = id(place.source), place.text
    if key in context.entry_texts:
        return replace(context.entry_texts[key], span=span)
    outer, context.inputs, context.in_entry = context.inputs, [], True
    try:
        value = context.value(tree.arguments[0].value)
        inputs = tuple(context.inputs)
    finally:
        context.inputs, context.in_entry = outer, False
    value = typed_null(value)
    entry = Entry(len(context.entries), inputs, value)
    context.entries.append(entry)
    result = context.input_value(value.type, span, InputKind.ENTRY, entry.index)
    context.entry_texts[key] = result
    return result


def all_locals(context: Context, call: nodes.Call) -> tuple[Expr, ...]:
    """Name and value of every live local variable: ``locals()``."""
    match_arguments(context, call, LOCALS, FUNCTIONS[LOCALS].synopsis, (Signature(()),))
    return live_variables(context, call.function.span, call.span)
