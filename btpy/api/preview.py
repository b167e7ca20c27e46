"""A preview of a program: btpy weaves the classes and installs them nowhere (``btpy check --plan``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from btpy.classfile.disassembler import disassemble, disassemble_class
from btpy.classfile.reader import ClassFile
from btpy.codegen.advice import HandlerFactory
from btpy.dataclass import dataclass
from btpy.engine.class_weaving import weave_class
from btpy.engine.deployer import Deployment
from btpy.engine.matching import Matching
from btpy.lang.program import Probe, Program
from btpy.lang.syntax import nodes
from btpy.model.attachments import MethodAttachment
from btpy.plan.plan import Refusal, Site, first_site


@dataclass(frozen=True, slots=True)
class ProbePreview:
    """``nanos``: the rough cost of a firing; ``points``: the number of places in the code."""

    name: str
    classes: int
    methods: int
    points: int
    nanos: int


@dataclass(frozen=True, slots=True)
class Preview:
    """``before`` and ``after``: bytes of the class files that change; ``handlers``: the number of handler classes, and
    their bytes. ``unread``: matched classes whose class file btpy cannot read before the JVM shows it.
    """

    probes: tuple[ProbePreview, ...]
    classes: int
    methods: int
    points: int
    before: int
    after: int
    handlers: int
    handler_bytes: int
    refusals: tuple[Refusal, ...]
    unread: int


def preview(program: Program, matching: Matching) -> Preview:
    """Weaves the matched classes. Raises CompileError when a probe is too large for a method of the JVM."""
    factory = HandlerFactory(program)
    handlers: dict[str, int] = {}
    refusals = list(matching.refusals)
    places: dict[int, set[tuple[str, str, str]]] = {}
    points: dict[int, int] = {}
    before = after = number = 0
    for class_ in matching.classes:
        if class_.file is None or class_.planned is None or not class_.planned.methods:
            continue
        woven_class = weave_class(factory, class_.file, class_.planned, first_site() + number)
        handlers |= {handler.class_name: len(handler.data) for handler in woven_class.handlers}
        number += len(woven_class.sites)
        refusals += woven_class.refusals
        for site in woven_class.sites:
            points[site.probe] = points.get(site.probe, 0) + 1
            places.setdefault(site.probe, set()).add((class_.loaded.name, site.method, site.descriptor))
        if woven_class.data is not None:
            before += len(class_.file.data)
            after += len(woven_class.data)
    all_places = {place for class_places in places.values() for place in class_places}
    return Preview(
        tuple(
            ProbePreview(
                probe.name,
                len({name for name, _, _ in places.get(probe.id, ())}),
                len(places.get(probe.id, ())),
                points.get(probe.id, 0),
                expected_nanos(probe),
            )
            for probe in program.probes
            if isinstance(probe.attachment, MethodAttachment)
        ),
        len({name for name, _, _ in all_places}),
        len(all_places),
        number,
        before,
        after,
        len(handlers),
        sum(handlers.values()),
        tuple(refusals),
        sum(class_.file is None for class_ in matching.classes),
    )


def planned(deployment: Deployment) -> Iterator[str]:
    """The places of the probes: class, method, then each place with its line. Refusals, too."""
    probes = deployment.program.probes
    for (class_name, method, descriptor), sites in _by_method(deployment.sites).items():
        yield f"{class_name}.{method}{descriptor}"
        for site in sites:
            member = f" {site.target_class}.{site.member}" if site.member else ""
            yield f"  {probes[site.probe].name}: {site.point.name}{member}" + (
                f", line {site.line}" if site.line else ""
            )
    for refusal in deployment.refusals:
        where = refusal.class_name if refusal.method is None else f"{refusal.class_name}.{refusal.method}"
        yield f"{where} refused [{refusal.reason.value}]: {refusal.detail}"


def _by_method(sites: Iterable[Site]) -> dict[tuple[str, str, str], list[Site]]:
    sites_of: dict[tuple[str, str, str], list[Site]] = {}
    for site in sites:
        sites_of.setdefault((site.class_name, site.method, site.descriptor), []).append(site)
    return sites_of


def bytecode(program: Program, matching: Matching) -> Iterator[str]:
    """The handlers, and the woven methods with their calls, as instructions. Raises CompileError."""
    factory = HandlerFactory(program)
    shown_methods: set[str] = set()
    for class_ in matching.classes:
        if class_.file is None or class_.planned is None or not class_.planned.methods:
            continue
        woven_class = weave_class(factory, class_.file, class_.planned, first_site())
        if woven_class.data is None:
            continue
        for handler in woven_class.handlers:
            if handler.class_name not in shown_methods:
                shown_methods.add(handler.class_name)
                yield f"handler {handler.class_name}"
                yield from disassemble_class(ClassFile.parse(handler.data)).splitlines()
        changed = {(site.method, site.descriptor) for site in woven_class.sites}
        file = ClassFile.parse(woven_class.data)
        for method in file.methods:
            if (method.name, method.descriptor) in changed:
                yield f"woven {class_.loaded.name}"
                yield from disassemble(file, method).splitlines()


# Nanoseconds for each firing, rounded, from benchmarks/RESULTS.md: "Cost of each construct" and "Cost of a probe". On
# another machine all values change by a similar factor. These tables do not include stacks, which take some
# microseconds, depending on depth.
_CALL = 3
_CLOCK = 46  # two readings
_RECORD = 56
_STACK = 2_000
_JFR_EVENT = 1_000  # with the stack of the event; nearly zero if no recording has enabled the event
_AGGREGATE = 9
_DISTRIBUTION = 7  # hist(x) beyond count()
_KEY = 23  # for any number of keys
_LOOK_UP = 18
_MATCH = 18
_DEPTH = 6
_CALLS = {
    **dict.fromkeys(("print", "printf", "emit", "span", "warn"), _RECORD),
    "jfr": _JFR_EVENT,
    **dict.fromkeys(("stack", "frame", "caller", "app_frame"), _STACK),
    **dict.fromkeys(("hist", "lhist", "pctl", "stats", "tseries"), _DISTRIBUTION),
}
_NAMES = {"duration": _CLOCK, "depth": _DEPTH}  # each counts once, however often the probe uses it


def expected_nanos(probe: Probe) -> int:
    """The rough cost of a firing, from the parts of the body. It is an estimate for comparing two scripts, not a
    measurement.
    """
    nanos = _CALL
    names = set()
    for node in _nodes(probe):
        match node:
            case nodes.Name(text=name) if name in _NAMES:
                names.add(name)
            case nodes.Call(function=function):
                nanos += _CALLS.get(function.text, 0)
            case nodes.MapReference(keys=keys):
                nanos += _AGGREGATE + (_KEY if keys else 0)
            case nodes.Field() | nodes.Index():
                nanos += _LOOK_UP
            case nodes.Binary(operator=operator) if operator.text in ("=~", "!~"):
                nanos += _MATCH
            case _:
                pass
    return nanos + sum(_NAMES[name] for name in names)


def expected_range(program: Program) -> tuple[int, int]:
    """The cost of the cheapest and of the most expensive method probe; zeros if there is no method probe."""
    nanos = [expected_nanos(probe) for probe in program.probes if isinstance(probe.attachment, MethodAttachment)]
    return min(nanos, default=0), max(nanos, default=0)


def _nodes(probe: Probe) -> Iterator[nodes.Tree]:
    if probe.tree.when is not None:
        yield from nodes.walk(probe.tree.when)
    yield from nodes.walk(probe.tree.body)
