"""The body of one probe → a typed tree, against the shape of one traced method or, before any class is known, against
none.

Without a shape everything that depends on the method is ANY (or what the probe's parameters declare), so whatever is
wrong then is wrong in every method. Both runs walk the same code in the same order; that is why the templates of a
body can be fixed in the first and counted off in the second.

How types meet:

- Numbers widen INT → LONG → DOUBLE. CHAR counts as INT. BOOLEAN never mixes with numbers.
- DURATION and BYTES keep their unit: a literal needs one (0 does not), an INT has none, a LONG counts as nanoseconds or
  bytes.
- A value of unknown type (ANY, or an object that may be a boxed number) makes the operation dynamic, on boxed operands.
- Null in arithmetic, ordering or a condition is an error of the probe when it fires, not of the script; ``==``, ``??``,
  navigation and the string predicates take it (docs/language.md, Types and null).

A fault ends the statement it is in, so that it is reported once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from btpy.lang import program, syntax
from btpy.lang.attachments import Report, not_compiled
from btpy.lang.builtins import (
    AGGREGATIONS,
    FUNCTIONS,
    INSTANCE_OF,
    LOCALS,
    OFF_TARGET,
    ORDERS,
    PRINT_MAP_OPTIONS,
    READABLE_KINDS,
    UNITS,
    VARIABLES,
    Function,
    Parameter,
    Place,
    Signature,
    Variable,
)
from btpy.lang.diagnostics import Diagnostic, Label, Severity, did_you_mean, quote
from btpy.lang.program import (
    Ambient,
    Entry,
    Expr,
    Input,
    InputKind,
    Map,
    MapKind,
    OperationShape,
    Point,
    Shape,
    SiteFact,
    Slot,
    Statement,
    TemplateKind,
)
from btpy.lang.secrets import REDACTED, names_secret
from btpy.lang.source import Span
from btpy.lang.types import (
    ANY,
    BOOLEAN,
    BYTES,
    CHAR,
    DOUBLE,
    DURATION,
    INT,
    LONG,
    NULL,
    OBJECT,
    STRING,
    VOID,
    Kind,
    Type,
    array_of,
)

_OBJECT = "Ljava/lang/Object;"

ALL = ("args", "targs")
"""Variables that stand for many values: they can be printed, and indexed with a constant."""

_WITH_EXCEPTION = (Point.THROW, Point.CALL_THROW, Point.RAISE, Point.CATCH)
_THROWS = (Point.THROW, Point.CALL_THROW)

# What arrays take, for `size`: where references and class pointers are compressed (heaps below 32 GB).
_ARRAY_HEADER = 16
_ALIGNMENT = 8
_REFERENCE = 4

NewTemplate = Callable[
    [TemplateKind, "tuple[str | Slot, ...]", str, "int | None", "tuple[tuple[str, object], ...]"], int
]
"""Gives the id of the next template of the probe: makes it in the check, counts it off when binding."""


@dataclass(frozen=True, slots=True)
class Body:
    """What elaboration gives. ``samples``: type of each value that goes into a map, by map id, in order."""

    inputs: tuple[Input, ...]
    entries: tuple[Entry, ...]
    predicate: Expr | None
    statements: tuple[Statement, ...]
    locals_: tuple[str, ...]
    samples: tuple[tuple[int, Type], ...]


class _FaultError(Exception):
    """Ends the elaboration of a statement."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


@dataclass(frozen=True, slots=True)
class _Local:
    index: int
    type: Type
    span: Span


def type_of_name(name: syntax.TypeName) -> Type:
    """The type that a script names. A class without a package may be any class of that name, so it is a plain
    object."""
    base = _NAMED_TYPES.get(name.name)
    if base is None:
        base = Type(Kind.OBJECT, class_name=name.name) if "." in name.name else OBJECT
    for _ in range(name.dimensions):
        base = array_of(base)
    return base.or_null() if name.nullable else base


_NAMED_TYPES = {
    "boolean": BOOLEAN,
    "char": CHAR,
    "byte": INT,
    "short": INT,
    "int": INT,
    "long": LONG,
    "float": DOUBLE,
    "double": DOUBLE,
    "duration": DURATION,
    "bytes": BYTES,
    "string": STRING,
    "String": STRING,
    "java.lang.String": STRING,
    "object": OBJECT,
    "Object": OBJECT,
    "java.lang.Object": OBJECT,
}

_VERBS = {
    "+": "add {0} and {1}",
    "-": "subtract {1} from {0}",
    "*": "multiply {0} by {1}",
    "/": "divide {0} by {1}",
    "%": "divide {0} by {1}",
}
_IN_METHODS = "known where a traced method runs"
_VALUE_OF_OPERATION = {
    Point.CALL_RETURN: ": what the called method returns",
    Point.FIELD_GET: ": type of the field",
    Point.FIELD_SET: ": type of the field",
    Point.ARRAY_GET: ": type of the elements",
    Point.ARRAY_SET: ": type of the elements",
}
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
_COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">="))
_SHIFTS = frozenset(("<<", ">>", ">>>"))
_BITS = frozenset(("&", "|", "^"))


