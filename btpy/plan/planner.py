"""From a checked program and a class file to what is to be woven into that class.

1. A probe applies to a class when one of its class patterns matches and no ``exclude`` does.
2. It applies to a method when one of its method patterns matches, the ``type=`` and the types of the probe's header
   fit, and the method has code.
3. The probe is bound to the method's shape once for each of its points. Methods of the same shape share the bound
   probe, and so the handler class.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from btpy.classfile import descriptors
from btpy.classfile.reader import ClassFile, Member
from btpy.errors import ScriptError
from btpy.lang import checker
from btpy.lang.diagnostics import Diagnostic
from btpy.lang.program import BoundProbe, MethodAttachment, Point, Probe, Program, Shape
from btpy.lang.types import OBJECT, VOID, Kind, Type, array_of, from_descriptor
from btpy.plan.patterns import (
    ClassPattern,
    ClassPatternKind,
    MethodPattern,
    SignaturePattern,
    class_patterns,
    java_type,
    parameters_match,
)
from btpy.plan.plan import Refusal, RefusalReason

ACC_STATIC, ACC_BRIDGE, ACC_NATIVE, ACC_ABSTRACT, ACC_SYNTHETIC = 0x0008, 0x0040, 0x0100, 0x0400, 0x1000

# Traced only when named exactly and with `--allow core`: the JVM, or btpy's own run time, stands on each of them.
_CORE_CLASSES = frozenset(
    f"java.lang.{name}" for name in ("Object", "String", "Thread", "ThreadLocal", "Class", "ClassLoader")
)
_CORE_PACKAGES = ("java.lang.invoke.", "jdk.internal.")
_OWN_PACKAGES = ("btpy.agent.", "btpy.runtime.")
_INPUT_NAMES = re.compile(r"\barg|\bself\b|\bretval\b|\$")


@dataclass(frozen=True, slots=True)
class PlannedAdvice:
    """A bound probe at a place of a method. ``at``, ``target_class`` and ``member`` as in ``plan.Advice``."""

    bound: BoundProbe
    at: int | None = None
    target_class: str = ""
    member: str = ""


@dataclass(frozen=True, slots=True)
class PlannedMethod:
    """``advice`` in the order of the script; an EXIT probe stands there twice, for RETURN and for THROW."""

    name: str
    descriptor: str
    advice: tuple[PlannedAdvice, ...]

    @property
    def probes(self) -> frozenset[int]:
        """Ids of the probes that go into the method."""
        return frozenset(each.bound.probe.id for each in self.advice)


@dataclass(frozen=True, slots=True)
class PlannedClass:
    """``class_name`` is internal.  ``problems``: probes that do not type-check against a method they match."""

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


class Planner:
    """Plans classes for one program.  ``allow`` holds the capabilities given with ``--allow``.

    Raises ``UsageError`` when a pattern is malformed.
    """

    def __init__(self, program: Program, *, allow: Iterable[str] = ()) -> None:
        self.program = program
        self._allow = frozenset(allow)
        self._rules = [_rule(probe, probe.attachment) for probe in program.probes if _on_method(probe.attachment)]
        self._bound: dict[tuple[int, Shape], BoundProbe | ScriptError] = {}

    def patterns(self) -> tuple[ClassPattern, ...]:
        """Every class pattern of the program once, for the agent."""
        return tuple(dict.fromkeys(pattern for rule in self._rules for pattern in rule.classes))

    def class_patterns_of(self, probe: int) -> tuple[ClassPattern, ...]:
        return next((rule.classes for rule in self._rules if rule.probe.id == probe), ())

    def plan_class(self, classfile: ClassFile, *, in_jdk: bool, ancestors: frozenset[str]) -> PlannedClass:
        """``in_jdk``: defined by the boot or the platform loader; ``ancestors``: all supertypes (binary names)."""
        name = classfile.name.replace("/", ".")
        methods: list[PlannedMethod] = []
        refusals: list[Refusal] = []
        problems: list[Diagnostic] = []
        rules = [rule for rule in self._rules if _applies(rule, name, classfile, ancestors)]
        rules, protected = self._split_protected(rules, name)
        if protected:
            refusals.append(Refusal(RefusalReason.PROTECTED, name, None, protected))
        for method in classfile.methods if rules else ():
            advice: list[PlannedAdvice] = []
            for rule in rules:
                if not _selects(rule, method):
                    continue
                if method.access_flags & (ACC_ABSTRACT | ACC_NATIVE):
                    kind = "native" if method.access_flags & ACC_NATIVE else "abstract"
                    label = method.name + method.descriptor
                    refusals.append(
                        Refusal(RefusalReason.NO_CODE, name, label, f"{method.name} is {kind}: it has no bytecode")
                    )
                    continue
                for point in rule.attachment.points:
                    try:
                        advice.append(PlannedAdvice(self._bind(rule, method, point, in_jdk)))
                    except ScriptError as error:
                        problems.extend(error.diagnostics)
            if advice:
                methods.append(PlannedMethod(method.name, method.descriptor, tuple(advice)))
        return PlannedClass(
            classfile.name, tuple(methods), tuple(dict.fromkeys(refusals)), tuple(dict.fromkeys(problems))
        )

    def _split_protected(self, rules: list[_Rule], name: str) -> tuple[list[_Rule], str]:
        """Drops the rules that may not touch class ``name``; the reason when that leaves none."""
        if name.startswith(_OWN_PACKAGES):
            return [], "btpy does not trace itself"
        if name not in _CORE_CLASSES and not name.startswith(_CORE_PACKAGES):
            return rules, ""
        if "core" not in self._allow:
            return [], "the JVM and btpy itself stand on this class; name it exactly and give --allow core"
        exact = [rule for rule in rules if any(pattern.is_exact and pattern.text == name for pattern in rule.classes)]
        return exact, "" if exact else "only an exact class name reaches this class, patterns do not"

    def _bind(self, rule: _Rule, method: Member, point: Point, in_jdk: bool) -> BoundProbe:
        shape = _shape(rule, method, point, in_jdk)
        key = (rule.probe.id, shape)
        if key not in self._bound:
            try:
                self._bound[key] = checker.bind(self.program, rule.probe, shape)
            except ScriptError as error:
                self._bound[key] = error
        bound = self._bound[key]
        if isinstance(bound, ScriptError):
            raise bound
        return bound


def _on_method(attachment: object) -> bool:
    return isinstance(attachment, MethodAttachment)


def _rule(probe: Probe, attachment: object) -> _Rule:
    assert isinstance(attachment, MethodAttachment)
    return _Rule(
        probe,
        attachment,
        tuple(each for pattern in attachment.classes for each in class_patterns(pattern.text)),
        tuple(each for pattern in attachment.exclude for each in class_patterns(pattern.text)),
        tuple(MethodPattern(pattern.text) for pattern in attachment.methods),
        SignaturePattern.parse(attachment.signature.text) if attachment.signature else None,
        probe.formals is not None or _INPUT_NAMES.search(probe.span.text) is not None,
    )


def _applies(rule: _Rule, name: str, classfile: ClassFile, ancestors: frozenset[str]) -> bool:
    def any_matches(patterns: tuple[ClassPattern, ...]) -> bool:
        annotated = any(pattern.kind is ClassPatternKind.ANNOTATED for pattern in patterns)
        annotations = classfile.annotations if annotated else ()
        return any(pattern.matches(name, ancestors, annotations) for pattern in patterns)

    return any_matches(rule.classes) and not any_matches(rule.exclude)


def _selects(rule: _Rule, method: Member) -> bool:
    by_annotation = any(pattern.text.startswith("@") for pattern in rule.methods)
    annotations = method.annotations if by_annotation else ()
    matching = [pattern for pattern in rule.methods if pattern.matches(method.name, annotations)]
    if not matching:
        return False
    if method.access_flags & ACC_BRIDGE:  # the method it leads to is matched as well
        return False
    if method.access_flags & ACC_SYNTHETIC and not any(names_synthetic(pattern) for pattern in matching):
        return False
    if rule.signature is None and rule.probe.formals is None:
        return True
    parameters, returns = java_signature(method.descriptor)
    if rule.signature is not None and not rule.signature.matches(parameters, returns):
        return False
    if rule.probe.formals is None:
        return True
    wanted = tuple(formal.type for formal in rule.probe.formals)
    return parameters_match(wanted, rule.probe.open_formals, parameters)


def names_synthetic(pattern: MethodPattern) -> bool:
    """Whether the pattern means methods that the compiler made (lambda bodies, accessors), not only matches them."""
    return pattern.is_exact or pattern.text.startswith(("lambda$", "access$", "/lambda"))


def java_signature(descriptor: str) -> tuple[tuple[str, ...], str]:
    """A method descriptor as Java spells its types: ``(parameters, return type)``."""
    parameters, returns = descriptors.parse(descriptor)
    return tuple(map(java_type, parameters)), java_type(returns)


def _shape(rule: _Rule, method: Member, point: Point, in_jdk: bool) -> Shape:
    static = bool(method.access_flags & ACC_STATIC)
    if not rule.uses_inputs:
        return Shape(point, static, OBJECT, (), (), (), VOID, "V", in_jdk)
    parameters, returns = descriptors.parse(method.descriptor)
    names: tuple[str | None, ...] = (None,) * len(parameters)
    if "$" in rule.probe.span.text:
        names = method.parameter_names
    return Shape(
        point,
        static,
        OBJECT,
        tuple(_erased_type(descriptor) for descriptor in parameters),
        tuple(map(descriptors.erase, parameters)),
        names,
        _erased_type(returns),
        descriptors.erase(returns),
        in_jdk,
    )


def _erased_type(descriptor: str) -> Type:
    """The type without class names: they bind nothing yet and would only keep methods from sharing a handler."""
    kind = from_descriptor(descriptor)
    if kind.kind is Kind.OBJECT:
        return OBJECT
    if kind.kind is Kind.ARRAY:
        return array_of(_erased_type(descriptor[1:]))
    return kind
