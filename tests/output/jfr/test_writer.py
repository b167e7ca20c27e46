"""The content of JFR files: types, units, stacks, threads, maps, losses and chunks."""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from btpy.errors import OutputError
from btpy.events.accounts import Cause, ProbeAccount
from btpy.events.aggregates import Count, MapContent, Stats
from btpy.events.records import CutString, Record, SequenceValue, StackRef, Value, Withheld
from btpy.model.maps import MapKind
from btpy.model.source import Span
from btpy.model.templates import Template, TemplateKind
from btpy.model.types import BYTES, DOUBLE, DURATION, INT, STACK, STRING
from btpy.output.cells import cell_text
from btpy.output.jfr.writer import CHUNK_SECONDS, MOST_BYTES, JfrWriter
from btpy.output.stream import Rotation, Stream
from btpy.output.values import well_formed
from btpy.output.writer import Context, End, Loss, ProbeError, ProbeReport, Restraint
from btpy.wire.messages import ErrorKind
from tests.events.strategies import VALUES
from tests.generated import examples
from tests.output.jfr.reader import Chunk, Event, chunks
from tests.output.program import SOURCE, contents, context, record, slot, template

WALL = 1_700_000_000_000_000_000
"""The wall clock when System.nanoTime is 1,000."""

NUMBERS = st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 63) - 1) | st.floats() | st.integers(-9, 9)

STACK_5 = [("a/B", "c", 12), ("a/B", "main", 0)]


def event(*slots: Any, name: str = "order") -> Template:
    return template(*slots, kind=TemplateKind.EMIT, name=name)


def written(path: Path, of: Context, write: Callable[[JfrWriter], None]) -> list[Chunk]:
    with Stream.file(path, append=False) as stream:
        writer = JfrWriter(stream, of)
        write(writer)
        writer.close()
    return list(chunks(path.read_bytes()))


def events(path: Path, of: Template, *records: Record) -> list[Event]:
    (chunk,) = written(path, context(of), lambda writer: writer.records(records))
    return chunk.events


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("jfr") / "run.jfr"


def stack_of(value: Any) -> list[tuple[str, str, int]]:
    return [
        (frame["method"]["type"]["name"], frame["method"]["name"], frame["lineNumber"]) for frame in value["frames"]
    ]


def read_back(value: Value, column: Sequence[Value], of: Context) -> Any:
    """The value that a reader gets for a value; it depends on the other values of the column in the chunk."""
    present = [other for other in column if other is not None]
    kinds = {type(other) for other in present}
    if kinds == {bool} and len(present) == len(column):
        return value
    if kinds == {int}:
        return -(1 << 63) if value is None else value
    if kinds and kinds <= {int, float} and all(abs(other) <= 1 << 53 for other in present if isinstance(other, int)):
        return math.nan if value is None else value
    text = cell_text(value, of.stacks)
    return text if text is None else well_formed(text)


@given(rows=st.lists(st.tuples(VALUES, VALUES), max_size=7) | st.lists(st.tuples(NUMBERS, NUMBERS), max_size=7))
@settings(max_examples=examples(100), deadline=None)
def test_every_value_reads_back(path: Path, rows: list[tuple[Value, ...]]) -> None:
    of = context(event(slot(0, label="a"), slot(1, label="b")))
    (chunk,) = written(path, of, lambda writer: writer.records([record(*row) for row in rows]))
    assert len(chunk.events) == len(rows)
    columns = [list(column) for column in zip(*rows, strict=True)]
    for one, row in zip(chunk.events, rows, strict=True):
        values = one.values
        assert (values["startTime"], values["probe"]) == (1_000, "slow_quote")
        assert (values["eventThread"]["javaName"], values["eventThread"]["javaThreadId"]) == ("http-7", 42)
        for name, value, column in zip("ab", row, columns, strict=True):
            if {type(other) for other in column} - {type(None)} != {StackRef}:
                expected = read_back(value, column, of)
                assert values[name] == expected or (values[name] != values[name] and expected != expected)


