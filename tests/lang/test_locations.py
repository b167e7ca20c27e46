"""Points inside a method: the point of each location, and its variables in the typed tree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from btpy.errors import ScriptError
from btpy.lang import typed_tree
from btpy.lang.builtins import LOCATIONS, PLACE_OF_POINT
from btpy.lang.check.binding import bind
from btpy.lang.check.checker import check_source
from btpy.lang.program import Program
from btpy.lang.typed_tree import OperationShape, Shape
from btpy.model.attachments import MethodAttachment
from btpy.model.points import Point
from btpy.model.secrets import LAST_WORDS, PARTS, REDACTED, WORDS
from btpy.model.source import Source
from tests.lang.trees import operation, shape, show, show_input, show_program, show_template

SECRETS = Path("agent-java/src/main/java/btpy/runtime/Secrets.java")


def checked(text: str) -> Program:
    return check_source(Source("test.bt", text))


def values(location: str, what: str, against: Shape) -> list[str]:
    """The typed values of ``print(what)``."""
    checked_program = checked(f"A::b @{location} {{ print({what}) }}")
    (emit,) = bind(checked_program, checked_program.probes[0], against).body
    return [show(value) for value in emit.values]  # type: ignore[union-attr]


def at(point: Point, operation_shape: OperationShape | None = None, **options: object) -> Shape:
    return shape(point, operation=operation_shape, **options)  # type: ignore[arg-type]


def test_every_point_belongs_to_one_location() -> None:
    rows = [row for row in LOCATIONS.values() if row.name != "EXIT"]
    points = [point for row in rows for item in (row, row.after) if item is not None for point in item.points]
    assert sorted(points, key=lambda point: point.name) == sorted(Point, key=lambda point: point.name)
    assert set(PLACE_OF_POINT) == set(Point)
    for row in rows:
        for item in (row, row.after):
            if item is not None:
                assert {PLACE_OF_POINT[point] for point in item.points} == {item.place}


@pytest.mark.parametrize(
    ("location", "tree"),
    [
        ("CALL", "points CALL_BEFORE, operation any"),
        (
            'CALL(class="a.B", method="c*", type="int (..)", when=BEFORE)',
            "points CALL_BEFORE, operation owner=a.B member=c* signature=int (..)",
        ),
        ('CALL("a.B", "c", when=AFTER)', "points CALL_RETURN CALL_THROW, operation owner=a.B member=c"),
        ("LINE", "points LINE, operation any"),
        ("LINE(7)", "points LINE, operation lines=7..7"),
        ("LINE(7..9)", "points LINE, operation lines=7..9"),
        ("LINE(line=65535)", "points LINE, operation lines=65535..65535"),
        ('NEW("+a.B")', "points NEW, operation owner=+a.B"),
        ('NEWARRAY("byte[]")', "points NEWARRAY, operation owner=byte"),
        ('NEWARRAY(type="int[][]")', "points NEWARRAY, operation owner=int[]"),
        ('FIELD_GET(class="A", field="x")', "points FIELD_GET, operation owner=A member=x"),
        ('FIELD_SET(field="x")', "points FIELD_SET, operation member=x"),
        ('ARRAY_GET(type="java.lang.*[]")', "points ARRAY_GET, operation owner=java.lang.*"),
        ('ARRAY_SET(type="long[]")', "points ARRAY_SET, operation owner=long"),
        ('CAST(type="a.B")', "points CAST, operation owner=a.B"),
        ('INSTANCEOF(type="byte[]")', "points INSTANCEOF, operation owner=byte[]"),
        ("RAISE", "points RAISE, operation any"),
        ('CATCH(type="+a.E")', "points CATCH, thrown +a.E, operation any"),
        ("SYNC_ENTER", "points SYNC_ENTER_BEFORE, operation any"),
        ("SYNC_ENTER(when=AFTER)", "points SYNC_ENTER, operation any"),
        ("SYNC_EXIT", "points SYNC_EXIT, operation any"),
        ("SYNC_EXIT(when=AFTER)", "points SYNC_EXIT_AFTER, operation any"),
        ("[SYNC_ENTER, SYNC_EXIT]", "points SYNC_ENTER_BEFORE SYNC_EXIT, operation any"),
        (
            '[CALL(method="x", when=AFTER), CALL(method="x")]',
            "points CALL_BEFORE CALL_RETURN CALL_THROW, operation member=x",
        ),
        ("[ENTRY, LINE(3)]", "points ENTRY LINE, operation lines=3..3"),
    ],
)
def test_locations(location: str, tree: str) -> None:
    text = show_program(checked(f'@OnMethod(class="A", location={location}) {{ }}'))
    assert text == f"probe 0 probe: classes A, methods *, {tree}\n".replace(", operation", ", max 500, operation")


@pytest.mark.parametrize(
    ("sugar", "location"),
    [
        ("call(java.net.URL::open*)", 'CALL(class="java.net.URL", method="open*")'),
        ("call( a.B :: c , when = AFTER )", 'CALL(class="a.B", method="c", when=AFTER)'),
        ("call(when=AFTER)", "CALL(when=AFTER)"),
        ("call(a.B)", 'CALL(class="a.B")'),
        ("call(a.B::/x.*,y/)", 'CALL(class="a.B", method="/x.*,y/")'),
        ("line(142)", "LINE(142)"),
        ("line( 142 .. 150 )", "LINE(142..150)"),
        ("line", "LINE"),
        ("new(+a.B)", 'NEW(class="+a.B")'),
        ("newarray(byte[])", 'NEWARRAY(type="byte[]")'),
        ("get(a.B::x)", 'FIELD_GET(class="a.B", field="x")'),
        ("set(a.B::x)", 'FIELD_SET(class="a.B", field="x")'),
        ("raise(+a.E)", 'RAISE(type="+a.E")'),
        ("catch(a.E)", 'CATCH(type="a.E")'),
        ("throw(a.E)", 'THROW(type="a.E")'),
        ("sync", "SYNC_ENTER"),
        ("sync(when=AFTER)", "SYNC_ENTER(when=AFTER)"),
        ("sync_exit", "SYNC_EXIT"),
        ("array_set(int[])", 'ARRAY_SET(type="int[]")'),
        ("instanceof(a.B)", 'INSTANCEOF(type="a.B")'),
    ],
)
def test_points_are_short_for_locations(sugar: str, location: str) -> None:
    short = show_program(checked(f"A::b @{sugar} {{ }}"))
    assert short == show_program(checked(f'@OnMethod(class="A", method="b", location={location}) {{ }}'))


def test_the_places_of_a_point_are_those_of_its_parts() -> None:
    attachment = checked("A::b @call(java.net.URL::open*, when=AFTER) { }").probes[0].attachment
    assert isinstance(attachment, MethodAttachment)
    assert attachment.operation is not None
    assert attachment.operation.owner is not None
    assert attachment.operation.member is not None
    assert attachment.operation.owner.span.text == "java.net.URL"
    assert attachment.operation.member.span.text == "open*"


def test_calls() -> None:
    operation_shape = operation("La/B;", "I Ljava/lang/String; J", "D")
    before = at(Point.CALL_BEFORE, operation_shape, parameters="I", names="x")
    assert values("call", "target, targs[0], targs[2], arg0", before) == [
        "<target0:Object>:a.B",
        "<targ0:I>:int",
        "<targ2:J>:long",
        "<arg0:I>:int",
    ]
    assert values("call", "targs", before) == ["<targ0:I>:int", "<targ1:Object>:string", "<targ2:J>:long"]
    after = "call(when=AFTER)"
    return_shape, thrown = at(Point.CALL_RETURN, operation_shape), at(Point.CALL_THROW, operation_shape)
    assert values(after, "retval, exception, duration", return_shape) == [
        "<retval0:D>:double",
        "None:object",
        "<duration0:J>:duration",
    ]
    assert values(after, "retval, exception, duration", thrown) == [
        "None:any",
        "<exception0:Object>:object",
        "<duration0:J>:duration",
    ]
    assert values("call", "target", at(Point.CALL_BEFORE, operation())) == ["None:object"]


def test_the_result_of_a_void_call() -> None:
    checked_program = checked("A::b @call(when=AFTER) { print(retval) }")
    for point in (Point.CALL_RETURN, Point.CALL_THROW):
        with pytest.raises(ScriptError) as caught:
            bind(checked_program, checked_program.probes[0], at(point, operation("La/B;"), returns="I"))
        (diagnostic,) = caught.value.diagnostics
        assert (diagnostic.code, diagnostic.message) == (
            "BT205",
            "`retval` does not exist: the called method returns nothing",
        )


def test_an_argument_that_the_called_method_does_not_have() -> None:
    checked_program = checked("A::b @call { print(targs[2]) }")
    for arguments, note in (
        ("I I", "it has 2 parameters: targs[0] … targs[1]"),
        ("", "it has no parameters"),
    ):
        with pytest.raises(ScriptError) as caught:
            bind(checked_program, checked_program.probes[0], at(Point.CALL_BEFORE, operation("", arguments)))
        (diagnostic,) = caught.value.diagnostics
        assert (diagnostic.code, diagnostic.notes) == ("BT112", (note,))


def test_fields_and_elements() -> None:
    field = operation("La/B;", value="I")
    assert values("get", "target, retval", at(Point.FIELD_GET, field)) == ["<target0:Object>:a.B", "<retval0:I>:int"]
    assert values("set", "target, oldval, newval", at(Point.FIELD_SET, field)) == [
        "<target0:Object>:a.B",
        "<oldval0:I>:int",
        "<newval0:I>:int",
    ]
    element = operation("[J", value="J")
    assert values("array_get", "target, index, retval", at(Point.ARRAY_GET, element)) == [
        "<target0:Object>:long[]",
        "<index0:I>:int",
        "<retval0:J>:long",
    ]
    assert values("array_set", "index, newval", at(Point.ARRAY_SET, element)) == ["<index0:I>:int", "<newval0:J>:long"]


def test_types_exceptions_and_monitors() -> None:
    test = operation("Ljava/lang/Object;", value="Z")
    assert values("instanceof", "target, retval", at(Point.INSTANCEOF, test)) == [
        "<target0:Object>:java.lang.Object",
        "<retval0:Z>:boolean",
    ]
    assert values("cast", "target", at(Point.CAST, test)) == ["<target0:Object>:java.lang.Object"]
    for location, point in (("raise", Point.RAISE), ("catch", Point.CATCH)):
        assert values(location, "exception", at(point, operation())) == ["<exception0:Object>:object"]
    monitor = operation("Ljava/lang/Object;")
    for location, point in (("sync", Point.SYNC_ENTER_BEFORE), ("sync_exit", Point.SYNC_EXIT)):
        assert values(location, "lock", at(point, monitor)) == ["<target0:Object>:java.lang.Object"]
    assert values("sync(when=AFTER)", "lock, duration", at(Point.SYNC_ENTER, monitor)) == [
        "<target0:Object>:java.lang.Object",
        "<duration0:J>:duration",
    ]


@pytest.mark.parametrize(("location", "point"), [("raise", Point.RAISE), ("catch", Point.CATCH)])
def test_a_type_of_exceptions_tests_the_exception(location: str, point: Point) -> None:
    checked_program = checked(f"A::b @{location}(+a.E) {{ print(1) }}")
    bound_probe = bind(checked_program, checked_program.probes[0], at(point, operation()))
    assert (bound_probe.thrown, [show_input(input_) for input_ in bound_probe.inputs]) == (
        "+a.E",
        ["exception0:Object"],
    )


def test_facts_of_operations_are_not_shipped() -> None:
    checked_program = checked("A::b @call { print(target_class, target_method) } A::b @get { print(field) }")
    assert [show_template(template) for template in checked_program.templates] == [
        "template 0 of probe 0: print {target_class string} ' ' {target_method string}",
        "template 1 of probe 1: print {field string}",
    ]
    bound_probe = bind(checked_program, checked_program.probes[0], at(Point.CALL_BEFORE, operation()))
    assert bound_probe.inputs == ()


def evaluate(node: object, lengths: list[int]) -> int:
    """The value of a tree of constants, lengths and integer operators."""
    match node:
        case typed_tree.Constant(value=int(value)):
            return value
        case typed_tree.InputValue(input=input_):
            return lengths[input_.index]
        case typed_tree.Convert(operand=operand):
            return evaluate(operand, lengths)
        case typed_tree.Binary(operator=operator, left=left, right=right):
            a, b = evaluate(left, lengths), evaluate(right, lengths)
            return {"+": a + b, "*": a * b, "&": a & b}[operator]
    raise AssertionError(node)


@pytest.mark.parametrize(
    ("lengths", "element_size", "bytes_"),
    [
        ([0], 1, 16),
        ([1], 1, 24),
        ([8], 1, 24),
        ([9], 1, 32),
        ([5], 8, 56),
        ([2**31 - 1], 8, 2**34 + 8),
        ([3, 5], 2, (16 + 12 + 4) + 3 * (16 + 10 + 6)),
        ([3, 0, 7], 4, 32 + 3 * 16),
        ([2, 3, 7], 4, 24 + 2 * 32 + 6 * 48),
    ],
)
def test_size_of_arrays(lengths: list[int], element_size: int, bytes_: int) -> None:
    checked_program = checked("A::b @newarray { print(size, length) }")
    operation_shape = operation("[I", element_size=element_size, dimensions=len(lengths))
    bound_probe = bind(checked_program, checked_program.probes[0], at(Point.NEWARRAY, operation_shape))
    (emit,) = bound_probe.body
    size, length = emit.values  # type: ignore[union-attr]
    assert (str(size.type), evaluate(size, lengths)) == ("bytes", bytes_)
    assert show(length) == "<length0:I>:int"


def test_variables_at_a_line() -> None:
    against = at(
        Point.LINE, parameters="I Ljava/lang/String;", names="count text", variables="count I total D", absent="later"
    )
    assert values("line(3)", "$count, $total, $text, $later, arg0, duration", against) == [
        "<variable0:I>:int",
        "<variable1:D>:double",
        "<arg1:Object>:string",
        "None:any",
        "<arg0:I>:int",
        "<duration0:J>:duration",
    ]
    checked_program = checked("A::b @line(3) { print($totl) }")
    with pytest.raises(ScriptError) as caught:
        bind(checked_program, checked_program.probes[0], against)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.help) == ("BT112", ("did you mean `$total`?",))
    assert diagnostic.notes == ("variables: $count, $later, $text, $total",)
    with pytest.raises(ScriptError) as caught:
        bind(checked_program, checked_program.probes[0], at(Point.LINE, parameters="I"))
    assert caught.value.diagnostics[0].notes == ("the class was compiled without -g: its variables have no names",)


def test_a_parameter_of_the_probe_has_its_entry_value_at_a_line() -> None:
    checked_program = checked(
        '@OnMethod(class="A", location=LINE(3)) probe p(int count) { print(count, $count, $total) }'
    )
    bound_probe = bind(
        checked_program, checked_program.probes[0], at(Point.LINE, parameters="I", variables="count I total D")
    )
    assert [show_input(input_) for input_ in bound_probe.inputs] == ["arg0:I", "variable1:D"]


def test_all_variables_at_a_line() -> None:
    checked_program = checked('A::b @line(3) { print(depth, locals()); emit("here", all=locals(), at=line) }')
    assert [show_template(template) for template in checked_program.templates] == [
        "template 0 of probe 0: print {0 int} ' ' {1… any}",
        "template 1 of probe 0: emit 'here' {all=0… any} {at=line int}",
    ]
    against = at(Point.LINE, variables="count I apiToken Ljava/lang/String;", absent="later")
    bound_probe = bind(checked_program, checked_program.probes[0], against)
    print_values, emitted = ([show(value) for value in item.values] for item in bound_probe.body)  # type: ignore[union-attr]
    pairs = ["'count':string", "<variable0:I>:int", "'apiToken':string", f"{REDACTED!r}:string"]
    assert print_values == ["<depth0:I>:int", *pairs]
    assert emitted == pairs
    assert [
        part.named for template in checked_program.templates for part in template.parts if not isinstance(part, str)
    ] == [
        False,
        True,
        True,
        False,
    ]
    assert [show_input(input_) for input_ in bound_probe.inputs] == ["depth0:I", "variable0:I"]


def test_secrets_are_those_of_the_runtime() -> None:
    source = (Path(__file__).parents[2] / SECRETS).read_text(encoding="utf-8")
    words, _, rest = source.partition("PARTS")
    last_words = rest.partition("LAST_WORDS")[2].partition("}")[0]
    parts = rest.partition("}")[0]
    assert set(re.findall(r'"(\w+)"', words)) == WORDS
    assert set(re.findall(r'"(\w+)"', last_words)) == LAST_WORDS
    assert tuple(re.findall(r'"(\w+)"', parts)) == PARTS


def test_a_shape_without_its_operation_is_refused() -> None:
    checked_program = checked("A::b @get { print(target) }")
    with pytest.raises(ValueError, match="`target` at FIELD_GET of a shape without an operation"):
        bind(checked_program, checked_program.probes[0], at(Point.FIELD_GET))


@pytest.mark.parametrize("name", ["07_alloc", "08_lock", "09_call", "10_line", "11_field"])
def test_worked_examples(name: str) -> None:
    text = (Path(__file__).parent / "examples" / f"{name}.bt").read_text(encoding="utf-8")
    codes = {"08_lock": ["BT211"]}.get(name, [])  # the JVM does not tell the owner of a monitor
    assert [warning.code for warning in check_source(Source(name, text)).warnings] == codes
