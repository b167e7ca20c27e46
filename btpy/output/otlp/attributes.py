"""Values of probes as values of OTLP."""

from __future__ import annotations

from collections.abc import Iterable

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList

from btpy.events.records import (
    MappingValue,
    ObjectValue,
    SequenceValue,
    Value,
)
from btpy.output.simple_values import SimpleValues
from btpy.output.values import well_formed

_LONG_MIN, _LONG_MAX = -(1 << 63), (1 << 63) - 1
_UNSIGNED_MAX = (1 << 64) - 1


class Values(SimpleValues):
    """Converts values; ``stacks`` has the frames of stack traces."""

    def any_value(self, value: Value) -> AnyValue:
        """null is an empty value in OTLP. Values that were cut at capture are incomplete."""
        if value is None:
            return AnyValue()
        if isinstance(value, SequenceValue):
            return AnyValue(array_value=ArrayValue(values=[self.any_value(item) for item in value.items]))
        if isinstance(value, MappingValue):
            return self.members((self._text.show(key), item) for key, item in value.pairs)
        if isinstance(value, ObjectValue):
            return self.members(value.fields)
        return scalar(self.simple(value))

    def members(self, members: Iterable[tuple[str, Value]]) -> AnyValue:
        return AnyValue(
            kvlist_value=KeyValueList(
                values=[KeyValue(key=well_formed(name), value=self.any_value(value)) for name, value in members]
            )
        )


def key_value(name: str, value: str | int | float | bool) -> KeyValue:
    return KeyValue(key=well_formed(name), value=scalar(value))


def scalar(value: str | int | float | bool) -> AnyValue:
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value) if _LONG_MIN <= value <= _LONG_MAX else AnyValue(string_value=str(value))
    if isinstance(value, float):
        return AnyValue(double_value=value)
    return AnyValue(string_value=well_formed(value))


def unsigned(number: int) -> int:
    """The nearest number that an unsigned field of 64 bits can have. A target can send any value."""
    return min(max(0, number), _UNSIGNED_MAX)
