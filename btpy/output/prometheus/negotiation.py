"""The format of an answer, by the header ``Accept`` of a scrape (RFC 9110, section 12.5.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from prometheus_client.exposition import choose_encoder

from btpy.output.prometheus.families import Families

_PROTOBUF = "application/vnd.google.protobuf"
_TEXTS = ("application/openmetrics-text", "text/plain", "text/*", "*/*")
_DELIMITED = {"proto": "io.prometheus.client.MetricFamily", "encoding": "delimited"}


class Encoder(NamedTuple):
    encode: Callable[[Families], bytes]
    content_type: str


class _Wish(NamedTuple):
    """A media type with its parameters, and how much the client wants it."""

    media_type: str
    parameters: dict[str, str]
    quality: float


def encoder_of(accept: str) -> Encoder:
    """The protobuf format if the client prefers it, because only this format has native histograms. Otherwise a text
    format."""
    wishes = [_wish(part) for part in accept.split(",")]
    protobuf = max((wish.quality for wish in wishes if _is_delimited(wish)), default=0.0)
    text = max((wish.quality for wish in wishes if wish.media_type in _TEXTS), default=0.0)
    if protobuf > text:
        try:
            from btpy.output.prometheus.protobuf import CONTENT_TYPE, encoded
        except ImportError:  # without the package protobuf there are the text formats
            pass
        else:
            return Encoder(encoded, CONTENT_TYPE)
    try:
        return Encoder(*choose_encoder(accept))
    except ValueError:  # the header is not valid
        return Encoder(*choose_encoder(""))


def _is_delimited(wish: _Wish) -> bool:
    return wish.media_type == _PROTOBUF and all(wish.parameters.get(name) == text for name, text in _DELIMITED.items())


def _wish(part: str) -> _Wish:
    media_type, *rest = part.split(";")
    parameters = {
        name.strip().lower(): value.strip().strip('"')
        for name, equals, value in (parameter.partition("=") for parameter in rest)
        if equals
    }
    try:
        quality = float(parameters.pop("q", "1"))
    except ValueError:
        quality = 0.0
    return _Wish(media_type.strip().lower(), parameters, quality if 0 <= quality <= 1 else 0.0)
