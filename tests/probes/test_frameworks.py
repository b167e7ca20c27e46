"""The libraries for frameworks, tested on the real frameworks: at the current major version, and at the oldest that is
still used.

`make test` runs the current versions, and `make proof` the others, each on a Java version of its time.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.jdks import compiled
from tests.kafka import kafka
from tests.probes.stacks import jars
from tests.probes.test_libraries import classes, columns, run
from tests.redis import redis
from tests.targets import Target, target
from tests.tracer import tracing


def versions(*of: tuple[int, str]) -> pytest.MarkDecorator:
    """Decorator: run with each pair of a Java version and stacks (separated by blanks); all pairs but the first are
    proofs.
    """
    marks: tuple[Any, ...] = ((), pytest.mark.proof)
    rows = [pytest.param(*row, id=row[1], marks=marks[min(place, 1)]) for place, row in enumerate(of)]
    return pytest.mark.parametrize(("jdk", "stacks"), rows)


def counts_of(program: Target, word: str) -> list[int]:
    """The numbers of the line in which a program prints the framework's own counts."""
    line = next(line for line in program.stdout if line.startswith(f"{word} "))
    return [int(number) for number in line.split()[1:]]


@versions((21, "h2 hikari7 tjdbc11"), (17, "h2 hikari3 tjdbc8"))
def test_pools(jdk: int, stacks: str, tmp_path: Path) -> None:
    script = tmp_path / "script.bt"
    script.write_text(
        "use btpy.pools(slow=100ms, leak=300ms) as pools;\n"
        "@OnProbe(pools.borrowed) when event.error != null { @timeouts[event.pool, event.site] = count(); }\n"
    )
    # HikariCP takes over a changed timeout once in this time, which is usually 30 s.
    flags = ["-Dcom.zaxxer.hikari.housekeeping.periodMs=100"]
    with target(jdk, "Pooling", classpath=classes("Pooling", *jars(*stacks.split())), flags=flags) as program:
        with tracing(program.pid, script) as tracer:
            run(program, tracer)
        acquired, uses, timed_out = counts_of(program, "hikari")
        assert columns(tracer, "pools.@wait") == {"orders": 78, "stock": 46}
        assert columns(tracer, "pools.@failed") == {"orders": 3, "stock": 2}
        assert (acquired, uses, timed_out) == (78, 53 + 17, 3)
        query, twice, leak = "Pooling.query:88", "Pooling.closeTwice:96", "Pooling.leak:104"
        assert columns(tracer, "pools.@borrows") == {query: 53 + 41, twice: 17, leak: 5 + 3}
        assert columns(tracer, "pools.@held") == {query: 53 + 41, twice: 17}
        assert columns(tracer, "pools.@out") == {query: 0, twice: 0, leak: 5 + 3}
        assert tracer.maps()["timeouts"] == {"orders,Pooling.waitInVain:111": 3}
        leaks = [line for line in tracer.printed() if line.startswith("not returned for ")]
        assert [line.split(" ", 4)[-1] for line in leaks].count("Pooling.leak:104 (main)") == 5 + 3
        assert sum(line.startswith("slow: ") for line in tracer.printed()) == 3 + 2


@versions((25, "okhttp5 hc55"), (17, "okhttp3 hc51"), (21, "okhttp5 hc51"))
def test_http_client(jdk: int, stacks: str, tmp_path: Path) -> None:
    script = tmp_path / "script.bt"
    probes = ("jdk", "jdk_async", "jdk_async_failed", "url_connection", "okhttp", "apache")
    script.write_text(
        "use btpy.http_client(slow=1h) as client;\n"
        + "".join(
            f'@OnProbe(client.{probe}) {{ @by["{probe}", f"{{event.status}}", event.error == null] = count(); }}\n'
            for probe in probes
        )
    )
    with target(jdk, "Calling", classpath=classes("Calling", *jars(*stacks.split()))) as program:
        with tracing(program.pid, script) as tracer:
            run(program, tracer)
        ports = next(line for line in program.stdout if line.startswith("ports ")).split()[1:]
        server, closed_address = (f"127.0.0.1:{port}" for port in ports)
        assert columns(tracer, "client.@took") == {
            f"{server},GET,200": 23 + 5 + 29 + 7 + 11 + 37 + 41,
            f"{server},POST,200": 31,
            f"{server},GET,404": 11 + 19,
            f"{server},GET,503": 5 + 17,
            f"{server},GET,HttpTimeoutException": 1 + 1,
            f"{closed_address},GET,ConnectException": 3 + 2 + 13 + 1,
            f"{closed_address},GET,HttpHostConnectException": 1,
        }
        assert tracer.maps()["by"] == {
            "jdk,200,true": 23 + 5,
            "jdk,503,true": 5,
            "jdk,null,false": 3 + 1,
            "jdk_async,200,true": 29 + 7,
            "jdk_async_failed,null,false": 2 + 1,
            "url_connection,200,true": 31 + 11,
            "url_connection,404,true": 11,
            "url_connection,-1,false": 13,
            "okhttp,200,true": 37,
            "okhttp,503,true": 17,
            "okhttp,null,false": 1,
            "apache,200,true": 41,
            "apache,404,true": 19,
            "apache,null,false": 1,
        }


