from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from btpy.api.session import Deployment, Matching, Target
from btpy.engine.receipt import Receipt
from btpy.events.accounts import NOTHING_DROPPED, Cause, Cost, ProbeAccount
from btpy.jvm.processes import JvmProcess
from btpy.lang.check.checker import check_source
from btpy.lang.check.maps import filled_maps
from btpy.lang.link.libraries import Libraries
from btpy.model.diagnostics import Diagnostic, Label, render
from btpy.model.points import Point
from btpy.model.source import Source, Span
from btpy.output.failures import probe_error
from btpy.output.writer import ProbeError, ProbeReport, Restraint
from btpy.plan.plan import Site
from btpy.present.report import (
    Summary,
    accounts,
    banner,
    refusal_reasons,
    restraint_words,
    script_reasons,
    silent,
    summary_lines,
    unaccounted,
)
from btpy.wire.messages import ErrorKind, NotRestored

_NO_COST = Cost()
LEFT = Receipt(woven=4, restored=4, unloaded=0)
PROCESS = JvmProcess(31337, 0, 0, "me", "OrderApp", "", (), "17.0.15", "", "", 0, 31337, Path("/"), None)
TARGET = Target(31337, "OrderApp", "17.0.15", "", 0, 0, 0, "", PROCESS)


def deployed(script: str, where: Sequence[tuple[str, str]], weave_ns: int = 0) -> Deployment:
    """The report of a probe with a place in each of these methods."""
    program = check_source(Source("a.bt", script))
    sites = tuple(Site(at, 0, Point.ENTRY, name, method, "()V", 0) for at, (name, method) in enumerate(where))
    return Deployment(program, Matching(0, (), (), (), {}), sites, (), (), 1, 0, weave_ns, 0, 0)


def _report(
    probe: str,
    methods: int,
    firings: int,
    produced: int = 0,
    delivered: int = 0,
    *,
    dropped_by: Mapping[Cause, int] = NOTHING_DROPPED,
    cost: Cost = _NO_COST,
    skips: int = 0,
    limited: int = 0,
    untrue: int | None = None,
    rested_ns: int = 0,
    withheld: int = 0,
    conditional: bool = False,
    sampling: str = "",
    restraints: int = 0,
) -> ProbeReport:
    account = ProbeAccount(
        0,
        firings,
        skips,
        limited,
        produced=produced,
        delivered=delivered,
        dropped_by={**NOTHING_DROPPED, **dropped_by},
        cost=cost,
        untrue=untrue,
        rested_ns=rested_ns,
    )
    return ProbeReport(
        probe,
        account,
        methods,
        sampling=sampling,
        conditional=conditional,
        withheld=withheld,
        restraints=restraints,
    )


def test_the_banner() -> None:
    three = "A::f @entry { @n = count(); } A::g @entry { @n = count(); } A::h @entry { @n = count(); }"
    where = [(name, method) for name in "ABCD" for method in ("f", "g")][:7]
    assert banner(deployed(three, where, weave_ns=41_200_000), TARGET) == (
        "btpy: 3 probes → 7 methods in 4 classes of OrderApp (31337): 7 places, retransformed in 41 ms. Ctrl-C to end."
    )
    one = "A::f @entry { @n = count(); }"
    assert banner(deployed(one, []), TARGET, end="") == (
        "btpy: 1 probe of classes that are not loaded yet in OrderApp (31337)."
    )
    assert banner(deployed(one, []), TARGET, refused=2, end="") == (
        "btpy: 1 probe of classes that cannot be traced in OrderApp (31337): 2 refused."
    )
    assert banner(deployed("@OnTimer(1s) { exit(0); }", []), TARGET) == (
        "btpy: 1 probe in OrderApp (31337), without changes to its methods. Ctrl-C to end."
    )
    assert "1 method in 1 class of" in banner(deployed(one, [("A", "f")]), TARGET)
    assert banner(deployed(one, [("A", "f")] * 4, weave_ns=1), TARGET, nanos=(12, 2144), refused=1).startswith(
        "btpy: 1 probe → 1 method in 1 class of OrderApp (31337): 4 places, about 12 to 2 144 ns a firing once"
        " compiled, microseconds before, 1 refused, "
    )


def test_a_run_without_loss() -> None:
    tally = _report("slow_quote", 2, 1, produced=12_408, delivered=12_408)
    assert summary_lines(Summary((tally,), LEFT, 72.9)) == [
        "events 12 408 shown, 0 lost · 12 408 produced = 12 408 delivered + 0 dropped",
        "classes restored 4/4 · ran 00:01:12",
    ]


