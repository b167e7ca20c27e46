"""Expressions over maps, as the prompt computes them."""

from __future__ import annotations

import pytest

from btpy.api.map_expressions import Result, bare_map, evaluate, maps_in, parse
from btpy.errors import ScriptError
from btpy.events.aggregates import Count, Key, MapContent, Total
from btpy.model.maps import Map, MapKind
from btpy.model.source import Source
from btpy.model.types import ANY, DURATION, LONG, Type


def content(name: str, kind: MapKind, type_: Type, entries: dict[Key, object]) -> MapContent:
    map_ = Map(0, name, kind, 1, type_, 0, 4096)
    return MapContent(map_, 0, tuple(entries.items()))  # type: ignore[arg-type]


HITS = content("hits", MapKind.COUNT, LONG, {("a",): Count(13), ("b",): Count(0), ("c",): Count(3)})
ERRORS = content("errors", MapKind.COUNT, LONG, {("a",): Count(7), ("b",): Count(5)})
TIME = content("time", MapKind.SUM, DURATION, {("a",): Total(3, 1_300_000, 0.0)})
ALL = {"hits": HITS, "errors": ERRORS, "time": TIME}


def value(text: str) -> Result:
    return evaluate(parse(Source("<repl:1>", text)), ALL)


def test_maps_are_joined_on_their_keys() -> None:
    assert value("@errors / @hits").values == {("a",): 7 / 13, ("b",): None}
    assert value("@hits + @errors").values == {("a",): 20, ("b",): 5, ("c",): None}


def test_a_number_stands_for_every_key() -> None:
    assert value("@hits * 2").values == {("a",): 26, ("b",): 0, ("c",): 6}
    assert value("100 - @hits").values == {("a",): 87, ("b",): 100, ("c",): 97}
    assert value("-(@errors - 1)").values == {("a",): -6, ("b",): -4}


def test_one_key() -> None:
    assert value('@hits["a"] / @hits["c"]').values == {(): 13 / 3}
    assert value('@hits["z"] + 1').values == {(): None}


def test_units() -> None:
    assert value("@time").unit == DURATION
    assert value("@time / @hits").unit == DURATION
    assert value("@time / 1ms").unit == ANY
    assert value("@time / 1ms").values == {("a",): 1.3}
    assert value("@time + 5ms").unit == DURATION


def test_size() -> None:
    assert value("size(@hits)").values == {(): 3}


def test_names() -> None:
    assert maps_in(parse(Source("<repl:1>", "@a / (@b + @a)"))) == ["a", "b"]
    assert bare_map(" @lat ") == "lat"
    assert bare_map("@") == ""
    assert bare_map("@locks.wait") == "locks.wait"
    assert bare_map("@lat[1]") is None
    assert bare_map("lat") is None
    assert bare_map("@OnEnd") is None


@pytest.mark.parametrize(
    "text", ["@hits == 3", "duration", '"a"', "@hits[x]", "len(@hits)", "!@hits", "@hits +", "(@hits"]
)
def test_impossible_expressions_are_refused_before_any_read(text: str) -> None:
    with pytest.raises(ScriptError):
        parse(Source("<repl:1>", text))


def test_a_map_that_is_not_there() -> None:
    with pytest.raises(ScriptError) as caught:
        value("@hit / 2")
    (problem,) = caught.value.diagnostics
    assert problem.help == ("did you mean `@hits`?",)
