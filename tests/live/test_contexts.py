"""``trace_id``, ``span_id``, ``trace_flags``, ``baggage`` and ``mdc`` with the libraries that store them."""

from __future__ import annotations

import http.client
import secrets
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

import btpy
from btpy.output.writer import ProbeError
from tests.jdks import all_jdks, compiled
from tests.maven import artifact
from tests.targets import Target, target

JAVA = Path(__file__).parents[1] / "java"
CONTEXTS = JAVA / "contexts"
AGENT, FIRST_AGENT = "2.20.1", "2.0.0"
SDK = tuple(
    f"io.opentelemetry:opentelemetry-{part}:1.54.1" for part in ("api", "context", "common", "sdk-common", "sdk-trace")
)
LOGBACK = ("org.slf4j:slf4j-api:2.0.17", "ch.qos.logback:logback-core:1.5.18", "ch.qos.logback:logback-classic:1.5.18")
JUL = ("org.slf4j:slf4j-api:2.0.17", "org.slf4j:slf4j-jdk14:2.0.17")
LOG4J = ("org.apache.logging.log4j:log4j-api:2.25.1", "org.apache.logging.log4j:log4j-core:2.25.1")
OLD_LOG4J = ("org.apache.logging.log4j:log4j-api:2.17.1",)
BRAVE = ("io.zipkin.brave:brave:6.3.0",)
DATADOG = "com.datadoghq:dd-java-agent:1.58.2"
ALONE = [  # no Datadog agent process runs to which the tracer could send
    "-Ddd.trace.otel.enabled=true",
    "-Ddd.instrumentation.telemetry.enabled=false",
    "-Ddd.remote_config.enabled=false",
    "-Ddd.trace.agent.port=9",
    "-Ddd.trace.startup.logs=false",
    "-Ddd.writer.type=LoggingWriter",
]
QUICK_START = ["-XX:TieredStopAtLevel=1"]
"""The start of a foreign agent takes half of the time without the optimizing compiler."""
QUIET = [f"-Dotel.{signal}.exporter=none" for signal in ("traces", "metrics", "logs")]
INSTRUMENTED = ("java-http-server", "executors", "methods")
ONLY = ["-Dotel.instrumentation.common.default-enabled=false"]
ONLY += [f"-Dotel.instrumentation.{name}.enabled=true" for name in INSTRUMENTED]
"""The agent compares each class with the libraries that it instruments; these tests use three of 200."""
SERVED = 'Served::work { emit("seen", parent=arg0, trace=trace_id, span=span_id, flags=trace_flags) }'
SPANS = """::work { emit("seen", expected=arg0, trace=trace_id, of=arg1, span=span_id, flags=trace_flags,
    owner=arg2, tenant=baggage("tenant"), token=baggage("token")) }"""


@contextmanager
def program(
    jdk: int, main: str, coordinates: Sequence[str], *arguments: str, flags: Sequence[str] = ()
) -> Iterator[Target]:
    jars = [artifact(name) for name in coordinates]
    classes = compiled([JAVA / "Gate.java", CONTEXTS / f"{main}.java"], release=11, classpath=jars)
    with target(jdk, main, *arguments, classpath=[classes, *jars], flags=flags) as jvm:
        yield jvm


def values(session: btpy.Session, count: int) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for event in session.events(timeout=60):
        rows.append(dict(event.values))
        if len(rows) == count:
            break
    return rows


def called(jvm: Target, script: str, count: int) -> tuple[list[dict[str, object]], list[ProbeError]]:
    """The events of a program that begins its calls at its gate, and the errors of probes."""
    with btpy.attach(jvm.pid) as session:
        session.add(script)
        jvm.send()
        jvm.wait_for("done")
        rows = values(session, count)
    jvm.send()
    return rows, list(session.errors)


Served = tuple[Target, dict[str, int]]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """A program under the OpenTelemetry agent with two servers of the JDK, and their ports: a server on platform
    threads and one on virtual threads.
    """
    classes = compiled([JAVA / "Served.java"], release=17, flags=["--add-modules", "jdk.httpserver"])
    agent = artifact(f"io.opentelemetry.javaagent:opentelemetry-javaagent:{AGENT}")
    flags = [*QUICK_START, f"-javaagent:{agent}", *QUIET, *ONLY]
    with target(21, "Served", "virtual", classpath=[classes], flags=flags, ready=None) as jvm:
        platform, virtual = map(int, jvm.wait_for("ready ").split()[1:])
        yield jvm, {"platform": platform, "virtual": virtual}


