"""Fields and elements of objects of the traced program."""

from __future__ import annotations

import re
from dataclasses import replace

from btpy.lang import typed_tree
from btpy.lang.builtins import AGGREGATIONS, ENTRY_OF, FACTS, FUNCTIONS, Place
from btpy.lang.check.classes import ClassFields
from btpy.lang.check.context import Context
from btpy.lang.check.conversions import boxed, convert, mistyped, reasons, type_of_name, typed_null
from btpy.lang.check.events import EVENT, event_value
from btpy.lang.check.faults import FaultError, fault, named
from btpy.lang.check.safe_calls import ALLOW_CALL, SafeMethod, allowed_methods, getters, refused_methods
from btpy.lang.check.statics import is_static, refuse_static_call, refuse_static_field
from btpy.lang.check.variables import argument_value, call_argument_value, fact, require_place, stands_for_all
from btpy.lang.hints import foreign_names
from btpy.lang.inputs import InputKind
from btpy.lang.syntax import nodes
from btpy.lang.typed_tree import Expr
from btpy.model.diagnostics import Diagnostic, Fix, Label, Severity, did_you_mean, quote
from btpy.model.source import Span
from btpy.model.types import ANY, INT, LONG, OBJECT, Kind, Type
from btpy.remedies import Permission

_INSTEAD_OF_METHODS = {
    "length": "len",
    "size": "len",
    "contains": "contains",
    "startsWith": "startswith",
    "endsWith": "endswith",
    "indexOf": "indexof",
    **{name: name for name in ("startswith", "endswith", "lower", "upper")},
    "toLowerCase": "lower",
    "toUpperCase": "upper",
    **dict.fromkeys(("trim", "strip", "rstrip", "lstrip"), "trim"),
    "find": "indexof",
    "substring": "substr",
    "name": "enum_name",
    "getMessage": "message",
    "getCause": "cause",
    "getClass": "typeof",
    "hashCode": "id",
    "printStackTrace": "stack",
    "getStackTrace": "stack",
    "replaceAll": "replace",
    "split": "split",
}
_OPERATORS_INSTEAD = {
    "equals": "{0} == {1}",
    "isEmpty": "len({0}) == 0",
    "matches": "{0} =~ {1}",
    "get": "{0}[{1}]",
    "contains": "{1} in {0}",
    "containsKey": "{1} in {0}",
    "format": 'f"{{a}} {{b:.2f}}"',
    **dict.fromkeys(("forEach", "stream", "iterator"), "for x in {0} limit 20 {{ … }}"),
    **dict.fromkeys(("entrySet", "items"), "for key, value in {0} limit 20 {{ … }}"),
    **dict.fromkeys(("keySet", "keys"), "for key in {0} limit 20 {{ … }}"),
    "join": "print({1})",
    **dict.fromkeys(("toString", "toJson", "dump"), "print({0}), or with more of its fields print(show({0}))"),
}
"""The usual purpose of a method call, by its name. Some of these methods may be called on strings."""

_CHANGES = ("add", "append", "put", "set", "push", "offer", "remove", "pop", "clear", "update", "insert", "addAll")
_OF_CONTAINERS = ("size", "length", "isEmpty", "get", "contains", "containsKey", "forEach", "stream", "iterator")


