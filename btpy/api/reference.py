"""The words of the language, with their descriptions for users."""

from __future__ import annotations

from btpy.lang.builtins import MAX_STATEMENTS, ORDERS, PRINT_MAP_OPTIONS, UNITS
from btpy.lang.check.safe_calls import refused_methods, safe_methods
from btpy.lang.edit.reference import entries, examples, page
from btpy.lang.edit.vocabulary import VOCABULARY
from btpy.lang.manual import manual
from btpy.lang.syntax.nodes import location_of_point
