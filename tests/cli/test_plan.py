"""``--dry-run``: shows the effects of a run without tracing."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from btpy.api.preview import expected_range
from btpy.lang.program import Program
from tests.cli.test_command import btpy
from tests.live.scripts import counted, program
from tests.targets import Target


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    with counted(17, "-Xlog:redefine+class*=debug") as jvm:
        yield jvm


def test_a_dry_run_touches_nothing(target: Target) -> None:
    result = btpy(target.pid, "-e", "Counted::* @exit as ends { @n[method] = hist(duration); }", "--dry-run")
    assert result.returncode == 0, result.stderr
    first, plan_line, *rest = result.stdout.splitlines()
    assert re.fullmatch(r"ends  \d+ points in 3 methods of 1 class, about 88 ns a firing once compiled", first)
    assert re.fullmatch(r"in all: \d+ points in 3 methods of 1 class; class files \d+ to \d+ bytes .*", plan_line)
    assert any(line.startswith("refused: Counted.unavailable()V [BT331]: ") for line in rest)
    assert rest[-2].startswith("limits: ")
    assert result.stderr == f"btpy: nothing was touched in Counted ({target.pid})\n"
    assert not any("[redefine" in line for line in target.stdout)


def test_a_dry_run_without_a_match(target: Target) -> None:
    result = btpy(target.pid, "-e", "Counted::stop @entry { print(1) }", "--plan")
    assert result.returncode == 4
    assert "did you mean `step`?" in result.stderr


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A::b { @n = count(); }", (12, 12)),
        ("A::b { @n[arg0] = count(); }", (35, 35)),
        ("A::b @exit { @n = hist(duration); }", (65, 65)),
        ("A::b { print(arg0); }", (59, 59)),
        ("A::b { print(stack(4)); } A::c when depth == 0 { @n = count(); }", (18, 2059)),
        ("@OnTimer(1s) { print(1); }", (0, 0)),
    ],
)
def test_expected_cost_by_the_measured_table(text: str, expected: tuple[int, int]) -> None:
    compiled: Program = program(text)
    assert expected_range(compiled) == expected
