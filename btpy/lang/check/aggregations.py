"""The constants of an aggregation. They are the same for every sample of a map, so they belong to the map."""

from __future__ import annotations

from btpy.dataclass import dataclass
from btpy.lang.builtins import (
    AGGREGATIONS,
    MAX_BUCKETS,
    MAX_PRECISION,
    MAX_VALUES,
    MAX_WINDOWS,
    PCTL_PRECISION,
    PRECISION,
    Parameter,
    Signature,
)
from btpy.lang.check.attachments import Report
from btpy.lang.check.conversions import LITERAL_TYPES
from btpy.lang.check.faults import FaultError, fault
from btpy.lang.link.parameters import constant
from btpy.lang.syntax import nodes
from btpy.model.diagnostics import Label, did_you_mean, quote
from btpy.model.maps import Linear, MapKind, Most, Percents, Series, SeriesOperator
from btpy.model.types import ANY, DOUBLE, Kind, Type

_PERCENTILES = (50.0, 90.0, 99.0)
_INTERVAL = 1_000_000_000
_SHORTEST_INTERVAL = 1_000_000
_WINDOWS = 60


@dataclass(frozen=True, slots=True)
class Definition:
    """The kind and the parameters of a map."""

    kind: MapKind
    precision: int = PRECISION
    parameters: Linear | Series | Most | Percents | None = None


PLAIN = Definition(MapKind.VALUE)


def definition(call: nodes.Call, report: Report) -> Definition:
    """The kind of map that the aggregation makes. The typing of calls reports a wrong number of arguments."""
    try:
        return _definition(call)
    except FaultError as fault:
        report(fault.diagnostic)
        return Definition(AGGREGATIONS[call.function.text].kind)


def signature_of(call: nodes.Call) -> Signature:
    """The parameters of the aggregation for this call: ``pctl`` takes any number of percentiles."""
    rule = AGGREGATIONS[call.function.text]
    value = (Parameter("value", ANY),) if rule.sampled else ()
    if rule.kind is MapKind.PCTL:
        more = tuple(Parameter(f"percentile {at}", DOUBLE, 0) for at in range(1, len(call.arguments)))
        return Signature((*value, *more))
    return Signature((*value, *rule.parameters))


def units_of(call: nodes.Call) -> list[tuple[nodes.Expression, Type]]:
    """The bounds of a linear histogram with their types, which must be the types of its samples."""
    if AGGREGATIONS[call.function.text].kind is not MapKind.LHIST:
        return []
    return [(tree, _number(tree)[1]) for tree in _constants(call).values()]


def _definition(call: nodes.Call) -> Definition:
    rule = AGGREGATIONS[call.function.text]
    constants = _constants(call)
    match rule.kind:
        case MapKind.HIST:
            note = "2**k buckets for each power of two"
            return Definition(rule.kind, _integer(constants, "k", "hist", PRECISION, 0, MAX_PRECISION, note))
        case MapKind.PCTL:
            percents = tuple(_percent(tree) for tree in _positional(call)) or _PERCENTILES
            return Definition(rule.kind, PCTL_PRECISION, Percents(percents))
        case MapKind.LHIST if len(constants) == len(rule.parameters):
            return Definition(rule.kind, parameters=_linear(constants))
        case MapKind.TSERIES:
            return Definition(rule.kind, parameters=_series(constants))
        case MapKind.TOPK:
            return Definition(rule.kind, parameters=Most(_integer(constants, "n", "topk", 10, 1, MAX_VALUES)))
        case MapKind.SAMPLE_OF:
            return Definition(rule.kind, parameters=Most(_integer(constants, "n", "sample_of", 5, 1, MAX_VALUES)))
        case _:
            return Definition(rule.kind)


def _positional(call: nodes.Call) -> list[nodes.Expression]:
    return [argument.value for argument in call.arguments if argument.name is None][1:]


def _constants(call: nodes.Call) -> dict[str, nodes.Expression]:
    """The arguments after the value, by name of their parameter."""
    names = [parameter.name for parameter in AGGREGATIONS[call.function.text].parameters]
    constants = dict(zip(names, _positional(call), strict=False))
    for argument in call.arguments:
        if argument.name is not None and argument.name.text in names:
            constants.setdefault(argument.name.text, argument.value)
    return constants


