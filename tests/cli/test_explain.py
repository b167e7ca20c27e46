"""``btpy explain``, and its examples about classes on the demonstration shop."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from btpy.explanations import explanations
from examples.shop.build_shop import MAIN
from tests.cli.test_command import btpy
from tests.examples.shop import shop_jar
from tests.targets import Target, target

ABOUT_CLASSES = [explanation for explanation in explanations().values() if explanation.against == "shop"]


@pytest.fixture(scope="module")
def shop() -> Iterator[Target]:
    with target(17, MAIN, "--rate", "50", classpath=[shop_jar()]) as shop:
        yield shop


@pytest.mark.parametrize("code", [explanation.code for explanation in ABOUT_CLASSES])
def test_examples_about_classes(code: str, shop: Target) -> None:
    explained = explanations()[code]
    shown = btpy(str(shop.pid), "-e", explained.fails, "--for", "1s")
    if f"warning[{code}]" in shown.stderr:  # the rest of the probe can work
        assert shown.returncode == 0, shown.stderr
    else:
        assert shown.returncode == 4, shown.stderr
        assert f"error[{code}]" in shown.stderr
    if explained.works:
        shown = btpy(str(shop.pid), "-e", explained.works, "--for", "100ms")
        assert shown.returncode == 0, shown.stderr
        assert f"[{code}]" not in shown.stderr
        assert "error" not in shown.stderr.splitlines()[0]


@pytest.mark.parametrize("given", ["BT101", "bt101", "101", "error[BT101]".removeprefix("error")])
def test_a_code_can_be_given_in_any_way(given: str) -> None:
    shown = btpy("explain", given)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.startswith("BT101: unknown name\n\n")
    assert "\ngets it:\n\n    @OnMethod(" in shown.stdout


def test_all_codes_are_listed() -> None:
    lines = btpy("explain").stdout.splitlines()
    assert [line.split("  ")[0] for line in lines] == list(explanations())
    rows = [json.loads(line) for line in btpy("explain", "--json").stdout.splitlines()]
    assert [row["code"] for row in rows] == list(explanations())


def test_an_unknown_code_is_an_error() -> None:
    shown = btpy("explain", "BT113x")
    assert shown.returncode == 2
    assert "there is no code BT113x" in shown.stderr
    assert "did you mean BT113" in shown.stderr


def test_a_topic_that_is_no_word_of_the_language_has_a_page() -> None:
    run = btpy("help", "otlp")
    assert run.returncode == 0
    assert "-o otlp://HOST:4318" in run.stdout
    assert all(len(line) <= 120 for line in run.stdout.splitlines())
