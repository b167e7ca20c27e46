"""The libraries that look only at the JDK, on programs with a known number of each event, as in ``test_libraries``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.jdks import all_jdks
from tests.probes.test_libraries import classes, columns, run
from tests.targets import target
from tests.tracer import Tracer, tracing


def counts(tracer: Tracer, name: str) -> dict[str, Any]:
    """The entries of a printed map by key. An entry with several figures gives only its count."""
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
        now = "Dying$Broken Dying.stages:94"  # exceptionNow() is younger than JDK 17
        losses, read_counts = ({now: 0}, {now: 1}) if virtual else ({}, {})
        assert columns(tracer, "uncaught.@lost") == {fail: 13 - 5, stage: 17 - 3 - 2 - 2, promise: 11, **losses}
        assert columns(tracer, "uncaught.@read") == {fail: 5, stage: 3 + 2 + 2, **read_counts}
        assert counts(tracer, "promises")["java.lang.IllegalStateException"] == 11
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
        alerts = counts(tracer, "alerts")
        assert alerts.pop("true,certificate_unknown,sun.security.validator.ValidatorException") == 5
        # The client closes the connection at once, so the server may write before it reads the client's alert.
        assert sum(alerts.values()) == 5


@all_jdks
def test_classload(jdk: int) -> None:
    with target(jdk, "DefiningClasses", classpath=classes("DefiningClasses")) as program:
        with tracing(program.pid, "classload") as tracer:
            run(program, tracer)
        assert columns(tracer, "@defined")["DefiningClasses.define:26"] == 7
        assert sum(count for name, count in columns(tracer, "@classes").items() if "Plugin@" in name) == 7
        assert counts(tracer, "again") == {"DefiningClasses$Item": 7 - 1}
        assert counts(tracer, "missing")["com.acme.Missing,DefiningClasses.search:32"] == 13


@all_jdks
def test_futures_and_park(jdk: int, tmp_path: Path) -> None:
    script = tmp_path / "script.bt"
    script.write_text("use btpy.futures as futures;\nuse btpy.park(least=0ns) as park;\n")
    with target(jdk, "Awaiting", classpath=classes("Awaiting")) as program:
        with tracing(program.pid, script) as tracer:
            run(program, tracer)
        assert columns(tracer, "futures.@waits") == {
            "Awaiting.join:61": 13,
            "Awaiting.task:75": 7,
            "Awaiting.giveUp:80": 3,
            "Awaiting.giveUpTask:93": 2,
        }
        assert columns(tracer, "futures.@timeouts") == {"Awaiting.giveUp:80": 3, "Awaiting.giveUpTask:93": 2}
        assert columns(tracer, "futures.@threads") == {"main": 13 + 7 + 3 + 2}
        parks = columns(tracer, "park.@waits")
        assert parks["(nothing) Awaiting.takeABreak:100"] == 5
        assert parks["(nothing) Awaiting.passBy:110"] == 11
        assert parks["Condition Awaiting.poll:104"] >= 11


@all_jdks
def test_work_of_the_jdk(jdk: int, tmp_path: Path) -> None:
    """One program for the libraries whose events are single calls."""
    script = tmp_path / "script.bt"
    script.write_text(
        "use btpy.regex(least=0ns, top=100) as regex;\n"
        'use btpy.serialization(expected="Computing*") as serialization;\n'
        "use btpy.exec(arguments=true) as processes;\n"
        "use btpy.buffers as buffers;\n"
        "use btpy.reflection(top=100, most=1_000_000) as reflection;\n"
        "use btpy.crypto(top=100) as crypto;\n"
        "use btpy.time as times;\n"
        "@OnProbe(processes.ended) { @codes[event.command, event.code] = count(); }\n"
        "@OnProbe(regex.searched) when event.length == 20 { @long[event.pattern] = count(); }\n"
        "@OnProbe(buffers.unmapped) { @unmapped[event.site, event.size] = count(); }\n"
        "@OnProbe(times.zone_changed) { @zones[event.zone] = count(); }\n"
    )
    with target(jdk, "Computing", str(tmp_path / "mapped"), classpath=classes("Computing")) as program:
        with tracing(program.pid, script) as tracer:
            run(program, tracer)
        check_patterns_and_objects(tracer)
        check_processes(tracer)
        check_buffers_and_reflection(tracer)
        check_ciphers_and_dates(tracer)


def check_patterns_and_objects(tracer: Tracer) -> None:
    assert columns(tracer, "regex.@made")["order \\\\d+ .* Computing.patterns:58"] == 31
    assert columns(tracer, "regex.@took")["order \\\\d+ .* Computing.patterns:58"] == 31
    assert tracer.maps()["long"]["(a+)+b"] == 5
    objects = {"read Computing$Order Computing.objects:76": 17}
    writes = {"write Computing$Order Computing.written:92": 13, "write Computing$Broken Computing.written:92": 3}
    assert columns(tracer, "serialization.@took") == {**objects, **writes}
    assert columns(tracer, "serialization.@failed") == {"write Computing$Broken Computing.written:92": 3}
    counts_by_class = {"Computing$Order": 17, "[Ljava.lang.String;": 17}
    assert tracer.maps()["serialization.@classes"] == counts_by_class
    assert tracer.printed().count("unexpected: [Ljava.lang.String;") == 1


def check_processes(tracer: Tracer) -> None:
    starts = {"true Computing.processes:100": 5, "sh Computing.processes:103": 3, "command Computing.processes:107": 2}
    assert columns(tracer, "processes.@start") == starts
    assert columns(tracer, "processes.@failed") == {"command Computing.processes:107": 2}
    assert columns(tracer, "processes.@run") == {"true Computing.processes:100": 5, "sh Computing.processes:103": 3}
    assert set(columns(tracer, "processes.@running").values()) == {0}
    assert tracer.maps()["codes"] == {"true,0": 5, "sh,7": 3}
    starts_of_true = [line for line in tracer.printed() if line.startswith("started: true ")]
    assert [line.split(" (")[0] for line in starts_of_true] == ["started: true --password •••"] * 5


def check_buffers_and_reflection(tracer: Tracer) -> None:
    allocated_buffers, live = columns(tracer, "buffers.@made"), columns(tracer, "buffers.@live")
    freed_buffers, kept_buffers, mapped = (
        f"{kind} Computing.buffers:{line}" for kind, line in (("direct", 118), ("direct", 121), ("mapped", 126))
    )
    assert (allocated_buffers[freed_buffers], allocated_buffers[kept_buffers], allocated_buffers[mapped]) == (11, 2, 8)
    assert (live[freed_buffers], live[kept_buffers], live[mapped]) == (0, 2 * 10_007, 5 * 4099)
    assert counts(tracer, "unmapped") == {f"{mapped},4099": 3}
    calls, lookups = columns(tracer, "reflection.@calls"), columns(tracer, "reflection.@lookups")
    assert calls["String.length Computing.reflection:143"] == 37
    assert calls["ArrayList.<init> Computing.reflection:147"] == 11
    assert lookups["Method Computing.reflection:139"] == 7


def check_ciphers_and_dates(tracer: Tracer) -> None:
    weak = counts(tracer, "crypto.@weak")
    assert (weak["MD5,Computing.ciphers:164"], weak["AES,Computing.ciphers:154"]) == (13, 7)
    requests = columns(tracer, "crypto.@requests")
    assert requests["Cipher AES/CBC/PKCS5Padding Computing.ciphers:159"] == 5
    assert requests["MessageDigest SHA-256 Computing.ciphers:167"] == 3
    ciphers = {"AES Computing.ciphers:156": 7, "AES/CBC/PKCS5Padding Computing.ciphers:161": 5}
    assert columns(tracer, "crypto.@ciphers") == ciphers
    assert columns(tracer, "crypto.@bytes")["NativePRNG Computing.ciphers:171"] == 17 * 19
    assert columns(tracer, "times.@made") == {
        "SimpleDateFormat yyyy-MM-dd Computing.dates:177": 19,
        "DateTimeFormatter HH:mm Computing.dates:180": 11,
    }
    assert columns(tracer, "times.@sleeps") == {"Computing.buffers:130": 1, "Computing.dates:183": 5}
    assert counts(tracer, "zones") == {"Asia/Tokyo": 1}


@all_jdks
def test_exit(jdk: int) -> None:
    with target(jdk, "Leaving", classpath=classes("Leaving")) as program:
        with tracing(program.pid, "exit", "--frames", "3") as tracer:
            program.send()
            program.wait_for("done")
            program.send()
            assert program.wait() == 7
            tracer.wait()
        assert tracer.printed() == [
            *(f"shutdown hook cleaner-{number} added at Leaving.main:8" for number in range(3)),
            "main ends the JVM with code 7",
            "    Leaving.leave:17\n    Leaving.main:13",
        ]


def test_the_end_of_the_last_thread() -> None:
    with target(21, "Leaving", "by itself", classpath=classes("Leaving")) as program:
        with tracing(program.pid, "exit") as tracer:
            program.send()
            program.wait_for("done")
            program.send()
            assert program.wait() == 0
            tracer.wait()
        assert tracer.printed()[3:] == ["the last thread that is no daemon has ended"]
