"""What is shown in the place of a value whose name says that it is a secret: of a parameter, a field, a key."""

from __future__ import annotations

from btpy.lang import program, syntax
from btpy.lang.context import Context
from btpy.lang.program import Expr
from btpy.lang.secrets import REDACTED, names_secret
from btpy.lang.types import STRING


def concealed(context: Context, tree: syntax.Expression, value: Expr) -> Expr:
    """The value, or what hides it; for values that leave the JVM or become keys."""
    name = _name(tree)
    if not context.permissions.redact or not name or not names_secret(name):
        return value
    return program.Constant(STRING, value.span, REDACTED)


def _name(tree: syntax.Expression) -> str:
    match tree:
        case syntax.TargetVariable(name=name):
            return name
        case syntax.Name(text=name):
            return name
        case syntax.Field(name=identifier):
            return identifier.text
        case syntax.Index(index=syntax.Literal(value=str(key))):
            return key
        case (
            syntax.Cast(operand=operand)
            | syntax.Call(function=syntax.Identifier(text="entry"), arguments=(syntax.Argument(value=operand),))
        ):
            return _name(operand)
        case syntax.MethodCall(method=method, arguments=()):
            return method.text.removeprefix("get")
        case syntax.MethodCall(arguments=(syntax.Argument(value=syntax.Literal(value=str(key))),)):
            return key
        case _:
            return ""
