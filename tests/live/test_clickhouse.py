"""ClickHouse merges the histograms of 20 JVMs, which a Collector has passed on, into btpy's own merge."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.clickhouse import clickhouse
from tests.collector import collector_with
from tests.live.scripts import waited
from tests.live.test_otlp import QUICK
from tests.live.traffic import called, traffic
from tests.ports import free_port
from tests.tracer import Tracer

pytestmark = pytest.mark.proof

EXAMPLE = Path(__file__).parents[2] / "examples" / "dashboards" / "clickhouse.sql"
CALLS = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 101, 211, 307, 401, 503, 1009]
"""Calls of each JVM. Many calls have a wide range of samples, so the scales of the histograms differ."""
KEYS = 2
SCRIPT = """Traffic::serve @entry { @sizes[arg0 % 2] = hist((arg0 - 7) * arg0 * arg0, k=6) }
@OnEnd { print(@sizes) }"""
AS_JSON = """
receivers: {{otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{port}"}}}}}}}}
processors: {{batch: {{timeout: 50ms}}}}
exporters: {{otlphttp: {{endpoint: "http://127.0.0.1:{onward}", encoding: json, compression: none}}}}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines: {{metrics: {{receivers: [otlp], processors: [batch], exporters: [otlphttp]}}}}
"""
ATTRIBUTES = "attributes Array(Tuple(key String, value Tuple(stringValue String, intValue String)))"
SIDE = "Tuple(offset Int32, bucketCounts Array(UInt64))"
POINT = (
    f"Tuple({ATTRIBUTES}, timeUnixNano UInt64, count UInt64, scale Int32, zeroCount UInt64, "
    f"positive {SIDE}, negative {SIDE})"
)
METRIC = f"Tuple(name String, exponentialHistogram Tuple(dataPoints Array({POINT})))"
SCOPE = f"Tuple(metrics Array({METRIC}))"
REPORT = f"resourceMetrics Array(Tuple(resource Tuple({ATTRIBUTES}), scopeMetrics Array({SCOPE})))"
MAP = "mapFromArrays({0}.attributes.key, arrayMap(v -> v.stringValue || v.intValue, {0}.attributes.value))"
TABLE = f"""CREATE VIEW otel_metrics_exponential_histogram AS
SELECT m.name AS MetricName, {MAP.format("r.resource")} AS ResourceAttributes, {MAP.format("p")} AS Attributes,
    fromUnixTimestamp64Nano(toInt64(p.timeUnixNano)) AS TimeUnix, p.count AS Count, p.scale AS Scale,
    p.zeroCount AS ZeroCount, p.positive.offset AS PositiveOffset, p.positive.bucketCounts AS PositiveBucketCounts,
    p.negative.offset AS NegativeOffset, p.negative.bucketCounts AS NegativeBucketCounts
FROM (SELECT r, m, arrayJoin(m.exponentialHistogram.dataPoints) AS p
FROM (SELECT r, arrayJoin(s.metrics) AS m
FROM (SELECT r, arrayJoin(r.scopeMetrics) AS s
FROM (SELECT arrayJoin(resourceMetrics) AS r FROM file('FILE', 'JSONEachRow', '{REPORT}')))))"""
"""The columns that the Collector's exporter for ClickHouse fills, from a file with a request of OTLP in each line."""

Buckets = dict[tuple[str, int, int], int]
"""Samples by key, sign and index in OTLP."""


@contextmanager
def requests_in(file: Path) -> Iterator[int]:
    """The port of a server that writes the body of each request to a line of the file."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            with lock, file.open("ab") as lines:
                lines.write(body + b"\n")
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def in_buckets(scale: int, samples: list[tuple[str, int, int]]) -> Buckets:
    """``samples``: keys, numbers, and how many there are. Computed with integers, because logarithms are rounded."""
    buckets: Counter[tuple[str, int, int]] = Counter()
    for key, number, count in samples:
        sign = (number > 0) - (number < 0)
        # The bucket n has 2 ** (n / 2**scale) < number <= 2 ** ((n + 1) / 2**scale).
        index = (abs(number) ** 2**scale - 1).bit_length() - 1 if sign else 0
        buckets[key, sign, index] += count
    return dict(buckets)


def test_clickhouse_merges_the_histograms_of_twenty_jvms(tmp_path: Path) -> None:
    file, port = tmp_path / "requests.json", free_port()
    with ExitStack() as stack:
        onward = stack.enter_context(requests_in(file))
        collector = stack.enter_context(collector_with(tmp_path, AS_JSON.format(port=port, onward=onward)))
        jvms = [stack.enter_context(traffic(17, "-Xmx32m", "-XX:TieredStopAtLevel=1")) for _ in CALLS]
        pids = ",".join(str(jvm.pid) for jvm in jvms)
        options = ["--hits", "0", "-f", "ndjson", "-o", f"otlp://127.0.0.1:{port}"]
        tracer = Tracer([pids, "-e", SCRIPT, *options], QUICK)
        stack.callback(tracer.kill)
        waited(lambda: any("tracing 20 JVMs" in line for line in tracer.stderr), "all JVMs")
        for jvm, number in zip(jvms, CALLS, strict=True):
            called(jvm, number)
        assert tracer.stop() == 0
        collector.process.send_signal(signal.SIGTERM)  # it passes on everything that it has accepted
        collector.wait()
    with clickhouse() as sql:
        sql.load(TABLE.replace("FILE", str(file)) + ";\n" + EXAMPLE.read_text())
        points = sql.ask("SELECT uniqExact(ResourceAttributes['process.pid']) FROM otel_metrics_exponential_histogram")
        assert points.rows == [[len(CALLS)]]
        scales = sql.ask("SELECT DISTINCT Scale FROM otel_metrics_exponential_histogram").rows
        assert len(scales) > 3, scales
        rows = sql.ask(
            "SELECT Attributes['key1'], MergedScale, Sign, Bucket, Count, Low, High FROM btpy_histogram"
        ).rows
    (scale,) = {row[1] for row in rows}
    merged: Buckets = {(key, sign, bucket): count for key, _, sign, bucket, count, _, _ in rows}
    assert scale == min(value for (value,) in scales)
    assert merged == in_buckets(scale, own_merge(tracer))
    assert merged == in_buckets(scale, [(str(number % KEYS), size(number), 1) for of in CALLS for number in range(of)])
    for key, _, _, _, count, low, high in rows:
        assert count == sum(
            low < size(number) <= high if high > 0 else low <= size(number) < high or low == size(number) == high
            for of in CALLS
            for number in range(of)
            if str(number % KEYS) == key
        )
    print(f"{sum(merged.values())} samples in {len(merged)} buckets, scales {sorted(value for (value,) in scales)}")


def size(number: int) -> int:
    return (number - 7) * number * number


def own_merge(tracer: Tracer) -> list[tuple[str, int, int]]:
    """The buckets of the map that btpy prints at the end: keys, the bound that is further from 0, and samples. Each is
    a part of one bucket of a lower scale."""
    by_key: dict[str, Any] = [line["data"]["@sizes"] for line in tracer.of("hist") if "@sizes" in line["data"]][-1]
    return [
        (key, max(bucket["min"], bucket["max"], key=abs), bucket["count"])
        for key, buckets in by_key.items()
        for bucket in buckets
    ]
