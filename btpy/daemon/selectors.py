"""Kubernetes' selectors of labels, such as ``app=shop,tier!=test``: equality, sets and existence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum, auto

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


class _Operator(Enum):
    IN = auto()
    NOT_IN = auto()
    EXISTS = auto()
    MISSING = auto()


@dataclass(frozen=True, slots=True)
class _Requirement:
    key: str
    operator: _Operator
    values: frozenset[str] = frozenset()

    def holds_for(self, labels: Mapping[str, str]) -> bool:
        """As in Kubernetes, a label that is missing has none of the values."""
        match self.operator:
            case _Operator.IN:
                return self.key in labels and labels[self.key] in self.values
            case _Operator.NOT_IN:
                return self.key not in labels or labels[self.key] not in self.values
            case _Operator.EXISTS:
                return self.key in labels
            case _Operator.MISSING:
                return self.key not in labels


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
        operator = _Operator.NOT_IN if match[2] == "!=" else _Operator.IN
        return _Requirement(match[1], operator, frozenset((match[3],)))
    if match := re.fullmatch(_SET, text):
        values = [value.strip() for value in match[3].split(",")]
        if all(re.fullmatch(_VALUE, value) for value in values):
            return _Requirement(match[1], _Operator.IN if match[2] == "in" else _Operator.NOT_IN, frozenset(values))
    if match := re.fullmatch(_EXISTENCE, text):
        return _Requirement(match[2], _Operator.MISSING if match[1] else _Operator.EXISTS)
    raise _fault(text)


def _fault(text: str) -> UsageError:
    return UsageError(
        f"{text!r} is no selector of Kubernetes",
        help=["app=shop, tier!=test, tier in (web, api), tier notin (test), app, !test; commas mean and"],
    )
