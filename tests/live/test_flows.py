"""Flows: 401 requests whose work is handed over in each way that ``probes/flows.bt`` knows. The program knows the
request of each piece of work, and the probe compares it with what the flow says."""

from __future__ import annotations

from pathlib import Path

from btpy.engine.session import Session
from btpy.events.aggregates import Count
from btpy.wire.messages import Errors
from tests.jdks import all_jdks, compiled
from tests.live.scripts import program
from tests.targets import target

JAVA = Path(__file__).parents[1] / "java"
REQUESTS, CLIENTS = 401, 5

SCRIPT = """
import btpy.flows;
HandOvers::handle { begin_flow(); flow.request = arg1; }
HandOvers::work {
  let seen = flow.id == null ? (arg1 < 0 ? "outside" : "missing") : flow.request == arg1 ? "right" : "wrong";
  @seen[arg0, seen] = count();
}
"""

PIECES = {
    "invokeAll": 2,
    **dict.fromkeys(("fork join tasks", "common pool", "parallel stream", "parallel stream in a pool"), 8),
    "supplyAsync": 3,
    "composed": 3,
    "combined": 2,
    "completed by others": 2,
}


@all_jdks
def test_work_is_followed_to_other_threads(jdk: int) -> None:
    classpath = [compiled([JAVA / "HandOvers.java"], release=11)]
    with target(jdk, "HandOvers", classpath=classpath) as running, Session.attach(running.pid) as session:
        session.deployer.load(program(SCRIPT), missing="ignore", allow=["core"])
        running.send(f"{REQUESTS} {CLIENTS}")
        kinds = running.wait_for("handled").partition(" ")[2].split(",")
        (seen,) = (dict(content.entries) for content in session.delivery.snapshot() if content.map.name == "seen")
        expected = {}
        for kind in kinds:
            pieces = PIECES.get(kind, 1)
            expected[kind, "right"] = Count(REQUESTS * pieces)
            expected[kind, "outside"] = Count(CLIENTS * pieces)
        assert seen == expected
        assert session.departure.detach().clean
        assert not [item for item in session.delivery.items(None) if isinstance(item, Errors)]
