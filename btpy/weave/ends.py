"""Weaving at the ends of a method: on entry, before each return, and for exceptions that leave it.

The blocks depend on the advice and on the shape of the method, not on its code. So methods of one shape share them, and
:func:`ends_of` caches them. The differing parts, the numbers of sites and the indexes of constants, are filled in when
a block is assembled (``snippets.Snippet``). Sites have the numbers 0, 1, … within the block. Sites of frame locals have
the numbers −1, −2, …, because they are the first sites of the method (``Snippet.assembled``).

A value is *kept* from entry to exit, in a new local variable after ``max_locals``, if advice at an exit or inside the
method needs it: entry copies of arguments and ``this``, frame locals, the time of entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from btpy.classfile import descriptors
from btpy.classfile import opcodes as op
from btpy.plan.plan import OBJECT, Advice, FrameLocal, Operand, OperandKind, Point
from btpy.weave import snippets
from btpy.weave.snippets import Bindings, Snippet, Variable, Variables

OWN_MONITOR: Final = -1
"""``Advice.at`` of the monitor of a synchronized method."""

EXCEPTION: Final = (OperandKind.EXCEPTION, 0)
_RESULT: Final = (OperandKind.RESULT, 0)
_DURATION: Final = (OperandKind.DURATION, 0)
_START: Final = (OperandKind.START, 0)
_SELF: Final = (OperandKind.SELF, 0)
_TARGET: Final = (OperandKind.TARGET, 0)


class _Local(NamedTuple):
    """A frame local of the plan with its variable and its site."""

    plan: FrameLocal
    variable: Variable
    site: int
    late: bool  # a constructor computes it when `this` is initialised


def ends_of(
    advice: tuple[Advice, ...],
    locals_: tuple[FrameLocal, ...],
    inside: frozenset[Operand],
    descriptor: str,
    static: bool,
    constructor: bool,
    max_locals: int,
    class_name: str,
) -> Ends:
    """``descriptor``: the descriptor of the method. ``inside``: inputs that advice inside the method needs from the
    frame: copies, duration at a line. ``constructor``: it must call super(…) or this(…). ``max_locals``: the value
    before weaving. ``class_name``: internal; only a method whose own monitor has advice needs it.

    Raises ValueError if the plan asks for an input that the place does not have.
    """
    key = (id(advice), id(locals_), inside)
    shared = _shared_advice.get(key)
    if shared is None:
        if len(_shared_advice) >= _MOST_KNOWN:
            _shared_advice.clear()
        shared = _shared_advice[key] = _SharedAdvice(advice, locals_, inside)
    part = shared.used_part(descriptor)
    shape = (shared, part, static, constructor, max_locals, class_name)
    ends = _ends.get(shape)
    if ends is None:
        if len(_ends) >= _MOST_KNOWN:
            _ends.clear()
        ends = _ends[shape] = _ends_by_content(
            advice, locals_, inside, part, static, constructor, max_locals, class_name
        )
    return ends


class _SharedAdvice:
    """The advice that the plans of methods share: it is faster to find by its identity. The object keeps the advice and
    the frame locals alive, so no other objects get their ids.
    """

    def __init__(self, advice: tuple[Advice, ...], locals_: tuple[FrameLocal, ...], inside: frozenset[Operand]) -> None:
        self.advice = advice
        self.locals_ = locals_
        operands = [operand for call in advice for operand in call.operands]
        operands += [operand for local in locals_ for operand in local.operands]
        operands += inside
        indexes = [operand.number for operand in operands if operand.kind is OperandKind.ARGUMENT]
        self._parameters = max(indexes, default=-1) + 1
        self._wants_result = any(operand.kind is OperandKind.RESULT for operand in operands)
        self._parts: dict[str, str] = {}

    def used_part(self, descriptor: str) -> str:
        """The part of a method descriptor that the code uses, erased: the parameters up to the last one that it uses,
        and the result if it uses it. A shorter part lets more methods share a block.
        """
        if not self._parameters and not self._wants_result:
            return "()V"
        part = self._parts.get(descriptor)
        if part is None:
            parameters, result = descriptors.parse(descriptors.erase_all(descriptor))
            part = f"({''.join(parameters[: self._parameters])}){result if self._wants_result else 'V'}"
            if len(self._parts) < _MOST_KNOWN:
                self._parts[descriptor] = part
        return part


_shared_advice: Final[dict[tuple[int, int, frozenset[Operand]], _SharedAdvice]] = {}
_ends: Final[dict[tuple[_SharedAdvice, str, bool, bool, int, str], Ends]] = {}
_MOST_KNOWN: Final = 4096


@lru_cache(maxsize=4096)
def _ends_by_content(
    advice: tuple[Advice, ...],
    locals_: tuple[FrameLocal, ...],
    inside: frozenset[Operand],
    descriptor: str,
    static: bool,
    constructor: bool,
    max_locals: int,
    class_name: str,
) -> Ends:
    return Ends(advice, locals_, inside, descriptor, static, constructor, max_locals, class_name)


class Ends:
    """``entry``, ``returning``, ``throwing``: the advice of each end. ``first``: the block at the start of the code;
    in a constructor it has no ENTRY advice, which is in ``initialized``. ``kept``: variables that stack map frames must
    include.

    ``exits``: variables for the advice at the exits. ``exception``: a variable for the exception, inside a block.
    ``limit``: the first local variable after all of these variables.
    """

    def __init__(
        self,
        advice: Sequence[Advice],
        locals_: Sequence[FrameLocal],
        inside: Iterable[Operand],
        descriptor: str,
        static: bool,
        constructor: bool,
        max_locals: int,
        class_name: str,
    ) -> None:
        self._static = static
        self._constructor = constructor
        self._class_name = class_name
        self.entry = [call for call in advice if call.point in (Point.ENTRY, Point.SYNC_ENTER)]
        self.returning = [call for call in advice if call.point in (Point.RETURN, Point.SYNC_EXIT)]
        self.throwing = [call for call in advice if call.point in (Point.THROW, Point.SYNC_EXIT)]
        self.locals_ = locals_
        self._parameters = snippets.parameters(descriptor, static)
        self.names_class = static and any(
            call.at == OWN_MONITOR and OperandKind.TARGET in kinds([call]) for call in advice
        )
        variables = Variables(max_locals)
        later = [operand for call in (*self.returning, *self.throwing) for operand in call.operands]
        later += inside
        self._copies = self._keep_copies(variables, later)
        timed = any(operand.kind in (OperandKind.DURATION, OperandKind.START) for operand in later)
        self._start = variables.keep("J") if timed else None
        self._locals = self._keep_locals(variables)
        returned = descriptors.parse(descriptor)[1]
        wants_result = returned != "V" and OperandKind.RESULT in kinds(self.returning)
        self._result = variables.scratch(returned) if wants_result else None
        self.exception = variables.scratch(OBJECT)
        self._duration = variables.scratch("J") if self._start is not None else None
        self.kept = tuple(variables.kept)
        self.limit = variables.limit
        self.exits = self._bind_exits()
        self.releases = any(local.release is not None for local in locals_)
        self.first = self._first_block()
        self.return_block = self._return_block()
        self._initialized: dict[int | None, Snippet | None] = {}

    def _keep_copies(self, variables: Variables, later: Sequence[Operand]) -> Bindings:
        """Variables for entry copies of the inputs that exits use. A constructor also copies the inputs that are used
        after super(…).
        """
        indexes = {operand.number for operand in later if operand.kind is OperandKind.ARGUMENT}
        if self._constructor:
            groups = [*(call.operands for call in self.entry), *(local.operands for local in self.locals_)]
            indexes |= {operand.number for group in groups for operand in group if operand.kind is OperandKind.ARGUMENT}
        copies: Bindings = {}
        if not self._static and any(operand.kind is OperandKind.SELF for operand in later):
            copies[_SELF] = variables.keep(OBJECT)
        for index in sorted(indexes):
            if index < len(self._parameters):
                copies[OperandKind.ARGUMENT, index] = variables.keep(self._parameters[index].erased)
        of_monitor = [call for call in (*self.entry, *self.returning) if call.at == OWN_MONITOR]
        if OperandKind.TARGET in kinds(of_monitor):
            copies[_TARGET] = variables.keep(OBJECT)
        return copies

    def _keep_locals(self, variables: Variables) -> list[_Local]:
        saved: list[_Local] = []
        for number, local in enumerate(self.locals_):
            late = self._constructor and (
                local.release is not None
                or any(
                    operand.kind is OperandKind.SELF
                    or (operand.kind is OperandKind.LOCAL and saved[operand.number].late)
                    for operand in local.operands
                )
            )
            descriptor = descriptors.parse(local.compute.descriptor)[1]
            saved.append(_Local(local, variables.keep(descriptor), -1 - number, late))
        return saved

    def _bind_entry(self, receiver: Variable | None) -> Bindings:
        """The inputs of advice on entry: the arguments themselves, in a constructor their copies."""
        bindings: Bindings = {}
        for index, parameter in enumerate(self._parameters):
            bindings[OperandKind.ARGUMENT, index] = parameter
        if _TARGET in self._copies:
            bindings[_TARGET] = self._copies[_TARGET]
        if self._constructor:
            bindings.update(self._copies)
            bindings.pop(_SELF, None)
        if receiver is not None:
            bindings[_SELF] = receiver
        for index, local in enumerate(self._locals):
            bindings[OperandKind.LOCAL, index] = local.variable
        return bindings

    def _bind_exits(self) -> Bindings:
        bindings = dict(self._copies)
        if self._duration is not None:
            bindings[_DURATION] = self._duration
        if self._start is not None:
            bindings[_START] = self._start
        for index, local in enumerate(self._locals):
            bindings[OperandKind.LOCAL, index] = local.variable
        return bindings

    def _compute(self, block: Snippet, late: bool, bindings: Bindings) -> None:
        for local in self._locals:
            if local.late is late:
                block.call(local.plan.compute, local.site, local.plan.operands, bindings)
                block.store(local.variable)

    def _call(self, block: Snippet, advice: Sequence[Advice], bindings: Bindings) -> None:
        for number, call in enumerate(advice):
            block.call(call.handler, number, call.operands, bindings)

    def _first_block(self) -> Snippet:
        block = Snippet()
        own = None if self._static or self._constructor else snippets.receiver()
        for (kind, index), copy in self._copies.items():
            if kind is OperandKind.ARGUMENT:
                block.copy(self._parameters[index], copy)
            elif own is not None:
                block.copy(own, copy)
            elif kind is OperandKind.TARGET:
                block.class_constant(self._class_name)
                block.store(copy)
            else:
                block.zero(OBJECT)
                block.store(copy)
        for local in self._locals:
            if local.late:
                block.zero(local.variable.descriptor)
                block.store(local.variable)
        bindings = self._bind_entry(own)
        self._compute(block, False, bindings)
        if not self._constructor:
            self._call(block, self.entry, bindings)
        if self._start is not None:
            block.nano_time()
            block.store(self._start)
        return block

    def initialized(self, slot: int | None) -> Snippet | None:
        """The block after super(…) or this(…) in a constructor; ``slot`` is a local variable that holds ``this``.

        None when it needs ``this`` and there is no such variable.
        """
        if slot not in self._initialized:
            self._initialized[slot] = self._initialized_block(slot)
        return self._initialized[slot]

    def _initialized_block(self, slot: int | None) -> Snippet | None:
        receiver = None if slot is None else snippets.receiver(slot)
        copy = self._copies.get(_SELF)
        if receiver is None:
            operands = [*(call.operands for call in self.entry), *(local.operands for local in self.locals_)]
            if copy is not None or any(operand.kind is OperandKind.SELF for group in operands for operand in group):
                return None
        block = Snippet()
        if receiver is not None and copy is not None:
            block.copy(receiver, copy)
        bindings = self._bind_entry(receiver)
        self._compute(block, True, bindings)
        self._call(block, self.entry, bindings)
        return block

    def _exit(self, block: Snippet, advice: Sequence[Advice], bindings: Bindings) -> None:
        """The common part of the blocks for return and throw: the advice, and the releases of frame locals."""
        self._call(block, advice, bindings)
        for local in self._locals:
            if local.plan.release is not None:
                block.release(local.plan.release, local.site, local.variable)

    def take_duration(self, block: Snippet, advice: Iterable[Advice]) -> None:
        """Reads the clock if the advice wants the time since entry."""
        if self._start is None or self._duration is None or OperandKind.DURATION not in kinds(advice):
            return
        block.nano_time()
        block.load(self._start)
        block.instruction(op.LSUB)
        block.store(self._duration)

    def _return_block(self) -> Snippet:
        result = self._result
        block = Snippet()
        bindings = dict(self.exits)
        self.take_duration(block, self.returning)
        if result is not None:
            # The value was on the stack before the block, so the depth of the block starts below zero.
            block.store(result)
            bindings[_RESULT] = result
        self._exit(block, self.returning, bindings)
        if result is not None:
            block.load(result)
        return block

    @cached_property
    def throw_block(self) -> Snippet:
        block = Snippet(depth=1)
        self.take_duration(block, self.throwing)
        block.store(self.exception)
        self._exit(block, self.throwing, {**self.exits, EXCEPTION: self.exception})
        block.load(self.exception)
        block.instruction(op.ATHROW)
        return block


def kinds(advice: Iterable[Advice]) -> set[OperandKind]:
    """The kinds of operands that the advice has."""
    return {operand.kind for call in advice for operand in call.operands}
