"""Distributions have exemplars with the trace of the sample: in OTLP, and in the exposition for Prometheus."""

from __future__ import annotations

import re
import time
import urllib.request
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from opentelemetry.proto.metrics.v1.metrics_pb2 import Exemplar

from tests.cli.fake_ssh import REMOTE, fake_ssh
from tests.cli.test_several import told
from tests.collector import collector_with
from tests.jdks import compiled
from tests.live.scripts import waited
from tests.live.test_contexts import CONTEXTS, JAVA
from tests.live.test_otlp import QUICK
from tests.maven import artifact
from tests.output.otlp.backend import Backend, attributes, backend
from tests.output.parquet.read import by_duckdb
from tests.ports import free_port
from tests.prometheus import prometheus
from tests.targets import PATIENCE, Target, target
from tests.tracer import Tracer

API = tuple(f"io.opentelemetry:opentelemetry-{part}:1.54.1" for part in ("api", "context", "common"))
BRAVE = ("io.zipkin.brave:brave:6.3.0",)
MICROMETER = (
    *BRAVE,
    *(f"io.micrometer:micrometer-tracing{part}:1.6.0" for part in ("", "-bridge-brave")),
    *(f"io.micrometer:micrometer-{part}:1.16.0" for part in ("observation", "commons")),
)
SCRIPT = """Orders::place @entry {
    @amounts[$even] = hist($amount); @steps = lhist($amount, 0, 1000000, 100000);
    @ratios = hist($amount * 0.5); @n = count();
}"""
ORDERS = 1009
"""Orders in a round; there are three rounds."""
CLOCKS_NANOS = 100_000_000
"""The largest difference of the clocks of the program and of this process."""

EXEMPLAR = re.compile(
    r'^btpy_(\w+)_bucket\{.*?le="([^"]+)".*?\} \S+ # \{span_id="(\w+)",trace_id="(\w+)"\} (\S+) \d+\.\d+$', re.MULTILINE
)
CONFIGURATION = """
global: {{scrape_interval: 1s}}
scrape_configs: [{{job_name: btpy, static_configs: [{{targets: ["127.0.0.1:{port}"]}}]}}]
"""
DEBUGGING = """
receivers: {{otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{port}"}}}}}}}}
exporters: {{debug: {{verbosity: detailed}}}}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines: {{metrics: {{receivers: [otlp], exporters: [debug]}}}}
"""
SHOWN = re.compile(r"-> Trace ID: (\w+)\s+-> Span ID: (\w+)\s+-> Timestamp: .*\s+-> Value: ([\d.e+]+)")
AMOUNTS = {1 + number * number * 37 % 1_000_003: number for number in range(3 * ORDERS)}


@contextmanager
def orders(
    jdk: int = 17,
    main: str = "TracedOrders",
    coordinates: Sequence[str] = API,
    *arguments: str,
    flags: Sequence[str] = (),
) -> Iterator[Target]:
    jars = [artifact(name) for name in coordinates]
    sources = [JAVA / "Gate.java", CONTEXTS / "Orders.java", CONTEXTS / f"{main}.java"]
    classes = compiled(sources, release=11, classpath=jars)
    with target(jdk, main, *arguments, classpath=[classes, *jars], flags=flags) as program:
        yield program


def started(stack: ExitStack, pid: int, *options: str) -> Tracer:
    tracer = Tracer([str(pid), "-e", SCRIPT, "--hits", "0", "-f", "ndjson", *options], QUICK)
    stack.callback(tracer.kill)
    tracer.wait_for("attached_probes")
    return tracer


def check(amount: int, trace_id: str, span_id: str) -> None:
    """Checks that the order with this amount was placed in this trace, and that the trace is sampled."""
    number = AMOUNTS[amount]
    assert trace_id == f"{10**12 + amount:032x}"
    assert span_id == f"{2 * 10**12 + amount:016x}"
    assert number % 5
    assert number % 3


def exemplars(receiver: Backend, name: str) -> Iterator[tuple[dict[str, object], list[Exemplar]]]:
    """The attributes of each point of each report, and its exemplars."""
    for _, metric in receiver.reports:
        if metric.name == name:
            for point in getattr(metric, metric.WhichOneof("data") or "").data_points:
                yield attributes(list(point.attributes)), list(point.exemplars)