def field_value(context: Context, tree: nodes.Field) -> Expr:
    if isinstance(tree.target, nodes.Name) and tree.target.text == EVENT:
        return event_value(context, tree)
    every = stands_for_all(context, tree.target)
    if every is not None:
        one = "args[0] or arg0" if every.name == "args" else "targs[0]"
        raise FaultError(_no_field(tree, f"`{every.name}` has no fields", (f"one argument is {one}",)))
    if context.places == (Place.FAILURE,) and isinstance(tree.target, nodes.Name) and tree.target.text == "error":
        return _error_field(context, tree)
    refuse_static_field(context, tree)
    if tree.name.text in ("__class__", "__name__", "__dict__"):
        owner = tree.target.span.text.removesuffix(".__class__")
        replacement = f"show({owner})" if tree.name.text == "__dict__" else f"typeof({owner})"
        raise FaultError(_no_field(tree, f"`{tree.name.text}` is Python's", (f"write {replacement}",)))
    target = context.value(tree.target)
    if isinstance(target, typed_tree.InputValue) and target.input.kind is InputKind.EXCEPTION:
        _check_exception(context, tree)
    kind = target.type.kind
    if kind is Kind.ARRAY and tree.name.text == "length":
        return typed_tree.BuiltinCall(INT.or_null(), tree.span, "len", (target,))
    if kind in (Kind.ANY, Kind.OBJECT, Kind.NULL):
        name = tree.name.text
        field_type = _known_field(context, target, tree)
        if field_type is not None:
            return typed_tree.FieldValue(field_type.or_null(), tree.span, typed_null(target), name)
        spelled = "|".join(getter.spelled(0) for getter in getters(name, context.permissions.allow))
        return typed_tree.FieldValue(ANY, tree.span, typed_null(target), name, spelled)
    help_ = (f"write len({tree.target.span.text})",) if tree.name.text in ("length", "size") else ()
    raise FaultError(_no_field(tree, f"{named(target.type)} has no fields", help_, reasons(context, target)))


_EXCEPTION_FIELDS = ("detailMessage", "cause", "stackTrace", "suppressedExceptions")
_OF_EXCEPTIONS = {
    **dict.fromkeys(("message", "msg", "localizedMessage", "text"), "message"),
    **dict.fromkeys(("stack", "trace", "stacktrace", "backtrace"), "stack"),
    **dict.fromkeys(("type", "class", "name", "className"), "typeof"),
}


def _check_exception(context: Context, tree: nodes.Field) -> None:
    """Warns about a field that not every exception has."""
    function = _OF_EXCEPTIONS.get(tree.name.text)
    if function is None:
        return
    replacement = f"{function}({tree.target.span.text})"
    context.report(
        Diagnostic(
            "BT210",
            f"`Throwable` has no field `{tree.name.text}`",
            Label(tree.name.span, "the firing ends with an error unless the exception's class has this field"),
            help=(f"write {replacement}",),
            notes=("fields: " + quote(_EXCEPTION_FIELDS),),
            fixes=(Fix(tree.span, replacement),),
            severity=Severity.WARNING,
        )
    )


def _error_field(context: Context, tree: nodes.Field) -> Expr:
    value = fact(context, f"error.{tree.name.text}", tree.span)
    if value is None:
        names = [fact.name.removeprefix("error.") for fact in FACTS[Place.FAILURE]]
        raise fault(
            "BT101",
            f"`error` has no `{tree.name.text}`",
            Label(tree.name.span, "not defined"),
            help=did_you_mean(tree.name.text, names),
            notes=("it has " + quote(f"error.{name}" for name in names),),
        )
    return value


def _known_field(context: Context, target: Expr, tree: nodes.Field) -> Type | None:
    """The type of the field, where the class of the target is known; None: it is looked up when the probe fires.

    Raises FaultError when neither the class nor a subtype has such a field, nor a getter that may stand for it.
    """
    name = tree.name.text
    if target.type.class_name is None:
        return None
    facts = context.classes.fields(target.type.class_name)
    if facts is None or name in facts.fields or not facts.complete:
        return None if facts is None else facts.fields.get(name)
    if any(_may_be(getter, facts) for getter in getters(name, context.permissions.allow)):
        return None
    if not facts.final and context.classes.subtype_with(facts.name, name) is not None:
        return None
    if name in facts.statics:
        raise FaultError(is_static(facts.name, tree))
    raise fault(
        "BT210",
        f"`{facts.name}` has no field `{name}`",
        Label(tree.name.span, "neither this class nor a known subclass has it" if not facts.final else "not there"),
        reasons(context, target),
        help=did_you_mean(name, facts.fields),
        notes=("fields: " + (quote(facts.fields, 12) or "none"),),
    )


def _may_be(method: SafeMethod, facts: ClassFields) -> bool:
    """Whether a value of the class may have the method. Classes of the JDK are not subtypes of application classes."""
    jdk = ("java.", "sun.")
    if method.owner == facts.name or (method.subtypes and method.owner in facts.supertypes) or not facts.complete:
        return True
    return not (method.owner.startswith(jdk) and not facts.name.startswith(jdk))


