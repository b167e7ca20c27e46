"""A real Prometheus, built from its Go modules into the cache: ``python -m tests.prometheus``.

The version pins all modules; Go checks them against its database of checksums. The build takes three minutes of
processor time.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.jdks import cache, locked
from tests.ports import free_port
from tests.servers import go_server
from tests.targets import PATIENCE

VERSION = "v0.316.0"
"""The version of the Go module; the program calls itself 3.16.0."""


def built() -> Path | None:
    """The path of the program; None if the program is not built and Go is not installed. Raises CalledProcessError."""
    directory = cache() / f"prometheus-{VERSION}"
    program = directory / "prometheus"
    go = shutil.which("go")
    with locked("prometheus"):
        if program.exists() or go is None:
            return program if program.exists() else None
        directory.mkdir(parents=True, exist_ok=True)
        environment = {**os.environ, "GOBIN": str(directory), "CGO_ENABLED": "0"}
        package = f"github.com/prometheus/prometheus/cmd/prometheus@{VERSION}"
        subprocess.run([go, "install", "-tags", "remove_all_sd", package], check=True, env=environment)
        return program


@dataclass(frozen=True)
class Prometheus:
    port: int

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The series of an instant query, each with ``metric`` and ``value`` or ``histogram``. Raises HTTPError."""
        words = urllib.parse.urlencode({"query": expression})
        with urllib.request.urlopen(f"http://{self.address}/api/v1/query?{words}", timeout=PATIENCE) as answer:
            series = json.load(answer)["data"]["result"]
            assert isinstance(series, list)
            return series

    def exemplars(self, expression: str) -> list[dict[str, Any]]:
        """The stored exemplars of the series, each with ``labels`` and ``value``."""
        words = urllib.parse.urlencode({"query": expression, "start": 0, "end": 1 << 32})
        with urllib.request.urlopen(
            f"http://{self.address}/api/v1/query_exemplars?{words}", timeout=PATIENCE
        ) as answer:
            return [exemplar for series in json.load(answer)["data"] for exemplar in series["exemplars"]]

    def number(self, expression: str) -> float:
        """The value of an expression that gives one series; -1 if there is none yet."""
        series = self.query(expression)
        assert len(series) <= 1, series
        return float(series[0]["value"][1]) if series else -1.0


@contextmanager
def prometheus(directory: Path, configuration: str, *options: str) -> Iterator[Prometheus]:
    """A Prometheus that takes OTLP; its data is below ``directory``. Skips without Go."""
    file = directory / "prometheus.yml"
    file.write_text(configuration)
    server = Prometheus(free_port())
    flags = (f"--config.file={file}", f"--storage.tsdb.path={directory / 'data'}", "--web.enable-otlp-receiver")
    address = f"--web.listen-address={server.address}"
    with go_server("a Prometheus", built(), [*flags, address, *options], "ready to receive web requests"):
        yield server


if __name__ == "__main__":
    print(built() or "no Prometheus: its tests are skipped, because Go is not installed")
