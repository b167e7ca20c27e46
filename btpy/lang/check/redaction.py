"""Replaces secrets: values whose name marks them as secret (a parameter, a field, a key), and values that a script
makes from them.

A secret stays secret through variables, functions, thread variables, ``provide``, ``??``, ``?:``, ``+``, casts,
elements, and functions that cut or change texts. Results that describe a secret without showing it are shown:
comparisons, ``len``,
``hash``, ``typeof``. This module decides from the script alone. The agent redacts the fields of an object that is shown
as a whole.
"""

from __future__ import annotations

import re

from btpy.lang import typed_tree
from btpy.lang.builtins import OF_CONTEXT
from btpy.lang.check.context import Context
from btpy.lang.syntax import nodes
from btpy.lang.typed_tree import Expr
from btpy.model.secrets import REDACTED
from btpy.model.types import STRING

_EVENT = "event"
_PASSING = frozenset(
    (
        *("entry", "substr", "lower", "upper", "trim", "split", "replace", "truncate", "normalize_sql", "url_path"),
        *("show", "fields", "enum_name"),
    )
)
"""Functions whose result shows their argument."""

_TELLING = frozenset(
    ("length", "size", "isEmpty", "isBlank", "isPresent", "getClass", "hashCode", "equals", "contains", "indexOf")
)
_NUMBERS = frozenset(("int", "long", "double", "boolean", "duration", "bytes"))


def concealed(context: Context, tree: nodes.Expression, value: Expr) -> Expr:
    """The value, or a mask instead of it. The mask is used for values that leave the JVM or become keys."""
    if not context.permissions.redact or not is_secret(context, tree):
        return value
    return typed_tree.Constant(STRING, value.span, REDACTED)


def is_secret(context: Context, tree: nodes.Expression) -> bool:
    """Whether the value is a secret or shows a secret."""
    names_secret = context.permissions.secrets.names_secret
    match tree:
        case nodes.TargetVariable(name=name):
            return names_secret(name)
        case nodes.Name(text=name):
            local = context.find_local(name)
            if local is not None:
                return local.secret or names_secret(name)
            return names_secret(name) or is_secret_argument(context, name) or _is_secret_result(context, name)
        case nodes.ScopedVariable(name=name):
            variable = context.scoped.get(tree.key)
            return names_secret(name) or (variable is not None and variable.secret)
        case nodes.Field(target=nodes.Name(text=target), name=identifier) if target == _EVENT and context.event:
            provided = context.event.get(identifier.text)
            return names_secret(identifier.text) or (provided is not None and provided.secret)
        case nodes.Field(name=identifier):
            return names_secret(identifier.text)
        case nodes.Index(target=nodes.Name(text="args"), index=nodes.Literal(value=int(number))):
            return is_secret_argument(context, f"arg{number}")
        case nodes.Index(target=target, index=index):
            return _is_key(context, index) or is_secret(context, target)
        case nodes.Cast(operand=operand):
            return is_secret(context, operand)
        case nodes.Binary(operator=nodes.Identifier(text="??" | "+"), left=left, right=right):
            return is_secret(context, left) or is_secret(context, right)
        case nodes.Conditional(then=then, otherwise=otherwise):
            return is_secret(context, then) or is_secret(context, otherwise)
        case nodes.Quantified(quantifier=nodes.Identifier(text="first"), container=container):
            return is_secret(context, container)
        case nodes.Call():
            return _call_shows(context, tree)
        case nodes.MethodCall(target=target, method=method):
            return _asks_for_secret(context, tree) or (method.text not in _TELLING and is_secret(context, target))
        case _:
            return False


def is_secret_argument(context: Context, name: str) -> bool:
    """Whether the method or the probe gives a parameter (``arg2``, or a name in the head of the probe) the name of a
    secret.
    """
    formals = [formal.name for formal in context.probe.formals or ()]
    number = formals.index(name) if name in formals else int(name[3:]) if re.fullmatch(r"arg\d{1,3}", name) else -1
    names = context.shape.names if context.shape is not None else ()
    names_secret = context.permissions.secrets.names_secret
    return any(
        names_secret(parameters[number] or "") for parameters in (names, formals) if 0 <= number < len(parameters)
    )


def _is_secret_result(context: Context, name: str) -> bool:
    """Whether the name of the method or field says that ``retval``, ``oldval`` or ``newval`` is a secret."""
    return context.shape is not None and context.shape.secret_result and name in ("retval", "oldval", "newval")


def _is_key(context: Context, tree: nodes.Expression) -> bool:
    if not isinstance(tree, nodes.Literal) or not isinstance(tree.value, str):
        return False
    return context.permissions.secrets.names_secret(tree.value)


def _asks_for_secret(context: Context, call: nodes.MethodCall) -> bool:
    if call.arguments:
        return _is_key(context, call.arguments[0].value)
    return context.permissions.secrets.gives_secret(call.method.text)


def _call_shows(context: Context, call: nodes.Call) -> bool:
    name = call.function.text
    function = context.functions.get(name)
    if function is None:
        if name in OF_CONTEXT:
            return any(_is_key(context, argument.value) for argument in call.arguments)
        return name in _PASSING and any(is_secret(context, argument.value) for argument in call.arguments)
    if function.result is not None and function.result.name in _NUMBERS:
        return False
    return any(is_secret(context, argument.value) for argument in call.arguments) or _reads_secret(context, function)


def _reads_secret(context: Context, function: nodes.Function) -> bool:
    secrets = context.permissions.secrets
    for node in nodes.walk(function.body):
        match node:
            case nodes.Field(name=nodes.Identifier(text=name)) | nodes.TargetVariable(name=name):
                if secrets.names_secret(name):
                    return True
            case nodes.MethodCall():
                if _asks_for_secret(context, node):
                    return True
            case nodes.Call(function=nodes.Identifier(text=name)) if name in OF_CONTEXT:
                if any(_is_key(context, argument.value) for argument in node.arguments):
                    return True
            case nodes.Index(index=index):
                if _is_key(context, index):
                    return True
            case _:
                pass
    return False
