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
    with target(17, MAIN, "--rate", "5", classpath=[shop_jar()], flags=["-XX:TieredStopAtLevel=1"]) as shop:
        yield shop


@pytest.mark.parametrize("code", [explanation.code for explanation in ABOUT_CLASSES])
def test_examples_about_classes(code: str, shop: Target) -> None:
    explained = explanations()[code]
    result = btpy(str(shop.pid), "-e", explained.fails, "--for", "1s")
    if f"warning[{code}]" in result.stderr:  # the rest of the probe can work
        assert result.returncode == 0, result.stderr
    else:
        assert result.returncode == 4, result.stderr
        assert f"error[{code}]" in result.stderr
    if explained.works:
        result = btpy(str(shop.pid), "-e", explained.works, "--for", "100ms")
        assert result.returncode == 0, result.stderr
        assert f"[{code}]" not in result.stderr
        assert "error" not in result.stderr.splitlines()[0]


@pytest.mark.parametrize("given", ["BT101", "bt101", "101", "error[BT101]".removeprefix("error")])
def test_a_code_can_be_given_in_any_way(given: str) -> None:
    result = btpy("explain", given)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("BT101: unknown name\n\n")
    assert "\ngets it:\n\n    @OnMethod(" in result.stdout


def test_all_codes_are_listed() -> None:
    lines = btpy("explain").stdout.splitlines()
    assert [line.split("  ")[0] for line in lines] == list(explanations())
    rows = [json.loads(line) for line in btpy("explain", "--json").stdout.splitlines()]
    assert [row["code"] for row in rows] == list(explanations())


def test_an_unknown_code_is_an_error() -> None:
    result = btpy("explain", "BT113x")
    assert result.returncode == 2
    assert "there is no code BT113x" in result.stderr
    assert "did you mean BT113" in result.stderr


def test_a_topic_that_is_no_word_of_the_language_has_a_page() -> None:
    run = btpy("help", "otlp")
    assert run.returncode == 0
    assert "-o otlp://HOST:4318" in run.stdout
    assert all(len(line) <= 120 for line in run.stdout.splitlines())
