"""The secrets that a user adds are masked in the texts of a payload; all other bytes stay."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from btpy.automaton import compile_regex
from btpy.errors import ProtocolError
from btpy.events.added_secrets import AddedSecrets
from btpy.events.aggregates import decode_contents
from btpy.events.payload_texts import of_records
from btpy.events.record_decoder import RecordDecoder
from btpy.events.records import CutString, EnumValue, MappingValue, ObjectValue, Value
from btpy.events.text_search import TextSearch
from btpy.model.maps import Map, MapKind
from btpy.model.secrets import Secrets
from btpy.model.types import ANY, LONG
from tests.events.encoding import encode_cells, encode_content, encode_record, encode_text, encode_value, encode_values
from tests.generated import examples

NUMBER = "AC-[0-9]{6}"


def shown(payload: bytes, *secret: str) -> list[Value]:
    masked = AddedSecrets(Secrets.of(secret)).records(payload)
    assert len(masked) == len(payload)
    return [value for record in RecordDecoder().decode(masked) for value in record.values]


@pytest.mark.parametrize(
    ("regex", "content", "hidden"),
    [
        (NUMBER, "AC-123456", "**"),
        (NUMBER, "paid with AC-123456, then AC-123457.", "paid with **, then **."),
        (NUMBER, "AC-12345 and AC-1234567", "AC-12345 and **7"),
        (NUMBER, "20 € of AC-123456 😀", "20 € of ** 😀"),
        ("(?i)" + NUMBER, "ac-123456", "**"),
        ("[^ ]+@[a-z.]+", "to alice@example.org now", "to ** now"),
        ("a+b", "aaaa", "aaaa"),
        ("a+b", "caaab", "c**"),
        ("a|ab|abc", "abcd", "**d"),
        ("b", "abc", "a**c"),
        ("😀+", "a😀😀b", "a**b"),
        (".+", "all of it", "**"),
        (r"\d{4}", "1234", "**"),
    ],
)
def test_matches_are_masked(regex: str, content: str, hidden: str) -> None:
    (value,) = shown(encode_record([content]), f"/{regex}/")
    assert isinstance(value, str)
    assert len(value.encode("utf-16-le")) == len(content.encode("utf-16-le"))
    before, *rest = hidden.split("**")
    assert value.startswith(before)
    assert value.endswith(rest[-1] if rest else before)
    assert (value == content) is not bool(rest)
    assert not set(re_matches(regex, content)) & set(re_matches(regex, value)) or regex == ".+"


def re_matches(regex: str, content: str) -> list[str]:
    return [content[start:end] for start, end in TextSearch(compile_regex(regex)).spans(content)]


@pytest.mark.parametrize(
    ("content", "secret"),
    [
        ("customerNumber=S3CRET", "S3CRET"),
        ("a=1&customer_number=S3CRET&b=2", "S3CRET"),
        ('{"customer-number": "S3 CRET", "b": 2}', "S3 CRET"),
        (r"{\"customerNumber\":\"S3 CRET\",\"b\":2}", "S3 CRET"),
        ("url=https://x/?customerNumber=S3CRET&b=2", "S3CRET"),
        ("order.customerNumber: S3CRET", "S3CRET"),
        ("Order[customerNumber=S3CRET, b=2]", "S3CRET"),
        ("the tax_id: 'S3 CRET'", "S3 CRET"),
        ("20 € for customerNumber=S3CRET", "S3CRET"),
    ],
)
def test_values_of_names_inside_of_texts(content: str, secret: str) -> None:
    (value,) = shown(encode_record([content]), "customerNumber,*id")
    assert isinstance(value, str)
    at = content.index(secret)
    assert (value[:at], value[at + len(secret) :]) == (content[:at], content[at + len(secret) :])
    assert value[at:].startswith("***")


@pytest.mark.parametrize(
    "content", ["customerNumbers=5", "customer=5", "customerNumber", "grid=4", "a customerNumber!=5"]
)
def test_other_names_are_not_masked(content: str) -> None:
    assert shown(encode_record([content]), "customerNumber,tax*id") == [content]


def test_texts_inside_of_objects_are_masked_and_their_names_are_not() -> None:
    values: list[Value] = [
        ObjectValue("AC-444444", 1, (("AC-111111", None), ("AC-222222", "AC-333333")), False),
        MappingValue("Map", 1, (("AC-555555", "AC-666666"),)),
        EnumValue("AC-777777", "AC-888888"),
        int.from_bytes(b"AC-12345", "little"),
    ]
    object_, mapping, constant, number = shown(encode_record(values), f"/{NUMBER}/")
    assert isinstance(object_, ObjectValue)
    assert (object_.class_name, object_.fields[0][0], object_.fields[1][0]) == ("AC-444444", "AC-111111", "AC-222222")
    assert "AC-333333" not in repr(object_)
    assert "AC-5" not in repr(mapping)
    assert "AC-6" not in repr(mapping)
    assert (constant, number) == (values[2], values[3])


def test_the_beginning_of_a_match_that_was_cut_is_hidden() -> None:
    values: list[Value] = [CutString("paid with AC-123", 200), CutString("paid with AC", 200), "AC-123"]
    first, second, third = shown(encode_record(values), f"/{NUMBER}/")
    assert isinstance(first, CutString)
    assert isinstance(second, CutString)
    assert (first.text[:13], second.text[:10], third) == ("paid with ***", "paid with ", "AC-123")
    assert "AC" not in first.text + second.text


def test_equal_secrets_have_equal_masks() -> None:
    values = ["AC-123456", "AC-123456", "€AC-123456", "AC-123457"]
    one, two, wide, other = shown(encode_record(values), f"/{NUMBER}/")
    assert one == two
    assert isinstance(wide, str)
    assert wide[1:] == one
    assert other != one


def test_a_record_that_cannot_be_read_shows_nothing() -> None:
    broken = encode_record(["AC-123456", "AC-123456"])
    broken = broken.replace(encode_text("AC-123456") + b"\xff", b"\x63" + encode_text("AC-123456"))
    data = encode_record(["fine"])
    masked = AddedSecrets(Secrets.of([f"/{NUMBER}/"])).records(broken + data)
    assert b"AC-" not in masked
    decoder = RecordDecoder()
    assert [record.values for record in decoder.decode(masked)] == [("fine",)]
    assert len(decoder.malformed) == 1


def test_keys_and_values_of_maps() -> None:
    maps = {0: Map(0, "n", MapKind.COUNT, 1, LONG), 1: Map(1, "v", MapKind.VALUE, 1, ANY)}
    last = Map(2, "l", MapKind.LAST, 1, ANY)
    maps[2] = last
    secret = "AC-123456"
    counts = encode_content(0, 0, [((secret,), encode_cells(3)), (("x",), encode_cells(4))])
    plain = encode_content(1, 0, [((1,), encode_value(secret)), ((secret,), encode_value("x"))], weights=None)
    latest = encode_content(2, 0, [((2,), encode_cells(5) + encode_values(secret))])
    payload = struct.pack(">I", 3) + counts + plain + latest
    masked = AddedSecrets(Secrets.of([f"/{NUMBER}/"])).maps(payload, maps)
    contents, before = decode_contents(masked, maps), decode_contents(payload, maps)
    hidden = str(contents[0].entries[0][0][0])
    assert hidden.startswith("***")
    assert repr(contents) == repr(before).replace(secret, hidden)
    with pytest.raises(ProtocolError):
        AddedSecrets(Secrets.of(["a"])).maps(payload[:-1], maps)
    with pytest.raises(ProtocolError):
        AddedSecrets(Secrets.of(["a"])).maps(payload, {})


@given(st.text(max_size=60), st.text(max_size=60))
def test_texts_are_found_where_they_are(first: str, second: str) -> None:
    payload = encode_record([first, None, second])
    texts, bad = of_records(payload)
    assert not bad
    assert [payload[start:end].decode("utf-16-le" if wide else "latin-1") for start, end, wide, _ in texts] == [
        first,
        second,
    ]


@given(st.binary(max_size=200))
def test_masking_never_changes_lengths(content: bytes) -> None:
    content += bytes(-len(content) % 8)
    payload = struct.pack("<iiiiqq", 40 + len(content), 0, 0, 0, 1, 1) + content + bytes(8)
    masked = AddedSecrets(Secrets.of(["/.+/"])).records(payload)
    assert len(masked) == len(payload)
    before, after = RecordDecoder(), RecordDecoder()
    assert [len(record.values) for record in before.decode(payload)] == [
        len(record.values) for record in after.decode(masked)
    ]
    assert len(before.malformed) == len(after.malformed)


@settings(max_examples=examples(300))
@given(st.text("ab", max_size=12))
def test_the_longest_match_at_the_first_place(content: str) -> None:
    """A search by the definition of a match, at each place."""
    spans = []
    at = 0
    while at < len(content):
        lengths = [n for n in range(len(content) - at, 0, -1) if fits(content[at : at + n])]
        if lengths:
            spans.append((at, at + lengths[0]))
        at += lengths[0] if lengths else 1
    assert TextSearch(compile_regex("a+b|ba?|bb")).spans(content) == spans


def fits(part: str) -> bool:
    return part in ("b", "ba", "bb") or (part.endswith("b") and set(part[:-1]) == {"a"})


HARMFUL = ["(a|a)*b", "(a*)*b", "(.*a){8}b", "a*a*a*a*b", "(a|aa)+b", ".*.*=b"]


@pytest.mark.parametrize("regex", HARMFUL)
def test_a_text_that_is_made_to_take_long_is_hidden_as_a_whole(regex: str) -> None:
    search = TextSearch(compile_regex(regex))
    count_steps(search, most=8_000_000)
    assert search.spans("a" * 60_000) == [(0, 60_000)]
    assert search.spans("xx" + "a" * 8 + "=b" * ("=" in regex) + "b")[-1][1] > 2


def count_steps(search: TextSearch, most: int) -> None:
    """Makes the search fail when it reads more characters than this."""
    class_of, count = search._class_of, iter(range(most))

    class Counting(dict[str, int]):
        def __getitem__(self, char: str) -> int:
            assert next(count, None) is not None, "too many steps"
            return class_of[char]

    search._class_of = Counting()  # type: ignore[assignment]