class Elaborator:
    """One body against one shape. ``places``: where it runs; ``location``: the label that explains the places."""

    def __init__(
        self,
        probe: program.Probe,
        places: tuple[Place, ...],
        location: Label | None,
        shape: Shape | None,
        maps: dict[str, Map],
        new_template: NewTemplate,
        report: Report,
    ) -> None:
        self._probe = probe
        self._places = places
        self._location = location
        self._shape = shape
        self._maps = maps
        self._new_template = new_template
        self._report = report
        self._inputs: list[Input] = []
        self._entries: list[Entry] = []
        self._entry_texts: dict[str, program.InputValue] = {}
        self._in_entry = False
        self._scopes: list[dict[str, _Local]] = [{}]
        self._locals: list[str] = []
        self._samples: list[tuple[int, Type]] = []

    def run(self, outermost: bool) -> Body:
        predicate: Expr | None = None
        tree = self._probe.tree
        if outermost:
            predicate = self._outermost()
        if tree.when is not None:
            with self._reporting():
                when = self._condition(tree.when, "`when`")
                if predicate is not None:
                    when = program.Logical(BOOLEAN, when.span, "&&", predicate, when)
                predicate = when
        statements = self._block(tree.body)
        return Body(
            tuple(self._inputs),
            tuple(self._entries),
            predicate,
            statements,
            tuple(self._locals),
            tuple(self._samples),
        )

    def exception_input(self) -> None:
        """Makes sure that the exception is handed over, for THROW(type=…)."""
        self._input(InputKind.EXCEPTION, 0, _OBJECT)

    def result_inputs(self) -> tuple[Input, ...]:
        return tuple(self._inputs)

    def _outermost(self) -> Expr:
        span = next(each.span for each in self._probe.tree.annotations if each.name.text == "Outermost")
        depth = program.InputValue(INT, span, self._input(InputKind.DEPTH, 0, "I"))
        return program.Binary(BOOLEAN, span, "==", depth, program.Constant(INT, span, 0))

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except _FaultError as fault:
            self._report(fault.diagnostic)

    # ---------------------------------------------------------------- statements

    def _block(self, block: syntax.Block) -> tuple[Statement, ...]:
        self._scopes.append({})
        statements: list[Statement] = []
        for tree in block.statements:
            with self._reporting():
                statements += self._statement(tree)
        self._scopes.pop()
        return tuple(statements)

    def _statement(self, tree: syntax.Statement) -> list[Statement]:
        match tree:
            case syntax.ExpressionStatement(value=value):
                return self._expression_statement(value)
            case syntax.Assign():
                return [self._assign(tree)]
            case syntax.Step():
                one = syntax.Literal(tree.operator.span, syntax.LiteralKind.INTEGER, 1)
                operator = syntax.Identifier(tree.operator.span, tree.operator.text[0] + "=")
                return [self._assign(syntax.Assign(tree.span, tree.target, operator, one))]
            case syntax.Let():
                return [self._let(tree)]
            case syntax.If():
                return [self._if(tree)]
            case syntax.Delete():
                found, keys = self._map(tree.map)
                return [program.MapDelete(found.id, keys)]
            case syntax.Return():
                if tree.value is not None:
                    raise _FaultError(
                        Diagnostic(
                            "BT108",
                            "a probe returns nothing",
                            Label(tree.value.span, "unexpected"),
                            help=("`return` alone ends this firing",),
                        )
                    )
                return [program.Stop()]
            case syntax.For():
                raise _FaultError(not_compiled("`for`", Span(tree.span.source, tree.span.start, tree.span.start + 3)))

    def _if(self, tree: syntax.If) -> Statement:
        test: Expr = program.Constant(BOOLEAN, tree.test.span, False)
        with self._reporting():
            test = self._condition(tree.test, "`if`")
        then = self._block(tree.then)
        otherwise: tuple[Statement, ...] = ()
        if isinstance(tree.otherwise, syntax.If):
            otherwise = (self._if(tree.otherwise),)
        elif tree.otherwise is not None:
            otherwise = self._block(tree.otherwise)
        return program.If(test, then, otherwise)

    def _let(self, tree: syntax.Let) -> Statement:
        name = tree.name.text
        self._refuse_shadowing(tree.name)
        try:
            value = self._value(tree.value)
            if tree.type is not None:
                value = self._convert(value, type_of_name(tree.type), tree.value, f"`{name}`")
            elif value.type.kind is Kind.NULL:
                value = replace(value, type=ANY)
        except _FaultError as fault:
            self._report(fault.diagnostic)
            value = program.Constant(ANY, tree.value.span, None)
        local = _Local(len(self._locals), value.type, tree.name.span)
        self._locals.append(value.type.slot)
        self._scopes[-1][name] = local
        return program.Let(local.index, value)

    def _refuse_shadowing(self, name: syntax.Identifier) -> None:
        text = name.text
        local = self._find_local(text)
        formal = next((each for each in self._probe.formals or () if each.name == text), None)
        if local is None and formal is None and text not in VARIABLES and not _ARGUMENT.fullmatch(text):
            return
        first = local.span if local is not None else formal.span if formal is not None else None
        raise _FaultError(
            Diagnostic(
                "BT102",
                f"`{text}` is already defined",
                Label(name.span, "the second definition" if first else "a built-in name"),
                (Label(first, "the first"),) if first else (),
                help=("take another name",),
            )
        )

    def _find_local(self, name: str) -> _Local | None:
        return next((scope[name] for scope in reversed(self._scopes) if name in scope), None)

    def _assign(self, tree: syntax.Assign) -> Statement:
        target, operator = tree.target, tree.operator.text
        match target:
            case syntax.MapReference():
                return self._store(target, tree)
            case syntax.Name():
                local = self._find_local(target.text)
                if local is None:
                    raise _FaultError(self._not_assignable(target, tree))
                value = self._value(tree.value)
                if operator != "=":
                    old = program.LocalValue(local.type, target.span, local.index)
                    value = self._binary(operator[:-1], tree.operator, old, value, target, tree.value, tree.span)
                value = self._convert(value, local.type, tree.value, f"`{target.text}`", local.span)
                return program.Let(local.index, value)
            case syntax.TargetVariable():
                raise _FaultError(
                    Diagnostic(
                        "BT403",
                        "target variables are read-only",
                        Label(target.span, "belongs to the traced program"),
                        help=(f"keep a value of your own:  let {target.name} = …",),
                    )
                )
            case syntax.Field() | syntax.Index():
                raise _FaultError(
                    Diagnostic(
                        "BT401",
                        "the traced program is read-only",
                        Label(target.span, "cannot be assigned"),
                        help=("keep values in a map:  @name[key] = …",),
                    )
                )
            case syntax.ThreadVariable():
                raise _FaultError(not_compiled("`thread`", target.span))
            case _:
                raise _FaultError(Diagnostic("BT401", "this cannot be assigned", Label(target.span)))

    def _not_assignable(self, target: syntax.Name, tree: syntax.Assign) -> Diagnostic:
        known = target.text in VARIABLES or any(each.name == target.text for each in self._probe.formals or ())
        if known or _ARGUMENT.fullmatch(target.text):
            return Diagnostic(
                "BT401",
                f"`{target.text}` is read-only",
                Label(target.span),
                help=("keep a value of your own:  let x = …",),
            )
        help_ = did_you_mean(target.text, [name for scope in self._scopes for name in scope])
        if tree.operator.text == "=":
            help_ = (*help_, f"a new variable is made by:  let {target.text} = …", f"a map by:  @{target.text} = …")
        return Diagnostic("BT101", f"unknown name `{target.text}`", Label(target.span, "not defined here"), help=help_)

    def _store(self, target: syntax.MapReference, tree: syntax.Assign) -> Statement:
        found, keys = self._map(target)
        operator = tree.operator.text
        value = tree.value
        if operator == "=" and isinstance(value, syntax.Call) and value.function.text in AGGREGATIONS:
            return self._aggregate(found, keys, value)
        typed = self._value(value)
        self._samples.append((found.id, typed.type))
        if operator == "=":
            return program.MapStore(found.id, keys, _boxed(typed))
        if not self._may_be_number(typed.type) and not (operator == "+=" and typed.type.kind is Kind.STRING):
            raise _FaultError(self._mistyped(typed, value, f"`{operator}` needs a number, not {_name(typed.type)}"))
        return program.MapAdd(found.id, keys, operator, _boxed(typed))

    def _aggregate(self, found: Map, keys: tuple[Expr, ...], call: syntax.Call) -> Statement:
        rule = AGGREGATIONS[call.function.text]
        if not rule.compiled:
            raise _FaultError(not_compiled(f"`{rule.name}()`", call.function.span))
        parameters = [Parameter("value", ANY)] if rule.sampled else []
        if rule.kind is MapKind.HIST:
            parameters.append(Parameter("k", INT, 2))
        arguments = self._arguments(call, rule.name, rule.synopsis, (Signature(tuple(parameters)),))[0]
        if not rule.sampled or arguments[0] is None:
            self._samples.append((found.id, LONG))
            return program.Aggregate(found.id, keys, None)
        value = self._value(arguments[0])
        if not self._may_be_number(value.type):
            raise _FaultError(
                self._mistyped(value, arguments[0], f"`{rule.name}` takes numbers, not {_name(value.type)}")
            )
        self._samples.append((found.id, value.type))
        if not value.type.is_reference and value.type.kind is not Kind.DOUBLE:
            value = _widen(value, LONG)
        return program.Aggregate(found.id, keys, value)

    def _expression_statement(self, value: syntax.Expression) -> list[Statement]:
        if isinstance(value, syntax.Call):
            name = value.function.text
            function = FUNCTIONS.get(name)
            if function is not None and function.statement:
                if not function.compiled:
                    raise _FaultError(not_compiled(f"`{name}()`", value.function.span))
                return self._statement_call(function, value)
        self._value(value)
        raise _FaultError(
            Diagnostic(
                "BT206",
                "this statement has no effect",
                Label(value.span, "its value is not used"),
                help=(f"print({value.span.text})",) if len(value.span.text) < 40 else (),
            )
        )

    def _statement_call(self, function: Function, call: syntax.Call) -> list[Statement]:
        match function.name:
            case "print":
                return [self._print(call)]
            case "printf":
                return [self._printf(call)]
            case "emit":
                return [self._emit(call)]
            case "exit":
                (code,) = self._arguments(call, "exit", function.synopsis, (Signature((Parameter("code", INT, 0),)),))[
                    0
                ]
                zero = program.Constant(INT, call.span, 0)
                value = zero if code is None else self._convert(self._value(code), INT, code, "`code`")
                template = self._new_template(TemplateKind.EXIT, (), "", None, ())
                return [program.ExitSession(template, value)]
            case "clear":
                reference = self._whole_map(call, function)
                return [program.MapClear(self._find_map(reference).id)]
            case _:  # skip
                self._arguments(call, function.name, function.synopsis, (Signature(()),))
                return [program.Stop()]

    def _whole_map(self, call: syntax.Call, function: Function) -> syntax.MapReference:
        if len(call.arguments) == 1 and isinstance(call.arguments[0].value, syntax.MapReference):
            reference = call.arguments[0].value
            if not reference.keys:
                return reference
            raise _FaultError(
                Diagnostic(
                    "BT108",
                    f"`{function.name}` takes a whole map",
                    Label(reference.span, "one key of it"),
                    help=(
                        f"write {function.name}(@{reference.name})",
                        f"one key is removed by:  delete {reference.span.text}",
                    ),
                )
            )
        raise _FaultError(self._arity(call, function.name, function.synopsis, 1, 1))

    # ---------------------------------------------------------------- output

    def _print(self, call: syntax.Call) -> Statement:
        positional = [argument.value for argument in call.arguments if argument.name is None]
        if len(positional) == 1 and isinstance(positional[0], syntax.MapReference) and not positional[0].keys:
            return self._print_map(call, positional[0])
        record = _Record(self)
        for position, value in enumerate(positional):
            if position:
                record.text(" ")
            record.add(value)
        named = next((argument.name for argument in call.arguments if argument.name is not None), None)
        if named is not None:
            raise _FaultError(
                Diagnostic(
                    "BT107",
                    f"`{named.text}=` goes with a map only",
                    Label(named.span),
                    help=('named values are an event:  emit("name", key=value)',),
                )
            )
        values = record.values
        return program.Emit(self._new_template(TemplateKind.PRINT, record.parts(), "", None, ()), values)

    def _print_map(self, call: syntax.Call, reference: syntax.MapReference) -> Statement:
        found = self._find_map(reference)
        options: list[tuple[str, object]] = []
        for argument in call.arguments:
            if argument.name is None:
                continue
            key, value = argument.name.text, argument.value
            expected = PRINT_MAP_OPTIONS.get(key)
            if expected is None:
                raise _FaultError(
                    Diagnostic(
                        "BT107",
                        f"`print` of a map has no argument `{key}`",
                        Label(argument.name.span),
                        help=did_you_mean(key, PRINT_MAP_OPTIONS),
                        notes=("arguments: " + quote(f"{name}=" for name in PRINT_MAP_OPTIONS),),
                    )
                )
            options.append((key, self._option(found, argument.name, value, expected)))
        template = self._new_template(TemplateKind.MAP, (), "", found.id, tuple(options))
        return program.PrintMap(template, found.id)

    def _option(self, found: Map, key: syntax.Identifier, value: syntax.Expression, expected: str) -> object:
        constant = value.value if isinstance(value, syntax.Literal) else None
        fits = {
            "integer": isinstance(constant, int) and not isinstance(constant, bool) and constant > 0,
            "string": isinstance(constant, str),
            "boolean": isinstance(constant, bool),
            "number": isinstance(constant, int | float) and not isinstance(constant, bool),
        }[expected]
        if not fits:
            raise _FaultError(Diagnostic("BT107", f"`{key.text}` takes a constant {expected}", Label(value.span)))
        known: tuple[str, ...] = {"by": ORDERS[found.kind], "unit": UNITS}.get(key.text, ())
        if known and constant not in known:
            what = (
                f"a `{found.kind.value}` map has no `{constant}`" if key.text == "by" else f"unknown unit `{constant}`"
            )
            raise _FaultError(
                Diagnostic(
                    "BT107", what, Label(value.span), help=did_you_mean(str(constant), known), notes=(quote(known, 20),)
                )
            )
        return constant

    def _printf(self, call: syntax.Call) -> Statement:
        arguments = call.arguments
        first = arguments[0].value if arguments else None
        if not isinstance(first, syntax.Literal) or not isinstance(first.value, str):
            raise _FaultError(
                Diagnostic(
                    "BT103",
                    "`printf` needs a format",
                    Label(call.function.span if first is None else first.span, "a string in quotes comes first"),
                    help=('printf("%s took %d ms", method, duration / 1ms)', 'print(f"…{value}…") needs no format'),
                )
            )
        named = next((argument for argument in arguments if argument.name is not None), None)
        if named is not None:
            raise _FaultError(Diagnostic("BT107", "`printf` has no named arguments", Label(named.span)))
        conversions = [piece for piece in _split_printf(first.value) if piece.startswith("%") and piece != "%%"]
        given = arguments[1:]
        if len(conversions) != len(given):
            raise _FaultError(
                Diagnostic(
                    "BT103",
                    f"this format takes {_count(len(conversions), 'value')} but {len(given)} {_were(len(given))} given",
                    Label(first.span, quote(conversions) or "no conversion"),
                    tuple(Label(argument.span, "unexpected") for argument in given[len(conversions) :]),
                )
            )
        record = _Record(self)
        values = iter(given)
        text = first.value.removesuffix("\n")  # every record is a line
        for piece in _split_printf(text):
            if piece == "%%":
                record.text("%")
            elif piece.startswith("%"):
                if not _CONVERSION.fullmatch(piece):
                    raise _FaultError(
                        Diagnostic(
                            "BT207",
                            f"unknown conversion `{piece}`",
                            Label(first.span),
                            notes=("conversions: %d %u %x %o %s %c %e %f %g %b %%, with flags, width and precision",),
                        )
                    )
                record.converted(next(values).value, piece)
            else:
                record.text(piece)
        shipped = record.values
        return program.Emit(self._new_template(TemplateKind.PRINT, record.parts(), "", None, ()), shipped)

    def _emit(self, call: syntax.Call) -> Statement:
        arguments = call.arguments
        first = arguments[0] if arguments else None
        if first is None or first.name is not None:
            raise _FaultError(self._emit_needs(call.function.span))
        kind = first.value
        if not isinstance(kind, syntax.Literal) or not isinstance(kind.value, str):
            raise _FaultError(self._emit_needs(kind.span))
        record = _Record(self)
        labels: dict[str, Span] = {}
        for argument in arguments[1:]:
            if argument.name is None:
                name = argument.value.span.text
                suggestion = f"{name}={name}" if name.isidentifier() else f"name={name}"
                raise _FaultError(
                    Diagnostic(
                        "BT107", "values of an event have names", Label(argument.span), help=(f"write {suggestion}",)
                    )
                )
            label = argument.name.text
            if label in labels:
                raise _FaultError(
                    Diagnostic(
                        "BT102",
                        f"`{label}` is given twice",
                        Label(argument.name.span, "again here"),
                        (Label(labels[label], "first here"),),
                    )
                )
            labels[label] = argument.name.span
            record.labelled(argument.value, label)
        values = record.values
        return program.Emit(self._new_template(TemplateKind.EMIT, record.parts(), kind.value, None, ()), values)

    def _emit_needs(self, span: Span) -> Diagnostic:
        return Diagnostic(
            "BT103",
            "`emit` needs the kind of the event first",
            Label(span, "a string in quotes"),
            help=('emit("slow", took=duration)',),
        )

    def _all(self, name: str, span: Span) -> tuple[Expr, ...]:
        """Every argument, for ``print(args)`` and ``print(targs)``; none are known before a method is."""
        if self._shape is None:
            return ()
        if name == "args":
            return tuple(self._argument(index, span) for index in range(len(self._shape.parameters)))
        count = len(self._offered(name).arguments)
        return tuple(self._call_argument(index, span) for index in range(count))

    def _live(self, call: syntax.Call) -> tuple[Expr, ...]:
        """Name and value of every live local variable, for ``print(locals())``."""
        self._arguments(call, LOCALS, FUNCTIONS[LOCALS].synopsis, (Signature(()),))
        missing = [place for place in self._places if place is not Place.LINE]
        if missing and self._shape is None:
            raise _FaultError(self._absent("locals()", missing[0], call.function.span, "known at LINE"))
        pairs: list[Expr] = []
        for index, variable in enumerate(self._shape.variables if self._shape is not None else ()):
            pairs.append(program.Constant(STRING, call.span, variable.name))
            if names_secret(variable.name):
                pairs.append(program.Constant(STRING, call.span, REDACTED))
            else:
                pairs.append(self._frame_variable(index, call.span))
        return tuple(pairs)

    def _check_conversion(self, conversion: str, value: Expr, tree: syntax.Expression) -> None:
        letter = conversion[-1]
        number = letter in "duxXoefgEG"
        fits = not number or self._may_be_number(value.type)
        if letter in "duxXo":
            fits = fits and value.type.kind is not Kind.DOUBLE
        if not fits:
            raise _FaultError(self._mistyped(value, tree, f"`{conversion}` does not show {_article(value.type)}"))

    # ---------------------------------------------------------------- maps

    def _find_map(self, reference: syntax.MapReference) -> Map:
        found = self._maps.get(reference.name)
        if found is None:
            raise _FaultError(
                Diagnostic(
                    "BT109",
                    f"unknown map `@{reference.name}`",
                    Label(reference.name_span, "never assigned"),
                    help=did_you_mean(f"@{reference.name}", [f"@{name}" for name in self._maps]),
                    notes=("maps: " + quote(f"@{name}" for name in self._maps),) if self._maps else (),
                )
            )
        return found

    def _map(self, reference: syntax.MapReference) -> tuple[Map, tuple[Expr, ...]]:
        found = self._find_map(reference)
        return found, tuple(self._key(key) for key in reference.keys)

    def _key(self, tree: syntax.Expression) -> Expr:
        value = self._value(tree)
        kind = value.type.kind
        if value.type.is_reference:
            return replace(value, type=ANY) if kind is Kind.NULL else value
        if kind is Kind.CHAR:
            return program.Convert(ANY, value.span, value)
        return _widen(value, LONG) if kind is Kind.INT else value

    # ---------------------------------------------------------------- expressions

    def _condition(self, tree: syntax.Expression, where: str) -> Expr:
        return self._convert(self._value(tree), BOOLEAN, tree, where)

    def _value(self, tree: syntax.Expression) -> Expr:
        """The typed expression; never of type VOID."""
        span = tree.span
        match tree:
            case syntax.Literal():
                return _literal(tree)
            case syntax.FormattedString():
                return self._text(tree)
            case syntax.Name():
                return self._name(tree)
            case syntax.TargetVariable():
                return self._target_variable(tree)
            case syntax.MapReference():
                return self._map_value(tree)
            case syntax.Call():
                return self._call(tree)
            case syntax.Field():
                return self._field(tree)
            case syntax.Index():
                return self._index(tree)
            case syntax.Prefix():
                return self._prefix(tree)
            case syntax.Binary():
                return self._operation(tree)
            case syntax.Conditional():
                test = self._condition(tree.test, "`?`")
                then, otherwise = self._value(tree.then), self._value(tree.otherwise)
                joined, left, right = self._join(then, otherwise, tree.then, tree.otherwise)
                return program.Conditional(joined, span, test, left, right)
            case syntax.InstanceOf():
                return self._instance_of(tree)
            case syntax.Membership():
                return self._membership(tree)
            case syntax.MethodCall():
                raise _FaultError(self._method_call(tree))
            case syntax.ThreadVariable():
                raise _FaultError(not_compiled("`thread`", span))
            case syntax.Cast():
                raise _FaultError(not_compiled("`as`", tree.type.span))
            case syntax.Quantified():
                raise _FaultError(not_compiled(f"`{tree.quantifier.text}()`", tree.quantifier.span))
            case syntax.ListDisplay():
                raise _FaultError(
                    Diagnostic("BT108", "a list can stand only after `in`", Label(span), help=("write x in [1, 2, 3]",))
                )
            case syntax.Range():
                raise _FaultError(Diagnostic("BT108", "only LINE takes a range", Label(span, "not one value")))

    def _text(self, tree: syntax.FormattedString) -> Expr:
        parts: list[str | Expr] = []
        for part in tree.parts:
            if isinstance(part, str):
                parts.append(part)
                continue
            if part.format:
                raise _FaultError(not_compiled("a format in an f-string that is not printed", part.span))
            parts.append(self._value(part.value))
        if all(isinstance(part, str) for part in parts):
            return program.Constant(STRING, tree.span, "".join(str(part) for part in parts))
        return program.Text(STRING, tree.span, tuple(parts))

    # ---- names

    def _name(self, tree: syntax.Name) -> Expr:
        name, span = tree.text, tree.span
        local = self._find_local(name)
        if local is not None:
            if self._in_entry:
                raise _FaultError(
                    Diagnostic(
                        "BT105",
                        f"`{name}` does not exist at entry",
                        Label(span, "a variable of the body"),
                        (Label(local.span, "defined here"),),
                    )
                )
            return program.LocalValue(local.type, span, local.index)
        for index, formal in enumerate(self._probe.formals or ()):
            if formal.name == name:
                return self._argument(index, span)
        argument = _ARGUMENT.fullmatch(name)
        if argument is not None and len(name) < 7:
            self._require_method(name, span)
            return self._argument(int(argument.group(1)), span)
        variable = VARIABLES.get(name)
        if variable is None:
            raise _FaultError(self._unknown(tree))
        self._require(variable, span)
        if not variable.compiled:
            raise _FaultError(not_compiled(f"`{name}`", span))
        return self._variable(variable, span)

    def _variable(self, variable: Variable, span: Span) -> Expr:
        shape = self._shape
        if isinstance(variable.source, Ambient):
            return program.AmbientValue(variable.type, span, variable.source)
        if variable.source is SiteFact.PROBE:
            return program.Constant(STRING, span, self._probe.name)
        if variable.source is not None:
            return program.SiteValue(variable.type, span, variable.source)
        match variable.name:
            case "self":
                if shape is not None and shape.static:
                    return program.Constant(OBJECT, span, None)
                self_type = shape.self_type if shape is not None else OBJECT
                return program.InputValue(self_type, span, self._input(InputKind.SELF, 0, _OBJECT))
            case "retval":
                return self._retval(span)
            case "exception":
                if shape is not None and shape.point not in _WITH_EXCEPTION:
                    return program.Constant(OBJECT, span, None)
                return program.InputValue(OBJECT, span, self._input(InputKind.EXCEPTION, 0, _OBJECT))
            case "duration":
                return program.InputValue(DURATION, span, self._input(InputKind.DURATION, 0, "J"))
            case "depth":
                return program.InputValue(INT, span, self._input(InputKind.DEPTH, 0, "I"))
            case "target" | "lock":
                type_ = OBJECT if shape is None else self._offered(variable.name).target
                if type_ is None:
                    return program.Constant(OBJECT, span, None)
                return program.InputValue(type_, span, self._input(InputKind.TARGET, 0, _OBJECT))
            case "oldval":
                return self._operand(InputKind.OLD_VALUE, variable.name, span)
            case "newval":
                return self._operand(InputKind.NEW_VALUE, variable.name, span)
            case "index":
                return program.InputValue(INT, span, self._input(InputKind.INDEX, 0, "I"))
            case "length":
                return self._length(0, span)
            case "size":
                return self._size(span)
            case _:  # args, targs
                raise _FaultError(
                    Diagnostic(
                        "BT108",
                        f"`{variable.name}` is all arguments, not one value",
                        Label(span),
                        help=("print(args) and args[0] work; one argument is arg0, arg1, … or $name",)
                        if variable.name == "args"
                        else ("print(targs) and targs[0] work",),
                    )
                )

    def _retval(self, span: Span) -> Expr:
        shape = self._shape
        if shape is None:
            return program.InputValue(ANY, span, self._input(InputKind.RETVAL, 0, _OBJECT))
        returns, descriptor = shape.returns, shape.return_descriptor
        if shape.operation is not None:
            returns, descriptor = shape.operation.value or VOID, shape.operation.value_descriptor
        if returns.kind is Kind.VOID:
            called = "called " if shape.operation is not None else ""
            raise _FaultError(
                Diagnostic(
                    "BT205",
                    f"`retval` does not exist: the {called}method returns nothing",
                    Label(span, "of a void method"),
                    help=(f'match only {called}methods that return something:  type="int (..)"',),
                )
            )
        if shape.point in _THROWS:
            return program.Constant(returns if returns.is_reference else ANY, span, None)
        return program.InputValue(returns, span, self._input(InputKind.RETVAL, 0, descriptor))

    # ---- what the operation at a point inside the method offers

    def _offered(self, name: str) -> OperationShape:
        assert self._shape is not None
        if self._shape.operation is None:
            raise ValueError(f"`{name}` at {self._shape.point.value} of a shape without an operation")
        return self._shape.operation

    def _operand(self, kind: InputKind, name: str, span: Span) -> Expr:
        """``oldval`` and ``newval``."""
        if self._shape is None:
            return program.InputValue(ANY, span, self._input(kind, 0, _OBJECT))
        operation = self._offered(name)
        return program.InputValue(operation.value or ANY, span, self._input(kind, 0, operation.value_descriptor))

    def _call_argument(self, index: int, span: Span) -> Expr:
        if self._shape is None:
            return program.InputValue(ANY, span, self._input(InputKind.TARGET_ARG, index, _OBJECT))
        operation = self._offered("targs")
        count = len(operation.arguments)
        if index >= count:
            raise _FaultError(
                Diagnostic(
                    "BT112",
                    f"the called method has no argument {index}",
                    Label(span),
                    notes=("it has no parameters",)
                    if count == 0
                    else (f"it has {_count(count, 'parameter')}: targs[0] … targs[{count - 1}]",),
                )
            )
        return program.InputValue(
            operation.arguments[index],
            span,
            self._input(InputKind.TARGET_ARG, index, operation.argument_descriptors[index]),
        )

    def _length(self, dimension: int, span: Span) -> Expr:
        return program.InputValue(INT, span, self._input(InputKind.LENGTH, dimension, "I"))

    def _size(self, span: Span) -> Expr:
        """Bytes of a new array and of the arrays in it.

        Of each dimension: how many arrays × (header + length × element, rounded up). The elements of all dimensions
        but the last one that was given a length are references.
        """
        dimensions, element = 1, 1
        if self._shape is not None:
            operation = self._offered("size")
            dimensions, element = operation.dimensions, operation.element_size

        def number(value: int) -> Expr:
            return program.Constant(LONG, span, value)

        def binary(operator: str, left: Expr, right: Expr) -> Expr:
            return program.Binary(LONG, span, operator, left, right)

        total: Expr | None = None
        arrays: Expr | None = None
        for dimension in range(dimensions):
            last = dimension == dimensions - 1
            length = _widen(self._length(dimension, span), LONG)
            content = binary("*", length, number(element if last else _REFERENCE))
            rounded = binary("&", binary("+", content, number(_ARRAY_HEADER + _ALIGNMENT - 1)), number(-_ALIGNMENT))
            bytes_ = rounded if arrays is None else binary("*", arrays, rounded)
            total = bytes_ if total is None else binary("+", total, bytes_)
            arrays = length if arrays is None else binary("*", arrays, length)
        assert total is not None
        return replace(total, type=BYTES)

    def _frame_variable(self, index: int, span: Span) -> Expr:
        assert self._shape is not None
        variable = self._shape.variables[index]
        return program.InputValue(
            variable.type, span, self._input(InputKind.FRAME_VARIABLE, index, variable.descriptor)
        )

    def _target_variable(self, tree: syntax.TargetVariable) -> Expr:
        name, span = tree.name, tree.span
        self._require_method(f"${name}", span)
        for index, formal in enumerate(self._probe.formals or ()):
            if formal.name == name:
                return self._argument(index, span)
        if self._shape is None:
            formals = self._probe.formals
            if formals is not None and not self._probe.open_formals and Place.LINE not in self._places:
                raise _FaultError(
                    Diagnostic(
                        "BT112",
                        f"the traced method has no parameter `{name}`",
                        Label(span),
                        help=did_you_mean(f"${name}", [f"${formal.name}" for formal in formals]),
                        notes=("parameters: " + (quote(f"${formal.name}" for formal in formals) or "none"),),
                    )
                )
            return program.InputValue(ANY, span, self._input(InputKind.ARG, 0, _OBJECT))
        if self._shape.point is Point.LINE and not self._in_entry:
            return self._variable_at_line(self._shape, tree)
        names = self._shape.names
        if name in names:
            return self._argument(names.index(name), span)
        known = [each for each in names if each is not None]
        if not known and names:
            named = ", ".join(f"{each} p{at}" for at, each in enumerate(self._shape.parameters))
            raise _FaultError(
                Diagnostic(
                    "BT112",
                    f"the parameters of the traced method have no names, so `${name}` is unknown",
                    Label(span),
                    help=(
                        "use arg0, arg1, …",
                        f"or name them:  probe name({named})",
                    ),
                    notes=("the class was compiled without -g and without -parameters",),
                )
            )
        raise _FaultError(
            Diagnostic(
                "BT112",
                f"the traced method has no parameter `{name}`",
                Label(span),
                help=did_you_mean(f"${name}", [f"${each}" for each in known]),
                notes=("parameters: " + (quote(f"${each}" for each in known) or "none"),),
            )
        )

    def _variable_at_line(self, shape: Shape, tree: syntax.TargetVariable) -> Expr:
        """A live variable has its present value; a parameter whose variable is unknown the one it had at entry; a
        variable of the method that is not live here is null."""
        name, span = tree.name, tree.span
        live = [variable.name for variable in shape.variables]
        if name in live:
            return self._frame_variable(live.index(name), span)
        if name in shape.names:
            return self._argument(shape.names.index(name), span)
        if name in shape.absent_variables:
            return program.Constant(ANY, span, None)
        known = sorted({*live, *shape.absent_variables, *(each for each in shape.names if each is not None)})
        if known:
            notes: tuple[str, ...] = ("variables: " + quote(f"${each}" for each in known),)
        else:
            notes = ("the class was compiled without -g: its variables have no names",)
        raise _FaultError(
            Diagnostic(
                "BT112",
                f"the traced method has no variable `{name}`",
                Label(span),
                help=did_you_mean(f"${name}", [f"${each}" for each in known]),
                notes=notes,
            )
        )

    def _argument(self, index: int, span: Span) -> Expr:
        shape = self._shape
        if shape is None:
            formals = self._probe.formals
            if formals is not None and index >= len(formals) and not self._probe.open_formals:
                raise _FaultError(self._no_argument(index, span, len(formals)))
            declared = self._declared(index)
            return program.InputValue(declared, span, self._input(InputKind.ARG, index, _OBJECT))
        if index >= len(shape.parameters):
            raise _FaultError(self._no_argument(index, span, len(shape.parameters)))
        return program.InputValue(
            shape.parameters[index], span, self._input(InputKind.ARG, index, shape.descriptors[index])
        )

    def _declared(self, index: int) -> Type:
        formals = self._probe.tree.formals or ()
        return type_of_name(formals[index].type) if index < len(formals) else ANY

    def _no_argument(self, index: int, span: Span, count: int) -> Diagnostic:
        return Diagnostic(
            "BT112",
            f"the traced method has no `arg{index}`",
            Label(span),
            notes=("it has no parameters",)
            if count == 0
            else (f"it has {_count(count, 'parameter')}: arg0 … arg{count - 1}",),
        )

    def _input(self, kind: InputKind, index: int, descriptor: str) -> Input:
        wanted = Input(kind, index, descriptor)
        if wanted not in self._inputs:
            self._inputs.append(wanted)
        return wanted

    def _require_method(self, name: str, span: Span) -> None:
        here = [place for place in self._places if place in OFF_TARGET]
        if here:
            raise _FaultError(self._absent(name, here[0], span, _IN_METHODS))

    def _require(self, variable: Variable, span: Span) -> None:
        places = (Place.ENTRY,) if self._in_entry else self._places
        missing = [place for place in places if place not in variable.places]
        if missing and self._shape is None:
            raise _FaultError(
                self._absent(
                    variable.name,
                    missing[0],
                    span,
                    f"known at {variable.known_at}" if variable.known_at else _IN_METHODS,
                )
            )

    def _absent(self, name: str, place: Place, span: Span, known: str) -> Diagnostic:
        if self._in_entry and place is Place.ENTRY:
            return Diagnostic("BT105", f"`{name}` does not exist at entry", Label(span, known))
        help_: tuple[str, ...] = ()
        if place is Place.ENTRY and name in ("duration", "retval", "exception"):
            better = {"duration": "EXIT", "retval": "RETURN", "exception": "THROW"}[name]
            extra = "        (also covers exceptions)" if name == "duration" else ""
            help_ = (
                f"change the location:  location={better}{extra}",
                "a value from entry can be used at exit:  entry(arg0)",
            )
        elif place in (Place.RETURN, Place.THROW) and name in ("retval", "exception"):
            help_ = ("EXIT has both, one of them null:  location=EXIT",)
        elif place is Place.CALL_BEFORE and name in ("duration", "retval", "exception"):
            help_ = ("when the call has ended:  location=CALL(…, when=AFTER)",)
        elif place is Place.SYNC_ENTER_BEFORE and name == "duration":
            help_ = ("when the monitor has been entered:  location=SYNC_ENTER(when=AFTER)",)
        elif (place, name) in _OTHER_NAMES:
            help_ = (f"here it is called `{_OTHER_NAMES[place, name]}`",)
        secondary = (self._location,) if self._location is not None else ()
        return Diagnostic(
            "BT105",
            f"`{name}` does not exist {'in' if place in OFF_TARGET else 'at'} {place.value}",
            Label(span, known),
            secondary,
            help=help_,
        )

    def _unknown(self, tree: syntax.Name) -> Diagnostic:
        here = self._names_here()
        function = FUNCTIONS.get(tree.text)
        help_ = did_you_mean(tree.text, here)
        if function is not None:
            help_ = (f"it is a function:  {function.synopsis}",)
        elif any(name == f"@{tree.text}" for name in (f"@{each}" for each in self._maps)):
            help_ = (f"did you mean `@{tree.text}`?",)
        places = ", ".join(place.value for place in self._places)
        return Diagnostic(
            "BT101",
            f"unknown name `{tree.text}`",
            Label(tree.span, "not defined here"),
            help=help_,
            notes=(f"at {places} you can use: {quote(here, 12)}",),
        )

    def _names_here(self) -> list[str]:
        own = [name for scope in reversed(self._scopes) for name in scope]
        formals = [formal.name for formal in self._probe.formals or ()]
        usable = [
            variable.name
            for variable in VARIABLES.values()
            if variable.compiled and all(place in variable.places for place in self._places)
        ]
        first = [name for name in ("duration", "retval", "exception", "self", "args") if name in usable]
        arguments = ["arg0", "arg1"] if "args" in usable else []
        shape = self._shape
        names = [f"${name}" for name in (shape.names if shape else ()) if name]
        names += [f"${each.name}" for each in (shape.variables if shape else ()) if f"${each.name}" not in names]
        rest = [name for name in usable if name not in first]
        return [*own, *formals, *first, *arguments, *names, *rest]

    def _map_value(self, tree: syntax.MapReference) -> Expr:
        found, keys = self._map(tree)
        if found.keys != len(keys):
            raise _FaultError(
                Diagnostic(
                    "BT204",
                    f"`@{tree.name}` has {_count(found.keys, 'key')}, here {len(keys)}",
                    Label(tree.span),
                    help=(f"all of it is printed by:  print(@{tree.name})",) if not keys else (),
                )
            )
        if found.kind not in READABLE_KINDS:
            raise _FaultError(
                Diagnostic(
                    "BT108",
                    f"a `{found.kind.value}` map has no single value",
                    Label(tree.span, "cannot stand in an expression"),
                    help=(f"print it:  print(@{tree.name})",),
                )
            )
        return program.MapValue(ANY, tree.span, found.id, keys)

    # ---- navigation

    def _field(self, tree: syntax.Field) -> Expr:
        every = self._every(tree.target)
        if every is not None:
            one = "args[0] or arg0" if every.name == "args" else "targs[0]"
            raise _FaultError(self._no_field(tree, f"`{every.name}` has no fields", (f"one argument is {one}",)))
        target = self._value(tree.target)
        kind = target.type.kind
        if kind is Kind.ARRAY and tree.name.text == "length":
            return program.BuiltinCall(INT.or_null(), tree.span, "len", (target,))
        if kind in (Kind.ANY, Kind.OBJECT, Kind.NULL):
            return program.FieldValue(ANY, tree.span, _typed_null(target), tree.name.text)
        help_ = (f"write len({tree.target.span.text})",) if tree.name.text in ("length", "size") else ()
        raise _FaultError(self._no_field(tree, f"{_name(target.type)} has no fields", help_, self._reasons(target)))

    def _every(self, tree: syntax.Expression) -> Variable | None:
        """``args`` or ``targs``, where the expression is one of them."""
        if not isinstance(tree, syntax.Name) or tree.text not in ALL or self._find_local(tree.text) is not None:
            return None
        formal = any(each.name == tree.text for each in self._probe.formals or ())
        return None if formal else VARIABLES[tree.text]

    def _no_field(
        self, tree: syntax.Field, message: str, help_: tuple[str, ...], reasons: tuple[Label, ...] = ()
    ) -> Diagnostic:
        return Diagnostic("BT201", message, Label(tree.name.span), reasons, help=help_)

    def _index(self, tree: syntax.Index) -> Expr:
        every = self._every(tree.target)
        if every is not None:
            self._require(every, tree.target.span)
            index = tree.index
            if isinstance(index, syntax.Literal) and index.kind is syntax.LiteralKind.INTEGER:
                argument = self._argument if every.name == "args" else self._call_argument
                return argument(int(index.value or 0), tree.span)
            raise _FaultError(
                Diagnostic(
                    "BT108",
                    f"`{every.name}` takes a constant index",
                    Label(index.span),
                    help=(f"{every.name}[0]",),
                )
            )
        target = self._value(tree.target)
        if target.type.kind not in (Kind.ANY, Kind.OBJECT, Kind.ARRAY, Kind.NULL):
            help_ = ("one character:  substr(text, 0, 1)",) if target.type.kind is Kind.STRING else ()
            raise _FaultError(
                Diagnostic(
                    "BT201",
                    f"{_name(target.type)} cannot be indexed",
                    Label(tree.target.span),
                    self._reasons(target),
                    help=help_,
                )
            )
        index_value = self._value(tree.index)
        if index_value.type.kind is Kind.STRING:
            raise _FaultError(not_compiled("an index that is a string", tree.index.span))
        element = target.type.element.or_null() if target.type.element is not None else ANY
        index_value = self._convert(index_value, LONG, tree.index, "an index")
        return program.ElementValue(element, tree.span, _typed_null(target), index_value)

    def _method_call(self, tree: syntax.MethodCall) -> Diagnostic:
        method, target = tree.method.text, tree.target.span.text
        target = target if len(target) < 40 else "…"
        help_: list[str] = []
        function = _INSTEAD_OF_METHODS.get(method)
        getter = re.fullmatch(r"(?:get|is)([A-Z])(\w*)", method)
        if function is not None:
            more = "".join(f", {argument.span.text}" for argument in tree.arguments)
            help_.append(f"write {function}({target}{more})")
        elif getter is not None and not tree.arguments:
            field = getter.group(1).lower() + getter.group(2)
            help_.append(f"the value may be a field:  {target}.{field}")
        elif not tree.arguments:
            help_.append(f"the value may be a field:  {target}.{method}")
        return Diagnostic(
            "BT402",
            f"call to target method `{method}()` is not allowed in a probe",
            Label(Span(tree.span.source, tree.method.span.start, tree.span.end), "runs application code"),
            help=tuple(help_),
            notes=("fields are read without running code, private ones too",),
        )

    # ---- calls

    def _call(self, tree: syntax.Call) -> Expr:
        name = tree.function.text
        if name == "entry":
            return self._entry(tree)
        function = FUNCTIONS.get(name)
        if function is None:
            if name in AGGREGATIONS:
                raise _FaultError(
                    Diagnostic(
                        "BT208",
                        f"`{name}` is an aggregation",
                        Label(tree.function.span, "only as the value of a map"),
                        help=(
                            f"write @name = {tree.span.text}"
                            if len(tree.span.text) < 40
                            else f"write @name = {name}(…)",
                        ),
                    )
                )
            raise _FaultError(
                Diagnostic(
                    "BT101",
                    f"unknown function `{name}`",
                    Label(tree.function.span, "not defined"),
                    help=did_you_mean(name, (*FUNCTIONS, *AGGREGATIONS)),
                )
            )
        if not function.compiled:
            raise _FaultError(not_compiled(f"`{name}()`", tree.function.span))
        if name == LOCALS:
            self._live(tree)
            raise _FaultError(
                Diagnostic(
                    "BT108",
                    "`locals()` is all variables, not one value",
                    Label(tree.span),
                    help=("print(locals()) works; one variable is $name",),
                )
            )
        if function.statement:
            raise _FaultError(
                Diagnostic("BT108", f"`{name}` has no value", Label(tree.function.span, "a statement of its own"))
            )
        arguments, signature = self._arguments(tree, name, function.synopsis, function.signatures)
        values: list[Expr] = []
        for argument, parameter in zip(arguments, signature.parameters, strict=True):
            if argument is None:
                values.append(program.Constant(parameter.type, tree.span, parameter.default))
                continue
            value = self._value(argument)
            values.append(self._convert(value, parameter.type, argument, f"`{parameter.name}` of `{name}`"))
        if name == "len" and values[0].type.kind in (Kind.STACK,):
            raise _FaultError(
                self._mistyped(values[0], tree.arguments[0].value, f"{_name(values[0].type)} has no length")
            )
        return program.BuiltinCall(function.result, tree.span, name, tuple(values))

    def _arguments(
        self, call: syntax.Call, name: str, synopsis: str, signatures: tuple[Signature, ...]
    ) -> tuple[list[syntax.Expression | None], Signature]:
        """Arguments in the order of the parameters of the signature that fits, None for defaults."""
        signature = self._signature(call, signatures)
        if signature is None:
            least = min(each.required for each in signatures)
            most = max(len(each.parameters) for each in signatures)
            raise _FaultError(self._arity(call, name, synopsis, least, most))
        given: list[syntax.Expression | None] = [None] * len(signature.parameters)
        names = [parameter.name for parameter in signature.parameters]
        position = 0
        for argument in call.arguments:
            if argument.name is None:
                given[position] = argument.value
                position += 1
                continue
            if argument.name.text not in names:
                raise _FaultError(
                    Diagnostic(
                        "BT107",
                        f"`{name}` has no argument `{argument.name.text}`",
                        Label(argument.name.span),
                        help=did_you_mean(argument.name.text, names),
                        notes=(synopsis,),
                    )
                )
            at = names.index(argument.name.text)
            if given[at] is not None:
                raise _FaultError(Diagnostic("BT102", f"`{argument.name.text}` is given twice", Label(argument.span)))
            given[at] = argument.value
        for value, parameter in zip(given, signature.parameters, strict=True):
            if value is None and parameter.default is None:
                raise _FaultError(self._arity(call, name, synopsis, signature.required, len(names)))
        return given, signature

    def _signature(self, call: syntax.Call, signatures: tuple[Signature, ...]) -> Signature | None:
        count = len(call.arguments)
        fitting = [each for each in signatures if each.required <= count <= len(each.parameters)]
        if len(fitting) > 1 and call.arguments[0].name is None:
            first = self._value(call.arguments[0].value).type
            wanted = [each for each in fitting if each.parameters[0].type.is_reference == self._is_object(first)]
            fitting = wanted or fitting
        return fitting[0] if fitting else None

    def _is_object(self, type_: Type) -> bool:
        return type_.kind in (Kind.OBJECT, Kind.ANY, Kind.NULL, Kind.STRING, Kind.ARRAY, Kind.STACK)

    def _arity(self, call: syntax.Call, name: str, synopsis: str, least: int, most: int) -> Diagnostic:
        given = len(call.arguments)
        takes = f"{least} or {most} arguments" if most == least + 1 else f"{least} to {most} arguments"
        if least == most:
            takes = _count(least, "argument")
        return Diagnostic(
            "BT103",
            f"`{name}` takes {takes} but {given} {_were(given)} given",
            Label(call.function.span, synopsis),
            tuple(Label(argument.span, "unexpected") for argument in call.arguments[most:][:1]),
        )

    def _entry(self, tree: syntax.Call) -> Expr:
        span = tree.span
        if len(tree.arguments) != 1 or tree.arguments[0].name is not None:
            raise _FaultError(self._arity(tree, "entry", FUNCTIONS["entry"].synopsis, 1, 1))
        if self._in_entry:
            raise _FaultError(
                Diagnostic("BT108", "`entry` inside `entry`", Label(tree.function.span, "once is enough"))
            )
        exits = (Place.RETURN, Place.THROW, Place.EXIT)
        missing = [place for place in self._places if place not in exits]
        if missing and self._shape is None:
            raise _FaultError(self._absent("entry(…)", missing[0], tree.function.span, "known at RETURN, THROW, EXIT"))
        text = tree.arguments[0].value.span.text
        if text in self._entry_texts:
            return replace(self._entry_texts[text], span=span)
        outer, self._inputs, self._in_entry = self._inputs, [], True
        try:
            value = self._value(tree.arguments[0].value)
            inputs = tuple(self._inputs)
        finally:
            self._inputs, self._in_entry = outer, False
        value = _typed_null(value)
        entry = Entry(len(self._entries), inputs, value)
        self._entries.append(entry)
        result = program.InputValue(value.type, span, self._input(InputKind.ENTRY, entry.index, value.type.slot))
        self._entry_texts[text] = result
        return result

    def _instance_of(self, tree: syntax.InstanceOf) -> Expr:
        operand = self._value(tree.operand)
        if not operand.type.is_reference:
            raise _FaultError(
                Diagnostic(
                    "BT201",
                    f"{_name(operand.type)} is not an object",
                    Label(tree.operand.span),
                    self._reasons(operand),
                )
            )
        pattern = program.Constant(STRING, tree.type.span, tree.type.name)
        return program.BuiltinCall(BOOLEAN, tree.span, INSTANCE_OF, (_typed_null(operand), pattern))

    def _membership(self, tree: syntax.Membership) -> Expr:
        if not isinstance(tree.container, syntax.ListDisplay):
            raise _FaultError(not_compiled("`in` with anything but a list", tree.container.span))
        result: Expr | None = None
        for element in tree.container.elements:
            if element.name is not None:
                raise _FaultError(Diagnostic("BT107", "elements of a list have no names", Label(element.name.span)))
            same = self._equality(
                "==", self._value(tree.element), self._value(element.value), tree.element, element.value, tree.span
            )
            result = same if result is None else program.Logical(BOOLEAN, tree.span, "||", result, same)
        if result is None:
            raise _FaultError(Diagnostic("BT209", "nothing is in an empty list", Label(tree.container.span)))
        return result

    # ---- operators

    def _prefix(self, tree: syntax.Prefix) -> Expr:
        operator = tree.operator.text
        if operator == "!":
            return program.Unary(BOOLEAN, tree.span, "!", self._condition(tree.operand, "`!`"))
        value = self._value(tree.operand)
        type_ = value.type
        if not self._may_be_number(type_) or (operator == "~" and type_.kind is Kind.DOUBLE):
            raise _FaultError(self._mistyped(value, tree.operand, f"`{operator}` needs a number, not {_name(type_)}"))
        if isinstance(value, program.Constant) and operator == "-" and isinstance(value.value, int | float):
            return replace(value, value=-value.value, span=tree.span)
        value = self._number(value)
        if operator == "+":
            return replace(value, span=tree.span)
        if value.type.is_reference:
            return program.Unary(ANY, tree.span, operator, value)
        if value.type.kind is Kind.CHAR:
            value = program.Convert(INT, value.span, value)
        return program.Unary(value.type, tree.span, operator, value)

    def _operation(self, tree: syntax.Binary) -> Expr:
        operator = tree.operator.text
        if operator in ("&&", "||"):
            left = self._condition(tree.left, f"`{operator}`")
            right = self._condition(tree.right, f"`{operator}`")
            return program.Logical(BOOLEAN, tree.span, operator, left, right)
        if operator in ("=~", "!~"):
            return self._match(tree)
        left, right = self._value(tree.left), self._value(tree.right)
        if operator == "??":
            return self._coalesce(tree, left, right)
        return self._binary(operator, tree.operator, left, right, tree.left, tree.right, tree.span)

    def _binary(
        self,
        operator: str,
        sign: syntax.Identifier,
        left: Expr,
        right: Expr,
        left_tree: syntax.Expression,
        right_tree: syntax.Expression,
        span: Span,
    ) -> Expr:
        if operator in ("==", "!="):
            return self._equality(operator, left, right, left_tree, right_tree, span)
        if operator in _COMPARISONS and left.type.kind is Kind.STRING and right.type.kind is Kind.STRING:
            return program.Binary(BOOLEAN, span, operator, left, right)
        if operator == "+" and Kind.STRING in (left.type.kind, right.type.kind):
            return program.Binary(STRING, span, operator, _boxed(left), _boxed(right))
        if operator in _BITS and left.type == BOOLEAN and right.type == BOOLEAN:
            return program.Binary(BOOLEAN, span, operator, left, right)
        strings = operator in _COMPARISONS and Kind.STRING in (left.type.kind, right.type.kind)
        wrong = [
            each
            for each in ((left, left_tree), (right, right_tree))
            if not self._may_be_number(each[0].type)
            and not (strings and each[0].type.kind is Kind.STRING and self._unknown_type(left, right))
        ]
        if wrong:
            raise _FaultError(self._mismatch(operator, left, right, left_tree, right_tree, wrong[0][1]))
        left, right = self._number(left), self._number(right)
        if operator in _SHIFTS:
            return self._shift(operator, left, right, left_tree, right_tree, span)
        if operator in _BITS and Kind.DOUBLE in (left.type.kind, right.type.kind):
            wrong_tree = left_tree if left.type.kind is Kind.DOUBLE else right_tree
            raise _FaultError(self._mismatch(operator, left, right, left_tree, right_tree, wrong_tree))
        unit = self._unit(operator, left, right, left_tree, right_tree)
        if left.type.is_reference or right.type.is_reference:
            result = BOOLEAN if operator in _COMPARISONS else unit.or_null() if unit is not None else ANY
            return program.Binary(result, span, operator, _boxed(left), _boxed(right))
        common = _common(left.type, right.type)
        result = BOOLEAN if operator in _COMPARISONS else unit or common
        return program.Binary(result, span, operator, _widen(left, common), _widen(right, common))

    def _unknown_type(self, left: Expr, right: Expr) -> bool:
        return any(each.type.kind in (Kind.ANY, Kind.OBJECT, Kind.NULL) for each in (left, right))

    def _shift(
        self,
        operator: str,
        left: Expr,
        right: Expr,
        left_tree: syntax.Expression,
        right_tree: syntax.Expression,
        span: Span,
    ) -> Expr:
        for value, tree in ((left, left_tree), (right, right_tree)):
            if not value.type.is_reference and not value.type.is_integral:
                raise _FaultError(self._mistyped(value, tree, f"`{operator}` needs integers, not {_name(value.type)}"))
        distance = self._convert(right, INT, right_tree, "the distance of a shift")
        if left.type.is_reference:
            return program.Binary(ANY, span, operator, left, distance)
        left = _widen(left, INT) if left.type.slot == "I" else left
        return program.Binary(left.type, span, operator, left, distance)

    def _unit(
        self, operator: str, left: Expr, right: Expr, left_tree: syntax.Expression, right_tree: syntax.Expression
    ) -> Type | None:
        """The unit of the result: DURATION, BYTES or None for a plain number. Faults on quantities that do not go
        together."""
        a, b = _unit_of(left.type), _unit_of(right.type)
        if operator in _BITS or (a is None and b is None):
            return None
        if operator == "*":
            if a is not None and b is not None:
                raise _FaultError(self._mismatch(operator, left, right, left_tree, right_tree, right_tree))
            other, other_tree = (right, right_tree) if b is None else (left, left_tree)
            if other.type.kind is Kind.DOUBLE:
                raise _FaultError(self._fraction(operator, left, right, left_tree, right_tree, other_tree))
            return a or b
        if operator == "/":
            if a is not None and b is not None:
                if a != b:
                    raise _FaultError(self._mismatch(operator, left, right, left_tree, right_tree, right_tree))
                return None
            if b is not None and not left.type.is_reference:
                raise _FaultError(self._mismatch(operator, left, right, left_tree, right_tree, right_tree))
            if right.type.kind is Kind.DOUBLE:
                raise _FaultError(self._fraction(operator, left, right, left_tree, right_tree, right_tree))
            return a if b is None and not right.type.is_reference else None
        if a is not None and b is not None:
            if a != b:
                raise _FaultError(self._mismatch(operator, left, right, left_tree, right_tree, right_tree))
            return a
        plain, tree, quantity, other_tree = (
            (right, right_tree, a, left_tree) if a is not None else (left, left_tree, b, right_tree)
        )
        if quantity is not None and not plain.type.is_reference:
            fits = plain.value == 0 if isinstance(plain, program.Constant) else plain.type.kind is Kind.LONG
            if not fits:
                raise _FaultError(self._no_unit(plain, tree, quantity, other_tree))
        return a if a is not None else (b if plain.type.is_reference else None)

    def _no_unit(self, plain: Expr, tree: syntax.Expression, unit: Type, other: syntax.Expression) -> Diagnostic:
        units = ("ms", "us") if unit.kind is Kind.DURATION else ("KB", "B")
        other_label = Label(other.span, f"`{unit}`")
        text = tree.span.text
        if isinstance(plain, program.Constant):
            smallest = "ns" if unit.kind is Kind.DURATION else "bytes"
            return Diagnostic(
                "BT202",
                f"`{text}` has no unit",
                Label(tree.span, f"{text} {smallest}?"),
                (other_label,),
                help=(f"write {text}{units[0]} or {text}{units[1]}",),
            )
        return Diagnostic(
            "BT202",
            f"this {_name(plain.type)} has no unit",
            Label(tree.span, f"{_name(plain.type)}{self._origin(plain)}"),
            (other_label,),
            help=(f"give it one:  {text} * 1{units[0]}" if len(text) < 40 else f"multiply it by 1{units[0]}",),
        )

    def _fraction(
        self,
        operator: str,
        left: Expr,
        right: Expr,
        left_tree: syntax.Expression,
        right_tree: syntax.Expression,
        wrong: syntax.Expression,
    ) -> Diagnostic:
        diagnostic = self._mismatch(operator, left, right, left_tree, right_tree, wrong)
        return replace(diagnostic, help=("multiply and divide quantities by whole numbers:  duration * 3 / 2",))

    def _equality(
        self,
        operator: str,
        left: Expr,
        right: Expr,
        left_tree: syntax.Expression,
        right_tree: syntax.Expression,
        span: Span,
    ) -> Expr:
        left, right = _character(left, right), _character(right, left)
        a, b = left.type, right.type
        if not a.is_reference and not b.is_reference:
            if a.is_numeric and b.is_numeric:
                self._unit(operator, left, right, left_tree, right_tree)
                common = _common(a, b)
                return program.Binary(BOOLEAN, span, operator, _widen(left, common), _widen(right, common))
            if a == b:
                return program.Binary(BOOLEAN, span, operator, left, right)
            raise _FaultError(self._mismatch(operator, left, right, left_tree, right_tree, left_tree))
        if not self._comparable(a, b):
            raise _FaultError(self._mismatch(operator, left, right, left_tree, right_tree, left_tree))
        if a.is_numeric and b.is_numeric:
            self._unit(operator, left, right, left_tree, right_tree)
        for value, other, tree in ((left, right, left_tree), (right, left, right_tree)):
            if other.type.kind is Kind.NULL and not value.type.is_reference and self._shape is None:
                self._report(
                    Diagnostic(
                        "BT209",
                        f"{_name(value.type)} is never null",
                        Label(tree.span, "always " + ("false" if operator == "==" else "true")),
                        severity=Severity.WARNING,
                    )
                )
        return program.Binary(BOOLEAN, span, operator, _boxed(_typed_null(left)), _boxed(_typed_null(right)))

    def _comparable(self, a: Type, b: Type) -> bool:
        """Whether references (or a reference and a primitive) can be equal at all."""
        open_kinds = (Kind.ANY, Kind.NULL)
        if a.kind in open_kinds or b.kind in open_kinds:
            return True
        if a.is_numeric and b.is_numeric:
            return True
        for one, other in ((a, b), (b, a)):
            if one.kind is Kind.OBJECT:
                return other.kind in (Kind.OBJECT, Kind.STRING, Kind.ARRAY) or self._may_be_number(one)
        return a.kind is b.kind

    def _match(self, tree: syntax.Binary) -> Expr:
        value = self._convert(self._value(tree.left), STRING, tree.left, f"`{tree.operator.text}`")
        pattern = tree.right
        if not isinstance(pattern, syntax.Literal) or not isinstance(pattern.value, str):
            raise _FaultError(not_compiled(f"`{tree.operator.text}` with a pattern that is not constant", pattern.span))
        text = pattern.value
        inner = text.strip("*")
        before, after = text.startswith("*"), text.endswith("*")
        simple = not re.search(r"[*?]", inner) and not text.startswith("/") and text not in ("", "*", "**")
        if not simple or text.removeprefix("*").removesuffix("*") != inner:
            raise _FaultError(not_compiled("a pattern beyond `text*`, `*text` and `*text*`", pattern.span))
        part = program.Constant(STRING, pattern.span, inner)
        negated = tree.operator.text == "!~"
        if not before and not after:
            return program.Binary(BOOLEAN, tree.span, "!=" if negated else "==", value, part)
        name = "contains" if before and after else "endswith" if before else "startswith"
        found: Expr = program.BuiltinCall(BOOLEAN.or_null(), tree.span, name, (value, part))
        if negated:
            found = program.Unary(BOOLEAN, tree.span, "!", program.Convert(BOOLEAN, tree.span, found))
        return found

    def _coalesce(self, tree: syntax.Binary, left: Expr, right: Expr) -> Expr:
        span = tree.span
        if not left.type.is_reference:
            if self._shape is None:
                self._report(
                    Diagnostic(
                        "BT209",
                        f"{_name(left.type)} is never null",
                        Label(tree.left.span, "always taken"),
                        severity=Severity.WARNING,
                    )
                )
            return left
        left = _typed_null(left)
        if left.type.is_numeric and right.type.is_numeric and not right.type.is_reference:
            self._unit("==", left, right, tree.left, tree.right)
            common = _join_numbers(left.type, right.type)
            chosen = program.Coalesce(ANY, span, left, _boxed(right))
            return program.Convert(common, span, chosen)
        if left.type.kind is Kind.BOOLEAN and right.type == BOOLEAN:
            return program.Convert(BOOLEAN, span, program.Coalesce(ANY, span, left, _boxed(right)))
        right = _boxed(_typed_null(right))
        joined = left.type if left.type == right.type else ANY
        return program.Coalesce(joined, span, left, right)

    def _join(
        self, left: Expr, right: Expr, left_tree: syntax.Expression, right_tree: syntax.Expression
    ) -> tuple[Type, Expr, Expr]:
        """The common type of two alternatives, and both converted to it."""
        a, b = left.type, right.type
        if not a.is_reference and not b.is_reference:
            if a.is_numeric and b.is_numeric:
                self._unit("==", left, right, left_tree, right_tree)
                joined = _join_numbers(a, b)
                return joined, _widen(left, joined), _widen(right, joined)
            if a == b:
                return a, left, right
        left, right = _boxed(_typed_null(left)), _boxed(_typed_null(right))
        if Kind.NULL in (a.kind, b.kind):
            other = b if a.kind is Kind.NULL else a
            joined = ANY if other.kind is Kind.NULL else other if other.is_reference else other.or_null()
        else:
            joined = a.or_null() if a.or_null() == b.or_null() else ANY
            joined = a if a == b else joined
        return joined, left, right

    # ---- conversion

    def _may_be_number(self, type_: Type) -> bool:
        if type_.kind in (Kind.ANY, Kind.NULL):
            return True
        if type_.kind is Kind.OBJECT:
            return type_.class_name is None or type_.class_name.startswith("java.")
        return type_.is_numeric

    def _number(self, value: Expr) -> Expr:
        """A number ready for an operator: a nullable one is unboxed (null is an error), anything dynamic stays a
        reference."""
        if value.type.nullable and value.type.is_numeric:
            plain = replace(value.type, nullable=False)
            return program.Convert(plain, value.span, value)
        return _typed_null(value)

    def _convert(
        self, value: Expr, target: Type, tree: syntax.Expression, where: str, declared: Span | None = None
    ) -> Expr:
        """``value`` as a ``target``, or a fault that ``where`` needs another type."""
        source = value.type
        kind = target.kind
        if kind is Kind.ANY:
            return _boxed(_typed_null(value))
        if target.is_reference and source.kind is Kind.NULL:
            return replace(value, type=target)
        if kind is Kind.BOOLEAN:
            if source.kind is Kind.BOOLEAN and (target.nullable or not source.nullable):
                return _boxed(value) if target.nullable else value
            if source.kind in (Kind.BOOLEAN, Kind.ANY, Kind.NULL) or self._may_be_boolean(source):
                return program.Convert(BOOLEAN, value.span, _typed_null(value))
        elif target.is_numeric:
            converted = self._to_number(value, target, tree)
            if converted is not None:
                return converted
        elif kind is Kind.STRING:
            if source.kind is Kind.STRING:
                return value
            if source.kind is Kind.ANY or (source.kind is Kind.OBJECT and self._may_be_string(source)):
                return program.Convert(STRING, value.span, value)
        elif kind is Kind.OBJECT:
            if source.kind in (Kind.OBJECT, Kind.ANY, Kind.STRING, Kind.ARRAY):
                return replace(value, type=target) if source.kind is Kind.ANY and target.class_name else value
        elif (kind is Kind.ARRAY and source.kind in (Kind.ARRAY, Kind.ANY, Kind.OBJECT)) or kind is source.kind:
            return value
        raise _FaultError(
            self._mistyped(
                value,
                tree,
                f"{where} needs {_article(target)}, not {_name(source)}",
                (Label(declared, f"declared as {_name(target)}"),) if declared is not None else (),
            )
        )

    def _to_number(self, value: Expr, target: Type, tree: syntax.Expression) -> Expr | None:
        source = value.type
        if source.is_numeric and not source.nullable:
            unit, own = _unit_of(target), _unit_of(source)
            zero = isinstance(value, program.Constant) and value.value == 0
            if unit is not None and own is None and source.kind is not Kind.LONG and not zero:
                return None
            if (own is not None and unit is not None and own != unit) or _rank(source) > _rank(target):
                return None
            widened = _widen(value, replace(target, nullable=False))
            return _boxed(widened) if target.nullable else widened
        if self._may_be_number(source) and not (source.is_numeric and _rank(source) > _rank(target)):
            if target.nullable:
                return value
            return program.Convert(target, value.span, _typed_null(value))
        return None

    def _may_be_boolean(self, type_: Type) -> bool:
        return type_.kind is Kind.OBJECT and self._may_be_number(type_)

    def _may_be_string(self, type_: Type) -> bool:
        return type_.class_name is None or type_.class_name.startswith("java.")

    # ---- what went wrong

    def _mistyped(
        self, value: Expr, tree: syntax.Expression, message: str, secondary: tuple[Label, ...] = ()
    ) -> Diagnostic:
        help_: tuple[str, ...] = ()
        if value.type.kind is Kind.LONG and "`int`" in message:
            help_ = ("declare it as long:  let name: long = …",)
        return Diagnostic(
            "BT201", message, Label(tree.span, f"{_name(value.type)}{self._origin(value)}"), secondary, help=help_
        )

    def _mismatch(
        self,
        operator: str,
        left: Expr,
        right: Expr,
        left_tree: syntax.Expression,
        right_tree: syntax.Expression,
        wrong: syntax.Expression,
    ) -> Diagnostic:
        names = (_name(left.type), _name(right.type))
        if operator in _COMPARISONS:
            message = f"cannot compare {names[0]} with {names[1]}"
        elif operator in _VERBS:
            message = "cannot " + _VERBS[operator].format(*names)
        else:
            message = f"cannot combine {names[0]} and {names[1]} with `{operator}`"
        labels = {
            id(left_tree): Label(left_tree.span, f"{names[0]}{self._origin(left)}"),
            id(right_tree): Label(right_tree.span, f"{names[1]}{self._origin(right)}"),
        }
        other = right_tree if wrong is left_tree else left_tree
        help_: tuple[str, ...] = ()
        if DURATION in (left.type, right.type) and operator in _COMPARISONS:
            help_ = ("the elapsed time is `duration`:  when duration > 50ms",)
            if isinstance(left, program.InputValue) and left.input.kind is InputKind.DURATION:
                help_ = ("a time has a unit:  when duration > 50ms",)
        elif Kind.OBJECT in (left.type.kind, right.type.kind) and operator in _COMPARISONS:
            help_ = ("compare one of its fields:  x.field > 3",)
        return Diagnostic("BT201", message, labels[id(wrong)], (labels[id(other)],), help=help_)

    def _origin(self, value: Expr) -> str:
        """Why a value has its type, to follow the name of the type."""
        if isinstance(value, program.InputValue):
            match value.input.kind:
                case InputKind.ARG if self._shape is not None:
                    return f": parameter {value.input.index} of the traced method"
                case InputKind.ARG:
                    return f": declared for parameter {value.input.index}"
                case InputKind.RETVAL if self._shape is not None and self._shape.operation is not None:
                    return _VALUE_OF_OPERATION.get(self._shape.point, "")
                case InputKind.RETVAL:
                    return ": what the traced method returns"
                case InputKind.TARGET_ARG:
                    return f": argument {value.input.index} of the call"
                case InputKind.OLD_VALUE | InputKind.NEW_VALUE if self._shape is not None:
                    return _VALUE_OF_OPERATION.get(self._shape.point, "")
                case InputKind.FRAME_VARIABLE:
                    return ": type of the variable"
                case _:
                    return ""
        if isinstance(value, program.LocalValue):
            return ": type of the variable"
        return ""

    def _reasons(self, value: Expr) -> tuple[Label, ...]:
        origin = self._origin(value)
        return (Label(value.span, f"{_name(value.type)}{origin}"),) if origin else ()


