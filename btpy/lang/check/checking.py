"""The state that the passes of the checker share (:data:`btpy.lang.check.checker.PASSES`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from btpy.dataclass import dataclass
from btpy.lang.check.attachments import Attached
from btpy.lang.check.classes import Classes
from btpy.lang.check.shared import Shared
from btpy.lang.link.linker import Linked
from btpy.lang.program import Probe, ScopedVariable, TemplatePlace
from btpy.lang.syntax import nodes
from btpy.model.attachments import ProbeAttachment
from btpy.model.diagnostics import Diagnostic, Severity
from btpy.model.jfr import JfrEvent
from btpy.model.maps import Map
from btpy.model.permissions import Permissions
from btpy.model.templates import Template


@dataclass(frozen=True, slots=True)
class Draft:
    """A probe of the script while it is checked. ``spelled``: its name in the script; a probe of another script may
    have the same name already."""

    probe: Probe
    spelled: str
    attached: Attached


@dataclass(slots=True)
class Checking:
    """One script while it is checked. ``shared``: the maps and thread variables of the scripts that already run.
    ``maps`` and ``scoped`` variables are those that the script may name, by name. ``template_ids``: the ids of
    templates, by the host of the probe and the place of the template. ``subscribed``: the subscribers by the id of
    their host. ``readers``: the hosts whose bodies read maps or scoped variables.
    ``jfr_events``: the JFR events that the script or running probes write, by name.
    """

    linked: Linked
    permissions: Permissions
    classes: Classes
    shared: Shared
    diagnostics: list[Diagnostic]
    settings: Mapping[str, object] = field(default_factory=dict)
    drafts: list[Draft] = field(default_factory=list)
    subscribed: dict[int, list[Probe]] = field(default_factory=dict)
    readers: list[Draft] = field(default_factory=list)
    maps: dict[str, Map] = field(default_factory=dict)
    scoped: dict[str, ScopedVariable] = field(default_factory=dict)
    templates: list[Template] = field(default_factory=list)
    template_ids: dict[tuple[int, TemplatePlace], int] = field(default_factory=dict)
    jfr_events: dict[str, JfrEvent] = field(default_factory=dict)

    def report(self, diagnostic: Diagnostic) -> None:
        self.diagnostics.append(diagnostic)

    @property
    def has_errors(self) -> bool:
        return any(diagnostic.severity is Severity.ERROR for diagnostic in self.diagnostics)

    @property
    def functions(self) -> list[nodes.Function]:
        """The functions that can define maps: those that a probe calls, and all functions of the script itself."""
        names = {function.name.span for probe in self.linked.probes for function in probe.calls}
        return [
            function
            for function in self.linked.functions.values()
            if function.name.span in names or function.name.span.source is self.linked.source
        ]

    @property
    def trees(self) -> list[nodes.Tree]:
        """The parts of the script: its probes and its functions."""
        return [*(draft.probe.tree for draft in self.drafts), *self.functions]

    @property
    def hosts(self) -> list[Draft]:
        """The probes that have their own handler: all but subscribers."""
        return [draft for draft in self.drafts if not isinstance(draft.probe.attachment, ProbeAttachment)]

    def subscribers(self, host: Probe) -> tuple[Probe, ...]:
        """The probes whose bodies run where ``host`` says ``provide``."""
        return tuple(self.subscribed.get(host.id, ()))
