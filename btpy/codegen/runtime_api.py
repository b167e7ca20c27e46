"""What handlers call: ``docs/runtime.md`` as data.

A method is *guarded* when it may run code that can itself be traced: a handler that calls a guarded method must be
entered with ``guard``.  A test compares these rows with the compiled classes.
"""

from __future__ import annotations

import re
from dataclasses import fields

from btpy.dataclass import dataclass
from btpy.model.scopes import Scope

SESSION = "btpy/runtime/Session"
INTERRUPTIONS = "btpy/runtime/Interruptions"
AGGREGATION = "btpy/runtime/Aggregation"
DYNAMIC = "btpy/runtime/Dynamic"
OWNERS = "btpy/runtime/Owners"
JVM = "btpy/runtime/Jvm"
CONTEXTS = "btpy/runtime/Contexts"
TEXTS = "btpy/runtime/Texts"
FORMATS = "btpy/runtime/Formats"
PATTERNS = "btpy/runtime/Patterns"
THREAD_VALUES = "btpy/runtime/ThreadValues"
OBJECT_STATES = "btpy/runtime/ObjectStates"
SHARED_VALUES = "btpy/runtime/SharedValues"
FLOWS = "btpy/runtime/Flows"
GUARDS = "btpy/runtime/Guard"
SAMPLER = "btpy/runtime/Sampler"
DEPTHS = "btpy/runtime/Depths"
SELF_TIMES = "btpy/runtime/SelfTimes"
SPANS = "btpy/runtime/Spans"
SITES = "btpy/runtime/Site"
THREADS = "btpy/runtime/Threads"
STACKS = "btpy/runtime/Stack"
FIELDS = "btpy/runtime/Fields"
CALLS = "btpy/runtime/Calls"
ELEMENTS = "btpy/runtime/Elements"
SHOWN = "btpy/runtime/Shown"
RECORDS = "btpy/runtime/Records"
REQUESTS = "btpy/runtime/Request"

#: Handlers are ``btpy.handlers.Handler_`` and the hash of their content; each has one method of this name.
HANDLER_PREFIX = "btpy/handlers/Handler_"
HANDLER_METHOD = "fire"

#: The fields that a handler uses to discard its open record when it cannot call ``abandon`` (EventBuffer.java).
POSITIONS = (1 << 21) - 1
CLAIMED = 0xFFFFFFFF
PADDING = 0xFFFF << 32

#: The value that a handler stores in ``Guard.MARKS`` when it cannot call ``leave``.
LEFT = -1

#: The result of ``SelfTimes.enter`` when it counts nothing.
NOT_COUNTED = -(1 << 63) + 1

_SESSION_FIRST = f"(L{SESSION};"
_SHORT = re.compile("L[^;]+;|[OS]")
_LONG = {"O": "Ljava/lang/Object;", "S": "Ljava/lang/String;"}


@dataclass(frozen=True, slots=True)
class RuntimeMethod:
    """``owner`` is an internal name."""

    owner: str
    name: str
    descriptor: str
    static: bool
    guarded: bool

    @property
    def of_session(self) -> bool:
        """Whether the first value on the stack is the session: the receiver, or the first parameter."""
        return (self.owner == SESSION and not self.static) or self.descriptor.startswith(_SESSION_FIRST)


def _row(owner: str, name: str, descriptor: str, *, static: bool = False, guarded: bool = False) -> RuntimeMethod:
    """In descriptors ``O`` means Object and ``S`` means String."""
    text = _SHORT.sub(lambda match: _LONG.get(match[0], match[0]), descriptor)
    return RuntimeMethod(owner, name, text, static, guarded)


def _session(name: str, descriptor: str, *, static: bool = False, guarded: bool = False) -> RuntimeMethod:
    return _row(SESSION, name, descriptor, static=static, guarded=guarded)


def _for_session(owner: str, name: str, rest: str, *, guarded: bool = False) -> RuntimeMethod:
    """A static method whose first parameter is the session. ``rest``: the rest of the descriptor."""
    return _row(owner, name, _SESSION_FIRST + rest, static=True, guarded=guarded)


def _dynamic(name: str, descriptor: str) -> RuntimeMethod:
    return _row(DYNAMIC, name, descriptor, static=True, guarded=True)


def _texts(name: str, descriptor: str) -> RuntimeMethod:
    return _row(TEXTS, name, descriptor, static=True, guarded=True)


