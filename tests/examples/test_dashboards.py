"""The dashboards of examples/dashboards: their expressions name metrics that exist, and a real Prometheus answers them.

Grafana itself is not part of the tests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from btpy.api.programs import outline_of
from btpy.lang.check.checker import check_source
from btpy.model.source import Source
from tests.collector import collector_with
from tests.live.scripts import waited
from tests.ports import free_port
from tests.probes.stacks import jars
from tests.probes.test_libraries import classes
from tests.prometheus import Prometheus, prometheus
from tests.targets import Target, target
from tests.tracer import Tracer

DIRECTORY = Path(__file__).parents[2] / "examples" / "dashboards"
SCRIPT = DIRECTORY / "service.bt"
QUICK = {"OTEL_METRIC_EXPORT_INTERVAL": "200"}


def expressions(name: str) -> Iterator[str]:
    """The expressions of all panels of a dashboard, with a value for each variable of Grafana."""
    for panel in json.loads((DIRECTORY / name).read_text())["panels"]:
        for query in panel["targets"]:
            yield query["expr"].replace("$job", ".+").replace("$instance", ".+").replace("$__rate_interval", "1m")


@pytest.mark.parametrize("name", ["probes.json", "service.json"])
def test_a_dashboard_is_complete(name: str) -> None:
    dashboard = json.loads((DIRECTORY / name).read_text())
    assert {variable["name"] for variable in dashboard["templating"]["list"]} == {"source", "job", "instance"}
    identifiers = [panel["id"] for panel in dashboard["panels"]]
    assert len(set(identifiers)) == len(identifiers) >= 4
    for panel in dashboard["panels"]:
        assert panel["title"]
        assert panel["description"].endswith(".")
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24


def test_the_expressions_have_the_names_of_the_script() -> None:
    program = check_source(Source(str(SCRIPT), SCRIPT.read_text()))
    maps = [map_ for map_ in outline_of(program).maps if map_.name and "." not in map_.name]
    metrics = {f"btpy_{map_.name}_nanoseconds" for map_ in maps}
    labels = {re.sub(r"\W", "_", name) for map_ in maps for name in map_.key_names}
    texts = [expression for expression in expressions("service.json") if metrics & set(re.findall(r"\w+", expression))]
    assert texts == list(expressions("service.json"))
    assert {name for text in texts for name in re.findall(r"\bbtpy_\w+", text)} == metrics
    assert {name for text in texts for by in re.findall(r"by \(([^)]*)\)", text) for name in by.split(", ")} - {
        "le"
    } == labels


def exported(stack: ExitStack, program: Target, url: str) -> Tracer:
    tracer = Tracer([str(program.pid), str(SCRIPT), "-o", url, "--hits", "0", "-f", "ndjson"], QUICK)
    stack.callback(tracer.kill)
    tracer.wait_for("attached_probes")
    return tracer


def the_rest(program: Target) -> None:
    program.send()
    program.wait_for("done")


def count(of: Prometheus, metric: str, **labels: str) -> float:
    selected = ", ".join(f'{name}="{value}"' for name, value in labels.items())
    return of.number(f"sum(histogram_count({metric}{{{selected}}}))")


def answers(server: Prometheus, expression: str) -> bool:
    return bool(server.query(expression))


@pytest.mark.proof
def test_prometheus_has_every_request_and_statement_and_answers_each_panel(tmp_path: Path) -> None:
    """The figures come through a Collector, with the configurations from the directory of the dashboards."""
    port = free_port()
    requests, statements, waits = (
        f"btpy_{name}_nanoseconds" for name in ("requests", "statements", "connection_waits")
    )
    with ExitStack() as stack:
        server = stack.enter_context(prometheus(tmp_path, (DIRECTORY / "prometheus.yml").read_text()))
        configuration = (DIRECTORY / "collector.yaml").read_text()
        configuration = configuration.replace("127.0.0.1:4318", f"127.0.0.1:{port}")
        configuration = configuration.replace("127.0.0.1:9090", server.address)
        stack.enter_context(collector_with(tmp_path, configuration))
        web = stack.enter_context(target(17, "HttpServing", classpath=classes("HttpServing")))
        path = classes("Pooling", *jars("h2", "hikari7", "tjdbc11"))
        pools = stack.enter_context(target(21, "Pooling", classpath=path))
        url = f"otlp://127.0.0.1:{port}"
        tracers = [exported(stack, program, url) for program in (web, pools)]
        for program in (web, pools):
            the_rest(program)
        waited(lambda: count(server, requests) == 53 + 11, "all requests")
        assert count(server, requests, http_route="/items/{id}", http_response_status_code="200") == 53
        assert count(server, requests, http_route="/none", http_response_status_code="404") == 11
        waited(lambda: count(server, statements) == 53 + 41, "all statements")
        waited(lambda: count(server, waits) == 78 + 46, "all waits for connections")
        assert count(server, waits, db_client_connection_pool_name="orders") == 78
        for name in ("probes.json", "service.json"):
            for expression in expressions(name):
                if 'outcome="dropped"' in expression or "skipped|limited" in expression:
                    assert server.query(expression) == []  # nothing was lost
                else:
                    waited(partial(answers, server, expression), expression)
        assert [tracer.stop() for tracer in tracers] == [0, 0]