def test_types_and_units_of_fields(path: Path) -> None:
    of = event(
        slot(0, INT, "pieces"),
        slot(1, DOUBLE, "price"),
        slot(2, DURATION, "took"),
        slot(3, BYTES, "size"),
        slot(4, STRING, "customer"),
        replace(slot(5, label="placed"), time="%H:%M"),
        slot(6, STACK, "at"),
        slot(7, STACK, "from"),
    )
    nanos = WALL + 7
    (one,) = events(path, of, record(3, 2.5, 400, 1 << 20, "Ann", nanos, StackRef(5), StackRef(5), nanos=9_000))
    assert (one.values["startTime"], one.values["duration"]) == (8_600, 400)
    assert (one.values["pieces"], one.values["price"], one.values["took"]) == (3, 2.5, 400)
    assert (one.values["size"], one.values["customer"], one.values["placed"]) == (1 << 20, "Ann", 1_007)
    assert stack_of(one.values["stackTrace"]) == stack_of(one.values["from"]) == STACK_5
    assert "at" not in one.values
    for name, expected in (
        ("startTime", {"Label": "Start Time", "Timestamp": "TICKS"}),
        ("duration", {"Label": "Duration", "Timespan": "TICKS"}),
        ("pieces", {"Label": "pieces"}),
        ("took", {"Label": "took", "Timespan": "NANOSECONDS"}),
        ("size", {"Label": "size", "DataAmount": "BYTES"}),
        ("placed", {"Label": "placed", "Timestamp": "TICKS"}),
    ):
        assert one.annotations(name) == expected
    classes = {element[1]["name"]: element[1]["class"] for element in one.type.fields}
    assert classes["pieces"] != classes["took"] == classes["size"]


def test_null_and_values_of_other_types(path: Path) -> None:
    of = event(slot(0, DURATION, "duration"), slot(1, INT, "pieces"), slot(2, DURATION, "took"))
    rows: list[tuple[Value, ...]] = [(5, 1, 7), (None, 2, None), (-1, 1 << 40, 8)]
    results = events(path, of, *[record(*row) for row in rows])
    assert [one.values["duration"] for one in results] == [5, 0, 0]
    assert [one.values["startTime"] for one in results] == [995, 1_000, 1_000]
    assert [one.values["duration_2"] for one in results] == [5, -(1 << 63), -1]
    assert [one.values["took"] for one in results] == [7, -(1 << 63), 8]
    assert [one.values["pieces"] for one in results] == [1, 2, 1 << 40]
    (one, other) = events(path, of, record(5, 7, 9), record(5, Withheld.REDACTED, 9))
    assert "duration_2" not in one.values
    assert [event.values["pieces"] for event in (one, other)] == ["7", "•••"]
    assert {(event.type.name, event.type.id) for event in (one, other)} == {("btpy.event.order", one.type.id)}


def test_events_of_one_name_have_one_type(path: Path) -> None:
    """Mission Control would drop the events of all other types."""
    of = context(
        replace(event(slot(0, label="a"), slot(1, label="at"), slot(2, label="took")), id=0),
        replace(event(slot(0, DURATION, "took"), slot(1, label="b")), id=1),
    )
    records = [record(1, StackRef(5), 4), record(5, "x", template=1)]
    (chunk,) = written(path, of, lambda writer: writer.records(records))
    first, second = chunk.events
    assert first.type is second.type
    assert (first.values["a"], first.values["b"], first.values["took"], first.values["duration"]) == (1, None, 4, 0)
    assert (second.values["a"], second.values["b"], second.values["took"]) == (-(1 << 63), "x", 5)
    assert (second.values["startTime"], second.values["duration"], second.values["stackTrace"]) == (995, 5, None)
    assert stack_of(first.values["stackTrace"]) == STACK_5


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("slow", "btpy.event.slow"),
        ("com.acme.Order", "com.acme.Order"),
        ("jdk.CPULoad", "btpy.event.jdk.CPULoad"),
        ("btpy.Loss", "btpy.event.btpy.Loss"),
        ("two words.7", "two_words._7"),
        ("", "btpy.event._"),
    ],
)
def test_names_of_events(path: Path, name: str, expected: str) -> None:
    labels = ("startTime", "eventThread", "a b", "a_b", "", "probe")
    of = event(*[slot(at, label=label) for at, label in enumerate(labels)], name=name)
    (one,) = events(path, of, record(*range(6)))
    assert one.type.name == expected
    names = [element[1]["name"] for element in one.type.fields]
    field_names = ["probe", "startTime_2", "eventThread_2", "a_b", "a_b_2", "value", "probe_2"]
    assert names == ["startTime", "eventThread", *field_names]


