"""Scripts checked against the classes that they match: fields, types and methods in the class files."""

from __future__ import annotations

from pathlib import Path

import pytest

from btpy.api.class_path import ClassPath
from btpy.api.offline import class_path
from btpy.lang.check.checker import check_source
from btpy.model.source import Source
from tests.jdks import compiled

JAVA = Path(__file__).parents[1] / "java"

LOOK = "Inspected::look @entry "


@pytest.fixture(scope="module")
def inspected_classes() -> ClassPath:
    return ClassPath(class_path([compiled([JAVA / "Inspected.java", JAVA / "Happening.java"], release=11)]))


def diagnosed(classes: ClassPath, text: str) -> list[tuple[str, str]]:
    """Code and message of each error in a script that does not fit or matches nothing."""
    match, _ = classes.match(check_source(Source("test.bt", text)))
    return [(problem.code, problem.message) for problem in (*match.problems, *match.missing.values())]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("print(arg0.piecess)", "`Inspected$Order` has no field `piecess`"),
        ("print($order.line.inner.depp)", "`Inspected$Inner` has no field `depp`"),
        ("print(arg1.text.chars)", "`string` has no fields"),
        ('if arg0.pieces == "7" { }', "cannot compare `int` with `string`"),
        ("if arg0.line > 3 { }", "cannot compare `Inspected$Line` with `int`"),
        ("if arg1.uri > 3 { }", "cannot compare `java.net.URI` with `int`"),
        ("let n: string = arg0.line.inner.deep;", "`n` needs a `string`, not `long`"),
        ("print(arg0.getName())", "call to target method `Inspected$Order.getName()` is not allowed in a probe"),
        ("print(arg0.toString())", "call to target method `Inspected$Order.toString()` is not allowed in a probe"),
        ("print(arg0.hashCode())", "call to target method `Inspected$Order.hashCode()` is not allowed in a probe"),
        ("print((arg2 as Inspected.Line).nr)", "`Inspected$Line` has no field `nr`"),
        ("print(arg0.line.inner.deep.more)", "`long` has no fields"),
    ],
)
def test_bodies_that_class_files_refuse(inspected_classes: ClassPath, body: str, message: str) -> None:
    assert [diagnostic for _, diagnostic in diagnosed(inspected_classes, LOOK + "{ " + body + " }")] == [message]


@pytest.mark.parametrize(
    "body",
    [
        "print(arg0.pieces + arg0.line.number * 2 - arg0.line.inner.deep)",
        'if arg0.status == "SHIPPED" && arg0.status.name() == "SHIPPED" { }',
        "let n: long = arg0.line.inner.deep; let p: int = arg0.pieces;",
        "print(arg1.decimal.toPlainString(), arg1.uri.rawPath, arg1.present.get())",
        "print(arg1.monitor.anything, arg1.type.name)",
        "if arg1.monitor == 3 || (arg1.took.seconds ?? 0) > 1 { }",
    ],
)
def test_bodies_that_class_files_allow(inspected_classes: ClassPath, body: str) -> None:
    assert diagnosed(inspected_classes, LOOK + "{ " + body + " }") == []


def test_a_field_that_only_a_subtype_has_is_late_bound(inspected_classes: ClassPath) -> None:
    subtypes = ClassPath(class_path([compiled([JAVA / "Shaped.java"], release=11)]))
    script = "Shaped::draw @entry { print(arg0.side, arg0.name); }"
    match, late_bound = subtypes.match(check_source(Source("test.bt", script)))
    assert match.problems == ()
    assert late_bound == ("`side` is a field of Shaped$Square, not of Shaped$Shape: dynamic",)
    assert diagnosed(subtypes, script.replace("arg0.side", "arg0.sides")) == [
        ("BT210", "`Shaped$Shape` has no field `sides`")
    ]


def test_a_static_field_is_no_field_of_an_object(inspected_classes: ClassPath) -> None:
    subtypes = ClassPath(class_path([compiled([JAVA / "Shaped.java"], release=11)]))
    script = "Shaped::draw @entry { print(arg0.drawn); }"
    assert diagnosed(subtypes, script) == [("BT213", "`drawn` is a static field of `Shaped$Shape`")]


def test_reasons_name_the_method(inspected_classes: ClassPath) -> None:
    match, _ = inspected_classes.match(check_source(Source("test.bt", LOOK + "when arg2 > 50ms { }")))
    (problem,) = match.problems
    assert problem.message == "cannot compare `string` with `duration`"
    assert problem.primary.text == "`string`: parameter 2 of Inspected.look"


def test_overloads_by_number(inspected_classes: ClassPath) -> None:
    header = '@OnMethod(class="Inspected", method="look")\nprobe look(Object a) { }'
    match, _ = inspected_classes.match(check_source(Source("test.bt", header)))
    (diagnostic,) = match.missing.values()
    assert (diagnostic.code, diagnostic.message) == ("BT305", "no overload of look has 1 parameter")
    assert diagnostic.help == (
        "leave the rest open:  (Object a, ..)",
        "the overloads are:  look(Order, Values, String)",
    )


def test_a_class_that_is_not_there(inspected_classes: ClassPath) -> None:
    assert diagnosed(inspected_classes, "Inspectd::look { }") == [("BT301", 'no class matches "Inspectd"')]
