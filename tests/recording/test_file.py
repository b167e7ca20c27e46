"""The file of a recording: cut off anywhere, damaged, or made by an attacker."""

from __future__ import annotations

import io
import json
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from btpy.cli import main
from btpy.errors import BtpyError, OutputError, ProtocolError, UsageError
from btpy.recording.entries import Program
from btpy.recording.file import MAX_CHUNK, ChunkReader, ChunkWriter, Entry
from btpy.recording.player import Recording
from btpy.wire import codec
from tests.generated import examples

GOLDEN = Path(__file__).parents[1] / "golden" / "recording" / "every_kind.btz"
HEAD = 12  # bytes of the file before the first chunk

ENTRIES = st.lists(st.tuples(st.integers(0, 255), st.binary(max_size=40)), max_size=6)


def written(path: Path, chunks: list[list[tuple[int, bytes]]], *, compress: bool = False) -> bytes:
    with ChunkWriter.create(path, compress=compress) as writer:
        for chunk in chunks:
            for code, payload in chunk:
                writer.add(code, payload)
            writer.write(7)
    return path.read_bytes()


def read(data: bytes) -> tuple[list[tuple[int, bytes]], str]:
    reader = ChunkReader(io.BytesIO(data), "x.btz")
    results = [(entry.code, entry.payload) for entry in reader.entries()]
    return results, reader.torn


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recording") / "x.btz"


@given(chunks=st.lists(ENTRIES.filter(bool), min_size=1, max_size=4), compress=st.booleans(), position=st.integers(0))
@settings(max_examples=examples(200), deadline=None)
def test_a_file_that_is_cut_off_is_read_up_to_the_last_whole_chunk(
    file: Path, chunks: list[list[tuple[int, bytes]]], compress: bool, position: int
) -> None:
    file.unlink(missing_ok=True)
    data = written(file, chunks, compress=compress)
    assert read(data) == ([entry for chunk in chunks for entry in chunk], "")
    ends = [len(written(file, chunks[: n + 1], compress=compress)) for n in range(len(chunks))]
    at = HEAD + position % (len(data) - HEAD)
    result, torn = read(data[:at])
    whole_chunks = sum(end <= at for end in ends)
    assert result == [entry for chunk in chunks[:whole_chunks] for entry in chunk]
    assert (torn == "") == (at in (HEAD, *ends))


@given(at=st.integers(0), bit=st.integers(0, 7))
@settings(max_examples=examples(200), deadline=None)
def test_a_damaged_chunk_is_not_read(file: Path, at: int, bit: int) -> None:
    file.unlink(missing_ok=True)
    chunks = [[(1, b"first"), (2, b"")], [(3, b"second")], [(4, b"third")]]
    data = bytearray(written(file, chunks))
    at = HEAD + at % (len(data) - HEAD)
    data[at] ^= 1 << bit
    result, torn = read(bytes(data))
    assert torn
    assert result == [entry for chunk in chunks for entry in chunk][: len(result)]
    assert len(result) < 4


def test_lengths_are_not_trusted() -> None:
    head = GOLDEN.read_bytes()[:HEAD]
    assert read(head + struct.pack(">IIBQ", MAX_CHUNK, MAX_CHUNK, 0, 0) + b"short")[1]
    assert read(head + struct.pack(">IIBQ", MAX_CHUNK + 1, 5, 0, 0) + bytes(9))[1]
    bomb = zlib.compress(bytes(1 << 26), 9)
    chunk = struct.pack(">IIBQ", len(bomb), 100, 1, 0)
    with pytest.raises(ProtocolError):
        read(head + chunk + bomb + struct.pack(">I", zlib.crc32(bomb, zlib.crc32(chunk))))


def test_files_that_are_no_recordings() -> None:
    for data in (b"", b"\x89BTZ", b"plain text, not more", GOLDEN.read_bytes()[:8] + b"\0\x63\0\0"):
        with pytest.raises(UsageError):
            read(data)


def test_a_file_that_is_refused_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "other.btz"
    path.write_bytes(b"no recording")
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(UsageError, match="is not a recording") as error:
        ChunkReader.open(path)
    assert len(os.listdir("/proc/self/fd")) == before, error  # keeps the reader alive by its traceback


