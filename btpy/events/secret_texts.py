"""Secrets inside of texts: ``password=…``, ``Authorization: …``, tokens and keys with a recognisable form.

The names of fields and parameters do not help with a text such as a JDBC URL, a header or a line of a log. So the
client masks messages of the agent before any code decodes, shows or stores them. A mask has the length of the text that
it replaces. Equal secrets have equal masks within one run of btpy, so that rows of a map stay different.
"""

from __future__ import annotations

import re
import secrets
from base64 import b64encode
from hashlib import blake2b
from typing import Final

_KEY: Final = secrets.token_bytes(32)

# Values of records and keys of maps end before an unprintable byte, which is the tag of the next value.
_NAME: Final = (
    rb"(?:pass[-_]?words?|passwd|pass[-_]?phrase|passcode|pwd|secret|token|credentials?|jwt|otp|cvv|ssn|iban|j?session[-_]?id"
    rb"|(?:secret|private|api|access|auth|encryption|signing|master|session|account)[-_]?key|csrf|xsrf)"
    rb"(?:[-_]?(?:hash|digest|value))?"
)
_SCHEME: Final = rb"(?:(?:bearer|basic|digest|negotiate|token|apikey)[ ]+)?"
_FORMS: Final = (
    # password=x and "token": "x", but not --api-key x, because these words often precede other words.
    _NAME
    + rb"[\"']?[ ]{0,2}[=:][ ]{0,2}"
    + _SCHEME
    + rb"(?:\"(?P<quoted>[^\"\x00-\x1f]+)|'(?P<single>[^'\x00-\x1f]+)|(?P<plain>[^\s\"',;&)}\]>\x00-\x1f\xff]+))",
    # A whole header.
    rb"(?<![a-z])(?:proxy-)?(?:authorization|cookie2?)[\"']?[ ]{0,2}[=:][ ]{0,2}[\"']?"
    + _SCHEME
    + rb"(?P<header>[^\"'\x00-\x1f\xff,\]}]+)",
    rb"(?<![a-z])(?:bearer|basic)[ ]+(?P<bearer>[a-z0-9._~+/-]{8,}=*)",
    # https://user:x@host, jdbc:oracle:thin:scott/x@host
    rb"://[^\s/:@\"'\x00-\x1f]{0,64}:(?P<userinfo>[^\s/@\"'\x00-\x1f]+)@",
    rb"jdbc:oracle:[a-z]{2,8}:[^\s/@\x00-\x1f]{1,64}/(?P<oracle>[^\s@\"'\x00-\x1f]+)@",
    rb"(?P<web_token>\beyj[a-z0-9_-]{8,}\.[a-z0-9_-]{8,}(?:\.[a-z0-9_-]*)?)",
    rb"\b(?P<known>(?:akia|asia)[0-9a-z]{16}|gh[pousr]_[0-9a-z]{36,}|xox[abeprs]-[0-9a-z-]{10,}|glpat-[0-9a-z_-]{20,})",
    rb"-----begin [a-z ]{0,20}private key-----(?:\\[rn]|[\r\n ])*(?P<pem>[a-z0-9+/=\\\r\n ]+)",
)
_SECRET: Final = re.compile(b"|".join(_FORMS), re.IGNORECASE)

_TEXT: Final = re.compile(rb"[\t\r\n\x20-\x7e\xa0-\xff]{6,}")
"""Bytes that may be a text. This fast test comes first, because the search for secrets is slow and most texts have
none."""

_WIDE_TEXT: Final = re.compile(rb"(?:[\t\r\n\x20-\x7e]\x00){6,}")
"""Bytes that may be a text with two bytes for each character."""

_NAMES: Final = tuple(
    b"pass pwd secret token credential jwt otp cvv ssn iban session key csrf xsrf authoriz cookie ://".split()
)
_TOKENS: Final = (b"bearer ", b"basic ", b"jdbc:", b"eyj", b"akia", b"asia", b"gh", b"xox", b"glpat-", b"-----begin")
_SHORTEST_TOKEN: Final = 14
_WIDE_PAIR: Final = re.compile(rb"[=:]\x00[\x20-\x7e]\x00")
_WIDE_TOKENS: Final = tuple(
    token.encode("utf-16-le") for token in ("r ", "c ", "eyJ", "AKIA", "ASIA", "gh", "xox", "glp", "-----")
)


def masked(payload: bytes) -> bytes:
    """The bytes of texts, records or maps, with masked secrets and unchanged length. Returns ``payload`` itself if it
    has no secret."""
    payload = _masked_texts(payload, _TEXT, 1)
    if _WIDE_PAIR.search(payload) or any(token in payload for token in _WIDE_TOKENS):
        payload = _masked_texts(payload, _WIDE_TEXT, 2)
    return payload


def _masked_texts(payload: bytes, texts: re.Pattern[bytes], width: int) -> bytes:
    pieces: list[bytes] = []
    end = 0
    for match in texts.finditer(payload):
        text = match[0][::width]
        if not may_have_secret(text):
            continue
        masked_text = _SECRET.sub(_mask, text)
        if masked_text != text:
            pieces += (
                payload[end : match.start()],
                masked_text.decode().encode("utf-16-le") if width == 2 else masked_text,
            )
            end = match.end()
    return b"".join((*pieces, payload[end:])) if pieces else payload


def may_have_secret(text: bytes) -> bool:
    """A fast test for a text with one byte for each character. Most texts have no secret."""
    is_pair = b"=" in text or b":" in text
    if not is_pair and len(text) < _SHORTEST_TOKEN:
        return False
    lower = text.lower()
    return (is_pair and any(name in lower for name in _NAMES)) or any(token in lower for token in _TOKENS)


def _mask(match: re.Match[bytes]) -> bytes:
    group = match.lastgroup
    assert group is not None
    start, end = match.start(group) - match.start(), match.end(group) - match.start()
    text = match[0]
    return text[:start] + mark(text[start:end], end - start).encode() + text[end:]


def mark(secret: bytes, length: int) -> str:
    """Stars, and letters derived from the secret and the key of this run."""
    digest = b64encode(blake2b(secret, key=_KEY, digest_size=6).digest(), altchars=b"xx").decode()
    stars = max(min(3, length), length - len(digest))
    return "*" * stars + digest[: length - stars]
