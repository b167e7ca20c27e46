"""The code around one instruction: before it, after it, and for an exception that leaves it.

Operands that the advice needs are copied from the operand stack to scratch variables before the instruction runs.  The
deepest operand that advice needs stays on the stack and is duplicated, with the next one if ``dup2`` reaches it.
Operands above it are stored and loaded again. The operand that may be null (a receiver, array or lock) is always the
deepest. So it stays on the stack, like the index of an array, and the text of a NullPointerException does not change.
One text changes: when advice needs the old value of a field and the object is null, the exception comes from the read
of the old value, not from the write.

    before      store c · dup2 · store b · store a · advice · load c · time
    a.call(b, c)
    after       time · dup · store result · advice
    thrown      time · store exception · advice · load exception · athrow          (at the end of the method's code)

*After* is reached only from the instruction itself, so the scratch variables still hold what *before* stored.  They are
also valid at *thrown*, and its stack map frame includes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from btpy.classfile import descriptors
from btpy.classfile import opcodes as op
from btpy.classfile.operations import NewObject, Operation, OperationKind
from btpy.plan.plan import OBJECT, OPERATIONS, Advice, OperandKind, Point
from btpy.weave.snippets import Bindings, Snippet, Variable, Variables, operand_key, variable

BEFORE: Final = frozenset(
    (
        Point.CALL_BEFORE,
        Point.FIELD_SET,
        Point.ARRAY_SET,
        Point.CAST,
        Point.RAISE,
        Point.SYNC_ENTER_BEFORE,
        Point.SYNC_EXIT,
    )
)
AFTER: Final = frozenset(
    (
        Point.CALL_RETURN,
        Point.NEW,
        Point.NEWARRAY,
        Point.FIELD_GET,
        Point.ARRAY_GET,
        Point.INSTANCEOF,
        Point.SYNC_ENTER,
        Point.SYNC_EXIT_AFTER,
    )
)

Number = Callable[[Advice], int]
"""Gives the next advice its site id."""


class Around(NamedTuple):
    """``clock`` reads the time directly after the instruction. ``held``: the scratch variables that ``thrown``
    expects."""

    before: Snippet
    clock: Snippet
    after: Snippet
    thrown: Snippet | None
    held: tuple[Variable, ...]


def around(
    operation: Operation,
    advice: Sequence[Advice],
    bindings: Bindings,
    variables: Variables,
    created: NewObject | None,
    uninitialized: bool,
    number: Number,
) -> Around:
    """The code for ``advice`` at one operation. ``bindings``: inputs that are available everywhere in the method.

    ``created``: the location of the new object after a constructor call. ``uninitialized``: the target is an
        uninitialised object, which cannot be passed to a handler. Raises ValueError when the plan asks for an input
        that the place does not have.
    """
    for call in advice:
        if OPERATIONS.get(call.point) is not operation.kind:
            raise ValueError(f"{call.point.name} at a {operation.kind.value} instruction")
    blocks = _Blocks(operation, advice, bindings, variables, uninitialized)
    before = blocks.before(number)
    new_variables = tuple(variables.since(blocks.mark))
    clock, after = blocks.after(created, number)
    thrown = blocks.thrown(number)
    return Around(before, clock, after, thrown, new_variables)


class _Blocks:
    def __init__(
        self,
        operation: Operation,
        advice: Sequence[Advice],
        bindings: Bindings,
        variables: Variables,
        uninitialized: bool,
    ) -> None:
        self._operation = operation
        self._bindings = bindings
        self._variables = variables
        self._before = [call for call in advice if call.point in BEFORE]
        self._after = [call for call in advice if call.point in AFTER]
        self._thrown = [call for call in advice if call.point is Point.CALL_THROW]
        self._operand_types = {operand_key(operand): operand.descriptor for call in advice for operand in call.operands}
        self._places = _places(operation)
        if uninitialized:
            self._places.pop((OperandKind.TARGET, 0), None)
        self._reads_old = (
            OperandKind.OLD_VALUE,
            0,
        ) in self._operand_types and operation.kind is OperationKind.SET_FIELD
        self._reads_old = self._reads_old and not uninitialized
        self._start: Variable | None = None
        self._saved: Bindings = {}
        self.mark = variables.mark()

    def _timed(self, advice: Sequence[Advice]) -> bool:
        timed = self._operation.kind in (OperationKind.CALL, OperationKind.ENTER_MONITOR)
        return timed and any(operand.kind is OperandKind.DURATION for call in advice for operand in call.operands)

    def _scratch(self, key: tuple[OperandKind, int] | None, descriptor: str) -> Variable:
        """A variable for a value. The handler determines whether an element is a ``byte`` or a ``boolean``."""
        if descriptor == "B" and key is not None and self._operand_types.get(key) == "Z":
            descriptor = "Z"
        return self._variables.scratch(descriptor)

    def before(self, number: Number) -> Snippet:
        block = Snippet()
        operation = self._operation
        operands = operation.operands
        places = {place: key for key, place in self._places.items() if key in self._operand_types}
        deepest = min(places, default=len(operands))
        reads_owner = self._reads_old and not operation.static
        if reads_owner:
            deepest = 0
        # Operands that `dup2` reaches stay on the stack.
        reached = operands[deepest : deepest + 2]
        two = len(reached) == 2 and not reads_owner and not any(map(_is_wide, reached))
        above = range(deepest + (2 if two else 1), len(operands))
        stored: dict[int, Variable] = {}
        for place in reversed(above):
            stored[place] = self._scratch(places.get(place), operands[place])
            block.store(stored[place])
        if two:
            block.instruction(op.DUP2)
        elif deepest in places:
            block.duplicate(operands[deepest])
        for place in (deepest + 1, deepest) if two else (deepest,):
            if place in places:
                stored[place] = self._scratch(places[place], operands[place])
                block.store(stored[place])
            elif two:
                block.instruction(op.POP)
        self._saved = {key: stored[place] for place, key in places.items()}
        if self._reads_old:
            if not operation.static:
                block.instruction(op.DUP)
            block.read_field(operation)
            old = self._variables.scratch(operation.descriptor)
            block.store(old)
            self._saved[OperandKind.OLD_VALUE, 0] = old
        bindings = {**self._bindings, **self._saved}
        for call in self._before:
            block.call(call.handler, number(call), call.operands, bindings)
        for place in above:
            block.load(stored[place])
        if self._timed([*self._after, *self._thrown]):
            self._start = self._variables.scratch("J")
            block.nano_time()
            block.store(self._start)
        return block

    def _duration(self, block: Snippet) -> Variable | None:
        if self._start is None:
            return None
        duration = self._variables.scratch("J")
        block.nano_time()
        block.load(self._start)
        block.instruction(op.LSUB)
        block.store(duration)
        return duration

    def after(self, created: NewObject | None, number: Number) -> tuple[Snippet, Snippet]:
        operation = self._operation
        clock = Snippet()
        block = Snippet()
        bindings = {**self._bindings, **self._saved}
        if self._timed(self._after):
            duration = self._duration(clock)
            if duration is not None:
                bindings[OperandKind.DURATION, 0] = duration
        operand_keys = {operand_key(operand) for call in self._after for operand in call.operands}
        key = (OperandKind.TARGET if operation.kind is OperationKind.NEW_ARRAY else OperandKind.RESULT, 0)
        if operation.result != "V" and key in operand_keys:
            bindings[key] = self._scratch(key, operation.result)
            block.duplicate(operation.result)
            block.store(bindings[key])
        if created is not None and (OperandKind.TARGET, 0) in operand_keys:
            if created.local is None:
                target = self._variables.scratch(OBJECT)
                block.duplicate(OBJECT)
                block.store(target)
            else:
                target = variable(created.local, OBJECT)
            bindings[OperandKind.TARGET, 0] = target
        for call in self._after:
            block.call(call.handler, number(call), call.operands, bindings)
        return clock, block

    def thrown(self, number: Number) -> Snippet | None:
        if not self._thrown:
            return None
        block = Snippet(depth=1)
        bindings = {**self._bindings, **self._saved}
        if self._timed(self._thrown):
            duration = self._duration(block)
            if duration is not None:
                bindings[OperandKind.DURATION, 0] = duration
        exception = self._variables.scratch(OBJECT)
        block.store(exception)
        bindings[OperandKind.EXCEPTION, 0] = exception
        for call in self._thrown:
            block.call(call.handler, number(call), call.operands, bindings)
        block.load(exception)
        block.instruction(op.ATHROW)
        return block


def _is_wide(descriptor: str) -> bool:
    return descriptors.slots(descriptor) == 2


def _places(operation: Operation) -> dict[tuple[OperandKind, int], int]:
    """Maps operands of advice to operands of the instruction."""
    operands = operation.operands
    first = 0 if operation.static else 1
    target = {(OperandKind.TARGET, 0): 0}
    match operation.kind:
        case OperationKind.CALL:
            arguments = {(OperandKind.TARGET_ARGUMENT, at - first): at for at in range(first, len(operands))}
            return arguments if operation.static or operation.is_constructor_call else {**target, **arguments}
        case OperationKind.GET_FIELD:
            return {} if operation.static else target
        case OperationKind.SET_FIELD:
            value = {(OperandKind.NEW_VALUE, 0): first}
            return value if operation.static else {**target, **value}
        case OperationKind.NEW_ARRAY:
            return {(OperandKind.LENGTH, at): at for at in range(len(operands))}
        case OperationKind.GET_ELEMENT:
            return {**target, (OperandKind.INDEX, 0): 1}
        case OperationKind.SET_ELEMENT:
            return {**target, (OperandKind.INDEX, 0): 1, (OperandKind.NEW_VALUE, 0): 2}
        case OperationKind.THROW:
            return {(OperandKind.EXCEPTION, 0): 0}
        case _:
            return target
