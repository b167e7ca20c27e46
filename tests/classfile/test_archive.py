"""Class files in archives, read by their names."""

from __future__ import annotations

import os
import zipfile
import zlib
from pathlib import Path

import pytest

from btpy.classfile.archive import MAX_CLASS_BYTES, Archive
from tests.maven import WIREMOCK, artifact


def written(path: Path, entries: dict[str, bytes], *, method: int = zipfile.ZIP_DEFLATED, comment: bytes = b"") -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.comment = comment
        for name, content in entries.items():
            archive.writestr(name, content)
    return path


def read(path: Path, *names: str) -> list[bytes | None]:
    archive = Archive(str(path))
    try:
        return [archive.read(name) for name in names]
    finally:
        archive.close()


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("comment", [b"", b"PK\5\6" * 7 + b"." * 60_000])
def test_contents_of_an_archive(tmp_path: Path, method: int, comment: bytes) -> None:
    entries = {"acme/Till.class": b"till" * 4099, "acme/Größe.class": b"", "acme/notes.txt": b"notes"}
    path = written(tmp_path / "a.jar", entries, method=method, comment=comment)
    names = ("acme/Till.class", "acme/Größe.class", "acme/notes.txt", "Till.class", "")
    assert read(path, *names) == [entries["acme/Till.class"], b"", None, None, None]


def test_the_archive_of_a_server_equals_zipfile() -> None:
    path = artifact(WIREMOCK)
    with zipfile.ZipFile(path) as archive:
        entries = {entry.filename: zlib.crc32(archive.read(entry)) for entry in archive.infolist()}
    versioned = {name.split("/", 3)[3] for name in entries if name.startswith("META-INF/versions/") and name[-1] != "/"}
    names = [name for name in entries if name.endswith(".class") and name not in versioned]
    assert len(names) > 9_000
    result = read(path, *names)
    assert [zlib.crc32(data) for data in result if data is not None] == [entries[name] for name in names]


@pytest.mark.parametrize("length", [4, 64, 65, 3_001])
def test_an_extra_field_of_any_length(tmp_path: Path, length: int) -> None:
    with zipfile.ZipFile(tmp_path / "a.jar", "w") as archive:
        for name in ("A.class", "B.class"):
            entry = zipfile.ZipInfo(name)
            entry.extra = b"\xfe\xca" + (length - 4).to_bytes(2, "little") + b"." * (length - 4)
            archive.writestr(entry, name * 101)
    assert read(tmp_path / "a.jar", "A.class", "B.class") == [b"A.class" * 101, b"B.class" * 101]


def test_a_program_may_stand_before_it(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jar", {"A.class": b"a"})
    path.write_bytes(b"#!/bin/sh\nexec java -jar $0\n" + path.read_bytes())
    assert read(path, "A.class") == [b"a"]


def test_a_class_in_several_versions_is_left_to_the_loader(tmp_path: Path) -> None:
    entries = {"A.class": b"old", "META-INF/versions/11/A.class": b"new", "B.class": b"b"}
    assert read(written(tmp_path / "a.jar", entries), "A.class", "B.class") == [None, b"b"]


def test_other_files_than_class_files_are_not_read(tmp_path: Path) -> None:
    entries = {"Large.class": bytes(MAX_CLASS_BYTES + 1), "A.class": b"a"}
    assert read(written(tmp_path / "a.jar", entries), "Large.class", "A.class") == [None, b"a"]


def test_other_methods_are_not_read(tmp_path: Path) -> None:
    assert read(written(tmp_path / "a.jar", {"A.class": b"a" * 97}, method=zipfile.ZIP_BZIP2), "A.class") == [None]


def test_damaged_archives_are_refused_and_nothing_else(tmp_path: Path) -> None:
    """Changes each byte of a small archive in turn: opening it fails, or the class is missing or unchanged."""
    data = written(tmp_path / "a.jar", {"A.class": b"abc" * 11, "B.class": b"b"}).read_bytes()
    path = tmp_path / "damaged.jar"
    for at in range(len(data)):
        for damaged in (data[:at], data[:at] + bytes((data[at] ^ 0xFF,)) + data[at + 1 :]):
            path.write_bytes(damaged)
            try:
                (result,) = read(path, "A.class")
            except ValueError:
                continue
            assert result in (None, b"abc" * 11)


def test_files_that_are_not_archives(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jar")
    for path in (tmp_path / "pipe.jar", tmp_path, tmp_path / "nowhere.jar"):
        with pytest.raises((OSError, ValueError)):
            Archive(str(path))


def test_no_file_stays_open(tmp_path: Path) -> None:
    good, bad = written(tmp_path / "a.jar", {"A.class": b"a"}), tmp_path / "bad.jar"
    bad.write_bytes(b"PK\5\6")
    before = os.listdir("/proc/self/fd")
    read(good, "A.class")
    with pytest.raises(ValueError, match="directory"):
        Archive(str(bad))
    assert len(os.listdir("/proc/self/fd")) == len(before)