def test_prints_and_warnings(path: Path) -> None:
    of = context(
        replace(template("at ", slot(0, STACK), " ", slot(1)), id=0),
        replace(template("low ", slot(0), kind=TemplateKind.WARN), id=1),
        replace(template(kind=TemplateKind.EXIT), id=2),
    )
    records = [record(StackRef(5), 7), record(8, template=1, nanos=3_000), record(template=2)]
    (chunk,) = written(path, of, lambda writer: writer.records(records))
    print_event, warned = chunk.events
    assert (print_event.type.name, warned.type.name) == ("btpy.Print", "btpy.Warning")
    assert print_event.values["text"].endswith("7")
    assert stack_of(print_event.values["stackTrace"]) == STACK_5
    assert (warned.values["text"], warned.values["startTime"]) == ("low 8", 3_000)
    assert (chunk.start_nanos, chunk.duration_nanos, chunk.start_ticks) == (WALL, 2_000, 1_000)


def test_rows_of_maps(path: Path) -> None:
    stats = Stats(3, 60, 0.0, 10, 30)
    timed: MapContent = contents(
        MapKind.STATS, (("/a", 7), stats), type_=DURATION, name="lat", key_names=("path", "id")
    )
    stacks = contents(MapKind.COUNT, (StackRef(5), Count(11)), name="lib.hot")
    of = template(kind=TemplateKind.MAP)

    def write(writer: JfrWriter) -> None:
        writer.map(timed, of, 5_000)
        writer.joined([stacks], of, 6_000)
        writer.map(stacks, None, None)

    (chunk,) = written(path, context(of), write)
    row, *counts = chunk.events
    assert row.type.name == "btpy.map.lat"
    assert row.values == {
        "startTime": 5_000,
        "path": "/a",
        "id": 7,
        "count": 3,
        "average": 20,
        "total": 60,
        "min": 10,
        "max": 30,
    }
    assert [row.annotations(name).get("Timespan") for name in ("count", "average", "max")] == [
        None,
        "NANOSECONDS",
        "NANOSECONDS",
    ]
    assert [one.type.name for one in counts] == ["btpy.map.lib.hot"] * 2
    assert [one.values["startTime"] for one in counts] == [6_000, 1_000]
    assert [(stack_of(one.values["stackTrace"]), one.values["count"]) for one in counts] == [(STACK_5, 11)] * 2


def test_losses_add_up(path: Path) -> None:
    drops = {Cause.RING: 5, Cause.LARGE: 7, Cause.STALLED: 11, Cause.UNATTENDED: 13, Cause.BUDGET: 17}
    account = ProbeAccount(0, fired=101, produced=101, delivered=101 - 53 - 2, dropped_by=drops)
    report = ProbeReport("slow_quote", account, errors=3, discarded=2)

    def write(writer: JfrWriter) -> None:
        writer.records([record(1)] * 46)
        writer.lost(Loss("slow_quote", "ring", 5))
        writer.restrained(Restraint("slow_quote", "sampled", 2, 0.25, 0.125))
        writer.probe_error(ProbeError("slow_quote", ErrorKind.NULL_OPERAND, Span(SOURCE, 16, 17), 3, "null"))
        writer.end(End("interrupt", 101, 46, 55, 1, 1, (report,)))

    (chunk,) = written(path, context(event(slot(0, label="n"))), write)
    (counts,) = chunk.named("btpy.ProbeCounts")
    losses = sum(value for name, value in counts.items() if name.startswith("dropped_"))
    assert counts["produced"] == counts["delivered"] + counts["discarded"] + losses == 101
    assert counts["written"] == len(chunk.named("btpy.event.order")) == 46
    assert (counts["probe"], counts["fired"], counts["errors"], counts["dropped_budget"]) == ("slow_quote", 101, 3, 17)
    (loss,) = chunk.named("btpy.Loss")
    assert (loss["probe"], loss["cause"], loss["count"]) == ("slow_quote", "ring", 5)
    (restraint,) = chunk.named("btpy.Budget")
    assert (restraint["step"], restraint["one_in"], restraint["taken"]) == ("sampled", 2, 0.25)
    (error,) = chunk.named("btpy.ProbeError")
    assert (error["kind"], error["file"], error["line"], error["count"]) == ("null-operand", "slow.bt", 2, 3)
    (end,) = chunk.named("btpy.End")
    assert (end["reason"], end["produced"], end["delivered"], end["dropped"]) == ("interrupt", 101, 46, 55)