class _Record:
    """Collects what one record ships and how it is shown. ``args``, ``targs`` or ``locals()`` goes last: its slot
    stands for the rest."""

    def __init__(self, elaborator: Elaborator) -> None:
        self._elaborator = elaborator
        self._parts: list[str | Slot] = []
        self._values: list[Expr] = []
        self._rest: tuple[Expr, ...] = ()
        self._rest_of: Span | None = None

    @property
    def values(self) -> tuple[Expr, ...]:
        return (*self._values, *self._rest)

    def _take_rest(self, tree: syntax.Expression, values: tuple[Expr, ...]) -> None:
        if self._rest_of is not None and self._rest_of.text != tree.span.text:
            raise _FaultError(
                Diagnostic(
                    "BT108",
                    f"`{self._rest_of.text}` and `{tree.span.text}` do not fit into one record",
                    Label(tree.span, "the second"),
                    (Label(self._rest_of, "the first"),),
                    help=("print them one after the other",),
                )
            )
        self._rest_of, self._rest = tree.span, values

    def parts(self) -> tuple[str | Slot, ...]:
        merged: list[str | Slot] = []
        for part in self._parts:
            if isinstance(part, str) and merged and isinstance(merged[-1], str):
                merged[-1] += part
            elif isinstance(part, Slot) and part.rest:
                merged.append(replace(part, value=len(self._values)))
            elif part != "":
                merged.append(part)
        return tuple(merged)

    def text(self, text: str) -> None:
        self._parts.append(text)

    def add(self, tree: syntax.Expression) -> None:
        if isinstance(tree, syntax.FormattedString):
            for part in tree.parts:
                if isinstance(part, str):
                    self.text(part)
                else:
                    self._slot(part.value, None, part.format)
        elif isinstance(tree, syntax.Literal) and isinstance(tree.value, str):
            self.text(tree.value)
        else:
            self._slot(tree, None, "")

    def converted(self, tree: syntax.Expression, conversion: str) -> None:
        self._slot(tree, None, conversion)

    def labelled(self, tree: syntax.Expression, label: str) -> None:
        self._slot(tree, label, "")

    def _slot(self, tree: syntax.Expression, label: str | None, format_: str) -> None:
        elaborator = self._elaborator
        if isinstance(tree, syntax.Name) and elaborator._find_local(tree.text) is None:
            variable = VARIABLES.get(tree.text)
            formal = any(each.name == tree.text for each in elaborator._probe.formals or ())
            if variable is not None and not formal and isinstance(variable.source, SiteFact):
                elaborator._name(tree)
                self._parts.append(Slot(variable.source, variable.type, label, format_))
                return
            if variable is not None and not formal and tree.text in ALL:
                elaborator._require(variable, tree.span)
                self._take_rest(tree, elaborator._all(tree.text, tree.span))
                self._parts.append(Slot(0, ANY, label, format_, rest=True))
                return
        if isinstance(tree, syntax.Call) and tree.function.text == LOCALS:
            self._take_rest(tree, elaborator._live(tree))
            self._parts.append(Slot(0, ANY, label, format_, rest=True, named=True))
            return
        value = _typed_null(elaborator._value(tree))
        type_ = value.type
        if isinstance(value, program.MapValue):
            type_ = next(each.type for each in elaborator._maps.values() if each.id == value.map).or_null()
        if format_.startswith("%"):
            elaborator._check_conversion(format_, value, tree)
        self._parts.append(Slot(len(self._values), type_, label, format_))
        self._values.append(value)


