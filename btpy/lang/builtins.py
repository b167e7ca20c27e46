"""The words of the probe language, as tables: functions, variables, locations, annotations, aggregations, settings.

The checker, the completion of the prompt and the reference manual read the same rows.
"""

from __future__ import annotations

from enum import Enum

from btpy.dataclass import dataclass
from btpy.lang.inputs import Ambient, Input, InputKind
from btpy.model.maps import MapKind
from btpy.model.points import Point
from btpy.model.templates import SiteFact
from btpy.model.types import (
    ANY,
    BOOLEAN,
    BYTES,
    DOUBLE,
    DURATION,
    INT,
    LONG,
    OBJECT,
    STACK,
    STRING,
    VOID,
    Type,
    array_of,
)

LANGUAGE_VERSION = 1


class Place(Enum):
    """The kind of place where a body runs. It determines the values that the body can use. The value is its name in
    messages."""

    ENTRY = "ENTRY"
    RETURN = "RETURN"
    THROW = "THROW"
    EXIT = "EXIT"
    CALL_BEFORE = "CALL"
    CALL_AFTER = "CALL(when=AFTER)"
    LINE = "LINE"
    NEW = "NEW"
    NEWARRAY = "NEWARRAY"
    FIELD_GET = "FIELD_GET"
    FIELD_SET = "FIELD_SET"
    ARRAY_GET = "ARRAY_GET"
    ARRAY_SET = "ARRAY_SET"
    CAST = "CAST"
    INSTANCEOF = "INSTANCEOF"
    RAISE = "RAISE"
    CATCH = "CATCH"
    SYNC_ENTER_BEFORE = "SYNC_ENTER"
    SYNC_ENTER = "SYNC_ENTER(when=AFTER)"
    SYNC_EXIT = "SYNC_EXIT"
    SYNC_EXIT_AFTER = "SYNC_EXIT(when=AFTER)"
    TIMER = "@OnTimer"
    SAMPLE = "@OnSample"
    BEGIN = "@OnBegin"
    END = "@OnEnd"
    EVENT = "@OnEvent"
    CLASS_LOAD = "@OnClassLoad"
    LOW_MEMORY = "@OnLowMemory"
    FAILURE = "@OnError"
    UNCAUGHT = "@OnUncaught"
    PROBE = "@OnProbe"
    AGENT_PROBE = "@OnProbe of a timer"


OFF_TARGET = frozenset(
    {
        Place.TIMER,
        Place.SAMPLE,
        Place.BEGIN,
        Place.END,
        Place.EVENT,
        Place.CLASS_LOAD,
        Place.LOW_MEMORY,
        Place.FAILURE,
        Place.AGENT_PROBE,
    }
)
ON_TARGET = frozenset(Place) - OFF_TARGET
ON_STACKS = ON_TARGET | {Place.SAMPLE}
"""Places with a stack of the traced program. At other places a body runs on a thread of btpy."""

IN_METHODS = ON_TARGET - {Place.PROBE}
EVERYWHERE = frozenset(Place)


# Variables.


@dataclass(frozen=True, slots=True)
class Variable:
    """``type``: the type that is known without the traced method. ``known_at``: the places where it is known, in words
    for messages; empty: all places of the traced program.
    """

    name: str
    type: Type
    places: frozenset[Place]
    doc: str
    known_at: str = ""
    source: Ambient | SiteFact | None = None


EXITS = frozenset({Place.RETURN, Place.THROW, Place.EXIT})
_CALLS = frozenset({Place.CALL_BEFORE, Place.CALL_AFTER})
_FIELDS = frozenset({Place.FIELD_GET, Place.FIELD_SET})
_ELEMENTS = frozenset({Place.ARRAY_GET, Place.ARRAY_SET})
_TYPES = frozenset({Place.CAST, Place.INSTANCEOF})
_NEWS = frozenset({Place.NEW, Place.NEWARRAY})
_SYNCS = frozenset({Place.SYNC_ENTER_BEFORE, Place.SYNC_ENTER, Place.SYNC_EXIT, Place.SYNC_EXIT_AFTER})
_RESULT = frozenset({Place.RETURN, Place.EXIT, Place.CALL_AFTER, Place.FIELD_GET, Place.ARRAY_GET, Place.INSTANCEOF})
_THROWN = frozenset({Place.THROW, Place.EXIT, Place.CALL_AFTER, Place.RAISE, Place.CATCH, Place.UNCAUGHT})
FRAME_PLACES = frozenset({Place.LINE, Place.RAISE, Place.CATCH})
"""The places where a probe can read the local variables of the traced method: places inside of it."""
FRAME_POINTS = frozenset({Point.LINE, Point.RAISE, Point.CATCH})
_TIMED = EXITS | {Place.LINE, Place.CALL_AFTER, Place.SYNC_ENTER}

