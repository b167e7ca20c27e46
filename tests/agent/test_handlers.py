from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

from btpy.model.maps import MapKind
from btpy.model.patterns import ClassPatternKind
from btpy.model.sampling import SampleMode
from btpy.plan.plan import Advice, ClassPlan, Handler, MethodPlan, Operand, OperandKind, Point
from btpy.weave.weaver import weave
from btpy.wire.messages import (
    ClassBytes,
    Counters,
    Done,
    Enable,
    Events,
    HandlerClass,
    Install,
    Map,
    MapDecl,
    Maps,
    MethodSites,
    Pattern,
    ProbeDecl,
    Release,
    Site,
    Snapshot,
    Stacks,
    Timer,
    Trouble,
)
from tests.agent.client import Client
from tests.agent.conftest import Attach, Subject, agent_threads_end
from tests.agent.handlers import handler, named, unnamed
from tests.jdks import all_jdks
from tests.targets import Target


def record(value: object) -> str:
    """The body of a handler that sends an int."""
    return f"""{{
        long begin = Records.begin(s, 7, 3, site, 9);
        long[] words = Records.words(s, begin);
        if (words != null) {{
            int end = Records.end(begin, 9);
            Records.commit(s, Records.putInt(Records.position(begin), words, end, {value}), words, begin, end);
        }}
    }}"""


RECORD = """
    Session s = Session.enterAgent(site, 3);
    if (s == null) return;
    s.fired(3);
""" + record(42)

PRINT_STACKS = f"""
    Session s = Session.enterAgent(site, 3);
    Aggregation map = s.map(0);
    map.count(map.slot(Stack.here(s, 5), 3), 1);
    {record(1)}
    Request.printMaps(s, 8, "\\0");
    {record(2)}
    Request.exit(s, 9, 3, site, 5);
"""


def install(client: Client, *handlers: HandlerClass, maps: Sequence[MapDecl] = (), probes: Sequence[int] = (3,)) -> str:
    return client.call(
        Done, lambda request: Install(request, tuple(maps), tuple(map(declared, probes)), tuple(handlers))
    ).error


def declared(probe: int) -> ProbeDecl:
    return ProbeDecl(probe, True, SampleMode.ALL, 0, False, probe, 0, 0, 0, 0)


def run_once(client: Client, handler_class: HandlerClass) -> str:
    return client.call(Done, lambda request: Timer(request, client.slot << 24 | 1, 0, handler_class.name)).error


def records(events: Events) -> list[tuple[int, ...]]:
    """(template, site, probe, tag, value) of each record with an int."""
    rows: list[tuple[int, ...]] = []
    at = 0
    while at < len(events.records):
        size, template, site, probe = struct.unpack_from("<iiii", events.records, at)
        tag, value = struct.unpack_from("<Bi", events.records, at + 32)
        if template != -1:
            rows.append((template, site, probe, tag, value))
        at += size
    return rows


@all_jdks
def test_a_handler_runs_and_its_records_come_before_the_answer(
    jdk: int, subject: Subject, attach: Attach, tmp_path: Path
) -> None:
    handler_class = handler(tmp_path, RECORD)
    with subject(jdk) as program:
        client = attach(program, jdk)
        assert install(client, handler_class) == ""
        assert run_once(client, handler_class) == ""
        site = client.slot << 24 | 1
        received = [record for message in client.unasked if isinstance(message, Events) for record in records(message)]
        assert received == [(7, site, 3, 3, 42)]
        farewell = client.detach()
        assert farewell.handler_classes == 1
        counters = [message for message in client.unasked if isinstance(message, Counters)][-1].probes
        assert [(counter.probe, counter.produced, counter.dropped_full, counter.fired) for counter in counters] == [
            (3, 1, 0, 1)
        ]