def asked(port: int, count: int) -> dict[str, int]:
    """Sends this number of requests, each with its own trace. Returns the flags of each trace."""
    traces = {secrets.token_hex(16): number % 3 != 0 for number in range(count)}

    def ask(part: Sequence[str]) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        for trace in part:
            parent = f"00-{trace}-{secrets.token_hex(8)}-{int(traces[trace]):02x}"
            connection.request("GET", "/", headers={"traceparent": parent})
            connection.getresponse().read()
        connection.close()

    names = list(traces)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(ask, [names[start::4] for start in range(4)]))
    return {trace: int(sampled) for trace, sampled in traces.items()}


def check_requests(served: Served, mode: str, count: int) -> None:
    jvm, ports = served
    asked(ports[mode], 1)  # the agent loads its storage of spans at the first request, and btpy finds it a little later
    with btpy.attach(jvm.pid) as session:
        session.add(SERVED)
        reader = session.events(timeout=60)
        traces = asked(ports[mode], count)
        events = [dict(event.values) for _, event in zip(range(count), reader, strict=False)]
        assert not session.errors
    assert len(events) == count
    for event in events:
        _, trace, parent, _ = str(event["parent"]).split("-")
        assert event["trace"] == trace
        assert event["flags"] == traces[trace]
        assert len(str(event["span"])) == 16
        assert event["span"] != parent
    assert {event["trace"] for event in events} == set(traces)
    assert len({event["span"] for event in events}) == count


@pytest.mark.parametrize("mode", ["platform", "virtual"])
def test_requests_under_the_opentelemetry_agent_have_their_trace(served: Served, mode: str) -> None:
    check_requests(served, mode, 211)


@pytest.mark.proof
@pytest.mark.parametrize("mode", ["platform", "virtual"])
def test_ten_thousand_requests_have_their_trace(served: Served, mode: str) -> None:
    check_requests(served, mode, 10_007)


@pytest.mark.parametrize("version", [AGENT, FIRST_AGENT])
def test_spans_of_methods_that_the_opentelemetry_agent_makes(version: str) -> None:
    agent = artifact(f"io.opentelemetry.javaagent:opentelemetry-javaagent:{version}")
    flags = [*QUICK_START, f"-javaagent:{agent}", *QUIET, *ONLY]
    flags.append("-Dotel.instrumentation.methods.include=AgentSpans[outer]")
    script = 'AgentSpans::inner { emit("seen", trace=trace_id, span=span_id, flags=trace_flags) }'
    with program(17, "AgentSpans", (), flags=flags) as jvm:
        events, errors = called(jvm, script, 14)
    assert not errors
    for first, second in zip(events[::2], events[1::2], strict=True):
        assert first == second
        assert first["flags"] == 1
    assert len({event["trace"] for event in events} - {None}) == 7
    assert len({event["span"] for event in events} - {None}) == 7


def check_spans(events: list[dict[str, object]]) -> None:
    for event in events:
        assert event["trace"] == event["expected"]
        assert event["span"] == event["of"]
        assert event["tenant"] == event["owner"]
        assert event["token"] in (None, "•••")


@all_jdks
def test_spans_of_the_sdk_without_an_agent(jdk: int) -> None:
    with program(jdk, "SdkSpans", SDK) as jvm:
        events, errors = called(jvm, f"SdkSpans{SPANS}", 40)
    check_spans(events)
    assert [event["flags"] for event in events] == 2 * [*17 * [1], 0, None, None]
    assert sum(event["trace"] is not None for event in events) == 36
    assert not errors


@pytest.mark.parametrize("jdk", [21, 25])
def test_spans_on_a_virtual_thread(jdk: int) -> None:
    with program(jdk, "SdkSpans", SDK, "virtual") as jvm:
        events, errors = called(jvm, f"SdkSpans{SPANS}", 40)
    check_spans(events)
    assert sum(event["trace"] is not None for event in events) == 36
    assert not errors


def test_a_library_that_is_loaded_after_the_probe_is_found() -> None:
    with program(17, "SdkSpans", SDK, "late") as jvm, btpy.attach(jvm.pid) as session:
        session.add(f"SdkSpans{SPANS}")
        jvm.send()
        is_found = False
        for event in session.events(timeout=60):
            event_values = dict(event.values)
            if is_found:
                assert event_values["trace"] == event_values["expected"]
            else:
                assert event_values["trace"] in (None, event_values["expected"])
            if event_values["trace"] is not None:
                if is_found:
                    break
                is_found = True
        jvm.send()


