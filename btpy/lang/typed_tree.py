"""The typed tree: a probe that is bound to one shape of traced methods, for the code generator.

Every node carries the type of its value and its place. Conversions are explicit (:class:`Convert`), names are resolved,
and short forms are expanded.
"""

from __future__ import annotations

from typing import Union

from btpy.dataclass import dataclass
from btpy.lang.inputs import Ambient, Input
from btpy.lang.program import Probe, ScopedVariable
from btpy.model.formats import Specification
from btpy.model.jfr import JfrEvent
from btpy.model.points import Point
from btpy.model.source import Span
from btpy.model.templates import SiteFact
from btpy.model.types import Type


@dataclass(frozen=True, slots=True)
class Shape:
    """The inputs that one matched method offers a probe at one location: the key under which bound probes are shared.

    ``parameters`` are types of the declared parameters (no receiver); ``names`` are the source names of the parameters,
    or None. ``point`` is the concrete location: an EXIT probe is bound once for RETURN and once for THROW. ``in_jdk``:
    the method is one that btpy's own run-time code may call, so the handler must always be guarded against re-entrance.
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
    absent_variables: tuple[str, ...] = ()  # names of the local variables that are not live here: their value is null
    secret_result: bool = False  # the name of the method says that it returns a secret

    def __hash__(self) -> int:
        """A hash of the fields that differ in most shapes. It must be fast, because each matching method is looked
        up.
        """
        return hash((self.point, self.static, self.descriptors, self.return_descriptor))


@dataclass(frozen=True, slots=True)
class OperationShape:
    """The inputs of the operation at a point inside the method; None at ENTRY, RETURN and THROW.

    At CALL_* ``RETVAL`` is the result of the call, ``EXCEPTION`` the exception that it threw, and ``DURATION`` its
    time. At FIELD_GET, ARRAY_GET and INSTANCEOF ``RETVAL`` is the result of the operation. At RAISE and CATCH
    ``EXCEPTION`` is the throwable. At LINE ``DURATION`` is the time since the method was entered. At SYNC_ENTER
    ``DURATION`` is the time needed to enter the monitor. btpy cannot measure this time for the monitor of a
    synchronized method, so the planner omits a probe with this input at such a method, and reports it. Descriptors are
    erased.
    """

    target: Type | None  # None: a static call or field
    arguments: tuple[Type, ...] = ()
    argument_descriptors: tuple[str, ...] = ()
    value: Type | None = None  # type of RETVAL, OLD_VALUE and NEW_VALUE; None without such a value
    value_descriptor: str = "V"
    element_size: int = 0  # NEWARRAY: bytes of one element of the last dimension
    dimensions: int = 0


@dataclass(frozen=True, slots=True)
class Variable:
    """A local variable of the traced method that is live at a LINE, RAISE or CATCH, by the LocalVariableTable. This
    includes parameters, but not ``this``."""

    name: str
    type: Type
    descriptor: str  # erased
    slot: int


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
    """``target.name``: null when the target is null; found on the run-time class, with any access; type ANY.

    ``getters``: methods that may replace a missing field, as in ``SafeCall.allowed``; empty: none.
    """

    target: Expr
    name: str
    getters: str = ""


@dataclass(frozen=True, slots=True)
class SafeCall(Node):
    """``target.method(arguments)`` of a method that may be called: null when the target is null. ``allowed``: the
    methods and their classes, in the form that the runtime reads. Arguments are boxed references.
    """

    target: Expr
    allowed: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class CastValue(Node):
    """``operand as T``: the reference, or null if it has another type, which is counted as an error. ``pattern``: as
    for ``instanceof``.
    """

    operand: Expr
    pattern: str


@dataclass(frozen=True, slots=True)
class ElementValue(Node):
    """``target[index]`` of an array or a safe list: null if the target is null, or if the index is out of range, which
    is counted.
    """

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

    Operands have one common JVM type (conversions are explicit), except that shifts take an INT on the right. If both
    operands are references, ``==`` and ``!=`` compare strings and boxes by value, an enum with a string by constant
    name and other objects by identity. All other operators on references are evaluated at run time
    (``btpy.runtime.Dynamic``), where null is an error.
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
    """``left ?? right``. Both operands are references, or they are converted to the node's type."""

    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Convert(Node):
    """Converts the operand to the node's type: widening (I→J→D; CHAR counts as INT), boxing to ANY, unboxing from ANY,
    OBJECT or a nullable (null is an error), and reading a STRING from ANY or OBJECT (null stays null, anything else is
    a bad cast).
    """

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
    """A call of an entry of ``builtins.FUNCTIONS``. The arguments have the types of its parameters, and omitted
    arguments are replaced by the defaults. A number or boolean whose type is nullable is boxed. ``instanceof`` takes a
    reference and a Constant with the type pattern.
    """

    name: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class ListValue(Node):
    """``[a, b]``: an array of references. Its type has the type of the elements."""

    elements: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Bound(Node):
    """Evaluates ``value`` once, stores it in the variable ``index``, and evaluates ``body``, which may use it."""

    index: int
    value: Expr
    body: Expr


