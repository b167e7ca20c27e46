"""The places inside a method at which a probe fires: for each point the instructions that its pattern selects.

    for place in places(Selector(pattern, supertypes), Point.CALL_BEFORE, method_operations):
        print(place.at, place.target_class, place.member)

A place has the inputs that a probe can use there (:class:`OperationShape`), and the reason for each input that is
missing only here: an object before its constructor has returned, ``self`` before ``super(…)``. The types of the inputs
are the types that the instruction names. Data flow analysis finds the element type of an array. It is ``Object`` where
paths with different types join; ``byte`` and ``boolean`` arrays whose type is not known match both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from btpy.classfile import descriptors, operations
from btpy.classfile.jvms import ACC_SYNCHRONIZED
from btpy.classfile.operations import MethodOperations, Operation, OperationKind
from btpy.classfile.reader import CLASS_CONSTANTS_SINCE, ClassFile, Member
from btpy.dataclass import dataclass
from btpy.lang.inputs import InputKind
from btpy.lang.typed_tree import OperationShape, Variable
from btpy.model.patterns import OperationPattern, SignaturePattern, TypePattern, java_type
from btpy.model.points import Point
from btpy.model.types import OBJECT, Kind, Type, array_of, from_descriptor
from btpy.plan.plan import BEFORE_SUPER, OPERATIONS

Supertypes = Callable[[str], frozenset[str]]
"""All known supertypes of a class, by binary name."""

OWN_MONITOR: Final = -1
"""``Advice.at`` of the monitor of a synchronized method."""

INSIDE: Final = frozenset((*OPERATIONS, Point.LINE, Point.CATCH))
"""The points inside a method."""

_ELEMENT_SIZES: Final = {"Z": 1, "B": 1, "C": 2, "S": 2, "I": 4, "F": 4, "J": 8, "D": 8}
_REFERENCE_SIZE: Final = 4  # with compressed references, the default below 32 GB of heap


@dataclass(frozen=True, slots=True)
class Place:
    """``at``, ``target_class`` and ``member`` mean the same as in ``plan.Advice``. ``missing``: the reasons
    why inputs do not exist here. ``obstacle``: the reason why no code can run here.
    """

    at: int
    target_class: str = ""
    member: str = ""
    operation: OperationShape | None = None
    missing: tuple[tuple[InputKind, str], ...] = ()
    obstacle: str = ""


class Selector:
    """An ``OperationPattern``, compiled. Raises UsageError when a pattern is malformed.

    ``undecided``: binary names of classes that do not match only because their supertypes are not known yet. A class
        that an instruction names is possibly not loaded yet.
    """

    def __init__(self, pattern: OperationPattern | None, supertypes: Supertypes) -> None:
        pattern = pattern or OperationPattern()
        self._owner = None if pattern.owner is None else TypePattern.parse(pattern.owner.text)
        self._member = None if pattern.member is None else pattern.member.methods
        self._signature = None if pattern.signature is None else SignaturePattern.parse(pattern.signature.text)
        self._supertypes = supertypes
        self._selections: dict[tuple[str, str, str], bool] = {}
        self.lines = pattern.lines
        self.undecided: set[str] = set()

    @property
    def names_member(self) -> bool:
        """Whether the selector names a member."""
        return self._member is not None and self._member.is_exact

    @property
    def uses_supertypes(self) -> bool:
        return self._owner is not None and any(class_.needs_supertypes for class_ in self._owner.classes)

    def learned(self, name: str) -> bool:
        """Call this when the supertypes of a class become known. Returns whether it was undecided and now matches."""
        if self._owner is None or name not in self.undecided or not self._owner.matches(name, self._supertypes):
            return False
        self.undecided.discard(name)
        self._selections.clear()
        return True

    def selects(self, owner: str, name: str = "", descriptor: str = "") -> bool:
        """``owner``: a descriptor; ``name`` and ``descriptor`` of a call or a field."""
        key = (owner, name, descriptor)
        selected = self._selections.get(key)
        if selected is None:
            selected = self._selections[key] = self._selects(*key)
        return selected

    def _selects(self, owner: str, name: str, descriptor: str) -> bool:
        if self._member is not None and not self._member.matches(name):
            return False
        if self._signature is not None and descriptor[:1] == "(":
            parameters, returns = descriptors.parse(descriptor)
            if not self._signature.matches(tuple(map(java_type, parameters)), java_type(returns)):
                return False
        if self._owner is None or self._owner.matches(java_type(owner), self._supertypes):
            return True
        if self._owner.may_be_supertype(owner.lstrip("[")):
            self.undecided.add(java_type(owner.lstrip("[")))
        return False


_AFTER_SUPER: Final = (
    InputKind.SELF,
    InputKind.DEPTH,
    InputKind.NESTED,
    InputKind.SAMPLED,
    InputKind.SPAN,
    InputKind.FLOW,
)
"""The inputs that are missing in a constructor before it has called super(…) or this(…)."""


def places(selector: Selector, point: Point, of: MethodOperations) -> Iterator[Place]:
    """The places of a point in a method, in the order of its code. Raises ClassFileError."""
    if point is Point.LINE:
        all_places = _lines(selector, of)
    elif point is Point.CATCH:
        all_places = _catches(of)
    else:
        all_places = _operations(selector, point, of)
    for place in all_places:
        if of.before_super(place.at):
            absent = tuple((kind, BEFORE_SUPER) for kind in _AFTER_SUPER)
            place = replace(place, missing=(*place.missing, *absent))
        yield place


def described(point: Point, of: MethodOperations) -> list[str]:
    """The operations of a method at a point, for any pattern: ``java.net.URL::openStream``, ``byte[]``."""
    all_places = places(Selector(None, lambda name: frozenset()), point, of)
    return ["::".join(filter(None, (place.target_class, place.member))) for place in all_places]


def own_monitor(point: Point, file: ClassFile, method: Member) -> Place | None:
    """The place of a synchronized method's own monitor; None for other methods and other points."""
    synchronized = method.access_flags & ACC_SYNCHRONIZED
    if not synchronized or OPERATIONS.get(point) not in (OperationKind.ENTER_MONITOR, OperationKind.EXIT_MONITOR):
        return None
    shape = OperationShape(OBJECT)
    lock: tuple[tuple[InputKind, str], ...] = ()
    if method.is_static and file.major < CLASS_CONSTANTS_SINCE:
        lock = ((InputKind.TARGET, "class files older than Java 5 cannot name the class that is the lock"),)
    if point is Point.SYNC_ENTER:
        reason = (
            "the JVM enters the monitor before the first instruction; the time of its call sites includes the wait: "
            "use CALL(when=AFTER)"
        )
        return Place(OWN_MONITOR, operation=shape, missing=(*lock, (InputKind.DURATION, reason)))
    if point is Point.SYNC_ENTER_BEFORE:
        obstacle = "the JVM enters the monitor before the first instruction: use when=AFTER, or CALL at its call sites"
        return Place(OWN_MONITOR, operation=shape, obstacle=obstacle)
    if point is Point.SYNC_EXIT_AFTER:
        obstacle = "the JVM leaves the monitor after the last instruction: use CALL(when=AFTER) at its call sites"
        return Place(OWN_MONITOR, operation=shape, obstacle=obstacle)
    return Place(OWN_MONITOR, operation=shape, missing=lock)


