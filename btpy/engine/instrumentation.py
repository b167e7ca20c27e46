"""One version of a session's program on its target: the classes that it changes, and the woven bytes of each.

Everything here is a function of the program and of class files; nothing talks to the target. Two threads use a version:
one thread prepares it, and the other answers CLASS_BYTES. So the lock of the weave state guards the version.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import replace

from btpy import timeline
from btpy.classfile import mutf8
from btpy.classfile.reader import ClassFile
from btpy.codegen.advice import AdvisedClass, HandlerFactory
from btpy.codegen.handler_class import HandlerClass
from btpy.codegen.jfr_events import event_class
from btpy.dataclass import dataclass, new_tuple
from btpy.engine.agent_probes import AgentProbe, wire_patterns
from btpy.engine.class_weaving import malformed, weave_class
from btpy.engine.jdk_faults import ANNOTATED_RECORDS, harms, loses_parameter_names
from btpy.engine.matching import MatchedClass, other_lines, why_missing_there
from btpy.engine.method_limits import depends_on_prewoven, limits_classes, may_pass_limit, within_limits
from btpy.engine.prewoven import prewoven_methods, size_of
from btpy.engine.weave_state import Place, PrewovenRecord, WeaveState
from btpy.errors import ClassFileError
from btpy.lang.check.binding import bind, warming
from btpy.lang.program import Program
from btpy.model.attachments import (
    BeginAttachment,
    EndAttachment,
    MethodAttachment,
    ProbeAttachment,
    TimerAttachment,
)
from btpy.model.diagnostics import Diagnostic
from btpy.model.patterns import simple_name
from btpy.plan.diagnose import java_method
from btpy.plan.plan import SITES, Refusal, RefusalReason, Site
from btpy.plan.planner import PlannedClass, Planner, java_signature
from btpy.weave.weaver import weave_methods
from btpy.wire import codec, messages
from btpy.wire.fingerprint import fingerprint
from btpy.wire.messages import ClassBytes, LoadedClass, MethodSites, Pattern, TypeFact, Verdict

PREWOVEN_BYTES = 2 * 1024 * 1024
"""The maximum number of bytes of prewoven methods in one message, with all names. The target keeps them for a
moment."""

_BEING_LOADED = 0
"""The class id of CLASS_BYTES for a class that is not loaded yet."""

_BOOT = "boot"
"""The boot loader. HotSpot does not verify the classes of this loader and drops parts of them, so HotSpot never shows
the bytes of the class file.
"""

_ORDINARY = "app"
"""The loader id for any loader except the JDK's own."""

_JDK_LOADERS = (_BOOT, "platform")


_LOST_SHOWN = 3
"""The largest number of lost places of a class that one line names."""


@dataclass(slots=True)
class _Prepared:
    """The plan of a loaded class from its class file. It is valid for all bytes with the same members. ``sites``: its
    sites if it was prewoven.
    """

    file: ClassFile
    planned: PlannedClass
    advised: AdvisedClass
    sites: tuple[Site, ...] = ()

    @property
    def depends_on_code(self) -> bool:
        """Whether the plan contains offsets, which can differ in the bytes that the JVM shows."""
        return any(advice.at is not None for method in self.advised.plan.methods for advice in method.advice)


