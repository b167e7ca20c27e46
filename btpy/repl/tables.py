"""``top=5 by=p99 unit=ms`` after ``:print``: the options that ``print(@map, …)`` takes in a script."""

from __future__ import annotations

from collections.abc import Mapping

from btpy.api.reference import ORDERS, PRINT_MAP_OPTIONS, UNITS
from btpy.errors import UsageError
from btpy.model.diagnostics import did_you_mean
from btpy.model.maps import Map
from btpy.output.tables import TableOptions


def split_options(words: tuple[str, ...]) -> dict[str, str]:
    """Raises UsageError for a word that is no ``name=value``, or no option."""
    options = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or name not in PRINT_MAP_OPTIONS:
            near = did_you_mean(name, PRINT_MAP_OPTIONS)
            raise UsageError(
                f"{word!r} is not an option", help=[*near, "options: " + " ".join(f"{n}=" for n in PRINT_MAP_OPTIONS)]
            )
        options[name] = value.strip('"')
    return options


def table_options(map_: Map, option_texts: Mapping[str, str]) -> TableOptions:
    """Raises UsageError for a value that an option does not take."""
    by, unit = option_texts.get("by", ""), option_texts.get("unit", "")
    if by and by not in ORDERS[map_.kind] and not by.startswith("p"):
        raise UsageError(f"{map_.title} cannot be sorted by {by!r}", help=["by=" + ", ".join(ORDERS[map_.kind])])
    if unit and unit not in UNITS:
        raise UsageError(f"{unit!r} is not a unit", help=["units: " + ", ".join(UNITS)])
    options = TableOptions()
    try:
        return TableOptions(
            top=int(option_texts["top"]) if "top" in option_texts else options.top,
            by=by,
            descending=option_texts["desc"] != "false" if "desc" in option_texts else options.descending,
            unit=unit,
            scale=float(option_texts["scale"]) if "scale" in option_texts else options.scale,
            least=float(option_texts["min"]) if "min" in option_texts else options.least,
        )
    except ValueError as error:
        raise UsageError(f"a number is wanted: {error}") from None
