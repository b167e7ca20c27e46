"""The probes of a program that run on the agent's event thread: all probes except probes in methods."""

from __future__ import annotations

from collections.abc import Iterable

from btpy.codegen.handler_class import HandlerClass
from btpy.dataclass import dataclass
from btpy.lang.program import Program
from btpy.model.attachments import (
    Attachment,
    ClassLoadAttachment,
    ErrorAttachment,
    EventAttachment,
    LowMemoryAttachment,
    SampleAttachment,
    event_number,
)
from btpy.model.patterns import ClassPatternKind
from btpy.model.patterns import Pattern as ScriptPattern
from btpy.model.source import Span
from btpy.wire.messages import HookKind, Pattern


@dataclass(frozen=True, slots=True)
class AgentProbe:
    """A probe with its handler and its site."""

    probe: int
    attachment: Attachment
    site: int
    handler: HandlerClass


@dataclass(frozen=True, slots=True)
class Hook:
    """The event at which the agent calls a probe. ``number``, ``patterns`` and ``lines`` as in HOOK of the protocol."""

    probe: AgentProbe
    kind: HookKind
    number: int = 0
    patterns: tuple[Pattern, ...] = ()
    lines: tuple[int, ...] = ()


def hooks(program: Program, probes: Iterable[AgentProbe]) -> list[Hook]:
    """The hooks of the probes that wait for an event."""
    return [hook for probe in probes if (hook := _hook(program, probe)) is not None]


def _hook(program: Program, probe: AgentProbe) -> Hook | None:
    match probe.attachment:
        case EventAttachment(name=name):
            return Hook(probe, HookKind.EVENT, event_number(name) & 0xFFFFFFFF)
        case ClassLoadAttachment(classes=classes):
            return Hook(probe, HookKind.CLASS_LOADED, patterns=wire_patterns(classes))
        case LowMemoryAttachment(pool=pool, per_mille=number):
            names = () if pool is None else (pool_pattern(pool.text),)
            return Hook(probe, HookKind.MEMORY_LOW, number, names)
        case SampleAttachment(per_second=number, waiting=waiting):
            kind = HookKind.THREAD_SEEN if waiting else HookKind.THREAD_BUSY
            span = program.probes[probe.probe].span
            return Hook(probe, kind, number, lines=(span.packed, span.source.position(span.start)[0]))
        case ErrorAttachment():
            return Hook(probe, HookKind.PROBE_FAILED, lines=_line_starts(program))
        case _:
            return None


def _line_starts(program: Program) -> tuple[int, ...]:
    """The packed position of each line of the sources, and its number."""
    numbers: list[int] = []
    for source in program.sources:  # in the order of their positions
        starts = [0, *(at + 1 for at, char in enumerate(source.text) if char == "\n")]
        for line, start in enumerate(starts, 1):
            numbers += (Span(source, start, start).packed, line)
    return tuple(numbers)


def wire_patterns(patterns: Iterable[ScriptPattern]) -> tuple[Pattern, ...]:
    """Class patterns in the form of the wire, without duplicates. Raises UsageError for a malformed pattern."""
    parsed = [classes for pattern in patterns for classes in pattern.classes]
    return tuple(dict.fromkeys(Pattern(classes.kind, classes.text) for classes in parsed))


def pool_pattern(text: str) -> Pattern:
    """The name of a memory pool, with ``*`` and ``?`` as in a shell, or a /regular expression/."""
    if len(text) > 1 and text.startswith("/") and text.endswith("/"):
        return Pattern(ClassPatternKind.REGEX, text[1:-1])
    globbed = "*" in text or "?" in text
    return Pattern(ClassPatternKind.GLOB if globbed else ClassPatternKind.EXACT, text)
