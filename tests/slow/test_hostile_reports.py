"""The collector of ``btpy slow`` with events that a hostile JVM has made up."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btpy.api.events import Event
from btpy.api.slow import collect, tree_of
from btpy.api.slow.collect import Collector, Report, Wanted
from btpy.cli import slow_report
from btpy.errors import ProtocolError
from btpy.output import chrome_requests
from btpy.output.writer import Clock

MS = 1_000_000
PART: dict[str, object] = {"flow": 7, "kind": "sql", "what": "select", "site": "A.b", "failed": None, "took": 30 * MS}
RUN = {"flow": 7, "number": 1, "by": 0, "tid": 5, "worker": "w", "handed": MS, "began": 2 * MS, "ended": 90 * MS}
SUMS = {f"{kind}_{what}": None for kind in ("sql", "http", "lock", "pool") for what in ("n", "ns")}
REQUEST: dict[str, object] = {
    "flow": 7,
    "what": "GET /",
    "result": "200",
    "took": 100 * MS,
    "began": 0,
    "tid": 3,
    "worker": "main",
    **SUMS,
}
BLOCKED = {"tid": 3, "lock": "L", "id": 1, "site": None, "owner": None, "owner_site": None, "waited": MS, "sampled": MS}
EVENTS: dict[str, dict[str, object]] = {
    "part": PART,
    "run": {**RUN, "running": False},
    "request": REQUEST,
    "fast": {"flow": 7},
    "blocked": BLOCKED,
    "collected": {"took": MS},
}
WANTED = Wanted(over=MS, least=MS, top=3)

values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.text(max_size=8),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
)


def event(name: str, content: Mapping[str, object], nanos: int = 95 * MS) -> Event:
    return Event("event", nanos, "p", 0, name, 3, "main", None, MappingProxyType(content), 1, lambda: "")


def collector() -> Collector:
    return Collector(WANTED.top, Clock(0, 0))


def text_of(collected: Collector) -> list[str]:
    trees = tuple((request, tree_of(request, WANTED.least)) for request in collected.finish())
    report = Report(1.0, 0, 0.0, 0, collected.slow, trees, 0, 0, {})
    list(slow_report.ndjson(report))
    list(chrome_requests.chrome([tree_of(request, WANTED.least, together=False) for request, _ in report.trees]))
    return list(slow_report.text(report, WANTED, unicode=True))


@st.composite
def hostile_events(draw: st.DrawFn) -> Event:
    name = draw(st.sampled_from(list(EVENTS)))
    content = dict(EVENTS[name])
    for key in draw(st.sets(st.sampled_from(list(content)), max_size=3)):
        content[key] = draw(values)
    return event(name, content, draw(st.integers(-(2**63), 2**63 - 1)))


@given(st.lists(hostile_events(), max_size=12))
def test_values_of_any_type_and_size_end_nothing(events: list[Event]) -> None:
    collected = collector()
    for hostile in events:
        with contextlib.suppress(ProtocolError):
            collected.take(hostile)
    text_of(collected)


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("part", "took", "soon"),
        ("part", "kind", "rumour"),
        ("run", "flow", [1]),
        ("run", "by", 4),
        ("request", "took", -1),
        ("request", "tid", 2.5),
        ("fast", "flow", {}),
        ("blocked", "id", True),
        ("collected", "took", None),
    ],
)
def test_such_an_event_is_refused_and_the_request_is_reported(name: str, key: str, value: object) -> None:
    collected = collector()
    collected.take(event("part", PART))
    with pytest.raises(ProtocolError):
        collected.take(event(name, {**EVENTS[name], key: value}))
    collected.take(event("request", REQUEST))
    text = "\n".join(text_of(collected))
    assert "1. 100ms  GET / 200" in text
    assert "30ms  SQL select" in text


def test_a_request_whose_beginning_was_left_out_counts_and_has_no_tree() -> None:
    collected = collector()
    collected.take(event("request", {**REQUEST, "flow": None, "began": None, "tid": None, "worker": None}))
    assert collected.slow == 1
    assert collected.finish() == []


def test_reports_of_requests_that_never_end_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect, "_MOST_OPEN", 1000)
    collected = collector()
    for number in range(1500):
        collected.take(event("run", {**EVENTS["run"], "flow": number}))
    for number in range(1500):
        collected.take(event("part", {**PART, "flow": -number}))
    assert len(collected._open) <= 1001
