"""Values as the texts of formats that have no types: ``csv``, ``tsv``, ``logfmt``."""

from __future__ import annotations

import json

from btpy.events.records import CutString, EnumValue, StackRef, Value, Withheld
from btpy.events.stacks import StackTable
from btpy.output.ndjson import json_value
from btpy.output.quantities import plain


def cell_text(value: Value, stacks: StackTable) -> str | None:
    """None: null. Objects, arrays and maps are JSON; a stack is its frames, innermost first, with ``;`` between."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return plain(value)
    if isinstance(value, CutString):
        return f"{value.text}…"
    if isinstance(value, EnumValue):
        return value.constant
    if isinstance(value, Withheld):
        return value.text
    if isinstance(value, StackRef):
        frames = stacks.frames(value.id)
        return None if frames is None else ";".join([str(frame) for frame in frames])
    return json.dumps(json_value(value, stacks, {}, ""), ensure_ascii=False, separators=(",", ":"))
