"""Arithmetic of the language against Java itself: the same expressions, compiled by javac."""

from __future__ import annotations

import random
import re
import struct
import subprocess
from collections.abc import Iterator

import pytest

from btpy.codegen.handler import compile_fire
from btpy.events.records import Value
from btpy.lang.check import checker
from btpy.lang.check.binding import bind
from btpy.lang.typed_tree import Shape
from btpy.model import types as t
from btpy.model.points import Point
from btpy.model.source import Source
from tests.codegen.target import Target, target
from tests.jdks import compiled, java

EXPRESSIONS, DEPTH = 151, 4
DIV_ZERO = 4

NAMES = ("a", "b", "c", "d", "x", "y", "s", "e", "p", "q")
JAVA_TYPES = ("int", "int", "long", "long", "double", "float", "short", "byte", "char", "boolean")
OF_TYPE = {"int": "absep", "long": "abcdsep", "double": "abcdxysep", "boolean": "q"}

SHAPE = Shape(
    Point.ENTRY,
    True,
    t.OBJECT,
    (t.INT, t.INT, t.LONG, t.LONG, t.DOUBLE, t.DOUBLE, t.INT, t.INT, t.CHAR, t.BOOLEAN),
    ("I", "I", "J", "J", "D", "F", "S", "B", "C", "Z"),
    NAMES,
    t.VOID,
    "V",
)

VALUES: list[tuple[int | float, ...]] = [
    (7, -3, 2**40, -5, 1.5, 0.1, -7, 3, 65, 1),
    (0, 0, 0, 0, 0.0, -0.0, 0, 0, 0, 0),
    (2**31 - 1, -(2**31), 2**63 - 1, -(2**63), float("inf"), float("nan"), 32767, -128, 65535, 1),
    (-1, 1, -1, 1, float("nan"), float("-inf"), -1, 1, 1, 0),
    (31, 33, 64, -65, 1e300, 3.4e38, 100, 127, 32, 1),
]


class Expressions:
    """Random expressions that are valid in both languages, with more brackets than necessary."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def make(self, type_: str, depth: int) -> str:
        """An expression of a type that widens to ``type_``."""
        chance = self._chance
        if depth == 0 or chance.random() < 0.1:
            return self._leaf(type_)
        if type_ == "boolean":
            return self._condition(depth)
        choice = chance.random()
        if choice < 0.5:
            operator = chance.choice("+-*/%")
            return f"({self.make(type_, depth - 1)} {operator} {self.make(type_, depth - 1)})"
        if choice < 0.65 and type_ != "double":
            operator = chance.choice("&|^")
            return f"({self.make(type_, depth - 1)} {operator} {self.make(type_, depth - 1)})"
        if choice < 0.8 and type_ != "double":
            operator = chance.choice(("<<", ">>", ">>>"))
            return f"({self.make(type_, depth - 1)} {operator} {self.make('int', depth - 1)})"
        if choice < 0.9:
            operator = chance.choice("-" if type_ == "double" else "-~")
            return f"({operator}({self.make(type_, depth - 1)}))"
        # Both sides are operations, because Java would not promote two plain chars or shorts.
        branches = [f"({self.make(type_, depth - 1)} + {self._leaf(type_)})" for _ in range(2)]
        return f"({self.make('boolean', depth - 1)} ? {branches[0]} : {branches[1]})"

    def _condition(self, depth: int) -> str:
        chance = self._chance
        choice = chance.random()
        if choice < 0.6:
            type_ = chance.choice(("int", "long", "double"))
            operator = chance.choice(("==", "!=", "<", "<=", ">", ">="))
            return f"({self.make(type_, depth - 1)} {operator} {self.make(type_, depth - 1)})"
        if choice < 0.9:
            operator = chance.choice(("&&", "||", "^", "&", "|", "==", "!="))
            return f"({self.make('boolean', depth - 1)} {operator} {self.make('boolean', depth - 1)})"
        return f"(!{self.make('boolean', depth - 1)})"

    def _leaf(self, type_: str) -> str:
        chance = self._chance
        if chance.random() < 0.6:
            name = chance.choice(OF_TYPE[type_])
            return "(y * 1.0)" if name == "y" else name  # btpy computes a float as a double
        if type_ == "boolean":
            return chance.choice(("true", "false"))
        if type_ == "double":
            return chance.choice(("0.5", "2.0", "1e10"))
        return str(chance.choice((0, 1, 2, 7, 31, 65_537)))


def expressions() -> list[str]:
    results = Expressions(random.Random(20_231))
    return [results.make(type_, DEPTH) for type_ in ("int", "long", "double", "boolean") * EXPRESSIONS][:EXPRESSIONS]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    """The type and the bits of Java's result, by expression and row of values."""
    parameters = ", ".join(f"{type_} {name}" for type_, name in zip(JAVA_TYPES, NAMES, strict=True))
    lines = ["public class Evaluated {"]
    for number, text in enumerate(expressions()):
        lines.append(f"  static Object e{number}({parameters}) {{ return {text}; }}")
    lines.append(f"  static void all({parameters}) {{")
    for number in range(EXPRESSIONS):
        lines.append(f"    try {{ show(e{number}({', '.join(NAMES)})); }}")
        lines.append('    catch (ArithmeticException zero) { System.out.println("div"); }')
    lines.append("  }")
    lines.append("  static void show(Object o) {")
    lines.append("    if (o instanceof Boolean) System.out.println(o);")
    lines.append('    else if (o instanceof Double || o instanceof Float) System.out.println("D "')
    lines.append("      + Double.doubleToLongBits(((Number) o).doubleValue()));")
    lines.append("    else if (o instanceof Character) System.out.println((int) (Character) o);")
    lines.append("    else System.out.println(((Number) o).longValue());")
    lines.append("  }")
    lines.append("  public static void main(String[] arguments) {")
    for values in VALUES:
        lines.append(f"    all({', '.join(map(_literal, JAVA_TYPES, values))});")
    lines.append("  }")
    lines.append("}")
    source = tmp_path_factory.mktemp("java") / "Evaluated.java"
    source.write_text("\n".join(lines))
    command = [str(java(17)), "-Xmx64m", "-cp", str(compiled([source])), "Evaluated"]
    output_lines = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.split("\n")[
        :-1
    ]
    assert len(output_lines) == EXPRESSIONS * len(VALUES)
    return [output_lines[number::EXPRESSIONS] for number in range(EXPRESSIONS)]


