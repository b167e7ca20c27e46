"""Counting, sampling and limits in a real JVM: exact results for a prime number of calls."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from btpy.engine.session import Session
from btpy.events.aggregates import Aggregate, Count, Histogram, LinearHistogram, TimeSeries, Total, merge
from btpy.events.estimates import Skips
from btpy.events.items import PrintedMaps
from btpy.events.records import Value
from btpy.events.sketches import Distinct, Examples, First, Last, Top
from btpy.wire.messages import ProbeState
from tests.jdks import all_jdks_and_8
from tests.live.scripts import counted, program

CALLS = 1009
EVERY = 13
CHOSEN = range(EVERY - 1, CALLS, EVERY)  # a countdown from 13 chooses calls 12, 25, …

KINDS = """
@OnMethod(class="Counted", method="step", location=ENTRY)
{
  @linear = lhist(arg1, 0, 1000, 100);
  @percentiles = pctl(arg1, 50, 99);
  @series = tseries(arg1, 1h, 3, "max");
  @top[arg1 % 2] = topk(arg1 % 17, 3);
  @different = distinct(arg1 % 101);
  @first = first(arg0 + ":" + f"{arg1}");
  @last = last(arg1);
  @some = sample_of(arg1, 5);
  @stacks[stack(3)] = count();
}
@OnEnd {
  print(size(@top), len(keys(@top)), has(@top, 1), has(@top, 2), @different, @first, @last);
  table(@top, flush(@stacks), top=5);
}
"""

SAMPLED = f"""
@OnMethod(class="Counted", method="step", location=ENTRY)
@Sample(every={EVERY})
{{ @calls = count(); @sum = sum(arg1); @hist = hist(arg1); emit("hit", n=arg1); }}

@OnMethod(class="Counted", method="step", location=ENTRY)
@Sample(every={EVERY}, key="thread")
{{ @entered[arg1] = count(); }}

@OnMethod(class="Counted", method="step", location=EXIT)
@Sample(every={EVERY}, key="thread")
{{ @left[arg1] = count(); }}
"""

LIMITED = """
@OnMethod(class="Counted", method="step", location=ENTRY)
@Limit(hits=101)
when arg1 % 2 == 1 { @limited = sum(arg1); }

@OnMethod(class="Counted", method="step", location=ENTRY)
{ if arg1 == 503 { disable(); } @until = count(); }

@OnMethod(class="Counted", method="step", location=ENTRY)
@Level(2)
{ @detail = count(); }