@all_jdks
def test_maps_stacks_and_exits_keep_their_place_among_the_records(
    jdk: int, subject: Subject, attach: Attach, tmp_path: Path
) -> None:
    handler_class = handler(tmp_path, PRINT_STACKS)
    with subject(jdk) as program:
        client = attach(program, jdk)
        assert install(client, handler_class, maps=[MapDecl(0, MapKind.COUNT, 1, 0, 16, False, ())]) == ""
        assert run_once(client, handler_class) == ""
        order: list[tuple[int | str, int]] = []
        for message in client.unasked:
            if isinstance(message, Events):
                order += [(template, value) for template, _, _, _, value in records(message)]
            elif isinstance(message, Map):
                order.append(("map", message.template))
            elif isinstance(message, Stacks):
                order.append(("stacks", 0))
        assert [item for item in order if item[0] != "stacks"] == [(7, 1), ("map", 8), (7, 2), (9, 5)]
        assert order.index(("stacks", 0)) < order.index(("map", 8))
        maps = client.call(Maps, lambda request: Snapshot(request, (0,)))
        map_ = next(message for message in client.unasked if isinstance(message, Map))
        assert maps.contents == map_.contents


def test_a_timer_fires_until_classes_are_put_back_and_end_probes_still_run(
    subject: Subject, attach: Attach, tmp_path: Path
) -> None:
    with subject(17) as program:
        client = attach(program, 17)
        handler_class = handler(tmp_path, RECORD)
        install(client, handler_class)
        assert (
            client.call(
                Done, lambda request: Timer(request, client.slot << 24 | 1, 5_000_000, handler_class.name)
            ).error
            == ""
        )
        sites: list[tuple[int, ...]] = []
        while len(sites) < 3:
            sites += records(client.expect(Events))
        client.restore()
        client.unasked.clear()
        assert run_once(client, handler_class) == ""
        last = [record for message in client.unasked if isinstance(message, Events) for record in records(message)]
        client.unasked.clear()
        client.detach()
        late = [record for message in client.unasked if isinstance(message, Events) for record in records(message)]
        assert last
        assert late == []


def test_a_probe_can_be_switched_off_and_on(subject: Subject, attach: Attach, tmp_path: Path) -> None:
    with subject(17) as program:
        client = attach(program, 17)
        handler_class = handler(tmp_path, RECORD)
        install(client, handler_class)
        assert client.call(Done, lambda request: Enable(request, 3, False)).error == ""
        run_once(client, handler_class)
        assert not [message for message in client.unasked if isinstance(message, Events)]
        client.call(Done, lambda request: Enable(request, 3, True))
        run_once(client, handler_class)
        assert [message for message in client.unasked if isinstance(message, Events)]
        assert client.call(Done, lambda request: Enable(request, 4, True)).error


@all_jdks
def test_a_handler_that_does_not_verify_is_refused(jdk: int, subject: Subject, attach: Attach, tmp_path: Path) -> None:
    with subject(jdk) as program:
        client = attach(program, jdk)
        good = handler(tmp_path, "int two = 2; two += site; Guard.leave(-1);")
        assert unnamed(good).count(b"\x05\x3c") == 1  # iconst_2, istore_1
        bad = named(unnamed(good).replace(b"\x05\x3c", b"\x05\x4c"))  # astore_1
        assert "VerifyError" in install(client, bad)
        assert run_once(client, bad)
        assert install(client, good) == ""
        assert client.detach().handler_classes == 1


def test_the_name_of_a_handler_must_be_the_hash_of_its_content(
    subject: Subject, attach: Attach, tmp_path: Path
) -> None:
    with subject(17) as program:
        client = attach(program, 17)
        good = handler(tmp_path, RECORD)
        assert "hash" in install(client, HandlerClass(good.name, good.data + b"\0"))
        digits = hashlib.sha1(good.data).hexdigest()
        assert "wrong name" in install(client, HandlerClass(f"btpy.handlers.Handler_{digits}", good.data))
        assert "hash" in install(client, HandlerClass("java.lang.Evil", good.data))
        assert client.detach().handler_classes == 0


def test_handlers_are_defined_once_however_many_sessions_use_them(
    subject: Subject, attach: Attach, tmp_path: Path
) -> None:
    with subject(17) as program:
        handler_class = handler(tmp_path, RECORD)
        for _ in range(2):
            client = attach(program, 17)
            assert install(client, handler_class) == ""
            assert run_once(client, handler_class) == ""
            assert client.detach().handler_classes == 1
            client.close()
            agent_threads_end(program)


