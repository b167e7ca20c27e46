"""Libraries in a JVM: one woven place with independent subscribers."""

from __future__ import annotations

from pathlib import Path

import pytest

from btpy.engine.session import Session
from btpy.events.aggregates import Count
from btpy.events.items import Item
from btpy.lang.check.checker import check_source
from btpy.lang.program import Program
from btpy.model.source import Source, Span
from btpy.wire.messages import ErrorKind, Errors
from tests.jdks import all_jdks
from tests.live.scripts import counted, drained, values_until
from tests.targets import Target

CALLS = 1009
RETURNED = [number for number in range(CALLS) if number % 7 != 3]
THROWN = [number for number in range(CALLS) if number % 7 == 3]

LIBRARY = """\
param every: int = 1;
fn is_wanted(int n): boolean = n % every == 0;
@OnMethod(class="Counted", method="step", location=ENTRY) probe begin { @begun[tid] = $number; }
@OnMethod(class="Counted", method="step", location=EXIT) probe step
when is_wanted($number) {
  @steps = count();
  if exception != null { provide(number=@begun[tid], why=message(exception)); }
  else { provide(number=$number, result=retval); }
  @done = count();
}
"""


@pytest.fixture
def library(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)
    path = tmp_path / "steps.bt"
    path.write_text(LIBRARY, encoding="utf-8")
    return path


def program(library: Path, text: str) -> Program:
    return check_source(Source("main.bt", text, path=library.parent / "main.bt"))


def called(target: Target, calls: int = CALLS) -> None:
    target.send(f"call {calls}")
    target.wait_for("called")


@all_jdks
def test_subscribers_share_one_probe_and_count_for_themselves(jdk: int, library: Path) -> None:
    checked_program = program(
        library,
        """
        import steps;
        fn twice(int n): int { let m = n * 2; if m > 1000 { return m + 1; } return m; }
        @OnProbe(steps.step) probe failed when event.why != null { print(event.number, event.result, event.why); }
        @OnProbe(steps.step) probe all {
          @all = count();
          if event.result == null { return; }
          @twice[twice(event.result)] = count();
        }
        @OnEnd { print(steps.@steps); }
        """,
    )
    with counted(jdk, "-Xverify:all") as target, Session.attach(target.pid) as session:
        deployment = session.deployer.load(checked_program)
        assert {probe.name for probe in checked_program.probes} == {"steps.begin", "steps.step", "failed", "all", "end"}
        assert len(deployment.sites) == 3
        called(target)
        probe_id = next(probe.id for probe in checked_program.probes if probe.name == "failed")
        result = values_until(session, lambda result: len(result) == len(THROWN))
        assert result == [(probe_id, (number, None, f"refused {number}")) for number in THROWN]
        maps = {content.map.title: dict(content.entries) for content in session.delivery.snapshot()}
        assert maps["@all"] == maps["steps.@steps"] == maps["steps.@done"] == {(): Count(CALLS)}
        results = [3 + number for number in RETURNED]
        assert maps["@twice"] == {(2 * n + (2 * n > 1000),): Count(1) for n in results}
        receipt = session.departure.detach()
        assert receipt.clean
        firings = {checked_program.probes[account.probe].name: bool(account.fired) for account in receipt.accounts}
        assert firings == dict.fromkeys(firings, True)
        produced = {checked_program.probes[account.probe].name: account.produced for account in receipt.accounts}
        assert produced == {"steps.begin": 0, "steps.step": 0, "failed": len(THROWN), "all": 0, "end": 0}


def test_a_subscriber_that_fails_fails_alone(library: Path) -> None:
    checked_program = program(
        library,
        """
        import steps;
        @OnProbe(steps.step) probe bad {
          @before = count();
          @n = max(1 / (event.number - event.number));
          @after = count();
        }
        @OnProbe(steps.step) probe skipping { skip(); @never = count(); }
        @OnProbe(steps.step) probe good { @good = count(); }
        """,
    )
    with counted(17) as target, Session.attach(target.pid) as session:
        session.deployer.load(checked_program)
        called(target, 101)
        maps = {content.map.title: dict(content.entries) for content in session.delivery.snapshot()}
        assert maps["@before"] == maps["@good"] == maps["steps.@done"] == {(): Count(101)}
        assert maps.get("@after", {}) in ({}, {(): Count(0)})
        session.departure.detach()
        failures = [failure for item in items(session) if isinstance(item, Errors) for failure in item.failures]
        assert {checked_program.probes[failure.probe].name for failure in failures} == {"bad"}
        assert {failure.kind for failure in failures} == {ErrorKind.DIV_ZERO}
        assert sum(failure.count for failure in failures) == 101
        (position,) = {failure.position for failure in failures}
        place = Span.unpack(checked_program.sources, position)
        assert place.source is checked_program.source
        assert place.text == "1 / (event.number - event.number)"


def test_errors_in_a_library_tell_its_file(library: Path) -> None:
    library.write_text(LIBRARY.replace("@done = count();", "@done = max(1 / ($number - $number));"))
    checked_program = program(
        library, "import steps; @OnProbe(steps.step) { @n = count(); } @OnEnd { print(steps.@done); }"
    )
    with counted(17) as target, Session.attach(target.pid) as session:
        session.deployer.load(checked_program)
        called(target, 11)
        session.departure.detach()
        failures = [failure for item in items(session) if isinstance(item, Errors) for failure in item.failures]
        (position,) = {failure.position for failure in failures}
        place = Span.unpack(checked_program.sources, position)
        assert (place.source.name, place.text) == (str(library), "1 / ($number - $number)")


def test_a_subscriber_is_disabled_alone(library: Path) -> None:
    checked_program = program(
        library,
        """
        import steps;
        @OnProbe(steps.step) probe one { @one = count(); }
        @OnProbe(steps.step) probe two { @two = count(); }
        """,
    )
    ids = {probe.name: probe.id for probe in checked_program.probes}
    with counted(17) as target, Session.attach(target.pid) as session:
        session.deployer.load(checked_program)
        called(target, 13)
        session.agent.enable(ids["one"], False)
        called(target, 17)
        session.agent.enable(ids["one"], True)
        session.agent.enable(ids["steps.step"], False)
        called(target, 19)
        maps = {content.map.title: dict(content.entries) for content in session.delivery.snapshot()}
        assert (maps["@one"], maps["@two"]) == ({(): Count(13)}, {(): Count(30)})
        assert session.departure.detach().clean


def test_parameters_of_an_import_are_constants_of_the_handler(library: Path) -> None:
    checked_program = program(library, "import steps(every=3); @OnProbe(steps.step) { @n = count(); }")
    with counted(17) as target, Session.attach(target.pid) as session:
        session.deployer.load(checked_program)
        called(target)
        maps = {content.map.title: dict(content.entries) for content in session.delivery.snapshot()}
        assert maps["@n"] == {(): Count(len(range(0, CALLS, 3)))}
        assert session.departure.detach().clean


def test_subscribers_of_a_timer(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "ticks.bt").write_text("@OnTimer(10ms) probe tick { @n += 1; provide(n=@n); }", encoding="utf-8")
    checked_program = program(
        tmp_path / "ticks.bt", "import ticks; @OnProbe(ticks.tick) when event.n <= 3 { print(event.n, probe); }"
    )
    with counted(17) as target, Session.attach(target.pid) as session:
        session.deployer.load(checked_program)
        result = values_until(session, lambda result: len(result) == 3)
        assert [values[0] for _, values in result] == [1, 2, 3]
        session.departure.detach()
        assert drained(session, None) == []


def items(session: Session) -> list[Item]:
    return list(session.delivery.items(None))
