"""A session as a Python program sees it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

import btpy
from btpy.api import unattended
from btpy.api.probes import STATES
from btpy.api.session import attach_pulled
from btpy.events.items import Records
from btpy.events.records import Record
from btpy.wire.messages import ProbeState
from tests.jdks import compiled, java
from tests.live.scripts import waited
from tests.live.traffic import called, started, stopped, traffic
from tests.targets import PATIENCE, Target

CALLS = 1009
JAVA = Path(__file__).parents[1] / "java"


@pytest.fixture(scope="module")
def program() -> Iterator[Target]:
    """One program for all tests that leave it as they found it."""
    with traffic() as running:
        yield running


def test_probes_keep_their_numbers(program: Target) -> None:
    with btpy.attach(program.pid) as session:
        serve, turn = session.add("Traffic::serve @entry { @n = count() } Traffic.Other::turn @return { @n = count() }")
        (timer,) = session.add("@OnTimer(1s) probe beat { @beats = count(); }", name="beat.bt")
        assert (timer.name, timer.where, timer.source, timer.text.startswith("@OnTimer")) == (
            "beat",
            "every 1s",
            "beat.bt",
            True,
        )
        assert [probe.number for probe in (serve, turn, timer)] == [1, 2, 3]
        assert [probe.where for probe in (serve, turn)] == ["Traffic.serve ENTRY", "Traffic$Other.turn RETURN"]
        assert turn.replace("Traffic.Other::turn @entry { @n = count() }") == [turn]
        assert (turn.where, turn.state, len(turn.ids)) == ("Traffic$Other.turn ENTRY", "on", 2)
        called(program, CALLS)
        assert session.maps["@n"].value == 2 * CALLS
        session.refresh()
        assert serve.hits == CALLS
        assert session.remove(serve) == 1
        assert (list(session.probes), serve.state) == ([2, 3], "removed")
        with pytest.raises(btpy.UsageError, match="not in this session"):
            serve.disable()
        assert [probe.number for probe in session.add("Traffic::serve @entry { @n = count() }")] == [4]
        called(program, CALLS)
        receipt = session.detach()
        assert receipt.clean
        assert (turn.hits, timer.errors) == (2 * CALLS, 0)
    assert session.detach() is receipt
    assert session.maps["n"].value == 4 * CALLS


def test_one_of_several_probes_is_replaced_within_its_script(program: Target) -> None:
    script = """
    param least: int = 3;
    fn odd(int n): boolean = n % 2 == 1;
    Traffic::serve @entry when odd(arg0) { @odd = count(); }
    Traffic.Other::turn @entry when arg0 >= least { @most = count(); }
    """
    with btpy.attach(program.pid) as session:
        odd, most = session.add(script, parameters={"least": 5})
        called(program, 10)
        most.replace("Traffic.Other::turn @entry when !odd(arg0) { @even = count(); }")
        called(program, 10)
        assert {name: view.value for name, view in session.snapshot().items()} == {"@odd": 10, "@most": 5, "@even": 5}
        assert odd.state == most.state == "on"


def test_a_replacement_that_fails_changes_nothing(program: Target) -> None:
    with btpy.attach(program.pid) as session:
        (probe,) = session.add("Traffic::serve @entry { @n = count() }")
        before = probe.ids, probe.text, probe.where
        for text in ("Traffic::serve @entry { @n = cuont() }", "Traffic::serve @entry { @n = sum(arg3) }"):
            with pytest.raises(btpy.ScriptError):
                probe.replace(text)
        with pytest.raises(btpy.NothingMatched, match=r"no method of Traffic matches .* \(did you mean `serve`\?\)$"):
            probe.replace("Traffic::serves @entry { @n = count() }")
        assert (probe.ids, probe.text, probe.where) == before
        called(program, CALLS)
        assert session.maps["@n"].value == CALLS


def test_checking_touches_nothing(program: Target) -> None:
    with btpy.attach(program.pid) as session:
        session.add("Traffic::serve @entry { @n = count() }")
        assert session.check("Traffic.Other::turn @entry { @n = count() }") == []
        assert [diagnostic.code for diagnostic in session.check("Traffic::serve @entry { @n = hist(arg0) }")] == [
            "BT203"
        ]
        assert [diagnostic.code for diagnostic in session.check("Traffic::srve @entry { print(1) }")] == ["BT303"]
        assert [diagnostic.code for diagnostic in session.check("Traffic::serve @entry { print(arg5) }")] == ["BT112"]
        assert [diagnostic.code for diagnostic in session.check("Traffic::serve @entry { print( }")] == ["BT002"]
        assert len(session.probes) == 1
    assert btpy.check("Traffic::serve @entry { print(durration) }")[0].code == "BT101"
    assert btpy.check("Traffic::serve @entry { print(arg0) }") == []


def test_probes_are_sampled_limited_and_switched(program: Target) -> None:
    with btpy.attach(program.pid) as session:
        (probe,) = session.add("Traffic::serve @entry { @n = count() }")
        probe.sample("1/10")
        assert (probe.sampling, probe.text.split("\n")[0]) == ("1/10", "@Sample(every=10)")
        called(program, 3000)
        assert 2900 <= session.maps["@n"].value <= 3000  # btpy does not count the hits after the last sampled hit
        assert session.maps["@n"].content.map.estimated == "1…10"
        probe.sample(None)
        assert probe.sampling == ""
        before = session.maps["@n"].value
        called(program, CALLS)
        assert session.maps["@n"].value == before + CALLS
        probe.limit(7)
        called(program, CALLS)
        assert session.maps["@n"].value == before + CALLS + 7
        waited(lambda: probe.state == "limit reached", "the state of a probe whose firings are used up")
        probe.limit(None)
        probe.enable()
        called(program, 11)
        probe.disable()
        assert probe.state == "off"
        called(program, 11)
        assert session.maps["@n"].value == before + CALLS + 18
        for wrong in ("7", "1/0", "x/s", "101%"):
            with pytest.raises(btpy.UsageError, match="is not a sampling"):
                probe.sample(wrong)
        with pytest.raises(btpy.UsageError, match="is not a limit"):
            probe.limit("many")


def test_every_reader_gets_every_event(program: Target) -> None:
    with btpy.attach(program.pid) as session:
        session.add('Traffic::serve @entry { emit("served", number=arg0, at=method); print(f"{arg0} it is") }')
        early = session.events()
        called(program, CALLS)
        late = session.events()
        slow = session.events(most=1)
        texts = []
        for reader in (early, late):
            events = [next(reader) for _ in range(2 * CALLS)]
            assert [event.values for event in events[::2]] == [{"number": n, "at": "serve"} for n in range(CALLS)]
            assert events[3].text == "1 it is"
            texts.append([str(event) for event in events])
        assert texts[0] == texts[1]
        first = events[0]
        assert (first.kind, first.name, first.probe, first.thread, first.pid) == (
            "event",
            "served",
            "serve",
            "main",
            program.pid,
        )
        assert first.location is not None
        assert (first.location.class_name, first.location.method) == ("Traffic", "serve")
        assert abs(first.time.timestamp() - time.time()) < PATIENCE
        assert first.nanos // 1000 == round(first.time.timestamp() * 1_000_000)
        assert slow.dropped == 0  # the capacity is at least the events that are kept for late readers
        assert list(session.events(timeout=0, from_start=False)) == []
        session.detach()
        assert list(late) == []


def test_events_can_be_awaited(program: Target) -> None:
    async def collected(session: btpy.Session, count: int) -> list[object]:
        results = []
        async for event in session:
            results.append(event.values["0"])
            if len(results) == count:
                break
        return results

    async def both(session: btpy.Session) -> list[list[object]]:
        return list(await asyncio.gather(collected(session, 7), collected(session, 7)))

    with btpy.attach(program.pid) as session:
        session.add("Traffic::serve @entry { print(arg0) }")
        caller = threading.Thread(target=called, args=(program, 7))
        caller.start()
        assert asyncio.run(asyncio.wait_for(both(session), PATIENCE)) == [list(range(7))] * 2
        caller.join()


def test_maps_are_mappings(program: Target) -> None:
    script = """
    Traffic::serve @entry {
      @by[arg0 % 3, method] = count(); @sizes = hist(arg0); @some[arg0 % 2] = stats(arg0); @last = arg0;
      @names["x"] = topk(arg0 % 2, 2); @different = distinct(arg0 % 5);
    }
    @OnEvent("show") { print(@sizes) }
    """
    with btpy.attach(program.pid) as session:
        session.add(script)
        called(program, 100)
        assert dict(session.maps["@by"]) == {(0, "serve"): 34, (1, "serve"): 33, (2, "serve"): 33}
        sizes = session.maps["@sizes"].value
        assert isinstance(sizes, btpy.Histogram)
        assert (sizes.count, sizes.min, sizes.max, sizes.total, sizes.mean) == (100, 0, 99, 4950, 49.5)
        assert 45 <= (sizes.percentile(50) or 0) <= 55
        assert sum(bucket.count for bucket in sizes.buckets) == 100
        assert "n=100" in sizes._repr_html_()
        assert session.maps["@some"][0].n == 50
        assert session.maps["last"].value == 99
        assert session.maps["@names"]["x"] == [(0, 50), (1, 50)]
        assert session.maps["@different"].value == 5
        assert session.maps["@by"].rows()[0] == {"key0": 0, "key1": "serve", "value": 34}
        assert list(session.maps["@sizes"].rows()[0]) == ["count", "mean", "p50", "p90", "p99", "min", "max"]
        assert "<th>key1</th>" in session.maps["@by"]._repr_html_()
        assert set(session.maps) == {"@by", "@sizes", "@some", "@last", "@names", "@different"}
        with pytest.raises(KeyError):
            session.maps["@nothing"]
        session.send("show")
        event = next(session.events())
        assert event.kind == "map"
        assert event.text.startswith("@sizes  n=100")
        assert event.values["@sizes"].value.count == 100


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_data_frame_needs_its_package(program: Target, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Frames:
        @staticmethod
        def DataFrame(rows: list[dict[str, object]], **how: object) -> list[dict[str, object]]:  # noqa: N802
            return rows

    with btpy.attach(program.pid) as session:
        session.add("Traffic::serve @entry { @by[arg0] = count() }")
        called(program, 2)
        view = session.maps["@by"]
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(btpy.UsageError, match=f"{package} is not installed"):
        getattr(view, f"to_{package}")()
    monkeypatch.setitem(sys.modules, package, Frames)
    assert getattr(view, f"to_{package}")() == [{"key": 0, "value": 1}, {"key": 1, "value": 1}]


def test_the_death_of_a_target_is_reported_after_its_events() -> None:
    with traffic() as program, btpy.attach(program.pid) as session:
        session.add("Traffic::serve @entry { print(arg0) }")
        reader = session.events()
        called(program, CALLS)
        first = [next(reader).values["0"] for _ in range(CALLS)]
        program.process.kill()
        with pytest.raises(btpy.TargetGone):
            list(reader)
        events = session.events()
        assert [next(events).values["0"] for _ in range(CALLS)] == first == list(range(CALLS))
        with pytest.raises(btpy.TargetGone):
            next(events)
        with pytest.raises(btpy.TargetGone):
            session.add("Traffic::serve @entry { print(arg0) }")


def test_a_target_that_ends_leaves_all_that_was_recorded() -> None:
    with traffic() as program, btpy.attach(program.pid) as session:
        session.add("Traffic::serve @entry { @n = count(); print(arg0) } @OnEnd { print(@n) }")
        called(program, CALLS)
        program.process.stdin.close()  # type: ignore[union-attr]
        events = session.events()
        assert [next(events).kind for _ in range(CALLS + 1)] == ["print"] * CALLS + ["map"]
        with pytest.raises(btpy.TargetGone, match="has ended"):
            next(events)
        assert session.maps["@n"].value == CALLS


def test_an_error_in_the_block_puts_everything_back() -> None:
    with traffic() as program:
        session = btpy.attach(program.pid)

        def fails() -> None:
            with session:
                session.add("Traffic::serve @entry { @n = count() }")
                called(program, CALLS)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fails()
        called(program, CALLS)
        assert session.maps["@n"].value == CALLS
        assert session.detach().clean


def test_threads_change_and_read_at_the_same_time(program: Target) -> None:
    with btpy.attach(program.pid) as session:
        session.add("Traffic::serve @entry { @calls = count() }")
        started(program, 2)
        failures: list[BaseException] = []

        def work(number: int) -> None:
            try:
                for _ in range(5):
                    (probe,) = session.add(f"Traffic.Other::turn @return {{ @own{number} = count(); }}")
                    probe.replace(f"Traffic.Other::turn @entry {{ @own{number} = count(); }}")
                    assert session.maps[f"@own{number}"].kind == "count"
                    probe.remove()
            except BaseException as error:
                failures.append(error)

        workers = [threading.Thread(target=work, args=(number,)) for number in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert failures == []
        calls = stopped(program)
        assert session.maps["@calls"].value == calls
        assert list(session.probes) == [1]


def test_errors_of_probes_are_reported(program: Target) -> None:
    with btpy.attach(program.pid) as session:
        (probe,) = session.add("Traffic::serve @entry { print(1 / arg0) }")
        called(program, 2)
        waited(lambda: probe.errors == 1, "an error of the probe")
        (error,) = session.errors
        assert (error.kind_name, error.span.text, error.probe) == ("div-zero", "1 / arg0", "serve")


def test_the_latest_errors_are_kept_and_all_are_counted(program: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("btpy.api.probe_figures.MOST_ERRORS", 2)
    with btpy.attach(program.pid) as session:
        (probe,) = session.add("Traffic::serve @entry { print(1 / arg0) }")

        def failed(times: int) -> bool:
            return probe.errors == times

        for expected in range(1, 6):
            called(program, 1)
            waited(partial(failed, expected), "an error of the probe")
        assert (len(session.errors), session.errors_forgotten) == (2, 3)


def test_a_probe_is_replaced_without_the_library_that_its_script_uses(program: Target) -> None:
    with btpy.attach(program.pid) as session:
        probes = session.add("use btpy.exceptions(top=5); Traffic::serve @entry as served { @n = count() }")
        served = next(probe for probe in probes if probe.name == "served")
        assert served.replace("Traffic::serve @return as served { @m = count() }") == [served]
        assert len(session.probes) == len(probes)
        created = next(probe for probe in probes if probe.name.endswith("created"))
        assert created.script.startswith("use btpy.exceptions")
        with pytest.raises(btpy.UsageError, match="of a library"):
            created.sample("1/2")
        mates = session.scripts.mates(created)
        assert [mate.name for mate in mates] == [probe.name for probe in probes if probe is not served]


def test_a_probe_keeps_the_parameters_of_its_script_when_it_is_sampled(program: Target) -> None:
    with btpy.attach(program.pid) as session:
        (probe,) = session.add(
            "param from: int; Traffic::serve when arg0 >= from { @n = sum(arg0) }", parameters={"from": 3}
        )
        probe.sample("1/1")
        called(program, 5)
        assert session.maps["@n"].value == 7
        probe.replace("Traffic::serve when arg0 >= from { @m = sum(arg0) }")
        called(program, 5)
        assert session.maps["@m"].value == 7
        assert probe.rate_limit == ""
        probe.limit("50/s")
        assert probe.rate_limit == "50/s"


def test_warnings_name_things_that_are_in_no_code(program: Target) -> None:
    with btpy.attach(program.pid) as session:
        session.add("Traffic::serve @entry { @n = count() } Traffic::srve @entry { @m = count() }", missing="warn")
        assert [warning.code for warning in session.warnings] == ["BT303"]
        session.add("Traffic::srve @entry { @m = count() }", missing="ignore")
        assert len(session.warnings) == 1


def test_statements_run_once(program: Target) -> None:
    with btpy.attach(program.pid) as session:
        session.add("Traffic::serve @entry { @n = count() }")
        called(program, CALLS)
        session.run("print(flush(@n));")
        assert next(session.events()).text == f"@n  {CALLS}"
        assert len(session.maps["@n"]) == 0
        with pytest.raises(btpy.ScriptError):
            session.run("cleer(@n);")
        called(program, 11)
        assert (session.maps["@n"].value, list(session.probes)) == (11, [1])
        assert [probe.number for probe in session.add("Traffic::serve @return { @n = count() }")] == [2]


def test_looking_for_methods_and_checking_without_the_target(program: Target) -> None:
    with btpy.attach(program.pid) as session:
        (listing,) = session.listing("Traffic::s*rve")
        assert [[method.name for method in class_.methods] for class_ in listing.classes] == [["serve"]]
        assert session.check("Traffic::srve @entry { print(1) }", match=False) == []
        assert [
            diagnostic.code for diagnostic in session.check("Traffic::serve { print(durration) }", match=False)
        ] == ["BT101"]
        assert not session.probes


def test_records_that_are_held_back_are_counted(program: Target) -> None:
    script = """
    Traffic::serve @entry { speculate(arg0); print(arg0) }
    Traffic::serve @return when arg0 % 3 == 0 { commit(arg0) }
    Traffic::serve @return when arg0 % 3 != 0 { discard(arg0) }
    """
    with btpy.attach(program.pid) as session:
        probe, _, _ = session.add(script)
        called(program, 10)
        events = session.events()
        assert [next(events).values["0"] for _ in range(4)] == [0, 3, 6, 9]
        session.detach()
        assert probe.uncommitted == 6


def test_an_unattended_session_keeps_running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with traffic() as program:
        with btpy.attach(program.pid, limits=btpy.Limits(unattended=True)) as session:
            session.add("Traffic::serve @entry { @n = count() }")
            called(program, CALLS)
            id_ = session.leave(3600)
            assert session.ended
            with pytest.raises(btpy.UsageError, match="has left the session"):
                session.detach()
        assert session.maps["@n"].value == CALLS
        called(program, 11)
        (info,) = unattended.listed(program.pid)
        assert (info.id, info.probes, info.clients) == (id_, 1, 0)
        with unattended.join(program.pid, id_, kept=0) as joined:
            assert [probe.name for probe in joined.probes.values()] == ["serve"]
            joined.add("Traffic::serve @entry { @m = count() }")
            called(program, 7)
            assert [joined.maps[name].value for name in ("@n", "@m")] == [CALLS + 18, 7]
            assert joined.detach().clean
        assert unattended.listed(program.pid) == []


def test_an_unattended_session_takes_events_and_can_be_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    script = """
    Traffic::serve @entry { @n = count() }
    @Level(1) @OnMethod(class="Traffic", method="serve", location=ENTRY) { @more = count() }
    @OnEvent("more") { @sent = count() }
    """
    with traffic() as program:
        with btpy.attach(program.pid, limits=btpy.Limits(unattended=True)) as session:
            session.add(script)
            id_ = session.leave(3600, "nightly")
        unattended.set_level(program.pid, id_[:4], 1)
        unattended.send(program.pid, "nightly", "more")
        called(program, 5)
        with unattended.join(program.pid, "nightly", kept=0) as joined:
            assert {name: view.value for name, view in joined.snapshot().items()} == {"@n": 5, "@more": 5, "@sent": 1}
            joined.leave(3600, "nightly")
        with pytest.raises(btpy.UsageError, match="no session 'daily'"):
            unattended.discard(program.pid, "daily")
        assert unattended.discard(program.pid, "nightly").clean


def test_a_jvm_that_is_launched_waits_for_its_probes(capfd: pytest.CaptureFixture[str]) -> None:
    command = [str(java(17)), "-cp", str(compiled([JAVA / "Brief.java"])), "Brief"]
    with btpy.launch(command) as session:
        session.add("Brief::work @return { @n = count(); print(retval) }", missing="ignore")
        session.go()
        with pytest.raises(btpy.TargetGone):
            list(session.events())
    assert session.maps["@n"].value == 1009 + 211
    with pytest.raises(btpy.UsageError, match="is not java"):
        btpy.launch(["sh"])


def test_settings_of_a_script_apply_or_it_is_said_that_they_do_not(program: Target) -> None:
    script = 'config { on_missing = "ignore"; string_length = 30; } acme.Nothing::at { @n = count() }'
    late = "config { string_length = 500; max_map_keys = 5; } Traffic::serve @entry { @by[arg0] = count() }"
    with btpy.attach(program.pid, limits=btpy.Limits(string_chars=30)) as session:
        session.add(script)
        assert session.warnings == []
        session.add(late)
        (warning,) = session.warnings
        assert (warning.code, warning.primary.span.text) == ("BT412", "string_length")
        assert warning.message == "`string_length` has no effect: the session began with 30"
        called(program, CALLS)
        assert len(session.maps["@by"]) == 5


def test_a_slow_reader_misses_nothing() -> None:
    with traffic() as program, attach_pulled(program.pid) as session:
        session.add("Traffic::serve @entry { print(arg0) }")
        called(program, CALLS)
        records: list[Record] = []
        while len(records) < CALLS:
            for message in session.received(timeout=1):
                item = session.item(message)
                records += item.records if isinstance(item, Records) else []
        receipt = session.detach()
        assert [record.values[0] for record in records] == list(range(CALLS))
        assert [(account.produced, account.delivered) for account in receipt.accounts] == [(CALLS, CALLS)]


def test_a_script_in_a_file(program: Target, tmp_path: Path) -> None:
    path = tmp_path / "serve.bt"
    path.write_text('param name: string = "x"; Traffic::serve @entry { print(name) }')
    with btpy.attach(program.pid) as session:
        (probe,) = session.add(path, parameters={"name": "y"})
        called(program, 1)
        assert next(session.events()).text == "y"
        assert probe.source == str(path)
        with pytest.raises(btpy.UsageError, match="cannot read"):
            session.add(tmp_path / "absent.bt")
        with pytest.raises(btpy.UsageError, match="no probe"):
            session.add("// nothing")


def test_several_targets_are_one() -> None:
    script = """
    Traffic::serve @entry { @n = count(); @by[stack(1)] = count(); @sizes = hist(arg0); @last = arg0; print(arg0) }
    """
    with traffic() as one, traffic(21) as other, btpy.attach_all([one.pid, other.pid, 1]) as sessions:
        assert isinstance(sessions.failures.pop(1), btpy.AttachError)
        assert {pid: len(probes) for pid, probes in sessions.add(script).items()} == {one.pid: 1, other.pid: 1}
        events = sessions.events()
        called(one, 7)
        called(other, 11)
        results = [next(events) for _ in range(18)]
        assert [event.values["0"] for event in results if event.pid == one.pid] == list(range(7))
        assert [event.values["0"] for event in results if event.pid == other.pid] == list(range(11))
        maps = sessions.maps
        assert maps["@n"].value == 18
        assert (maps["@sizes"].value.count, maps["@sizes"].value.max) == (18, 10)
        assert list(maps["@by"].values()) == [18]  # both JVMs have the same stack
        with pytest.raises(btpy.ScriptError):
            sessions.add("Traffic::serve @entry { print(nothing) }")
        assert sessions.failures == {}
        other.process.kill()
        called(one, 7)
        assert {next(events).pid for _ in range(7)} == {one.pid}
        waited(lambda: other.pid in sessions.failures, "the end of one target")
        assert [session.target.pid for session in sessions.running] == [one.pid]
        assert sessions.maps["@n"].value == 25  # sums keep the last content of the ended target
        assert sessions.maps["@last"] == {one.pid: 6, other.pid: 10}
        receipts = sessions.detach()
        assert {pid: receipt.clean for pid, receipt in receipts.items()} == {one.pid: True}
        assert list(events) == []


def test_nothing_to_attach_to() -> None:
    with pytest.raises(btpy.UsageError, match="nothing to attach to"):
        btpy.attach_all([])
    with pytest.raises(btpy.AttachError):
        btpy.attach_all([1])


def test_every_state_of_a_probe_has_words() -> None:
    assert set(STATES) == set(ProbeState)


def test_importing_btpy_loads_none_of_its_rooms() -> None:
    program = "import sys, btpy; print([name for name in sys.modules if name.startswith('btpy.')])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"
    assert [name for name in btpy.__all__ if not hasattr(btpy, name)] == []
