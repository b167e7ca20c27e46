"""The results of a target: messages, items, records, maps, accounts."""

from __future__ import annotations

from btpy.engine.receipt import Receipt
from btpy.events.accounts import Cause, Cost, ProbeAccount
from btpy.events.aggregates import MapContent, can_be_merged, merge, with_exemplars_of
from btpy.events.calltree import MergedCalls, slowest
from btpy.events.items import Item, PrintedMaps, Records, Unread
from btpy.events.progress import Progress, Step, Work
from btpy.events.record_decoder import tally
from btpy.events.records import Record
from btpy.events.speculation import Speculations
from btpy.events.stacks import StackTable
from btpy.wire.messages import (
    UNKNOWN_PROBE,
    Counters,
    ErrorKind,
    Errors,
    Events,
    Exiting,
    Late,
    LateOutcome,
    Message,
    ProbeFailure,
    ProbeState,
    Restrained,
)
