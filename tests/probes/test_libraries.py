"""The libraries that btpy ships, each on a real program: every event comes once, as its manual says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.jdks import all_jdks, compiled, jdks_since_17
from tests.maven import H2, WIREMOCK, artifact
from tests.targets import Target, target
from tests.tracer import Tracer, tracing

TESTS = Path(__file__).parent.parent
TOMCAT = ("org.apache.tomcat.embed:tomcat-embed-core:10.1.33", "org.apache.tomcat:tomcat-annotations-api:10.1.33")


def classes(name: str, *jars: Path, beside: Sequence[str] = ()) -> list[Path]:
    """``beside``: the other programs whose classes the program uses."""
    programs = [TESTS / "probes" / "java" / f"{source}.java" for source in (name, *beside)]
    sources = [TESTS / "java" / "Gate.java", *programs]
    return [compiled(sources, classpath=jars), *jars]


def run(program: Target, tracer: Tracer) -> None:
    """Lets the program do its work, and ends the trace. No event may be lost, no probe may fail, no class may stay
    woven.
    """
    program.send()
    program.wait_for("done")
    assert tracer.stop() == 0, tracer.stderr
    tracer.check_complete()


def columns(tracer: Tracer, name: str) -> dict[str, Any]:
    """The entries of one map by key, from the last table that shows it. An entry with several figures gives only its
    count."""
    tables = [record["data"] for record in tracer.of("table")]
    rows = next(rows for rows in reversed(tables) if any(name in row for row in rows.values()))
    cells = {key: row[name] for key, row in rows.items() if row[name] is not None}
    return {key: cell["count"] if isinstance(cell, dict) else cell for key, cell in cells.items()}


@jdks_since_17
def test_jdbc(jdk: int, tmp_path: Path) -> None:
    script = tmp_path / "script.bt"
    script.write_text(
        "use btpy.jdbc(chars=60, slow=1h) as db;\n"
        "@OnProbe(db.statement) when event.failed != null { @why[event.failed, event.caller] = count(); }\n"
        "@OnProbe(db.transaction) { @ends[event.kind] = count(); }\n"
    )
    with target(jdk, "Transactions", classpath=classes("Transactions", artifact(H2))) as bank:
        with tracing(bank.pid, script) as tracer:
            run(bank, tracer)
        assert columns(tracer, "db.@sql") == {
            "INSERT INTO account(id\\, owner) VALUES (?)": 38,
            "SELECT owner FROM account WHERE id = ?": 23,
            "UPDATE account SET owner = ? WHERE id = ?": 17,
            "(unknown)": 13,
        }
        assert columns(tracer, "db.@errors") == {"INSERT INTO account(id\\, owner) VALUES (?)": 2}
        assert tracer.maps()["why"] == {"23505,Transactions.main:26": 2}
        assert tracer.maps()["ends"] == {"commit": 31, "rollback": 5}


@jdks_since_17
def test_exceptions_and_gc_calls(jdk: int, tmp_path: Path) -> None:
    script = tmp_path / "script.bt"
    script.write_text(
        'import btpy.exceptions(of="Failing$*") as made;\n'
        "use btpy.gc_calls(frames=2);\n"
        "@OnProbe(made.created) { @made[event.type, event.frame] = count(); }\n"
    )
    with target(jdk, "Failing", classpath=classes("Failing")) as program:
        with tracing(program.pid, script) as tracer:
            run(program, tracer)
        late = 31 + 11 + 13 + 17 + 3
        assert tracer.maps()["made"] == {
            "Failing$Late,Failing.late:63": late,
            "Failing$Lost,Failing.main:19": 31,
        }
        assert columns(tracer, "gc_calls.@calls") == {
            "Failing.collect:67": 7,
            "Failing.collectOtherwise:71": 5,
            "Failing.collectThroughJmx:75": 3,
        }
        assert sum(line.startswith("System.gc() took ") for line in tracer.printed()) == 7
        assert sum(line.startswith("Runtime.gc() took ") for line in tracer.printed()) == 5 + 3
        # The script imports `exceptions` but does not use it, so the tables of `exceptions` are not shown.
        assert [name for name in tracer.maps() if name.startswith("made.")] == []


@jdks_since_17
def test_exceptions_that_are_swallowed_and_passed_on(jdk: int) -> None:
    with target(jdk, "Failing", classpath=classes("Failing")) as program:
        with tracing(program.pid, "exceptions", "--of", "*Failing*") as tracer:
            run(program, tracer)
        # main() is running when it is woven, so the probes do not see its catch clauses.
        swallowed = {
            "Failing$Late Failing.swallow:83": 11,
            "Failing$Late Failing.passOn:91": 0,
            "Failing$Late Failing.wrap:102": 0,
        }
        passed_on = {"Failing$Late Failing.passOn:91": 13, "Failing$Late Failing.wrap:102": 17}
        assert columns(tracer, "@swallowed") == swallowed
        assert columns(tracer, "@passed_on") == passed_on
        assert tracer.maps()["uncaught"] == {"Failing$Late,Failing.late:63": 3}


@jdks_since_17
def test_allocations(jdk: int, tmp_path: Path) -> None:
    script = tmp_path / "script.bt"
    script.write_text(
        "use btpy.allocations as made;\n"
        "@OnProbe(made.object) { @of[event.type] = count(); }\n"
        "@OnProbe(made.array) { @of[event.type] = count(); }\n"
    )
    with target(jdk, "Allocating", classpath=classes("Allocating")) as program:
        with tracing(program.pid, script) as tracer:
            run(program, tracer)
        assert columns(tracer, "made.@objects") == {
            "Allocating$Point Allocating.points:29": 31,
            "byte[] Allocating.bytes:35": 17,
            "int[][] Allocating.grids:41": 5,
            "ArrayList Allocating.lists:47": 13,
        }
        assert columns(tracer, "made.@bytes")["byte[] Allocating.bytes:35"] == 17 * (16 + 1000)
        assert tracer.maps()["of"]["java.util.ArrayList"] == 13


@jdks_since_17
def test_dns(jdk: int, tmp_path: Path) -> None:
    script = tmp_path / "script.bt"
    script.write_text(
        "use btpy.dns(slow=1h) as dns;\n"
        "@OnProbe(dns.looked_up) { @by[event.host, event.site, typeof(event.error)] = count(); }\n"
    )
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.2 prices.test\n127.0.0.3 stock.test\n")
    with target(jdk, "Naming", classpath=classes("Naming"), flags=[f"-Djdk.net.hosts.file={hosts}"]) as program:
        with tracing(program.pid, script) as tracer:
            run(program, tracer)
        assert columns(tracer, "dns.@looked_up") == {"prices.test": 29, "stock.test": 13, "gone.test": 17}
        assert columns(tracer, "dns.@failed") == {"gone.test": 17}
        assert tracer.maps()["by"] == {
            "prices.test,Naming.lookUp:34,null": 29,
            "stock.test,Naming.lookUp:34,null": 13,
            "gone.test,Naming.lookUp:34,java.net.UnknownHostException": 17,
        }


@jdks_since_17
def test_http_server_of_the_jdk(jdk: int) -> None:
    with target(jdk, "HttpServing", classpath=classes("HttpServing")) as server:
        with tracing(server.pid, "http_server", "--slow", "50ms") as tracer:
            run(server, tracer)
        assert columns(tracer, "@took") == {"GET /items/{id} 200": 53, "GET /none 404": 11}
        assert any(line.startswith("slow: ") and line.endswith("GET /items/17 200") for line in tracer.printed())


@jdks_since_17
def test_http_server_of_tomcat(jdk: int) -> None:
    path = classes("TomcatServing", *map(artifact, TOMCAT), beside=["Served"])
    with target(jdk, "TomcatServing", classpath=path) as server:
        with tracing(server.pid, "http_server", "--slow", "1h") as tracer:
            run(server, tracer)
        assert columns(tracer, "@took") == {
            "GET /app/items/{id} 200": 53,
            "POST /app/items/{id} 201": 17,
            "GET /app/items/fail 500": 5,
            "GET /app/none 404": 11,
        }


@jdks_since_17
def test_http_server_of_jetty(jdk: int) -> None:
    jar = artifact(WIREMOCK)
    path = [compiled([TESTS / "java" / "Gate.java", TESTS / "java" / "WireMockLoad.java"], classpath=[jar]), jar]
    with target(jdk, "WireMockLoad", "53", classpath=path) as server:
        with tracing(server.pid, "http_server", "--slow", "1h") as tracer:
            run(server, tracer)
        answers = [line.split() for line in server.stdout if line.startswith("answered ")]
        expected = {f"GET {answer.replace('=', ' ')}": int(times) for _, answer, times in answers}
        assert sum(expected.values()) == 53
        assert columns(tracer, "@took") == expected


@jdks_since_17
def test_locks(jdk: int) -> None:
    with target(jdk, "Waiting", classpath=classes("Waiting")) as program:
        with tracing(program.pid, "locks", "--monitors", "Waiting", "--least", "0ns") as tracer:
            run(program, tracer)
        assert columns(tracer, "@wait") == {
            "ReentrantLock Waiting.throughTheLock:50": 13,
            "ReentrantReadWriteLock Waiting.throughTheReadLock:55": 7,
            "Semaphore Waiting.takeAPermit:66": 5,
            "Object Waiting.throughTheMonitor:60": 11,
        }
        assert set(tracer.maps()["owners"]) == {"holder"}


@all_jdks
def test_locks_sees_monitors_and_their_owners_by_default(jdk: int, tmp_path: Path) -> None:
    """Monitors need no weaving, so the library sees synchronized methods and blocks of all classes."""
    script = tmp_path / "script.bt"
    script.write_text(
        "use btpy.locks(every=1h) as locks;\n@OnProbe(locks.blocked) { print(event.waiter, event.owner); }\n"
    )
    with target(jdk, "Blocked", classpath=classes("Blocked")) as program:
        with tracing(program.pid, script, "--missing", "warn") as tracer:
            program.send()
            program.wait_for("blocked")
            tracer.wait_for_printed(18)
            program.send()
            program.wait_for("done")
            assert tracer.stop() == 0, tracer.stderr
            tracer.check_complete()
        assert columns(tracer, "locks.@blocked") == {
            "Class Blocked.throughTheMethod:55": 7,
            "StringBuilder Blocked.throughTheBlock:60": 11,
        }
        assert tracer.printed() == ["waiter holder"] * 18
        # The holder's place depends on the moment of the sample; a waiter may hold the lock while others still wait.
        lock_keys = {tuple(key.split(",")[:2]) for key in tracer.maps()["locks.@holders"]}
        monitors = {("Class", "holder"), ("StringBuilder", "holder")}
        assert monitors <= lock_keys
        assert {lock for lock, _ in lock_keys} <= {"Class", "StringBuilder", "ReentrantLock"}


@jdks_since_17
def test_threads(jdk: int) -> None:
    virtual = 19 if jdk >= 21 else 0
    with target(jdk, "Starting", str(virtual), classpath=classes("Starting")) as program:
        with tracing(program.pid, "threads", "--allow", "core") as tracer:
            run(program, tracer)
        expected = {"platform Starting.main:14": 13, "platform Starting.main:19": 7}
        if virtual:
            expected["virtual Starting.main:27"] = virtual
        for column in ("@started", "@life"):
            result = columns(tracer, column)
            result.pop("platform Starting.main:27", None)  # carriers of virtual threads; their number varies
            assert result == expected, column


@all_jdks
def test_executors(jdk: int, tmp_path: Path) -> None:
    script = tmp_path / "script.bt"
    script.write_text(
        "use btpy.executors(top=30) as executors;\n"
        "@OnProbe(executors.started) when event.waited >= 100ms { @late[event.pool] = count(); }\n"
        "@OnProbe(executors.ended) when event.error != null { @died[typeof(event.error), event.site] = count(); }\n"
        "@OnProbe(executors.forked) { @forked[event.pool] = count(); }\n"
        "@OnProbe(executors.rejected) { @refused_by[event.pool, event.site] = count(); }\n"
        "@OnProbe(executors.failed) { @kinds[event.type] = count(); }\n"
    )
    virtual = ["7"] if jdk >= 21 else []
    flags = ["-Djava.util.concurrent.ForkJoinPool.common.parallelism=2"]
    with target(jdk, "Executing", *virtual, classpath=classes("Executing"), flags=flags) as program:
        with tracing(program.pid, script) as tracer:
            run(program, tracer)
        assert "orders 43" in program.stdout
        tasks = {
            "orders": 1 + 31 + 11,
            "small": 1 + 5,
            "dying": 2,
            "timers": 17 + 1 + 5,
            "mails": 13,
            "shared": 2 * 5003,
            "ForkJoinPool-1-worker": 19,
            "ForkJoinPool.commonPool-worker": 23,
        }
        assert columns(tracer, "executors.@wait") == tasks
        longest = max(row["executors.@wait"]["max"] for row in tracer.of("table")[0]["data"].values())
        assert longest < 600e9, "times of other tasks"
        assert columns(tracer, "executors.@run") == tasks
        queued = columns(tracer, "executors.@queued")
        assert (queued["orders"], queued["small"]) == (30, 4)
        assert columns(tracer, "executors.@rejected") == {"small": 7 + 3}
        running = columns(tracer, "executors.@running")
        assert running == dict.fromkeys(("orders", "small", "dying", "timers", "mails", "shared"), 0)
        assert columns(tracer, "executors.@failed") == {"dying": 2}
        assert columns(tracer, "executors.@tasks") == {
            "Executing.block:59": 2,
            "Executing.execute:71": 31,
            "Executing.offer:104": 5,
            "Executing.fail:113": 11,
            "Executing.throwAway:144": 2,
            "Executing.schedule:156": 17,
            "Executing.schedule:158": 1,
            "Executing.schedule:162": 5,
            "Executing.fork:177": 19,
            "Executing.futures:191": 23,
            "Executing.futures:199": 13,
            "Executing.submit:218": 2 * 5003,
        }
        assert columns(tracer, "executors.@refused") == {"Executing.offer:104": 7 + 3}
        swallowed, read_counts = columns(tracer, "executors.@swallowed"), columns(tracer, "executors.@read")
        broken, never_again = sorted(swallowed)
        assert broken.startswith("IllegalStateException Executing.lambda$broken$")
        assert never_again.startswith("UnsupportedOperationException Executing.lambda$schedule$")
        assert (swallowed, read_counts) == ({broken: 11 - 3, never_again: 1}, {broken: 3})
        maps = tracer.maps()
        assert maps["late"]["orders"] >= 31, "they wait behind a task of 200 ms"
        assert maps["died"] == {"java.lang.IllegalArgumentException,Executing.throwAway:144": 2}
        assert maps["forked"] == {"ForkJoinPool-1-worker": 19, "ForkJoinPool.commonPool-worker": 23}
        assert maps["refused_by"] == {"small,Executing.offer:104": 10}
        assert maps["kinds"] == {
            "java.lang.IllegalStateException": 11,
            "java.lang.UnsupportedOperationException": 1,
        }


@jdks_since_17
def test_executors_sees_the_pool_of_tomcat(jdk: int) -> None:
    path = classes("TomcatServing", *map(artifact, TOMCAT), beside=["Served"])
    with target(jdk, "TomcatServing", classpath=path) as server:
        with tracing(server.pid, "executors") as tracer:
            run(server, tracer)
        (tasks,) = (int(line.split()[1]) for line in server.stdout if line.startswith("tasks "))
        pools = columns(tracer, "@run")
        assert {name: count for name, count in pools.items() if name.startswith("http-")} == {
            "http-nio-auto-1-exec": tasks
        }
        assert columns(tracer, "@wait")["http-nio-auto-1-exec"] == tasks
        assert columns(tracer, "@tasks")["http-nio-auto-1-exec"] == tasks


@jdks_since_17
def test_file_io(jdk: int, tmp_path: Path) -> None:
    with target(jdk, "Reading", str(tmp_path), classpath=classes("Reading")) as program:
        with tracing(program.pid, "file_io", "--path", f"{tmp_path}/*", "--chars", "300", "--slow", "1h") as tracer:
            run(program, tracer)

        def by_file(name: str) -> dict[str, int]:
            return {Path(path).stem: count for path, count in columns(tracer, name).items()}

        assert by_file("@opens") == {"stream": 2, "random": 1, "channel": 1, "whole": 12, "missing": 3}
        assert by_file("@read") == {"stream": 547, "random": 37, "channel": 141, "whole": 11143}
        assert by_file("@written") == {"stream": 547, "random": 551, "channel": 1763, "whole": 1013}
        assert by_file("@failed") == {"missing": 3}
        assert tracer.maps()["not_opened"] == {f"{tmp_path}/missing.dat,No such file or directory": 3}
        assert {path: figures["count"] for path, figures in tracer.maps()["forced"].items()} == {
            f"{tmp_path}/channel.dat": 5
        }


@jdks_since_17
def test_sockets(jdk: int) -> None:
    with target(jdk, "Talking", classpath=classes("Talking")) as program:
        with tracing(program.pid, "sockets", "--slow", "1h") as tracer:
            run(program, tracer)
        ports = next(line for line in program.stdout if line.startswith("ports ")).split()[1:]
        server, channels, closed_address = (f"127.0.0.1:{port}" for port in ports)
        assert columns(tracer, "@connects") == {server: 13, channels: 7, closed_address: 3}
        assert columns(tracer, "@failed") == {closed_address: 3}
        assert columns(tracer, "@accepted") == {"127.0.0.1:*": 20}
        assert columns(tracer, "@sent") == {server: 13 * 102, channels: 7 * 211, "127.0.0.1:*": 13 * 37 + 7 * 53}
        assert columns(tracer, "@received") == {server: 13 * 37, channels: 7 * 53, "127.0.0.1:*": 13 * 102 + 7 * 211}


@jdks_since_17
def test_profile(jdk: int, tmp_path: Path) -> None:
    script = tmp_path / "script.bt"
    script.write_text(
        "import btpy.profile as profile;\n"
        "@OnProbe(profile.sample) { @threads[event.name] = count(); @state[event.state] = count(); }\n"
    )
    program = [compiled([TESTS / "java" / "Sampled.java"], release=8)]
    with target(jdk, "Sampled", classpath=program) as burner:
        with tracing(burner.pid, script) as tracer:
            burner.send("700")
            burner.wait_for("used")
            assert tracer.stop() == 0, tracer.stderr
            tracer.check_complete()
        assert tracer.maps()["threads"].keys() == {"burner"}
        assert tracer.maps()["state"].keys() == {"RUNNABLE"}
        samples = sum(tracer.maps()["threads"].values())
        assert 20 < samples <= 80, "99 a second of processor time, and what the program used to start"
