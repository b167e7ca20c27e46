"""Statements: each leaves the operand stack unchanged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from btpy.classfile import opcodes as op
from btpy.classfile.assembler import Label
from btpy.codegen import runtime_api as api
from btpy.codegen.emitter import Emitter
from btpy.codegen.expressions import emit, emit_as, emit_condition, emit_items, emit_keys, emit_next, emit_string
from btpy.codegen.jfr_events import SAMPLE, commit, field_descriptor, internal_name, is_enabled
from btpy.codegen.runtime_api import RuntimeMethod
from btpy.codegen.work import changed, round_work, work, work_of_value, work_outside_loops
from btpy.errors import CompileError
from btpy.lang.builtins import MAX_STATEMENTS
from btpy.lang.check.scoped import is_number
from btpy.lang.program import Probe
from btpy.lang.typed_tree import (
    Aggregate,
    Collect,
    Constant,
    Disable,
    Emit,
    Evaluate,
    ExitSession,
    Expr,
    FlowChange,
    ForEach,
    ForRange,
    HeapDump,
    If,
    InputValue,
    Leave,
    Let,
    MapAdd,
    MapClear,
    MapDelete,
    MapStore,
    PrintFacts,
    PrintMaps,
    ScopedAdd,
    ScopedStore,
    Send,
    StateClear,
    Statement,
    Stop,
    Subscriber,
    ThreadClear,
    WriteJfr,
)
from btpy.model.attachments import event_number
from btpy.model.scopes import Scope
from btpy.model.types import ANY, BOOLEAN, DOUBLE, INT, LONG, Kind, Type

# The method that writes a value of a record, and the largest size of the value in bytes (docs/runtime.md, Records).
_PUTS = {
    Kind.BOOLEAN: (api.PUT_BOOLEAN, 1),
    Kind.CHAR: (api.PUT_CHAR, 3),
    Kind.INT: (api.PUT_INT, 5),
    Kind.LONG: (api.PUT_LONG, 9),
    Kind.DURATION: (api.PUT_LONG, 9),
    Kind.BYTES: (api.PUT_LONG, 9),
    Kind.DOUBLE: (api.PUT_DOUBLE, 9),
}


def emit_statements(emitter: Emitter, statements: Sequence[Statement]) -> None:
    for statement in statements:
        if not emitter.code.reachable:  # after `return`
            return
        mark = emitter.mark
        _statement(emitter, statement)
        emitter.release(mark)


def _statement(emitter: Emitter, node: Statement) -> None:
    code = emitter.code
    match node:
        case Let():
            _let(emitter, node)
        case If():
            _if(emitter, node)
        case ForEach():
            _for_each(emitter, node)
        case ForRange():
            _for_range(emitter, node)
        case Evaluate():
            _evaluate(emitter, node)
        case Stop():
            code.branch(op.GOTO, emitter.stop)
        case Leave():
            _leave(emitter, node)
        case Subscriber():
            _subscriber(emitter, node)
        case Emit():
            _emit_record(emitter, node)
        case PrintMaps():
            _print_maps(emitter, node)
        case Disable():
            _disable(emitter, node)
        case ExitSession():
            _exit_session(emitter, node)
        case PrintFacts():
            _print_facts(emitter, node)
        case WriteJfr():
            _write_jfr(emitter, node)
        case HeapDump():
            _heap_dump(emitter, node)
        case Send():
            _send_event(emitter, node)
        case MapStore():
            _map_store(emitter, node)
        case MapAdd():
            _map_add(emitter, node)
        case Aggregate():
            _aggregate(emitter, node)
        case Collect():
            _collect(emitter, node)
        case ScopedStore():
            _scoped_store(emitter, node)
        case ScopedAdd():
            _scoped_add(emitter, node)
        case ThreadClear():
            _thread_clear(emitter, node)
        case StateClear():
            _state_clear(emitter, node)
        case FlowChange():
            _flow_change(emitter, node)
        case MapDelete():
            _map_delete(emitter, node)
        case MapClear():
            _map_clear(emitter, node)
        case _:
            assert_never(node)


def _let(emitter: Emitter, node: Let) -> None:
    emit(emitter, node.value)
    emitter.position(node.value.span)
    emitter.store_variable(node.index, node.value.type)


def _evaluate(emitter: Emitter, node: Evaluate) -> None:
    code = emitter.code
    emit(emitter, node.value)
    if node.value.type.kind is not Kind.VOID:
        code.op(op.POP2 if node.value.type.slot in "JD" else op.POP)


def _leave(emitter: Emitter, node: Leave) -> None:
    code = emitter.code
    assert emitter.leave is not None
    code.branch(op.GOTO, emitter.leave)


def _print_maps(emitter: Emitter, node: PrintMaps) -> None:
    code = emitter.code
    emitter.load_session()
    code.constant("I", node.template)
    code.constant("S", "".join(chr(view.map | (api.FLUSH if view.flush else 0)) for view in node.views))
    emitter.call(api.PRINT_MAPS)


def _disable(emitter: Emitter, node: Disable) -> None:
    code = emitter.code
    emitter.load_session()
    code.constant("I", emitter.probe.id)
    emitter.call(api.DISABLE)


def _exit_session(emitter: Emitter, node: ExitSession) -> None:
    code = emitter.code
    emitter.load_session()
    code.constant("I", node.template)
    code.constant("I", emitter.probe.id)
    emitter.load_site()
    emit_as(emitter, node.code, INT)
    emitter.call(api.EXIT)


def _heap_dump(emitter: Emitter, node: HeapDump) -> None:
    code = emitter.code
    code.constant("S", node.file)
    emit_as(emitter, node.live, BOOLEAN)
    emitter.call(api.HEAP_DUMP)


def _write_jfr(emitter: Emitter, node: WriteJfr) -> None:
    """The values are evaluated, and the event is created, only if a recording has the event enabled."""
    code, event_class = emitter.code, internal_name(node.event)
    disabled = Label()
    code.field(op.GETSTATIC, event_class, SAMPLE, f"L{event_class};")
    emitter.call(is_enabled(node.event))
    code.branch(op.IFEQ, disabled)
    fields = [field_descriptor(field.type) for field in node.event.fields]
    slots = [
        _stored_field(emitter, value, field.type, descriptor)
        for value, field, descriptor in zip(node.values, node.event.fields, fields, strict=True)
    ]
    code.type(op.NEW, event_class)
    code.op(op.DUP)
    code.invoke(op.INVOKESPECIAL, event_class, "<init>", "()V")
    for field, slot, descriptor in zip(node.event.fields, slots, fields, strict=True):
        code.op(op.DUP)
        code.load(descriptor, slot)
        code.field(op.PUTFIELD, event_class, field.name, descriptor)
    emitter.call(commit(node.event))
    emitter.place(disabled)


def _stored_field(emitter: Emitter, value: Expr, type_: Type, descriptor: str) -> int:
    """Evaluates ``value``, which a field gets, and stores it in a new local. Returns the slot of the local."""
    code = emitter.code
    if type_.kind is Kind.STRING:
        emitter.load_session()
        emit_string(emitter, value)
        emitter.call(api.LIMITED)
    else:
        emit_as(emitter, value, type_)
        if type_.is_reference:
            emitter.position(value.span)
            code.type(op.CHECKCAST, descriptor[1:-1])
    slot = emitter.allocate(type_.slot)
    code.store(descriptor, slot)
    return slot


def _send_event(emitter: Emitter, node: Send) -> None:
    code = emitter.code
    emitter.load_session()
    code.constant("I", emitter.probe.id)
    emitter.load_site()
    code.constant("I", event_number(node.event))
    emitter.call(api.SEND)


def _map_store(emitter: Emitter, node: MapStore) -> None:
    code = emitter.code
    value = _evaluated(emitter, node.value)
    _slot(emitter, node.map, node.keys)
    code.load("A", value)
    emitter.call(api.STORE)


def _map_add(emitter: Emitter, node: MapAdd) -> None:
    code = emitter.code
    if node.operator not in api.UPDATES:
        raise CompileError(f"{node.operator} is not an operator of a map")
    value = _evaluated(emitter, node.value)
    _slot(emitter, node.map, node.keys)
    code.constant("S", node.operator)
    code.load("A", value)
    emitter.call(api.UPDATE)


def _collect(emitter: Emitter, node: Collect) -> None:
    code = emitter.code
    value = _evaluated(emitter, node.value)
    _slot(emitter, node.map, node.keys)
    code.load("A", value)
    emitter.load_weight()
    emitter.position(node.value.span)
    emitter.load_position()
    emitter.call(api.COLLECT)


def _scoped_add(emitter: Emitter, node: ScopedAdd) -> None:
    code = emitter.code
    real = node.variable.type.kind is Kind.DOUBLE
    methods = api.VARIABLES[node.variable.scope]
    type_, method = (DOUBLE, methods.add_real) if real else (LONG, methods.add_number)
    value = _stored_as(emitter, node.value, type_)
    _variable(emitter, node)
    code.load(type_.slot, value)
    emitter.call(method)


def _thread_clear(emitter: Emitter, node: ThreadClear) -> None:
    emitter.load_session()
    emitter.call(api.THREAD_VALUES_NOW)
    emitter.call(api.THREAD_CLEAR)


_FLOW_CHANGES = {
    "begin_flow": api.FLOW_BEGIN,
    "leave_flow": api.FLOW_NONE,
    "resume_flow": api.FLOW_RESUME,
    "hand_over_flow": api.FLOW_HAND_OVER,
    "take_back_flow": api.FLOW_TAKE_BACK,
    "keep_flow": api.FLOW_KEEP,
    "enter_flow": api.FLOW_ENTER_OF,
}


def _flow_change(emitter: Emitter, node: FlowChange) -> None:
    code, method = emitter.code, _FLOW_CHANGES[node.function]
    emitter.load_session()
    if node.of is not None:
        emit(emitter, node.of)
        emitter.position(node.of.span)
    if method in (api.FLOW_BEGIN, api.FLOW_NONE, api.FLOW_RESUME, api.FLOW_ENTER_OF):
        if node.entered is None:
            code.constant("I", -1)
        else:
            emit(emitter, node.entered)
    if method is not api.FLOW_TAKE_BACK:
        code.constant("I", emitter.probe.id)
        code.constant("I", node.span.packed)
    emitter.call(method)


def _state_clear(emitter: Emitter, node: StateClear) -> None:
    emitter.load_session()
    emit(emitter, node.of)
    emitter.position(node.of.span)
    emitter.call(api.OBJECT_STATE_CLEAR)


def _map_delete(emitter: Emitter, node: MapDelete) -> None:
    code = emitter.code
    _map(emitter, node.map)
    code.op(op.DUP)
    emit_keys(emitter, node.keys)
    emitter.call(api.find_method(len(node.keys)))
    emitter.call(api.DELETE)


def _map_clear(emitter: Emitter, node: MapClear) -> None:
    _map(emitter, node.map)
    emitter.call(api.CLEAR)


def _print_facts(emitter: Emitter, node: PrintFacts) -> None:
    code = emitter.code
    emitter.load_session()
    code.constant("I", node.template)
    code.constant("I", emitter.probe.id)
    emitter.load_site()
    emit_as(emitter, node.argument, node.argument.type)
    match node.function:
        case "print_threads" | "print_deadlocks":
            code.constant("I", int(node.function == "print_deadlocks"))
            emitter.call(api.PRINT_THREADS)
        case "print_properties":
            emitter.call(api.PRINT_PROPERTIES)
        case _:
            emitter.call(api.PRINT_ENVIRONMENT)


def _if(emitter: Emitter, node: If) -> None:
    otherwise, end = Label(), Label()
    emit_condition(emitter, node.test, otherwise, False)
    emit_statements(emitter, node.then)
    if node.otherwise:
        if emitter.code.reachable:
            emitter.code.branch(op.GOTO, end)
        emitter.place(otherwise)
        emit_statements(emitter, node.otherwise)
    else:
        emitter.place(otherwise)
    emitter.place(end)


def _subscriber(emitter: Emitter, node: Subscriber) -> None:
    """The body of another probe, with its own state, errors and end."""
    code = emitter.code
    outer, host, outer_slot = emitter.stop, emitter.probe, emitter.work_slot
    caught, end = Label(), Label()
    emitter.load_session()
    code.constant("I", node.probe.id)
    emitter.call(api.IS_ENABLED)
    code.branch(op.IFEQ, end)
    emitter.stop, emitter.probe, emitter.work_slot = Label(), node.probe, None
    _attribute(emitter, node.probe)
    with code.protected(caught):
        emitter.position(node.probe.span)
        emit_firing(emitter, node.predicate, node.body, times=False)  # the time of the host probe includes this firing
        if code.reachable:
            code.branch(op.GOTO, emitter.stop)
    emitter.place(caught)
    error = emitter.allocate("A")
    code.store("A", error)
    emit_failure(emitter, error)
    emitter.place(emitter.stop)
    emitter.stop, emitter.probe, emitter.work_slot = outer, host, outer_slot
    _attribute(emitter, host)
    emitter.place(end)


def emit_failure(emitter: Emitter, error: int) -> None:
    """The exception handler for errors of the probe. It counts the error and discards an open record.

    If a call fails, the code counts and discards without a call, because the stack may be full.
    """
    code = emitter.code
    by_run = emitter.admitted_by_run and emitter.probe is emitter.host
    uncounted, counted, stuck, end = Label(), Label(), Label(), Label()
    with code.protected(uncounted):
        emitter.load_session()
        code.constant("I", emitter.probe.id)
        emitter.load_position()
        code.load("A", error)
        if by_run:
            emitter.load_run()
        emitter.call(api.FAILED_RUN if by_run else api.FAILED)
    code.branch(op.GOTO, counted)
    emitter.place(uncounted)
    code.op(op.POP)
    _count_without_a_call(emitter, by_run)
    emitter.place(counted)
    with code.protected(stuck):
        emitter.load_session()
        emitter.load_words()
        emitter.load_begin()
        emitter.call(api.ABANDON)
    code.branch(op.GOTO, end)
    emitter.place(stuck)
    code.op(op.POP)
    _abandon_without_a_call(emitter, end)
    emitter.place(end)


def _count_without_a_call(emitter: Emitter, by_run: bool) -> None:
    code = emitter.code
    counts = emitter.allocate("A")
    unresolved, failure, end = Label(), Label(), Label()
    with code.protected(unresolved):  # a loader other than the boot loader resolves the class with calls
        emitter.load_session()
        code.field(op.GETFIELD, api.SESSION, "interruptions", f"[L{api.INTERRUPTIONS};")
        code.constant("I", emitter.probe.id)
        code.op(op.AALOAD)
        code.store("A", counts)
        code.load("A", counts)
        code.field(op.GETFIELD, api.INTERRUPTIONS, "errors", "J")
        code.op(op.POP2)
    code.load("A", counts)
    code.op(op.MONITORENTER)
    with code.protected(failure):
        _increment(emitter, counts, "errors")
        if by_run:
            admitted = Label()
            emitter.load_run()
            code.constant("J", 0)
            code.op(op.LCMP)
            code.branch(op.IFNE, admitted)
            _increment(emitter, counts, "firings")
            emitter.place(admitted)
    code.load("A", counts)
    code.op(op.MONITOREXIT)
    code.branch(op.GOTO, end)
    emitter.place(failure)
    code.op(op.POP)
    code.load("A", counts)
    code.op(op.MONITOREXIT)
    code.branch(op.GOTO, end)
    emitter.place(unresolved)
    code.op(op.POP)
    emitter.place(end)


def _increment(emitter: Emitter, counts: int, field: str) -> None:
    code = emitter.code
    code.load("A", counts)
    code.op(op.DUP)
    code.field(op.GETFIELD, api.INTERRUPTIONS, field, "J")
    code.constant("J", 1)
    code.op(op.LADD)
    code.field(op.PUTFIELD, api.INTERRUPTIONS, field, "J")


def _abandon_without_a_call(emitter: Emitter, end: Label) -> None:
    """Turns the open record into padding: the word before it has the claimed length."""
    code = emitter.code
    emitter.load_words()
    code.branch(op.IFNULL, end)
    emitter.load_words()
    emitter.load_begin()
    code.constant("J", api.POSITIONS)
    code.op(op.LAND)
    code.op(op.L2I)
    code.constant("I", 3)
    code.op(op.ISHR)
    code.constant("I", 1)
    code.op(op.ISUB)
    code.op(op.DUP2)
    code.op(op.LALOAD)
    code.constant("J", api.CLAIMED)
    code.op(op.LAND)
    code.constant("J", api.PADDING)
    code.op(op.LOR)
    code.op(op.LASTORE)


def _attribute(emitter: Emitter, probe: Probe) -> None:
    """From here on errors without a position count for this probe."""
    if emitter.guarded:
        emitter.code.constant("I", probe.id)
        emitter.call(api.ATTRIBUTE)


def emit_firing(emitter: Emitter, predicate: Expr | None, body: Sequence[Statement], *, times: bool) -> None:
    """The body of the emitter's probe, which runs if the predicate is true.

    ``times``: whether some firings are timed. If the predicate or its inputs may be slow, hits with a false
        predicate are timed, too.
    """
    code = emitter.code
    tested = work_of_value(predicate) if predicate is not None else 0
    if tested + work(body) > MAX_STATEMENTS:
        emitter.count_work(max(0, MAX_STATEMENTS - work_outside_loops(body)))
    plain = times
    admission = Label()
    variables = set(changed((*body, predicate)))
    if predicate is not None:
        if times and (emitter.guarded or emitter.readings):
            _admit(emitter, api.TESTED, admission, variables)
            plain = False
        holds = Label()
        emit_condition(emitter, predicate, holds, True)
        emitter.load_session()
        code.constant("I", emitter.probe.id)
        emitter.call(api.UNTRUE)
        code.branch(op.GOTO, emitter.stop)
        emitter.place(holds)
    tallied = tallied_map(body)
    if plain and tallied is not None and emitter.probe.sampling is None:
        emitter.load_session()
        code.constant("I", emitter.probe.id)
        code.constant("I", tallied)
        emitter.call(api.TALLY)
        return
    if plain:
        emitter.admitted_by_run = True
        _admit(emitter, api.FIRED, admission, variables)
    else:
        emitter.load_session()
        code.constant("I", emitter.probe.id)
        emitter.call(api.PASSED)
        code.branch(op.IFEQ, emitter.stop)
    emit_statements(emitter, body)
    if times and code.reachable:
        emitter.load_run()
        code.constant("J", api.RUN_TIMED)
        code.op(op.LAND)
        code.constant("J", 0)
        code.op(op.LCMP)
        code.branch(op.IFEQ, emitter.stop)
        emitter.load_run()
        code.constant("J", api.RUN_OVER)
        code.op(op.LOR)
        emitter.store_run()
        code.branch(op.GOTO, admission)


def _admit(emitter: Emitter, method: RuntimeMethod, admission: Label, variables: Iterable[int]) -> None:
    """Asks the runtime whether the body may run now, and keeps the answer.

    A timed run jumps here again, to ``admission``, and takes the branch of refused runs. HotSpot does not compile a
    branch that was never taken: the first time that the budget restrains a hot probe, the JVM would discard the
    compiled method of the application and interpret it until it is compiled again.
    """
    code = emitter.code
    emitter.load_session()
    code.constant("I", emitter.probe.id)
    emitter.call(method)
    emitter.store_run()
    emitter.place_loop(admission, variables)
    emitter.load_run()
    code.constant("J", 0)
    code.op(op.LCMP)
    code.branch(op.IFLT, emitter.stop)


def tallied_map(body: Sequence[Statement]) -> int | None:
    """The map of a body that only counts into a map without keys. Then the firing and its count are one addition."""
    match list(body):
        case [Aggregate(value=None, keys=()) as only]:
            return only.map
    return None


def single_addition(body: Sequence[Statement]) -> Aggregate | None:
    """The addition of a body that is only one addition and cannot fail: it has at most one key, and woven code passes
    the key and the sample unchanged.
    """
    match list(body):
        case [Aggregate(value=None, keys=()) as only]:
            return only
        case [
            Aggregate(value=None | InputValue() as value, keys=() | (InputValue(),) as keys, exemplars=False) as only
        ]:
            numbers = value is None or not (value.type.is_reference or value.type.kind is Kind.DOUBLE)
            return only if numbers and all(key.type.is_reference for key in keys) else None
    return None


def emit_addition(emitter: Emitter, only: Aggregate) -> None:
    """The whole firing of a probe without a predicate whose body is a :func:`single_addition`."""
    code = emitter.code
    emitter.load_site()
    code.constant("I", emitter.probe.id)
    code.constant("I", only.map)
    if only.value is None and not only.keys:
        emitter.call(api.TALLY_ALL)
        return
    for key in only.keys:
        emit(emitter, key)
    if only.value is None:
        code.constant("J", 1)
    else:
        emit_as(emitter, only.value, LONG)
    code.constant("I", emitter.readings)
    emitter.call(api.ADD_ALL_BY_KEY if only.keys else api.ADD_ALL)


def _for_each(emitter: Emitter, node: ForEach) -> None:
    items = emit_items(emitter, node.container, node.limit, pairs=len(node.variables) > 1)
    loop_start, end = Label(), Label()
    emitter.place_loop(loop_start, changed((node,)))
    emit_next(emitter, items, node.variables, end)
    _round(emitter, node)
    if emitter.code.reachable:
        emitter.code.branch(op.GOTO, loop_start)
    emitter.place(end)


def _for_range(emitter: Emitter, node: ForRange) -> None:
    code = emitter.code
    at, last, remaining = emitter.allocate("J"), emitter.allocate("J"), emitter.allocate("I")
    for value, slot in ((node.first, at), (node.last, last)):
        emit_as(emitter, value, LONG)
        code.store("J", slot)
    if node.limit is not None:
        emit_as(emitter, node.limit, INT)
        code.store("I", remaining)
    loop_start, end = Label(), Label()
    _compare_longs(emitter, at, last, op.IFGT, end)
    emitter.place_loop(loop_start, changed((node,)))
    if node.limit is not None:
        code.iinc(remaining, -1)
        code.load("I", remaining)
        code.branch(op.IFLT, end)
    code.load("J", at)
    if node.variable.type.slot == "I":
        code.op(op.L2I)
    emitter.store_variable(node.variable.index, node.variable.type)
    _round(emitter, node)
    if code.reachable:
        _compare_longs(emitter, at, last, op.IFGE, end)
        code.load("J", at)
        code.constant("J", 1)
        code.op(op.LADD)
        code.store("J", at)
        code.branch(op.GOTO, loop_start)
    emitter.place(end)


def _compare_longs(emitter: Emitter, one: int, other: int, jump: int, target: Label) -> None:
    emitter.code.load("J", one)
    emitter.code.load("J", other)
    emitter.code.op(op.LCMP)
    emitter.code.branch(jump, target)


def _round(emitter: Emitter, loop: ForEach | ForRange) -> None:
    """One round of a loop: counts the statements of the body, if they are counted, and runs them."""
    emitter.spend(round_work(loop), loop.span)
    emit_statements(emitter, loop.body)


def _emit_record(emitter: Emitter, node: Emit) -> None:
    """First all values are evaluated into locals. Between ``begin`` and ``commit`` they are only copied.

    A record that was begun and not committed would block its part of the buffer until the agent skips it as stalled. So
    the handler discards the record after an error.
    """
    code = emitter.code
    stored_values = [(value, None if _is_immediate(value) else _stored(emitter, value)) for value in node.values]
    bound, end = _begin_record(emitter, node, stored_values), emitter.allocate("I")
    emitter.load_session()
    emitter.load_begin()
    emitter.call(api.WORDS)
    code.op(op.DUP)
    emitter.store_words()
    dropped = Label()
    code.branch(op.IFNULL, dropped)
    emitter.load_begin()
    code.load("I", bound)
    emitter.call(api.END)
    code.store("I", end)
    emitter.load_begin()
    emitter.call(api.POSITION)
    for value, slot in stored_values:
        if value.type.is_reference:
            _load_session_below(emitter)
        emitter.load_words()
        code.load("I", end)
        if slot is None:
            emit(emitter, value)
        else:
            code.load(value.type.slot, slot)
        emitter.call(api.PUT if value.type.is_reference else _PUTS[value.type.kind][0])
    _load_session_below(emitter)
    emitter.load_words()
    emitter.load_begin()
    code.load("I", end)
    emitter.call(api.COMMIT)
    emitter.place(dropped)
    emitter.no_record()


def _begin_record(emitter: Emitter, node: Emit, stored_values: Sequence[tuple[Expr, int | None]]) -> int:
    """Begins a record with room for the values. Returns the local with the bound of its size. ``stored_values``: the
    values with their locals.
    """
    code = emitter.code
    fixed = sum(_PUTS[value.type.kind][1] for value in node.values if not value.type.is_reference)
    emitter.load_session()
    code.constant("I", node.template)
    code.constant("I", emitter.probe.id)
    emitter.load_site()
    code.constant("I", fixed)
    for value, slot in stored_values:
        if value.type.is_reference:
            assert slot is not None
            emitter.load_session()
            code.load("A", slot)
            emitter.position(value.span)
            emitter.call(api.BOUND)
            code.op(op.IADD)
    bound = emitter.allocate("I")
    code.op(op.DUP)
    code.store("I", bound)
    sampled = emitter.sampled_thread
    if sampled is None:
        emitter.call(api.BEGIN)
    else:
        emitter.load_input(sampled)
        emitter.call(api.BEGIN_OF_SAMPLE)
    emitter.store_begin()
    return bound


def _load_session_below(emitter: Emitter) -> None:
    """Pushes the session below the position that is on the stack."""
    emitter.load_session()
    emitter.code.op(op.SWAP)


def _is_immediate(node: Expr) -> bool:
    """Whether the value can be pushed between ``begin`` and ``commit`` without an error."""
    return isinstance(node, Constant) and not node.type.is_reference


def _stored(emitter: Emitter, node: Expr) -> int:
    """Evaluates an expression into a fresh local."""
    emit(emitter, node)
    slot = emitter.allocate(node.type.slot)
    emitter.code.store(node.type.slot, slot)
    return slot


def _evaluated(emitter: Emitter, node: Expr) -> int:
    """Evaluates an expression into a fresh local, boxed. This happens before the key is claimed, so an error leaves no
    empty entry.
    """
    emit_as(emitter, node, ANY)
    slot = emitter.allocate("A")
    emitter.code.store("A", slot)
    return slot


def _scoped_store(emitter: Emitter, node: ScopedStore) -> None:
    code = emitter.code
    type_, methods = node.variable.type, api.VARIABLES[node.variable.scope]
    if not is_number(type_):
        value = _evaluated(emitter, node.value)
        _variable(emitter, node)
        code.load("A", value)
        emitter.load_session()
        emitter.call(methods.set)
        return
    real = type_.kind is Kind.DOUBLE
    kind, method = (DOUBLE, methods.set_real) if real else (LONG, methods.set_number)
    nothing, end = Label(), Label()
    if node.value.type.is_reference:
        variable = _evaluated(emitter, node.value)
        code.load("A", variable)
        code.branch(op.IFNULL, nothing)
        code.load("A", variable)
        emitter.position(node.value.span)
        emitter.convert(ANY, kind)
        value = emitter.allocate(kind.slot)
        code.store(kind.slot, value)
    else:
        value = _stored_as(emitter, node.value, kind)
    _variable(emitter, node)
    code.load(kind.slot, value)
    emitter.call(method)
    if node.value.type.is_reference:
        code.branch(op.GOTO, end)
        emitter.place(nothing)
        _variable(emitter, node)
        code.op(op.ACONST_NULL)
        emitter.load_session()
        emitter.call(methods.set)
        emitter.place(end)


def _variable(emitter: Emitter, node: ScopedStore | ScopedAdd) -> None:
    """Pushes the storage of the thread or the object, and the number of the variable."""
    emitter.load_session()
    if node.of is not None:
        emit(emitter, node.of)
        emitter.position(node.of.span)
    emitter.code.constant("I", node.variable.of)
    if node.variable.scope is Scope.FLOW:
        emitter.call(api.FLOW_TO_CHANGE)
        emitter.code.constant("I", node.variable.index)
        return
    emitter.code.constant("I", emitter.probe.id)
    emitter.code.constant("I", node.span.packed)
    emitter.call(api.THREAD_VALUES_TO_CHANGE if node.of is None else api.OBJECT_STATE_TO_CHANGE)
    emitter.code.constant("I", node.variable.index)


def _stored_as(emitter: Emitter, node: Expr, type_: Type) -> int:
    """Evaluates an expression into a fresh local of type ``type_``."""
    emit_as(emitter, node, type_)
    slot = emitter.allocate(type_.slot)
    emitter.code.store(type_.slot, slot)
    return slot


def _map(emitter: Emitter, map_: int) -> None:
    emitter.load_session()
    emitter.code.constant("I", map_)
    emitter.call(api.MAP)


def _slot(emitter: Emitter, map_: int, keys: Sequence[Expr]) -> None:
    """Pushes the aggregation and the slot of the key."""
    _map(emitter, map_)
    emitter.code.op(op.DUP)
    emit_keys(emitter, keys)
    if keys:
        emitter.code.constant("I", emitter.probe.id)
        emitter.position(keys[0].span.to(keys[-1].span))
    emitter.call(api.slot_method(len(keys)))


def _aggregate(emitter: Emitter, node: Aggregate) -> None:
    code = emitter.code
    if node.value is None:
        _slot(emitter, node.map, node.keys)
        emitter.load_weight()
        emitter.call(api.COUNT)
        return
    value = node.value
    if value.type.is_reference:
        type_, method, exemplar = ANY, api.ADD, api.EXEMPLAR
    elif value.type.kind is Kind.DOUBLE:
        type_, method, exemplar = DOUBLE, api.ADD_DOUBLE, api.EXEMPLAR_DOUBLE
    else:
        type_, method, exemplar = LONG, api.ADD_LONG, api.EXEMPLAR_LONG
    emit_as(emitter, value, type_)
    slot = emitter.allocate(type_.slot)
    code.store(type_.slot, slot)
    _slot(emitter, node.map, node.keys)
    exemplar_locals = (emitter.allocate("A"), emitter.allocate("I")) if node.exemplars else None
    if exemplar_locals is not None:
        code.store("I", exemplar_locals[1])
        code.store("A", exemplar_locals[0])
        code.load("A", exemplar_locals[0])
        code.load("I", exemplar_locals[1])
    code.load(type_.slot, slot)
    emitter.load_weight()
    emitter.position(value.span)
    if method is api.ADD:
        emitter.load_position()
    emitter.call(method)
    if exemplar_locals is not None:
        emitter.load_session()
        code.load("A", exemplar_locals[0])
        code.load("I", exemplar_locals[1])
        code.load(type_.slot, slot)
        code.constant("I", emitter.probe.id)
        code.constant("I", value.span.packed)
        emitter.call(exemplar)
