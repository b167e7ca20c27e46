"""Probes of a running session, by number, with the scripts that brought them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass as mutable
from dataclasses import field, replace

from btpy.errors import ScriptError, UsageError
from btpy.events.aggregates import MapContent
from btpy.lang.checker import check_source
from btpy.lang.diagnostics import Diagnostic, Severity, did_you_mean
from btpy.lang.expansion import expand_source
from btpy.lang.libraries import Libraries
from btpy.lang.linker import parameters
from btpy.lang.program import (
    BeginAttachment,
    Limit,
    MethodAttachment,
    Permissions,
    Probe,
    Program,
    SampleMode,
)
from btpy.lang.source import Source
from btpy.plan.listing import ListedProbe
from btpy.plan.patterns import simple_name
from btpy.session.session import Deployment, Receipt, Session


@mutable(slots=True)
class Script:
    """What was entered at once. ``text`` as it was typed."""

    name: str
    text: str
    probes: list[LiveProbe] = field(default_factory=list)


@mutable(slots=True)
class LiveProbe:
    """``number``: stays when the probe is replaced. ``enabled``: by command; what limits have disabled is not."""

    number: int
    probe: Probe
    script: Script
    name: str
    enabled: bool = True
    sampling: str = ""
    limit: str = ""


class Live:
    """``parameters``: texts for the parameters of scripts to come, by name. ``expect`` is told of each program before
    its probes can fire. Raises what the session raises."""

    def __init__(self, session: Session, libraries: Libraries, permissions: Permissions) -> None:
        self.session = session
        self.libraries = libraries
        self.permissions = permissions
        self.parameters: dict[str, str] = {}
        self.probes: dict[int, LiveProbe] = {}
        self.scripts: list[Script] = []
        self.level = 0
        self.expect: Callable[[Program], None] = lambda program: None
        self._numbers = 0
        self._entries = 0

    # ---------------------------------------------------------------- scripts

    def source(self, text: str, name: str = "") -> Source:
        """A script with a name for messages: ``<repl:7>``."""
        self._entries += 1
        return Source(name or f"<repl:{self._entries}>", text)

    def check(self, text: str) -> list[Diagnostic]:
        """What is wrong with a script; touches nothing."""
        try:
            self.program(Source("<repl>", text))
        except ScriptError as error:
            return [each for each in error.diagnostics if each.severity is Severity.ERROR]
        return []

    def program(self, source: Source) -> Program:
        """The script checked, after all that runs. Raises ScriptError, UsageError."""
        declared = {each.name for each in parameters(source)} if self.parameters else set()
        given = {name: text for name, text in self.parameters.items() if name in declared}
        return check_source(source, self.libraries, given, self.permissions, earlier=self.session.program)

    def add(self, source: Source) -> tuple[list[LiveProbe], Deployment]:
        """Puts the probes of a script in."""
        program = self.program(source)
        if not program.own:
            raise UsageError(
                "there is no probe in this", help=["a probe:  com.acme.Foo::bar @return { print(duration); }"]
            )
        deployment = self._load(program)
        script = Script(source.name, source.text)
        self.scripts.append(script)
        return self._numbered(script, program.own, []), deployment

    def replace(self, script: Script, text: str) -> tuple[list[LiveProbe], Deployment]:
        """Swaps all probes of a script for those of its new text at once; when the new cannot come, the old stay."""
        source = self.source(text)
        program = self.program(source)
        if not program.own:
            raise UsageError("there is no probe left in this", help=[":rm N takes a probe out"])
        old = [each.probe.id for each in script.probes]
        deployment = self._load(program, replacing=old)
        replaced = list(script.probes)
        for each in replaced:
            del self.probes[each.number]
        script.name, script.text = source.name, text
        return self._numbered(script, program.own, replaced), deployment

    def _numbered(self, script: Script, probes: Iterable[Probe], replaced: list[LiveProbe]) -> list[LiveProbe]:
        """Those that come for others have their numbers; and their names, unless they were given new ones."""
        script.probes = []
        for probe in probes:
            if isinstance(probe.attachment, BeginAttachment):
                continue  # has run
            before = replaced.pop(0) if replaced else None
            if before is None:
                self._numbers += 1
            number = self._numbers if before is None else before.number
            same = before is not None and probe.name.rpartition("_")[0] == before.name
            name = before.name if before is not None and same else probe.name
            live = LiveProbe(number, probe, script, name, enabled=probe.level is not None)
            self.probes[number] = live
            script.probes.append(live)
        return script.probes

    def run(self, text: str) -> None:
        """Runs statements once, on the agent's thread."""
        program = self.program(Source("<command>", f"@OnBegin {{ {text} }}"))
        self._load(program)
        self.session.remove([probe.id for probe in program.own])

    def _load(self, program: Program, replacing: Collection[int] = ()) -> Deployment:
        self.expect(program)
        allow = self.permissions.allow
        return self.session.load(program, allow=allow, level=self.level, replacing=replacing)

    # ---------------------------------------------------------------- probes

    def named(self, name: str) -> list[LiveProbe]:
        """The probes that a number, ``#number``, a name or ``*`` means. Raises UsageError."""
        if name == "*":
            return list(self.probes.values())
        plain = name.removeprefix("#")
        if plain.isdecimal() and int(plain) in self.probes:
            return [self.probes[int(plain)]]
        found = [each for each in self.probes.values() if each.name == name]
        if found:
            return found
        known = [f"#{each.number} {each.name}" for each in self.probes.values()]
        near = did_you_mean(name, [each.name for each in self.probes.values()])
        raise UsageError(
            f"there is no probe {name}",
            help=[*near, "there are " + ", ".join(known) if known else "no probes are live"],
        )

    def remove(self, probes: Sequence[LiveProbe]) -> int:
        """Takes probes out; how many classes were put back."""
        count = self.session.remove([each.probe.id for each in probes])
        for each in probes:
            self.probes.pop(each.number, None)
            each.script.probes.remove(each)
        gone = [script for script in self.scripts if not script.probes]
        self.scripts = [script for script in self.scripts if script not in gone]
        return count

    def enable(self, probe: LiveProbe, on: bool) -> None:
        self.session.enable(probe.probe.id, on)
        probe.enabled = on

    def sample(self, probe: LiveProbe, every: int) -> None:
        """One hit in ``every`` fires."""
        if probe.probe.sampling is None:
            if not isinstance(probe.probe.attachment, MethodAttachment):
                raise UsageError(f"#{probe.number} is not in a method: it has no hits to sample")
            if len(probe.script.probes) > 1:
                raise UsageError(
                    f"#{probe.number} does not sample, and is one of {len(probe.script.probes)} probes of its script",
                    help=[f":edit {probe.number}  and write @Sample(every={every}) above it"],
                )
            expanded = expand_source(Source("<repl>", probe.script.text)).strip()
            self.replace(probe.script, f"@Sample(every={every})\n{expanded}")
        else:
            self.session.sample(probe.probe.id, replace(probe.probe.sampling, mode=SampleMode.EVERY, number=every))
        self.probes[probe.number].sampling = "" if every == 1 else f"1:{every}"

    def limit(self, probe: LiveProbe, rate: int) -> None:
        """At most ``rate`` firings a second; 0: as many as there are."""
        self.session.limit(probe.probe.id, Limit(rate=rate))
        probe.limit = f"{rate}/s" if rate else ""

    def set_level(self, level: int) -> None:
        self.session.set_level(level)
        self.level = level

    def methods(self, probe: LiveProbe) -> list[tuple[str, str]]:
        """Class and method of all places that the probe is in."""
        program = self.session.program
        host = program.fires_in(probe.probe).id if program is not None else probe.probe.id
        sites = list(self.session.sites.values())
        return list(dict.fromkeys((site.class_name, site.method) for site in sites if site.probe == host))

    def where(self, probe: LiveProbe) -> str:
        """``PricingEngine.quote RETURN``, ``Throwable.<init> ×5 ENTRY``, ``@OnTimer(5s)``."""
        attachment = probe.probe.attachment
        if not isinstance(attachment, MethodAttachment):
            first = probe.probe.tree.annotations[0] if probe.probe.tree.annotations else None
            return first.span.text.split("\n")[0] if first is not None else ""
        found = self.methods(probe)
        points = "EXIT" if len(attachment.points) == 2 and attachment.points[0].value == "RETURN" else ""
        points = points or attachment.points[0].value.removesuffix("_BEFORE").replace("CALL_RETURN", "CALL")
        if not found:
            return f"{attachment.classes[0].text}::{attachment.methods[0].text} {points}, nothing loaded"
        name = f"{simple_name(found[0][0])}.{found[0][1]}"
        return f"{name} {points}" if len(found) == 1 else f"{name} ×{len(found)} {points}"

    # ---------------------------------------------------------------- the target

    @property
    def maps(self) -> dict[str, int]:
        """Ids of the maps by name."""
        program = self.session.program
        return {each.name: each.id for each in program.maps} if program is not None else {}

    def contents(self, names: Iterable[str]) -> dict[str, MapContent]:
        known = self.maps
        wanted = [known[name] for name in names if name in known]
        return {each.map.name: each for each in self.session.snapshot(wanted)}

    def listing(self, text: str, most: int) -> tuple[ListedProbe, ...]:
        """What a pattern matches; touches nothing."""
        program = check_source(Source("<pattern>", text), self.libraries, {}, self.permissions)
        return self.session.listing(program, allow=self.permissions.allow, first=most)[1]

    def detach(self) -> Receipt:
        return self.session.detach()
