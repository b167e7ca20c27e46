"""A program that calls the traced method all the time: the first firing finds all its classes loaded, and no firing is
lost.
"""

from __future__ import annotations

from pathlib import Path

from tests.jdks import all_jdks, compiled
from tests.targets import target
from tests.tracer import tracing

FIRST_EVENT = Path(__file__).parent.parent.parent / "benchmarks" / "java" / "FirstEvent.java"
SCRIPT = '@OnMethod(class="FirstEvent", method="tick") { print(arg0); if arg0 % 500 == 499 { exit(0); } }'


@all_jdks
def test_no_call_is_missed_from_the_first_to_the_last(jdk: int) -> None:
    with target(jdk, "FirstEvent", classpath=[compiled([FIRST_EVENT])]) as busy:
        for _ in range(2):  # the second session finds the agent loaded
            with tracing(busy.pid, "-e", SCRIPT, "--hits", "0") as tracer:
                assert tracer.wait() == 0, tracer.stderr
                tracer.check_complete()
            numbers = [int(line) for line in tracer.printed()]
            assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
            assert any(number % 500 == 499 for number in numbers)
        assert busy.stderr == []