def _lines(selector: Selector, of: MethodOperations) -> Iterator[Place]:
    first, last = selector.lines or (0, 65_535)
    for at, line in of.lines:
        if first <= line <= last:
            yield Place(at)


def _catches(of: MethodOperations) -> Iterator[Place]:
    caught: dict[int, list[str]] = {}
    for at, descriptor in of.catches:
        caught.setdefault(at, []).append(java_type(descriptor))
    for at, types in caught.items():
        yield Place(at, " | ".join(types), operation=OperationShape(None))


def live_variables(of: MethodOperations, at: int) -> tuple[tuple[Variable, ...], tuple[str, ...]]:
    """The live local variables at a line, and the names of the other variables. Both lists are without ``this`` and in
    slot order."""
    rows = sorted(of.variables or (), key=lambda row: (row.slot, row.start))
    state = of.state(at)
    live: dict[str, Variable] = {}
    for row in rows:
        if row.name != "this" and row.start <= at < row.end and state is not None and operations.holds(state, row):
            live[row.name] = Variable(
                row.name, erased_type(row.descriptor), descriptors.erase(row.descriptor), row.slot
            )
    absent = dict.fromkeys(row.name for row in rows if row.name != "this" and row.name not in live)
    return tuple(live.values()), tuple(absent)


def _operations(selector: Selector, point: Point, of: MethodOperations) -> Iterator[Place]:
    kind = OPERATIONS[point]
    for operation in of.operations:
        if operation.kind is not kind:
            continue
        if kind in (OperationKind.GET_ELEMENT, OperationKind.SET_ELEMENT):
            place = _element(selector, operation, of)
        elif operation.is_constructor_call:
            place = _constructor_call(selector, point, operation, of)
        elif point is Point.NEW:
            place = None
        elif kind is OperationKind.THROW:  # the handler tests the type of the exception
            place = Place(operation.at, operation=OperationShape(None))
        elif kind in (OperationKind.ENTER_MONITOR, OperationKind.EXIT_MONITOR):
            place = Place(operation.at, operation=OperationShape(OBJECT), missing=_unusable_target(operation, of))
        elif selector.selects(operation.owner, operation.name, operation.descriptor):
            place = _named(point, operation, of)
        else:
            place = None
        if place is not None:
            yield place


