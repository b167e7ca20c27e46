"""Proves from class files that a method of the JDK may be called at any moment, or gives the reason why it may not.

The prover interprets the method, and all methods that it calls, with abstract values. A value has a type; it may be
*exact* (its class is known) and *fresh* (made by this call, so that no other thread knows it). It has a *size*, the
bound on a number or on the length of an array or a string: ``CONSTANT``, ``LINEAR`` in the length of an array or a
string that the receiver or an argument holds, or ``ANY``. The prover refuses the method where it

- calls a method that a class outside of the JDK may implement, or a native method without an axiom;
- enters a monitor of an object that is not fresh;
- writes to an object that is not fresh, but for the fields in ``BENIGN``;
- repeats something without a bound, calls itself, or takes (in time or memory) more than ``LINEAR``;
- initialises a class whose initialiser does any of this.

Four tables, ``INITIALIZED``, ``CALLS``, ``NATIVES`` and ``BENIGN``, have the facts that class files cannot show, each
line with its reason. The prover assumes that an application does not subclass a class of ``java.*`` whose constructors
are not accessible. A number of steps is acceptable if it is at most the length of an existing array.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from btpy.classfile import descriptors, jimage
from btpy.classfile import opcodes as op
from btpy.classfile import pool as constants
from btpy.classfile.bytecode import branch_target, scan, switch_targets
from btpy.classfile.jvms import (
    ACC_ABSTRACT,
    ACC_FINAL,
    ACC_INTERFACE,
    ACC_NATIVE,
    ACC_PRIVATE,
    ACC_PROTECTED,
    ACC_PUBLIC,
    ACC_STATIC,
    ACC_SYNCHRONIZED,
)
from btpy.classfile.reader import (
    ClassFile,
    Code,
    Member,
)

CONSTANT, LINEAR, ANY = 0, 1, 2
_MOST_CONSTANT = 1 << 16
_STRING = "Ljava/lang/String;"

INITIALIZED: dict[str, str] = dict.fromkeys(
    (
        "java/lang/Object",
        "java/lang/String",
        "java/lang/Throwable",
        "java/lang/Math",
        "java/lang/Integer",
        "java/lang/StringBuilder",
    ),
    "the JVM initialises it before main; test_safe_calls.py looks at the log of each JDK",
)
"""Classes by internal name."""

_BUILDER = "the builder is fresh and exact; it grows to twice what is appended at most, which the caller is charged for"
_THROWN = (
    "fills at most -XX:MaxJavaStackTraceDepth frames into the fresh exception, and tells JFR where that records them"
)
CALLS: dict[str, tuple[int, str]] = {
    "java/lang/Throwable.<init>(Ljava/lang/String;)V": (CONSTANT, _THROWN),
    "java/lang/StringBuilder.<init>()V": (CONSTANT, _BUILDER),
    "java/lang/StringBuilder.<init>(I)V": (CONSTANT, "allocates as many characters as the argument says; see SIZED"),
    "java/lang/StringBuilder.append(I)Ljava/lang/StringBuilder;": (CONSTANT, _BUILDER),
    "java/lang/StringBuilder.append(Ljava/lang/String;)Ljava/lang/StringBuilder;": (LINEAR, _BUILDER),
    "java/lang/StringBuilder.toString()Ljava/lang/String;": (LINEAR, _BUILDER),
    "java/lang/Long.toString(J)Ljava/lang/String;": (CONSTANT, "makes a string of at most 20 characters"),
    "java/lang/Integer.toHexString(I)Ljava/lang/String;": (CONSTANT, "makes a string of at most 8 characters"),
    "java/lang/Integer.toString(I)Ljava/lang/String;": (CONSTANT, "makes a string of at most 11 characters"),
    "java/lang/String.lastIndexOf(I)I": (LINEAR, "searches the characters of the receiver"),
    "java/lang/String.substring(I)Ljava/lang/String;": (LINEAR, "copies some of the characters of the receiver"),
    "java/lang/String.substring(II)Ljava/lang/String;": (LINEAR, "copies some of the characters of the receiver"),
}
"""Methods that the prover does not interpret: their cost, and the reason. ``LINEAR``: linear in the longest argument or
the receiver.
"""

SIZED = frozenset(("java/lang/StringBuilder.<init>(I)V",))
"""Methods of ``CALLS`` whose cost is given by the number in their argument."""

NATIVES: dict[str, str] = {
    "java/lang/Class.getName0()Ljava/lang/String;": "makes the string of the class's name",
    "java/lang/Class.initClassName()Ljava/lang/String;": "makes the string of the class's name and keeps it in `name`",
    "java/lang/Class.isArray()Z": "an intrinsic that reads the class",
    "java/lang/Class.isInterface()Z": "an intrinsic that reads the class",
    "java/lang/Double.doubleToRawLongBits(D)J": "an intrinsic that moves a register",
    "java/lang/Double.longBitsToDouble(J)D": "an intrinsic that moves a register",
    "java/lang/Thread.isAlive()Z": "reads the state of the thread",
}
"""Native methods by internal name of the class, name and descriptor, with the reason why they may run."""

BENIGN: dict[str, str] = {
    "java/lang/Class.name": "the same text every time; the field is there to keep it",
}
"""Fields that a method may write even if other threads may see the object, with the reason."""


class Classes:
    """The class files of a JDK. Classes in the given directory replace classes of the JDK with the same name."""

    def __init__(self, home: Path, directory: Path | None = None) -> None:
        self._data = _of_runtime(home)
        if directory is not None:
            paths = {
                path.relative_to(directory).with_suffix("").as_posix(): path for path in directory.rglob("*.class")
            }
            self._data = {**self._data, **{name: path.read_bytes() for name, path in paths.items()}}
        self._files: dict[str, ClassFile] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._data

    def file(self, name: str) -> ClassFile:
        """The class of that internal name. Raises RefusedError."""
        file = self._files.get(name)
        if file is None:
            if name not in self._data:
                raise RefusedError(f"there is no class {name}")
            file = self._files[name] = ClassFile.parse(self._data[name])
        return file

    def subclasses(self, name: str) -> list[ClassFile]:
        """The classes of the same package that extend the class, at any depth."""
        package = name.rpartition("/")[0]
        members = [other for other in self._data if other.rpartition("/")[0] == package]
        return [self.file(other) for other in members if name in self.superclasses(other)]

    def superclasses(self, name: str) -> Iterator[str]:
        while (above := self.file(name).super_name) is not None and above in self._data:
            yield above
            name = above


@cache
def _of_runtime(home: Path) -> dict[str, bytes]:
    modules = home / "lib" / "modules"
    if modules.exists():
        return {name: read() for module, name, read in jimage.classes(modules) if module == "java.base"}
    archives = [home / "lib" / "rt.jar", home / "jre" / "lib" / "rt.jar"]
    with zipfile.ZipFile(next(path for path in archives if path.exists())) as archive:
        prefixes = ("java/", "sun/nio/", "sun/misc/", "sun/util/")
        names = [name for name in archive.namelist() if name.startswith(prefixes) and name.endswith(".class")]
        return {name.removesuffix(".class"): archive.read(name) for name in names}


@dataclass(frozen=True, slots=True)
class Value:
    """``type``: a field descriptor; ``V`` for the second half of a long or double. ``constant``: the value of a number
    in the code. ``local``: the variable from which a number has just been loaded."""

    type: str
    exact: bool = False
    fresh: bool = False
    size: int = ANY
    constant: int | None = None
    local: int = -1


HALF = Value("V")
NULL = Value("null", exact=True, fresh=True, size=CONSTANT)


@dataclass(frozen=True, slots=True)
class Summary:
    """``result``: None means the method returns no value, or never returns."""

    result: Value | None
    cost: int


def _declared(descriptor: str) -> Value:
    if descriptor in ("B", "C", "S", "Z"):
        return Value("I", size=CONSTANT)
    if descriptor in ("I", "J", "F", "D"):
        return Value(descriptor)
    return Value(descriptor, size=LINEAR)


def _join(one: Value, other: Value) -> Value | None:
    if one == other:
        return one
    if one.type in ("I", "J", "F", "D", "V") or other.type in ("I", "J", "F", "D", "V"):
        return Value(one.type, size=max(one.size, other.size)) if one.type == other.type else None
    if NULL in (one, other):
        return other if one == NULL else one
    is_fresh, size = one.fresh and other.fresh, max(one.size, other.size)
    if one.type == other.type:
        return Value(one.type, one.exact and other.exact, is_fresh, size)
    return Value(descriptors.OBJECT, False, is_fresh, size)


_State = tuple[tuple[Value | None, ...], tuple[Value, ...]]


def _merge(one: _State, other: _State) -> _State:
    width = max(len(one[0]), len(other[0]))
    pairs = zip(*((*locals_, *[None] * (width - len(locals_))) for locals_ in (one[0], other[0])), strict=True)
    locals_ = tuple(None if a is None or b is None else _join(a, b) for a, b in pairs)
    stack = tuple(_join(a, b) or HALF for a, b in zip(one[1], other[1], strict=True))
    return locals_, stack


class RefusedError(Exception):
    """The method cannot be shown to be harmless."""

    def through(self, method: str) -> RefusedError:
        return RefusedError(f"{method}: {self}")


class Prover:
    def __init__(self, classes: Classes) -> None:
        self.classes = classes
        self._summaries: dict[tuple[str, tuple[Value, ...], frozenset[str]], Summary | RefusedError] = {}
        self._running: list[str] = []
        self.used: set[str] = set()
        """The axioms that proofs have used."""
        self.initialized = frozenset(INITIALIZED)

    def prove(self, owner: str, name: str, parameters: Iterable[str], subtypes: bool) -> Summary:
        """The cost of a call of the method. Types are spelled as by ``Class.getName``. Raises RefusedError."""
        internal = owner.replace(".", "/")
        types = tuple(_descriptor(parameter) for parameter in parameters)
        file, method = self._declared_method(internal, name, types)
        if subtypes and not method.access_flags & ACC_FINAL:
            raise RefusedError(f"{name} is not final, and may be called on subtypes")
        receiver = Value(f"L{internal};", exact=not subtypes, size=LINEAR)
        self.initialized = frozenset((*INITIALIZED, internal, *self.classes.superclasses(internal)))
        arguments = (receiver, *map(_declared, types))
        for parameter, value in zip(types, arguments[1:], strict=True):
            if parameter[0] in "L[" and not self.is_exact(value):
                raise RefusedError(f"the class of an argument of type {descriptors.class_name(parameter)} is not known")
        return self.summary(file, method, arguments)

    def _declared_method(self, internal: str, name: str, types: tuple[str, ...]) -> tuple[ClassFile, Member]:
        for holder in (internal, *self.classes.superclasses(internal)):
            file = self.classes.file(holder)
            for method in file.methods:
                bridge = method.access_flags & 0x0040
                if method.name == name and descriptors.parse(method.descriptor)[0] == types and not bridge:
                    return self._implementation(internal, name, method.descriptor)
        raise RefusedError("there is no such method")

    def is_exact(self, value: Value) -> bool:
        """Whether the class of the object is known."""
        element = value.type.lstrip("[")
        if value.exact or (value.type[0] == "[" and element[0] != "L"):
            return True
        return element in self._finals(element)

    def _finals(self, descriptor: str) -> tuple[str, ...]:
        name = descriptor[1:-1]
        final = name in self.classes and self.classes.file(name).access_flags & ACC_FINAL
        return (descriptor,) if final else ()

    def summary(self, file: ClassFile, method: Member, arguments: tuple[Value, ...]) -> Summary:
        label = f"{file.name}.{method.name}{method.descriptor}"
        axiom = CALLS.get(label)
        if axiom is not None:
            self.used.add(label)
            return self._by_axiom(label, method, arguments, axiom[0])
        key = (label, arguments, self.initialized)
        summary = self._summaries.get(key)
        if summary is None:
            if label in self._running:
                raise RefusedError(f"{label} calls itself")
            self._running.append(label)
            try:
                summary = self._look_into(file, method, label, arguments)
            except RefusedError as error:
                summary = error.through(label)
            finally:
                self._running.pop()
            self._summaries[key] = summary
        if isinstance(summary, RefusedError):
            raise summary
        return summary

    def _by_axiom(self, label: str, method: Member, arguments: tuple[Value, ...], cost: int) -> Summary:
        receiver = arguments[0] if arguments else NULL
        if label.startswith("java/lang/StringBuilder.") and not (receiver.fresh and receiver.exact):
            raise RefusedError(f"{label} on a builder that other threads may know")
        returns = descriptors.parse(method.descriptor)[1]
        if label in SIZED:
            cost = arguments[-1].size
            if cost > LINEAR:
                raise RefusedError(f"{label} with a number that has no bound")
        copied = arguments[1:] if method.name == "append" else arguments
        texts = [value.size for value in copied if value.type[0] in "L["]
        cost = min(cost, max(texts, default=CONSTANT)) if label not in SIZED else cost
        if returns == "V":
            return Summary(None, cost)
        if returns == receiver.type:
            return Summary(receiver, cost)
        return Summary(replace(_declared(returns), size=cost) if returns == _STRING else _declared(returns), cost)

    def _look_into(self, file: ClassFile, method: Member, label: str, arguments: tuple[Value, ...]) -> Summary:
        flags = method.access_flags
        if flags & ACC_NATIVE:
            if label not in NATIVES:
                raise RefusedError("a native method")
            self.used.add(label)
            returns = descriptors.parse(method.descriptor)[1]
            return Summary(None if returns == "V" else _declared(returns), CONSTANT)
        if flags & ACC_SYNCHRONIZED and (flags & ACC_STATIC or not arguments[0].fresh):
            raise RefusedError("it is synchronized")
        if method.code is None:
            raise RefusedError("an abstract method")
        before = self.initialized
        self.initialized = before.union((file.name, *self.classes.superclasses(file.name)))
        try:
            return _Run(self, file, method.code, arguments).summary()
        finally:
            self.initialized = before

    def initialize(self, name: str) -> int:
        """The cost of the initialisers of the class and its superclasses."""
        cost = CONSTANT
        for holder in (name, *self.classes.superclasses(name)):
            if holder in self.initialized:
                self.used.add(holder)
                break  # its superclasses are initialised, too
            file = self.classes.file(holder)
            for method in file.methods:
                if method.name == "<clinit>":
                    cost = max(cost, self.summary(file, method, ()).cost)
        return cost

    def initializes(self, name: str) -> bool:
        """Whether the method that is interpreted now initialises the class."""
        return f"{name}.<clinit>()V" in self._running

    def called(
        self, opcode: int, owner: str, name: str, descriptor: str, receiver: Value | None
    ) -> list[tuple[ClassFile, Member]]:
        """Raises RefusedError if an application can have another implementation."""
        if receiver is None or opcode == op.INVOKESPECIAL:
            return [self._implementation(owner, name, descriptor)]
        if receiver.exact and receiver.type[0] == "L":
            return [self._implementation(receiver.type[1:-1], name, descriptor)]
        class_name = receiver.type[1:-1] if self.is_exact(receiver) else owner
        file, method = self._implementation(class_name, name, descriptor)
        of_class = self.classes.file(class_name).access_flags
        if of_class & ACC_FINAL or method.access_flags & (ACC_PRIVATE | ACC_FINAL):
            return [(file, method)]
        if of_class & ACC_INTERFACE:
            raise RefusedError(f"a call by the interface {owner}.{name}")
        is_internal = not method.access_flags & (ACC_PUBLIC | ACC_PROTECTED)  # no other package can override it
        if not ((is_internal and class_name.startswith("java/")) or self._closed(class_name)):
            raise RefusedError(f"a virtual call of {owner}.{name}, which subclasses may have")
        holders = [class_name, *(subclass.name for subclass in self.classes.subclasses(class_name))]
        methods = [self._implementation(holder, name, descriptor) for holder in holders]
        distinct = {
            (holder.name, implementation.offset): (holder, implementation) for holder, implementation in methods
        }
        return [pair for pair in distinct.values() if not pair[1].access_flags & ACC_ABSTRACT]

    def _closed(self, name: str) -> bool:
        """Whether only the package has subclasses of the class: no other code can call its constructors."""
        if not name.startswith("java/"):
            return False
        return all(
            file.access_flags & ACC_FINAL
            or not any(
                method.name == "<init>" and method.access_flags & (ACC_PUBLIC | ACC_PROTECTED)
                for method in file.methods
            )
            for file in (self.classes.file(name), *self.classes.subclasses(name))
        )

    def _implementation(self, owner: str, name: str, descriptor: str) -> tuple[ClassFile, Member]:
        holders = [owner, *self.classes.superclasses(owner)]
        for holder in holders:
            for method in self.classes.file(holder).methods:
                if method.name == name and method.descriptor == descriptor:
                    return self.classes.file(holder), method
        pending = list(holders)
        while pending:  # default methods
            for face in self.classes.file(pending.pop(0)).interfaces:
                for method in self.classes.file(face).methods:
                    if (method.name, method.descriptor) == (
                        name,
                        descriptor,
                    ) and not method.access_flags & ACC_ABSTRACT:
                        return self.classes.file(face), method
                pending.append(face)
        raise RefusedError(f"there is no {owner}.{name}{descriptor}")


def _descriptor(name: str) -> str:
    primitives = {
        "int": "I",
        "long": "J",
        "boolean": "Z",
        "char": "C",
        "double": "D",
        "float": "F",
        "byte": "B",
        "short": "S",
    }
    return primitives.get(name) or descriptors.of_class(name.replace(".", "/"))


_EXITS = frozenset((op.MONITOREXIT, op.ALOAD, *range(op.ALOAD_0, op.ALOAD_3 + 1), op.ASTORE))
_EXITS |= frozenset(range(op.ASTORE_0, op.ASTORE_3 + 1))
"""The instructions of the handler that leaves a ``synchronized`` block. It covers itself, but none of these throws."""


@dataclass(frozen=True, slots=True)
class Loop:
    """``backs``: the instructions that jump to the header from inside."""

    header: int
    body: frozenset[int]
    backs: tuple[int, ...]


class _Run:
    """The interpretation of one method for one set of arguments."""

    def __init__(self, prover: Prover, file: ClassFile, code: Code, arguments: tuple[Value, ...]) -> None:
        self._prover = prover
        self._file = file
        self._pool = file.pool
        self._attribute = code
        self._code = code.code
        self._starts = scan(code.code).starts
        self._next = dict(zip(self._starts, [*self._starts[1:], -1], strict=True))
        self._after = {at: self._successors(at) for at in self._starts}
        self._dominators = self._dominating()
        self._loops = self._find_loops()
        self._stored = {loop.header: {self._stored_by(at) for at in loop.body} for loop in self._loops}
        self._costs: dict[int, int] = {}
        self._entries: dict[int, _State] = {}
        self._states: dict[int, _State] = {}
        self._results: list[Value] = []
        self._locals: list[Value | None] = []
        self._stack: list[Value] = []
        self._at = 0
        for value in arguments:
            self._locals += [value, HALF] if value.type in ("J", "D") else [value]

    def summary(self) -> Summary:
        self._flow()
        result: Value | None = None
        for value in self._results:
            result = value if result is None else _join(result, value)
        bounds = {loop.header: self._bound(loop) for loop in self._loops if loop.header in self._states}
        cost = CONSTANT
        for at, instruction_cost in self._costs.items():
            around = [bounds[loop.header] for loop in self._loops if loop.header in bounds and at in loop.body]
            if instruction_cost and around:
                raise RefusedError("a loop around what is linear")  # even a short loop could double a text each time
            cost = max(cost, instruction_cost + sum(around))
        if cost > LINEAR:
            raise RefusedError("it takes more than is linear in the length of what it is given")
        return Summary(result, cost)

    def _successors(self, at: int) -> tuple[list[int], list[int]]:
        """The successors of an instruction, and the handlers of its exceptions."""
        code = self._code
        opcode = code[at]
        after: list[int] = []
        if opcode in (op.TABLESWITCH, op.LOOKUPSWITCH):
            after = switch_targets(code, at)
        elif opcode in (op.JSR, op.JSR_W, op.RET):
            raise RefusedError("a subroutine")
        elif op.FORMATS[opcode] in ("branch2", "branch4"):
            after = [branch_target(code, at)]
        if not op.ENDS_FLOW[opcode]:
            after = [*after, self._next[at]]
        return after, [
            row.handler
            for row in self._attribute.exceptions
            if row.start <= at < row.end and not (at >= row.handler and opcode in _EXITS)
        ]

    def _dominating(self) -> dict[int, int]:
        """By instruction, the set of instructions on every path to it (its dominators), as bits."""
        index = {at: number for number, at in enumerate(self._starts)}
        before: dict[int, list[int]] = {at: [] for at in self._starts}
        for at, (after, handlers) in self._after.items():
            for target in (*after, *handlers):
                before[target].append(at)
        everything = (1 << len(index)) - 1
        dominators = dict.fromkeys(self._starts, everything)
        dominators[0] = 1
        has_changed = True
        while has_changed:
            has_changed = False
            for at in self._starts[1:]:
                bits = everything
                for source in before[at]:
                    bits &= dominators[source]
                bits |= 1 << index[at]
                if bits != dominators[at]:
                    dominators[at] = bits
                    has_changed = True
        self._index = index
        self._before = before
        return dominators

    def _dominates(self, one: int, other: int) -> bool:
        return bool(self._dominators[other] >> self._index[one] & 1)

    def _find_loops(self) -> list[Loop]:
        backs: dict[int, list[int]] = {}
        for at, (after, handlers) in self._after.items():
            for target in (*after, *handlers):
                if self._dominates(target, at):
                    backs.setdefault(target, []).append(at)
                elif target <= at and self._reaches(target, at):
                    raise RefusedError("a loop with several entries")
        loops = []
        for header, sources in backs.items():
            body = {header}
            pending = list(sources)
            while pending:
                at = pending.pop()
                if at not in body:
                    body.add(at)
                    pending += self._before[at]
            loops.append(Loop(header, frozenset(body), tuple(sources)))
        return loops

    def _reaches(self, start: int, goal: int) -> bool:
        """Whether a path leads from ``start`` to ``goal`` without the dominators of ``start``."""
        visited: set[int] = set()
        pending = [start]
        while pending:
            at = pending.pop()
            if at == goal:
                return True
            if at not in visited:
                visited.add(at)
                after, handlers = self._after[at]
                successors = (*after, *handlers)
                pending += [
                    successor for successor in successors if not self._dominates(successor, start) or successor == start
                ]
        return False

    def _flow(self) -> None:
        self._pending = [0]
        self._states[0] = (tuple(self._locals), ())
        self._entries[0] = self._states[0]
        while self._pending:
            at = self._pending.pop()
            locals_, stack = self._states[at]
            self._at = at
            self._locals, self._stack = list(locals_), list(stack)
            self._costs[at] = CONSTANT
            self._step(at)
            after, handlers = self._after[at]
            for target in after:
                self._reach(at, target, (tuple(self._locals), tuple(self._stack)))
            for target in handlers:
                for variables in (locals_, tuple(self._locals)):
                    self._reach(at, target, (variables, (self._caught(target),)))

    def _caught(self, handler: int) -> Value:
        types = {row.catch_type for row in self._attribute.exceptions if row.handler == handler}
        name = self._pool.class_at(types.pop()) if len(types) == 1 and 0 not in types else "java/lang/Throwable"
        return Value(f"L{name};", size=LINEAR)

    def _reach(self, source: int, target: int, state: _State) -> None:
        if not self._dominates(target, source):
            entry = self._entries.get(target)
            self._entries[target] = state if entry is None else _merge(entry, state)
        if target in self._stored:
            stored = self._stored[target]
            widened = [
                Value(value.type) if value is not None and number in stored and value.type in "IJFD" else value
                for number, value in enumerate(state[0])
            ]
            state = (tuple(widened), state[1])
        before = self._states.get(target)
        merged = state if before is None else _merge(before, state)
        if merged != before:
            self._states[target] = merged
            self._pending.append(target)

    def _stored_by(self, at: int) -> int:
        """The local variable that the instruction writes; −1: none."""
        code, opcode = self._code, self._code[at]
        if opcode == op.WIDE:
            wide = op.ISTORE <= code[at + 1] <= op.ASTORE or code[at + 1] == op.IINC
            return code[at + 2] << 8 | code[at + 3] if wide else -1
        if op.ISTORE <= opcode <= op.ASTORE or opcode == op.IINC:
            return code[at + 1]
        return opcode - op.ISTORE_0 & 3 if op.ISTORE_0 <= opcode <= op.ASTORE_3 else -1

    def _bound(self, loop: Loop) -> int:
        """The bound on the number of rounds. Raises RefusedError if there is no known bound."""
        bounds: list[int] = []
        for at in loop.body:
            leaves = [target for target in self._after[at][0] if target not in loop.body]
            if leaves and at in self._states and all(self._dominates(at, back) for back in loop.backs):
                bounds += self._bounds_of(at, loop, leaves[0])
        bound = min(bounds, default=ANY)
        if bound > LINEAR:
            line = self._attribute.line_at(loop.header)
            raise RefusedError(f"a loop without a bound (line {line})")
        return bound

    def _bounds_of(self, at: int, loop: Loop, leaves: int) -> Iterator[int]:
        """The bound of a loop with a condition like ``counter < limit``, which counts up or down in each round."""
        opcode = self._code[at]
        stack = self._states[at][1]
        if op.IFEQ <= opcode <= op.IFLE:
            pair, kind = (stack[-1], Value("I", size=CONSTANT, constant=0)), opcode - op.IFEQ
        elif op.IF_ICMPEQ <= opcode <= op.IF_ICMPLE:
            pair, kind = (stack[-2], stack[-1]), opcode - op.IF_ICMPEQ
        else:
            return
        jumps = branch_target(self._code, at) == leaves
        for counter, limit, swapped in ((pair[0], pair[1], False), (pair[1], pair[0], True)):
            # 2: <, 3: >=, 4: >, 5: <=. ``ends`` is the condition that ends the loop; ``direction`` is the sign of the
            # counter's steps.
            ends = kind if jumps else {2: 3, 3: 2, 4: 5, 5: 4}.get(kind, kind)
            ends = {2: 4, 4: 2, 3: 5, 5: 3}.get(ends, ends) if swapped else ends
            direction = {3: 1, 4: 1, 2: -1, 5: -1}.get(ends, 0)
            start = self._entries.get(loop.header)
            if counter.local < 0 or direction == 0 or start is None or counter.local >= len(start[0]):
                continue
            first = start[0][counter.local]
            if first is not None and first.type == "I" and self._counts(counter.local, loop, direction):
                yield max(first.size, limit.size)

    def _counts(self, local: int, loop: Loop, direction: int) -> bool:
        writes = [at for at in loop.body if self._stored_by(at) == local]
        code = self._code
        for at in writes:
            amount = int.from_bytes(code[at + 2 : at + 3], signed=True) if code[at] == op.IINC else 0
            if amount * direction <= 0:
                return False
        return any(self._dominates(at, back) for at in writes for back in loop.backs) and all(
            any(self._dominates(at, back) for at in writes) for back in loop.backs
        )

    def _charge(self, cost: int) -> None:
        self._costs[self._at] = max(self._costs[self._at], cost)

    def _pop(self) -> Value:
        value = self._stack.pop()
        return self._stack.pop() if value == HALF else value

    def _push(self, value: Value) -> None:
        self._stack += [value, HALF] if value.type in ("J", "D") else [value]

    def _load(self, local: int) -> None:
        value = self._locals[local]
        if value is None:
            raise RefusedError("a variable without a value")
        self._push(replace(value, local=local) if value.type == "I" else value)

    def _store(self, local: int) -> None:
        value = replace(self._pop(), local=-1)
        width = 2 if value.type in ("J", "D") else 1
        self._locals += [None] * (local + width - len(self._locals))
        self._locals[local] = value
        if width == 2:
            self._locals[local + 1] = HALF

    def _step(self, at: int) -> None:
        code = self._code
        opcode = code[at]
        wide = opcode == op.WIDE
        if wide:
            opcode = code[at + 1]
        local = code[at + 2] << 8 | code[at + 3] if wide else code[at + 1] if at + 1 < len(code) else 0
        index = code[at + 1] << 8 | code[at + 2] if at + 2 < len(code) else 0
        if opcode == op.NOP or opcode in (op.GOTO, op.GOTO_W, op.RETURN):
            return
        if opcode == op.ACONST_NULL:
            self._push(NULL)
        elif op.ICONST_M1 <= opcode <= op.LDC2_W:
            self._constant(opcode, at)
        elif op.ILOAD <= opcode <= op.ALOAD:
            self._load(local)
        elif op.ILOAD_0 <= opcode <= op.ALOAD_3:
            self._load(opcode - op.ILOAD_0 & 3)
        elif op.IALOAD <= opcode <= op.SALOAD:
            self._pop()
            array = self._pop()
            element = ("I", "J", "F", "D", array.type[1:], "B", "C", "S")[opcode - op.IALOAD]
            self._push(_declared(element) if element and array != NULL else NULL)
        elif op.ISTORE <= opcode <= op.ASTORE:
            self._store(local)
        elif op.ISTORE_0 <= opcode <= op.ASTORE_3:
            self._store(opcode - op.ISTORE_0 & 3)
        elif op.IASTORE <= opcode <= op.SASTORE:
            self._pop()
            self._pop()
            if not self._pop().fresh:
                raise RefusedError("a write to an array that others may see")
        elif opcode in (op.POP, op.POP2):
            del self._stack[-1 if opcode == op.POP else -2 :]
        elif opcode in op.SHUFFLES:
            depth, pattern = op.SHUFFLES[opcode]
            values = self._stack[-depth:]
            del self._stack[-depth:]
            self._stack += [values[number] for number in pattern]
        elif op.IADD <= opcode <= op.LXOR:
            self._compute(opcode)
        elif opcode == op.IINC:
            value = self._locals[local]
            self._locals[local] = Value("I", size=ANY if value is None else value.size)
        elif op.I2L <= opcode <= op.I2S:
            self._convert(opcode)
        elif op.LCMP <= opcode <= op.DCMPG:
            self._pop()
            self._pop()
            self._push(Value("I", size=CONSTANT))
        elif op.IFEQ <= opcode <= op.IFLE or opcode in (op.IFNULL, op.IFNONNULL, op.TABLESWITCH, op.LOOKUPSWITCH):
            self._pop()
        elif op.IF_ICMPEQ <= opcode <= op.IF_ACMPNE:
            self._pop()
            self._pop()
        elif op.IRETURN <= opcode <= op.ARETURN:
            self._results.append(replace(self._pop(), local=-1, constant=None))
        elif op.GETSTATIC <= opcode <= op.PUTFIELD:
            self._access(opcode, index)
        elif op.INVOKEVIRTUAL <= opcode <= op.INVOKEINTERFACE:
            self._call(opcode, index)
        else:
            self._object(opcode, at, index)

    def _constant(self, opcode: int, at: int) -> None:
        code = self._code
        if opcode <= op.ICONST_5:
            return self._push(_number("I", opcode - op.ICONST_0))
        if opcode <= op.LCONST_1:
            return self._push(_number("J", opcode - op.LCONST_0))
        if opcode < op.BIPUSH:
            return self._push(Value("F" if opcode < op.DCONST_0 else "D", size=CONSTANT))
        if opcode < op.LDC:
            width = 1 if opcode == op.BIPUSH else 2
            return self._push(_number("I", int.from_bytes(code[at + 1 : at + 1 + width], signed=True)))
        index = code[at + 1] if opcode == op.LDC else code[at + 1] << 8 | code[at + 2]
        tag = self._pool.tag_at(index)
        if tag in (constants.INTEGER, constants.LONG):
            return self._push(_number("I" if tag == constants.INTEGER else "J", int(self._pool.number_at(index))))
        if tag in (constants.FLOAT, constants.DOUBLE):
            return self._push(Value("F" if tag == constants.FLOAT else "D", size=CONSTANT))
        if tag == constants.STRING:
            return self._push(Value(_STRING, exact=True, size=CONSTANT))
        if tag == constants.CLASS:
            return self._push(Value("Ljava/lang/Class;", exact=True, size=LINEAR))
        raise RefusedError("a constant that is computed")

    def _compute(self, opcode: int) -> None:
        kind = "IJFD"[opcode - op.IADD & 3] if opcode < op.ISHL else "IJ"[opcode - op.ISHL & 1]
        right = self._pop()
        if op.INEG <= opcode <= op.DNEG:
            return self._push(Value(kind, size=right.size))
        left = self._pop()
        size = max(left.size, right.size)
        if kind in "FD":
            size = ANY
        elif op.IMUL <= opcode <= op.DMUL:
            small = any(value.constant is not None and abs(value.constant) <= 1024 for value in (left, right))
            size = size if small else ANY
        elif op.IDIV <= opcode <= op.DDIV or op.ISHR <= opcode <= op.LUSHR:
            size = left.size
        elif op.IREM <= opcode <= op.DREM:
            size = right.size
        elif op.ISHL <= opcode <= op.LSHL:
            size = left.size if right.constant is not None and right.constant <= 10 else ANY
        elif op.IAND <= opcode <= op.LAND and any((value.constant or -1) >= 0 for value in (left, right)):
            size = min(value.size for value in (left, right) if (value.constant or -1) >= 0)
        self._push(Value(kind, size=size))
        return None

    def _convert(self, opcode: int) -> None:
        value = self._pop()
        kind = "JFDIFDIJDIJFIII"[opcode - op.I2L]
        size = value.size if opcode in (op.I2L, op.L2I) else CONSTANT if opcode >= op.I2B else ANY
        self._push(Value(kind, size=size))

    def _access(self, opcode: int, index: int) -> None:
        owner, name, descriptor = self._pool.member_at(index)
        label = f"{owner}.{name}"
        static = opcode in (op.GETSTATIC, op.PUTSTATIC)
        if static:
            self._charge(self._prover.initialize(owner))
        if opcode in (op.PUTSTATIC, op.PUTFIELD):
            self._pop()
            if static:
                allowed = self._prover.initializes(owner)
            else:
                allowed = self._pop().fresh
                if not allowed and label in BENIGN:
                    self._prover.used.add(label)
                    allowed = True
            if not allowed:
                raise RefusedError(f"a write to the field {label}")
            return
        if not static:
            self._pop()
        self._push(_declared(descriptor))

    def _call(self, opcode: int, index: int) -> None:
        owner, name, descriptor = self._pool.member_at(index)
        types, returns = descriptors.parse(descriptor)
        arguments = [replace(self._pop(), local=-1, constant=None) for _ in types][::-1]
        receiver = None
        if opcode != op.INVOKESTATIC:
            receiver = self._pop()
            if receiver == NULL:
                receiver = Value(descriptors.of_class(owner), size=LINEAR)
        if owner[0] == "[" and name == "clone" and receiver is not None:
            self._charge(receiver.size)
            return self._push(replace(receiver, fresh=True))
        cost = self._prover.initialize(owner) if receiver is None else CONSTANT
        results: list[Value | None] = []
        for file, method in self._prover.called(opcode, owner, name, descriptor, receiver):
            texts = arguments if receiver is None else [_as(receiver, file), *arguments]
            summary = self._prover.summary(file, method, tuple(texts))
            cost = max(cost, summary.cost)
            results.append(summary.result)
        self._charge(cost)
        if returns != "V":
            result = next((value for value in results if value is not None), None)
            for value in results:
                result = _join(result, value) if result is not None and value is not None else result
            self._push(_declared(returns) if result is None else result)
        return None

    def _object(self, opcode: int, at: int, index: int) -> None:
        code = self._code
        if opcode == op.NEW:
            name = self._pool.class_at(index)
            self._charge(self._prover.initialize(name))
            self._push(Value(f"L{name};", exact=True, fresh=True, size=LINEAR))
        elif opcode in (op.NEWARRAY, op.ANEWARRAY):
            length = self._pop().size
            if length > LINEAR:
                raise RefusedError("an array whose length has no bound")
            self._charge(length)
            element = (
                "ZCFDBSIJ"[code[at + 1] - 4]
                if opcode == op.NEWARRAY
                else descriptors.of_class(self._pool.class_at(index))
            )
            self._push(Value(f"[{element}", exact=True, fresh=True, size=length))
        elif opcode == op.ARRAYLENGTH:
            self._push(Value("I", size=self._pop().size))
        elif opcode == op.CHECKCAST:
            value = self._pop()
            to = descriptors.of_class(self._pool.class_at(index))
            self._push(value if value.exact else replace(value, type=to))
        elif opcode == op.INSTANCEOF:
            self._pop()
            self._push(Value("I", size=CONSTANT))
        elif opcode == op.ATHROW:
            self._pop()
        elif opcode in (op.MONITORENTER, op.MONITOREXIT):
            if not self._pop().fresh:
                raise RefusedError("it enters a monitor")
        else:
            raise RefusedError(f"the instruction {op.MNEMONICS[opcode]}")


def _number(kind: str, value: int) -> Value:
    return Value(kind, size=CONSTANT if abs(value) <= _MOST_CONSTANT else ANY, constant=value)


def _as(receiver: Value, file: ClassFile) -> Value:
    """The receiver in a method of that class."""
    return receiver if receiver.exact else replace(receiver, type=f"L{file.name};")
