"""Runs each example script on the shop, and compares its results with the shop's own counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from examples.shop.build_shop import MAIN
from tests.examples.shop import counts, shop_jar
from tests.jdks import MAJORS
from tests.targets import target
from tests.tracer import Tracer, tracing

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
REQUESTS = 251
NOT_LOADED_YET = "--pending"  # before its first request the shop has not loaded all of its classes
TESTED_ELSEWHERE = {"wiremock_slow.bt", "h2_sql.bt"}  # tests/real


@dataclass
class Run:
    """Runs a script from before the first request until after the last one."""

    tracer: Tracer
    shop: dict[str, int]

    @property
    def maps(self) -> dict[str, Any]:
        return self.tracer.maps()

    def total(self, name: str) -> int:
        """The sum over all keys of a map of counts."""
        return sum(self.maps[name].values())

    def samples(self, name: str) -> int:
        """The number of values in a keyed histogram."""
        return sum(bucket["count"] for buckets in self.maps[name].values() for bucket in buckets)


@contextmanager
def traced(script: str, *flags: str, jdk: int = 17) -> Iterator[Run]:
    options = ["--requests", str(REQUESTS), "--rate", "0", "--gate"]
    with target(jdk, MAIN, *options, classpath=[shop_jar()]) as shop:
        with tracing(shop.pid, EXAMPLES / script, *flags) as tracer:
            shop.send()
            shop_counts = counts(shop.wait_for("counts "))
            assert tracer.stop() == 0, tracer.stderr
            tracer.check_complete()
            yield Run(tracer, shop_counts)
        shop.send()
        assert shop.wait() == 0
        assert shop.stderr == []


def thrown(shop: dict[str, int], method: str) -> dict[str, int]:
    """Counts of the exceptions that left ``method``, by simple class name."""
    return {name.partition("!")[2]: count for name, count in shop.items() if name.startswith(f"{method}!")}


def test_entry_arguments() -> None:
    with traced("entry_arguments.bt") as run:
        lines = run.tracer.printed()
        assert len(lines) == run.shop["place"]
        pattern = re.compile(r"place for [a-z]+: \d+ pieces in ([123]) lines, first SKU-\d{4}")
        assert sum(int(match[1]) for match in map(pattern.fullmatch, lines) if match) == run.shop["add"]


def test_slow_returns() -> None:
    with traced("slow_returns.bt") as run:
        events = run.tracer.events("slow_quote")
        imported = [event for event in events if int(event["sku"].removeprefix("SKU-")) % 11 == 5]
        assert len(imported) == run.shop["tariff"]  # each of these calls waits at least 12 ms
        assert all(event["took"] > 10_000_000 for event in events)
        assert all(
            event["cents"] >= (199 + 137 * int(event["sku"].removeprefix("SKU-"))) * event["quantity"]
            for event in imported
        )


def test_thrown() -> None:
    with traced("thrown.bt") as run:
        prefix = "com.acme.shop."
        counts = run.maps["thrown"]
        lookups = run.shop["status.404"] - run.shop["find!NoSuchProductException"]
        assert (
            counts.pop(f"find,{prefix}NoSuchOrderException") == 2 * lookups
        )  # each exception leaves OrderBook.find, then OrderService.find
        for method in ("find", "reserve", "place"):
            expected = thrown(run.shop, method)
            assert {
                key.removeprefix(f"{method},{prefix}"): count
                for key, count in counts.items()
                if key.startswith(f"{method},")
            } == expected
        assert counts[f"charge,{prefix}PaymentDeclinedException"] == run.shop["decline"]
        assert counts[f"decline,{prefix}PaymentDeclinedException"] == run.shop["decline"]
        assert set(run.maps["declined"]) == {"51,true", "14,false"}
        assert run.total("declined") == run.maps["first"] == run.shop["decline"]
        lines = run.tracer.printed()
        assert len([line for line in lines if "declined, reason" in line]) == 3
        stacks = [line for line in lines if "PaymentGateway.decline" in line]
        assert len(stacks) == 3
        assert all("PaymentGateway.charge" in line and "OrderService.place" in line for line in stacks)


@pytest.mark.parametrize("jdk", MAJORS)
def test_latency(jdk: int) -> None:
    with traced("latency.bt", jdk=jdk) as run:
        assert sum(bucket["count"] for bucket in run.maps["all"]) == run.shop["quote"]
        assert len(run.maps["latency"]) == 5
        slowest = [int(sku.removeprefix("SKU-")) % 11 for sku in run.maps["latency"]]
        assert 5 in slowest


@pytest.mark.parametrize("jdk", MAJORS)
def test_top_endpoints(jdk: int) -> None:
    with traced("top_endpoints.bt", jdk=jdk) as run:
        expected = {
            name.removeprefix("request"): count for name, count in run.shop.items() if name.startswith("request/")
        }
        assert run.maps["hits"] == expected
        assert {path: stats["count"] for path, stats in run.maps["latency"].items()} == expected
        failures = sum(count for name, count in run.shop.items() if name.startswith("status."))
        assert run.total("failed") == failures


def test_recursion() -> None:
    with traced("recursion.bt") as run:
        assert run.total("activations") == run.shop["countProducts"]
        refusals = run.shop["status.400"] - run.shop["place!BadRequestException"]
        assert run.maps["activations"]["0"] == run.shop["request/count"] - refusals
        assert sum(stats["count"] for stats in run.maps["whole"].values()) == run.maps["activations"]["0"]
        assert run.maps["products"]["home"] == 61


@pytest.mark.parametrize("jdk", MAJORS)
def test_before_and_after(jdk: int) -> None:
    with traced("before_and_after.bt", jdk=jdk) as run:
        events = run.tracer.events("spend")
        assert len(events) == run.shop["spend"]
        assert all(event["before"] + event["amount"] == event["after"] for event in events)
        spent: Counter[str] = Counter()
        for event in sorted(events, key=lambda event: (event["customer"], event["after"])):
            assert event["before"] == spent[event["customer"]]  # one call follows the other without a gap
            spent[event["customer"]] = event["after"]


def test_revenue() -> None:
    with traced("revenue.bt") as run:
        assert run.total("orders") == run.shop["file"]
        assert set(run.maps["orders"]) <= {"BRONZE", "SILVER", "GOLD"}
        assert run.maps["smallest"] <= run.maps["mean"] <= run.maps["largest"] <= 90_000
        assert run.maps["mean"] * run.shop["file"] == pytest.approx(run.total("revenue"))


def test_status_table() -> None:
    with traced("status_table.bt") as run:
        counts_by_status = {
            name.removeprefix("status."): n for name, n in run.shop.items() if name.startswith("status.")
        }
        assert run.maps["status"] == {"200": REQUESTS - sum(counts_by_status.values()), **counts_by_status}
        assert run.tracer.printed() == ["status: watching", "status: done"]


@pytest.mark.parametrize("jdk", MAJORS)
def test_executor_queue(jdk: int) -> None:
    with traced("executor_queue.bt", NOT_LOADED_YET, jdk=jdk) as run:
        assert sum(bucket["count"] for bucket in run.maps["waited_ns"]) == run.shop["mail"]
        assert 0 <= run.maps["length"] < run.shop["mail"]
        assert not run.maps.get("queued")


@pytest.mark.parametrize("jdk", MAJORS)
def test_lock_wait(jdk: int) -> None:
    with traced("lock_wait.bt", jdk=jdk) as run:
        assert run.samples("wait") == run.total("held_by") == run.shop["acquire"]
        workers = {f"http-{number}" for number in range(1, 5)}
        assert set(run.maps["wait"]) <= workers
        assert set(run.maps["held_by"]) <= workers | {"nobody"}


@pytest.mark.parametrize("jdk", MAJORS)
def test_late_classes(jdk: int) -> None:
    with traced("late_classes.bt", jdk=jdk) as run:
        assert run.maps["reports"] == run.shop["report"]
        assert run.maps["promotions"] + run.total("refused") == run.shop["promo"]
        assert run.total("refused") == run.shop["status.500"]
        assert all(message.startswith("negative amount -") for message in run.maps["refused"])


@pytest.mark.parametrize("jdk", MAJORS)
def test_core_classes(jdk: int) -> None:
    with traced("core_classes.bt", jdk=jdk) as run:
        filed = run.shop["file"]
        assert run.maps["filed"] == run.maps["size"] == run.maps["keys"]["count"] == filed
        assert run.maps["replaced"] == 0


@pytest.mark.parametrize("jdk", MAJORS)
def test_string_repeat(jdk: int) -> None:
    with traced("string_repeat.bt", "--allow", "core", jdk=jdk) as run:
        assert (run.maps["rulers"], run.maps["length"], run.maps["text"]) == (run.shop["file"], 37, 1)


def test_one_liners() -> None:
    with traced("one_liners.bt", NOT_LOADED_YET) as run:
        assert run.total("declined") == run.shop["decline"]
        pricing = "com.acme.shop.PricingEngine"
        unknown = run.shop["find!NoSuchProductException"]
        assert run.maps["calls"] == {
            f"{pricing},quote": run.shop["quote"] - unknown,
            f"{pricing},tariff": run.shop["tariff"],
        }
        answers = sum(count for name, count in run.shop.items() if name.startswith("status.4"))
        assert run.total("made") == answers
        assert set(run.maps["ticks"]) == {"true"}
        assert run.maps["ticks"]["true"] >= run.shop["report"]


def test_basket_lines() -> None:
    with traced("basket_lines.bt", NOT_LOADED_YET) as run:
        lines = run.tracer.printed()
        pattern = re.compile(r"SKU-(\d{4}) x  ?(\d+)  \[(\d{4})]")
        matches = [match for match in map(pattern.fullmatch, lines) if match]
        assert len(matches) == len(lines)
        assert all(match[1] == match[3] and int(match[2]) >= 5 for match in matches)
        assert sum(int(match[2]) for match in matches) == run.maps["many"]
        assert run.total("pieces_mod_7") == run.shop["add"]


@pytest.mark.parametrize("jdk", MAJORS)
def test_allocations(jdk: int) -> None:
    with traced("allocations.bt", NOT_LOADED_YET, jdk=jdk) as run:
        results: Counter[str] = Counter()
        for key, count in run.maps["failures"].items():
            results[key.partition(",")[0].removeprefix("com.acme.shop.")] += count
        lookups = run.shop["status.404"] - run.shop["find!NoSuchProductException"]
        assert results == {
            "BadRequestException": run.shop["status.400"],
            "NoSuchProductException": run.shop["find!NoSuchProductException"],
            "NoSuchOrderException": lookups,
            "OutOfStockException": run.shop["reserve!OutOfStockException"],
            "PaymentDeclinedException": run.shop["decline"],
        }
        ((key, bytes_),) = run.maps["bytes"].items()
        assert key.startswith("com.acme.shop.Basket$Line,com.acme.shop.Basket.parse:")
        assert bytes_ == 24 * run.shop["add"]  # a header of 12, a reference and an int of 4
        assert run.maps["pieces"] > run.shop["add"]
        assert run.maps["buffers"] == {"1024": REQUESTS * (16 + 1024)}


@pytest.mark.parametrize("jdk", MAJORS)
def test_monitors(jdk: int) -> None:
    with traced("monitors.bt", NOT_LOADED_YET, jdk=jdk) as run:
        shoppers = {f"com.acme.shop.LoadGenerator,shopper-{number}" for number in range(1, 5)}
        assert set(run.maps["wait"]) == shoppers
        assert run.samples("wait") == REQUESTS + len(shoppers)  # each shopper asks once more and gets no order
        book = "com.acme.shop.OrderBook"
        calls = {method: stats["count"] for method, stats in run.maps["calls"].items()}
        assert run.maps["entered"] == {f"{book},{method}": count for method, count in calls.items()}
        assert (calls["file"], calls["find"]) == (run.shop["file"], run.shop["lookup"])
        assert set(calls) == {"nextId", "file", "find"}


@pytest.mark.parametrize("jdk", MAJORS)
def test_calls(jdk: int) -> None:
    with traced("calls.bt", NOT_LOADED_YET, jdk=jdk) as run:
        quotes = {caller: stats["count"] for caller, stats in run.maps["quotes"].items()}
        assert quotes == {
            "com.acme.shop.Endpoints$Quote.handle": run.shop["request/quote"],
            "com.acme.shop.OrderService.price": run.shop["quote"] - run.shop["request/quote"],
        }
        unknown = run.shop["find!NoSuchProductException"]
        assert run.total("failed") == unknown
        assert {key.partition(",")[0] for key in run.maps["failed"]} == {"com.acme.shop.NoSuchProductException"}
        assert run.maps["cents"] > 100 * (run.shop["quote"] - unknown)
        assert set(run.maps["declined"]) == {"51,true", "14,true"}
        assert run.total("declined") == run.shop["decline"]
        assert sum(bucket["count"] for bucket in run.maps["slept"]) == run.maps["declined"]["51,true"]


def test_line_locals() -> None:
    source = (EXAMPLES / "shop/src/com/acme/shop/PricingEngine.java").read_text(encoding="utf-8").split("\n")
    assert source[25 - 1].strip() == "return quantity >= 10 ? price.less(3.0) : price;"
    with traced("line_locals.bt") as run:
        reached = run.maps["reached"]
        assert set(reached) == {"true,false", "false,false"}
        unknown = run.shop["find!NoSuchProductException"]
        assert sum(reached.values()) == run.shop["quote"] - unknown - run.shop["tariff"]
        events = run.tracer.events("discount")
        assert len(events) == reached["true,false"]
        assert all(
            event["cents"] == (199 + 137 * int(event["sku"].removeprefix("SKU-"))) * event["quantity"]
            and event["quantity"] >= 10
            and event["after"] > 0
            for event in events
        )
        matches = [re.fullmatch(r'sku="(SKU-\d+)", quantity=(\d+), .*', line) for line in run.tracer.printed()]
        assert Counter((match[1], int(match[2])) for match in matches if match) == Counter(
            (event["sku"], event["quantity"]) for event in events
        )


@pytest.mark.parametrize("jdk", MAJORS)
def test_field_writes(jdk: int) -> None:
    with traced("field_writes.bt", NOT_LOADED_YET, jdk=jdk) as run:
        moves = run.maps["moves"]
        order = "com.acme.shop.Order"
        assert set(moves) == {f"null,NEW,{order}.<init>", f"NEW,PAID,{order}.become", f"PAID,CONFIRMED,{order}.become"}
        assert moves[f"NEW,PAID,{order}.become"] == run.shop["spend"]
        assert moves[f"PAID,CONFIRMED,{order}.become"] == run.shop["mail"]
        assert moves[f"null,NEW,{order}.<init>"] > run.shop["spend"]
        lines = run.tracer.printed()
        assert len(set(lines)) == len(lines) == run.shop["mail"]
        assert all(re.fullmatch(r"order \d+: PAID -> CONFIRMED by com.acme.shop.Order.become", line) for line in lines)
        assert sum(run.maps["spent"].values()) == run.maps["steps"]


@pytest.mark.parametrize("jdk", MAJORS)
def test_raised_and_caught(jdk: int) -> None:
    with traced("raised_and_caught.bt", NOT_LOADED_YET, jdk=jdk) as run:
        counts_by_status = {
            name.removeprefix("status."): count for name, count in run.shop.items() if name.startswith("status.4")
        }
        assert run.maps["answered"] == counts_by_status
        given_up = thrown(run.shop, "place")
        assert run.maps["gave_up"] == {f"com.acme.shop.{name}": count for name, count in given_up.items()}
        counts_by_key = run.maps["raised"]
        rethrown = {key.partition(",")[0]: count for key, count in counts_by_key.items() if key.endswith(",place")}
        bad_requests = given_up["BadRequestException"]  # raised in `place` or below it; `place` always raises it again
        assert rethrown["com.acme.shop.OutOfStockException"] == given_up["OutOfStockException"]
        assert rethrown["com.acme.shop.BadRequestException"] >= bad_requests
        assert counts_by_key["com.acme.shop.PaymentDeclinedException,decline"] == run.shop["decline"]
        assert counts_by_key["com.acme.shop.NoSuchProductException,find"] == run.shop["find!NoSuchProductException"]
        assert run.total("out_of_stock") == run.shop["reserve!OutOfStockException"]


def test_happenings() -> None:
    with traced("happenings.bt") as run:
        texts = run.tracer.printed()
        lines = [text for text in texts if text.startswith("loaded ")]
        assert any(re.fullmatch(r"loaded com\.acme\.shop\.\S+ by app, [\d.]+(B|KB)", text) for text in lines), texts
        assert not any("died" in text for text in texts)


def test_failures() -> None:
    with traced("failures.bt", "--least", "5") as run:
        assert run.maps["types"]["OutOfStockException"] == run.shop["reserve!OutOfStockException"]
        assert run.maps["types"]["NoSuchProductException"] == run.shop["find!NoSuchProductException"]
        assert run.maps["types"]["PaymentDeclinedException"] == run.shop["decline"]
        lines = run.tracer.printed()
        assert len(lines) == run.shop["decline"]
        pattern = re.compile(r"declined, reason (14|51) com\.acme\.shop\.PaymentGateway\.decline:\d+")
        assert all(map(pattern.fullmatch, lines))
    parameters = "--of=*Stock*", "--least=1000000"
    with traced("failures.bt", *parameters) as run:
        assert run.maps["types"] == {}
    with traced("failures.bt", "--of", "*Stock*") as run:
        assert run.maps["types"] == {"OutOfStockException": run.shop["reserve!OutOfStockException"]}


def test_every_example_has_a_test() -> None:
    scripts = {path.name for path in EXAMPLES.glob("*.bt")} - TESTED_ELSEWHERE
    tests = {f"{name.removeprefix('test_')}.bt" for name in globals() if name.startswith("test_")}
    assert scripts <= tests
