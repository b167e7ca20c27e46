"""``span(…)`` beside the spans that the OpenTelemetry agent makes of the same requests, in one backend."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from statistics import median

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from tests.live.scripts import waited
from tests.live.test_contexts import AGENT, ONLY, QUICK_START, QUIET, SDK, program
from tests.live.test_otlp import started
from tests.maven import artifact
from tests.output.otlp.backend import Backend, attributes, backend
from tests.targets import Target

SCRIPT = """
NestedSpans::price @exit { span("price", number=arg0) }
NestedSpans::discount @exit { span("discount", number=arg0) }
NestedSpans::write @exit { span("write", number=arg0) }
NestedSpans::fail @exit { span("fail", number=arg0) }
"""


@contextmanager
def under_the_agent(receiver: Backend, jdk: int, *flags: str) -> Iterator[Target]:
    """The program under the OpenTelemetry agent, which exports its spans to the backend."""
    agent = artifact(f"io.opentelemetry.javaagent:opentelemetry-javaagent:{AGENT}")
    agent_flags = [
        *QUICK_START,
        f"-javaagent:{agent}",
        *ONLY,
        "-Dotel.metrics.exporter=none",
        "-Dotel.logs.exporter=none",
        "-Dotel.traces.exporter=otlp",
        "-Dotel.exporter.otlp.protocol=http/protobuf",
        f"-Dotel.exporter.otlp.endpoint=http://127.0.0.1:{receiver.port}",
        "-Dotel.bsp.schedule.delay=100",
        "-Dotel.instrumentation.methods.include=NestedSpans[request,store]",
        *flags,
    ]
    with program(jdk, "NestedSpans", (), flags=agent_flags) as target:
        yield target


Shared = tuple[Backend, Target]


@pytest.fixture(scope="module")
def traced_program() -> Iterator[Shared]:
    with backend() as receiver, under_the_agent(receiver, 21) as target:
        yield receiver, target


@pytest.fixture
def shared(traced_program: Shared) -> Shared:
    """One program on Java 21 for several tests, and the backend, which has no spans yet."""
    receiver, _ = traced_program
    receiver.spans.clear()
    return traced_program


def traced(receiver: Backend, target: Target, script: str, requests: str = "", first: bool = False) -> None:
    """Sends the spans of these requests to the backend. ``first``: the program makes a request before btpy comes."""
    if first:
        target.send("first")
        target.wait_for("first")
    with ExitStack() as stack:
        tracer = started(stack, [str(target.pid), "-e", script, "-o", receiver.url])
        target.send(requests)
        target.wait_for("done")
        assert tracer.stop() == 0


def number(span: Span) -> object:
    return attributes(list(span.attributes))["number"]


@pytest.mark.parametrize("requests", ["101", "101 virtual"], ids=["platform", "virtual"])
def test_spans_are_part_of_the_trace_of_the_application(shared: Shared, requests: str) -> None:
    receiver, target = shared
    traced(receiver, target, SCRIPT, requests, first=True)
    waited(lambda: len(receiver.spans) == 101 * 5 + 102 * 2, "the spans of both")
    spans = [span for _, span in receiver.spans]
    by_id = {span.span_id: span for span in spans}
    assert len(by_id) == len(spans)
    parents = Counter((span.name, by_id[span.parent_span_id].name) for span in spans if span.parent_span_id)
    assert parents == {
        ("price", "NestedSpans.request"): 101,
        ("discount", "price"): 101,
        ("NestedSpans.store", "NestedSpans.request"): 102,
        ("write", "NestedSpans.store"): 101,
        ("fail", "NestedSpans.request"): 101,
        ("discount", "fail"): 101,
    }
    assert len({span.trace_id for span in spans}) == 102
    for span in spans:
        parent = by_id.get(span.parent_span_id)
        assert parent is None or parent.trace_id == span.trace_id
        assert span.kind == Span.SPAN_KIND_INTERNAL
        if parent is not None and parent.name in ("price", "fail") and span.name == "discount":
            assert number(parent) == number(span)
            assert parent.start_time_unix_nano <= span.start_time_unix_nano
            assert span.end_time_unix_nano <= parent.end_time_unix_nano
    for name in ("price", "write", "fail"):
        assert sorted(number(span) for span in spans if span.name == name) == list(range(1, 102))  # type: ignore[type-var]
    for span in spans:
        if span.name != "fail":
            assert span.status.code == Status.STATUS_CODE_UNSET
            continue
        assert span.status.code == Status.STATUS_CODE_ERROR
        (event,) = span.events
        span_attributes = attributes(list(event.attributes))
        assert event.name == "exception"
        assert span_attributes["exception.type"] == "java.lang.IllegalStateException"
        assert span_attributes["exception.message"] == f"order {number(span)}"
        assert "\tat NestedSpans.fail" in str(span_attributes["exception.stacktrace"])


def test_the_same_methods_as_spans_of_both(shared: Shared) -> None:
    script = '@OnMethod(class="NestedSpans", method="/request|store/", location=EXIT) @Span(by="btpy") { }'
    receiver, target = shared
    traced(receiver, target, script, "103", first=True)
    waited(lambda: len(receiver.spans) == 103 * 2 + 104 * 2, "the spans of both")
    spans = [span for _, span in receiver.spans]
    by_id = {span.span_id: span for span in spans}
    stores = [span for span in spans if span.name == "NestedSpans.store"]
    btpy_spans = [span for span in stores if attributes(list(span.attributes)).get("by") == "btpy"]
    sdk_spans = [span for span in stores if span not in btpy_spans]
    assert len(btpy_spans) == 103
    assert len(sdk_spans) == 104
    assert Counter(span.parent_span_id for span in sdk_spans) - Counter(span.parent_span_id for span in btpy_spans) == {
        sdk_spans[0].parent_span_id: 1  # spans of the request before btpy
    }
    assert {by_id[span.parent_span_id].name for span in btpy_spans} == {"NestedSpans.request"}


@pytest.mark.proof
def test_durations_are_those_of_the_spans_of_the_agent() -> None:
    """Within 1 % for calls of 30 ms, unless the thread loses its processor between the ends of both spans."""
    script = '@OnMethod(class="NestedSpans", method="store", location=EXIT) @Span(by="btpy") { }'
    with backend() as receiver, under_the_agent(receiver, 17, "-Dpause=30") as target:
        traced(receiver, target, script, "41", first=True)
        waited(lambda: len(receiver.spans) == 41 + 42 * 2, "the spans of both")
        stores = [span for _, span in receiver.spans if span.name == "NestedSpans.store"]
    ours = {span.trace_id: span for span in stores if attributes(list(span.attributes)).get("by") == "btpy"}
    others = {
        span.trace_id: span for span in stores if span.span_id != getattr(ours.get(span.trace_id), "span_id", b"")
    }
    assert len(ours) == 41
    ratios = []
    for trace, span in ours.items():
        duration = span.end_time_unix_nano - span.start_time_unix_nano
        assert duration >= 30_000_000
        ratios.append(duration / (others[trace].end_time_unix_nano - others[trace].start_time_unix_nano))
    assert 1 <= median(ratios) < 1.01
    assert sum(abs(ratio - 1) < 0.01 for ratio in ratios) > 0.75 * len(ratios)


def test_a_trace_that_is_not_sampled_gets_no_spans() -> None:
    with (
        backend() as receiver,
        under_the_agent(receiver, 17, "-Dotel.traces.sampler=always_off") as target,
    ):
        traced(receiver, target, SCRIPT + "NestedSpans::price @exit { @seen = count() }", "13", first=True)
        assert not receiver.spans
        assert receiver.last("btpy.seen").sum.data_points[0].as_int == 13


def test_without_a_library_the_outermost_span_begins_a_trace() -> None:
    with backend() as receiver, program(17, "NestedSpans", (), flags=QUIET) as target:
        traced(receiver, target, SCRIPT + 'NestedSpans::request @exit { span("request") }', "17")
        spans = [span for _, span in receiver.spans]
    by_id = {span.span_id: span for span in spans}
    assert len(by_id) == len(spans) == 17 * 6
    roots = [span for span in spans if not span.parent_span_id]
    assert [span.name for span in roots] == 17 * ["request"]
    assert len({span.trace_id for span in spans}) == 17
    parents = Counter((span.name, by_id[span.parent_span_id].name) for span in spans if span.parent_span_id)
    assert parents == {
        ("price", "request"): 17,
        ("discount", "price"): 17,
        ("write", "price"): 17,
        ("fail", "request"): 17,
        ("discount", "fail"): 17,
    }


def test_a_span_that_may_not_be_written_is_no_parent() -> None:
    script = """
    NestedSpans::price @exit when arg0 % 2 == 0 { span("price", number=arg0) }
    NestedSpans::discount @exit { span("discount", number=arg0) }
    NestedSpans::request @exit { span("request", number=arg0) }
    """
    with backend() as receiver, program(17, "NestedSpans", (), flags=QUIET) as target:
        traced(receiver, target, script, "19")
        spans = [span for _, span in receiver.spans]
    by_id = {span.span_id: span for span in spans}
    parents = Counter((span.name, by_id[span.parent_span_id].name) for span in spans if span.parent_span_id)
    assert parents == {("price", "request"): 9, ("discount", "request"): 38}


def test_the_sdk_without_an_agent() -> None:
    with backend() as receiver, program(17, "SdkSpans", SDK) as target:
        traced(receiver, target, 'SdkSpans::work @exit { span("work", trace=arg0, parent=arg1) }')
        spans = [span for _, span in receiver.spans]
    assert len(spans) == 38  # 40 calls, two of them in a trace that is not sampled
    for span in spans:
        span_attributes = attributes(list(span.attributes))
        if span_attributes["trace"] is not None:
            assert (span.trace_id.hex(), span.parent_span_id.hex()) == (
                span_attributes["trace"],
                span_attributes["parent"],
            )
    assert sum(not span.parent_span_id for span in spans) == 4
