"""The inputs of a handler: values of the place where it fires, and facts of the moment."""

from __future__ import annotations

from enum import Enum

from btpy.dataclass import dataclass


class InputKind(Enum):
    SELF = "self"
    ARG = "arg"  # entry value of argument `index`
    RETVAL = "retval"
    EXCEPTION = "exception"
    DURATION = "duration"  # nanoseconds since entry, read once at each exit
    ENTRY = "entry"  # value number `index` of BoundProbe.entries
    DEPTH = "depth"  # 0 in the outermost activation of this probe on this thread
    START = "start"  # System.nanoTime when the method was entered
    SPAN = "span"  # the result of Spans.enter (index 0), or of Spans.begin (index 1) for a span that encloses no others
    NESTED = "nested"  # the result of SelfTimes.enter, to subtract the time of called activations
    TARGET = "target"  # the subject of an operation: receiver, owner of a field, new object, array, monitor, value
    TARGET_ARG = "targ"  # argument `index` of a call
    OLD_VALUE = "oldval"  # the old value of a field that is about to be written
    NEW_VALUE = "newval"  # the value that is about to be written to a field or an array element
    INDEX = "index"  # index of an array element
    LENGTH = "length"  # length of dimension `index` of a new array
    FACT = "fact"  # fact number `index` from the agent (builtins.FACTS)
    FRAME_VARIABLE = "variable"  # live local variable `index` of Shape.variables (LINE, RAISE, CATCH)
    FLOW = "flow"  # the result of Flows.enter (index 0), enterWithout (1: no flow before the handler), or end (2)
    SAMPLED = "sampled"  # the decision at method entry, for a probe that samples by thread


@dataclass(frozen=True, slots=True)
class Input:
    """A value that the woven site passes to the handler. ``descriptor``: the descriptor of the primitive type, or
    ``Ljava/lang/Object;`` for references (the handler is in the boot loader and cannot name application classes).
    """

    kind: InputKind
    index: int
    descriptor: str


class Ambient(Enum):
    """Facts about the moment when the handler fires."""

    TID = "tid"
    THREAD_NAME = "thread_name"
    IS_VIRTUAL = "is_virtual"
    NOW = "now"  # wall clock, nanoseconds since 1970, type LONG
    NANOS = "nanos"  # System.nanoTime
    PID = "pid"
    ELAPSED = "elapsed"  # time since the session began, DURATION
    TRACE_ID = "trace_id"  # trace of the current span of the thread; null without a span
    SPAN_ID = "span_id"
    TRACE_FLAGS = "trace_flags"
    FLOW_ID = "flow.id"  # number of the current flow of the thread; null without a flow
    FLOW_PARENT = "flow.parent"  # the flow in which the flow began
    FLOW_ELAPSED = "flow.elapsed"  # time since the flow began, DURATION
