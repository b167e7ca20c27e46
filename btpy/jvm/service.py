"""The name of an application, read from outside: from its options, its arguments and its environment.

Source: OpenTelemetry specification, "Resource SDK" and "Semantic conventions: service"; names are tried in the order of
the OpenTelemetry Java agent, then Spring's names.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import unquote

from btpy.dataclass import dataclass
from btpy.jvm import procfs
from btpy.jvm.processes import PROC, JvmProcess

_MOST_TEXT = 256  # the maximum number of characters of a name or a value
_MOST_ATTRIBUTES = 64
_NAME, _ATTRIBUTES, _SPRING = "otel.service.name", "otel.resource.attributes", "spring.application.name"
_VARIABLES = {"OTEL_SERVICE_NAME": _NAME, "OTEL_RESOURCE_ATTRIBUTES": _ATTRIBUTES, "SPRING_APPLICATION_NAME": _SPRING}


@dataclass(frozen=True, slots=True)
class Service:
    """``attributes``: the attributes of its OpenTelemetry resource that the application sets."""

    name: str
    attributes: tuple[tuple[str, str], ...] = ()


def service_of(process: JvmProcess) -> Service:
    """The name that the application has for OpenTelemetry or for Spring, else the simple name of its main class."""
    variables = procfs.environment(PROC / str(process.pid))
    settings = {
        **{_VARIABLES[name]: value for name, value in variables.items() if name in _VARIABLES and value},
        **_settings((argument.removeprefix("--") for argument in process.command), (_SPRING,)),
        **_settings((option.removeprefix("-D") for option in process.options), (_NAME, _ATTRIBUTES, _SPRING)),
    }
    attributes = _attributes(settings.get(_ATTRIBUTES, ""))
    name = settings.get(_NAME) or attributes.pop("service.name", "") or settings.get(_SPRING) or process.short_main
    attributes.pop("service.name", None)
    return Service(_text(name), tuple(attributes.items()))


def _settings(assignments: Iterable[str], names: Iterable[str]) -> dict[str, str]:
    """The last value of each of these names."""
    pairs = (assignment.partition("=") for assignment in assignments)
    return {name: value for name, _, value in pairs if name in names and value}


def _attributes(text: str) -> dict[str, str]:
    """``key=value,key=value`` with percent escapes (W3C Baggage)."""
    pairs = (pair.partition("=") for pair in text.split(",")[:_MOST_ATTRIBUTES])
    return {
        _text(name.strip()): _text(unquote(value.strip())) for name, equals, value in pairs if equals and name.strip()
    }


def _text(text: str) -> str:
    return text[:_MOST_TEXT].encode("utf-8", "replace").decode()
