"""Runs that export to a backend, which gets exactly the program's counts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import pytest

import btpy
from btpy.api import exporting
from tests.live.scripts import waited
from tests.live.traffic import called, traffic
from tests.output.otlp.backend import Answer, Backend, attributes, backend
from tests.tracer import Tracer

SCRIPT = """Traffic::serve @entry {
    @n = count(); @sizes[arg0 % 3] = hist(arg0); @sum = sum(arg0);
    print(f"{arg0} served"); emit("served", number=arg0, odd=arg0 % 2 == 1);
}"""
QUICK = {"OTEL_METRIC_EXPORT_INTERVAL": "100", "OTEL_BLRP_SCHEDULE_DELAY": "50"}
DELTA = {"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": "delta"}


def run(*arguments: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "btpy", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "NO_COLOR": "1", **QUICK, **(environment or {})},
        timeout=120,
    )


def started(stack: ExitStack, arguments: list[str], environment: dict[str, str] | None = None) -> Tracer:
    tracer = Tracer([*arguments, "--hits", "0", "-f", "ndjson"], {**QUICK, **(environment or {})})
    stack.callback(tracer.kill)
    tracer.wait_for("attached_probes")
    return tracer


def number(receiver: Backend, name: str) -> int:
    """The value of the only point in the last report."""
    (point,) = receiver.last(name).sum.data_points
    return int(point.as_int)


def events(receiver: Backend) -> list[object]:
    """The call numbers in the received events."""
    results = [attributes(list(record.attributes)) for _, record in receiver.logs if record.event_name]
    return [event["number"] for event in results]


def values(receiver: Backend, name: str) -> list[int]:
    """The values of the points in all reports."""
    return [point.as_int for _, metric in receiver.reports if metric.name == name for point in metric.sum.data_points]


def test_logs_and_metrics_have_every_call_beside_the_usual_output() -> None:
    with backend() as receiver, traffic(17, "-Dotel.service.name=shop", "-Dbtpy.name=x") as one, ExitStack() as stack:
        tracer = started(stack, [str(one.pid), "-e", SCRIPT, "-o", receiver.url])
        called(one, 1009)
        waited(lambda: any(metric.name == "btpy.n" for _, metric in receiver.reports), "a report while it runs")
        called(one, 503)
        assert tracer.stop() == 0
        assert len(tracer.of("printf")) == len(tracer.of("event")) == 1512
        assert tracer.maps()["n"] == 1512
        bodies = [record.body.string_value for _, record in receiver.logs if not record.event_name]
        assert bodies == [record["data"] for record in tracer.of("printf")]
        events = [attributes(list(record.attributes)) for _, record in receiver.logs if record.event_name == "served"]
        assert [(event["number"], event["odd"]) for event in events] == [
            (record["data"]["number"], record["data"]["odd"]) for record in tracer.of("event")
        ]
        assert {event["code.function.name"] for event in events} == {"Traffic.serve"}
        assert number(receiver, "btpy.n") == 1512
        assert number(receiver, "btpy.sum") == tracer.maps()["sum"]
        sizes = receiver.last("btpy.sizes").exponential_histogram.data_points
        assert sum(point.count for point in sizes) == 1512
        assert all(sum(point.positive.bucket_counts) + point.zero_count == point.count for point in sizes)
        hits = {
            tuple(attributes(list(point.attributes)).values()): point.as_int
            for point in receiver.last("btpy.probe.records").sum.data_points
        }
        assert hits == {("serve", "delivered"): 3024}
        resource = attributes(list(receiver.reports[-1][0].attributes))
        assert (resource["service.name"], resource["process.pid"]) == ("shop", one.pid)
        assert any(line.startswith(f"127.0.0.1:{receiver.port}: 3 024 log records and") for line in tracer.stderr)


def test_times_are_those_of_the_program() -> None:
    with backend() as receiver, traffic() as one, ExitStack() as stack:
        tracer = started(stack, [str(one.pid), "-e", SCRIPT, "-o", receiver.url])
        called(one, 3)
        assert tracer.stop() == 0
        for _, record in receiver.logs:
            assert abs(record.observed_time_unix_nano - record.time_unix_nano) < 60 * 10**9
        (point,) = receiver.last("btpy.n").sum.data_points
        assert point.start_time_unix_nano < receiver.logs[0][1].time_unix_nano < point.time_unix_nano


@pytest.mark.parametrize("environment", [{}, DELTA], ids=["cumulative", "delta"])
def test_a_map_that_is_flushed_while_it_is_filled_is_exact(environment: dict[str, str]) -> None:
    script = "Traffic::serve @entry { @n[arg0 % 5] = count(); } @OnTimer(30ms) { print(flush(@n)) }"
    with backend() as receiver, traffic() as one, ExitStack() as stack:
        tracer = started(stack, [str(one.pid), "-e", script, "-o", receiver.url], environment)
        for _ in range(5):
            called(one, 211)
        assert tracer.stop() == 0
        if environment:
            counts = receiver.summed("btpy.n")
        else:
            points = receiver.last("btpy.n").sum.data_points
            counts = Counter({tuple(attributes(list(point.attributes)).items()): point.as_int for point in points})
        assert sum(counts.values()) == 1055
        assert len(counts) == 5


def test_deltas_add_up_to_the_counts_while_requests_fail() -> None:
    with backend() as receiver, traffic() as one, ExitStack() as stack:
        tracer = started(stack, [str(one.pid), "-e", SCRIPT, "-o", receiver.url], DELTA)
        for _ in range(7):
            receiver.answers.extend([Answer(503), Answer(429)])
            called(one, 101)
        assert tracer.stop() == 0
        assert sum(receiver.summed("btpy.n").values()) == 707
        assert sum(receiver.summed("btpy.sizes").values()) == 707
        assert len(events(receiver)) == 707
        reports = [metric for _, metric in receiver.reports if metric.name == "btpy.n"]
        times = [
            (metric.sum.data_points[0].start_time_unix_nano, metric.sum.data_points[0].time_unix_nano)
            for metric in reports
        ]
        assert all(before[1] <= after[0] for before, after in pairwise(times))


@pytest.mark.parametrize("environment", [{}, DELTA], ids=["cumulative", "delta"])
def test_a_backend_that_restarts_has_every_count(environment: dict[str, str]) -> None:
    with traffic() as one, ExitStack() as stack:
        with backend() as first:
            tracer = started(stack, [str(one.pid), "-e", SCRIPT, "-o", first.url], environment)
            called(one, 211)
            waited(lambda: len(events(first)) == 211, "the first events")
            if environment:
                waited(lambda: sum(first.summed("btpy.n").values()) == 211, "the first deltas")
        called(one, 101)
        waited(lambda: any("does not take log records" in line for line in tracer.stderr), "that it is away")
        with backend(port=first.port) as second:
            called(one, 307)
            assert tracer.stop() == 0
        assert events(second) == [*range(101), *range(307)]
        if environment:
            assert sum(second.summed("btpy.n").values()) == 408
        else:
            assert number(second, "btpy.n") == 619


def test_several_jvms_are_resources_of_their_own() -> None:
    with backend() as receiver, traffic() as one, traffic(21) as other, ExitStack() as stack:
        tracer = started(stack, [f"{one.pid},{other.pid}", "-e", SCRIPT, "-o", receiver.url])
        waited(lambda: any("tracing 2 JVMs" in line for line in tracer.stderr), "both JVMs")
        called(one, 1009)
        called(other, 503)
        assert tracer.stop() == 0
        counts = {}
        for resource, metric in receiver.reports:
            if metric.name == "btpy.n":
                counts[attributes(list(resource.attributes))["process.pid"]] = metric.sum.data_points[0].as_int
        assert counts == {one.pid: 1009, other.pid: 503}
        instances = {attributes(list(resource.attributes))["service.instance.id"] for resource, _ in receiver.reports}
        assert len(instances) == 2


def test_a_session_that_was_left_is_exported_when_it_is_joined() -> None:
    with backend() as receiver, traffic() as one, ExitStack() as stack:
        result = run(str(one.pid), "-e", SCRIPT, "-x", "--ttl", "5m", "--name", "left", "--budget", "off")
        assert result.returncode == 0, result.stderr
        called(one, 211)
        tracer = started(stack, ["attach", str(one.pid), "left", "-o", receiver.url])
        called(one, 101)
        waited(lambda: len(tracer.of("event")) == 312, "all events")
        assert tracer.stop() == 0
        assert number(receiver, "btpy.n") == 312
        assert len([record for _, record in receiver.logs if record.event_name]) == 312
        assert run("stop", str(one.pid), "left").returncode == 0


def test_a_python_program_exports_its_sessions() -> None:
    script = f"""{SCRIPT}
    Traffic.Other::turn @entry {{ @flushed[arg0 % 5] = count(); if arg0 == 7 {{ print(1 / (arg0 - 7)); }} }}
    @OnTimer(30ms) {{ print(flush(@flushed)) }}"""
    with backend() as receiver, traffic() as one:
        with btpy.export(receiver.url, QUICK) as export:
            with btpy.attach(one.pid) as session:
                export.add(session)
                session.add(script)
                called(one, 1009)
                waited(lambda: any(metric.name == "btpy.n" for _, metric in receiver.reports), "a report while it runs")
                called(one, 503)
            with btpy.attach(one.pid) as session:
                export.add(session)
                session.add("Traffic::serve @entry { @second = count(); }")
                called(one, 211)
                waited(lambda: values(receiver, "btpy.second")[-1:] == [211], "a report before the end of the JVM")
                one.stop()
        tally = export.close()
        assert (tally.is_complete, tally.log_records, export.missed) == (True, len(receiver.logs), 0)
        assert (number(receiver, "btpy.n"), number(receiver, "btpy.second")) == (1512, 211)
        assert sum(point.as_int for point in receiver.last("btpy.flushed").sum.data_points) == 1512
        events = [attributes(list(record.attributes)) for _, record in receiver.logs if record.event_name == "served"]
        assert [event["number"] for event in events] == [*range(1009), *range(503)]
        assert sum(not record.event_name for _, record in receiver.logs) == 1512
        (error,) = {record.event_name for _, record in receiver.logs} - {"", "served"}
        assert error == "btpy.probe.error"
        assert not export.failures


def test_what_waits_at_the_end_of_a_python_program_is_exported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "_POLL_SECONDS", 60.0)
    with backend() as receiver, traffic() as one:
        with btpy.export(receiver.url, QUICK) as export, btpy.attach(one.pid) as session:
            export.add(session)
            session.add(SCRIPT)
            called(one, 307)
        assert (number(receiver, "btpy.n"), number(receiver, "btpy.probe.hits")) == (307, 307)
        assert sum(record.event_name == "served" for _, record in receiver.logs) == 307


def test_a_recording_is_exported_as_the_run_was(tmp_path: Path) -> None:
    recording = tmp_path / "run.btz"
    with backend() as receiver, traffic() as one, ExitStack() as stack:
        tracer = started(stack, [str(one.pid), "-e", SCRIPT, "--record", str(recording)])
        called(one, 1009)
        assert tracer.stop() == 0
        result = run("replay", str(recording), "-f", "ndjson", "-o", receiver.url, "--hits", "0")
        assert result.returncode == 0, result.stderr
        assert number(receiver, "btpy.n") == 1009
        assert len(receiver.logs) == 2018
        assert result.stdout.count('"printf"') == 1009


def test_a_backend_for_metrics_alone_gets_no_log_records() -> None:
    with backend() as receiver, traffic() as one, ExitStack() as stack:
        tracer = started(stack, [str(one.pid), "-e", SCRIPT, "-o", receiver.url], {"OTEL_LOGS_EXPORTER": "none"})
        called(one, 101)
        assert tracer.stop() == 0
        assert number(receiver, "btpy.n") == 101
        assert {path for path, _ in receiver.requests} == {"/v1/metrics"}


def test_a_backend_that_is_away_costs_the_run_its_status_and_nothing_else() -> None:
    with backend() as receiver:
        url = receiver.url
    with traffic() as one, ExitStack() as stack:
        tracer = started(stack, [str(one.pid), "-e", SCRIPT, "-o", url], {"OTEL_EXPORTER_OTLP_TIMEOUT": "500"})
        called(one, 101)
        assert tracer.stop() == 1
        assert tracer.maps()["n"] == 101
        assert any("does not take log records at present" in line for line in tracer.stderr)
        assert any("is incomplete: 202 log records lost (not-sent)" in line for line in tracer.stderr)
        assert any("classes restored 1/1" in line for line in tracer.stderr)


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        (["otlp://a", "otlp://b"], "there can be one of each kind"),
        (["a.csv", "b.csv"], "there can be one of each kind"),
        (["otlp://a:b"], "is not a valid URL"),
    ],
)
def test_wrong_outputs_are_refused_before_anything_is_touched(outputs: list[str], message: str) -> None:
    arguments = [argument for output in outputs for argument in ("-o", output)]
    result = run("1", "-e", SCRIPT, *arguments)
    assert result.returncode == 2
    assert message in result.stderr