def test_every_exemplar_has_the_trace_of_its_sample(tmp_path: Path) -> None:
    start = time.time_ns()
    with backend() as receiver, orders() as shop, ExitStack() as stack:
        tracer = started(stack, shop.pid, "--with", "trace", "-o", receiver.url)
        shop.send()
        shop.wait_for(f"ordered {ORDERS}")
        waited(lambda: any(group for _, group in exemplars(receiver, "btpy.amounts")), "an exemplar")
        assert tracer.stop() == 0
        sizes = []
        for key, key_exemplars in exemplars(receiver, "btpy.amounts"):
            for exemplar in key_exemplars:
                check(exemplar.as_int, exemplar.trace_id.hex(), exemplar.span_id.hex())
                assert start - CLOCKS_NANOS < exemplar.time_unix_nano < time.time_ns() + CLOCKS_NANOS
                assert AMOUNTS[exemplar.as_int] % 2 == (0 if key["even"] else 1)
            assert len({exemplar.as_int.bit_length() for exemplar in key_exemplars}) == len(key_exemplars)
            sizes += [exemplar.as_int.bit_length() for exemplar in key_exemplars]
        assert {18, 19, 20} < set(sizes)
        for name, factor in (("btpy.steps", 1), ("btpy.ratios", 2)):
            all_found = [exemplar for _, group in exemplars(receiver, name) for exemplar in group]
            assert all_found, name
            for exemplar in all_found:
                amount = exemplar.as_int if factor == 1 else round(exemplar.as_double * factor)
                check(amount, exemplar.trace_id.hex(), exemplar.span_id.hex())
        trace_ids = [exemplar.trace_id for _, group in exemplars(receiver, "btpy.amounts") for exemplar in group]
        assert len(set(trace_ids)) == len(trace_ids), "each is reported once"
        assert receiver.last("btpy.n").sum.data_points[0].as_int == ORDERS

        receiver.reports.clear()
        tracer = started(stack, shop.pid, "-o", receiver.url)
        shop.send()
        shop.wait_for(f"ordered {2 * ORDERS}")
        assert tracer.stop() == 0
        assert receiver.last("btpy.n").sum.data_points[0].as_int == ORDERS
        assert not [group for _, group in exemplars(receiver, "btpy.amounts") if group], "nobody has asked for them"
        assert not [line for line in tracer.records if "exemplars" in line]

        tracer = started(stack, shop.pid, "--with", "trace", "-o", f"parquet://{tmp_path}")
        shop.send()
        shop.wait_for(f"ordered {3 * ORDERS}")
        assert tracer.stop() == 0
        exemplars_by_map = {
            name: by_key for line in tracer.records for name, by_key in line.get("exemplars", {}).items()
        }
        assert set(exemplars_by_map) == {"@amounts", "@steps", "@ratios"}
        assert set(exemplars_by_map["@amounts"]) == {"true", "false"}
        for factor, key_exemplars in (
            (1, exemplars_by_map["@amounts"]["true"]),
            (1, exemplars_by_map["@steps"]),
            (2, exemplars_by_map["@ratios"]),
        ):
            assert len(key_exemplars) > 3
            for exemplar in key_exemplars:
                check(round(exemplar["value"] * factor), exemplar["trace_id"], exemplar["span_id"])
                age = datetime.now(UTC) - datetime.fromisoformat(exemplar["ts"])
                assert timedelta(0) <= age < timedelta(seconds=PATIENCE)
        stored = [
            member for row in by_duckdb(tmp_path, "maps") if row["map"] == "@ratios" for member in row["exemplars"]
        ]
        assert len(stored) > 3
        for exemplar in stored:
            assert exemplar["value"] is None
            check(round(exemplar["value_double"] * 2), exemplar["trace_id"], exemplar["span_id"])


