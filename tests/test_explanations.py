"""Every code has an explanation, and the examples give the stated results."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from btpy.errors import ScriptError
from btpy.explanations import explanations
from btpy.lang.check.checker import check_source
from btpy.model.source import Source
from btpy.plan.plan import RefusalReason

PACKAGE = Path(__file__).parents[1] / "btpy"
EXPLAINED = explanations()
SCRIPTS = [explanation for explanation in EXPLAINED.values() if explanation.fails]


def codes(text: str) -> set[str]:
    try:
        return {warning.code for warning in check_source(Source("a.bt", text)).warnings}
    except ScriptError as error:
        return {diagnostic.code for diagnostic in error.diagnostics}


def test_every_code_in_the_sources_is_explained() -> None:
    used = {code for path in PACKAGE.rglob("*.py") for code in re.findall(r'"(BT\d{3})"', path.read_text("utf-8"))}
    assert used == set(EXPLAINED)


def test_every_code_has_a_test() -> None:
    """The test names the code, or the refusal reason that has the code."""
    tests = [path for path in Path(__file__).parent.rglob("*") if path.suffix in (".py", ".txt", ".toml")]
    text = "".join(path.read_text("utf-8") for path in tests)
    reasons = {reason.value: f"RefusalReason.{reason.name}" for reason in RefusalReason}
    assert [code for code in EXPLAINED if code not in text and reasons.get(code, code) not in text] == []


def test_codes_are_in_order() -> None:
    assert list(EXPLAINED) == sorted(EXPLAINED)


@pytest.mark.parametrize("code", [explanation.code for explanation in SCRIPTS if not explanation.against])
def test_example_that_fails(code: str) -> None:
    assert codes(EXPLAINED[code].fails) == {code}


@pytest.mark.parametrize("code", [explanation.code for explanation in EXPLAINED.values() if explanation.works])
def test_example_that_works(code: str) -> None:
    assert codes(EXPLAINED[code].works) == set()


@pytest.mark.parametrize("code", [explanation.code for explanation in SCRIPTS if explanation.against])
def test_example_about_classes_is_right_as_a_script(code: str) -> None:
    assert codes(EXPLAINED[code].fails) == set()


def test_titles_are_titles() -> None:
    for explanation in EXPLAINED.values():
        assert explanation.title[0].islower() or explanation.title.startswith("BTrace"), explanation.code
        assert not explanation.title.endswith("."), explanation.code
        assert explanation.text, explanation.code
