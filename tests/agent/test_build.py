from __future__ import annotations

import shutil
import zipfile

import pytest

from tests.agent.conftest import ROOT


@pytest.fixture
def tree(tmp_path):
    shutil.copytree(ROOT / "agent-java", tmp_path / "agent-java")
    return tmp_path


def test_the_jar_depends_on_the_sources_alone(hatch_build, tree, jar):
    first = hatch_build.build(tree).read_bytes()
    hatch_build.build(tree).unlink()
    assert hatch_build.build(tree).read_bytes() == first
    with zipfile.ZipFile(jar) as archive:
        assert {name.rpartition("/")[0] for name in archive.namelist()} == {"META-INF", "btpy/agent", "btpy/runtime"}
        versions = {int.from_bytes(archive.read(name)[6:8], "big") for name in archive.namelist() if "class" in name}
        assert versions == {52}


def test_a_jar_that_is_there_for_these_sources_needs_no_jdk(hatch_build, tree, monkeypatch):
    jar = hatch_build.build(tree)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert hatch_build.build(tree) == jar
    source = tree / "agent-java/src/main/java/btpy/agent/Lease.java"
    source.write_text(source.read_text() + "// changed\n")
    with pytest.raises(RuntimeError, match="JDK"):
        hatch_build.build(tree)


def test_sources_that_do_not_compile_keep_the_old_jar(hatch_build, tree):
    jar = hatch_build.build(tree)
    before = jar.read_bytes()
    (tree / "agent-java/src/main/java/btpy/agent/Lease.java").write_text("class {")
    with pytest.raises(RuntimeError, match="Lease"):
        hatch_build.build(tree)
    assert jar.read_bytes() == before
