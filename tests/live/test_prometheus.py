"""Runs that Prometheus scrapes: every count of the program is in the exposition."""

from __future__ import annotations

import re
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import ExitStack
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as plain

from btpy.api.programs import outline_of
from btpy.output.prometheus.families import names_of
from btpy.output.prometheus.settings import TOKEN_VARIABLE
from tests.certificates import authority, signed
from tests.cli.test_several import told
from tests.live.scripts import program as checked
from tests.live.scripts import waited
from tests.live.test_otlp import run
from tests.live.traffic import called, traffic
from tests.output.otlp.backend import backend
from tests.targets import PATIENCE
from tests.tracer import Tracer

SCRIPT = """Traffic::serve @entry {
    @n = count(); @of[arg0 % 3] = count(); @sizes[arg0 % 2] = hist(arg0); @sum = sum(arg0);
    @by = lhist(arg0, 0, 1000, 100); @st = stats(arg0); @most = max(arg0); @top = topk(arg0 % 2, 3);
}
Traffic::serve @exit { @took = hist(duration) }"""
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def started(
    stack: ExitStack, *arguments: str, environment: dict[str, str] | None = None, address: str = "0"
) -> tuple[Tracer, str]:
    """The run, and the URL of its exposition."""
    tracer = Tracer([*arguments, "--prometheus", address, "--hits", "0", "-f", "ndjson"], environment or {})
    stack.callback(tracer.kill)
    tracer.wait_for("attached_probes")
    told(tracer, "Prometheus can scrape")
    (line,) = [line for line in tracer.stderr if "Prometheus can scrape" in line]
    return tracer, line.partition(" scrape ")[2].partition(",")[0]


def fetched(url: str, **headers: str) -> str:
    request = urllib.request.Request(url, headers={name.replace("_", "-"): text for name, text in headers.items()})
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        text = answer.read().decode()
        assert isinstance(text, str)
        return text


def scraped(url: str, **headers: str) -> Samples:
    """The values by name and labels, without the labels of the target (``service`` and ``pid``)."""
    text = fetched(url, **headers)
    families = openmetrics(text) if text.endswith("# EOF\n") else plain(text)  # type: ignore[no-untyped-call]
    samples: Samples = {}
    for sample in (sample for family in families for sample in family.samples):
        labels = tuple(sorted((name, value) for name, value in sample.labels.items() if name not in ("service", "pid")))
        assert (sample.name, labels) not in samples
        samples[sample.name, labels] = sample.value
    return samples


def summed(samples: Samples, name: str) -> float:
    return sum(value for (labels, _), value in samples.items() if labels == name)


@pytest.mark.parametrize("accept", ["", "application/openmetrics-text; version=1.0.0"], ids=["text", "openmetrics"])
def test_every_call_is_in_the_exposition(accept: str) -> None:
    with traffic() as one, ExitStack() as stack:
        tracer, url = started(stack, str(one.pid), "-e", SCRIPT)
        for calls, total in ((1009, 1009), (503, 1512)):
            called(one, calls)
            samples = scraped(url, Accept=accept)
            assert samples["btpy_n_total", ()] == total
            assert summed(samples, "btpy_of_total") == total
            assert summed(samples, "btpy_sizes_count") == total
            assert samples["btpy_took_seconds_count", ()] == total
            assert samples["btpy_st_count", ()] == total
            assert summed(samples, "btpy_top") == total
            hits = samples["btpy_probe_hits_total", (("outcome", "fired"), ("probe", "serve"))]
            assert hits == total
        assert tracer.stop() == 0
        assert samples["btpy_sum", ()] == samples["btpy_st_sum", ()] == tracer.maps()["sum"]
        assert samples["btpy_most", ()] == tracer.maps()["most"]
        assert any(f"{url}: scraped 2 times" in line for line in tracer.stderr)