@versions((25, "logback15 log4j225"), (17, "logback12 log4j217"))
def test_logging(jdk: int, stacks: str, tmp_path: Path) -> None:
    check_logging(jdk, stacks, tmp_path, [])


@pytest.mark.proof
@pytest.mark.parametrize("log4j", ["log4j225", "log4j217"])
@pytest.mark.parametrize(
    "flag",
    [
        "-Dlog4j2.enableThreadlocals=false",
        "-Dlog4j2.contextSelector=org.apache.logging.log4j.core.async.AsyncLoggerContextSelector",
    ],
    ids=["immutable-events", "asynchronous-loggers"],
)
def test_logging_in_other_modes_of_log4j(flag: str, log4j: str, tmp_path: Path) -> None:
    check_logging(21, f"logback15 {log4j}", tmp_path, [flag])


def check_logging(jdk: int, stacks: str, tmp_path: Path, flags: list[str]) -> None:
    """The library counts the messages that the program logs, and the appenders of the frameworks agree."""
    script = tmp_path / "script.bt"
    script.write_text(
        "use btpy.logging(slow=250ms) as logs;\n"
        '@OnProbe(logs.logback) { @by["logback", event.level, typeof(event.error)] = count(); }\n'
        '@OnProbe(logs.log4j) { @by["log4j", event.level, typeof(event.error)] = count(); }\n'
        '@OnProbe(logs.jul) { @by["jul", event.level, typeof(event.error)] = count(); }\n'
        "@OnProbe(logs.logback) { @waited[event.logger] = min(event.duration); }\n"
    )
    with target(jdk, "Logging", classpath=classes("Logging", *jars(*stacks.split())), flags=flags) as program:
        with tracing(program.pid, script) as tracer:
            run(program, tracer)
        # A handler of java.util.logging passes 11 messages on to Logback; 19 of Log4j go to two appenders.
        assert counts_of(program, "handled") == [41 + 13 + 2 + 11, 37 + 7 + 2 * 19, 29 + 3 + 11]
        assert columns(tracer, "logs.@logged") == {
            "INFO,orders.Service": 41,
            "WARN,orders.Service": 13,
            "ERROR,orders.Audit": 2,
            "INFO,stock.Service": 37,
            "ERROR,stock.Service": 7,
            "WARN,stock.Async": 19,
            "WARNING,billing.Service": 29,
            "SEVERE,billing.Service": 3,
            "INFO,billing.Service": 11,
        }
        assert columns(tracer, "logs.@thrown") == {
            "WARN,orders.Service": 13,
            "ERROR,stock.Service": 7,
            "SEVERE,billing.Service": 3,
        }
        assert columns(tracer, "logs.@messages") == {
            "INFO,order {} placed": 41,
            "WARN,not delivered {}": 13,
            "ERROR,slow": 2,
            "INFO,{} in stock": 37,
            "ERROR,no stock": 7,
            "WARN,reserved {}": 19,
            "WARNING,bill {0}": 29,
            "SEVERE,unpaid": 3,
            "INFO,bridged": 11,
        }
        assert tracer.maps()["by"] == {
            "logback,INFO,null": 41 + 11,
            "logback,WARN,java.io.IOException": 13,
            "logback,ERROR,null": 2,
            "log4j,INFO,null": 37,
            "log4j,ERROR,java.io.IOException": 7,
            "log4j,WARN,null": 19,
            "jul,WARNING,null": 29,
            "jul,SEVERE,java.io.IOException": 3,
        }
        assert tracer.maps()["waited"]["orders.Audit"] >= 300_000_000
        slow = [line for line in tracer.printed() if line.startswith("slow: ") and "orders.Audit" in line]
        assert [line.split(" ", 2)[2] for line in slow] == ["ERROR orders.Audit slow from Logging.logback:110"] * 2


