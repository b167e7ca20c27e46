"""``btpy triage`` on two real applications that have one fault at a time: a shop on Spring Boot, and WireMock."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.triage.applications import APPLICATIONS, MOCKS, SHOP, Application, running
from tests.triage.test_triage import triage

FAULTS = [(application.name, fault) for application in APPLICATIONS.values() for fault in application.faults]
LEAST_FIRST = 10
"""For at least this number of the twelve faults of an application, the right fact must be the first."""

Ranks = dict[tuple[str, str], int | None]


@pytest.fixture(scope="module")
def ranks() -> Ranks:
    """For each application and fault, the place of the right fact in the list; None if the list does not contain it."""
    return {}


@pytest.mark.proof
@pytest.mark.parametrize(("name", "fault"), FAULTS)
def test_the_fault_is_in_the_list(name: str, fault: str, tmp_path: Path, ranks: Ranks) -> None:
    application = APPLICATIONS[name]
    with running(application, fault, tmp_path) as program:
        report = triage(program.pid)
    kinds = [finding["kind"] for finding in report["findings"]]
    right = application.faults[fault]
    ranks[name, fault] = kinds.index(right) + 1 if right in kinds else None
    print([finding["fact"] for finding in report["findings"]])
    print(f"| {name} | {fault} | `{right}` | {ranks[name, fault]} | {', '.join(f'`{kind}`' for kind in kinds)} |")
    assert right in kinds


@pytest.mark.proof
@pytest.mark.parametrize("application", [SHOP, MOCKS], ids=lambda application: application.name)
def test_the_fault_is_mostly_the_first_fact(application: Application, ranks: Ranks) -> None:
    """This test runs last, on the results of the other tests."""
    places = [ranks.get((application.name, fault), 0) for fault in application.faults]
    if 0 in places:
        pytest.skip("needs the results of all faults")
    assert places.count(1) >= LEAST_FIRST


@pytest.mark.proof
@pytest.mark.parametrize("pause", [0.04, 0.0], ids=["light", "heavy"])
@pytest.mark.parametrize("application", [SHOP, MOCKS], ids=lambda application: application.name)
def test_a_healthy_application_raises_no_alarm(application: Application, pause: float, tmp_path: Path) -> None:
    with running(application, "none", tmp_path, pause=pause) as program:
        report = triage(program.pid)
    print([(finding["kind"], finding["severity"], finding["fact"]) for finding in report["findings"]])
    kinds = {finding["kind"] for finding in report["findings"]}
    assert kinds <= {"starved"}  # other processes may use the processors during the triage