def test_maps_and_probes_out_of_range_are_refused(subject: Subject, attach: Attach) -> None:
    with subject(17) as program:
        client = attach(program, 17)
        assert install(client, probes=[1 << 30])
        assert install(client, maps=[MapDecl(1 << 30, MapKind.COUNT, 0, 0, 1, False, ())])
        assert install(client) == ""


def test_without_credit_records_are_kept_then_dropped_and_counted(
    subject: Subject, attach: Attach, tmp_path: Path
) -> None:
    many = RECORD.replace("if (s == null) return;", "for (int i = 0; i < 40000; i++) {") + "}"
    with subject(17) as program:
        client = attach(program, 17, buffer_bytes=1 << 20)
        handler_class = handler(tmp_path, many)
        install(client, handler_class)
        run_once(client, handler_class)
        run_once(client, handler_class)
        received = sum(len(message.records) for message in client.unasked if isinstance(message, Events))
        assert 0 < received <= 1 << 20
        client.send(Release(1 << 30))
        client.detach()
        delivered = sum(len(records(message)) for message in client.unasked if isinstance(message, Events))
        (last,) = [message for message in client.unasked if isinstance(message, Counters)][-1].probes
        assert last.produced == 80_000
        assert last.dropped_full > 0
        assert last.produced == delivered + last.dropped_full + last.dropped_large + last.dropped_stalled
        assert not [message for message in client.unasked if isinstance(message, Trouble)]


@pytest.mark.parametrize("name", ["java.lang.String", "btpy.runtime.Session", "btpy.handlers.Handler_" + "0" * 40])
def test_only_handlers_can_be_run(shared_subject: Target, attach: Attach, name: str) -> None:
    client = attach(shared_subject, 17)
    assert client.call(Done, lambda request: Timer(request, client.slot << 24 | 1, 0, name)).error


GUARDED = f"""
    Session s = Session.enter(site, 3);
    int entry = s == null ? -1 : Guard.enter(s, 3);
    if (entry < 0) return;
    try {{
        {record("from << 16 | to")}
    }} finally {{
        Guard.leave(entry);
    }}
"""


@all_jdks
def test_calls_of_the_agent_during_class_loading_fire_nothing(
    jdk: int, subject: Subject, attach: Attach, tmp_path: Path
) -> None:
    """The transformer turns slashes into dots with String.replace; class loaders turn dots into slashes with it."""
    handler_class = handler(tmp_path, GUARDED, ", char from, char to")
    with subject(jdk) as program:
        client = attach(program, jdk)
        install(client, handler_class)
        client.handlers = (handler_class,)
        operands = tuple(Operand(OperandKind.ARGUMENT, index, "C") for index in range(2))
        call = Handler(handler_class.name.replace(".", "/"), "fire", "(ICC)V")
        replace = MethodPlan("replace", "(CC)Ljava/lang/String;", (Advice(Point.ENTRY, 3, call, operands),))
        plan = ClassPlan("java/lang/String", (replace,))

        def weaver(question: ClassBytes) -> bytes | None:
            if question.name != "java.lang.String":
                return None
            result = weave(question.data, plan, client.slot << 24 | 1)
            assert result.refusals == ()
            client.sites = lambda _: tuple(
                MethodSites(site.method, site.descriptor, (Site(site.id, 3, Point.ENTRY, site.line, "", ""),))
                for site in result.sites
            )
            return result.data

        client.weaver = weaver
        client.weave(*client.ids("java.lang.String"))
        client.watch(Pattern(ClassPatternKind.SIMPLE_NAME, "Later"))
        client.order(program, "make Subject$Later")
        client.restore()
        client.detach()
        sites = {value for message in client.unasked if isinstance(message, Events) for *_, value in records(message)}
        assert ord(".") << 16 | ord("/") in sites
        assert ord("/") << 16 | ord(".") not in sites
