"""``btpy`` as a process that traces no JVM: usage, scripts, exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.jdks import compiled
from tests.targets import target

UNUSED_PID = str(2**22 + 1)  # above the greatest pid that Linux gives


def btpy(*arguments: str | int | Path, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "btpy", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LC_ALL": "C.UTF-8", "NO_COLOR": "1", **environment},
    )


def test_help_is_on_standard_output() -> None:
    result = btpy("--help")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("usage: btpy PID|NAME FILE.bt")
    for word in ("btpy ps", "btpy check", "btpy demo", "--for", "--hits", "--append"):
        assert word in result.stdout
    assert btpy("ps", "--help").stdout.startswith("usage: btpy ps [-a] [--json]")
    assert btpy("--version").stdout.startswith("btpy ")


def test_help_needs_nothing_heavy() -> None:
    code = "import sys; from btpy.cli.main import main; main(['--help']); print(*sorted(sys.modules), file=sys.stderr)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = set(run.stderr.split())
    assert "btpy.cli.run_script" in modules
    assert modules.isdisjoint({"lark", "jpype", "rich", "prompt_toolkit", "argparse", "btpy.engine", "btpy.lang"})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["1", "a.bt", "-e", "x"], "error: a program is given twice: a.bt and -e"),
        (["1", "a.bt", "b.bt"], "error: one argument too many: 'b.bt'"),
        (["1", "a.bt", "--for", "30"], "error: --for 30 has no unit"),
        (["1", "a.bt", "--hits", "many"], "error: --hits takes a number, not 'many'"),
        (["1", "a.bt", "--append"], "error: --append needs -o FILE"),
        (
            ["1", "a.bt", "-f", "xml"],
            "error: -f is 'xml': it can be text, ndjson, json, csv, tsv, logfmt, folded, flame, parquet, arrow, "
            "chrome or jfr",
        ),
        (
            ["1", "a.bt", "--pending", "--missing", "error"],
            "error: --pending and --missing=error contradict each other",
        ),
        (
            ["1", "-e", "A::b { }", "--fro", "1s"],
            "error: --fro is neither an option nor a parameter of the script",
        ),
        (["1", "-e", "A::b { }", "-y", "1s"], "error: unknown option -y"),
        (
            ["1", "-e", "param n = 5; A::b { print(n) }", "--n", "5s"],
            "error: --n must be an `int`, such as 5, not '5s'",
        ),
        (["1", "-e", "param n = 5; A::b { print(n) }", "--n"], "error: --n needs a value"),
        (["1", "--level", "2"], "error: the prompt takes no --level"),
        (["1", "-v"], "error: the prompt takes no --verbose"),
        (["1", "--slow", "5ms"], "error: --slow is a parameter of a script, and there is no script"),
        (["1", "--budget", "5"], "error: --budget takes a share of one core, not '5'"),
        (["check", "no_such_library"], "error: no_such_library is neither a file nor a library"),
        (["ps", "--nonsense"], "error: unknown option --nonsense"),
        (["1", "missing.bt"], "error: cannot read missing.bt: no such file or directory"),
        (["check", "/"], "error: cannot read /: is a directory"),
    ],
)
def test_mistakes_on_the_command_line(arguments: list[str], message: str) -> None:
    result = btpy(*arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.splitlines()[0] == message


def test_a_pid_after_the_library_gets_the_right_order() -> None:
    assert "  = help: the JVM comes first:  btpy PID|NAME FILE.bt|LIBRARY" in btpy("jdbc", "4711").stderr.splitlines()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b" \n\t", "is empty"),
        (b"// only a comment\n", "has no probes"),
        (b"A::b\x02\x01\xff", "is not text: byte 0xff at 6 is not UTF-8; if it is a script, save it as UTF-8"),
        (b"\x7fELF\x02\x01\xff", "is a program, not a script"),
        (
            b"PK\x03\x04\x14\x00",
            "is a jar or zip file, not a script: name its classes in a probe, and give the file with --cp FILE",
        ),
        ("A::b { }".encode("utf-16"), "is UTF-16: save it as UTF-8"),
        (b"A::b @entry {}\0", "is not text: it has a zero byte at 14"),
        (b"x" * (1 << 20) + b"y", "is longer than 1048576 bytes: split it into libraries and import them"),
    ],
)
def test_files_that_are_no_scripts(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "a.bt"
    path.write_bytes(data)
    result = btpy("check", path)
    assert result.returncode == 2
    assert result.stderr.splitlines()[0] == f"error: {path} {message}"


def test_check_finds_errors_and_their_places() -> None:
    wrong = btpy("check", "-", stdin="A::b @entry { print(durration) }\n")
    assert wrong.returncode == 2
    assert "error[BT101]: unknown name `durration`" in wrong.stderr
    assert "--> <standard input>:1:21" in wrong.stderr
    assert wrong.stdout == ""
    as_json = btpy("check", "-", "--error-format=json", stdin="A::b @entry { print(durration) }\n")
    assert as_json.returncode == 2
    assert json.loads(as_json.stdout.splitlines()[0])["code"] == "BT101"
    assert as_json.stderr == ""
    right = btpy("check", "-", stdin="A::b @entry { @n = count() }\n")
    assert (right.returncode, right.stderr) == (0, "<standard input>: 1 probe, 1 map, no errors\n")


def test_ascii_and_colour() -> None:
    script = "A::b @entry { print(durration) }\n"
    assert btpy("check", "-", stdin=script, LC_ALL="C").stderr.isascii()
    assert "\x1b[" not in btpy("check", "-", stdin=script).stderr
    assert "\x1b[" in btpy("check", "-", stdin=script, BTPY_COLOR="always").stderr


def test_a_process_that_is_not_there_or_no_jvm() -> None:
    result = btpy(UNUSED_PID, "-e", "A::b @entry {}")
    assert result.returncode == 3
    assert result.stderr.startswith("error[BT502]: there is no process")
    python = btpy(str(os.getppid()), "-e", "A::b @entry {}")
    assert python.returncode == 3
    assert btpy("no.such.Main", "-e", "A::b @entry {}").stderr.startswith("error[BT511]: no JVM matches 'no.such.Main'")


def test_a_name_that_two_jvms_have_is_no_name(tmp_path: Path) -> None:
    source = tmp_path / "Twin.java"
    source.write_text(
        "public class Twin { public static void main(String[] a) throws Exception"
        ' { System.out.println("ready"); System.in.read(); } }'
    )
    classpath = [compiled([source])]
    with target(17, "Twin", classpath=classpath) as one, target(17, "Twin", classpath=classpath) as other:
        result = btpy("Twin", "-e", "A::b @entry {}")
        assert result.returncode == 3
        assert result.stderr.startswith("error[BT512]: 2 JVMs match 'Twin'")
        assert str(one.pid) in result.stderr
        assert str(other.pid) in result.stderr
        rows = {json.loads(line)["pid"]: json.loads(line) for line in btpy("ps", "--json").stdout.splitlines()}
        assert rows[one.pid]["main"] == "Twin"
        assert rows[one.pid]["attachable"] is True
        assert rows[one.pid]["java_version"].startswith("17")
        table = btpy("ps").stdout
        assert table.startswith("  PID") or table.lstrip().startswith("PID")
        assert any(line.split()[0] == str(one.pid) and line.endswith("Twin") for line in table.splitlines())


def test_check_expand_prints_the_long_forms(tmp_path: Path) -> None:
    script = tmp_path / "a.bt"
    script.write_text("a.B::c @exit { print(1) }", encoding="utf-8")
    result = btpy("check", "--expand", script)
    assert result.stdout == '@OnMethod(class="a.B", method="c", location=EXIT)\n{ print(1) }\n'
    assert (result.returncode, result.stderr) == (0, f"{script}: 1 probe, 0 maps, no errors\n")
