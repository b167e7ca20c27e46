"""What a program would do to the classes that it matches: woven here, installed nowhere (``btpy check --plan``)."""

from __future__ import annotations

from collections.abc import Iterator

from btpy.codegen.advice import HandlerFactory
from btpy.lang import syntax
from btpy.lang.program import MethodAttachment, Probe, Program
from btpy.plan.plan import Refusal, first_site
from btpy.session.matching import Matching
from btpy.values import dataclass
from btpy.weave.weaver import weave


@dataclass(frozen=True, slots=True)
class ProbePreview:
    """``nanos``: what a firing costs, roughly; ``points``: places in the code."""

    name: str
    classes: int
    methods: int
    points: int
    nanos: int


@dataclass(frozen=True, slots=True)
class Preview:
    """``before`` and ``after``: bytes of the class files that change; ``handlers``: number and bytes of the classes
    that the probes become. ``unread``: classes that match and have no class file before the JVM shows it."""

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
    """Weaves what was matched. Raises CompileError when a probe is too large for a method of the JVM."""
    factory = HandlerFactory(program)
    handlers: dict[str, int] = {}
    refusals = list(matching.refusals)
    places: dict[int, set[tuple[str, str, str]]] = {}
    points: dict[int, int] = {}
    before = after = number = 0
    for known in matching.classes:
        if known.file is None or known.planned is None or not known.planned.methods:
            continue
        advised = factory.advise(known.planned)
        handlers |= {each.class_name: len(each.data) for each in advised.handlers}
        woven = weave(known.file, advised.plan, first_site() + number)
        number += len(woven.sites)
        refusals += woven.refusals
        for site in woven.sites:
            points[site.probe] = points.get(site.probe, 0) + 1
            places.setdefault(site.probe, set()).add((known.loaded.name, site.method, site.descriptor))
        if woven.data is not None:
            before += len(known.file.data)
            after += len(woven.data)
    found = {place for each in places.values() for place in each}
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
        len({name for name, _, _ in found}),
        len(found),
        number,
        before,
        after,
        len(handlers),
        sum(handlers.values()),
        tuple(refusals),
        sum(known.file is None for known in matching.classes),
    )


# Nanoseconds on the machine of benchmarks/RESULTS.md; on another one all are more, or all are less.
_CALL = 5
_CLOCK = 46  # two readings
_RECORD = 45
_STACK = 2_000
_AGGREGATE = 5
_KEY = 25
_LOOK_UP = 20


def expected_nanos(probe: Probe) -> int:
    """What a firing costs, by what the body is made of: for choosing between two ways, not for accounts."""
    nanos = _CALL
    names = set()
    for node in _nodes(probe):
        match node:
            case syntax.Name(text="duration"):
                names.add("duration")
            case syntax.Call(function=function):
                if function.text in ("print", "printf", "emit"):
                    nanos += _RECORD
                elif function.text in ("stack", "frame", "caller"):
                    nanos += _STACK
            case syntax.MapReference(keys=keys):
                nanos += _AGGREGATE + _KEY * sum(not _is_fact(key) for key in keys)
            case syntax.Field() | syntax.Index():
                nanos += _LOOK_UP
            case _:
                pass
    return nanos + (_CLOCK if names else 0)


_FACTS = frozenset(("cls", "method", "signature", "line", "probe"))


def _is_fact(key: syntax.Expression) -> bool:
    return isinstance(key, syntax.Name) and key.text in _FACTS


def _nodes(probe: Probe) -> Iterator[syntax.Tree]:
    if probe.tree.when is not None:
        yield from syntax.walk(probe.tree.when)
    yield from syntax.walk(probe.tree.body)
