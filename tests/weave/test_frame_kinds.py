"""Each kind of stack map frame (JVMS §4.7.4) with a short offset, and with an offset that weaving makes long."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from struct import pack

import pytest

from btpy.classfile import frames
from btpy.classfile import opcodes as op
from btpy.classfile.assembler import ClassBuilder, CodeBuilder, Tracking
from btpy.classfile.pool import ConstantPool
from btpy.classfile.reader import ClassFile
from btpy.plan.plan import Advice, ClassPlan, Handler, MethodPlan, Point
from tests.weave import advice
from tests.weave.advice import probe_of
from tests.weave.odd import STATIC, Execute, everything_but_main, main, odd, sum_of

PADS = (0, 1, *range(44, 68))
"""Bytes between a jump and its target: below and above 63 for every shape, before and after weaving."""

LOAD = bytes((op.ILOAD_0,))
ANSWER = bytes((op.ILOAD_0, op.IRETURN))
STORES = b"".join(bytes((op.ICONST_0, op.ISTORE_0 + slot)) for slot in (1, 2, 3))
NEW_AT = b"\0\x01"  # after a nop


@dataclass(frozen=True)
class Shape:
    """``targets``: offsets of the instructions to which the frames in ``table`` belong."""

    code: bytes
    targets: tuple[int, ...]
    table: bytes


def jump(distance: int) -> bytes:
    return pack(">BH", op.IFEQ, distance)


def over(pad: int) -> bytes:
    """Code that jumps over padding, or runs through it."""
    return LOAD + jump(3 + pad) + bytes(pad)


def one_frame(before: bytes, pad: int, frame: Callable[[int], bytes], after: bytes = ANSWER) -> Shape:
    code = before + over(pad)
    return Shape(code + after, (len(code),), b"\0\x01" + frame(len(code)))


def two_frames(before: bytes, first: Callable[[int], bytes], pad: int, second: Callable[[int], bytes]) -> Shape:
    code = before + LOAD + jump(3)
    then = code + over(pad)
    table = b"\0\x02" + first(len(code)) + second(len(then) - len(code) - 1)
    return Shape(then + ANSWER, (len(code), len(then)), table)


def same(delta: int) -> bytes:
    return bytes((delta,)) if delta < 64 else pack(">BH", 251, delta)


def extended(delta: int) -> bytes:
    return pack(">BH", 251, delta)


def one_item(type_: bytes) -> Callable[[int], bytes]:
    return lambda delta: (bytes((64 + delta,)) if delta < 64 else pack(">BH", 247, delta)) + type_


def changed(kind: int, *types: bytes) -> Callable[[int], bytes]:
    """A chop or append frame, or the extended frame with an item on the stack."""
    return lambda delta: pack(">BH", kind, delta) + b"".join(types)


def full(locals_: tuple[bytes, ...], stack: tuple[bytes, ...]) -> Callable[[int], bytes]:
    def frame(delta: int) -> bytes:
        head, middle = pack(">BHH", 255, delta, len(locals_)), pack(">H", len(stack))
        return b"".join((head, *locals_, middle, *stack))

    return frame


def adjacent(pad: int) -> Shape:
    code = LOAD + jump(7 + pad) + LOAD + jump(4 + pad) + bytes(pad)
    return Shape(code + b"\0" + ANSWER, (len(code), len(code) + 1), b"\0\x02" + same(len(code)) + same(0))


def shape(kind: str, pad: int, pool: ConstantPool) -> Shape:
    object_, constructor = pool.class_("java/lang/Object"), pool.methodref("java/lang/Object", "<init>", "()V")
    new = pack(">BBH", op.NOP, op.NEW, object_)
    unready = b"\x08" + NEW_AT
    integer = frames.INTEGER
    match kind:
        case "same":
            return one_frame(b"", pad, same)
        case "same, extended":
            return one_frame(b"", pad, extended)
        case "one item":
            return one_frame(LOAD, pad, one_item(integer), bytes((op.IRETURN,)))
        case "one item, extended":
            return one_frame(LOAD, pad, changed(247, integer), bytes((op.IRETURN,)))
        case "one new object":
            return one_frame(new, pad, one_item(unready), bytes((op.POP,)) + ANSWER)
        case "append 1" | "append 2" | "append 3":
            count = int(kind[-1])
            return one_frame(STORES, pad, changed(251 + count, *[integer] * count))
        case "append a long":
            return one_frame(bytes((op.LCONST_0, op.LSTORE_1)), pad, changed(252, frames.LONG))
        case "append a new object":
            return one_frame(new + bytes((op.ASTORE_1,)), pad, changed(252, unready))
        case "chop 1" | "chop 2" | "chop 3":
            return two_frames(STORES, changed(254, *[integer] * 3), pad, changed(251 - int(kind[-1])))
        case "full":
            return one_frame(LOAD + LOAD, pad, full((integer,), (integer, integer)), bytes((op.IADD, op.IRETURN)))
        case "full, of what is the same":
            return two_frames(STORES, full((integer,) * 4, ()), pad, full((integer,) * 4, ()))
        case "full, of new objects":
            ready = pack(">BHB", op.INVOKESPECIAL, constructor, op.POP)
            return one_frame(new + bytes((op.DUP,)), pad, full((integer,), (unready, unready)), ready + ANSWER)
    assert kind == "adjacent"
    return adjacent(pad)


KINDS = (
    *("same", "same, extended", "one item", "one item, extended", "one new object", "append 1", "append 2", "append 3"),
    *("append a long", "append a new object", "chop 1", "chop 2", "chop 3", "full", "full, of what is the same"),
    *("full, of new objects", "adjacent"),
)


def assembled() -> tuple[ClassBuilder, dict[str, Shape]]:
    """A class with a method for each kind and each distance."""
    builder = odd()
    shapes = {}
    for kind in KINDS:
        for pad in PADS:
            name = f"{kind}, {pad}"
            result = shapes[name] = shape(kind, pad, builder.pool)
            code = builder.method(STATIC, name, "(I)I", tracking=Tracking.OFF)
            code.limits(3, 5)
            code.raw(result.code)
            code.attribute("StackMapTable", result.table)

    def body(code: CodeBuilder) -> None:
        code.constant("I", 0)
        for name in shapes:
            sum_of(code, name, range(3))
            code.op(op.IADD)

    main(builder, body)
    return builder, shapes


def calls(shapes: dict[str, Shape], *, leaving: bool) -> ClassPlan:
    """A call without operands at the beginning, at the frames and at the end of each method. It needs no local
    variable.
    """
    call = Handler(advice.RECORDER, "call", "(I)V")
    end = tuple(Advice(point, advice.THROW, call, ()) for point in (Point.THROW,) if leaving)
    return ClassPlan(
        "Odd",
        tuple(
            MethodPlan(
                name,
                "(I)I",
                (*(Advice(Point.LINE, probe_of(Point.LINE), call, (), at) for at in (0, *result.targets)), *end),
            )
            for name, result in shapes.items()
        ),
    )


def short_and_long(data: bytes) -> set[tuple[str, int]]:
    """The kind of the last frame of each method, with the distance from the frame before, which is near 64."""
    names = set()
    for method in ClassFile.parse(data).methods:
        if method.code is None or method.name == "main":
            continue
        for attribute in method.code.attributes:
            if attribute.name == "StackMapTable":
                all_frames = frames.decode(attribute.content, (frames.INTEGER,))
                first_frames = all_frames[: 2 if method.name.startswith(("chop", "full, of what", "adjacent")) else 1]
                before = first_frames[-2].offset if len(first_frames) > 1 else -1
                names.add((method.name.rpartition(",")[0], first_frames[-1].offset - before - 1))
    return names


@pytest.mark.parametrize("leaving", [False, True], ids=["moved", "with one more"])
def test_frames_that_only_move(leaving: bool, execute: Execute) -> None:
    builder, shapes = assembled()
    run = execute(builder, calls(shapes, leaving=leaving))
    for name, result in shapes.items():
        expected = 3 * (1 + len(result.targets))
        assert run.report.of("Odd", name, "(I)I", probe_of(Point.LINE)).calls == expected, name
    for distances in (short_and_long(builder.to_bytes()), short_and_long(run.woven)):
        for kind in KINDS:
            if kind != "adjacent":
                assert distances & {(kind, 62), (kind, 63)}, kind
                assert distances & {(kind, 64), (kind, 65)}, kind  # site ids also grow, from 127 to 128


def test_frames_that_get_new_variables(execute: Execute) -> None:
    builder, shapes = assembled()
    run = execute(builder, everything_but_main(builder.to_bytes()))
    for name in shapes:
        assert run.counts(name, "(I)I") == (3, 3, 0), name
