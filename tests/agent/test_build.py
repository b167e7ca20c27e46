from __future__ import annotations

import shutil
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from btpy.classfile.reader import ClassFile
from tests.agent.conftest import ROOT


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The sources, and the jar built from them."""
    shutil.copytree(ROOT / "agent-java", tmp_path / "agent-java")
    shutil.copytree(ROOT / "btpy/_agent", tmp_path / "btpy/_agent")
    return tmp_path


def test_the_jar_depends_on_the_sources_alone(hatch_build: ModuleType, tree: Path, jar: Path) -> None:
    hatch_build.build(tree).unlink()
    assert hatch_build.build(tree).read_bytes() == jar.read_bytes()
    with zipfile.ZipFile(jar) as archive:
        assert {name.rpartition("/")[0] for name in archive.namelist()} == {"META-INF", "", "btpy/launcher", "btpy"}
        classes = [archive.read(name) for name in archive.namelist() if name.endswith(".class")]
        boot = archive.read("btpy/boot.classes")
    while boot:
        end = 4 + int.from_bytes(boot[:4])
        classes.append(boot[4:end])
        boot = boot[end:]
    assert {int.from_bytes(data[6:8]) for data in classes} == {52}


def test_the_jar_is_small(jar: Path) -> None:
    assert jar.stat().st_size <= 254_000


def test_boot_classes_come_after_their_supertypes(jar: Path) -> None:
    with zipfile.ZipFile(jar) as archive:
        boot = archive.read("btpy/boot.classes")
    defined: set[str | None] = set()
    while boot:
        end = 4 + int.from_bytes(boot[:4])
        result = ClassFile.parse(boot[4:end])
        parents = {
            parent for parent in (result.super_name, *result.interfaces) if parent and parent.startswith("btpy/")
        }
        assert parents <= defined
        defined.add(result.name)
        boot = boot[end:]
    assert {"btpy/agent/Agent", "btpy/runtime/Session", "btpy/runtime/InternalMemory"} <= defined


def test_a_jar_that_is_there_for_these_sources_needs_no_jdk(
    hatch_build: ModuleType, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jar = hatch_build.build(tree)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert hatch_build.build(tree) == jar
    source = tree / "agent-java/src/main/java/btpy/agent/Lease.java"
    source.write_text(source.read_text() + "// changed\n")
    with pytest.raises(RuntimeError, match="JDK"):
        hatch_build.build(tree)


def test_sources_that_do_not_compile_keep_the_old_jar(hatch_build: ModuleType, tree: Path) -> None:
    jar = hatch_build.build(tree)
    before = jar.read_bytes()
    (tree / "agent-java/src/main/java/btpy/agent/Lease.java").write_text("class {")
    with pytest.raises(RuntimeError, match="Lease"):
        hatch_build.build(tree)
    assert jar.read_bytes() == before


def test_a_shop_that_is_there_for_these_sources_is_kept(
    hatch_build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "examples/shop", tmp_path / "examples/shop")
    javac, runs = tmp_path / "bin/javac", tmp_path / "runs"
    javac.parent.mkdir()
    javac.write_text(f"#!/bin/sh\necho run >> {runs}\n")
    javac.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    hatch_build.build_shop(tmp_path)
    hatch_build.build_shop(tmp_path)
    assert runs.read_text() == "run\n"
    source = tmp_path / "examples/shop/src/com/acme/shop/Catalog.java"
    source.write_text(source.read_text() + "// changed\n")
    hatch_build.build_shop(tmp_path)
    assert runs.read_text() == "run\nrun\n"
