"""The name of a service, from the options, the arguments and the environment of real JVMs."""

from __future__ import annotations

import os

import pytest

from btpy.jvm.processes import describe
from btpy.jvm.service import Service, service_of
from tests.jdks import compiled
from tests.live.scripts import JAVA
from tests.targets import target

ENVIRONMENT = {"OTEL_SERVICE_NAME": "by-variable", "OTEL_RESOURCE_ATTRIBUTES": "team=shop,deployment.environment=a%20b"}


@pytest.mark.parametrize(
    ("flags", "arguments", "environment", "service"),
    [
        ([], [], {}, Service("Traffic")),
        (["-Dotel.service.name=by-option"], [], ENVIRONMENT, "by-option"),
        ([], [], ENVIRONMENT, "by-variable"),
        ([], [], {"OTEL_RESOURCE_ATTRIBUTES": "service.name=by-attribute,team=x"}, "by-attribute"),
        (["-Dspring.application.name=spring"], [], {}, "spring"),
        ([], ["--spring.application.name=argument"], {}, "argument"),
        ([], [], {"SPRING_APPLICATION_NAME": "spring-variable"}, "spring-variable"),
        (["-Dspring.application.name=spring"], [], ENVIRONMENT, "by-variable"),
        (["-Dotel.service.name="], [], {}, "Traffic"),
    ],
)
def test_the_service_is_named_as_the_application_names_it(
    flags: list[str], arguments: list[str], environment: dict[str, str], service: Service | str
) -> None:
    classpath = [compiled([JAVA / "Traffic.java"], release=11)]
    env = {**os.environ, **environment}
    with target(17, "Traffic", *arguments, classpath=classpath, flags=flags, env=env) as program:
        process = service_of(describe(program.pid))
        assert process == service or process.name == service


def test_attributes_of_the_resource_are_taken_over() -> None:
    classpath = [compiled([JAVA / "Traffic.java"], release=11)]
    with target(17, "Traffic", classpath=classpath, env={**os.environ, **ENVIRONMENT}) as program:
        attributes = (("team", "shop"), ("deployment.environment", "a b"))
        assert service_of(describe(program.pid)) == Service("by-variable", attributes)
