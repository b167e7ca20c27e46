"""The points of a method at which a probe can fire."""

from __future__ import annotations

from enum import Enum


class Point(Enum):
    """Where in a method a handler is called."""

    __hash__ = object.__hash__  # members are compared by identity, and are part of keys wherever code is woven

    ENTRY = "ENTRY"  # before the first instruction; in a constructor after super(…) or this(…) has returned
    RETURN = "RETURN"  # before every return instruction
    THROW = "THROW"  # an exception leaves the method
    LINE = "LINE"  # before the first instruction of a source line, wherever the line begins in the code
    CALL_BEFORE = "CALL_BEFORE"
    CALL_RETURN = "CALL_RETURN"  # after a call that returned; for a constructor call the target is the new object
    CALL_THROW = "CALL_THROW"  # an exception leaves a call
    NEW = "NEW"  # an object made by `new` has been initialised
    NEWARRAY = "NEWARRAY"  # an array has been made
    FIELD_GET = "FIELD_GET"  # a field has been read
    FIELD_SET = "FIELD_SET"  # a field is about to be written
    ARRAY_GET = "ARRAY_GET"  # an array element has been read
    ARRAY_SET = "ARRAY_SET"  # an array element is about to be written
    CAST = "CAST"  # a checkcast is about to run
    INSTANCEOF = "INSTANCEOF"  # an instanceof has run
    RAISE = "RAISE"  # an athrow is about to run
    CATCH = "CATCH"  # an exception handler of the source has been entered
    SYNC_ENTER_BEFORE = "SYNC_ENTER_BEFORE"
    SYNC_ENTER = "SYNC_ENTER"  # a monitor has been entered; in a synchronized method on entry, without duration
    SYNC_EXIT = "SYNC_EXIT"  # a monitor is about to be left
    SYNC_EXIT_AFTER = "SYNC_EXIT_AFTER"
