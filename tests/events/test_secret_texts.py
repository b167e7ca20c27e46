"""Secrets inside of texts are masked, in narrow and wide characters; all other bytes stay."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btpy.events.secret_texts import masked

SECRET = "Tr0ub4dor+3"
HIDDEN = [
    "jdbc:postgresql://db:5432/shop?user=app&password={}&ssl=true",
    "jdbc:oracle:thin:scott/{}@db:1521/x",
    "https://alice:{}@example.org/path",
    "Authorization: Bearer {}",
    "authorization=Basic {}",
    "GET / Proxy-Authorization: {}",
    "Bearer {}",
    "Set-Cookie: {}",
    '{{"user":"alice","password":"{}"}}',
    "{{'api_key': '{}'}}",
    "login(user=alice, pwd={})",
    "AWS_SECRET_ACCESS_KEY={}",
    "client_secret: {}",
    "slack.token={}",
    "X-CSRF: {}",
    "User[name=alice, passwordHash={}, age=3]",
    "-----BEGIN RSA PRIVATE KEY-----\n{}",
]
SHOWN = [
    "monkey=banana",
    "SELECT * FROM orders WHERE id = 42",
    "tokenizer: standard",
    "basic idea: simple",
    "http://example.org:8080/a?page=2",
    "com.acme.shop.Session@1f2e",
    "password must not be empty",
    "the token has expired",
]


@pytest.mark.parametrize("form", HIDDEN)
@pytest.mark.parametrize("encoding", ["latin-1", "utf-16-le"])
def test_hidden(form: str, encoding: str) -> None:
    text = form.format(SECRET).encode(encoding)
    hidden = masked(b"\x05" + text + b"\xff")[1:-1]
    assert len(hidden) == len(text)
    assert SECRET.encode(encoding) not in hidden
    before, after = (part.encode(encoding) for part in form.format("\0").split("\0"))
    assert hidden.startswith(before)
    assert hidden.endswith(after)
    assert hidden == masked(b"\x05" + text + b"\xff")[1:-1]  # the mask of a text is always the same


@pytest.mark.parametrize("text", SHOWN)
def test_shown(text: str) -> None:
    assert masked(text.encode()) == text.encode()
    assert masked(text.encode("utf-16-le")) == text.encode("utf-16-le")


@pytest.mark.parametrize(
    "token",
    [
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N",
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_0123456789abcdefghijABCDEFGHIJ012345",
        "xoxb-123456789012-abcdef",
    ],
)
def test_tokens_are_known_by_their_form(token: str) -> None:
    hidden = masked(f"call with {token} done".encode()).decode()
    assert re.fullmatch(r"call with \*+\w+ done", hidden)


def test_a_mask_ends_with_its_text() -> None:
    """The next part of the payload begins with a byte that cannot be printed."""
    payload = b"\x05\x09\x00password=\x05\x03\x00abc" + b"\x05\x0c\x00password=abc\x05\x03\x00abc"
    assert masked(payload) == b"\x05\x09\x00password=\x05\x03\x00abc" + b"\x05\x0c\x00password=***\x05\x03\x00abc"


def test_different_secrets_stay_apart() -> None:
    """If their masks were equal, map rows with these keys would become one row."""
    texts = {masked(f"password=secret{number:04}".encode()) for number in range(1009)}
    assert len(texts) == 1009


@given(st.binary(max_size=300))
def test_lengths_stay(payload: bytes) -> None:
    assert len(masked(payload)) == len(payload)


@given(st.text(st.characters(max_codepoint=0xFF), max_size=30))
def test_masked_text_is_not_masked_again(text: str) -> None:
    once = masked(text.encode("latin-1"))
    assert len(masked(once)) == len(once)
