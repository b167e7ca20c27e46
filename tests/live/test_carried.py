"""``--with``: the thread's context in every event, in each format and in a backend."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import jsonschema
import pytest

from btpy.lang.check.checker import check_source
from btpy.model.carried import carried
from btpy.model.permissions import Permissions
from btpy.model.source import Source
from btpy.model.templates import Slot
from tests.collector import collector
from tests.live.scripts import waited
from tests.live.test_contexts import SDK, program
from tests.live.test_otlp import started
from tests.output.otlp.backend import attributes, backend
from tests.output.test_schema import SCHEMA
from tests.ports import free_port
from tests.targets import Target
from tests.tracer import Tracer, tracing

VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
CALLS = 40
SPANS = 36
WITH = ("--with", "trace,baggage:tenant", "--with", "baggage:token,mdc:userId")
SCRIPT = """SdkSpans::work @entry {
    print(f"work {arg0 ?? "-"} {arg1 ?? "-"}"); emit("seen", expected=arg0, of=arg1, owner=arg2);
}"""


@contextmanager
def traced(directory: Path, *arguments: str) -> Iterator[tuple[Target, Tracer]]:
    script = directory / "script.bt"
    script.write_text(SCRIPT + " SdkSpans::work @return { warn(arg0) }")
    with program(17, "SdkSpans", SDK) as jvm, tracing(jvm.pid, script, *WITH, *arguments) as tracer:
        jvm.send()
        jvm.wait_for("done")
        yield jvm, tracer


def test_ndjson_has_them_as_members(tmp_path: Path) -> None:
    with traced(tmp_path) as (_, tracer):
        tracer.wait_for_printed(CALLS)
        assert tracer.stop() == 0
    for line in tracer.of("printf"):
        _, trace, span = line["data"].split(" ")
        context = line["context"]
        assert (context["trace_id"] or "-") == trace
        assert (context["span_id"] or (span if trace == "-" else "?")) == span
        assert context["mdc.userId"] is None
        assert context["baggage.token"] == "•••"
    for event in tracer.events("seen"):
        assert event["trace_id"] == event["expected"]
        assert event["span_id"] == event["of"]
        assert event["baggage.tenant"] == event["owner"]
        assert event["trace_flags"] in (None, 0, 1)
        assert event["baggage.token"] == "•••"
    assert len(tracer.events("seen")) == CALLS
    warnings = [(line["data"], line["context"]["trace_id"]) for line in tracer.of("warn")]
    assert len(warnings) == CALLS
    assert all(text == str(trace or "null") for text, trace in warnings)
    assert all(VALIDATOR.is_valid(line) for line in tracer.records)


def replayed(recording: Path, form: str, *arguments: str) -> str:
    command = [sys.executable, "-m", "btpy", "replay", str(recording), "-f", form, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def test_text_and_csv_of_a_recording_show_them(tmp_path: Path) -> None:
    recording = tmp_path / "run.btz"
    with program(17, "SdkSpans", SDK) as jvm, ExitStack() as stack:
        tracer = Tracer([str(jvm.pid), "-e", SCRIPT, *WITH, "-o", str(recording)])
        stack.callback(tracer.kill)
        waited(lambda: any("1 probe " in line for line in tracer.stderr), "the probe")
        jvm.send()
        jvm.wait_for("done")
        assert tracer.stop() == 0
    lines = replayed(recording, "text").splitlines()
    work_lines = [line for line in lines if line.startswith("work ")]
    assert len(work_lines) == CALLS
    for line in work_lines:
        _, trace, _, *fields = line.split(" ")
        context = dict(field.split("=", 1) for field in fields)
        assert context["trace_id"] == ("null" if trace == "-" else trace)
        assert context["baggage.token"] == "•••"
        assert list(context) == [
            *("trace_id", "span_id", "trace_flags", "baggage.tenant", "baggage.token", "mdc.userId"),
        ]
    assert sum(line.startswith("seen ") and " trace_id=" in line for line in lines) == CALLS
    ndjson = tmp_path / "run.ndjson"
    ndjson.write_text(replayed(recording, "ndjson"))
    assert replayed(ndjson, "text").splitlines() == lines
    rows = list(csv.DictReader(io.StringIO(replayed(recording, "csv", "--only", "seen"))))
    assert len(rows) == CALLS
    assert [row["trace_id"] for row in rows] == [row["expected"] for row in rows]


@pytest.mark.parametrize("through_collector", [False, pytest.param(True, marks=pytest.mark.proof)])
def test_log_records_belong_to_the_span(tmp_path: Path, through_collector: bool) -> None:
    with backend() as receiver, ExitStack() as stack:
        port = receiver.port
        if through_collector:
            port = free_port()
            stack.enter_context(collector(tmp_path, port, f"http://127.0.0.1:{receiver.port}"))
        one = stack.enter_context(program(17, "SdkSpans", SDK))
        tracer = started(stack, [str(one.pid), "-e", SCRIPT, *WITH, "-o", f"otlp://127.0.0.1:{port}"])
        one.send()
        one.wait_for("done")
        waited(lambda: len(receiver.logs) == 2 * CALLS + 1, "all log records and the warning about the MDC")
        assert tracer.stop() == 0
        records = [record for _, record in receiver.logs if not record.event_name.startswith("btpy.")]
    events = [record for record in records if record.event_name]
    bodies = [record.body.string_value for record in records if not record.event_name]
    assert len(events) == len(bodies) == CALLS
    assert all(len(body.split(" ")) == 3 for body in bodies)
    for record in events:
        fields = attributes(list(record.attributes))
        assert record.trace_id.hex() == (fields.get("expected") or "")
        assert record.span_id.hex() == ((fields.get("of") or "") if record.trace_id else "")
        assert "trace_id" not in fields
        assert fields["baggage.token"] == "•••"
    for record in records:
        if not record.event_name and record.trace_id:
            assert record.body.string_value == f"work {record.trace_id.hex()} {record.span_id.hex()}"
    assert sum(bool(record.trace_id) for record in records) == 2 * SPANS
    assert sum(record.flags == 1 for record in records) == 2 * (SPANS - 2)


def test_fields_that_a_script_names_so_become_those_of_the_log_record() -> None:
    script = """SdkSpans::work @entry { emit("seen", trace_id=arg0, span_id=arg1, trace_flags="01", other=1);
        emit("none", trace_id="no id", span_id="neither"); }"""
    with backend() as receiver, ExitStack() as stack:
        one = stack.enter_context(program(17, "SdkSpans", SDK))
        tracer = started(stack, [str(one.pid), "-e", script, "-o", receiver.url])
        one.send()
        one.wait_for("done")
        waited(lambda: len(receiver.logs) == 2 * CALLS, "all log records")
        assert tracer.stop() == 0
        records = [record for _, record in receiver.logs if record.event_name == "seen"]
        none = [record for _, record in receiver.logs if record.event_name == "none"]
    assert (
        sum(len(record.trace_id) == 16 and len(record.span_id) == 8 and record.flags == 1 for record in records)
        == SPANS
    )
    assert all("trace_id" not in attributes(list(record.attributes)) for record in records)
    assert not any(record.trace_id or record.span_id or record.flags for record in none)
    assert {attributes(list(record.attributes))["trace_id"] for record in none} == {"no id"}


def test_bodies_on_threads_of_btpy_carry_nothing() -> None:
    permissions = Permissions(carried=carried(["trace,mdc:userId"]))
    source = '@OnTimer(1s) { print("tick"); } A::b @entry { print("hit"); }'
    timer, hit = _templates(source, permissions)
    assert timer == []
    assert hit == ["trace_id", "span_id", "trace_flags", "mdc.userId"]


def _templates(source: str, permissions: Permissions) -> list[list[str | None]]:
    checked_program = check_source(Source("test.bt", source), permissions=permissions)
    return [
        [part.label for part in template.parts if isinstance(part, Slot) and part.carried]
        for template in checked_program.templates
    ]
