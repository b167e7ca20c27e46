"""logfmt: written values read back unchanged, and no text of the target can begin a line or a pair."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from btpy.events.aggregates import Count, Stats
from btpy.events.records import CutString, ObjectValue, StackRef, Value, Withheld
from btpy.model.maps import MapKind
from btpy.model.templates import SiteFact, Template, TemplateKind
from btpy.output.logfmt import LogfmtWriter
from btpy.output.stream import Stream
from tests.events.strategies import VALUES
from tests.generated import examples
from tests.output.program import captured, contents, context, record, slot, template

EVENT = template(slot(0, label="a"), slot(1, label="b"), kind=TemplateKind.EMIT, name="e")
HEAD = ["time", "probe", "event", "tid", "thread"]

_PAIR = re.compile(r'([^\s="]+)=("(?:[^"\\\x00-\x1f]|\\.)*"|[^\s="]+)(?: |\Z)')


def read(line: str) -> list[tuple[str, str | None]]:
    """The pairs of a line, by the rule that btpy/output/logfmt.py states."""
    pairs: list[tuple[str, str | None]] = []
    at = 0
    while at < len(line):
        match = _PAIR.match(line, at)
        assert match is not None, line[at:]
        text = match[2]
        pairs.append((match[1], None if text == "null" else json.loads(text) if text.startswith('"') else text))
        at = match.end()
    return pairs


def written(event: Template, rows: list[tuple[Value, ...]], path: Path) -> list[str]:
    with Stream.file(path, append=False) as stream:
        writer = LogfmtWriter(stream, context(event))
        writer.records([record(*row) for row in rows])
        writer.close()
    *lines, rest = path.read_bytes().decode().split("\n")
    assert rest == ""
    return lines


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logfmt") / "out"


@given(rows=st.lists(st.tuples(VALUES, VALUES), max_size=3))
@settings(max_examples=examples(200), deadline=None)
def test_every_event_is_one_line_of_the_same_keys(path: Path, rows: list[tuple[Value, ...]]) -> None:
    lines = written(EVENT, rows, path)
    assert [[key for key, _ in read(line)] for line in lines] == [[*HEAD, "a", "b"]] * len(rows)
    assert all(line.isprintable() for line in lines)


@given(value=st.none() | st.text(st.characters(codec="utf-8") | st.sampled_from('\n\r\t\\" =x\u2028')))
@example("null")
@example("")
@example('x" probe=forged y="')
@settings(max_examples=examples(500), deadline=None)
def test_every_text_and_null_read_back(path: Path, value: str | None) -> None:
    (line,) = written(EVENT, [(value, 1)], path)
    assert read(line)[-2:] == [("a", value), ("b", "1")]


def test_values(path: Path) -> None:
    rows: list[tuple[Value, ...]] = [
        (None, ""),
        ("null", "a=b"),
        (True, 2.5),
        (CutString("abc", 9), Withheld.REDACTED),
        (StackRef(5), ObjectValue("a.B", 7, (("x", 1),), False)),
        ("Ünï", "\u202e\ud800"),
    ]
    head = "time=2023-11-14T22:13:20.000000Z probe=slow_quote event=e tid=42 thread=http-7 "
    assert written(EVENT, rows, path) == [
        head + 'a=null b=""',
        head + 'a="null" b="a=b"',
        head + "a=true b=2.5",
        head + "a=abc… b=•••",
        head + r'a=a.B.c:12;a.B.main b="{\"@class\":\"a.B\",\"x\":1}"',
        head + r'a=Ünï b="\u202e\ufffd"',
    ]


def test_no_key_is_there_twice_or_forged(path: Path) -> None:
    labels = ("tid", "time", "pid", "x y", 'x="', "x_y", "")
    event = template(*(slot(at, label=label) for at, label in enumerate(labels)), kind=TemplateKind.EMIT, name="e")
    (line,) = written(event, [tuple(range(len(labels)))], path)
    assert [key for key, _ in read(line)] == [*HEAD, "tid_2", "time_2", "pid_2", "x_y", "x__", "x_y_2", "value"]


def test_prints_and_warnings(path: Path) -> None:
    for kind, level in ((TemplateKind.PRINT, ""), (TemplateKind.WARN, "level=warn ")):
        message = template("in ", slot(SiteFact.METHOD), ": ", slot(0), "\nend", kind=kind)
        assert written(message, [("x",)], path) == [
            f"time=2023-11-14T22:13:20.000000Z probe=slow_quote {level}tid=42 thread=http-7 "
            r'msg="in quote: x\nend"'
        ]
    assert written(template(kind=TemplateKind.EXIT), [()], path) == []


def test_maps_have_a_line_a_row() -> None:
    with captured() as (stream, read_all):
        writer = LogfmtWriter(stream, context())
        writer.map(contents(MapKind.STATS, (("a b", 1), Stats(2, 6, 0.0, 1, 5))), None, None)
        writer.map(contents(MapKind.COUNT, ("1", Count(3)), (1, Count(2))), None, 1_000)
        writer.joined([contents(MapKind.COUNT, ("x", Count(4)), name="n")], template(kind=TemplateKind.TABLE), 1_000)
        text = read_all()
    assert text == (
        'map=@m key1="a b" key2=1 count=2 average=3.0 total=6 min=1 max=5\n'
        r'time=2023-11-14T22:13:20.000000Z map=@m key="\"1\"" count=3' + "\n"
        "time=2023-11-14T22:13:20.000000Z map=@m key=1 count=2\n"
        "time=2023-11-14T22:13:20.000000Z map=@n key=x count=4\n"
    )
