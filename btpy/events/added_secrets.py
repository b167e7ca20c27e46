"""Masks the secrets that the user added in texts of events and maps (:class:`btpy.model.secrets.Secrets`).

A regular expression may match any bytes, including the length of a text. So this module finds the texts by the layout
of the payload, unlike :mod:`btpy.events.secret_texts`. A mask is as long as the text that it replaces.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from btpy.automaton import compile_regex
from btpy.events import payload_texts
from btpy.events.payload_texts import PayloadText
from btpy.events.secret_texts import mark
from btpy.events.text_search import TextSearch
from btpy.model.maps import Map
from btpy.model.secrets import Secrets

_PAIR: Final = re.compile(r"(?<![\w.$-])([\w.$-]{1,128})(?:\\{0,3}[\"'])?[ ]{0,2}[=:][ ]{0,2}")
"""A name, and the characters between it and its value. Takes a bounded number of steps for each character."""

_VALUE: Final = re.compile(
    r"\\{0,3}\"([^\"\\\x00-\x1f]+)|\\{0,3}'([^'\\\x00-\x1f]+)|([^\s\"',;&)}\]>\x00-\x1f]+)",
)
_REMEMBERED_CHARACTERS: Final = 256
_UNREADABLE: Final = b"\xfe"
"""A tag that no value uses."""


class AddedSecrets:
    """Hides the texts that a regular expression of ``secrets`` matches, and the value in ``name=value`` for each name
    of ``secrets``.
    """

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._searches = [TextSearch(compile_regex(regex)) for regex in secrets.texts]
        self._hidden_cached = lru_cache(maxsize=4096)(self._hidden)

    def records(self, payload: bytes) -> bytes:
        """The payload of ``EVENTS`` without secrets. A malformed record loses its values, and stays malformed. Raises
        ProtocolError."""
        texts, bad = payload_texts.of_records(payload)
        payload = self._masked(payload, texts)
        for start, end in bad:
            payload = payload[:start] + _UNREADABLE.ljust(end - start, b"\x00") + payload[end:]
        return payload

    def maps(self, payload: bytes, maps: Mapping[int, Map]) -> bytes:
        """The payloads of ``MAP`` and ``MAPS``. Raises ProtocolError."""
        return self._masked(payload, payload_texts.of_map(payload, maps))

    def text(self, text: str) -> str:
        return _wide(self._of(_units(_wide(text)), cut=False)).decode("utf-16-le", "surrogatepass")

    def _masked(self, payload: bytes, texts: Iterable[PayloadText]) -> bytes:
        pieces: list[bytes] = []
        position = 0
        for start, end, wide, cut in texts:
            data = payload[start:end]
            text = _units(data) if wide else data.decode("latin-1")
            masked_text = self._of(text, cut=cut)
            if masked_text is not text:
                pieces += payload[position:start], _wide(masked_text) if wide else masked_text.encode("latin-1")
                position = end
        return b"".join((*pieces, payload[position:])) if pieces else payload

    def _of(self, text: str, *, cut: bool) -> str:
        """``text``: one character for each UTF-16 unit. Returns the same object if the text has no secret."""
        masked_text = self._hidden_cached(text, cut) if len(text) <= _REMEMBERED_CHARACTERS else self._hidden(text, cut)
        return text if masked_text is None else masked_text

    def _hidden(self, text: str, cut: bool) -> str | None:
        """None: the text has no secret."""
        spans = [span for search in self._searches for span in search.spans(text, cut=cut)]
        if self._secrets.names and ("=" in text or ":" in text):
            spans += self._values(text)
        if not spans:
            return None
        pieces: list[str] = []
        end_before = 0
        for start, end in _merged(spans):
            secret = text[start:end]
            pieces += text[end_before:start], mark(_wide(secret), end - start)
            end_before = end
        return "".join((*pieces, text[end_before:]))

    def _values(self, text: str) -> Iterable[tuple[int, int]]:
        pair = _PAIR.search(text)
        while pair is not None:
            end = pair.end()
            if self._secrets.names_secret(pair[1]):
                value = _VALUE.match(text, end)
                if value is not None and value.lastindex is not None:
                    end = value.end(value.lastindex)
                    yield value.start(value.lastindex), end
            pair = _PAIR.search(text, end)


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((start, end))
    return merged


def _units(wide: bytes) -> str:
    """A character for each UTF-16 unit: surrogates are not joined."""
    return "".join(map(chr, struct.unpack(f"<{len(wide) // 2}H", wide)))


def _wide(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass")
