"""Modified UTF-8 (JVMS §4.4.7): NUL takes two bytes, characters beyond U+FFFF two surrogates of three bytes each."""

from __future__ import annotations

from btpy.errors import ClassFileError


def encode(text: str) -> bytes:
    """The bytes of a ``CONSTANT_Utf8``; lone surrogates are kept."""
    if text.isascii():
        return text.encode().replace(b"\0", b"\xc0\x80")
    if max(text) > "\uffff":
        units = text.encode("utf-16-be", "surrogatepass")
        text = "".join(chr(units[i] << 8 | units[i + 1]) for i in range(0, len(units), 2))
    return text.encode("utf-8", "surrogatepass").replace(b"\0", b"\xc0\x80")


def decode(raw: bytes) -> str:
    """The text; surrogate pairs become one character, lone surrogates stay.

    Raises ClassFileError for bytes that are not modified UTF-8.
    """
    if raw.isascii() and 0 not in raw:
        return raw.decode("ascii")
    if 0 in raw or max(raw) >= 0xF0:
        raise ClassFileError("not modified UTF-8 (JVMS §4.4.7): a byte that cannot occur")
    try:
        text = raw.replace(b"\xc0\x80", b"\0").decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise ClassFileError(f"not modified UTF-8 (JVMS §4.4.7): {error.reason} at byte {error.start}") from error
    return text.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")