@OnMethod(class="Counted", method="step", location=ENTRY)
@Disabled
{ @never = count(); }
"""


def maps(session: Session) -> dict[str, dict[tuple[Value, ...], Aggregate | Value]]:
    return {content.map.name: dict(content.entries) for content in session.delivery.snapshot()}


@all_jdks_and_8
def test_every_kind(jdk: int) -> None:
    with counted(jdk) as target, Session.attach(target.pid) as session:
        session.deployer.load(program(KINDS))
        target.send(f"call {CALLS}")
        target.wait_for("called")
        session.departure.restore()
        map_values = maps(session)
        session.departure.detach()
        items = list(session.delivery.items(None))
    numbers = range(CALLS)
    linear = map_values["linear"][()]
    assert isinstance(linear, LinearHistogram)
    assert linear.counts == (0, *(100,) * 10, 9)
    percentiles = map_values["percentiles"][()]
    assert isinstance(percentiles, Histogram)
    assert (percentiles.n, percentiles.total, percentiles.greatest) == (CALLS, sum(numbers), CALLS - 1)
    at = percentiles.percentile(50)
    assert at is not None
    assert at.low <= 504 <= at.high
    assert (at.high - at.low + 1) / at.low <= 2**-4
    series = map_values["series"][()]
    assert isinstance(series, TimeSeries)
    assert series.n == CALLS
    assert max(value for value in series.values() if value is not None) == CALLS - 1
    for parity in (0, 1):
        top = map_values["top"][(parity,)]
        assert isinstance(top, Top)
        exact = Counter(number % 17 for number in numbers if number % 2 == parity)
        assert {value.value: (value.count, value.error) for value in top.values} == {
            v: (n, 0) for v, n in exact.items()
        }
        assert len(top.shown) == 3
    different = map_values["different"][()]
    assert isinstance(different, Distinct)
    assert abs(different.estimate - 101) <= 3
    first, last = map_values["first"][()], map_values["last"][()]
    assert isinstance(first, First)
    assert isinstance(last, Last)
    assert (first.value, last.value) == ("abc:0", CALLS - 1)
    some = map_values["some"][()]
    assert isinstance(some, Examples)
    assert some.n == CALLS
    assert len(set(some.values)) == 5
    assert map_values["stacks"] == {}, "flushed into the table"
    (print_,) = [item for item in items if isinstance(item, PrintedMaps)]
    assert [content.map.name for content in print_.contents] == ["top", "stacks"]
    ((_, stacks),) = print_.contents[1].entries
    assert stacks == Count(CALLS)
    records = [record for item in items if hasattr(item, "records") for record in item.records]
    (record,) = records
    assert record.values == (2, 2, True, False, different.estimate, "abc:0", CALLS - 1)


@all_jdks_and_8
def test_sampled_probes_weight_their_counts(jdk: int) -> None:
    with counted(jdk) as target, Session.attach(target.pid) as session:
        checked_program = program(SAMPLED)
        assert {map_.name: map_.estimated for map_ in checked_program.maps} == dict.fromkeys(
            ("calls", "sum", "hist", "entered", "left"), str(EVERY)
        )
        session.deployer.load(checked_program)
        target.send(f"call {CALLS}")
        target.wait_for("called")
        session.departure.restore()
        map_values = maps(session)
        receipt = session.departure.detach()
        items = list(session.delivery.items(None))
    assert receipt.clean
    weight = EVERY * len(CHOSEN)
    skips = Skips(skipped=CALLS - len(CHOSEN), factor=EVERY, pending=CALLS - weight, rested_ns=0)
    calls, total = map_values["calls"][()], map_values["sum"][()]
    assert isinstance(calls, Count)
    assert isinstance(total, Total)
    assert calls.weights is not None
    assert calls.weights.skips == skips
    assert replace(calls, weights=None) == Count(weight)
    assert replace(total, weights=None) == Total(weight, EVERY * sum(CHOSEN), 0.0)
    hist = map_values["hist"][()]
    assert isinstance(hist, Histogram)
    assert (hist.n, hist.total) == (weight, EVERY * sum(CHOSEN))
    assert {key: value.n for key, value in map_values["entered"].items() if isinstance(value, Count)} == {
        (number,): EVERY for number in CHOSEN
    }
    assert map_values["left"] == map_values["entered"], "what a thread decides at entry holds until the method is left"
    values = [record.values for item in items if hasattr(item, "records") for record in item.records]
    assert values == [(number,) for number in CHOSEN]
    accounts = receipt.accounts
    assert [account.fired for account in accounts] == [len(CHOSEN)] * 3
    assert accounts[0].skipped == CALLS - len(CHOSEN)
    assert (accounts[0].produced, accounts[0].delivered, accounts[0].dropped) == (len(CHOSEN), len(CHOSEN), 0)


@all_jdks_and_8
def test_limits_and_levels(jdk: int) -> None:
    with counted(jdk) as target, Session.attach(target.pid) as session:
        session.deployer.load(program(LIMITED), level=1)
        target.send(f"call {CALLS}")
        target.wait_for("called")
        session.agent.level(2)
        target.send(f"call {CALLS}")
        target.wait_for("called")
        session.agent.level(1)
        target.send("call 7")
        target.wait_for("called")
        session.departure.restore()
        map_values = maps(session)
        receipt = session.departure.detach()
        list(session.delivery.items(None))
    assert map_values["limited"] == {(): Total(101, sum(range(1, 202, 2)), 0.0)}
    assert map_values["until"] == {(): Count(504)}, "the firing that disables the probe goes on"
    assert map_values["detail"] == {(): Count(CALLS)}
    assert map_values["never"] == {}
    assert [account.fired for account in receipt.accounts] == [101, 504, CALLS, 0]
    states = [ProbeState.HITS_USED_UP, ProbeState.DISABLED_ITSELF, ProbeState.OFF, ProbeState.OFF]
    assert [account.state for account in receipt.accounts] == states


def test_flushes_of_a_timer_take_every_sample_once() -> None:
    script = """
    @OnMethod(class="Counted", method="step", location=ENTRY) { @n[arg1 % 7] = count(); }
    @OnTimer(5ms) { print(flush(@n)); }
    """
    with counted(17) as target, Session.attach(target.pid) as session:
        session.deployer.load(program(script))
        for _ in range(3):
            target.send(f"call {CALLS}")
            target.wait_for("called")
        session.departure.restore()
        rest = session.delivery.snapshot()
        session.departure.detach()
        contents = [item.contents[0] for item in session.delivery.items(None) if isinstance(item, PrintedMaps)]
    assert len(contents) > 1
    assert dict(merge([*contents, *rest]).entries) == {
        (key,): Count(3 * sum(number % 7 == key for number in range(CALLS))) for key in range(7)
    }


LOOKED_UP = """
@OnMethod(class="Counted", method="step") { @by_object[self] = count(); @by_name[arg0, method] = count(); }
@OnMethod(class="java.lang.Class", method="getName") { @named[caller()] = count(); }
"""


def test_looking_for_a_key_fires_no_probe() -> None:
    """The handler of ``step`` does not guard against reentry. For a key that is an object, btpy calls
    ``Class.getName``.
    """
    with counted(17) as target, Session.attach(target.pid) as session:
        session.deployer.load(program(LOOKED_UP), allow=("core",))
        target.send(f"call {CALLS}")
        target.wait_for("called")
        maps = {content.map.name: dict(content.entries) for content in session.delivery.snapshot()}
    assert list(maps["by_object"].values()) == [Count(CALLS)]
    assert list(maps["by_name"].items()) == [(("abc", "step"), Count(CALLS))]
    assert not [caller for (caller,) in maps["named"] if "btpy" in str(caller)]
