"""The trees of calls, from records of a target that may be hostile."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from btpy.events.call_tasks import MAX_RUNS
from btpy.events.calltree import MAX_DEPTH
from btpy.events.records import CutString, Record, Value, Withheld
from btpy.lang.outline import outline_of
from btpy.lang.program import Program
from btpy.model.templates import TemplateKind
from btpy.output.chrome import ChromeWriter
from btpy.output.ndjson import NdjsonWriter
from btpy.output.style import Style
from btpy.output.trees import TreeWriter
from btpy.output.writer import Writer
from tests.output.program import SITE, SOURCE, Place, captured, context, probe, record, slot, template

RUN = template(*(slot(at) for at in range(9)), kind=TemplateKind.EMIT, name="run")
ROOT = replace(template(*(slot(at) for at in range(5))), id=1)
CALL = replace(template(*(slot(at) for at in range(2))), id=2, probe=1)
CONTEXT = replace(
    context(sites={SITE: Place(), SITE + 1: Place(target_class="com.acme.shop.PricingEngine", member="quote")}),
    outline=outline_of(Program(SOURCE, (probe(0, "root"), probe(1, "calls0")), (), (RUN, ROOT, CALL))),
)
FLOW, OTHER_FLOW = 11, 13


def run(number: int, flow: int = FLOW, by: int = 0, tid: int = 1000) -> Record:
    return record(flow, number, by, tid + number, "pool-1", 100, 200 + number, 300 + number, False)


def root(flow: Value = FLOW, took: Value = 5000, end: Value = 5100) -> Record:
    return record(took, None, True, end, flow, template=1)


def call(took: int, nanos: int) -> Record:
    return record(took, None, template=2, site=SITE + 1, nanos=nanos)._replace(probe=1)


def drawn(records: Sequence[Record]) -> tuple[list[dict[str, Any]], TreeWriter]:
    """The trees of these records in JSON, and the writer that wrote them."""
    with captured() as (stream, output):
        writer = TreeWriter(NdjsonWriter(stream, CONTEXT), stream, CONTEXT, Style(), least=0.0, most=None)
        writer.records(records)
        stream.flush()
        trees = [json.loads(line)["data"] for line in output().splitlines()]
    return trees, writer


def test_a_target_cannot_give_a_call_any_number_of_tasks() -> None:
    (tree,), writer = drawn([*(run(number) for number in range(1, MAX_RUNS + 53)), root()])
    assert len(tree["tasks"]) == MAX_RUNS
    assert writer.tasks_left_out == 52


def test_tasks_of_a_call_whose_record_was_lost_are_left_out() -> None:
    """They neither stand below the next call of the thread nor take the place of its tasks."""
    lost = [run(number) for number in range(1, MAX_RUNS + 1)]
    (next_tree, later_tree), writer = drawn([*lost, run(1, OTHER_FLOW), root(OTHER_FLOW), root(17)])
    assert len(next_tree["tasks"]) == 1
    assert "tasks" not in later_tree
    assert writer.tasks_left_out == MAX_RUNS
    (tree,), writer = drawn([*lost, root(OTHER_FLOW)])
    assert "tasks" not in tree
    assert writer.tasks_left_out == MAX_RUNS


def test_a_chain_of_tasks_may_be_as_long_as_a_call_may_have_tasks() -> None:
    """Each task hands over the next one."""
    (tree,), writer = drawn([*(run(number, by=number - 1) for number in range(1, MAX_RUNS + 1)), root()])
    depth = 0
    while tree.get("tasks"):
        (tree,) = tree["tasks"]
        depth += 1
    assert depth == MAX_RUNS
    assert writer.merged.roots[0].times == 1


def test_calls_inside_of_each_other_are_drawn_down_to_a_depth() -> None:
    """A method that calls itself 3,001 times."""
    (tree,), writer = drawn([*(call(2 * at, 10_000 + at) for at in range(3001)), root(None, 9000, 14_000)])
    depth = 0
    while tree["calls"]:
        (tree,) = tree["calls"]
        depth += 1
    assert depth == MAX_DEPTH
    assert writer.calls_left_out == 3001 - MAX_DEPTH


def test_a_root_call_without_a_flow_has_a_tree() -> None:
    """The budget skipped the probe that begins the flow."""
    (tree,), _ = drawn([root(None, 500)])
    assert tree["took"] == 500


def test_the_calls_of_a_task_that_goes_on_end_with_the_root_call() -> None:
    task = record(FLOW, 1, 0, 1001, "pool-1", 9810, 9820, 99_000, True)
    calls = [call(took, nanos)._replace(tid=1001) for took, nanos in ((10, 9990), (11, 10_500))]
    (tree,), _ = drawn([task, *calls, root(took=200, end=10_000)])
    assert [[inner["took"] for inner in task["calls"]] for task in tree["tasks"]] == [[10]]


def test_records_that_cannot_be_read_are_counted() -> None:
    cut = record(FLOW, 1, 0, 5, CutString("pool", 9000), 100, 200, 300, False)
    wrong = [
        record(*cut.values, 7),
        record(*cut.values[:-1], None),
        record(*cut.values[:-1], 3),
        record(*("no number" if at == 3 else value for at, value in enumerate(cut.values))),
        record(*(Withheld.REDACTED if at == 4 else value for at, value in enumerate(cut.values))),
        run(2, by=2),
        root(took=-1),
        root(took=True),
        root(end=1.5),
        root()._replace(site=77),
        call(1, 1)._replace(values=(1,)),
    ]
    (tree,), writer = drawn([cut, *wrong, root()])
    errors = writer.errors()
    assert errors is not None
    assert [error.probe for error in errors.failures] == [0] * 10 + [1]
    assert errors.failures[0].message == "a record that cannot be read: 10 values instead of 9"
    assert writer.errors() is None
    assert [task["thread"] for task in tree["tasks"]] == ["pool"]


numbers = st.integers(-3, 9) | st.integers(-(2**63), 2**63 - 1)
values = st.none() | st.booleans() | numbers | st.floats() | st.text(max_size=3) | st.just(Withheld.UNREADABLE)
runs = st.builds(
    lambda *values: record(*values),
    *(numbers,) * 4,
    st.sampled_from(["a-1", "a-2", "b"]),
    *(numbers,) * 3,
    st.booleans(),
)
hostile = (
    runs
    | st.builds(root, numbers, numbers, numbers)
    | st.builds(call, numbers, numbers)
    | st.builds(
        lambda template, values, site: record(*values, template=template, site=site)._replace(probe=template // 2),
        st.integers(0, 2),
        st.lists(values, max_size=11),
        st.sampled_from([SITE, SITE + 1, 0]),
    )
)


@given(st.lists(hostile, max_size=23))
def test_any_records_end_in_trees_or_errors(records: list[Record]) -> None:
    drawn(records)
    with captured() as (stream, output):
        for inner in (NdjsonWriter(stream, CONTEXT), ChromeWriter(stream, CONTEXT)):
            writer = TreeWriter(inner, stream, CONTEXT, Style(), least=0.0, most=None)
            writer.records(records)
        text = TreeWriter(Writer(), stream, CONTEXT, Style(), least=0.0, most=None)
        text.records(records)
        text.draw()
        stream.flush()
        output()
