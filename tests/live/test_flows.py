"""Flows: 401 requests whose work is handed over in each way that ``probes/flows.bt`` knows. The program knows the
request of each piece of work, and the probe compares it with the request of the flow.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from btpy.engine.session import Session
from btpy.events.aggregates import Count
from btpy.wire.messages import ErrorKind, Errors
from tests.jdks import all_jdks, compiled
from tests.live.scripts import program
from tests.targets import target

JAVA = Path(__file__).parents[1] / "java"
REQUESTS, CLIENTS = 401, 5
MOST, MORE = 65_536, 1_009
"""The number of hand-overs that the agent remembers, and the number of hand-overs beyond that."""
MANY = 211
"""The number of objects that may have state for another reason."""
SHARED = 4_001
"""The number of submissions of one object that wait at the same time."""

MILLION = 1_000_003
LARGEST = 32_000_000
"""The bytes of heap that btpy may need at most for the flows of tasks in queues."""

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
    "stages": 8,
    "structured": 2,
    "structured in another": 6,
}


def entries(session: Session) -> dict[tuple[object, ...], object]:
    (snapshot,) = (content for content in session.delivery.snapshot() if content.map.name == "seen")
    return {tuple(key): value for key, value in snapshot.entries}


@all_jdks
def test_work_is_followed_to_other_threads(jdk: int) -> None:
    classpath = [compiled([JAVA / "HandOvers.java"], release=11)]
    flags = ["--enable-preview"] if jdk >= 21 else []
    with target(jdk, "HandOvers", classpath=classpath, flags=flags) as jvm, Session.attach(jvm.pid) as session:
        session.deployer.load(program(SCRIPT), missing="ignore", allow=["core"])
        jvm.send(f"crowd {MOST + MORE}")
        jvm.wait_for("queued")
        crowd = {key: value for key, value in entries(session).items() if key[0] == "crowd"}
        gaps = crowd["crowd", "missing"]
        assert isinstance(gaps, Count)
        assert crowd == {("crowd", "missing"): gaps, ("crowd", "right"): Count(MOST + MORE - gaps.n)}
        assert MORE <= gaps.n <= MORE + MANY
        jvm.send(f"shared {SHARED}")
        jvm.wait_for("queued")
        assert entries(session)["shared", "right"] == Count(SHARED)
        jvm.send(f"{REQUESTS} {CLIENTS}")
        kinds = jvm.wait_for("handled").partition(" ")[2].split(",")
        expected: dict[tuple[object, ...], object] = {**crowd, ("shared", "right"): Count(SHARED)}
        for kind in kinds:
            pieces = PIECES.get(kind, 1)
            expected[kind, "right"] = Count(REQUESTS * pieces)
            expected[kind, "outside"] = Count(CLIENTS * pieces)
        assert entries(session) == expected
        assert session.departure.detach().clean
        failures = [f for item in session.delivery.items(None) if isinstance(item, Errors) for f in item.failures]
        assert {failure.kind for failure in failures} == {ErrorKind.STATE_FULL}
        assert sum(failure.count for failure in failures) == gaps.n


@pytest.mark.proof
@all_jdks
def test_a_million_waiting_tasks_need_bounded_memory(jdk: int) -> None:
    """The flows of a million waiting tasks take as much memory as those of the tasks that have room. Tasks without room
    have no flow, and no task has a wrong flow."""

    def used_heap(kind: str, tasks: int) -> int:
        """While this number of tasks waits."""
        jvm.send(f"{kind} {tasks}")
        used = int(jvm.wait_for("waiting").split()[1])
        jvm.wait_for("queued")
        return used

    steps = [(kind, tasks) for kind in ("crowd", "shared") for tasks in (1, MOST + MORE, MILLION, 1, 1)]
    with target(jdk, "HandOvers", classpath=[compiled([JAVA / "HandOvers.java"], release=11)]) as jvm:
        before = [used_heap(*step) for step in steps]
        with Session.attach(jvm.pid) as session:
            session.deployer.load(program(SCRIPT), missing="ignore", allow=["core"])
            growth = [used_heap(*step) - used for step, used in zip(steps, before, strict=True)]
            seen = entries(session)
            assert session.departure.detach().clean
    print(jdk, [round(bytes_ / 1e6, 1) for bytes_ in growth], seen)
    for first, full, million, _, last in (growth[:5], growth[5:]):
        assert million - first < LARGEST
        assert million - full < LARGEST / 2
        assert last - first < LARGEST / 4
    for kind in ("crowd", "shared"):
        counts = {key[1]: count.n for key, count in seen.items() if key[0] == kind and isinstance(count, Count)}
        assert counts.keys() == {"right", "missing"}
        assert sum(counts.values()) == sum(tasks for step, tasks in steps if step == kind)
