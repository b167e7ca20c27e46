"""Every shape of method with probes on all its entries and exits: the counts are exact, and the program prints the
same.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from tests.jdks import all_jdks, compiled
from tests.targets import Target, target
from tests.tracer import tracing

JAVA = Path(__file__).parent.parent / "java"
SOURCES = [JAVA / f"{name}.java" for name in ("Expected", "Gate", "RunShapes", "Shapes")]

VERIFY = ["-Xverify:all"]

EVERYTHING = r"""
@OnMethod(class=["Shapes", "/Shapes\$.*/"], method=["*", "lambda$*"], location=ENTRY, max=1000)
{ @entry[cls, method] = count(); }

@OnMethod(class=["Shapes", "/Shapes\$.*/"], method=["*", "lambda$*"], location=RETURN, max=1000)
{ @return[cls, method] = count(); @took = hist(duration); }

@OnMethod(class=["Shapes", "/Shapes\$.*/"], method=["*", "lambda$*"], location=THROW, max=1000)
{ @throw[cls, method] = count(); @kinds[typeof(exception)] = count(); }
"""

VALUES = r"""
// Arguments of every type are those of the call, also where the method has overwritten them.
@OnMethod(class="Shapes", method=["wide*", "overwrites*", "parallel", "returns*"], location=EXIT)
{ @kept[method, entry(arg0) == arg0, depth] = count(); }

@OnMethod(class="Shapes", method="/returns(Byte|Short|Long|Char|Boolean|Null|Double)/", location=RETURN)
{ emit("result", method=method, result=retval); }
"""


def untraced(jdk: int, classes: Path) -> list[str]:
    with target(jdk, "RunShapes", classpath=[classes], flags=VERIFY) as shapes:
        run(shapes)
        return shapes.stdout


def run(shapes: Target) -> None:
    shapes.send()
    shapes.wait_for("done")


def expected(lines: list[str]) -> dict[str, Counter[str]]:
    """The counts that the program prints, as ``{"entry": {"Shapes,dense": 7}, …}``, without zeros."""
    counts: dict[str, Counter[str]] = {"entry": Counter(), "return": Counter(), "throw": Counter()}
    for line in lines:
        if line.startswith("expect "):
            _, type_name, method, *numbers = line.split()
            for kind, number in zip(counts, numbers, strict=True):
                if int(number):
                    counts[kind][f"{type_name},{method}"] += int(number)
    return counts


def lambdas_together(counts: dict[str, int]) -> Counter[str]:
    """Puts all bodies of lambdas under one name, because the numbers that javac gives them are not specified."""
    together: Counter[str] = Counter()
    for key, count in counts.items():
        together[re.sub(r"lambda\$.*", "lambda$*", key)] += count
    return together


@all_jdks
def test_exact_counts_unchanged_output_empty_stderr(jdk: int, tmp_path: Path) -> None:
    classes = compiled(SOURCES)
    script = tmp_path / "everything.bt"
    script.write_text(EVERYTHING)
    plain = untraced(jdk, classes)
    with target(jdk, "RunShapes", classpath=[classes], flags=VERIFY) as shapes:
        with tracing(shapes.pid, script) as tracer:
            run(shapes)
            assert tracer.stop() == 1, tracer.stderr
            tracer.check_complete(still_woven=["Shapes$Broken"])  # HotSpot redefines no class whose <clinit> failed
            assert any("left something behind in the JVM" in line for line in tracer.stderr)
        shapes.send()
        assert shapes.wait() == 0
        assert shapes.stdout == plain
        assert shapes.stderr == []
    expected_counts = expected(plain)
    maps = tracer.maps()
    assert {kind: lambdas_together(maps[kind]) for kind in expected_counts} == expected_counts
    everything = sum(expected_counts["return"].values())
    assert sum(bucket["count"] for bucket in maps["took"]) == everything


@all_jdks
def test_values_of_every_type(jdk: int, tmp_path: Path) -> None:
    classes = compiled(SOURCES)
    script = tmp_path / "values.bt"
    script.write_text(VALUES)
    plain = untraced(jdk, classes)
    with target(jdk, "RunShapes", classpath=[classes], flags=VERIFY) as shapes:
        with tracing(shapes.pid, script) as tracer:
            run(shapes)
            assert tracer.stop() == 0, tracer.stderr
            tracer.check_complete()
        assert shapes.stdout == plain
        assert shapes.stderr == []
    expected_counts = expected(plain)["entry"]
    methods = [key for key in expected_counts if re.match(r"Shapes,(wide|overwrites|parallel|returns)", key)]
    assert len(methods) == 14
    assert Counter(tracer.maps()["kept"]) == Counter(
        {f"{key.removeprefix('Shapes,')},true,0": expected_counts[key] for key in methods}
    )
    results = [
        line.split(" = ") for line in plain if re.match(r"returns(Byte|Short|Long|Char|Boolean|Null|Double) ", line)
    ]
    assert Counter((event["method"], shown(event["result"])) for event in tracer.events("result")) == Counter(
        (method, value) for method, value in results
    )


def shown(value: object) -> str:
    """A JSON value as Java prints it."""
    return (
        {True: "true", False: "false", None: "null"}[value] if value is None or isinstance(value, bool) else str(value)
    )


def test_without_permission_the_jvm_warns_and_nothing_else_is_printed(tmp_path: Path) -> None:
    """JEP 451: JDK 21 and later print the warning when an agent is loaded into a running JVM."""
    classes = compiled(SOURCES)
    script = tmp_path / "everything.bt"
    script.write_text(EVERYTHING)
    with target(21, "RunShapes", "7", classpath=[classes], agents=False) as shapes:
        with tracing(shapes.pid, script) as tracer:
            run(shapes)
            assert tracer.stop() == 1, tracer.stderr  # as above
        assert shapes.stderr != []
        assert all(line.startswith("WARNING: ") for line in shapes.stderr)
        assert "A Java agent has been loaded dynamically" in shapes.stderr[0]
