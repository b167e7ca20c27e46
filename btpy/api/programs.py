"""Checked scripts."""

from __future__ import annotations

from btpy.lang.check.checker import check_source
from btpy.lang.check.classes import NOTHING_KNOWN, Classes
from btpy.lang.check.estimates import resampled
from btpy.lang.check.frameworks import split
from btpy.lang.check.maps import emptied_maps, filled_maps
from btpy.lang.link.expansion import expand_source
from btpy.lang.link.linker import parameters
from btpy.lang.link.parameters import described, placeholders, settled
from btpy.lang.outline import outline_of
from btpy.lang.program import Probe as CheckedProbe
from btpy.lang.program import Program
from btpy.lang.transfer import program_from_json, scripts_to_json
from btpy.plan.diagnose import together
from btpy.plan.knowledge import Knowledge
