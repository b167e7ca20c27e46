"""A target with many classes: btpy reads class files from the archive if possible, and weaves them correctly."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from btpy.classfile.archive import Archive
from btpy.engine.agent import READ_AT_ONCE, Agent
from btpy.engine.session import Session
from btpy.events.aggregates import Count
from btpy.wire.messages import LoadedClass
from tests.jdks import all_jdks, compiled
from tests.live.scripts import program
from tests.targets import Target, target

CLASSES = 89
CALLS = 101
SCRIPT = '@OnMethod(class="Crowd$Member*", method="step", location=RETURN) { @steps = count(); }'


def archive(directory: Path, result: str) -> Path:
    """A program with this number of classes, whose methods add ``result``."""
    directory.mkdir()
    members = "".join(
        f"    static class Member{number} {{ static long step(long n) {{ return {result}; }} }}\n"
        for number in range(CLASSES)
    )
    calls = "".join(f"            sum = Member{number}.step(sum);\n" for number in range(CLASSES))
    source = directory / "Crowd.java"
    source.write_text(f"""
public class Crowd {{
{members}
    static long all(int calls) {{
        long sum = 0;
        for (int i = 0; i < calls; i++) {{
{calls}        }}
        return sum;
    }}

    public static void main(String[] arguments) throws Exception {{
        all(1);
        System.out.println("ready");
        java.io.BufferedReader in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {{
            System.out.println("sum " + all(Integer.parseInt(line)));
        }}
    }}
}}
""")
    path = directory / "crowd.jar"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as jar:
        for class_file in sorted(compiled([source]).glob("*.class")):
            jar.write(class_file, class_file.name)
    return path


@contextmanager
def crowd(jdk: int, path: Path) -> Iterator[Target]:
    with target(jdk, "Crowd", classpath=[path], flags=["-Xverify:all"]) as jvm:
        yield jvm


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the classes whose class files the client requested from the target."""
    names: list[str] = []
    original_read = Agent._read

    def noting(self: Agent, classes: list[LoadedClass]) -> object:
        names.extend(class_.name for class_ in classes)
        return original_read(self, classes)

    monkeypatch.setattr(Agent, "_read", noting)
    return names


def traced(jvm: Target) -> None:
    """Installs the probe in all classes, checks that it counts each call, and removes it."""
    with Session.attach(jvm.pid) as session:
        deployment = session.deployer.load(program(SCRIPT))
        assert deployment.classes == CLASSES > READ_AT_ONCE
        jvm.send(str(CALLS))
        jvm.wait_for(f"sum {CLASSES * CALLS}")
        ((_, count),) = session.delivery.snapshot([0])[0].entries
        assert isinstance(count, Count)
        assert count.n == CLASSES * CALLS
        receipt = session.departure.detach()
        assert receipt.clean
        assert receipt.restored == CLASSES
    jvm.send("1")
    jvm.wait_for(f"sum {CLASSES}")


@all_jdks
def test_class_files_in_the_archive_are_not_requested_from_the_target(
    jdk: int, tmp_path: Path, read: list[str], questions: list[str]
) -> None:
    with crowd(jdk, archive(tmp_path / "crowd", "n + 1")) as jvm:
        traced(jvm)
    assert read == []
    assert questions == []


def test_an_archive_that_was_replaced_is_not_looked_at(tmp_path: Path, read: list[str]) -> None:
    path = archive(tmp_path / "crowd", "n + 1")
    with crowd(17, path) as jvm:
        archive(tmp_path / "newer", "n + 2").rename(path)
        traced(jvm)
    assert len(read) == CLASSES


def test_a_class_file_that_differs_from_the_loaded_one_is_not_woven(
    tmp_path: Path, read: list[str], questions: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Archive(str(archive(tmp_path / "other", "Math.addExact(n, 2)")))
    monkeypatch.setattr(Archive, "read", lambda self, path, read=Archive.read: read(other, path))
    with crowd(17, archive(tmp_path / "crowd", "n + 1")) as jvm:
        traced(jvm)
    other.close()
    assert read == []
    assert len(questions) == CLASSES


def test_other_class_files_are_requested_from_the_target(
    tmp_path: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def some(self: Archive, path: str, read: object = Archive.read) -> bytes | None:
        return None if "7" in path else read(self, path)  # type: ignore[operator]

    monkeypatch.setattr(Archive, "read", some)
    with crowd(17, archive(tmp_path / "crowd", "n + 1")) as jvm:
        traced(jvm)
    assert sorted(read) == sorted(f"Crowd$Member{number}" for number in range(CLASSES) if "7" in str(number))