@dataclass(frozen=True, slots=True)
class Quantified(Node):
    """``any(x in container: test)``, ``all``, ``none`` (BOOLEAN), ``first`` (the element, or null): over the first 100
    elements. If there are more, an error is counted.
    """

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
class ScopedValue(Node):
    """``thread.x`` or ``state(object).x``: the value of this thread or of the object ``of``; null without a value."""

    variable: ScopedVariable
    of: Expr | None = None


@dataclass(frozen=True, slots=True)
class Inlined(Node):
    """A call of a function of the script: its statements, then its value (None for the type VOID). After a
    :class:`Leave` in the statements, the value is computed.
    """

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
    ScopedValue,
    Inlined,
]


@dataclass(frozen=True, slots=True)
class LoopVariable:
    """A variable of the body that takes the elements one after the other; ``type``: the type to which an element is
    converted.
    """

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
    """``for x in container`` and ``for key, value in container``. If ``limit`` (INT) is None, it visits 100 elements.
    If there are more elements, an error is counted.
    """

    span: Span
    variables: tuple[LoopVariable, ...]
    container: Expr
    limit: Expr | None
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class ForRange:
    """``for i in first .. last``, including the two bounds. All numbers are LONG, or all are INT. If ``limit`` (INT) is
    None, the loop runs until the limit on statements is reached.
    """

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
    """``return`` of a function of the script. The result is in a variable."""


@dataclass(frozen=True, slots=True)
class Subscriber:
    """The body of an ``@OnProbe`` probe, where the library's probe says ``provide``. Its firings, errors and records
    count for the subscriber, and :class:`Stop` in it ends only this body.
    """

    probe: Probe
    predicate: Expr | None
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Emit:
    """Ship one record: ``template`` gives the meaning of the values. ``values`` do not include site facts."""

    template: int
    values: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class MapView:
    """A map with the way to show it. ``flush``: the agent empties the map when it is shown."""

    map: int
    flush: bool


@dataclass(frozen=True, slots=True)
class PrintMaps:
    """``print(@m, …)``, ``plot(@m)``, ``table(@a, @b, …)``: the agent sends the content of the maps for this
    template.
    """

    template: int
    views: tuple[MapView, ...]


@dataclass(frozen=True, slots=True)
class ExitSession:
    """``exit(code)``: the client ends the session; everything emitted before is delivered."""

    template: int
    code: Expr


@dataclass(frozen=True, slots=True)
class PrintFacts:
    """A call of ``print_threads`` or a similar function: ``function`` sends a record of ``template`` for each fact;
    ``argument``: INT or BOOLEAN.
    """

    function: str
    template: int
    argument: Expr


@dataclass(frozen=True, slots=True)
class WriteJfr:
    """``jfr(name, …)``; ``values``: one value for each field, converted to the type of the field. They are evaluated
    only if a recording has the event enabled."""

    event: JfrEvent
    values: tuple[Expr, ...]


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
    skipped). ``exemplars``: some samples are kept with the trace of the thread."""

    map: int
    keys: tuple[Expr, ...]
    value: Expr | None
    exemplars: bool = False


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
class ScopedStore:
    """``thread.x = value``, or ``state(object).x = value`` with the object ``of``. ``value``: LONG or DOUBLE if the
    variable holds such numbers and the value cannot be null, else a reference. null removes the value.
    """

    variable: ScopedVariable
    value: Expr
    span: Span
    of: Expr | None = None


@dataclass(frozen=True, slots=True)
class ScopedAdd:
    """``thread.x += value`` or ``state(object).x += value``, for a variable that holds LONG (or a unit) or DOUBLE. A
    missing value counts as 0.
    """

    variable: ScopedVariable
    value: Expr
    span: Span
    of: Expr | None = None


@dataclass(frozen=True, slots=True)
class ThreadClear:
    """``clear_thread()``."""


@dataclass(frozen=True, slots=True)
class FlowChange:
    """A call of ``begin_flow()`` or of another function of flows: ``function``, with the object ``of``. ``entered``: at
    ENTRY, the input that restores the flow when the method ends."""

    function: str
    of: Expr | None
    entered: Expr | None
    span: Span


@dataclass(frozen=True, slots=True)
class StateClear:
    """``clear_state(object)``."""

    of: Expr


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
    WriteJfr,
    Send,
    MapStore,
    MapAdd,
    Aggregate,
    Collect,
    MapDelete,
    MapClear,
    Disable,
    ScopedStore,
    ScopedAdd,
    ThreadClear,
    StateClear,
    FlowChange,
]


@dataclass(frozen=True, slots=True)
class Entry:
    """``entry(e)``: a separate handler evaluates it at method entry, and a frame local of type ``value.type.slot``
    keeps it.
    """

    index: int
    inputs: tuple[Input, ...]
    value: Expr


@dataclass(frozen=True, slots=True)
class BoundProbe:
    """One probe typed against one shape: everything that the code generator needs. ``inputs`` in the order of the
    handler's parameters, after the site id; with ``thrown`` the exception is one of them. ``locals_``: slot descriptor
    of each
    ``let`` variable."""

    probe: Probe
    shape: Shape | None  # None: timer, begin, end
    inputs: tuple[Input, ...]
    entries: tuple[Entry, ...]
    thrown: str | None  # THROW, RAISE, CATCH(type=…): fire only for exceptions that this pattern matches
    predicate: Expr | None
    body: tuple[Statement, ...]
    locals_: tuple[str, ...]