def test_buckets_are_those_of_the_numbers() -> None:
    with traffic() as one, ExitStack() as stack:
        tracer, url = started(stack, str(one.pid), "-e", SCRIPT + "Traffic::serve @entry { @each[arg0] = count() }")
        called(one, 1009)
        samples = scraped(url)
        numbers = {int(dict(labels)["arg0"]): n for (name, labels), n in samples.items() if name == "btpy_each_total"}
        assert sum(numbers.values()) == 1009
        buckets = {
            (int(dict(labels)["key1"]), float(dict(labels)["le"])): value
            for (name, labels), value in samples.items()
            if name == "btpy_sizes_bucket"
        }
        assert len(buckets) == 2 * 43
        for (odd, bound), count in buckets.items():
            assert count == sum(n for number, n in numbers.items() if number % 2 == odd and number <= bound)
        linear = {
            float(dict(labels)["le"]): value for (name, labels), value in samples.items() if name == "btpy_by_bucket"
        }
        for bound, count in linear.items():
            assert count == sum(n for number, n in numbers.items() if number <= bound)
        assert tracer.stop() == 0


def test_several_jvms_have_labels_of_their_own() -> None:
    with traffic() as one, traffic(21) as other, ExitStack() as stack:
        tracer, url = started(stack, f"{one.pid},{other.pid}", "-e", SCRIPT)
        waited(lambda: any("tracing 2 JVMs" in line for line in tracer.stderr), "both JVMs")
        called(one, 101)
        called(other, 211)
        counts = {
            sample.labels["pid"]: sample.value
            for family in plain(fetched(url))
            for sample in family.samples
            if sample.name == "btpy_n_total"
        }
        assert counts == {str(one.pid): 101, str(other.pid): 211}
        assert fetched(url).count("# TYPE btpy_n_total counter") == 1
        assert tracer.stop() == 0


def test_a_session_that_was_left_is_scraped_when_it_is_joined() -> None:
    with traffic() as one, ExitStack() as stack:
        result = run(str(one.pid), "-e", SCRIPT, "-x", "--ttl", "5m", "--name", "left", "--budget", "off")
        assert result.returncode == 0, result.stderr
        called(one, 211)
        tracer, url = started(stack, "attach", str(one.pid), "left")
        called(one, 101)
        assert scraped(url)["btpy_n_total", ()] == 312
        assert tracer.stop() == 0
        assert run("stop", str(one.pid), "left").returncode == 0


def test_a_map_that_is_flushed_while_it_is_filled_is_exact() -> None:
    script = "Traffic::serve @entry { @n[arg0 % 5] = count(); } @OnTimer(30ms) { print(flush(@n)) }"
    with traffic() as one, ExitStack() as stack:
        tracer, url = started(stack, str(one.pid), "-e", script)
        for _ in range(5):
            called(one, 211)
            scraped(url)
        waited(lambda: summed(scraped(url), "btpy_n_total") == 1055, "all flushes")
        assert tracer.stop() == 0


def test_beside_an_export_by_otlp() -> None:
    with backend() as receiver, traffic() as one, ExitStack() as stack:
        tracer, url = started(stack, str(one.pid), "-e", SCRIPT, "-o", receiver.url)
        called(one, 503)
        assert scraped(url)["btpy_n_total", ()] == 503
        assert tracer.stop() == 0
        (point,) = receiver.last("btpy.n").sum.data_points
        assert point.as_int == 503


def test_a_token_is_needed_where_it_is_given(tmp_path: Path) -> None:
    token = "0123456789abcdef0123456789abcdef"
    with traffic() as one, ExitStack() as stack:
        tracer, url = started(stack, str(one.pid), "-e", SCRIPT, environment={TOKEN_VARIABLE: token})
        called(one, 7)
        for wrong in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {token}"}):
            with pytest.raises(urllib.error.HTTPError, match="401"):
                fetched(url, **wrong)
        assert scraped(url, Authorization=f"Bearer {token}")["btpy_n_total", ()] == 7
        assert tracer.stop() == 0
        assert not any(token in line for line in tracer.stderr)


