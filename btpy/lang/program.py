"""The checked program: what the checker hands to the planner and to the code generator.

Two steps, because a script is checked before any class is known:

1. ``checker.check(tree, source)`` gives a :class:`Program`. Each probe keeps its syntax; everything that does not
   depend on the traced classes has been checked, and ids (maps, templates) are fixed.
2. ``checker.bind(program, probe, shape)`` types one probe against one matched method and gives a :class:`BoundProbe`,
   whose tree is typed to the last node. Two methods with the same shape share a bound probe, and so a handler class.

Every node carries the type of its value and its place. Conversions are explicit (:class:`Convert`), names are
resolved, sugar is gone.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Union

from btpy.lang.formats import Specification
from btpy.lang.secrets import NO_SECRETS, Secrets
from btpy.lang.source import Source, Span
from btpy.lang.types import Type
from btpy.values import dataclass

if TYPE_CHECKING:
    from btpy.lang import syntax
    from btpy.lang.diagnostics import Diagnostic
    from btpy.lang.parameters import Parameter


# ---------------------------------------------------------------- what a handler is given


class InputKind(Enum):
    SELF = "self"
    ARG = "arg"  # entry value of argument `index`
    RETVAL = "retval"
    EXCEPTION = "exception"
    DURATION = "duration"  # nanoseconds since entry, read once an exit
    ENTRY = "entry"  # value number `index` of BoundProbe.entries
    DEPTH = "depth"  # 0 in the outermost activation of this probe on this thread
    NESTED = "nested"  # what SelfTimes.enter gave, for the time of the activations that this one has called
    TARGET = "target"  # what an operation is about: receiver, owner of a field, new object, array, monitor, value
    TARGET_ARG = "targ"  # argument `index` of a call
    OLD_VALUE = "oldval"  # of a field that is about to be written
    NEW_VALUE = "newval"  # about to be written to a field or an array element
    INDEX = "index"  # of an array element
    LENGTH = "length"  # of dimension `index` of an array that was made
    FACT = "fact"  # number `index` of what the agent tells of what happened (builtins.FACTS)
    FRAME_VARIABLE = "variable"  # live local variable `index` of Shape.variables (LINE, RAISE, CATCH)
    SAMPLED = "sampled"  # what was decided when the method was entered, for a probe that samples by thread


@dataclass(frozen=True, slots=True)
class Input:
    """A value that the woven site passes to the handler. ``descriptor`` is the JVM's: primitives as they are,
    references as ``Ljava/lang/Object;`` (the handler lives in the boot loader and cannot name application classes)."""

    kind: InputKind
    index: int
    descriptor: str


@dataclass(frozen=True, slots=True)
class Shape:
    """What one matched method offers a probe at one location: the key under which bound probes are shared.

    ``parameters`` are types of the declared parameters (no receiver); ``names`` their source names or None. ``point``
    is the concrete location: an EXIT probe is bound once for RETURN and once for THROW. ``in_jdk``: the method is one
    that btpy's own run-time code may call, so that the handler must be guarded against re-entrance whatever it does.
    """

    point: Point
    static: bool
    self_type: Type
    parameters: tuple[Type, ...]
    descriptors: tuple[str, ...]  # erased descriptors of the parameters, references as Ljava/lang/Object;
    names: tuple[str | None, ...]
    returns: Type
    return_descriptor: str
    in_jdk: bool = False
    operation: OperationShape | None = None
    variables: tuple[Variable, ...] = ()
    absent_variables: tuple[str, ...] = ()  # names of the method's other local variables, not live here: null
    secret_result: bool = False  # the name of the method says that it returns a secret

    def __hash__(self) -> int:
        """Of what tells most shapes apart, and is quick to hash: each method that matches is looked up."""
        return hash((self.point, self.static, self.descriptors, self.return_descriptor))


@dataclass(frozen=True, slots=True)
class OperationShape:
    """What the operation at a point inside the method offers; None at ENTRY, RETURN and THROW.

    At CALL_* ``RETVAL`` is the result of the call, ``EXCEPTION`` what left it and ``DURATION`` its time; at FIELD_GET,
    ARRAY_GET and INSTANCEOF ``RETVAL`` is the value that the operation gave; at RAISE and CATCH ``EXCEPTION`` is the
    throwable; at LINE ``DURATION`` is the time since the method was entered, at SYNC_ENTER the time that entering took.
    Entering the monitor of a synchronized method cannot be timed: the planner leaves a probe that has the input out
    there, and says so. Descriptors are erased.
    """

    target: Type | None  # None: a static call or field
    arguments: tuple[Type, ...] = ()
    argument_descriptors: tuple[str, ...] = ()
    value: Type | None = None  # of RETVAL, OLD_VALUE, NEW_VALUE; None: there is none
    value_descriptor: str = "V"
    element_size: int = 0  # NEWARRAY: bytes of one element of the last dimension
    dimensions: int = 0


@dataclass(frozen=True, slots=True)
class Variable:
    """A local variable of the traced method that is live at a LINE, RAISE or CATCH, by the LocalVariableTable:
    parameters too, not ``this``."""

    name: str
    type: Type
    descriptor: str  # erased
    slot: int


# ---------------------------------------------------------------- expressions


class SiteFact(Enum):
    """Facts of the instrumented place; the client knows them, so they are never shipped with an event."""

    CLS = "cls"
    METHOD = "method"
    SIGNATURE = "signature"
    LINE = "line"
    PROBE = "probe"
    TARGET_CLASS = "target_class"  # as named in the bytecode of the operation
    TARGET_METHOD = "target_method"
    FIELD = "field"
    LOADER = "loader"


class Ambient(Enum):
    """Facts of the moment of firing."""

    TID = "tid"
    THREAD_NAME = "thread_name"
    IS_VIRTUAL = "is_virtual"
    NOW = "now"  # wall clock, nanoseconds since 1970, type LONG
    NANOS = "nanos"  # System.nanoTime
    PID = "pid"
    ELAPSED = "elapsed"  # since the session began, DURATION


@dataclass(frozen=True, slots=True)
class Node:
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Constant(Node):
    value: int | float | bool | str | None


@dataclass(frozen=True, slots=True)
class InputValue(Node):
    input: Input


@dataclass(frozen=True, slots=True)
class SiteValue(Node):
    fact: SiteFact


@dataclass(frozen=True, slots=True)
class AmbientValue(Node):
    ambient: Ambient


@dataclass(frozen=True, slots=True)
class LocalValue(Node):
    """A ``let`` variable; ``index`` counts the variables of the body (block scope is already resolved)."""

    index: int


@dataclass(frozen=True, slots=True)
class FieldValue(Node):
    """``target.name``: null when the target is null; found on the run-time class, whatever its access; type ANY.

    ``getters``: which methods may stand for a field that is not there, as ``SafeCall.allowed``; empty: none.
    """

    target: Expr
    name: str
    getters: str = ""


@dataclass(frozen=True, slots=True)
class SafeCall(Node):
    """``target.method(arguments)`` of a method that may be called: null when the target is null. ``allowed``: which
    methods of which classes, as the run time reads it; arguments are references (boxed)."""

    target: Expr
    allowed: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class CastValue(Node):
    """``operand as T``: the reference, or null where it is of another type, which is counted. ``pattern`` as of
    ``instanceof``."""

    operand: Expr
    pattern: str


@dataclass(frozen=True, slots=True)
class ElementValue(Node):
    """``target[index]`` of an array or a safe list: null when the target is null; out of range is null and counted."""

    target: Expr
    index: Expr


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """``- ! ~``; the operand has the type of the node, or ANY."""

    operator: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """Arithmetic, bits, shifts, comparison (``+ - * / % & | ^ << >> >>> == != < <= > >=``).

    Operands have one common JVM type (conversions are explicit), except that shifts take an INT on the right; or both
    are references: then ``==`` and ``!=`` compare strings and boxes by value, an enum with a string by constant name
    and other objects by identity, and everything else is evaluated at run time (``btpy.runtime.Dynamic``), null being
    an error.
    """

    operator: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Logical(Node):
    """Short-circuit ``&&`` and ``||``; operands BOOLEAN or ANY (null is an error)."""

    operator: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Conditional(Node):
    test: Expr
    then: Expr
    otherwise: Expr


@dataclass(frozen=True, slots=True)
class Coalesce(Node):
    """``left ?? right``: both are references or converted to the node's type."""

    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Convert(Node):
    """To the node's type: widening (I→J→D; CHAR counts as INT), boxing to ANY, unboxing from ANY, OBJECT or a nullable
    (null is an error), and reading a STRING from ANY or OBJECT (null stays null, anything else is a bad cast)."""

    operand: Expr


