"""How much work one firing can be.

A firing runs at most MAX_STATEMENTS statements. Where that follows from the script it costs nothing; else the handler
counts down what each round of a loop takes, and a firing that runs out ends with a ``budget`` error at the loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass

from btpy.lang.builtins import DEFAULT_ELEMENTS, MAX_ELEMENTS, MAX_STATEMENTS
from btpy.lang.program import Constant, ForEach, ForRange, If, Let, Node, Quantified, Statement


def work(statements: Sequence[Statement]) -> int:
    """The most statements that running these takes; a test of ``any`` and its like counts as one."""
    return sum(map(_work, statements))


def _work(statement: Statement) -> int:
    match statement:
        case If():
            return 1 + _tests(statement.test) + max(work(statement.then), work(statement.otherwise))
        case ForEach():
            return 1 + _tests(statement.container) + _rounds(statement) * _round(statement)
        case ForRange():
            return 1 + _tests(statement.first) + _tests(statement.last) + _rounds(statement) * _round(statement)
        case _:
            return 1 + _tests(statement)


def work_outside_loops(statements: Sequence[Statement]) -> int:
    """The same without the rounds of loops."""
    total = 0
    for statement in statements:
        if isinstance(statement, If):
            branches = map(work_outside_loops, (statement.then, statement.otherwise))
            total += 1 + _tests(statement.test) + max(branches)
        else:
            total += 1 if isinstance(statement, ForEach | ForRange) else _work(statement)
    return total


def round_work(loop: ForEach | ForRange) -> int:
    """What one round takes itself; loops inside it count their own."""
    return max(1, work_outside_loops(loop.body))


def _round(loop: ForEach | ForRange) -> int:
    return max(1, work(loop.body))


def _rounds(loop: ForEach | ForRange) -> int:
    """The most rounds of a loop as far as the script tells."""
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


def _tests(node: object) -> int:
    """Tests of quantifiers in an expression or a simple statement."""
    if isinstance(node, Quantified):
        return _tests(node.container) + DEFAULT_ELEMENTS * (1 + _tests(node.test))
    return sum(map(_tests, _parts(node)))


def _parts(node: object) -> Iterator[object]:
    if isinstance(node, tuple):
        yield from node
    elif is_dataclass(node) and not isinstance(node, type):
        for field in fields(node):
            part = getattr(node, field.name)
            if isinstance(part, Node | tuple):
                yield part


def changed(statements: Sequence[Statement]) -> Iterator[int]:
    """Variables that are given a value somewhere in these."""
    for statement in statements:
        match statement:
            case Let():
                yield statement.index
            case If():
                yield from changed(statement.then)
                yield from changed(statement.otherwise)
            case ForEach():
                yield from (variable.index for variable in statement.variables)
                yield from changed(statement.body)
            case ForRange():
                yield statement.variable.index
                yield from changed(statement.body)
            case _:
                pass
