"""Weaving advice into a class.

For each method of the plan:

1. Find the values that have to be *kept* from entry to exit (entry copies of arguments and ``this``, frame locals, the
   time of entry) and give them local variables after ``max_locals``.
2. Write the blocks: one on entry, one before every return instruction, one exception handler for the whole method, and
   those around the instructions that have advice of their own (``around``).
3. Insert them (``classfile.relocation``) and adjust everything that contains an offset.
4. Extend the stack map frames by the kept variables. Frames are edited, never computed.

Order inside a method::

    entry    copies · frame locals · ENTRY advice · time of entry
    return   time of exit · RETURN advice · releases · the return instruction
    throw    time of exit · THROW advice · releases · athrow

The exception handler does not cover return instructions that have a block, so each activation executes exactly one of
these blocks. The handler comes last in the exception table and expects only the kept variables.

A constructor cannot use ``this`` before ``super(…)`` or ``this(…)`` has returned.  Argument copies, the time of entry,
and frame locals that do not need ``this`` are computed at the start. The rest of the entry block follows each call of
``super(…)`` or ``this(…)``. The exception handler covers only code in which ``this`` is initialised. Probes do not see
an exception that leaves the constructor earlier. No frame local with a release is live at that time.

Inside a method::

    from before   after of the instruction before (reached only from it)
    from jumps    CATCH advice · LINE advice · before of the instruction · the return block
                  the instruction

For an exception from a call there is a separate handler at the end of the code, which throws it again.  The exception
table rows that cover the call also cover that handler, so the handler's stack map frame has the local variables of the
call; ``typeflow`` knows them.

The JVM compiles a method only if it can prove that each monitor is released. So the code after a ``monitorenter``
belongs to the range that begins there, and the code after a ``monitorexit`` does not belong to the range that ends
there.  (Advice at the ``monitorexit`` of the handler that compilers write for ``synchronized`` makes HotSpot's C1 leave
the method to C2, because C1 accepts no handler that covers itself and contains a call.)
"""

from __future__ import annotations

from typing import Final, NamedTuple

from btpy.classfile import descriptors, frames, inserted, tables, typeflow
from btpy.classfile import opcodes as op
from btpy.classfile.bytecode import Bytecode, scan
from btpy.classfile.initialized import Initialization
from btpy.classfile.jvms import MAX_CODE_LENGTH, MAX_HANDLERS, MAX_STACK
from btpy.classfile.operations import initializes_this, may_be_uninitialized, new_object, operation_at
from btpy.classfile.pool import ConstantPool, PoolOverflowError
from btpy.classfile.reader import CLASS_CONSTANTS_SINCE, ClassFile, Code, ExceptionHandler, Member
from btpy.classfile.relocation import Relocation, relocate
from btpy.classfile.writer import code_attribute, code_of, name_index, with_code
from btpy.errors import ClassFileError
from btpy.plan.plan import (
    OBJECT,
    Advice,
    ClassPlan,
    FrameLocal,
    MethodPlan,
    Operand,
    OperandKind,
    Point,
    Refusal,
    RefusalReason,
    Site,
    Woven,
)
from btpy.weave import around, sites
from btpy.weave.ends import EXCEPTION, OWN_MONITOR, Ends, ends_of, kinds
from btpy.weave.sites import Numbering
from btpy.weave.snippets import Assembler, Bindings, LocalsOverflowError, Snippet, Variable, Variables

_STACK_MAPS_SINCE: Final = 50  # class-file version (JVMS §4.10)

_AT_ENDS: Final = (Point.ENTRY, Point.RETURN, Point.THROW)
_OF_OWN_MONITOR: Final = (Point.SYNC_ENTER, Point.SYNC_EXIT)

_DURATION: Final = (OperandKind.DURATION, 0)
_NOTHING: Final[frozenset[Operand]] = frozenset()


def weave(source: bytes | ClassFile, plan: ClassPlan, first_site: int, loader: str = "") -> Woven:
    """Weaves ``plan`` into a class file, which may already be parsed. Site numbers begin with ``first_site``.
    ``loader``: the loader of the class, for its sites.

    If the class is faulty, nothing is raised: the whole class or single methods are refused. Raises ValueError if the
    plan is wrong (two plans for a method, an operand that the place does not have).
    """
    try:
        file = source if isinstance(source, ClassFile) else ClassFile.parse(source)
        if file.name != plan.class_name:
            raise ClassFileError(f"the class file is of {file.name.replace('/', '.')}")
    except ClassFileError as error:
        class_name = plan.class_name.replace("/", ".")
        return Woven(None, (), (Refusal(RefusalReason.MALFORMED, class_name, None, str(error)),))
    methods = weave_methods(file, plan, first_site, loader)
    replacements = [(code_of(method), content) for method, content in methods.code]
    data = with_code(file, methods.pool, replacements) if replacements else None
    return Woven(data, methods.sites, methods.refusals)


