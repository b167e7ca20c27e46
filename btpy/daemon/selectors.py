"""Kubernetes' selectors of labels, such as ``app=shop,tier!=test``: equality, sets and existence."""

from __future__ import annotations

import re
from collections.abc import Mapping

from btpy.dataclass import dataclass
from btpy.errors import UsageError

_MOST_CHARACTERS = 4096

# Compiled at the first use.
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?"
_KEY = rf"(?:[a-z0-9](?:[a-z0-9.-]{{0,251}}[a-z0-9])?/)?{_NAME}"
_VALUE = rf"(?:{_NAME})?"
_EQUALITY = rf"({_KEY})\s*(==|=|!=)\s*({_VALUE})"
_SET = rf"({_KEY})\s+(in|notin)\s*\(([^()]*)\)"
_EXISTENCE = rf"(!?)\s*({_KEY})"
_PART = r"\([^()]*\)|[^,()]"  # a comma in parentheses does not end a requirement


@dataclass(frozen=True, slots=True)
class _Requirement:
    """The value of the label ``key`` is one of ``values``, or with ``negated`` none of them. As in Kubernetes, a label
    that is missing has none of the values of the selector; here it has the value None."""

    key: str
    values: frozenset[str | None]
    negated: bool

    def holds_for(self, labels: Mapping[str, str]) -> bool:
        return (labels.get(self.key) in self.values) != self.negated


@dataclass(frozen=True, slots=True)
class Selector:
    requirements: tuple[_Requirement, ...]

    @classmethod
    def of(cls, text: str) -> Selector:
        """Raises UsageError."""
        if len(text) > _MOST_CHARACTERS:
            raise UsageError(f"a selector has at most {_MOST_CHARACTERS} characters")
        parts = re.fullmatch(rf"(?:{_PART}|,)*", text) and re.split(r",(?![^()]*\))", text)
        if not parts:
            raise _fault(text)
        return cls(tuple(_requirement(part.strip()) for part in parts))

    def selects(self, labels: Mapping[str, str]) -> bool:
        return all(requirement.holds_for(labels) for requirement in self.requirements)


def _requirement(text: str) -> _Requirement:
    if match := re.fullmatch(_EQUALITY, text):
        return _Requirement(match[1], frozenset((match[3],)), match[2] == "!=")
    if match := re.fullmatch(_SET, text):
        values = [value.strip() for value in match[3].split(",")]
        if all(re.fullmatch(_VALUE, value) for value in values):
            return _Requirement(match[1], frozenset(values), match[2] == "notin")
    if match := re.fullmatch(_EXISTENCE, text):
        return _Requirement(match[2], frozenset((None,)), negated=not match[1])
    raise _fault(text)


def _fault(text: str) -> UsageError:
    return UsageError(
        f"{text!r} is no selector of Kubernetes",
        help=["app=shop, tier!=test, tier in (web, api), tier notin (test), app, !test; commas mean and"],
    )
