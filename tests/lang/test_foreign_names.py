"""The suggestions for other tracers' names are valid in btpy's language."""

from __future__ import annotations

import re

import pytest

from btpy.lang.builtins import AGGREGATIONS, FUNCTIONS, VARIABLES
from btpy.lang.check.checker import check_source
from btpy.lang.hints import foreign_names
from btpy.model.source import Source

CALLS = re.compile(r"\b([a-z_]\w*)\(")


@pytest.mark.parametrize("text", sorted(set(foreign_names.NAMES.values())))
def test_values_in_place_of_names_can_be_printed(text: str) -> None:
    point = "throw" if text == "exception" else "return"
    assert check_source(Source("a.bt", f"A::b @{point} {{ print({text}) }}")).probes


@pytest.mark.parametrize("text", sorted({*foreign_names.FUNCTIONS.values(), *foreign_names.FUNCTION_FORMS.values()}))
def test_functions_that_are_suggested_exist(text: str) -> None:
    assert set(CALLS.findall(text)) <= {*FUNCTIONS, *AGGREGATIONS}


def test_no_form_of_btpy_is_called_a_form_of_another_tool() -> None:
    assert not foreign_names.NAMES.keys() & VARIABLES.keys()
    assert not (foreign_names.FUNCTIONS.keys() | foreign_names.FUNCTION_FORMS.keys()) & (
        FUNCTIONS.keys() | AGGREGATIONS.keys()
    )
    assert not foreign_names.FUNCTIONS.keys() & foreign_names.FUNCTION_FORMS.keys()
