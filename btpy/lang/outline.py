"""The outline of a program (:mod:`btpy.model.outline`)."""

from __future__ import annotations

from btpy.lang.program import Probe, Program
from btpy.model.attachments import EndAttachment, EventAttachment, MethodAttachment, TimerAttachment
from btpy.model.outline import Moment, Outline, ProbeOutline

_MOMENTS = {
    MethodAttachment: Moment.METHOD,
    TimerAttachment: Moment.TIMER,
    EndAttachment: Moment.END,
    EventAttachment: Moment.EVENT,
}


def outline_of(program: Program) -> Outline:
    """The outline of all scripts of the program."""
    settings = dict(program.settings)
    result = Outline([], [], [], [], program.permissions.redact, bool(settings.get("print_maps_on_exit", True)))
    grow(result, program)
    return result


def grow(outline: Outline, program: Program) -> None:
    """Adds the new parts of ``program``, the next version, to the outline of a program."""
    outline.probes += [_probe(program, probe) for probe in program.probes[len(outline.probes) :]]
    outline.templates += program.templates[len(outline.templates) :]
    outline.maps[:] = program.maps  # a later script may know more about a map
    outline.sources += program.sources[len(outline.sources) :]


def _probe(program: Program, probe: Probe) -> ProbeOutline:
    host = program.fires_in(probe)
    return ProbeOutline(
        name=probe.name,
        moment=_MOMENTS.get(type(host.attachment), Moment.OTHER),
        host=host.id,
        event=probe.attachment.name if isinstance(probe.attachment, EventAttachment) else "",
        conditional=probe.tree is not None and probe.tree.when is not None,
        sampling=probe.sampling,
        limit=probe.limit,
    )
