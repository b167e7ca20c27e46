"""A real Prometheus has exactly the program's counts, by OTLP and by scraping, and computes the same percentiles."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.live.scripts import waited
from tests.live.test_otlp import QUICK
from tests.live.traffic import called, traffic
from tests.prometheus import prometheus
from tests.tracer import Tracer

pytestmark = pytest.mark.proof

SCRIPT = "Traffic::serve @entry { @n[arg0 % 3] = count(); @sizes = hist(arg0) } @OnEnd { print(@sizes) }"
CALLS = 1009  # with the arguments 0 to 1008
QUANTILES = (0.01, 0.5, 0.9, 0.99)


def started(stack: ExitStack, pid: int, *options: str) -> Tracer:
    tracer = Tracer([str(pid), "-e", SCRIPT, "--hits", "0", "-f", "ndjson", *options], QUICK)
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
        for quantile in QUANTILES:  # buckets of a quarter of a power of two
            exact = quantile * (CALLS - 1)
            assert exact / 2**0.25 <= server.number(f"histogram_quantile({quantile}, btpy_sizes)") <= exact * 2**0.25
        assert server.number("btpy_probe_hits_total") == CALLS
        assert tracer.stop() == 0


def test_by_scraping_with_classic_histograms(tmp_path: Path) -> None:
    with traffic() as one, ExitStack() as stack:
        tracer = started(stack, one.pid, "--prometheus", "0")
        (line,) = [line for line in tracer.stderr if "Prometheus can scrape" in line]
        address = line.partition("http://")[2].partition("/")[0]
        job = f"[{{job_name: btpy, scrape_interval: 1s, static_configs: [{{targets: ['{address}']}}]}}]"
        server = stack.enter_context(prometheus(tmp_path, f"scrape_configs: {job}"))
        called(one, CALLS)
        waited(lambda: server.number("sum(btpy_n_total)") == CALLS, "all calls")
        assert server.number("btpy_sizes_count") == CALLS
        assert server.number("btpy_sizes_sum") == sum(range(CALLS))
        for quantile in QUANTILES:  # buckets of a power of two
            exact = quantile * (CALLS - 1)
            assert exact / 2 <= server.number(f"histogram_quantile({quantile}, btpy_sizes_bucket)") <= exact * 2
        assert server.number('up{job="btpy"}') == 1
        assert tracer.stop() == 0
