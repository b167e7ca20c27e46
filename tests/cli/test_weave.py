"""``btpy weave``: class files woven for review, without a JVM."""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from btpy.api.woven_jar import SourceJar, manifest, parsed
from btpy.classfile import opcodes as op
from btpy.classfile.assembler import ClassBuilder, Tracking
from btpy.classfile.jvms import ACC_STATIC
from btpy.classfile.reader import ClassFile
from btpy.cli import weave
from btpy.cli.main import main
from btpy.jvm.attach import agent_jar
from tests import maven
from tests.jdks import QUICK_TOOL, compiled, java, java_home

TraceFunction = Callable[[FrameType, str, Any], Any]

JAVA = Path(__file__).parent.parent / "weave" / "java"

SCRIPT = """
@OnMethod(class="Places", method="callsFailing", location=CALL(class="Places", method="fails", when=AFTER))
probe failing { print(duration); }
@OnMethod(class="Places", method="<init>", location=CALL(class="Places", method="text")) probe early { print(self); }
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.bt"
    path.write_text(SCRIPT)
    return path


@pytest.fixture(scope="module")
def classes() -> Path:
    return compiled([JAVA / "Places.java", JAVA / "Recorder.java"])


def test_the_report_lists_woven_and_refused_methods(
    script: Path, classes: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["weave", str(script), "--cp", str(classes)]) == 0
    out, err = capfd.readouterr()
    lines = out.splitlines()
    assert lines[0] == f"Places  ({classes})"
    assert lines[1] == "  callsFailing(I)Ljava/lang/String;"
    assert [line.rpartition(" line ")[0] for line in lines[2:4]] == [
        "    failing: CALL_RETURN Places.fails",
        "    failing: CALL_THROW Places.fails",
    ]
    assert lines[4] == ("  <init>(I)V refused [BT342]: `self` does not exist before super(…) or this(…) has returned")
    assert "warning: probe early is nowhere in these classes" in err
    assert f"{len(list(classes.glob('*.class')))} classes: 1 woven at 2 sites, 1 times refused" in err


def test_as_json(script: Path, classes: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["weave", str(script), "--cp", str(classes), "--report", "json"]) == 0
    (line,) = capfd.readouterr().out.splitlines()
    report = json.loads(line)
    assert (report["v"], report["type"], report["class"], report["woven"]) == (1, "class", "Places", True)
    assert [(site["probe"], site["point"], site["target_class"], site["member"]) for site in report["sites"]] == [
        ("failing", "CALL_RETURN", "Places", "fails"),
        ("failing", "CALL_THROW", "Places", "fails"),
    ]
    assert [(refusal["code"], refusal["method"]) for refusal in report["refused"]] == [("BT342", "<init>(I)V")]


def test_the_diff_shows_inserted_code_and_nothing_else(
    script: Path, classes: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["weave", str(script), "--cp", str(classes), "--diff", "Places::calls*"]) == 0
    lines = capfd.readouterr().out.splitlines()
    at = lines.index("--- Places::callsFailing(I)Ljava/lang/String; as it is")
    changes = [line for line in lines[at + 2 :] if line[:1] in "+-"]
    assert [line for line in changes if line[0] == "-"] == [changes[0]]  # the line of the sizes of stack and locals
    assert changes[0].startswith("-// stack ")
    assert "+    invokestatic java/lang/System.nanoTime ()J" in changes
    assert changes[-3] == "+    athrow"
    main(["weave", str(script), "--cp", str(classes), "--diff", "Other::calls*"])
    assert "---" not in capfd.readouterr().out


@pytest.mark.parametrize("name", ["out", "out.jar"])
def test_woven_classes_and_handlers_are_written(name: str, script: Path, classes: Path, tmp_path: Path) -> None:
    out = tmp_path / name
    jar = tmp_path / "in.jar"
    with zipfile.ZipFile(jar, "w") as file:
        file.write(classes / "Places.class", "Places.class")
    (tmp_path / "empty").mkdir()
    paths = os.pathsep.join((str(jar), str(tmp_path / "empty")))
    assert main(["weave", str(script), "--cp", paths, "-o", str(out)]) == 0
    if out.suffix == ".jar":
        with zipfile.ZipFile(out) as file:
            entries = {entry: file.read(entry) for entry in file.namelist()}
    else:
        entries = {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*.class")}
    assert ClassFile.parse(entries.pop("Places.class")).name == "Places"
    assert len(entries) == 1  # both points of the call share a handler
    assert all(ClassFile.parse(data).name == entry.removesuffix(".class") for entry, data in entries.items())


def test_a_jdk_needs_no_jvm(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "jdk.bt"
    script.write_text(
        '@OnMethod(class="**", location=FIELD_SET(class="java.util.ArrayList", field="elementData")) { print(oldval); }'
    )
    assert main(["weave", str(script), "--jdk", str(java_home(17)), "--report", "json"]) == 0
    records = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [class_["class"] for class_ in records if class_["woven"]] == ["java.util.ArrayList"]
    assert {site["member"] for class_ in records for site in class_["sites"]} == {"elementData"}


def test_wrong_arguments_are_errors(script: Path, classes: Path, tmp_path: Path) -> None:
    assert main(["weave", str(script)]) == 2
    assert main(["weave", str(script), "--cp", str(script)]) == 2
    assert main(["weave", str(script), "--jdk", str(tmp_path)]) == 2
    assert main(["weave", str(script), "--cp", str(classes), "--diff", "Places"]) == 2
    script.write_text('@OnMethod(class="Absent", method="x", location=RAISE) { print(1); }')
    assert main(["weave", str(script), "--cp", str(classes)]) == 4


@pytest.mark.parametrize(
    ("probe", "methods"),
    [
        ('@OnMethod(class="+Top", method="f") { print(1); }', ["First.f", "Middle.f"]),
        ('@OnMethod(class="Uses", method="*", location=CALL(class="+Top", method="f")) { print(1); }', ["Uses.both"]),
    ],
)
def test_supertypes_may_come_after_the_classes_that_have_them(
    probe: str, methods: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "Uses.java"
    source.write_text(
        "class Uses { void both(First first, Other other) { first.f(); other.f(); } }\n"
        "class First extends Middle { void f() {} }\n"
        "class Middle extends Top { void f() {} }\n"
        "class Other { void f() {} }\n"
        "class Top {}\n"
    )
    assert main(["weave", "-e", probe, "--cp", str(compiled([source])), "--report", "json"]) == 0
    records = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [f"{class_['class']}.{site['method']}" for class_ in records for site in class_["sites"]] == methods


SHARED = """
@OnMethod(class="org.h2.util.*", method="*", location=EXIT) probe took { @took[method] = hist(duration); }
@OnMethod(class="org.h2.util.*", location=CALL(class="java.util.**", method="*")) probe calls { @calls = count(); }
@OnMethod(class="+org.h2.value.Value", method="get*", location=RETURN) probe values { print(self, retval); }
@OnMethod(class="org.h2.util.*", method="*", location=RETURN) probe doubled { print(retval * 2); }
"""

RUNNER = """
import sys
from btpy import parallel
parallel.PATIENCE = 0.0
processes = int(sys.argv.pop(1))
parallel.cores = lambda: processes
from btpy.cli.main import main
sys.exit(main())
"""


def shared(processes: int, *arguments: str | Path) -> list[str]:
    """The command that runs ``btpy weave`` in this number of processes."""
    return [sys.executable, "-c", RUNNER, str(processes), "weave", *map(str, arguments)]


@pytest.fixture(scope="module")
def classes_of_h2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A jar with some hundred classes of H2."""
    with zipfile.ZipFile(maven.artifact(maven.H2)) as jar:
        entries = {name: jar.read(name) for name in jar.namelist() if re.match("org/h2/(util/[I-U]|value/)", name)}
    return jar_of(tmp_path_factory.mktemp("h2") / "h2.jar", entries)


