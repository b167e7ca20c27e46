"""Class files from the archives that classes were loaded from."""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from btpy.engine.class_sources import class_files
from btpy.jvm.processes import JvmProcess
from btpy.wire.messages import LoadedClass, LoadedRefusal


@dataclass
class Process:
    """The facts about a target that the search needs."""

    open_archives: list[str]
    shares_files: bool = True


def loaded(name: str, source: str) -> LoadedClass:
    return LoadedClass(1, name, "app", "java.lang.Object", (), 1, True, source, LoadedRefusal.NONE)


def archive(path: Path, **entries: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as jar:
        for name, content in entries.items():
            jar.writestr(f"acme/{name}.class", content)
    return path


def found(process: Process, *classes: LoadedClass) -> list[bytes | None]:
    with class_files(cast(JvmProcess, process)) as class_file:
        return [class_file(class_) for class_ in classes]


def test_of_archives_that_the_process_has_open(tmp_path: Path) -> None:
    one, other = archive(tmp_path / "one & ü.jar", Till=b"till"), archive(tmp_path / "other.jar", Till=b"other")
    (tmp_path / "link.jar").symlink_to(one)
    of_one = loaded("acme.Till", f"file:{tmp_path}/one%20&%20%C3%BC.jar")
    linked = loaded("acme.Till", f"file:{tmp_path}/link.jar")
    of_other = loaded("acme.Till", f"file:{other}")
    assert found(Process([str(one)]), of_one, linked, of_other, of_one) == [b"till", b"till", None, b"till"]
    assert found(Process([str(one)], shares_files=False), of_one) == [None]


def test_classes_that_are_in_no_archive(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.jar", Till=b"till")
    (tmp_path / "broken.jar").write_bytes(b"PK")
    os.mkfifo(tmp_path / "pipe.jar")
    opened = [str(path), str(tmp_path / "broken.jar"), str(tmp_path / "pipe.jar"), str(tmp_path / "gone.jar"), ""]
    sources = (
        *("", "file:", f"file:{tmp_path}/", f"jar:file:{path}!/lib/inner.jar!/", "jrt:/java.logging"),
        *(f"file:{tmp_path}/{name}.jar" for name in ("broken", "pipe", "gone")),
    )
    before = os.listdir("/proc/self/fd")
    assert found(Process(opened), *(loaded("acme.Till", source) for source in sources)) == [None] * len(sources)
    assert found(Process(opened), loaded("acme.None", f"file:{path}")) == [None]
    assert len(os.listdir("/proc/self/fd")) == len(before)