class WovenMethods(NamedTuple):
    """``code``: the content of the Code attribute for each woven method, in the order of the class file. New constants
    are in ``pool``, after the old ones.
    """

    pool: ConstantPool
    code: tuple[tuple[Member, bytes], ...]
    sites: tuple[Site, ...]
    refusals: tuple[Refusal, ...]


def weave_methods(file: ClassFile, plan: ClassPlan, first_site: int, loader: str = "") -> WovenMethods:
    """Like :func:`weave`, for a class file of the class of the plan, but does not write it."""
    plans = {(method.name, method.descriptor): method for method in plan.methods}
    if len(plans) != len(plan.methods):
        raise ValueError(f"two plans for one method of {plan.class_name}")
    class_name = plan.class_name.replace("/", ".")
    pool = file.pool.growable_copy()
    assembler = Assembler(pool)
    code: list[tuple[Member, bytes]] = []
    woven_sites: list[Site] = []
    refusals = []
    for method in file.methods:
        method_plan = plans.get((method.name, method.descriptor))
        if method_plan is None or not (method_plan.advice or method_plan.locals):
            continue
        count = pool.count
        numbering = Numbering(first_site + len(woven_sites), class_name, loader, method.name, method.descriptor)
        try:
            content = _MethodWeaver(file, pool, assembler, method, method_plan, numbering).weave()
        except _RefusedError as refusal:
            reason, detail = refusal.reason, str(refusal)
        except LocalsOverflowError as too_large:
            reason, detail = RefusalReason.TOO_LARGE, str(too_large)
        except PoolOverflowError as pool_full:
            reason, detail = RefusalReason.POOL_FULL, str(pool_full)
        except ClassFileError as malformed:
            reason, detail = RefusalReason.MALFORMED, str(malformed)
        else:
            if numbering.sites:
                code.append((method, content))
                woven_sites += numbering.sites
            continue
        pool.truncate(count)
        assembler = Assembler(pool)
        refusals.append(Refusal(reason, class_name, method.name + method.descriptor, detail))
    return WovenMethods(pool, tuple(code), tuple(woven_sites), tuple(refusals))


