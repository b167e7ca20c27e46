"""The resource of OTLP: the service, the process and the host that the telemetry describes.

Source: OpenTelemetry semantic conventions 1.37, "Resource".
"""

from __future__ import annotations

import uuid

from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from btpy.distribution import version
from btpy.output.origin import Origin
from btpy.output.otlp.attributes import key_value

_INSTANCES = uuid.UUID(
    "4d63009a-8d0f-11ee-aad7-4c796ed8e320"
)  # the namespace for service.instance.id in the conventions


def resource_of(origin: Origin) -> Resource:
    """The names of ``telemetry.sdk`` are those of btpy: the values come from no SDK of the application."""
    attributes: dict[str, str | int] = {
        "service.name": origin.service,
        "service.instance.id": str(uuid.uuid5(_INSTANCES, origin.instance)),
        "host.name": origin.host,
        "process.pid": origin.pid,
        "process.runtime.name": origin.vm_name,
        "process.runtime.version": origin.java_version,
        **dict(origin.given),
        "telemetry.sdk.name": "btpy",
        "telemetry.sdk.language": "python",
        "telemetry.sdk.version": version(),
    }
    return Resource(attributes=[key_value(name, value) for name, value in attributes.items() if value != ""])
