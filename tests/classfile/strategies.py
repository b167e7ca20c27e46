"""Strategies of class-file parts."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from hypothesis import strategies as st

from btpy.classfile import frames
from btpy.classfile import opcodes as op

_PLAIN = (op.NOP, op.ICONST_0, op.POP, op.ALOAD_0, op.IADD, op.DUP, op.RETURN, op.ATHROW)


@dataclass(frozen=True)
class Program:
    """Random code: ``code`` and its meaning: the bytes of each instruction without jump offsets, and the targets of its
    jumps. Instructions are named by number.
    """

    code: bytes
    starts: tuple[int, ...]
    meanings: tuple[tuple[bytes, tuple[int, ...]], ...]


@st.composite
def programs(draw: st.DrawFn, max_size: int = 30) -> Program:
    """Code with jumps and switches to any of its instructions, and a return at the end. The JVM's verifier may reject
    it.
    """
    count = draw(st.integers(1, max_size))
    number = st.integers(0, count - 1)
    rows: list[tuple[str, bytes, tuple[int, ...], int]] = []  # kind, fixed bytes, targets, low key
    for _ in range(count):
        kind = draw(st.sampled_from(("plain", "plain", "plain", "wide", "branch2", "branch4", "table", "lookup")))
        if kind == "plain":
            rows.append((kind, bytes((draw(st.sampled_from(_PLAIN)),)), (), 0))
        elif kind == "wide":
            iinc = draw(st.booleans())
            rows.append((kind, bytes((op.WIDE, op.IINC, 1, 0, 0, 1) if iinc else (op.WIDE, op.ILOAD, 1, 0)), (), 0))
        elif kind == "branch2":
            opcode = draw(st.sampled_from((op.IFEQ, op.IF_ICMPLT, op.GOTO, op.JSR, op.IFNULL, op.IFNONNULL)))
            rows.append((kind, bytes((opcode,)), (draw(number),), 0))
        elif kind == "branch4":
            rows.append((kind, bytes((draw(st.sampled_from((op.GOTO_W, op.JSR_W))),)), (draw(number),), 0))
        else:
            opcode = op.TABLESWITCH if kind == "table" else op.LOOKUPSWITCH
            targets = tuple(draw(st.lists(number, min_size=1, max_size=4)))
            rows.append((kind, bytes((opcode,)), targets, draw(st.integers(-5, 5))))
    rows[-1] = ("plain", bytes((op.RETURN,)), (), 0)
    starts = []
    at = 0
    for kind, fixed, targets, _ in rows:
        starts.append(at)
        at += _size(kind, fixed, targets, at)
    out = bytearray()
    for at, (kind, fixed, targets, low) in zip(starts, rows, strict=True):
        offsets = [starts[target] - at for target in targets]
        out += fixed
        if kind == "branch2":
            out += struct.pack(">h", *offsets)
        elif kind == "branch4":
            out += struct.pack(">i", *offsets)
        elif kind in ("table", "lookup"):
            out += bytes(-len(out) % 4)
            out += struct.pack(">i", offsets[0])
            cases = offsets[1:]
            if kind == "table":
                out += struct.pack(f">ii{len(cases)}i", low, low + len(cases) - 1, *cases)
            else:
                pairs = [number for key, case in enumerate(cases, low) for number in (key, case)]
                out += struct.pack(f">i{len(pairs)}i", len(cases), *pairs)
    meanings = tuple((fixed, targets) for _, fixed, targets, _ in rows)
    return Program(bytes(out), tuple(starts), meanings)


def _size(kind: str, fixed: bytes, targets: tuple[int, ...], at: int) -> int:
    if kind in ("table", "lookup"):
        cases = len(targets) - 1
        return 1 + (-(at + 1) % 4) + (12 + 4 * cases if kind == "table" else 8 + 8 * cases)
    return len(fixed) + {"branch2": 2, "branch4": 4}.get(kind, 0)


verification_types = st.one_of(
    st.sampled_from(
        (
            frames.TOP,
            frames.INTEGER,
            frames.FLOAT,
            frames.DOUBLE,
            frames.LONG,
            frames.NULL,
            frames.UNINITIALIZED_THIS,
        )
    ),
    st.integers(1, 65_535).map(frames.object_type),
    st.integers(0, 1_000).map(frames.uninitialized_type),
)

type_lists = st.lists(verification_types, max_size=6).map(tuple)


@st.composite
def frame_lists(draw: st.DrawFn) -> tuple[tuple[bytes, ...], list[frames.Frame]]:
    """Locals on entry, and frames in order. As in real code, many frames differ little from the frame before."""
    initial = draw(type_lists)
    offset = -1
    locals_ = initial
    out = []
    for _ in range(draw(st.integers(0, 8))):
        offset += 1 + draw(st.one_of(st.integers(0, 70), st.integers(0, 5_000)))
        change = draw(st.sampled_from(("same", "chop", "append", "any")))
        if change == "chop":
            locals_ = locals_[: -draw(st.integers(1, 4))]
        elif change == "append":
            locals_ += draw(st.lists(verification_types, min_size=1, max_size=4).map(tuple))
        elif change == "any":
            locals_ = draw(type_lists)
        stack = draw(st.one_of(st.just(()), verification_types.map(lambda kind: (kind,)), type_lists))
        out.append(frames.Frame(offset, locals_, stack))
    return initial, out
