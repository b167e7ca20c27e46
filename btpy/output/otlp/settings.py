"""The endpoint of an export and how to reach it: the URL of ``-o`` and the standard variables.

Source: OpenTelemetry specification 1.50, "OpenTelemetry Protocol Exporter", "Batch LogRecord Processor", "Batch Span
Processor". A variable for one signal (``OTEL_EXPORTER_OTLP_LOGS_HEADERS``) overrides the variable for all signals
(``OTEL_EXPORTER_OTLP_HEADERS``). A URL with a host overrides both endpoint variables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from btpy.dataclass import dataclass
from btpy.errors import UsageError

SCHEMES = {"otlp": "http", "otlps": "https"}
DEFAULT_PORT = 4318

_PREFIX = "OTEL_EXPORTER_OTLP"
_TIMEOUT = 10.0  # seconds
_PROTOCOL = "http/protobuf"
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, 5.6.2: the characters of the name of a header
_HELP = ("-o otlp://HOST:4318 sends to a Collector", "btpy help otlp tells more")


class Signal(Enum):
    LOGS = "logs"
    METRICS = "metrics"
    TRACES = "traces"


class Temporality(Enum):
    """The way in which counts are sent. CUMULATIVE: since the start; DELTA: since the last report."""

    CUMULATIVE = "cumulative"
    DELTA = "delta"


class Credentials(NamedTuple):
    """Files for TLS. ``authorities``: trusted certificates; None: the trusted certificates of the system.
    ``certificate`` and ``key`` belong to this client, for mutual TLS."""

    authorities: Path | None = None
    certificate: Path | None = None
    key: Path | None = None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The destination of the requests of one signal. ``timeout``: seconds for one request with its answer."""

    url: SplitResult
    headers: tuple[tuple[str, str], ...] = ()
    timeout: float = _TIMEOUT
    gzip: bool = True
    credentials: Credentials = Credentials()

    @property
    def address(self) -> str:
        """The URL without path and credentials, for messages to the user."""
        return f"{self.url.hostname}:{self.port}"

    @property
    def port(self) -> int:
        return self.url.port or (443 if self.url.scheme == "https" else 80)


class Batches(NamedTuple):
    """``delay``: seconds that records wait until a batch is sent. ``queue``: the most records that wait; ``size``: the
    most records of one request."""

    delay: float = 1.0
    queue: int = 1 << 16
    size: int = 4096


@dataclass(frozen=True, slots=True)
class OtlpSettings:
    """``interval``: seconds between two reports of the metrics. ``logs``, ``metrics``, ``traces``: None means the user
    has switched the signal off (``OTEL_LOGS_EXPORTER=none``)."""

    logs: Endpoint | None
    metrics: Endpoint | None
    traces: Endpoint | None
    temporality: Temporality = Temporality.CUMULATIVE
    interval: float = 10.0
    log_batches: Batches = Batches()
    span_batches: Batches = Batches()


def is_export(output: str) -> bool:
    """Whether the value of ``-o`` names an export and not a file."""
    return output.startswith(tuple(f"{scheme}://" for scheme in SCHEMES))


def settings_of(url: str, environment: Mapping[str, str]) -> OtlpSettings:
    """Raises UsageError for a URL or a variable that cannot be used."""
    variables = _Variables(environment)
    protocol = variables.text("PROTOCOL")
    host = _split(url, "-o").netloc
    if not host and protocol not in (None, _PROTOCOL):
        raise UsageError(
            f"{_PREFIX}_PROTOCOL={protocol}: btpy speaks {_PROTOCOL} only",
            help=["name the port for HTTP, which is 4318 in most Collectors: -o otlp://HOST:4318"],
        )
    preference = (variables.text("METRICS_TEMPORALITY_PREFERENCE") or "cumulative").lower()
    if preference not in ("cumulative", "delta", "lowmemory"):
        raise UsageError(
            f"{_PREFIX}_METRICS_TEMPORALITY_PREFERENCE={preference}: it must be cumulative, delta or lowmemory"
        )
    endpoints = {
        signal: None if environment.get(f"OTEL_{signal.name}_EXPORTER") == "none" else _endpoint(url, signal, variables)
        for signal in Signal
    }
    return OtlpSettings(
        endpoints[Signal.LOGS],
        endpoints[Signal.METRICS],
        endpoints[Signal.TRACES],
        Temporality.CUMULATIVE if preference == "cumulative" else Temporality.DELTA,
        _milliseconds(environment, "OTEL_METRIC_EXPORT_INTERVAL", 10.0),
        _batches(environment, "OTEL_BLRP"),
        _batches(environment, "OTEL_BSP"),
    )


