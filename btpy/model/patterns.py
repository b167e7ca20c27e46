"""Class, method and signature patterns (``docs/language.md``, Patterns).

The agent matches class patterns, by name or by type, so that it need not ask the client about each class that is
loaded. This module must match classes exactly like the agent. Only this module matches method patterns and signatures.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from enum import IntEnum
from functools import lru_cache

from btpy.dataclass import dataclass
from btpy.errors import UsageError
from btpy.model.source import Span


class ClassPatternKind(IntEnum):
    """The numbers are those of ``Pattern`` in docs/protocol.md."""

    EXACT = 0
    SIMPLE_NAME = 1
    GLOB = 2
    REGEX = 3
    SUBTYPE = 4
    ANNOTATED = 5
    SUBTYPE_SIMPLE_NAME = 6


@dataclass(frozen=True, slots=True)
class ClassPattern:
    kind: ClassPatternKind
    text: str

    def matches(self, name: str, ancestors: Iterable[str] = (), annotations: Iterable[str] = ()) -> bool:
        """Whether the class ``name`` (binary) matches, given all its supertypes and the annotations on it."""
        match self.kind:
            case ClassPatternKind.EXACT:
                return name == self.text
            case ClassPatternKind.SIMPLE_NAME:
                return simple_name(name) == self.text
            case ClassPatternKind.GLOB | ClassPatternKind.REGEX:
                return _compiled(self.text, self.kind is ClassPatternKind.REGEX).fullmatch(name) is not None
            case ClassPatternKind.SUBTYPE:
                return name == self.text or self.text in ancestors
            case ClassPatternKind.SUBTYPE_SIMPLE_NAME:
                return any(simple_name(ancestor) == self.text for ancestor in (name, *ancestors))
            case ClassPatternKind.ANNOTATED:
                return any(_compiled(self.text, False).fullmatch(annotation) for annotation in annotations)

    def is_meant_by(self, name: str) -> bool:
        """Whether the pattern names the class ``name`` itself: for ``+Type`` that is the type."""
        if self.kind is ClassPatternKind.SUBTYPE_SIMPLE_NAME:
            return simple_name(name) == self.text
        return self.matches(name)

    @property
    def is_exact(self) -> bool:
        return self.kind is ClassPatternKind.EXACT

    @property
    def is_name(self) -> bool:
        """Whether it names one class, with its package or without."""
        return self.kind in (ClassPatternKind.EXACT, ClassPatternKind.SIMPLE_NAME)

    @property
    def is_wide(self) -> bool:
        """Whether it is a glob or a regular expression of names."""
        return self.kind in (ClassPatternKind.GLOB, ClassPatternKind.REGEX)

    @property
    def by_name(self) -> bool:
        """Whether the name of a class is enough to decide."""
        return not self.needs_supertypes and self.kind is not ClassPatternKind.ANNOTATED

    @property
    def needs_supertypes(self) -> bool:
        return self.kind in (ClassPatternKind.SUBTYPE, ClassPatternKind.SUBTYPE_SIMPLE_NAME)


@lru_cache(maxsize=1024)
def _compiled(text: str, is_regex: bool) -> re.Pattern[str]:
    return re.compile(text if is_regex else glob_regex(text))


def simple_name(name: str) -> str:
    """``com.acme.Outer$Inner`` → ``Inner``; for a name that ends in ``$`` or ``$1``, the name without the package."""
    tail = name.rpartition(".")[2]
    inner = tail.rpartition("$")[2]
    return inner if inner and not inner[0].isdigit() else tail


def glob_regex(glob: str) -> str:
    """The regular expression of a class glob: ``**`` any depth, ``*`` within one segment, ``?`` one character."""
    glob = re.sub(r"(?:\*\*)+", "**", glob)  # the same classes; thousands of .* would take seconds to compile
    parts = re.split(r"(\*\*|\*|\?)", glob)
    return "".join({"**": ".*", "*": r"[^.]*", "?": "[^.]"}.get(part) or re.escape(part) for part in parts)


@lru_cache(maxsize=1024)
def class_patterns(text: str) -> tuple[ClassPattern, ...]:
    """The patterns that one spelling can mean. There can be several, because ``Outer.Inner`` may mean ``Outer$Inner``.

    Raises ``UsageError`` for a regular expression that does not compile.
    """
    if text.startswith("+"):
        qualified = "." in text or "$" in text
        kind = ClassPatternKind.SUBTYPE if qualified else ClassPatternKind.SUBTYPE_SIMPLE_NAME
        return tuple(ClassPattern(kind, name) for name in _inner_spellings(text[1:]))
    if text.startswith("@"):
        return (ClassPattern(ClassPatternKind.ANNOTATED, text[1:] if "." in text else f"**.{text[1:]}"),)
    if is_regex(text):
        _check_regex(text[1:-1])
        return (ClassPattern(ClassPatternKind.REGEX, text[1:-1]),)
    if "*" in text or "?" in text:
        if "." not in text and text != "**":  # a glob without a package matches simple names, like a plain name
            return (ClassPattern(ClassPatternKind.GLOB, text), ClassPattern(ClassPatternKind.GLOB, f"**.{text}"))
        return (ClassPattern(ClassPatternKind.GLOB, text),)
    if "." not in text and "$" not in text:
        return (ClassPattern(ClassPatternKind.SIMPLE_NAME, text),)
    return tuple(ClassPattern(ClassPatternKind.EXACT, name) for name in _inner_spellings(text))


def _inner_spellings(name: str) -> list[str]:
    """``a.B.C`` could be the class C of package a.B or the member C of a.B: try both, first the unchanged name."""
    spellings = [name]
    segments = name.split(".")
    first_class = next((at for at, segment in enumerate(segments) if segment[:1].isupper()), len(segments))
    if first_class < len(segments) - 1:
        spellings.append(".".join([*segments[:first_class], "$".join(segments[first_class:])]))
    return spellings


def is_regex(text: str) -> bool:
    return len(text) > 1 and text.startswith("/") and text.endswith("/")


def _check_regex(expression: str) -> None:
    try:
        re.compile(expression)
    except re.error as problem:
        raise UsageError(f"the regular expression /{expression}/ does not compile: {problem}") from None


@dataclass(frozen=True, slots=True)
class MethodPattern:
    """One method spelling: ``*``, a name, a glob, ``/regex/`` or ``@Annotation`` (by name, globs allowed)."""

    text: str

    def matches(self, name: str, annotations: Iterable[str] = ()) -> bool:
        if self.text.startswith("@"):
            pattern = self.text[1:] if "." in self.text else f"**.{self.text[1:]}"
            expression = re.compile(glob_regex(pattern))
            return any(expression.fullmatch(annotation) for annotation in annotations)
        regex = _method_regex(self.text)
        return name == self.text if regex is None else regex.fullmatch(name) is not None

    @property
    def is_exact(self) -> bool:
        return not self.text.startswith("@") and _method_regex(self.text) is None


@lru_cache(maxsize=1024)
def _method_regex(text: str) -> re.Pattern[str] | None:
    """The expression of a glob or ``/regex/``; None for a name."""
    if is_regex(text):
        _check_regex(text[1:-1])
        return re.compile(text[1:-1])
    if "*" not in text and "?" not in text:
        return None
    return re.compile("".join({"*": ".*", "?": "."}.get(char) or re.escape(char) for char in text))


_IN_JDK = ("java.", "javax.", "jdk.", "sun.", "com.sun.", "org.w3c.dom.", "org.xml.sax.", "org.ietf.jgss.")


@dataclass(frozen=True, slots=True)
class TypePattern:
    """The type that an instruction names: a class pattern or a primitive type, with ``[]`` for each dimension."""

    base: str
    dimensions: int
    classes: tuple[ClassPattern, ...]

    @staticmethod
    def parse(text: str) -> TypePattern:
        """Raises ``UsageError`` for a regular expression that does not compile."""
        base = text.strip()
        dimensions = 0
        while base.endswith("[]"):
            base = base[:-2].rstrip()
            dimensions += 1
        return TypePattern(base, dimensions, () if base in _PRIMITIVES.values() else class_patterns(base))

    def may_be_supertype(self, descriptor: str) -> bool:
        """Whether the type may be a supertype of the class, as far as the names show. Classes of java.* extend only
        classes of the JDK.
        """
        return descriptor.startswith("L") and any(
            pattern.needs_supertypes
            and (not descriptor.startswith("Ljava/") or "." not in pattern.text or pattern.text.startswith(_IN_JDK))
            for pattern in self.classes
        )

    def matches(self, java: str, supertypes: Callable[[str], Iterable[str]]) -> bool:
        """``java``: a type as :func:`java_type` gives it. ``*`` and ``**`` match any type. A regular expression without
        ``[]`` must match the whole type, with its brackets.
        """
        if self.base in ("*", "**") and not self.dimensions:
            return True
        if not self.dimensions and self.classes and self.classes[0].kind is ClassPatternKind.REGEX:
            return self.classes[0].matches(java)
        if java.count("[]") != self.dimensions:
            return False
        name = java[: len(java) - 2 * self.dimensions]
        if name in _PRIMITIVES.values():
            return name == self.base or (
                self.dimensions > 0 and any(class_.is_wide and class_.matches(name) for class_ in self.classes)
            )
        return any(
            pattern.matches(name, supertypes(name) if pattern.needs_supertypes else ()) for pattern in self.classes
        )


@dataclass(frozen=True, slots=True)
class SignaturePattern:
    """``int (java.lang.String, *, ..)``: ``*`` matches one type, ``..`` any number of further parameters; ``!void
    (..)`` returns any other type.
    """

    returns: str
    parameters: tuple[str, ...]
    open_ended: bool

    @staticmethod
    def parse(text: str) -> SignaturePattern:
        """Raises ``UsageError`` when the text is not of the form ``type (type, …)``."""
        form = re.fullmatch(r"\s*([^\s(]+)\s*\(([^()]*)\)\s*", text)
        if form is None:
            raise UsageError(
                f"{text!r} is not a method type",
                help=['write it as "return (parameters)", for example "int (String, *)"'],
            )
        names = tuple(name.strip() for name in form[2].split(",")) if form[2].strip() else ()
        open_ended = bool(names) and names[-1] == ".."
        return SignaturePattern(form[1], names[:-1] if open_ended else names, open_ended)

    def matches(self, parameters: tuple[str, ...], returns: str) -> bool:
        """Types are Java spellings as :func:`java_type` gives them."""
        type_ = self.returns.removeprefix("!")
        if type_matches(type_, returns) == self.returns.startswith("!"):
            return False
        return parameters_match(self.parameters, self.open_ended, parameters)


def parameters_match(patterns: tuple[str, ...], open_ended: bool, actual: tuple[str, ...]) -> bool:
    if len(actual) < len(patterns) or (len(actual) > len(patterns) and not open_ended):
        return False
    return all(map(type_matches, patterns, actual))


def type_matches(pattern: str, actual: str) -> bool:
    """Whether a type as a user writes it (``String``, ``Map.Entry``, ``int[]``, ``*``) is the Java type ``actual``."""
    if pattern in ("*", actual):
        return True
    dimensions = pattern.count("[]")
    if dimensions != actual.count("[]"):
        return False
    base = pattern.replace("[]", "").split("<")[0].strip().replace("$", ".")
    actual_base = actual.replace("[]", "").replace("$", ".")
    return actual_base == base or actual_base.endswith(f".{base}")


_PRIMITIVES = {
    "Z": "boolean",
    "B": "byte",
    "C": "char",
    "S": "short",
    "I": "int",
    "J": "long",
    "F": "float",
    "D": "double",
    "V": "void",
}


def java_type(descriptor: str) -> str:
    """The Java spelling of a field descriptor or ``V``: ``[Ljava/lang/String;`` → ``java.lang.String[]``."""
    base = descriptor.lstrip("[")
    name = base[1:-1].replace("/", ".") if base.startswith("L") else _PRIMITIVES[base]
    return name + "[]" * (len(descriptor) - len(base))


@dataclass(frozen=True, slots=True)
class Pattern:
    """The text of a pattern without quotes, and its place. ``written``: for a pattern that btpy expands, such as
    ``<app>``, its name in the script.
    """

    text: str
    span: Span
    written: str = ""

    @property
    def shown(self) -> str:
        """The pattern as the user wrote it."""
        return self.written or self.text

    @property
    def classes(self) -> tuple[ClassPattern, ...]:
        """The class patterns. The text is parsed once. Raises UsageError for a regular expression that does not
        compile.
        """
        return class_patterns(self.text)

    @property
    def methods(self) -> MethodPattern:
        """The text as a pattern of methods."""
        return MethodPattern(self.text)


@dataclass(frozen=True, slots=True)
class OperationPattern:
    """The arguments of CALL, LINE, NEW, NEWARRAY, FIELD_*, ARRAY_*, CAST and INSTANCEOF; None: any.

    ``owner``: class of a call or field, class that NEW creates, element type of ARRAY_* and NEWARRAY (``type="byte[]"``
    gives ``byte``), the type for the other locations. ``signature``: the signature of the called method. ``lines``:
    inclusive.
    """

    owner: Pattern | None = None
    member: Pattern | None = None
    signature: Pattern | None = None
    lines: tuple[int, int] | None = None
