"""Values of probes as the numbers, booleans and texts that backends take as attributes and labels."""

from __future__ import annotations

from btpy.events.aggregates import Aggregate, Number
from btpy.events.records import ClosedObject, CutString, EnumValue, StackRef, Value, Withheld
from btpy.events.sketches import First, Last
from btpy.events.stacks import StackTable
from btpy.output.style import Style
from btpy.output.values import ValueText


class SimpleValues:
    """``stacks`` has the frames of stack traces."""

    def __init__(self, stacks: StackTable) -> None:
        self._stacks = stacks
        self._text = ValueText(stacks, Style())

    def simple(self, value: Value) -> str | int | float | bool:
        """The value as a number, a boolean or a text."""
        if isinstance(value, str | int | float):
            return value
        if isinstance(value, CutString):
            return value.text
        if isinstance(value, EnumValue):
            return value.constant
        if isinstance(value, StackRef):
            return "\n".join(f"\tat {frame}" for frame in self._stacks.frames(value.id) or ())
        if isinstance(value, Withheld):
            return value.text
        if isinstance(value, ClosedObject):
            return f"{value.class_name}@{value.identity:x}"
        return self._text.show(value)


def number_of(value: Aggregate | Value) -> Number | None:
    """The number of a value or an aggregate; None if it has no single number."""
    if isinstance(value, First | Last):
        value = value.value
    number = value.number if isinstance(value, Aggregate) else value
    if isinstance(number, bool) or not isinstance(number, int | float):
        return None
    return number
