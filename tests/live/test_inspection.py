"""Probes that inspect objects: harmless and allowed calls, casts, depth, secrets, figures of the JVM."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from btpy.engine.session import Session
from btpy.engine.target import Limits
from btpy.errors import ScriptError
from btpy.events.items import Records
from btpy.events.records import ClosedObject, EnumValue, ObjectValue, Withheld
from btpy.lang.check.checker import check_source
from btpy.lang.program import Program
from btpy.model.permissions import Permissions
from btpy.model.source import Source
from btpy.wire.messages import ErrorKind, Errors
from tests.jdks import all_jdks, compiled
from tests.targets import Target, target

JAVA = Path(__file__).parents[1] / "java"
LOOK = "Inspected::look @entry "


def permitted(text: str, *allow: str, redact: bool = True) -> Program:
    return check_source(Source("test.bt", text), permissions=Permissions(frozenset(allow), redact))


@contextmanager
def inspected(jdk: int, *flags: str) -> Iterator[Target]:
    classes = compiled([JAVA / "Inspected.java"], release=11)
    with target(jdk, "Inspected", classpath=[classes], flags=flags) as program:
        yield program


def looked(jvm: Target, program: Program, calls: int = 1) -> tuple[list[tuple[object, ...]], list[tuple[object, str]]]:
    """The values of the records, and the kind and message of each error."""
    with Session.attach(jvm.pid, Limits(redact=program.permissions.redact)) as session:
        session.deployer.load(program)
        jvm.send(str(calls))
        jvm.wait_for("calls ")
        assert session.departure.detach().clean
        records: list[tuple[object, ...]] = []
        errors: list[tuple[object, str]] = []
        for item in session.delivery.items(None):
            if isinstance(item, Records):
                records += [record.values for record in item.records]
            elif isinstance(item, Errors):
                errors += [(failure.kind, failure.message) for failure in item.failures]
        return records, errors


@all_jdks
def test_harmless_methods_of_the_jdk_may_be_called(jdk: int) -> None:
    calls = {
        "arg1.text.length()": 9,
        "arg1.text.substring(5)": "text",
        'arg1.text.indexOf("t")': 5,
        "arg1.decimal.toPlainString()": "12.50",
        "arg1.decimal.doubleValue() + 0.5": 13.0,
        "arg1.uuid.toString()": "00000000-0000-0001-0000-000000000002",
        "arg1.uri.getHost()": "host",
        "arg1.uri.rawQuery": "q=1",
        "arg1.file.getName()": "file.txt",
        "arg1.path.toString()": "/tmp/path",
        "arg1.atomic.get() * 2": 22,
        "arg1.took.toMillis()": 1500,
        "arg1.present.get()": "there",
        "arg1.type.getName()": "java.lang.String",
        "arg1.thread.getName()": "main",
        "arg0.status.name()": "SHIPPED",
        "arg0.status.ordinal()": 1,
        "arg2.length()": 6,
    }
    script = LOOK + "{ " + "".join(f"print({call}); " for call in calls) + "}"
    with inspected(jdk, "-Xverify:all") as program:
        records, errors = looked(program, permitted(script))
    assert dict(zip(calls, (values[0] for values in records), strict=True)) == calls
    assert errors == []


def test_methods_of_the_application_need_permission_and_fire_nothing() -> None:
    nested = "Inspected$Order::getTitle @entry { @titles = count(); print(1); }"
    script = f"{LOOK} {{ print(arg0.getTitle()); print(arg0.pricedAt(3, arg2)); print(arg0.getRefused()); }} {nested}"
    with pytest.raises(ScriptError) as caught:
        permitted(script)
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["BT402"] * 3
    owner = "Inspected.Order"
    allow = [f"call:{owner}.{name}" for name in ("getTitle", "pricedAt", "getRefused")]
    with inspected(17) as program:
        records, errors = looked(program, permitted(script, *allow), 3)
        assert records == [("title 1",), (306,), ("title 2",), (306,), ("title 3",), (306,)]
        assert errors == [(ErrorKind.INTERNAL, "getRefused() threw java.lang.IllegalStateException: not today")]


def test_a_call_on_another_class_than_those_allowed_is_an_error_of_the_firing() -> None:
    with inspected(17) as program:
        records, errors = looked(program, permitted(LOOK + "{ print(1); print(arg1.monitor.getName()); print(2); }"))
    assert records == [(1,)]
    assert errors == [(ErrorKind.NOT_ALLOWED, "getName() may not be called on java.lang.Object")]


def test_casts() -> None:
    script = LOOK + (
        "{ print((arg0 as Inspected.Order).pieces, arg0 as Inspected.Line, arg1.text as java.lang.String,"
        " arg0.pieces as long, (arg1.monitor as java.lang.String) ?? 7); }"
    )
    with inspected(17) as program:
        records, errors = looked(program, permitted(script), 5)
    assert records == [(7, None, "some text", 7, 7)] * 5
    assert errors == [(ErrorKind.BAD_CAST, ""), (ErrorKind.BAD_CAST, "")]


def test_depth_is_chosen_and_secrets_are_hidden() -> None:
    script = (
        LOOK + '{ print(show(arg0, 3)); print(fields(arg0.line, 0), arg0.password, arg2, $token); emit("e", t=arg2);'
        " print(args[2], len(arg2)); print(args); }"
    )
    with inspected(17) as program:
        (values, parts, emitted, numbered, every), _ = looked(program, permitted(script))
        assert isinstance(values[0], ObjectValue)
        members = dict(values[0].fields)
        assert members["password"] is Withheld.REDACTED
        assert isinstance(members["next"], ClosedObject)
        assert isinstance(members["status"], EnumValue)
        assert isinstance(members["line"], ObjectValue)
        assert isinstance(inner := dict(members["line"].fields)["inner"], ObjectValue)
        assert inner.fields == (("deep", 42),)
        assert isinstance(parts[0], ClosedObject)
        assert parts[1:] == (Withheld.REDACTED, Withheld.REDACTED, Withheld.REDACTED)
        assert emitted == (Withheld.REDACTED,)
        assert numbered == (Withheld.REDACTED, 6)
        assert every[2] is Withheld.REDACTED
        (values, parts, emitted, numbered, every), _ = looked(program, permitted(script, redact=False))
        assert isinstance(values[0], ObjectValue)
        assert dict(values[0].fields)["password"] == "hunter2"
        assert parts[1:] == ("hunter2", "s3cret", "s3cret")
        assert (*emitted, *numbered, every[2]) == ("s3cret", "s3cret", 6, "s3cret")


@all_jdks
def test_owners_and_states(jdk: int) -> None:
    script = LOOK + (
        "{ print(owner_name(arg1.lock), owner_name(arg1.monitor), loader_of(arg0), loader_of(arg1.text),"
        " thread_state(arg1.thread), loader); }"
    )
    with inspected(jdk) as program:
        records, errors = looked(program, permitted(script))
    assert records == [("main", None, "app", "boot", "RUNNABLE")]
    assert errors == []


@all_jdks
def test_figures_of_the_jvm(jdk: int, tmp_path: Path) -> None:
    dump = tmp_path / "heap.hprof"
    script = f"""
    @OnBegin {{
      print(heap_used() <= heap_committed() && heap_committed() <= heap_max() && nonheap_used() > 1MB);
      print(gc_count(), gc_time() >= 0ns, thread_count() > 3, deadlocks(), classes_loaded() > 300, classes_unloaded());
      print(uptime() > 0ns, property("java.specification.version"), property("no.such"), environment("NO_SUCH"));
      print(property("my.password"), vm_arguments(), pool_used("no such"), pool_max("Tenured Gen"));
      print_threads(3); print_deadlocks(); print_properties(); print_environment();
      heap_dump("{dump}");
    }}
    Inspected::look @entry {{ print("cpu", cpu_time() > 0ns, allocated() > 0B); }}
    """
    flags = ("-XX:+UseSerialGC", "-Xmx64m", "-Dmy.password=x", "-Dmy.other=y")
    with inspected(jdk, *flags) as program:
        records, errors = looked(program, permitted(script, "heap-dump"))
    assert errors == []
    version = str(jdk)
    assert records[0] == (True,)
    assert records[1][1:5] == (True, True, 0, True)
    assert records[2] == (True, version, None, None)
    assert records[3][0] is Withheld.REDACTED
    assert "-Dmy.password=••• -Dmy.other=y" in str(records[3][1])
    assert records[3][2] is None
    titles = [str(values[0]) for values in records if str(values[0]).startswith('"')]
    assert any(re.fullmatch(r'"main" #\d+ RUNNABLE.*', title) for title in titles)
    assert not any("btpy-" in title for title in titles)
    assert ("my.password", Withheld.REDACTED) in records
    assert ("my.other", "y") in records
    assert dump.read_bytes().startswith(b"JAVA PROFILE")
    assert records[-1] == (True, True)


def test_management_classes_are_loaded_by_scripts_that_ask_for_them_only() -> None:
    with inspected(17) as program:

        def loaded() -> bool:
            command = ["jcmd", str(program.pid), "GC.class_histogram", "-all"]
            result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
            return "java.lang.management.ManagementFactory" in result.stdout

        looked(program, permitted(LOOK + "{ print(heap_used()); print(arg1.text.length()); }"))
        before = loaded()
        looked(program, permitted(LOOK + "{ print(cpu_time()); }"))
        assert (before, loaded()) == (False, True)


def test_two_threads_that_wait_for_each_other_are_printed() -> None:
    classes = compiled([JAVA / "Deadlocked.java"], release=11)
    script = "@OnBegin { print(deadlocks()); print_deadlocks(8); }"
    with target(17, "Deadlocked", classpath=[classes]) as program, Session.attach(program.pid) as session:
        session.deployer.load(permitted(script))
        session.departure.detach()
        records = [
            record.values
            for item in session.delivery.items(None)
            if isinstance(item, Records)
            for record in item.records
        ]
    assert records[0] == (2,)
    titles = sorted(str(values[0]) for values in records[1:])
    assert [re.sub(r"#\d+ |@[0-9a-f]+", "", title) for title in titles] == [
        '"left" BLOCKED on java.lang.Object held by "right"',
        '"right" BLOCKED on java.lang.Object held by "left"',
    ]
