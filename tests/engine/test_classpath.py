"""Class files of a target, where its loaders look for them."""

from __future__ import annotations

import io
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from btpy.engine.class_sources import ClassPath
from btpy.jvm.processes import JvmProcess


@dataclass
class Process:
    """The facts about a target that the search needs."""

    feature_version: int | None = 17
    open_archives: tuple[str, ...] = ()


def found(root: Path, *located: str, version: int | None = 17) -> list[tuple[str, bytes]]:
    path = ClassPath(cast(JvmProcess, Process(version)), tuple(f"{root}{location}" for location in located))
    return [entry for place in path.places() for entry in place(lambda name: not name.startswith("other."))]


def jar(path: Path | io.BytesIO, entries: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)


def test_archives_and_directories(tmp_path: Path) -> None:
    (tmp_path / "app" / "acme").mkdir(parents=True)
    (tmp_path / "app" / "acme" / "Till.class").write_bytes(b"till")
    (tmp_path / "app" / "acme" / "notes.txt").write_bytes(b"")
    (tmp_path / "app" / "Main.class").write_bytes(b"main")
    jar(tmp_path / "lib.jar", {"acme/Order.class": b"order", "other/Thing.class": b"", "META-INF/x": b""})
    assert found(tmp_path, "/app", "/lib.jar", "/nowhere.jar", "/lib.jar") == [
        ("Main", b"main"),
        ("acme.Till", b"till"),
        ("acme.Order", b"order"),
    ]


def test_class_paths_in_manifests_and_directories_of_modules(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    manifest = b"Manifest-Version: 1.0\r\nClass-Path: lib/a.jar file:lib/\r\n b.jar\r\n\r\n"
    jar(tmp_path / "app.jar", {"META-INF/MANIFEST.MF": manifest, "App.class": b"app"})
    jar(tmp_path / "lib" / "a.jar", {"A.class": b"a", "META-INF/MANIFEST.MF": b"Class-Path: ../app.jar\n"})
    jar(tmp_path / "lib" / "b.jar", {"B.class": b"b"})
    assert found(tmp_path, "/app.jar") == [("App", b"app"), ("A", b"a"), ("B", b"b")]
    assert found(tmp_path, "/lib") == [("A", b"a"), ("B", b"b"), ("App", b"app")]


def test_archives_in_archives_and_classes_for_versions(tmp_path: Path) -> None:
    inner = io.BytesIO()
    jar(inner, {"acme/Inner.class": b"inner"})
    jar(
        tmp_path / "boot.jar",
        {
            "BOOT-INF/classes/acme/App.class": b"app",
            "BOOT-INF/lib/inner.jar": inner.getvalue(),
            "BOOT-INF/lib/broken.jar": b"no archive",
            "META-INF/versions/11/acme/New.class": b"new",
            "META-INF/versions/21/acme/New.class": b"newer",
        },
    )
    entries = [("acme.App", b"app"), ("acme.New", b"new"), ("acme.Inner", b"inner")]
    assert found(tmp_path, "/boot.jar") == entries
    assert found(tmp_path, "/boot.jar", version=21) == [*entries[:2], ("acme.New", b"newer"), entries[2]]


def test_damaged_archives_and_other_files_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    os.mkfifo(tmp_path / "pipe.jar")
    os.mkfifo(tmp_path / "app" / "Pipe.class")
    jar(tmp_path / "good.jar", {"Good.class": b"good"})
    (tmp_path / "bad.jar").write_bytes(b"PK\x03\x04 and no more")
    data = (tmp_path / "good.jar").read_bytes().replace(b"good", b"goop")
    (tmp_path / "altered.jar").write_bytes(data[:40] + b"\xff\xff" + data[42:])
    assert found(tmp_path, "/pipe.jar", "/bad.jar", "/app", "/good.jar")[-1] == ("Good", b"good")
    found(tmp_path, "/altered.jar")
