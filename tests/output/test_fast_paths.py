"""Most records are written by a fast path, which must give the same line as the general path."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from btpy.events.records import StackRef, Value
from btpy.model.templates import TemplateKind
from btpy.model.types import ANY, BYTES, DURATION
from btpy.output import ndjson, templates, text
from btpy.output.ndjson import NdjsonWriter
from btpy.output.quantities import duration
from btpy.output.stream import Stream
from btpy.output.style import Style
from btpy.output.text import TextWriter
from tests.events.strategies import TEXT, VALUES
from tests.generated import examples
from tests.output.program import context, record, slot, template

OFTEN = st.one_of(st.integers(-(2**63), 2**63 - 1), TEXT, st.booleans(), st.none(), st.just(StackRef(5)))
LABELS = st.text(st.characters(categories=("L", "P", "Zs")), max_size=5)


def lines(path: Path, name: str, labels: tuple[str, str], values: tuple[Value, Value]) -> bytes:
    slots = [slot(0, ANY, label=labels[0]), slot(1, DURATION, label=labels[1])]
    event = template(*slots, kind=TemplateKind.EMIT, name=name)
    message = template("a%b ", slot(0, BYTES), " ", slot(1, ANY), "!")
    result = b""
    for template_ in (event, message):
        for results in (TextWriter, NdjsonWriter):
            with Stream.file(path, append=False) as stream:
                writer = results(stream, context(template_), *([Style()] if results is TextWriter else []))
                writer.records([record(*values)])
                writer.close()
            result += path.read_bytes()
    return result


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lines") / "out"


@given(
    name=LABELS, labels=st.tuples(LABELS, LABELS), values=st.tuples(st.one_of(OFTEN, VALUES), st.one_of(OFTEN, VALUES))
)
@settings(max_examples=examples(200), deadline=None)
def test_the_short_way_and_the_long_way_give_the_same_line(
    path: Path, name: str, labels: tuple[str, str], values: tuple[Value, Value]
) -> None:
    short = lines(path, name, labels, values)
    with pytest.MonkeyPatch.context() as patch:
        for module in (ndjson, templates, text):
            patch.setattr(module, "are_the_values", lambda slots: False)
        assert lines(path, name, labels, values) == short


@given(st.integers(1000, 10**11))
def test_three_digits_of_a_duration(nanos: int) -> None:
    for size, unit in ((10**3, "us"), (10**6, "ms"), (10**9, "s")):
        if nanos < 999.5 * size and nanos < 59_950_000_000:
            number = Decimal(nanos) / size
            digit = "0.01" if number < Decimal("9.995") else "0.1" if number < Decimal("99.95") else "1"
            rounded = number.quantize(Decimal(digit), ROUND_HALF_UP)
            assert duration(nanos) == f"{float(rounded):g}{unit}"
            return