# Methods of Session.

ENTER = _session("enter", f"(II)L{SESSION};", static=True)
ENTER_AGENT = _session("enterAgent", f"(II)L{SESSION};", static=True)
FIRED = _session("fired", "(I)J")
TESTED = _session("tested", "(I)J")
PASSED = _session("passed", "(I)Z")
UNTRUE = _session("untrue", "(I)V")
TOOK = _session("took", "(IJI)V")
TALLY = _session("tally", "(II)V")
TALLY_ALL = _session("tally", "(III)V", static=True)
ADD_ALL = _session("add", "(IIIJI)V", static=True)
ADD_ALL_BY_KEY = _session("add", "(IIIOJI)V", static=True)
DISABLE = _session("disable", "(I)V")
IS_ENABLED = _session("isEnabled", "(I)Z")
FAILED = _session("failed", "(IILjava/lang/Throwable;)V")
FAILED_RUN = _session("failed", "(IILjava/lang/Throwable;J)V")
MAP = _session("map", f"(I)L{AGGREGATION};")
LOCK_WAITS = _session("lockWaits", "(S)[Ljava/lang/Object;", guarded=True)
RATE = _session("rate", "(II)D", guarded=True)
STARTED_NANOS = _session("startedNanos", "()J")
WALL_CLOCK = _session("wallClock", "()J", guarded=True)
PID = _session("pid", "()I")
NEW_ID = _session("newId", "()J")
RAND = _session("rand", "(J)J")

# Guard, Sampler and Depths, which are per thread.

GUARD = _for_session(GUARDS, "enter", "I)I")
LEAVE = _row(GUARDS, "leave", "(I)V", static=True)
ATTRIBUTE = _row(GUARDS, "attribute", "(I)V", static=True)
SAMPLE = _row(SAMPLER, "choose", "(II)I", static=True)
SAMPLE_ENTER = _row(SAMPLER, "enter", "(II)I", static=True)
SAMPLE_LEAVE = _row(SAMPLER, "leave", "(III)V", static=True)
DEPTH_ENTER = _row(DEPTHS, "enter", "(II)I", static=True)
DEPTH_LEAVE = _row(DEPTHS, "leave", "(III)V", static=True)
INDENT = _row(DEPTHS, "indent", "(I)S", static=True)
SELF_TIME_ENTER = _row(SELF_TIMES, "enter", "(II)J", static=True)
SELF_TIME_LEAVE = _row(SELF_TIMES, "leave", "(IIJ)V", static=True)
SELF_TIME_OF = _for_session(SELF_TIMES, "of", "IJJ)J")
SPAN_ENTER = _row(SPANS, "enter", "(II)O", static=True)
SPAN_BEGIN = _row(SPANS, "begin", "(II)O", static=True)
SPAN_LEAVE = _row(SPANS, "leave", "(IIO)V", static=True)
SPAN_TAKE = _row(SPANS, "take", "(O)Z", static=True)
SPAN_TRACE_ID = _for_session(SPANS, "traceId", "O)S", guarded=True)
SPAN_OWN_ID = _for_session(SPANS, "spanId", "O)S", guarded=True)
SPAN_PARENT_ID = _for_session(SPANS, "parentId", "O)S", guarded=True)
SPAN_FLAGS = _for_session(SPANS, "flags", "O)J")
TID = _row(THREADS, "id", "()J", static=True)
IS_VIRTUAL = _row(THREADS, "isVirtual", "()Z", static=True)
THREAD_NAME = _row(THREADS, "name", "()S", static=True, guarded=True)

# Methods of Site.

CLASS_NAME = _for_session(SITES, "className", "I)S")
METHOD_NAME = _for_session(SITES, "methodName", "I)S")
SIGNATURE = _for_session(SITES, "signature", "I)S")
LINE = _for_session(SITES, "line", "I)I")
LOADER = _for_session(SITES, "loader", "I)S")
TARGET_CLASS = _for_session(SITES, "targetClass", "I)S")
TARGET_MEMBER = _for_session(SITES, "targetMember", "I)S")

# Methods of Stack.