@versions((25, "caffeine3"), (17, "caffeine2"))
def test_caches(jdk: int, stacks: str, tmp_path: Path) -> None:
    script = tmp_path / "script.bt"
    script.write_text(
        "use btpy.caches as caches;\n"
        "@OnProbe(caches.loaded) { @slowest[event.cache] = sum(event.duration); }\n"
        "@OnProbe(caches.evicted) { @causes[event.cause] = count(); }\n"
        "@OnProbe(caches.evicted_by_2) { @causes[event.cause] = count(); }\n"
    )
    with target(jdk, "Caching", classpath=classes("Caching", *jars(*stacks.split()))) as program:
        with tracing(program.pid, script) as tracer:
            run(program, tracer)
        products, sessions = "Caching.read:57", "Caching.look:86"
        rates, prices = "Caching.rates:93", "Caching.prices:104"
        counts_by_cache = {
            products: counts_of(program, "products"),
            sessions: counts_of(program, "sessions"),
            rates: counts_of(program, "rates"),
            prices: counts_of(program, "prices"),
        }
        assert {cache: counts[:4] for cache, counts in counts_by_cache.items()} == {
            products: [23, 23 + 5, 23 + 5, 13],
            sessions: [31 + 31, 31 + 7, 7, 31],
            rates: [2 * 11 + 1, 11 + 2, 11 + 1, 0],
            prices: [13, 13, 13, 0],
        }
        for column, place in (("hits", 0), ("misses", 1), ("load", 2), ("evicted", 3)):
            expected = {cache: counts[place] for cache, counts in counts_by_cache.items() if counts[place]}
            assert columns(tracer, f"caches.@{column}") == expected
        assert columns(tracer, "caches.@failed") == {products: 5}
        causes = tracer.maps()["causes"]
        assert causes["SIZE"] == 13
        # A loader replaces one entry that is too old; with Caffeine 2 only the table counts this entry.
        assert causes["EXPIRED"] == (31 if stacks == "caffeine3" else 30)
        assert tracer.maps()["slowest"][products] >= 23 * 2_000_000


@versions((25, "jetty12"), (17, "jetty120"))
def test_http_server_of_jetty_12(jdk: int, stacks: str, tmp_path: Path) -> None:
    check_http_server(jdk, stacks, "JettyServing", "request_jetty_12", tmp_path, later=3)


@versions((21, "undertow2"), (17, "undertow2"))
def test_http_server_of_undertow(jdk: int, stacks: str, tmp_path: Path) -> None:
    check_http_server(jdk, stacks, "UndertowServing", "request_undertow", tmp_path, later=3)


@versions((25, "tomcat11"))
def test_http_server_of_tomcat_11(jdk: int, stacks: str, tmp_path: Path) -> None:
    check_http_server(jdk, stacks, "TomcatServing", "request", tmp_path, later=0)


def check_http_server(jdk: int, stacks: str, program: str, probe: str, tmp_path: Path, *, later: int) -> None:
    """``later``: requests that the program answers asynchronously, after 50 ms."""
    script = tmp_path / "script.bt"
    script.write_text(
        "use btpy.http_server(slow=1h) as http;\n"
        f"@OnProbe(http.{probe}) {{ @by[event.verb, event.status, event.duration >= 50ms] = count(); }}\n"
    )
    with target(jdk, program, classpath=classes(program, *jars(*stacks.split()), beside=["Served"])) as server:
        with tracing(server.pid, script) as tracer:
            run(server, tracer)
        assert columns(tracer, "http.@took") == {
            "GET /app/items/{id} 200": 53,
            "POST /app/items/{id} 201": 17,
            "GET /app/items/fail 500": 5,
            "GET /app/none 404": 11,
            **({"GET /app/later 200": later} if later else {}),
        }
        by = tracer.maps()["by"]
        assert sum(by.values()) == 53 + 17 + 5 + 11 + later
        assert by.get("GET,200,true", 0) >= later, "a request lasts until its answer is complete"


