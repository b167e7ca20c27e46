"""A corpus for every reader of foreign bytes: seeds, and every input that has broken it.

The directories of ``tests/security/corpus`` are named like the readers. The tests read each file, and mutations of it
that depend on a seed: changed, removed, doubled and inserted bytes. A reader raises an error of btpy or accepts the
input, and its memory is bounded. To add a finding, put the smallest input that shows it into the directory of its
reader, and name the file after the fault.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from btpy.api import java_sources
from btpy.api.offline import OfflineWeaver, class_path
from btpy.classfile import jimage
from btpy.classfile.archive import MAX_ENTRY_BYTES, UNREADABLE, Archive
from btpy.classfile.reader import ClassFile
from btpy.engine.class_sources import _in_archive_of, _inner_archives, _named_in_manifest
from btpy.jvm import perfdata
from btpy.lang.check.checker import check_source
from btpy.model.source import Source, read_text
from btpy.output.otlp.exporter import LOGS, METRICS, rejected_by
from btpy.output.otlp.transport import Delivered
from btpy.recording.file import MAX_CHUNK
from btpy.recording.lines import Lines
from btpy.recording.player import Recording
from btpy.wire import codec
from btpy.wire.messages import FROM_AGENT, FROM_CLIENT, Message
from tests.lsp.editor import editor
from tests.security.test_bombs import MIB, PROGRAM, held
from tests.security.test_lsp_messages import WRONG
from tests.security.test_otlp_answers import answered

CORPUS = Path(__file__).parent / "corpus"
GOLDEN = Path(__file__).parent.parent / "golden" / "recording"
SEEDS = {"recording": [GOLDEN / "every_kind.btz"], "ndjson": [GOLDEN / "every_kind.ndjson"]}
"""Files of other tests that are also seeds."""

MUTATIONS = 20
MANY_MUTATIONS = 2_000


def read_class(path: Path) -> None:
    for method in ClassFile.parse(path.read_bytes()).methods:
        _ = method.code


def read_jar(path: Path) -> None:
    with contextlib.suppress(ValueError), contextlib.closing(Archive(str(path))) as archive:
        archive.read("a/B.class")
    with contextlib.suppress(*UNREADABLE), zipfile.ZipFile(path) as jar:
        list(_named_in_manifest(jar, str(path)))
        for inner in _inner_archives(jar):
            list(_in_archive_of(inner, 17, lambda name: True))
    with contextlib.suppress(*UNREADABLE):
        list(_in_archive_of(path.read_bytes(), 17, lambda name: True))
    java_sources._in_archive(path, "a/B.class")
    list(OfflineWeaver(PROGRAM, allow=frozenset()).weave(class_path([path]), lambda result: result.name))


def read_modules(path: Path) -> None:
    for _, _, read in jimage.classes(path):
        read()


def read_recording(path: Path) -> None:
    with Recording.open(path) as recording:
        list(recording.items())


def read_script(path: Path) -> None:
    try:
        text = read_text(io.BytesIO(path.read_bytes()))
    except ValueError:
        return
    check_source(Source(path.name, text))


def decode_frames(data: bytes, kinds: tuple[type[Message], ...]) -> None:
    at = 0
    while at + 5 <= len(data):
        size = int.from_bytes(data[at : at + 4])
        codec.decode(data[at + 4], data[at + 5 : at + 4 + size])
        at += 4 + max(size, 1)


def read_answer(path: Path) -> None:
    """An answer of a backend, status line and headers included."""
    outcome = answered(path.read_bytes())
    if isinstance(outcome, Delivered):
        for service in (LOGS, METRICS):
            rejected_by(service, outcome.answer, sent=1)


READERS: dict[str, tuple[Callable[[Path], object], int]] = {
    "class": (read_class, 256 * 1024),
    "jar": (read_jar, 2 * MAX_ENTRY_BYTES),
    "modules": (read_modules, 2 * MAX_ENTRY_BYTES),
    "perfdata": (lambda path: perfdata.parse(path.read_bytes()), 256 * 1024),
    "recording": (read_recording, 4 * MAX_CHUNK),
    "ndjson": (lambda path: list(Lines(path).read()), 4 * MIB),
    "frames-from-agent": (lambda path: decode_frames(path.read_bytes(), FROM_AGENT), MIB),
    "frames-from-client": (lambda path: decode_frames(path.read_bytes(), FROM_CLIENT), MIB),
    "script": (read_script, 32 * MIB),
    "otlp-answer": (read_answer, MIB),
}
"""For each directory, the reader, and the bytes that it may take beyond the bound for its input."""


def files(reader: str) -> list[Path]:
    return sorted((CORPUS / reader).iterdir()) + SEEDS.get(reader, [])


CASES = [pytest.param(reader, path, id=f"{reader}-{path.name}") for reader in READERS for path in files(reader)]


def mutations(data: bytes, seed: str, count: int) -> Iterator[bytes]:
    chance = random.Random(seed)
    for _ in range(count):
        mutated = bytearray(data)
        for _ in range(chance.randrange(1, 6)):
            at, length = chance.randrange(len(mutated) + 1), chance.randrange(1, 40)
            match chance.randrange(5):
                case 0:
                    mutated[at : at + 1] = chance.randbytes(1)
                case 1:
                    del mutated[at : at + length]
                case 2:
                    mutated[at:at] = mutated[at : at + length]
                case 3:
                    mutated[at:at] = chance.randbytes(length)
                case _:
                    mutated[at : at + 4] = chance.choice((b"\xff" * 4, bytes(4), b"\x7f\xff\xff\xff", b"\x80\0\0\0"))
        yield bytes(mutated)


def test_every_directory_has_a_reader_and_seeds() -> None:
    assert {path.name for path in CORPUS.iterdir()} == {*READERS, "lsp"}
    assert all(len(files(reader)) >= 2 for reader in READERS)
    assert sum(path.stat().st_size for path in CORPUS.rglob("*") if path.is_file()) < 200_000


@pytest.mark.parametrize(("reader", "path"), CASES)
def test_a_file_of_the_corpus_is_taken_or_refused(reader: str, path: Path) -> None:
    read, extra = READERS[reader]
    held(lambda: read(path), path.stat().st_size, extra)


def check_mutations(reader: str, path: Path, scratch: Path, count: int) -> None:
    read, extra = READERS[reader]
    target = scratch / path.name
    for data in mutations(path.read_bytes(), path.name, count):
        target.write_bytes(data)
        held(lambda: read(target), len(data), extra)


@pytest.mark.parametrize(("reader", "path"), CASES)
def test_mutations_of_the_corpus_are_taken_or_refused(reader: str, path: Path, tmp_path: Path) -> None:
    check_mutations(reader, path, tmp_path, MUTATIONS)


@pytest.mark.proof
@pytest.mark.parametrize(("reader", "path"), CASES)
def test_many_mutations_of_the_corpus_are_taken_or_refused(reader: str, path: Path, tmp_path: Path) -> None:
    check_mutations(reader, path, tmp_path, MANY_MUTATIONS)


def test_messages_to_the_language_server_leave_it_at_work(tmp_path: Path) -> None:
    with editor() as client:
        for path in files("lsp"):
            for message in json.loads(path.read_text(encoding="utf-8")):
                client.send(message)
        (diagnostic,) = client.open(tmp_path / "other.bt", WRONG)
        assert diagnostic["code"] == "BT101"