STACK = _for_session(STACKS, "here", "I)O", guarded=True)
STACK_OF = _for_session(STACKS, "of", "OI)O", guarded=True)
STACK_WITHOUT = _for_session(STACKS, "hereWithout", "IS)O", guarded=True)
STACK_OF_WITHOUT = _for_session(STACKS, "ofWithout", "OIS)O", guarded=True)
FRAME = _for_session(STACKS, "frameHere", "I)S", guarded=True)
FRAME_OF = _for_session(STACKS, "frameOf", "OI)S", guarded=True)
FRAME_WITHOUT = _for_session(STACKS, "frameHereWithout", "IS)S", guarded=True)
FRAME_OF_WITHOUT = _for_session(STACKS, "frameOfWithout", "OIS)S", guarded=True)

# Objects: Fields, Calls, Elements, Shown.

FIELD = _row(FIELDS, "read", "(OS)O", static=True, guarded=True)
PROPERTY = _row(FIELDS, "property", "(OSS)O", static=True, guarded=True)
CALL = _row(CALLS, "call", "(OS[O)O", static=True, guarded=True)
CAST = _for_session(DYNAMIC, "cast", "OSII)O", guarded=True)
ELEMENT = _for_session(ELEMENTS, "element", "OJI)O", guarded=True)
ENTRY_OF = _for_session(ELEMENTS, "entry", "OOI)O", guarded=True)
ENTRY_OF_ANY = _for_session(ELEMENTS, "entryOfAny", "OOI)O", guarded=True)
ITEMS = _for_session(ELEMENTS, "items", "OIIII)[Ljava/lang/Object;", guarded=True)
CONTAINS_ELEMENT = _row(ELEMENTS, "contains", "(OO)Z", static=True, guarded=True)
SHOW = _row(SHOWN, "of", "(OI)O", static=True, guarded=True)

# Records and Request.

BEGIN = _for_session(RECORDS, "begin", "IIII)J")
BEGIN_OF_SAMPLE = _for_session(RECORDS, "beginOfSample", "IIIIO)J")
WORDS = _for_session(RECORDS, "words", "J)[J")
ABANDON = _for_session(RECORDS, "abandon", "[JJ)V")
POSITION = _row(RECORDS, "position", "(J)I", static=True)
END = _row(RECORDS, "end", "(JI)I", static=True)
PUT_INT = _row(RECORDS, "putInt", "(I[JII)I", static=True)
PUT_LONG = _row(RECORDS, "putLong", "(I[JIJ)I", static=True)
PUT_DOUBLE = _row(RECORDS, "putDouble", "(I[JID)I", static=True)
PUT_BOOLEAN = _row(RECORDS, "putBoolean", "(I[JII)I", static=True)
PUT_CHAR = _row(RECORDS, "putChar", "(I[JII)I", static=True)
PUT = _for_session(RECORDS, "put", "I[JIO)I", guarded=True)
BOUND = _for_session(RECORDS, "bound", "O)I", guarded=True)
COMMIT = _for_session(RECORDS, "commit", "I[JJI)V")
PRINT_MAPS = _for_session(REQUESTS, "printMaps", "IS)V")
EXIT = _for_session(REQUESTS, "exit", "IIII)V")
SEND = _for_session(REQUESTS, "send", "III)V")

# Owners and Jvm.

LOADER_OF = _row(OWNERS, "loader", "(O)S", static=True, guarded=True)
OWNER_NAME = _row(OWNERS, "ownerName", "(O)S", static=True, guarded=True)
THREAD_STATE = _row(OWNERS, "threadState", "(O)S", static=True, guarded=True)

