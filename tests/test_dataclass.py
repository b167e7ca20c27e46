"""btpy's ``dataclass`` behaves as the standard one, member by member."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from typing import Any, ClassVar

import pytest

from btpy.dataclass import dataclass as ours


def family(dataclass: Any) -> list[Any]:
    """The same classes, created by either decorator."""

    @dataclass(frozen=True, slots=True)
    class Nothing:
        pass

    @dataclass(frozen=True, slots=True)
    class Point:
        """Two numbers."""

        x: int
        y: int = 7
        unit: ClassVar[str] = "mm"

        @property
        def length(self) -> int:
            return self.x + self.y

    @dataclass(frozen=True, slots=True)
    class Named(Point):
        name: str = "?"
        tags: list[str] = field(default_factory=list)
        hidden: int = field(default=3, repr=False)

        def __post_init__(self) -> None:
            if self.x < 0:
                raise ValueError("negative")

    @dataclass(frozen=True, slots=True)
    class Spoken:
        text: str

        def __str__(self) -> str:
            return self.text

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Spoken) and self.text.lower() == other.text.lower()

        def __hash__(self) -> int:
            return 5

    return [Nothing, Point, Named, Spoken]


def mutable_family(dataclass: Any) -> list[Any]:
    @dataclass(slots=True)
    class Counter:
        name: str
        count: int = 0
        seen: list[str] = field(default_factory=list)
        later: int = field(init=False, repr=False, compare=False)

        def add(self, word: str) -> None:
            self.count += 1
            self.seen.append(word)

    @dataclass(slots=True, eq=False)
    class Node:
        name: str

    return [Counter, Node]


STANDARD = family(dataclasses.dataclass)
OURS = family(ours)
BOTH = pytest.mark.parametrize(("nothing", "point", "named", "spoken"), [STANDARD, OURS], ids=["standard", "ours"])


MUTABLE = pytest.mark.parametrize(
    ("counter", "node"), [mutable_family(dataclasses.dataclass), mutable_family(ours)], ids=["standard", "ours"]
)


@BOTH
def test_values(nothing: Any, point: Any, named: Any, spoken: Any) -> None:
    assert nothing() == nothing()
    assert point(1) == point(1, 7) == point(x=1, y=7) != point(1, 8)
    assert point(1, 7) != named(1, 7)
    assert point(1, 7) != (1, 7)
    assert hash(point(1)) == hash(point(1, 7))
    assert {point(1): "a"}[point(1)] == "a"
    assert point(2).length == 9
    assert point.unit == "mm"
    assert named(1).tags == []
    assert named(1).tags is not named(1).tags
    assert spoken("A") == spoken("a")
    assert hash(spoken("A")) == 5
    assert (repr(nothing())[-9:], repr(point(1))[-15:]) == ("Nothing()", "Point(x=1, y=7)")
    assert repr(named(1, name="n")).endswith("Named(x=1, y=7, name='n', tags=[])")
    assert point.__doc__ == "Two numbers."
    assert not hasattr(point(1), "__dict__")


@BOTH
def test_changes_and_wrong_calls_are_refused(nothing: Any, point: Any, named: Any, spoken: Any) -> None:
    changes: tuple[Callable[[], object], ...] = (
        lambda: setattr(point(1), "x", 2),
        lambda: setattr(named(1), "y", 2),
        lambda: delattr(point(1), "x"),
    )
    for change in changes:
        with pytest.raises(dataclasses.FrozenInstanceError):
            change()
    wrong_calls: tuple[Callable[[], object], ...] = (lambda: point(), lambda: point(1, 2, 3), lambda: point(z=1))
    for wrong in wrong_calls:
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(ValueError, match="negative"):
        named(-1)
    with pytest.raises(TypeError):
        hash(named(1))


@BOTH
def test_the_functions_of_the_standard_library(nothing: Any, point: Any, named: Any, spoken: Any) -> None:
    assert [field.name for field in dataclasses.fields(named)] == ["x", "y", "name", "tags", "hidden"]
    assert [field.type for field in dataclasses.fields(point)] == ["int", "int"]
    assert dataclasses.replace(named(1), y=2, name="n") == named(1, 2, "n")
    assert dataclasses.is_dataclass(nothing)
    assert dataclasses.astuple(point(1)) == (1, 7)
    assert copy.copy(point(1)) == point(1)
    assert copy.deepcopy(named(1, tags=["a"])) == named(1, tags=["a"])
    match point(3, 4):
        case point(x, y):
            assert (x, y) == (3, 4)
        case _:
            raise AssertionError


def test_values_travel_between_processes() -> None:
    from btpy.plan.plan import Operand, OperandKind

    operand = Operand(OperandKind.ARGUMENT, 1, "I")
    assert pickle.loads(pickle.dumps(operand)) == operand


@MUTABLE
def test_mutable_classes(counter: Any, node: Any) -> None:
    words = counter("words")
    words.add("a")
    words.name = "letters"
    words.later = 5
    assert words == counter("letters", 1, ["a"]) != counter("letters", 2, ["a"])
    assert repr(words).endswith("Counter(name='letters', count=1, seen=['a'])")
    assert counter("b").seen == []
    assert dataclasses.replace(words, count=3) != words
    assert copy.deepcopy(words) == words
    assert not hasattr(words, "__dict__")
    assert words.later == 5
    with pytest.raises(AttributeError):
        words.other = 1
    with pytest.raises(AttributeError):
        _ = counter("b").later
    with pytest.raises(TypeError):
        hash(words)
    with pytest.raises(TypeError):
        counter()
    first = node("a")
    assert first != node("a")
    assert {first: 1}[first] == 1


def test_threads_that_make_the_first_objects_together() -> None:
    for _ in range(53):

        @ours(frozen=True, slots=True)
        class Point:
            x: int
            y: int = 7

        with ThreadPoolExecutor(4) as pool:
            points = list(pool.map(Point, range(4)))
        assert points == [Point(0), Point(1), Point(2), Point(3)]
        assert [point.y for point in points] == [7] * 4


@pytest.mark.parametrize("dataclass", [dataclasses.dataclass, ours], ids=["standard", "ours"])
def test_a_field_without_a_default_comes_first(dataclass: Any) -> None:
    class Counter:
        name: str = ""
        count: int

    with pytest.raises(TypeError, match="count"):
        dataclass(slots=True)(Counter)