@dataclass(frozen=True, slots=True)
class Text(Node):
    """An f-string that is needed as a string inside the JVM (a map key, an operand). ``parts``: literals and values."""

    parts: tuple[str | Expr, ...]


@dataclass(frozen=True, slots=True)
class Formatted(Node):
    """``{value:format}`` of an f-string that is needed as a string inside the JVM. ``format``: a specification, or the
    name and size of a unit."""

    value: Expr
    format: Specification | tuple[str, int]


@dataclass(frozen=True, slots=True)
class BuiltinCall(Node):
    """A call of an entry of ``builtins.FUNCTIONS``; arguments are converted to its parameter types, defaults filled in.

    ``typeof id len message cause enum_name lower upper trim`` take one, ``startswith endswith contains`` two,
    ``substr`` three arguments (string, start, end); ``stack frame`` take (INT) or (throwable, INT); ``instanceof``
    takes a reference and a Constant with the type pattern. ``len``, ``startswith``, ``endswith`` and ``contains`` are
    nullable: held boxed.
    """

    name: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class ListValue(Node):
    """``[a, b]``: an array of references; its type says what the elements are."""

    elements: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Bound(Node):
    """``body``, in which the variable ``index`` of the body holds ``value``: evaluated once, used often."""

    index: int
    value: Expr
    body: Expr


