"""Settings in a script: sizes of maps, limits of capture, and the treatment of failing probes."""

from __future__ import annotations

from btpy.engine.session import Session
from btpy.engine.target import Limits
from btpy.events.aggregates import Count
from btpy.events.records import CutString
from btpy.wire.messages import Errors, ProbeState
from tests.live.scripts import counted, program, values_until
from tests.targets import Target

CALLS = 1009


def called(target: Target, calls: int = CALLS) -> None:
    target.send(f"call {calls}")
    target.wait_for("called")


def test_a_small_lru_map_keeps_exactly_the_last_used_keys() -> None:
    script = "map @seen[int] = lru(7); Counted::step { @seen[arg1] = count(); @seen[0] = count(); }"
    with counted(17) as target, Session.attach(target.pid) as session:
        session.deployer.load(program(script))
        called(target)
        (content,) = session.delivery.snapshot()
        expected = {(number,): Count(1) for number in range(CALLS - 6, CALLS)}
        assert dict(content.entries) == {(0,): Count(CALLS + 1), **expected}
        assert (content.evicted, content.full) == (CALLS - 7, 0)
        assert session.departure.detach().clean


def test_a_large_lru_map_keeps_recently_used_keys() -> None:
    script = "map @seen[int] = lru(509); Counted::step { @seen[arg1] = arg1; if @seen[0] == null { @seen[0] = 0 } }"
    calls = 20011
    with counted(17) as target, Session.attach(target.pid) as session:
        session.deployer.load(program(script))
        called(target, calls)
        (content,) = session.delivery.snapshot()
        keys = sorted(key[0] for key, _ in content.entries if isinstance(key[0], int))
        assert len(keys) == 509
        assert keys[0] == 0
        assert keys[1] > calls - 3 * 509
        assert (content.evicted, content.full) == (calls - 509, 0)


def test_keys_that_come_and_go_never_fill_a_map() -> None:
    """Over the whole run the keys take more bytes than the map may hold at once."""
    script = 'Counted::step { @started[arg1] = f"{arg1} {stack(1)} " + substr("' + "x" * 190 + '", 0, 190); }'
    script += "Counted::step @exit { delete @started[arg1]; @n = count(); }"
    calls = 200_003
    with counted(17) as target, Session.attach(target.pid) as session:
        session.deployer.load(program(script))
        called(target, calls)
        contents = {content.map.name: content for content in session.delivery.snapshot()}
        assert dict(contents["n"].entries) == {(): Count(calls)}
        assert (contents["started"].entries, contents["started"].full) == ((), 0)


def test_a_fixed_map_takes_no_new_keys_and_counts_the_dropped_ones() -> None:
    script = "map @seen[int] = fixed(7); Counted::step { @seen[arg1] = count(); @seen[0] = count(); }"
    with counted(17) as target, Session.attach(target.pid) as session:
        session.deployer.load(program(script))
        called(target)
        (content,) = session.delivery.snapshot()
        assert dict(content.entries) == {(0,): Count(CALLS + 1), **{(number,): Count(1) for number in range(1, 7)}}
        assert (content.evicted, content.full) == (0, CALLS - 7)


def test_limits_of_capture() -> None:
    checked_program = program(
        "config { string_length = 2; stack_frames = 1; } Counted::step { print(arg0, stack(9)); }"
    )
    limits = Limits.of(dict(checked_program.settings))
    assert (limits.string_chars, limits.stack_frames, limits.depth) == (2, 1, Limits().depth)
    with counted(17) as target, Session.attach(target.pid, limits) as session:
        session.deployer.load(checked_program)
        called(target, 3)
        result = values_until(session, lambda result: len(result) == 3)
        assert {values[0] for _, values in result} == {CutString("ab", 3)}
        stacks = {session.delivery.stacks.frames(values[1].id) for _, values in result}  # type: ignore[attr-defined]
        assert [frames and len(frames) for frames in stacks] == [1]


def test_a_probe_that_keeps_failing_is_disabled() -> None:
    script = """
    config { on_error = "disable"; max_errors = 5; }
    Counted::step as bad { @tried = count(); @n = max(1 / (arg1 - arg1)); }
    Counted::step as good { @good = count(); }
    """
    with counted(17) as target, Session.attach(target.pid) as session:
        session.deployer.load(program(script))
        called(target)
        maps = {content.map.name: dict(content.entries) for content in session.delivery.snapshot()}
        assert (maps["tried"], maps["good"]) == ({(): Count(5)}, {(): Count(CALLS)})
        session.agent.enable(0, True)
        called(target, 11)
        maps = {content.map.name: dict(content.entries) for content in session.delivery.snapshot()}
        assert maps["tried"] == {(): Count(10)}
        session.departure.detach()
        failures = [
            failure.count
            for item in session.delivery.items(None)
            if isinstance(item, Errors)
            for failure in item.failures
        ]
        assert sum(failures) == 10
        assert [account.state for account in session.delivery.accounts.values()] == [
            ProbeState.FAILED_TOO_OFTEN,
            ProbeState.OFF,
        ]