def test_a_chunk_is_written_when_it_is_large_and_is_complete(path: Path) -> None:
    rows = 10_007
    of = context(event(slot(0, label="n"), slot(1, label="text")))
    with Stream.file(path, append=False) as stream:
        writer = JfrWriter(stream, of)
        for number in range(rows):
            writer.records([record(number, f"{number:0400}", nanos=1_000 + number)])
        stream.flush()
        before = path.read_bytes()
        numbers = [event["n"] for chunk in chunks(before) for event in chunk.named("btpy.event.order")]
        assert numbers == list(range(len(numbers)))
        assert rows - len(numbers) < MOST_BYTES // 400
        writer.close()
    all_chunks = list(chunks(path.read_bytes()))
    assert [one["n"] for chunk in all_chunks for one in chunk.named("btpy.event.order")] == list(range(rows))
    assert len(all_chunks) == 5
    assert [chunk.start_nanos - WALL for chunk in all_chunks] == [chunk.events[0].values["n"] for chunk in all_chunks]


def test_a_chunk_is_written_after_some_seconds_and_a_file_without_events_is_whole(tmp_path: Path) -> None:
    now, path = [100.0], tmp_path / "run.jfr"
    with Stream.file(path, append=False) as stream:
        writer = JfrWriter(stream, context(event(slot(0, label="n"))), lambda: now[0])
        writer.records([record(1)])
        stream.flush()
        assert not path.read_bytes()
        now[0] += CHUNK_SECONDS
        stream.flush()
        (chunk,) = chunks(path.read_bytes())
        assert [one["n"] for one in chunk.named("btpy.event.order")] == [1]
        now[0] += CHUNK_SECONDS
        stream.flush()
        writer.close()
    assert len(list(chunks(path.read_bytes()))) == 1
    (chunk,) = written(path, context(), lambda writer: None)
    assert (chunk.events, chunk.start_nanos) == ([], WALL)


def test_chunks_differ_in_their_starts(path: Path) -> None:
    """Mission Control ignores a chunk that starts at the same time as an earlier one."""

    def write(writer: JfrWriter) -> None:
        for number in range(3):
            writer.records([record(number)])
            writer.close()

    all_chunks = written(path, context(event(slot(0, label="n"))), write)
    assert [one.values["n"] for chunk in all_chunks for one in chunk.events] == [0, 1, 2]
    assert len({chunk.start_nanos for chunk in all_chunks}) == 3
    assert {chunk.start_nanos - chunk.start_ticks for chunk in all_chunks} == {WALL - 1_000}
    assert {one.values["startTime"] for chunk in all_chunks for one in chunk.events} == {1_000}


def test_a_chunk_for_which_the_disk_has_no_room_is_removed(tmp_path: Path) -> None:
    """The tool `jfr` refuses a whole file whose last chunk is cut off."""
    path = tmp_path / "run.jfr"
    room = [1 << 20]

    def write(descriptor: int, data: memoryview) -> int:
        if not room[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        count = os.write(descriptor, data[: room[0]])
        room[0] -= count
        return count

    stream = Stream.file(path, append=False)
    stream.sink.system_write = write
    writer = JfrWriter(stream, context(event(slot(0, label="n"))))
    writer.records([record(7)])
    writer.close()
    stream.flush()
    original = path.read_bytes()
    room[0] = 101
    writer.records([record(11)])
    writer.close()
    with pytest.raises(OutputError, match="no space left on device"):
        stream.flush()
    stream.close()
    assert room == [0]
    assert path.read_bytes() == original
    (chunk,) = chunks(original)
    assert [one["n"] for one in chunk.named("btpy.event.order")] == [7]


def test_several_targets_and_rotated_files(tmp_path: Path) -> None:
    file = tmp_path / "run.jfr"
    of = context(event(slot(0, label="n")))
    with Stream.file(file, append=False, rotation=Rotation(size=1)) as stream:
        writers = [
            JfrWriter(stream, replace(of, several=True, pid=pid, host=host), lambda: 0.0)
            for pid, host in ((7, None), (11, "web1"))
        ]
        for number, writer in enumerate(writers):
            writer.records([record(number)])
        for writer in writers:
            writer.close()
            stream.flush()
    (second,), (first,) = (list(chunks(one.read_bytes())) for one in (file, tmp_path / "run.jfr.1"))
    assert [(one["pid"], one["n"], "host" in one) for one in first.named("btpy.event.order")] == [(7, 0, False)]
    assert [(one["pid"], one["n"], one["host"]) for one in second.named("btpy.event.order")] == [(11, 1, "web1")]


def test_long_texts_and_lists(path: Path) -> None:
    of = event(slot(0, STRING, "text"), slot(1, label="list"))
    long = "Ω" * 5_003
    (one, other) = events(path, of, record(CutString(long, 9_001), SequenceValue("int[]", 2, (1, 2))), record("", None))
    assert (one.values["text"], one.values["list"]) == (f"{long}…", "[1,2]")
    assert (other.values["text"], other.values["list"]) == ("", None)