@dataclass(frozen=True, slots=True)
class Quantified(Node):
    """``any(x in container: test)``, ``all``, ``none`` (BOOLEAN), ``first`` (the element, or null): over the first 100
    elements; that there are more is counted."""

    quantifier: str
    variable: LoopVariable
    container: Expr
    test: Expr


@dataclass(frozen=True, slots=True)
class MapValue(Node):
    """``@m[keys]``: ANY, null where the key is absent. Keys are LONG, DOUBLE, BOOLEAN or references."""

    map: int
    keys: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class MapQuery(Node):
    """``has(@m, keys)`` (BOOLEAN), ``size(@m)`` (LONG), ``keys(@m)`` (array), ``rate(@m)`` (DOUBLE)."""

    query: str
    map: int
    keys: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class ThreadValue(Node):
    """``thread.x``: what this thread keeps, null where that is nothing."""

    variable: ThreadVariable


@dataclass(frozen=True, slots=True)
class Inlined(Node):
    """A call of a function of the script: its statements, then its value (None: it has none, type VOID). A
    :class:`Leave` in the statements goes on with the value."""

    statements: tuple[Statement, ...]
    value: Expr | None


Expr = Union[
    Constant,
    InputValue,
    SiteValue,
    AmbientValue,
    LocalValue,
    FieldValue,
    SafeCall,
    CastValue,
    ElementValue,
    Unary,
    Binary,
    Logical,
    Conditional,
    Coalesce,
    Convert,
    Text,
    Formatted,
    BuiltinCall,
    ListValue,
    Bound,
    Quantified,
    MapValue,
    MapQuery,
    ThreadValue,
    Inlined,
]


# ---------------------------------------------------------------- statements


@dataclass(frozen=True, slots=True)
class LoopVariable:
    """A variable of the body that takes the elements one after the other; ``type``: what an element becomes."""

    index: int
    type: Type


@dataclass(frozen=True, slots=True)
class Let:
    """``let x = value`` and every later ``x = value``."""

    index: int
    value: Expr


@dataclass(frozen=True, slots=True)
class If:
    test: Expr
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class ForEach:
    """``for x in container`` and ``for key, value in container``. ``limit`` (INT) None: 100 elements, and that there
    are more is counted."""

    span: Span
    variables: tuple[LoopVariable, ...]
    container: Expr
    limit: Expr | None
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class ForRange:
    """``for i in first .. last``, both included; LONG, or all INT. ``limit`` (INT) None: as far as the work allows."""

    span: Span
    variable: LoopVariable
    first: Expr
    last: Expr
    limit: Expr | None
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Evaluate:
    value: Expr


