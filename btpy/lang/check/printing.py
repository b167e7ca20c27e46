"""Records of print, printf and emit: the sent values and their formats."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from btpy.lang import program, typed_tree
from btpy.lang.builtins import FUNCTIONS, LOCALS, SHOWN, SPECULATE, STRFTIME, VARIABLES
from btpy.lang.check.calls import all_locals, function_arguments, match_arguments
from btpy.lang.check.carrying import carried_values
from btpy.lang.check.context import Context
from btpy.lang.check.conversions import boxed, convert, may_be_number, mistyped, typed_null
from btpy.lang.check.faults import FaultError, counted, fault, named, repeated, were, with_article
from btpy.lang.check.maps import print_map, view_of
from btpy.lang.check.redaction import concealed
from btpy.lang.check.variables import ALL, all_arguments, is_known, require_place, resolve
from btpy.lang.hints import foreign_names
from btpy.lang.inputs import Ambient
from btpy.lang.syntax import nodes
from btpy.lang.typed_tree import Expr, Statement
from btpy.model.diagnostics import Diagnostic, Fix, Label, Severity, quote
from btpy.model.formats import UNITS, specification, unit
from btpy.model.source import Span
from btpy.model.templates import SPECULATIVE, SiteFact, Slot, TemplateKind
from btpy.model.types import ANY, INT, LONG, STRING, Kind, Type

_DIRECTIVES = "aAbBcdfHIjmMpSUwWxXyYzZ%"
_CONVERSION = re.compile(r"%[-+ 0#,]*(?:\*|\d{0,4})(?:\.\d{1,3})?[duxXoscefgEGb]")


def print_values(context: Context, call: nodes.Call) -> Statement:
    """``print`` and ``warn``."""
    positional = [argument.value for argument in call.arguments if argument.name is None]
    viewed = view_of(context, positional[0]) if len(positional) == 1 and call.function.text == "print" else None
    if viewed is not None:
        return print_map(context, call, *viewed)
    if positional:
        _check_plain(context, positional[0], len(positional) - 1)
    record = Record(context)
    for position, value in enumerate(positional):
        if position:
            record.text(" ")
        record.add(value)
    name = next((argument.name for argument in call.arguments if argument.name is not None), None)
    if name is not None:
        raise fault(
            "BT107",
            f"`{name.text}=` is possible only with a map",
            Label(name.span),
            help=(foreign_names.OUTPUT_OPTIONS.get(name.text, 'named values need an event:  emit("name", key=value)'),),
        )
    kind = TemplateKind.WARN if call.function.text == "warn" else TemplateKind.PRINT
    return emitted(context, call, kind, record, "")


_INSERTED = re.compile(r"\$?\{([A-Za-z_$][\w$]*)[^{}]*\}")


def _check_plain(context: Context, first: nodes.Expression, others: int) -> None:
    """Warns of a text that seems to be meant as an f-string, or as the format of ``printf``."""
    if not isinstance(first, nodes.Literal) or not isinstance(first.value, str):
        return
    text = first.span.text
    inserted = next((hole for hole in _INSERTED.finditer(text) if is_known(context, hole[1])), None)
    if inserted is not None:
        fixed = "f" + re.sub(r"\$\{", "{", text)
        label, help_ = (
            f"is shown as {inserted[0]}, not as a value",
            (f"write {fixed}" if len(fixed) < 60 else "write f before it",),
        )
        fixes: tuple[Fix, ...] = (Fix(first.span, fixed),)
    elif others and _CONVERSION.search(first.value):
        label, help_ = (
            "is printed unchanged",
            (f"write printf({text}, …)" if len(text) < 60 else "write printf",),
        )
        fixes = ()
    else:
        return
    context.report(
        Diagnostic(
            "BT212",
            "nothing is put into this text",
            Label(first.span, label),
            help=help_,
            fixes=fixes,
            severity=Severity.WARNING,
        )
    )


def print_format(context: Context, call: nodes.Call) -> Statement:
    arguments = call.arguments
    first = arguments[0].value if arguments else None
    if not isinstance(first, nodes.Literal) or not isinstance(first.value, str):
        raise fault(
            "BT103",
            "`printf` needs a format",
            Label(call.function.span if first is None else first.span, "a string in quotes comes first"),
            help=('printf("%s took %d ms", method, duration / 1ms)', 'print(f"…{value}…") needs no format'),
        )
    named_argument = next((argument for argument in arguments if argument.name is not None), None)
    if named_argument is not None:
        raise fault("BT107", "`printf` has no named arguments", Label(named_argument.span))
    conversions = [piece for piece in _split_printf(first.value) if piece.startswith("%") and piece != "%%"]
    operands = arguments[1:]
    expected = len(conversions) + sum("*" in conversion for conversion in conversions)
    if expected != len(operands):
        raise fault(
            "BT103",
            f"this format takes {counted(expected, 'value')} but {len(operands)} {were(len(operands))} given",
            Label(first.span, quote(conversions) or "no conversion"),
            tuple(Label(argument.span, "unexpected") for argument in operands[expected:]),
            help=('a conversion with * takes its width first:  printf("%*s", width, text)',)
            if expected > len(conversions)
            else (),
        )
    record = Record(context)
    values = iter(operands)
    text = first.value.removesuffix("\n")  # each record ends its own line
    for piece in _split_printf(text):
        if piece == "%%":
            record.text("%")
        elif piece.startswith("%"):
            if not _CONVERSION.fullmatch(piece):
                raise fault(
                    "BT207",
                    f"unknown conversion `{piece}`",
                    Label(first.span),
                    help=_INSTEAD_OF_CONVERSIONS.get(piece[-1], ()),
                    notes=("conversions: %d %u %x %o %s %c %e %f %g %b %%, flags, width or *, precision",),
                )
            width = next(values).value if "*" in piece else None
            record.converted(next(values).value, piece, width)
        else:
            record.text(piece)
    return emitted(context, call, TemplateKind.PRINT, record, "")


def emit_event(context: Context, call: nodes.Call) -> Statement:
    kind = kind_of_event(call, "the kind of the event", 'emit("slow", took=duration)')
    record = Record(context)
    named_values(record, call.arguments[1:], {})
    return emitted(context, call, TemplateKind.EMIT, record, kind)


def kind_of_event(call: nodes.Call, needed: str, example: str) -> str:
    """The first argument, which is a constant string. Raises FaultError."""
    first = call.arguments[0] if call.arguments else None
    kind = None if first is None or first.name is not None else first.value
    if isinstance(kind, nodes.Literal) and isinstance(kind.value, str):
        return kind.value
    name = call.function.text
    span = call.function.span if kind is None else kind.span
    raise fault("BT103", f"`{name}` needs {needed} first", Label(span, "a string in quotes"), help=(example,))


def named_values(record: Record, arguments: Sequence[nodes.Argument], labels: dict[str, Span]) -> None:
    """Adds the named arguments. ``labels``: names that are in use."""
    for label, argument in named_arguments(arguments, labels).items():
        record.labelled(argument.value, label)


def named_arguments(arguments: Sequence[nodes.Argument], labels: dict[str, Span]) -> dict[str, nodes.Argument]:
    """The arguments by name. ``labels``: names that are in use. Raises FaultError for an argument without a name, and
    for an argument that is given twice."""
    by_name = {}
    for argument in arguments:
        if argument.name is None:
            name = argument.value.span.text
            suggestion = f"{name}={name}" if name.isidentifier() else f"name={name}"
            raise fault(
                "BT107", "values of an event must have names", Label(argument.span), help=(f"write {suggestion}",)
            )
        label = argument.name.text
        if label in labels:
            raise FaultError(repeated(f"`{label}` is given twice", argument.name.span, labels[label]))
        labels[label] = argument.name.span
        by_name[label] = argument
    return by_name


def _check_conversion(context: Context, conversion: str, value: Expr, tree: nodes.Expression) -> None:
    letter = conversion[-1]
    number = letter in "duxXoefgEG"
    fits = not number or may_be_number(value.type)
    if letter in "duxXo":
        fits = fits and value.type.kind is not Kind.DOUBLE
    if not fits:
        raise FaultError(mistyped(context, value, tree, f"`{conversion}` does not show {with_article(value.type)}"))


_INSTEAD_OF_CONVERSIONS = {
    **dict.fromkeys("YHMST", ('to put a time into text:  strftime("%Y-%m-%d %H:%M:%S")',)),
    **dict.fromkeys("rpk", ("to put any value into text:  %s",)),
    "i": ("to put an integer into text:  %d",),
    "n": ("leave it out: each printf is a line",),
}


def _split_printf(text: str) -> list[str]:
    """Literal text and conversions (from ``%`` to the next letter), in order."""
    return [piece for piece in re.split(r"(%%|%[^A-Za-z%]*[A-Za-z]?)", text) if piece]


def _time(context: Context, call: nodes.Call) -> tuple[str, Expr]:
    """Format and time of ``strftime(format, time)``."""
    function = FUNCTIONS[STRFTIME]
    (pattern, time), _ = match_arguments(context, call, STRFTIME, function.synopsis, function.signatures)
    assert pattern is not None
    if not isinstance(pattern, nodes.Literal) or not isinstance(pattern.value, str) or not pattern.value:
        raise fault("BT107", "the format of `strftime` must be a constant string", Label(pattern.span))
    for directive in _directives(pattern.value):
        if directive[1:] not in _DIRECTIVES or len(directive) < 2:
            raise fault(
                "BT207",
                f"unknown conversion `{directive}`",
                Label(pattern.span),
                help=("fractions of a second:  %f",) if directive in ("%L", "%N", "%3") else (),
                notes=("conversions of strftime: " + " ".join(f"%{letter}" for letter in _DIRECTIVES),),
            )
    if time is None:
        return pattern.value, typed_tree.AmbientValue(LONG, call.span, Ambient.NOW)
    return pattern.value, convert(context, context.value(time), LONG, time, "`time` of `strftime`")


def _directives(format_: str) -> list[str]:
    return re.findall("%.?", format_, re.DOTALL)


def is_time_format(format_: str) -> bool:
    """Whether ``strftime`` of the language accepts the format."""
    return format_.isprintable() and all(
        len(directive) == 2 and directive[1] in _DIRECTIVES for directive in _directives(format_)
    )


def check_format(type_: Type, span: Span, format_: str) -> None:
    """Refuses a unit that values of the type do not have. The parser has already refused invalid formats."""
    kind_of_unit = next((kind for kind, units in UNITS.items() if format_ in units), None)
    if kind_of_unit is None or unit(type_, format_) is not None or specification(format_) is not None:
        return
    raise fault(
        "BT207",
        f"`{format_}` is a unit of {'durations' if kind_of_unit is Kind.DURATION else 'sizes'}",
        Label(span, f"{named(type_)} has no such unit"),
        help=(f"give it one:  {span.text} * 1{format_}",) if type_.is_integral and len(span.text) < 40 else (),
    )


def emitted(
    context: Context,
    call: nodes.Call,
    kind: TemplateKind,
    record: Record,
    name: str,
    options: tuple[tuple[str, object], ...] = (),
) -> Statement:
    """The statement that writes a record. In a body that speculates, the first value is the id of the speculation."""
    for label, value in carried_values(context, call.span):
        if label not in record.labels:
            record.carry(value, label)
    speculation = context.speculation
    if speculation is None:
        return typed_tree.Emit(context.template(call.span, kind, record.parts(), name, options=options), record.values)
    template = context.template(call.span, kind, record.parts(), name, options=(*options, SPECULATIVE))
    return typed_tree.Emit(template, (typed_tree.LocalValue(ANY, speculation.span, speculation.index), *record.values))


def begin_speculation(context: Context, probe: program.Probe) -> tuple[Statement, ...]:
    """The first statement of a body with speculative records: it clears the speculation."""
    trees = [tree for tree in (probe.tree.body, *(call.body for call in probe.calls)) if SPECULATE in tree.span.text]
    speculate = next((call for tree in trees for call in nodes.calls(tree, SPECULATE)), None)
    context.speculation = None if speculate is None else context.hide(ANY, speculate.span)
    if context.speculation is None:
        return ()
    return (typed_tree.Let(context.speculation.index, typed_tree.Constant(ANY, context.speculation.span, None)),)


def speculation(context: Context, call: nodes.Call) -> Statement:
    """``speculate(id)``, ``commit(id)``, ``discard(id)``."""
    name = call.function.text
    function = FUNCTIONS[name]
    (argument,), _ = match_arguments(context, call, name, function.synopsis, function.signatures)
    assert argument is not None
    value = boxed(typed_null(context.value(argument)))
    if name == SPECULATE:
        assert context.speculation is not None
        return typed_tree.Let(context.speculation.index, value)
    kind = TemplateKind.COMMIT if name == "commit" else TemplateKind.DISCARD
    return typed_tree.Emit(context.template(call.span, kind), (value,))


class Record:
    """Collects the values of one record and their formats. ``args``, ``targs`` or ``locals()`` goes last: its slot
    stands for the rest.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._parts: list[str | Slot] = []
        self._values: list[Expr] = []
        self._rest: tuple[Expr, ...] = ()
        self._rest_of: Span | None = None

    @property
    def values(self) -> tuple[Expr, ...]:
        return (*self._values, *self._rest)

    def _take_rest(self, tree: nodes.Expression, values: tuple[Expr, ...]) -> None:
        if self._rest_of is not None and self._rest_of.text != tree.span.text:
            raise fault(
                "BT108",
                f"`{self._rest_of.text}` and `{tree.span.text}` do not fit into one record",
                Label(tree.span, "the second"),
                (Label(self._rest_of, "the first"),),
                help=("print them one after the other",),
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

    def add(self, tree: nodes.Expression) -> None:
        if isinstance(tree, nodes.FormattedString):
            for part in tree.parts:
                if isinstance(part, str):
                    self.text(part)
                else:
                    self._slot(part.value, None, part.format)
        elif isinstance(tree, nodes.Literal) and isinstance(tree.value, str):
            self.text(tree.value)
        else:
            self._slot(tree, None, "")

    def converted(self, tree: nodes.Expression, conversion: str, width: nodes.Expression | None) -> None:
        """``width``: the value for the ``*`` of the conversion."""
        number = len(self._values)
        if width is not None:
            context = self._context
            self._values.append(convert(context, context.value(width), INT, width, f"the width of `{conversion}`"))
        self._slot(tree, None, conversion)
        slot = self._parts[-1]
        if width is not None and isinstance(slot, Slot):
            self._parts[-1] = replace(slot, width=number)

    @property
    def labels(self) -> set[str]:
        """The names of the values that have a name."""
        return {part.label for part in self._parts if isinstance(part, Slot) and part.label is not None}

    def carry(self, value: Expr, label: str) -> None:
        """A value that the user asked for in addition to the values of the script."""
        self._parts.append(Slot(len(self._values), value.type, label, carried=True))
        self._values.append(value)

    def value(self, value: Expr, label: str | None) -> None:
        """A value that the statement itself adds. The agent also sends a value without a label, but btpy does not show
        it."""
        if label is not None:
            self._parts.append(Slot(len(self._values), value.type, label))
        self._values.append(value)

    def labelled(self, tree: nodes.Expression, label: str) -> None:
        self._slot(tree, label, "")

    def _slot(self, tree: nodes.Expression, label: str | None, format_: str) -> None:
        context = self._context
        if isinstance(tree, nodes.Name) and context.find_local(tree.text) is None:
            formal = any(formal.name == tree.text for formal in context.probe.formals or ())
            variable = None if formal else VARIABLES.get(tree.text)
            if variable is not None and isinstance(variable.source, SiteFact):
                resolved = resolve(context, tree)
                if isinstance(resolved, typed_tree.InputValue):  # no site determines the value, so the agent sends it
                    self._parts.append(Slot(len(self._values), resolved.type, label, format_))
                    self._values.append(resolved)
                    return
                self._parts.append(Slot(variable.source, variable.type, label, format_))
                return
            if variable is not None and tree.text in ALL:
                require_place(context, variable, tree.span)
                self._take_rest(tree, all_arguments(context, tree.text, tree.span))
                self._parts.append(Slot(0, ANY, label, format_, rest=True))
                return
        if isinstance(tree, nodes.Call) and tree.function.text == LOCALS:
            self._take_rest(tree, all_locals(context, tree))
            self._parts.append(Slot(0, ANY, label, format_, rest=True, named=True))
            return
        if isinstance(tree, nodes.Call) and tree.function.text == STRFTIME:
            pattern, value = _time(context, tree)
            self._parts.append(Slot(len(self._values), STRING, label, format_, time=pattern))
            self._values.append(value)
            return
        if isinstance(tree, nodes.Call) and tree.function.text in SHOWN:
            function = FUNCTIONS[tree.function.text]
            arguments = tuple(function_arguments(context, tree, function))
            call = typed_tree.BuiltinCall(ANY, tree.span, "show", arguments)
            value = concealed(context, tree.arguments[0].value, call)
            self._parts.append(Slot(len(self._values), ANY, label, format_, bare=function.name == "fields"))
            self._values.append(value)
            return
        value = concealed(context, tree, typed_null(context.value(tree)))
        type_ = value.type
        if isinstance(value, typed_tree.MapValue):
            type_ = next(map_.type for map_ in context.maps.values() if map_.id == value.map).or_null()
        if format_.startswith("%"):
            _check_conversion(context, format_, value, tree)
        elif format_:
            check_format(ANY if type_.kind is Kind.NULL else type_, tree.span, format_)
        self._parts.append(Slot(len(self._values), type_, label, format_))
        self._values.append(value)
