"""Export to OpenTelemetry backends by OTLP over HTTP: records become log records or spans, maps become metrics.

``settings`` reads the endpoint and the ``OTEL_EXPORTER_OTLP_*`` variables, ``resource`` describes the target, ``logs``,
``spans`` and ``metrics`` make messages of OTLP, ``transport`` sends one request, ``exporter`` keeps unsent records and
repeats failed requests, and ``writer`` is the output format that uses all of them.

Needs the package ``opentelemetry-proto`` (``btpy[otlp]``).
"""