@pytest.mark.parametrize("options", [(), ("--report", "json"), ("--diff", "org.h2.util.StringUtils::*")])
def test_processes_change_nothing(options: tuple[str, ...], classes_of_h2: Path, tmp_path: Path) -> None:
    reports = []
    jar = classes_of_h2
    for processes in 1, 3:
        out = tmp_path / f"{processes}.jar"
        command = shared(processes, "-e", SHARED, "--cp", jar, "-o", out, *options)
        result = subprocess.run(command, capture_output=True, timeout=300)
        digest = hashlib.sha256(out.read_bytes()).hexdigest()
        reports.append((result.returncode, result.stdout, result.stderr.decode(), digest))
    assert reports[0] == reports[1]
    assert reports[0][0] == 0
    assert "BT" in reports[0][2]


def test_a_class_is_woven_the_same_with_any_other_classes(tmp_path: Path) -> None:
    script = '@OnMethod(class="org.h2.util.*", method="*", location=EXIT) { @took[method] = hist(duration); }'
    jar = maven.artifact(maven.H2)
    alone = tmp_path / "alone.jar"
    entry = "org/h2/util/StringUtils.class"
    with zipfile.ZipFile(jar) as file, zipfile.ZipFile(alone, "w") as one:
        one.writestr(entry, file.read(entry))
    results = []
    for path in jar, alone:
        out = tmp_path / f"out-{path.name}"
        assert main(["weave", "-e", script, "--cp", str(path), "-o", str(out)]) == 0
        with zipfile.ZipFile(out) as file:
            results.append(file.read(entry))
    assert results[0] == results[1]