def test_costs_of_probes() -> None:
    cost = Cost(timed=1_012, mean=212.3, error=3.6, p99=1_900, cpu=40_000_000)
    tally = _report("slow_quote", 2, 188_413, 0, 0, cost=cost)
    assert summary_lines(Summary((tally,), LEFT, 10))[1] == (
        "probe cpu 0.4 % of one core, mean of all firings 212 ns (p99 1.9 us) · classes restored 4/4 · ran 00:00:10"
    )
    assert accounts([tally], all_=True) == [
        "slow_quote: 188 413 fired · mean 212 ns ± 8 ns a firing (p99 1.9 us) by 1 012 measurements"
    ]
    other = _report("b", 1, 1, 0, 0, cost=Cost(timed=1, mean=5.0, p99=5, cpu=5))
    assert summary_lines(Summary((tally, other), LEFT, 10))[1].startswith("probe cpu 0.4 % of one core · classes")
    assert summary_lines(Summary((other,), LEFT, 10))[1].startswith(
        "probe cpu <0.1 % of one core, mean of all firings 5 ns"
    )


def test_a_probe_that_was_not_hit_is_explained_elsewhere() -> None:
    hit, silent_one = _report("a", 1, 7, 0, 0), _report("b", 1, 0, 0, 0)
    assert accounts([hit, silent_one], all_=True) == ["a: 7 fired"]
    assert accounts([replace(silent_one, errors=2)], all_=True) == ["b: 0 fired · 2 errors"]
    filled = {"a": "@n", "b": "@m"}
    assert summary_lines(Summary((hit, silent_one), LEFT, 1, fillers=filled))[0] == "7 firings into @n"
    assert summary_lines(Summary((silent_one,), LEFT, 1, fillers=filled))[0] == "0 firings into @m"


def test_steps_of_the_budget_have_their_reason_and_remedy() -> None:
    sampled = Restraint("quote", "sampled", 1024, 0.223, 0.02)
    assert restraint_words(sampled) == (
        "budget: probes took 22.3 % of one core, 2 % are allowed: quote fires for one hit in 1 024, and its maps show"
        " estimates (--budget 10% or --budget off allows more; `when`, @Sample or fewer methods take less)"
    )
    assert restraint_words(replace(sampled, taken=0.001)).startswith("budget: there is room again: quote fires for")
    assert "quote makes at most 200 events a second" in restraint_words(replace(sampled, step="prints-less"))
    assert "quote is disabled for some seconds" in restraint_words(replace(sampled, step="disabled"))
    assert "quote is taken out" in restraint_words(replace(sampled, step="taken-out"))
    assert restraint_words(replace(sampled, step="free")) == "budget: quote is no longer restrained"


def test_the_receipt_lists_classes_that_stay_woven() -> None:
    receipt = Receipt(1, 1, 0, handler_classes=2, agent_classes=60)
    assert summary_lines(Summary((), receipt, 1))[1] == (
        "classes restored 1/1 · 62 idle agent classes remain · ran 00:00:01"
    )


def test_every_loss_is_named_with_its_cause() -> None:
    one = _report("a", 1, 1, produced=120, delivered=100, dropped_by={Cause.RING: 15, Cause.LARGE: 5})
    two = _report("b", 1, 1, produced=1_010, delivered=1_000, dropped_by={Cause.RING: 7, Cause.STALLED: 3})
    receipt = Receipt(5, 3, 1, (NotRestored("com.acme.A", "another agent changed it"),), ("a timer thread",))
    lines = summary_lines(Summary((one, two), receipt, 3_600, {"@sites": 312}, {"lib.@seen": 1}, errors=2))
    assert lines == [
        "events 1 100 shown, 22 lost (buffer full), 5 lost (too large), 3 lost (stalled)"
        " · 1 130 produced = 1 100 delivered + 30 dropped · 2 probe errors · map @sites full: 312 samples dropped"
        " · map lib.@seen: 1 key evicted",
        "classes restored 3/4 · 1 unloaded meanwhile · left behind: a timer thread · ran 01:00:00",
        "not restored: com.acme.A: another agent changed it",
    ]
    assert unaccounted((one, two)) == []


def test_events_that_hits_kept_back_are_counted() -> None:
    tally = _report("a", 1, 1, produced=130, delivered=130, withheld=30)
    assert summary_lines(Summary((tally,), LEFT, 1))[0] == (
        "events 100 shown, 30 after the limit, 0 lost · 130 produced = 130 delivered + 0 dropped"
    )