@dataclass(frozen=True, slots=True)
class Stop:
    """``return`` and ``skip()``: end this firing."""


@dataclass(frozen=True, slots=True)
class Leave:
    """``return`` of a function of the script: what it returns is in a variable."""


@dataclass(frozen=True, slots=True)
class Subscriber:
    """The body of an ``@OnProbe`` probe, where the library's probe says ``provide``. It fires, fails and ships on its
    own account, and :class:`Stop` in it ends it alone."""

    probe: Probe
    predicate: Expr | None
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Emit:
    """Ship one record: ``template`` says what the values mean. ``values`` leave out site facts."""

    template: int
    values: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class MapView:
    """A map as it is to be shown; ``flush``: what is in it is taken."""

    map: int
    flush: bool


@dataclass(frozen=True, slots=True)
class PrintMaps:
    """``print(@m, …)``, ``plot(@m)``, ``table(@a, @b, …)``: the agent ships what is in the maps for this template."""

    template: int
    views: tuple[MapView, ...]


@dataclass(frozen=True, slots=True)
class ExitSession:
    """``exit(code)``: the client ends the session; everything emitted before is delivered."""

    template: int
    code: Expr


@dataclass(frozen=True, slots=True)
class PrintFacts:
    """``print_threads`` and the like: ``function`` ships a record of ``template`` for each fact; ``argument``: what it
    takes, INT or BOOLEAN."""

    function: str
    template: int
    argument: Expr


@dataclass(frozen=True, slots=True)
class HeapDump:
    file: str
    live: Expr


@dataclass(frozen=True, slots=True)
class Send:
    """``send("event")``: the ``@OnEvent`` probes of that name run on the event thread."""

    event: str


@dataclass(frozen=True, slots=True)
class MapStore:
    """``@m[keys] = value`` for a map of plain values; the value is a reference (boxed)."""

    map: int
    keys: tuple[Expr, ...]
    value: Expr


@dataclass(frozen=True, slots=True)
class MapAdd:
    """``@m[keys] += value`` and ``++``; ``value`` is a reference (boxed number); an absent key counts as 0."""

    map: int
    keys: tuple[Expr, ...]
    operator: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Aggregate:
    """``@m[keys] = count()``, ``sum(x)`` …; ``value`` is None for count, else LONG, DOUBLE or a reference (null is
    skipped)."""

    map: int
    keys: tuple[Expr, ...]
    value: Expr | None


@dataclass(frozen=True, slots=True)
class Collect:
    """``@m[keys] = topk(x, n)``, ``distinct(x)`` …; ``value`` is a reference to anything (null is skipped)."""

    map: int
    keys: tuple[Expr, ...]
    value: Expr


@dataclass(frozen=True, slots=True)
class MapDelete:
    map: int
    keys: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class MapClear:
    map: int


@dataclass(frozen=True, slots=True)
class Disable:
    """``disable()``: the probe does not fire again until it is enabled."""


@dataclass(frozen=True, slots=True)
class ThreadStore:
    """``thread.x = value``; ``value`` LONG or DOUBLE where the variable holds such and it cannot be null, else a
    reference; null: nothing."""

    variable: ThreadVariable
    value: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class ThreadAdd:
    """``thread.x += value`` of a variable that holds LONG (or a unit) or DOUBLE; nothing counts as 0."""

    variable: ThreadVariable
    value: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class ThreadClear:
    """``clear_thread()``."""


Statement = Union[
    Let,
    If,
    ForEach,
    ForRange,
    Evaluate,
    Stop,
    Leave,
    Subscriber,
    Emit,
    PrintMaps,
    ExitSession,
    PrintFacts,
    HeapDump,
    Send,
    MapStore,
    MapAdd,
    Aggregate,
    Collect,
    MapDelete,
    MapClear,
    Disable,
    ThreadStore,
    ThreadAdd,
    ThreadClear,
]


# ---------------------------------------------------------------- what records mean