@versions((25, "jedis7 lettuce7"), (17, "jedis3 lettuce5"), (21, "jedis3 lettuce7"))
def test_redis(jdk: int, stacks: str, tmp_path: Path) -> None:
    script = tmp_path / "script.bt"
    script.write_text(
        "use btpy.redis(slow=1h) as redis;\n"
        + "".join(
            f'@OnProbe(redis.{probe}) {{ @by["{probe}", event.command, event.error == null] = count(); }}\n'
            for probe in ("jedis", "jedis_unsent", "lettuce", "lettuce_failed")
        )
        + '@OnProbe(redis.jedis) when event.command == "EVAL" { @places[event.server, event.site] = count(); }\n'
    )
    path = classes("RedisCalls", *jars(*stacks.split()))
    with redis() as server, target(jdk, "RedisCalls", str(server.port), classpath=path) as program:
        ports = next(line for line in program.stdout if line.startswith("ports ")).split()[1:]
        at, (silent, closed_address) = f"127.0.0.1:{server.port}", (f"127.0.0.1:{port}" for port in ports)
        with tracing(program.pid, script) as tracer:
            server.reset_counts()
            run(program, tracer)
        took, failures = columns(tracer, "redis.@took"), columns(tracer, "redis.@failed")
        # Jedis 7 says its own name and version before the first command of a connection.
        first = "CLIENT" if "jedis7" in stacks else "GET"
        counts_by_command = {"GET": 53 + 19 + 41, "HGET": 19, "SET": 31 + 13, "INCR": 7 + 37 + 11, "EVAL": 1}
        counts = server.counts()
        assert counts.pop("BLPOP") == 1, "the second waits behind the first"
        assert counts == counts_by_command
        assert took == {
            **{f"{at},{command}": count for command, count in counts_by_command.items()},
            f"{at},BLPOP": 2,
            f"{silent},{first}": 3,
            f"{closed_address},GET": 5,
        }
        assert failures == {f"{at},INCR": 7 + 11, f"{at},BLPOP": 2, f"{silent},{first}": 3, f"{closed_address},GET": 5}
        assert tracer.maps()["by"] == {
            "jedis,GET,true": 53 + 19,
            "jedis,HGET,true": 19,
            "jedis,SET,true": 31,
            "jedis,INCR,false": 7,
            "jedis,EVAL,true": 1,
            f"jedis,{first},false": 3,
            "jedis_unsent,GET,false": 5,
            "lettuce,GET,true": 41,
            "lettuce,INCR,true": 37,
            "lettuce,INCR,false": 11,
            "lettuce,SET,true": 13,
            "lettuce_failed,BLPOP,false": 2,
        }
        assert tracer.maps()["places"] == {f"{at},RedisCalls.jedis:62": 1}


@versions((25, "grpc76"), (17, "grpc42"))
def test_grpc(jdk: int, stacks: str, tmp_path: Path) -> None:
    script = tmp_path / "script.bt"
    script.write_text(
        "use btpy.grpc(slow=1h) as grpc;\n"
        "@OnProbe(grpc.client) { @sites[event.method, event.site] = count(); }\n"
        "@OnProbe(grpc.client) { @fastest[event.status] = min(event.duration); }\n"
        "@OnProbe(grpc.server) { @answered[event.status] = count(); }\n"
        "@OnProbe(grpc.unanswered) { @unanswered[event.status] = count(); }\n"
    )
    with target(jdk, "RpcCalls", classpath=classes("RpcCalls", *jars(stacks))) as program:
        with tracing(program.pid, script) as tracer:
            run(program, tracer)
        assert columns(tracer, "grpc.@client") == {
            "shop.Orders/place,OK": 53,
            "shop.Orders/place,INVALID_ARGUMENT": 11,
            "shop.Orders/place,UNKNOWN": 5,
            "shop.Orders/place,DEADLINE_EXCEEDED": 3,
            "shop.Orders/place,UNAVAILABLE": 2,
            "shop.Orders/missing,UNIMPLEMENTED": 7,
            "shop.Orders/list,OK": 13,
        }
        # The server has no call for a method that it does not have.
        assert columns(tracer, "grpc.@server") == {
            "shop.Orders/place,OK": 53,
            "shop.Orders/place,INVALID_ARGUMENT": 11,
            "shop.Orders/place,UNKNOWN": 5,
            "shop.Orders/place,CANCELLED": 3,
            "shop.Orders/list,OK": 13,
        }
        maps = tracer.maps()
        assert maps["sites"] == {
            "shop.Orders/place,RpcCalls.call:82": 53 + 11 + 5 + 3 + 2,
            "shop.Orders/missing,RpcCalls.call:82": 7,
            "shop.Orders/list,RpcCalls.main:55": 13,
        }
        assert maps["answered"] == {"OK": 53 + 13, "INVALID_ARGUMENT": 11, "CANCELLED": 3}
        assert maps["unanswered"] == {"UNKNOWN": 5}
        assert maps["fastest"]["DEADLINE_EXCEEDED"] >= 90_000_000


