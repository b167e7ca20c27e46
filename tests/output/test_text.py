from __future__ import annotations

import time
from dataclasses import replace

import pytest

from btpy.errors import ProtocolError
from btpy.events.records import Record, StackRef
from btpy.model.templates import SiteFact, Template, TemplateKind
from btpy.model.types import ANY, DURATION, INT, STRING
from btpy.output.style import Style
from btpy.output.text import TextWriter
from tests.output.program import captured, context, record, slot, template


def rendered(template_: Template, *records: Record, style: Style | None = None) -> str:
    with captured() as (stream, read):
        TextWriter(stream, context(template_), style or Style()).records(records)
        return read()


def test_parts_stand_as_they_are() -> None:
    text = rendered(
        template("100% of ", slot(0, STRING), " took ", slot(1, DURATION)),
        record("SKU-1", 12_345_678),
        record(None, 5),
    )
    assert text == "100% of SKU-1 took 12.3ms\n100% of null took 5ns\n"


def test_facts_of_the_site_are_not_shipped() -> None:
    facts = [slot(fact, STRING) for fact in SiteFact]
    parts = [part for fact in facts for part in (fact, "|")]
    assert rendered(template(*parts), record()) == (
        "com.acme.shop.PricingEngine|quote|(Ljava/lang/String;I[[J)V|31|slow_quote|com.acme.shop.Money|plus|plus|app|\n"
    )


def test_a_slot_may_be_shown_twice_and_formatted() -> None:
    text = rendered(template(slot(0, INT, format_="04d"), "=", slot(0, INT)), record(7))
    assert text == "0007=7\n"


def test_a_point_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    time.tzset()
    try:
        moment = replace(slot(0, STRING), time="%Y-%m-%d %H:%M:%S.%f %z")
        assert rendered(template(moment), record(1_700_000_000_123_456_789)) == "2023-11-15 03:58:20.123456 +0545\n"
        event = template(replace(moment, label="at", time="%H"), kind=TemplateKind.EMIT, name="e")
        assert rendered(event, record(0), record(-1)) == "e at=05\ne at=05\n"
        assert rendered(template(replace(moment, time="%H", format=">4")), record(0)) == "  05\n"
        with pytest.raises(ProtocolError):
            rendered(template(moment), record(2**63 - 1 << 20))
    finally:
        monkeypatch.undo()
        time.tzset()


def test_all_the_rest_of_a_record() -> None:
    rest = template(slot(0), ": ", slot(1, rest=True))
    assert rendered(rest, record("f", 1, "b", None), record("g")) == "f: 1, b, null\ng: \n"


def test_a_rest_with_names() -> None:
    values = record("at", "text", "a\tb", "count", 7, "apiToken", 5)
    template_ = template(slot(0), ": ", slot(1, named=True))
    assert rendered(template_, values) == 'at: text="a\\tb", count=7, apiToken=•••\n'
    event = template(slot(0, label="where"), slot(1, label="locals", named=True), kind=TemplateKind.EMIT, name="here")
    assert rendered(event, values) == 'here where=at locals={text="a\\tb", count=7, apiToken=•••}\n'
    for bad in (record("at", "text"), record("at", 1, 2)):
        with pytest.raises(ProtocolError):
            rendered(template_, bad)


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ((slot(0),), "    a.B.c:12\n    a.B.main\n"),
        (("at ", slot(0)), "at \n    a.B.c:12\n    a.B.main\n"),
        (("at\n", slot(0), " end"), "at\n    a.B.c:12\n    a.B.main\n end\n"),
    ],
)
def test_a_stack_has_lines_of_its_own(parts: tuple[object, ...], text: str) -> None:
    assert rendered(template(*parts), record(StackRef(5))) == text  # type: ignore[arg-type]


def test_events_are_names_and_fields() -> None:
    event = template(
        slot(0, STRING, "sku"),
        slot(1, DURATION, "took"),
        slot(SiteFact.LINE, INT, "line"),
        slot(2, ANY, "at"),
        slot(3, ANY, "rest", rest=True),
        kind=TemplateKind.EMIT,
        name="quote",
    )
    assert rendered(
        event, record("SKU-1", 1_500, StackRef(5), 1, "x"), record('a "b"', None, None), record("", 0, 0)
    ) == (
        'quote sku=SKU-1 took=1.5us line=31 rest=[1, "x"]\n'
        "  at:\n    a.B.c:12\n    a.B.main\n"
        'quote sku="a \\"b\\"" took=null line=31 at=null rest=[]\n'
        'quote sku="" took=0ns line=31 at=0 rest=[]\n'
    )


def test_an_exit_prints_nothing() -> None:
    assert rendered(template(slot(0), kind=TemplateKind.EXIT), record(64)) == ""


def test_a_newline_in_a_traced_string_does_not_make_a_line() -> None:
    assert rendered(template(slot(0)), record("a\nfake line\x1b[2J")) == "a\\nfake line\\e[2J\n"


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(record(1), id="too few values"),
        pytest.param(record(1, 2, 3), id="too many values"),
        pytest.param(record(1, 2, template=1), id="no such template"),
        pytest.param(record(1, 2, template=-2), id="negative template"),
        pytest.param(record(1, 2, site=9), id="no such site"),
    ],
)
@pytest.mark.parametrize("kind", [TemplateKind.PRINT, TemplateKind.EMIT])
def test_records_that_do_not_fit_the_program_are_a_protocol_error(bad: Record, kind: TemplateKind) -> None:
    with pytest.raises(ProtocolError):
        rendered(template(slot(0), slot(1), slot(SiteFact.CLS), kind=kind), bad)


def test_the_width_of_a_conversion_may_be_another_value_of_the_record() -> None:
    narrow = replace(slot(1, STRING, format_="%*s"), width=0)
    zeros = replace(slot(3, INT, format_="%0*d"), width=2)
    text = rendered(template(narrow, "|", zeros, "|"), record(5, "ab", 4, 7), record(-5, "ab", 0, 7))
    assert text == "   ab|0007|\nab   |7|\n"
    fact = replace(slot(SiteFact.METHOD, STRING, format_="%*s"), width=0)
    assert rendered(template(fact, "|"), record(7)) == "  quote|\n"
    with pytest.raises(ProtocolError):
        rendered(template(narrow), record(5))
