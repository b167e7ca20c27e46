"""The annotations of a probe: the places that they select, and the values of their arguments."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from btpy.dataclass import dataclass
from btpy.lang.builtins import ANNOTATIONS, DEFAULT_MAX_METHODS, LOCATIONS, Location, Place
from btpy.lang.check.faults import FaultError, fault, repeated
from btpy.lang.check.patterns import check_pattern, check_signature
from btpy.lang.hints import foreign_names
from btpy.lang.syntax import nodes
from btpy.model.attachments import (
    Attachment,
    BeginAttachment,
    ClassLoadAttachment,
    EndAttachment,
    ErrorAttachment,
    EventAttachment,
    LowMemoryAttachment,
    MethodAttachment,
    ProbeAttachment,
    SampleAttachment,
    TimerAttachment,
)
from btpy.model.diagnostics import Diagnostic, Fix, Label, did_you_mean, did_you_mean_one_of, nearest, quote
from btpy.model.patterns import OperationPattern, Pattern
from btpy.model.points import Point
from btpy.model.source import Span

Report = Callable[[Diagnostic], None]


@dataclass(frozen=True, slots=True)
class Attached:
    """``places``: where the body runs, each written location once. ``location``: a label for messages about the places.
    ``host``: the probe that ``@OnProbe`` names; its id in the attachment is not known yet.
    """

    attachment: Attachment
    places: tuple[Place, ...]
    location: Label
    name: nodes.Identifier | None = None
    doc: str = ""
    unit: str = ""
    tested: str = ""
    host: nodes.Name | None = None


def attach(probe: nodes.Probe, report: Report) -> Attached | None:
    """Reads the annotations of a probe. Returns None when, after an error, the body cannot be checked."""
    try:
        annotation = _attaching(probe)
        attached_probe = _READERS[annotation.name.text](annotation, report)
    except FaultError as error:
        report(error.diagnostic)
        return None
    if attached_probe is None:
        return None
    if nodes.annotation_of(probe, "Outermost") and not isinstance(attached_probe.attachment, MethodAttachment):
        report(
            Diagnostic("BT111", "`@Outermost` works only with `@OnMethod`", Label(annotation.span, "no method here"))
        )
    doc, unit, tested = (_text(probe, name, report) for name in ("Doc", "Unit", "Tested"))
    return replace(attached_probe, doc=doc, unit=unit, tested=tested)


def _text(probe: nodes.Probe, name: str, report: Report) -> str:
    """The text of an annotation such as ``@Doc``; empty if the probe has no such annotation."""
    annotation = nodes.annotation_of(probe, name)
    if annotation is None:
        return ""
    if len(annotation.arguments) == 1:
        return _string(annotation.arguments[0], report) or ""
    report(Diagnostic("BT103", f"`@{name}` takes a text", Label(annotation.span), help=(f'write @{name}("…")',)))
    return ""


def _attaching(probe: nodes.Probe) -> nodes.Annotation:
    """The annotation that says where the probe attaches. Raises FaultError."""
    for annotation in probe.annotations:
        name = annotation.name.text
        if name not in ANNOTATIONS:
            raise fault(
                "BT106",
                f"unknown annotation `@{name}`",
                Label(annotation.name.span),
                help=foreign_names.advice_for_annotation(name)
                or did_you_mean(f"@{name}", [f"@{known}" for known in ANNOTATIONS]),
                notes=("annotations: " + " ".join(f"@{known}" for known in ANNOTATIONS),),
            )
    attaching = [annotation for annotation in probe.annotations if ANNOTATIONS[annotation.name.text].attaches]
    if not attaching:
        first = probe.annotations[0].span if probe.annotations else probe.span  # @Span has become a statement
        raise fault(
            "BT111",
            "this probe does not say where it attaches",
            Label(first),
            help=('add @OnMethod(class="…", method="…")',),
            notes=("one of " + " ".join(f"@{rule.name}" for rule in ANNOTATIONS.values() if rule.attaches),),
        )
    if len(attaching) > 1:
        raise fault(
            "BT111",
            "this probe attaches twice",
            Label(attaching[1].name.span, "the second"),
            (Label(attaching[0].name.span, "the first"),),
            help=('write a probe for each; class= and method= take lists:  class=["a.B", "c.D"]',),
        )
    return attaching[0]


def _on_probe(annotation: nodes.Annotation, report: Report) -> Attached | None:
    if len(annotation.arguments) != 1:
        raise fault(
            "BT103",
            "`@OnProbe` takes the name of a probe",
            Label(annotation.span),
            help=(
                "write @OnProbe(library.probe), as  import btpy.jdbc; @OnProbe(jdbc.statement) { … }",
                "btpy lib list names the libraries",
            ),
        )
    host = annotation.arguments[0].value
    if not isinstance(host, nodes.Name) or not host.text:  # already reported when names were resolved
        return None
    return Attached(ProbeAttachment(-1), (Place.PROBE,), Label(annotation.name.span), host=host)


_MOMENTS: dict[str, tuple[Attachment, Place]] = {
    "OnBegin": (BeginAttachment(), Place.BEGIN),
    "OnEnd": (EndAttachment(), Place.END),
    "OnError": (ErrorAttachment(), Place.FAILURE),
}


def _at_moment(annotation: nodes.Annotation, report: Report) -> Attached:
    attachment, place = _MOMENTS[annotation.name.text]
    _no_arguments(annotation, report)
    return Attached(attachment, (place,), Label(annotation.name.span))


def _no_arguments(annotation: nodes.Annotation, report: Report) -> None:
    if annotation.arguments:
        report(
            Diagnostic(
                "BT103",
                f"`@{annotation.name.text}` takes no arguments",
                Label(annotation.arguments[0].span.to(annotation.arguments[-1].span), "unexpected"),
            )
        )


def _on_timer(annotation: nodes.Annotation, _: Report) -> Attached:
    arguments = annotation.arguments
    number = arguments[0].value if len(arguments) == 1 else None
    if len(arguments) != 1 or (arguments[0].name is not None and arguments[0].name.text != "period"):
        is_plain = isinstance(number, nodes.Literal) and number.kind is nodes.LiteralKind.INTEGER
        period = f"{number.span.text}ms" if is_plain and number is not None else "5s"
        raise fault(
            "BT103",
            f"`@OnTimer` takes 1 argument but {len(arguments)} were given"
            if len(arguments) != 1
            else "`@OnTimer` takes a period",
            Label(annotation.span),
            help=(f"write @OnTimer({period})",),
        )
    value = arguments[0].value
    if not isinstance(value, nodes.Literal) or not isinstance(value.value, int) or isinstance(value.value, bool):
        raise fault("BT201", "a period must be a duration", Label(value.span), help=("write @OnTimer(5s)",))
    if value.kind is not nodes.LiteralKind.DURATION:
        raise fault(
            "BT202",
            f"`{value.span.text}` has no unit of time",
            Label(value.span),
            help=(f"write @OnTimer({value.value}ms) or @OnTimer({value.value}s)",),
        )
    if value.value < 1_000_000:
        raise fault("BT107", "a timer can run at most once a millisecond", Label(value.span, "too short"))
    return Attached(TimerAttachment(value.value), (Place.TIMER,), Label(annotation.name.span))


_MOST_SAMPLES_A_SECOND = 1000
_SAMPLE_HELP = 'write @OnSample(99), or @OnSample(99, threads="all") for threads that wait, too'


def _on_sample(annotation: nodes.Annotation, report: Report) -> Attached:
    arguments = _named_arguments(annotation, report, by_position=2)
    rate = arguments.get("hz")
    if rate is None:
        raise fault(
            "BT103", "`@OnSample` takes a number of samples per second", Label(annotation.span), help=(_SAMPLE_HELP,)
        )
    value = rate.value
    literal = value if isinstance(value, nodes.Literal) else None
    if literal is not None and literal.kind is nodes.LiteralKind.DURATION and isinstance(literal.value, int):
        often = max(1, round(1_000_000_000 / max(1, literal.value)))
        raise fault(
            "BT201",
            "`@OnSample` takes a number of samples per second, not a period",
            Label(value.span),
            help=(f"write @OnSample({min(often, _MOST_SAMPLES_A_SECOND)})",),
        )
    number = literal.value if literal is not None else None
    if isinstance(number, bool) or not isinstance(number, int):
        raise fault("BT201", "samples per second must be a whole number", Label(value.span), help=(_SAMPLE_HELP,))
    if not 1 <= number <= _MOST_SAMPLES_A_SECOND:
        raise fault(
            "BT107",
            f"`@OnSample` takes 1 to {_MOST_SAMPLES_A_SECOND} samples a second",
            Label(value.span),
            help=(_SAMPLE_HELP,),
        )
    threads = arguments.get("threads")
    mode = _text_of(threads) if threads is not None else "busy"
    if threads is not None and mode not in ("busy", "all"):
        raise fault(
            "BT107",
            f'`threads` is "busy" or "all", not "{mode}"',
            Label(threads.value.span),
            help=('"busy": threads that use a processor; "all": threads that wait, too',),
        )
    attachment = SampleAttachment(number, mode == "all")
    return Attached(attachment, (Place.SAMPLE,), Label(annotation.name.span))


def _named_arguments(annotation: nodes.Annotation, report: Report, by_position: int = 1) -> dict[str, nodes.Argument]:
    """The arguments by name. The first ``by_position`` of them may be given without a name."""
    rule = ANNOTATIONS[annotation.name.text]
    by_name: dict[str, nodes.Argument] = {}
    for position, argument in enumerate(annotation.arguments):
        name = rule.arguments[position] if argument.name is None and position < by_position else ""
        if argument.name is not None:
            name = "class" if argument.name.text == "clazz" else argument.name.text
        if name not in rule.arguments:
            report(
                Diagnostic(
                    "BT107",
                    f"`@{rule.name}` has no argument `{name}`" if name else f"`@{rule.name}` has no second argument",
                    Label(argument.span, "unexpected"),
                    help=foreign_names.advice_for_argument(rule.name, name) or did_you_mean(name, rule.arguments),
                    notes=("arguments: " + ", ".join(argument for argument in rule.arguments if argument != "clazz"),),
                )
            )
        elif name in by_name:
            report(repeated(f"`{name}` is given twice", argument.span, by_name[name].span))
        else:
            by_name[name] = nodes.Argument(argument.span, nodes.Identifier(argument.span, name), argument.value)
    return by_name


def _on_event(annotation: nodes.Annotation, report: Report) -> Attached:
    argument = _named_arguments(annotation, report).get("name")
    if argument is None:
        raise fault(
            "BT103",
            "`@OnEvent` needs the name of the event",
            Label(annotation.span),
            help=(
                'write @OnEvent("name"): a probe sends it with send("name")',
                '@OnEvent("") is SIGUSR1 of btpy itself:  kill -USR1 PID',
            ),
        )
    return Attached(EventAttachment(_text_of(argument)), (Place.EVENT,), Label(annotation.name.span))


def _on_uncaught(annotation: nodes.Annotation, report: Report) -> Attached:
    """The method that the JVM calls with an exception that nothing caught:
    ``Thread.dispatchUncaughtException(Throwable)``."""
    span = annotation.name.span
    attachment = MethodAttachment(
        classes=(Pattern("java.lang.Thread", span),),
        methods=(Pattern("dispatchUncaughtException", span),),
        exclude=(),
        signature=Pattern("void (java.lang.Throwable)", span),
        loader=None,
        points=(Point.ENTRY,),
        thrown=_checked(_named_arguments(annotation, report).get("type"), False, report),
        pending=False,
        max_methods=1,
        uncaught=True,
    )
    return Attached(attachment, (Place.UNCAUGHT,), Label(span))


def _on_class_load(annotation: nodes.Annotation, report: Report) -> Attached:
    argument = _named_arguments(annotation, report).get("class")
    if argument is None:
        raise fault(
            "BT111",
            "`@OnClassLoad` needs a class",
            Label(annotation.name.span),
            help=('write @OnClassLoad(class="com.acme.**")',),
        )
    attachment = ClassLoadAttachment(_patterns(argument, False, report))
    return Attached(attachment, (Place.CLASS_LOAD,), Label(annotation.name.span))


_DEFAULT_ABOVE = 0.9


def _on_low_memory(annotation: nodes.Annotation, report: Report) -> Attached:
    arguments = _named_arguments(annotation, report)
    above: object = _DEFAULT_ABOVE
    if "above" in arguments:
        value = arguments["above"].value
        above = value.value if isinstance(value, nodes.Literal) else None
        if not isinstance(above, float) or not 0.0 < above < 1.0:
            raise fault(
                "BT107", "`above` must be a share between 0 and 1", Label(value.span), help=("write above=0.9",)
            )
    pool = _string(arguments.get("pool"), report)
    pattern = Pattern(pool, arguments["pool"].value.span) if pool is not None else None
    attachment = LowMemoryAttachment(pattern, round(float(str(above)) * 1000))
    return Attached(attachment, (Place.LOW_MEMORY,), Label(annotation.name.span))


def _on_method(annotation: nodes.Annotation, report: Report) -> Attached:
    arguments = _arguments_of_on_method(annotation, report)
    name_argument = arguments.get("id")
    name = _string(name_argument, report)
    methods = _patterns(arguments.get("method"), True, report)
    location = _locations(annotation, arguments.get("location"), report)
    attachment = MethodAttachment(
        classes=_patterns(arguments["class"], False, report),
        methods=methods or (Pattern("*", annotation.name.span),),
        exclude=_patterns(arguments.get("exclude"), False, report),
        signature=_signature(arguments.get("type"), report),
        loader=_pattern(arguments.get("loader"), report),
        points=location.points,
        thrown=location.thrown,
        pending=_boolean(arguments.get("pending"), report),
        max_methods=_count(arguments.get("max"), DEFAULT_MAX_METHODS, report),
        operation=location.operation,
    )
    identifier = (
        nodes.Identifier(name_argument.value.span, name) if name_argument is not None and name is not None else None
    )
    return Attached(attachment, location.places, location.reason, identifier)


def _arguments_of_on_method(annotation: nodes.Annotation, report: Report) -> dict[str, nodes.Argument]:
    """The arguments by their names. Raises FaultError."""
    names = ANNOTATIONS["OnMethod"].arguments
    arguments: dict[str, nodes.Argument] = {}
    misspelt: dict[str, nodes.Argument] = {}
    for argument in annotation.arguments:
        if argument.name is None:
            raise fault(
                "BT107",
                "the arguments of `@OnMethod` must have names",
                Label(argument.span, "which one?"),
                help=('write @OnMethod(class="…", method="…", location=RETURN)',),
            )
        name = "class" if argument.name.text == "clazz" else argument.name.text
        if name not in names:
            report(
                Diagnostic(
                    "BT107",
                    f"`@OnMethod` has no argument `{name}`",
                    Label(argument.name.span),
                    help=foreign_names.advice_for_argument("OnMethod", name) or did_you_mean(name, names),
                    notes=("arguments: " + ", ".join(names),),
                )
            )
            misspelt.update((meant.replace("clazz", "class"), argument) for meant in nearest(name, names)[:1])
        elif name in arguments:
            help_ = ('write several patterns as a list:  class=["a.B", "c.D"]',) if name == "class" else ()
            report(repeated(f"`{name}` is given twice", argument.name.span, arguments[name].span, help_))
        else:
            arguments[name] = argument
    arguments = {**misspelt, **arguments}  # a misspelt argument was reported, so it is not reported as missing
    if "class" not in arguments:
        raise fault(
            "BT111",
            "`@OnMethod` needs a class",
            Label(annotation.name.span),
            help=(
                'write @OnMethod(class="com.acme.Foo", method="bar")',
                'all classes of a package:  class="com.acme.**"',
            ),
        )
    return arguments


def _text_of(argument: nodes.Argument) -> str:
    """The string of an argument. Raises FaultError."""
    value = argument.value
    if isinstance(value, nodes.Literal) and isinstance(value.value, str):
        return value.value
    bare = re.sub(r"\.class$", "", value.span.text)
    raise fault(
        "BT201",
        f"`{argument.name.text}` must be a string" if argument.name else "the argument must be a string",
        Label(value.span, "not a string in double quotes"),
        help=(f'write "{bare}"',) if re.fullmatch(r"[\w.$]+", bare) else (),
        fixes=(Fix(value.span, f'"{bare}"'),) if re.fullmatch(r"[\w.$]+", bare) else (),
    )


def _string(argument: nodes.Argument | None, report: Report) -> str | None:
    if argument is None:
        return None
    try:
        return _text_of(argument)
    except FaultError as error:
        report(error.diagnostic)
        return None


def _boolean(argument: nodes.Argument | None, report: Report) -> bool:
    if argument is None:
        return False
    value = argument.value
    if isinstance(value, nodes.Literal) and isinstance(value.value, bool):
        return value.value
    name = argument.name.text if argument.name else "this"
    report(Diagnostic("BT201", f"`{name}` must be true or false", Label(value.span)))
    return False


def _count(argument: nodes.Argument | None, default: int, report: Report) -> int:
    if argument is None:
        return default
    value = argument.value
    if isinstance(value, nodes.Literal) and value.kind is nodes.LiteralKind.INTEGER:
        number = int(value.value or 0)
        if number > 0:
            return number
    name = argument.name.text if argument.name else "this"
    report(Diagnostic("BT201", f"`{name}` must be a number above 0", Label(value.span)))
    return default


def _pattern(argument: nodes.Argument | None, report: Report) -> Pattern | None:
    text = _string(argument, report)
    return None if text is None or argument is None else Pattern(text, argument.value.span)


def _patterns(argument: nodes.Argument | None, method: bool, report: Report) -> tuple[Pattern, ...]:
    """One string or a list of strings."""
    if argument is None:
        return ()
    values = [argument.value]
    if isinstance(argument.value, nodes.ListDisplay):
        values = [element.value for element in argument.value.elements]
        if not values:
            report(Diagnostic("BT313", "this list of patterns is empty", Label(argument.value.span)))
    patterns: list[Pattern] = []
    for value in values:
        text = _string(nodes.Argument(value.span, argument.name, value), report)
        if text is not None:
            pattern = Pattern(text, value.span)
            check_pattern(pattern, method, report)
            patterns.append(pattern)
    return tuple(patterns)


def _signature(argument: nodes.Argument | None, report: Report) -> Pattern | None:
    pattern = _pattern(argument, report)
    return pattern if pattern is not None and check_signature(pattern, report) else None


_READERS: dict[str, Callable[[nodes.Annotation, Report], Attached | None]] = {
    "OnMethod": _on_method,
    "OnTimer": _on_timer,
    "OnSample": _on_sample,
    "OnProbe": _on_probe,
    "OnEvent": _on_event,
    "OnUncaught": _on_uncaught,
    "OnClassLoad": _on_class_load,
    "OnLowMemory": _on_low_memory,
    **dict.fromkeys(_MOMENTS, _at_moment),
}


@dataclass(frozen=True, slots=True)
class _Located:
    """The value of ``location=``: one location, or the joined locations of a list."""

    places: tuple[Place, ...]
    points: tuple[Point, ...]
    thrown: Pattern | None
    operation: OperationPattern | None
    reason: Label  # explains the places


@dataclass(frozen=True, slots=True)
class _Written:
    """One location with its arguments; ``span``: the text of the location with its arguments."""

    location: Location
    thrown: Pattern | None
    operation: OperationPattern | None
    span: Span


_OUTSIDE = frozenset({Place.ENTRY, Place.RETURN, Place.THROW, Place.EXIT})
_COMMON_LOCATIONS = 14  # messages list only the first rows of the table


def _locations(annotation: nodes.Annotation, argument: nodes.Argument | None, report: Report) -> _Located:
    if argument is None:
        entry = LOCATIONS["ENTRY"]
        reason = Label(annotation.name.span, f"location=ENTRY: {entry.doc}")
        return _Located((entry.place,), entry.points, None, None, reason)
    values = [argument.value]
    if isinstance(argument.value, nodes.ListDisplay):
        values = [element.value for element in argument.value.elements]
    locations = [_location(value, report) for value in values]
    if not locations:
        raise fault("BT104", "this list of locations is empty", Label(argument.value.span))
    thrown = _agreed(locations, lambda location: location.thrown, report)
    operation = _agreed(locations, lambda location: location.operation, report)
    kinds = [location.location for location in locations]
    if {kind.name for kind in kinds} >= {"RETURN", "THROW"}:
        kinds = [
            LOCATIONS["EXIT"],
            *(kind for kind in kinds if kind.name not in ("RETURN", "THROW", "EXIT")),
        ]
    points = [point for kind in kinds for point in kind.points]
    why = kinds[0].doc if len(kinds) == 1 else ", or ".join(kind.doc for kind in kinds)
    return _Located(
        tuple(dict.fromkeys(kind.place for kind in kinds)),
        tuple(point for point in Point if point in points),
        thrown,
        operation,
        Label(argument.span, why),
    )


_Agreed = TypeVar("_Agreed", Pattern, OperationPattern)


def _agreed(locations: list[_Written], part: Callable[[_Written], _Agreed | None], report: Report) -> _Agreed | None:
    """The selector of operations or exceptions, which all locations of a list share."""
    with_selector = [location for location in locations if part(location) is not None]
    for location in with_selector[1:]:
        if _texts(part(location)) != _texts(part(with_selector[0])):
            report(
                Diagnostic(
                    "BT111",
                    "the locations of a list must have the same arguments",
                    Label(location.span, "the arguments of the first location differ"),
                    (Label(with_selector[0].span, "the first"),),
                    help=("write a probe for each",),
                )
            )
            break
    return part(with_selector[0]) if with_selector else None


def _texts(part: Pattern | OperationPattern | None) -> object:
    """The texts of the arguments, without their positions in the script."""
    if isinstance(part, OperationPattern):
        return _texts(part.owner), _texts(part.member), _texts(part.signature), part.lines
    return part.text if part is not None else None


def _location(value: nodes.Expression, report: Report) -> _Written:
    arguments: tuple[nodes.Argument, ...] = ()
    if isinstance(value, nodes.Call):
        name, arguments = value.function, value.arguments
    elif isinstance(value, nodes.Name):
        name = nodes.Identifier(value.span, value.text)
    elif isinstance(value, nodes.Field) and isinstance(value.target, nodes.Name) and value.target.text == "Kind":
        raise fault(
            "BT011",
            "this is BTrace's form of a location",
            Label(value.span),
            help=(f"write location={value.name.text}",),
            fixes=(Fix(value.span, value.name.text),),
        )
    else:
        raise fault(
            "BT104",
            "a location must be a name",
            Label(value.span),
            help=("write location=RETURN",),
            notes=(" ".join(LOCATIONS),),
        )
    location = LOCATIONS.get(name.text)
    if location is None:
        near = nearest(name.text.upper(), LOCATIONS) or [
            candidate for candidate in LOCATIONS if candidate == name.text.upper()
        ]
        text = name.text
        if name.span.text.startswith("@"):  # the location of a point probe
            text, near = name.span.text, [f"@{candidate.lower()}" for candidate in near]
        raise fault(
            "BT104",
            f"unknown location `{text}`",
            Label(name.span, "".join(did_you_mean_one_of(near))),
            notes=(" ".join((*list(LOCATIONS)[:_COMMON_LOCATIONS], "…") if near else LOCATIONS),),
            fixes=(Fix(name.span, near[0]),) if len(near) == 1 else (),
        )
    return _with_arguments(location, arguments, value.span, report)


def _with_arguments(location: Location, arguments: tuple[nodes.Argument, ...], span: Span, report: Report) -> _Written:
    by_name: dict[str, nodes.Argument] = {}
    accepted = (*location.arguments, "when") if location.after is not None else location.arguments
    for position, argument in enumerate(arguments):
        key = argument.name.text if argument.name is not None else ""
        if argument.name is None and position < len(location.arguments):
            key = location.arguments[position]
        if key not in accepted:
            report(
                Diagnostic(
                    "BT107",
                    f"`{location.name}` has no argument `{key}`" if key else _arity(location, accepted),
                    Label(argument.span, "unexpected"),
                    help=did_you_mean(key, accepted) or _without(key, location),
                    notes=(f"arguments: {quote(accepted)}",) if accepted else (),
                )
            )
        elif key in by_name:
            report(repeated(f"`{key}` is given twice", argument.span, by_name[key].span))
        else:
            by_name[key] = nodes.Argument(argument.span, nodes.Identifier(argument.span, key), argument.value)
    time = _when(by_name["when"].value) if "when" in by_name else "BEFORE"
    if time == "AFTER" and location.after is not None:
        location = location.after
    if location.name in ("THROW", "RAISE", "CATCH"):
        operation = None if location.name == "THROW" else OperationPattern()
        return _Written(location, _checked(by_name.get("type"), False, report), operation, span)
    if location.place in _OUTSIDE:
        return _Written(location, None, None, span)
    operation = OperationPattern(
        _owner(location, by_name, report),
        _checked(by_name.get("method" if location.name == "CALL" else "field"), True, report),
        _signature(by_name.get("type"), report) if location.name == "CALL" else None,
        _lines(by_name.get("line"), report),
    )
    return _Written(location, None, operation, span)


def _without(key: str, location: Location) -> tuple[str, ...]:
    return (f"leave it out: BEFORE and AFTER are the same at {location.name}",) if key == "when" else ()


def _arity(location: Location, accepted: tuple[str, ...]) -> str:
    if not accepted:
        return f"`{location.name}` takes no arguments"
    if not location.arguments:
        return f"the arguments of `{location.name}` must have names"
    count = len(location.arguments)
    unnamed = " without a name" if len(accepted) > count else ""
    return f"`{location.name}` takes at most {count} argument{'' if count == 1 else 's'}{unnamed}"


def _when(value: nodes.Expression) -> str:
    """``BEFORE`` or ``AFTER``."""
    text = value.text if isinstance(value, nodes.Name) else ""
    if text in ("BEFORE", "AFTER"):
        return text
    raise fault(
        "BT107",
        "`when` must be BEFORE or AFTER",
        Label(value.span),
        help=did_you_mean(text.upper(), ("BEFORE", "AFTER")) or ("write when=AFTER",),
    )


def _checked(argument: nodes.Argument | None, member: bool, report: Report) -> Pattern | None:
    pattern = _pattern(argument, report)
    if pattern is not None:
        check_pattern(replace(pattern, text=_without_dimensions(pattern.text)), member, report)
    return pattern


def _without_dimensions(text: str) -> str:
    return re.sub(r"(\[])+$", "", text)


def _owner(location: Location, arguments: dict[str, nodes.Argument], report: Report) -> Pattern | None:
    """The class or type of an operation. For an array it is the type of the elements. A regular expression or ``*``
    matches the element type, for any number of dimensions.
    """
    owner = _checked(arguments.get("class" if "class" in location.arguments else "type"), False, report)
    if owner is None or location.name not in ("NEWARRAY", "ARRAY_GET", "ARRAY_SET"):
        return owner
    text = owner.text
    is_any = text in ("*", "**") or (len(text) > 1 and text[0] == text[-1] == "/")
    if not text.endswith("[]") and not is_any:
        report(
            Diagnostic(
                "BT107",
                f"`type` of `{location.name}` must be the type of an array",
                Label(owner.span, "not an array"),
                help=(f'write type="{owner.text}[]"',),
            )
        )
    return replace(owner, text=owner.text.removesuffix("[]"))


_LAST_LINE = 65_535  # JVMS §4.7.12


def _lines(argument: nodes.Argument | None, report: Report) -> tuple[int, int] | None:
    if argument is None:
        return None
    value = argument.value
    ends = (value.first, value.end) if isinstance(value, nodes.Range) else (value, value)
    numbers = [_line(end) for end in ends]
    first, last = numbers
    if first is None or last is None:
        wrong = ends[0] if first is None else ends[1]
        report(
            Diagnostic(
                "BT107",
                f"a line must be a number from 1 to {_LAST_LINE}",
                Label(wrong.span),
                help=("write LINE(142) or LINE(142..150)",),
            )
        )
        return None
    if last < first:
        report(
            Diagnostic(
                "BT107",
                "these lines end before they begin",
                Label(value.span),
                help=(f"write LINE({last}..{first})",),
            )
        )
    return first, last


def _line(value: nodes.Expression) -> int | None:
    if isinstance(value, nodes.Literal) and value.kind is nodes.LiteralKind.INTEGER:
        number = int(value.value or 0)
        if 0 < number <= _LAST_LINE:
            return number
    return None