def test_spans_of_brave() -> None:
    with program(17, "BraveSpans", BRAVE) as jvm:
        events, errors = called(jvm, f"BraveSpans{SPANS}", 24)
    check_spans(events)
    assert sum(event["trace"] is not None for event in events) == 21
    assert not errors


@pytest.mark.parametrize(("jdk", "wide", "arguments"), [(17, True, ()), (21, False, ("virtual",))])
def test_spans_of_the_agent_of_datadog(jdk: int, wide: bool, arguments: tuple[str, ...]) -> None:
    bits = f"-Ddd.trace.128.bit.traceid.generation.enabled={str(wide).lower()}"
    flags = [*QUICK_START, f"-javaagent:{artifact(DATADOG)}", *ALONE, bits]
    with program(jdk, "DatadogSpans", SDK[:3], *arguments, flags=flags) as jvm:
        events, errors = called(jvm, f"DatadogSpans{SPANS}", 15)
    check_spans(events)
    traces = [str(event["trace"]) for event in events[:-1]]
    assert traces[::2] == traces[1::2]
    assert len(set(traces)) == 7
    assert all(trace.startswith("0" * 16) != wide for trace in traces)
    assert len({event["span"] for event in events}) == 15
    assert events[-1]["trace"] is None
    assert not errors


DIAGNOSTICS = '::work { emit("seen", expected=arg0, user=mdc("userId"), password=mdc("password")) }'


@pytest.mark.parametrize(
    ("main", "coordinates", "flags"),
    [
        ("Diagnostics", LOGBACK, ()),
        ("Diagnostics", JUL, ()),
        ("Log4jDiagnostics", LOG4J, ()),
        ("Log4jDiagnostics", LOG4J, ("-Dlog4j2.isThreadContextMapInheritable=true",)),
        ("Log4jDiagnostics", LOG4J, ("-Dlog4j2.garbagefreeThreadContextMap=true",)),
        ("Log4jDiagnostics", OLD_LOG4J, ()),
        ("Log4jDiagnostics", OLD_LOG4J, ("-Dlog4j2.garbagefreeThreadContextMap=true",)),
    ],
    ids=["logback", "slf4j", "log4j", "log4j-inherited", "log4j-sorted", "log4j-2.17", "log4j-2.17-sorted"],
)
def test_the_diagnostic_context_of(main: str, coordinates: Sequence[str], flags: Sequence[str]) -> None:
    with program(17, main, coordinates, flags=flags) as jvm:
        events, errors = called(jvm, main + DIAGNOSTICS, 38)
    assert [event["user"] for event in events] == 2 * [*(f"u{number}" for number in range(17)), None, None]
    assert [event["user"] for event in events] == [event["expected"] for event in events]
    assert {event["password"] for event in events} == {"•••"}
    assert not errors


@all_jdks
def test_without_a_library_all_is_null_and_that_is_said_once(jdk: int) -> None:
    script = """Nesting::inner @return { emit("seen", trace=trace_id, span=span_id, flags=trace_flags,
        baggage=baggage("k"), user=mdc("userId")) }"""
    classes = compiled([JAVA / "Gate.java", JAVA / "Nesting.java"], release=8)
    with target(jdk, "Nesting", classpath=[classes]) as jvm:
        events, errors = called(jvm, script, 14)
    assert all(set(event.values()) == {None} for event in events)
    warnings = sorted((error.kind_name, error.count, error.message) for error in errors)
    assert warnings == [
        ("no-context", 1, "no library that keeps a current span is loaded (OpenTelemetry, Brave, Datadog)"),
        ("no-context", 1, "no library with an MDC is loaded (SLF4J with Logback, Log4j 2)"),
    ]


@pytest.mark.parametrize(
    ("arguments", "unknown"),
    [
        ((), "io.opentelemetry.context.ThreadLocalContextStorage$TreeContext"),
        (("datadog",), "datadog.trace.bootstrap.instrumentation.api.AgentTracer$OtherTracer"),
    ],
    ids=["opentelemetry", "datadog"],
)
def test_classes_of_unknown_versions_are_named_once(arguments: tuple[str, ...], unknown: str) -> None:
    classes = compiled(sorted((CONTEXTS / "unknown").glob("*.java")))
    with target(17, "Unknown", *arguments, classpath=[classes]) as jvm:
        script = 'Unknown::work { emit("seen", trace=trace_id, user=mdc("userId")) }'
        events, errors = called(jvm, script, 13)
    assert all(event == {"trace": None, "user": None} for event in events)
    assert sorted((error.count, error.message) for error in errors) == [
        (1, f"btpy cannot read {unknown}"),
        (1, "btpy cannot read org.slf4j.MDC"),
    ]
