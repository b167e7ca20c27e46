"""Every kind of value, through the records of a real JVM and the client's own decoder."""

from __future__ import annotations

import string

from btpy.events.records import (
    Closed,
    ClosedObject,
    CutString,
    EnumValue,
    MappingValue,
    ObjectValue,
    SequenceValue,
    Value,
    Withheld,
)
from tests.runtime.harness import Outcome

OBJECTS = "btpy.runtime.ApplicationObjects"
MONEY = f"{OBJECTS}$Money"


def values(outcome: Outcome, scenario: str, template: int) -> tuple[Value, ...]:
    (record,) = (record for record in outcome.records(scenario) if record.template == template)
    return record.values


def test_primitives(outcome: Outcome) -> None:
    assert values(outcome, "values", 0) == (-2, -(2**63) + 1, -0.5, True, False, "€")


def test_header(outcome: Outcome) -> None:
    records = outcome.records("values")
    assert {record.probe for record in records} == {1}
    assert {record.site & 0xFFFFFF for record in records} == {1}
    assert {record.thread for record in records} == {"main"}
    assert [record.nanos for record in records] == sorted(record.nanos for record in records)


def test_strings_and_boxes(outcome: Outcome) -> None:
    expected = (None, "plain", "café", "€😀", "", 5, 6, 1.25, 2.5, 7, -8, "x", True, False)
    assert values(outcome, "values", 1) == expected


def test_enums_and_classes(outcome: Outcome) -> None:
    color = f"{OBJECTS}$Color"
    assert values(outcome, "values", 2) == (EnumValue(color, "RED"), EnumValue(color, "GREEN"), "java.lang.String")


def test_arrays(outcome: Outcome) -> None:
    assert values(outcome, "values", 3) == (
        SequenceValue("[I", 2, (1, -1)),
        SequenceValue("[J", 1, (2,)),
        SequenceValue("[B", 1, (-1,)),
        SequenceValue("[C", 1, ("c",)),
        SequenceValue("[Z", 1, (True,)),
        SequenceValue("[D", 1, (1.5,)),
        SequenceValue("[F", 1, (2.5,)),
        SequenceValue("[S", 1, (-2,)),
        SequenceValue("[Ljava.lang.String;", 2, ("s", None)),
        SequenceValue("[[I", 0, ()),
    )


def test_object(outcome: Outcome) -> None:
    identity = int(outcome.fact("values", "identity"))
    assert values(outcome, "values", 4) == (
        ObjectValue(
            MONEY,
            identity,
            (
                ("cents", 1250),
                ("sign", "$"),
                ("exact", True),
                ("rate", 0.5),
                ("half", 1.5),
                ("small", -3),
                ("tiny", -4),
                ("apiKey", Withheld.REDACTED),
                ("nothing", None),
                ("other", ClosedObject(MONEY, identity, Closed.CYCLE)),
                ("hidden", 7),
                ("name", "base"),
            ),
            False,
        ),
    )


def test_array_that_holds_itself(outcome: Outcome) -> None:
    (loop,) = values(outcome, "values", 5)
    assert isinstance(loop, SequenceValue)
    (inner,) = loop.items
    assert isinstance(inner, ClosedObject)
    assert inner.why is Closed.CYCLE


def test_lists_and_sets(outcome: Outcome) -> None:
    texts = values(outcome, "values", 6)
    sequences = [(item.length, item.items) for item in texts if isinstance(item, SequenceValue)]
    assert sequences == [
        (3, (1, "x", None)),
        (2, (1, 2)),
        (2, (1, 2)),
        (2, (1, 2)),
        (1, (9,)),
        (0, ()),
        (1, (5,)),
        (1, (6,)),
    ]


def test_maps(outcome: Outcome) -> None:
    texts = values(outcome, "values", 7)
    pairs = {"a": 1, "b": "two", "password": Withheld.REDACTED}
    for item in texts[:4]:
        assert isinstance(item, MappingValue)
        assert item.size == 3
        assert dict(item.pairs) == pairs
    assert texts[4:] == (
        MappingValue("java.util.Collections$SingletonMap", 1, (("k", 1),)),
        MappingValue("java.util.Collections$EmptyMap", 0, ()),
    )


def test_no_method_of_other_collections_is_called(outcome: Outcome) -> None:
    hostile, synchronized = values(outcome, "values", 8)
    assert isinstance(hostile, ObjectValue)
    assert isinstance(synchronized, ObjectValue)
    assert "list" in dict(synchronized.fields)


def test_every_record_arrives(outcome: Outcome) -> None:
    counters = outcome.counters("values")[1]
    assert (counters.produced, len(outcome.records("values"))) == (10, 10)


def test_huge_string_is_cut(outcome: Outcome) -> None:
    assert values(outcome, "limits", 0) == (CutString(string.ascii_lowercase[:10], 1_000_000),)


def test_surrogate_pair_is_not_split(outcome: Outcome) -> None:
    assert values(outcome, "limits", 1) == (CutString("123456789", 15),)


def test_elements_are_limited(outcome: Outcome) -> None:
    assert values(outcome, "limits", 2) == (SequenceValue("[I", 10_000, (0, 0, 0)),)
    (many,) = values(outcome, "limits", 5)
    assert isinstance(many, MappingValue)
    assert (many.size, len(many.pairs)) == (1000, 3)


def test_fields_are_limited(outcome: Outcome) -> None:
    (money,) = values(outcome, "limits", 3)
    assert isinstance(money, ObjectValue)
    assert (money.fields, money.more) == ((("cents", 1250), ("sign", "$")), True)


def test_depth_is_limited(outcome: Outcome) -> None:
    (nested,) = values(outcome, "limits", 4)
    assert isinstance(nested, SequenceValue)
    money, numbers = nested.items
    assert isinstance(money, ClosedObject)
    assert (money.class_name, money.why) == (MONEY, Closed.DEPTH)
    assert numbers == SequenceValue("[I", 2, ())


def test_value_that_grew_is_cut_to_its_room(outcome: Outcome) -> None:
    (grown,) = values(outcome, "growing", 0)
    assert isinstance(grown, SequenceValue)
    assert grown.length == 16
    assert grown.items == ("one",)


def test_record_that_needs_more_than_it_said_is_counted(outcome: Outcome) -> None:
    records = outcome.records("growing")
    assert [record.template for record in records] == [0, 3]
    counters = outcome.counters("growing")[1]
    assert (counters.produced, counters.dropped_large) == (4, 2)
