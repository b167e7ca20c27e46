"""Fingerprints, which identify class files on the wire: ``agent-java/src/main/java/btpy/agent/Fingerprint.java`` says
why."""

from __future__ import annotations

from struct import Struct
from typing import Final
from zlib import adler32, crc32

_FINGERPRINT: Final = Struct(">III").pack


def fingerprint(class_file: bytes) -> bytes:
    """CRC-32, Adler-32 and length."""
    return _FINGERPRINT(crc32(class_file), adler32(class_file), len(class_file))
