"""The names of loaded classes, looked up by abbreviations: by package segments, and by the capital letters of a class
name.

An index never changes after its creation. With 30,000 classes a look-up takes a few milliseconds
(benchmarks/RESULTS.md).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator

from btpy.dataclass import dataclass
from btpy.errors import UsageError
from btpy.plan.listing import kind_of
from btpy.wire.messages import LoadedClass

_OF_THE_JDK = ("java.", "javax.", "jdk.", "sun.", "com.sun.")
_MOST_HUMPS = 2000
_MOST_MEANT = 10
_NAME = re.compile(r"[\w.$]+")


@dataclass(frozen=True, slots=True)
class LoadedType:
    """A loaded class. ``kind``: ``class``, ``interface``, ``annotation``, ``enum`` or ``abstract class``."""

    name: str
    loader: str
    kind: str

    @staticmethod
    def of(loaded_class: LoadedClass) -> LoadedType:
        return LoadedType(loaded_class.name, loaded_class.loader, kind_of(loaded_class.access_flags))


@dataclass(frozen=True, slots=True)
class Completed:
    """A completed word: a class (``type_``), or the name of a package with a dot at its end. ``classes``: the number of
    classes in the package.
    """

    text: str
    type_: LoadedType | None
    classes: int = 0


class ClassIndex:
    def __init__(self, types: Iterable[LoadedType] = ()) -> None:
        self._types = {type_.name: type_ for type_ in types if "/" not in type_.name and not type_.name.startswith("[")}
        self._names = sorted(self._types)
        self._by_initial: dict[str, list[tuple[str, str]]] = {}
        for name in self._names:
            tail = name[name.rfind(".") + 1 :]
            if "$$" in tail:
                continue
            self._by_initial.setdefault(tail[:1].lower(), []).append((tail, name))
            inner = tail[tail.rfind("$") + 1 :]
            if inner and inner is not tail and not inner[0].isdigit():
                self._by_initial.setdefault(inner[:1].lower(), []).append((inner, name))

    def __len__(self) -> int:
        return len(self._types)

    def __contains__(self, name: str) -> bool:
        return name in self._types

    @property
    def types(self) -> Iterable[LoadedType]:
        return self._types.values()

    def complete(self, word: str, most: int = 100) -> list[Completed]:
        """Completions of ``word``: ``com.acme.`` gives its packages and classes; ``PrEn`` and ``c.a.s.PrEn`` give
        classes by the capital letters of their names. Classes of the application come before classes of the JDK.
        """
        completions = {segment.text: segment for segment in self._segments(word)}
        if not word.endswith(".") and word:
            for name in self._humped(word):
                completions.setdefault(name, Completed(name, self._types[name]))
        if word and not completions:
            completions = {name: Completed(name, self._types[name]) for name in self._abbreviated(word)}
        return list(completions.values())[:most]

    def named(self, simple_name: str) -> list[str]:
        """The classes of that simple name, in any package."""
        return [name for simple, name in self._by_initial.get(simple_name[:1].lower(), ()) if simple == simple_name]

    def meant(self, abbreviation: str) -> list[str]:
        """The classes that ``PrEn`` or ``c.a.s.PrEn`` probably means: application classes before classes of the JDK,
        and classes with exactly these capital letters before classes with more.
        """
        simple = abbreviation.rpartition(".")[2]
        if not simple[:1].isupper():
            return []
        names = self._humped(abbreviation) or self._abbreviated(abbreviation)
        names = [name for name in names if not name.startswith(_OF_THE_JDK)] or names
        pattern = re.compile(_humps(simple).pattern + "[^.A-Z$]*")
        return [name for name in names if pattern.fullmatch(re.split("[.$]", name)[-1])] or names

    def beginning(self, prefix: str) -> list[str]:
        """The names with this prefix."""
        return self._names[slice(*self._range(prefix))]

    def _range(self, prefix: str) -> tuple[int, int]:
        return bisect_left(self._names, prefix), bisect_left(self._names, prefix + "\U0010ffff")

    def _segments(self, word: str) -> Iterator[Completed]:
        package = word[: word.rfind(".") + 1]
        at, end = self._range(word)
        packages: list[Completed] = []
        classes: list[Completed] = []
        while at < end:
            name = self._names[at]
            dot = name.find(".", len(package))
            if dot < 0:
                if "$" not in name or "$" in word:
                    classes.append(Completed(name, self._types[name]))
                at += 1
            else:
                inside = name[: dot + 1]
                after = self._range(inside)[1]
                packages.append(Completed(self._deepened(inside, at, after), None, after - at))
                at = after
        packages.sort(key=lambda package: package.text.startswith(_OF_THE_JDK))
        yield from classes
        yield from packages

    def _deepened(self, package: str, at: int, end: int) -> str:
        """The package, extended by the segments that have no alternative: ``com.`` becomes ``com.acme.shop.``"""
        first, last = self._names[at], self._names[end - 1]
        common = first[: next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))]
        return max(package, common[: common.rfind(".") + 1], key=len) if end - at > 1 else package

    def _humped(self, word: str) -> list[str]:
        package, _, simple = word.rpartition(".")
        if not simple:
            return []
        pattern = _humps(simple)
        ranked = []
        for tail, name in self._by_initial.get(simple[:1].lower(), ()):
            if pattern.match(tail) is not None and (not package or name.startswith(package + ".")):
                rank = (name.startswith(_OF_THE_JDK), not tail.startswith(simple), len(tail), name)
                ranked.append((rank, name))
                if len(ranked) >= _MOST_HUMPS:
                    break
        return [name for _, name in sorted(ranked)]

    def _abbreviated(self, word: str) -> list[str]:
        """``c.a.s.PrEn``: each segment abbreviated."""
        *packages, simple = word.split(".")
        if not packages or not all(segment.isidentifier() for segment in packages):
            return []
        pattern = re.compile("".join(rf"{segment}[^.]*\." for segment in packages) + _humps(simple).pattern)
        candidates = self.beginning(packages[0])
        return [name for name in candidates if "$$" not in name and pattern.match(name) is not None][:_MOST_HUMPS]


def expanded(pattern: str, classes: ClassIndex) -> str | None:
    """``PrEn::quote`` with the full name of the class; None if no class matches. Raises UsageError if several classes
    match.
    """
    sign = "+" if pattern.startswith("+") else ""
    match = _NAME.match(pattern, len(sign))
    rest = pattern[match.end() :] if match is not None else ""
    if match is None or not (not rest or rest.startswith(("::", " "))):
        return None
    meant = classes.meant(match[0])
    if len(meant) > 1:
        note = [f"… and {len(meant) - _MOST_MEANT} more"] if len(meant) > _MOST_MEANT else []
        raise UsageError(
            f"{match[0]} is short for {len(meant)} classes",
            help=[*(f"{sign}{name}{rest}" for name in meant[:_MOST_MEANT]), *note],
        )
    return f"{sign}{meant[0]}{rest}" if meant else None


def _humps(word: str) -> re.Pattern[str]:
    """``PrEn`` matches ``PricingEngine``; a word in lower case matches from the beginning, in any case of letters."""
    if word == word.lower():
        return re.compile(f"(?i:{re.escape(word)})")
    parts = re.findall(r"[A-Z]?[^A-Z]+|[A-Z]", word)
    return re.compile("[^.A-Z]*".join(re.escape(part) for part in parts))