HEAP_USED = _row(JVM, "heapUsed", "()J", static=True, guarded=True)
HEAP_COMMITTED = _row(JVM, "heapCommitted", "()J", static=True, guarded=True)
HEAP_MAX = _row(JVM, "heapMax", "()J", static=True, guarded=True)
NONHEAP_USED = _row(JVM, "nonHeapUsed", "()J", static=True, guarded=True)
POOL_USED = _row(JVM, "poolUsed", "(S)O", static=True, guarded=True)
POOL_MAX = _row(JVM, "poolMax", "(S)O", static=True, guarded=True)
GC_COUNT = _row(JVM, "gcCount", "()J", static=True, guarded=True)
GC_TIME = _row(JVM, "gcTime", "()J", static=True, guarded=True)
UPTIME = _row(JVM, "uptime", "()J", static=True, guarded=True)
CLASSES_LOADED = _row(JVM, "classesLoaded", "()J", static=True, guarded=True)
CLASSES_UNLOADED = _row(JVM, "classesUnloaded", "()J", static=True, guarded=True)
SYSTEM_PROPERTY = _for_session(JVM, "property", "SZ)S", guarded=True)
ENVIRONMENT = _for_session(JVM, "environment", "SZ)S", guarded=True)
VM_ARGUMENTS = _for_session(JVM, "vmArguments", "Z)S", guarded=True)
THREAD_COUNT = _row(JVM, "threadCount", "()J", static=True, guarded=True)
DEADLOCKS = _row(JVM, "deadlocks", "()J", static=True, guarded=True)
CPU_TIME = _row(JVM, "cpuTime", "()O", static=True, guarded=True)
ALLOCATED = _row(JVM, "allocated", "()O", static=True, guarded=True)
HEAP_DUMP = _row(JVM, "heapDump", "(SZ)V", static=True, guarded=True)
PRINT_THREADS = _for_session(JVM, "printThreads", "IIIIZ)V", guarded=True)
PRINT_PROPERTIES = _for_session(JVM, "printProperties", "IIIZ)V", guarded=True)
PRINT_ENVIRONMENT = _for_session(JVM, "printEnvironment", "IIIZ)V", guarded=True)

# Methods of Contexts.

TRACE_ID = _for_session(CONTEXTS, "traceId", "II)S", guarded=True)
SPAN_ID = _for_session(CONTEXTS, "spanId", "II)S", guarded=True)
TRACE_FLAGS = _for_session(CONTEXTS, "traceFlags", "II)O", guarded=True)
BAGGAGE = _for_session(CONTEXTS, "baggage", "SII)S", guarded=True)
MDC = _for_session(CONTEXTS, "mdc", "SII)S", guarded=True)
EXEMPLAR_LONG = _for_session(CONTEXTS, "exemplar", f"L{AGGREGATION};IJII)V", guarded=True)
EXEMPLAR_DOUBLE = _for_session(CONTEXTS, "exemplar", f"L{AGGREGATION};IDII)V", guarded=True)
EXEMPLAR = _for_session(CONTEXTS, "exemplar", f"L{AGGREGATION};IOII)V", guarded=True)

# Methods of Aggregation.

#: More keys than this are passed in an array.
MOST_SINGLE_KEYS = 4


def slot_method(keys: int) -> RuntimeMethod:
    """Claims the slot of a key, for a probe."""
    return _row(AGGREGATION, "slot", f"({_keys(keys)}{'I' if keys else ''})I")


def find_method(keys: int) -> RuntimeMethod:
    """Finds the slot of a key; claims nothing."""
    return _row(AGGREGATION, "find", f"({_keys(keys)})I", guarded=True)


def _keys(count: int) -> str:
    return "O" * count if count <= MOST_SINGLE_KEYS else "[O"


COUNT = _row(AGGREGATION, "count", "(IJ)V")
ADD_LONG = _row(AGGREGATION, "add", "(IJJ)V")
ADD_DOUBLE = _row(AGGREGATION, "add", "(IDJ)V")
ADD = _row(AGGREGATION, "add", "(IOJI)V", guarded=True)
COLLECT = _row(AGGREGATION, "collect", "(IOJI)V", guarded=True)
HAS = _row(AGGREGATION, "has", "(I)Z", guarded=True)
SIZE = _row(AGGREGATION, "size", "()J", guarded=True)
KEYS = _row(AGGREGATION, "keys", "(I)O", guarded=True)
STORE = _row(AGGREGATION, "store", "(IO)V", guarded=True)
UPDATE = _row(AGGREGATION, "update", "(ISO)V", guarded=True)
VALUE = _row(AGGREGATION, "value", "(I)O", guarded=True)
DELETE = _row(AGGREGATION, "delete", "(I)V", guarded=True)
CLEAR = _row(AGGREGATION, "clear", "()V", guarded=True)

#: A bit in an element of the string for PRINT_MAPS: the map is emptied.
FLUSH = 1 << 14

#: Mask for the result of SAMPLE_ENTER: the weight, without the bit for an earlier decision.
WEIGHT_MASK = (1 << 30) - 1

#: The results of FIRED and TESTED: the shift of the weight, the bit for a timed run, and the bit for a run that was not
#: admitted or has ended.
RUN_WEIGHT_SHIFT = 41
RUN_TIMED = 1 << 40
RUN_OVER = -(1 << 63)

#: Operators that ``update`` knows.
UPDATES = frozenset(("+=", "-=", "*=", "/=", "%=", "|=", "&=", "^="))