# ---------------------------------------------------------------- helpers without state

_ARGUMENT = re.compile(r"arg(0|[1-9]\d*)")
_CONVERSION = re.compile(r"%[-+ 0#,]*\d{0,4}(?:\.\d{1,3})?[duxXoscefgEGb]")

_INSTEAD_OF_METHODS = {
    "length": "len",
    "size": "len",
    "contains": "contains",
    "startsWith": "startswith",
    "endsWith": "endswith",
    "toLowerCase": "lower",
    "toUpperCase": "upper",
    "trim": "trim",
    "strip": "trim",
    "substring": "substr",
    "name": "enum_name",
    "getMessage": "message",
    "getCause": "cause",
    "getClass": "typeof",
    "hashCode": "id",
}


def _split_printf(text: str) -> list[str]:
    """Literal text and conversions (``%`` and what follows up to a letter), in order."""
    return [piece for piece in re.split(r"(%%|%[^A-Za-z%]*[A-Za-z]?)", text) if piece]


def _count(number: int, noun: str) -> str:
    if number == 0:
        return f"no {noun}s"
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def _name(type_: Type) -> str:
    return f"`{type_}`"


def _article(type_: Type) -> str:
    return f"{'an' if str(type_)[0] in 'aeio' else 'a'} {_name(type_)}"


