"""The fourteen worked scripts of the language, all on one program with a Tomcat and an H2 in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.jdks import compiled
from tests.maven import H2, artifact
from tests.probes.test_libraries import TOMCAT
from tests.targets import Target, target
from tests.tracer import Tracer, tracing

TESTS = Path(__file__).parent.parent
SOURCES = sorted((TESTS / "java" / "world").rglob("*.java"))
SPRING = ("org.springframework:spring-web:6.1.14", "org.springframework:spring-core:6.1.14")
SHOP = "com.acme.shop"


@pytest.fixture(scope="module")
def world() -> Iterator[Target]:
    jars = [artifact(jar) for jar in (*TOMCAT, H2, *SPRING)]
    with target(17, f"{SHOP}.World", classpath=[compiled(SOURCES, classpath=jars), *jars]) as program:
        yield program
    assert program.stderr == []


def entry(run: Tracer) -> None:
    assert run.printed() == [
        f"{SHOP}.OrderService.place customer=customer {i} qty={i} "
        + ("items=0 first=null" if i == 3 else f"items=1 first=SKU-{i}")
        for i in range(7)
    ]


def returned(run: Tracer) -> None:
    assert [(event["sku"], event["qty_in"]) for event in run.events("quote")] == [("SKU-0", 0), ("SKU-2", 2)]


def thrown(run: Tracer) -> None:
    # Eight exceptions come at once, and the limit is five a second. Each printed exception has its stack.
    lines = run.printed()
    assert len(lines) == 10
    assert all(f"Repository.load threw {SHOP}.Repository$LostException: connection lost" in line for line in lines[::2])
    assert all(f"{SHOP}.Repository.load" in str(line) for line in lines[1::2])


def uncaught(run: Tracer) -> None:
    assert run.printed()[0].startswith("[dying] died: java.lang.ArrayIndexOutOfBoundsException: Index 1")
    assert sum(run.maps()["uncaught"].values()) == 1


def sql(run: Tracer) -> None:
    counts = {text: sum(bucket["count"] for bucket in buckets) for text, buckets in run.maps()["latency"].items()}
    assert counts == {
        "MERGE INTO account KEY (id) VALUES (?)": 31,
        "SELECT owner FROM account WHERE id = ?": 13 * 23 + 48 * 2,
    }


def endpoints(run: Tracer) -> None:
    hits = {f"{SHOP}.Endpoints,orders": 13, f"{SHOP}.Endpoints,handleOrder": 13}
    assert run.maps()["hits"] == hits
    assert run.maps()["errors"] == {f"{SHOP}.Endpoints,handleOrder": 3}


def allocations(run: Tracer) -> None:
    ((stack, estimate),) = run.maps()["sites"].items()
    assert estimate == 2_000  # two samples of 2,007 allocations, each for a thousand
    assert "World.allocate" in stack


def locks(run: Tracer) -> None:
    assert sum(bucket["count"] for buckets in run.maps()["juc_wait"].values() for bucket in buckets) >= 1
    ((key, (bucket,)),) = run.maps()["mon_wait"].items()  # a call in the body of a lambda
    assert bucket["count"] == 1
    assert f"java.lang.Object,{SHOP}.World.lambda$contend" in key


def calls(run: Tracer) -> None:
    stats = {name: stats_["count"] for name, stats_ in run.maps()["calls"].items()}
    assert stats == {"openStream": 3, "openConnection": 61}


def lines(run: Tracer) -> None:
    assert len(run.printed()) == 6  # eleven in all: one item is negative, five discounts are above a half


def fields(run: Tracer) -> None:
    moved, stack = run.printed()
    assert moved.startswith(f"SHIPPED -> RETURNED by {SHOP}.OrderService.move:")
    assert f"{SHOP}.World.round" in str(stack)


def requests(run: Tracer) -> None:
    slow = run.events("slow_request")
    assert all(event["sql"] == 23 and event["uri"] == "/app/accounts" for event in slow)
    assert slow or run.maps()["ok"]


def imported(run: Tracer) -> None:
    assert sum(run.maps()["by"].values()) == 31 + 13 * 23 + 48 * 2
    assert run.maps()["err"] == {f"{SHOP}.Endpoints,handleOrder": 3}
    assert "warning[BT112]: the traced method has no `arg0`" in "\n".join(run.stderr)


def miscellany(run: Tracer) -> None:
    assert run.maps()["slots"] == {str(i): 3 for i in range(5)}
    assert run.maps()["ok"] == 1
    assert "big 110000" in run.printed()


CHECKS: dict[str, Callable[[Tracer], None]] = {
    "01_entry": entry,
    "02_return": returned,
    "03_throw": thrown,
    "04_uncaught": uncaught,
    "05_sql_hist": sql,
    "06_top_endpoints": endpoints,
    "07_alloc": allocations,
    "08_lock": locks,
    "09_call": calls,
    "10_line": lines,
    "11_field": fields,
    "12_request": requests,
    "13_import": imported,
    "14_misc": miscellany,
}


@pytest.mark.parametrize("name", CHECKS)
def test_script(world: Target, name: str, tmp_path: Path) -> None:
    script = tmp_path / f"{name}.bt"
    text = (TESTS / "lang" / "examples" / f"{name}.bt").read_text(encoding="utf-8")
    source = (SOURCES[-1]).read_text(encoding="utf-8").split("\n")
    line = next(number for number, text in enumerate(source, 1) if "the line that the script names" in text)
    text = text.replace("LINE(142)", f"LINE({line})").replace("rate=0.05", "rate=0.5")  # to sample some
    script.write_text(text, encoding="utf-8")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "tenant.bt").write_text("fn current(): string = thread_name;\n", encoding="utf-8")
    with tracing(world.pid, script) as run:
        world.send()
        world.wait_for("done")
        assert run.stop() == 0, run.stderr
    CHECKS[name](run)