class TemplateKind(Enum):
    PRINT = "print"  # parts are joined as they stand
    EMIT = "emit"  # a named event with named fields
    WARN = "warn"  # as PRINT, on standard error
    MAP = "map"  # a map snapshot
    PLOT = "plot"  # a map snapshot, as a chart
    TABLE = "table"  # several maps, joined on their keys
    EXIT = "exit"
    COMMIT = "commit"  # its value: id of the records that are to be shown now
    DISCARD = "discard"  # … that are never to be shown


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a value of a record is shown: number ``value`` of the shipped values, or a site fact.

    ``format`` is the part after ``:`` in an f-string, or a printf conversion with its ``%``; ``type`` is the type as
    far as the script alone tells (it carries the unit: DURATION, BYTES). ``rest``: the slot stands for all values from
    number ``value`` to the end of the record, however many (``args``, ``targs``); with ``named`` they are pairs of a
    name and a value (``locals()``). ``bare``: an object is shown without its class (``fields(x)``).
    ``time``: the value is a point in time, nanoseconds since 1970, shown by this format of strftime. ``width``: number
    of the shipped value that is the width of a printf conversion with ``*``; None: the conversion has its own.
    """

    value: int | SiteFact
    type: Type
    label: str | None = None
    format: str = ""
    rest: bool = False
    named: bool = False
    bare: bool = False
    time: str = ""
    width: int | None = None


SPECULATIVE = ("speculative", True)
"""Option of a template."""


@dataclass(frozen=True, slots=True)
class Template:
    """How the client renders one kind of record. ``parts``: text and slots, in order (for EMIT only slots with
    labels)."""

    id: int
    probe: int
    kind: TemplateKind
    parts: tuple[str | Slot, ...]
    name: str = ""  # of an EMIT
    maps: tuple[int, ...] = ()
    options: tuple[tuple[str, object], ...] = ()  # top=, by=, desc=, unit=, scale=, min= of maps
    host: int | None = None  # the probe whose handler ships it, where that is not `probe`: of a subscriber

    @property
    def speculative(self) -> bool:
        """The first value of a record is no value of the template, but the id under which the record is held back;
        null: it is not."""
        return SPECULATIVE in self.options


# ---------------------------------------------------------------- maps


class MapKind(Enum):
    VALUE = "value"
    COUNT = "count"
    SUM = "sum"
    AVG = "avg"
    MIN = "min"
    MAX = "max"
    STATS = "stats"
    HIST = "hist"
    PCTL = "pctl"  # a histogram, shown by its percentiles
    LHIST = "lhist"
    TSERIES = "tseries"
    TOPK = "topk"
    DISTINCT = "distinct"
    FIRST = "first"
    LAST = "last"
    SAMPLE_OF = "sample_of"


@dataclass(frozen=True, slots=True)
class Linear:
    """Of LHIST: buckets of width ``step`` from ``low`` (inclusive) to ``high`` (exclusive)."""

    low: float
    high: float
    step: float

    @property
    def buckets(self) -> int:
        return round((self.high - self.low) / self.step)


class SeriesOperator(Enum):
    """What a window of TSERIES keeps of its samples; in the order of the wire."""

    SUM = "sum"
    AVG = "avg"
    MIN = "min"
    MAX = "max"
    COUNT = "count"


@dataclass(frozen=True, slots=True)
class Series:
    """Of TSERIES: the last ``windows`` intervals of ``interval`` ns."""

    interval: int
    windows: int
    operator: SeriesOperator


@dataclass(frozen=True, slots=True)
class Most:
    """Of TOPK and SAMPLE_OF: how many values."""

    count: int


@dataclass(frozen=True, slots=True)
class Percents:
    """Of PCTL: the percentiles that are shown."""

    of: tuple[float, ...]


def map_title(name: str) -> str:
    """A map as scripts spell it: ``@name``, or ``library.@name`` of a library's."""
    library, _, own = name.rpartition(".")
    return f"{library}.@{own}" if library else f"@{own}"


@dataclass(frozen=True, slots=True)
class Map:
    """``type`` is that of the aggregated or stored value as far as known (its unit is what is shown).

    ``estimated``: a sampled probe adds to it, whose samples are weighed, so that what it holds estimates all hits; the
    text is by how much (``100``, ``1…100``, ``?`` where that changes).
    """

    id: int
    name: str
    kind: MapKind
    keys: int
    type: Type
    precision: int = 2  # hist: 2**precision buckets for each power of two
    capacity: int = 4096
    parameters: Linear | Series | Most | Percents | None = None
    estimated: str | None = None
    evicts: bool = False  # at capacity the least recently used key goes; else no new key comes
    key_types: tuple[Type, ...] = ()  # as declared; empty: any
    imported: bool = False  # of a library that the script only imports: not printed at the end unless a probe asks

    @property
    def title(self) -> str:
        return map_title(self.name)


