"""Secrets in records are masked, whatever kinds of records precede them and follow them."""

from __future__ import annotations

import itertools
import struct
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btpy.events import record_runs, secret_records
from btpy.events.record_decoder import RecordDecoder
from btpy.events.record_runs import tags_of, text_tester
from btpy.events.records import CutString, EnumValue, ObjectValue, SequenceValue, Value
from btpy.events.secret_records import masked_records
from btpy.events.secret_texts import masked
from tests.events.encoding import Char, encode_record, encode_thread_name
from tests.events.test_secret_texts import HIDDEN, SECRET, SHOWN

NUMBERS = encode_record([7, True, 7.5, None, Char("x")])
SECRET_TEXTS = [form.format(SECRET) for form in HIDDEN]
WIDE = "€"

VALUES: list[list[Value]] = [
    [],
    [7, 8, 9],
    ["SKU-1"],
    [1, "an order of eggs, without anything that looks like a token"],
    [SHOWN[0], WIDE + SHOWN[1]],
    [CutString("SKU-", 20), 7],
    [ObjectValue("a.B", 1, (("name", SHOWN[4]),), False)],
]
TEMPLATES = st.integers(0, 3)
PLAIN = st.builds(encode_record, st.sampled_from(VALUES), template=TEMPLATES)


@st.composite
def with_secret(draw: st.DrawFn) -> bytes:
    """A record with a secret in a narrow or a wide text."""
    text = draw(st.sampled_from(["", WIDE])) + draw(st.sampled_from(SECRET_TEXTS))
    return encode_record([draw(st.sampled_from([1, "SKU-1", None])), text], template=draw(TEMPLATES))


def texts(payload: bytes) -> list[tuple[Value, ...]]:
    return [record.values for record in RecordDecoder().decode(payload)]


@given(st.lists(st.tuples(st.one_of(PLAIN, with_secret()), st.integers(1, 20)), max_size=12))
def test_each_record_is_masked_like_a_payload_of_its_own(runs: list[tuple[bytes, int]]) -> None:
    records = [record for record, count in runs for _ in range(count)]
    assert masked_records(b"".join(records)) == b"".join(masked(record) for record in records)


@pytest.mark.parametrize("text", [*SECRET_TEXTS, *(WIDE + text for text in SECRET_TEXTS)])
@pytest.mark.parametrize("before", [[7, 8], ["SKU-1", 7], [CutString("SKU-", 20)]], ids=["numbers", "text", "cut text"])
def test_a_secret_after_many_records_is_masked(text: str, before: list[Value]) -> None:
    usual = encode_record(before)
    harmful: list[list[Value]] = [
        [text],
        [7, text],
        [text, 7, "SKU-1"],
        [EnumValue("a.B", "C"), SequenceValue("a.B", 9, (text,))],
    ]
    for values in harmful:
        payload = usual * 300 + encode_record(values) + usual * 300
        result = masked_records(payload)
        assert SECRET not in repr(texts(result))
        assert texts(result)[:300] == texts(result)[301:] == texts(usual) * 300
        assert len(result) == len(payload)


def test_a_record_of_the_same_size_among_numbers_is_masked() -> None:
    secret = encode_record([f"pwd={SECRET}"])
    assert len(secret) == len(NUMBERS)
    assert masked_records(NUMBERS * 100 + secret + NUMBERS * 300) == NUMBERS * 100 + masked(secret) + NUMBERS * 300


def test_many_records_at_once_are_compared_in_each_byte_that_tells_their_kinds() -> None:
    """A byte is changed in one of 300 records. The tester stops there, whether it compares many records or each."""
    tags = tags_of(NUMBERS, 32)
    assert tags is not None
    many = text_tester(tags, bool, bool, bool)
    with mock.patch.object(record_runs, "_LEAP", 1 << 20):
        single = text_tester(tags, bool, bool, bool)
    stops = set()
    for at in range(len(NUMBERS)):
        for byte in (0, 1, 3, NUMBERS[at] ^ 8):
            payload = bytearray(NUMBERS * 300)
            payload[150 * len(NUMBERS) + at] = byte
            assert many(bytes(payload), 0) == single(bytes(payload), 0), (at, byte)
            stops.add(many(bytes(payload), 0) // len(NUMBERS))
    assert stops == {150, 300}


def test_names_of_threads_are_masked() -> None:
    payload = NUMBERS * 40 + encode_thread_name(1, SECRET_TEXTS[0]) + NUMBERS * 40
    assert SECRET.encode() not in masked_records(payload)


def test_malformed_records_are_searched() -> None:
    secret = SECRET_TEXTS[0].encode()
    record = encode_record([7, SECRET_TEXTS[0]])
    without_marker = record.replace(b"\xff", b"\x00")
    with_false_size = struct.pack("<i", 4096) + record[4:]
    with_false_length = record.replace(struct.pack("<H", len(secret)) + secret, b"\xff\xff" + secret)
    for damaged in (without_marker, with_false_size, with_false_length, record[:-8], record[:20], b"\0" * 40 + secret):
        for payload in (damaged, NUMBERS * 40 + damaged, damaged + NUMBERS):
            result = masked_records(payload)
            assert SECRET.encode() not in result
            assert len(result) == len(payload)


def test_a_payload_without_secrets_is_not_copied() -> None:
    payload = NUMBERS * 40 + encode_record(["SKU-1"]) + encode_record([SHOWN[0], CutString("a", 2)])
    assert masked_records(payload) is payload


def test_most_records_are_not_searched() -> None:
    payload = (NUMBERS + encode_record(["SKU-1", 7], template=1)) * 400
    with mock.patch.object(secret_records, "masked", side_effect=masked) as search:
        assert masked_records(payload) is payload
    assert search.call_count == 0


def test_a_number_that_reads_like_a_secret_is_left_alone() -> None:
    number = int.from_bytes(b"pwd=aaaa", "little")
    payload = encode_record([number])
    assert masked_records(payload) is payload
    assert masked(payload) != payload


@pytest.mark.replaces
def test_a_target_that_sends_many_kinds_of_records_makes_a_limited_number_of_testers() -> None:
    kinds: list[Value] = [None, True, 7, 7.5, "seven"]
    records = [
        encode_record(values, template=number) for number, values in enumerate(itertools.product(kinds, repeat=4))
    ]
    payload = b"".join(records)
    with (
        mock.patch.object(secret_records, "_testers", {}),
        mock.patch.object(secret_records, "text_tester", side_effect=text_tester) as made,
    ):
        assert masked_records(payload) is payload
    assert made.call_count == 256