def _named(point: Point, operation: Operation, of: MethodOperations) -> Place:
    """The place of an instruction that names a class or a type."""
    target = None if operation.static else OBJECT
    value = _value(operation.result)
    arguments: tuple[str, ...] = ()
    missing: tuple[tuple[InputKind, str], ...] = ()
    if operation.kind is OperationKind.CALL:
        arguments = descriptors.parse(operation.descriptor)[0]
    elif operation.kind is OperationKind.SET_FIELD:
        value = _value(operation.descriptor)
        missing = _unusable_target(operation, of)
    elif operation.kind is OperationKind.NEW_ARRAY:
        return _new_array(operation)
    elif operation.kind is OperationKind.CAST:
        value = _value("V")
    shape = OperationShape(target, *_arguments(arguments), *value)
    return Place(operation.at, java_type(operation.owner), operation.name, shape, missing)


def _new_array(operation: Operation) -> Place:
    last = operation.result.lstrip("[")
    dimensions = len(operation.operands)
    if dimensions < len(operation.result) - len(last):
        last = descriptors.OBJECT  # the innermost arrays created here hold references to arrays
    size = _ELEMENT_SIZES.get(last, _REFERENCE_SIZE)
    shape = OperationShape(OBJECT, element_size=size, dimensions=dimensions)
    return Place(operation.at, java_type(operation.result), operation=shape)


def _element(selector: Selector, operation: Operation, of: MethodOperations) -> Place | None:
    state = of.state(operation.at) if operation.owner in ("B", descriptors.OBJECT) else None
    element = operations.element_type(operation, state)
    ambiguous = element == "B" and (state is None or operations.operand_value(operation, 0, state) != "[B")
    if not (selector.selects(element) or (ambiguous and selector.selects("Z"))):
        return None
    shape = OperationShape(OBJECT, (), (), *_value(element))
    return Place(operation.at, java_type(f"[{element}"), operation=shape)


def _constructor_call(selector: Selector, point: Point, call: Operation, of: MethodOperations) -> Place | None:
    if not selector.selects(call.owner, call.name, call.descriptor):
        return None
    state = of.state(call.at)
    is_own = state is not None and operations.initializes_this(call, state)
    missing: tuple[tuple[InputKind, str], ...] = ()
    obstacle = ""
    if point is Point.NEW and (is_own or state is None):
        return None
    if point is Point.CALL_THROW and is_own and not selector.names_member:
        return None  # a pattern for all calls does not include this call
    if point is Point.CALL_BEFORE:
        missing = ((InputKind.TARGET, "the object exists when its constructor has returned: use when=AFTER, or NEW"),)
    elif point is Point.CALL_THROW:
        missing = (
            (
                InputKind.TARGET,
                "there is no object where its constructor throws: `target` exists only where the constructor returns",
            ),
        )
    elif state is None or operations.new_object(call, state) is None:
        missing = ((InputKind.TARGET, "nothing refers to the object when its constructor has returned"),)
    if point is Point.CALL_THROW and is_own:
        obstacle = "no handler may cover super(…) or this(…): use THROW of that constructor, which sees the exception"
    shape = OperationShape(OBJECT, *_arguments(descriptors.parse(call.descriptor)[0]))
    return Place(call.at, java_type(call.owner), call.name, shape, missing, obstacle)


def _unusable_target(operation: Operation, of: MethodOperations) -> tuple[tuple[InputKind, str], ...]:
    """A constructor may write a field of ``this``, or enter a monitor, before the object is initialised."""
    state = of.state(operation.at)
    if state is None or not operations.may_be_uninitialized(operation, state, of.before_super(operation.at)):
        return ()
    reason = "the object cannot be looked at before its constructor has called super(…) or this(…)"
    return ((InputKind.TARGET, reason), (InputKind.OLD_VALUE, reason))


def _arguments(parameters: tuple[str, ...]) -> tuple[tuple[Type, ...], tuple[str, ...]]:
    return tuple(map(erased_type, parameters)), tuple(map(descriptors.erase, parameters))


def _value(descriptor: str) -> tuple[Type | None, str]:
    return (None, "V") if descriptor == "V" else (erased_type(descriptor), descriptors.erase(descriptor))


def erased_type(descriptor: str) -> Type:
    """The type without class names. Class names are not needed here, and would prevent methods from sharing a
    handler.
    """
    kind = from_descriptor(descriptor)
    if kind.kind is Kind.OBJECT:
        return OBJECT
    if kind.kind is Kind.ARRAY:
        return array_of(erased_type(descriptor[1:]))
    return kind
