"""A real Prometheus has exactly the program's counts, by OTLP and by scraping, and computes the same percentiles."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.certificates import authority, signed
from tests.live.scripts import waited
from tests.live.test_otlp import QUICK
from tests.live.traffic import called, traffic
from tests.prometheus import prometheus
from tests.tracer import Tracer

pytestmark = pytest.mark.proof

SCRIPT = "Traffic::serve @entry { @n[arg0 % 3] = count(); @sizes = hist(arg0) } @OnEnd { print(@sizes) }"
CALLS = 1009  # the calls have the arguments 0 to 1008
QUANTILES = (0.01, 0.5, 0.9, 0.99)


def started(stack: ExitStack, pid: int, *options: str, script: str = SCRIPT) -> Tracer:
    tracer = Tracer([str(pid), "-e", script, "--hits", "0", "-f", "ndjson", *options], QUICK)
    stack.callback(tracer.kill)
    tracer.wait_for("attached_probes")
    return tracer


def test_by_otlp_with_native_histograms(tmp_path: Path) -> None:
    with traffic() as one, ExitStack() as stack:
        server = stack.enter_context(prometheus(tmp_path, "{}"))
        tracer = started(stack, one.pid, "-o", f"otlp://{server.address}/api/v1/otlp")
        called(one, CALLS)
        waited(lambda: server.number("sum(btpy_n_total)") == CALLS, "all calls")
        for rest in range(3):
            assert server.number(f'btpy_n_total{{key1="{rest}"}}') == len(range(rest, CALLS, 3))
        assert server.number("histogram_count(btpy_sizes)") == CALLS
        assert server.number("histogram_sum(btpy_sizes)") == sum(range(CALLS))
        for quantile in QUANTILES:  # each bucket spans a factor of 2**0.25
            exact = quantile * (CALLS - 1)
            assert exact / 2**0.25 <= server.number(f"histogram_quantile({quantile}, btpy_sizes)") <= exact * 2**0.25
        assert server.number("btpy_probe_hits_total") == CALLS
        assert tracer.stop() == 0


def test_the_sum_over_twenty_jvms_has_the_buckets_of_the_merged_map(tmp_path: Path) -> None:
    calls = [100 + 2 * place for place in range(19)] + [1009]
    with ExitStack() as stack:
        server = stack.enter_context(prometheus(tmp_path, "{}"))
        jvms = [stack.enter_context(traffic(17, "-Xmx32m", "-XX:TieredStopAtLevel=1")) for _ in calls]
        pids = ",".join(str(jvm.pid) for jvm in jvms)
        url = f"otlp://{server.address}/api/v1/otlp"
        tracer = Tracer([pids, "-e", SCRIPT, "--hits", "0", "-f", "ndjson", "-o", url], QUICK)
        stack.callback(tracer.kill)
        waited(lambda: any("tracing 20 JVMs" in line for line in tracer.stderr), "all JVMs")
        for jvm, number in zip(jvms, calls, strict=True):
            called(jvm, number)
        waited(lambda: server.number("histogram_count(sum(btpy_sizes))") == sum(calls), "all calls")
        (series,) = server.query("sum(btpy_sizes)")
        buckets = [(float(low), float(high), int(n)) for _, low, high, n in series["histogram"][1]["buckets"]]
        assert tracer.stop() == 0
        merged = [record["data"]["@sizes"] for record in tracer.of("hist") if "@sizes" in record["data"]][-1]
        assert sum(bucket["count"] for bucket in merged) == sum(calls)
        for low, high, count in buckets:  # btpy has a bucket for each small number; one of Prometheus may have several
            assert count == sum(bucket["count"] for bucket in merged if low < bucket["max"] <= high)
        assert sum(count for _, _, count in buckets) == sum(calls)
        median = server.number("histogram_quantile(0.5, sum(btpy_sizes))")
        exact = sorted(number for count in calls for number in range(count))[sum(calls) // 2]
        assert exact / 2**0.25 <= median <= exact * 2**0.25


def test_by_scraping_with_classic_histograms(tmp_path: Path) -> None:
    """With client certificates."""
    with traffic() as one, ExitStack() as stack:
        one_authority = authority(tmp_path, "one")
        server_pair, client = signed(tmp_path, "server", one_authority), signed(tmp_path, "client", one_authority)
        files = ("--prometheus-cert-file", str(server_pair.certificate), "--prometheus-key-file", str(server_pair.key))
        clients = ("--prometheus-client-ca-file", str(one_authority.certificate))
        tracer = started(stack, one.pid, "--prometheus", "0", *files, *clients)
        (line,) = [line for line in tracer.stderr if "Prometheus can scrape" in line]
        address = line.partition("https://")[2].partition("/")[0]
        tls = f"{{ca_file: {one_authority.certificate}, cert_file: {client.certificate}, key_file: {client.key}}}"
        targets = f"scheme: https, tls_config: {tls}, static_configs: [{{targets: ['{address}']}}]"
        job = f"[{{job_name: btpy, scrape_interval: 1s, {targets}}}]"
        server = stack.enter_context(prometheus(tmp_path, f"scrape_configs: {job}"))
        called(one, CALLS)
        waited(lambda: server.number("sum(btpy_n_total)") == CALLS, "all calls")
        assert server.number("btpy_sizes_count") == CALLS
        assert server.number("btpy_sizes_sum") == sum(range(CALLS))
        for quantile in QUANTILES:  # each bucket spans a factor of 2
            exact = quantile * (CALLS - 1)
            assert exact / 2 <= server.number(f"histogram_quantile({quantile}, btpy_sizes_bucket)") <= exact * 2
        assert server.number('up{job="btpy"}') == 1
        assert tracer.stop() == 0


def test_by_scraping_with_native_histograms(tmp_path: Path) -> None:
    """Prometheus chooses the protobuf format for native histograms, and does not store the classic buckets in it."""
    script = f"{SCRIPT} Traffic::serve @exit {{ @took = hist(duration) }} @OnEnd {{ print(@took) }}"
    with traffic() as one, ExitStack() as stack:
        tracer = started(stack, one.pid, "--prometheus", "0", script=script)
        (line,) = [line for line in tracer.stderr if "Prometheus can scrape" in line]
        address = line.partition("http://")[2].partition("/")[0]
        job = f"{{job_name: btpy, scrape_interval: 1s, static_configs: [{{targets: ['{address}']}}]}}"
        configuration = f"global: {{scrape_native_histograms: true}}\nscrape_configs: [{job}]"
        server = stack.enter_context(prometheus(tmp_path, configuration))
        called(one, CALLS)
        waited(lambda: server.number("sum(btpy_n_total)") == CALLS, "all calls")
        assert server.number("histogram_count(btpy_sizes)") == CALLS
        assert server.number("histogram_sum(btpy_sizes)") == sum(range(CALLS))
        assert server.query("btpy_sizes_bucket") == []
        for quantile in QUANTILES:  # each bucket spans a factor of 2**0.25
            exact = quantile * (CALLS - 1)
            assert exact / 2**0.25 <= server.number(f"histogram_quantile({quantile}, btpy_sizes)") <= exact * 2**0.25
        (sizes,) = server.query("btpy_sizes")
        by_bound = {float(high): int(count) for _, _, high, count in sizes["histogram"][1]["buckets"]}
        for high, count in by_bound.items():
            low = high / 2**0.25 if high else -1
            assert count == sum(low * (1 + 1e-9) < number <= high * (1 + 1e-9) for number in range(CALLS))
        assert server.number("histogram_count(btpy_took_seconds)") == CALLS
        total = server.number("histogram_sum(btpy_took_seconds)")
        medians = {of: server.number(f"histogram_quantile({of}, btpy_took_seconds)") for of in (0.5, 0.9, 0.99)}
        assert server.number('up{job="btpy"}') == 1
        assert tracer.stop() == 0
        (took,) = [record["percentiles"]["@took"] for record in tracer.of("hist") if "@took" in record["data"]]
        assert total == pytest.approx(took["average"] * CALLS / 1e9)
        for of, seconds in medians.items():
            quantile_value = took[f"p{100 * of:g}"]
            assert quantile_value["low"] / 2**0.25 <= seconds * 1e9 <= quantile_value["high"] * 2**0.25
