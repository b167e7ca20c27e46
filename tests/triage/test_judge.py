"""The judgement of a triage, on numbers without a JVM."""

from __future__ import annotations

from pathlib import Path

import pytest

from btpy.api.libraries import Libraries
from btpy.api.programs import check_source
from btpy.api.triage import collect
from btpy.api.triage.findings import Finding
from btpy.api.triage.judge import CAUSES, findings, ranked
from btpy.api.triage.measurements import Key, Measurements, Total
from btpy.api.triage.scheduling import Scheduling, scheduling_of
from btpy.api.triage.thresholds import SLOW, THRESHOLDS, Kind
from btpy.model.source import Source

SECOND = 1e9


def kinds(measured: Measurements) -> list[Kind]:
    return [finding.kind for finding in findings(measured)]


def test_every_kind_has_a_threshold_with_a_reason() -> None:
    assert set(THRESHOLDS) == set(Kind)
    assert all(threshold.least > 0 and threshold.unit and threshold.reason for threshold in THRESHOLDS.values())
    assert all(kind not in causes for kind, causes in CAUSES.items())


def test_nothing_is_suspicious_in_a_service_that_does_nothing() -> None:
    assert findings(Measurements(20)) == []
    assert findings(Measurements(0)) == []


def test_a_measure_below_its_threshold_is_no_fact() -> None:
    seconds = 20.0
    for sum_, expected in ((0.09, []), (0.11, [Kind.SLOW_SQL])):
        total = Total(7, sum_ * seconds * SECOND, SECOND)
        assert kinds(Measurements(seconds, {"slow_sql": {("SELECT 1", "com.acme.Shop.find:7"): total}})) == expected


def test_a_cause_comes_before_its_symptom() -> None:
    """Requests wait for connections, because other requests hold connections during slow SQL."""
    waits: dict[Key, Total] = {("orders", "com.acme.Shop.find:7"): Total(101, 80 * SECOND, SECOND)}
    slow: dict[Key, Total] = {("SELECT 1", "com.acme.Shop.find:7"): Total(37, 40 * SECOND, 2 * SECOND)}
    assert kinds(Measurements(20, {"pool_waits": waits})) == [Kind.POOL_WAITS]
    assert kinds(Measurements(20, {"pool_waits": waits, "slow_sql": slow})) == [Kind.SLOW_SQL, Kind.POOL_WAITS]


def test_a_small_fact_is_not_the_cause_of_a_large_one() -> None:
    def finding(kind: Kind, severity: float) -> Finding:
        return Finding(kind, severity, "", "", "")

    waits, slow = finding(Kind.POOL_WAITS, 100.0), finding(Kind.SLOW_SQL, 2.0)
    assert ranked([slow, waits]) == [waits, slow]
    assert ranked([finding(Kind.SLOW_SQL, 3.0), slow, finding(Kind.DNS, 0.9)]) == [finding(Kind.SLOW_SQL, 3.0)]


def test_the_worst_of_a_kind_is_shown_with_its_numbers_and_place() -> None:
    totals: dict[Key, Total] = {
        ("SELECT a", "com.acme.Shop.find:7"): Total(11, 3 * SECOND, SECOND),
        ("SELECT b", "com.acme.Shop.list:13"): Total(17, 34 * SECOND, 3 * SECOND),
    }
    (finding,) = findings(Measurements(20, {"slow_sql": totals}))
    assert finding.fact == "1.9 threads on average wait for slow SQL (17 times 2s, at most 3s)"
    assert finding.place == "Shop.list:13  SELECT b"
    assert finding.severity == pytest.approx(37 / 20 / THRESHOLDS[Kind.SLOW_SQL].least)


def test_statements_whose_text_is_unknown_belong_to_those_of_their_place() -> None:
    place = "com.acme.Shop.lines:31"
    measured = Measurements(
        10,
        {
            "requests": {("GET /",): Total(100, SECOND)},
            "sql": {("(unknown)", place): Total(3000), ("SELECT a", place): Total(500)},
            "sql_rows": {("SELECT a", place): Total(5)},
            "sql_in_rows": {("SELECT a", place): Total(43)},
        },
    )
    (finding,) = findings(measured)
    assert finding.fact == "a statement runs about 35 times in a row, 350 times a second (N+1 queries?)"
    assert finding.place == "Shop.lines:31  SELECT a"


