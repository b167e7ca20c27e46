"""The words of the language by category: one table for highlighting, completion and editors."""

from __future__ import annotations

from btpy.lang.builtins import AGGREGATIONS, ANNOTATIONS, FUNCTIONS, KEYWORDS, LOCATIONS, QUANTIFIERS, VARIABLES
from btpy.lang.syntax.nodes import SHORT_LOCATIONS
from btpy.lang.syntax.units import UNITS

POINTS = tuple(dict.fromkeys((*(name.lower() for name in LOCATIONS), *SHORT_LOCATIONS)))

VOCABULARY: dict[str, tuple[str, ...]] = {
    "keywords": tuple(KEYWORDS),
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
    "units": tuple(UNITS),
}
