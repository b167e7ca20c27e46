"""The URL of an export and the standard variables."""

from __future__ import annotations

import pytest

from btpy.errors import UsageError
from btpy.output.otlp.settings import Batches, Endpoint, OtlpSettings, Temporality, is_export, settings_of


def endpoints(settings: OtlpSettings) -> tuple[Endpoint, Endpoint]:
    assert settings.logs is not None
    assert settings.metrics is not None
    return settings.logs, settings.metrics


@pytest.mark.parametrize(
    ("url", "environment", "logs"),
    [
        ("otlp://collector", {}, "http://collector:4318/v1/logs"),
        ("otlp://collector:9999", {}, "http://collector:9999/v1/logs"),
        ("otlps://collector/base/", {}, "https://collector:4318/base/v1/logs"),
        ("otlp://[::1]:4318", {}, "http://[::1]:4318/v1/logs"),
        ("otlp://", {}, "http://localhost:4318/v1/logs"),
        ("otlp://", {"OTEL_EXPORTER_OTLP_ENDPOINT": "https://c:1/x"}, "https://c:1/x/v1/logs"),
        ("otlp://", {"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": "http://c:1/as/is"}, "http://c:1/as/is"),
        ("otlp://collector", {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://other:1"}, "http://collector:4318/v1/logs"),
        ("otlp://", {"OTEL_EXPORTER_OTLP_ENDPOINT": "  "}, "http://localhost:4318/v1/logs"),
    ],
)
def test_a_url_with_a_host_is_stronger_than_the_variables(url: str, environment: dict[str, str], logs: str) -> None:
    assert is_export(url)
    endpoint, metrics = endpoints(settings_of(url, environment))
    assert endpoint.url.geturl() == logs
    if logs.endswith("/v1/logs"):
        assert metrics.url.geturl() == logs.removesuffix("logs") + "metrics"


def test_files_are_no_exports() -> None:
    assert not any(is_export(output) for output in ("otlp", "otlp:", "otlp:/x", "run.btz", "x/otlp://y"))


def test_a_variable_of_one_signal_is_stronger() -> None:
    settings = settings_of(
        "otlp://c",
        {
            "OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Basic%20abc%3D, x-team = shop ,",
            "OTEL_EXPORTER_OTLP_LOGS_HEADERS": "x-only=logs",
            "OTEL_EXPORTER_OTLP_TIMEOUT": "2500",
            "OTEL_EXPORTER_OTLP_METRICS_TIMEOUT": "700",
            "OTEL_EXPORTER_OTLP_COMPRESSION": "none",
            "OTEL_EXPORTER_OTLP_METRICS_COMPRESSION": "gzip",
            "OTEL_EXPORTER_OTLP_CERTIFICATE": "/ca.pem",
            "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": "Delta",
            "OTEL_METRIC_EXPORT_INTERVAL": "250",
            "OTEL_BLRP_SCHEDULE_DELAY": "50",
            "OTEL_BLRP_MAX_QUEUE_SIZE": "17",
            "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE": "5",
            "OTEL_BSP_SCHEDULE_DELAY": "70",
            "OTEL_BSP_MAX_QUEUE_SIZE": "19",
            "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "3",
        },
    )
    logs, metrics = endpoints(settings)
    assert logs.headers == (("x-only", "logs"),)
    assert metrics.headers == (("Authorization", "Basic abc="), ("x-team", "shop"))
    assert (logs.timeout, metrics.timeout) == (2.5, 0.7)
    assert (logs.gzip, metrics.gzip) == (False, True)
    assert str(logs.credentials.authorities) == "/ca.pem"
    assert settings.temporality is Temporality.DELTA
    assert (settings.interval, settings.log_batches) == (0.25, Batches(0.05, 17, 5))
    assert settings.span_batches == Batches(0.07, 19, 3)


def test_lowmemory_is_delta_and_nothing_is_cumulative() -> None:
    name = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE"
    assert settings_of("otlp://c", {name: "lowmemory"}).temporality is Temporality.DELTA
    assert settings_of("otlp://c", {}).temporality is Temporality.CUMULATIVE


@pytest.mark.parametrize(
    ("url", "environment", "message"),
    [
        ("otlp://c:port", {}, "-o is not a valid URL"),
        ("otlp://c:99999", {}, "-o is not a valid URL"),
        ("otlp://[::1", {}, "-o is not a valid URL"),
        ("otlp://me:secret@c", {}, "password in its URL"),
        ("otlp://c/?x=1", {}, "must not contain ? or #"),
        ("otlp://", {"OTEL_EXPORTER_OTLP_ENDPOINT": "c:4318"}, "OTEL_EXPORTER_OTLP_ENDPOINT is not a URL"),
        ("otlp://", {"OTEL_EXPORTER_OTLP_ENDPOINT": "https://"}, "OTEL_EXPORTER_OTLP_ENDPOINT is not a URL"),
        ("otlp://", {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "speaks http/protobuf only"),
        ("otlp://c", {"OTEL_EXPORTER_OTLP_COMPRESSION": "zstd"}, "gzip or none"),
        ("otlp://c", {"OTEL_EXPORTER_OTLP_TIMEOUT": "10s"}, "a whole number above 0"),
        ("otlp://c", {"OTEL_BLRP_MAX_QUEUE_SIZE": "-1"}, "a whole number above 0"),
        ("otlp://c", {"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": "both"}, "cumulative, delta or lowmemory"),
        ("otlp://c", {"OTEL_EXPORTER_OTLP_HEADERS": "token"}, "key=value"),
        ("otlp://c", {"OTEL_EXPORTER_OTLP_HEADERS": "a=b%0d%0aX-Evil: 1"}, "key=value"),
        ("otlp://c", {"OTEL_EXPORTER_OTLP_HEADERS": "two words=b"}, "key=value"),
        ("otlp://c/two words", {}, "without blanks"),
        ("otlp://c/\u00e9", {}, "only ASCII characters"),
    ],
)
def test_unusable_settings_are_refused_before_the_run(url: str, environment: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("?", r"\?")) as error:
        settings_of(url, environment)
    assert "secret" not in str(error.value)


def test_grpc_in_the_environment_does_not_matter_for_a_url_with_a_host() -> None:
    settings = settings_of("otlp://c", {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})
    urls = [endpoint.url.geturl() for endpoint in endpoints(settings)]
    assert urls == ["http://c:4318/v1/logs", "http://c:4318/v1/metrics"]


def test_a_signal_can_be_switched_off() -> None:
    settings = settings_of("otlp://c", {"OTEL_LOGS_EXPORTER": "none"})
    assert settings.logs is None
    assert settings.metrics is not None
    assert settings_of("otlp://c", {"OTEL_METRICS_EXPORTER": "none"}).metrics is None
    assert settings_of("otlp://c", {"OTEL_TRACES_EXPORTER": "none"}).traces is None


def test_the_address_in_messages_has_no_credentials() -> None:
    settings = settings_of("otlp://c:7", {"OTEL_EXPORTER_OTLP_HEADERS": "Authorization=secret"})
    assert {endpoint.address for endpoint in endpoints(settings)} == {"c:7"}
