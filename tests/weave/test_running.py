"""Runs woven programs: the output is the same, and every site is reached exactly as often as expected."""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from btpy.classfile.bytecode import scan
from btpy.classfile.reader import ClassFile
from btpy.plan.plan import ClassPlan, Point, Site
from btpy.weave.weaver import weave
from tests.jdks import all_jdks, compiled, java
from tests.weave import advice
from tests.weave.advice import Report

JAVA = Path(__file__).parent / "java"

FIRST_SITE = 65_536 - 503
"""The number of the first site. The numbers of some sites are below 65,536, and others need a longer constant."""


@pytest.fixture(scope="module")
def shapes() -> Path:
    return compiled([JAVA / "Shapes.java", JAVA / "Recorder.java"])


def woven(program: Path, out: Path, plan: Callable[[ClassFile], ClassPlan], before: int = 0) -> list[Site]:
    """Weaves all classes of ``program`` but the recorder into ``out``. ``before``: the number of sites of earlier
    weavers.
    """
    sites: list[Site] = []
    for path in sorted(program.glob("*.class")):
        data = path.read_bytes()
        if path.stem != advice.RECORDER:
            result = weave(data, plan(ClassFile.parse(data)), FIRST_SITE + before + len(sites))
            assert result.refusals == ()
            sites += result.sites
            data = result.data or data
        (out / path.name).write_bytes(data)
    return sites


def run(jdk: int, classes: Path, main: str, *flags: str) -> subprocess.CompletedProcess[str]:
    command = [str(java(jdk)), "-Xmx256m", "-XX:+UseSerialGC", *flags, "-cp", str(classes), main]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr
    return result


@functools.cache
def unwoven(jdk: int, classes: Path, main: str) -> str:
    """The output of the program without advice."""
    return run(jdk, classes, main).stdout


@all_jdks
def test_every_site_is_reached_exactly_as_often_as_its_method_enters_and_leaves(
    jdk: int, shapes: Path, tmp_path: Path
) -> None:
    sites = woven(shapes, tmp_path, advice.everything)
    result = run(jdk, tmp_path, "Shapes", "-Xverify:all")
    assert result.stdout == unwoven(jdk, shapes, "Shapes")
    check(Report.read(sites, result.stderr))


@all_jdks
def test_stack_maps_may_be_missing(jdk: int, shapes: Path, tmp_path: Path) -> None:
    """HotSpot shows boot classes without stack maps, and installs such classes without verification."""
    bare = tmp_path / "bare"
    out = tmp_path / "woven"
    bare.mkdir()
    out.mkdir()
    for path in shapes.glob("*.class"):
        (bare / path.name).write_bytes(path.read_bytes().replace(b"\x00\x0dStackMapTable", b"\x00\x0dNothingAtAll!"))
    sites = woven(bare, out, advice.everything)
    for path in out.glob("*.class"):
        for method in ClassFile.parse(path.read_bytes()).methods:
            if method.code is not None and scan(method.code.code).branches:
                assert "StackMapTable" not in [
                    attribute.name for attribute in method.code.attributes
                ]  # the weaver adds no frames to such a method
    unverified = ("-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote")
    check(Report.read(sites, run(jdk, out, "Shapes", *unverified).stderr))


@pytest.mark.parametrize(
    "points", [(Point.ENTRY,), (Point.RETURN,), (Point.THROW,), (Point.RETURN, Point.THROW)], ids=str
)
def test_points_alone_need_no_new_local_variables(points: tuple[Point, ...], shapes: Path, tmp_path: Path) -> None:
    sites = woven(shapes, tmp_path, lambda file: advice.points(file, *points))
    report = Report.read(sites, run(17, tmp_path, "Shapes", "-Xverify:all").stderr)
    numbers = {Point.ENTRY: 13, Point.RETURN: 6, Point.THROW: 7}
    for point, probe in ((Point.ENTRY, advice.ENTRY), (Point.RETURN, advice.RETURN), (Point.THROW, advice.THROW)):
        count = report.of("Shapes", "thrower", "(I)V", probe)
        assert count.calls == (numbers[point] if point in points else 0)