def test_a_queue_matters_if_its_tasks_wait_long() -> None:
    queue: dict[Key, Total] = {("mailer",): Total(100, 350.0, 7.0)}
    short: dict[Key, Total] = {("mailer",): Total(100, 0.1 * SECOND)}
    long: dict[Key, Total] = {("mailer",): Total(3, 0.9 * SECOND, 0.4 * SECOND)}
    assert kinds(Measurements(20, {"queue": queue, "queued": short})) == []
    (finding,) = findings(Measurements(20, {"queue": queue, "queued": long}))
    assert finding.fact == "1.5 tasks on average wait for a thread of mailer (300ms on average, at most 400ms)"
    assert kinds(Measurements(20, {"queue": queue})) == [Kind.QUEUED_TASKS]  # the budget let no wait be recorded
    wrong: dict[Key, Total] = {
        ("mailer",): Total(100, 900 * SECOND, 20 * SECOND)
    }  # the budget let only some submissions be recorded
    (finding,) = findings(Measurements(20, {"queue": queue, "queued": wrong}))
    assert finding.fact == "3.5 tasks on average wait for a thread of mailer (about 700ms on average)"


def test_a_queue_that_is_rarely_used_is_no_fact() -> None:
    """About once in a minute, a task waits for the thread of HikariCP that adds connections."""
    queue: dict[Key, Total] = {("connection-adder",): Total(1, 1.0, 1.0)}
    waits: dict[Key, Total] = {("connection-adder",): Total(1, 0.03 * SECOND)}
    assert kinds(Measurements(20, {"queue": queue})) == []
    assert kinds(Measurements(20, {"queue": queue, "queued": waits})) == []


def test_a_jvm_that_gets_too_little_of_the_processors_is_a_fact() -> None:
    def of(**figures: float) -> list[Kind]:
        return kinds(Measurements(20, {}, figures))

    assert of(ran=2 * SECOND, not_run=5 * SECOND) == []  # the program's own threads use the processors
    assert of(ran=2 * SECOND, not_run=7 * SECOND) == [Kind.STARVED]
    assert of(ran=0.01 * SECOND, not_run=5 * SECOND) == []  # 0.25 threads
    assert of(periods=200, throttled=19) == []
    assert of(periods=200, throttled=20) == [Kind.THROTTLED]


@pytest.mark.parametrize(
    ("group", "path"), [("0::/pods/a\n", "pods/a"), ("3:cpuset:/\n2:cpu,cpuacct:/pods/a\n", "cpu/pods/a")]
)
def test_the_processor_time_of_a_process_and_its_limit(group: str, path: str, tmp_path: Path) -> None:
    for thread, times in ((7, "500 30 2"), (8, "70 11 1")):
        task = tmp_path / "proc/7/task" / str(thread)
        task.mkdir(parents=True)
        (task / "schedstat").write_text(f"{times}\n")
    (tmp_path / "proc/7/cgroup").write_text(group)
    directory = tmp_path / "cgroup" / path
    directory.mkdir(parents=True)
    (directory / "cpu.stat").write_text("usage_usec 7\nnr_periods 101\nnr_throttled 13\n")
    scheduling = scheduling_of(7, tmp_path / "proc", tmp_path / "cgroup")
    assert scheduling == Scheduling(570, 41, 101, 13)
    assert scheduling.since(Scheduling(70, 40, 100, 12)) == Scheduling(500, 1, 1, 1)
    assert scheduling_of(11, tmp_path / "proc", tmp_path / "cgroup") == Scheduling()


def test_connections_in_use_are_no_leak() -> None:
    totals: dict[Key, Total] = {("com.acme.Shop.find:7",): Total(400, 40 * SECOND, SECOND)}  # two on average
    for out, expected in ((5, []), (17, [Kind.CONNECTION_LEAK])):
        measured = Measurements(20, {"held": totals, "out": {("Shop.find:7",): Total(out)}})
        assert kinds(measured) == expected


