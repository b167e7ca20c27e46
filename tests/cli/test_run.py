"""``btpy run``: a JVM that is started with its probes in place."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_command import btpy
from tests.jdks import MAJORS, compiled, java

WORK = "Brief::main { print(arg0) }  Brief::work @return { @n = count(); print(retval) }  @OnEnd { print(@n) }"
BRIEF = compiled([Path(__file__).parents[1] / "java" / "Brief.java"])


def run(*arguments: object, jdk: int = 17, flags: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    command = [*flags, "--", str(java(jdk)), "-cp", str(BRIEF), "Brief", *map(str, arguments)]
    return btpy("run", "-e", WORK, "--hits", "0", "-o", "/dev/stderr", "-f", "ndjson", "-q", *command)


@pytest.mark.parametrize("jdk", MAJORS)
def test_every_call_from_the_first_to_the_last_is_counted(jdk: int) -> None:
    result = run(jdk=jdk)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "worked\n"
    records = [json.loads(line) for line in result.stderr.splitlines() if line.startswith("{")]
    values = [record["data"] for record in records if record["type"] == "printf"]
    assert values[0].startswith("java.lang.String[]") or values[0] == "[]"
    assert len(values) == 1 + 1009 + 211
    assert [record["data"] for record in records if record["type"] == "map"] == [{"@n": 1009 + 211}]
    assert (records[-1]["type"], records[-1]["reason"]) == ("end", "target-exited")


def test_the_status_of_the_program_can_be_handed_on() -> None:
    assert run(7).returncode == 0
    assert run(7, flags=("--propagate",)).returncode == 7


def test_the_program_keeps_running_when_tracing_ends() -> None:
    result = btpy(
        "run", "-e", "Brief::work { print(arg0) }", "--hits", "3", "--", str(java(17)), "-cp", str(BRIEF), "Brief"
    )
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert len([line for line in lines if line != "worked"]) == 3
    assert "worked" in lines


@pytest.mark.parametrize(
    ("arguments", "message", "status"),
    [
        (["-e", "A::b { }"], "error: no program to start", 2),
        (["-e", "A::b { }", "--", "sh", "-c", "true"], "error: sh is not java", 2),
        (["-e", "A::b { }", "--", "no-such-command"], "error: there is no command 'no-such-command'", 2),
        (["-e", "A::b { print( }", "--", "java"], "error[BT002]", 2),
        (["--", "java"], "error: no program\n  = help: FILE.bt, the name of a library, - for", 2),
        (["-e", "A::b { }", "--dry-run", "--", "java"], "error: --dry-run is neither an option nor", 2),
        (["-e", "A::b { }", "-l", "--", "java"], "error: unknown option -l", 2),
        (["-e", "A::b { }", "--", str(java(17)), "-no-such-flag"], "error[BT507]", 3),
    ],
)
def test_a_failed_start_is_reported(arguments: list[str], message: str, status: int) -> None:
    result = btpy("run", *arguments)
    assert result.returncode == status, result.stderr
    assert message in result.stderr


def test_no_secret_is_in_the_command_line_and_no_file_stays(tmp_path: Path) -> None:
    script = tmp_path / "Show.java"
    script.write_text(
        "public class Show { public static void main(String[] a) throws Exception {"
        ' java.nio.file.Path path = java.nio.file.Paths.get("/proc/self/cmdline");'
        " System.out.println(new String(java.nio.file.Files.readAllBytes(path)));"
        " } }",
        encoding="utf-8",
    )
    result = subprocess.run(
        [
            sys.executable,
            "-m",
            "btpy",
            "run",
            "-e",
            "Show::main { }",
            "--",
            str(java(17)),
            "-cp",
            str(compiled([script])),
            "Show",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    options = result.stdout.split("-javaagent:")[1].split("\0")[0]
    assert not re.search("[0-9a-f]{64}", options)
    assert not Path(options.split("secret-in=")[1].split(",")[0]).exists()