def _integer(
    constants: dict[str, nodes.Expression], name: str, of: str, default: int, least: int, most: int, note: str = ""
) -> int:
    tree = constants.get(name)
    if tree is None:
        return default
    value = _value(tree)
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
        return value
    message = f"`{name}` of `{of}` must be a number from {least} to {most}"
    label = Label(tree.span, "not a constant" if value is None else "")
    raise fault("BT107", message, label, notes=(note,) if note else ())


def _value(tree: nodes.Expression) -> int | float | bool | str | None:
    literal = constant(tree)
    return None if literal is None else literal.value


def _number(tree: nodes.Expression) -> tuple[int | float, Type]:
    number = constant(tree)
    if number is not None and isinstance(number.value, int | float) and not isinstance(number.value, bool):
        return number.value, LITERAL_TYPES[number.kind]
    raise fault("BT107", "a bound of `lhist` must be a constant number", Label(tree.span, "not a constant"))


def _linear(constants: dict[str, nodes.Expression]) -> Linear:
    low, high, step = (float(_number(constants[name])[0]) for name in ("min", "max", "step"))
    if step <= 0:
        raise fault("BT107", "a step must be above 0", Label(constants["step"].span))
    if high <= low:
        raise fault(
            "BT107",
            "the maximum of `lhist` is not above its minimum",
            Label(constants["max"].span, "the maximum"),
            (Label(constants["min"].span, "the minimum"),),
            notes=("lhist(value, min, max, step)",),
        )
    linear = Linear(low, high, step)
    if abs(low + linear.buckets * step - high) > step * 1e-6:
        raise fault(
            "BT107",
            "the steps of `lhist` do not end at its maximum",
            Label(constants["step"].span, "the step"),
            (Label(constants["max"].span, "the maximum"),),
        )
    if linear.buckets > MAX_BUCKETS:
        raise fault(
            "BT107",
            f"`lhist` has {linear.buckets} buckets, at most {MAX_BUCKETS} are possible",
            Label(constants["step"].span, "take a larger step"),
            help=("hist(value) has buckets that grow with the values",),
        )
    return linear


def _percent(tree: nodes.Expression) -> float:
    value = _value(tree)
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 100:
        return float(value)
    raise fault("BT107", "a percentile must be a number between 0 and 100", Label(tree.span))


def _series(constants: dict[str, nodes.Expression]) -> Series:
    interval = _INTERVAL
    if "interval" in constants:
        tree = constants["interval"]
        length = constant(tree)
        if length is None or length.kind is not nodes.LiteralKind.DURATION:
            raise fault("BT202", "an interval must have a unit of time", Label(tree.span), help=("tseries(value, 1s)",))
        interval = int(length.value or 0)
        if interval < _SHORTEST_INTERVAL:
            raise fault("BT107", "an interval must be at least 1ms long", Label(tree.span, "too short"))
    windows = _integer(constants, "windows", "tseries", _WINDOWS, 1, MAX_WINDOWS)
    operator = SeriesOperator.SUM
    if "operator" in constants:
        tree = constants["operator"]
        text = _value(tree)
        operators = [operator.value for operator in SeriesOperator]
        if text not in operators:
            raise fault(
                "BT107",
                "`operator` of `tseries` must be one of " + quote(f'"{name}"' for name in operators),
                Label(tree.span),
                help=did_you_mean(str(text), operators) if isinstance(text, str) else (),
            )
        operator = SeriesOperator(text)
    return Series(interval, windows, operator)


def same_unit(sample: Type, bound: Type) -> bool:
    """Whether samples of one type can be counted between bounds of another type."""
    if sample.kind in (Kind.DURATION, Kind.BYTES):
        return bound.kind is sample.kind
    return sample.kind in (Kind.ANY, Kind.OBJECT, Kind.LONG) or bound.kind in (Kind.LONG, Kind.DOUBLE)