# ---------------------------------------------------------------- probes


class Point(Enum):
    """Where in a method a handler is called."""

    __hash__ = object.__hash__  # members are compared by identity, and are part of keys wherever code is woven

    ENTRY = "ENTRY"  # before the first instruction; in a constructor after super(…) or this(…) has returned
    RETURN = "RETURN"  # before every return instruction
    THROW = "THROW"  # an exception leaves the method
    LINE = "LINE"  # before the first instruction of a source line, wherever the line begins in the code
    CALL_BEFORE = "CALL_BEFORE"
    CALL_RETURN = "CALL_RETURN"  # after a call that returned; for a constructor call the target is the new object
    CALL_THROW = "CALL_THROW"  # an exception leaves a call
    NEW = "NEW"  # an object made by `new` has been initialised
    NEWARRAY = "NEWARRAY"  # an array has been made
    FIELD_GET = "FIELD_GET"  # a field has been read
    FIELD_SET = "FIELD_SET"  # a field is about to be written
    ARRAY_GET = "ARRAY_GET"  # an array element has been read
    ARRAY_SET = "ARRAY_SET"  # an array element is about to be written
    CAST = "CAST"  # a checkcast is about to run
    INSTANCEOF = "INSTANCEOF"  # an instanceof has run
    RAISE = "RAISE"  # an athrow is about to run
    CATCH = "CATCH"  # an exception handler of the source has been entered
    SYNC_ENTER_BEFORE = "SYNC_ENTER_BEFORE"
    SYNC_ENTER = "SYNC_ENTER"  # a monitor has been entered; in a synchronized method on entry, without duration
    SYNC_EXIT = "SYNC_EXIT"  # a monitor is about to be left
    SYNC_EXIT_AFTER = "SYNC_EXIT_AFTER"


@dataclass(frozen=True, slots=True)
class Pattern:
    """Pattern text (LANGUAGE 2.5 spelling, quotes gone) and its place. ``written``: the name in the script of a pattern
    that btpy spells out, such as ``<app>``."""

    text: str
    span: Span
    written: str = ""

    @property
    def shown(self) -> str:
        """The pattern as a person wrote it."""
        return self.written or self.text


@dataclass(frozen=True, slots=True)
class OperationPattern:
    """The arguments of CALL, LINE, NEW, NEWARRAY, FIELD_*, ARRAY_*, CAST and INSTANCEOF; None: any.

    ``owner``: class of a call or field, class that NEW makes, element type of ARRAY_* and NEWARRAY (``type="byte[]"``
    gives ``byte``), type of the others. ``signature`` of a call. ``lines``: inclusive.
    """

    owner: Pattern | None = None
    member: Pattern | None = None
    signature: Pattern | None = None
    lines: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class MethodAttachment:
    """``@OnMethod``. ``points``: EXIT is (RETURN, THROW), CALL(when=AFTER) is (CALL_RETURN, CALL_THROW).

    ``thrown``: type pattern of THROW(type=…), RAISE(type=…) and CATCH(type=…); the handler asks the exception itself.
    ``operation``: which operations, where a point is inside the method. ``uncaught``: ``@OnUncaught``, whose exception
    is the first argument.
    """

    classes: tuple[Pattern, ...]
    methods: tuple[Pattern, ...]
    exclude: tuple[Pattern, ...]
    signature: Pattern | None
    loader: Pattern | None
    points: tuple[Point, ...]
    thrown: Pattern | None
    pending: bool
    max_methods: int
    max_classes: int | None = None  # None: no bound of their own
    operation: OperationPattern | None = None
    uncaught: bool = False


@dataclass(frozen=True, slots=True)
class TimerAttachment:
    period: int  # ns


@dataclass(frozen=True, slots=True)
class SampleAttachment:
    """``@OnSample``: samples threads ``per_second`` times a second; ``waiting``: those that use no processor, too."""

    per_second: int
    waiting: bool