@versions((25, "kafka4"), (17, "kafka2"), (21, "kafka3"))
def test_kafka(jdk: int, stacks: str, tmp_path: Path) -> None:
    script = tmp_path / "script.bt"
    script.write_text(
        "use btpy.kafka(slow=1h) as kafka;\n"
        "@OnProbe(kafka.sent) { @sent[event.topic, event.refused, event.site] = count(); }\n"
        "@OnProbe(kafka.delivered) { @batches[event.topic, event.failed] = sum(event.records); }\n"
        "@OnProbe(kafka.polled) { @polled[event.group] = sum(event.records); }\n"
        "@OnProbe(kafka.committed) { @committed[event.group, event.error == null] = count(); }\n"
        "@OnProbe(kafka.rebalanced) { @joined[event.group] = count(); }\n"
    )
    path = classes("Messages", *jars(stacks))
    with kafka(jars("kafka-broker")) as port, target(jdk, "Messages", str(port), classpath=path) as program:
        with tracing(program.pid, script) as tracer:
            run(program, tracer)
        (polls,), (rebalances,) = counts_of(program, "polls"), counts_of(program, "rebalances")
        assert columns(tracer, "kafka.@send") == {"orders": 53 + 5, "stock": 31, "small": 7}
        assert columns(tracer, "kafka.@delivered") == {"orders": 53, "stock": 31}
        assert columns(tracer, "kafka.@failed") == {"orders": 5, "small": 7}
        assert columns(tracer, "kafka.@received") == {"orders": 53, "stock": 31}
        assert sum(columns(tracer, "kafka.@work").values()) == polls
        assert columns(tracer, "kafka.@records") == {"billing": 53, "audit": 31}
        assert columns(tracer, "kafka.@rebalances") == {"audit": rebalances}
        maps = tracer.maps()
        assert maps["sent"] == {
            "orders,false,Messages.send:100": 53,
            "stock,false,Messages.send:100": 31,
            "orders,true,Messages.refuse:109": 5,
            "small,false,Messages.refuse:109": 7,
        }
        assert maps["batches"] == {"orders,false": 53, "stock,false": 31, "small,true": 7}
        assert maps["polled"] == {"billing": 53, "audit": 31}
        assert maps["committed"] == {"billing,true": 3}
        assert maps["joined"] == {"audit": rebalances}
        work = next(row for row in reversed(tracer.of("table")) if "kafka.@work" in row["data"].get("billing", {}))
        assert work["data"]["billing"]["kafka.@work"]["total"] >= 53 * 3_000_000, "3 ms a record"


def test_a_version_that_a_library_does_not_know_is_reported(tmp_path: Path) -> None:
    source = tmp_path / "HikariPool.java"
    source.write_text(
        "package com.zaxxer.hikari.pool;\n"
        "public class HikariPool {\n"
        "    Object borrow(long timeout) { return null; }\n"
        "    public static void main(String[] arguments) throws Exception {\n"
        '        System.out.println("ready");\n'
        "        System.in.read();\n"
        "    }\n"
        "}\n"
    )
    with target(21, "com.zaxxer.hikari.pool.HikariPool", classpath=[compiled([source])]) as program:
        with tracing(program.pid, "pools") as tracer:
            assert tracer.stop() == 0
        messages = "\n".join(tracer.stderr)
        assert 'warning[BT303]: no method of com.zaxxer.hikari.pool.HikariPool matches "getConnection"' in messages
        assert "this probe is tested with HikariCP 3.4 and 7.0: other versions may differ" in messages


