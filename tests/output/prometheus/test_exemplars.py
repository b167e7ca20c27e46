"""The exemplars of classic buckets: the newest of each bucket, in the unit of the metric."""

from __future__ import annotations

from btpy.api.programs import outline_of
from btpy.events.aggregates import Histogram
from btpy.events.buckets import Exponential
from btpy.events.exemplars import Exemplar
from btpy.events.stacks import StackTable
from btpy.output.prometheus.families import Families, add_map, names_of
from btpy.output.simple_values import SimpleValues
from tests.live.scripts import program

LAYOUT = Exponential(2)


def exemplars(script: str, *given_exemplars: Exemplar) -> dict[float, tuple[float, str]]:
    """The value and the span of the exemplar of each bucket, by its upper bound."""
    outline = outline_of(program(script))
    families = Families()
    counts = sorted((LAYOUT.index(int(exemplar.value)), 1) for exemplar in given_exemplars)
    value = Histogram(LAYOUT, 0, 0.0, 1, 1, tuple(dict(counts).items()))
    names = names_of(outline, ())[0]
    add_map(families, outline.maps[0], names, [((), value)], SimpleValues(StackTable()), {}, {(): given_exemplars})
    (family,) = families.collect()
    return {
        float(sample.labels["le"]): (sample.exemplar.value, sample.exemplar.labels["span_id"])
        for sample in family.samples
        if sample.exemplar is not None
    }


def exemplar(value: int, nanos: int, span: int) -> Exemplar:
    return Exemplar(value, nanos, bytes(16), span.to_bytes(8, "big"))


def test_a_bucket_has_the_newest_exemplar_of_its_samples() -> None:
    script = "A::b { @n = hist(arg0 as int) }"
    older, newer, largest = exemplar(3, 7, 1), exemplar(3, 11, 2), exemplar(4, 5, 3)
    for order in ((older, newer, largest), (largest, newer, older)):
        assert exemplars(script, *order) == {4: (3, f"{2:016x}")}
    assert exemplars(script, largest, exemplar(5, 5, 4)) == {4: (4, f"{3:016x}"), 8: (5, f"{4:016x}")}


def test_an_exemplar_of_a_duration_is_in_seconds() -> None:
    lines = exemplars("A::b @exit { @n = hist(duration) }", exemplar(1 << 20, 1, 1), exemplar((1 << 20) + 1, 1, 2))
    assert lines == {(1 << 20) / 1e9: ((1 << 20) / 1e9, f"{1:016x}"), (1 << 21) / 1e9: (1048577 / 1e9, f"{2:016x}")}
