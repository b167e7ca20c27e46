"""Two real applications with planted faults: a shop on Spring Boot, and WireMock with an extension."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.jdks import compiled
from tests.probes.stacks import jars
from tests.targets import Target, target
from tests.triage.driving import downstream, load

_JAVA = Path(__file__).parent / "java"
_PATIENCE = 240
"""Seconds until Spring Boot has started on a machine that is too busy."""

_WARM_UP = 5
"""Seconds of load before the triage: in this time the first requests load their classes."""


@dataclass(frozen=True)
class Application:
    """``faults``: the fact that btpy is to find first, by fault."""

    name: str
    faults: Mapping[str, str]


SHOP = Application(
    "shop",
    {
        "smallPool": "pool_waits",
        "leak": "connection_leak",
        "slowSql": "slow_sql",
        "manySql": "repeated_sql",
        "convoy": "lock_waits",
        "exceptions": "exceptions",
        "collections": "gc_calls",
        "slowService": "slow_http_calls",
        "retries": "retries",
        "shortOfThreads": "queued_tasks",
        "smallCache": "cache_misses",
        "logging": "logging",
    },
)
MOCKS = Application(
    "mocks",
    {
        "lock": "lock_waits",
        "deadlock": "deadlock",
        "commonPool": "queued_tasks",
        "names": "dns",
        "slowService": "slow_http_calls",
        "retries": "retries",
        "force": "slow_files",
        "threads": "thread_growth",
        "allocations": "allocations",
        "pattern": "hot_code",
        "rejected": "rejected_tasks",
        "logging": "logging",
    },
)
APPLICATIONS = {application.name: application for application in (SHOP, MOCKS)}

_SPRING = (
    "boot33",
    "spring61",
    "tomcat10",
    "hibernate6",
    "hikari7",
    "h2",
    "jackson2",
    "logback15",
    "caffeine3",
)
_WIREMOCK = ("wiremock313", "okhttp5", "caffeine3")


@contextmanager
def running(
    application: Application, fault: str, directory: Path, *, clients: int = 8, pause: float = 0.04
) -> Iterator[Target]:
    """The application under load. ``fault``: "none" or one of its faults. ``directory``: the directory for its
    files."""
    with downstream() as other:
        service = _shop if application is SHOP else _mocks
        path = _PATHS.get(fault, "/orders/{}")
        with (
            service(fault, directory, other) as (program, port),
            load(port, path, clients=clients, pause=pause),
        ):
            time.sleep(_WARM_UP)
            yield program


@contextmanager
def _shop(fault: str, directory: Path, other: int) -> Iterator[tuple[Target, int]]:
    libraries = jars(*_SPRING)
    classes = compiled(sorted((_JAVA / "shop").glob("*.java")), classpath=libraries, release=17)
    properties = {
        "fault": fault,
        "downstream": other,
        "server.port": 0,
        "spring.datasource.url": "jdbc:h2:mem:shop",
        "spring.datasource.hikari.pool-name": "orders-db",
        "spring.datasource.hikari.maximum-pool-size": 2 if fault == "smallPool" else 60,
        "spring.jpa.hibernate.ddl-auto": "create",
        "spring.jpa.open-in-view": "false",
        "logging.file.name": directory / "shop.log",
        "logging.threshold.console": "OFF",
    }
    with target(
        21,
        "com.acme.shop.Shop",
        *(f"--{name}={value}" for name, value in properties.items()),
        classpath=[classes, *libraries],
        ready=None,
    ) as program:
        yield program, int(program.wait_for("ready", _PATIENCE).split()[1])


@contextmanager
def _mocks(fault: str, directory: Path, other: int) -> Iterator[tuple[Target, int]]:
    libraries = jars(*_WIREMOCK)
    classes = compiled(sorted((_JAVA / "mocks").glob("*.java")), classpath=libraries, release=17)
    hosts = directory / "hosts"  # names are looked up here, and not by the resolver of the machine
    hosts.touch()
    for number, mapping in enumerate(_mappings(fault, other)):
        file = directory / "mappings" / f"{number}.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(mapping), encoding="utf-8")
    with target(
        21,
        "wiremock.Run",
        *("--port", "0", "--root-dir", str(directory), "--extensions", "com.acme.mocks.Prices"),
        *("--max-request-journal-entries", "100", "--disable-banner"),
        classpath=[classes, *libraries],
        flags=[
            f"-Dfault={fault}",
            f"-Ddownstream={other}",
            f"-Ddirectory={directory}",
            f"-Djdk.net.hosts.file={hosts}",
            "-Djava.util.concurrent.ForkJoinPool.common.parallelism=2",
        ],
        ready="port:",
    ) as program:
        line = next(line for line in program.stdout if line.startswith("port:"))
        yield program, int(line.split()[1])


_PATHS = {"pattern": "/orders/{}/" + "a" * 100}
"""The path of the requests of a fault, if it is not the usual path."""


def _mappings(fault: str, other: int) -> Iterator[object]:
    """The stubs of WireMock. Of the stubs that fit a request, WireMock takes the one with the smallest priority."""
    orders = {"method": "GET", "urlPathPattern": "/orders/[0-9]+.*"}
    if fault == "slowService":
        yield {"request": orders, "response": {"proxyBaseUrl": f"http://127.0.0.1:{other}/slow"}}
        return
    if fault == "pattern":  # tries to divide the rest of the path in all ways
        wild = {"method": "GET", "urlPathPattern": "/orders/[0-9]+/(.*)(.*)(.*)(.*);"}
        yield {"priority": 1, "request": wild, "response": {"status": 204}}
    yield {
        "priority": 2,
        "request": orders,
        "response": {"status": 200, "body": "order {{request.path.[1]}} ", "transformers": ["response-template"]},
    }
