"""``btpy weave``: class files woven for review, without a JVM."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from btpy.classfile.reader import ClassFile
from btpy.cli.main import main
from tests import maven
from tests.jdks import compiled, java_home

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


def test_the_report_says_what_is_woven_and_what_is_not(
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
    said = json.loads(line)
    assert (said["v"], said["type"], said["class"], said["woven"]) == (1, "class", "Places", True)
    assert [(site["probe"], site["point"], site["target_class"], site["member"]) for site in said["sites"]] == [
        ("failing", "CALL_RETURN", "Places", "fails"),
        ("failing", "CALL_THROW", "Places", "fails"),
    ]
    assert [(refused["code"], refused["method"]) for refused in said["refused"]] == [("BT342", "<init>(I)V")]


def test_the_diff_shows_inserted_code_and_nothing_else(
    script: Path, classes: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["weave", str(script), "--cp", str(classes), "--diff", "Places::calls*"]) == 0
    lines = capfd.readouterr().out.splitlines()
    at = lines.index("--- Places::callsFailing(I)Ljava/lang/String; as it is")
    changed = [line for line in lines[at + 2 :] if line[:1] in "+-"]
    assert [line for line in changed if line[0] == "-"] == [changed[0]]  # stack, locals and size
    assert changed[0].startswith("-// stack ")
    assert "+    invokestatic java/lang/System.nanoTime ()J" in changed
    assert changed[-3] == "+    athrow"
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
    found = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [each["class"] for each in found if each["woven"]] == ["java.util.ArrayList"]
    assert {site["member"] for each in found for site in each["sites"]} == {"elementData"}


def test_what_makes_no_sense_is_an_error(script: Path, classes: Path, tmp_path: Path) -> None:
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
    found = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [f"{each['class']}.{site['method']}" for each in found for site in each["sites"]] == methods


SHARED = """
@OnMethod(class="org.h2.util.*", method="*", location=EXIT) probe took { @took[method] = hist(duration); }
@OnMethod(class="org.h2.util.*", location=CALL(class="java.util.**", method="*")) probe calls { @calls = count(); }
@OnMethod(class="+org.h2.value.Value", method="get*", location=RETURN) probe values { print(self, retval); }
@OnMethod(class="org.h2.util.*", method="*", location=RETURN) probe doubled { print(retval * 2); }
"""

RUNNER = """
import sys
from btpy import forked
forked.PATIENCE = 0.0
processes = int(sys.argv.pop(1))
forked.cores = lambda: processes
from btpy.cli.main import main
sys.exit(main())
"""


def shared(processes: int, *arguments: str | Path) -> list[str]:
    """The command that runs ``btpy weave`` in that many processes."""
    return [sys.executable, "-c", RUNNER, str(processes), "weave", *map(str, arguments)]


@pytest.mark.parametrize("options", [(), ("--report", "json"), ("--diff", "org.h2.util.StringUtils::*")])
def test_processes_change_nothing(options: tuple[str, ...], tmp_path: Path) -> None:
    said = []
    jar = maven.artifact(maven.H2)
    for processes in 1, 3:
        out = tmp_path / f"{processes}.jar"
        command = shared(processes, "-e", SHARED, "--cp", jar, "-o", out, *options)
        done = subprocess.run(command, capture_output=True, timeout=300)
        digest = hashlib.sha256(out.read_bytes()).hexdigest()
        said.append((done.returncode, done.stdout, done.stderr.decode(), digest))
    assert said[0] == said[1]
    assert said[0][0] == 0
    assert "BT" in said[0][2]


def test_a_class_is_woven_alike_whatever_else_is_there(tmp_path: Path) -> None:
    script = '@OnMethod(class="org.h2.util.*", method="*", location=EXIT) { @took[method] = hist(duration); }'
    jar = maven.artifact(maven.H2)
    alone = tmp_path / "alone.jar"
    entry = "org/h2/util/StringUtils.class"
    with zipfile.ZipFile(jar) as file, zipfile.ZipFile(alone, "w") as one:
        one.writestr(entry, file.read(entry))
    woven = []
    for path in jar, alone:
        out = tmp_path / f"out-{path.name}"
        assert main(["weave", "-e", script, "--cp", str(path), "-o", str(out)]) == 0
        with zipfile.ZipFile(out) as file:
            woven.append(file.read(entry))
    assert woven[0] == woven[1]


def test_ctrl_c_ends_every_process_and_leaves_no_half_of_a_jar(tmp_path: Path) -> None:
    out = tmp_path / "out.jar"
    script = '@OnMethod(class="java.**", method="*", location=EXIT) { print(duration); }'
    command = shared(2, "-e", script, "--jdk", java_home(17), "-o", out)
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        classes = 0
        while classes < 40:  # more than the parent does alone
            classes += not process.stdout.readline().startswith(" ")
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=120)  # which ends when no process has the pipes
    assert (process.returncode, err) == (130, "")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_the_jar_that_was_there(script: Path, classes: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jar"
    out.write_text("the one before")
    done = subprocess.run(
        shared(1, script, "--cp", classes, "-o", out),
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
    )
    assert done.returncode == 1
    assert f"error: cannot write {out}: file too large\n  = help: write elsewhere with -o\n" in done.stderr
    assert out.read_text() == "the one before"
    assert not list(tmp_path.glob("*.part"))


def test_a_full_disk_leaves_no_half_of_a_class(script: Path, classes: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        shared(1, script, "--cp", classes, "-o", tmp_path / "out"),
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
    )
    assert done.returncode == 1
    assert f"error: cannot write {tmp_path / 'out'}: file too large\n" in done.stderr
    assert list(tmp_path.rglob("*.class")) == []


def test_what_a_directory_has_when_weaving_fails_is_said(
    classes: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Of a jar with a bad entry."""
    bad = tmp_path / "bad.jar"
    with zipfile.ZipFile(bad, "w") as jar:
        jar.writestr("Places.class", "PLACES.PLACES")
    bad.write_bytes(bad.read_bytes().replace(b"PLACES.PLACES", b"PLACES PLACES"))
    path = os.pathsep.join((str(classes), str(bad)))
    out = tmp_path / "out"
    probe = '@OnMethod(class="Places", method="text") { print(1); }'
    assert main(["weave", "-e", probe, "--cp", path, "-o", str(out)]) == 2
    _, err = capfd.readouterr()
    written = len(list(out.rglob("*.class")))
    assert err.splitlines() == [
        f"warning: {out} has the first {written} class files only",
        f"error: cannot read {bad}: Bad CRC-32 for file 'Places.class'",
        "  = help: mend it, or leave it out",
    ]
    assert written == 2


def test_of_two_classes_of_a_name_the_first_is_written(script: Path, classes: Path, tmp_path: Path) -> None:
    second = tmp_path / "second"
    second.mkdir()
    shutil.copy(compiled([JAVA / "Places.java", JAVA / "Recorder.java"], flags=("-g:none",)) / "Places.class", second)
    out = {}
    for name, path in ("both", f"{classes}{os.pathsep}{second}"), ("first", str(classes)):
        assert main(["weave", str(script), "--cp", path, "-o", str(tmp_path / name)]) == 0
        out[name] = (tmp_path / name / "Places.class").read_bytes()
    assert out["both"] == out["first"]