class Instrumentation:
    """One version of the program. ``agent_probes``: its probes that run on the agent's thread. ``warming``: a probe of
    btpy's own that runs there first, and calls each function once whose first call loads classes; None if the scripts
    that this version adds call no such function.
    """

    def __init__(
        self,
        program: Program,
        weave_state: WeaveState,
        allow: frozenset[str] = frozenset(),
        earlier: Instrumentation | None = None,
    ) -> None:
        """``earlier``: the previous version, whose program this program extends.

        Raises UsageError for a malformed pattern, ScriptError and CompileError for a timer, begin or end probe that
        cannot be compiled.
        """
        self.program = program
        self.weave_state = weave_state
        self.allow = allow
        self.planner: Planner = Planner(
            program,
            allow=allow,
            supertypes=weave_state.hierarchy.ancestors,
            earlier=earlier.planner if earlier is not None else None,
        )
        self._by_supertype = bool(self.owner_patterns())  # the supertypes of a named class select an operation
        # A pattern selects a class by its supertypes.
        self._of_subtypes = any(pattern.needs_supertypes for pattern, _ in self.planner.patterns())
        self._factory = HandlerFactory(program)
        self._prepared: dict[tuple[str, str], _Prepared] = {}
        self.warming: AgentProbe | None = None
        with weave_state.lock:
            known = earlier.agent_probes if earlier is not None else ()
            self.agent_probes: tuple[AgentProbe, ...] = tuple(_agent_probes(program, known, weave_state, self._factory))
            grown = earlier is None or len(program.probes) > len(earlier.program.probes)
            warmed = warming(program) if grown else None
            if warmed is not None:
                handler = self._factory.fire(warmed)
                self.warming = AgentProbe(warmed.probe.id, BeginAttachment(), weave_state.take_sites(1), handler)

    def resume(self, sites: Iterable[tuple[int, int]]) -> None:
        """Takes over the probes that the agent already has, with their sites."""
        site_of = dict(sites)
        self.agent_probes = tuple(
            replace(probe, site=site_of.get(probe.probe, probe.site)) for probe in self.agent_probes
        )

    def patterns(self, only: Container[int] | None = None, *, loading: bool = False) -> tuple[Pattern, ...]:
        """The patterns of all probes, or of ``only`` these. ``loading``: as in :meth:`Planner.patterns`."""
        return tuple(
            Pattern(pattern.kind, pattern.text, () if pattern.is_exact else constants)
            for pattern, constants in self.planner.patterns(only, loading=loading)
        )

    def owner_patterns(self, only: Container[int] | None = None) -> tuple[Pattern, ...]:
        """Types whose subtypes operations select (``CALL(class="+T")``): the hierarchy must know them."""
        owners = [
            probe.attachment.operation.owner
            for probe in self.program.active
            if only is None or probe.id in only
            if isinstance(probe.attachment, MethodAttachment)
            and probe.attachment.operation is not None
            and probe.attachment.operation.owner is not None
        ]
        return wire_patterns(owner for owner in owners if owner.text.startswith("+"))

    @property
    def watched(self) -> tuple[Pattern, ...]:
        """The patterns that the agent looks for among classes being loaded."""
        return (*self.patterns(loading=True), *self.owner_patterns())

    def on_agent(self, probes: Container[int]) -> list[AgentProbe]:
        """The probes among ``probes`` that run on the agent's thread, in the order of the scripts."""
        return [probe for probe in self.agent_probes if probe.probe in probes]

    def begin_probes(self, probes: Container[int]) -> list[AgentProbe]:
        begin = [probe for probe in self.on_agent(probes) if isinstance(probe.attachment, BeginAttachment)]
        return begin if self.warming is None else [self.warming, *begin]

    def end_probes(self, probes: Container[int]) -> list[AgentProbe]:
        return [probe for probe in self.on_agent(probes) if isinstance(probe.attachment, EndAttachment)]

    def timers(self, probes: Container[int]) -> list[tuple[AgentProbe, int]]:
        """The timers with their periods in nanoseconds."""
        return [
            (probe, probe.attachment.period)
            for probe in self.on_agent(probes)
            if isinstance(probe.attachment, TimerAttachment)
        ]

    def plan(self, class_: LoadedClass, file: ClassFile) -> PlannedClass:
        """The plan of a loaded class, from its class file. Raises ClassFileError."""
        with self.weave_state.lock:
            return self._plan(file, class_.name, class_.loader)

    def waits_for(self, probe: int, name: str, loader: str) -> bool:
        """Whether the probe matches a class of the application by its name."""
        patterns = self.planner.class_patterns_of(probe)
        by_name = all(pattern.is_name for pattern in patterns)
        return loader not in _JDK_LOADERS and by_name and any(pattern.matches(name) for pattern in patterns)

    @timeline.timed("make handlers")
    def prepare(self, classes: Iterable[MatchedClass], probes: Container[int]) -> list[HandlerClass]:
        """The handler classes that are still missing in the agent, for these classes and for the ``probes`` that run on
        the agent's thread. Raises CompileError.
        """
        weave_state = self.weave_state
        with weave_state.lock:
            entries = self.on_agent(probes) if self.warming is None else (*self.on_agent(probes), self.warming)
            events = [event_class(event) for event in self.program.jfr_events.values()]  # before their handlers
            handlers = {handler.class_name: handler for handler in (*events, *(probe.handler for probe in entries))}
            for class_ in classes:
                if class_.planned is None or class_.file is None or not class_.planned.methods:
                    continue
                advised = self._factory.advise(class_.planned)
                for refusal in advised.refusals:
                    weave_state.refuse(refusal)
                for handler in advised.handlers:
                    handlers.setdefault(handler.class_name, handler)
                prepared = _Prepared(class_.file, class_.planned, advised)
                self._prepared[class_.loaded.name, class_.loaded.loader] = prepared
            return self._not_installed(handlers.values())

    def preweave_methods(self, classes: Iterable[LoadedClass]) -> tuple[messages.PrewovenMethods, ...]:
        """Weaves the prepared ones of these, up to PREWOVEN_BYTES. They count as woven if the agent does not ask."""
        room = PREWOVEN_BYTES
        methods = []
        for class_ in classes:
            prewoven = self._prewoven_methods(class_, room)
            if prewoven is not None:
                methods_of_class, size = prewoven
                methods.append(methods_of_class)
                room -= size
        return tuple(methods)

    def _prewoven_methods(self, class_: LoadedClass, room: int) -> tuple[messages.PrewovenMethods, int] | None:
        """The woven methods of a class and their size; None if the agent must ask for the class."""
        weave_state = self.weave_state
        while True:
            with weave_state.lock:
                prepared = self._prepared.get((class_.name, class_.loader))
                first = weave_state.next_site
                if prepared is None or class_.loader == _BOOT or class_.name in weave_state.naming:
                    return None
                if room < len(prepared.file.data) or not weave_state.installed.issuperset(
                    prepared.advised.handler_names
                ):
                    return None
            # Without the lock: an application thread may be waiting for an answer about another class.
            try:
                result = weave_methods(prepared.file, prepared.advised.plan, first, class_.loader)
                names_lost = loses_parameter_names(weave_state.java_version)
                prewoven = prewoven_methods(class_.id, prepared.file, result, _method_sites(result.sites), names_lost)
            except ClassFileError:
                return None  # reported when it is woven
            if prewoven is None:
                return None
            size = size_of(prewoven)
            with weave_state.lock:
                if size > room or not weave_state.has_room(len(result.sites)):
                    return None
                if weave_state.next_site == first:  # otherwise another answer has used these numbers
                    weave_state.take_sites(len(result.sites))
                    weave_state.wove(class_.name, class_.loader, result.sites)
                    prepared.sites = result.sites
                    return prewoven, size

    def retransformed(self, classes: Iterable[LoadedClass], failed: Container[int]) -> None:
        """Called when the agent has woven the classes; ``failed``: ids of classes that are not woven."""
        with self.weave_state.lock:
            for class_ in classes:
                prepared = self._prepared.pop((class_.name, class_.loader), None)
                if prepared is not None and class_.id in failed:
                    self.weave_state.withdraw(class_.name, class_.loader, prepared.sites)

    @property
    def preweaves(self) -> bool:
        """Whether the answer depends only on the bytes of the class, so that it can be given in advance."""
        return bool(self.planner.patterns()) and not self.planner.uses_supertypes and not limits_classes(self.program)

    def named(self, loaded: Iterable[str]) -> tuple[Callable[[str], bool], ...]:
        """The patterns that can match a class that is loaded later. A pattern for one class is left out if this class
        is ``loaded`` already."""
        spellings = {spelled for name in loaded for spelled in (name.replace("$", "."), simple_name(name))}
        patterns = [pattern for pattern, _ in self.planner.patterns() if pattern.by_name]
        return tuple(
            pattern.matches
            for pattern in patterns
            if not (pattern.is_name and pattern.text.replace("$", ".") in spellings)
        )

    def preweave(
        self, name: str, data: bytes, most_handlers: int
    ) -> tuple[messages.PrewovenAnswer, tuple[messages.HandlerClass, ...]] | None:
        """The answer for a class that a loader of the application may load, and at most ``most_handlers`` handlers that
        must be installed first. None if the agent must ask for the class when it is loaded.
        """
        weave_state, digest = self.weave_state, fingerprint(data)
        try:
            file = ClassFile.parse(data)
            with weave_state.lock:
                planned = self._plan(file, name, _ORDINARY)
                if may_pass_limit(self.program, weave_state, planned):
                    return None
                advised = self._factory.advise(planned)
                missing = self._not_installed(advised.handlers)
                first = weave_state.first_prewoven_site()
            if len(missing) > most_handlers:
                return None
            result = weave_class(self._factory, file, planned, first, advised)
        except Exception:
            return None  # reported when it is loaded
        content = None if result.data is None else messages.PrewovenClass(result.data, _method_sites(result.sites))
        with weave_state.lock:
            id_ = weave_state.preweave(
                PrewovenRecord(
                    name,
                    (file.super_name or "").replace("/", "."),
                    tuple(interface.replace("/", ".") for interface in file.interfaces),
                    digest,
                    self,
                    frozenset(probe for method in planned.methods for probe in method.probes),
                    result.sites,
                    (*planned.refusals, *result.refusals),
                    self._found(planned, file, _ORDINARY),
                )
            )
        if id_ is None:
            return None
        answer = messages.PrewovenAnswer(id_, digest, codec.encode_part(content) if content is not None else b"")
        return answer, handler_classes(missing)

    def answer(self, request: ClassBytes) -> messages.Woven | None:
        """The answer to CLASS_BYTES. A class that cannot be woven stays unchanged, and the refusal has the reason.

        None: whether a probe has room for the class depends on the prewoven classes that have been loaded.
        """
        digest = fingerprint(request.data)
        weave_state = self.weave_state
        with weave_state.lock:
            weave_state.hierarchy.add(request.name, request.superclass, request.interfaces)
            if request.class_id == _BEING_LOADED:
                weave_state.arrives(request.name, request.loader, self)
            try:
                return self._weave(request, digest)
            except Exception as error:
                weave_state.refuse(malformed(request.name, error))
            return self._unchanged(request, digest)

    def changed(self, request: ClassBytes, before: frozenset[Place]) -> messages.Late:
        """The diagnostics of a loaded class that another agent has changed. ``before``: the earlier places of its
        probes."""
        with self.weave_state.lock:
            lost_places = sorted(before - self.weave_state.places(request.name, request.loader))
        words = [
            f"{self.program.probes[probe].name} is no longer in {java_method(method, java_signature(descriptor)[0])}"
            for probe, method, descriptor in lost_places[:_LOST_SHOWN]
        ]
        more = [f"and {len(lost_places) - _LOST_SHOWN} more"] if len(lost_places) > _LOST_SHOWN else []
        return messages.Late(request.name, request.loader, messages.LateOutcome.CHANGED, "; ".join([*words, *more]))

    def undecided(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The types to look up, by loader: their supertypes decide whether an operation matches. After this call they
        count as looked up.
        """
        weave_state = self.weave_state
        with weave_state.lock:
            namers = [(loader, name) for name, classes in weave_state.naming.items() for loader in classes.values()]
            names_of: dict[str, list[str]] = {}
            for loader, name in dict.fromkeys((*weave_state.extended, *namers)):
                if (loader, name) not in weave_state.looked_up:
                    names_of.setdefault(loader, []).append(name)
            weave_state.extended.clear()
            weave_state.looked_up.update((loader, name) for loader, names in names_of.items() for name in names)
            return tuple((loader, tuple(names)) for loader, names in names_of.items())

    def looked_up(self, types: Iterable[TypeFact]) -> tuple[str, ...]:
        """Classes whose operations match now that these types are known, and that were planned before."""
        with self.weave_state.lock:
            for type_ in types:
                self.weave_state.hierarchy.add(type_.name, type_.superclass, type_.interfaces)
            return tuple(dict.fromkeys(caller for type_ in types for caller in self._callers(type_.name)))

    def callers(self, name: str) -> tuple[str, ...]:
        """Like :meth:`looked_up`, for a type that is loaded."""
        with self.weave_state.lock:
            return self._callers(name)

    def depends(self, request: ClassBytes) -> bool:
        """Whether this class causes other classes to be woven, or needs types to be looked up first."""
        if not (self._by_supertype or self._of_subtypes):
            return False
        weave_state = self.weave_state
        with weave_state.lock:
            weave_state.hierarchy.add(request.name, request.superclass, request.interfaces)
            if request.name in weave_state.naming:
                return True
            if request.class_id:
                return False
            if self._of_subtypes:
                extended = [(request.loader, name) for name in weave_state.hierarchy.unknown(request.name)]
                unknown = [name for name in extended if name not in weave_state.looked_up]
                weave_state.extended += unknown
                if unknown:
                    return True
            if not self._by_supertype:
                return False
            try:
                self._plan(ClassFile.parse(request.data), request.name, request.loader)
            except ClassFileError:
                return False  # reported when it is woven
            return any(
                request.name in classes and (request.loader, name) not in weave_state.looked_up
                for name, classes in weave_state.naming.items()
            )

    def _callers(self, name: str) -> tuple[str, ...]:
        return tuple(self.weave_state.naming.pop(name, ())) if self.planner.learned(name) else ()

    def _weave(self, request: ClassBytes, digest: bytes) -> messages.Woven | None:
        file = ClassFile.parse(request.data)
        prepared = self._prepared.pop((request.name, request.loader), None)
        if prepared is not None:
            self.weave_state.withdraw(request.name, request.loader, prepared.sites)
            if _members(prepared.file) != _members(file):
                prepared = None
        advised = None
        if prepared is not None and not prepared.depends_on_code:
            planned, advised = prepared.planned, prepared.advised
        else:
            planned = self._plan(file, request.name, request.loader)
        if request.class_id == _BEING_LOADED:
            if depends_on_prewoven(self.program, self.weave_state, planned):
                return None
            planned = within_limits(self.program, self.weave_state, planned)
        weave_state = self.weave_state
        for refusal in planned.refusals:
            weave_state.refuse(refusal)
        is_new = prepared is None and not weave_state.places(request.name, request.loader)
        weave_state.find(self._found(planned, file, request.loader) if is_new else planned.problems)
        probes = frozenset(probe for method in planned.methods for probe in method.probes)
        earlier_site = weave_state.first_site(request.name, request.loader, digest, probes)
        first = weave_state.next_site if earlier_site is None else earlier_site
        result = weave_class(self._factory, file, planned, first, advised, request.loader)
        for refusal in result.refusals:
            weave_state.refuse(refusal)
        if result.data is None:
            return self._unchanged(request, digest)
        if earlier_site is None:
            if not weave_state.has_room(len(result.sites)):
                detail = f"a session has {SITES:,} places: name fewer methods, or split the script"
                weave_state.refuse(Refusal(RefusalReason.NO_SITES, request.name, None, detail))
                return self._unchanged(request, digest)
            weave_state.keep_sites(request.name, request.loader, digest, probes, len(result.sites))
        weave_state.wove(request.name, request.loader, result.sites)
        return messages.Woven(
            request.request,
            digest,
            Verdict.WOVEN,
            handler_classes(self._not_installed(result.handlers)),
            _method_sites(result.sites),
            result.data,
        )

    def _not_installed(self, handlers: Iterable[HandlerClass]) -> list[HandlerClass]:
        return [handler for handler in handlers if handler.class_name not in self.weave_state.installed]

    def _unchanged(self, request: ClassBytes, digest: bytes) -> messages.Woven:
        self.weave_state.wove(request.name, request.loader, ())
        return messages.Woven(request.request, digest, Verdict.UNCHANGED, (), (), b"")

    def _found(self, plan: PlannedClass, file: ClassFile, loader: str) -> tuple[Diagnostic, ...]:
        """The diagnostics of a class that was loaded after the program."""
        name = plan.class_name.replace("/", ".")
        probes = {probe for method in plan.methods for probe in method.probes}
        in_vain = [
            why_missing_there(probe, self.planner, file, plan, self.weave_state.hierarchy.ancestors)
            for probe in (() if plan.refusals or plan.problems else self.program.active)
            if probe.id not in probes and not self.weave_state.methods(probe.id)
            if self.waits_for(probe.id, name, loader)
        ]
        return (*plan.problems, *in_vain, *other_lines(self.program.active, self.planner, [(file, plan)]))

    def _plan(self, file: ClassFile, name: str, loader: str) -> PlannedClass:
        if file.name.replace("/", ".") != name:
            raise ClassFileError(f"the class file of {name} contains the class {file.name}")
        weave_state = self.weave_state
        ancestors = weave_state.hierarchy.ancestors(name)
        plan = self.planner.plan_class(file, in_jdk=loader in _JDK_LOADERS, ancestors=ancestors)
        for undecided in self.planner.undecided:
            if mutf8.encode(undecided.replace(".", "/")) in file.data:
                weave_state.naming.setdefault(undecided, {})[name] = loader
        refusal = None
        if plan.methods and ANNOTATED_RECORDS not in self.allow:
            refusal = harms(weave_state.java_version, name, file)
        if refusal is not None:
            return PlannedClass(plan.class_name, (), (*plan.refusals, refusal), plan.problems)
        return plan


def _agent_probes(
    program: Program, known: Iterable[AgentProbe], weave_state: WeaveState, factory: HandlerFactory
) -> Iterator[AgentProbe]:
    """The probes that run on the agent's thread. ``known``: those of the previous version."""
    by_probe = {agent_probe.probe: agent_probe for agent_probe in known}
    for probe in program.active:
        if isinstance(probe.attachment, MethodAttachment | ProbeAttachment):
            continue
        if probe.id in by_probe:
            yield by_probe[probe.id]
        else:
            handler = factory.fire(bind(program, probe, None))
            yield AgentProbe(probe.id, probe.attachment, weave_state.take_sites(1), handler)


def _members(file: ClassFile) -> tuple[str, str | None, tuple[str, ...], dict[tuple[str, str], int]]:
    """The parts of a class, other than code, on which its plan depends. The JVM may change the order of methods."""
    methods = {(method.name, method.descriptor): method.access_flags for method in file.methods}
    return file.name, file.super_name, file.interfaces, methods


def _method_sites(sites: Iterable[Site]) -> tuple[MethodSites, ...]:
    """The sites for the agent. The sites of a method follow each other."""
    methods: list[MethodSites] = []
    name = descriptor = ""
    of_method: list[messages.Site] = []
    for site in sites:
        if site.method != name or site.descriptor != descriptor:
            if of_method:
                methods.append(new_tuple(MethodSites, (name, descriptor, tuple(of_method))))
            name, descriptor, of_method = site.method, site.descriptor, []
        place = (site.id, site.probe, site.point, site.line, site.target_class, site.member)
        of_method.append(new_tuple(messages.Site, place))
    if of_method:
        methods.append(new_tuple(MethodSites, (name, descriptor, tuple(of_method))))
    return tuple(methods)


def handler_classes(handlers: Sequence[HandlerClass]) -> tuple[messages.HandlerClass, ...]:
    return tuple(messages.HandlerClass(handler.class_name, handler.data) for handler in handlers)
