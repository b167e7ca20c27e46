"""Runs programs with advice at points inside methods: the output is the same, and every place fires as often as
expected.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from btpy.classfile import inserted
from btpy.classfile import opcodes as op
from btpy.classfile.assembler import ClassBuilder
from btpy.classfile.jvms import ACC_PUBLIC, ACC_STATIC
from btpy.classfile.reader import ClassFile
from btpy.lang.inputs import InputKind
from btpy.plan.plan import ClassPlan, Operand, OperandKind, Point
from btpy.weave.weaver import weave
from tests.jdks import all_jdks, compiled
from tests.weave import advice
from tests.weave.advice import VALUES, Report, probe_of
from tests.weave.test_running import check as check_ends
from tests.weave.test_running import run, unwoven, woven

JAVA = Path(__file__).parent / "java"


@pytest.fixture(scope="module")
def places() -> Path:
    return compiled([JAVA / "Places.java", JAVA / "Recorder.java"])


@pytest.fixture(scope="module")
def shapes() -> Path:
    return compiled([JAVA / "Shapes.java", JAVA / "Recorder.java"])


def everything(file: ClassFile) -> ClassPlan:
    return advice.joined(advice.everything(file), advice.inside(file))


def report(jdk: int, program: Path, main: str, out: Path, plan: Callable[[ClassFile], ClassPlan]) -> Report:
    sites = woven(program, out, plan)
    result = run(jdk, out, main, "-Xverify:all")
    assert result.stdout == unwoven(jdk, program, main)
    return Report.read(sites, result.stderr)


SELF = InputKind.SELF
DURATION = InputKind.DURATION
TARGET = InputKind.TARGET
RETVAL = InputKind.RETVAL
EXCEPTION = InputKind.EXCEPTION
OLD = InputKind.OLD_VALUE
NEW = InputKind.NEW_VALUE
INDEX = InputKind.INDEX
LENGTH = InputKind.LENGTH
TARGS = InputKind.TARGET_ARG
ARGS = InputKind.ARG
VARIABLES = InputKind.FRAME_VARIABLE

# A key is a method, a point, a kind of value (None: the call without a value) and its index. The calls and the sum of
# the values are those for n from 1 to 13. A string counts its length, any other object 1, null 0.
EXPECTED: dict[tuple[str, Point, InputKind | None, int], tuple[int, int]] = {
    ("callsWide(I)J", Point.CALL_BEFORE, None, 0): (13, 0),
    ("callsWide(I)J", Point.CALL_BEFORE, TARGS, 0): (13, 91),
    ("callsWide(I)J", Point.CALL_BEFORE, TARGS, 1): (13, 26),
    ("callsWide(I)J", Point.CALL_BEFORE, TARGS, 2): (13, 39),
    ("callsWide(I)J", Point.CALL_BEFORE, TARGS, 3): (13, 52),
    ("callsWide(I)J", Point.CALL_BEFORE, TARGS, 4): (13, 65),
    ("callsWide(I)J", Point.CALL_RETURN, TARGS, 3): (13, 52),
    ("callsWide(I)J", Point.CALL_RETURN, RETVAL, 0): (13, 91 + 13 * (2 + 3 + 4 + 5)),
    ("callsWide(I)J", Point.CALL_RETURN, DURATION, 0): (13, 13),
    ("callsWide(I)J", Point.CALL_THROW, None, 0): (0, 0),
    ("callsOwn(LPlaces;I)I", Point.CALL_BEFORE, TARGET, 0): (26, 26),
    ("callsOwn(LPlaces;I)I", Point.CALL_BEFORE, TARGS, 0): (26, 91 + 104),
    ("callsOwn(LPlaces;I)I", Point.CALL_RETURN, RETVAL, 0): (26, 104 + 117),
    ("callsOwn(LPlaces;I)I", Point.CALL_RETURN, ARGS, 1): (26, 2 * 91),
    # fails(n) throws for 3, 6, 9 and 12 (their sum is 30), and each time getMessage() is called
    ("callsFailing(I)Ljava/lang/String;", Point.CALL_BEFORE, None, 0): (17, 0),
    ("callsFailing(I)Ljava/lang/String;", Point.CALL_RETURN, None, 0): (13, 0),
    ("callsFailing(I)Ljava/lang/String;", Point.CALL_RETURN, RETVAL, 0): (13, 91 - 30 + 4 * len("three")),
    ("callsFailing(I)Ljava/lang/String;", Point.CALL_THROW, None, 0): (4, 0),
    ("callsFailing(I)Ljava/lang/String;", Point.CALL_THROW, TARGS, 0): (4, 30),
    ("callsFailing(I)Ljava/lang/String;", Point.CALL_THROW, ARGS, 0): (4, 30),
    ("callsFailing(I)Ljava/lang/String;", Point.CALL_THROW, EXCEPTION, 0): (4, 4),
    ("callsFailing(I)Ljava/lang/String;", Point.CALL_THROW, DURATION, 0): (4, 4),
    ("callsFailing(I)Ljava/lang/String;", Point.CATCH, None, 0): (4, 0),
    ("callsFailing(I)Ljava/lang/String;", Point.CATCH, EXCEPTION, 0): (4, 4),
    ("callsFailing(I)Ljava/lang/String;", Point.FIELD_SET, OLD, 0): (13, 78),
    ("callsFailing(I)Ljava/lang/String;", Point.FIELD_SET, NEW, 0): (13, 91),
    # each of 13 calls makes three objects; 11 of them make a fourth one
    ("makes(I)I", Point.NEW, None, 0): (50, 0),
    ("makes(I)I", Point.NEW, TARGET, 0): (50, 50),
    ("makes(I)I", Point.CALL_BEFORE, TARGS, 0): (50, 26),
    ("makes(I)I", Point.CALL_RETURN, TARGET, 0): (50, 50),
    ("makes(I)I", Point.CALL_RETURN, TARGS, 1): (50, 13 + 11),
    ("arrays(I)I", Point.NEWARRAY, TARGET, 0): (130, 130),
    ("arrays(I)I", Point.NEWARRAY, LENGTH, 0): (130, 91 + 104 + 91 + 13 * (3 + 2 + 1 + 2 + 1 + 1 + 1)),
    ("arrays(I)I", Point.NEWARRAY, LENGTH, 1): (13, 26),
    ("arrays(I)I", Point.ARRAY_SET, TARGET, 0): (143, 143),
    ("arrays(I)I", Point.ARRAY_SET, INDEX, 0): (143, 13 + 13 + 91 + 13 + 13),
    ("arrays(I)I", Point.ARRAY_SET, NEW, 0): (143, 39 + 11 + 91 + 52 + 13 + 91 + 91 + 13 * (97 + 3 + 2)),
    ("arrays(I)I", Point.ARRAY_GET, RETVAL, 0): (143, 52 + 13 + 13 + 91 + 11 + 91 + 91 + 13 * (97 + 3 + 2) + 13),
    ("arrays(I)I", Point.ARRAY_GET, INDEX, 0): (143, 91 + 78 + 13 + 13 + 13 + 78),
    ("fields(I)V", Point.FIELD_SET, SELF, 0): (65, 65),
    ("fields(I)V", Point.FIELD_SET, TARGET, 0): (39, 39),
    ("fields(I)V", Point.FIELD_GET, TARGET, 0): (13, 13),
    ("foreign(LPlaces;I)J", Point.FIELD_SET, OLD, 0): (13, 91),
    ("foreign(LPlaces;I)J", Point.FIELD_SET, NEW, 0): (13, 182),
    ("foreign(LPlaces;I)J", Point.FIELD_SET, TARGET, 0): (13, 13),
    ("foreign(LPlaces;I)J", Point.FIELD_GET, RETVAL, 0): (26, 91 + 182),
    ("casts(Ljava/lang/Object;)I", Point.INSTANCEOF, TARGET, 0): (13, 9 + 4 * 4),
    ("casts(Ljava/lang/Object;)I", Point.INSTANCEOF, RETVAL, 0): (13, 4),
    ("casts(Ljava/lang/Object;)I", Point.CAST, TARGET, 0): (17, 9 + 2 * 4 * 4),
    ("casts(Ljava/lang/Object;)I", Point.CATCH, EXCEPTION, 0): (4, 4),
    ("raises(I)I", Point.RAISE, EXCEPTION, 0): (7, 7),
    ("raises(I)I", Point.CATCH, EXCEPTION, 0): (6, 6),
    ("raises(I)I", Point.NEW, TARGET, 0): (7, 7),
    ("blocks(Ljava/lang/Object;I)I", Point.SYNC_ENTER_BEFORE, TARGET, 0): (25, 25),
    ("blocks(Ljava/lang/Object;I)I", Point.SYNC_ENTER, TARGET, 0): (25, 25),
    ("blocks(Ljava/lang/Object;I)I", Point.SYNC_ENTER, DURATION, 0): (25, 25),
    ("blocks(Ljava/lang/Object;I)I", Point.SYNC_EXIT, TARGET, 0): (25, 25),
    ("blocks(Ljava/lang/Object;I)I", Point.SYNC_EXIT_AFTER, TARGET, 0): (25, 25),
    ("synchronizedMethod(I)I", Point.SYNC_ENTER, TARGET, 0): (13, 13),
    ("synchronizedMethod(I)I", Point.SYNC_EXIT, TARGET, 0): (13, 13),
    ("synchronizedStatic(I)I", Point.SYNC_ENTER, TARGET, 0): (13, 13),
    ("synchronizedStatic(I)I", Point.SYNC_EXIT, TARGET, 0): (13, 13),
    # four lines once (sum, for, done, return), and n times the for again and its two lines
    ("lines(I)I", Point.LINE, None, 0): (13 * 4 + 3 * 91, 0),
    ("lines(I)I", Point.LINE, DURATION, 0): (325, 325),
    # the constructor with an int calls this(…) 14 times, and text(n) for the ten n above 3
    ("<init>(I)V", Point.CALL_BEFORE, None, 0): (24, 0),
    ("<init>(I)V", Point.CALL_RETURN, RETVAL, 0): (10, 6 * 6 + 4 * 7),
    ("<init>(I)V", Point.CALL_RETURN, TARGET, 0): (14, 14),
    ("<init>(I)V", Point.NEW, None, 0): (0, 0),
    ("<init>(I)V", Point.FIELD_SET, SELF, 0): (14, 14),
    ("<init>(I)V", Point.FIELD_SET, NEW, 0): (14, 93),
}


def expect(report: Report, points: tuple[Point, ...]) -> None:
    for (method, point, value, index), (calls, total) in EXPECTED.items():
        if point in points:
            name, parenthesis, rest = method.partition("(")
            probe = probe_of(point, 0 if value is None else VALUES[value] + index)
            counts = report.of("Places", name, parenthesis + rest, probe)
            assert (counts.calls, counts.sum) == (calls, total), (method, point, value, index)


@all_jdks
def test_every_place_is_reached_as_often_as_it_runs(jdk: int, places: Path, tmp_path: Path) -> None:
    counts = report(jdk, places, "Places", tmp_path, everything)
    expect(counts, advice.INSIDE_POINTS)


@pytest.mark.parametrize("point", advice.INSIDE_POINTS, ids=lambda point: point.name)
def test_each_point_alone(point: Point, places: Path, tmp_path: Path) -> None:
    counts = report(17, places, "Places", tmp_path, lambda file: advice.inside(file, points=(point,)))
    expect(counts, (point,))
    assert {site.point for site in counts.sites} == {point}


@all_jdks
def test_entry_and_exits_are_counted_with_all_points_woven(jdk: int, shapes: Path, tmp_path: Path) -> None:
    check_ends(report(jdk, shapes, "Shapes", tmp_path, everything))


def test_a_line_at_each_instruction_changes_nothing(shapes: Path, tmp_path: Path) -> None:
    counts = report(25, shapes, "Shapes", tmp_path, lambda file: advice.lines_everywhere(file, step=1))
    assert sum(count.calls for count in counts.counts.values()) > 10_000


def test_operands_of_a_place_that_has_them_not_are_an_error_of_the_plan(places: Path) -> None:
    data = (places / "Places.class").read_bytes()
    plan = advice.inside(ClassFile.parse(data), points=(Point.CALL_BEFORE,))
    (method,) = [method for method in plan.methods if method.name == "callsWide"]
    wrong = method.advice[0]._replace(operands=(Operand(OperandKind.RESULT, 0, "J"),))
    with pytest.raises(ValueError, match="the place has no result"):
        weave(data, ClassPlan("Places", (advice.with_advice(method, wrong),)), 0)
    misplaced = method.advice[0]._replace(at=1 + (method.advice[0].at or 0))
    with pytest.raises(ValueError, match="no instruction begins"):
        weave(data, ClassPlan("Places", (advice.with_advice(method, misplaced),)), 0)
    mistaken = method.advice[0]._replace(point=Point.NEWARRAY)
    with pytest.raises(ValueError, match="NEWARRAY at a call instruction"):
        weave(data, ClassPlan("Places", (advice.with_advice(method, mistaken),)), 0)


@all_jdks
def test_methods_with_monitors_are_still_compiled(jdk: int, tmp_path: Path) -> None:
    """HotSpot never compiles a method that may throw between a monitorenter and the range whose handler leaves the
    monitor.
    """
    program = compiled([JAVA / "Monitors.java", JAVA / "Recorder.java"])
    sites = woven(program, tmp_path, everything)
    result = run(jdk, tmp_path, "Monitors", "-Xbatch", "-XX:+PrintCompilation", "-Xverify:all")
    # The exception handler covers itself and calls a method. C1 never compiles such code; C2 must compile it.
    compiled_fully = [line for line in result.stdout.splitlines() if re.search(r" 4 +Monitors::blocks ", line)]
    assert compiled_fully
    assert not any("COMPILE SKIPPED" in line for line in compiled_fully)
    assert Report.read(sites, result.stderr).of(
        "Monitors", "blocks", "(Ljava/lang/Object;Ljava/lang/Object;I)I", probe_of(Point.SYNC_ENTER)
    ) == advice.Count(2 * 30011, 0, 0)


def test_places_share_the_slots_of_their_values(places: Path) -> None:
    data = (places / "Places.class").read_bytes()
    result = weave(data, advice.inside(ClassFile.parse(data)), 0)
    assert result.data is not None
    (method,) = [method for method in ClassFile.parse(result.data).methods if method.name == "arrays"]
    assert method.code is not None
    assert method.code.max_locals < 40


@pytest.mark.parametrize("name", ["Places", "Shapes"])
def test_a_second_weaver_sees_the_program_and_not_the_first(
    name: str, places: Path, shapes: Path, tmp_path: Path
) -> None:
    """Several weavers on one class, like sessions that share it: each finds the same places, numbers and values."""
    once, twice = tmp_path / "once", tmp_path / "twice"
    once.mkdir()
    twice.mkdir()
    program = places if name == "Places" else shapes
    first = woven(program, once, everything)
    second = woven(once, twice, everything, len(first))
    # In the program these methods cannot throw. The code of the first weaver could throw in them, but does not.
    thrown_sites = {(site.class_name, site.method, site.descriptor) for site in first if site.point is Point.THROW}
    never = {
        site.id
        for site in second
        if site.point is Point.THROW and (site.class_name, site.method, site.descriptor) not in thrown_sites
    }
    second = [site for site in second if site.id not in never]
    assert [site._replace(id=0) for site in second] == [site._replace(id=0) for site in first]
    result = run(21, twice, name, "-Xverify:all")
    assert result.stdout == unwoven(21, program, name)
    report = Report.read((*first, *second), result.stderr)
    assert not never.intersection(report.counts)
    assert len(report.counts) > len(first)
    none = advice.Count(0, 0, 0)
    for one, other in zip(first, second, strict=True):
        assert report.counts.get(other.id, none) == report.counts.get(one.id, none), (one, other)


def test_an_inserted_attribute_of_other_code_is_ignored() -> None:
    """A tool that changes the code but copies unknown attributes leaves an outdated attribute."""
    ranges = (2, 5)
    for said_of, believed in ((bytes((op.NOP, op.NOP, op.RETURN)), False), (bytes((op.NOP, op.RETURN)), True)):
        builder = ClassBuilder("Changed")
        code = builder.method(ACC_PUBLIC | ACC_STATIC, "run", "()V")
        code.attribute(inserted.NAME, inserted.content(said_of, list(ranges)))
        code.op(op.NOP)
        code.op(op.RETURN)
        (method,) = ClassFile.parse(builder.to_bytes()).methods
        assert method.code is not None
        assert inserted.ranges(method.code) == ((ranges,) if believed else ())
