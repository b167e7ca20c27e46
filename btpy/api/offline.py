"""Weaving class files without a JVM: a class path or a JDK.

    offline = OfflineWeaver(program, allow=frozenset())
    for name, sites in offline.weave(class_path([Path("app.jar")]), lambda woven: (woven.name, len(woven.sites))):
        print(name, sites)

The bytes may differ from the bytes that a JVM shows of the same classes, because the JVM omits parts. The results only
show roughly what a session will do, and they serve to test the weaver. The session weaves the bytes that the JVM shows.

Many classes are woven in several processes (:mod:`btpy.parallel`). The result does not depend on the number of
processes: sites are numbered class by class, so the bytes of a class depend only on the class, the script, and its
supertypes if the script uses them.
"""

from __future__ import annotations

import difflib
import zipfile
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

from btpy import files, interpreter, parallel
from btpy.api.woven_jar import is_inside
from btpy.classfile import jimage
from btpy.classfile.archive import MAX_ENTRY_BYTES, UNREADABLE, read_entry
from btpy.classfile.disassembler import listing
from btpy.classfile.reader import ClassFile, Member
from btpy.codegen.advice import HandlerFactory
from btpy.codegen.handler_class import HandlerClass
from btpy.dataclass import dataclass
from btpy.engine.class_weaving import malformed, weave_class
from btpy.errors import BtpyError, ClassFileError, CompileError, UsageError
from btpy.lang.program import Program
from btpy.model.diagnostics import Diagnostic
from btpy.model.patterns import ClassPattern, MethodPattern, class_patterns
from btpy.model.source import Span
from btpy.plan.hierarchy import Hierarchy
from btpy.plan.plan import Refusal, Site, first_site
from btpy.plan.planner import Planner

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FoundClass:
    """``origin``: the path or module that contains the class. ``entry``: the path of the class in ``origin``
    (``com/acme/Foo.class``). ``read`` works until the caller takes the next class. It raises UsageError if the class
    cannot be read.
    """

    origin: str
    entry: str
    read: Callable[[], bytes]
    in_jdk: bool


Classes = Callable[[], Iterator[FoundClass]]
"""Makes a new iterator over the classes at each call. Raises UsageError for a path that cannot be read."""


@dataclass(frozen=True, slots=True)
class OfflineClass:
    """A class that a probe matches. ``origin`` and ``entry`` come from the FoundClass; ``name`` is the binary name.
    ``data``: None means unchanged. The ids of ``sites`` are unique in the class. ``handlers``: the classes that woven
    code calls."""

    origin: str
    entry: str
    name: str
    before: bytes
    data: bytes | None
    sites: tuple[Site, ...]
    refusals: tuple[Refusal, ...]
    problems: tuple[Diagnostic, ...] = ()
    handlers: tuple[HandlerClass, ...] = ()


def class_path(paths: Iterable[Path]) -> Classes:
    """The classes below directories and in jar files. Raises UsageError for any other path, and for a path that cannot
    be read."""
    entries = list(paths)
    for path in entries:
        if not (path.is_dir() or zipfile.is_zipfile(path)):
            raise UsageError(f"{path} is neither a directory of classes nor a jar")

    def classes() -> Iterator[FoundClass]:
        for path in entries:
            yield from _in_directory(path) if path.is_dir() else _in_jar(path)

    return classes


def _in_directory(path: Path) -> Iterator[FoundClass]:
    for file in sorted(path.rglob("*.class")):
        yield FoundClass(str(path), file.relative_to(path).as_posix(), _reader(path, partial(_content, file)), False)


def _content(file: Path) -> bytes:
    """A class file in a directory. Raises OSError."""
    with files.closing(files.open_path(file.parent)) as directory:
        return files.read_foreign(file.name, MAX_ENTRY_BYTES, directory=directory, follow=True)


def _in_jar(path: Path) -> Iterator[FoundClass]:
    with readable(path), zipfile.ZipFile(path) as jar:
        entries = {
            entry.filename: entry for entry in jar.infolist()
        }  # if two entries have the same name, the last entry counts, as in a JVM
        for name in sorted(entries):
            if name.endswith(".class"):
                read = partial(read_entry, jar, entries[name], MAX_ENTRY_BYTES)
                yield FoundClass(str(path), name, _reader(path, read), False)


def jdk(home: Path) -> Classes:
    """The classes of a Java runtime. Raises UsageError when there is no Java runtime at ``home``."""
    modules = home / "lib" / "modules"
    if not modules.is_file():
        raise UsageError(f"{home} is not the home of a Java runtime of version 9 or later: it has no lib/modules")

    def classes() -> Iterator[FoundClass]:
        with readable(modules):
            for module, name, read in jimage.classes(modules):
                yield FoundClass(module, f"{name}.class", read, True)

    return classes