# Methods of Dynamic.

#: Operators on values whose type is known when the probe fires.
ARITHMETIC = {
    "+": _dynamic("add", "(OO)O"),
    "-": _dynamic("subtract", "(OO)O"),
    "*": _dynamic("multiply", "(OO)O"),
    "/": _dynamic("divide", "(OO)O"),
    "%": _dynamic("remainder", "(OO)O"),
    "&": _dynamic("and", "(OO)O"),
    "|": _dynamic("or", "(OO)O"),
    "^": _dynamic("xor", "(OO)O"),
    "<<": _dynamic("shiftLeft", "(OI)O"),
    ">>": _dynamic("shiftRight", "(OI)O"),
    ">>>": _dynamic("shiftRightUnsigned", "(OI)O"),
}
EXHAUSTED = _dynamic("exhausted", "()V")
NEGATE = _dynamic("negate", "(O)O")
NOT = _dynamic("not", "(O)O")
COMPARE = _dynamic("compare", "(OO)I")
EQUAL = _dynamic("equal", "(OO)Z")
TRUTH = _dynamic("truth", "(O)Z")
TO_INT = _dynamic("toInt", "(O)I")
TO_LONG = _dynamic("toLong", "(O)J")
TO_DOUBLE = _dynamic("toDouble", "(O)D")
TEXT = _dynamic("text", "(O)S")
CONCAT = _dynamic("concat", "(SS)S")
TYPE_NAME = _dynamic("typeName", "(O)S")
IDENTITY = _dynamic("identity", "(O)I")
LENGTH = _dynamic("length", "(O)O")
SHALLOW_SIZE = _dynamic("shallowSize", "(O)O")
MESSAGE = _dynamic("message", "(O)S")
CAUSE = _dynamic("cause", "(O)O")
ENUM_NAME = _dynamic("enumName", "(O)S")
INSTANCE_OF = _dynamic("instanceOf", "(OS)Z")
CONTAINS = _dynamic("contains", "(SS)O")
STARTS_WITH = _dynamic("startsWith", "(SS)O")
ENDS_WITH = _dynamic("endsWith", "(SS)O")
INDEX_OF = _dynamic("indexOf", "(SS)O")
SUBSTRING = _dynamic("substring", "(SII)S")
LOWER = _dynamic("lower", "(S)S")
UPPER = _dynamic("upper", "(S)S")
TRIM = _dynamic("trim", "(S)S")

# Texts, Formats, Patterns.

SPLIT = _texts("split", "(SSI)S")
REPLACE = _texts("replace", "(SSS)S")
TRUNCATE = _texts("truncate", "(SI)S")
LIMITED = _for_session(TEXTS, "limited", "S)S", guarded=True)
HASH = _for_session(TEXTS, "hash", "S)O", guarded=True)
REDACT = _texts("redact", "(S)S")
NORMALIZE_SQL = _texts("normalizeSql", "(S)S")
URL_PATH = _texts("urlPath", "(S)S")
FORMAT = _row(FORMATS, "format", "(OSII)S", static=True, guarded=True)
IN_UNIT = _row(FORMATS, "inUnit", "(OJS)S", static=True, guarded=True)
GLOB = _row(PATTERNS, "glob", "(SS)O", static=True, guarded=True)
AUTOMATON = _row(PATTERNS, "automaton", "(SS)O", static=True, guarded=True)

# Methods of ThreadValues and SharedValues.


@dataclass(frozen=True, slots=True)
class VariableMethods:
    """Access to the variables of a thread or an object; their storage is the first argument."""

    has: RuntimeMethod
    number: RuntimeMethod
    real: RuntimeMethod
    boxed_number: RuntimeMethod
    boxed_real: RuntimeMethod
    value: RuntimeMethod
    set_number: RuntimeMethod
    set_real: RuntimeMethod
    set: RuntimeMethod
    add_number: RuntimeMethod
    add_real: RuntimeMethod


def _variables(owner: str) -> VariableMethods:
    def method(name: str, rest: str, *, guarded: bool = False) -> RuntimeMethod:
        return _row(owner, name, f"(L{owner};{rest}", static=True, guarded=guarded)

    return VariableMethods(
        method("has", "I)Z"),
        method("number", "I)J"),
        method("real", "I)D"),
        method("boxedNumber", "I)O", guarded=True),
        method("boxedReal", "I)O", guarded=True),
        method("value", "I)O", guarded=True),
        method("setNumber", "IJ)V"),
        method("setReal", "ID)V"),
        method("set", f"IOL{SESSION};)V", guarded=True),
        method("addNumber", "IJ)V"),
        method("addReal", "ID)V"),
    )


