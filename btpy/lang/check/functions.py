"""Functions of the script: every call becomes the body of the function, with its parameters as variables.

Values of the traced method in a body (``duration``, ``$name``) belong to the method of the calling probe. The body
cannot use variables of the caller.
"""

from __future__ import annotations

from dataclasses import replace

from btpy.lang import typed_tree
from btpy.lang.check.context import Context, Frame, Local
from btpy.lang.check.conversions import convert, type_of_name, typed_null
from btpy.lang.check.faults import FaultError, arity, fault, named
from btpy.lang.check.redaction import is_secret
from btpy.lang.syntax import nodes
from btpy.lang.typed_tree import Expr, Statement
from btpy.model.diagnostics import Diagnostic, Label, did_you_mean
from btpy.model.source import Span
from btpy.model.types import VOID

MAX_INLINED = 1000
"""The largest number of function calls in one body, including calls inside functions."""


def inline(context: Context, call: nodes.Call, *, is_statement: bool = False) -> typed_tree.Inlined:
    """The call of a function of the script. Raises FaultError."""
    function = context.functions[call.function.text]
    context.inlined += 1
    if context.inlined > MAX_INLINED:
        raise fault("BT406", f"this probe calls more than {MAX_INLINED} functions", Label(call.function.span))
    statements: list[Statement] = []
    variables: dict[str, Local] = {}
    for formal, argument in zip(function.formals, _matched(call, function), strict=True):
        name = formal.name.text
        value = convert(
            context,
            context.value(argument),
            type_of_name(formal.type),
            argument,
            f"`{name}` of `{call.function.text}`",
            formal.span,
        )
        local = context.hide(value.type, formal.name.span, secret=is_secret(context, argument))
        variables[name] = local
        statements.append(typed_tree.Let(local.index, value))
    outer = context.scopes, context.probe, context.frame, context.calls, context.report
    report = context.report
    call_label = Label(call.function.span, "called from here")

    def report_call(diagnostic: Diagnostic) -> None:
        report(replace(diagnostic, secondary=(*diagnostic.secondary, call_label)))

    context.scopes = [variables]
    context.probe = replace(context.probe, formals=None)
    context.calls = (*context.calls, call.span.packed)
    context.report = report_call
    try:
        return _body(context, call.span, function, statements, is_statement=is_statement)
    except FaultError as error:
        raise FaultError(replace(error.diagnostic, secondary=(*error.diagnostic.secondary, call_label))) from None
    finally:
        context.scopes, context.probe, context.frame, context.calls, context.report = outer


def _body(
    context: Context,
    span: Span,
    function: nodes.Function,
    statements: list[Statement],
    *,
    is_statement: bool,
) -> typed_tree.Inlined:
    result_type = type_of_name(function.result) if function.result is not None else None
    if not isinstance(function.body, nodes.Block):
        context.frame = Frame(function, None, False)
        value: Expr = typed_null(context.value(function.body))
        if result_type is not None:
            value = convert(
                context, value, result_type, function.body, f"`{function.name.text}`", _result_span(function)
            )
        return typed_tree.Inlined(value.type, span, tuple(statements), value)
    result = context.hide(result_type, function.name.span) if result_type is not None else None
    is_statement = is_statement and (context.frame is None or context.frame.is_statement)
    context.frame = Frame(function, result, is_statement)
    if result_type is not None and not returns(function.body):
        end = function.body.span.end
        raise fault(
            "BT108",
            f"`{function.name.text}` does not always return a value",
            Label(Span(function.span.source, end - 1, end), "the function can end without `return`"),
            (Label(_result_span(function), f"{named(result_type)} is declared here"),),
        )
    statements += context.block(function.body)
    if result is None:
        return typed_tree.Inlined(VOID, span, tuple(statements), None)
    return typed_tree.Inlined(
        result.type, span, tuple(statements), typed_tree.LocalValue(result.type, span, result.index)
    )


def _result_span(function: nodes.Function) -> Span:
    return function.result.span if function.result is not None else function.name.span


def leave(context: Context, frame: Frame, tree: nodes.Return) -> list[Statement]:
    """``return`` in a function."""
    function = frame.function
    if frame.result is None:
        if tree.value is not None:
            raise fault(
                "BT108",
                f"`{function.name.text}` is declared without a result",
                Label(tree.value.span, "unexpected"),
                help=(f"declare its type:  {_head(function)}: string {{ … }}",),
            )
        return [typed_tree.Leave()]
    if tree.value is None:
        raise fault(
            "BT108",
            f"`{function.name.text}` returns a value",
            Label(tree.span, "none here"),
            (Label(_result_span(function), f"{named(frame.result.type)} is declared here"),),
        )
    value = convert(
        context, context.value(tree.value), frame.result.type, tree.value, "`return`", _result_span(function)
    )
    return [typed_tree.Let(frame.result.index, value), typed_tree.Leave()]


def _head(function: nodes.Function) -> str:
    formals = ", ".join(formal.span.text for formal in function.formals)
    return f"fn {function.name.text}({formals})"


def returns(block: nodes.Block) -> bool:
    """Whether every path through a block ends with ``return``."""
    for statement in block.statements:
        match statement:
            case nodes.Return():
                return True
            case nodes.If(then=then, otherwise=otherwise) if otherwise is not None and returns(then):
                rest = otherwise if isinstance(otherwise, nodes.Block) else nodes.Block(otherwise.span, (otherwise,))
                if returns(rest):
                    return True
            case _:
                pass
    return False


def has_effect(function: nodes.Function) -> bool:
    """Whether a call can have an effect besides its value."""
    if not isinstance(function.body, nodes.Block):
        return False
    return any(
        isinstance(node, nodes.ExpressionStatement | nodes.Assign | nodes.Step | nodes.Delete | nodes.For)
        for node in nodes.walk(function.body)
    )


def _matched(call: nodes.Call, function: nodes.Function) -> list[nodes.Expression]:
    """The arguments in the order of the parameters."""
    names = [formal.name.text for formal in function.formals]
    by_name: dict[str, nodes.Expression] = {}
    for position, argument in enumerate(call.arguments):
        if argument.name is None and position >= len(names):
            break
        name = names[position] if argument.name is None else argument.name.text
        if name not in names:
            raise fault(
                "BT107",
                f"`{call.function.text}` has no parameter `{name}`",
                Label(argument.name.span if argument.name is not None else argument.span),
                help=did_you_mean(name, names),
                notes=(_head(function),),
            )
        if name in by_name:
            raise fault("BT102", f"`{name}` is given twice", Label(argument.span))
        by_name[name] = argument.value
    if len(by_name) != len(names) or len(call.arguments) > len(names):
        raise FaultError(arity(call, call.function.text, _head(function), len(names), len(names)))
    return [by_name[name] for name in names]


def type_function(context: Context, function: nodes.Function) -> None:
    """Types a function that nothing calls, for the values that its parameters declare."""
    variables = {}
    for formal in function.formals:
        variables[formal.name.text] = context.hide(type_of_name(formal.type), formal.name.span)
    context.scopes = [variables]
    with context.reporting():
        _body(context, function.name.span, function, [], is_statement=True)
