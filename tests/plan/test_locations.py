"""The instructions that a script's locations select, and the messages about impossible places."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from btpy.classfile import opcodes as op
from btpy.classfile.assembler import ClassBuilder, Tracking
from btpy.classfile.jvms import ACC_NATIVE, ACC_PUBLIC, ACC_STATIC
from btpy.classfile.reader import ClassFile
from btpy.lang.check.checker import check_source
from btpy.model.patterns import TypePattern
from btpy.model.source import Source
from btpy.plan import diagnose, locations
from btpy.plan.plan import RefusalReason
from btpy.plan.planner import PlannedClass, Planner
from tests.jdks import compiled

JAVA = Path(__file__).parent.parent / "weave" / "java"


@pytest.fixture(scope="module")
def places() -> ClassFile:
    program = compiled([JAVA / "Places.java", JAVA / "Recorder.java"])
    return ClassFile.parse((program / "Places.class").read_bytes())


Find = Callable[..., PlannedClass]


@pytest.fixture
def find(places: ClassFile) -> Find:
    def plan(location: str, body: str = "print(1);", method: str = "*", **options: Any) -> PlannedClass:
        return planner(location, body, method, **options).plan_class(places, in_jdk=False, ancestors=frozenset())

    return plan


def planner(location: str, body: str, method: str, *, supertypes: locations.Supertypes | None = None) -> Planner:
    text = f'@OnMethod(class="Places", method="{method}", location={location}) {{ {body} }}'
    program = check_source(Source("places.bt", text))
    return Planner(program) if supertypes is None else Planner(program, supertypes=supertypes)


def found(class_plan: PlannedClass) -> list[tuple[str, str, str, str]]:
    """Method, point, class and member of each place."""
    return [
        (method.name, item.bound.shape.point.name, item.target_class, item.member)
        for method in class_plan.methods
        for item in method.advice
        if item.bound.shape is not None
    ]


def test_calls_by_class_method_and_type(find: Find) -> None:
    call = [("callsFailing", "CALL_BEFORE", "Places", "fails")]
    assert found(find('CALL(class="Places", method="fails")')) == call
    assert found(find('CALL(class="Places", method="fa*", type="int (int)")')) == call
    assert found(find('CALL(class="Places", method="fails", type="long (int)")')) == []
    assert found(find('CALL(class="Other", method="fails")')) == []
    after = found(find('CALL(class="Places", method="fails", when=AFTER)'))
    assert [point for _, point, _, _ in after] == ["CALL_RETURN", "CALL_THROW"]


def test_a_plus_asks_for_subtypes_of_the_class_that_the_call_names(find: Find) -> None:
    class_ = {"java.lang.String": frozenset({"java.lang.CharSequence", "java.lang.Object"})}
    location = 'CALL(class="+java.lang.CharSequence", method="length")'
    assert found(find(location)) == []
    found_ = found(find(location, supertypes=lambda name: class_.get(name, frozenset())))
    assert {(target, member) for _, _, target, member in found_} == {("java.lang.String", "length")}


def test_a_class_that_a_call_names_is_decided_when_its_supertypes_are_known(places: ClassFile) -> None:
    class_: dict[str, frozenset[str]] = {}
    location = 'CALL(class="+Base", method="fails")'
    plans = planner(location, "print(1);", "*", supertypes=lambda name: class_.get(name, frozenset()))
    assert found(plans.plan_class(places, in_jdk=False, ancestors=frozenset())) == []
    assert plans.undecided == {"Places"}
    assert not plans.learned("Places")
    class_["Places"] = frozenset({"Base"})
    assert plans.learned("Places")
    assert plans.undecided == set()
    call = [("callsFailing", "CALL_BEFORE", "Places", "fails")]
    assert found(plans.plan_class(places, in_jdk=False, ancestors=frozenset())) == call


def test_an_exception_of_super_is_refused_only_where_constructors_are_asked_for(find: Find) -> None:
    assert find("CALL(when=AFTER)", method="<init>").refusals == ()
    reasons = {refusal.reason for refusal in find('CALL(method="<init>", when=AFTER)', method="<init>").refusals}
    assert reasons == {RefusalReason.NO_POINT}


def test_new_objects_are_those_of_the_class_and_no_super_call_is_one(find: Find) -> None:
    assert [at for at, *_ in found(find('NEW(class="Places$Nested")'))] == ["makes"] * 4
    assert found(find('NEW(class="Places")', method="<init>")) == []
    assert found(find('NEW(class="java.lang.Object")')) == []


def test_fields_arrays_casts_by_type(find: Find) -> None:
    assert {at for at, *_ in found(find('FIELD_SET(class="Places", field="big")'))} == {"<init>", "fields", "foreign"}
    assert [of for _, _, of, _ in found(find('NEWARRAY(type="byte[]")'))] == ["byte[]"]
    assert [of for _, _, of, _ in found(find('NEWARRAY(type="long[][][]")'))] == ["long[][][]"]
    assert [of for _, _, of, _ in found(find('ARRAY_SET(type="boolean[]")', method="arrays"))] == ["boolean[]"]
    assert len(found(find('ARRAY_SET(type="byte[]")', method="arrays"))) == 3
    assert [of for _, _, of, _ in found(find('ARRAY_GET(type="java.lang.String[]")'))] == ["java.lang.String[]"]
    assert [of for _, _, of, _ in found(find('CAST(type="java.lang.Integer")'))] == ["java.lang.Integer"]
    assert [at for at, *_ in found(find('INSTANCEOF(type="String")'))] == ["casts"]


def test_handlers_that_catch_nothing_by_name_are_no_places(find: Find) -> None:
    caught = found(find("CATCH"))
    assert ("raises", "CATCH", "java.lang.IllegalArgumentException | java.lang.IllegalStateException", "") in caught
    assert [at for at, *_ in caught].count("callsFailing") == 1
    assert "blocks" not in {at for at, *_ in caught}


def test_lines_are_those_of_the_class_and_the_method(find: Find, places: ClassFile) -> None:
    (lines,) = [method for method in places.methods if method.name == "lines"]
    assert lines.code is not None
    first = lines.code.lines[0][1]
    assert len(found(find(f"LINE({first})"))) == 1
    assert found(find(f"LINE({first})", method="blocks")) == []
    assert len(found(find(f"LINE({first}..{first + 6})"))) == 7  # the line of the `for` has two places
    class_plan = find(f"LINE({first + 3})", "print(locals());")
    (advice,) = class_plan.methods[0].advice
    assert advice.bound.shape is not None
    assert [variable.name for variable in advice.bound.shape.variables] == ["n", "sum", "i", "square"]
    assert advice.bound.shape.absent_variables == ("done",)


def reasons(class_plan: PlannedClass) -> set[tuple[RefusalReason, str]]:
    return {(refusal.reason, (refusal.method or "").partition("(")[0]) for refusal in class_plan.refusals}


def test_the_message_names_values_that_a_place_lacks(find: Find) -> None:
    before = find('CALL(class="Places$Nested", method="<init>")', "print(target);")
    assert reasons(before) == {(RefusalReason.NO_VALUE, "makes")}
    assert before.methods == ()
    assert len(found(find('CALL(class="Places$Nested", method="<init>")', "print(arg0);"))) == 4
    early = find('CALL(class="Places", method="text")', "print(self);")
    assert reasons(early) == {(RefusalReason.NO_VALUE, "<init>")}
    constructor_call = find('CALL(class="Places", method="<init>", when=AFTER)', method="<init>")
    assert reasons(constructor_call) == {(RefusalReason.NO_POINT, "<init>")}
    assert [point for _, point, _, _ in found(constructor_call)] == ["CALL_RETURN"]
    timed = find("SYNC_ENTER(when=AFTER)", "print(duration);")
    assert reasons(timed) == {
        (RefusalReason.NOT_TIMED, "synchronizedMethod"),
        (RefusalReason.NOT_TIMED, "synchronizedStatic"),
    }
    assert [at.rstrip("0123456789") for at, *_ in found(timed)] == ["blocks", "blocks", "lambda$nulls$"]
    entering = find("SYNC_ENTER(when=BEFORE)", method="synchronized*")
    assert {reason for reason, _ in reasons(entering)} == {RefusalReason.NO_POINT}


def odd() -> ClassBuilder:
    return ClassBuilder("Places", major=52, super_name="java/lang/Object")


def plan_of(builder: ClassBuilder, location: str, body: str = "print(1);") -> PlannedClass:
    file = ClassFile.parse(builder.to_bytes())
    return planner(location, body, "*").plan_class(file, in_jdk=False, ancestors=frozenset())


def test_an_object_that_nothing_refers_to_any_more_cannot_be_reported() -> None:
    builder = odd()
    code = builder.method(ACC_PUBLIC | ACC_STATIC, "drops", "()V", tracking=Tracking.OFF)
    code.limits(1, 0)
    code.type(op.NEW, "java/lang/Object")
    code.invoke(op.INVOKESPECIAL, "java/lang/Object", "<init>", "()V")
    code.op(op.RETURN)
    assert len(found(plan_of(builder, 'NEW(class="java.lang.Object")'))) == 1
    refusal = plan_of(builder, 'NEW(class="java.lang.Object")', "print(target);")
    assert reasons(refusal) == {(RefusalReason.NO_VALUE, "drops")}


def test_without_line_numbers_it_is_said() -> None:
    builder = odd()
    builder.method(ACC_PUBLIC | ACC_STATIC, "bare", "()V").op(op.RETURN)
    assert reasons(plan_of(builder, "LINE(7)")) == {(RefusalReason.NO_LINES, "bare")}


def test_methods_without_code_are_no_news_to_a_wide_pattern_and_are_to_a_name() -> None:
    builder = odd()
    builder.raw_method(ACC_PUBLIC | ACC_NATIVE, "native0", "()V")
    file = ClassFile.parse(builder.to_bytes())
    wide = planner("RAISE", "print(1);", "*").plan_class(file, in_jdk=False, ancestors=frozenset())
    narrow = planner("RAISE", "print(1);", "native0").plan_class(file, in_jdk=False, ancestors=frozenset())
    assert wide.refusals == ()
    assert reasons(narrow) == {(RefusalReason.NO_CODE, "native0")}


def test_a_class_without_the_name_in_its_pool_is_not_looked_through(places: ClassFile) -> None:
    broken = ClassFile.parse(places.data)
    script = planner('FIELD_SET(class="Places", field="absent")', "print(1);", "*")
    assert script.plan_class(broken, in_jdk=False, ancestors=frozenset()) == PlannedClass("Places", (), (), ())


@pytest.mark.parametrize(
    ("pattern", "methods"),
    [
        ("quote", {"quote"}),
        ("quotex", set()),
        ("größe", {"größe"}),
        ("𝔵", {"𝔵"}),
        ("quo*", {"quote", "quotes"}),
        ("*quote", {"quote", "prequote"}),
        ("*qu?te*", {"quote", "quotes", "prequote"}),
        ("?", {"𝔵"}),
        ("*ß*r", {"größer"}),
        ("*quotex*", set()),
        ("/.*ote/", {"quote", "prequote"}),
        ("*", {"quote", "prequote", "quotes", "größe", "größer", "𝔵"}),
    ],
)
def test_methods_are_found_by_their_name(pattern: str, methods: set[str]) -> None:
    builder = odd()
    for method in ("quote", "prequote", "quotes", "größe", "größer", "𝔵"):
        builder.method(ACC_PUBLIC | ACC_STATIC, method, "()V").op(op.RETURN)
    file = ClassFile.parse(builder.to_bytes())
    planned = planner("ENTRY", "print(1);", pattern).plan_class(file, in_jdk=False, ancestors=frozenset())
    assert {method.name for method in planned.methods} == methods
    assert planned.refusals == ()


@pytest.mark.parametrize(
    ("pattern", "methods"),
    [
        ("@Deprecated", {"old"}),
        ("@java.lang.Deprecated", {"old"}),
        ("@java.lang.Depr*", {"old"}),
        ("@java.util.Deprecated", set()),
        ("@Depr", set()),
        ("@**Inner", {"inner"}),
        ("@Größe", {"size"}),
        ("@com.acme.Größe", {"size"}),
        ("@Retention", set()),
        ("@?**", {"old", "inner", "size"}),
    ],
)
def test_methods_are_found_by_their_annotation(pattern: str, methods: set[str]) -> None:
    classes = compiled([JAVA / "Annotated.java"])
    file = ClassFile.parse((classes / "com/acme/Annotated.class").read_bytes())
    program = check_source(Source("x.bt", f'@OnMethod(class="com.acme.*", method="{pattern}") {{ print(1); }}'))
    planned = Planner(program).plan_class(file, in_jdk=False, ancestors=frozenset())
    assert {method.name for method in planned.methods} == methods


@pytest.mark.parametrize(
    ("pattern", "java", "matches"),
    [
        ("byte", "byte", True),
        ("byte", "byte[]", False),
        ("byte[]", "byte[]", True),
        ("byte[][]", "byte[]", False),
        ("*", "int[][]", True),
        ("**", "java.lang.String", True),
        ("int", "java.lang.Integer", False),
        ("String", "java.lang.String", True),
        ("java.lang.*[]", "java.lang.String[]", True),
        ("java.lang.*", "java.util.List", False),
        ("+java.util.Collection", "java.util.List", True),
        ("+java.util.Collection", "java.lang.String", False),
        ("*", "long", True),
        ("/java\\..*/", "java.util.List", True),
    ],
)
def test_type_patterns(pattern: str, java: str, matches: bool) -> None:
    class_ = {"java.util.List": ["java.util.Collection"]}
    assert TypePattern.parse(pattern).matches(java, lambda name: class_.get(name, [])) is matches


def test_a_line_without_code_is_answered_with_the_nearest_that_have_some(places: ClassFile) -> None:
    script = planner("LINE(1)", "print(1);", "lines")
    ((_, operations),) = script.looked_through(0, places)
    lines = [line for _, line in operations.lines]
    diagnostic = diagnose.no_line(script.program.probes[0], "Places::lines", lines)
    assert diagnostic.code == "BT306"
    assert diagnostic.message == "Places::lines has no code at line 1"
    near = ", ".join(map(str, sorted(set(lines))[:6]))
    assert diagnostic.help == (f"nearest lines with code: {near}  (of {min(lines)}..{max(lines)})",)


def test_an_operation_that_is_not_there_is_answered_with_those_that_are(places: ClassFile) -> None:
    script = planner('CALL(class="Places", method="failz")', "print(1);", "callsFailing")
    ((_, operations),) = script.looked_through(0, places)
    there = locations.described(script.program.probes[0].attachment.points[0], operations)  # type: ignore[union-attr]
    assert there == ["Places::fails", "java.lang.IllegalStateException::getMessage"]
    diagnostic = diagnose.no_operation(script.program.probes[0], 1, there)
    assert (diagnostic.code, diagnostic.message) == ("BT307", "the matching method contains no CALL(Places::failz)")
    assert diagnostic.help == ("the code has: Places::fails",)
    dotted = planner('CALL(class="Places.fails")', "print(1);", "callsFailing").program.probes[0]
    assert diagnose.no_operation(dotted, 1, there).help == ("write Places::fails",)
    arrays = planner('NEWARRAY(type="long[]")', "print(1);", "callsFailing").program.probes[0]
    assert diagnose.no_operation(arrays, 1, []).message == "the matching method contains no NEWARRAY(long[])"