@pytest.mark.parametrize(
    ("jdk", "main", "coordinates", "arguments"),
    [
        pytest.param(25, "BraveOrders", BRAVE, ("virtual",), id="brave-virtual-25"),
        pytest.param(21, "BraveOrders", BRAVE, ("virtual",), id="brave-virtual-21", marks=pytest.mark.proof),
        pytest.param(17, "BraveOrders", BRAVE, (), id="brave", marks=pytest.mark.proof),
        pytest.param(17, "MicrometerOrders", MICROMETER, (), id="micrometer", marks=pytest.mark.proof),
        pytest.param(25, "MicrometerOrders", MICROMETER, ("virtual",), id="micrometer-25", marks=pytest.mark.proof),
        pytest.param(21, "TracedOrders", API, ("virtual",), id="virtual-21", marks=pytest.mark.proof),
        pytest.param(25, "TracedOrders", API, ("virtual",), id="virtual-25", marks=pytest.mark.proof),
    ],
)
def test_exemplars_of_other_libraries_and_of_virtual_threads(
    jdk: int, main: str, coordinates: Sequence[str], arguments: Sequence[str]
) -> None:
    with backend() as receiver, orders(jdk, main, coordinates, *arguments) as shop, ExitStack() as stack:
        tracer = started(stack, shop.pid, "--with", "trace", "-o", receiver.url)
        for place in (1, 2, 3):
            shop.send()
            shop.wait_for(f"ordered {place * ORDERS}")
            waited(lambda place=place: counted(receiver) == place * ORDERS, "a report")  # type: ignore[misc]
        assert tracer.stop() == 0
        pairs = [(key, exemplar) for key, group in exemplars(receiver, "btpy.amounts") for exemplar in group]
        assert len(pairs) > 20
        assert {key["even"] for key, _ in pairs} == {True, False}
        for key, exemplar in pairs:
            check(exemplar.as_int, exemplar.trace_id.hex(), exemplar.span_id.hex())
            assert AMOUNTS[exemplar.as_int] % 2 == (0 if key["even"] else 1)
        frequent = [exemplar.as_int for _, exemplar in pairs if exemplar.as_int.bit_length() == 20]
        assert {0} < {AMOUNTS[amount] // ORDERS for amount in frequent}, "new ones after a reading"


def counted(receiver: Backend) -> int:
    """The number of orders of the last report."""
    points = [metric.sum.data_points[0].as_int for _, metric in list(receiver.reports) if metric.name == "btpy.n"]
    return points[-1] if points else 0


def test_exemplars_of_hosts_stay_until_the_client_reports_them(tmp_path: Path) -> None:
    """The host reads its map many times, and each exemplar is in one reading. The client reports once, at the end."""
    host = "web1"
    name = f"orders-{uuid.uuid4().hex[:12]}"
    with backend() as receiver, fake_ssh(tmp_path) as environment, ExitStack() as stack:
        shop = stack.enter_context(orders(flags=[f"-Dbtpy.name={name}-{host}"]))
        target_of_host = ("--hosts", host, "--remote-btpy", REMOTE, f"{name}-@HOST@")
        options = ("-e", SCRIPT, "--hits", "0", "-f", "ndjson", "-i", "100ms", "--with", "trace", "-o", receiver.url)
        tracer = Tracer([*target_of_host, *options], {**environment, "OTEL_METRIC_EXPORT_INTERVAL": "600000"})
        stack.callback(tracer.kill)
        told(tracer, "tracing 1 JVM on 1 host")
        for place in (1, 2):
            shop.send()
            shop.wait_for(f"ordered {place * ORDERS}")
        waited(lambda: tracer.maps().get("n") == 2 * ORDERS, "a reading after the last order")
        assert tracer.stop() == 0, tracer.stderr
        assert receiver.last("btpy.n").sum.data_points[0].as_int == 2 * ORDERS
        all_exemplars = [exemplar for _, group in exemplars(receiver, "btpy.amounts") for exemplar in group]
        assert len(all_exemplars) > 20
        for exemplar in all_exemplars:
            check(exemplar.as_int, exemplar.trace_id.hex(), exemplar.span_id.hex())
        assert {attributes(list(resource.attributes))["host.name"] for resource, _ in receiver.reports} == {host}


def page(tracer: Tracer, accept: str) -> str:
    """The exposition of a run with ``--prometheus 0``."""
    waited(lambda: any("Prometheus can scrape" in line for line in tracer.stderr), "the address")
    (address,) = [match[0] for line in tracer.stderr if (match := re.search(r"http://\S+/metrics", line))]
    request = urllib.request.Request(address, headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return str(answer.read().decode())


@pytest.mark.proof
def test_a_bucket_of_openmetrics_has_an_exemplar() -> None:
    with orders() as shop, ExitStack() as stack:
        tracer = started(stack, shop.pid, "--with", "trace", "--prometheus", "0")
        shop.send()
        shop.wait_for(f"ordered {ORDERS}")
        exemplars_found = []
        text = page(tracer, "application/openmetrics-text; version=1.0.0")
        for name, le, span, trace, value in EXEMPLAR.findall(text):
            check(round(float(value) * (2 if name == "ratios" else 1)), trace, span)
            assert float(value) <= float(le)
            exemplars_found.append((name, le))
        assert {name for name, _ in exemplars_found} == {"amounts", "steps", "ratios"}, text
        assert "# {" not in page(tracer, "text/plain"), "the older format has no exemplars"
        assert tracer.stop() == 0


@pytest.mark.proof
def test_a_real_prometheus_stores_the_exemplars_that_it_scrapes(tmp_path: Path) -> None:
    with orders() as shop, ExitStack() as stack:
        port = free_port()
        configuration = CONFIGURATION.format(port=port)
        server = stack.enter_context(prometheus(tmp_path, configuration, "--enable-feature=exemplar-storage"))
        tracer = started(stack, shop.pid, "--with", "trace", "--prometheus", str(port))
        shop.send()
        shop.wait_for(f"ordered {ORDERS}")
        waited(lambda: bool(server.exemplars("btpy_amounts_bucket")), "exemplars")
        for exemplar in server.exemplars("btpy_amounts_bucket"):
            labels = exemplar["labels"]
            check(round(float(exemplar["value"])), labels["trace_id"], labels["span_id"])
        assert tracer.stop() == 0


@pytest.mark.proof
def test_a_real_collector_shows_the_exemplars(tmp_path: Path) -> None:
    with orders() as shop, ExitStack() as stack:
        port = free_port()
        server = stack.enter_context(collector_with(tmp_path, DEBUGGING.format(port=port)))
        tracer = started(stack, shop.pid, "--with", "trace", "-o", f"otlp://127.0.0.1:{port}")
        shop.send()
        shop.wait_for(f"ordered {ORDERS}")
        assert tracer.stop() == 0
        waited(lambda: SHOWN.search("\n".join(server.stderr)) is not None, "exemplars")
        exemplar_lines = SHOWN.findall("\n".join(server.stderr))
        assert len(exemplar_lines) > 20
        for trace, span, value in exemplar_lines:
            amount = int(trace, 16) - 10**12
            check(amount, trace, span)
            assert float(value) in (amount, amount / 2)
