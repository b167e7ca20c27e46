"""Asks a target which of its loaded classes the probes of a program match. Touches nothing there."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from functools import cache

from btpy import timeline
from btpy.classfile.reader import ClassFile
from btpy.dataclass import dataclass
from btpy.engine.agent import MAX_CLASSES, READ_AT_ONCE, Agent
from btpy.engine.instrumentation import Instrumentation
from btpy.engine.matching import (
    Inventory,
    MatchedClass,
    Matching,
    check_limits,
    doubtful,
    looked_at,
    other_lines,
    why_missing,
)
from btpy.engine.method_limits import MethodCount
from btpy.engine.planning import Plans, planned, within_limits
from btpy.engine.target import Target
from btpy.errors import ClassFileError, NothingMatched, ScriptError
from btpy.events.progress import Work
from btpy.lang.program import Probe
from btpy.model.attachments import MethodAttachment
from btpy.model.diagnostics import Diagnostic, Severity
from btpy.model.patterns import ClassPatternKind
from btpy.plan import diagnose
from btpy.plan.diagnose import TargetFacts
from btpy.plan.plan import Refusal, RefusalReason
from btpy.wire.messages import Classes, LoadedClass, LoadedRefusal, Pattern

FEW_READS = 1
"""The largest number of READs for the first part of classes that is woven before the others are planned."""

_LEFT_OUT = "methods that do not fit are left out with:  --missing warn"


@dataclass(slots=True)
class Matcher:
    """Matches some probes of a program version: all its own probes, or the probes of a script that is being added."""

    agent: Agent
    target: Target
    instrumentation: Instrumentation
    probes: Sequence[Probe]
    _searched: int = 0

    def match(self, first: int | None = None, *, suggestions: bool = True) -> Matching:
        """``first``: the largest number of classes to examine, in the order of their names. ``suggestions``: look for
        loaded classes with similar names, also for probes that may wait for their classes.

        Raises UsageError for patterns that match more than MAX_CLASSES classes, unless ``first`` is given.
        """
        plans = self.search(first)
        self.plan_all(plans)
        return self.judge(plans, suggestions=suggestions)

    def search(self, first: int | None = None) -> Plans:
        """The classes for a :meth:`match`, none of them planned yet."""
        instrumentation, ids = self.instrumentation, self._ids
        instrumentation.weave_state.learn(self.agent.matching_classes(instrumentation.owner_patterns(ids)).classes)
        found = self.agent.matching_classes(instrumentation.patterns(ids), refuse_more=first is None)
        self._searched = found.request
        if first is None:
            return self._plans(found)
        first_classes = sorted(found.classes, key=lambda class_: class_.name)[:first]
        plans = self._plans(replace(found, classes=tuple(first_classes)))
        plans.beyond = found.matched - len(first_classes)
        return plans

    def judge(self, plans: Plans, *, suggestions: bool = True) -> Matching:
        """The matching, when all classes are planned. ``suggestions``: as for :meth:`match`."""
        instrumentation, found, classes, refusals = self.instrumentation, plans.found, plans.classes, plans.refusals
        beyond = plans.beyond
        problems = dict.fromkeys(problem for class_ in classes if class_.planned for problem in class_.planned.problems)
        own_problems = [problem for problem in problems if self._is_own(problem)]
        matching = Matching(found.loaded, tuple(classes), tuple(refusals), tuple(own_problems), {}, beyond)
        # A class that was not examined, or has no class file, may match.
        is_hidden = beyond > 0 or any(class_.planned is None for class_ in classes)
        inventory = self._inventory(found.loaded)
        waiting_inventory = inventory if suggestions else replace(inventory, names=tuple)
        missing = {
            probe.id: self._why_missing(
                probe, classes, refusals, waiting_inventory if probe.attachment.pending else inventory
            )
            for probe in self.probes
            if isinstance(probe.attachment, MethodAttachment) and not matching.has_methods(probe.id) and not is_hidden
        }
        notes = (
            *other_lines(self.probes, instrumentation.planner, looked_at(classes)),
            *doubtful(self.probes, classes, inventory, self._exists),
        )
        return replace(matching, missing=missing, warnings=notes)

    def loaded_meanwhile(self, matching: Matching) -> Matching:
        """Classes of its probes that were loaded after this matching."""
        ids = {class_.loaded.id for class_ in matching.classes}
        class_names = {refusal.class_name for refusal in matching.refusals}
        patterns = self.instrumentation.patterns(self._ids)
        newer = self.agent.search(patterns, MAX_CLASSES, since=self._searched) if patterns else Classes(0, 0, 0, ())
        self._searched = newer.request
        fresh = [
            loaded_class
            for loaded_class in newer.classes
            if loaded_class.id not in ids and loaded_class.name not in class_names
        ]
        plans = self._plans(replace(newer, classes=tuple(fresh)))
        self.plan_all(plans)
        counted = MethodCount(self.instrumentation.program, planned(matching.classes))
        plans.classes = [within_limits(counted, class_) for class_ in plans.classes]
        self.instrumentation.weave_state.add_refusals(plans.refusals)
        return Matching(newer.loaded, tuple(plans.classes), tuple(plans.refusals), (), {})

    def check(self, matching: Matching, missing: str) -> tuple[Diagnostic, ...]:
        """Checks the matching, and returns its warnings. Raises ScriptError for problems, UsageError for a pattern that
        matches too much, and NothingMatched.
        """
        warnings = self._unfit(matching, missing)
        notes = list(matching.warnings)
        check_limits(self.probes, matching)
        for probe in self.probes:
            attachment = probe.attachment
            if not isinstance(attachment, MethodAttachment):
                continue
            if probe.id in matching.missing and not attachment.pending:
                warnings.append(matching.missing[probe.id])
            elif probe.id in matching.missing and any(
                self.instrumentation.waits_for(probe.id, class_.loaded.name, class_.loaded.loader)
                for class_ in matching.classes
            ):
                notes.append(replace(matching.missing[probe.id], severity=Severity.WARNING))
        on_methods = sum(isinstance(probe.attachment, MethodAttachment) for probe in self.probes)
        if missing == "all" and len(warnings) == on_methods:
            missing = "error"
        return (*_checked_problems(warnings, missing), *notes)

    def _unfit(self, matching: Matching, missing: str) -> list[Diagnostic]:
        """Warnings for methods that match but do not fit, if they may be left out. Raises ScriptError."""
        if not matching.problems:
            return []
        problems = diagnose.together(matching.problems)
        elsewhere = all(
            matching.has_methods(probe.id) for probe in self.probes if isinstance(probe.attachment, MethodAttachment)
        )
        if not elsewhere:
            raise ScriptError(problems)
        if missing not in ("warn", "ignore"):
            raise ScriptError([replace(problem, help=(*problem.help, _LEFT_OUT)) for problem in problems])
        return [replace(problem, severity=Severity.WARNING) for problem in problems] if missing == "warn" else []

    def missed_after_all(self, matching: Matching, missing: str) -> tuple[Diagnostic, ...]:
        """Diagnoses probes that are in no method, after the JVM has shown the bytes of classes without a class file,
        and after matching methods were refused.

        Raises NothingMatched.
        """
        probes = {site.probe for site in self.instrumentation.weave_state.all_sites}
        inventory = self._inventory(matching.loaded)
        refusals = self.instrumentation.weave_state.all_refusals  # the refusals of ``matching`` and of weaving
        diagnostics = []
        for probe in self.probes:
            attachment = probe.attachment
            if not isinstance(attachment, MethodAttachment) or attachment.pending:
                continue
            if probe.id in probes or probe.id in matching.missing:
                continue
            if not matching.has_methods(probe.id):
                diagnostics.append(self._why_missing(probe, matching.classes, refusals, inventory))
                continue
            refusal = matching.refusal(probe.id, refusals)
            if refusal is not None:
                diagnostics.append(diagnose.place_refused(probe, refusal))
        return _checked_problems(diagnostics, missing)

    def _plans(self, found: Classes) -> Plans:
        self.instrumentation.weave_state.learn(found.classes)
        refusals = []
        usable = []
        for loaded_class in found.classes:
            refusal = refused(loaded_class)
            if refusal is None:
                usable.append(loaded_class)
            else:
                refusals.append(refusal)
        rest = (self._matched(loaded_class, data) for loaded_class, data in self._class_files(usable))
        return Plans(found, usable, refusals, rest)

    @timeline.timed("read and plan classes")
    def plan_first_part(self, plans: Plans) -> bool:
        """Plans the first part of many classes. Returns whether it can be woven before the others are planned. The
        target reads no class files while it weaves, so the client must be able to read nearly all of them itself.
        """
        program, planner = self.instrumentation.program, self.instrumentation.planner
        if program.earlier is not None or not plans.has_parts(program, planner):
            return False
        reads_before = self.agent.reads
        return plans.plan_first_part(program) and self.agent.reads - reads_before <= FEW_READS

    @timeline.timed("read and plan classes")
    def plan_all(self, plans: Plans) -> None:
        """Plans the classes that are not planned yet."""
        with self.agent.progress.of(Work.READING, len(plans.usable)):
            self.agent.progress.advance(done=len(plans.classes))
            while count := plans.plan(READ_AT_ONCE):
                self.agent.progress.advance(done=count)
        again = set(look_up(self.agent, self.instrumentation))
        plans.classes = [
            self._matched(class_.loaded, class_.file.data) if class_.file and class_.loaded.name in again else class_
            for class_ in plans.classes
        ]

    def _class_files(self, classes: Sequence[LoadedClass]) -> Iterator[tuple[LoadedClass, bytes]]:
        if len(classes) <= READ_AT_ONCE:  # one question
            yield from self.agent.class_files(classes)
            return
        from btpy.engine.class_sources import class_files  # while the other parts start

        with class_files(self.target.process) as local_files:
            yield from self.agent.class_files(classes, local_files)

    def _matched(self, loaded_class: LoadedClass, data: bytes) -> MatchedClass:
        if not data:
            return MatchedClass(loaded_class, None, None)
        try:
            file = ClassFile.parse(data)
            return MatchedClass(loaded_class, file, self.instrumentation.plan(loaded_class, file))
        except ClassFileError:
            return MatchedClass(loaded_class, None, None)  # not the loaded class: use the bytes of the JVM

    def _why_missing(
        self, probe: Probe, classes: Sequence[MatchedClass], refusals: Sequence[Refusal], inventory: Inventory
    ) -> Diagnostic:
        looked_at = self._looked_at(probe.id, classes)
        return why_missing(probe, self.instrumentation.planner, looked_at, refusals, inventory)

    def _looked_at(self, probe: int, classes: Sequence[MatchedClass]) -> Sequence[MatchedClass]:
        """The classes and supertypes for a diagnosis. The target does not list classes that cannot contain the
        operation, so the client asks for some of these classes, too.
        """
        planner = self.instrumentation.planner
        if not planner.constants_of(probe):
            return classes
        patterns = tuple(Pattern(pattern.kind, pattern.text) for pattern in planner.class_patterns_of(probe))
        ids = {class_.loaded.id for class_ in classes}
        found = self.agent.search(patterns, READ_AT_ONCE)
        more = self._plans(replace(found, classes=tuple(class_ for class_ in found.classes if class_.id not in ids)))
        self.plan_all(more)
        return [*classes, *more.classes]

    def _exists(self, loader: str, name: str) -> bool:
        return any(fact.name == name for facts in self.agent.supertypes(loader, (name,)) for fact in facts)

    def _inventory(self, loaded: int) -> Inventory:
        agent = self.agent
        everything = (Pattern(ClassPatternKind.REGEX, ".*"),)
        return Inventory(
            facts=TargetFacts(loaded, 0, self.target.pid, self.target.main),
            names=cache(lambda: agent.search(everything, MAX_CLASSES).classes),
            subtypes=lambda name: [
                class_.name
                for class_ in agent.search((Pattern(ClassPatternKind.SUBTYPE, name),), 100).classes
                if class_.name != name
            ],
            ancestors=self.instrumentation.weave_state.hierarchy.ancestors,
            class_file=agent.class_file,
        )

    @property
    def _ids(self) -> Container[int]:
        return frozenset(probe.id for probe in self.probes)

    def _is_own(self, problem: Diagnostic) -> bool:
        """Methods that do not fit the probes of other scripts have already been reported."""
        return any(problem.primary.span.source is probe.span.source for probe in self.probes) or any(
            problem.primary.span.source is function.span.source for probe in self.probes for function in probe.calls
        )


def refused(loaded_class: LoadedClass) -> Refusal | None:
    """The reason why a class is not woven."""
    if loaded_class.refusal is LoadedRefusal.LOADER:
        detail = f"its loader {loaded_class.loader} does not see btpy's run-time classes"
        return Refusal(RefusalReason.LOADER, loaded_class.name, None, detail)
    if loaded_class.refusal is LoadedRefusal.UNMODIFIABLE or not loaded_class.modifiable:
        kind = "a hidden class" if "/" in loaded_class.name else "this class"
        return Refusal(RefusalReason.UNMODIFIABLE, loaded_class.name, None, f"the JVM does not let {kind} be changed")
    return None


def look_up(agent: Agent, instrumentation: Instrumentation) -> tuple[str, ...]:
    """Looks up the supertypes of undecided types. Returns the classes whose plans change."""
    changed: dict[str, None] = {}
    for loader, names in instrumentation.undecided():
        for types in agent.supertypes(loader, names):
            changed.update(dict.fromkeys(instrumentation.looked_up(types)))
    return tuple(changed)


def _checked_problems(problems: list[Diagnostic], missing: str) -> tuple[Diagnostic, ...]:
    if problems and missing == "error":
        raise NothingMatched(tuple(problems))
    return tuple(problems) if missing in ("error", "warn") else ()