THREAD_VALUES_TO_CHANGE = _for_session(THREAD_VALUES, "toChange", f"III)L{THREAD_VALUES};")
THREAD_VALUES_NOW = _for_session(THREAD_VALUES, "now", f")L{THREAD_VALUES};")
THREAD_CLEAR = _row(THREAD_VALUES, "clear", f"(L{THREAD_VALUES};)V", static=True)
OBJECT_STATE_TO_CHANGE = _for_session(OBJECT_STATES, "toChange", f"OIII)L{SHARED_VALUES};", guarded=True)
OBJECT_STATE_NOW = _for_session(OBJECT_STATES, "now", f"O)L{SHARED_VALUES};", guarded=True)
OBJECT_STATE_CLEAR = _for_session(OBJECT_STATES, "clear", "O)V", guarded=True)
FLOW_TO_CHANGE = _for_session(FLOWS, "toChange", f"I)L{SHARED_VALUES};")
FLOW_NOW = _for_session(FLOWS, "now", f"I)L{SHARED_VALUES};")
VARIABLES = {
    Scope.THREAD: _variables(THREAD_VALUES),
    Scope.OBJECT: _variables(SHARED_VALUES),
    Scope.FLOW: _variables(SHARED_VALUES),
}

# Methods of Flows.

FLOW_ENTER = _row(FLOWS, "enter", "(II)I", static=True)
FLOW_ENTER_WITHOUT = _row(FLOWS, "enterWithout", "(II)I", static=True)
FLOW_END = _row(FLOWS, "end", "(II)I", static=True)
FLOW_LEAVE = _row(FLOWS, "leave", "(III)V", static=True)
FLOW_BEGIN = _for_session(FLOWS, "begin", "III)V")
FLOW_NONE = _for_session(FLOWS, "none", "III)V")
FLOW_RESUME = _for_session(FLOWS, "resume", "OIII)V", guarded=True)
FLOW_HAND_OVER = _for_session(FLOWS, "handOver", "OII)V", guarded=True)
FLOW_TAKE_BACK = _for_session(FLOWS, "takeBack", "O)V", guarded=True)
FLOW_KEEP = _for_session(FLOWS, "keep", "OII)V", guarded=True)
FLOW_ENTER_OF = _for_session(FLOWS, "enterOf", "OIII)V", guarded=True)
FLOW_ID = _for_session(FLOWS, "id", ")O", guarded=True)
FLOW_PARENT = _for_session(FLOWS, "parent", ")O", guarded=True)
FLOW_ELAPSED = _for_session(FLOWS, "elapsed", ")O", guarded=True)
FLOW_RUNS = _for_session(FLOWS, "runs", ")[Ljava/lang/Object;", guarded=True)
FLOW_IS_NONE = _for_session(FLOWS, "isNone", ")Z")

# The JDK.

NANO_TIME = _row("java/lang/System", "nanoTime", "()J", static=True)  # native: no code in it can be traced
LONG_VALUE_OF = _row("java/lang/Long", "valueOf", "(J)Ljava/lang/Long;", static=True, guarded=True)
DOUBLE_VALUE_OF = _row("java/lang/Double", "valueOf", "(D)Ljava/lang/Double;", static=True, guarded=True)
BOOLEAN_VALUE_OF = _row("java/lang/Boolean", "valueOf", "(Z)Ljava/lang/Boolean;", static=True, guarded=True)
CHARACTER_VALUE_OF = _row("java/lang/Character", "valueOf", "(C)Ljava/lang/Character;", static=True, guarded=True)


def all_methods() -> tuple[RuntimeMethod, ...]:
    """Every method that a handler may call, including methods of the JDK."""
    constants = [value for value in globals().values() if isinstance(value, RuntimeMethod)]
    keyed = [method(keys) for method in (slot_method, find_method) for keys in range(MOST_SINGLE_KEYS + 2)]
    of_variables = [getattr(methods, field.name) for methods in VARIABLES.values() for field in fields(methods)]
    return (*constants, *ARITHMETIC.values(), *keyed, *of_variables)
