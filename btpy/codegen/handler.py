"""Handler classes: one static method ``fire``, with the structure that ``docs/runtime.md`` describes.

    position = of the probe, session = null, result = 0
    try    tally or add (site, probe, map, …); done               of a probe that does nothing but add to one map
           weight = sample(site, probe); if 0: done               only of a sampled probe
           session = enter(site, probe); if null: done
           if guarded: entry = Guard.enter(session, probe); if < 0: done
           predicate; run = fired                                 or the value of entry(e)
    asked  if run < 0: stop; body                                 of a run that is timed: run = over; go to asked
    catch  if session != null:
               try { session.failed(probe, position, error) } catch { count it without a call }
               try { abandon(session, words, begin) } catch { give the open record up without a call }
    stop   if run is timed: try { session.took(probe, run, readings) } catch { }
           if guarded: try { leave(entry) } catch { marks[entry] = left }
    done   return result

The calls in a handler determine whether it must be guarded, so this is known only when its code is complete. So btpy
generates the handler with the guard first, and then again without the guard if it does not need the guard.
"""

from __future__ import annotations

from collections.abc import Callable

from btpy.classfile import opcodes as op
from btpy.classfile.assembler import ClassBuilder, CodeBuilder, Label
from btpy.classfile.descriptors import OBJECT, parse, slots
from btpy.classfile.jvms import ACC_FINAL, ACC_PUBLIC, ACC_STATIC, ACC_SUPER, ACC_SYNTHETIC, MAX_PARAMETER_SLOTS
from btpy.codegen import runtime_api as api
from btpy.codegen.emitter import Emitter
from btpy.codegen.expressions import emit_as
from btpy.codegen.handler_class import PLACEHOLDER, HandlerClass, content_name
from btpy.codegen.runtime_api import RuntimeMethod
from btpy.codegen.statements import emit_addition, emit_failure, emit_firing, emit_statements, single_addition
from btpy.codegen.work import work_of_value
from btpy.errors import ClassFileError, CompileError
from btpy.lang.builtins import MAX_STATEMENTS, SAMPLED_STACK, SAMPLED_WEIGHT, sample_fact
from btpy.lang.inputs import Input, InputKind
from btpy.lang.program import Probe, Program
from btpy.lang.typed_tree import Aggregate, BoundProbe, Entry
from btpy.model.attachments import SampleAttachment
from btpy.model.source import Span
from btpy.model.types import ANY, INT


class ParameterOverflowError(CompileError):
    """A probe uses more values of a method than a handler can have parameters (JVMS §4.3.3)."""


def compile_fire(program: Program, bound_probe: BoundProbe) -> HandlerClass:
    """The handler that a site of the probe calls: ``fire(site, inputs…)``.

    Raises CompileError when the probe does not fit into a method of a class file (JVMS §4.11).
    """

    def sample(emitter: Emitter, unsampled: Label) -> None:
        code = emitter.code
        if isinstance(bound_probe.probe.attachment, SampleAttachment):
            emitter.load_input(sample_fact(SAMPLED_WEIGHT))
            emitter.convert(ANY, INT)
            emitter.store_weight()
            return
        sampling = bound_probe.probe.sampling
        if sampling is None:
            return
        if sampling.by_thread:
            emitter.load_input(next(input_ for input_ in bound_probe.inputs if input_.kind is InputKind.SAMPLED))
            code.op(op.DUP)
            negative = Label()
            code.branch(op.IFLT, negative)
            code.constant("I", api.WEIGHT_MASK)
            code.op(op.IAND)
            emitter.place(negative)
        else:
            emitter.load_site()
            code.constant("I", bound_probe.probe.id)
            code.invoke(op.INVOKESTATIC, api.SAMPLE.owner, api.SAMPLE.name, api.SAMPLE.descriptor)
        code.op(op.DUP)
        emitter.store_weight()
        code.branch(op.IFLE, unsampled)

    def write(emitter: Emitter) -> None:
        if bound_probe.thrown is not None:
            _check_thrown(emitter, bound_probe, bound_probe.thrown)
        emit_firing(emitter, bound_probe.predicate, bound_probe.body, times=True)

    is_plain = bound_probe.predicate is None and bound_probe.thrown is None and bound_probe.probe.sampling is None
    addition = single_addition(bound_probe.body) if is_plain else None
    return _compile(program, bound_probe, bound_probe.inputs, "V", bound_probe.probe.span, write, sample, addition)


