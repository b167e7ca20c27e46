"""The first things a new user sees: ``btpy`` alone, help with examples, completion in real shells, the man page."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from itertools import takewhile

import pytest

from btpy.cli import commands
from btpy.cli.completion import Candidate, Sources, candidates
from docs import build_commands
from docs.build_man import PAGE, page
from tests.cli.test_command import btpy
from tests.live.scripts import counted

HERE = Sources(
    jvms=lambda: [Candidate("4711", "com.acme.Shop"), Candidate("Shop", "4711")],
    libraries=lambda: [Candidate("jdbc", "library"), Candidate("jobs", "library")],
)


def test_btpy_alone_is_one_screen_and_names_the_jvms() -> None:
    with counted(17) as target:
        result = btpy()
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert len(lines) <= 24
    first_table = next(at for at, line in enumerate(lines) if line.split()[:1] == ["PID"])
    assert all(len(line) <= 80 for line in lines[:first_table])
    assert any(line.split()[0] == str(target.pid) for line in lines[first_table + 1 :]) or "more: btpy ps" in lines[-1]
    assert btpy(LC_ALL="C").stdout.isascii()


def test_every_command_that_btpy_alone_shows_is_one() -> None:
    names = [line.split()[1] for line in btpy().stdout.splitlines() if line.startswith("  btpy ")]
    assert {word for word in names if word.isalpha() and word.islower()} <= set(commands.NAMES)


@pytest.mark.parametrize("name", ["", *commands.NAMES])
def test_help_has_examples_that_the_tables_know(name: str) -> None:
    from btpy.cli.options import parse

    command = commands.command(name)
    assert len(command.examples) >= 2
    for text, what in command.examples:
        words = list(takewhile(lambda word: word not in ("|", ">"), shlex.split(text)))
        example = commands.command(words[0])
        parse(example, words[1:] if example.name else words)
        assert what
    assert all(len(line) <= 120 for line in command.help().splitlines())


def test_exit_codes_are_documented() -> None:
    output = btpy("--help").stdout
    for code, meaning in commands.EXIT_CODES.items():
        assert f"{code:>3}  {meaning}" in output


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("btpy do", ["doctor"]),
        ("btpy Sh", ["Shop"]),
        ("btpy 47", ["4711"]),
        ("btpy Shop j", [":files.bt", "jdbc", "jobs"]),
        ("btpy Shop jdbc --ver", ["--verbose"]),
        ("btpy Shop --color al", ["always"]),
        ("btpy Shop --color = al", ["always"]),
        ("btpy Shop --allow co", ["core"]),
        ("btpy Shop -o run.txt j", [":files.bt", "jdbc", "jobs"]),
        ("btpy doctor S", ["Shop"]),
        ("btpy latency ", ["4711", "Shop"]),
        ("btpy latency Shop ", []),
        ("btpy lib s", ["show", "search"]),
        ("btpy completion f", ["fish"]),
        ("btpy Shop --format=js", ["--format=json"]),
        ("btpy replay ", [":files.btz", ":files.ndjson"]),
        ("btpy explain BT30", ["BT301", "BT302", "BT303", "BT304", "BT305", "BT306", "BT307", "BT308", "BT309"]),
        ("btpy run --", None),
        ("btpy check --pid S", ["Shop"]),
        ("btpy check x.bt -I ", [":directories"]),
        ("btpy help j", [":files.bt", "jdbc", "jobs"]),
        ("btpy nonsense with many words ", []),
    ],
)
def test_candidates_for_each_word(line: str, expected: list[str] | None) -> None:
    words = line.split(" ")
    candidate_ = [candidate.text for candidate in candidates(words, len(words) - 1, HERE)]
    if expected is None:
        assert {"--for", "--propagate", "--help"} <= set(candidate_)
    else:
        assert candidate_ == expected


def test_a_flag_that_was_given_is_not_offered_again() -> None:
    texts = {candidate.text for candidate in candidates(["btpy", "Shop", "--for", "1s", "-q", "-"], 5, HERE)}
    assert texts.isdisjoint({"--for", "-q", "--quiet"})
    assert {"-e", "-I", "--hits"} <= texts


def test_no_shell_is_guessed_but_one_is_suggested() -> None:
    result = btpy("completion", SHELL="/usr/bin/fish")
    assert result.returncode == 2
    assert "= help: btpy completion fish" in result.stderr


def test_the_page_of_the_commands_is_current() -> None:
    assert build_commands.PAGE.read_text(encoding="utf-8") == build_commands.page(), "run: make man"


def test_the_man_page_is_current_and_groff_takes_it() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: make man"
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    run = subprocess.run(
        ["groff", "-man", "-Tutf8", "-Kutf8", "-ww", str(PAGE)], capture_output=True, text=True, check=True
    )
    assert run.stderr == ""
    assert "draw how long calls take" in " ".join(run.stdout.lower().split())