def _batches(environment: Mapping[str, str], prefix: str) -> Batches:
    defaults = Batches()
    return Batches(
        _milliseconds(environment, f"{prefix}_SCHEDULE_DELAY", defaults.delay),
        _count(environment, f"{prefix}_MAX_QUEUE_SIZE", defaults.queue),
        _count(environment, f"{prefix}_MAX_EXPORT_BATCH_SIZE", defaults.size),
    )


class _Variables:
    """The variables of all signals, or of one of them."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def text(self, name: str, signal: Signal | None = None) -> str | None:
        """None: the variable is not set, or empty."""
        names = [f"{_PREFIX}_{name}"]
        if signal is not None:
            names.insert(0, f"{_PREFIX}_{signal.name}_{name}")
        return next((value for name in names if (value := self._environment.get(name, "").strip())), None)

    def path(self, name: str, signal: Signal) -> Path | None:
        text = self.text(name, signal)
        return None if text is None else Path(text)


def _endpoint(url: str, signal: Signal, variables: _Variables) -> Endpoint:
    compression = variables.text("COMPRESSION", signal) or "gzip"
    if compression not in ("gzip", "none"):
        raise UsageError(f"{_PREFIX}_COMPRESSION={compression}: it must be gzip or none")
    timeout = variables.text("TIMEOUT", signal)
    return Endpoint(
        _url(url, signal, variables),
        _headers(variables.text("HEADERS", signal)),
        _TIMEOUT if timeout is None else _positive(f"{_PREFIX}_TIMEOUT", timeout) / 1000,
        compression == "gzip",
        Credentials(
            variables.path("CERTIFICATE", signal),
            variables.path("CLIENT_CERTIFICATE", signal),
            variables.path("CLIENT_KEY", signal),
        ),
    )


def _url(url: str, signal: Signal, variables: _Variables) -> SplitResult:
    """The URL to which the requests of the signal are posted."""
    split = _split(url, "-o")
    if split.netloc:
        return _with_path(split, signal)
    endpoint = variables.text(f"{signal.name}_ENDPOINT")
    if endpoint is not None:
        return _split(endpoint, f"{_PREFIX}_{signal.name}_ENDPOINT")  # is used unchanged
    general = variables.text("ENDPOINT")
    if general is not None:
        return _with_path(_split(general, f"{_PREFIX}_ENDPOINT"), signal)
    return _with_path(urlsplit(f"{split.scheme}://localhost:{DEFAULT_PORT}"), signal)


def _with_path(url: SplitResult, signal: Signal) -> SplitResult:
    return url._replace(path=f"{url.path.rstrip('/')}/v1/{signal.value}")


def _split(text: str, name: str) -> SplitResult:
    """The URL with the scheme of HTTP. Raises UsageError. The message does not repeat the text, which may have a
    password.
    """
    try:
        split = urlsplit(text)
        has_port = split.port is not None
    except ValueError as cause:
        raise UsageError(f"{name} is not a valid URL: {str(cause).lower()}", help=_HELP) from None
    if "@" in split.netloc:
        raise UsageError(
            f"{name} has a user name or a password in its URL, where other users of this machine can read it",
            help=[f"use {_PREFIX}_HEADERS='Authorization=Basic …'"],
        )
    if not all("!" <= char <= "~" for char in split.path):
        raise UsageError(f"{name}: the path of a URL must contain only ASCII characters without blanks", help=_HELP)
    if split.query or split.fragment:
        raise UsageError(f"{name}: the URL of an endpoint must not contain ? or #", help=_HELP)
    if split.scheme in SCHEMES:
        netloc = split.netloc if has_port or not split.netloc else f"{split.netloc}:{DEFAULT_PORT}"
        return split._replace(scheme=SCHEMES[split.scheme], netloc=netloc)
    if split.scheme not in SCHEMES.values() or not split.hostname:
        raise UsageError(f"{name} is not a URL such as http://localhost:{DEFAULT_PORT}", help=_HELP)
    return split


def _headers(text: str | None) -> tuple[tuple[str, str], ...]:
    """``key=value,key=value`` with percent escapes (W3C Baggage). Raises UsageError."""
    headers = []
    for pair in (text or "").split(","):
        if not pair.strip():
            continue
        name, equals, value = (part.strip() for part in pair.partition("="))
        value = unquote(value)
        if not equals or not _TOKEN.fullmatch(name) or any(ord(c) < 32 or ord(c) > 255 for c in value):
            raise UsageError(f"{_PREFIX}_HEADERS is not a list such as key=value,key2=value2")
        headers.append((name, value))
    return tuple(headers)


def _milliseconds(environment: Mapping[str, str], name: str, default: float) -> float:
    text = environment.get(name, "").strip()
    return _positive(name, text) / 1000 if text else default


def _count(environment: Mapping[str, str], name: str, default: int) -> int:
    text = environment.get(name, "").strip()
    return _positive(name, text) if text else default


def _positive(name: str, text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) <= 1 << 31:
        raise UsageError(f"{name}={text}: it must be a whole number above 0")
    return int(text)
