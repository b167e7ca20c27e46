"""The stream of a node: it joins the recordings of several targets. The reader separates them again, for pieces of any
size."""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btpy.errors import BtpyError, ProtocolError
from btpy.recording.file import MAX_CHUNK, ChunkReader
from btpy.recording.multiplex import MAGIC, StreamReader, StreamWriter

NOISE = b"Welcome!\nLast login: today\n"
ENTRIES = {4711: [(0x80, b"one"), (0x36, b"x" * 1009), (0x86, b"")], 4712: [(0x80, b"other"), (0x37, b"\0" * 31)]}


def stream(path: Path) -> bytes:
    """The entries of both targets in turn, each in its own chunk, and a keep-alive message after each entry."""
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    try:
        writer = StreamWriter(descriptor)
        writer.begin()
        with writer.recording(4711) as one, writer.recording(4712) as other:
            files = {4711: one, 4712: other}
            for at in range(3):
                for pid, entries in ENTRIES.items():
                    if at < len(entries):
                        files[pid].add(*entries[at])
                        files[pid].write(at)
                        writer.report_alive()
            writer.report_ready()
    finally:
        os.close(descriptor)
    return path.read_bytes()


@pytest.fixture(scope="module")
def stream_bytes(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return stream(tmp_path_factory.mktemp("stream") / "stream")


def pieces(data: bytes, sizes: list[int]) -> Iterator[bytes]:
    at = 0
    for size in sizes:
        yield data[at : at + size]
        at += size
    yield data[at:]


@given(sizes=st.lists(st.integers(1, 700), max_size=40), noise=st.sampled_from([b"", NOISE, MAGIC[:5] * 3]))
def test_every_piece_gives_what_it_completes(stream_bytes: bytes, sizes: list[int], noise: bytes) -> None:
    reader = StreamReader()
    parts = [part for piece in pieces(noise + stream_bytes, sizes) for part in reader.feed(piece)]
    assert reader.has_begun
    assert reader.is_ready
    for pid, entries in ENTRIES.items():
        target_entries = [part.entry for part in parts if part.pid == pid]
        assert [(entry.code, entry.payload) for entry in target_entries] == entries
        assert [entry.wall_nanos for entry in target_entries] == list(range(len(entries)))


def frames(*chunks: tuple[int, bytes]) -> bytes:
    return MAGIC + struct.pack(">H", 1) + b"".join(struct.pack(">II", pid, len(chunk)) + chunk for pid, chunk in chunks)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"x" * 70_000, "bytes before the stream"),
        (MAGIC + b"\0\7", "a stream of version 7"),
        (MAGIC + b"\0\1" + struct.pack(">II", 1, MAX_CHUNK + 1000), f"a frame of {MAX_CHUNK + 1000} bytes"),
        (frames((7, b"no recording at all")), "is not a recording of btpy"),
        (frames((7, b"\x89BTZ\r\n\x1a\n\0\4\0\0" + b"\0" * 12)), "a chunk of pid 7 that is not whole"),
        (frames((7, b"\x89BTZ\r\n\x1a\n\0\4\0\0" + b"\0" * 40)), "a chunk of pid 7 that is not whole"),
        (frames((7, b"\x89BTZ\r\n\x1a\n\0\x63\0\0")), "is a recording of format 99"),
    ],
)
def test_a_stream_that_breaks_its_format_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(BtpyError, match=message):
        list(StreamReader().feed(data))


def test_a_node_cannot_have_any_number_of_targets(stream_bytes: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("btpy.recording.multiplex.MAX_TARGETS", 1)
    with pytest.raises(ProtocolError, match="more than 1 targets"):
        list(StreamReader().feed(stream_bytes))


@given(st.binary(max_size=300))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    reader = StreamReader()
    with contextlib.suppress(BtpyError):
        list(reader.feed(MAGIC + b"\0\1" + data))


def test_what_a_target_sends_is_the_file_of_a_recording(stream_bytes: bytes, tmp_path: Path) -> None:
    at, chunks = len(MAGIC) + 2, b""
    while at < len(stream_bytes):
        pid, size = struct.unpack_from(">II", stream_bytes, at)
        chunks += stream_bytes[at + 8 : at + 8 + size] if pid == 4711 else b""
        at += 8 + size
    path = tmp_path / "run.btz"
    path.write_bytes(chunks)
    with ChunkReader.open(path) as reader:
        assert [(entry.code, entry.payload) for entry in reader.entries()] == ENTRIES[4711]
        assert not reader.torn