@dataclass(frozen=True, slots=True)
class BeginAttachment:
    pass


@dataclass(frozen=True, slots=True)
class EndAttachment:
    pass


def event_number(name: str) -> int:
    """What the agent knows the event by: the CRC-32 of its name in UTF-8, as a signed ``int``."""
    number = zlib.crc32(name.encode("utf-8", "surrogatepass"))
    return number - (number >> 31 << 32)


@dataclass(frozen=True, slots=True)
class EventAttachment:
    name: str


@dataclass(frozen=True, slots=True)
class ClassLoadAttachment:
    classes: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class LowMemoryAttachment:
    """``pool`` None: every bounded pool that does not merely fill up between two collections. ``per_mille``: of the
    pool's bound."""

    pool: Pattern | None
    per_mille: int


@dataclass(frozen=True, slots=True)
class ErrorAttachment:
    pass


@dataclass(frozen=True, slots=True)
class ProbeAttachment:
    """``@OnProbe``: ``host`` is the probe in whose handler the body runs."""

    host: int


Attachment = Union[
    MethodAttachment,
    TimerAttachment,
    SampleAttachment,
    BeginAttachment,
    EndAttachment,
    EventAttachment,
    ClassLoadAttachment,
    LowMemoryAttachment,
    ErrorAttachment,
    ProbeAttachment,
]


@dataclass(frozen=True, slots=True)
class Formal:
    """A typed header parameter: ``type`` as written (``String``, ``int``, ``java.util.List``)."""

    type: str
    name: str
    span: Span


class SampleMode(Enum):
    EVERY = "every"
    RATE = "rate"
    MAX_RATE = "max_rate"


@dataclass(frozen=True, slots=True)
class Sampling:
    """``@Sample``. ``number`` as written: every n-th hit, this share of them, at most so many a second.

    ``by_thread``: decided when a method is entered, and kept on its thread until it is left. ``group``: id of the first
    probe of those that share one decision, because they sample the same methods by thread.
    """

    mode: SampleMode
    number: float
    by_thread: bool
    adaptive: bool
    group: int


@dataclass(frozen=True, slots=True)
class Limit:
    """``@Limit``: firings until the probe is disabled, firings a second, ns until it is disabled; 0: no limit."""

    hits: int = 0
    rate: int = 0
    lifetime: int = 0


NO_LIMIT = Limit()


@dataclass(frozen=True, slots=True)
class Probe:
    """One probe. ``formals`` None: no header list; ``open_formals``: the list ends with ``..``. ``level``: that of the
    session from which on it is enabled; None: only by command."""

    id: int
    name: str
    attachment: Attachment
    formals: tuple[Formal, ...] | None
    open_formals: bool
    tree: syntax.Probe = field(repr=False)
    span: Span
    calls: tuple[syntax.Function, ...] = field(
        default=(), repr=False
    )  # functions of the script, called or not directly
    doc: str = ""
    unit: str = ""

    sampling: Sampling | None = None
    limit: Limit = NO_LIMIT
    level: int | None = 0

    @property
    def text(self) -> str:
        """The source text of all that the handler runs, but subscribers."""
        return "\n".join([self.span.text, *(function.span.text for function in self.calls)])


@dataclass(frozen=True, slots=True)
class Permissions:
    """What the user says of every script: ``allow`` are the capabilities of ``--allow``; ``redact``: secrets are
    hidden; ``frameworks``: globs of classes that are not the application, beside those that btpy knows; ``secrets``:
    what is hidden, beside what btpy knows."""

    allow: frozenset[str] = frozenset()
    redact: bool = True
    frameworks: tuple[str, ...] = ()
    secrets: Secrets = NO_SECRETS


DEFAULT_PERMISSIONS = Permissions()


@dataclass(frozen=True, slots=True)
class Given:
    """What the command line said beside the text: ``arguments`` are names and texts of parameters,
    ``directories`` where libraries are looked for."""

    arguments: tuple[tuple[str, str], ...] = ()
    directories: tuple[Path, ...] = ()


NOTHING_GIVEN = Given()