def test_a_full_disk(tmp_path: Path) -> None:
    with ChunkWriter(os.open("/dev/full", os.O_WRONLY), "/dev/full") as writer:
        writer.add(1, b"x")
        with pytest.raises(OutputError, match="no space left"):
            writer.write(0)


def entries() -> list[Entry]:
    with ChunkReader.open(GOLDEN) as reader:
        return list(reader.entries())


def replayed(path: Path, pairs: list[tuple[int, bytes]], capfd: pytest.CaptureFixture[str]) -> int:
    path.unlink(missing_ok=True)
    written(path, [pairs])
    status = main.main(["replay", str(path), "-f", "text", "-q"])
    assert "this is a bug" not in capfd.readouterr().err
    return status


@given(changes=st.lists(st.tuples(st.integers(0), st.integers(0), st.binary(max_size=9)), min_size=1, max_size=4))
@settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_messages_that_are_not_as_btpy_writes_them(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], changes: list[tuple[int, int, bytes]]
) -> None:
    """Damage with the right checksum gives an error or odd output, but no crash and no hang."""
    pairs = [(entry.code, bytearray(entry.payload)) for entry in entries()]
    for message, at, put in changes:
        _, payload = pairs[message % len(pairs)]
        at = at % (len(payload) + 1)
        payload[at : at + len(put)] = put
        if not put:
            del pairs[message % len(pairs) or 1 :]
    assert replayed(tmp_path / "x.btz", [(code, bytes(payload)) for code, payload in pairs], capfd) in (0, 1, 2)


JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.sampled_from(
            [0, -1, 1, 3, 1 << 31, 1 << 62, 1 << 400, 1e308, float("nan"), float("inf"), "", "p", "%9999d"]
        ),
        st.text(max_size=5),
    ),
    lambda children: st.one_of(
        st.lists(children, max_size=3), st.dictionaries(st.text(max_size=6), children, max_size=2)
    ),
    max_leaves=6,
)


def places(document: object, path: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    yield path
    if isinstance(document, dict):
        document = list(document.values())
        for value in document:
            yield from places(value, (*path, -1))
    elif isinstance(document, list):
        for at, value in enumerate(document):
            yield from places(value, (*path, at))


def put(document: object, path: tuple[int, ...], value: object) -> object:
    if not path:
        return value
    if isinstance(document, dict):
        return {name: put(inner, path[1:], value) for name, inner in document.items()}
    assert isinstance(document, list)
    return [put(inner, path[1:], value) if at == path[0] else inner for at, inner in enumerate(document)]


@given(data=st.data())
@settings(max_examples=examples(400), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_programs_that_no_script_could_be(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], data: st.DataObject
) -> None:
    pairs = [(entry.code, entry.payload) for entry in entries()]
    at = next(at for at, (code, _) in enumerate(pairs) if code == Program.code)
    program = codec.decode(*pairs[at], {Program.code: Program})
    assert isinstance(program, Program)
    document = json.loads(program.outline)
    where = data.draw(st.sampled_from(list(places(document))))
    document = put(document, where, data.draw(JSON))
    pairs[at] = Program.code, codec.encode(Program(program.sources, json.dumps(document)))[5:]
    assert replayed(tmp_path / "x.btz", pairs, capfd) in (0, 1, 2)


def test_deep_documents() -> None:
    nested = "[" * 100_000 + "]" * 100_000
    recording = [(entry.code, entry.payload) for entry in entries()]
    at = next(at for at, (code, _) in enumerate(recording) if code == Program.code)
    recording[at] = Program.code, codec.encode(Program((), nested))[5:]
    stream = io.BytesIO()
    head = GOLDEN.read_bytes()[:HEAD]
    body = b"".join(struct.pack(">IB", len(payload) + 1, code) + payload for code, payload in recording)
    chunk = struct.pack(">IIBQ", len(body), len(body), 0, 0)
    stream.write(head + chunk + body + struct.pack(">I", zlib.crc32(body, zlib.crc32(chunk))))
    stream.seek(0)
    with pytest.raises(BtpyError):
        Recording(ChunkReader(stream, "x.btz"))
