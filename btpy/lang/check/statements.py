"""Statements of a body. A fault ends its statement, so that it is reported once."""

from __future__ import annotations

import re
from dataclasses import replace

from btpy.lang import typed_tree
from btpy.lang.builtins import FLOW_CHANGES, FUNCTIONS, Function, Parameter, Signature
from btpy.lang.check.calls import check_place, function_arguments, match_arguments
from btpy.lang.check.context import Context
from btpy.lang.check.conversions import condition, convert, type_of_name
from btpy.lang.check.events import provide
from btpy.lang.check.faults import FaultError, fault
from btpy.lang.check.functions import has_effect, inline, leave
from btpy.lang.check.jfr_events import write_event
from btpy.lang.check.loops import for_statement
from btpy.lang.check.maps import find_map, map_and_keys, plot, store, table, whole_map
from btpy.lang.check.operators import Operand, binary
from btpy.lang.check.printing import emit_event, print_format, print_values, speculation
from btpy.lang.check.redaction import is_secret
from btpy.lang.check.scoped import clear_thread, flow_change, scoped_assign, stateful
from btpy.lang.check.spans import span
from btpy.lang.check.static_check import check_static
from btpy.lang.check.variables import is_known, not_assignable, refuse_shadowing
from btpy.lang.syntax import nodes
from btpy.lang.typed_tree import Expr, Statement
from btpy.model.diagnostics import Label
from btpy.model.templates import Slot, TemplateKind
from btpy.model.types import ANY, BOOLEAN, INT, STACK, STRING, Kind


def block(context: Context, block: nodes.Block) -> tuple[Statement, ...]:
    statements: list[Statement] = []
    with context.scope():
        for tree in block.statements:
            with context.reporting():
                statements += _statement(context, tree)
    return tuple(statements)


def _statement(context: Context, tree: nodes.Statement) -> list[Statement]:
    match tree:
        case nodes.ExpressionStatement(value=value):
            return _expression_statement(context, value)
        case nodes.Assign():
            return [_assign(context, tree)]
        case nodes.Step():
            one = nodes.Literal(tree.operator.span, nodes.LiteralKind.INTEGER, 1)
            operator = nodes.Identifier(tree.operator.span, tree.operator.text[0] + "=")
            return [_assign(context, nodes.Assign(tree.span, tree.target, operator, one))]
        case nodes.Let():
            return [_let(context, tree)]
        case nodes.If():
            return [_if(context, tree)]
        case nodes.Delete():
            map_, keys = map_and_keys(context, tree.map)
            return [typed_tree.MapDelete(map_.id, keys)]
        case nodes.Return():
            if context.frame is not None:
                return leave(context, context.frame, tree)
            if tree.value is not None:
                raise fault(
                    "BT108",
                    "a probe returns nothing",
                    Label(tree.value.span, "unexpected"),
                    help=("`return` alone ends this firing",),
                )
            return [typed_tree.Stop()]
        case nodes.For():
            return [for_statement(context, tree)]


def _if(context: Context, tree: nodes.If) -> Statement:
    test: Expr = typed_tree.Constant(BOOLEAN, tree.test.span, False)
    with context.reporting():
        test = condition(context, tree.test, "`if`")
    then = block(context, tree.then)
    otherwise: tuple[Statement, ...] = ()
    if isinstance(tree.otherwise, nodes.If):
        otherwise = (_if(context, tree.otherwise),)
    elif tree.otherwise is not None:
        otherwise = block(context, tree.otherwise)
    return typed_tree.If(test, then, otherwise)


def _let(context: Context, tree: nodes.Let) -> Statement:
    name = tree.name.text
    refuse_shadowing(context, tree.name)
    try:
        value = context.value(tree.value)
        if tree.type is not None:
            value = convert(context, value, type_of_name(tree.type), tree.value, f"`{name}`")
        elif value.type.kind is Kind.NULL:
            value = replace(value, type=ANY)
    except FaultError as fault:
        context.report(fault.diagnostic)
        value = typed_tree.Constant(ANY, tree.value.span, None)
    local = context.define(name, value.type, tree.name.span, secret=is_secret(context, tree.value))
    return typed_tree.Let(local.index, value)


def _assign(context: Context, tree: nodes.Assign) -> Statement:
    target, operator = tree.target, tree.operator.text
    match target:
        case nodes.MapReference():
            return store(context, target, tree)
        case nodes.Name():
            local = context.find_local(target.text)
            if local is None:
                problem = not_assignable(context, target, tree)
                if operator == "=" and problem.code == "BT101":  # report each place once
                    context.define(target.text, ANY, target.span)
                raise FaultError(problem)
            value = context.value(tree.value)
            if operator != "=":
                old = Operand(typed_tree.LocalValue(local.type, target.span, local.index), target)
                value = binary(context, operator[:-1], old, Operand(value, tree.value), tree.span)
            value = convert(context, value, local.type, tree.value, f"`{target.text}`", local.span)
            return typed_tree.Let(local.index, value)
        case nodes.TargetVariable():
            raise fault(
                "BT403",
                "target variables are read-only",
                Label(target.span, "belongs to the traced program"),
                help=(f"keep a value of your own:  let {target.name} = …",),
            )
        case nodes.Field() | nodes.Index():
            raise fault(
                "BT401",
                "the traced program is read-only",
                Label(target.span, "cannot be assigned"),
                help=(_as_map(context, target),),
            )
        case nodes.ScopedVariable():
            return scoped_assign(context, target, tree)
        case _:
            raise fault("BT401", "this cannot be assigned", Label(target.span))


