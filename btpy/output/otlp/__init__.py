"""Export to OpenTelemetry backends by OTLP over HTTP: records become log records or spans, maps become metrics.

``settings`` reads the endpoint and the ``OTEL_EXPORTER_OTLP_*`` variables, ``resource`` describes the target, ``logs``,
``spans`` and ``metrics`` make messages of OTLP, ``transport`` sends one request, ``exporter`` keeps what has not been
sent yet and repeats what failed, and ``writer`` is the output format that puts them together.

Needs the package ``opentelemetry-proto`` (``btpy[otlp]``).
"""
