"""H2 executing statements: the exact number of each text, failures included."""

from __future__ import annotations

from pathlib import Path

from tests.jdks import all_jdks, compiled
from tests.maven import H2, artifact
from tests.targets import target
from tests.tracer import tracing

TESTS = Path(__file__).parent.parent
SCRIPT = TESTS.parent / "examples" / "h2_sql.bt"
DUPLICATE_KEY = "23505"


@all_jdks
def test_every_statement_once(jdk: int) -> None:
    jar = artifact(H2)
    classes = compiled([TESTS / "java" / "Gate.java", TESTS / "java" / "H2Load.java"], classpath=[jar])
    with target(jdk, "H2Load", "211", "103", "53", classpath=[classes, jar], flags=["-Xverify:all"]) as database:
        with tracing(database.pid, SCRIPT) as tracer:
            database.send()
            summary = database.wait_for("duplicates ")
            assert tracer.stop() == 0, tracer.stderr
            tracer.check_complete()
        executed = {}
        for line in database.stdout:
            if line.startswith("executed "):
                _, times, sql = line.split(" ", 2)
                executed[sql.replace(",", "\\,")] = int(times)
        assert sorted(executed.values()) == [53, 103, 211]
        maps = tracer.maps()
        assert {sql: sum(bucket["count"] for bucket in buckets) for sql, buckets in maps["latency"].items()} == executed
        duplicates = int(summary.split()[1])
        (insert,) = (sql for sql in executed if sql.startswith("INSERT"))
        assert maps["failed"] == {f"{insert},{DUPLICATE_KEY}": duplicates}


def test_six_aggregations_by_statement() -> None:
    """BTrace's JdbcQueries."""
    jar = artifact(H2)
    classes = compiled([TESTS / "java" / "Gate.java", TESTS / "java" / "H2Load.java"], classpath=[jar])
    script = TESTS.parent / "examples" / "btrace" / "jdbc_queries.bt"
    with target(17, "H2Load", "211", "103", "53", classpath=[classes, jar]) as database:
        with tracing(database.pid, script, "--pending") as tracer:
            database.send()
            database.wait_for("duplicates ")
            assert tracer.stop() == 0, tracer.stderr
            tracer.check_complete()
        (table,) = tracer.of("table")
        rows = table["data"]
        assert sorted(row["@count"] for row in rows.values()) == [103, 211]  # the script reads only prepared statements
        for row in rows.values():
            assert row["@fastest"] <= row["@mean"] <= row["@slowest"] <= row["@total"]
