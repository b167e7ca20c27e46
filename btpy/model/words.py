"""Words of the language that have a number on the wire."""

from __future__ import annotations

from enum import Enum
from typing import Self


class NumberedWord(Enum):
    """``value``: the spelling in scripts; ``number``: the number on the wire (docs/protocol.md)."""

    _value_: str
    number: int

    def __new__(cls, word: str, number: int) -> Self:
        member = object.__new__(cls)
        member._value_ = word
        member.number = number
        return member
