"""csv and tsv: written values read back unchanged, with any strings of the target."""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from btpy.errors import OutputError, UsageError
from btpy.events.aggregates import Count, Stats
from btpy.events.records import CutString, ObjectValue, StackRef, Value, Withheld
from btpy.lang.check.checker import check_source
from btpy.lang.outline import outline_of
from btpy.model.maps import MapKind
from btpy.model.source import Source
from btpy.model.templates import TemplateKind
from btpy.model.types import LONG
from btpy.output.separated import Dialect, SeparatedWriter
from btpy.output.shapes import left_out
from btpy.output.stream import Document, Rotation, Stream, turn
from tests.events.strategies import VALUES
from tests.generated import examples
from tests.output.program import contents, context, record, slot, template

EVENT = template(slot(0, label="a"), slot(1, label="b"), kind=TemplateKind.EMIT, name="e")
HEAD = ["ts", "probe", "tid", "thread"]


def written(dialect: Dialect, rows: list[tuple[Value, Value]], path: Path) -> str:
    with Stream.file(path, append=False) as stream:
        writer = SeparatedWriter(stream, context(EVENT), dialect, frozenset(), None)
        writer.records([record(*row) for row in rows])
        writer.close()
    return path.read_bytes().decode()


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("separated") / "out"


@given(rows=st.lists(st.tuples(VALUES, VALUES), max_size=3))
@settings(max_examples=examples(200), deadline=None)
def test_every_row_has_the_columns_of_the_header_and_nothing_steers_a_terminal(
    path: Path, rows: list[tuple[Value, Value]]
) -> None:
    text = written(Dialect.CSV, rows, path)
    results = list(csv.reader(io.StringIO(text, newline="")))
    assert results[0] == [*HEAD, "a", "b"]
    assert [len(row) for row in results] == [6] * (len(rows) + 1)
    assert all(char.isprintable() or char in "\n\r\t" or char.isspace() for char in text)
    lines = written(Dialect.TSV, rows, path).split("\n")
    assert lines.pop() == ""
    assert [len(line.split("\t")) for line in lines] == [6] * (len(rows) + 1)


@given(value=st.text(st.characters(categories=("L", "N", "P", "Zs")) | st.sampled_from('\n\r\t,;"\\ '), max_size=12))
@settings(max_examples=examples(200), deadline=None)
def test_strings_read_back_as_they_were(path: Path, value: str) -> None:
    (_, row) = csv.reader(io.StringIO(written(Dialect.CSV, [(value, 1)], path), newline=""))
    assert row[4] == value


_ESCAPE = re.compile(r"\\(?:(N\Z)|([tnre\\])|x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))")


def read(cell: str) -> str | None:
    """A cell of tsv by the rule that btpy/output/separated.py states."""
    if cell == "\\N":
        return None

    def of(match: re.Match[str]) -> str:
        null, letter, *digits = match.groups()
        assert null is None, cell
        if letter is not None:
            return {"t": "\t", "n": "\n", "r": "\r", "e": "\x1b", "\\": "\\"}[letter]
        return chr(int(next(digit for digit in digits if digit is not None), 16))

    assert "\\" not in _ESCAPE.sub("", cell), cell
    return _ESCAPE.sub(of, cell)


@given(value=st.none() | st.text(st.characters() | st.sampled_from("\n\r\t\\Nnte\x1bx0"), max_size=12))
@settings(max_examples=examples(500), deadline=None)
def test_every_text_and_null_read_back_from_tsv(path: Path, value: str | None) -> None:
    lines = written(Dialect.TSV, [(value, 1)], path).split("\n")
    assert len(lines) == 3
    assert read(lines[1].split("\t")[4]) == value
    assert all(char.isprintable() or char.isspace() for char in lines[1])


def test_values_as_cells(path: Path) -> None:
    rows: list[tuple[Value, Value]] = [
        (None, ""),
        (True, 2.5),
        (CutString("abc", 9), Withheld.REDACTED),
        (StackRef(5), ObjectValue("a.B", 7, (("x", 1),), False)),
    ]
    lines = written(Dialect.CSV, rows, path).splitlines()
    assert [line.partition("http-7,")[2] for line in lines[1:]] == [
        ',""',
        "true,2.5",
        "abc…,•••",
        'a.B.c:12;a.B.main,"{""@class"":""a.B"",""x"":1}"',
    ]
    assert lines[1].startswith("2023-11-14T22:13:20.000000Z,slow_quote,42,http-7,")
    assert written(Dialect.TSV, rows[:1], path).splitlines()[1].endswith("\t\\N\t")


