"""The matches of a program's probes in a target. They are found before anything in the target changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from btpy.classfile.jvms import ACC_INTERFACE, ACC_NATIVE
from btpy.classfile.operations import MethodOperations
from btpy.classfile.reader import ClassFile, Member
from btpy.classfile.sourcemap import source_map
from btpy.dataclass import dataclass
from btpy.errors import ClassFileError, UsageError
from btpy.lang.program import Probe, Program
from btpy.lang.syntax import nodes
from btpy.model.attachments import MethodAttachment
from btpy.model.diagnostics import Diagnostic, Severity
from btpy.model.patterns import ClassPattern, ClassPatternKind, Pattern
from btpy.model.points import Point
from btpy.model.source import Span
from btpy.plan import diagnose, locations
from btpy.plan.diagnose import KnownClass, MappedLines, TargetFacts
from btpy.plan.listing import ListedClass, ListedProbe, Skipped, kind_of, listed_methods, takes_every_method
from btpy.plan.plan import OF_PLACES, Refusal, RefusalReason
from btpy.plan.planner import PlannedClass, PlannedMethod, Planner, java_signature
from btpy.wire.messages import LoadedClass, LoadedRefusal


@dataclass(frozen=True, slots=True)
class MatchedClass:
    """A loaded class that a class pattern matches.

    ``file`` and ``planned`` are None when the class has no class file to read (made at run time): the plan is made when
    the JVM passes its bytes.
    """

    loaded: LoadedClass
    file: ClassFile | None
    planned: PlannedClass | None

    @property
    def is_to_weave(self) -> bool:
        """Whether it gets probes, or may get them."""
        return self.planned is None or bool(self.planned.methods)


def looked_at(classes: Iterable[MatchedClass]) -> list[tuple[ClassFile, PlannedClass]]:
    """The classes whose class file can be read."""
    return [
        (class_.file, class_.planned) for class_ in classes if class_.file is not None and class_.planned is not None
    ]


@dataclass(frozen=True, slots=True)
class Matching:
    """``missing``: a diagnostic for each probe that matches no code, by probe id; ``warnings``: warnings about matching
    probes. ``beyond``: the number of matching classes that were not examined.
    """

    loaded: int
    classes: tuple[MatchedClass, ...]
    refusals: tuple[Refusal, ...]
    problems: tuple[Diagnostic, ...]
    missing: Mapping[int, Diagnostic]
    beyond: int = 0
    warnings: tuple[Diagnostic, ...] = ()

    @property
    def planned_methods(self) -> Iterator[PlannedMethod]:
        """Methods that get a probe, as known before weaving."""
        return (method for class_ in self.classes if class_.planned is not None for method in class_.planned.methods)

    def methods(self, probe: int) -> int:
        """The number of methods that get the probe."""
        return sum(method.has(probe) for method in self.planned_methods)

    def has_methods(self, probe: int) -> bool:
        """Whether there are such methods."""
        return any(method.has(probe) for method in self.planned_methods)

    def woven_classes(self, probe: int) -> int:
        """Classes with these methods."""
        return sum(
            class_.planned is not None and any(method.has(probe) for method in class_.planned.methods)
            for class_ in self.classes
        )

    def refusal(self, probe: int, refusals: Iterable[Refusal]) -> Refusal | None:
        """The first of ``refusals`` about a method of the probe."""
        into = {
            (class_.loaded.name, method.name + method.descriptor)
            for class_ in self.classes
            if class_.planned is not None
            for method in class_.planned.methods
            if method.has(probe)
        }
        classes = {name for name, _ in into}
        return next(
            (
                refusal
                for refusal in refusals
                if (
                    refusal.class_name in classes
                    if refusal.method is None
                    else (refusal.class_name, refusal.method) in into
                )
            ),
            None,
        )

    def with_those_of(self, later: Matching) -> Matching:
        """The matching together with the classes that were loaded later."""
        return replace(self, classes=(*self.classes, *later.classes), refusals=(*self.refusals, *later.refusals))

    @property
    def to_weave(self) -> tuple[LoadedClass, ...]:
        return tuple(class_.loaded for class_ in self.classes if class_.is_to_weave)


def listed(
    program: Program, planner: Planner, matching: Matching, ancestors: Callable[[str], frozenset[str]]
) -> tuple[ListedProbe, ...]:
    """The matches of each method probe of a program, for people to read."""
    class_refusals = [
        ListedClass(refusal.class_name, "class", "", "", (), (), Skipped(refusal.reason.value, refusal.detail))
        for refusal in matching.refusals
        if refusal.method is None and refusal.class_name not in {class_.loaded.name for class_ in matching.classes}
    ]
    probes = []
    for probe in program.probes:
        if not isinstance(probe.attachment, MethodAttachment):
            continue
        patterns = planner.class_patterns_of(probe.id)
        classes = [
            _listed(probe, class_)
            for class_ in matching.classes
            if class_.file is not None and planner.applies(probe.id, class_.file, ancestors(class_.loaded.name))
        ]
        classes += [
            refusal
            for refusal in class_refusals
            if any(pattern.matches(refusal.name, ancestors(refusal.name)) for pattern in patterns)
        ]
        unseen = sum(
            class_.file is None
            and any(pattern.matches(class_.loaded.name, ancestors(class_.loaded.name)) for pattern in patterns)
            for class_ in matching.classes
        )
        if not takes_every_method(probe.attachment):  # otherwise a class without matches would be listed
            classes = [class_ for class_ in classes if class_.methods or class_.skipped is not None]
        classes.sort(key=lambda class_: (class_.name, class_.loader))
        probes.append(ListedProbe(probe.name, tuple(classes), matching.beyond, unseen))
    return tuple(probes)


def _listed(probe: Probe, matched_class: MatchedClass) -> ListedClass:
    loaded_class, file, planned = matched_class.loaded, matched_class.file, matched_class.planned
    assert file is not None
    assert planned is not None
    class_refusal = next((refusal for refusal in planned.refusals if refusal.method is None), None)
    return ListedClass(
        loaded_class.name,
        kind_of(loaded_class.access_flags),
        loaded_class.loader,
        loaded_class.code_source,
        (*((loaded_class.superclass,) if loaded_class.superclass else ()), *loaded_class.interfaces),
        () if class_refusal is not None else listed_methods(probe, file, planned),
        None if class_refusal is None else Skipped(class_refusal.reason.value, class_refusal.detail),
    )


@dataclass(frozen=True, slots=True)
class Inventory:
    """The questions that a diagnosis may ask the target. ``names``: all loaded classes; ``subtypes``: names of loaded
    subtypes; ``class_file``: returns the class file of a class by its name, or None if it has none."""

    facts: TargetFacts
    names: Callable[[], Sequence[LoadedClass]]
    subtypes: Callable[[str], Sequence[str]]
    ancestors: Callable[[str], frozenset[str]]
    class_file: Callable[[str], bytes | None]


def why_missing(
    probe: Probe,
    planner: Planner,
    classes: Iterable[MatchedClass],
    refusals: Iterable[Refusal],
    inventory: Inventory,
) -> Diagnostic:
    """The reason why a method probe matches no method of the loaded classes.

    ``refusals``: also the refusals of matching classes that are not among ``classes``.
    """
    reason = _reason(probe, planner, classes, refusals, inventory)
    return diagnose.of_untested_version(probe, reason) if probe.tested else reason


def _reason(
    probe: Probe,
    planner: Planner,
    classes: Iterable[MatchedClass],
    refusals: Iterable[Refusal],
    inventory: Inventory,
) -> Diagnostic:
    attachment = probe.attachment
    assert isinstance(attachment, MethodAttachment)
    patterns = planner.class_patterns_of(probe.id)
    mine = [matched_class for matched_class in classes if _is_of(matched_class, patterns, inventory)]
    if not mine:
        return _why_no_class(probe, patterns, refusals, inventory)
    excluded = [pattern for text in attachment.exclude for pattern in text.classes]
    left = [matched_class for matched_class in mine if not _is_of(matched_class, excluded, inventory)]
    if not left:
        return diagnose.all_excluded(probe, list(dict.fromkeys(class_.loaded.name for class_ in mine)))
    mine = left
    without_file = {class_.loaded.name for class_ in mine if class_.file is None}
    if len(without_file) == len(mine):
        class_refusals = [
            refusal for refusal in refusals if refusal.method is None and refusal.class_name in without_file
        ]
        if class_refusals and class_refusals[0].reason in _UNASKED:
            return diagnose.protected_class(probe, class_refusals[0])
        if class_refusals:
            return diagnose.classes_refused(probe, class_refusals)
    methods = [pattern.methods for pattern in attachment.methods]
    same_name = [
        (class_, method)
        for class_ in mine
        if class_.file is not None
        for method in class_.file.methods
        if any(pattern.matches(method.name, method.annotations) for pattern in methods)
    ]
    native = [method for _, method in same_name if method.access_flags & ACC_NATIVE]
    if native and len(native) == len(same_name):
        return diagnose.native_method(probe, _spelled(native[0]))
    planned_refusals = [refusal for _, planned_class in looked_at(mine) for refusal in planned_class.refusals]
    for refusal in planned_refusals:
        if refusal.reason in _UNASKED:
            return diagnose.protected_class(probe, refusal)
    too_large = [refusal for refusal in planned_refusals if refusal.method is None]
    if too_large:
        return diagnose.classes_refused(probe, too_large)
    interfaces = [class_.loaded.name for class_ in mine if class_.loaded.access_flags & ACC_INTERFACE]
    if interfaces and same_name and all(method.code is None for _, method in same_name):
        return diagnose.interface_without_code(probe, interfaces[0], inventory.subtypes(interfaces[0]))
    if not same_name:
        return diagnose.no_method_matches(probe, [_known(class_.loaded, class_.file) for class_ in mine])
    inside = [
        (class_, method, operations)
        for class_ in mine
        if class_.file is not None
        for method, operations in planner.looked_through(probe.id, class_.file)
    ]
    if inside:
        return _why_no_place(probe, [class_ for class_, _, _ in inside], [operations for _, _, operations in inside])
    return diagnose.no_overload_fits(probe, [_spelled(method) for _, method in same_name])


def _is_of(matched_class: MatchedClass, patterns: Iterable[ClassPattern], inventory: Inventory) -> bool:
    """Whether one of the patterns of a probe matches a class."""
    name = matched_class.loaded.name
    annotations = matched_class.file.annotations if matched_class.file is not None else ()
    return any(pattern.matches(name, inventory.ancestors(name), annotations) for pattern in patterns)


def _why_no_class(
    probe: Probe, patterns: Sequence[ClassPattern], refusals: Iterable[Refusal], inventory: Inventory
) -> Diagnostic:
    """The reason why a probe matches no loaded class that could be woven."""
    attachment = probe.attachment
    assert isinstance(attachment, MethodAttachment)
    class_refusals = [
        refusal
        for refusal in refusals
        if any(pattern.matches(refusal.class_name, inventory.ancestors(refusal.class_name)) for pattern in patterns)
    ]
    if class_refusals:
        return diagnose.classes_refused(probe, class_refusals)
    names = inventory.names()
    classes_by_name = {loaded_class.name: loaded_class for loaded_class in names}
    nearby = diagnose.nearest_class_names(attachment.classes[0].text, classes_by_name)
    facts = replace(inventory.facts, loaders=len({loaded_class.loader for loaded_class in names}))
    return diagnose.no_class_matches(
        probe, facts, [_read(classes_by_name[name], inventory) for name in nearby], classes_by_name
    )


def doubtful(
    probes: Iterable[Probe], classes: Sequence[MatchedClass], inventory: Inventory, exists: Callable[[str, str], bool]
) -> tuple[Diagnostic, ...]:
    """Warnings about exceptions of a class that does not exist (BT310), about the object of static methods, which is
    always null (BT311), and about methods of an interface without code (BT302). ``exists``: whether a loader finds the
    class of a name.
    """
    warnings: list[Diagnostic] = []
    for probe in probes:
        attachment = probe.attachment
        if not isinstance(attachment, MethodAttachment):
            continue
        self_span = _self_of(probe)
        if attachment.thrown is None and self_span is None and not _is_exact(attachment):
            continue
        methods = [
            (matched_class, method)
            for matched_class in classes
            for method in (matched_class.planned.methods if matched_class.planned is not None else ())
            if method.has(probe.id)
        ]
        if not methods:
            continue
        loaders = list(dict.fromkeys(matched_class.loaded.loader for matched_class, _ in methods))
        if attachment.thrown is not None and not _is_there(attachment.thrown, loaders, inventory, exists):
            names = [loaded_class.name for loaded_class in inventory.names()]
            warnings.append(diagnose.no_such_exception(probe, names, inventory.facts))
        if self_span is not None and all(_is_static(matched_class.file, method) for matched_class, method in methods):
            spelled = [diagnose.method_of(matched_class.loaded.name, method.name) for matched_class, method in methods]
            warnings.append(diagnose.always_null_self(probe, self_span, list(dict.fromkeys(spelled))))
        abstract = _abstract_methods(attachment, [matched_class for matched_class, _ in methods])
        if abstract:
            owner, names = abstract
            warnings.append(diagnose.interface_with_some_code(probe, owner, names, inventory.subtypes(owner)))
    return tuple(warnings)


def _abstract_methods(attachment: MethodAttachment, classes: Sequence[MatchedClass]) -> tuple[str, list[str]] | None:
    """The interface that the pattern names, and its matching methods without code. None if there are none, or if the
    probe is in other classes, too. ``classes``: the classes with the probe.
    """
    first = classes[0]
    if not _is_exact(attachment) or attachment.signature is not None or first.file is None:
        return None
    if any(matched_class.loaded.name != first.loaded.name for matched_class in classes):
        return None
    if not first.loaded.access_flags & ACC_INTERFACE:
        return None
    patterns = [pattern.methods for pattern in attachment.methods]
    names = [
        method.name
        for method in first.file.methods
        if method.code is None and any(pattern.matches(method.name, method.annotations) for pattern in patterns)
    ]
    return (first.loaded.name, list(dict.fromkeys(names))) if names else None


def _is_exact(attachment: MethodAttachment) -> bool:
    """Whether the patterns of classes are names."""
    return all(pattern.kind is ClassPatternKind.EXACT for text in attachment.classes for pattern in text.classes)


def _is_there(
    thrown: Pattern, loaders: Iterable[str], inventory: Inventory, exists: Callable[[str, str], bool]
) -> bool:
    """Whether a class of exceptions is loaded or can be loaded: before the first exception of this class, the class is
    possibly not loaded yet.
    """
    patterns = thrown.classes
    if any(pattern.kind is ClassPatternKind.ANNOTATED for pattern in patterns):
        return True
    if any(pattern.is_meant_by(loaded_class.name) for loaded_class in inventory.names() for pattern in patterns):
        return True
    names = [pattern.text for pattern in patterns if pattern.kind in (ClassPatternKind.EXACT, ClassPatternKind.SUBTYPE)]
    return any(exists(loader, name) for loader in loaders for name in names)


def _self_of(probe: Probe) -> Span | None:
    """The first place where a probe names ``self``."""
    if any(formal.name == "self" for formal in probe.formals or ()):
        return None
    names = (node for node in nodes.walk(probe.tree) if isinstance(node, nodes.Name))
    return next((name.span for name in names if name.text == "self"), None)


def _is_static(file: ClassFile | None, planned_method: PlannedMethod) -> bool:
    methods = file.methods if file is not None else ()
    return any(
        method.is_static and (method.name, method.descriptor) == (planned_method.name, planned_method.descriptor)
        for method in methods
    )


def check_limits(probes: Iterable[Probe], matching: Matching) -> None:
    """Raises UsageError for a probe that matches more methods or classes than it may."""
    all_methods = sum(1 for _ in matching.planned_methods)
    for probe in probes:
        attachment = probe.attachment
        if not isinstance(attachment, MethodAttachment):
            continue
        # The methods of each probe are counted only if there are so many.
        methods = matching.methods(probe.id) if all_methods > attachment.max_methods else 0
        if methods > attachment.max_methods:
            raise UsageError(
                f"{probe.name} matches {methods} methods; the limit is {attachment.max_methods}",
                help=[f"narrow its patterns, or raise the limit: @OnMethod(…, max={methods}), or --max-methods"],
            )
        if attachment.max_classes is None:
            continue
        classes = matching.woven_classes(probe.id)
        if classes > attachment.max_classes:
            raise UsageError(
                f"{probe.name} matches methods of {classes} classes; the limit is {attachment.max_classes}",
                help=[f"narrow its patterns, or raise the limit: --max-classes {classes}"],
            )


def why_missing_there(
    probe: Probe,
    planner: Planner,
    file: ClassFile,
    planned_class: PlannedClass,
    ancestors: Callable[[str], frozenset[str]],
) -> Diagnostic:
    """Like :func:`why_missing`, for a pending probe whose class is being loaded."""
    name, flags = file.name.replace("/", "."), file.access_flags
    loaded_class = LoadedClass(0, name, "", "", (), flags, True, "", LoadedRefusal.NONE)
    nobody = Inventory(TargetFacts(0, 0, 0, ""), lambda: (), lambda name: (), ancestors, lambda name: None)
    diagnostic = why_missing(probe, planner, [MatchedClass(loaded_class, file, planned_class)], (), nobody)
    return replace(diagnostic, severity=Severity.WARNING)


_UNASKED = (RefusalReason.PROTECTED, RefusalReason.PARAMETER_NAMES, RefusalReason.RECORD)
"""A class that is traced only with an explicit permission."""


def _why_no_place(probe: Probe, classes: Iterable[MatchedClass], codes: Sequence[MethodOperations]) -> Diagnostic:
    """The reason why the matched methods have no instruction for the location of the probe."""
    attachment = probe.attachment
    assert isinstance(attachment, MethodAttachment)
    point = attachment.points[0]
    for class_ in classes:
        for refusal in class_.planned.refusals if class_.planned is not None else ():
            if refusal.reason in OF_PLACES:
                return diagnose.place_refused(probe, refusal)
    if point is Point.LINE:
        lines = [line for operations in codes for _, line in operations.lines]
        name = attachment.methods[0].text
        files = {class_.loaded.id: class_.file for class_ in classes if class_.file is not None}
        mappings = [mapped for file in files.values() if (mapped := _mapped_lines(probe, file, lines, ())) is not None]
        return diagnose.no_line(probe, f"{attachment.classes[0].shown}::{name}", lines, mappings)
    descriptions = [text for operations in codes for text in locations.described(point, operations) if text]
    return diagnose.no_operation(probe, len(codes), descriptions)


def other_lines(
    probes: Iterable[Probe], planner: Planner, classes: Iterable[tuple[ClassFile, PlannedClass]]
) -> tuple[Diagnostic, ...]:
    """BT309 for each probe at LINE if source maps say that the line belongs to another source file."""
    at_lines = [
        probe
        for probe in probes
        if isinstance(probe.attachment, MethodAttachment) and Point.LINE in probe.attachment.points
    ]
    if not at_lines:
        return ()
    mapped = [class_ for class_ in classes if class_[0].attribute("SourceDebugExtension") is not None]
    diagnostics = [_other_lines(probe, planner, mapped) for probe in at_lines]
    return tuple(diagnostic for diagnostic in diagnostics if diagnostic is not None)


def _other_lines(
    probe: Probe, planner: Planner, classes: Iterable[tuple[ClassFile, PlannedClass]]
) -> Diagnostic | None:
    mappings = []
    for file, planned in classes:
        codes_of = planner.looked_through(probe.id, file)
        lines = [line for _, operations in codes_of for _, line in operations.lines]
        codes = {(method.name, method.descriptor): method.code for method, _ in codes_of}
        at = [
            code.line_at(advice.at)
            for method in planned.methods
            for advice in method.advice
            if advice.bound.probe.id == probe.id and advice.at is not None
            if (code := codes.get((method.name, method.descriptor))) is not None
        ]
        mapped = _mapped_lines(probe, file, lines, at)
        if mapped is not None and at:
            mappings.append(mapped)
    return diagnose.lines_of_others(probe, mappings) if mappings else None


def _mapped_lines(probe: Probe, file: ClassFile, lines: Iterable[int], at: Iterable[int]) -> MappedLines | None:
    """``lines``: the line numbers in the matched code; ``at``: the line numbers of the probe."""
    attachment = probe.attachment
    assert isinstance(attachment, MethodAttachment)
    sources = source_map(file)
    if sources is None or attachment.operation is None or attachment.operation.lines is None:
        return None
    first, last = attachment.operation.lines
    numbers = sorted(set(at))
    mapped = tuple((number, *origin) for number in numbers if (origin := sources.origin(number)) is not None)
    others = sources.numbers(range(first, last + 1), sorted({*lines}.difference(numbers)))
    origin = sources.origin(others[0]) if others else None
    if origin is None and not mapped:
        return None
    file_name = origin.file if origin is not None else ""
    return MappedLines(file.name.replace("/", "."), sources.source, mapped, file_name, tuple(others))


def _read(loaded_class: LoadedClass, inventory: Inventory) -> KnownClass:
    data = inventory.class_file(loaded_class.name)
    try:
        return _known(loaded_class, None if data is None else ClassFile.parse(data))
    except ClassFileError:
        return _known(loaded_class, None)


def _known(loaded_class: LoadedClass, file: ClassFile | None) -> KnownClass:
    methods = None if file is None else tuple(_spelled(method) for method in file.methods)
    return KnownClass(loaded_class.name, loaded_class.loader, bool(loaded_class.access_flags & ACC_INTERFACE), methods)


def _spelled(method: Member) -> str:
    return diagnose.java_method(method.name, java_signature(method.descriptor)[0])
