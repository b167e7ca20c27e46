"""Selectors of labels mean what they mean in Kubernetes."""

from __future__ import annotations

import pytest

from btpy.daemon.selectors import Selector
from btpy.errors import UsageError

LABELS = {"app": "shop", "tier": "web", "acme.com/team": "orders", "empty": ""}


@pytest.mark.parametrize(
    ("text", "selects"),
    [
        ("app=shop", True),
        ("app==shop", True),
        (" app = shop , tier = web ", True),
        ("app=shop,tier!=web", False),
        ("app=shop,tier!=test", True),
        ("stage!=test", True),  # a label that is missing is not equal
        ("stage=test", False),
        ("tier in (web, api)", True),
        ("tier in (api)", False),
        ("tier notin (web,api)", False),
        ("stage notin (test),app", True),
        ("app", True),
        ("stage", False),
        ("!stage", True),
        ("!app", False),
        ("acme.com/team=orders", True),
        ("team=orders", False),
        ("empty=", True),
        ("app=", False),
        ("stage=", False),  # a label that is missing is not empty
        ("stage!=", True),
        ("in=shop", False),
        ("notin", False),
        ("app=Shop", False),
    ],
)
def test_a_selector(text: str, selects: bool) -> None:
    assert Selector.of(text).selects(LABELS) is selects


@pytest.mark.parametrize(
    "text",
    [
        "",
        ",",
        "app=shop,",
        "app=a b",
        "app=a=b",
        "tier in web",
        "tier in (web",
        "tier in ((web))",
        "tier in (web, a b)",
        "tier within (web)",
        "replicas>3",
        "-app=shop",
        "Acme.com/team",
        "a/b/c",
        "app=" + "x" * 64,
        "x" * 64,
        "app=shop\nx=y",
    ],
)
def test_what_is_no_selector(text: str) -> None:
    with pytest.raises(UsageError, match="is no selector of Kubernetes"):
        Selector.of(text)


def test_a_long_text_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="at most 4096"):
        Selector.of("a," * 50_000)