def _reader(path: Path, read: Callable[[], bytes]) -> Callable[[], bytes]:
    def data() -> bytes:
        with readable(path):
            return read()

    return data


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Errors of the system and of ``zipfile`` become a UsageError."""
    try:
        yield
    except UNREADABLE as cause:
        reason = cause.strerror.lower() if isinstance(cause, OSError) and cause.strerror else str(cause)
        raise UsageError(f"cannot read {path}: {reason}", help=["repair it, or leave it out"]) from cause


class OfflineWeaver:
    """``classes``: the number of classes examined so far. Raises UsageError when a pattern of the program is
    malformed.
    """

    def __init__(self, program: Program, *, allow: frozenset[str]) -> None:
        self._hierarchy = Hierarchy()
        self._planner = Planner(program, allow=allow, supertypes=self._hierarchy.ancestors)
        self._factory = HandlerFactory(program)
        self.classes = 0

    def weave(self, classes: Classes, use: Callable[[OfflineClass], T]) -> Generator[T, None, None]:
        """The results of ``use`` for the classes that a probe matches, in their order. A class is woven if possible.
        ``use`` may run in another process, so its result is pickled. Raises ClassFileError for a bad modules file, and
        the errors of ``parallel.in_order``.
        """

        def woven(class_file: FoundClass) -> T | None:
            result = self._weave(class_file)
            return None if result is None else use(result)

        with interpreter.gc_paused():
            if self._planner.uses_supertypes:
                for supertypes in parallel.in_order(_supertypes, classes):
                    if supertypes is not None:
                        self._hierarchy.add(*supertypes)
            for outcome in parallel.in_order(woven, classes):
                self.classes += 1
                if outcome is not None:
                    yield outcome

    def _weave(self, class_file: FoundClass) -> OfflineClass | None:
        name = class_file.entry.removesuffix(".class").replace("/", ".")
        original = b""
        try:
            original = class_file.read()
            file = ClassFile.parse(original)
            name = file.name.replace("/", ".")
            ancestors = self._hierarchy.ancestors(name)
            planned_class = self._planner.plan_class(file, in_jdk=class_file.in_jdk, ancestors=ancestors)
            if not (planned_class.methods or planned_class.refusals or planned_class.problems):
                return None
            if not is_inside(class_file.entry):
                raise ClassFileError(f"its path, {class_file.entry!r}, leads out of the archive or directory")
            woven_class = weave_class(self._factory, file, planned_class, first_site())
        except Exception as error:
            if isinstance(error, BtpyError | OSError) and not isinstance(error, ClassFileError | CompileError):
                raise
            return OfflineClass(
                class_file.origin, class_file.entry, name, original, None, (), (malformed(name, error),)
            )
        return OfflineClass(
            class_file.origin,
            class_file.entry,
            name,
            original,
            woven_class.data,
            woven_class.sites,
            (*planned_class.refusals, *woven_class.refusals),
            once(planned_class.problems),
            woven_class.handlers,
        )


def _supertypes(class_file: FoundClass) -> tuple[str, str, tuple[str, ...]] | None:
    """None if it is not a class file, which is reported when the class is woven."""
    try:
        return supertypes(ClassFile.parse(class_file.read()))
    except ClassFileError:
        return None


def supertypes(file: ClassFile) -> tuple[str, str, tuple[str, ...]]:
    """The binary names of the class, its superclass (empty for Object) and its interfaces."""
    name, superclass, *interfaces = (
        name.replace("/", ".") for name in (file.name, file.super_name or "", *file.interfaces)
    )
    return name, superclass, tuple(interfaces)


def once(problems: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Duplicate messages are reported once, for the first method concerned."""
    first: dict[tuple[str, str, Span], Diagnostic] = {}
    for problem in problems:
        first.setdefault((problem.code, problem.message, problem.primary.span), problem)
    return tuple(first.values())


@dataclass(frozen=True, slots=True)
class MethodFilter:
    """``Class::method`` of the command line."""

    classes: tuple[ClassPattern, ...]
    method: MethodPattern

    @staticmethod
    def parse(text: str) -> MethodFilter:
        """Raises UsageError."""
        owner, separator, method = text.partition("::")
        if not (owner and separator and method):
            raise UsageError(f"{text!r} names no method", help=["for example --diff 'com.acme.Foo::bar'"])
        return MethodFilter(class_patterns(owner), MethodPattern(method))

    def matches(self, name: str) -> bool:
        return any(pattern.matches(name) for pattern in self.classes)


def differences(class_: OfflineClass, method_filter: MethodFilter) -> Iterator[str]:
    """The lines of a unified diff for each woven method that the user asks for. Raises ClassFileError."""
    if class_.data is None or not method_filter.matches(class_.name):
        return
    changed = {(site.method, site.descriptor) for site in class_.sites}
    before, after = ClassFile.parse(class_.before), ClassFile.parse(class_.data)
    for old, new in zip(before.methods, after.methods, strict=True):
        if (old.name, old.descriptor) in changed and method_filter.method.matches(old.name):
            title = f"{class_.name}::{old.name}{old.descriptor}"
            a, b = _lines(before, old), _lines(after, new)
            yield from difflib.unified_diff(a, b, f"{title} as it is", f"{title} woven", n=4, lineterm="")


def _lines(file: ClassFile, method: Member) -> list[str]:
    code = method.code
    sizes = "" if code is None else f"// stack {code.max_stack}, locals {code.max_locals}, {len(code.code)} bytes"
    return [sizes, *listing(file, method)]