def compile_entry(program: Program, bound_probe: BoundProbe, entry: Entry) -> HandlerClass:
    """The handler that computes ``entry(e)`` when the method is entered: ``fire(site, inputs…)`` returns the value.

    If the computation fails (the handler counts this), or the probe is disabled, the value is zero or null. Raises
    CompileError.
    """
    returns = entry.value.type.slot

    def write(emitter: Emitter) -> None:
        if work_of_value(entry.value) > MAX_STATEMENTS:
            emitter.count_work(MAX_STATEMENTS)
        emit_as(emitter, entry.value, entry.value.type)
        emitter.store_result()

    return _compile(program, bound_probe, entry.inputs, returns, entry.value.span, write)


def depth_handlers(probe_id: int) -> tuple[HandlerClass, HandlerClass]:
    """The pair of handlers that maintains ``depth``: enter ``(site) → activations below this one``, release ``(site,
    that value)``.

    An activation that could not be counted is −1, and is not released.
    """
    return _around(probe_id, api.DEPTH_ENTER, api.DEPTH_LEAVE)


def sampling_handlers(probe_id: int) -> tuple[HandlerClass, HandlerClass]:
    """The pair of handlers that samples by thread: enter ``(site) → weight``, release ``(site, that value)``."""
    return _around(probe_id, api.SAMPLE_ENTER, api.SAMPLE_LEAVE)


def self_time_handlers(probe_id: int) -> tuple[HandlerClass, HandlerClass]:
    """The pair of handlers that measures the exclusive time of activations: enter ``(site) → value``, release ``(site,
    that value)``.
    """
    return _around(probe_id, api.SELF_TIME_ENTER, api.SELF_TIME_LEAVE)


def flow_handlers(probe_id: int, change: int) -> tuple[HandlerClass, HandlerClass | None]:
    """The handler at entry for a probe that changes the flow of the thread, ``(site) → depth``, and the handler that
    restores the flow, ``(site, depth)``. ``change``: the index of the input (:class:`InputKind`).
    """
    if change == 2:
        return _entering(probe_id, api.FLOW_END), None
    return _around(probe_id, api.FLOW_ENTER if change == 0 else api.FLOW_ENTER_WITHOUT, api.FLOW_LEAVE)


def span_handlers(probe_id: int, *, encloses: bool) -> tuple[HandlerClass, HandlerClass | None]:
    """The handler that begins a span: ``(site) → span``, and for a span that encloses other spans the handler that ends
    it.
    """
    if encloses:
        return _around(probe_id, api.SPAN_ENTER, api.SPAN_LEAVE)
    return _entering(probe_id, api.SPAN_BEGIN), None


def _around(probe_id: int, entering: RuntimeMethod, leaving: RuntimeMethod) -> tuple[HandlerClass, HandlerClass]:
    """Handlers at entry and exit of a method: ``(site) → value``, and ``(site, value)``; an ``int`` of −1 is not
    released."""
    return _entering(probe_id, entering), _leaving(probe_id, parse(entering.descriptor)[1], leaving)


def _entering(probe_id: int, entering: RuntimeMethod) -> HandlerClass:
    """The handler at entry: ``(site) → value``."""
    value = parse(entering.descriptor)[1]
    enter = _Method(f"(I){value}")
    failure = Label()
    with enter.code.protected(failure):
        enter.code.load("I", 0)
        enter.code.constant("I", probe_id)
        _call(enter.code, entering)
        enter.code.return_()
    enter.code.place(failure)
    enter.code.op(op.POP)
    if value == OBJECT:
        enter.code.op(op.ACONST_NULL)
    else:
        enter.code.constant(value, -1 if value == "I" else api.NOT_COUNTED)
    enter.code.return_()
    return enter.finish()


