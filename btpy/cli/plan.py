"""The effect of a script on a program, before anything changes: ``--plan`` and ``btpy check --plan``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from btpy.api.programs import Program
    from btpy.api.session import Matching


def plan_lines(program: Program, matching: Matching) -> list[str]:
    """For each probe and in total: classes, methods, places and the cost of a firing; refusals with their reasons; the
    limits. Raises CompileError when a probe is too large for a method of the JVM.
    """
    from btpy.api.preview import preview
    from btpy.api.reference import MAX_STATEMENTS
    from btpy.api.session import Limits
    from btpy.cli.destination import DISPLAYED
    from btpy.model.attachments import MethodAttachment
    from btpy.output.quantities import counted

    plan = preview(program, matching)
    names = max((len(probe.name) for probe in plan.probes), default=0)
    lines = [
        f"{probe.name:<{names}}  {counted(probe.points, 'point')} in {counted(probe.methods, 'method')} of"
        f" {counted(probe.classes, 'class')}, about {probe.nanos} ns a firing once compiled"
        for probe in plan.probes
    ]
    grown = f" ({100 * (plan.after - plan.before) / plan.before:+.0f} %)" if plan.before else ""
    lines += [
        f"in all: {counted(plan.points, 'point')} in {counted(plan.methods, 'method')} of"
        f" {counted(plan.classes, 'class')}; class files {plan.before} to {plan.after} bytes{grown};"
        f" {counted(plan.handlers, 'handler class')}, {plan.handler_bytes} bytes",
    ]
    if plan.unread:
        lines.append(f"{plan.unread} more classes match by name and are looked at when the JVM shows them")
    for refusal in plan.refusals:
        method = f".{refusal.method}" if refusal.method else ""
        lines.append(f"refused: {refusal.class_name}{method} [{refusal.reason.value}]: {refusal.detail}")
    limits = Limits.of(dict(program.settings))
    capacity = max((map_.capacity for map_ in program.maps), default=0)
    most = [probe.attachment.max_methods for probe in program.own if isinstance(probe.attachment, MethodAttachment)]
    lines += (
        f"limits: strings {limits.string_chars} characters, depth {limits.depth}, {limits.elements} elements,"
        f" {limits.fields} fields, {limits.stack_frames} frames; events {limits.event_buffer_bytes >> 20} MiB;"
        f" stops {limits.pause_budget_ms} ms" + (f"; maps {capacity} keys" if capacity else ""),
        f"        a firing {MAX_STATEMENTS} statements"
        + (f"; a probe {max(most)} methods (--max-methods)" if most else "")
        + f"; on a terminal {DISPLAYED} events a second of a probe (--rate);"
        f" all probes {100 * limits.cpu_budget:g} % of one core (--budget)",
    )
    return lines
