"""Exports to OpenTelemetry backends, to Prometheus and to Parquet files."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from btpy.distribution import install_command
from btpy.engine.target import Target
from btpy.errors import UsageError
from btpy.jvm.service import service_of
from btpy.model.secrets import REDACTED, names_secret
from btpy.output.origin import Origin
from btpy.recording.entries import Started

if TYPE_CHECKING:
    from btpy.output.otlp.export import OtlpExport
    from btpy.output.parquet.store import Store
    from btpy.output.prometheus.exposition import Exposition
    from btpy.output.prometheus.settings import ExpositionSettings


def exporter(url: str, environment: Mapping[str, str], *, patient: bool = False) -> OtlpExport:
    """The export to ``otlp://HOST:PORT``, which has not been started yet. ``environment``: the standard variables of
    OTLP.
    ``patient``: a caller that is too fast waits, and no record is lost.

    Raises UsageError for a wrong URL, variable or certificate, and when opentelemetry-proto is not installed.
    """
    try:
        from btpy.output.otlp.export import OtlpExport
    except ImportError as cause:
        raise UsageError(
            "an export by OTLP needs the package opentelemetry-proto",
            help=[install_command("otlp"), "or record with -o run.btz, and replay it where the package is installed"],
        ) from cause
    from btpy.output.otlp.settings import settings_of

    return OtlpExport(settings_of(url, environment), patient=patient)


def store_in(directory: Path) -> Store:
    """The export to Parquet files in a directory, which has not been started yet. Raises UsageError when pyarrow is not
    installed.
    """
    from btpy.output.arrow import load

    load()
    from btpy.output.parquet.store import Store

    return Store(directory)


def exposition_at(settings: ExpositionSettings) -> Exposition:
    """The exposition for Prometheus, which has not been started yet. Raises UsageError for a wrong address, and when
    prometheus-client is not installed.
    """
    try:
        from btpy.output.prometheus.exposition import Exposition
    except ImportError as cause:
        raise UsageError(
            "an exposition for Prometheus needs the package prometheus-client",
            help=[
                install_command("prometheus"),
                "or export by OTLP, which Prometheus takes, too: -o otlp://HOST:9090/api/v1/otlp",
            ],
        ) from cause
    return Exposition(settings)


def origin_of(target: Target, *, redact: bool) -> Origin:
    """A running target. ``redact``: hide the values of attributes that are named like secrets."""
    process = target.process
    service = service_of(process)
    attributes = service.attributes
    return Origin(
        service=service.name,
        instance=f"{socket.gethostname()} {process.pid} {process.start_ticks}",
        host=socket.gethostname(),
        pid=process.pid,
        java_version=target.java_version,
        vm_name=target.vm_name,
        given=tuple((name, REDACTED if redact and names_secret(name) else value) for name, value in attributes),
    )


def recorded_origin(started: Started, host: str | None) -> Origin:
    """The target of a recording. ``host``: the name of the host in a run on several hosts."""
    return Origin(
        service=started.main.rpartition("/")[2] if started.main.endswith(".jar") else started.main.rpartition(".")[2],
        instance=f"{started.pid} {started.wall_nanos}",
        host=host or "",
        pid=started.pid,
        java_version=started.java_version,
        vm_name=started.vm_name,
    )
