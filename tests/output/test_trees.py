"""The trees of calls, from records of a target that may be hostile."""

from __future__ import annotations

import json
from dataclasses import replace

from btpy.lang.outline import outline_of
from btpy.lang.program import Program
from btpy.model.templates import TemplateKind
from btpy.output.ndjson import NdjsonWriter
from btpy.output.style import Style
from btpy.output.trees import MAX_RUNS, TreeWriter
from tests.output.program import SOURCE, captured, context, probe, record, slot, template

RUN = template(*(slot(at) for at in range(8)), kind=TemplateKind.EMIT, name="run")
ROOT = replace(template(*(slot(at) for at in range(4))), id=1)


def test_a_target_cannot_give_a_call_any_number_of_tasks() -> None:
    with captured() as (stream, output):
        run_context = replace(context(), outline=outline_of(Program(SOURCE, (probe(0, "root"),), (), (RUN, ROOT))))
        writer = TreeWriter(NdjsonWriter(stream, run_context), stream, run_context, Style(), least=0.0, most=None)
        runs = [record(at, 0, 1000 + at, "pool-1", 100, 200 + at, 300 + at, False) for at in range(1, MAX_RUNS + 53)]
        writer.records([*runs, record(5000, None, True, 100, template=1)])
        stream.flush()
        (tree,) = map(json.loads, output().splitlines())
    assert len(tree["data"]["tasks"]) == MAX_RUNS