def _leaving(probe_id: int, value: str, leaving: RuntimeMethod) -> HandlerClass:
    """The handler at exit: ``(site, value)``; ``value``: its descriptor."""
    release = _Method(f"(I{value})V")
    end, failure = Label(), Label()
    if value == "I":
        release.code.load("I", 1)
        release.code.branch(op.IFLT, end)
    with release.code.protected(failure):
        release.code.load("I", 0)
        release.code.constant("I", probe_id)
        release.code.load(value, 1)
        _call(release.code, leaving)
    release.code.branch(op.GOTO, end)
    release.code.place(failure)
    release.code.op(op.POP)
    release.code.place(end)
    release.code.return_()
    return release.finish()


class _Method:
    """A handler class whose method has no code yet."""

    def __init__(self, descriptor: str) -> None:
        self._descriptor = descriptor
        self._class = ClassBuilder(PLACEHOLDER, access=ACC_PUBLIC | ACC_FINAL | ACC_SUPER | ACC_SYNTHETIC)
        self.code = self._class.method(ACC_PUBLIC | ACC_STATIC, api.HANDLER_METHOD, descriptor)

    def finish(self) -> HandlerClass:
        anonymous = self._class.to_bytes()
        name = content_name(anonymous)
        # The class's own name is the first constant; a text of the script may contain it too.
        data = anonymous.replace(PLACEHOLDER.encode(), name.encode(), 1)
        return HandlerClass(name.replace("/", "."), data, self._descriptor)


def _call(code: CodeBuilder, method: RuntimeMethod) -> None:
    code.invoke(op.INVOKESTATIC, method.owner, method.name, method.descriptor)


def _compile(
    program: Program,
    bound_probe: BoundProbe,
    inputs: tuple[Input, ...],
    returns: str,
    span: Span,
    write: Callable[[Emitter], None],
    sample: Callable[[Emitter, Label], None] = lambda emitter, unsampled: None,
    addition: Aggregate | None = None,
) -> HandlerClass:
    """``addition``: the only operation of the handler, if it is just one addition to a map."""
    probe = bound_probe.probe
    descriptor = f"(I{''.join(input_.descriptor for input_ in inputs)}){returns}"
    slot_count = 1 + sum(slots(input_.descriptor) for input_ in inputs)
    if slot_count > MAX_PARAMETER_SLOTS:
        raise ParameterOverflowError(
            f"{_title(program, probe)} passes {slot_count} slots to its handler; the JVM allows {MAX_PARAMETER_SLOTS}",
            help=("print fewer arguments: name the arguments that you need instead of `args`",),
        )
    of_agent = bound_probe.shape is None
    must_guard = bound_probe.shape is not None and bound_probe.shape.in_jdk
    try:
        method = _Method(descriptor)
        must_guard |= _write(method, bound_probe, inputs, returns, span, write, sample, guarded=not of_agent)
        if not of_agent and not must_guard:
            method = _Method(descriptor)
            _write(method, bound_probe, inputs, returns, span, write, sample, addition, guarded=False)
        return method.finish()
    except ClassFileError as error:
        raise CompileError(
            f"{_title(program, probe)} does not fit into a class file: {error}",
            help=("split the probe into several, or shorten its texts",),
        ) from error
    except RecursionError as error:
        raise CompileError(
            f"an expression of {_title(program, probe)} is nested too deeply", help=("split it with `let`",)
        ) from error


