"""The plan of one class: plain data between the planner, the code generator and the weaver.

The weaver sees only this module and ``btpy.classfile``. It knows nothing of scripts: a handler is a static method to
call at a point of a method with some operands.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from btpy.classfile import descriptors
from btpy.classfile.operations import OperationKind
from btpy.dataclass import dataclass, new_tuple
from btpy.model.patterns import java_type, simple_name
from btpy.model.points import Point as Point

OBJECT: Final = "Ljava/lang/Object;"

OPERATIONS: Final = {
    Point.CALL_BEFORE: OperationKind.CALL,
    Point.CALL_RETURN: OperationKind.CALL,
    Point.CALL_THROW: OperationKind.CALL,
    Point.NEW: OperationKind.CALL,
    Point.NEWARRAY: OperationKind.NEW_ARRAY,
    Point.FIELD_GET: OperationKind.GET_FIELD,
    Point.FIELD_SET: OperationKind.SET_FIELD,
    Point.ARRAY_GET: OperationKind.GET_ELEMENT,
    Point.ARRAY_SET: OperationKind.SET_ELEMENT,
    Point.CAST: OperationKind.CAST,
    Point.INSTANCEOF: OperationKind.INSTANCE_OF,
    Point.RAISE: OperationKind.THROW,
    Point.SYNC_ENTER_BEFORE: OperationKind.ENTER_MONITOR,
    Point.SYNC_ENTER: OperationKind.ENTER_MONITOR,
    Point.SYNC_EXIT: OperationKind.EXIT_MONITOR,
    Point.SYNC_EXIT_AFTER: OperationKind.EXIT_MONITOR,
}
"""The kind of instruction for each point that is at an instruction."""


class OperandKind(Enum):
    __hash__ = object.__hash__  # members are compared by identity, and are often used as keys

    SELF = "self"
    ARGUMENT = "argument"  # at ENTRY the live slot, else a copy made at entry; `number` counts parameters, not slots
    RESULT = "result"
    EXCEPTION = "exception"
    DURATION = "duration"  # System.nanoTime() at the exit minus at entry, read once at each exit for all advice
    START = "start"  # System.nanoTime() at entry
    LOCAL = "local"  # FrameLocal number `number` of the MethodPlan
    TARGET = "target"
    TARGET_ARGUMENT = "targ"
    OLD_VALUE = "oldval"
    NEW_VALUE = "newval"
    INDEX = "index"
    LENGTH = "length"
    VARIABLE = "variable"  # the method's own local variable in slot `number`


class Operand(NamedTuple):
    """A value that a handler takes. ``descriptor``: ``I J F D`` (``Z B C S`` are passed unchanged) or ``OBJECT``."""

    kind: OperandKind
    number: int
    descriptor: str


class Handler(NamedTuple):
    """A static method in the boot loader: ``int`` site id first, then the operands. ``class_name`` is internal."""

    class_name: str
    method: str
    descriptor: str


class Advice(NamedTuple):
    """One call to weave. ``probe`` is recorded with the site; advice of one point runs in the order of the plan.

    ``at``: offset of the instruction in the unwoven code, for the points inside a method (for LINE the first
    instruction of the line, for CATCH the first of the handler), and −1 for the monitor of a synchronized method
    itself. ``target_class`` (binary name) and ``member``: the class and the member that the instruction names. DURATION
    at CALL_* is the time of the call, at SYNC_ENTER the wait, at LINE the time since entry. VARIABLE exists only at
    LINE.
    """

    point: Point
    probe: int
    handler: Handler
    operands: tuple[Operand, ...]
    at: int | None = None
    target_class: str = ""
    member: str = ""


class FrameLocal(NamedTuple):
    """A value computed at entry and kept in a new local until exit: ``compute`` returns it (I, J, D or OBJECT).

    ``release``, if any, is called with (site, value) at every exit after all advice, exceptions included.

    In a constructor a computation that needs ``self``, or that has a release, runs after super(…); until then the local
    holds zero or null.
    """

    probe: int
    compute: Handler
    operands: tuple[Operand, ...]
    release: Handler | None = None


class MethodPlan:
    """Not changed after it is made, like the plan of a class. No dataclass, because compiled code makes and reads
    thousands of them, and a dataclass stays interpreted.
    """

    __slots__ = ("advice", "descriptor", "locals", "name")

    def __init__(
        self, name: str, descriptor: str, advice: tuple[Advice, ...], locals: tuple[FrameLocal, ...] = ()
    ) -> None:
        self.name = name
        self.descriptor = descriptor
        self.advice = advice
        self.locals = locals


@dataclass(frozen=True, slots=True)
class ClassPlan:
    """``class_name`` is internal; it must be the name of the class file that is woven."""

    class_name: str
    methods: tuple[MethodPlan, ...]


class Site(NamedTuple):
    """A woven place. ``id``: the number that the handler gets; ``target_class`` and ``member`` are those of the advice.

    ``line``: the line of the instruction, at ENTRY and THROW the line of the first instruction, 0 if the class has no
    line numbers.
    """

    id: int
    probe: int
    point: Point
    class_name: str  # binary name, dots
    method: str
    descriptor: str
    line: int
    target_class: str = ""
    member: str = ""
    loader: str = ""  # in the form of the agent; empty while no loader has loaded the class

    def of_loader(self, loader: str) -> Site:
        return new_tuple(Site, (*self[:-1], loader))


SITES: Final = 1 << 24
"""Site ids of a session: the top byte of an id is the session's slot."""

