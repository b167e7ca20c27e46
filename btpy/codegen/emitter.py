"""The state that the parts of one handler share while its code is generated: code, local variables, guard."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from btpy.classfile import opcodes as op
from btpy.classfile.assembler import CodeBuilder, Label
from btpy.classfile.descriptors import OBJECT, slots
from btpy.codegen import runtime_api as api
from btpy.codegen.runtime_api import RuntimeMethod
from btpy.errors import CompileError
from btpy.lang.inputs import Input, InputKind
from btpy.lang.program import Probe
from btpy.lang.typed_tree import Statement
from btpy.model.source import Span
from btpy.model.types import ANY, DOUBLE, INT, LONG, Kind, Type

_TYPE_OF_SLOT = {"I": INT, "J": LONG, "D": DOUBLE, OBJECT: ANY}

# Widening, the narrowing of a shift distance (JLS §15.19 uses its low bits only), and `x as int` (JLS §5.1.3).
_CONVERSIONS = {"IJ": op.I2L, "ID": op.I2D, "JD": op.L2D, "JI": op.L2I, "DI": op.D2I, "DJ": op.D2L}

# The cost of an input in woven code, in clock readings.
_READINGS = {
    InputKind.DURATION: 2,
    InputKind.DEPTH: 1,
    InputKind.NESTED: 4,
    InputKind.SPAN: 4,
    InputKind.ENTRY: 1,
    InputKind.FLOW: 1,
    InputKind.SAMPLED: 1,
}


class Emitter:
    """Writes one ``fire`` method.

    Locals: the site id in slot 0, inputs, the position of the current expression, the session, the result, the state of
    the run, ``let`` variables, and temporaries, which are free after a statement. ``probe``: the probe whose body is
    generated: the handler's own probe, or a subscriber. ``readings``: the number of clock readings that woven code
    makes for the handler. ``sampled_thread``: the input with the thread for the records. None: the thread that fires.
    ``needs_guard``: whether the handler calls a method that requires the guard; ``guarded``: whether it has a guard.
    """

    def __init__(
        self,
        code: CodeBuilder,
        probe: Probe,
        inputs: tuple[Input, ...],
        variables: tuple[str, ...],
        returns: str,
        *,
        guarded: bool,
        sampled_thread: Input | None = None,
        write: Callable[[Emitter, Sequence[Statement]], None],
    ) -> None:
        self.code = code
        self.probe = self.host = probe
        self.guarded = guarded
        self.sampled_thread = sampled_thread
        self._write = write
        self.stop = Label()  # ends this firing
        self.leave: Label | None = None  # the end of the current function of the script
        self.needs_guard = False
        self.work_slot: int | None = None  # the local with the remaining statements, if they are counted
        self._inputs: dict[Input, int] = {}
        slot = 1
        for input_ in inputs:
            self._inputs[input_] = slot
            slot += slots(input_.descriptor)
        self._position_slot = slot
        self._position: int | None = None  # the value of that local at this place, None: not known
        self._session_slot = slot + 1
        self._result_slot = slot + 2
        self._returns = returns
        self.readings = sum(_READINGS.get(input_.kind, 0) for input_ in inputs)
        self._run_slot = slot + 2 + slots(returns)
        self._entry_slot = self._run_slot + 2
        self._begin_slot = self._entry_slot + guarded
        self._words_slot = self._begin_slot + 2
        self._next = self._words_slot + 1
        self.admitted_by_run = False  # whether a state of 0 means that the run was not admitted
        self._weight_slot: int | None = None
        self._variables = [(self.allocate(descriptor), descriptor) for descriptor in variables]

    def begin(self, span: Span) -> None:
        """Initialises the locals that all paths need."""
        self.position(span)
        self.code.op(op.ACONST_NULL)
        self.store_session()
        if self._returns == OBJECT:
            self.code.op(op.ACONST_NULL)
        elif self._returns != "V":
            self.code.constant(self._returns, 0)
        self.store_result()
        self.code.constant("J", 0)
        self.store_run()
        if self.guarded:
            self.code.constant("I", -1)
            self.store_entry()
        self.no_record()

    def no_record(self) -> None:
        """From here on no record is open."""
        self.code.constant("J", -1)
        self.code.store("J", self._begin_slot)
        self.code.op(op.ACONST_NULL)
        self.code.type(
            op.CHECKCAST, "[J"
        )  # a backward jump can carry the array of a record, so the type must be that of an array
        self.code.store(OBJECT, self._words_slot)

    def store_begin(self) -> None:
        """Keeps the cursor of the open record."""
        self.code.store("J", self._begin_slot)

    def load_begin(self) -> None:
        self.code.load("J", self._begin_slot)

    def store_words(self) -> None:
        """Keeps the array of the open record."""
        self.code.store(OBJECT, self._words_slot)

    def load_words(self) -> None:
        self.code.load(OBJECT, self._words_slot)

    def store_entry(self) -> None:
        """Keeps the entry that marks the thread as being inside a guarded handler."""
        self.code.store("I", self._entry_slot)

    def load_entry(self) -> None:
        self.code.load("I", self._entry_slot)

    def store_run(self) -> None:
        """Keeps the state of this run: its weight, and whether and since when it is timed (Probe.java)."""
        self.code.store("J", self._run_slot)

    def load_run(self) -> None:
        self.code.load("J", self._run_slot)

    def count_work(self, most: int) -> None:
        """From here on loops count their statements down from ``most``."""
        self.work_slot = self.allocate("I")
        self.code.constant("I", most)
        self.code.store("I", self.work_slot)

    def spend(self, statements: int, span: Span) -> None:
        """Subtracts the statements of one iteration of a loop, if they are counted. ``span``: the loop."""
        if self.work_slot is not None:
            goes_on = Label()
            self.code.iinc(self.work_slot, -statements)
            self.code.load("I", self.work_slot)
            self.code.branch(op.IFGE, goes_on)
            self.position(span)
            self.call(api.EXHAUSTED)
            self.place(goes_on)

    def store_result(self) -> None:
        if self._returns != "V":
            self.code.store(self._returns, self._result_slot)

    def load_result(self) -> None:
        if self._returns != "V":
            self.code.load(self._returns, self._result_slot)

    def allocate(self, descriptor: str) -> int:
        """A fresh local variable."""
        slot = self._next
        self._next += slots(descriptor)
        return slot

    @property
    def mark(self) -> int:
        return self._next

    def release(self, mark: int) -> None:
        """Frees the locals allocated since ``mark`` was taken."""
        self._next = mark

    def load_site(self) -> None:
        self.code.load("I", 0)

    def load_session(self) -> None:
        self.code.load(OBJECT, self._session_slot)

    def store_session(self) -> None:
        self.code.store(OBJECT, self._session_slot)

    def store_weight(self) -> None:
        """Keeps the weight of this firing."""
        self._weight_slot = self.allocate("I")
        self.code.store("I", self._weight_slot)

    def load_weight(self) -> None:
        """Pushes the weight of this firing, a long."""
        if self._weight_slot is None:
            self.load_run()
            self.code.constant("I", api.RUN_WEIGHT_SHIFT)
            self.code.op(op.LUSHR)
        else:
            self.code.load("I", self._weight_slot)
            self.code.op(op.I2L)

    def load_position(self) -> None:
        self.code.load("I", self._position_slot)

    def load_input(self, input_: Input) -> None:
        """Pushes an input with the type of its descriptor; a float becomes a double."""
        slot = self._inputs.get(input_)
        if slot is None:
            raise CompileError(f"{input_.kind.value} is used but is not an input of the handler")
        self.code.load(input_.descriptor, slot)
        if input_.descriptor == "F":
            self.code.op(op.F2D)

    def load_variable(self, index: int) -> Type:
        slot, descriptor = self._variables[index]
        self.code.load(descriptor, slot)
        return _TYPE_OF_SLOT[descriptor]

    def store_variable(self, index: int, type_: Type) -> None:
        slot, descriptor = self._variables[index]
        if type_.slot != descriptor:
            self.convert(type_, _TYPE_OF_SLOT[descriptor])
        self.code.store(descriptor, slot)

    def statements(self, statements: Sequence[Statement]) -> None:
        """Generates statements. Generates the statements of a block; expressions that contain statements use it."""
        self._write(self, statements)

    def place(self, label: Label) -> None:
        self.code.place(label)
        self._position = None

    def position(self, span: Span) -> None:
        """From here on errors are reported at ``span``."""
        packed = span.packed
        if packed != self._position:
            self.code.constant("I", packed)
            self.code.store("I", self._position_slot)
            self._position = packed

    def place_loop(self, label: Label, changing: Iterable[int]) -> None:
        """Places a label for a backward jump; ``changing``: variables that are assigned in the loop."""
        self.code.place_loop(label, [self._variables[index][0] for index in changing], self._next)
        self._position = None

    def call(self, method: RuntimeMethod) -> None:
        """Calls with receiver and arguments on the stack."""
        self.needs_guard = self.needs_guard or method.guarded
        opcode = op.INVOKESTATIC if method.static else op.INVOKEVIRTUAL
        self.code.invoke(opcode, method.owner, method.name, method.descriptor)

    def convert(self, source: Type, target: Type) -> None:
        """Converts the value on the stack from the representation of one type to the representation of another type.

        Boxes are Long, Double, Boolean and Character.  Unboxing null is an error of the probe, counted at the position
        set before; a nullable number stays null.
        """
        if source.is_reference:
            if not target.is_reference:
                self._unbox(target)
            elif target.kind is Kind.DOUBLE and source.is_integral:
                self._widen_box()
        elif not target.is_reference:
            self._convert_primitive(source, target)
        else:
            if target.kind is Kind.DOUBLE:
                self._convert_primitive(source, DOUBLE)
                source = DOUBLE
            self._box(source)

    def _convert_primitive(self, source: Type, target: Type) -> None:
        if (source.kind is Kind.BOOLEAN) != (target.kind is Kind.BOOLEAN):
            raise CompileError(f"there is no conversion from {source} to {target}")
        if source.slot != target.slot:
            opcode = _CONVERSIONS.get(source.slot + target.slot)
            if opcode is None:
                raise CompileError(f"there is no conversion from {source} to {target}")
            self.code.op(opcode)

    def _box(self, type_: Type) -> None:
        if type_.kind is Kind.BOOLEAN:
            self.call(api.BOOLEAN_VALUE_OF)
        elif type_.kind is Kind.CHAR:
            self.call(api.CHARACTER_VALUE_OF)
        elif type_.kind is Kind.DOUBLE:
            self.call(api.DOUBLE_VALUE_OF)
        else:
            self._convert_primitive(type_, LONG)
            self.call(api.LONG_VALUE_OF)

    def _unbox(self, type_: Type) -> None:
        if type_.kind is Kind.BOOLEAN:
            self.call(api.TRUTH)
        elif type_.kind in (Kind.INT, Kind.CHAR):
            self.call(api.TO_INT)
        elif type_.kind is Kind.DOUBLE:
            self.call(api.TO_DOUBLE)
        else:
            self.call(api.TO_LONG)

    def _widen_box(self) -> None:
        absent = Label()
        self.code.op(op.DUP)
        self.code.branch(op.IFNULL, absent)
        self.call(api.TO_DOUBLE)
        self.call(api.DOUBLE_VALUE_OF)
        self.place(absent)
