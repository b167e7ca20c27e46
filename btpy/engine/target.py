"""The attached JVM, and the limits that it gets when a session begins."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import replace

from btpy.dataclass import dataclass
from btpy.errors import TargetGone
from btpy.jvm import endings, processes
from btpy.jvm.processes import JvmProcess
from btpy.lang.program import Program
from btpy.lang.syntax import nodes
from btpy.lang.syntax.parser import parse
from btpy.model.diagnostics import Diagnostic, Label, Severity
from btpy.wire.messages import Configure, Welcome

CPU_BUDGET = 0.02
"""The default share of one core."""

_ENDING_SECONDS = 1.0
"""Seconds that a JVM may need to end after its connections are closed."""


_HASH_KEY = secrets.token_bytes(16)
"""Key of ``hash()``: the same in all JVMs that this process traces, so that their maps can be merged."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits in CONFIGURE, in milliseconds, bytes and counts. ``unattended``: the client may leave the session, so
    the agent must keep the woven classes. ``secret_names``: the names of :class:`~btpy.model.secrets.Secrets`.
    ``cpu_budget``: share of one core, 0: no bound.
    """

    lease_ms: int = 10_000
    class_load_deadline_ms: int = 1_000
    event_buffer_bytes: int = 8 * 1024 * 1024
    string_chars: int = 200
    depth: int = 2
    elements: int = 20
    fields: int = 20
    stack_frames: int = 32
    pause_budget_ms: int = 20
    redact: bool = True
    secret_names: tuple[str, ...] = ()
    unattended: bool = False
    cpu_budget: float = 0.0

    @staticmethod
    def of(settings: Mapping[str, object]) -> Limits:
        """The limits in the ``config`` of a script."""
        values = {name: settings[setting] for name, setting in _LIMIT_OF_SETTING.items() if setting in settings}
        return replace(Limits(cpu_budget=CPU_BUDGET), **values)  # type: ignore[arg-type]  # checked by the checker

    @property
    def message(self) -> Configure:
        return Configure(
            lease_ms=self.lease_ms,
            class_load_deadline_ms=self.class_load_deadline_ms,
            event_buffer_bytes=self.event_buffer_bytes,
            string_chars=self.string_chars,
            depth=self.depth,
            elements=self.elements,
            fields=self.fields,
            stack_frames=self.stack_frames,
            pause_budget_ms=self.pause_budget_ms,
            redact=self.redact,
            unattended=self.unattended,
            cpu_budget_ppm=round(self.cpu_budget * 1_000_000),
            hash_key=_HASH_KEY,
            secret_names=self.secret_names,
        )


_LIMIT_OF_SETTING = {
    "string_chars": "string_length",
    "depth": "depth",
    "elements": "elements",
    "fields": "fields",
    "stack_frames": "stack_frames",
    "cpu_budget": "cpu_budget",
}


def without_effect(program: Program, limits: Limits) -> list[Diagnostic]:
    """A warning for each setting of the last script that asks for another limit than at the beginning of the
    session.
    """
    settings = dict(program.settings)
    field_of = {setting: field for field, setting in _LIMIT_OF_SETTING.items()}
    other = {name for name in settings.keys() & field_of if settings[name] != getattr(limits, field_of[name])}
    if not other:
        return []
    in_force = {name: getattr(limits, field_of[name]) for name in other}
    items = (item for item in parse(program.source).items if isinstance(item, nodes.Config))
    return [
        Diagnostic(
            "BT412",
            f"`{setting.name.text}` has no effect: the session began with {in_force[setting.name.text]}",
            Label(setting.name.span),
            help=("set it in the script that btpy is started with, or as btpy.Limits of btpy.attach",),
            severity=Severity.WARNING,
        )
        for item in items
        for setting in item.settings
        if setting.name.text in other
    ]


def lost(process: JvmProcess, reason: str) -> TargetGone:
    """The error for a lost connection. The error depends on whether the JVM still runs."""
    if processes.has_ended(process, _ENDING_SECONDS):
        causes = endings.likely_causes(process)
        return TargetGone(f"the JVM {process.pid} has ended", help=causes or ["its own output may tell why"])
    return TargetGone(
        f"{reason}; the JVM {process.pid} still runs",
        help=[f"the agent puts its classes back: run the command again, or btpy doctor {process.pid}"],
    )


@dataclass(frozen=True, slots=True)
class Target:
    """The attached JVM. ``nano_time``: the System.nanoTime of the JVM at the moment ``wall_nanos`` (ns since 1970)."""

    pid: int
    main: str
    java_version: str
    vm_name: str
    loaded_classes: int
    nano_time: int
    wall_nanos: int
    agent_build: str
    process: JvmProcess

    @staticmethod
    def of(process: JvmProcess, welcome: Welcome) -> Target:
        return Target(
            pid=process.pid,
            main=process.short_main,
            java_version=welcome.java_version,
            vm_name=welcome.vm_name,
            loaded_classes=welcome.loaded_classes,
            nano_time=welcome.nano_time,
            wall_nanos=welcome.wall_nanos,
            agent_build=welcome.build,
            process=process,
        )