def _literal(tree: syntax.Literal) -> Expr:
    value = tree.value
    match tree.kind:
        case syntax.LiteralKind.INTEGER:
            fits = isinstance(value, int) and -(1 << 31) <= value < 1 << 31
            return program.Constant(INT if fits else LONG, tree.span, value)
        case syntax.LiteralKind.FLOAT:
            return program.Constant(DOUBLE, tree.span, value)
        case syntax.LiteralKind.DURATION:
            return program.Constant(DURATION, tree.span, value)
        case syntax.LiteralKind.SIZE:
            return program.Constant(BYTES, tree.span, value)
        case syntax.LiteralKind.STRING:
            return program.Constant(STRING, tree.span, value)
        case syntax.LiteralKind.BOOLEAN:
            return program.Constant(BOOLEAN, tree.span, value)
        case syntax.LiteralKind.NULL:
            return program.Constant(NULL, tree.span, None)


def _typed_null(value: Expr) -> Expr:
    """The literal ``null`` as a value of unknown type; everything else as it is."""
    return replace(value, type=ANY) if value.type.kind is Kind.NULL else value


def _boxed(value: Expr) -> Expr:
    value = _typed_null(value)
    return value if value.type.is_reference else program.Convert(ANY, value.span, value)


def _rank(type_: Type) -> int:
    if type_.kind in (Kind.INT, Kind.CHAR):
        return 0
    return 2 if type_.kind is Kind.DOUBLE else 1


