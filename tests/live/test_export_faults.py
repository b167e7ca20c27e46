"""Between btpy and a backend, requests are refused or slow: the backend has every count in the end, or btpy says what
is missing. In the proofs, a real Collector stands before the backend."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.collector import collector, collector_with
from tests.live.scripts import waited
from tests.live.test_otlp import DELTA, SCRIPT, events, number, started
from tests.live.traffic import called, traffic
from tests.output.otlp.backend import Answer, Backend, backend
from tests.output.otlp.proxies import forwarder, slow_proxy
from tests.ports import free_port
from tests.targets import Target

SLOW_SECONDS = 3.0
WAIT = (("Retry-After", "1"),)
WITHOUT_QUEUE = """
receivers: {{otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{port}"}}}}}}}}
exporters:
  otlphttp:
    endpoint: "http://127.0.0.1:{onward}"
    sending_queue: {{enabled: false}}
    retry_on_failure: {{enabled: false}}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines:
    logs: {{receivers: [otlp], exporters: [otlphttp]}}
    metrics: {{receivers: [otlp], exporters: [otlphttp]}}
"""


class Line(NamedTuple):
    """A program, and the port of the backend ``behind``, or of a Collector that passes on everything to it."""

    program: Target
    port: int
    behind: Backend


@pytest.fixture(scope="module", params=["backend", pytest.param("collector", marks=pytest.mark.proof)])
def whole_line(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Line]:
    with backend() as behind, traffic() as program, ExitStack() as stack:
        port = behind.port
        if request.param == "collector":
            port = free_port()
            onward = f"http://127.0.0.1:{behind.port}"
            stack.enter_context(collector(tmp_path_factory.mktemp("collector"), port, onward))
        yield Line(program, port, behind)


@pytest.fixture
def line(whole_line: Line) -> Line:
    time.sleep(0.2)  # a Collector passes on the last data of an earlier test
    whole_line.behind.logs.clear()
    whole_line.behind.reports.clear()
    return whole_line


def url(port: int) -> str:
    return f"otlp://127.0.0.1:{port}"


def wait_for_all_deltas(receiver: Backend, count: int) -> None:
    waited(lambda: all(sum(receiver.summed(name).values()) >= count for name in ("btpy.n", "btpy.sizes")), "all deltas")


def test_requests_that_must_be_repeated_are_not_lost_and_not_doubled(line: Line) -> None:
    with forwarder(line.port) as proxy, ExitStack() as stack:
        tracer = started(stack, [str(line.program.pid), "-e", SCRIPT, "-o", url(proxy.port)], DELTA)
        proxy.answers.extend([Answer(429, headers=WAIT), Answer(503, headers=WAIT), Answer(502)])
        called(line.program, 211)
        waited(lambda: len(events(line.behind)) == 211, "the first events")
        proxy.answers.extend([Answer(503), Answer(429), Answer(504)])
        called(line.program, 101)
        assert tracer.stop() == 0
        waited(lambda: len(events(line.behind)) >= 312, "all events")
        wait_for_all_deltas(line.behind, 312)
        assert events(line.behind) == [*range(211), *range(101)]
        assert sum(line.behind.summed("btpy.n").values()) == 312
        assert sum(line.behind.summed("btpy.sizes").values()) == 312
        assert any("does not take log records at present (429" in text for text in tracer.stderr) or any(
            "does not take metrics at present (429" in text for text in tracer.stderr
        )


@pytest.mark.proof
def test_log_records_that_are_rejected_are_counted(line: Line) -> None:
    with forwarder(line.port) as proxy, ExitStack() as stack:
        proxy.answers.extend([Answer.partial(13, "too old"), Answer.partial(7, "too old")])
        arguments = [str(line.program.pid), "-e", SCRIPT, "-o", url(proxy.port)]
        tracer = started(stack, arguments, {"OTEL_METRICS_EXPORTER": "none"})
        called(line.program, 211)
        waited(lambda: line.behind.logs != [], "the first log records")
        called(line.program, 101)
        assert tracer.stop() == 1
        waited(lambda: len(line.behind.logs) == 2 * 312 - 20, "all log records that were not rejected")
        assert any("is incomplete: 20 log records lost (rejected)" in text for text in tracer.stderr)


@pytest.mark.proof
@pytest.mark.parametrize("answers", [False, True], ids=["requests", "answers"])
def test_one_byte_a_second_for_a_while_costs_nothing(line: Line, answers: bool) -> None:
    with slow_proxy(line.port, answers=answers) as proxy, ExitStack() as stack:
        tracer = started(stack, [str(line.program.pid), "-e", SCRIPT, "-o", url(proxy.port)], DELTA)
        called(line.program, 211)
        time.sleep(SLOW_SECONDS)
        called(line.program, 101)
        proxy.hurry()
        called(line.program, 307)
        assert tracer.stop() == 0
        waited(lambda: len(events(line.behind)) >= 619, "all events")
        wait_for_all_deltas(line.behind, 619)
        assert events(line.behind) == [*range(211), *range(101), *range(307)]
        assert sum(line.behind.summed("btpy.n").values()) == 619
        assert sum(line.behind.summed("btpy.sizes").values()) == 619


@pytest.mark.proof
@pytest.mark.parametrize("answers", [False, True], ids=["requests", "answers"])
def test_a_time_out_doubles_log_records_at_most(line: Line, answers: bool) -> None:
    """btpy gives up a request that the Collector may get later, and repeats it. Cumulative metrics stay exact."""
    with slow_proxy(line.port, answers=answers) as proxy, ExitStack() as stack:
        arguments = [str(line.program.pid), "-e", SCRIPT, "-o", url(proxy.port)]
        tracer = started(stack, arguments, {"OTEL_EXPORTER_OTLP_TIMEOUT": "1000"})
        called(line.program, 211)
        time.sleep(SLOW_SECONDS)
        proxy.hurry()
        called(line.program, 101)
        assert tracer.stop() == 0
        waited(lambda: len(set(map(repr, line.behind.logs))) == 2 * 312, "all log records")
        waited(lambda: number(line.behind, "btpy.n") == 312, "the last report")
        assert any("(no answer in time)" in text for text in tracer.stderr)
        counts = Counter(events(line.behind))
        assert set(counts) == set(range(211))
        assert sum(counts.values()) >= 312


@pytest.mark.proof
@pytest.mark.parametrize("whole_line", ["backend"], indirect=True)
def test_a_collector_that_itself_answers_429_and_503(tmp_path: Path, line: Line) -> None:
    """Without a queue, the Collector answers as the backend behind it does."""
    port = free_port()
    with ExitStack() as stack:
        behind = line.behind
        stack.enter_context(collector_with(tmp_path, WITHOUT_QUEUE.format(port=port, onward=behind.port)))
        tracer = started(stack, [str(line.program.pid), "-e", SCRIPT, "-o", url(port)], DELTA)
        for status in (503, 429, 502, 504):
            behind.answers.extend([Answer(status)] * 2)
            called(line.program, 211)
            waited(lambda: not behind.answers, "the answers are used up")
        assert tracer.stop() == 0
        waited(lambda: len(events(behind)) >= 4 * 211, "all events")
        assert events(behind) == [*range(211)] * 4
        assert sum(behind.summed("btpy.n").values()) == 4 * 211
        assert sum(behind.summed("btpy.sizes").values()) == 4 * 211
        assert any("at present (503" in text for text in tracer.stderr)
