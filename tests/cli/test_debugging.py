"""``-d STAGE``: what each stage makes of a script, on standard error alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.test_command import btpy
from tests.live.scripts import counted
from tests.targets import Target

SCRIPT = "Counted::step @entry when $number > 2 { @n = count(); }"


@pytest.fixture(scope="module")
def program() -> Iterator[Target]:
    with counted(17) as running:
        yield running


def shown(program: Target, stages: str) -> dict[str, list[str]]:
    """Lines by stage."""
    ran = btpy(program.pid, "-e", SCRIPT, "--for", "50ms", "-q", "-d", stages)
    assert ran.returncode == 0, ran.stderr
    assert "|" not in ran.stdout
    found: dict[str, list[str]] = {}
    for line in ran.stderr.splitlines():
        stage, _, text = line.partition("| ")
        found.setdefault(stage, []).append(text)
    return found


def test_tree_plan_and_bytecode(program: Target) -> None:
    found = shown(program, "ast,plan,bytecode")
    assert set(found) == {"ast", "plan", "bytecode"}
    assert found["ast"][0] == "PointProbe  1:1"
    assert any(line.strip().startswith("when: Binary") and line.endswith("1:27") for line in found["ast"])
    assert found["plan"][0].startswith("Counted.step(")
    assert found["plan"][1].startswith("  step: ENTRY, line ")
    assert found["bytecode"][0].startswith("handler btpy.handlers.Handler_")
    woven = found["bytecode"].index("woven Counted")
    assert any("invokestatic btpy/handlers/Handler_" in line for line in found["bytecode"][woven:])
    assert any("btpy/runtime/Session.untrue (I)V" in line for line in found["bytecode"][:woven])


def test_messages(program: Target) -> None:
    found = shown(program, "all")
    assert set(found) == {"ast", "plan", "bytecode", "agent", "wire"}
    sent = [line.split()[3] for line in found["wire"] if "→" in line]
    assert [name for name in sent if name in ("Configure", "Install", "Weave", "Restore", "Detach")] == [
        "Configure",
        "Install",
        "Weave",
        "Restore",
        "Detach",
    ]
    assert any(line.startswith("WeaveResult(") for line in found["agent"])
    assert not any("ClassFiles" in line for line in found["agent"])


def test_a_stage_that_is_none_is_refused(program: Target) -> None:
    refused = btpy(program.pid, "-e", SCRIPT, "-d", "ast,plans")
    assert (refused.returncode, "-d plans is no stage" in refused.stderr) == (2, True)
