from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from btpy.errors import OutputError
from btpy.output.stream import ReaderGone, Stream


def test_a_file_is_written_anew_or_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "out"
    for append, expected in ((False, "ä\n"), (True, "ä\nä\n"), (False, "ä\n")):
        with Stream.file(path, append=append) as stream:
            stream.write("ä\n")
        assert path.read_text(encoding="utf-8") == expected


def test_nothing_is_written_before_it_is_flushed(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with Stream.file(path, append=False) as stream:
        stream.write("one\n")
        assert path.read_bytes() == b""
        stream.flush()
        assert path.read_bytes() == b"one\n"


def test_a_full_disk_is_reported_exactly_once() -> None:
    stream = Stream.file(Path("/dev/full"), append=False)
    stream.write("x\n")
    with pytest.raises(OutputError, match="cannot write /dev/full: no space left on device") as caught:
        stream.flush()
    assert caught.value.help
    stream.close()


def test_the_first_error_is_the_one_that_is_seen() -> None:
    def fail(stream: Stream) -> None:
        with stream:
            stream.write("x\n")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail(Stream.file(Path("/dev/full"), append=False))


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="no such file or directory"):
        Stream.file(tmp_path / "missing" / "out", append=False)
    with pytest.raises(OutputError, match="is a directory"):
        Stream.file(tmp_path, append=False)


def test_a_closed_output_shows_only_in_the_status() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    stream = Stream(writer, "pipe", owned=True)
    stream.write("x\n")
    with pytest.raises(ReaderGone) as caught:
        stream.close()
    assert (caught.value.exit_status, caught.value.is_told) == (141, False)


def test_a_pipe_that_would_block_is_waited_for() -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    text = "0123456789\n" * 50_000
    received = bytearray()

    def read() -> None:
        while piece := os.read(reader, 4096):
            received.extend(piece)

    thread = threading.Thread(target=read)
    thread.start()
    with Stream(writer, "pipe", owned=True) as stream:
        stream.write(text)
    thread.join()
    os.close(reader)
    assert received.decode() == text


def test_ascii_only() -> None:
    reader, writer = os.pipe()
    with Stream(writer, "pipe", owned=True, encoding="ascii") as stream:
        stream.write("ä…\n")
    assert os.read(reader, 100) == b"\\xe4\\u2026\n"
    os.close(reader)
