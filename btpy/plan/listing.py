"""The matches of a probe in a class, for people (``btpy ls``, ``-l``): methods with their lines and locals, and omitted
methods with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable

from btpy.classfile import descriptors, operations
from btpy.classfile.jvms import ACC_ABSTRACT, ACC_ANNOTATION, ACC_BRIDGE, ACC_ENUM, ACC_INTERFACE, ACC_SYNTHETIC
from btpy.classfile.reader import ClassFile, Member
from btpy.dataclass import dataclass
from btpy.errors import ClassFileError
from btpy.lang.program import Probe
from btpy.model.attachments import MethodAttachment
from btpy.model.patterns import java_type
from btpy.plan.locations import INSIDE
from btpy.plan.plan import Refusal
from btpy.plan.planner import PlannedClass


@dataclass(frozen=True, slots=True)
class Skipped:
    """The reason why code is omitted; ``code``: the code for ``btpy explain``, empty if the pattern simply does not
    match."""

    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class ListedLocal:
    """A local variable. ``first`` and ``last``: the range of lines in which a probe can read it, 0 if there are no line
    numbers.
    """

    name: str
    type: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class ListedPlace:
    """A place inside a method: the line, and the class or member that the instruction names, if any."""

    line: int
    what: str


@dataclass(frozen=True, slots=True)
class ListedMethod:
    """``parameters``: types as Java spells them, with their names (None: not known). ``lines``: source lines with code,
    ascending."""

    name: str
    descriptor: str
    parameters: tuple[tuple[str, str | None], ...]
    returns: str
    static: bool
    lines: tuple[int, ...]
    locals: tuple[ListedLocal, ...]
    places: tuple[ListedPlace, ...]
    skipped: Skipped | None


@dataclass(frozen=True, slots=True)
class ListedClass:
    """``kind``: class, abstract class, interface, annotation or enum. ``source``: the place from which it was
    loaded."""

    name: str
    kind: str
    loader: str
    source: str
    supertypes: tuple[str, ...]
    methods: tuple[ListedMethod, ...]
    skipped: Skipped | None

    @property
    def matching(self) -> int:
        """The number of methods that get the probe."""
        return sum(method.skipped is None for method in self.methods)


@dataclass(frozen=True, slots=True)
class ListedProbe:
    """The matches of one probe, by class name. ``more``: the number of matching classes that were not examined.
    ``unseen``: classes that match by name but have no class file. btpy can examine them only when the JVM shows their
    bytes."""

    name: str
    classes: tuple[ListedClass, ...]
    more: int
    unseen: int

    @property
    def matching_methods(self) -> int:
        return sum(class_.matching for class_ in self.classes)


def kind_of(access_flags: int) -> str:
    if access_flags & ACC_ANNOTATION:
        return "annotation"
    if access_flags & ACC_INTERFACE:
        return "interface"
    if access_flags & ACC_ENUM:
        return "enum"
    return "abstract class" if access_flags & ACC_ABSTRACT else "class"


def listed_methods(probe: Probe, file: ClassFile, planned_class: PlannedClass) -> tuple[ListedMethod, ...]:
    """The methods of a class that a probe names, in the order of the class file."""
    attachment = probe.attachment
    assert isinstance(attachment, MethodAttachment)
    patterns = [pattern.methods for pattern in attachment.methods]
    places = {
        (method.name, method.descriptor): [
            (advice.at, _what(advice.target_class, advice.member))
            for advice in method.advice
            if advice.bound.probe.id == probe.id
        ]
        for method in planned_class.methods
    }
    methods = []
    for method in file.methods:
        if not any(pattern.matches(method.name, method.annotations) for pattern in patterns):
            continue
        method_places = places.get((method.name, method.descriptor))
        skipped = None if method_places else _why_skipped(method, attachment, planned_class.refusals)
        if method_places or skipped is not None:
            methods.append(described(method, method_places or [], skipped))
    return tuple(methods)


def _why_skipped(method: Member, attachment: MethodAttachment, refusals: Iterable[Refusal]) -> Skipped | None:
    """The reason why the probe omits the method; None if it means other overloads, or if the method has no place for
    it."""
    label = method.name + method.descriptor
    for refusal in refusals:
        if refusal.method == label:
            return Skipped(refusal.reason.value, refusal.detail)
    if not INSIDE.isdisjoint(attachment.points):
        return None
    if method.access_flags & ACC_BRIDGE:
        return Skipped("", "a bridge: the probe is in the method that it calls")
    if method.access_flags & ACC_SYNTHETIC:
        return Skipped("", "made by the compiler: it is traced only if the pattern names it")
    return None


def described(
    method: Member, places: Iterable[tuple[int | None, str]] = (), skipped: Skipped | None = None
) -> ListedMethod:
    """The description of a method from its class file. ``places``: offsets of instructions in its code, with the class
    or member that the instruction names.
    """
    parameters, returns = descriptors.parse(method.descriptor)
    code = method.code
    lines = () if code is None else tuple(sorted({line for _, line in code.lines}))
    return ListedMethod(
        method.name,
        method.descriptor,
        tuple(zip(map(java_type, parameters), method.parameter_names, strict=True)),
        java_type(returns),
        method.is_static,
        lines,
        _locals(method),
        tuple(
            dict.fromkeys(
                ListedPlace(code.line_at(max(at, 0)), description)
                for at, description in places
                if at is not None and code is not None
            )
        ),
        skipped,
    )


def _locals(method: Member) -> tuple[ListedLocal, ...]:
    """The variables in the order of their slots, with parameters, without ``this``."""
    code = method.code
    if code is None:
        return ()
    try:
        rows = operations.local_variables(method) or ()
    except ClassFileError:
        return ()
    variables = []
    for row in sorted(rows, key=lambda row: (row.slot, row.start)):
        within = [line for at, line in code.lines if row.start <= at < row.end]
        if row.name != "this":
            variables.append(
                ListedLocal(row.name, java_type(row.descriptor), min(within, default=0), max(within, default=0))
            )
    return tuple(variables)


def _what(owner: str, member: str) -> str:
    return f"{owner}.{member}" if owner and member else owner or member


def takes_every_method(attachment: MethodAttachment) -> bool:
    """Whether a probe needs no particular method: it means every class that its patterns match."""
    return any(method.text == "*" for method in attachment.methods) and INSIDE.isdisjoint(attachment.points)
