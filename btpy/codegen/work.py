"""The work of one firing, in statements.

A firing runs at most MAX_STATEMENTS statements. If the script guarantees this, the limit costs nothing. Otherwise the
handler subtracts the statements of each iteration, and a firing that exceeds the limit ends with a ``budget`` error at
the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass

from btpy.lang.builtins import DEFAULT_ELEMENTS, MAX_ELEMENTS, MAX_STATEMENTS
from btpy.lang.typed_tree import (
    Constant,
    Expr,
    ForEach,
    ForRange,
    If,
    Inlined,
    Let,
    LoopVariable,
    Node,
    Quantified,
    Statement,
    Subscriber,
)


def work(statements: Sequence[Statement]) -> int:
    """The largest number of statements that the given statements execute. A test of ``any``, ``all``, ``none`` or
    ``first`` counts as one.
    """
    return sum(_work(statement, _rounds) for statement in statements)


def work_outside_loops(statements: Sequence[Statement]) -> int:
    """The largest number of statements outside loops that the given statements execute."""
    return sum(_work(statement, _no_rounds) for statement in statements)


def work_of_value(value: Expr) -> int:
    """The largest number of statements that computing a value executes."""
    return _work_within(value, _rounds)


Loop = ForEach | ForRange | Quantified
Rounds = Callable[[Loop], int]


def _work(statement: Statement, rounds: Rounds) -> int:
    def block(statements: Sequence[Statement]) -> int:
        return sum(_work(statement, rounds) for statement in statements)

    match statement:
        case If():
            return 1 + _work_within(statement.test, rounds) + max(block(statement.then), block(statement.otherwise))
        case ForEach():
            return 1 + _work_within(statement.container, rounds) + rounds(statement) * max(1, block(statement.body))
        case ForRange():
            ends = _work_within(statement.first, rounds) + _work_within(statement.last, rounds)
            return 1 + ends + rounds(statement) * max(1, block(statement.body))
        case Subscriber():
            return 1  # the loop is counted separately
        case _:
            return 1 + _work_within(statement, rounds)


def round_work(loop: Loop) -> int:
    """The statements of one iteration, without the statements of inner loops."""
    if isinstance(loop, Quantified):
        return 1 + _work_within(loop.test, _no_rounds)
    return max(1, work_outside_loops(loop.body))


def _no_rounds(loop: Loop) -> int:
    return 0


def _rounds(loop: Loop) -> int:
    """The largest number of iterations of a loop that the script guarantees."""
    if isinstance(loop, Quantified):
        return DEFAULT_ELEMENTS
    if isinstance(loop.limit, Constant) and isinstance(loop.limit.value, int):
        return loop.limit.value
    if isinstance(loop, ForEach):
        return DEFAULT_ELEMENTS if loop.limit is None else MAX_ELEMENTS
    first, last = loop.first, loop.last
    if isinstance(first, Constant) and isinstance(last, Constant):
        assert isinstance(first.value, int)
        assert isinstance(last.value, int)
        return max(0, last.value - first.value + 1)
    return MAX_STATEMENTS + 1


def _work_within(node: object, rounds: Rounds) -> int:
    """The number of tests of quantifiers and of statements of functions in an expression or a simple statement."""
    match node:
        case Quantified():
            return _work_within(node.container, rounds) + rounds(node) * (1 + _work_within(node.test, rounds))
        case Inlined():
            return sum(_work(statement, rounds) for statement in node.statements) + _work_within(node.value, rounds)
        case _:
            return sum(_work_within(part, rounds) for part in _parts(node))


def _parts(node: object) -> Iterator[object]:
    if isinstance(node, tuple):
        yield from node
    else:
        for name in _fields(type(node)):
            part = getattr(node, name)
            if isinstance(part, Node | tuple):
                yield part


_known_fields: dict[type[object], tuple[str, ...]] = {}


def _fields(kind: type[object]) -> tuple[str, ...]:
    names = _known_fields.get(kind)
    if names is None:
        names = tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()
        _known_fields[kind] = names
    return names


def changed(statements: Sequence[Statement | Expr | None]) -> Iterator[int]:
    """Variables that these statements assign, including functions and subscribers."""
    queue: list[object] = list(statements)
    while queue:
        node = queue.pop()
        if isinstance(node, Let | LoopVariable):
            yield node.index
        if isinstance(node, tuple):
            queue += node
        elif type(node).__module__ == Let.__module__ and is_dataclass(node):
            queue += [getattr(node, field.name) for field in fields(node)]
