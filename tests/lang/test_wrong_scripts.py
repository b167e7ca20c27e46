"""The messages for scripts that new users write from habit (``wrong_scripts.toml``).

Each message names the fault at its place and the right form. The tests check the code, the caret and the helpful words
of the message. Each script has exactly one error, because a second error would only follow from the first.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from btpy.api.class_path import ClassPath
from btpy.api.offline import class_path
from btpy.errors import ScriptError
from btpy.lang.check.checker import check_source
from btpy.model.diagnostics import Diagnostic
from btpy.model.source import Source
from btpy.plan.diagnose import together
from tests.examples.shop import shop_jar

SCRIPTS: list[dict[str, Any]] = tomllib.loads(
    (Path(__file__).with_name("wrong_scripts.toml")).read_text(encoding="utf-8")
)["script"]


@cache
def shop() -> ClassPath:
    return ClassPath(class_path([shop_jar()]))


def answers(text: str, *, against_shop: bool) -> list[Diagnostic]:
    try:
        program = check_source(Source("a.bt", text))
    except ScriptError as error:
        return list(error.diagnostics)
    if not against_shop:
        return list(program.warnings)
    match, _ = shop().match(program)
    return [*together(match.problems), *match.missing.values(), *match.warnings]


def words(diagnostic: Diagnostic) -> str:
    labels = (diagnostic.primary, *diagnostic.secondary)
    return "\n".join([diagnostic.message, *(label.text for label in labels), *diagnostic.help, *diagnostic.notes])


@pytest.mark.parametrize("number", range(len(SCRIPTS)), ids=lambda number: f"{SCRIPTS[number]['from']}-{number}")
def test_the_message_names_the_fault_and_the_right_form(number: int) -> None:
    wrong = SCRIPTS[number]
    (answer,) = answers(wrong["script"], against_shop=wrong.get("shop", False))
    line, column = answer.primary.span.source.position(answer.primary.span.start)
    text = answer.primary.span.text
    caret = f"{line}:{column} {text.splitlines()[0] if text.strip() else ''}".rstrip()
    assert (answer.code, caret) == (wrong["code"], wrong["caret"])
    assert [word for word in wrong["says"] if word not in words(answer)] == []


def test_there_are_enough_of_each_kind() -> None:
    kinds = Counter(wrong["from"] for wrong in SCRIPTS)
    assert min(kinds.values()) >= 20
    assert set(kinds) == {"Java", "BTrace", "bpftrace", "DTrace", "SystemTap", "Byteman", "Arthas", "Python"}
    assert len({wrong["script"] for wrong in SCRIPTS}) == len(SCRIPTS)
    assert all(wrong["says"] for wrong in SCRIPTS)
