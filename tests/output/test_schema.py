"""docs/events.schema.json and docs/events.md describe exactly the written records."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings

from btpy.events.records import Value
from btpy.model.templates import TemplateKind
from btpy.output.ndjson import NdjsonWriter
from tests.events.strategies import VALUES
from tests.generated import examples
from tests.output.program import captured, context, record, slot, template
from tests.recording.runs import finished

DOCS = Path(__file__).parents[2] / "docs"
GOLDEN = Path(__file__).parents[1] / "golden" / "recording" / "every_kind.ndjson"
SCHEMA: dict[str, Any] = json.loads((DOCS / "events.schema.json").read_text())
KINDS = {kind["$ref"].rpartition("/")[2] for kind in SCHEMA["oneOf"]}
VALIDATORS = {
    kind: jsonschema.Draft202012Validator({**SCHEMA["$defs"][kind], "$defs": SCHEMA["$defs"]}) for kind in KINDS
}


def check(line: str) -> str:
    result = json.loads(line)
    VALIDATORS[result["type"]].validate(result)
    return str(result["type"])


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    validator = jsonschema.Draft202012Validator(SCHEMA)
    for line in GOLDEN.read_text().splitlines():
        validator.validate(json.loads(line))


def test_every_record_of_a_run_that_has_every_kind(tmp_path: Path) -> None:
    with finished("-f", "ndjson", "-o", tmp_path / "run.ndjson"):
        pass
    kinds = {check(line) for line in (tmp_path / "run.ndjson").read_text().splitlines()}
    assert kinds == KINDS - {"budget", "tree"}  # this run never exceeds its budget; only btpy trace writes trees


def test_the_schema_refuses_other_records() -> None:
    good = json.loads(GOLDEN.read_text().splitlines()[0])
    for bad in ({**good, "v": 2}, {**good, "more": 1}, {"v": 1, "type": "attached_probes"}):
        with pytest.raises(jsonschema.ValidationError):
            VALIDATORS["attached_probes"].validate(bad)


@given(value=VALUES)
@settings(max_examples=examples(200), deadline=None)
def test_events_of_any_value(value: Value) -> None:
    event = template(slot(0, label="x"), kind=TemplateKind.EMIT, name="e")
    with captured() as (stream, output):
        writer = NdjsonWriter(stream, context(event))
        writer.records([record(value)])
        assert check(output()) == "event"


def test_the_page_is_made_from_the_schema() -> None:
    spec = importlib.util.spec_from_file_location("build_events", DOCS / "build_events.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = module.page(SCHEMA, GOLDEN.read_text().splitlines())
    assert page == (DOCS / "events.md").read_text(), "run python docs/build_events.py"