@dataclass(frozen=True, slots=True)
class ThreadVariable:
    """``thread.x``; ``type``: LONG, DURATION, BYTES, DOUBLE, or what references hold; ANY where it is not one type.
    ``of``: how many variables the script has; ``secret``: what some probe puts into it is not to be shown."""

    index: int
    name: str
    type: Type
    of: int
    secret: bool = False


@dataclass(frozen=True, slots=True)
class Program:
    """A script without errors. Ids index the tuples; a probe error reports its place as ``Span.packed``.

    ``functions``: of the script and its libraries, by name. ``libraries``: their sources. ``parameters``: those of the
    script itself.

    A session that runs already takes more scripts: the program of a further one has ``earlier``, the program that it
    extends. Ids stay what they were, so probes, maps, templates and thread variables are those of all scripts, while
    the rest is said of the last one alone. ``removed``: ids of probes that are not to run any more; what they still
    send can be read. Where two maps have one name, the later one goes by it.
    """

    source: Source
    probes: tuple[Probe, ...]
    maps: tuple[Map, ...]
    templates: tuple[Template, ...]
    doc: str = ""
    settings: tuple[tuple[str, object], ...] = ()
    warnings: tuple[Diagnostic, ...] = ()
    permissions: Permissions = DEFAULT_PERMISSIONS
    functions: Mapping[str, syntax.Function] = field(default_factory=dict, repr=False)
    libraries: tuple[Source, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    thread_variables: tuple[ThreadVariable, ...] = ()
    earlier: Program | None = field(default=None, repr=False)
    removed: frozenset[int] = frozenset()
    given: Given = NOTHING_GIVEN

    @property
    def scripts(self) -> tuple[Program, ...]:
        """The program as it was when each of its scripts had been checked, in order; the last is this one."""
        found = [self]
        while found[-1].earlier is not None:
            found.append(found[-1].earlier)
        return tuple(reversed(found))

    @property
    def sources(self) -> tuple[Source, ...]:
        """All of them, in the order of their bases."""
        found = {each.base: each for script in self.scripts for each in (script.source, *script.libraries)}
        return tuple(found[base] for base in sorted(found))

    @property
    def own(self) -> tuple[Probe, ...]:
        """The probes of the last script."""
        return self.probes[len(self.earlier.probes) if self.earlier is not None else 0 :]

    @property
    def active(self) -> tuple[Probe, ...]:
        """The probes that have not been removed."""
        return tuple(probe for probe in self.probes if probe.id not in self.removed)

    def script_of(self, probe: Probe) -> Program:
        """That of ``scripts`` which brought the probe."""
        script = self
        while script.earlier is not None and probe.id < len(script.earlier.probes):
            script = script.earlier
        return script

    def without(self, probes: Iterable[int]) -> Program:
        """The program less these probes."""
        return replace(self, removed=self.removed | frozenset(probes))

    def fires_in(self, probe: Probe) -> Probe:
        """The probe in whose handler a probe fires: itself, unless it is a subscriber."""
        attachment = probe.attachment
        return self.probes[attachment.host] if isinstance(attachment, ProbeAttachment) else probe

    def subscribers(self, probe: Probe) -> tuple[Probe, ...]:
        """The probes whose bodies run where ``probe`` says ``provide``."""
        return tuple(
            each
            for each in self.active
            if isinstance(each.attachment, ProbeAttachment) and each.attachment.host == probe.id
        )


@dataclass(frozen=True, slots=True)
class Entry:
    """``entry(e)``: evaluated at method entry by a handler of its own, kept in a frame local of type
    ``value.type.slot``."""

    index: int
    inputs: tuple[Input, ...]
    value: Expr


@dataclass(frozen=True, slots=True)
class BoundProbe:
    """One probe typed against one shape: all that the code generator needs. ``inputs`` in the order of the handler's
    parameters, after the site id; with ``thrown`` the exception is one of them. ``locals_``: slot descriptor of each
    ``let`` variable."""

    probe: Probe
    shape: Shape | None  # None: timer, begin, end
    inputs: tuple[Input, ...]
    entries: tuple[Entry, ...]
    thrown: str | None  # THROW, RAISE, CATCH(type=…): fire only for exceptions that this pattern matches
    predicate: Expr | None
    body: tuple[Statement, ...]
    locals_: tuple[str, ...]
