"""The scripts of a session: checked programs that are put into the target, replaced and taken out."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from btpy.api.probe_figures import ProbeFigures
from btpy.api.probes import Probe, ProbeOwner, limit_of, sampling_of, sampling_text
from btpy.engine.declarations import is_enabled, sampling_declaration
from btpy.engine.deployer import Deployment
from btpy.engine.matching import Matching
from btpy.engine.session import Session as EngineSession
from btpy.errors import UsageError
from btpy.files import open_trusted
from btpy.lang.check.checker import check_source
from btpy.lang.link.libraries import Libraries
from btpy.lang.program import Probe as CheckedProbe
from btpy.lang.program import Program
from btpy.model.attachments import MethodAttachment
from btpy.model.diagnostics import Diagnostic
from btpy.model.permissions import Permissions
from btpy.model.source import Source, read_text
from btpy.plan.diagnose import together
from btpy.plan.listing import ListedProbe

_NOTHING_RUNS = "the script has no probe"
_EXAMPLE = "for example: com.acme.Foo::bar @return { print(duration); }"


class Scripts:
    """The scripts of a :class:`btpy.Session`, as checked programs. A new program extends :attr:`program`, or the
    program without some probes (:meth:`without`).

    ``probes``: the active probes, by number. ``changing``: the lock of everything that changes probes. ``level``: the
    level of the session. ``deployment``: the result of the last installed program; in a joined session, the result of
    all programs. ``warnings``: warnings about probes that matched no code when they were added.
    """

    def __init__(
        self,
        engine: EngineSession,
        permissions: Permissions,
        libraries: Libraries,
        owner: ProbeOwner,
        figures: ProbeFigures,
    ) -> None:
        self.changing = threading.RLock()
        self.probes: dict[int, Probe] = {}
        self.deployment: Deployment | None = engine.joined.deployment if engine.joined is not None else None
        self.warnings: list[Diagnostic] = []
        self._engine = engine
        self._permissions = permissions
        self._libraries = libraries
        self._owner = owner
        self._figures = figures
        self._level = 0
        self._last_number = 0
        if self.program is not None:
            for probe in self.program.active:
                self._numbered(probe, self._level)

    @property
    def program(self) -> Program | None:
        """All added programs as one; None before the first program."""
        return self._engine.deployer.program

    @property
    def problems(self) -> tuple[Diagnostic, ...]:
        """The reasons why probes do not fit classes that were loaded later, or were not put into them."""
        return self._engine.deployer.problems

    @property
    def late_bound(self) -> tuple[str, ...]:
        """Fields that are looked up at each firing although the class of the object is known, in words."""
        return self._engine.deployer.late_bound

    def check(
        self, source: Source, parameters: Mapping[str, str] | None = None, replacing: Sequence[Probe] = ()
    ) -> Program:
        """Check a script that extends the running program, or that replaces these probes. Raises ScriptError,
        UsageError.
        """
        earlier = self.without(replacing)
        return check_source(source, self._libraries, dict(parameters or {}), self._permissions, earlier=earlier)

    def without(self, probes: Sequence[Probe]) -> Program | None:
        """The program without these probes. A script that replaces these probes is compiled as an extension of this
        program.
        """
        return None if self.program is None else self.program.without(self._ids(probes))

    def rehearse(self, program: Program, *, missing: str | None = None, replacing: Sequence[Probe] = ()) -> None:
        """Raise the errors that :meth:`load` would raise before it changes the target."""
        with self.changing:
            self._engine.deployer.rehearse(
                program,
                missing=_missing(program, missing),
                allow=self._permissions.allow,
                replacing=self._ids(replacing),
            )

    def match(self, program: Program) -> Matching:
        """The present matches of a program. Raises UsageError for patterns that match too much."""
        return self._engine.deployer.match(program, allow=self._permissions.allow)

    def listing(self, program: Program, *, most: int | None = None) -> tuple[Matching, tuple[ListedProbe, ...]]:
        """Like :meth:`match`; also gives the classes and methods as text for users. ``most``: the largest number of
        classes, in the order of their names.
        """
        return self._engine.deployer.listing(program, allow=self._permissions.allow, first=most)

    def unfit(self, program: Program) -> list[Diagnostic]:
        """The diagnostics of probes that do not fit the target, or match nothing there. Raises as :meth:`match`."""
        matching = self.match(program)
        if matching.problems:
            return list(together(matching.problems))
        return missing_now(program, matching)

    def load(
        self,
        program: Program,
        *,
        missing: str | None = None,
        level: int | None = None,
        replacing: Sequence[Probe] = (),
    ) -> list[Probe]:
        """Put a program in. ``replacing``: the probes that it replaces, as in :meth:`btpy.Session.replace`; the other
        parameters as in :meth:`btpy.Session.add`. Returns its probes, in order. Raises as these methods.
        """
        with self.changing:
            if not program.own:
                remedy = "to take the old probe out, use remove" if replacing else _EXAMPLE
                raise UsageError(_NOTHING_RUNS, help=[remedy])
            if replacing and level is None:
                level = self._level if any(probe.enabled for probe in replacing) else -1
            level = self._level if level is None else level
            self._deploy(program, missing, level, self._ids(replacing))
            return self._renumbered(replacing, program, level)

    def run_once(self, source: Source) -> None:
        """Put a script in, and take it out again when its ``@OnBegin`` has run. Raises as :meth:`load`."""
        with self.changing:
            program = self.check(source)
            self._deploy(program, "error", self._level, ())
            self._engine.deployer.remove([probe.id for probe in program.own])

    def remove(self, probes: Sequence[Probe]) -> int:
        """As :meth:`btpy.Session.remove`."""
        with self.changing:
            for probe in probes:
                self.require(probe)
            restored = self._engine.deployer.remove([id_ for probe in probes for id_ in probe.ids])
            removed = self.program.removed if self.program is not None else frozenset()
            for probe in [probe for probe in self.probes.values() if probe.id in removed]:
                probe.removed = True
                del self.probes[probe.number]
            return restored

    def set_level(self, level: int) -> None:
        """As :meth:`btpy.Session.level`."""
        with self.changing:
            self._engine.agent.level(level)
            self._level = level
            for probe in self.probes.values():
                if probe.checked.level:
                    probe.enabled = is_enabled(probe.checked, level)

    def enable(self, probe: Probe, on: bool) -> None:
        """Does the work of :meth:`Probe.enable` and :meth:`Probe.disable`."""
        with self.changing:
            self.require(probe)
            for id_ in probe.ids:
                self._engine.agent.enable(id_, on)
            probe.enabled = on

    def sample(self, probe: Probe, rate: str | None) -> None:
        """As :meth:`Probe.sample`."""
        with self.changing:
            self.require(probe)
            sampling = sampling_of(rate, probe.id)
            if not isinstance(probe.checked.attachment, MethodAttachment):
                raise UsageError(f"#{probe.number} is not in a method: it has no hits to sample")
            if probe.checked.sampling is not None:
                self._engine.agent.sample(probe.id, *sampling_declaration(sampling))
            elif rate is not None:
                self._replace_by_sampled(probe, sampling_text(sampling))
            probe.sampled_as("" if rate is None else rate)

    def _replace_by_sampled(self, probe: Probe, sampling: str) -> None:
        """The handler of an unsampled probe has no code for sampling, so a new version of the probe is deployed."""
        from btpy.lang.link.excerpt import excerpt, sampled

        if not self.is_own(probe):
            raise UsageError(
                f"#{probe.number} {probe.name} is a probe of a library that does not sample it",
                help=["limit it instead, or write a probe of your own for that place"],
            )
        script = self.source(probe)
        source = Source(script.name, excerpt(script, sampled(probe.text, sampling)))
        program = self.check(source, self.arguments(probe, source), [probe])
        self.load(program, missing="ignore", replacing=[probe])

    def limit(self, probe: Probe, limit: str | int | None) -> None:
        """As :meth:`Probe.limit`."""
        with self.changing:
            self.require(probe)
            new_limit = limit_of(limit)
            self._engine.agent.limit(probe.id, new_limit.hits, new_limit.rate, new_limit.lifetime)
            probe.limited_as(new_limit)

    def probe(self, id_: int) -> Probe | None:
        """The probe that has this id in records, if it is in the session."""
        return next((probe for probe in self.probes.values() if id_ in probe.ids), None)

    def require(self, probe: Probe) -> None:
        """Raises UsageError when the probe is not in the session."""
        if self.probes.get(probe.number) is not probe:
            raise UsageError(f"#{probe.number} {probe.name} is not in this session")

    def source(self, probe: Probe) -> Source:
        """The script that brought the probe."""
        return self._program.script_of(probe.checked).source

    def arguments(self, probe: Probe, source: Source | None = None) -> dict[str, str]:
        """The values that the caller gave for parameters of its script. ``source``: only the parameters that this
        script declares."""
        arguments = dict(self._program.script_of(probe.checked).given.arguments)
        if source is None or not arguments:
            return arguments
        from btpy.lang.link.linker import parameters as declared_parameters

        names = {parameter.name for parameter in declared_parameters(source)}
        return {name: text for name, text in arguments.items() if name in names}

    def is_own(self, probe: Probe) -> bool:
        """Whether the probe is in the script itself, and not in a library that the script uses."""
        return probe.checked.span.source.base == self.source(probe).base

    def is_whole(self, probe: Probe) -> bool:
        """Whether all probes of its script still exist and none was replaced."""
        program = self._program
        return not any(script_probe.id in program.removed for script_probe in program.script_of(probe.checked).own)

    def mates(self, probe: Probe) -> list[Probe]:
        """The active probes of its script, including itself, in the order of the script."""
        script = self.source(probe)
        mates = {mate.id: mate for mate in self.probes.values() if self.source(mate) == script}
        return [mate for _, mate in sorted(mates.items())]

    @property
    def _program(self) -> Program:
        assert self.program is not None  # a probe always belongs to a program
        return self.program

    def _ids(self, probes: Iterable[Probe]) -> list[int]:
        removed = self.program.removed if self.program is not None else frozenset()
        return [id_ for probe in probes for id_ in probe.ids if id_ not in removed]

    def _deploy(self, program: Program, missing: str | None, level: int, replacing: Sequence[int]) -> None:
        settings = dict(program.settings)
        self.deployment = self._engine.deployer.load(
            program,
            missing=_missing(program, missing),
            allow=self._permissions.allow,
            level=level,
            replacing=replacing,
        )
        outline = self._engine.delivery.outline
        outline.print_maps = bool(settings.get("print_maps_on_exit", outline.print_maps))
        self.warnings += self.deployment.warnings

    def _renumbered(self, old: Sequence[Probe], program: Program, level: int) -> list[Probe]:
        """The probes of a program, which take the numbers of the ``old`` probes: by name if they have the same name,
        else in order.
        """
        by_name = {probe.name: probe for probe in old}
        same = [by_name.pop(checked.name, None) for checked in program.own]
        rest = list(by_name.values())
        probes = []
        for namesake, checked in zip(same, program.own, strict=True):
            replaced = namesake or (rest.pop(0) if rest else None)
            if replaced is None:
                probes.append(self._numbered(checked, level))
            else:
                replaced.become(checked, enabled=is_enabled(checked, level))
                probes.append(replaced)
        for probe in rest:
            probe.removed = True
            del self.probes[probe.number]
        return probes

    def _numbered(self, checked: CheckedProbe, level: int) -> Probe:
        self._last_number += 1
        enabled = is_enabled(checked, level)
        probe = Probe(self._owner, self, self._figures, self._last_number, checked, enabled=enabled)
        self.probes[probe.number] = probe
        return probe


def _missing(program: Program, missing: str | None) -> str:
    """The value of ``missing``, or the setting of the script, else ``error``."""
    return missing or str(dict(program.settings).get("on_missing", "error"))


def source_of(script: str | Path, name: str) -> Source:
    """The source: a text with that name, or the file of a Path. Raises UsageError."""
    if isinstance(script, str):
        return Source(name, script)
    try:
        with open_trusted(script, named=True) as file:
            return Source(str(script), read_text(file), path=script)
    except OSError as cause:
        raise UsageError(f"cannot read {script}: {(cause.strerror or str(cause)).lower()}") from cause
    except ValueError as cause:
        raise UsageError(f"{script} is {cause}") from cause


def parameter_texts(values: Mapping[str, object] | None) -> dict[str, str]:
    """Values of parameters as texts of a command line."""
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in (values or {}).items()
    }


def missing_now(program: Program, matching: Matching) -> list[Diagnostic]:
    """The diagnostics of probes that match nothing, without probes that may wait for their classes."""
    return [
        matching.missing[probe.id]
        for probe in program.own
        if probe.id in matching.missing
        and isinstance(probe.attachment, MethodAttachment)
        and not probe.attachment.pending
    ]