VARIABLES = {
    variable.name: variable
    for variable in (
        Variable("self", OBJECT, IN_METHODS, "the receiver; null in a static method"),
        Variable("args", ANY, IN_METHODS, "all arguments"),
        Variable(
            "retval",
            ANY,
            _RESULT,
            "the value returned, read or tested; null when an exception was thrown instead",
            "RETURN, EXIT, FIELD_GET, ARRAY_GET, INSTANCEOF, and after a CALL",
        ),
        Variable(
            "exception",
            OBJECT,
            _THROWN,
            "the exception; null when the method returned",
            "THROW, EXIT, RAISE, CATCH, @OnUncaught, and after a CALL",
        ),
        Variable(
            "duration",
            DURATION,
            _TIMED,
            "time since the method began; after CALL: duration of the call; after SYNC_ENTER: duration of the wait",
            "RETURN, THROW, EXIT, LINE, and after a CALL or a SYNC_ENTER",
        ),
        Variable(
            "depth",
            INT,
            IN_METHODS,
            "number of enclosing activations of this probe's methods on this thread; 0 is outermost",
        ),
        Variable(
            "indent",
            STRING,
            IN_METHODS,
            "two blanks for each enclosing activation, so that a method is printed to the right of its caller",
        ),
        Variable(
            "self_time",
            DURATION,
            EXITS,
            "duration, minus the durations of the traced methods that this method has called",
            "RETURN, THROW and EXIT",
        ),
        Variable("cls", STRING, ON_TARGET | {Place.CLASS_LOAD}, "name of the class", source=SiteFact.CLS),
        Variable("method", STRING, ON_TARGET, "name of the method", source=SiteFact.METHOD),
        Variable("signature", STRING, ON_TARGET, "parameter and return types of the method", source=SiteFact.SIGNATURE),
        Variable("line", INT, ON_TARGET, "source line", source=SiteFact.LINE),
        Variable("probe", STRING, EVERYWHERE, "name of the probe", source=SiteFact.PROBE),
        Variable("loader", STRING, ON_TARGET | {Place.CLASS_LOAD}, "class loader of the class", source=SiteFact.LOADER),
        Variable("tid", LONG, EVERYWHERE, "id of the thread", source=Ambient.TID),
        Variable("thread_name", STRING, EVERYWHERE, "name of the thread", source=Ambient.THREAD_NAME),
        Variable("is_virtual", BOOLEAN, EVERYWHERE, "whether the thread is virtual", source=Ambient.IS_VIRTUAL),
        Variable("now", LONG, EVERYWHERE, "wall clock, nanoseconds since 1970", source=Ambient.NOW),
        Variable(
            "flow",
            ANY,
            ON_TARGET,
            "the unit of work of the thread: flow.id, flow.parent and flow.elapsed (null outside of a flow), and"
            " values that probes have set as flow.name",
        ),
        Variable("nanos", LONG, EVERYWHERE, "System.nanoTime()", source=Ambient.NANOS),
        Variable("pid", INT, EVERYWHERE, "process id", source=Ambient.PID),
        Variable("elapsed", DURATION, EVERYWHERE, "time since the session began", source=Ambient.ELAPSED),
        Variable(
            "trace_id",
            STRING,
            ON_TARGET,
            "trace of the thread's current span (OpenTelemetry, Brave, Datadog), 32 hexadecimal digits; null when "
            "there is none",
            source=Ambient.TRACE_ID,
        ),
        Variable(
            "span_id",
            STRING,
            ON_TARGET,
            "the thread's current span, 16 hexadecimal digits; null when there is none",
            source=Ambient.SPAN_ID,
        ),
        Variable(
            "trace_flags",
            INT.or_null(),
            ON_TARGET,
            "flags of the thread's current span: 1 says that its trace is sampled; null when there is none",
            source=Ambient.TRACE_FLAGS,
        ),
        Variable(
            "target",
            OBJECT,
            _CALLS | _NEWS | _FIELDS | _ELEMENTS | _TYPES,
            "the object or value of the operation: receiver of the call (null when static, or not constructed yet),"
            " owner of the field (null when static), new object, array, value that is cast or tested",
            "CALL, NEW, NEWARRAY, FIELD_GET, FIELD_SET, ARRAY_GET, ARRAY_SET, CAST and INSTANCEOF",
        ),
        Variable("targs", ANY, _CALLS, "all arguments of the call", "CALL"),
        Variable(
            "target_class",
            STRING,
            _CALLS | _NEWS | _FIELDS | _TYPES,
            "class that the code names: class of the method or field, of the new object, of the cast or test",
            "CALL, NEW, NEWARRAY, FIELD_GET, FIELD_SET, CAST and INSTANCEOF",
            source=SiteFact.TARGET_CLASS,
        ),
        Variable("target_method", STRING, _CALLS, "name of the called method", "CALL", source=SiteFact.TARGET_METHOD),
        Variable("field", STRING, _FIELDS, "name of the field", "FIELD_GET and FIELD_SET", source=SiteFact.FIELD),
        Variable(
            "oldval",
            ANY,
            frozenset({Place.FIELD_SET}),
            "value before the write",
            "FIELD_SET",
        ),
        Variable(
            "newval",
            ANY,
            frozenset({Place.FIELD_SET, Place.ARRAY_SET}),
            "value that is written",
            "FIELD_SET and ARRAY_SET",
        ),
        Variable("index", INT, _ELEMENTS, "index into the array", "ARRAY_GET and ARRAY_SET"),
        Variable(
            "size",
            BYTES,
            frozenset({Place.NEWARRAY, Place.CLASS_LOAD}),
            "bytes of the class file, or of the new array and the arrays in it (16 for a header, 4 for a reference)",
            "NEWARRAY and @OnClassLoad",
        ),
        Variable(
            "length", INT, frozenset({Place.NEWARRAY}), "length of the new array, in its first dimension", "NEWARRAY"
        ),
        Variable("lock", OBJECT, _SYNCS, "the monitor", "SYNC_ENTER and SYNC_EXIT"),
        Variable(
            "event",
            ANY,
            frozenset({Place.PROBE, Place.AGENT_PROBE}),
            "values that a library probe provides",
            "@OnProbe",
        ),
        Variable(
            "state",
            STRING,
            frozenset({Place.SAMPLE}),
            "state of the sampled thread: RUNNABLE, BLOCKED, WAITING or TIMED_WAITING",
            "@OnSample",
        ),
        Variable(
            "cpu",
            DURATION,
            frozenset({Place.SAMPLE}),
            "processor time of the sampled thread that this sample stands for",
            "@OnSample",
        ),
        Variable("pool", STRING, frozenset({Place.LOW_MEMORY}), "name of the memory pool", "@OnLowMemory"),
        Variable("used", BYTES, frozenset({Place.LOW_MEMORY}), "bytes of the pool in use", "@OnLowMemory"),
        Variable("limit", BYTES, frozenset({Place.LOW_MEMORY}), "bytes that the pool can grow to", "@OnLowMemory"),
        Variable(
            "error",
            ANY,
            frozenset({Place.FAILURE}),
            "the failure of a probe: error.kind, error.line, error.count, error.message",
            "@OnError",
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Fact:
    """The values that a probe gets about an event. ``name`` as scripts spell it: a variable, or a field of
    ``error``."""

    name: str
    type: Type
    doc: str


SAMPLED_STACK = "(stack)"
SAMPLED_WEIGHT = "(weight)"
"""Facts of a sample that scripts use through ``stack()``, ``frame(n)`` and ``count()``, not by name."""

FACTS = {
    Place.SAMPLE: (
        Fact(SAMPLED_STACK, OBJECT, "an exception whose trace is the stack of the sampled thread"),
        Fact(SAMPLED_WEIGHT, LONG, "the number of samples that this sample stands for"),
        Fact("tid", LONG, "id of the sampled thread"),
        Fact("thread_name", STRING, "its name"),
        Fact("is_virtual", BOOLEAN, "always false, because only platform threads are sampled"),
        Fact("state", STRING, "its state"),
        Fact("cpu", DURATION, "processor time that each sample stands for"),
    ),
    Place.CLASS_LOAD: (
        Fact("cls", STRING, "name of the class that is being loaded"),
        Fact("loader", STRING, "its class loader"),
        Fact("size", BYTES, "bytes of its class file"),
    ),
    Place.LOW_MEMORY: (
        Fact("pool", STRING, "name of the memory pool"),
        Fact("used", BYTES, "bytes of the pool in use"),
        Fact("limit", BYTES, "bytes that the pool can grow to"),
    ),
    Place.FAILURE: (
        Fact("error.kind", STRING, "null-operand, bad-cast, index, div-zero, …"),
        Fact("error.line", INT, "line of the script; 0 where it is not known"),
        Fact("error.count", LONG, "errors of this kind at this place since the last report"),
        Fact("error.message", STRING, "text of the last error"),
    ),
}
"""The facts in the order of the agent (docs/protocol.md, HOOK)."""


def sample_fact(name: str) -> Input:
    """The input by which a handler gets this fact of a sample."""
    return fact_input([fact.name for fact in FACTS[Place.SAMPLE]].index(name))


def fact_input(index: int) -> Input:
    """The input by which a handler gets fact number ``index`` from the agent."""
    return Input(InputKind.FACT, index, "Ljava/lang/Object;")


# Functions.


class Group(Enum):
    INSPECT = "inspect"
    STRINGS = "strings"
    STACKS = "stacks"
    TIME = "time"
    IDENTITY = "identity"
    CONTEXT = "context"
    OUTPUT = "output"
    JVM = "jvm"
    MAPS = "maps"
    FLOW = "flow"
    COMPILE_TIME = "compile-time"


@dataclass(frozen=True, slots=True)
class Parameter:
    """``default``: None if the parameter is required."""

    name: str
    type: Type
    default: int | str | None = None


@dataclass(frozen=True, slots=True)
class Signature:
    parameters: tuple[Parameter, ...]

    @property
    def required_count(self) -> int:
        return sum(parameter.default is None for parameter in self.parameters)

    def takes(self, arguments: int) -> bool:
        """Whether a call may have this number of arguments."""
        return self.required_count <= arguments <= len(self.parameters)


@dataclass(frozen=True, slots=True)
class Function:
    """``synopsis`` begins with the name. ``statement``: it has an effect and no value. If ``signatures`` is empty, the
    checker itself checks the arguments. ``places``: where it may stand. ``redacts``: its last argument says whether
    secrets are hidden. ``allow``: the capability that it needs."""

    group: Group
    synopsis: str
    doc: str
    signatures: tuple[Signature, ...] = ()
    result: Type = VOID
    statement: bool = False
    places: frozenset[Place] = EVERYWHERE
    redacts: bool = False
    allow: str = ""

    @property
    def name(self) -> str:
        return self.synopsis.partition("(")[0]

    def takes(self, arguments: int) -> bool:
        """Whether the signatures allow this number of arguments."""
        return not self.signatures or any(signature.takes(arguments) for signature in self.signatures)


def _signature(*parameters: Parameter) -> Signature:
    return Signature(parameters)


def _function(
    group: Group,
    synopsis: str,
    doc: str,
    result: Type,
    *parameters: Parameter,
    places: frozenset[Place] = EVERYWHERE,
    redacts: bool = False,
) -> Function:
    """A function with a value and one signature."""
    return Function(group, synopsis, doc, (Signature(parameters),), result, places=places, redacts=redacts)


def _statement(
    group: Group,
    synopsis: str,
    doc: str,
    *signatures: Signature,
    places: frozenset[Place] = EVERYWHERE,
    redacts: bool = False,
    allow: str = "",
) -> Function:
    return Function(group, synopsis, doc, signatures, VOID, True, places, redacts, allow)


_VALUE = Parameter("value", ANY)
_TEXT = Parameter("text", STRING)
_PART = Parameter("part", STRING)
_THROWABLE = Parameter("exception", OBJECT)
_OBJECT = Parameter("object", OBJECT)
_FRAMES = Parameter("frames", INT, 32)
_SKIP = Parameter("skip", STRING, "")
_INT_MAX = (1 << 31) - 1


FLOW_CHANGES = frozenset(
    ("begin_flow", "leave_flow", "hand_over_flow", "resume_flow", "take_back_flow", "keep_flow", "enter_flow")
)
"""Functions that change the flow of a thread, or hand it over."""

FLOW_RUNS = "flow_runs"
"""Name of the function that says what other threads did for a flow."""

STATE = "state"
"""Name of the function whose result has the variables of an object."""

MATCHES = "matches"
"""Name of the function that the operator ``=~`` calls."""

_NAME = Parameter("name", STRING)


def _of_text(synopsis: str, doc: str, result: Type, *parameters: Parameter) -> Function:
    """A function whose first parameter is a text."""
    return _function(Group.STRINGS, synopsis, doc, result, _TEXT, *parameters)


def _of_flow(name: str, object_: str, doc: str) -> Function:
    parameters = (Parameter(object_, OBJECT),) if object_ else ()
    return _statement(Group.FLOW, f"{name}({object_})", doc, Signature(parameters))


def _jvm(
    synopsis: str, doc: str, result: Type, *parameters: Parameter, everywhere: bool = False, redacts: bool = False
) -> Function:
    """A number about the whole JVM. Only the agent's thread reads it, except numbers that can be read very fast."""
    places = EVERYWHERE if everywhere else OFF_TARGET
    return _function(Group.JVM, synopsis, doc, result, *parameters, places=places, redacts=redacts)


def _listing(synopsis: str, doc: str, *parameters: Parameter, redacts: bool = False) -> Function:
    return _statement(Group.JVM, synopsis, doc, Signature(parameters), places=OFF_TARGET, redacts=redacts)


_JVM_FUNCTIONS = (
    _jvm("heap_used()", "bytes of the heap in use", BYTES, everywhere=True),
    _jvm("heap_committed()", "bytes that the JVM has got from the system for the heap", BYTES, everywhere=True),
    _jvm("heap_max()", "bytes that the heap can grow to", BYTES, everywhere=True),
    _jvm("nonheap_used()", "bytes in use outside the heap: metaspace, code cache", BYTES),
    _jvm("pool_used(name)", "bytes of a memory pool in use; null when no pool has that name", BYTES.or_null(), _NAME),
    _jvm("pool_max(name)", "bytes that a memory pool can grow to; null when it is not bounded", BYTES.or_null(), _NAME),
    _jvm("gc_count()", "collections so far, of all collectors", LONG),
    _jvm("gc_time()", "time that collections have taken, of all collectors", DURATION),
    _jvm("thread_count()", "live platform threads", LONG),
    _jvm("deadlocks()", "threads that wait for each other in a circle", LONG),
    _jvm(
        "lock_waits()",
        "a sample of the platform threads that wait for a lock of another thread: objects with thread,"
        " tid, lock, id, monitor, site, stack, owner, ownerSite, ownerStack, first, sampled and waited",
        ANY,
    ),
    _jvm("classes_loaded()", "classes that are loaded", LONG),
    _jvm("classes_unloaded()", "classes that were unloaded so far", LONG),
    _jvm("uptime()", "time since the JVM started", DURATION),
    _jvm("vm_arguments()", "options that the JVM was started with", STRING, redacts=True),
    _jvm("property(name)", "a system property; null when it is not set", STRING, _NAME, redacts=True),
    _jvm("environment(name)", "a variable of the environment; null when it is not set", STRING, _NAME, redacts=True),
    _jvm("cpu_time()", "processor time of this thread; null for a virtual thread", DURATION.or_null(), everywhere=True),
    _jvm(
        "allocated()",
        "bytes that this thread has allocated; null for a virtual thread",
        BYTES.or_null(),
        everywhere=True,
    ),
    _listing("print_threads(frames=32)", "all platform threads: state, lock, its owner, stack", _FRAMES),
    _listing("print_deadlocks(frames=32)", "the threads that wait for each other in a circle", _FRAMES),
    _listing("print_properties()", "all system properties", redacts=True),
    _listing("print_environment()", "all variables of the environment", redacts=True),
    _statement(
        Group.JVM,
        'heap_dump("/path/name.hprof", live=true)',
        "writes a heap dump on the machine of the JVM; live: only reachable objects. Stops the JVM during the dump",
        _signature(Parameter("file", STRING), Parameter("live", BOOLEAN, 1)),
        places=OFF_TARGET,
        allow="heap-dump",
    ),
)

SHOWN = ("show", "fields")
"""Functions whose value can only be printed; ``fields`` prints an object without its class."""

WARMED = ("cpu_time", "allocated")
"""Functions that load classes. The agent's thread calls them once before a thread of the target does."""

STRFTIME = "strftime"
"""Name of the function whose format the client applies."""

BAGGAGE = "baggage"
MDC = "mdc"
OF_CONTEXT = (BAGGAGE, MDC)
"""Functions that look up a constant key in the context of the running thread."""

JFR = "jfr"
SPECULATE = "speculate"

LOCALS = "locals"
"""Name of the function that stands for all live local variables."""

FLUSH = "flush"
"""Name of the function that shows a map and empties it."""

EMPTYING = ("clear", FLUSH)
"""Names of the functions that empty a whole map."""

FUNCTIONS = {
    function.name: function
    for function in (
        _function(Group.INSPECT, "typeof(value)", "class name of the value; null for null", STRING, _VALUE),
        _function(Group.INSPECT, "id(value)", "identity hash code; 0 for null", INT, _VALUE),
        _function(Group.INSPECT, "len(value)", "length of a string, array or known collection", INT.or_null(), _VALUE),
        _function(Group.INSPECT, "enum_name(value)", "name of an enum constant", STRING, _VALUE),
        _function(Group.INSPECT, "message(exception)", "message of an exception", STRING, _THROWABLE),
        _function(Group.INSPECT, "cause(exception)", "cause of an exception", OBJECT, _THROWABLE),
        _function(
            Group.INSPECT, "shallow_size(value)", "bytes of the object alone; null for null", BYTES.or_null(), _VALUE
        ),
        _function(
            Group.INSPECT,
            "fields(value, depth=1)",
            "the fields of an object, to be printed; depth: how many levels of nested objects are printed",
            ANY,
            _VALUE,
            Parameter("depth", INT, 1),
        ),
        Function(
            Group.INSPECT,
            "locals()",
            "local variables that are live at a line, a throw statement or a catch block, with their names",
            result=ANY,
        ),
        _function(
            Group.INSPECT,
            "show(value, depth=2)",
            "an object with its fields, to be printed; depth: how many levels of nested objects are printed",
            ANY,
            _VALUE,
            Parameter("depth", INT, 2),
        ),
        _function(
            Group.INSPECT,
            "owner_name(lock)",
            "name of the thread that holds a lock of java.util.concurrent; null for a monitor, because the"
            " JVM does not tell its owner",
            STRING,
            Parameter("lock", OBJECT),
        ),
        _function(
            Group.INSPECT,
            "loader_of(value)",
            "class loader of the value's class: boot, platform, app, or Class@hash",
            STRING,
            _VALUE,
        ),
        _function(
            Group.INSPECT,
            "thread_state(thread)",
            "NEW, RUNNABLE, BLOCKED, WAITING, TIMED_WAITING, TERMINATED, or VIRTUAL",
            STRING,
            Parameter("thread", OBJECT),
        ),
        *_JVM_FUNCTIONS,
        _of_text(
            "substr(text, start, end)",
            "the characters from start (inclusive, counted from 0) to end (exclusive), as far as they exist",
            STRING,
            Parameter("start", INT),
            Parameter("end", INT, _INT_MAX),
        ),
        _of_text(
            "startswith(text, part)",
            "whether the text begins with the part; null for a null text",
            BOOLEAN.or_null(),
            _PART,
        ),
        _of_text(
            "endswith(text, part)",
            "whether the text ends with the part; null for a null text",
            BOOLEAN.or_null(),
            _PART,
        ),
        _of_text(
            "contains(text, part)",
            "whether the part occurs in the text; null for a null text",
            BOOLEAN.or_null(),
            _PART,
        ),
        _of_text(
            "indexof(text, part)",
            "the index of the first occurrence, from 0; null if there is none, or for a null text",
            INT.or_null(),
            _PART,
        ),
        _of_text("lower(text)", "the text in lower case, independent of the locale", STRING),
        _of_text("upper(text)", "the text in upper case, independent of the locale", STRING),
        _of_text("trim(text)", "the text without blanks at both ends", STRING),
        _of_text(
            "split(text, separator, n)",
            "part n between separators, counted from 0, or from the end when n is negative; null when there is none",
            STRING,
            Parameter("separator", STRING),
            Parameter("n", INT),
        ),
        _of_text(
            "replace(text, from, to)",
            "the text with every occurrence of from replaced by to",
            STRING,
            Parameter("from", STRING),
            Parameter("to", STRING),
        ),
        _of_text(
            "matches(text, pattern)",
            "whether a glob or a constant /regex/ matches all of the text; null for null; =~ does the same",
            BOOLEAN.or_null(),
            Parameter("pattern", STRING),
        ),
        _of_text(
            "hash(text)",
            "a number that is the same for equal texts, in all JVMs of one run of btpy; another run has other numbers",
            LONG.or_null(),
        ),
        _of_text("truncate(text, n)", "the text, cut after n characters", STRING, Parameter("n", INT)),
        _of_text("normalize_sql(text)", "SQL with ? for literals and for lists of literals, without comments", STRING),
        _of_text("url_path(text)", "path of a URL with {id} for numbers, hashes and UUIDs", STRING),
        _of_text("redact(text)", "••• in place of the text: nothing of it can be seen", STRING),
        Function(
            Group.STACKS,
            'stack(frames=32) stack(exception, frames=32) stack(frames, skip="java.*,jdk.*")',
            "stack of this thread or of an exception; skip: globs of classes to leave out, !globs to keep",
            (_signature(_FRAMES, _SKIP), _signature(_THROWABLE, _FRAMES, _SKIP)),
            STACK,
        ),
        Function(
            Group.STACKS,
            'frame(n) frame(exception, n) frame(n, skip="java.*,jdk.*")',
            "frame n as Class.method:line; 0 is the traced method; skip: globs of classes whose frames are not counted",
            (_signature(Parameter("n", INT), _SKIP), _signature(_THROWABLE, Parameter("n", INT), _SKIP)),
            STRING,
        ),
        Function(
            Group.STACKS,
            "app_frame(n=0) app_frame(exception, n=0)",
            "like frame(n), but skips frames of the JDK, of frameworks and drivers, and of generated classes",
            (_signature(Parameter("n", INT, 0)), _signature(_THROWABLE, Parameter("n", INT, 0))),
            STRING,
        ),
        _function(Group.STACKS, "caller()", "the caller of the traced method: frame(1)", STRING),
        _function(
            Group.TIME,
            "strftime(format, time=now)",
            "a point in time as text, in the time zone of btpy; only for printing",
            STRING,
            Parameter("format", STRING),
            Parameter("time", LONG, 0),
        ),
        Function(Group.TIME, "entry(expression)", "value that the expression had at method entry", result=ANY),
        _function(Group.IDENTITY, "new_id()", "a new number for each call, from 1", LONG),
        _function(Group.IDENTITY, "rand(n)", "random number from 0 to below n", LONG, Parameter("n", LONG)),
        _function(
            Group.CONTEXT,
            'baggage("key")',
            "value of the thread's current baggage (OpenTelemetry, Brave, Datadog); null when there is none",
            STRING,
            Parameter("key", STRING),
            places=ON_TARGET,
        ),
        _function(
            Group.CONTEXT,
            'mdc("key")',
            "value of the thread's diagnostic context (Logback, Log4j 2, SLF4J's own); null when there is none",
            STRING,
            Parameter("key", STRING),
            places=ON_TARGET,
        ),
        _statement(
            Group.OUTPUT, "print(value, …) print(@map, top=, by=, desc=, unit=, scale=, min=)", "one line of output"
        ),
        _statement(Group.OUTPUT, "printf(format, value, …)", "one line of output, formatted as in C"),
        _statement(Group.OUTPUT, "emit(kind, name=value, …)", "one event with named values"),
        _statement(
            Group.OUTPUT,
            "span(name, key=value, …)",
            "writes the activation that ends as a span of the trace that was current when it began",
            places=EXITS,
        ),
        _statement(
            Group.OUTPUT, "jfr(name, key=value, …)", "one typed event in the recordings of JFR that run in the target"
        ),
        _statement(
            Group.OUTPUT,
            "table(@map, @map, …, top=, by=, desc=, unit=, min=)",
            "maps joined on their keys, with a column for each map",
        ),
        _statement(Group.OUTPUT, "plot(@map, top=, by=, desc=, unit=, scale=, min=)", "a map as a chart"),
        _statement(Group.OUTPUT, "warn(value, …)", "one line on standard error"),
        _statement(Group.OUTPUT, "exit(code=0)", "ends the session"),
        _statement(Group.MAPS, "clear(@map)", "removes all keys"),
        Function(
            Group.MAPS,
            "flush(@map)",
            "inside print, plot and table: shows the map and empties it, so later samples are in the next output",
        ),
        Function(Group.MAPS, "keys(@map)", "the keys, as a list", result=array_of(ANY), places=OFF_TARGET),
        Function(Group.MAPS, "size(@map)", "number of keys", result=LONG, places=OFF_TARGET),
        Function(
            Group.MAPS,
            "rate(@map)",
            "growth of a sum, or of the number of samples, per second since this probe last asked, or since the start",
            result=DOUBLE,
            places=OFF_TARGET,
        ),
        Function(Group.MAPS, "has(@map, key, …)", "whether the map has the key", result=BOOLEAN),
        _statement(Group.FLOW, "skip()", "ends this firing"),
        _statement(Group.FLOW, "disable()", "disables this probe"),
        _statement(
            Group.FLOW,
            "speculate(id)",
            "holds back all later output of this firing until commit(id); speculate(null) ends the holding",
            _signature(_VALUE),
        ),
        _statement(Group.FLOW, "commit(id)", "prints the texts that were held back, in order", _signature(_VALUE)),
        _statement(Group.FLOW, "discard(id)", "drops the texts that were held back", _signature(_VALUE)),
        _statement(Group.FLOW, "provide(name=value, …)", "values for the subscribers of this probe"),
        _statement(Group.FLOW, "clear_thread()", "forgets all thread.x of this thread"),
        _function(
            Group.IDENTITY,
            "state(object).name",
            "a variable that each object has for itself; does not keep the object alive",
            VOID,
            _OBJECT,
        ),
        _statement(Group.FLOW, "clear_state(object)", "forgets all state(object).x of the object", _signature(_OBJECT)),
        _of_flow("begin_flow", "", "the thread begins a unit of work; at ENTRY: the unit ends with the method"),
        _of_flow("leave_flow", "", "the thread works for no flow; at ENTRY: until the method ends"),
        _of_flow("hand_over_flow", "task", "remembers the current flow with an object, for another thread"),
        _of_flow("resume_flow", "task", "the thread works for the object's flow; at ENTRY: until the method ends"),
        _of_flow("take_back_flow", "task", "undoes hand_over_flow, after the task was refused"),
        _of_flow("keep_flow", "object", "the object belongs to the current flow, or to none, as long as it lives"),
        _of_flow("enter_flow", "object", "the thread works for the flow that the object belongs to, or for none"),
        _function(
            Group.FLOW,
            "flow_runs()",
            "the work of other threads for the current flow so far, at most 256 runs: objects with number, by, thread,"
            " tid, handedOver, began, ended and running; null outside of a flow",
            ANY,
            places=ON_TARGET,
        ),
        _statement(Group.FLOW, 'send("event")', "runs the @OnEvent probes of that name"),
        _statement(Group.COMPILE_TIME, "static_check(condition, message)", "fails the check of the script"),
    )
}


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the grammar. ``synopsis``: the forms in which it is used."""

    name: str
    synopsis: str
    doc: str


KEYWORDS: dict[str, Word] = {
    variable.name: variable
    for variable in (
        Word("btpy", "btpy 1;", "the version of the language, at the beginning; may be left out"),
        Word("import", "import LIBRARY(name=value) as alias;", "the names of a library; runs none of its probes"),
        Word("use", "use LIBRARY(name=value);", "runs the probes of a library"),
        Word(
            "as",
            "… as name",
            "the name of a probe or of an import; `value as Type` is the value, or null where it is of another type",
        ),
        Word("param", 'param name: type = default "help";', "a constant that the command line can set: --name VALUE"),
        Word("config", "config { name = value; … }", "settings of the run"),
        Word(
            "map", "map @name[types] = lru(size);", "sets the types and the size of a map; a map needs no declaration"
        ),
        Word(
            "fn", "fn name(type a, …): type = value;  or { … }", "a function; its body is inserted where it is called"
        ),
        Word("probe", "@OnMethod(…) probe name { … }", "names a probe, for @OnProbe, the summary and the prompt"),
        Word(
            "when", "… when condition { … }", "fires only if the condition is true; costs almost nothing if it is false"
        ),
        Word("let", "let x = value;", "a variable of this firing"),
        Word("if", "if c { … } else if d { … } else { … }", "the braces are required"),
        Word("else", "if c { … } else { … }", "statements that run if the condition is false"),
        Word(
            "for",
            "for x in items limit 20 { … }",
            "a loop through arrays, collections of java.util, maps and ranges; it ends at its limit",
        ),
        Word("in", "for x in items { … }", "the collection of a loop; `key in @map` and `x in list` are conditions"),
        Word(
            "limit",
            "for x in items limit 20 { … }",
            "the number of elements that a loop visits: 100 by default, at most 1,000",
        ),
        Word("delete", "delete @name[key];", "removes a key from a map"),
        Word("return", "return;  return value;", "ends this firing, or gives the value of a function"),
        Word("instanceof", "value instanceof Type", "whether the value is of the type"),
        Word(
            "thread",
            "thread.name = value;  thread.name",
            "a variable that each thread has for itself; thread_name is the name of the thread",
        ),
    )
}

QUANTIFIERS: dict[str, Word] = {
    function.name: function
    for function in (
        Word("any", "any(x in items: condition)", "whether the condition is true for at least one element"),
        Word("all", "all(x in items: condition)", "whether the condition is true for every element"),
        Word("none", "none(x in items: condition)", "whether the condition is true for no element"),
        Word("first", "first(x in items: condition)", "the first element for which the condition is true, or null"),
    )
}

INDENT, SELF_TIME = "indent", "self time"
"""Names of calls that a script can write only as variables."""

SPAN_TAKE, SPAN_TRACE_ID, SPAN_OWN_ID, SPAN_PARENT_ID, SPAN_FLAGS = (
    "take span",
    "trace id of span",
    "id of span",
    "parent id of span",
    "flags of span",
)
"""Names of calls that ``span(…)`` makes: to learn whether the span is written now, and to read its values."""

INSTANCE_OF, GLOB, AUTOMATON, STACK_WITHOUT = "instanceof", "=~ glob", "=~ regex", "stack without"
FRAME_WITHOUT = "frame without"
MEMBER, ENTRY_OF = "in", "entry of"
"""Internal names of operations, which a script cannot call by name: ``x instanceof T``; ``text =~ pattern`` with a
glob, and with a table of :mod:`btpy.automaton`; ``stack`` and ``frame`` with ``skip=``; ``x in container`` (the
container is the first operand); ``x[key]`` with a key that is possibly not an integer."""

MAX_STATEMENTS = 1000
"""The largest number of statements of one body, and of statements that one firing runs."""

MAX_ELEMENTS = 1000
"""The largest number of elements that a loop visits."""

DEFAULT_ELEMENTS = 100


# Aggregations.


@dataclass(frozen=True, slots=True)
class Aggregation:
    """``synopsis`` begins with the name. ``sampled``: the aggregation takes a value; ``of_any_type``: the value has any
    type, otherwise it is a number. ``parameters``: constants after the value."""

    synopsis: str
    doc: str
    kind: MapKind
    parameters: tuple[Parameter, ...] = ()
    sampled: bool = True
    of_any_type: bool = False

    @property
    def name(self) -> str:
        return self.synopsis.partition("(")[0]


AGGREGATIONS = {
    aggregation.name: aggregation
    for aggregation in (
        Aggregation("count()", "how often", MapKind.COUNT, sampled=False),
        Aggregation("sum(value)", "total", MapKind.SUM),
        Aggregation("avg(value)", "mean", MapKind.AVG),
        Aggregation("min(value)", "smallest", MapKind.MIN),
        Aggregation("max(value)", "largest", MapKind.MAX),
        Aggregation("stats(value)", "count, mean, smallest, largest, total", MapKind.STATS),
        Aggregation(
            "hist(value, k=2)",
            "distribution: 2**k buckets for each power of two",
            MapKind.HIST,
            (Parameter("k", INT, 2),),
        ),
        Aggregation(
            "lhist(value, min, max, step)",
            "distribution in equal steps from min (inclusive) to max (exclusive)",
            MapKind.LHIST,
            (Parameter("min", ANY), Parameter("max", ANY), Parameter("step", ANY)),
        ),
        Aggregation(
            "pctl(value, 50, 90, 99)",
            "percentiles with an error of at most 2.2 %, from the buckets of hist(value, k=4)",
            MapKind.PCTL,
        ),
        Aggregation(
            'tseries(value, interval=1s, windows=60, operator="sum")',
            "values over time: sum, avg, min, max or count of each of the last intervals",
            MapKind.TSERIES,
            (Parameter("interval", DURATION, 0), Parameter("windows", INT, 0), Parameter("operator", STRING, 0)),
        ),
        Aggregation(
            "topk(value, n=10)",
            "the n most frequent values, with bounds of their counts",
            MapKind.TOPK,
            (Parameter("n", INT, 10),),
            of_any_type=True,
        ),
        Aggregation(
            "distinct(value)",
            "number of different values, estimated: standard error 2.3 %, no bias",
            MapKind.DISTINCT,
            of_any_type=True,
        ),
        Aggregation("first(value)", "the first value", MapKind.FIRST, of_any_type=True),
        Aggregation("last(value)", "the last value", MapKind.LAST, of_any_type=True),
        Aggregation(
            "sample_of(value, n=5)",
            "n values picked at random",
            MapKind.SAMPLE_OF,
            (Parameter("n", INT, 5),),
            of_any_type=True,
        ),
    )
}

READABLE_KINDS = frozenset(
    {
        MapKind.VALUE,
        MapKind.COUNT,
        MapKind.SUM,
        MapKind.AVG,
        MapKind.MIN,
        MapKind.MAX,
        MapKind.DISTINCT,
        MapKind.FIRST,
        MapKind.LAST,
    }
)
"""Kinds whose current value is one number or object, so that ``@m[k]`` can stand in an expression."""

WEIGHED = frozenset({"count", "sum", "avg", "stats", "hist", "pctl", "lhist", "tseries", "topk"})
"""Aggregations in which a sample of a sampled probe represents all hits since the previous sample."""

NO_RATE_KINDS = frozenset({MapKind.VALUE, MapKind.FIRST, MapKind.LAST})
"""Kinds that do not count samples, so that they have no ``rate``."""

PRECISION = 2
PCTL_PRECISION = 4
MAX_PRECISION = 6
MAX_BUCKETS = 1000
MAX_WINDOWS = 1000
MAX_VALUES = 100
MAX_KEYS = 16

PERCENTILES = ("p50", "p75", "p90", "p95", "p99", "p999")
_OF_DISTRIBUTIONS = ("count", "avg", "min", "max", "sum", *PERCENTILES, "key")
ORDERS = {
    MapKind.VALUE: ("value", "key"),
    MapKind.COUNT: ("count", "value", "key"),
    MapKind.SUM: ("sum", "value", "count", "key"),
    MapKind.AVG: ("avg", "value", "count", "key"),
    MapKind.MIN: ("min", "value", "count", "key"),
    MapKind.MAX: ("max", "value", "count", "key"),
    MapKind.STATS: ("count", "avg", "min", "max", "sum", "key"),
    MapKind.HIST: _OF_DISTRIBUTIONS,
    MapKind.PCTL: _OF_DISTRIBUTIONS,
    MapKind.LHIST: _OF_DISTRIBUTIONS,
    MapKind.TSERIES: ("count", "key"),
    MapKind.TOPK: ("count", "key"),
    MapKind.DISTINCT: ("value", "count", "key"),
    MapKind.FIRST: ("value", "key"),
    MapKind.LAST: ("value", "key"),
    MapKind.SAMPLE_OF: ("count", "key"),
}
"""The columns by which ``print(@m, by=…)`` can sort a map of each kind."""

UNITS = ("ns", "us", "ms", "s", "m", "h", "B", "KB", "MB", "GB")
PRINT_MAP_OPTIONS = {
    "top": "integer",
    "by": "string",
    "desc": "boolean",
    "unit": "string",
    "scale": "number",
    "min": "number",
}
TABLE_OPTIONS = {name: kind for name, kind in PRINT_MAP_OPTIONS.items() if name != "scale"}
MAX_TABLE_MAPS = 8


# Locations and annotations.


@dataclass(frozen=True, slots=True)
class Location:
    """``points``: where handlers are called. ``arguments``: their names. The first argument may be given without its
    name. ``after``: the location with ``when=AFTER``, if the location allows that.
    """

    name: str
    place: Place
    doc: str
    points: tuple[Point, ...]
    arguments: tuple[str, ...] = ()
    after: Location | None = None


_AFTER_CALL = Location(
    "CALL", Place.CALL_AFTER, "a call has ended", (Point.CALL_RETURN, Point.CALL_THROW), ("class", "method", "type")
)
_AFTER_ENTER = Location("SYNC_ENTER", Place.SYNC_ENTER, "a monitor has been entered", (Point.SYNC_ENTER,))
_AFTER_EXIT = Location("SYNC_EXIT", Place.SYNC_EXIT_AFTER, "a monitor has been left", (Point.SYNC_EXIT_AFTER,))

LOCATIONS = {
    location.name: location
    for location in (
        Location("ENTRY", Place.ENTRY, "the method has just started", (Point.ENTRY,)),
        Location("RETURN", Place.RETURN, "the method is about to return", (Point.RETURN,)),
        Location("THROW", Place.THROW, "an exception leaves the method", (Point.THROW,), ("type",)),
        Location("EXIT", Place.EXIT, "the method returns or an exception leaves it", (Point.RETURN, Point.THROW)),
        Location(
            "CALL",
            Place.CALL_BEFORE,
            "the method is about to call another method",
            (Point.CALL_BEFORE,),
            ("class", "method", "type"),
            _AFTER_CALL,
        ),
        Location("LINE", Place.LINE, "a source line is reached", (Point.LINE,), ("line",)),
        Location("NEW", Place.NEW, "an object was created", (Point.NEW,), ("class",)),
        Location("NEWARRAY", Place.NEWARRAY, "an array was created", (Point.NEWARRAY,), ("type",)),
        Location("FIELD_GET", Place.FIELD_GET, "a field was read", (Point.FIELD_GET,), ("class", "field")),
        Location(
            "FIELD_SET", Place.FIELD_SET, "a field is about to be written", (Point.FIELD_SET,), ("class", "field")
        ),
        Location("RAISE", Place.RAISE, "a throw statement is about to run", (Point.RAISE,), ("type",)),
        Location("CATCH", Place.CATCH, "an exception was caught", (Point.CATCH,), ("type",)),
        Location(
            "SYNC_ENTER",
            Place.SYNC_ENTER_BEFORE,
            "a monitor is about to be entered",
            (Point.SYNC_ENTER_BEFORE,),
            after=_AFTER_ENTER,
        ),
        Location("SYNC_EXIT", Place.SYNC_EXIT, "a monitor is about to be left", (Point.SYNC_EXIT,), after=_AFTER_EXIT),
        Location("INSTANCEOF", Place.INSTANCEOF, "instanceof has run", (Point.INSTANCEOF,), ("type",)),
        Location("CAST", Place.CAST, "a cast is about to run", (Point.CAST,), ("type",)),
        Location("ARRAY_GET", Place.ARRAY_GET, "an array element was read", (Point.ARRAY_GET,), ("type",)),
        Location(
            "ARRAY_SET", Place.ARRAY_SET, "an array element is about to be written", (Point.ARRAY_SET,), ("type",)
        ),
    )
}

PLACE_OF_POINT = {
    point: location.place
    for row in reversed(LOCATIONS.values())  # RETURN and THROW have separate rows
    for location in (row, row.after)
    if location is not None
    for point in location.points
}
"""The place of a body that runs at only one point, by its point."""


@dataclass(frozen=True, slots=True)
class AnnotationRule:
    """``attaches``: the annotation says where a probe runs. Each probe has exactly one annotation of this kind."""

    name: str
    doc: str
    arguments: tuple[str, ...] = ()
    attaches: bool = False


ANNOTATIONS = {
    rule.name: rule
    for rule in (
        AnnotationRule(
            "OnMethod",
            "in methods",
            ("class", "clazz", "method", "type", "location", "loader", "exclude", "pending", "max", "id"),
            attaches=True,
        ),
        AnnotationRule("OnTimer", "again and again", ("period",), attaches=True),
        AnnotationRule("OnSample", "for each busy thread, several times a second", ("hz", "threads"), attaches=True),
        AnnotationRule("OnBegin", "once, before the first method is instrumented", attaches=True),
        AnnotationRule("OnEnd", "once, after the last probe has stopped", attaches=True),
        AnnotationRule("OnEvent", "when an event is sent", ("name",), attaches=True),
        AnnotationRule("OnUncaught", "when an exception ends a thread", ("type",), attaches=True),
        AnnotationRule("OnClassLoad", "when a class is loaded", ("class", "clazz"), attaches=True),
        AnnotationRule("OnLowMemory", "when a memory pool fills up", ("pool", "above"), attaches=True),
        AnnotationRule("OnProbe", "at the event of a library", ("probe",), attaches=True),
        AnnotationRule("OnError", "when a probe fails", attaches=True),
        AnnotationRule(
            "Sample",
            "fires for a part of the hits",
            ("every", "rate", "max_rate", "key", "adaptive"),
        ),
        AnnotationRule(
            "Limit",
            "at most this number of firings, in all or a second; or only for this time",
            ("hits", "rate", "for"),
        ),
        AnnotationRule("Outermost", "fires in the outermost activation only: when depth == 0"),
        AnnotationRule(
            "Span",
            "each activation is a span of the trace: span(…) at the beginning of the body",
            ("name", "key=value"),
        ),
        AnnotationRule("Disabled", "starts disabled"),
        AnnotationRule("Level", "enabled when the level of the session is at least this number", ("level",)),
        AnnotationRule("Doc", "text for listings", ("text",)),
        AnnotationRule("Unit", "unit for listings", ("unit",)),
        AnnotationRule(
            "Tested",
            "versions that it was tested with; a message names them if the probe matches nothing",
            ("versions",),
        ),
    )
}

DEFAULT_MAX_METHODS = 500


# Settings.


@dataclass(frozen=True, slots=True)
class SettingRule:
    """``type``: boolean, integer, number or string. An integer is at least ``least``, and a number is more than
    ``least``. Both are at most ``most``. A string is one of ``choices``."""

    name: str
    type: str
    doc: str
    default: int | float | bool | str
    least: int = 0
    most: int = 0
    choices: tuple[str, ...] = ()

    @property
    def wanted(self) -> str:
        """A text about the allowed values; it can follow "is"."""
        match self.type:
            case "boolean":
                return "true or false"
            case "text":
                return "a text"
            case "string":
                return " or ".join(f'"{choice}"' for choice in self.choices)
            case "integer":
                return f"a number from {self.least} to {self.most}"
            case _:
                return f"a number above {self.least}, at most {self.most}"


MAX_MAP_KEYS = 1 << 18
DEFAULT_MAP_KEYS = 4096

SETTINGS = {
    rule.name: rule
    for rule in (
        SettingRule("print_maps_on_exit", "boolean", "print all maps when the session ends", True),
        SettingRule("max_map_keys", "integer", "keys that a map can hold", DEFAULT_MAP_KEYS, 1, MAX_MAP_KEYS),
        SettingRule(
            "on_missing",
            "string",
            "what to do when a pattern matches nothing; --missing overrides it",
            "error",
            choices=("error", "warn", "ignore"),
        ),
        SettingRule(
            "on_error",
            "string",
            "what to do with a probe that fails: keep it, or disable it after max_errors failures",
            "keep",
            choices=("keep", "disable"),
        ),
        SettingRule("max_errors", "integer", 'failures that on_error = "disable" forgives', 10, 1, 1 << 30),
        SettingRule(
            "cpu_budget", "number", "share of one core that all probes may take; --budget overrides it", 0.02, 0, 1
        ),
        SettingRule("string_length", "integer", "characters of a string that are captured", 200, 1, 65535),
        SettingRule("depth", "integer", "levels of nested objects that are captured", 2, 0, 16),
        SettingRule("elements", "integer", "elements of an array or collection that are captured", 20, 0, 255),
        SettingRule("fields", "integer", "fields of an object that are captured", 20, 0, 255),
        SettingRule("stack_frames", "integer", "frames of a stack that are captured", 32, 1, 1024),
        SettingRule(
            "frameworks",
            "text",
            "globs of classes, separated by commas: app_frame() skips their frames, too; --frameworks adds more",
            "",
        ),
    )
}
