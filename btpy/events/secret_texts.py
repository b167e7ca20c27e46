"""Secrets inside of texts: ``password=…``, ``Authorization: …``, tokens and keys that can be told by their form.

The names of fields and parameters say nothing about a text such as a JDBC URL, a header or a line of a log. So the
client masks what the agent sends, before anything decodes, shows or stores it. A mask is as long as what it replaces;
equal secrets have equal masks within one run of btpy, so that rows of a map stay apart.
"""

from __future__ import annotations

import re
import secrets
from base64 import b64encode
from hashlib import blake2b

_KEY = secrets.token_bytes(32)

# Values of records and keys of maps end before a byte that cannot be printed: the tag of what follows.
_NAME = (
    rb"(?:pass[-_]?words?|passwd|pass[-_]?phrase|passcode|pwd|secret|token|credentials?|jwt|otp|cvv|ssn|iban|j?session[-_]?id"
    rb"|(?:secret|private|api|access|auth|encryption|signing|master|session|account)[-_]?key|csrf|xsrf)"
    rb"(?:[-_]?(?:hash|digest|value))?"
)
_SCHEME = rb"(?:(?:bearer|basic|digest|negotiate|token|apikey)[ ]+)?"
_FORMS = (
    # password=x and "token": "x", but not --api-key x: too many words stand before another.
    rb"(?<![a-z])[a-z0-9_.-]{0,40}?"
    + _NAME
    + rb"[\"']?[ ]{0,2}[=:][ ]{0,2}"
    + _SCHEME
    + rb"(?:\"(?P<quoted>[^\"\x00-\x1f]+)|'(?P<single>[^'\x00-\x1f]+)|(?P<plain>[^\s\"',;&)}\]>\x00-\x1f\xff]+))",
    # The whole of a header.
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
_SECRET = re.compile(b"|".join(_FORMS), re.IGNORECASE)

_HINTS = tuple(
    b"pass pwd secret token credential jwt otp cvv ssn iban session key csrf xsrf authoriz cookie bearer basic :// "
    b"jdbc: eyj akia asia ghp_ gho_ ghu_ ghs_ ghr_ xox glpat".split()
)
_WIDE_HINTS = tuple(hint[:4].decode().encode("utf-16-le") for hint in _HINTS)
_WIDE = re.compile(rb"(?:[\t\r\n\x20-\x7e]\x00){6,}")


def masked(payload: bytes) -> bytes:
    """The payload of a message with records or maps, as long as it was, without the secrets in its texts."""
    lower = payload.lower()
    if any(hint in lower for hint in _HINTS):
        payload = _SECRET.sub(_mask, payload)
    if any(hint in lower for hint in _WIDE_HINTS):
        payload = _WIDE.sub(_mask_wide, payload)
    return payload


def _mask_wide(match: re.Match[bytes]) -> bytes:
    """Of a text with characters of two bytes: those that this is about have a second byte of zero."""
    text = match[0][::2]
    hidden = _SECRET.sub(_mask, text)
    return match[0] if hidden == text else hidden.decode("ascii").encode("utf-16-le")


def _mask(match: re.Match[bytes]) -> bytes:
    group = match.lastgroup
    assert group is not None
    start, end = match.start(group) - match.start(), match.end(group) - match.start()
    whole = match[0]
    return whole[:start] + _mark(whole[start:end]) + whole[end:]


def _mark(secret: bytes) -> bytes:
    """Stars, and letters that follow from the secret and the key of this run."""
    digest = b64encode(blake2b(secret, key=_KEY, digest_size=6).digest(), altchars=b"xx")
    stars = max(min(3, len(secret)), len(secret) - len(digest))
    return b"*" * stars + digest[: len(secret) - stars]