class _RefusedError(Exception):
    def __init__(self, reason: RefusalReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class _Tail(NamedTuple):
    """Code at the end of the method for exceptions from the call at [start, end) in the old code."""

    start: int
    end: int
    block: bytes
    state: typeflow.State | None
    held: tuple[Variable, ...]


class _Handler(NamedTuple):
    """A handler after the method's own code."""

    at: int
    frame: frames.Frame
    line: int


class _InsideCode:
    """The code around the instructions that have advice, by the offset of the instruction or, ``after`` and ``clocks``,
    by the offset after it. ``variables``: for all of this code.
    """

    def __init__(self, variables: Variables) -> None:
        self.variables = variables
        self.before: dict[int, bytes] = {}
        self.after: dict[int, bytes] = {}
        self.clocks: dict[int, bytes] = {}
        self.tails: list[_Tail] = []


class _MethodWeaver:
    """Weaves one method. The fields are the values of the steps, in their order."""

    def __init__(
        self,
        file: ClassFile,
        pool: ConstantPool,
        assembler: Assembler,
        method: Member,
        plan: MethodPlan,
        numbering: Numbering,
    ) -> None:
        code = method.code
        if code is None:
            raise _RefusedError(RefusalReason.NO_CODE, "the method is native or abstract")
        if method.name == "finalize" and method.descriptor == "()V" and code.code == bytes((op.RETURN,)):
            # HotSpot registers objects for finalization if finalize() of their class is not empty.
            detail = "the JVM never calls an empty finalizer, but would call it for each object if it had a probe"
            raise _RefusedError(RefusalReason.PROTECTED, detail)
        self._file = file
        self._pool = pool
        self._assembler = assembler
        self._method = method
        self._code: Code = code
        self._bytecode: Bytecode = scan(code.code)
        self._numbering = numbering
        self._line = code.line_at(0)
        self._inside: dict[int, list[Advice]] = {}  # by instruction, in the order of the code
        self._monitor_class = ""  # first instruction for advice at the monitor of the method
        at_ends = self._split(plan.advice)
        self._initialization: Initialization | None = None
        if method.name == "<init>" and file.name != "java/lang/Object":
            self._initialization = Initialization(code, self._bytecode, file.pool)
            if not self._initialization.calls or self._initialization.uninitialized_returns:
                raise _RefusedError(RefusalReason.NO_SUPER_CALL, "a path returns without super(…) or this(…)")
        self._ends: Ends = self._ends_of(at_ends, plan.locals)
        self._max_stack = code.max_stack
        self._first_site = numbering.next
        for local in plan.locals:
            numbering.number(local.probe, Point.ENTRY, self._line)
        self._entry_site = self._numbering.number_all(self._ends.entry, self._line)
        self._inside_code = _InsideCode(Variables(self._ends.limit)) if self._inside else None

    def _split(self, advices: tuple[Advice, ...]) -> tuple[Advice, ...]:
        """Stores the advice inside the method, and returns the advice at its ends."""
        inside: dict[int, list[Advice]] = {}
        of_monitor = False
        for advice in advices:
            at = advice.at
            if at is None:
                if advice.point not in _AT_ENDS:
                    raise ValueError(f"{advice.point.name} without the offset of an instruction")
            elif at == OWN_MONITOR and advice.point in _OF_OWN_MONITOR:
                of_monitor = True
            else:
                inside.setdefault(at, []).append(advice)
        if of_monitor:
            self._monitor_class = self._file.name
        if not inside:
            return advices
        starts = set(self._bytecode.starts)
        for at, calls in inside.items():
            if at not in starts:
                raise ValueError(f"{calls[0].point.name} at offset {at}, where no instruction begins")
        self._inside = dict(sorted(inside.items()))
        return tuple(advice for advice in advices if advice.at is None or advice.at == OWN_MONITOR)

    def _ends_of(self, advices: tuple[Advice, ...], locals_: tuple[FrameLocal, ...]) -> Ends:
        method = self._method
        needed = _NOTHING
        if self._inside:
            needed = frozenset(
                operand
                for group in self._inside.values()
                for advice in group
                for operand in advice.operands
                if operand.kind in (OperandKind.SELF, OperandKind.ARGUMENT)
                or (operand.kind is OperandKind.DURATION and advice.point is Point.LINE)
            )
        ends = ends_of(
            advices,
            locals_,
            needed,
            method.descriptor,
            method.is_static,
            self._initialization is not None,
            self._code.max_locals,
            self._monitor_class,
        )
        if ends.names_class and self._file.major < CLASS_CONSTANTS_SINCE:
            detail = "class files of this version cannot name the class that is the lock"
            raise _RefusedError(RefusalReason.NO_VALUE, detail)
        return ends

    def _number(self, advice: Advice, line: int) -> int:
        return self._numbering.number(advice.probe, advice.point, line, advice.target_class, advice.member)

    def _weave_inside(self, inside: _InsideCode) -> None:
        """Writes the code around the instructions that have advice."""
        states = typeflow.states(self._file, self._method, self._bytecode, self._flow_wanted())
        bindings = dict(self._ends.exits)
        for key in (OperandKind.TARGET, OperandKind.DURATION):
            bindings.pop((key, 0), None)
        for at, advices in self._inside.items():
            mark = inside.variables.mark()
            line = self._code.line_at(at)
            before = b"".join(
                self._simple_block(point, [advice for advice in advices if advice.point is point], line, bindings)
                for point in (Point.CATCH, Point.LINE)
            )
            rest = [advice for advice in advices if advice.point not in (Point.CATCH, Point.LINE)]
            if rest:
                before += self._around(inside, at, rest, line, bindings, states.get(at))
            inside.before[at] = before
            inside.variables.reuse(mark)

    def _simple_block(self, point: Point, advices: list[Advice], line: int, inputs: Bindings) -> bytes:
        """The block at the start of a line or of an exception handler."""
        if not advices:
            return b""
        block = Snippet()
        bindings = dict(inputs)
        if point is Point.LINE:
            self._ends.take_duration(block, advices)
            if _DURATION in self._ends.exits:
                bindings[_DURATION] = self._ends.exits[_DURATION]
        elif OperandKind.EXCEPTION in kinds(advices):
            block.duplicate(OBJECT)
            block.store(self._ends.exception)
            bindings[EXCEPTION] = self._ends.exception
        for advice in advices:
            block.call(advice.handler, self._number(advice, line), advice.operands, bindings)
        return self._block(block, self._code.max_stack)

    def _around(
        self,
        inside: _InsideCode,
        at: int,
        advices: list[Advice],
        line: int,
        bindings: Bindings,
        state: typeflow.State | None,
    ) -> bytes:
        """Stores the code after the instruction and for its exceptions. Returns the code before it."""
        operation = operation_at(self._code.code, at, self._pool)
        object_made = None
        uninitialized = False
        if state is not None and operation.is_constructor_call:
            initializes_own = initializes_this(operation, state)
            if initializes_own and any(advice.point is Point.CALL_THROW for advice in advices):
                raise ValueError("no handler may cover super(…) or this(…) (JVMS §4.10.1.9)")
            object_made = new_object(operation, state)
        elif state is not None:
            uninitialized = may_be_uninitialized(operation, state, not self._is_initialized(at))
        blocks = around.around(
            operation,
            advices,
            bindings,
            inside.variables,
            object_made,
            uninitialized,
            lambda advice: self._number(advice, line),
        )
        depth = self._code.max_stack
        before = self._block(blocks.before, depth)
        end = operation.end
        inside.clocks[end] = self._block(blocks.clock, depth)
        inside.after[end] = self._block(blocks.after, depth)
        if (inside.clocks[end] or inside.after[end]) and end >= len(self._code.code):
            raise ClassFileError("control falls off the end of the code (JVMS §4.9.2)")
        if blocks.thrown is not None:
            inside.tails.append(_Tail(at, end, self._block(blocks.thrown, 0), state, blocks.held))
        return before

    def _flow_wanted(self) -> set[int]:
        """Instructions whose advice needs more information than the instruction has."""
        positions = set()
        objects = (OperandKind.TARGET, OperandKind.OLD_VALUE)
        for at, advices in self._inside.items():
            early = not self._is_initialized(at)
            about_object = early or self._code.code[at] in (op.INVOKESPECIAL, op.MONITORENTER, op.MONITOREXIT)
            about_object = about_object and not kinds(advices).isdisjoint(objects)
            thrown = any(advice.point is Point.CALL_THROW for advice in advices)
            if about_object or (thrown and (early or self._rows_over(at))):
                positions.add(at)
        return positions

    def _is_initialized(self, at: int) -> bool:
        """Whether ``this`` is initialised at the offset. In a constructor it is not initialised before super(…) or
        this(…) has returned."""
        if self._initialization is None:
            return True
        return any(start <= at < end for start, end in self._initialization.ranges)

    def _rows_over(self, at: int) -> list[ExceptionHandler]:
        return [row for row in self._code.exceptions if row.start <= at < row.end]

    def weave(self) -> bytes:
        """The content of the new Code attribute. Raises ClassFileError and _RefusedError."""
        ends = self._ends
        depth = self._code.max_stack
        falls = {0: self._block(ends.first, 0, self._entry_site)}
        always: dict[int, bytes] = {}
        if self._initialization is not None:
            for at, slot in self._initialization.calls.items():
                falls[at] = self._block(self._initialized(slot), depth, self._entry_site)
        inside = self._inside_code
        if inside is not None:
            self._weave_inside(inside)
            always.update(inside.before)
            for at, block in inside.after.items():
                falls[at] = inside.clocks[at] + falls.get(at, b"") + block
        exits = self._bytecode.returns if ends.returning or ends.releases else []
        for at in exits:
            site = self._numbering.number_all(ends.returning, self._code.line_at(at))
            always[at] = always.get(at, b"") + self._block(ends.return_block, depth, site)
        relocation = relocate(self._bytecode, falls, always)
        tails = inside.tails if inside is not None else []
        code, handlers, exceptions = self._with_tails(relocation, tails)
        if ends.throwing or ends.releases:
            covered = self._covered(exits, relocation)
            covered += [
                (start, end)
                for tail, (start, end) in zip(tails, _ranges(handlers, len(code)), strict=True)
                if self._is_initialized(tail.start)
            ]
            if covered:
                handlers.append(_Handler(len(code), self._throw_frame(len(code)), self._line))
                exceptions += [ExceptionHandler(start, end, len(code), 0) for start, end in covered]
                code += self._block(ends.throw_block, 0, self._numbering.number_all(ends.throwing, self._line))
        if len(code) > MAX_CODE_LENGTH:
            raise _RefusedError(RefusalReason.TOO_LARGE, f"the code would grow to {len(code)} bytes")
        if self._max_stack > MAX_STACK or len(exceptions) > MAX_HANDLERS:
            raise _RefusedError(RefusalReason.TOO_LARGE, f"more than {MAX_STACK} stack slots or handlers")
        attributes = self._attributes(relocation, handlers, len(tails))
        attributes.append((self._pool.utf8(inserted.NAME, search=False), self._inserted(relocation, code)))
        limit = inside.variables.limit if inside is not None else ends.limit
        return code_attribute(self._max_stack, limit, code, exceptions, attributes)

    def _with_tails(
        self, relocation: Relocation, tails: list[_Tail]
    ) -> tuple[bytes, list[_Handler], list[ExceptionHandler]]:
        """The code with the tails, and the exception table without the handler of the method."""
        code = relocation.code
        handlers: list[_Handler] = []
        if not tails:
            return code, handlers, _moved_rows(self._code, relocation, self._inside_code)
        calls: list[ExceptionHandler] = []
        again: list[ExceptionHandler] = []
        for tail in tails:
            at = len(code)
            calls.append(
                ExceptionHandler(
                    relocation.instruction(tail.start),
                    relocation.instruction(tail.start) + tail.end - tail.start,
                    at,
                    0,
                )
            )
            code += tail.block
            again += [
                ExceptionHandler(at, len(code), relocation.reference(row.handler), row.catch_type)
                for row in self._rows_over(tail.start)
            ]
            handlers.append(_Handler(at, self._tail_frame(at, tail), self._code.line_at(tail.start)))
        rows = _moved_rows(self._code, relocation, self._inside_code)
        return code, handlers, [*calls, *rows, *again]

    def _initialized(self, slot: int | None) -> Snippet:
        block = self._ends.initialized(slot)
        if block is None:
            raise _RefusedError(RefusalReason.NO_SUPER_CALL, "no local variable holds `this` when it is initialised")
        return block

    def _block(self, block: Snippet, depth: int, first_site: int = 0) -> bytes:
        """The code of a block that runs with at most ``depth`` slots on the stack."""
        if depth + block.max_depth > self._max_stack:
            self._max_stack = depth + block.max_depth
        return block.assembled(self._assembler, first_site, self._first_site)

    def _covered(self, exits: list[int], relocation: Relocation) -> list[tuple[int, int]]:
        """The new ranges of the handler."""
        code_range = ((0, len(self._code.code)),)
        ranges = code_range if self._initialization is None else self._initialization.ranges
        moved = [
            (relocation.reference(start), relocation.reference(end)) for start, end in sites.without(ranges, exits)
        ]
        return [(start, end) for start, end in moved if start < end]

    def _inserted(self, relocation: Relocation, code: bytes) -> bytes:
        """The ranges of inserted code, in the new code: inserted now, and before by other tools."""
        offsets = [*relocation.inserted]
        before = inserted.ranges(self._code)
        if before:
            references = relocation.references
            ranges = [*zip(offsets[::2], offsets[1::2], strict=True)]
            ranges += [(references[start], references[end]) for start, end in before]
            offsets = [offset for range_ in sorted(ranges) for offset in range_]
        if len(relocation.code) < len(code):
            offsets += (len(relocation.code), len(code))
        return inserted.content(code, offsets)

    def _attributes(
        self, relocation: Relocation, handlers: list[_Handler], rows_before: int
    ) -> list[tuple[int, bytes]]:
        out = []
        lined = False
        mapped = False
        for attribute in self._code.attributes:
            name, content = attribute.name, attribute.content
            if name == "StackMapTable":
                content = self._stack_map(content, relocation, handlers)
                mapped = True
            elif name == inserted.NAME:
                continue
            else:
                content = tables.relocated(name, content, relocation, rows_before)
                if name == "LineNumberTable" and not lined:
                    for handler in handlers:
                        content = tables.with_line(content, handler.at, handler.line)
                    lined = True
            out.append((name_index(attribute), content))
        if not mapped and handlers and self._needs_no_frames():
            content = _with_frames(b"\0\0", -1, handlers)
            out.append((self._pool.utf8("StackMapTable"), content))
        return out

    def _needs_no_frames(self) -> bool:
        """True for code that is valid without a StackMapTable. Other code lacks it because the class file is older than
        version 50, or because HotSpot dropped it before it passed the class to the agent. Then the JVM does not check
        it, and the weaver creates none.
        """
        bytecode = self._bytecode
        jumps = bytecode.branches or bytecode.switches or self._code.exceptions
        return self._file.major >= _STACK_MAPS_SINCE and not jumps

    def _kept_types(self) -> tuple[bytes, ...]:
        return tuple(frames.type_of(variable.descriptor, self._pool) for variable in self._ends.kept)

    def _throw_frame(self, at: int) -> frames.Frame:
        throwable = frames.object_type(self._pool.class_("java/lang/Throwable"))
        frame = frames.Frame(at, (), (throwable,))
        return frames.extend(frame, self._code.max_locals, self._kept_types()) if self._ends.kept else frame

    def _tail_frame(self, at: int, tail: _Tail) -> frames.Frame:
        """The frame of a tail: the variables of the method if its own handlers cover the tail, the kept variables, and
        the scratch variables.
        """
        frame = self._throw_frame(at)
        if tail.state is not None:
            types = typeflow.verification_types(tail.state.locals_, self._pool)
            if not self._is_initialized(tail.start) and frames.UNINITIALIZED_THIS not in types:
                detail = f"no local variable holds `this` at offset {tail.start}, before super(…)"
                raise _RefusedError(RefusalReason.NO_SUPER_CALL, detail)
            frame = frames.Frame(at, types, frame.stack)
            if self._ends.kept:
                frame = frames.extend(frame, self._code.max_locals, self._kept_types())
        if tail.held:
            # References may be arrays, so the frame describes a scratch reference only as an object.
            local_types = tuple(
                frames.type_of(descriptors.erase(variable.descriptor), self._pool) for variable in tail.held
            )
            frame = frames.extend(frame, tail.held[0].slot, local_types)
        return frame

    def _stack_map(self, content: bytes, relocation: Relocation, handlers: list[_Handler]) -> bytes:
        saved_types = self._kept_types()
        if not saved_types and not relocation.new_targets:
            shifted, last = frames.shift(content, relocation)
            return _with_frames(shifted, last, handlers)
        method = self._method
        initial = frames.initial_locals(self._file.name, method.name, method.descriptor, method.is_static, self._pool)
        if not relocation.new_targets:
            handler_frames = [handler.frame for handler in handlers]
            return frames.extended(content, initial, self._code.max_locals, saved_types, relocation, handler_frames)
        old = frames.decode(content, initial)
        offsets = {frame.offset for frame in old}
        for target in relocation.new_targets:
            if target not in offsets:
                old.append(typeflow.frame_at(target, self._bytecode, old, initial, self._file.name, self._pool))
                old.sort(key=lambda frame: frame.offset)
        new = [frames.move(frame, relocation) for frame in old]
        if saved_types:
            new = [frames.extend(frame, self._code.max_locals, saved_types) for frame in new]
        new += [handler.frame for handler in handlers]
        return frames.encode(new, initial)


def _moved_rows(code: Code, relocation: Relocation, inside: _InsideCode | None) -> list[ExceptionHandler]:
    """The rows of the exception table before weaving, for the new code."""
    references = relocation.references
    if inside is None:
        return [
            ExceptionHandler(references[start], references[end], references[handler], catch_type)
            for start, end, handler, catch_type in code.exceptions
        ]
    after = {end for end, block in inside.after.items() if block or inside.clocks[end]}

    def edge(offset: int, monitor: int) -> int:
        # A monitorenter and a monitorexit are one byte long.
        if offset in after and offset - 1 in inside.before and code.code[offset - 1] == monitor:
            return relocation.instruction(offset - 1) + 1
        return relocation.reference(offset)

    return [
        ExceptionHandler(
            edge(row.start, op.MONITORENTER),
            edge(row.end, op.MONITOREXIT),
            relocation.reference(row.handler),
            row.catch_type,
        )
        for row in code.exceptions
    ]


def _with_frames(content: bytes, last: int, handlers: list[_Handler]) -> bytes:
    """A StackMapTable with the frames of the handlers; ``last``: the offset of its last frame, -1 if none."""
    for handler in handlers:
        content = frames.append_full(content, last, handler.frame)
        last = handler.at
    return content


def _ranges(handlers: list[_Handler], end: int) -> list[tuple[int, int]]:
    """The range of each handler: it ends where the next one begins, and the last one ends at ``end``."""
    starts = [handler.at for handler in handlers]
    return list(zip(starts, [*starts[1:], end], strict=True)) if starts else []