def _no_field(tree: nodes.Field, message: str, help_: tuple[str, ...], reasons: tuple[Label, ...] = ()) -> Diagnostic:
    return Diagnostic("BT201", message, Label(tree.name.span), reasons, help=help_)


def _refuse_index_from_the_end(tree: nodes.Index) -> None:
    """Raises FaultError for ``x[-1]`` of an array or list; a map may have such a key."""
    text = tree.index.span.text.replace(" ", "")
    if text.startswith("-") and text[1:].isdecimal() and isinstance(tree.index, nodes.Prefix):
        replacement = f"{tree.target.span.text}[len({tree.target.span.text}) - {text[1:]}]"
        raise fault("BT016", "an index counts from 0", Label(tree.index.span), help=(f"write {replacement}",))


def element_value(context: Context, tree: nodes.Index) -> Expr:
    every = stands_for_all(context, tree.target)
    if every is not None:
        require_place(context, every, tree.target.span)
        index = tree.index
        if isinstance(index, nodes.Literal) and index.kind is nodes.LiteralKind.INTEGER:
            argument = argument_value if every.name == "args" else call_argument_value
            return argument(context, int(index.value or 0), tree.span)
        raise fault("BT108", f"`{every.name}` takes a constant index", Label(index.span), help=(f"{every.name}[0]",))
    target = context.value(tree.target)
    if target.type.kind not in (Kind.ANY, Kind.OBJECT, Kind.ARRAY, Kind.NULL):
        help_ = ("one character:  substr(text, 0, 1)",) if target.type.kind is Kind.STRING else ()
        raise fault(
            "BT201",
            f"{named(target.type)} cannot be indexed",
            Label(tree.target.span),
            reasons(context, target),
            help=help_,
        )
    _refuse_no_container(context, target, tree)
    if target.type.kind is Kind.ARRAY or target.type.class_name in _LISTS:
        _refuse_index_from_the_end(tree)
    index_value = context.value(tree.index)
    if target.type.kind is not Kind.ARRAY and not index_value.type.is_numeric:
        return typed_tree.BuiltinCall(ANY, tree.span, ENTRY_OF, (typed_null(target), boxed(index_value)))
    element = target.type.element.or_null() if target.type.element is not None else ANY
    index_value = convert(context, index_value, LONG, tree.index, "an index")
    return typed_tree.ElementValue(element, tree.span, typed_null(target), index_value)


_LISTS = ("java.util.List", "java.util.ArrayList", "java.util.LinkedList", "java.util.Collection")
_CONTAINERS = ("java.util.", "java.lang.Iterable", "kotlin.collections.", "scala.collection.")
"""The beginnings of the names of the classes whose elements a probe can reach, and of their supertypes."""


def _of_no_container(context: Context, value: Expr) -> ClassFields | None:
    """The class of the value, if it is known and neither it nor a supertype has elements that a probe can reach."""
    facts = context.classes.fields(value.type.class_name) if value.type.class_name is not None else None
    if facts is None or not facts.complete or facts.name.startswith(_CONTAINERS):
        return None
    return None if any(name.startswith(_CONTAINERS) for name in facts.supertypes) else facts


def _refuse_no_container(context: Context, target: Expr, tree: nodes.Index) -> None:
    """Raises FaultError where the class of the target is known, and no value of it can be a collection."""
    facts = _of_no_container(context, target)
    if facts is None:
        return
    containers = [
        name
        for name, type_ in facts.fields.items()
        if type_.kind is Kind.ARRAY or (type_.class_name or "").startswith(_CONTAINERS)
    ]
    raise fault(
        "BT201",
        f"`{facts.name}` is not an array, list or map",
        Label(tree.target.span, "cannot be indexed"),
        reasons(context, target),
        help=(f"it has:  {', '.join(f'{tree.target.span.text}.{name}' for name in containers[:3])}",)
        if containers
        else (),
        notes=("fields: " + (quote(facts.fields, 12) or "none"),) if not containers else (),
    )