# for each method and descriptor: its entries, returns and throws when main calls it with 0 … 12
EXPECTED = {
    ("Shapes", "<clinit>", "()V"): (1, 1, 0),
    ("Shapes", "nothing", "()V"): (13, 13, 0),
    ("Shapes", "loopsToItsStart", "(I)I"): (13, 13, 0),
    ("Shapes", "manyReturns", "(I)I"): (13, 13, 0),
    ("Shapes", "switches", "(I)Ljava/lang/String;"): (13, 13, 0),
    ("Shapes", "wideArguments", "(JDIFZBCSLjava/lang/Object;)J"): (13, 13, 0),
    ("Shapes", "instanceValue", "(D)D"): (13, 13, 0),
    ("Shapes", "thrower", "(I)V"): (13, 6, 7),
    ("Shapes", "catcher", "(I)I"): (13, 13, 0),
    ("Shapes", "finallyReturns", "(I)I"): (13, 13, 0),
    ("Shapes", "divides", "(II)I"): (13, 9, 4),
    ("Shapes", "synchronizedMethod", "(I)I"): (13, 12, 1),
    ("Shapes", "synchronizedBlock", "(I)I"): (13, 12, 1),
    ("Shapes", "recursion", "(I)I"): (91, 91, 0),
    ("Shapes", "recursionThatFails", "(I)I"): (91, 0, 91),
    ("Shapes", "uninitializedAcrossJumps", "(Z)I"): (13, 13, 0),
    ("Shapes", "generic", "(Ljava/util/List;)Ljava/lang/Comparable;"): (13, 13, 0),
    ("Shapes", "endless", "(I)I"): (13, 0, 13),
    ("Shapes", "reusedSlots", "(Ljava/lang/String;I)I"): (13, 13, 0),
    ("Shapes", "<init>", "(I)V"): (20, 18, 2),
    ("Shapes", "<init>", "(Ljava/lang/Object;)V"): (13, 13, 0),
    ("Shapes$Failing", "<init>", "(Ljava/lang/String;)V"): (6, 6, 0),
    ("Shapes$Named", "name", "()Ljava/lang/String;"): (13, 13, 0),
    ("Shapes$Named", "prefix", "()Ljava/lang/String;"): (13, 13, 0),
    ("Shapes$Named", "suffix", "()Ljava/lang/String;"): (13, 13, 0),
    ("Shapes$Size$1", "of", "(I)I"): (9, 9, 0),
    ("Shapes$Size$2", "of", "(I)I"): (4, 4, 0),
}


def check(report: Report) -> None:
    for method, numbers in EXPECTED.items():
        counts = tuple(report.of(*method, probe).calls for probe in (advice.ENTRY, advice.RETURN, advice.THROW))
        assert counts == numbers, method
    for method in report.methods():
        entries, returns, throws = (report.of(*method, p) for p in (advice.ENTRY, advice.RETURN, advice.THROW))
        # The report is printed by main before it returns.
        if method[1] != "main":
            assert entries.calls == returns.calls + throws.calls, method
        depth = report.of(*method, advice.DEPTH)
        assert depth.calls == returns.calls + throws.calls, method
        assert depth.depth == (1 if method[1] == "main" else 0), method
        for probe, times in ((advice.RETURN_TIME, returns), (advice.THROW_TIME, throws), (advice.EXCEPTION, throws)):
            count = report.of(*method, probe)
            assert count.calls == count.sum == times.calls, (method, probe)
        result = report.of(*method, advice.RETURN_SELF)
        assert result.sum == result.calls, method
        for index in range(9):
            entry = report.of(*method, advice.ENTRY_ARGUMENT + index)
            exits = [report.of(*method, base + index) for base in (advice.RETURN_ARGUMENT, advice.THROW_ARGUMENT)]
            if method[1] != "main":
                assert entry.sum == exits[0].sum + exits[1].sum, (method, index)
    wide = ("Shapes", "wideArguments", "(JDIFZBCSLjava/lang/Object;)J")
    sums = [report.of(*wide, advice.RETURN_ARGUMENT + index).sum for index in range(9)]
    assert sums == [78, 78, 78, 78, 8, 78, 78, 78, 78]
    assert report.of(*wide, advice.RESULT).sum == sum(n - 6 + (n <= 4) + ord("z") for n in range(13))
    # the sum over n of 0 + 1 + … + n, the depths of the activations in one recursion
    assert report.of("Shapes", "recursion", "(I)I", advice.DEPTH).sum == 364
    assert report.of("Shapes", "recursionThatFails", "(I)I", advice.DEPTH).sum == 364
    many = [s for s in report.sites if (s.method, s.probe) == ("manyReturns", advice.RETURN)]
    assert [report.counts[site.id].calls for site in many] == [2, 4, 7]
    assert [site.line - many[0].line for site in many] == [0, 3, 5]
