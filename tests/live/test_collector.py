"""Exports through a real OpenTelemetry Collector, which passes on exactly the program's counts.

These are proofs, because the Collector takes two minutes to build. ``test_otlp`` and ``test_export_faults``
have the same cases with a backend that stands in this process.
"""

from __future__ import annotations

import signal
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.collector import collector
from tests.live.scripts import waited
from tests.live.test_otlp import DELTA, SCRIPT, events, number, started, values
from tests.live.traffic import called, traffic
from tests.output.otlp.backend import attributes, backend
from tests.ports import free_port

pytestmark = pytest.mark.proof


@pytest.mark.parametrize("environment", [{}, DELTA], ids=["cumulative", "delta"])
def test_a_collector_passes_on_every_count(tmp_path: Path, environment: dict[str, str]) -> None:
    port = free_port()
    with backend() as receiver, traffic() as one, ExitStack() as stack:
        stack.enter_context(collector(tmp_path, port, f"http://127.0.0.1:{receiver.port}"))
        tracer = started(stack, [str(one.pid), "-e", SCRIPT, "-o", f"otlp://127.0.0.1:{port}"], environment)
        for _ in range(3):
            called(one, 211)
        assert tracer.stop() == 0
        waited(lambda: len(events(receiver)) == 633, "all events")
        waited(lambda: any(metric.name == "btpy.probe.records" for _, metric in receiver.reports), "the last report")
        if environment:
            assert sum(receiver.summed("btpy.n").values()) == 633
            assert sum(receiver.summed("btpy.sizes").values()) == 633
        else:
            assert number(receiver, "btpy.n") == 633
            assert sum(point.count for point in receiver.last("btpy.sizes").exponential_histogram.data_points) == 633
        (histogram, *_) = receiver.last("btpy.sizes").exponential_histogram.data_points
        assert list(attributes(list(histogram.attributes))) == ["key1"]


@pytest.mark.parametrize("environment", [{}, DELTA], ids=["cumulative", "delta"])
def test_a_collector_that_restarts_has_every_count(tmp_path: Path, environment: dict[str, str]) -> None:
    """Asks the Collector to end, so that it passes on everything that it has accepted."""
    port = free_port()
    with backend() as receiver, traffic() as one, ExitStack() as stack:
        onward = f"http://127.0.0.1:{receiver.port}"
        with collector(tmp_path, port, onward) as first:
            tracer = started(stack, [str(one.pid), "-e", SCRIPT, "-o", f"otlp://127.0.0.1:{port}"], environment)
            called(one, 211)
            waited(lambda: len(events(receiver)) == 211, "the first events")
            first.process.send_signal(signal.SIGTERM)
            first.wait()
        called(one, 101)
        waited(lambda: any("does not take log records" in line for line in tracer.stderr), "that it is away")
        stack.enter_context(collector(tmp_path, port, onward))
        called(one, 307)
        assert tracer.stop() == 0
        waited(lambda: len(events(receiver)) == 619, "all events")
        if environment:
            waited(lambda: sum(receiver.summed("btpy.n").values()) == 619, "the last report")
        else:
            waited(lambda: values(receiver, "btpy.n") != [] and number(receiver, "btpy.n") == 619, "the last report")


def test_a_collector_that_is_killed_costs_no_count_of_a_cumulative_metric(tmp_path: Path) -> None:
    port = free_port()
    with backend() as receiver, traffic() as one, ExitStack() as stack:
        onward = f"http://127.0.0.1:{receiver.port}"
        with collector(tmp_path, port, onward):
            tracer = started(stack, [str(one.pid), "-e", SCRIPT, "-o", f"otlp://127.0.0.1:{port}"])
            called(one, 211)
        called(one, 101)
        stack.enter_context(collector(tmp_path, port, onward))
        called(one, 307)
        assert tracer.stop() == 0
        waited(lambda: values(receiver, "btpy.n") != [] and number(receiver, "btpy.n") == 619, "the last report")
