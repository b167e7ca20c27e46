"""Traced code that overflows its stack: the session goes on, and each firing is delivered, dropped or an error."""

from __future__ import annotations

import pytest

from tests.jdks import compiled
from tests.live.scripts import JAVA
from tests.targets import target
from tests.tracer import tracing

ROUNDS = 13
LINE = next(at for at, line in enumerate((JAVA / "Deep.java").read_text().splitlines(), 1) if "dive(below" in line)


@pytest.mark.parametrize("jdk", [11, 17, 21, 25])
@pytest.mark.parametrize(
    "script",
    [
        pytest.param("Deep::dive @entry as deep { print(line, arg0, arg1); }", id="entry"),
        pytest.param(f"Deep::dive @line({LINE}) as deep {{ print(line, locals()); }}", id="locals"),
    ],
)
def test_a_recursion_that_overflows(jdk: int, script: str) -> None:
    classpath = [compiled([JAVA / "Deep.java"], release=11)]
    with (
        target(jdk, "Deep", classpath=classpath) as program,
        tracing(program.pid, "-e", script, "--hits", "0", unread="printf") as tracer,
    ):
        program.send(str(ROUNDS))
        assert program.wait_for("overflows") == f"overflows {ROUNDS}"
        assert tracer.stop() == 0, tracer.stderr
    (end,) = tracer.of("end")
    (deep,) = end["probes"]
    errors = sum(line["count"] for line in tracer.of("probe_error"))
    assert {line["kind"] for line in tracer.of("probe_error")} <= {"depth"}
    assert deep["errors"] == errors
    assert deep["fired"] > 100 * ROUNDS
    assert deep["fired"] == deep["delivered"] + sum(deep["dropped"].values()) + errors
    assert deep["dropped"]["stalled"] == 0
