"""Expressions: each pushes one value, in the representation of its type (``Type.slot``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from btpy.classfile import descriptors
from btpy.classfile import opcodes as op
from btpy.classfile.assembler import Label
from btpy.codegen import runtime_api as api
from btpy.codegen.emitter import Emitter
from btpy.codegen.runtime_api import RuntimeMethod
from btpy.codegen.work import round_work
from btpy.dataclass import dataclass
from btpy.errors import CompileError
from btpy.lang import builtins
from btpy.lang.builtins import AUTOMATON, DEFAULT_ELEMENTS, FRAME_WITHOUT, GLOB, INSTANCE_OF, MEMBER, STACK_WITHOUT
from btpy.lang.check.scoped import is_number
from btpy.lang.inputs import Ambient
from btpy.lang.typed_tree import (
    AmbientValue,
    Binary,
    Bound,
    BuiltinCall,
    CastValue,
    Coalesce,
    Conditional,
    Constant,
    Convert,
    ElementValue,
    Expr,
    FieldValue,
    Formatted,
    Inlined,
    InputValue,
    ListValue,
    LocalValue,
    Logical,
    LoopVariable,
    MapQuery,
    MapValue,
    Quantified,
    SafeCall,
    ScopedValue,
    SiteValue,
    Text,
    Unary,
)
from btpy.model.scopes import Scope
from btpy.model.templates import SiteFact
from btpy.model.types import ANY, BOOLEAN, DOUBLE, DURATION, INT, LONG, STRING, Kind, Type, from_descriptor

_STRING_DESCRIPTOR = "Ljava/lang/String;"

_MOST_KEYS = 4096  # the maximum number of keys that `keys(@m)` gives

# The opcodes for int. Add 1 for the opcode for long, and 3 for the opcode for double, if the operation accepts doubles.
_ARITHMETIC = {"+": op.IADD, "-": op.ISUB, "*": op.IMUL, "/": op.IDIV, "%": op.IREM}
_BITS = {"&": op.IAND, "|": op.IOR, "^": op.IXOR}
_SHIFTS = {"<<": op.ISHL, ">>": op.ISHR, ">>>": op.IUSHR}

# The opcode that jumps if the comparison of an int with zero is true, the opcode for two ints, and the opposite
# operator.
_COMPARISONS = {
    "==": (op.IFEQ, op.IF_ICMPEQ, "!="),
    "!=": (op.IFNE, op.IF_ICMPNE, "=="),
    "<": (op.IFLT, op.IF_ICMPLT, ">="),
    ">=": (op.IFGE, op.IF_ICMPGE, "<"),
    ">": (op.IFGT, op.IF_ICMPGT, "<="),
    "<=": (op.IFLE, op.IF_ICMPLE, ">"),
}

_SITE_FACTS = {
    SiteFact.CLS: api.CLASS_NAME,
    SiteFact.METHOD: api.METHOD_NAME,
    SiteFact.SIGNATURE: api.SIGNATURE,
    SiteFact.LINE: api.LINE,
    SiteFact.TARGET_CLASS: api.TARGET_CLASS,
    SiteFact.TARGET_METHOD: api.TARGET_MEMBER,
    SiteFact.FIELD: api.TARGET_MEMBER,
    SiteFact.LOADER: api.LOADER,
}

_TRACE_FACTS = {
    Ambient.TRACE_ID: api.TRACE_ID,
    Ambient.SPAN_ID: api.SPAN_ID,
    Ambient.TRACE_FLAGS: api.TRACE_FLAGS,
}

_FLOW_FACTS = {
    Ambient.FLOW_ID: api.FLOW_ID,
    Ambient.FLOW_PARENT: api.FLOW_PARENT,
    Ambient.FLOW_ELAPSED: api.FLOW_ELAPSED,
}

# Methods of built-in functions by name and number of arguments.
_BUILTINS = {
    ("typeof", 1): api.TYPE_NAME,
    (builtins.SPAN_TAKE, 1): api.SPAN_TAKE,
    (builtins.SPAN_TRACE_ID, 1): api.SPAN_TRACE_ID,
    (builtins.SPAN_OWN_ID, 1): api.SPAN_OWN_ID,
    (builtins.SPAN_PARENT_ID, 1): api.SPAN_PARENT_ID,
    (builtins.SPAN_FLAGS, 1): api.SPAN_FLAGS,
    ("id", 1): api.IDENTITY,
    ("len", 1): api.LENGTH,
    ("shallow_size", 1): api.SHALLOW_SIZE,
    ("message", 1): api.MESSAGE,
    ("cause", 1): api.CAUSE,
    ("enum_name", 1): api.ENUM_NAME,
    (INSTANCE_OF, 2): api.INSTANCE_OF,
    ("contains", 2): api.CONTAINS,
    ("startswith", 2): api.STARTS_WITH,
    ("endswith", 2): api.ENDS_WITH,
    ("indexof", 2): api.INDEX_OF,
    ("substr", 3): api.SUBSTRING,
    ("lower", 1): api.LOWER,
    ("upper", 1): api.UPPER,
    ("trim", 1): api.TRIM,
    ("loader_of", 1): api.LOADER_OF,
    ("owner_name", 1): api.OWNER_NAME,
    ("thread_state", 1): api.THREAD_STATE,
    ("heap_used", 0): api.HEAP_USED,
    ("heap_committed", 0): api.HEAP_COMMITTED,
    ("heap_max", 0): api.HEAP_MAX,
    ("nonheap_used", 0): api.NONHEAP_USED,
    ("pool_used", 1): api.POOL_USED,
    ("pool_max", 1): api.POOL_MAX,
    ("gc_count", 0): api.GC_COUNT,
    ("gc_time", 0): api.GC_TIME,
    ("uptime", 0): api.UPTIME,
    ("classes_loaded", 0): api.CLASSES_LOADED,
    ("classes_unloaded", 0): api.CLASSES_UNLOADED,
    ("property", 2): api.SYSTEM_PROPERTY,
    ("environment", 2): api.ENVIRONMENT,
    ("vm_arguments", 1): api.VM_ARGUMENTS,
    ("thread_count", 0): api.THREAD_COUNT,
    ("deadlocks", 0): api.DEADLOCKS,
    ("lock_waits", 1): api.LOCK_WAITS,
    (builtins.FLOW_RUNS, 0): api.FLOW_RUNS,
    ("cpu_time", 0): api.CPU_TIME,
    ("allocated", 0): api.ALLOCATED,
    ("show", 2): api.SHOW,
    (builtins.INDENT, 1): api.INDENT,
    ("stack", 1): api.STACK,
    ("stack", 2): api.STACK_OF,
    ("frame", 1): api.FRAME,
    (STACK_WITHOUT, 2): api.STACK_WITHOUT,
    (STACK_WITHOUT, 3): api.STACK_OF_WITHOUT,
    ("frame", 2): api.FRAME_OF,
    (FRAME_WITHOUT, 2): api.FRAME_WITHOUT,
    (FRAME_WITHOUT, 3): api.FRAME_OF_WITHOUT,
    ("split", 3): api.SPLIT,
    ("replace", 3): api.REPLACE,
    ("truncate", 2): api.TRUNCATE,
    ("hash", 1): api.HASH,
    ("redact", 1): api.REDACT,
    ("normalize_sql", 1): api.NORMALIZE_SQL,
    ("url_path", 1): api.URL_PATH,
    (GLOB, 2): api.GLOB,
    (MEMBER, 2): api.CONTAINS_ELEMENT,
    (AUTOMATON, 2): api.AUTOMATON,
    ("new_id", 0): api.NEW_ID,
    ("rand", 1): api.RAND,
}


def emit(emitter: Emitter, node: Expr) -> None:
    """Pushes the value of ``node``."""
    match node:
        case Constant():
            _constant(emitter, node)
        case InputValue():
            _input_value(emitter, node)
        case SiteValue():
            _site_value(emitter, node)
        case AmbientValue():
            emitter.convert(_ambient(emitter, node), node.type)
        case LocalValue():
            _local_value(emitter, node)
        case Inlined():
            _inlined(emitter, node)
        case FieldValue():
            _field_value(emitter, node)
        case SafeCall():
            _safe_call(emitter, node)
        case CastValue():
            _cast_value(emitter, node)
        case ElementValue():
            _element_value(emitter, node)
        case Unary():
            _unary(emitter, node)
        case Binary():
            _binary(emitter, node)
        case Logical():
            _truth_value(emitter, node)
        case Conditional():
            _conditional(emitter, node)
        case Coalesce():
            _coalesce(emitter, node)
        case ScopedValue():
            _scoped_value(emitter, node)
        case Convert():
            _convert(emitter, node)
        case Text():
            _text(emitter, node)
        case Formatted():
            _formatted(emitter, node)
        case BuiltinCall():
            _SPECIAL.get(node.name, _builtin)(emitter, node)
        case ListValue():
            _array(emitter, node.elements)
        case Bound():
            _bound_value(emitter, node)
        case Quantified():
            _quantified(emitter, node)
        case MapValue():
            _map_value(emitter, node)
        case MapQuery():
            _map_query(emitter, node)
        case _:
            assert_never(node)


def _input_value(emitter: Emitter, node: InputValue) -> None:
    emitter.load_input(node.input)
    emitter.convert(from_descriptor(node.input.descriptor), node.type)


def _local_value(emitter: Emitter, node: LocalValue) -> None:
    type_ = emitter.load_variable(node.index)
    if type_.slot != node.type.slot:
        emitter.position(node.span)
        emitter.convert(type_, node.type)


def _field_value(emitter: Emitter, node: FieldValue) -> None:
    code = emitter.code
    emit_as(emitter, node.target, ANY)
    code.constant("S", node.name)
    if node.getters:
        code.constant("S", node.getters)
    emitter.position(node.span)
    emitter.call(api.PROPERTY if node.getters else api.FIELD)
    emitter.convert(ANY, node.type)


def _safe_call(emitter: Emitter, node: SafeCall) -> None:
    code = emitter.code
    emit_as(emitter, node.target, ANY)
    code.constant("S", node.allowed)
    _array(emitter, node.arguments)
    emitter.position(node.span)
    emitter.call(api.CALL)
    emitter.convert(ANY, node.type)


def _cast_value(emitter: Emitter, node: CastValue) -> None:
    code = emitter.code
    emitter.load_session()
    emit_as(emitter, node.operand, ANY)
    code.constant("S", node.pattern)
    code.constant("I", emitter.probe.id)
    code.constant("I", node.span.packed)
    emitter.position(node.span)
    emitter.call(api.CAST)
    emitter.convert(ANY, node.type)


def _element_value(emitter: Emitter, node: ElementValue) -> None:
    emitter.load_session()
    emit_as(emitter, node.target, ANY)
    emit_as(emitter, node.index, LONG)
    emitter.position(node.span)
    emitter.load_position()
    emitter.call(api.ELEMENT)
    emitter.convert(ANY, node.type)


def _conditional(emitter: Emitter, node: Conditional) -> None:
    code = emitter.code
    otherwise, end = Label(), Label()
    emit_condition(emitter, node.test, otherwise, False)
    emit_as(emitter, node.then, node.type)
    code.branch(op.GOTO, end)
    emitter.place(otherwise)
    emit_as(emitter, node.otherwise, node.type)
    emitter.place(end)


def _convert(emitter: Emitter, node: Convert) -> None:
    if isinstance(node.operand, ScopedValue) and is_number(node.operand.variable.type):
        _scoped_number(emitter, node.operand)
        emitter.convert(replace(node.operand.type, nullable=False), node.type)
    elif node.type.kind is Kind.STRING:
        emit_string(emitter, node.operand)
    else:
        emit_as(emitter, node.operand, node.type)


def _entry_of(emitter: Emitter, node: BuiltinCall) -> None:
    emitter.load_session()
    for argument in node.arguments:
        emit_as(emitter, argument, ANY)
    emitter.position(node.span)
    emitter.load_position()
    emitter.call(api.ENTRY_OF if isinstance(node.arguments[1], Constant) else api.ENTRY_OF_ANY)


def _self_time(emitter: Emitter, node: BuiltinCall) -> None:
    code = emitter.code
    emitter.load_session()
    code.constant("I", emitter.probe.id)
    for argument in node.arguments:
        emit_as(emitter, argument, LONG)
    emitter.call(api.SELF_TIME_OF)
    emitter.convert(LONG, node.type)


def _context_value(emitter: Emitter, node: BuiltinCall) -> None:
    emitter.load_session()
    emit_string(emitter, node.arguments[0])
    _call_with_place(emitter, node, api.BAGGAGE if node.name == builtins.BAGGAGE else api.MDC)
    emitter.convert(STRING, node.type)


def _call_with_place(emitter: Emitter, node: Expr, method: RuntimeMethod) -> None:
    """Calls a method whose last two parameters are the probe and the position for a warning."""
    emitter.code.constant("I", emitter.probe.id)
    emitter.code.constant("I", node.span.packed)
    emitter.position(node.span)
    emitter.call(method)


def _bound_value(emitter: Emitter, node: Bound) -> None:
    emit(emitter, node.value)
    emitter.store_variable(node.index, node.value.type)
    emit_as(emitter, node.body, node.type)


def _map_value(emitter: Emitter, node: MapValue) -> None:
    code = emitter.code
    emitter.load_session()
    code.constant("I", node.map)
    emitter.call(api.MAP)
    code.op(op.DUP)
    emit_keys(emitter, node.keys)
    emitter.position(node.span)
    emitter.call(api.find_method(len(node.keys)))
    emitter.call(api.VALUE)
    emitter.convert(ANY, node.type)


def _map_query(emitter: Emitter, node: MapQuery) -> None:
    code = emitter.code
    emitter.load_session()
    code.constant("I", node.map)
    if node.query == "rate":
        code.constant("I", emitter.probe.id)
        emitter.call(api.RATE)
        emitter.convert(DOUBLE, node.type)
        return
    emitter.call(api.MAP)
    match node.query:
        case "size":
            emitter.call(api.SIZE)
        case "keys":
            code.constant("I", _MOST_KEYS)
            emitter.call(api.KEYS)
        case _:
            code.op(op.DUP)
            emit_keys(emitter, node.keys)
            emitter.position(node.span)
            emitter.call(api.find_method(len(node.keys)))
            emitter.call(api.HAS)
    emitter.convert(LONG if node.query == "size" else ANY if node.query == "keys" else BOOLEAN, node.type)


def _inlined(emitter: Emitter, node: Inlined) -> None:
    outer, end = emitter.leave, Label()
    emitter.leave = end
    emitter.statements(node.statements)
    emitter.leave = outer
    emitter.place(end)
    if node.value is not None:
        emit(emitter, node.value)


def emit_as(emitter: Emitter, node: Expr, type_: Type) -> None:
    """Pushes the value of ``node`` in the representation of ``type_``."""
    emit(emitter, node)
    if node.type.is_reference and not type_.is_reference:
        emitter.position(node.span)
    emitter.convert(node.type, type_)


def emit_string(emitter: Emitter, node: Expr) -> None:
    """Pushes a String or null; any other value is a bad-cast error of the probe."""
    emit_as(emitter, node, ANY)
    if emitter.code.top != _STRING_DESCRIPTOR:
        emitter.position(node.span)
        emitter.code.type(op.CHECKCAST, "java/lang/String")


def emit_keys(emitter: Emitter, keys: Sequence[Expr]) -> None:
    """Pushes the components of a map key, boxed: one by one, or in an array when they are many."""
    if len(keys) <= api.MOST_SINGLE_KEYS:
        for key in keys:
            emit_as(emitter, key, ANY)
        return
    _array(emitter, keys)


def _array(emitter: Emitter, values: Sequence[Expr]) -> None:
    code = emitter.code
    code.constant("I", len(values))
    code.type(op.ANEWARRAY, "java/lang/Object")
    for index, value in enumerate(values):
        code.op(op.DUP)
        code.constant("I", index)
        emit_as(emitter, value, ANY)
        code.op(op.AASTORE)


@dataclass(frozen=True, slots=True)
class Items:
    """Locals with the elements of a loop, and with the index of the next element."""

    array: int
    at: int


def emit_items(emitter: Emitter, container: Expr, limit: Expr | None, *, pairs: bool) -> Items:
    code = emitter.code
    emitter.load_session()
    emit_as(emitter, container, ANY)
    if limit is None:
        code.constant("I", DEFAULT_ELEMENTS)
    else:
        emit_as(emitter, limit, INT)
    code.constant("I", int(pairs))
    code.constant("I", emitter.probe.id)
    code.constant("I", container.span.packed if limit is None else -1)
    emitter.position(container.span)
    emitter.call(api.ITEMS)
    items = Items(emitter.allocate("A"), emitter.allocate("I"))
    code.store("A", items.array)
    code.constant("I", 0)
    code.store("I", items.at)
    return items


def emit_next(emitter: Emitter, items: Items, variables: Sequence[LoopVariable], exhausted: Label) -> None:
    """Assigns the next elements to the variables, or jumps if there are none."""
    code = emitter.code
    code.load("I", items.at)
    code.load("A", items.array)
    code.op(op.ARRAYLENGTH)
    code.branch(op.IF_ICMPGE, exhausted)
    for variable in variables:
        code.load("A", items.array)
        code.load("I", items.at)
        code.op(op.AALOAD)
        code.iinc(items.at, 1)
        emitter.convert(ANY, variable.type)
        emitter.store_variable(variable.index, variable.type)


def _quantified(emitter: Emitter, node: Quantified) -> None:
    """``any`` ends with true at the first element that passes. ``none`` ends with false at the first element that
    passes, ``all`` at the first element that fails. ``first`` ends with the first element that passes.
    """
    code = emitter.code
    items = emit_items(emitter, node.container, None, pairs=False)
    loop_start, exhausted, end = Label(), Label(), Label()
    emitter.place_loop(loop_start, (node.variable.index,))
    emit_next(emitter, items, (node.variable,), exhausted)
    emitter.spend(round_work(node), node.span)
    emit_condition(emitter, node.test, loop_start, node.quantifier == "all")
    if node.quantifier == "first":
        emitter.load_variable(node.variable.index)
        emitter.convert(node.variable.type, node.type)
    else:
        code.constant("I", int(node.quantifier == "any"))
    code.branch(op.GOTO, end)
    emitter.place(exhausted)
    if node.quantifier == "first":
        code.op(op.ACONST_NULL)
    else:
        code.constant("I", int(node.quantifier != "any"))
    emitter.place(end)


def _constant(emitter: Emitter, node: Constant) -> None:
    code = emitter.code
    value = node.value
    if value is None:
        code.op(op.ACONST_NULL)
        return
    if isinstance(value, str):
        if node.type.kind is Kind.CHAR:
            code.constant("I", ord(value))
            emitter.convert(Type(Kind.CHAR), node.type)
        else:
            code.constant("S", value)
        return
    if not node.type.is_reference:
        type_ = node.type
    elif isinstance(value, bool):
        type_ = BOOLEAN
    else:
        type_ = DOUBLE if isinstance(value, float) or node.type.kind is Kind.DOUBLE else LONG
    code.constant(type_.slot, float(value) if type_.kind is Kind.DOUBLE else int(value))
    emitter.convert(type_, node.type)


def _site_value(emitter: Emitter, node: SiteValue) -> None:
    if node.fact is SiteFact.PROBE:
        emitter.code.constant("S", emitter.probe.name)
        return
    emitter.load_session()
    emitter.load_site()
    method = _SITE_FACTS[node.fact]
    emitter.call(method)
    emitter.convert(_returned(method), node.type)


def _ambient(emitter: Emitter, node: AmbientValue) -> Type:
    match node.ambient:
        case Ambient.TID:
            emitter.call(api.TID)
            return LONG
        case Ambient.THREAD_NAME:
            emitter.position(node.span)
            emitter.call(api.THREAD_NAME)
            return STRING
        case Ambient.IS_VIRTUAL:
            emitter.call(api.IS_VIRTUAL)
            return BOOLEAN
        case Ambient.NOW:
            emitter.position(node.span)
            emitter.load_session()
            emitter.call(api.WALL_CLOCK)
            return LONG
        case Ambient.NANOS:
            emitter.call(api.NANO_TIME)
            return LONG
        case Ambient.PID:
            emitter.load_session()
            emitter.call(api.PID)
            return INT
        case Ambient.ELAPSED:
            emitter.call(api.NANO_TIME)
            emitter.load_session()
            emitter.call(api.STARTED_NANOS)
            emitter.code.op(op.LSUB)
            return DURATION
        case Ambient.TRACE_ID | Ambient.SPAN_ID | Ambient.TRACE_FLAGS:
            method = _TRACE_FACTS[node.ambient]
            emitter.load_session()
            _call_with_place(emitter, node, method)
            return _returned(method)
        case Ambient.FLOW_ID | Ambient.FLOW_PARENT | Ambient.FLOW_ELAPSED:
            emitter.load_session()
            emitter.call(_FLOW_FACTS[node.ambient])
            return _returned(_FLOW_FACTS[node.ambient])
        case _:
            assert_never(node.ambient)


def _scoped_value(emitter: Emitter, node: ScopedValue) -> None:
    """The value boxed, or null."""
    type_, methods = node.variable.type, api.VARIABLES[node.variable.scope]
    method = methods.value
    if is_number(type_):
        method = methods.boxed_real if type_.kind is Kind.DOUBLE else methods.boxed_number
    _variable(emitter, node)
    emitter.call(method)


def _scoped_number(emitter: Emitter, node: ScopedValue) -> None:
    """The value of a variable that holds numbers. A missing value is an error of the probe."""
    _variable(emitter, node)
    emitter.position(node.span)
    methods = api.VARIABLES[node.variable.scope]
    emitter.call(methods.real if node.variable.type.kind is Kind.DOUBLE else methods.number)


def _variable(emitter: Emitter, node: ScopedValue) -> None:
    emitter.load_session()
    if node.variable.scope is Scope.FLOW:
        emitter.code.constant("I", node.variable.index)
        emitter.call(api.FLOW_NOW)
    elif node.of is None:
        emitter.call(api.THREAD_VALUES_NOW)
    else:
        emit(emitter, node.of)
        emitter.position(node.of.span)
        emitter.call(api.OBJECT_STATE_NOW)
    emitter.code.constant("I", node.variable.index)


def _unary(emitter: Emitter, node: Unary) -> None:
    code = emitter.code
    if node.operator == "!":
        _truth_value(emitter, node)
    elif node.operand.type.is_reference:
        emit(emitter, node.operand)
        emitter.position(node.operand.span)
        emitter.call(api.NEGATE if node.operator == "-" else api.NOT)
        emitter.convert(ANY, node.type)
    else:
        emit_as(emitter, node.operand, node.type)
        kind = "IJD".index(node.type.slot)
        if node.operator == "-":
            code.op((op.INEG, op.LNEG, op.DNEG)[kind])
        elif kind < 2:
            code.constant("IJ"[kind], -1)
            code.op(op.IXOR + kind)
        else:
            raise CompileError(f"{node.operator} does not apply to {node.operand.type}")


def _binary(emitter: Emitter, node: Binary) -> None:
    if node.operator in _COMPARISONS:
        _truth_value(emitter, node)
    elif node.left.type.is_reference or (node.right.type.is_reference and node.operator not in _SHIFTS):
        emit_as(emitter, node.left, ANY)
        emit_as(emitter, node.right, INT if node.operator in _SHIFTS else ANY)
        _blame(emitter, node)
        emitter.call(api.ARITHMETIC[node.operator])
        emitter.convert(ANY, node.type)
    else:
        emit_as(emitter, node.left, node.type)
        emit_as(emitter, node.right, INT if node.operator in _SHIFTS else node.type)
        _primitive(emitter, node)


def _primitive(emitter: Emitter, node: Binary) -> None:
    operator = node.operator
    kind = "IJD".index(node.type.slot)
    if operator in _ARITHMETIC:
        if operator in "/%" and kind < 2 and not (isinstance(node.right, Constant) and node.right.value):
            emitter.position(node.span)
        emitter.code.op(_ARITHMETIC[operator] + (0, 1, 3)[kind])
    elif kind == 2:
        raise CompileError(f"{operator} does not apply to {node.type}")
    else:
        emitter.code.op((_BITS.get(operator) or _SHIFTS[operator]) + kind)


def _blame(emitter: Emitter, node: Binary) -> None:
    """Sets the error position of an operation on dynamic types: the one operand that can be wrong, or the operation."""
    certain = [_is_certain(operand) for operand in (node.left, node.right)]
    if node.operator in "/%" or certain[0] == certain[1]:
        emitter.position(node.span)
    else:
        emitter.position((node.right if certain[0] else node.left).span)


def _is_certain(node: Expr) -> bool:
    if isinstance(node, Convert):
        return not node.operand.type.is_reference or _is_certain(node.operand)
    return not node.type.is_reference or (isinstance(node, Constant) and node.value is not None)


def _truth_value(emitter: Emitter, node: Unary | Binary | Logical) -> None:
    false, end = Label(), Label()
    emit_condition(emitter, node, false, False)
    emitter.code.constant("I", 1)
    emitter.code.branch(op.GOTO, end)
    emitter.place(false)
    emitter.code.constant("I", 0)
    emitter.place(end)
    emitter.convert(BOOLEAN, node.type)


def emit_condition(emitter: Emitter, node: Expr, target: Label, when: bool) -> None:
    """Jumps to ``target`` if the value of ``node`` is ``when``.  Null is an error of the probe."""
    if isinstance(node, Unary) and node.operator == "!":
        emit_condition(emitter, node.operand, target, not when)
    elif isinstance(node, Logical):
        decisive = node.operator == "||"  # the value of the left operand that determines the result
        if decisive == when:
            emit_condition(emitter, node.left, target, when)
            emit_condition(emitter, node.right, target, when)
        else:
            end = Label()
            emit_condition(emitter, node.left, end, decisive)
            emit_condition(emitter, node.right, target, when)
            emitter.place(end)
    elif isinstance(node, Binary) and node.operator in _COMPARISONS:
        if node.left.type.is_reference or node.right.type.is_reference:
            _compare_references(emitter, node, target, when)
        else:
            _compare_primitives(emitter, node, target, when)
    else:
        emit_as(emitter, node, BOOLEAN)
        emitter.code.branch(op.IFNE if when else op.IFEQ, target)


def _compare_primitives(emitter: Emitter, node: Binary, target: Label, when: bool) -> None:
    code = emitter.code
    slot = max(node.left.type.slot, node.right.type.slot, key="IJD".index)
    type_ = {"I": INT, "J": LONG, "D": DOUBLE}[slot]
    if slot == "I":
        code_of = _COMPARISONS[node.operator if when else _COMPARISONS[node.operator][2]]
        emit(emitter, node.left)
        if isinstance(node.right, Constant) and node.right.value in (0, False):
            code.branch(code_of[0], target)
        else:
            emit(emitter, node.right)
            code.branch(code_of[1], target)
        return
    emit_as(emitter, node.left, type_)
    emit_as(emitter, node.right, type_)
    if slot == "J":
        code.op(op.LCMP)
    else:  # with NaN every comparison except != is false, even when the jump is inverted
        code.op(op.DCMPG if node.operator in ("<", "<=") else op.DCMPL)
    code.branch(_COMPARISONS[node.operator if when else _COMPARISONS[node.operator][2]][0], target)


def _compare_references(emitter: Emitter, node: Binary, target: Label, when: bool) -> None:
    code = emitter.code
    operator = node.operator
    if operator in ("==", "!="):
        when_null = (operator == "==") == when
        for operand, other in ((node.left, node.right), (node.right, node.left)):
            if isinstance(other, Constant) and other.value is None:
                if isinstance(operand, ScopedValue):
                    _variable(emitter, operand)
                    emitter.call(api.VARIABLES[operand.variable.scope].has)
                    code.branch(op.IFEQ if when_null else op.IFNE, target)
                    return
                if isinstance(operand, AmbientValue) and operand.ambient is Ambient.FLOW_ID:
                    emitter.load_session()
                    emitter.call(api.FLOW_IS_NONE)
                    code.branch(op.IFNE if when_null else op.IFEQ, target)
                    return
                emit_as(emitter, operand, ANY)
                code.branch(op.IFNULL if when_null else op.IFNONNULL, target)
                return
        emit_as(emitter, node.left, ANY)
        emit_as(emitter, node.right, ANY)
        _blame(emitter, node)
        emitter.call(api.EQUAL)
        code.branch(op.IFNE if when_null else op.IFEQ, target)
        return
    emit_as(emitter, node.left, ANY)
    emit_as(emitter, node.right, ANY)
    if operator in (">", ">="):  # `compare` returns 1 for NaN, so test only "less"
        code.op(op.SWAP)
        operator = "<" if operator == ">" else "<="
    _blame(emitter, node)
    emitter.call(api.COMPARE)
    code.branch(_COMPARISONS[operator if when else _COMPARISONS[operator][2]][0], target)


def _coalesce(emitter: Emitter, node: Coalesce) -> None:
    if not node.left.type.is_reference:
        emit_as(emitter, node.left, node.type)
        return
    code = emitter.code
    present, end = Label(), Label()
    emit(emitter, node.left)
    code.op(op.DUP)
    code.branch(op.IFNONNULL, present)
    code.op(op.POP)
    emit_as(emitter, node.right, node.type)
    code.branch(op.GOTO, end)
    emitter.place(present)
    if not node.type.is_reference:
        emitter.position(node.left.span)
    emitter.convert(node.left.type, node.type)
    emitter.place(end)


def _text(emitter: Emitter, node: Text) -> None:
    if not node.parts:
        emitter.code.constant("S", "")
    for index, part in enumerate(node.parts):
        if isinstance(part, str):
            emitter.code.constant("S", part)
        else:
            emit_as(emitter, part, ANY)
            if not isinstance(part, SiteValue) or emitter.code.top != _STRING_DESCRIPTOR:
                emitter.position(part.span)
                emitter.call(api.TEXT)
        if index:
            emitter.position(node.span)
            emitter.call(api.CONCAT)


def _formatted(emitter: Emitter, node: Formatted) -> None:
    code = emitter.code
    emit_as(emitter, node.value, ANY)
    format_ = node.format
    if isinstance(format_, tuple):
        name, size = format_
        code.constant("J", size)
        code.constant("S", name)
        emitter.position(node.span)
        emitter.call(api.IN_UNIT)
        return
    flags = (format_.fill, format_.align, format_.sign, format_.group, format_.type)
    code.constant("S", "".join(flag or " " for flag in flags))
    code.constant("I", format_.width)
    code.constant("I", -1 if format_.precision is None else format_.precision)
    emitter.position(node.span)
    emitter.call(api.FORMAT)


def _builtin(emitter: Emitter, node: BuiltinCall) -> None:
    method = _BUILTINS.get((node.name, len(node.arguments)))
    if method is None:
        raise CompileError(f"{node.name} is not compiled with {len(node.arguments)} arguments")
    parameters, _ = descriptors.parse(method.descriptor)
    if method.of_session:
        emitter.load_session()
        parameters = parameters[1:] if method.static else parameters
    for parameter, argument in zip(parameters, node.arguments, strict=True):
        if parameter == _STRING_DESCRIPTOR:
            emit_string(emitter, argument)
        else:
            emit_as(emitter, argument, from_descriptor(parameter))
    emitter.position(node.span)
    emitter.call(method)
    emitter.convert(_returned(method), node.type)


_SPECIAL = {
    builtins.ENTRY_OF: _entry_of,
    builtins.SELF_TIME: _self_time,
    builtins.BAGGAGE: _context_value,
    builtins.MDC: _context_value,
}
"""Functions whose code needs more than their arguments."""


def _returned(method: RuntimeMethod) -> Type:
    returns = descriptors.parse(method.descriptor)[1]
    return ANY if returns == descriptors.OBJECT else from_descriptor(returns)
