"""Weaving advice into a class.

For each method of the plan:

1. Work out which values have to be *kept* from entry to exit (entry copies of arguments and ``this``, frame locals, the
   time of entry) and give them local variables after ``max_locals``.
2. Write the blocks: one on entry, one before every return instruction, one exception handler for the whole method.
3. Insert them (``classfile.relocation``) and move everything that holds an offset with the code.
4. Extend the stack map frames by the kept variables. Frames are edited, never computed.

Order inside a method::

    entry    copies · frame locals · ENTRY advice · time of entry
    return   time of exit · RETURN advice · releases · the return instruction
    throw    time of exit · THROW advice · releases · athrow

A return instruction that has a block is not covered by the exception handler, so one activation leaves by exactly one
of them.  The handler comes last in the exception table and expects nothing but the kept variables.

In a constructor ``this`` cannot be touched before ``super(…)`` or ``this(…)`` has returned.  Argument copies, the time
of entry and frame locals that can do without ``this`` are taken at the start; all else of the entry block comes after
each of those calls, and the handler covers only code in which ``this`` is initialised.  An exception that leaves the
constructor earlier is not seen: no frame local with a release is live then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from btpy.classfile import descriptors, frames, inference, initialized, tables
from btpy.classfile import opcodes as op
from btpy.classfile.bytecode import Bytecode, scan
from btpy.classfile.pool import ConstantPool, PoolOverflowError
from btpy.classfile.reader import ClassFile, Code, ExceptionHandler, Member
from btpy.classfile.relocation import Insertion, Relocation, relocate
from btpy.classfile.writer import MAX_CODE_LENGTH, code_attribute, name_index, with_code
from btpy.errors import ClassFileError
from btpy.plan.plan import (
    OBJECT,
    Advice,
    ClassPlan,
    FrameLocal,
    MethodPlan,
    OperandKind,
    Point,
    Refusal,
    RefusalReason,
    Site,
    Woven,
)
from btpy.weave import sites, snippets
from btpy.weave.sites import Numbering
from btpy.weave.snippets import Bindings, Snippet, Variable, Variables

_STACK_MAPS_SINCE = 50  # class-file version (JVMS §4.10)


def weave(data: bytes, plan: ClassPlan, first_site: int) -> Woven:
    """Weaves ``plan`` into the class file ``data``; sites are numbered from ``first_site``.

    Nothing is raised for what is wrong with the class: it is refused, whole or by method. ValueError: the plan is wrong
    (two plans for a method, an operand that its place does not have).
    """
    plans = {(method.name, method.descriptor): method for method in plan.methods}
    if len(plans) != len(plan.methods):
        raise ValueError(f"two plans for one method of {plan.class_name}")
    class_name = plan.class_name.replace("/", ".")
    try:
        file = ClassFile.parse(data)
        if file.name != plan.class_name:
            raise ClassFileError(f"the class file is of {file.name.replace('/', '.')}")
    except ClassFileError as error:
        return Woven(None, (), (Refusal(RefusalReason.MALFORMED, class_name, None, str(error)),))
    replacements: dict[str, bytes] = {}
    woven_sites: list[Site] = []
    refusals = []
    for method in file.methods:
        method_plan = plans.get((method.name, method.descriptor))
        if method_plan is None or not (method_plan.advice or method_plan.locals):
            continue
        count = file.pool.count
        numbering = Numbering(first_site + len(woven_sites), class_name, method.name, method.descriptor)
        try:
            content = _MethodWeaver(file, method, method_plan, numbering).weave()
        except _RefusedError as refused:
            reason, detail = refused.reason, str(refused)
        except PoolOverflowError as error:
            reason, detail = RefusalReason.POOL_FULL, str(error)
        except ClassFileError as error:
            reason, detail = RefusalReason.MALFORMED, str(error)
        else:
            if numbering.sites:
                replacements[method.name + method.descriptor] = content
                woven_sites += numbering.sites
            continue
        file.pool.truncate(count)
        refusals.append(Refusal(reason, class_name, method.name + method.descriptor, detail))
    woven = with_code(file, replacements) if replacements else None
    return Woven(woven, tuple(woven_sites), tuple(refusals))


class _RefusedError(Exception):
    def __init__(self, reason: RefusalReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class _Local:
    """A frame local of the plan with its variable and its site."""

    plan: FrameLocal
    variable: Variable
    site: int
    late: bool  # in a constructor: computed when `this` is initialised


class _MethodWeaver:
    """Weaves one method. The fields are the values of the steps, in their order."""

    def __init__(self, file: ClassFile, method: Member, plan: MethodPlan, numbering: Numbering) -> None:
        code = method.code
        if code is None:
            raise _RefusedError(RefusalReason.NO_CODE, "the method is native or abstract")
        if (method.name, method.descriptor, code.code) == ("finalize", "()V", bytes((op.RETURN,))):
            # HotSpot registers objects for finalization whose class has a finalize() that does something.
            raise _RefusedError(RefusalReason.PROTECTED, "with code in it, the empty finalize() would be called")
        self._file = file
        self._pool: ConstantPool = file.pool
        self._method = method
        self._code: Code = code
        self._bytecode: Bytecode = scan(code.code)
        self._numbering = numbering
        self._line = code.line_at(0)
        self._entry = [advice for advice in plan.advice if advice.point is Point.ENTRY]
        self._return = [advice for advice in plan.advice if advice.point is Point.RETURN]
        self._throw = [advice for advice in plan.advice if advice.point is Point.THROW]
        self._parameters = snippets.parameters(method.descriptor, method.is_static)
        self._initialization: initialized.Initialization | None = None
        if method.name == "<init>" and file.name != "java/lang/Object":
            self._initialization = initialized.initialization(code, self._bytecode, file.pool)
            if not self._initialization.calls or self._initialization.uninitialized_returns:
                raise _RefusedError(RefusalReason.NO_SUPER_CALL, "a path returns without super(…) or this(…)")
        self._variables = Variables(code.max_locals)
        self._max_stack = code.max_stack
        self._kept = self._bind_kept(plan)
        self._start = self._keep_start()
        self._locals = self._keep_locals(plan)
        self._entry_sites = [
            (advice, numbering.number(advice.probe, Point.ENTRY, self._line)) for advice in self._entry
        ]
        self._result = self._scratch_result()
        self._exception = self._variables.scratch(OBJECT)
        self._duration = self._variables.scratch("J") if self._start is not None else None

    # ------------------------------------------------------------ variables

    def _uses(self, kind: OperandKind, advices: Sequence[Advice]) -> bool:
        return any(operand.kind is kind for advice in advices for operand in advice.operands)

    def _uses_self_on_entry(self) -> bool:
        late = [operand for local in self._locals for operand in local.plan.operands]
        return self._uses(OperandKind.SELF, self._entry) or any(operand.kind is OperandKind.SELF for operand in late)

    def _bind_kept(self, plan: MethodPlan) -> Bindings:
        """Variables for entry copies: of what exits use and, in a constructor, of what is used after super(…)."""
        wanted = [operand for advice in (*self._return, *self._throw) for operand in advice.operands]
        if self._initialization is not None:
            later = [*(advice.operands for advice in self._entry), *(local.operands for local in plan.locals)]
            wanted += [operand for operands in later for operand in operands if operand.kind is OperandKind.ARGUMENT]
        kept: Bindings = {}
        if not self._method.is_static and any(operand.kind is OperandKind.SELF for operand in wanted):
            kept[OperandKind.SELF, 0] = self._variables.keep(OBJECT)
        for index in sorted({operand.index for operand in wanted if operand.kind is OperandKind.ARGUMENT}):
            if index < len(self._parameters):
                descriptor = descriptors.erase(self._parameters[index].descriptor)
                kept[OperandKind.ARGUMENT, index] = self._variables.keep(descriptor)
        return kept

    def _keep_start(self) -> Variable | None:
        timed = self._uses(OperandKind.DURATION, (*self._return, *self._throw))
        return self._variables.keep("J") if timed else None

    def _keep_locals(self, plan: MethodPlan) -> list[_Local]:
        kept: list[_Local] = []
        for local in plan.locals:
            late = self._initialization is not None and (
                local.release is not None
                or any(
                    operand.kind is OperandKind.SELF or (operand.kind is OperandKind.LOCAL and kept[operand.index].late)
                    for operand in local.operands
                )
            )
            descriptor = descriptors.parse(local.compute.descriptor)[1]
            site = self._numbering.number(local.probe, Point.ENTRY, self._line)
            kept.append(_Local(local, self._variables.keep(descriptor), site, late))
        return kept

    def _scratch_result(self) -> Variable | None:
        descriptor = descriptors.parse(self._method.descriptor)[1]
        used = descriptor != "V" and self._uses(OperandKind.RESULT, self._return)
        return self._variables.scratch(descriptor) if used else None

    # ------------------------------------------------------------ blocks

    def _entry_bindings(self, receiver: Variable | None) -> Bindings:
        """What advice on entry finds: live arguments, in a constructor their copies."""
        bindings: Bindings = {}
        for index, parameter in enumerate(self._parameters):
            bindings[OperandKind.ARGUMENT, index] = parameter
        if self._initialization is not None:
            bindings.update(self._kept)
            bindings.pop((OperandKind.SELF, 0), None)
        if receiver is not None:
            bindings[OperandKind.SELF, 0] = receiver
        for index, local in enumerate(self._locals):
            bindings[OperandKind.LOCAL, index] = local.variable
        return bindings

    def _exit_bindings(self) -> Bindings:
        bindings = dict(self._kept)
        if self._duration is not None:
            bindings[OperandKind.DURATION, 0] = self._duration
        for index, local in enumerate(self._locals):
            bindings[OperandKind.LOCAL, index] = local.variable
        return bindings

    def _compute(self, block: Snippet, late: bool, bindings: Bindings) -> None:
        for local in self._locals:
            if local.late is late:
                block.call(local.plan.compute, local.site, local.plan.operands, bindings)
                block.store(local.variable)

    def _first_block(self) -> Snippet:
        """The block at the start of the code. Its ENTRY advice is left out in a constructor."""
        constructor = self._initialization is not None
        block = Snippet(self._pool)
        own = None if self._method.is_static or constructor else snippets.receiver()
        for (kind, index), copy in self._kept.items():
            if kind is OperandKind.ARGUMENT:
                block.copy(self._parameters[index], copy)
            elif own is not None:
                block.copy(own, copy)
            else:
                block.zero(OBJECT)
                block.store(copy)
        for local in self._locals:
            if local.late:
                block.zero(local.variable.descriptor)
                block.store(local.variable)
        bindings = self._entry_bindings(own)
        self._compute(block, False, bindings)
        if not constructor:
            for advice, site in self._entry_sites:
                block.call(advice.handler, site, advice.operands, bindings)
        if self._start is not None:
            block.nano_time()
            block.store(self._start)
        return block

    def _initialized_block(self, slot: int | None) -> Snippet:
        """The block after super(…) or this(…) in a constructor; ``slot`` is a local variable that holds ``this``."""
        block = Snippet(self._pool)
        copy = self._kept.get((OperandKind.SELF, 0))
        receiver = None if slot is None else snippets.receiver(slot)
        if receiver is None and (copy is not None or self._uses_self_on_entry()):
            raise _RefusedError(RefusalReason.NO_SUPER_CALL, "no local variable holds `this` when it is initialised")
        if receiver is not None and copy is not None:
            block.copy(receiver, copy)
        bindings = self._entry_bindings(receiver)
        self._compute(block, True, bindings)
        for advice, site in self._entry_sites:
            block.call(advice.handler, site, advice.operands, bindings)
        return block

    def _exit_block(self, block: Snippet, point: Point, line: int, bindings: Bindings) -> None:
        """What return and throw have in common: the time, advice, releases."""
        for advice in self._return if point is Point.RETURN else self._throw:
            site = self._numbering.number(advice.probe, point, line)
            block.call(advice.handler, site, advice.operands, bindings)
        for local in self._locals:
            if local.plan.release is not None:
                block.release(local.plan.release, local.site, local.variable)

    def _take_duration(self, block: Snippet, advices: Sequence[Advice]) -> None:
        if self._start is None or self._duration is None or not self._uses(OperandKind.DURATION, advices):
            return
        block.nano_time()
        block.load(self._start)
        block.instruction(op.LSUB)
        block.store(self._duration)

    def _return_block(self, at: int) -> Snippet:
        result = self._result
        block = Snippet(self._pool)
        bindings = self._exit_bindings()
        self._take_duration(block, self._return)
        if result is not None:
            # The value is one that was on the stack before: the block's own depth starts below zero.
            block.store(result)
            bindings[OperandKind.RESULT, 0] = result
        self._exit_block(block, Point.RETURN, self._code.line_at(at), bindings)
        if result is not None:
            block.load(result)
        return block

    def _throw_block(self) -> Snippet:
        block = Snippet(self._pool, depth=1)
        self._take_duration(block, self._throw)
        block.store(self._exception)
        bindings = self._exit_bindings()
        bindings[OperandKind.EXCEPTION, 0] = self._exception
        self._exit_block(block, Point.THROW, self._line, bindings)
        block.load(self._exception)
        block.instruction(op.ATHROW)
        return block

    # ------------------------------------------------------------ the method

    def weave(self) -> bytes:
        """The content of the new Code attribute. Raises ClassFileError and _RefusedError."""
        releases = any(local.plan.release is not None for local in self._locals)
        insertions = {0: Insertion(fall=self._block(self._first_block(), 0))}
        if self._initialization is not None:
            for at, slot in self._initialization.calls.items():
                block = self._block(self._initialized_block(slot), self._code.max_stack)
                insertions[at] = Insertion(fall=block)
        left = sites.returns(self._bytecode) if self._return or releases else []
        for at in left:
            before = insertions.get(at, Insertion())
            always = self._block(self._return_block(at), self._code.max_stack)
            insertions[at] = Insertion(before.fall, always)
        relocation = relocate(self._bytecode, insertions)
        exceptions = [
            ExceptionHandler(
                relocation.reference(row.start),
                relocation.reference(row.end),
                relocation.reference(row.handler),
                row.catch_type,
            )
            for row in self._code.exceptions
        ]
        code = relocation.code
        handler: int | None = None
        if self._throw or releases:
            covered = self._covered(left, relocation)
            if covered:
                handler = len(code)
                code += self._block(self._throw_block(), 0)
                exceptions += [ExceptionHandler(start, end, handler, 0) for start, end in covered]
        if len(code) > MAX_CODE_LENGTH:
            raise _RefusedError(RefusalReason.TOO_LARGE, f"the code would grow to {len(code)} bytes")
        if self._variables.next > 65_535 or self._max_stack > 65_535 or len(exceptions) > 65_535:
            raise _RefusedError(RefusalReason.TOO_LARGE, "more than 65535 local variables, stack slots or handlers")
        attributes = self._attributes(relocation, handler)
        return code_attribute(self._max_stack, self._variables.next, code, exceptions, attributes)

    def _block(self, block: Snippet, depth: int) -> bytes:
        """The code of a block that runs with at most ``depth`` slots on the stack."""
        self._max_stack = max(self._max_stack, depth + block.max_depth)
        return block.code

    def _covered(self, left: Sequence[int], relocation: Relocation) -> list[tuple[int, int]]:
        """The new ranges that the handler is for."""
        whole = ((0, len(self._code.code)),)
        ranges = whole if self._initialization is None else self._initialization.ranges
        moved = [(relocation.reference(start), relocation.reference(end)) for start, end in sites.without(ranges, left)]
        return [(start, end) for start, end in moved if start < end]

    def _attributes(self, relocation: Relocation, handler: int | None) -> list[tuple[int, bytes]]:
        out = []
        lined = handler is None
        mapped = False
        for attribute in self._code.attributes:
            if attribute.name == "StackMapTable":
                content = self._stack_map(attribute.content, relocation, handler)
                mapped = True
            else:
                content = tables.relocated(attribute.name, attribute.content, relocation)
                if attribute.name == "LineNumberTable" and not lined and handler is not None:
                    content = tables.with_line(content, handler, self._line)
                    lined = True
            out.append((name_index(attribute), content))
        if not mapped and handler is not None and self._needs_no_frames():
            content = frames.append_full(b"\0\0", -1, self._handler_frame(handler))
            out.append((self._pool.utf8("StackMapTable"), content))
        return out

    def _needs_no_frames(self) -> bool:
        """True for code that is right without a StackMapTable. Other code has none because it is older than version 50,
        or because HotSpot dropped it before handing out the class: then nothing checks it and none is made up."""
        bytecode = self._bytecode
        jumps = bytecode.branches or bytecode.switches or self._code.exceptions
        return self._file.major >= _STACK_MAPS_SINCE and not jumps

    def _kept_types(self) -> tuple[bytes, ...]:
        return tuple(frames.type_of(variable.descriptor, self._pool) for variable in self._variables.kept)

    def _handler_frame(self, handler: int) -> frames.Frame:
        throwable = frames.object_type(self._pool.class_("java/lang/Throwable"))
        frame = frames.Frame(handler, (), (throwable,))
        return frames.extend(frame, self._code.max_locals, self._kept_types()) if self._variables.kept else frame

    def _stack_map(self, content: bytes, relocation: Relocation, handler: int | None) -> bytes:
        if not self._variables.kept and not relocation.new_targets:
            shifted, last = frames.shift(content, relocation.reference, relocation.instruction)
            return shifted if handler is None else frames.append_full(shifted, last, self._handler_frame(handler))
        method = self._method
        initial = frames.initial_locals(self._file.name, method.name, method.descriptor, method.is_static, self._pool)
        old = frames.decode(content, initial)
        known = {frame.offset for frame in old}
        for target in relocation.new_targets:
            if target not in known:
                old.append(inference.frame_at(target, self._bytecode, old, initial, self._file.name, self._pool))
                old.sort(key=lambda frame: frame.offset)
        kept = self._kept_types()
        new = [frames.move(frame, relocation.reference, relocation.instruction) for frame in old]
        if kept:
            new = [frames.extend(frame, self._code.max_locals, kept) for frame in new]
        if handler is not None:
            new.append(self._handler_frame(handler))
        return frames.encode(new, initial)
