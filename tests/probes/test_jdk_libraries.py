"""The libraries that look at the JDK alone: programs with known numbers of each event; as in ``test_libraries``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.jdks import all_jdks
from tests.probes.test_libraries import classes, columns, run
from tests.targets import target
from tests.tracer import Tracer, tracing


def counts(tracer: Tracer, name: str) -> dict[str, Any]:
    """The entries of a map that is printed, by key; for several figures only their count."""
    return {
        key: value["count"] if isinstance(value, dict) else value for key, value in tracer.maps().get(name, {}).items()
    }


@all_jdks
def test_uncaught(jdk: int, tmp_path: Path) -> None:
    script = tmp_path / "script.bt"
    script.write_text(
        "use btpy.uncaught(frames=2) as uncaught;\n"
        "@OnProbe(uncaught.died) { @died[event.name, event.frame] = count(); }\n"
        "@OnProbe(uncaught.failed_by_hand) { @promises[event.type] = count(); }\n"
    )
    virtual = ["virtual"] if jdk >= 21 else []
    with target(jdk, "Dying", *virtual, classpath=classes("Dying")) as program:
        with tracing(program.pid, script) as tracer:
            run(program, tracer)
        die, fail, stage = "Dying$Broken Dying.die:41", "Dying$Broken Dying.fail:45", "Dying$Broken Dying.failStage:49"
        promise = "IllegalStateException Dying.stages:90"
        assert columns(tracer, "uncaught.@died") == {die: 7 + 3 * len(virtual)}
        assert columns(tracer, "uncaught.@lost") == {fail: 13 - 5, stage: 17 - 3 - 2 - 2, promise: 11}
        assert columns(tracer, "uncaught.@read") == {fail: 5, stage: 3 + 2 + 2}
        assert counts(tracer, "promises") == {"java.lang.IllegalStateException": 11}
        assert counts(tracer, "died")["worker-3,Dying.die:41"] == 1
        assert any(line.startswith("worker-6 died of Dying$Broken: the thread ends") for line in tracer.printed())


@pytest.mark.parametrize("jdk", [21, 25], ids=["jdk21", "jdk25"])
def test_virtual_threads(jdk: int) -> None:
    with target(jdk, "Pinning", classpath=classes("Pinning")) as program:
        with tracing(program.pid, "virtual_threads") as tracer:
            run(program, tracer)
        pinned = {"Pinning.initialize:38": 3}
        if jdk < 24:
            pinned["Pinning.inABlock:29"] = 13
        assert columns(tracer, "@pinned") == pinned
        assert sum(line.startswith("pinned for ") for line in tracer.printed()) == 1


@all_jdks
def test_tls(jdk: int, tmp_path: Path) -> None:
    script = tmp_path / "script.bt"
    script.write_text(
        "use btpy.tls as tls;\n"
        "@OnProbe(tls.agreed) { @roles[event.client, event.protocol, event.resumed] = count(); }\n"
        "@OnProbe(tls.failed) { @alerts[event.client, event.alert, typeof(event.error)] = count(); }\n"
    )
    with target(jdk, "Handshaking", classpath=classes("Handshaking")) as program:
        with tracing(program.pid, script) as tracer:
            run(program, tracer)
        assert columns(tracer, "tls.@handshake") == {"localhost": 13 + 8, "(accepted)": 13 + 8}
        assert columns(tracer, "tls.@resumed") == {"localhost": 7, "(accepted)": 7}
        assert columns(tracer, "tls.@failed") == {"localhost": 5, "(accepted)": 5}
        both = ("true", "false")
        assert counts(tracer, "roles") == {
            key: count
            for client in both
            for key, count in (
                (f"{client},TLSv1.3,false", 13),
                (f"{client},TLSv1.2,false", 1),
                (f"{client},TLSv1.2,true", 7),
            )
        }
        refused = counts(tracer, "alerts")
        assert refused.pop("true,certificate_unknown,sun.security.validator.ValidatorException") == 5
        # The client closes the connection at once, so the server may not read its alert before it writes.
        assert sum(refused.values()) == 5


@all_jdks
def test_classload(jdk: int) -> None:
    with target(jdk, "DefiningClasses", classpath=classes("DefiningClasses")) as program:
        with tracing(program.pid, "classload") as tracer:
            run(program, tracer)
        assert columns(tracer, "@defined")["DefiningClasses.define:26"] == 7
        assert sum(count for name, count in columns(tracer, "@classes").items() if "Plugin@" in name) == 7
        assert counts(tracer, "again") == {"DefiningClasses$Item": 7 - 1}
        assert counts(tracer, "missing")["com.acme.Missing,DefiningClasses.search:32"] == 13
