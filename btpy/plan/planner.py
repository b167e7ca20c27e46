"""Creates the plan for a class from a checked program and the class file.

1. A probe applies to a class when one of its class patterns matches and no ``exclude`` does.
2. It applies to a method when one of its method patterns matches, the ``type=`` and the types of the probe's header
   fit, and the method has code.
3. The probe is bound to the method's shape once for each of its points; at a point inside the method, for each place
   that its operation pattern selects (``locations``). Methods of the same shape share the bound probe, and so the
   handler class.
4. Binding finds missing inputs: a place without an input that the probe uses is refused, with the reason and an
   alternative.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Final, NamedTuple

from btpy.classfile import descriptors, mutf8
from btpy.classfile.bytecode import scan
from btpy.classfile.jvms import ACC_ABSTRACT, ACC_BRIDGE, ACC_NATIVE, ACC_STATIC, ACC_SYNTHETIC, MAX_UTF8_LENGTH
from btpy.classfile.operations import MethodOperations
from btpy.classfile.reader import ClassFile, Member
from btpy.dataclass import dataclass
from btpy.errors import ClassFileError, ScriptError
from btpy.lang.builtins import FRAME_POINTS
from btpy.lang.check.binding import bind
from btpy.lang.check.jfr_events import writes_events
from btpy.lang.inputs import InputKind
from btpy.lang.program import Probe, Program
from btpy.lang.syntax import nodes
from btpy.lang.typed_tree import BoundProbe, Shape
from btpy.model.attachments import MethodAttachment
from btpy.model.diagnostics import Diagnostic
from btpy.model.jfr import OWN_PACKAGES as JFR_PACKAGES
from btpy.model.patterns import (
    ClassPattern,
    ClassPatternKind,
    MethodPattern,
    SignaturePattern,
    is_regex,
    java_type,
    parameters_match,
    simple_name,
)
from btpy.model.points import Point
from btpy.model.secrets import Secrets
from btpy.model.types import OBJECT, VOID, Kind, Type, from_descriptor
from btpy.plan import locations
from btpy.plan.knowledge import Knowledge
from btpy.plan.locations import INSIDE, Place, Selector, Supertypes, erased_type
from btpy.plan.plan import MATCHED, NEEDS_CORE, OF_JFR, Refusal, RefusalReason

# These classes are traced only by a probe that names them exactly, with `--allow core`, because the JVM or btpy's own
# runtime depends on each of them.
_CORE_CLASSES: Final = frozenset(
    f"java.lang.{name}" for name in ("Object", "String", "Thread", "ThreadLocal", "Class", "ClassLoader")
)
_CORE_PACKAGES: Final = ("java.lang.invoke.", "jdk.internal.")
_NO_CORE_PACKAGES: Final = ("jdk.internal.net.http.",)
"""The HTTP client is a module above the foundations: neither the JVM nor btpy uses it."""

_OWN_CLASSES: Final = ("btpy.agent.", "btpy.runtime.", "btpy.handlers.", "btpy.launcher.", "BtpyLauncher")
_NAMING_OWNER: Final = frozenset(
    {
        Point.CALL_BEFORE,
        Point.CALL_RETURN,
        Point.CALL_THROW,
        Point.NEW,
        Point.FIELD_GET,
        Point.FIELD_SET,
        Point.CAST,
        Point.INSTANCEOF,
    }
)
"""Points at instructions that refer to the class itself, not to an array of it."""

MAX_NAMES: Final = 4 * 1024 * 1024
"""The maximum number of characters in the names of a class's methods and of their places: a small forged class can
have thousands of them with one long name. The agent gets the names in a message, which has at most 16 MB."""

_INPUT_NAMES: Final = re.compile(r"\barg|\bself\b|\bretval\b|\$")


@dataclass(frozen=True, slots=True)
class PlannedAdvice:
    """A bound probe at a place of a method. ``at``, ``target_class`` and ``member`` mean the same as in
    ``plan.Advice``."""

    bound: BoundProbe
    at: int | None = None
    target_class: str = ""
    member: str = ""


class PlannedMethod:
    """``advice`` is in the order of the script. An EXIT probe appears twice: for RETURN and for THROW. Like
    ``plan.MethodPlan``, no dataclass.
    """

    __slots__ = ("advice", "descriptor", "name")

    def __init__(self, name: str, descriptor: str, advice: tuple[PlannedAdvice, ...]) -> None:
        self.name = name
        self.descriptor = descriptor
        self.advice = advice

    @property
    def probes(self) -> frozenset[int]:
        """Ids of the probes that go into the method."""
        return frozenset(call.bound.probe.id for call in self.advice)

    def has(self, probe: int) -> bool:
        """Whether the probe of this id goes into the method."""
        return any(call.bound.probe.id == probe for call in self.advice)


@dataclass(frozen=True, slots=True)
class PlannedClass:
    """``class_name`` is internal. ``problems``: diagnostics of probes that do not type-check against a method that they
    match."""

    class_name: str
    methods: tuple[PlannedMethod, ...]
    refusals: tuple[Refusal, ...]
    problems: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class _Rule:
    """The compiled patterns of one probe."""

    probe: Probe
    attachment: MethodAttachment
    classes: tuple[ClassPattern, ...]
    exclude: tuple[ClassPattern, ...]
    methods: tuple[MethodPattern, ...]
    signature: SignaturePattern | None
    uses_inputs: bool
    secrets: Secrets  # globs that the user adds
    navigates: bool  # uses fields, methods or elements of objects, so class names matter
    selector: Selector
    constants: tuple[bytes, ...]  # bytes that a class file must have for the rule to apply
    of_methods: tuple[bytes, ...]  # it must also have one of these, for which the agent does not search loaded classes
    by_annotation: bool  # of methods
    by_name: dict[str, tuple[MethodPattern, ...]]  # cached matches by name: many classes have methods of the same name

    @property
    def alternatives(self) -> tuple[tuple[bytes, ...], ...]:
        """A class file to which the rule applies has all elements of one of these tuples."""
        return tuple([(*self.constants, of_method) for of_method in self.of_methods]) or (self.constants,)

    def may_be_in(self, data: bytes) -> bool:
        """Whether a class file has what the rule needs to apply."""
        if self.of_methods and not any(of_method in data for of_method in self.of_methods):
            return False
        return all(constant in data for constant in self.constants)


def _no_supertypes(name: str) -> frozenset[str]:
    return frozenset()


class Planner:
    """Plans classes for one program.  ``allow`` holds the capabilities given with ``--allow``.

    Raises ``UsageError`` when a pattern is malformed.
    """

    def __init__(
        self,
        program: Program,
        *,
        allow: Iterable[str] = (),
        supertypes: Supertypes = _no_supertypes,
        earlier: Planner | None = None,
    ) -> None:
        """``supertypes``: the known supertypes of classes that instructions name, for ``+Type``. ``earlier``: the
        planner of the program that this one extends; its cached results are reused.
        """
        self.program = program
        self.knowledge: Knowledge = earlier.knowledge if earlier is not None else Knowledge()
        self._allow = frozenset(allow)
        earlier_rules = {rule.probe.id: rule for rule in earlier._rules} if earlier is not None else {}
        self._rules: list[_Rule] = [
            earlier_rules.get(probe.id) or _rule(probe, probe.attachment, supertypes, program.permissions.secrets)
            for probe in program.active
            if _on_method(probe.attachment)
        ]
        # The code of a handler depends on the subscribers of the probe.
        self._subscribers = {
            rule.probe.id: tuple(subscriber.id for subscriber in program.subscribers(rule.probe))
            for rule in self._rules
        }
        self._bound: dict[tuple[int, tuple[int, ...], Shape], BoundProbe | ScriptError]
        # A copy, because a program that is only checked may have the same probe ids as the next program.
        bound_earlier = (
            list(earlier._bound.items()) if earlier else []
        )  # copied in one operation, because another thread may add entries
        self._bound = {key: bound_probe for key, bound_probe in bound_earlier if key[0] in earlier_rules}
        self._without_inputs: dict[tuple[int, Point, bool, bool], PlannedAdvice | ScriptError] = {}

    def patterns(
        self, only: Container[int] | None = None, *, loading: bool = False
    ) -> tuple[tuple[ClassPattern, tuple[bytes, ...]], ...]:
        """The class patterns of the program for the agent, without duplicates. Each has bytes that all matching class
        files contain. ``only``: limits the result to these probes. ``loading``: for classes that are being loaded. The
        agent has their bytes, so for wide patterns it also looks for the names of methods; among loaded classes, it
        would have to read many class files for that. A class that the user has named is not left out, because the user
        may have misspelled the method.
        """
        rules = [rule for rule in self._rules if only is None or rule.probe.id in only]
        return tuple(
            dict.fromkeys(
                (pattern, constants)
                for rule in rules
                for pattern in rule.classes
                for constants in (rule.alternatives if loading and pattern.is_wide else (rule.constants,))
            )
        )

    @property
    def uses_supertypes(self) -> bool:
        """Whether the plan for a class depends on more than its own class file."""
        return any(
            rule.selector.uses_supertypes or any(class_.needs_supertypes for class_ in (*rule.classes, *rule.exclude))
            for rule in self._rules
        )

    @property
    def fits_every_method(self) -> bool:
        """Whether no class can add a problem to the plan: its probes need nothing from the methods that they match."""
        return not self.uses_supertypes and not any(
            rule.uses_inputs or not INSIDE.isdisjoint(rule.attachment.points) for rule in self._rules
        )

    @property
    def undecided(self) -> frozenset[str]:
        """Classes for which it is not known yet whether operations that name them match (``locations.Selector``)."""
        return frozenset().union(*(rule.selector.undecided for rule in self._rules))

    def learned(self, name: str) -> bool:
        """Call this when the supertypes of a class become known. Returns whether operations that name it were
        omitted before and match now.
        """
        learned = [rule.selector.learned(name) for rule in self._rules]
        return any(learned)

    def may_match(self, data: bytes) -> bool:
        """Whether a class file has the names that a probe needs."""
        return any(rule.may_be_in(data) for rule in self._rules)

    def constants_of(self, probe: int) -> tuple[bytes, ...]:
        return next((rule.constants for rule in self._rules if rule.probe.id == probe), ())

    def class_patterns_of(self, probe: int) -> tuple[ClassPattern, ...]:
        return next((rule.classes for rule in self._rules if rule.probe.id == probe), ())

    def applies(self, probe: int, file: ClassFile, ancestors: frozenset[str]) -> bool:
        """Whether the class patterns of a probe match this class."""
        name = file.name.replace("/", ".")
        return any(rule.probe.id == probe and _applies(rule, name, file, ancestors) for rule in self._rules)

    def plan_class(self, classfile: ClassFile, *, in_jdk: bool, ancestors: frozenset[str]) -> PlannedClass:
        """``in_jdk``: defined by the boot or the platform loader; ``ancestors``: all supertypes (binary names)."""
        name = classfile.name.replace("/", ".")
        methods: list[PlannedMethod] = []
        findings = _Findings([], [], {})
        rules = [rule for rule in self._rules if _applies(rule, name, classfile, ancestors)]
        if name.startswith(_OWN_CLASSES):
            rules = [rule for rule in rules if _is_named(rule, name)]  # wide patterns do not include btpy's own classes
        if not rules:
            return PlannedClass(classfile.name, (), (), ())
        names_size = _size_of_names(classfile)
        all_methods = classfile.methods if names_size <= MAX_NAMES else ()
        matching_rules = rules
        rules, protected = self._split_protected(rules, name)
        if protected and any(_selects(rule, method) for rule in matching_rules for method in all_methods):
            findings.refusals.append(Refusal(RefusalReason.PROTECTED, name, None, protected))
        for method in all_methods if rules else ():
            # Most methods have a name that is known to match no pattern.
            selecting = [rule for rule in rules if rule.by_name.get(method.name) != () and _selects(rule, method)]
            if not selecting:
                continue
            inside = _Inside(classfile, method)
            advice = [advice for rule in selecting for advice in self._plan_method(rule, inside, in_jdk, findings)]
            if advice:
                methods.append(PlannedMethod(method.name, method.descriptor, tuple(advice)))
                names_size += sum([len(place.target_class) + len(place.member) for place in advice])
        if names_size > MAX_NAMES:
            detail = f"the names of its methods and places have {names_size:,} characters"
            return PlannedClass(classfile.name, (), (Refusal(RefusalReason.TOO_LARGE, name, None, detail),), ())
        refusals, problems, unfit = findings
        for misfits in unfit.values():
            _with_fitting_overloads(problems, misfits, misfits[0].rule, classfile)
        return PlannedClass(
            classfile.name, tuple(methods), tuple(dict.fromkeys(refusals)), tuple(dict.fromkeys(problems))
        )

    def _plan_method(self, rule: _Rule, inside: _Inside, in_jdk: bool, findings: _Findings) -> list[PlannedAdvice]:
        """The places of a rule in a selected method. Adds to ``findings``."""
        refusals, problems, unfit = findings
        method = inside.method
        if method.access_flags & (ACC_ABSTRACT | ACC_NATIVE):
            # A wide pattern does not include methods without operations.
            if not INSIDE.issuperset(rule.attachment.points) or any(pattern.is_exact for pattern in rule.methods):
                kind = "native" if method.access_flags & ACC_NATIVE else "abstract"
                detail = f"{method.name} is {kind}: it has no bytecode"
                refusals.append(Refusal(RefusalReason.NO_CODE, inside.class_name, inside.label, detail))
            return []
        advice: list[PlannedAdvice] = []
        unfit_before = len(problems)
        try:
            for point in rule.attachment.points:
                if point in INSIDE:
                    advice += self._plan_inside(rule, inside, point, in_jdk, refusals, problems)
                    continue
                planned = self._plan_end(rule, inside, point, in_jdk)
                if isinstance(planned, ScriptError):
                    problems.extend(_in_method(problem, inside.subject) for problem in planned.diagnostics)
                else:
                    advice.append(planned)
        except ClassFileError as error:
            refusals.append(Refusal(RefusalReason.MALFORMED, inside.class_name, inside.label, str(error)))
        if len(problems) > unfit_before:
            unfit.setdefault(rule.probe.id, []).append(_Unfit(rule, method, unfit_before, len(problems)))
        return advice

    def _plan_end(self, rule: _Rule, inside: _Inside, point: Point, in_jdk: bool) -> PlannedAdvice | ScriptError:
        """The advice at an end of a method. Methods share the advice of a rule that needs nothing from them. Raises
        ClassFileError.
        """
        key = (rule.probe.id, point, inside.method.is_static, in_jdk)
        planned = None if rule.uses_inputs else self._without_inputs.get(key)
        if planned is None:
            bound_probe = self._bind(rule, _shape(rule, inside.file, inside.method, point, in_jdk), inside)
            planned = bound_probe if isinstance(bound_probe, ScriptError) else PlannedAdvice(bound_probe)
            if not rule.uses_inputs:
                self._without_inputs[key] = planned
        return planned

    def looked_through(self, probe: int, file: ClassFile) -> list[tuple[Member, MethodOperations]]:
        """The methods of a class in which a probe at points inside methods looks for its places."""
        rules = [rule for rule in self._rules if rule.probe.id == probe and INSIDE.issuperset(rule.attachment.points)]
        return [
            (method, MethodOperations(file, method, method.code, scan(method.code.code)))
            for rule in rules
            for method in file.methods
            if method.code is not None and _selects(rule, method)
        ]

    def _split_protected(self, rules: list[_Rule], name: str) -> tuple[list[_Rule], str]:
        """Removes the rules that must not change the class ``name``. Returns the reason if no rule is left."""
        if name.startswith(_OWN_CLASSES):
            return [], "btpy does not trace itself"
        if name.startswith(JFR_PACKAGES):
            others = [rule for rule in rules if not self._writes_events(rule.probe)]
            if len(others) < len(rules):
                return others, OF_JFR
        if name.startswith(_NO_CORE_PACKAGES) or (name not in _CORE_CLASSES and not name.startswith(_CORE_PACKAGES)):
            return rules, ""
        exact = [rule for rule in rules if _is_named(rule, name)]
        if "core" not in self._allow:
            uncaught_rules = [rule for rule in exact if rule.attachment.uncaught]
            return uncaught_rules, NEEDS_CORE if len(uncaught_rules) < len(rules) else ""
        return exact, "" if exact else "patterns do not match this class: write its exact name"

    def _writes_events(self, probe: Probe) -> bool:
        """Whether the handler of the probe writes JFR events."""
        bodies = (probe, *self.program.subscribers(probe))
        return writes_events(tree for body in bodies for tree in (body.tree, *body.calls))

    def _plan_inside(
        self,
        rule: _Rule,
        inside: _Inside,
        point: Point,
        in_jdk: bool,
        refusals: list[Refusal],
        problems: list[Diagnostic],
    ) -> list[PlannedAdvice]:
        """The places of a rule at a point inside a method. Raises ClassFileError."""
        advice = []
        for place in inside.places(rule, point):
            bound_probe = self._bind(rule, inside.shape(rule, point, place, in_jdk), inside)
            if isinstance(bound_probe, ScriptError):
                problems.extend(_in_method(diagnostic, inside.subject) for diagnostic in bound_probe.diagnostics)
                continue
            lacking = _lacking(bound_probe, place)
            if lacking is None:
                advice.append(PlannedAdvice(bound_probe, place.at, place.target_class, place.member))
            else:
                refusals.append(Refusal(lacking[0], inside.class_name, inside.label, lacking[1]))
        if point is Point.LINE and not inside.operations.lines:
            detail = "compiled without line numbers (javac -g:lines): ENTRY, RETURN and CALL need none"
            refusals.append(Refusal(RefusalReason.NO_LINES, inside.class_name, inside.label, detail))
        return advice

    def _bind(self, rule: _Rule, shape: Shape, inside: _Inside) -> BoundProbe | ScriptError:
        key = (rule.probe.id, self._subscribers[rule.probe.id], shape)
        bound_probe = self._bound.get(key)
        if bound_probe is None:
            try:
                bound_probe = bind(self.program, rule.probe, shape, self.knowledge, inside.subject)
            except ScriptError as error:
                bound_probe = error
            self._bound[key] = bound_probe
        return bound_probe


def _in_method(diagnostic: Diagnostic, subject: _Traced) -> Diagnostic:
    """The diagnostic with a note that names the method."""
    if any(label.text.startswith("matched") for label in diagnostic.secondary):
        return diagnostic
    return replace(diagnostic, notes=(*diagnostic.notes, f"{MATCHED}{subject.overload}"))


@dataclass(frozen=True, slots=True)
class _Unfit:
    """A probe that does not fit a method. Its diagnostics are ``problems[first:end]`` of the findings."""

    rule: _Rule
    method: Member
    first: int
    end: int


class _Findings(NamedTuple):
    """The findings while a class is planned. ``unfit``: the methods that a probe does not fit, by its id."""

    refusals: list[Refusal]
    problems: list[Diagnostic]
    unfit: dict[int, list[_Unfit]]


def _with_fitting_overloads(problems: list[Diagnostic], unfit: Sequence[_Unfit], rule: _Rule, file: ClassFile) -> None:
    """Adds to the report of a missing name (BT112) the overloads that have it, and how to choose one."""
    lacking = {misfit.method.name for misfit in unfit}
    misfits = {(misfit.method.name, misfit.method.descriptor) for misfit in unfit}
    for name in lacking:
        fitting = [
            _Traced(file, method).overload.partition(".")[2]
            for method in file.methods
            if method.name == name
            and (method.name, method.descriptor) not in misfits
            and method.code is not None
            and _selects(rule, method)
        ]
        if not fitting:
            continue
        types = fitting[0].partition("(")[2]
        place = rule.attachment.methods[0].span.text
        choice = (
            f'type="* ({types}"' if place.startswith(('"', "@")) else f"{rule.attachment.classes[0].text}::{fitting[0]}"
        )
        overload_text = ", ".join(fitting[:_MOST_OVERLOADS]) + (", …" if len(fitting) > _MOST_OVERLOADS else "")
        help_ = (f"these overloads have it:  {overload_text}", f"choose one:  {choice}")
        for misfit in unfit:
            for at in range(misfit.first, misfit.end) if misfit.method.name == name else ():
                if problems[at].code == "BT112":
                    problems[at] = replace(problems[at], help=(*problems[at].help, *help_))


_MOST_OVERLOADS: Final = 4


class _Inside:
    """A method in which rules look for places at instructions."""

    def __init__(self, file: ClassFile, method: Member) -> None:
        self.file = file
        self.method = method
        self._operations: MethodOperations | None = None

    @property
    def subject(self) -> _Traced:
        return _Traced(self.file, self.method)

    @property
    def class_name(self) -> str:
        """The binary name of the class."""
        return self.file.name.replace("/", ".")

    @property
    def label(self) -> str:
        """The method in refusals."""
        return self.method.name + self.method.descriptor

    @property
    def operations(self) -> MethodOperations:
        if self._operations is None:
            code = self.method.code
            assert code is not None
            self._operations = MethodOperations(self.file, self.method, code, scan(code.code))
        return self._operations

    def places(self, rule: _Rule, point: Point) -> Iterator[Place]:
        monitor = locations.own_monitor(point, self.file, self.method)
        if monitor is not None:
            yield monitor
        yield from locations.places(rule.selector, point, self.operations)

    def shape(self, rule: _Rule, point: Point, place: Place, in_jdk: bool) -> Shape:
        """The shape of the place, only with the inputs that the probe needs, so that more places have equal shapes."""
        text = rule.probe.text
        operation = place.operation
        if operation is not None and "targ" not in text.replace("target", ""):
            operation = replace(operation, arguments=(), argument_descriptors=())
        if operation is not None and not any(word in text for word in ("retval", "newval", "oldval")):
            operation = replace(operation, value=None, value_descriptor="V")
        shape = replace(_shape(rule, self.file, self.method, point, in_jdk), operation=operation)
        if operation is not None:
            shape = replace(
                shape, secret_result=operation.value is not None and rule.secrets.gives_secret(place.member)
            )
        if point in FRAME_POINTS and ("$" in text or "locals" in text):
            live, absent = locations.live_variables(self.operations, place.at)
            shape = replace(shape, variables=live, absent_variables=absent)
        return shape


def _lacking(bound_probe: BoundProbe, place: Place) -> tuple[RefusalReason, str] | None:
    """The reason why the probe cannot be at the place, None when it can."""
    if place.obstacle:
        return RefusalReason.NO_POINT, place.obstacle
    kinds = {input_.kind for input_ in bound_probe.inputs}
    for kind, reason in place.missing:
        if kind in kinds:
            timed = kind is InputKind.DURATION
            return RefusalReason.NOT_TIMED if timed else RefusalReason.NO_VALUE, reason
    return None


def _on_method(attachment: object) -> bool:
    return isinstance(attachment, MethodAttachment)


def _rule(probe: Probe, attachment: object, supertypes: Supertypes, secrets: Secrets) -> _Rule:
    assert isinstance(attachment, MethodAttachment)
    operation = attachment.operation
    return _Rule(
        probe,
        attachment,
        tuple(parsed for pattern in attachment.classes for parsed in pattern.classes),
        tuple(parsed for pattern in attachment.exclude for parsed in pattern.classes),
        tuple(pattern.methods for pattern in attachment.methods),
        SignaturePattern.parse(attachment.signature.text) if attachment.signature else None,
        probe.formals is not None or _INPUT_NAMES.search(probe.text) is not None,
        secrets,
        any(isinstance(node, nodes.Field | nodes.MethodCall | nodes.Index) for node in nodes.walk(probe.tree)),
        Selector(operation, supertypes),
        _constants(attachment),
        _of_methods(attachment),
        any(pattern.text.startswith("@") for pattern in attachment.methods),
        {},
    )


def _constants(attachment: MethodAttachment) -> tuple[bytes, ...]:
    """The names that all operations of the probe use, in the form of constant pools (JVMS §4.4.7)."""
    operation = attachment.operation
    if operation is None or not INSIDE.issuperset(attachment.points):
        return ()
    names = []
    if operation.member is not None and operation.member.methods.is_exact:
        names.append(operation.member.text)
    if operation.owner is not None and _NAMING_OWNER.issuperset(attachment.points) and "[" not in operation.owner.text:
        owners = operation.owner.classes
        if len(owners) == 1 and owners[0].is_exact:
            names.append(owners[0].text.replace(".", "/"))
    return tuple(map(_utf8, names))


def _of_methods(attachment: MethodAttachment) -> tuple[bytes, ...]:
    """A class file with a method for the probe has one of these: the name, or the longest part without wildcards of a
    glob, or of the descriptor of an annotation. Empty if there are no such bytes for a pattern.
    """
    of_methods = tuple(dict.fromkeys([_of_method(pattern.text, pattern.methods) for pattern in attachment.methods]))
    return () if b"" in of_methods else of_methods


def _of_method(text: str, pattern: MethodPattern) -> bytes:
    if pattern.is_exact:
        return _utf8(text)
    if is_regex(text):
        return b""
    if text.startswith("@"):
        text = text[1:].replace(".", "/") + ";"
    return mutf8.encode(max(_WILDCARDS.split(text), key=len))


_WILDCARDS: Final = re.compile(r"[*?]")


def _utf8(name: str) -> bytes:
    """The entry of a name in a constant pool; empty if it is too long for one."""
    encoded = mutf8.encode(name)
    return b"\x01" + len(encoded).to_bytes(2) + encoded if len(encoded) <= MAX_UTF8_LENGTH else b""


def _size_of_names(classfile: ClassFile) -> int:
    """The number of characters in the names and descriptors of the methods; 0 if it is certainly small."""
    if len(classfile.methods) * len(classfile.data) <= MAX_NAMES:
        return 0
    return sum([len(method.name) + len(method.descriptor) for method in classfile.methods])


def _is_named(rule: _Rule, name: str) -> bool:
    """Whether a pattern of the probe is the name of the class."""
    return any(pattern.is_exact and pattern.text == name for pattern in rule.classes)


def _applies(rule: _Rule, name: str, classfile: ClassFile, ancestors: frozenset[str]) -> bool:
    if not rule.may_be_in(classfile.data):
        return False

    def any_matches(patterns: tuple[ClassPattern, ...]) -> bool:
        annotated = any(pattern.kind is ClassPatternKind.ANNOTATED for pattern in patterns)
        annotations = classfile.annotations if annotated else ()
        return any(pattern.matches(name, ancestors, annotations) for pattern in patterns)

    return any_matches(rule.classes) and not any_matches(rule.exclude)


def _selects(rule: _Rule, method: Member) -> bool:
    matches = rule.by_name.get(method.name)
    if matches is None:
        annotations = method.annotations if rule.by_annotation else ()
        matches = tuple(pattern for pattern in rule.methods if pattern.matches(method.name, annotations))
        if not rule.by_annotation:
            rule.by_name[method.name] = matches
    if not matches:
        return False
    if method.access_flags & ACC_BRIDGE:  # the probe is in the method that the bridge calls
        return False
    if method.access_flags & ACC_SYNTHETIC and not any(names_synthetic(pattern) for pattern in matches):
        # The compiler creates a method for the body of a lambda, but its code belongs to the class.
        inside = INSIDE.issuperset(rule.attachment.points) and method.name.startswith(_LAMBDA_BODIES)
        if not inside:
            return False
    if rule.signature is None and rule.probe.formals is None:
        return True
    parameters, returns = java_signature(method.descriptor)
    if rule.signature is not None and not rule.signature.matches(parameters, returns):
        return False
    if rule.probe.formals is None:
        return True
    types = tuple(formal.type for formal in rule.probe.formals)
    return parameters_match(types, rule.probe.open_formals, parameters)


_LAMBDA_BODIES: Final = ("lambda$", "$anonfun$")  # names of Java and Kotlin, and of Scala


def names_synthetic(pattern: MethodPattern) -> bool:
    """Whether the pattern is meant for methods that the compiler created (lambda bodies, accessors); wide patterns
    match them only by accident.
    """
    return pattern.is_exact or pattern.text.startswith(("lambda$", "access$", "/lambda"))


def java_signature(descriptor: str) -> tuple[tuple[str, ...], str]:
    """A method descriptor as Java spells its types: ``(parameters, return type)``."""
    parameters, returns = descriptors.parse(descriptor)
    return tuple(map(java_type, parameters)), java_type(returns)


@dataclass(frozen=True, slots=True)
class _Traced:
    """A method as messages call it (``lang.classes.Subject``)."""

    file: ClassFile
    method: Member

    @property
    def name(self) -> str:
        return f"{self.file.name.rpartition('/')[2]}.{self.method.name}"

    @property
    def overload(self) -> str:
        """``PricingEngine.quote(String, int)``."""
        types = ", ".join(simple_name(parameter) for parameter in java_signature(self.method.descriptor)[0])
        return f"{self.name}({types})"

    @property
    def declaration(self) -> str:
        if not self.method.name.isidentifier():
            return ""
        types, returns = java_signature(self.method.descriptor)
        pairs = zip(types, self.method.parameter_names, strict=True)
        parameters = [f"{simple_name(type_)} {name}" if name else simple_name(type_) for type_, name in pairs]
        return f"{simple_name(returns)} {self.method.name}({', '.join(parameters)})"


@cache
def _bare_shape(point: Point, static: bool, in_jdk: bool) -> Shape:
    """The shape of a method when a probe needs nothing from it."""
    return Shape(point, static, OBJECT, (), (), (), VOID, "V", in_jdk)


def _shape(rule: _Rule, file: ClassFile, method: Member, point: Point, in_jdk: bool) -> Shape:
    static = bool(method.access_flags & ACC_STATIC)
    if not rule.uses_inputs:
        return _bare_shape(point, static, in_jdk)
    parameters, returns = descriptors.parse(method.descriptor)
    names = method.parameter_names
    if "$" not in rule.probe.span.text:  # keep only names of secrets, so that more methods share a handler
        names = tuple(name if name and rule.secrets.names_secret(name) else None for name in names)
    type_of = from_descriptor if rule.navigates else erased_type
    reads_self = rule.navigates and "self" in rule.probe.span.text
    return Shape(
        point,
        static,
        Type(Kind.OBJECT, class_name=file.name.replace("/", ".")) if reads_self else OBJECT,
        tuple(map(type_of, parameters)),
        tuple(map(descriptors.erase, parameters)),
        names,
        type_of(returns),
        descriptors.erase(returns),
        in_jdk,
        secret_result="retval" in rule.probe.text and rule.secrets.gives_secret(method.name),
    )