def method_call(context: Context, tree: nodes.MethodCall) -> Expr:
    """A call of a method of the traced program, which must be known to be harmless or allowed by name."""
    refuse_static_call(context, tree)
    if isinstance(tree.target, nodes.MapReference) and tree.method.text in AGGREGATIONS:
        call = tree.span.text[tree.method.span.start - tree.span.start :]
        replacement = f"{tree.target.span.text} = {call}"
        raise fault(
            "BT208",
            f"`{tree.method.text}` is an aggregation",
            Label(tree.method.span, "possible only as the value of a map"),
            help=(f"write {replacement}",),
            fixes=(Fix(tree.span, replacement),),
        )
    if isinstance(tree.target, nodes.MapReference):
        texts = [argument.value.span.text for argument in tree.arguments]
        help_ = foreign_names.advice_for_map(tree.target.span.text, tree.method.text, texts)
        if help_:
            problem = f"a map has no methods: `{tree.method.text}`"
            raise fault("BT402", problem, Label(tree.method.span), help=help_)
    target = context.value(tree.target)
    arguments: list[Expr] = []
    for argument in tree.arguments:
        if argument.name is not None:
            raise fault("BT107", "arguments of a method cannot have names", Label(argument.name.span))
        arguments.append(typed_null(context.value(argument.value)))
    owner = "java.lang.String" if target.type.kind is Kind.STRING else target.type.class_name
    methods = allowed_methods(tree.method.text, len(arguments), context.permissions.allow)
    if target.type.kind not in (Kind.ANY, Kind.OBJECT, Kind.STRING, Kind.NULL):
        methods = ()
    facts = context.classes.fields(owner) if owner is not None else None
    if any(method.owner == owner for method in methods):
        methods = tuple(method for method in methods if method.owner == owner)
    elif owner == "java.lang.String":
        methods = ()
    elif facts is not None:
        methods = tuple(method for method in methods if _may_be(method, facts))
    if not methods and target.type.kind not in (Kind.ANY, Kind.OBJECT, Kind.STRING, Kind.NULL, Kind.ARRAY):
        raise FaultError(_no_methods(context, tree, target))
    if not methods:
        raise FaultError(_not_allowed(context, tree, target))
    fitting = tuple(method for method in methods if method.takes(tuple(argument.type for argument in arguments)))
    if not fitting:
        raise FaultError(_wrong_argument(context, tree, arguments, methods[0]))
    methods = fitting
    spelled = "|".join(method.spelled(len(arguments)) for method in methods)
    results = {method.result for method in methods}
    result = results.pop().or_null() if len(results) == 1 else ANY
    return typed_tree.SafeCall(result, tree.span, typed_null(target), spelled, tuple(map(boxed, arguments)))


def _no_methods(context: Context, tree: nodes.MethodCall, value: Expr) -> Diagnostic:
    """The fault when a method of a number or a boolean is called."""
    converts = re.fullmatch(r"\w+Value|toString|intern|format|get\w*", tree.method.text)
    return Diagnostic(
        "BT402",
        f"{named(value.type)} has no methods",
        Label(tree.method.span),
        reasons(context, value),
        help=(f"write {tree.target.span.text}",) if converts is not None else (),
    )


def cast(context: Context, tree: nodes.Cast) -> Expr:
    """``x as T`` converts numbers and booleans; for objects it tests the class."""
    operand = context.value(tree.operand)
    target_type = type_of_name(tree.type)
    if target_type.kind is Kind.ARRAY:
        raise fault(
            "BT201",
            "`as` takes a class or a type of the language",
            Label(tree.type.span, "an array"),
            help=("elements are reached without a cast:  x[0]",),
        )
    if target_type in (INT, LONG) and operand.type.is_numeric and not operand.type.is_reference:
        return typed_tree.Convert(target_type, tree.span, operand)  # as in Java: cut, not rounded
    if target_type.kind is not Kind.OBJECT and target_type.kind is not Kind.STRING:
        return convert(context, operand, target_type, tree.operand, "`as`")
    if not operand.type.is_reference or operand.type.is_numeric:
        problem = mistyped(context, operand, tree.operand, f"{named(operand.type)} is not an object")
        raise FaultError(replace(problem, help=problem.help or _name_of_probe(tree.type.name)))
    if target_type == OBJECT and tree.type.name in ("object", "Object", "java.lang.Object"):
        return replace(typed_null(operand), type=OBJECT)
    pattern = "java.lang.String" if target_type.kind is Kind.STRING else tree.type.name
    return typed_tree.CastValue(target_type, tree.span, typed_null(operand), pattern)