def _expression_statement(context: Context, value: nodes.Expression) -> list[Statement]:
    if isinstance(value, nodes.Call):
        name = value.function.text
        if name in context.functions:
            expansion = inline(context, value, is_statement=True)
            if expansion.value is None or has_effect(context.functions[name]):
                return [typed_tree.Evaluate(expansion)]
        function = FUNCTIONS.get(name)
        if function is not None and function.statement:
            return _statement_call(context, function, value)
    context.value(value)
    raise fault(
        "BT206",
        "this statement has no effect",
        Label(value.span, "its value is not used"),
        help=(f"print({value.span.text})",) if len(value.span.text) < 40 else (),
    )


def _statement_call(context: Context, function: Function, call: nodes.Call) -> list[Statement]:
    match function.name:
        case "print" | "warn":
            return [print_values(context, call)]
        case "printf":
            return [print_format(context, call)]
        case "plot":
            return [plot(context, call)]
        case "table":
            return [table(context, call)]
        case "emit":
            return [emit_event(context, call)]
        case "span":
            return [span(context, call)]
        case "jfr":
            return [write_event(context, call)]
        case "exit":
            signatures = (Signature((Parameter("code", INT, 0),)),)
            (code,) = match_arguments(context, call, "exit", function.synopsis, signatures)[0]
            zero = typed_tree.Constant(INT, call.span, 0)
            value = zero if code is None else convert(context, context.value(code), INT, code, "`code`")
            template = context.template(call.span, TemplateKind.EXIT)
            return [typed_tree.ExitSession(template, value)]
        case "print_threads" | "print_deadlocks" | "print_properties" | "print_environment":
            return [_print_facts(context, function, call)]
        case "heap_dump":
            return [_heap_dump(context, function, call)]
        case "send":
            return [_send(context, function, call)]
        case "speculate" | "commit" | "discard":
            return [speculation(context, call)]
        case "clear_thread" | "clear_state":
            return [_forget(context, function, call)]
        case name if name in FLOW_CHANGES:
            match_arguments(context, call, function.name, function.synopsis, function.signatures)
            return [flow_change(context, function, call)]
        case "clear":
            reference = whole_map(context, call, function)
            return [typed_tree.MapClear(find_map(context, reference).id)]
        case "disable":
            match_arguments(context, call, function.name, function.synopsis, (Signature(()),))
            return [typed_tree.Disable()]
        case "provide":
            return provide(context, call)
        case "static_check":
            check_static(context, call)
            return []
        case _:  # skip
            match_arguments(context, call, function.name, function.synopsis, (Signature(()),))
            if context.frame is not None and not context.frame.is_statement:
                raise fault(
                    "BT108",
                    "`skip` cannot end the firing here",
                    Label(call.span, "this call stands inside an expression"),
                    help=("return a value, and write `if … { skip() }` in the probe",),
                )
            return [typed_tree.Stop()]


def _send(context: Context, function: Function, call: nodes.Call) -> Statement:
    signatures = (Signature((Parameter("event", STRING),)),)
    (event,) = match_arguments(context, call, function.name, function.synopsis, signatures)[0]
    if not isinstance(event, nodes.Literal) or not isinstance(event.value, str):
        span = call.span if event is None else event.span
        raise fault("BT107", "the name of an event must be a constant string", Label(span), help=('send("name")',))
    return typed_tree.Send(event.value)


def _print_facts(context: Context, function: Function, call: nodes.Call) -> Statement:
    check_place(context, function, call.function.span)
    (argument,) = function_arguments(context, call, function)
    first, second = Slot(0, STRING), Slot(1, STACK if argument.type is INT else STRING)
    parts = (first, " = ", second) if function.redacts else (first, "\n", second)
    return typed_tree.PrintFacts(function.name, context.template(call.span, TemplateKind.PRINT, parts), argument)


def _forget(context: Context, function: Function, call: nodes.Call) -> Statement:
    signatures = function.signatures or (Signature(()),)
    arguments = match_arguments(context, call, function.name, function.synopsis, signatures)[0]
    return (
        typed_tree.StateClear(stateful(context, call.arguments[0].value))
        if arguments
        else clear_thread(context, call.span)
    )


_DUMP = re.compile(r"/(?!.*(?:^|/)\.\.?(?:/|$)).+\.hprof")


def _heap_dump(context: Context, function: Function, call: nodes.Call) -> Statement:
    check_place(context, function, call.function.span)
    file, live = function_arguments(context, call, function)
    name = file.value if isinstance(file, typed_tree.Constant) else None
    if not isinstance(name, str) or not _DUMP.fullmatch(name):
        raise fault(
            "BT107",
            "the file of a heap dump must be a constant, absolute path that ends in .hprof",
            Label(file.span),
            help=('heap_dump("/tmp/shop.hprof")',),
            notes=("an existing file is never overwritten",),
        )
    return typed_tree.HeapDump(name, live)


def _as_map(context: Context, target: nodes.Field | nodes.Index) -> str:
    """The help for an assignment to an element of a value: how a script keeps values in a map."""
    match target:
        case nodes.Index(target=nodes.Name(text=name), index=key) if not is_known(context, name):
            return f"write an @ before the name of a map:  @{name}[{key.span.text}] = …"
        case nodes.Index(target=nodes.MapReference(keys=keys) as first, index=key) if keys:
            keys_text = ", ".join(part.span.text for part in (*keys, key))
            return f"write all keys in one pair of brackets:  @{first.name}[{keys_text}] = …"
        case _:
            return "keep values in a map:  @name[key] = …"
