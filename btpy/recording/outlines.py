"""The outline of a program in a recording: JSON, with a part for each addition to the program.

Anybody may have written the file. So btpy checks the outline against the limits of the language, and its records need
no more memory than the records of a real program.
"""

from __future__ import annotations

import math
import re

from btpy.dataclass import dataclass
from btpy.errors import ProtocolError
from btpy.lang.builtins import MAX_BUCKETS, MAX_KEYS, MAX_PRECISION, MAX_TABLE_MAPS, MAX_VALUES, MAX_WINDOWS
from btpy.lang.check.printing import is_time_format
from btpy.model.maps import Linear, Map, MapKind, Most, Percents, Series
from btpy.model.outline import Outline, ProbeOutline
from btpy.model.source import Source
from btpy.model.templates import SiteFact, Slot, Template, TemplateKind
from btpy.recording import plain
from btpy.recording.entries import Program, SourceText

MAX_TEXT = 4 << 20
"""Characters of JSON in one entry."""

MAX_PARTS = 1 << 16
"""The largest number of probes, templates, maps and sources in a recording."""

_PCTL_PRECISION = 16
_BY = re.compile(r"(?:key|value|count|sum|avg|min|max|p\d{1,3}(?:\.\d{1,6})?)?\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Addition:
    probes: tuple[ProbeOutline, ...]
    templates: tuple[Template, ...]
    maps: tuple[Map, ...]


class OutlineWriter:
    """Returns the parts of ``outline`` that were added since the last call."""

    def __init__(self, outline: Outline) -> None:
        self._outline = outline
        self._written_sizes = (0, 0, 0, 0)

    def addition(self) -> Program | None:
        """None: nothing was added."""
        outline = self._outline
        size = len(outline.probes), len(outline.templates), len(outline.maps), len(outline.sources)
        if size == self._written_sizes:
            return None
        probes, templates, maps, sources = self._written_sizes
        addition = _Addition(
            tuple(outline.probes[probes : size[0]]),
            tuple(outline.templates[templates : size[1]]),
            tuple(outline.maps[maps : size[2]]),
        )
        texts = tuple(
            SourceText(source.name, source.text, source.base) for source in outline.sources[sources : size[3]]
        )
        self._written_sizes = size
        return Program(texts, plain.dump(addition, _Addition))


def grow(outline: Outline, program: Program) -> None:
    """Adds the parts of an entry to the outline. Raises ProtocolError; then ``outline`` may have a part of it."""
    if len(program.outline) > MAX_TEXT:
        raise ProtocolError(f"a program of {len(program.outline)} characters")
    addition = plain.load(program.outline, _Addition)
    outline.sources += [Source(source.name, source.text, source.base) for source in program.sources]
    outline.probes += addition.probes
    outline.maps += addition.maps
    for at, map_ in enumerate(outline.maps):
        _check_map(at, map_)
    for template in addition.templates:
        _check_template(template, outline)
        outline.templates.append(template)
    for probe in outline.probes:
        _must(0 <= probe.host < len(outline.probes), f"probe {probe.name} of a probe that is not there")
    parts = len(outline.probes) + len(outline.templates) + len(outline.maps) + len(outline.sources)
    _must(parts <= MAX_PARTS, f"a program of {parts} parts")
    _must(bool(outline.sources), "a program without its text")


def _check_map(at: int, map_: Map) -> None:
    _must(map_.id == at, f"map {map_.id} in the place of {at}")
    _must(0 <= map_.keys <= MAX_KEYS, f"a map of {map_.keys} keys")
    _must(len(map_.key_names) in (0, map_.keys), "a map with other names of keys")
    _must(0 <= map_.precision <= (_PCTL_PRECISION if map_.kind is MapKind.PCTL else MAX_PRECISION), "a too precise map")
    expected = {
        MapKind.LHIST: Linear,
        MapKind.TSERIES: Series,
        MapKind.TOPK: Most,
        MapKind.SAMPLE_OF: Most,
        MapKind.PCTL: Percents,
    }.get(map_.kind)
    parameters = map_.parameters
    _must(expected is None or isinstance(parameters, expected), f"a map of {map_.kind.value} without its parameters")
    if isinstance(parameters, Linear):
        numbers = parameters.low, parameters.high, parameters.step
        _must(all(math.isfinite(number) and abs(number) < 1e30 for number in numbers), "a histogram without bounds")
        _must(
            parameters.step > 0 and 0 < (parameters.high - parameters.low) / parameters.step <= MAX_BUCKETS + 1,
            "such buckets",
        )
    elif isinstance(parameters, Series):
        _must(1 <= parameters.windows <= MAX_WINDOWS and 0 < parameters.interval < 1 << 62, "such a series")
    elif isinstance(parameters, Most):
        _must(1 <= parameters.count <= MAX_VALUES, f"{parameters.count} values of a map")
    elif isinstance(parameters, Percents):
        _must(
            len(parameters.of) <= MAX_VALUES and all(0 < percent < 100 for percent in parameters.of), "such percentiles"
        )


def _check_template(template: Template, outline: Outline) -> None:
    _must(template.id == len(outline.templates), f"template {template.id} in the place of {len(outline.templates)}")
    _must(0 <= template.probe < len(outline.probes), f"a template of probe {template.probe}")
    _must(len(template.maps) <= MAX_TABLE_MAPS, f"a template of {len(template.maps)} maps")
    for id_ in template.maps:
        _must(0 <= id_ < len(outline.maps), f"a template of map {id_}")
    _must(set(template.flushed) <= set(template.maps), "a template that flushes other maps")
    if template.kind in (TemplateKind.MAP, TemplateKind.PLOT):
        _must(len(template.maps) == 1, "a template without its map")
    elif template.kind is TemplateKind.TABLE:
        _must(bool(template.maps), "a template without its maps")
    for part in template.parts:
        if isinstance(part, Slot):
            _check_slot(part)
    for name, value in template.options:
        if name == "by":
            measure = value.rpartition(".")[2] if isinstance(value, str) else "?"
            names = {outline.maps[id_].name for id_ in template.maps}
            _must(value in names or _BY.match(measure) is not None, f"a table by {measure}")
        elif isinstance(value, int | float):
            _must(math.isfinite(value) and abs(value) < 1e18, f"the option {name} is {value}")


def _check_slot(slot: Slot) -> None:
    if not isinstance(slot.value, SiteFact):
        _must(0 <= slot.value < 256, f"a slot of value {slot.value}")
    _must(not slot.time or is_time_format(slot.time), "a format of times")
    _must(len(slot.format) <= 200, "a format of this length")
    _must(slot.width is None or 0 <= slot.width < 256, f"a slot with the width of value {slot.width}")


def _must(fits: bool, problem: str) -> None:
    if not fits:
        raise ProtocolError(f"the recording has {problem}")
