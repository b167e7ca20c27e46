"""Finds the libraries that apply to a running JVM: a library applies if it names a class that the JVM has loaded.
Instruments nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from btpy.api.libraries import Libraries, Library, LibraryError
from btpy.api.session import BaseSession
from btpy.classfile.jvms import ACC_INTERFACE
from btpy.dataclass import dataclass
from btpy.engine.agent_probes import wire_patterns
from btpy.errors import ScriptError, UsageError
from btpy.lang.check.checker import check_source
from btpy.lang.program import Probe, Program
from btpy.model.attachments import MethodAttachment
from btpy.model.patterns import ClassPattern, ClassPatternKind, simple_name
from btpy.model.source import Source
from btpy.wire.messages import LoadedClass

_MOST = 1000
"""The maximum number of loaded classes that are examined for one library."""

_JDK_PACKAGES = ("java.", "jdk.", "sun.", "com.sun.")
"""Packages of the JDK only; packages of ``javax`` can also belong to an application server."""

_OTHER_METHODS = ("BT303", "BT305")
"""Codes of diagnostics: no method of the class has the name, or no method of that name has the parameter types."""


@dataclass(frozen=True, slots=True)
class Applicability:
    """``applies``: None means the library cannot be checked, and ``notes`` has the reason. ``classes``: the names of
    the loaded classes that its probes name. ``notes``: methods that the loaded version of a framework does not have.
    """

    applies: bool | None
    classes: tuple[str, ...]
    notes: tuple[str, ...]


def applicability(
    session: BaseSession, library: Library, search: Libraries, *, compare_versions: bool = True
) -> Applicability:
    """Whether a library applies to the JVM of a session. A library for the JDK itself always applies.
    ``compare_versions``: also look for methods that the loaded version of a framework does not have. This reads class
    files.

    Raises TargetGone and ProtocolError.
    """
    try:
        source = Source(library.name, search.read(library.path), path=library.path)
        program = check_source(source, search)
    except (LibraryError, UsageError) as error:
        return Applicability(None, (), (str(error),))
    except ScriptError as error:
        return Applicability(None, (), (str(error.diagnostics[0]),))
    placed = [(probe, probe.attachment) for probe in program.own if isinstance(probe.attachment, MethodAttachment)]
    # A library can import hooks that fit every JVM: flows_netty imports the hooks of flows.
    own = [attachment for probe, attachment in placed if probe.span.source.path == library.path]
    attachments = own or [attachment for _, attachment in placed]
    every = [pattern for attachment in attachments for pattern in attachment.classes]
    patterns = [pattern for pattern in every if not pattern.written] or every  # <app> fits every JVM
    parsed = [classes for pattern in patterns for classes in pattern.classes]
    loaded_classes = session.classes.matching(wire_patterns(patterns), _MOST) if patterns else ()
    names = sorted({class_.name for class_ in loaded_classes if _is_code(class_, parsed)})
    of_jdk = all(
        pattern.written or (pattern.classes[0].is_exact and pattern.text.startswith(_JDK_PACKAGES))
        for pattern in patterns
    )
    notes = _other_versions(session, program, loaded_classes) if names and compare_versions else ()
    return Applicability(bool(names) or of_jdk, tuple(names), notes)


def _is_code(class_: LoadedClass, patterns: Iterable[ClassPattern]) -> bool:
    """Whether the class is no interface, or a pattern other than ``+Interface`` matches it. The JDK has loaded some
    interfaces that no class implements.
    """
    if not class_.access_flags & ACC_INTERFACE:
        return True
    return any(
        pattern.kind not in (ClassPatternKind.SUBTYPE, ClassPatternKind.SUBTYPE_SIMPLE_NAME)
        and pattern.matches(class_.name)
        for pattern in patterns
    )


def _other_versions(session: BaseSession, program: Program, classes: Sequence[LoadedClass]) -> tuple[str, ...]:
    """A sentence for each probe whose class is loaded, but does not have the method that the probe names."""
    names = [class_.name for class_ in classes]
    compared = {
        probe.id: (probe, probe.attachment)
        for probe in program.own
        if probe.tested and isinstance(probe.attachment, MethodAttachment) and _names_one_of(probe.attachment, names)
    }
    if not compared:
        return ()
    others = {probe.id for probe in program.own} - compared.keys()  # to say why they match nothing takes much longer
    try:
        diagnostics = session.scripts.match(program.without(others)).missing
    except UsageError:
        return ()  # the patterns match more classes than can be looked at
    sentences = [
        _other_version(probe, attachment, names)
        for probe, attachment in compared.values()
        if probe.id in diagnostics and diagnostics[probe.id].code in _OTHER_METHODS
    ]
    return tuple(dict.fromkeys(sentences))


def _names_one_of(attachment: MethodAttachment, names: Iterable[str]) -> bool:
    """Whether a probe names its classes, and one of these names is among ``names``. Other patterns can match classes
    that the author does not mean.
    """
    patterns = [classes for pattern in attachment.classes for classes in pattern.classes]
    return all(classes.is_name for classes in patterns) and any(
        classes.matches(name) for classes in patterns for name in names
    )


def _other_version(probe: Probe, attachment: MethodAttachment, names: Sequence[str]) -> str:
    matches = [
        name for name in names if any(classes.matches(name) for text in attachment.classes for classes in text.classes)
    ]
    types = attachment.signature.text.partition("(")[1:] if attachment.signature is not None else ()
    methods = " or ".join(f"{method.text}{''.join(types)}" for method in attachment.methods)
    owner = simple_name(matches[0] if matches else attachment.classes[0].text)
    return f"{owner} has no {methods}: this library was tested with {probe.tested}"
