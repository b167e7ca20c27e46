"""Operations on values of unknown type against a model of Java's arithmetic."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path

import pytest

from tests.jdks import java
from tests.runtime.harness import EXPORT

NULL_OPERAND, BAD_CAST, DIV_ZERO = "error 1", "error 2", "error 4"


class Enum(str):
    """A constant, by its name."""


OPERANDS: list[object] = [None, 7, -3, 0, 2**63 - 1, -(2**63), -1, 2.5, math.nan, -0.0, 5, 5, 5, 2.5]
OPERANDS += ["'a'", True, False, "text", "5", Enum("RED"), "RED"]
CHAR = 14


def integral(index: int) -> int | None:
    value = OPERANDS[index]
    if index == CHAR:
        return ord("a")
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def number(index: int) -> int | float | None:
    value = OPERANDS[index]
    return value if isinstance(value, float) else integral(index)


def wrap(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def text(index: int) -> str:
    value = OPERANDS[index]
    if index == CHAR:
        return "a"
    return show(value).split(" ", 1)[1]


def show(value: object) -> str:
    if isinstance(value, bool):
        return f"Boolean {str(value).lower()}"
    if isinstance(value, int):
        return f"Long {value}"
    if isinstance(value, float):
        return f"Double {'NaN' if math.isnan(value) else value}"
    return f"String {value}"


def divided(operator: str, a: float, b: float) -> float:
    if operator == "%":
        return math.nan if b == 0 or math.isnan(a) or math.isnan(b) else math.fmod(a, b)
    if b == 0:
        return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1, b)
    return a / b


def expected(i: int, operator: str, j: int) -> str:
    a, b = OPERANDS[i], OPERANDS[j]
    if a is None or b is None:
        return NULL_OPERAND
    strings = [isinstance(x, str) and not isinstance(x, Enum) and k != CHAR for x, k in ((a, i), (b, j))]
    if operator == "+" and any(strings):
        return f"String {text(i)}{text(j)}"
    if isinstance(a, bool) and isinstance(b, bool) and operator in "&|^":
        return show({"&": a and b, "|": a or b, "^": a != b}[operator])
    x, y = number(i), number(j)
    if x is None or y is None:
        return BAD_CAST
    if isinstance(x, float) or isinstance(y, float):
        if operator in "&|^":
            return BAD_CAST
        fx, fy = float(x), float(y)
        if operator in "/%":
            return show(divided(operator, fx, fy))
        return show({"+": fx + fy, "-": fx - fy, "*": fx * fy}[operator])
    if operator in "/%":
        if y == 0:
            return DIV_ZERO
        quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        return show(wrap(quotient if operator == "/" else x - quotient * y))
    return show(wrap({"+": x + y, "-": x - y, "*": x * y, "&": x & y, "|": x | y, "^": x ^ y}[operator]))


@pytest.fixture(scope="module", params=(11, 25))
def results(request: pytest.FixtureRequest, classes: Path) -> dict[str, str]:
    command = [str(java(request.param)), "-Xmx256m", f"-Xbootclasspath/a:{classes}", *EXPORT]
    result = subprocess.run(
        [*command, "btpy.runtime.DynamicDriver"], capture_output=True, text=True, timeout=60, check=True
    )
    lines = [line.rpartition("=") for line in result.stdout.splitlines()]
    return {name: value for name, _, value in lines}


@pytest.mark.parametrize("operator", "+-*/%&|^")
def test_arithmetic(results: dict[str, str], operator: str) -> None:
    pairs = [(i, j) for i in range(len(OPERANDS)) for j in range(len(OPERANDS))]
    items = {(i, j): results[f"{i}{operator}{j}"] for i, j in pairs}

    def java_spelling(value: str) -> str:
        kind, _, rest = value.partition(" ")
        return show(float(rest.replace("Infinity", "inf"))) if kind == "Double" else value

    assert {pair: java_spelling(value) for pair, value in items.items()} == {
        (i, j): expected(i, operator, j) for i, j in pairs
    }


def test_equality_and_order(results: dict[str, str]) -> None:
    for i in range(len(OPERANDS)):
        for j in range(len(OPERANDS)):
            x, y = number(i), number(j)
            equal = results[f"{i}=={j}"]
            order = results[f"{i}<=>{j}"]
            if x is not None and y is not None:
                assert equal == show(x == y), (i, j)
                unordered = math.isnan(x) or math.isnan(y)
                assert order == f"Integer {1 if unordered else (x > y) - (x < y)}", (i, j)
            elif OPERANDS[i] is None or OPERANDS[j] is None:
                assert equal == show(OPERANDS[i] is OPERANDS[j]), (i, j)
                assert order == NULL_OPERAND
            else:
                same = CHAR not in (i, j) and type(OPERANDS[i]) is not float and OPERANDS[i] == OPERANDS[j]
                same = same and isinstance(OPERANDS[i], bool) == isinstance(OPERANDS[j], bool)
                assert equal == show(same), (i, j)


def test_instance_of(results: dict[str, str]) -> None:
    items = {
        name.removeprefix("instanceof "): value for name, value in results.items() if name.startswith("instanceof")
    }
    names = ["java.lang.Number", "+java.lang.Number", "Number", "java.lang.Comparable", "java.lang.*", "java.**"]
    yes = {*names, "**.Long", "java.lang.L?ng", "j*.l*.N*er"}
    no = {"java.*", "java.lang.String", "ng"}
    assert items == {name: show(name in yes) for name in yes | no}


def test_functions(results: dict[str, str]) -> None:
    items = [value for name, value in results.items() if name.startswith("call ")]
    assert items == (
        "true false null true true false true false b abc| null 3 4 0 null null abc ABC a java.lang.Integer null null "
        "RED 1.5 RED anull 2 -4 15 -5 false -6 5 2 97.0 m null null "
        "1 null 0 0 null null null"
    ).replace("abc|", "abc ").split(" ")