def test_frameworks_may_make_five_exceptions_in_a_request() -> None:
    place = "com.acme.Shop.find:7"
    requests: dict[Key, Total] = {("GET /orders/{id}",): Total(20 * 101, SECOND)}

    def facts(frame: str, rate: int) -> list[str]:
        totals: dict[Key, Total] = {("com.acme.Unknown", place, frame): Total(20 * rate)}
        return [finding.fact for finding in findings(Measurements(20, {"requests": requests, "exceptions": totals}))]

    for frame in ("org.springframework.orm.jpa.Shared.invoke:319", "jdk.internal.reflect.DirectMethod.invoke:103"):
        assert facts(frame, 499) == []
        assert facts(frame, 509) == ["509 exceptions a second; the most frequent is Unknown (509 a second)"]
    for frame in (place, "java.lang.NumberFormatException.forInputString:67", ""):
        assert facts(frame, 31) == ["31 exceptions a second; the most frequent is Unknown (31 a second)"]


def test_log_messages_are_compared_with_the_requests() -> None:
    logged: dict[Key, Total] = {("INFO", "com.acme.Shop"): Total(20 * 997, SECOND)}
    assert kinds(Measurements(20, {"logged": logged})) == [Kind.LOGGING]
    requests: dict[Key, Total] = {("GET /orders/{id}",): Total(20 * 499, SECOND)}
    assert kinds(Measurements(20, {"logged": logged, "requests": requests})) == []


def test_log_messages_that_take_long_are_a_fact_even_if_they_are_few() -> None:
    logged: dict[Key, Total] = {("INFO", "com.acme.Shop"): Total(11, 22 * SECOND, 4 * SECOND)}
    (finding,) = findings(Measurements(20, {"logged": logged}))
    assert finding.kind is Kind.SLOW_LOGGING
    assert finding.fact == "1.1 threads on average wait until messages are logged (11 times 2s, at most 4s)"


def test_a_line_that_takes_many_processors_is_a_fact() -> None:
    line: Key = ("com.acme.shop.Words.matches:17",)
    totals: dict[Key, Total] = {line: Total(700, 30 * SECOND), ("com.acme.Shop.find:7",): Total(70, 3 * SECOND)}
    (finding,) = findings(Measurements(20, {"processor": totals}, {"processors": 2}))
    assert finding.fact == "one line of code keeps 1.5 of 2 processors busy (91% of the processor time of the JVM)"
    assert (finding.kind, finding.place) == (Kind.HOT_CODE, "Words.matches:17")
    assert findings(Measurements(20, {"processor": totals}, {"processors": 16})) == []


def test_a_leak_is_seen_in_the_pool_if_the_budget_leaves_hits_out() -> None:
    leaking, good = "com.acme.Shop.leak:63", "com.acme.Shop.find:7"
    maps: dict[str, dict[Key, Total]] = {
        "borrowed": {("db", leaking): Total(5), ("db", good): Total(101)},
        "held": {(good,): Total(101, 20 * SECOND)},  # on average one connection is in use
        "out_least": {("db",): Total(7)},
        "out_first": {("db",): Total(7)},
        "out_last": {("db",): Total(23)},
    }
    (finding,) = findings(Measurements(20, maps))
    assert (finding.kind, finding.place) == (Kind.CONNECTION_LEAK, "Shop.leak:63")
    assert finding.fact == "16 connections of db are lent, more than the threads that can use them"
    maps["requests"] = {("GET /",): Total(997, 20 * 7 * SECOND)}  # seven threads may use a connection each
    assert kinds(Measurements(20, maps)) == []


def test_small_parts_of_the_time_of_requests_are_no_facts() -> None:
    locked: dict[Key, Total] = {("java.lang.Object", "com.acme.Shop.find:7", ""): Total(3, 20 * 0.4 * SECOND)}
    for threads, expected in ((7, [Kind.LOCK_WAITS]), (11, [])):
        requests: dict[Key, Total] = {("GET /",): Total(997, 20 * threads * SECOND)}
        assert kinds(Measurements(20, {"locked": locked, "requests": requests})) == expected


@pytest.mark.parametrize("path", sorted(collect.LOOKS.glob("*.bt")), ids=lambda path: path.stem)
def test_looks_are_scripts_without_a_warning(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    rates = {name: value for name, value in SLOW.items() if name in text}
    parameters = "".join(f"param {name}: duration;\n" for name in rates)
    program = check_source(Source(path.name, parameters + text), Libraries(), rates)
    assert program.own
    assert list(program.warnings) == []
