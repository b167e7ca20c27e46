"""Masks the secrets that :mod:`btpy.events.secret_texts` recognises in the payload of ``EVENTS``.

Most records have no text, or a text that is known to have no secret. Testers of runs pass over these. The bytes of all
other records are searched, also those of malformed records.
"""

from __future__ import annotations

import struct
from collections import Counter
from functools import lru_cache
from typing import Final

from btpy.events.record_runs import MOST_FUNCTIONS, Tags, TextTester, tags_of, text_tester
from btpy.events.records import HEADER, MIN_RECORD
from btpy.events.secret_texts import masked, may_have_secret

_SIZE_AND_TEMPLATE: Final = struct.Struct("<ii").unpack_from
_MOST_TESTERS: Final = 16
"""How many testers a template may get in one payload, because the kinds of its values change."""


def masked_records(payload: bytes) -> bytes:
    """The payload with masked secrets in its texts and unchanged length."""
    pieces: list[bytes] = []
    end_of_pieces = 0
    for start, end in _suspicious(payload):
        records = payload[start:end]
        masked_texts = masked(records)
        if masked_texts is not records:
            pieces += payload[end_of_pieces:start], masked_texts
            end_of_pieces = end
    return b"".join((*pieces, payload[end_of_pieces:])) if pieces else payload


def _suspicious(payload: bytes) -> list[tuple[int, int]]:
    """The offsets of records that may have secrets, and the ends of these runs of records."""
    runs: list[tuple[int, int]] = []
    testers: dict[int, TextTester | None] = {}
    chosen: Counter[int] = Counter()
    end = len(payload)
    at = begin = 0  # all records before ``begin`` are in ``runs`` or have no secret
    while end - at >= MIN_RECORD:
        size, template = _SIZE_AND_TEMPLATE(payload, at)
        if size < MIN_RECORD or size & 7 or size > end - at:
            break
        tester = testers.get(template)
        passed = at if tester is None else tester(payload, at)
        if passed == at and chosen[template] < _MOST_TESTERS:
            chosen[template] += 1
            tester = testers[template] = _tester(payload, at)
            passed = at if tester is None else tester(payload, at)
        if passed == at:
            at += size
            continue
        if begin < at:
            runs.append((begin, at))
        at = begin = passed
    if begin < end:
        runs.append((begin, end))
    return runs


def _tester(payload: bytes, record: int) -> TextTester | None:
    """The tester for the values of a record; None: there is none for such values."""
    try:
        tags = tags_of(payload, record + HEADER.size)
    except IndexError:  # the record is malformed
        return None
    if tags is None:
        return None
    if tags not in _testers and len(_testers) < MOST_FUNCTIONS:
        _testers[tags] = text_tester(tags, _short_is_harmless, _is_harmless, _wide_is_harmless)
    return _testers.get(tags)


_testers: dict[Tags, TextTester] = {}


def _is_harmless(text: bytes) -> bool:
    """Whether a text with one byte for each character has no secret."""
    return not may_have_secret(text) or masked(text) is text


_short_is_harmless = lru_cache(maxsize=4096)(_is_harmless)


def _wide_is_harmless(text: bytes) -> bool:
    """Whether a text with two bytes for each character has no secret."""
    return masked(text) is text