@versions((21, "h2 hibernate7"), (17, "h2 hibernate6"), (17, "h2 hibernate5"))
def test_hibernate(jdk: int, stacks: str, tmp_path: Path) -> None:
    script = tmp_path / "script.bt"
    script.write_text(
        "use btpy.hibernate(slow=1h) as hibernate;\n"
        "@OnProbe(hibernate.collection) { @lazy[event.name] = count(); }\n"
        "@OnProbe(hibernate.entity) { @lazy[event.name] = count(); }\n"
        "@OnProbe(hibernate.flushed) { @kinds[event.kind] = count(); }\n"
    )
    with target(jdk, "Persisting", classpath=classes("Persisting", *jars(*stacks.split()))) as program:
        with tracing(program.pid, script) as tracer:
            run(program, tracer)
        loads, fetches, collections, inserts, updates, deletes, flushes = counts_of(program, "hibernate")
        books, shelves = 11 + 6 * 2, 7
        assert (fetches, collections, inserts, deletes) == (7, 5, books + shelves + 3, 5)
        assert columns(tracer, "hibernate.@lazy") == {
            "Shelf.books Persisting.readBooksOfShelves:99": 5,
            "Shelf Persisting.readShelvesOfBooks:107": 7,
        }
        entities = columns(tracer, "hibernate.@loaded")
        assert entities["Shelf"] + entities["Book"] == loads
        assert entities["Shelf"] == 2 * shelves
        assert columns(tracer, "hibernate.@inserted") == {"Shelf": shelves, "Book": books + 3}
        assert columns(tracer, "hibernate.@updated") == {"Book": updates}
        assert columns(tracer, "hibernate.@deleted") == {"Book": deletes}
        kinds = tracer.maps()["kinds"]
        assert kinds["commit"] + kinds["needed"] == flushes
        assert kinds["commit"] == 6
        assert tracer.maps()["lazy"] == {"Persisting$Shelf.books": 5, "Persisting$Shelf": 7}


@versions((21, "jackson3"), (21, "jackson2"), (17, "jackson213"))
def test_jackson(jdk: int, stacks: str, tmp_path: Path) -> None:
    script = tmp_path / "script.bt"
    script.write_text(
        "use btpy.jackson(slow=1h) as jackson;\n"
        "@OnProbe(jackson.written) { @written[event.type, event.error == null] = count(); }\n"
        "@OnProbe(jackson.read) { @read[event.type, event.error == null] = count(); }\n"
    )
    main = "Jackson3" if stacks == "jackson3" else "Jackson2"
    with target(jdk, main, classpath=classes(main, *jars(stacks), beside=["Mapping"])) as program:
        with tracing(program.pid, script) as tracer:
            run(program, tracer)
        order, customer, list_ = "Mapping$Order", "Mapping$Customer", "ImmutableCollections$List12"
        assert columns(tracer, "jackson.@written") == {order: 29 + 13, list_: 7, customer: 2}
        assert columns(tracer, "jackson.@read") == {
            order: 23 + 11,
            "List of Mapping$Line": 5,
            "JsonNode": 3,
            customer: 17,
        }
        assert tracer.maps()["jackson.@failed"] == {f"read,{customer},MismatchedInputException": 17}
        assert tracer.maps()["read"][f"{customer},false"] == 17


@versions((25, "springtx7"), (17, "springtx53"))
def test_spring_tx(jdk: int, stacks: str, tmp_path: Path) -> None:
    script = tmp_path / "script.bt"
    script.write_text(
        "use btpy.spring_tx as tx;\n"
        "@OnProbe(tx.committed) { @committed[event.name] = count(); }\n"
        "@OnProbe(tx.rolled_back) { @rolled_back[event.name, event.unexpected] = count(); }\n"
    )
    with target(jdk, "SpringTransactions", classpath=classes("SpringTransactions", *jars(*stacks.split()))) as program:
        with tracing(program.pid, script) as tracer:
            run(program, tracer)
        assert counts_of(program, "ended") == [31 + 7 + 5, 13 + 3]
        shop, template = "SpringTransactions$Shop", "SpringTransactions.byTemplate:139"
        assert columns(tracer, "tx.@took") == {
            f"{shop}.place": 31,
            f"{shop}.fail": 13,
            f"{shop}.placeTwice": 7,
            f"{shop}.ignoreAFailure": 3,
            template: 5,
        }
        assert columns(tracer, "tx.@rolled_back") == {f"{shop}.fail": 13, f"{shop}.ignoreAFailure": 3}
        assert tracer.maps()["tx.@unexpected"] == {f"{shop}.ignoreAFailure": 3}
        assert tracer.maps()["tx.@causes"] == {f"{shop}.fail,IllegalStateException": 13 + 3}
        assert tracer.maps()["committed"] == {f"{shop}.place": 31, f"{shop}.placeTwice": 7, template: 5}
        assert tracer.maps()["rolled_back"] == {f"{shop}.fail,false": 13, f"{shop}.ignoreAFailure,true": 3}


