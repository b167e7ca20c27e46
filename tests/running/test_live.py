"""A program that uses many parts of the JDK, with probes on packages that the JVM and btpy itself need."""

from __future__ import annotations

import pytest

from btpy.engine.session import Session
from btpy.events.aggregates import Count
from tests.jdks import all_jdks, compiled
from tests.live.scripts import program
from tests.running.programs import SOURCES
from tests.targets import target

PATIENCE = 300.0
"""Seconds in which the program must end; a program that hangs fails here."""

EXACT = ("Object", "String", "Thread", "ThreadLocal", "Class", "ClassLoader")
"""Classes of java.lang that patterns do not reach."""

PLAIN = """
@OnMethod(class={classes}, location=ENTRY, max=100000) {{ @entered = count(); @by[cls] = count(); }}
@OnMethod(class={classes}, location=EXIT, max=100000) {{ @left = count(); @took = hist(duration); }}
"""

GUARDED = """
@OnMethod(class={classes}, location=ENTRY, max=100000) {{ @entered = count(); @seen[typeof(self)] = count(); }}
@OnMethod(class={classes}, location=RETURN, max=100000) {{ @left = count(); @kinds[method, caller()] = count(); }}
@OnMethod(class={classes}, location=THROW, max=100000) {{ @left = count(); @thrown[typeof(exception)] = count(); }}
"""

PACKAGES = {
    "java.util": '["java.util.*"]',
    "java.util.concurrent": '["java.util.concurrent.**", "java.util.stream.**", "java.util.function.*"]',
    "java.lang": str([f"java.lang.{name}" for name in (*EXACT, "*", "reflect.*", "ref.*")]).replace("'", '"'),
    "io": '["java.io.*", "java.nio.**", "sun.nio.**", "java.net.*", "java.time.**", "java.math.*", "java.text.*"]',
}


def printed(jdk: int) -> list[str]:
    with target(jdk, "JdkStress", "2", "wait", classpath=[compiled([SOURCES / "JdkStress.java"])]) as plain:
        plain.send()
        plain.wait_for("done", PATIENCE)
        return plain.stdout


def check(jdk: int, script: str, allow: tuple[str, ...]) -> int:
    """The number of entries. Every entered method was left, except by threads that still wait."""
    expected = printed(jdk)
    with target(jdk, "JdkStress", "2", "wait", classpath=[compiled([SOURCES / "JdkStress.java"])]) as stress:
        with Session.attach(stress.pid) as session:
            session.deployer.load(program(script), allow=allow, missing="ignore")
            stress.send()
            stress.wait_for("done", PATIENCE)
            maps = {content.map.name: dict(content.entries) for content in session.delivery.snapshot()}
            receipt = session.departure.detach()
        assert receipt.clean, receipt
        stress.send()
        assert stress.wait(PATIENCE) == 0
        assert stress.stdout == expected
        assert stress.stderr == []
    entered = maps["entered"][()]
    assert isinstance(entered, Count)
    return entered.n


def test_concurrency_of_the_jdk() -> None:
    assert check(21, PLAIN.format(classes=PACKAGES["java.util.concurrent"]), ("core",)) > 10_000


@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.parametrize("script", [PLAIN, GUARDED], ids=["plain", "guarded"])
@all_jdks
@pytest.mark.proof
def test_packages_of_the_jdk(jdk: int, script: str, package: str) -> None:
    entered = check(jdk, script.format(classes=PACKAGES[package]), ("core",))
    assert entered > 10_000
