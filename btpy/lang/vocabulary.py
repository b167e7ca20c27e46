"""The words of the language by what they are: one table for highlighting, completion and editors."""

from __future__ import annotations

from btpy.lang.builtins import AGGREGATIONS, ANNOTATIONS, FUNCTIONS, LOCATIONS, QUANTIFIERS, VARIABLES

KEYWORDS = (
    *("btpy", "import", "use", "as", "param", "config", "map", "fn", "probe", "when"),
    *("let", "if", "else", "for", "in", "limit", "delete", "return", "instanceof", "thread"),
)
POINTS = (
    *("entry", "return", "throw", "exit", "call", "line", "new", "newarray", "get", "set", "raise", "catch"),
    *("sync", "sync_enter", "sync_exit", "field_get", "field_set", "instanceof", "cast", "array_get", "array_set"),
)

VOCABULARY: dict[str, tuple[str, ...]] = {
    "keywords": KEYWORDS,
    "constants": ("true", "false", "null"),
    "types": (
        "boolean",
        "byte",
        "short",
        "char",
        "int",
        "long",
        "float",
        "double",
        "string",
        "object",
        "duration",
        "bytes",
    ),
    "locations": (*LOCATIONS, "BEFORE", "AFTER"),
    "points": POINTS,
    "annotations": tuple(ANNOTATIONS),
    "variables": tuple(VARIABLES),
    "functions": tuple(dict.fromkeys((*FUNCTIONS, *AGGREGATIONS, *QUANTIFIERS))),
    "units": ("ns", "us", "ms", "s", "m", "h", "d", "B", "KB", "MB", "GB"),
}
