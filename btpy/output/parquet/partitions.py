"""The directories of a partitioned data set, as Hive names them: ``host=web1/service=shop/script=slow.bt/hour=…``."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from urllib.parse import quote

from btpy.errors import ProtocolError

HOUR_NANOS = 3600 * 10**9

_NULL = "__HIVE_DEFAULT_PARTITION__"  # readers treat this name as null
_LONGEST = 160  # characters; a name of a file has 255 bytes
_LAST = (1 << 63) - 1


def escaped(value: str) -> str:
    """A value as part of a name of a directory: percent escapes for all but letters, digits and ``_.-`` of ASCII. A
    long value is cut and gets a hash.
    """
    if not value:
        return _NULL
    text = _escape(value)
    if len(text) <= _LONGEST:
        return text
    digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    kept = value
    while len(text) > _LONGEST:
        kept = kept[: len(kept) * _LONGEST // len(text)]
        text = _escape(kept)
    return f"{text}~{digest}"


def _escape(value: str) -> str:
    return quote(value, safe="", errors="replace").replace("~", "%7E")


def hour_of(nanos: int) -> str:
    """The hour in UTC: ``2026-11-27T07``. Raises ProtocolError for a time before 1970 or after the year 2262."""
    if not 0 <= nanos <= _LAST:
        raise ProtocolError(f"a time {nanos // 10**9} s after 1970")
    return f"{datetime.fromtimestamp(nanos // 10**9, UTC):%Y-%m-%dT%H}"


def path_of(data_set: str, host: str, service: str, script: str, hour: str) -> str:
    parts = [f"host={escaped(host)}", f"service={escaped(service)}", f"script={escaped(script)}", f"hour={hour}"]
    return "/".join([data_set, *parts])
