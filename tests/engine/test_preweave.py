"""Selects the classes to weave before they are loaded."""

from __future__ import annotations

import pytest

from btpy.engine.instrumentation import Instrumentation
from btpy.engine.preweave import names_wanted
from btpy.engine.weave_state import WeaveState
from tests.live.scripts import program


def version(attributes: str) -> Instrumentation:
    return Instrumentation(program(f"@OnMethod({attributes}) {{ @n = count(); }}"), WeaveState(1, "17.0.15"))


@pytest.mark.parametrize("pattern", ["acme.Till", "Till", "acme.shop.Order.Line", "Line"])
def test_a_class_that_is_named_and_loaded_is_not_looked_for(pattern: str) -> None:
    there = version(f'class="{pattern}", method="run"')
    assert there.preweaves
    assert there.named({"acme.Till", "acme.shop.Order$Line"}) == ()
    assert there.named({"acme.Tiller"})


def test_more_classes_may_match_a_wide_pattern() -> None:
    (matches,) = version('class="acme.**", method="run"').named({"acme.Till"})
    assert matches("acme.shop.Order")
    assert not matches("other.Order")


@pytest.mark.parametrize(
    "attributes",
    [
        'class="+acme.Till", method="run"',
        'class="acme.**", exclude="+acme.Till", method="run"',
        'class="acme.**", method="run", location=CALL(class="+Till")',
    ],
)
def test_classes_that_depend_on_other_classes_are_not_prewoven(attributes: str) -> None:
    assert not version(attributes).preweaves


def test_names_of_classes_that_are_loaded_are_not_wanted() -> None:
    names = names_wanted([lambda name: name.startswith("acme."), "Till".__eq__], {"acme.Loaded"})
    assert [name for name in ("acme.Loaded", "acme.Other", "Till", "Tiller") if names(name)] == ["acme.Other", "Till"]
