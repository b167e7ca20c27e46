"""A real OpenTelemetry Collector, built from its Go modules into the cache: ``python -m tests.collector``.

The versions of the components determine the versions of all modules; Go checks them against its database of checksums.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.jdks import cache, locked
from tests.servers import go_server
from tests.targets import Target

VERSION = "v0.150.0"
PROVIDERS = "v1.56.0"

_MODULES = "go.opentelemetry.io/collector"
_MANIFEST = f"""
dist: {{name: otelcol, output_path: %s, version: {VERSION[1:]}}}
receivers: [{{gomod: {_MODULES}/receiver/otlpreceiver {VERSION}}}]
processors: [{{gomod: {_MODULES}/processor/batchprocessor {VERSION}}}]
exporters:
  - gomod: {_MODULES}/exporter/debugexporter {VERSION}
  - gomod: {_MODULES}/exporter/otlphttpexporter {VERSION}
providers:
  - gomod: {_MODULES}/confmap/provider/fileprovider {PROVIDERS}
  - gomod: {_MODULES}/confmap/provider/envprovider {PROVIDERS}
  - gomod: {_MODULES}/confmap/provider/yamlprovider {PROVIDERS}
"""
_CONFIGURATION = """
receivers: {{otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{port}"}}}}}}}}
processors: {{batch: {{timeout: 50ms}}}}
exporters: {{otlphttp: {{endpoint: "{onward}", compression: gzip}}}}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines:
    logs: {{receivers: [otlp], processors: [batch], exporters: [otlphttp]}}
    metrics: {{receivers: [otlp], processors: [batch], exporters: [otlphttp]}}
"""


def built() -> Path | None:
    """The path of the program; None if the program is not built and Go is not installed. Raises CalledProcessError."""
    directory = cache() / f"collector-{VERSION}"
    program = directory / "otelcol"
    go = shutil.which("go")
    with locked("collector"):
        if program.exists() or go is None:
            return program if program.exists() else None
        sources = directory / "sources"
        sources.mkdir(parents=True, exist_ok=True)
        manifest = directory / "builder.yaml"
        manifest.write_text(_MANIFEST % sources)
        environment = {**os.environ, "GOBIN": str(directory), "CGO_ENABLED": "0"}
        subprocess.run([go, "install", f"{_MODULES}/cmd/builder@{VERSION}"], check=True, env=environment)
        subprocess.run([directory / "builder", "--config", manifest], check=True, env=environment)
        (sources / "otelcol").rename(program)
        shutil.rmtree(sources)
        return program


@contextmanager
def collector(directory: Path, port: int, onward: str) -> Iterator[Target]:
    """A Collector that listens on ``port`` and sends everything to ``onward``, a URL of HTTP. Skips without Go."""
    with collector_with(directory, _CONFIGURATION.format(port=port, onward=onward)) as server:
        yield server


@contextmanager
def collector_with(directory: Path, configuration: str) -> Iterator[Target]:
    """A Collector with a configuration in YAML, which is written to a file in ``directory``. Skips without Go."""
    file = directory / "collector.yaml"
    file.write_text(configuration)
    with go_server("a Collector", built(), ["--config", str(file)], "Everything is ready") as server:
        yield server


if __name__ == "__main__":
    print(built() or "no Collector: its tests are skipped, because Go is not installed")
