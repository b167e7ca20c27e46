"""``state(object).x`` in a program that passes its objects between threads, and has more objects than the agent keeps
variables for."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

from btpy.engine.session import Session
from btpy.events.aggregates import Count
from btpy.wire.messages import ErrorKind, Errors
from tests.jdks import all_jdks, compiled
from tests.live.scripts import program
from tests.targets import PATIENCE, Target, target

JAVA = Path(__file__).parents[1] / "java"
TASKS, THREADS, ROUNDS = 211, 7, 13
MOST, MORE = 65_536, 1_009

SCRIPT = """
Stateful::queue { state(arg0).number = arg0.number; state(arg0).by = thread_name; state(arg0).share = 0.0; }
Stateful$Task::run {
  state(self).runs += 1;
  state(self).share += 0.5;
  @right[state(self).number == self.number, state(self).by] = count();
  @runs[state(self).runs] = count();
  @share[state(self).share] = count();
}
Stateful::touch { state(arg0).touched += 1; @touched[state(arg0).touched] = count(); }
"""


def objects_with_state(jvm: Target) -> int:
    jcmd = shutil.which("jcmd")
    assert jcmd is not None
    command = [jcmd, str(jvm.pid), "GC.class_histogram"]
    histogram = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True).stdout
    rows = [line.split() for line in histogram.splitlines()]
    return sum(int(row[1]) for row in rows if len(row) > 3 and row[3] == "btpy.runtime.ObjectState")


@all_jdks
def test_objects_have_variables_as_long_as_they_live(jdk: int) -> None:
    classpath = [compiled([JAVA / "Stateful.java"], release=11)]
    with target(jdk, "Stateful", classpath=classpath) as jvm, Session.attach(jvm.pid) as session:
        session.deployer.load(program(SCRIPT), missing="ignore")
        jvm.send(f"tasks {TASKS} {THREADS} {ROUNDS}")
        jvm.wait_for("ran")
        jvm.send("forget")
        assert jvm.wait_for("alive") == "alive 0"
        jvm.send(f"fill {MOST + MORE}")
        jvm.wait_for("filled")
        maps = {content.map.name: dict(content.entries) for content in session.delivery.snapshot()}
        assert maps["right"] == {(True, "main"): Count(TASKS * THREADS * ROUNDS)}
        # Other threads may add between an addition and the reading after it; the last value is exact.
        assert (THREADS * ROUNDS,) in maps["runs"]
        assert (THREADS * ROUNDS * 0.5,) in maps["share"]
        touches = maps["touched"][None,]
        assert isinstance(touches, Count)
        assert maps["touched"] == {(1,): Count(MOST + MORE - touches.n), (None,): touches}
        assert MORE <= touches.n <= MORE + TASKS  # the agent may learn later that the tasks were collected
        assert objects_with_state(jvm) <= MOST
        jvm.send("forget")
        assert jvm.wait_for("alive") == "alive 0"
        time.sleep(0.3)
        assert objects_with_state(jvm) == 0
        receipt = session.departure.detach()
        assert receipt.clean
        failures = [f for item in session.delivery.items(None) if isinstance(item, Errors) for f in item.failures]
        assert {failure.kind for failure in failures} == {ErrorKind.STATE_FULL}
        assert sum(failure.count for failure in failures) == touches.n