def test_a_client_certificate_is_enough_beyond_the_loopback_interface(tmp_path: Path) -> None:
    one_authority, another = authority(tmp_path, "one"), authority(tmp_path, "another")
    server = signed(tmp_path, "server", one_authority)
    files = ("--prometheus-cert-file", str(server.certificate), "--prometheus-key-file", str(server.key))
    clients = ("--prometheus-client-ca-file", str(one_authority.certificate))
    with traffic() as one, ExitStack() as stack:
        tracer, url = started(stack, str(one.pid), "-e", SCRIPT, *files, *clients, address="0.0.0.0:0")
        called(one, 211)
        assert url.startswith("https://0.0.0.0:")
        url = url.replace("0.0.0.0", "127.0.0.1")
        context = ssl.create_default_context(cafile=str(one_authority.certificate))
        errors = (urllib.error.URLError, ssl.SSLError, ConnectionError)
        with pytest.raises(errors):
            urllib.request.urlopen(url, timeout=PATIENCE, context=context)
        wrong, right = signed(tmp_path, "wrong", another), signed(tmp_path, "right", one_authority)
        context.load_cert_chain(wrong.certificate, wrong.key)
        with pytest.raises(errors):
            urllib.request.urlopen(url, timeout=PATIENCE, context=context)
        context.load_cert_chain(right.certificate, right.key)
        with urllib.request.urlopen(url, timeout=PATIENCE, context=context) as answer:
            assert re.search(r"^btpy_n_total\{[^}]*\} 211\.0$", answer.read().decode(), re.MULTILINE)
        assert tracer.stop() == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["0.0.0.0:0"], "without a token"),
        (["[::]:0"], "without a token"),
        (["nine"], r"takes \[HOST:\]PORT"),
        (["70000"], r"takes \[HOST:\]PORT"),
        (["192.0.2.1:9464", "--prometheus-token-file", "TOKEN"], "cannot listen"),
        (["0", "--prometheus-token-file", "OPEN"], "other users can read"),
        (["0", "--prometheus-token-file", "SHORT"], "must have 16 to"),
        (["0", "--prometheus-token-file", "MISSING"], "cannot read"),
        (["0.0.0.0:0", "--prometheus-cert-file", "TOKEN"], "without a token or a client certificate"),
        (["0", "--prometheus-cert-file", "OPEN"], "other users can read the key"),
        (["0", "--prometheus-cert-file", "TOKEN"], "cannot use the certificate in"),
        (["0", "--prometheus-client-ca-file", "TOKEN"], "client-ca-file needs --prometheus-cert-file"),
    ],
)
def test_what_cannot_be_served_is_refused(arguments: list[str], message: str, tmp_path: Path) -> None:
    for name, text, mode in (("TOKEN", "x" * 32, 0o600), ("OPEN", "x" * 32, 0o644), ("SHORT", "x", 0o600)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(mode)
    words = [str(tmp_path / word) if word.isupper() and word.isalpha() else word for word in arguments]
    with traffic() as one:
        result = run(str(one.pid), "-e", SCRIPT, "--prometheus", *words, "--for", "1s")
    assert result.returncode == 2
    assert re.search(message, result.stderr)


def test_names_are_unique_and_valid() -> None:
    outline = outline_of(
        checked(
            """map @n[int "http.route", int "le", int "pid", int "9x", int "http_route"];
        A::b @exit { @n[1, 2, 3, 4, 5] = count(); @probe_hits = count(); @h = hist(duration); @h_seconds_count = max(1);
               @wait_seconds = sum(duration); @bytes = max(1KB); @x_total = count() }"""
        )
    )
    names = names_of(outline, ("service", "pid"))
    by_map = {map_.name: names[map_.id] for map_ in outline.maps}
    assert by_map["n"].labels == ("http_route", "key_le", "key_pid", "key_9x", "http_route_")
    assert by_map["probe_hits"].name == "btpy_probe_hits_"
    assert by_map["h"].name == "btpy_h_seconds"
    assert by_map["h_seconds_count"].name == "btpy_h_seconds_count_"
    assert by_map["wait_seconds"].name == "btpy_wait_seconds"
    assert by_map["x_total"].name == "btpy_x"


def test_without_the_package_the_error_says_how_to_install_it() -> None:
    code = "import sys; sys.modules['prometheus_client'] = None; from btpy.cli.main import main; sys.exit(main())"
    with traffic() as one:
        command = [sys.executable, "-c", code, str(one.pid), "-e", SCRIPT, "--prometheus", "0"]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.returncode == 2
    assert "needs the package prometheus-client" in result.stderr
    assert "pip install 'btpy-jvm-tracer[prometheus]'" in result.stderr
