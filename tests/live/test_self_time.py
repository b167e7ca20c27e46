"""``self_time`` and ``indent``: calls within calls, on the real JVMs."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import btpy
from tests.jdks import all_jdks, compiled
from tests.targets import target

JAVA = Path(__file__).parents[1] / "java"
ROUNDS = 7
SCRIPT = """
@OnMethod(class="Nesting", method="/outer|inner|falling/", location=EXIT) {
  emit("call", method=method, indent=indent, took=duration, self=self_time);
}
"""


class Call(NamedTuple):
    method: str
    level: int
    took: int
    own: int


@all_jdks
def test_self_time_is_the_time_without_the_calls(jdk: int) -> None:
    classes = compiled([JAVA / "Gate.java", JAVA / "Nesting.java"], release=8)
    with target(jdk, "Nesting", classpath=[classes], flags=["-Xverify:all"]) as program:
        with btpy.attach(program.pid) as session:
            session.add(SCRIPT)
            program.send()
            program.wait_for("done")
            calls: list[Call] = []
            for event in session.events(timeout=60):
                data = event.values
                calls.append(Call(data["method"], len(data["indent"]) // 2, data["took"], data["self"]))
                if len(calls) == 6 * ROUNDS:
                    break
        program.send()
    for start in range(0, len(calls), 6):
        first, second, innermost, middle, thrown, outer = calls[start : start + 6]
        assert [call.method for call in (first, second, innermost, middle, thrown, outer)] == [
            *("inner", "inner", "falling", "falling", "falling", "outer")
        ]
        assert [call.level for call in (first, second, innermost, middle, thrown, outer)] == [1, 1, 3, 2, 1, 0]
        for leaf in (first, second, innermost):
            assert leaf.own == leaf.took, "nothing was called"
        # The caller's time of a call includes the handlers in it, so the self time is a bit smaller.
        assert 0 < middle.own <= middle.took - innermost.took
        assert 0 < thrown.own <= thrown.took - middle.took
        assert 0 < outer.own <= outer.took - first.took - second.took - thrown.took