def test_records_that_do_not_add_up_are_not_kept_quiet() -> None:
    assert unaccounted([_report("a", 1, 1, produced=10, delivered=7, dropped_by={Cause.RING: 2})]) == [
        "a: 10 produced, but 7 shown and 2 lost"
    ]


def test_a_target_that_has_gone() -> None:
    lines = summary_lines(Summary((), None, 1))
    assert lines[1] == "the target ended before its classes were restored · ran 00:00:01"


def test_a_connection_that_ended_before_its_target() -> None:
    assert summary_lines(Summary((), None, 1, exited=True))[1] == "the target has exited · ran 00:00:01"
    lines = summary_lines(Summary((), None, 1, alive=True))
    assert lines[1] == "the connection was lost: the agent restores the classes by itself · ran 00:00:01"


def test_why_a_probe_was_silent() -> None:
    tallies = [
        _report("heard", 3, 1, 1, 1),
        _report("timer", -1, 0, 0, 0),
        _report("late", 0, 0, 0, 0),
        _report("one", 1, 0, 0, 0),
        _report("two", 2, 0, 0, 0, conditional=True),
        _report("many", 9, 0, 0, 0, conditional=True, untrue=0),
        _report("picky", 9, 0, 0, 0, conditional=True, untrue=1000),
        _report("few", 1, 0, 0, 0, skips=41, sampling="1:100", limited=3),
        _report("off", 1, 0, 0, 0),
    ]
    assert silent(tallies, {"off": "it is disabled (@Disabled)", "timer": "its 5s had not passed"}) == [
        "timer: 0 hits: its 5s had not passed",
        "late: 0 hits: no class with a matching method was loaded",
        "one: 0 hits: matched 1 method; it was not called while attached"
        " (a call that began earlier continues without probes)",
        "two: 0 hits: matched 2 methods; neither was called while attached, or its predicate was never true",
        "many: 0 hits: matched 9 methods; none was called while attached",
        "picky: 0 hits: matched 9 methods; of its calls filtered by `when` at least 1 000 times",
        "few: 0 hits: matched 1 method; of its calls 41 skipped (1:100) and 3 over the limit",
        "off: 0 hits: it is disabled (@Disabled)",
    ]


def test_untraceable_methods_are_not_reported_as_absent() -> None:
    script = "A::f @entry { @n = count(); } B::g @entry { @n = count(); }"
    deployment = deployed(script, [])
    diagnostics = {
        probe.id: Diagnostic(code, "…", Label(probe.span))
        for probe, code in zip(deployment.program.probes, ("BT336", "BT301"), strict=True)
    }
    deployment = replace(deployment, matching=replace(deployment.matching, missing=diagnostics))
    assert refusal_reasons(deployment, {}) == {"f": "its methods cannot be traced [BT336]"}
    late = replace(deployment, matching=replace(deployment.matching, missing={}))
    assert refusal_reasons(late, {"B": "BT338", "C": ""}) == {"g": "its methods cannot be traced [BT338]"}


def test_probes_that_may_never_fire() -> None:
    program = check_source(
        Source(
            "a.bt",
            """
            @OnMethod(class="A", method="b", location=ENTRY) @Disabled probe off { print(1); }
            @OnMethod(class="A", method="b", location=ENTRY) @Level(2) probe verbose { print(1); }
            @OnMethod(class="A", method="b", location=ENTRY) @Level(1) probe enabled { print(1); }
            @OnMethod(class="none", method="*", location=ENTRY) probe none { print(1); }
            @OnTimer(50s) probe often { print(2); }
            @OnEvent("x") probe asked { print(2); }
            @OnEvent("") probe signalled { print(2); }
            @OnClassLoad(class="B") probe loaded { print(2); }
            @OnLowMemory(above=0.9) probe full { print(2); }
            """,
        )
    )
    assert script_reasons(program, level=1) == {
        "none": "the parameter `none` switches it off",
        "off": "it is disabled (@Disabled)",
        "verbose": "it is disabled: --level 2 enables it (@Level)",
        "often": "its 50s had not passed",
        "asked": "its event 'x' was not sent (btpy send sends it)",
        "signalled": "its event was not sent (kill -USR1 to btpy sends it)",
        "loaded": "no matching class was loaded",
        "full": "no matching memory pool was more than 90 % full",
    }