def test_one_file_has_one_shape(tmp_path: Path) -> None:
    other = template(slot(0, label="c"), kind=TemplateKind.EMIT, name="f")
    both = context(EVENT, replace(other, id=1))
    with Stream.file(tmp_path / "x", append=False) as stream:
        with pytest.raises(
            UsageError, match=r"csv has one set of columns, and the script needs 2: e \(a, b\); f \(c\)"
        ):
            SeparatedWriter(stream, both, Dialect.CSV, frozenset(), None)
        SeparatedWriter(stream, both, Dialect.CSV, frozenset({"f"}), None)
    assert (tmp_path / "x").read_text() == "ts,probe,tid,thread,c\n"
    with Stream.directory(tmp_path) as directory:
        files = lambda name: Stream.file(tmp_path / f"{name}.csv", append=False)  # noqa: E731
        writer = SeparatedWriter(directory, both, Dialect.CSV, frozenset(), files)
        writer.records([record(1, 2), record(3, template=1)])
        writer.map(contents(MapKind.COUNT, ("k", Count(3)), name="lib.m"), None, None)
    assert (tmp_path / "e.csv").read_text().endswith(",1,2\n")
    assert (tmp_path / "f.csv").read_text().endswith(",3\n")
    assert (tmp_path / "lib.@m.csv").read_text() == "key,count,skipped,low,high\nk,3,,,\n"


def test_maps_have_columns_by_their_kind(tmp_path: Path) -> None:
    content = contents(MapKind.STATS, (("a,b", 1), Stats(2, 6, 0.0, 1, 5)), type_=LONG)
    with Stream.directory(tmp_path) as directory:
        files = lambda name: Stream.file(tmp_path / f"{name}.csv", append=False)  # noqa: E731
        SeparatedWriter(directory, context(), Dialect.CSV, frozenset(), files).map(content, None, None)
    assert (tmp_path / "@m.csv").read_text() == (
        'key1,key2,count,average,total,min,max,skipped,low,high\n"a,b",1,2,3.0,6,1,5,,,\n'
    )


def test_a_file_that_is_appended_to_gets_no_second_header(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    for number in range(3):
        with Stream.file(path, append=True) as stream:
            stream.begin(Document("n\n"))
            stream.write(f"{number}\n")
    assert path.read_text() == "n\n0\n1\n2\n"
    with Stream.file(path, append=True) as stream, pytest.raises(OutputError, match="begins differently"):
        stream.begin(Document("other\n"))
    assert path.read_text() == "n\n0\n1\n2\n"


def test_a_document_is_complete_after_any_end(tmp_path: Path) -> None:
    path = tmp_path / "x.json"

    def interrupted(records: int) -> None:
        with Stream.file(path, append=False) as stream:
            stream.begin(Document("[", "]", ","))
            for number in range(records):
                stream.write(str(number))
                if number % 2:
                    stream.flush()
            raise KeyboardInterrupt

    for records, expected in ((3, "[0,1,2]"), (1, "[0]")):
        with pytest.raises(KeyboardInterrupt):
            interrupted(records)
        assert path.read_text() == expected
    with Stream.file(path, append=False) as stream:
        stream.begin(Document("[", "]", ","))
    assert path.read_text() == "[]"


def test_a_run_that_never_began_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("precious")

    def fail() -> None:
        with Stream.file(path, append=False):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert path.read_text() == "precious"


@pytest.mark.parametrize("compress", [False, True])
def test_rotation_loses_nothing_and_each_file_is_whole(tmp_path: Path, compress: bool) -> None:
    path = tmp_path / ("x.csv.gz" if compress else "x.csv")
    with Stream.file(path, append=False, rotation=Rotation(size=1), compress=compress) as stream:
        stream.begin(Document("n\n", "end\n"))
        for number in range(5):
            stream.write(f"{number}\n")
            stream.flush()
            if compress:
                stream._sync()  # lines count as written after the flush
    names = [path, *(tmp_path / (f"x.csv.{n}.gz" if compress else f"x.csv.{n}") for n in range(1, 5))]
    texts = [(gzip.decompress(name.read_bytes()) if compress else name.read_bytes()).decode() for name in names]
    assert texts == [f"n\n{number}\nend\n" for number in (4, 3, 2, 1, 0)]
    assert sorted(tmp_path.iterdir()) == sorted(names)


def test_the_number_of_files_is_limited(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for number in range(6):
        path.write_text(str(number))
        turn(path, 2)
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {"x.1": "5", "x.2": "4"}


def test_compressed_output_can_be_read_before_its_end(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    stream = Stream.file(path, append=False, compress=True)
    stream._synced -= 3600
    stream.write("one\n")
    stream.flush()
    assert zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(path.read_bytes()) == b"one\n"
    stream.close()


def test_a_pipe_without_a_reader(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(OutputError, match="no process reads this pipe"):
        Stream.file(path, append=False)


@pytest.mark.parametrize(
    ("script", "only", "about", "others"),
    [
        ("A::b as seen { print(1); @n = count(); }", (), "@n", ["seen"]),
        ('A::b { emit("e", a=1); @n = count(); @m[cls] = count(); }', (), "e", ["@m", "@n"]),
        ("A::b as seen { print(1); @n = count(); }", ("seen",), "print", []),
        ("A::b { @n = count(); }", (), "@n", []),
    ],
)
def test_records_that_one_file_omits(script: str, only: tuple[str, ...], about: str, others: list[str]) -> None:
    outline = outline_of(check_source(Source("a", script)))
    assert left_out(outline, frozenset(only), "csv") == (about, others)