def _write(
    method: _Method,
    bound_probe: BoundProbe,
    inputs: tuple[Input, ...],
    returns: str,
    span: Span,
    write: Callable[[Emitter], None],
    sample: Callable[[Emitter, Label], None],
    addition: Aggregate | None = None,
    *,
    guarded: bool,
) -> bool:
    """Generates the method. Returns whether its own code calls a method that needs the guard."""
    code = method.code
    samples = isinstance(bound_probe.probe.attachment, SampleAttachment)
    emitter = Emitter(
        code,
        bound_probe.probe,
        inputs,
        bound_probe.locals_,
        returns,
        guarded=guarded,
        sampled_thread=sample_fact(SAMPLED_STACK) if samples else None,
        write=emit_statements,
    )
    caught, end = Label(), Label()
    emitter.begin(span)
    with code.protected(caught):
        sample(emitter, end)
        if addition is not None:
            emit_addition(emitter, addition)
            code.branch(op.GOTO, end)
        else:
            _enter(emitter, api.ENTER if bound_probe.shape else api.ENTER_AGENT, end)
            if guarded:
                _enter_guard(emitter, end)
            write(emitter)
            if code.reachable:
                code.branch(op.GOTO, emitter.stop)
    emitter.place(caught)
    error = emitter.allocate("A")
    code.store("A", error)
    emitter.load_session()
    code.branch(op.IFNULL, end)
    if addition is None:
        emit_failure(emitter, error)
    emitter.place(emitter.stop)
    _time(emitter)
    if guarded:
        _leave_guard(emitter, end)
    emitter.place(end)
    emitter.load_result()
    code.return_()
    return emitter.needs_guard


def _enter(emitter: Emitter, enter: RuntimeMethod, end: Label) -> None:
    """Jumps to ``end`` if no session wants this firing."""
    code = emitter.code
    emitter.load_site()
    code.constant("I", emitter.probe.id)
    _call(code, enter)
    code.op(op.DUP)
    emitter.store_session()
    code.branch(op.IFNULL, end)


def _enter_guard(emitter: Emitter, end: Label) -> None:
    """Jumps to ``end`` if this thread is already in a handler."""
    code = emitter.code
    emitter.load_session()
    code.constant("I", emitter.probe.id)
    _call(code, api.GUARD)
    code.op(op.DUP)
    emitter.store_entry()
    code.branch(op.IFLT, end)


def _leave_guard(emitter: Emitter, end: Label) -> None:
    """If the call fails, the handler itself marks the entry as left. Otherwise no guarded handler would fire on this
    thread for a while.
    """
    code = emitter.code
    failure = Label()
    with code.protected(failure):
        emitter.load_entry()
        _call(code, api.LEAVE)
    code.branch(op.GOTO, end)
    emitter.place(failure)
    code.op(op.POP)
    emitter.load_entry()
    code.branch(op.IFLT, end)
    code.field(op.GETSTATIC, api.GUARDS, "MARKS", "[J")
    emitter.load_entry()
    code.constant("J", api.LEFT)
    code.op(op.LASTORE)


def _time(emitter: Emitter) -> None:
    """Reports the duration of the firing, if it is timed."""
    code = emitter.code
    untimed, failure = Label(), Label()
    emitter.load_run()
    code.constant("J", api.RUN_TIMED)
    code.op(op.LAND)
    code.constant("J", 0)
    code.op(op.LCMP)
    code.branch(op.IFEQ, untimed)
    with code.protected(failure):
        emitter.load_session()
        code.constant("I", emitter.probe.id)
        emitter.load_run()
        code.constant("I", emitter.readings)
        code.invoke(op.INVOKEVIRTUAL, api.TOOK.owner, api.TOOK.name, api.TOOK.descriptor)
    code.branch(op.GOTO, untimed)
    emitter.place(failure)
    code.op(op.POP)
    emitter.place(untimed)


def _check_thrown(emitter: Emitter, bound_probe: BoundProbe, pattern: str) -> None:
    exception = next((input_ for input_ in bound_probe.inputs if input_.kind is InputKind.EXCEPTION), None)
    if exception is None:
        raise CompileError("a type of exceptions needs the exception as an input of the handler")
    emitter.load_input(exception)
    emitter.code.constant("S", pattern)
    emitter.call(api.INSTANCE_OF)
    emitter.code.branch(op.IFEQ, emitter.stop)


def _title(program: Program, probe: Probe) -> str:
    source = probe.span.source
    line, column = source.position(probe.span.start)
    where = f"the probe at {source.name}:{line}:{column}"
    return where if source is program.source else f"{where} ({probe.name})"