def _literal(type_: str, value: float) -> str:
    if type_ == "boolean":
        return "true" if value else "false"
    if type_ in ("double", "float"):
        boxed = type_.capitalize()
        if value != value:
            return f"{boxed}.NaN"
        if value in (float("inf"), float("-inf")):
            return f"{boxed}.{'POSITIVE' if value > 0 else 'NEGATIVE'}_INFINITY"
        return f"({type_}) {value!r}"
    return f"({type_}) {int(value)}L"


@pytest.fixture(scope="module")
def jvm17() -> Iterator[Target]:
    with target(17) as jvm:
        yield jvm


def _input(values: tuple[int | float, ...], index: int) -> int | float:
    value = values[index]
    return float(value) if JAVA_TYPES[index] in ("double", "float") else int(value)


def _shown(values: list[Value]) -> str:
    """The value as the Java program prints it."""
    if not values:
        return "div"
    (value,) = values
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        bits = struct.unpack(">q", struct.pack(">d", value))[0] if value == value else 0x7FF8 << 48
        return f"D {bits}"
    return str(ord(value) if isinstance(value, str) else value)


def test_expressions_give_the_same_value_as_java(jvm17: Target, expected: list[list[str]]) -> None:
    kinds = set()
    for text, value in zip(expressions(), expected, strict=True):
        source = re.sub(rf"\b[{''.join(NAMES)}]\b", r"$\g<0>", text)
        program = checker.check_source(Source("test.bt", f'A::b {{ emit("value", v={source}) }}'))
        bound_probe = bind(program, program.probes[0], SHAPE)
        fire = compile_fire(program, bound_probe)
        for values, result in zip(VALUES, value, strict=True):
            jvm17.open()
            assert jvm17.fire(fire, *(_input(values, input_.index) for input_ in bound_probe.inputs)) == "void"
            errors = [error.kind for error in jvm17.errors()]
            results = [record.values[0] for record in jvm17.events()]
            assert (_shown(results), errors) == (result, [DIV_ZERO] if result == "div" else []), (text, values)
            kinds.add(result.split(" ")[0] if result[0] not in "-0123456789" else "I")
    assert kinds == {"I", "D", "div", "true", "false"}