def test_a_probe_error_shows_its_place() -> None:
    source = Source("orders.bt", "A::b @entry {\n  if order.customer.tier > 2 { print(1) }\n}\n")
    start = source.text.index("order.")
    span = Span(source, start, start + len("order.customer.tier"))
    error = ProbeError("b", ErrorKind.NULL_OPERAND, span, 312, "")
    assert render(probe_error(error)) == (
        "warning[null-operand]: null in `order.customer.tier` (312 times)\n"
        "  --> orders.bt:2:6\n"
        "   |\n"
        " 2 |   if order.customer.tier > 2 { print(1) }\n"
        "   |      ^^^^^^^^^^^^^^^^^^^ null here\n"
        "   |\n"
        "   = help: choose a value for null:  x ?? 0"
    )


def test_every_kind_of_error_has_words() -> None:
    source = Source("a.bt", "x" * 100 + "\ny")
    for kind in ErrorKind:
        text = render(probe_error(ProbeError("p", kind, Span(source, 0, 102), 1, "detail")))
        assert text.startswith(f"warning[{kind.name.lower().replace('_', '-')}]: ")
        assert "x…`" in text
        assert "times" not in text
        with_detail = ("INTERNAL", "NO_FIELD", "NOT_ALLOWED", "FEWER_SAMPLES", "NO_CONTEXT")
        assert ("detail" in text) == (kind.name in with_detail)


def test_an_error_of_a_whole_probe_names_the_probe() -> None:
    span = Span(Source("a.bt", "A::b { }"), 0, 0)
    text = render(probe_error(ProbeError("calls", ErrorKind.INTERNAL, span, 1, "a record that cannot be read")))
    assert text.startswith("warning[internal]: `calls` failed: a record that cannot be read\n")


def test_the_report_has_the_firings_of_probes_that_only_fill_maps() -> None:
    source = """
    fn note(string name) { @names[name] = count(); }
    A::a @entry as one { @n = count(); @took++; }
    A::b @entry as two { note("b"); @n = count(); }
    A::c @entry as three { @n = count(); @took += 2; }
    A::d @entry as four { thread.x = 1; }
    @OnEnd { print(@n); }
    """
    filled = filled_maps(check_source(Source("x.bt", source)))
    assert filled == {"one": "@n and @took", "two": "@n and @names", "three": "@n and @took"}
    tallies = tuple(_report(name, 1, firings, 0, 0) for name, firings in (("one", 1_009), ("two", 1), ("three", 303)))
    first = summary_lines(Summary(tallies, LEFT, 1, fillers=filled, errors=2))[0]
    assert first == "1 312 firings into @n and @took · 1 firing into @n and @names · 2 probe errors"
    loss_report = _report("two", 1, 1, produced=1, delivered=0, dropped_by={Cause.RING: 1})
    assert summary_lines(Summary((loss_report,), LEFT, 1, fillers=filled))[0].startswith("events 0 shown, 1 lost")
    assert filled_maps(check_source(Source("x.bt", source + "A::e @entry { print(1); }"))) == {}


def test_the_maps_of_a_library() -> None:
    libraries = Libraries.of({}, [])
    filled = filled_maps(check_source(Source("x.bt", "use btpy.locks;"), libraries))
    assert filled == {
        "locks.waited": "locks.@wait and locks.@owners",
        "locks.entered": "locks.@wait",
        "locks.blocked": "locks.@blocked, locks.@blocked_for, locks.@longest, locks.@holders and locks.@holding",
    }
    assert filled_maps(check_source(Source("x.bt", "use btpy.jdbc;"), libraries)) == {}


def test_the_cost_of_a_session_covers_its_whole_time() -> None:
    tally = _report("a", 1, 1, 0, 0, cost=Cost(timed=1, mean=5.0, p99=5, cpu=1_000_000_000))
    assert summary_lines(Summary((tally,), LEFT, 2, age=98))[1].startswith("probe cpu 1.0 % of one core, ")


def test_hits_that_were_skipped_are_in_the_summary() -> None:
    tally = _report("quote", 1, 182, 0, 0, skips=25_933, restraints=9, rested_ns=4_200_000_000)
    assert summary_lines(Summary((tally,), LEFT, 10))[0].endswith(
        " · 26 115 hits = 182 fired + 25 933 skipped · for 4.2s no hit was looked at (budget)"
    )
    (line,) = accounts([tally])
    assert line == "quote: 182 fired · 25 933 skipped · restrained 9 times by the budget · disabled for 4.2s of it"