@versions((25, "springtx7 webmvc7 tomcat11"), (17, "springtx53 webmvc53 tomcat9"))
def test_spring_mvc(jdk: int, stacks: str) -> None:
    with target(jdk, "SpringMvc", classpath=classes("SpringMvc", *jars(*stacks.split()))) as program:
        with tracing(program.pid, "spring_mvc") as tracer:
            run(program, tracer)
        handlers = {"SpringMvc$Shop.item": 31, "SpringMvc$Shop.sold": 7, "SpringMvc$Shop.broken": 5}
        assert columns(tracer, "@took") == {**handlers, "(no handler)": 3}
        assert set(columns(tracer, "@method")) == set(handlers)
        errors = tracer.maps()["errors"]
        assert errors["SpringMvc$Shop.sold,IllegalStateException,handled"] == 7
        assert errors["SpringMvc$Shop.broken,UnsupportedOperationException,passed on"] == 5


@versions((25, "webflux7"), (17, "webflux61"))
def test_spring_webflux(jdk: int, stacks: str, tmp_path: Path) -> None:
    script = tmp_path / "script.bt"
    script.write_text(
        "use btpy.spring_webflux as flux;\n"
        "@OnProbe(flux.answered) when event.duration >= 50ms { @late[event.handler, event.status] = count(); }\n"
        "@OnProbe(flux.closed) when event.duration >= 50ms { @late[event.handler, event.status] = count(); }\n"
    )
    with target(jdk, "SpringWebFlux", classpath=classes("SpringWebFlux", *jars(stacks))) as program:
        with tracing(program.pid, script) as tracer:
            run(program, tracer)
        shop = "SpringWebFlux$Shop"
        counts = {f"{shop}.item": 31, f"{shop}.feed": 11, f"{shop}.sold": 7, f"{shop}.broken": 5, "(no handler)": 3}
        function = "SpringWebFlux$Settings.(function)"
        assert columns(tracer, "flux.@took") == {**counts, function: 13}
        assert columns(tracer, "flux.@failed") == {f"{shop}.broken": 5}
        maps = tracer.maps()
        statuses = {f"{handler},200": count for handler, count in counts.items()}
        statuses[f"{shop}.broken,500"] = statuses.pop(f"{shop}.broken,200")
        statuses["(no handler),404"] = statuses.pop("(no handler),200")
        assert maps["flux.@statuses"] == {**statuses, f"{function},202": 13}
        errors = maps["flux.@errors"]
        assert errors[f"{shop}.sold,IllegalStateException,handled"] == 7
        assert errors[f"{shop}.broken,UnsupportedOperationException,passed on"] == 5
        assert maps["late"][f"{shop}.item,200"] == 31, "the method ends before its Mono"
        assert maps["late"][f"{shop}.feed,200"] == 11, "three elements, each after 20 ms"


@versions((21, "reactor37"), (17, "reactor33"))
def test_the_queue_time_of_reactor_is_apart_from_its_run_time(jdk: int, stacks: str, tmp_path: Path) -> None:
    """Tasks of 30 ms follow each other on one thread; three are due after 500 ms."""
    script = tmp_path / "script.bt"
    script.write_text(
        "use btpy.executors as executors;\n"
        "@OnProbe(executors.started) { @queued[event.pool, event.waited / 30ms >= 1] = count(); }\n"
        "@OnProbe(executors.started) when event.pool == 'shop' { @waits = sum(event.waited / 1ms); }\n"
        "@OnProbe(executors.started) when event.waited >= 500ms { @late[event.pool] = count(); }\n"
        "@OnProbe(executors.ended) when event.duration >= 30ms { @ran[event.pool] = count(); }\n".replace("'", '"')
    )
    with target(jdk, "ReactorQueue", classpath=classes("ReactorQueue", *jars(stacks))) as program:
        with tracing(program.pid, script) as tracer:
            run(program, tracer)
        assert columns(tracer, "executors.@wait") == {"shop": 11 + 7, "later": 3}
        maps = tracer.maps()
        assert maps["queued"]["shop,true"] >= 11 + 7 - 2  # the first tasks possibly find a free thread
        assert maps["waits"] >= 30 * sum(range(11 + 7))
        assert "later" not in maps.get("late", {}), "a delay is no wait"
        assert maps["ran"] == {"shop": 11 + 7}