def _common(a: Type, b: Type) -> Type:
    return (INT, LONG, DOUBLE)[max(_rank(a), _rank(b))]


def _unit_of(type_: Type) -> Type | None:
    return replace(type_, nullable=False) if type_.kind in (Kind.DURATION, Kind.BYTES) else None


def _join_numbers(a: Type, b: Type) -> Type:
    unit = _unit_of(a) or _unit_of(b)
    common = _common(a, b)
    return unit if unit is not None and common is LONG else common


def _widen(value: Expr, target: Type) -> Expr:
    """A primitive number as the wider ``target``; constants are converted here."""
    source = value.type
    if source.slot == target.slot and source.kind is not Kind.CHAR:
        return value
    if isinstance(value, program.Constant) and isinstance(value.value, int | float):
        number = float(value.value) if target.kind is Kind.DOUBLE else value.value
        return program.Constant(target, value.span, number)
    return program.Convert(target, value.span, value)


def _character(value: Expr, other: Expr) -> Expr:
    """A string of one character that is compared with a char is that char."""
    text = value.value if isinstance(value, program.Constant) else None
    if other.type.kind is Kind.CHAR and isinstance(text, str) and len(text) == 1 and ord(text) < 0x10000:
        return program.Constant(INT, value.span, ord(text))
    return value
