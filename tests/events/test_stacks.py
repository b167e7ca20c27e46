from __future__ import annotations

import pytest

from btpy.errors import ProtocolError
from btpy.events.stacks import Frame, StackTable
from btpy.wire.messages import Stack, StackFrame


def test_frames_are_kept_innermost_first() -> None:
    table = StackTable()
    table.add(Stack(3, (StackFrame("a.B", "c", 12), StackFrame("a.B", "main", 2**32 - 2))))
    assert table.frames(3) == (Frame("a.B", "c", 12), Frame("a.B", "main", 0))
    assert [str(frame) for frame in table.frames(3) or ()] == ["a.B.c:12", "a.B.main"]
    assert table.frames(4) is None


def test_a_target_cannot_make_the_client_remember_without_end() -> None:
    table = StackTable(capacity=2)
    table.add(Stack(1, ()))
    table.add(Stack(2, ()))
    table.add(Stack(2, (StackFrame("A", "b", 1),)))
    with pytest.raises(ProtocolError):
        table.add(Stack(3, ()))
    with pytest.raises(ProtocolError):
        StackTable().add(Stack(0, ()))
