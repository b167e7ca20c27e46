"""``btpy lib`` and ``btpy help``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.jdks import compiled
from tests.probes.stacks import jars
from tests.targets import target

TESTS = Path(__file__).parent.parent
OF_THE_JDK = {"allocations", "dns", "exceptions", "file_io", "gc_calls", "locks", "profile", "sockets", "threads"}
SCRIPT = """\
// Slow orders.
//
// Prints each.
param slow: duration = 1500us "orders that take longer";
param who: string "whose";
fn speed(long ns): string = ns < slow ? "ok" : "slow";
@Doc("an order has ended") @Unit("ns")
@OnMethod(class="com.acme.Orders", method="place", location=EXIT)
probe placed when duration > slow { provide(took=duration, who=who); print(speed(duration)); }
"""


def btpy(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "XDG_CONFIG_HOME": str(home), "BTPY_PATH": ""}
    return subprocess.run(
        [sys.executable, "-m", "btpy", *arguments], capture_output=True, text=True, env=environment, timeout=60
    )


def test_help_of_a_script(tmp_path: Path) -> None:
    (tmp_path / "orders.bt").write_text(SCRIPT, encoding="utf-8")
    result = btpy("help", str(tmp_path / "orders.bt"), home=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == (
        "Slow orders.\n"
        "\n"
        "Prints each.\n"
        "\n"
        "parameters:\n"
        "  --slow DURATION                 orders that take longer (default 1500us)\n"
        "  --who STRING                    whose (required)\n"
        "\n"
        "probes:\n"
        "  placed                          an order has ended\n"
        '                                  @OnMethod(class="com.acme.Orders", method="place", location=EXIT)\n'
        "                                  provides event.took, event.who (ns)\n"
        "\n"
        "functions:\n"
        "  speed(long ns): string\n"
    )


def test_a_library_of_ones_own(tmp_path: Path) -> None:
    results = btpy("lib", "new", "mine", home=tmp_path)
    folder = tmp_path / "btpy" / "probes"
    path = folder / "mine.bt"
    names = ["mine.bt", "mine.test.toml", "mine.test/Work.java", "mine.test/run.ndjson"]
    assert results.stdout.splitlines() == [*(str(folder / name) for name in names), f"btpy test {path} runs its test"]
    assert path.read_text(encoding="utf-8") == btpy("lib", "show", "mine", home=tmp_path).stdout
    assert btpy("check", "mine", home=tmp_path).stderr.endswith("3 probes, 2 maps, no errors\n")
    assert btpy("fmt", "--check", str(path), home=tmp_path).returncode == 0
    lines = btpy("lib", "list", home=tmp_path).stdout.splitlines()
    assert btpy("lib", home=tmp_path).stdout.splitlines() == lines
    assert lines[0].split(maxsplit=1) == [
        "mine",
        "Work: the number of pieces, their durations, and failures.",
    ]
    assert any(line.startswith("btpy.exceptions ") for line in lines)
    assert all(line.endswith(".") for line in lines)  # whole sentences
    assert btpy("lib", "search", "number of pieces", home=tmp_path).stdout.split()[0] == "mine"
    assert f"{path.parent}\n" in btpy("lib", "path", home=tmp_path).stdout


def test_a_new_library_passes_its_test(tmp_path: Path) -> None:
    assert btpy("lib", "new", "mine", "-I", str(tmp_path), home=tmp_path / "home").returncode == 0
    passed = btpy("test", str(tmp_path / "mine.bt"), home=tmp_path)
    assert (passed.returncode, passed.stderr) == (0, f"{tmp_path}/mine.bt: run 1 passes\n1 passed, 0 failed\n")
    program = tmp_path / "mine.test" / "Work.java"
    program.write_text(program.read_text(encoding="utf-8").replace("size <= 7", "size <= 11"), encoding="utf-8")
    result = btpy("test", str(tmp_path / "mine.bt"), home=tmp_path)
    assert result.returncode == 2
    assert '-{"data": {"large": {"@failed": 1, "@work": 3}, "small": {"@failed": 1, "@work": 4}}' in result.stderr
    assert '+{"data": {"large": {"@failed": 2, "@work": 7}, "small": {"@failed": 1, "@work": 4}}' in result.stderr
    script = tmp_path / "large.bt"
    script.write_text(
        "import mine;\n@OnProbe(mine.done) when event.size > 4 { print(event.error) }\n", encoding="utf-8"
    )
    assert btpy("check", str(script), home=tmp_path).returncode == 0, "others can subscribe"


@pytest.mark.parametrize("existing", ["mine.bt", "mine.test.toml", "mine.test/Work.java"])
def test_a_new_library_overwrites_nothing(existing: str, tmp_path: Path) -> None:
    path = tmp_path / existing
    path.parent.mkdir(exist_ok=True)
    path.write_text("// mine\n", encoding="utf-8")
    result = btpy("lib", "new", "mine", "-I", str(tmp_path), home=tmp_path / "home")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == f"error: {path} exists already\n  = help: nothing was written\n"
    assert path.read_text(encoding="utf-8") == "// mine\n"
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == [path]


def test_a_new_library_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    command = 'ulimit -f 0; exec "$@"'
    program = [sys.executable, "-m", "btpy", "lib", "new", "mine"]
    result = subprocess.run(
        ["bash", "-c", command, "bash", *program],
        capture_output=True,
        text=True,
        env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path), "BTPY_PATH": ""},
        timeout=60,
    )
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: cannot write {tmp_path}/btpy/probes/mine.bt: ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["help"], "error: usage: btpy help WORD|LIBRARY|FILE.bt"),
        (["help", "nothing_like_it"], "error: nothing_like_it is neither a file nor a library"),
        (["lib", "lst"], "error: btpy lib has no action 'lst'"),
        (["lib", "show"], "error: btpy lib show takes a name"),
        (["lib", "path", "--json"], "error: --json belongs to btpy lib list"),
        (["lib", "path", "x"], "error: btpy lib path takes nothing more"),
        (["lib", "new", "a/b"], "error: 'a/b' cannot be the name of a library"),
        (["lib", "new", "jdbc"], "error: 'jdbc' cannot be the name of a library"),
        (["lib", "new", "duration"], "error: 'duration' cannot be the name of a library"),
        (["lib", "search", "nobody says this"], "error: no library mentions 'nobody says this'"),
        (["lib", "list", "-I", "/nowhere"], "error: -I /nowhere is not a directory"),
    ],
)
def test_mistakes(arguments: list[str], message: str, tmp_path: Path) -> None:
    result = btpy(*arguments, home=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(message)


def test_near_names_of_libraries_need_no_prefix(tmp_path: Path) -> None:
    assert "  = help: did you mean `btpy.jdbc`?" in btpy("help", "jbdc", home=tmp_path).stderr


def test_parameters_of_a_check(tmp_path: Path) -> None:
    (tmp_path / "orders.bt").write_text(SCRIPT, encoding="utf-8")
    script = str(tmp_path / "orders.bt")
    result = btpy("check", script, home=tmp_path)
    assert result.stderr == "error: the script needs --who\n  = help: --who STRING  whose\n"
    for flags in (["--who", "ada", "--slow=2ms"], ["-P", "who=ada", "-P", "slow=2ms"]):
        assert btpy("check", script, *flags, home=tmp_path).returncode == 0
    wrong = btpy("check", script, "--who", "ada", "--slow", "2", home=tmp_path)
    assert wrong.stderr.startswith("error: --slow must be a `duration`, such as 250ms, not '2'")
    twice = btpy("check", script, "--who", "ada", "-P", "who=ben", home=tmp_path)
    assert twice.stderr.startswith("error: the parameter who is given twice")


@pytest.mark.parametrize("stacks", ["h2 hikari7 tjdbc11", ""], ids=["with-pools", "without"])
def test_the_libraries_that_apply_to_a_jvm(stacks: str, tmp_path: Path) -> None:
    (tmp_path / "mine.bt").write_text("// Mine.\nparam who: string;\n", encoding="utf-8")
    name, path = ("Pooling", jars(*stacks.split())) if stacks else ("Waiting", [])
    sources = [TESTS / "java" / "Gate.java", TESTS / "probes" / "java" / f"{name}.java"]
    unique = f"libraries-{os.getpid()}"
    classpath = [compiled(sources, classpath=path), *path]
    with target(21, name, classpath=classpath, flags=[f"-Dbtpy.name={unique}"]) as program:
        result = btpy("lib", "list", str(program.pid), "-I", str(tmp_path), home=tmp_path)
        lines = [line.split(maxsplit=2) for line in result.stdout.splitlines()]
        marks = {line[0].removeprefix("btpy."): line[1] for line in lines if line[1] in ("applies", "-", "?")}
        applying = {library for library, mark in marks.items() if mark == "applies"}
        assert applying >= OF_THE_JDK
        frameworks = {"caches", "http_client", "http_server", "jdbc", "pools"}
        assert frameworks & applying == ({"jdbc", "pools"} if stacks else set())
        assert [library for library in marks if library.startswith("flows_")], "they import the hooks of flows"
        assert [library for library in applying if library.startswith("flows")] == ["flows"]
        assert marks["mine"] == "?"
        assert ["the", "script", "needs --who"] in lines
        first_others = min(at for at, line in enumerate(lines) if line[1] == "-")
        assert all(line[1] != "applies" for line in lines[first_others:]), "those that apply come first"
        assert f"apply to {name} ({program.pid}); nothing was instrumented\n" in result.stderr
        if not stacks:
            return
        objects = btpy("lib", "list", unique, "-I", str(tmp_path), "--json", home=tmp_path)
        rows = {row["name"].removeprefix("btpy."): row for row in map(json.loads, objects.stdout.splitlines())}
        assert {library: row["applies"] for library, row in rows.items()} == {
            library: {"applies": True, "-": False, "?": None}[mark] for library, mark in marks.items()
        }
        assert rows["pools"]["classes"] == [
            "com.zaxxer.hikari.pool.HikariPool",
            "org.apache.tomcat.jdbc.pool.ConnectionPool",
        ]
        assert rows["kafka"]["classes"] == []
        assert all(row["notes"] == [] for library, row in rows.items() if library != "mine")


def test_a_version_of_a_framework_that_a_library_does_not_know(tmp_path: Path) -> None:
    source = tmp_path / "HikariPool.java"
    source.write_text(
        "package com.zaxxer.hikari.pool;\n"
        "public class HikariPool {\n"
        "    Object getConnection() { return null; }\n"
        "    public static void main(String[] arguments) throws Exception {\n"
        '        System.out.println("ready");\n'
        "        System.in.read();\n"
        "    }\n"
        "}\n"
    )
    note = "HikariPool has no getConnection(long): this library was tested with HikariCP 3.4 and 7.0"
    with target(21, "com.zaxxer.hikari.pool.HikariPool", classpath=[compiled([source])]) as program:
        lines = btpy("lib", "list", str(program.pid), home=tmp_path).stdout.splitlines()
        (at,) = (at for at, line in enumerate(lines) if line.startswith("btpy.pools "))
        assert lines[at].split()[1] == "applies"
        assert lines[at + 1].strip() == note
        rows = map(json.loads, btpy("lib", "list", str(program.pid), "--json", home=tmp_path).stdout.splitlines())
        assert {row["name"]: row["notes"] for row in rows if row["notes"]} == {"btpy.pools": [note]}


def test_libraries_as_json_without_a_jvm(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in btpy("lib", "list", "--json", home=tmp_path).stdout.splitlines()]
    assert [f"{row['name']}  {row['about']}".split() for row in rows] == [
        line.split() for line in btpy("lib", "list", home=tmp_path).stdout.splitlines()
    ]
    assert all(row.keys() == {"name", "about"} for row in rows)
