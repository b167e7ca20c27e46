"""The points of a method at which a probe can fire."""

from __future__ import annotations

from enum import IntEnum


class Point(IntEnum):
    """The points of a method at which a handler is called. The numbers are those of ``Site`` in docs/protocol.md."""

    __hash__ = int.__hash__  # that of an Enum is a Python function, and points are in keys of caches

    ENTRY = 0  # before the first instruction; in a constructor after super(…) or this(…) has returned
    RETURN = 1  # before every return instruction
    THROW = 2  # an exception leaves the method
    LINE = 3  # before each instruction at which a source line begins
    CALL_BEFORE = 4
    CALL_RETURN = 5  # after a call that returned; for a constructor call the target is the new object
    CALL_THROW = 6  # an exception leaves a call
    NEW = 7  # an object made by `new` has been initialised
    NEWARRAY = 8  # an array has been made
    FIELD_GET = 9  # a field has been read
    FIELD_SET = 10  # a field is about to be written
    ARRAY_GET = 11  # an array element has been read
    ARRAY_SET = 12  # an array element is about to be written
    CAST = 13  # a checkcast is about to run
    INSTANCEOF = 14  # an instanceof has run
    RAISE = 15  # an athrow is about to run
    CATCH = 16  # an exception handler of the source has been entered
    SYNC_ENTER_BEFORE = 17
    SYNC_ENTER = 18  # a monitor has been entered; in a synchronized method on entry, without duration
    SYNC_EXIT = 19  # a monitor is about to be left
    SYNC_EXIT_AFTER = 20