def test_ctrl_c_ends_every_process_and_leaves_no_half_of_a_jar(tmp_path: Path) -> None:
    out = tmp_path / "out.jar"
    script = '@OnMethod(class="java.**", method="*", location=EXIT) { print(duration); }'
    command = shared(2, "-e", script, "--jdk", java_home(17), "-o", out)
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        classes = 0
        while classes < 40:  # more classes than the parent weaves alone
            classes += not process.stdout.readline().startswith(" ")
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=120)  # communicate() returns when no process has the pipes open
    assert (process.returncode, err) == (130, "")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_at_any_line_of_a_jar_is_an_interrupt_and_leaves_nothing(tmp_path: Path) -> None:
    """Writes a jar repeatedly; each time the interruption comes one line of ``zipfile`` later."""
    interrupted = 0
    while _interrupted_at(interrupted + 1, tmp_path / "out.jar"):
        interrupted += 1
        assert list(tmp_path.iterdir()) == []
    assert interrupted > 100
    assert [path.name for path in tmp_path.iterdir()] == ["out.jar"]


def _interrupted_at(line: int, jar: Path) -> bool:
    """Writes the jar and interrupts it at this line. Returns whether it reached the line."""
    lines = 0

    def trace(frame: FrameType, event: str, argument: object) -> TraceFunction | None:
        nonlocal lines
        if event == "line" and frame.f_code.co_filename == zipfile.__file__:
            lines += 1
            if lines == line:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    try:
        with weave._into_jar(jar) as write:
            sys.settrace(trace)
            for path in "a/A.class", "a/B.class":
                write(path, [b"first", b"second"])
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_a_full_disk_leaves_the_jar_that_was_there(script: Path, classes: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jar"
    out.write_text("the one before")
    result = subprocess.run(
        shared(1, script, "--cp", classes, "-o", out),
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
    )
    assert result.returncode == 1
    assert f"error: cannot write {out}: file too large\n  = help: write elsewhere with -o\n" in result.stderr
    assert out.read_text() == "the one before"
    assert not list(tmp_path.glob("*.part"))


def test_a_full_disk_leaves_no_half_of_a_class(script: Path, classes: Path, tmp_path: Path) -> None:
    result = subprocess.run(
        shared(1, script, "--cp", classes, "-o", tmp_path / "out"),
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
    )
    assert result.returncode == 1
    assert f"error: cannot write {tmp_path / 'out'}: file too large\n" in result.stderr
    assert list(tmp_path.rglob("*.class")) == []


def test_a_failed_weaving_reports_the_state_of_the_directory(
    classes: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The command for a jar with a bad entry."""
    bad = tmp_path / "bad.jar"
    with zipfile.ZipFile(bad, "w") as jar:
        jar.writestr("Places.class", "PLACES.PLACES")
    bad.write_bytes(bad.read_bytes().replace(b"PLACES.PLACES", b"PLACES PLACES"))
    path = os.pathsep.join((str(classes), str(bad)))
    out = tmp_path / "out"
    probe = '@OnMethod(class="Places", method="text") { print(1); }'
    assert main(["weave", "-e", probe, "--cp", path, "-o", str(out)]) == 2
    _, err = capfd.readouterr()
    count = len(list(out.rglob("*.class")))
    assert err.splitlines() == [
        f"warning: {out} has the first {count} class files only",
        f"error: cannot read {bad}: Bad CRC-32 for file 'Places.class'",
        "  = help: repair it, or leave it out",
    ]
    assert count == 2


def test_of_two_classes_of_a_name_the_first_is_written(script: Path, classes: Path, tmp_path: Path) -> None:
    second = tmp_path / "second"
    second.mkdir()
    shutil.copy(compiled([JAVA / "Places.java", JAVA / "Recorder.java"], flags=("-g:none",)) / "Places.class", second)
    out = {}
    for name, path in ("both", f"{classes}{os.pathsep}{second}"), ("first", str(classes)):
        assert main(["weave", str(script), "--cp", path, "-o", str(tmp_path / name)]) == 0
        out[name] = (tmp_path / name / "Places.class").read_bytes()
    assert out["both"] == out["first"]


ALL = '@OnMethod(class="/.*/", method="*", location=ENTRY) { @n = count(); }'


def jar_of(path: Path, entries: dict[str, bytes], *attributes: str) -> Path:
    with zipfile.ZipFile(path, "w") as jar:
        if attributes:
            jar.writestr("META-INF/MANIFEST.MF", "\r\n".join(("Manifest-Version: 1.0", *attributes, "", "")))
        for entry, data in entries.items():
            jar.writestr(entry, data)
    return path


def classes_of(directory: Path, release: int, **sources: str) -> dict[str, bytes]:
    files = []
    for name, text in sources.items():
        directory.mkdir(exist_ok=True)
        files.append(directory / f"{name}.java")
        files[-1].write_text(text)
    root = compiled(files, release=release)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*.class")}


def runs(class_path: Path | str, main_class: str = "p.Main") -> str:
    """The program's output. Only an agent could define the handlers that woven code calls; the program does not report
    that they are missing.
    """
    command = [str(java(17)), "-Xverify:all", "-cp", str(class_path), main_class]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return result.stdout + result.stderr


VERSIONED = "package p; public class Number { public static int of() { return %d; } }"
MAIN = "package p; public class Main { public static void main(String[] a) { System.out.println(Number.of()); } }"


def multi_release(directory: Path) -> Path:
    base = classes_of(directory / "8", 8, Main=MAIN, Number=VERSIONED % 1)
    newer = classes_of(directory / "11", 11, Number=VERSIONED % 103)
    versions = {f"META-INF/versions/11/{entry}": data for entry, data in newer.items()}
    return jar_of(directory / "versions.jar", base | versions, "Multi-Release: true", "Main-Class: p.Main")


def test_a_jar_with_versions_of_classes_runs_the_same_code_when_woven(tmp_path: Path) -> None:
    jar = multi_release(tmp_path)
    assert runs(jar) == "103\n"
    out = tmp_path / "out.jar"
    script = '@OnMethod(class="p.Number", method="of", location=ENTRY) { @n = count(); }'
    assert main(["weave", "-e", script, "--cp", str(jar), "-o", str(out)]) == 0
    with zipfile.ZipFile(out) as jar_file:
        names = set(jar_file.namelist())
        assert {"p/Number.class", "META-INF/versions/11/p/Number.class"} <= names
        assert b"Multi-Release: true\r\n" in jar_file.read("META-INF/MANIFEST.MF")
        assert b"Main-Class: p.Main\r\n" in jar_file.read("META-INF/MANIFEST.MF")
    assert runs(f"{out}:{jar}") == "103\n"


def test_versions_that_are_not_woven_come_along(tmp_path: Path) -> None:
    base = classes_of(
        tmp_path / "8", 8, Main=MAIN, Number=(VERSIONED % 1).replace("int of", "void only() {} static public int of")
    )
    newer = classes_of(tmp_path / "11", 11, Number=VERSIONED % 103)
    versions = {f"META-INF/versions/11/{entry}": data for entry, data in newer.items()}
    jar = jar_of(tmp_path / "in.jar", base | versions, "Multi-Release: true")
    out = tmp_path / "out.jar"
    script = '@OnMethod(class="p.Number", method="only", location=ENTRY) { @n = count(); }'
    assert main(["weave", "-e", script, "--cp", str(jar), "-o", str(out)]) == 0
    assert runs(f"{out}:{jar}") == "103\n"


def signed(directory: Path, jar: Path) -> None:
    store = directory / "keys"
    keytool, jarsigner = shutil.which("keytool"), shutil.which("jarsigner")
    assert keytool is not None
    assert jarsigner is not None
    secret = ["-storepass", "secret1", "-keypass", "secret1", "-keystore", str(store)]
    subprocess.run(
        [keytool, *QUICK_TOOL, "-genkeypair", "-alias", "me", "-keyalg", "EC", "-dname", "CN=me", *secret],
        check=True,
        capture_output=True,
        timeout=120,
    )
    subprocess.run([jarsigner, *QUICK_TOOL, *secret, str(jar), "me"], check=True, capture_output=True, timeout=120)


LOOP = "package p; public class Number { static void unused() {} public static int of() { return 7; } }"


@pytest.mark.parametrize("kind", ["signed", "sealed"])
def test_a_jar_that_is_signed_or_sealed_is_written_whole(
    kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    entries = classes_of(tmp_path / "s", 11, Main=MAIN, Number=LOOP) | {"data.txt": b"data"}
    jar = jar_of(tmp_path / "in.jar", entries, "Main-Class: p.Main", *(["Sealed: true"] if kind == "sealed" else []))
    if kind == "signed":
        signed(tmp_path, jar)
    script = '@OnMethod(class="p.Number", method="unused", location=ENTRY) { @n = count(); }'
    out = tmp_path / "out.jar"
    assert main(["weave", "-e", script, "--cp", str(jar), "-o", str(out)]) == 0
    message = (
        f"is signed: {out} holds the whole jar without the signature"
        if kind == "signed"
        else f"is sealed: {out} has all"
    )
    assert message in capfd.readouterr().err
    with zipfile.ZipFile(out) as jar_file:
        names = [name for name in jar_file.namelist() if not name.startswith("btpy/")]
        assert sorted(names) == sorted(["META-INF/MANIFEST.MF", *entries])
        assert b"Digest" not in jar_file.read("META-INF/MANIFEST.MF")
        assert jar_file.read("data.txt") == b"data"
    assert runs(out) == "7\n"
    assert runs(f"{out}:{jar}") == "7\n"


@pytest.mark.parametrize("entry", ["../p/Number.class", "/p/Number.class", "p/../../Number.class", "C:/p/Number.class"])
@pytest.mark.parametrize("name", ["deep/out", "deep/out.jar"])
def test_no_entry_leads_out_of_the_output(
    entry: str, name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (data,) = classes_of(tmp_path / "s", 11, Number=VERSIONED % 1).values()
    jar = jar_of(tmp_path / "in.jar", {entry: data, "ok/Number.class": data})
    out = tmp_path / name
    out.parent.mkdir()
    before = {path for path in tmp_path.rglob("*") if path != out}
    assert main(["weave", "-e", ALL, "--cp", str(jar), "-o", str(out), "--report", "json"]) == 0
    after = {path for path in tmp_path.rglob("*") if out not in (path, *path.parents)}
    assert after == before
    report = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [(class_["woven"], "leads out" in str(class_["refused"])) for class_ in report] in (
        [(False, True), (True, False)],
        [(True, False), (False, True)],
    )
    if out.suffix == ".jar":
        with zipfile.ZipFile(out) as jar_file:
            assert all(".." not in name and name[0] != "/" and ":" not in name for name in jar_file.namelist())


@pytest.mark.parametrize("link", ["p", "p/Number.class"])
def test_no_link_below_the_output_is_followed(link: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    jar = jar_of(tmp_path / "in.jar", classes_of(tmp_path / "s", 11, Number=VERSIONED % 1))
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "Number.class").write_text("of somebody else")
    place = tmp_path / "out" / link
    place.parent.mkdir(parents=True)
    place.symlink_to(victim if link == "p" else victim / "Number.class")
    assert main(["weave", "-e", ALL, "--cp", str(jar), "-o", str(tmp_path / "out")]) == 1
    assert f"out/p/Number.class: {place} is a symbolic link" in capfd.readouterr().err
    assert (victim / "Number.class").read_text() == "of somebody else"


def test_companions_of_a_signed_jar_stay_inside_too(tmp_path: Path) -> None:
    entries = classes_of(tmp_path / "s", 11, Main=MAIN, Number=LOOP) | {"../evil.txt": b"evil"}
    jar = jar_of(tmp_path / "in.jar", entries, "Sealed: true")
    (tmp_path / "deep").mkdir()
    assert main(["weave", "-e", ALL, "--cp", str(jar), "-o", str(tmp_path / "deep" / "out")]) == 0
    assert not list(tmp_path.rglob("evil.txt"))


def test_of_entries_with_one_name_the_last_is_woven_as_a_jvm_loads_it(tmp_path: Path) -> None:
    one = classes_of(tmp_path / "1", 11, Main=MAIN, Number=VERSIONED % 1)
    two = classes_of(tmp_path / "2", 11, Number=LOOP.replace("7", "2"))
    jar = tmp_path / "in.jar"
    with zipfile.ZipFile(jar, "w") as file:
        for entry, data in one.items():
            file.writestr(entry, data)
        for entry, data in two.items():
            with pytest.warns(UserWarning, match="Duplicate name"):
                file.writestr(entry, data)
    assert runs(jar) == "2\n"
    out = tmp_path / "out.jar"
    script = '@OnMethod(class="p.Number", method="unused", location=ENTRY) { @n = count(); }'
    assert main(["weave", "-e", script, "--cp", str(jar), "-o", str(out)]) == 0
    assert runs(f"{out}:{jar}") == "2\n"


def test_a_manifest_is_read_and_written_as_the_specification_says(tmp_path: Path) -> None:
    long = "é" * 200
    main_, sections = parsed(f"A: {'x' * 60}\r\n yz\r\nB: {long}\n\nName: p/\r\nSealed: true\r\n".encode())
    assert main_ == {"A": "x" * 60 + "yz", "B": long}
    assert sections == [("p/", {"Sealed": "true"})]
    text = manifest([SourceJar(tmp_path, main_, dict(sections), False)])
    assert text is not None
    assert parsed(text)[0] == {"Manifest-Version": "1.0", **main_}
    assert parsed(text)[1] == sections
    assert max(map(len, text.split(b"\r\n"))) <= 70


def test_names_that_differ_in_case_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file system does not distinguish upper and lower case."""
    one = classes_of(tmp_path / "1", 11, Number=VERSIONED % 1)
    two = classes_of(tmp_path / "2", 11, number=(VERSIONED % 2).replace("Number", "number"))
    jar = jar_of(tmp_path / "in.jar", one | two)
    assert main(["weave", "-e", ALL, "--cp", str(jar), "-o", str(tmp_path / "out")]) == 0
    (tmp_path / "folded" / "p").mkdir(parents=True)
    (tmp_path / "folded" / "p" / "Number.class").touch()
    (tmp_path / "folded" / "p" / "number.class").symlink_to("Number.class")
    assert main(["weave", "-e", ALL, "--cp", str(jar), "-o", str(tmp_path / "folded")]) == 1


def test_the_launcher_of_the_agent_is_not_woven(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    agent = tmp_path / "agent.jar"
    shutil.copy(agent_jar(), agent)
    assert main(["weave", "-e", ALL, "--cp", str(agent)]) == 4
    assert capfd.readouterr().out == ""


def test_a_method_with_too_many_locals_is_refused_by_name_and_the_others_are_woven(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    builder = ClassBuilder("Odd")
    for name, most in (("full", 65_531), ("plain", 1)):
        code = builder.method(ACC_STATIC, name, "()V", tracking=Tracking.OFF)
        code.limits(0, most)
        code.op(op.RETURN)
    (tmp_path / "Odd.class").write_bytes(builder.to_bytes())
    script = '@OnMethod(class="Odd", method="*", location=EXIT) { print(duration); }'
    assert main(["weave", "-e", script, "--cp", str(tmp_path), "--report", "json"]) == 0
    (report,) = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert {site["method"] for site in report["sites"]} == {"plain"}
    assert [(refusal["code"], refusal["method"]) for refusal in report["refused"]] == [("BT332", "full()V")]


def test_a_method_with_too_many_arguments_is_refused_by_name_and_the_others_are_woven(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    many = ", ".join(f"int a{number}" for number in range(255))
    entries = classes_of(
        tmp_path / "s", 11, Many=f"class Many {{ static void many({many}) {{}} static void few(int a) {{}} }}"
    )
    jar = jar_of(tmp_path / "in.jar", entries)
    script = '@OnMethod(class="Many", method="/many|few/", location=ENTRY) { print(args); }'
    assert main(["weave", "-e", script, "--cp", str(jar), "--report", "json"]) == 0
    (report,) = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [site["method"] for site in report["sites"]] == ["few"]
    assert [(refusal["code"], refusal["method"]) for refusal in report["refused"]] == [("BT332", f"many({'I' * 255})V")]


@pytest.mark.parametrize(
    ("pattern", "types"),
    [
        ("*", ["byte[][]", "int[]", "java.lang.String[]"]),
        ("/.*/", ["byte[][]", "int[]", "java.lang.String[]"]),
        ("/int|byte.*/", ["byte[][]", "int[]"]),
        ("/int|byte/[]", ["int[]"]),
        ("*[][]", ["byte[][]"]),
        ("java.lang.*[]", ["java.lang.String[]"]),
    ],
)
def test_arrays_are_selected_by_patterns(
    pattern: str, types: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = "class Arrays { void f() { Object[] a = {new int[1], new byte[2][3], new String[4]}; } }"
    entries = classes_of(tmp_path / "s", 11, Arrays=source)
    jar = jar_of(tmp_path / "in.jar", entries)
    script = f'@OnMethod(class="Arrays", method="f", location=NEWARRAY(type="{pattern}")) {{ @n = count(); }}'
    assert main(["weave", "-e", script, "--cp", str(jar), "--report", "json"]) == 0
    (report,) = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert (
        sorted(site["target_class"] for site in report["sites"] if site["target_class"] != "java.lang.Object[]")
        == types
    )