def _name_of_probe(name: str) -> tuple[str, ...]:
    """The help if ``as name`` after a condition looks like the name of a probe."""
    if "." in name or not name[:1].islower():
        return ()
    return (f"the name of a probe stands before its condition:  Class::method as {name} when …",)


_ALWAYS = "String, boxes, BigDecimal, UUID, java.time, File, URI, enums"


def _not_allowed(context: Context, tree: nodes.MethodCall, value: Expr) -> Diagnostic:
    method, target, owner = tree.method.text, tree.target.span.text, value.type.class_name
    member = context.classes.method(owner, method) if owner and not tree.arguments else None
    target = target if len(target) < 40 else "…"
    help_: list[str] = []
    function = FUNCTIONS.get(_INSTEAD_OF_METHODS.get(method, ""))
    getter = re.fullmatch(r"(?:get|is)([A-Z])(\w*)", method)
    texts = [target, *(argument.span.text for argument in tree.arguments)]
    operator = _OPERATORS_INSTEAD.get(method)
    if _of_no_container(context, value) is not None and method in _OF_CONTAINERS:
        function = operator = None
    if function is not None:
        call = f"{function.name}({', '.join(texts)})"
        help_.append(f"write {call}" if function.takes(len(texts)) else f"use {function.synopsis}")
    elif operator is not None and (operator.count("{1}") == 0 or len(texts) > 1):
        help_.append("write " + operator.format(*texts))
    elif method in _CHANGES:
        help_.append("a probe changes nothing in the program; it keeps values in maps:  @name[key] = value")
    elif getter is not None and not tree.arguments:
        field = getter.group(1).lower() + getter.group(2)
        facts = context.classes.fields(value.type.class_name) if value.type.class_name else None
        is_there = facts is not None and field in facts.fields
        if member is not None and member.field:
            field, is_there = member.field, True
        if is_there or facts is None or not facts.complete:
            help_.append(f"the value {'is' if is_there else 'may be'} a field:  {target}.{field}")
    elif not tree.arguments:
        help_.append(f"the value may be a field:  {target}.{method}")
    methods = [other for other in refused_methods(method) if owner in (None, other.owner)]
    if value.type.kind in (Kind.ANY, Kind.OBJECT):
        owner_of_permission = owner or (methods[0].owner if len(methods) == 1 else "the.Class")
        help_.append(Permission(f"{ALLOW_CALL}{owner_of_permission}.{method}", "or allow exactly this call"))
    spelled = f"{owner.rpartition('.')[2]}.{method}()" if owner else f"{method}()"
    runs = (
        "not a call that btpy knows to be harmless"
        if owner in {other.owner for other in methods}
        else "runs application code"
    )
    if member is not None and member.place:
        runs += f" ({member.place}{f' calls {member.calls}' if member.calls else ''})"
    return Diagnostic(
        "BT402",
        f"call to target method `{spelled}` is not allowed in a probe",
        Label(Span(tree.span.source, tree.method.span.start, tree.span.end), runs),
        help=tuple(help_),
        notes=(
            *(f"{other.owner.rpartition('.')[2]}.{method}(): {other.reason}" for other in methods),
            f"always allowed: {_ALWAYS} (btpy explain safe-calls)",
        ),
    )


def _wrong_argument(context: Context, tree: nodes.MethodCall, arguments: list[Expr], method: SafeMethod) -> Diagnostic:
    """The fault when a safe method takes a string and gets another type."""
    for parameter, argument, argument_tree in zip(method.parameters or (), arguments, tree.arguments, strict=True):
        if not replace(method, parameters=(parameter,)).takes((argument.type,)):
            return mistyped(context, argument, argument_tree.value, f"`{method.name}` takes a string")
    raise AssertionError(method)