MAX_SLOT: Final = 127


def first_site(slot: int = 1) -> int:
    """The first site id of the session in a slot. The id 0 means that there is no site."""
    return slot * SITES + 1


class RefusalReason(Enum):
    """The reason why code is not woven. The value is the stable diagnostic code."""

    NO_CODE = "BT331"  # native or abstract
    TOO_LARGE = "BT332"  # the method would exceed 65 535 bytes
    POOL_FULL = "BT333"  # the constant pool would exceed 65 535 entries
    MALFORMED = "BT334"  # the class file breaks JVMS §4
    NO_SUPER_CALL = "BT335"  # a constructor with a returning path on which `this` is never initialised
    LOADER = "BT336"  # the class's loader does not see the run-time classes
    UNMODIFIABLE = "BT337"  # hidden, lambda, array or primitive class
    PARAMETER_NAMES = "BT338"  # retransformation would drop MethodParameters on this JDK (JDK-8240908)
    REJECTED = "BT339"  # the JVM refused the woven class
    PROTECTED = "BT340"  # a core class, which needs --allow core, or a class of another agent
    NOT_TIMED = "BT341"  # a synchronized method enters its monitor before its first instruction
    NO_VALUE = "BT342"  # the place lacks the value: the object does not exist yet, or is no longer referenced
    NO_LINES = "BT343"  # compiled without line numbers
    NO_POINT = "BT344"  # no code can run there: before the monitor of a synchronized method, around super(…)
    TOO_MANY = "BT345"  # with a class that is loaded later the probe would exceed its max=
    NO_SITES = "BT346"  # the session has no numbers left for its places
    RECORD = "BT347"  # retransformation may break a record with annotated types on this JDK (JDK-8376185)


ALLOWED_BY: Final = {
    RefusalReason.PARAMETER_NAMES: "lost-parameter-names",
    RefusalReason.RECORD: "annotated-records",
}
"""The value of ``--allow`` for classes that retransformation may damage on this JDK."""


def failure_reason(error: str) -> RefusalReason:
    """``error``: the agent's message about a class that it has not retransformed, or that the JVM has refused."""
    if error.startswith(_NAMES_LOST):
        return RefusalReason.PARAMETER_NAMES
    if error == _FIXED:
        return RefusalReason.UNMODIFIABLE
    return RefusalReason.LOADER if error.endswith(f"[{RefusalReason.LOADER.value}]") else RefusalReason.REJECTED


# Texts of the agent (Retransformer.java).
_NAMES_LOST: Final = "it would lose the names of its parameters"
_FIXED: Final = "the JVM does not let this class be changed"

OF_PLACES: Final = (RefusalReason.NOT_TIMED, RefusalReason.NO_VALUE, RefusalReason.NO_POINT, RefusalReason.NO_LINES)
"""If a place is refused for one of these reasons, other places in the method may have the value that the probe
needs."""

BEFORE_SUPER: Final = "`self` does not exist before super(…) or this(…) has returned"
NEEDS_CORE: Final = "core JDK class: name it exactly and add --allow core"
OF_JFR: Final = "a probe that writes JFR events is not placed in the classes of JFR"
MATCHED: Final = "matched  "
"""Begins the note that names the method a diagnostic is about: ``matched  PricingEngine.quote(String, int)``."""


@dataclass(frozen=True, slots=True)
class Refusal:
    reason: RefusalReason
    class_name: str
    method: str | None  # name and descriptor; None: the whole class
    detail: str

    @property
    def where(self) -> str:
        """The class, or the method as Java spells it: ``com.acme.Table.row(int)``."""
        if self.method is None:
            return self.class_name
        name, _, rest = self.method.partition("(")
        parameters, _ = descriptors.parse(f"({rest}")
        return f"{self.class_name}.{name}({', '.join(simple_name(java_type(parameter)) for parameter in parameters)})"

    def __str__(self) -> str:
        """The refusal in one line, for the user."""
        subject = f"a place in {self.where}" if self.reason in OF_PLACES else self.where
        return f"{subject} is not traced [{self.reason.value}]: {self.detail}"


@dataclass(frozen=True, slots=True)
class Woven:
    """``data``: None means the class is unchanged (it has no method of the plan, or all were refused)."""

    data: bytes | None
    sites: tuple[Site, ...]
    refusals: tuple[Refusal, ...]
