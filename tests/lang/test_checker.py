"""The contents of a checked program, and the types of its bodies in given methods."""

from __future__ import annotations

import pytest

from btpy.errors import ScriptError
from btpy.lang import typed_tree
from btpy.lang.check.binding import bind
from btpy.lang.check.checker import check_source
from btpy.lang.program import Program
from btpy.model.attachments import MethodAttachment, TimerAttachment
from btpy.model.diagnostics import Severity
from btpy.model.maps import MapKind
from btpy.model.points import Point
from btpy.model.source import Source
from btpy.model.templates import SiteFact, Slot
from btpy.model.types import ANY, BOOLEAN, DOUBLE, DURATION, LONG, STRING, Type
from tests.conftest import Golden
from tests.lang.trees import shape, show, show_bound, show_program

QUOTE = shape(Point.RETURN, "Ljava/lang/String; I", "Lcom/acme/Money;", "sku qty")
EVERYTHING = shape(
    Point.RETURN,
    "Z C B S I J F D Ljava/lang/String; Lcom/acme/Order; Ljava/lang/Integer; [I [Ljava/lang/String; Ljava/lang/Object;",
    "J",
    "z c b s i j f d text order box ints texts any",
)


def checked(text: str) -> Program:
    return check_source(Source("test.bt", text))


def errors_of(text: str, against: typed_tree.Shape | None = None) -> list[str]:
    """The codes of the errors of the check; if it reports none, the codes of the errors of binding the first probe."""
    with pytest.raises(ScriptError) as caught:
        bind_first(text, against)
    return [diagnostic.code for diagnostic in caught.value.diagnostics if diagnostic.severity is Severity.ERROR]


def bind_first(text: str, against: typed_tree.Shape | None) -> typed_tree.BoundProbe:
    checked_program = checked(text)
    return bind(checked_program, checked_program.probes[0], against)


def typed(expression: str, against: typed_tree.Shape = EVERYTHING, where: str = "@exit") -> str:
    """The tree of ``expression`` in an EXIT probe."""
    checked_program = checked(f"A::b {where} {{ let x = {expression}; @m[1] = x }}")
    bound_probe = bind(checked_program, checked_program.probes[0], against)
    let = bound_probe.body[0]
    assert isinstance(let, typed_tree.Let)
    return show(let.value)


SCRIPTS = {
    "quote": (
        '@OnMethod(class="com.acme.PricingEngine", method="quote", location=EXIT)\n'
        "probe slow_quote(String code, ..)\n"
        "when duration > 50ms && depth == 0 {\n"
        "  let took = duration; took += 1ms;\n"
        "  if exception != null { @errors[cls, typeof(exception)] = count(); return }\n"
        '  emit("quote", sku=$sku, price=retval, took=took, qty_in=entry($qty), where=method);\n'
        '  print(f"{cls}.{method}:{line} {code} {retval.amount:>8} {took:ms}", args, probe);\n'
        "  @lat[code, line] = hist(duration, k=3); @total += duration; @n++;\n"
        "}\n"
        '@OnTimer(5s) { print(@lat, top=10, by="p99", unit="us"); print(@total, @n); clear(@lat); delete @n; }\n'
        "@OnEnd { if @n == 0 { exit(3) } }\n"
        "config { print_maps_on_exit = false; max_map_keys = 100; }\n"
    ),
}


def test_a_program_and_its_bound_probes(golden: Golden) -> None:
    checked_program = checked(SCRIPTS["quote"])
    text = SCRIPTS["quote"] + "\n" + show_program(checked_program)
    for point in (Point.RETURN, Point.THROW):
        against = shape(point, "Ljava/lang/String; I", "Lcom/acme/Money;", "sku qty")
        text += f"\n-- {point.name} of (String sku, int qty)\n" + show_bound(
            bind(checked_program, checked_program.probes[0], against)
        )
    other = shape(Point.RETURN, "Ljava/lang/String; J Z", "Lcom/acme/Money;", "sku qty dry", static=True)
    text += "\n-- RETURN of static (String sku, long qty, boolean dry)\n" + show_bound(
        bind(checked_program, checked_program.probes[0], other)
    )
    for probe in checked_program.probes[1:]:
        text += f"\n-- {probe.name}\n" + show_bound(bind(checked_program, probe, None))
    golden.check("lang/quote.txt", text)


def test_templates_do_not_depend_on_the_shape() -> None:
    checked_program = checked(
        'A::b @return { print(1, args, 2); if arg0 == 1 { emit("e", x=arg0) } print("last") } A::c { print(3) }'
    )
    assert [template.probe for template in checked_program.templates] == [0, 0, 0, 1]
    for against in (shape(Point.RETURN, "I"), shape(Point.RETURN, "J I Ljava/lang/String;")):
        bound_probe = bind(checked_program, checked_program.probes[0], against)
        first, test, last = bound_probe.body
        assert isinstance(first, typed_tree.Emit)
        assert isinstance(test, typed_tree.If)
        assert isinstance(test.then[0], typed_tree.Emit)
        assert isinstance(last, typed_tree.Emit)
        assert [first.template, test.then[0].template, last.template] == [0, 1, 2]
        assert len(first.values) == 2 + len(against.parameters)


def test_templates_belong_to_the_calls_that_lead_to_them() -> None:
    """A function that is called twice has a template for each call, in any order of binding."""
    checked_program = checked(
        'fn told(string text) { print(text); } A::b @return { told("first"); print(1); told("last") } A::c { told("") }'
    )
    assert [template.probe for template in checked_program.templates] == [0, 0, 0, 1]
    depths = {id_: len(place.spans) for (_, place), id_ in checked_program.template_ids.items()}
    assert depths == {0: 2, 1: 1, 2: 2, 3: 2}
    other = bind(checked_program, checked_program.probes[1], shape(Point.ENTRY, ""))
    first, second, third = bind(checked_program, checked_program.probes[0], shape(Point.RETURN, "I")).body
    assert [_template(statement) for statement in (*other.body, first, second, third)] == [3, 0, 1, 2]


def _template(statement: typed_tree.Statement) -> int:
    """The values of a statement's only record."""
    if isinstance(statement, typed_tree.Evaluate) and isinstance(statement.value, typed_tree.Inlined):
        statement = statement.value.statements[-1]
    assert isinstance(statement, typed_tree.Emit)
    return statement.template


def test_args_go_last_and_their_slot_stands_for_the_rest() -> None:
    checked_program = checked("A::b { print(args, tid) }")
    (rest, text, tid) = checked_program.templates[0].parts
    assert rest == Slot(1, ANY, rest=True)
    assert text == " "
    assert tid == Slot(0, LONG)
    bound_probe = bind(checked_program, checked_program.probes[0], shape(Point.ENTRY, "I Z"))
    assert isinstance(bound_probe.body[0], typed_tree.Emit)
    assert [show(value) for value in bound_probe.body[0].values] == [
        "(AmbientValue:long tid)",
        "<arg0:I>:int",
        "<arg1:Z>:boolean",
    ]


def test_site_facts_are_not_shipped() -> None:
    checked_program = checked('A::b { print(cls, line, probe); emit("e", m=method) }')
    slots = [part for template in checked_program.templates for part in template.parts if isinstance(part, Slot)]
    assert [slot.value for slot in slots] == [SiteFact.CLS, SiteFact.LINE, SiteFact.PROBE, SiteFact.METHOD]
    bound_probe = bind(checked_program, checked_program.probes[0], shape(Point.ENTRY))
    assert [statement.values for statement in bound_probe.body if isinstance(statement, typed_tree.Emit)] == [(), ()]


def test_a_let_hides_no_site_fact_but_a_parameter_does() -> None:
    checked_program = checked('@OnMethod(class="A") probe p(int line) { print(line) }')
    (slot,) = checked_program.templates[0].parts
    assert isinstance(slot, Slot)
    assert slot.value == 0


@pytest.mark.parametrize(
    ("location", "points"),
    [
        ("", (Point.ENTRY,)),
        ("location=RETURN", (Point.RETURN,)),
        ("location=EXIT", (Point.RETURN, Point.THROW)),
        ("location=[THROW, RETURN]", (Point.RETURN, Point.THROW)),
        ("location=[ENTRY, EXIT]", (Point.ENTRY, Point.RETURN, Point.THROW)),
        ('location=THROW(type="+java.io.IOException")', (Point.THROW,)),
    ],
)
def test_locations(location: str, points: tuple[Point, ...]) -> None:
    checked_program = checked(f'@OnMethod(class="A", method="b", {location}) {{ print(depth) }}')
    attachment = checked_program.probes[0].attachment
    assert isinstance(attachment, MethodAttachment)
    assert attachment.points == points


def test_a_list_of_locations_allows_only_their_common_variables() -> None:
    assert errors_of('@OnMethod(class="A", location=[ENTRY, RETURN]) { print(duration) }') == ["BT105"]
    assert checked('@OnMethod(class="A", location=[RETURN, THROW]) { print(duration, retval, exception) }').probes


def test_all_arguments_of_on_method() -> None:
    checked_program = checked(
        '@OnMethod(clazz=["a.B", "/c.*/"], method=["x", "y*"], exclude="a.C", type="int (*, ..)", loader="app",'
        ' pending=true, max=7, id="mine") { }'
    )
    attachment = checked_program.probes[0].attachment
    assert isinstance(attachment, MethodAttachment)
    assert [class_.text for class_ in attachment.classes] == ["a.B", "/c.*/"]
    assert [method.text for method in attachment.methods] == ["x", "y*"]
    assert [pattern.text for pattern in attachment.exclude] == ["a.C"]
    assert attachment.signature is not None
    assert attachment.signature.text == "int (*, ..)"
    assert attachment.loader is not None
    assert (attachment.loader.text, attachment.pending, attachment.max_methods) == ("app", True, 7)
    assert checked_program.probes[0].name == "mine"


def test_names_of_probes_are_unique() -> None:
    checked_program = checked(
        "A::run { } B::run { } C::* { } D::e as run_3 { } @OnTimer(1s) { } @OnBegin { } @OnEnd { }"
    )
    assert [probe.name for probe in checked_program.probes] == [
        "run",
        "run_2",
        "probe",
        "run_3",
        "timer",
        "begin",
        "end",
    ]


def test_a_timer_has_its_period_in_nanoseconds() -> None:
    assert checked("@OnTimer(1.5s) { }").probes[0].attachment == TimerAttachment(1_500_000_000)


def test_thrown_needs_the_exception_even_if_the_body_does_not() -> None:
    checked_program = checked('@OnMethod(class="A", location=[RETURN, THROW(type="a.E")]) { print(1) }')
    thrown = bind(checked_program, checked_program.probes[0], shape(Point.THROW))
    bound_probe = bind(checked_program, checked_program.probes[0], shape(Point.RETURN))
    assert (thrown.thrown, [input_.kind.value for input_ in thrown.inputs]) == ("a.E", ["exception"])
    assert (bound_probe.thrown, bound_probe.inputs) == (None, ())


def test_outermost_is_depth_0_and_the_predicate() -> None:
    checked_program = checked('@OnMethod(class="A") @Outermost when tid > 1 { }')
    bound_probe = bind(checked_program, checked_program.probes[0], shape(Point.ENTRY))
    assert show(bound_probe.predicate) == (
        "(Logical:boolean && (Binary:boolean == <depth0:I>:int 0:int) "
        "(Binary:boolean > (AmbientValue:long tid) 1:long))"
    )


@pytest.mark.parametrize(
    ("statements", "kind", "type_"),
    [
        ("@m = count()", MapKind.COUNT, LONG),
        ("@m = sum(duration)", MapKind.SUM, DURATION),
        ("@m += duration; @m = 0ms", MapKind.VALUE, DURATION),
        ("@m = avg(1); @m = avg(2.5)", MapKind.AVG, DOUBLE),
        ("@m = max(arg0)", MapKind.MAX, ANY),
    ],
)
def test_kind_and_type_of_a_map(statements: str, kind: MapKind, type_: Type) -> None:
    (checked_program,) = checked(f"A::b @exit {{ {statements} }}").maps
    assert (checked_program.kind, checked_program.type) == (kind, type_)


def test_a_value_of_a_map_is_printed_with_its_unit() -> None:
    checked_program = checked("@OnEnd { print(@total); print(1, @total) } A::b @exit { @total = sum(duration) }")
    slots = [part for part in checked_program.templates[1].parts if isinstance(part, Slot)]
    assert slots[-1].type == DURATION.or_null()


@pytest.mark.parametrize(
    ("expression", "tree"),
    [
        # widening
        ("$i + $j", "(Binary:long + (Convert:long <arg4:I>:int) <arg5:J>:long)"),
        ("$b + $s", "(Binary:int + <arg2:B>:int <arg3:S>:int)"),
        ("$c + 1", "(Binary:int + (Convert:int <arg1:C>:char) 1:int)"),
        ("$f * 2", "(Binary:double * <arg6:F>:double 2.0:double)"),
        ("-$c", "(Unary:int - (Convert:int <arg1:C>:char))"),
        ("-5", "-5:int"),
        ("$i << $b", "(Binary:int << <arg4:I>:int <arg2:B>:int)"),
        ("$j & 7", "(Binary:long & <arg5:J>:long 7:long)"),
        # units
        ("duration + 1ms", "(Binary:duration + <duration0:J>:duration 1000000:duration)"),
        ("duration / 1ms", "(Binary:long / <duration0:J>:duration 1000000:duration)"),
        ("duration / 2", "(Binary:duration / <duration0:J>:duration 2:long)"),
        ("$i * 1ms", "(Binary:duration * (Convert:long <arg4:I>:int) 1000000:duration)"),
        ("nanos - $j", "(Binary:long - (AmbientValue:long nanos) <arg5:J>:long)"),
        ("duration > 0", "(Binary:boolean > <duration0:J>:duration 0:long)"),
        # values of unknown types are dynamic, with boxed operands
        ("$any + 1", "(Binary:any + <arg13:Object>:java.lang.Object (Convert:any 1:int))"),
        ("$box > 3", "(Binary:boolean > <arg10:Object>:java.lang.Integer (Convert:any 3:int))"),
        ("$order.total * 2", "(Binary:any * (FieldValue:any <arg9:Object>:com.acme.Order total) (Convert:any 2:int))"),
        ('"n" + $i', "(Binary:string + 'n':string (Convert:any <arg4:I>:int))"),
        # null
        ("len($text)", "(BuiltinCall:int? len [<arg8:Object>:string])"),
        ("len($text) > 3", "(Binary:boolean > (Convert:int (BuiltinCall:int? len [<arg8:Object>:string])) 3:int)"),
        ("len($text) == 3", "(Binary:boolean == (BuiltinCall:int? len [<arg8:Object>:string]) (Convert:any 3:int))"),
        (
            "len($text) ?? 0",
            "(Convert:int (Coalesce:any (BuiltinCall:int? len [<arg8:Object>:string]) (Convert:any 0:int)))",
        ),
        (
            "len($text) ?? 0 > 3",
            "(Binary:boolean > (Convert:int "
            "(Coalesce:any (BuiltinCall:int? len [<arg8:Object>:string]) (Convert:any 0:int))) 3:int)",
        ),
        ('$text ?? "?"', "(Coalesce:string <arg8:Object>:string '?':string)"),
        ('$order.price ?? "?"', "(Coalesce:any (FieldValue:any <arg9:Object>:com.acme.Order price) '?':string)"),
        ("$i ?? 0", "<arg4:I>:int"),
        ("null == $text", "(Binary:boolean == None:any <arg8:Object>:string)"),
        (
            '!startswith($text, "a")',
            "(Unary:boolean ! (Convert:boolean (BuiltinCall:boolean? startswith [<arg8:Object>:string 'a':string])))",
        ),
        # navigation
        ("$ints[0]", "(ElementValue:int? <arg11:Object>:int[] 0:long)"),
        ("$texts[$i]", "(ElementValue:string <arg12:Object>:string[] (Convert:long <arg4:I>:int))"),
        ("$ints.length", "(BuiltinCall:int? len [<arg11:Object>:int[]])"),
        ("$any[1].x", "(FieldValue:any (ElementValue:any <arg13:Object>:java.lang.Object 1:long) x)"),
        ("args[4]", "<arg4:I>:int"),
        ("self.f", "(FieldValue:any <self0:Object>:com.acme.Foo f)"),
        # comparison
        ('$c == "x"', "(Binary:boolean == (Convert:int <arg1:C>:char) 120:int)"),
        ('$order == "SHIPPED"', "(Binary:boolean == <arg9:Object>:com.acme.Order 'SHIPPED':string)"),
        ('$text < "b"', "(Binary:boolean < <arg8:Object>:string 'b':string)"),
        ("$z == true", "(Binary:boolean == <arg0:Z>:boolean True:boolean)"),
        (
            "$i in [1, 2]",
            "(Logical:boolean || (Binary:boolean == <arg4:I>:int 1:int) (Binary:boolean == <arg4:I>:int 2:int))",
        ),
        ('$text =~ "a*"', "(BuiltinCall:boolean? startswith [<arg8:Object>:string 'a':string])"),
        (
            '$text !~ "*a"',
            "(Unary:boolean ! (Convert:boolean (BuiltinCall:boolean? endswith [<arg8:Object>:string 'a':string])))",
        ),
        ('$text =~ "*a*"', "(BuiltinCall:boolean? contains [<arg8:Object>:string 'a':string])"),
        ('$text =~ "a"', "(BuiltinCall:boolean? =~ glob [<arg8:Object>:string 'a':string])"),
        (
            "$any instanceof java.util.List",
            "(BuiltinCall:boolean instanceof [<arg13:Object>:java.lang.Object 'java.util.List':string])",
        ),
        # alternatives
        ("$z ? 1 : 2.5", "(Conditional:double <arg0:Z>:boolean 1.0:double 2.5:double)"),
        ("$z ? $i : null", "(Conditional:int? <arg0:Z>:boolean (Convert:any <arg4:I>:int) None:any)"),
        ("$z ? $text : $order", "(Conditional:any <arg0:Z>:boolean <arg8:Object>:string <arg9:Object>:com.acme.Order)"),
        # functions
        ("stack()", "(BuiltinCall:stack stack [32:int])"),
        ("stack(5)", "(BuiltinCall:stack stack [5:int])"),
        ("stack(exception)", "(BuiltinCall:stack stack [None:object 32:int])"),
        ("frame(exception, 1)", "(BuiltinCall:string frame [None:object 1:int])"),
        ("substr($text, 2)", "(BuiltinCall:string substr [<arg8:Object>:string 2:int 2147483647:int])"),
        ("lower($any)", "(BuiltinCall:string lower [(Convert:string <arg13:Object>:java.lang.Object)])"),
        ("typeof($i)", "(BuiltinCall:string typeof [(Convert:any <arg4:I>:int)])"),
        ('f"{$i}-{cls}"', "(Text:string [<arg4:I>:int - (SiteValue:string cls)])"),
        ("retval", "<retval0:J>:long"),
        ("exception", "None:object"),
        ("probe", "'b':string"),
    ],
)
def test_types(expression: str, tree: str) -> None:
    assert typed(expression) == tree


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("$text > 50ms", "BT201"),
        ("$text * 2", "BT201"),
        ("$order > 3", "BT201"),
        ("$order + 3", "BT201"),
        ("$z + 1", "BT201"),
        ("$z == 1", "BT201"),
        ("$text == 1", "BT201"),
        ("$ints == 1", "BT201"),
        ("$i ? 1 : 2", "BT201"),
        ("!$i", "BT201"),
        ("$text && true", "BT201"),
        ("$d << 1", "BT201"),
        ("1 << $j", "BT201"),
        ("$d & 1", "BT201"),
        ("~$d", "BT201"),
        ("$i.f", "BT201"),
        ("$text[0]", "BT201"),
        ("$ints[$d]", "BT201"),
        ("$i instanceof Foo", "BT201"),
        ("lower($i)", "BT201"),
        ("lower($order)", "BT201"),
        ("message($i)", "BT201"),
        ("substr($text, $j)", "BT201"),
        ("duration > $i", "BT202"),
        ("duration + $i", "BT202"),
        ("duration + 1.5", "BT202"),
        ("$z ? duration : 3", "BT202"),
        ("duration > 64KB", "BT201"),
        ("duration * duration", "BT201"),
        ("1 / duration", "BT201"),
        ("$nope", "BT112"),
        ("arg14", "BT112"),
        ("args[14]", "BT112"),
    ],
)
def test_type_errors_against_a_method(expression: str, code: str) -> None:
    assert errors_of(f"A::b @exit {{ @m[1] = {expression} }}", EVERYTHING) == [code]


def test_code_that_depends_on_the_method_is_accepted_before_binding() -> None:
    for expression in ("$text > 50ms", "$order > 3", "!$i", "lower($i)", "duration > $i", "arg14", "retval.x[0].y"):
        assert checked(f"A::b @exit {{ @m[1] = {expression} }}").probes


def test_a_nullable_value_in_a_condition_is_checked_when_it_fires() -> None:
    checked_program = checked('A::b when contains($text, "a") { }')
    bound_probe = bind(
        checked_program, checked_program.probes[0], shape(Point.ENTRY, "Ljava/lang/String;", names="text")
    )
    assert isinstance(bound_probe.predicate, typed_tree.Convert)
    assert bound_probe.predicate.type == BOOLEAN


def test_retval_where_there_is_none() -> None:
    assert errors_of("A::b @return { print(retval) }", shape(Point.RETURN)) == ["BT205"]
    checked_program = checked("A::b @exit { print(retval) }")
    bound_probe = bind(checked_program, checked_program.probes[0], shape(Point.THROW, returns="I"))
    assert isinstance(bound_probe.body[0], typed_tree.Emit)
    assert show(bound_probe.body[0].values[0]) == "None:any"
    assert bound_probe.inputs == ()


def test_self_in_a_static_method_is_null() -> None:
    checked_program = checked("A::b { @m[self] = 1 }")
    bound_probe = bind(checked_program, checked_program.probes[0], shape(Point.ENTRY, static=True))
    assert bound_probe.inputs == ()


def test_parameters_without_names() -> None:
    assert errors_of("A::b { print($x) }", shape(Point.ENTRY, "I")) == ["BT112"]
    checked_program = checked('@OnMethod(class="A") probe b(int x) { print($x, x, arg0) }')
    bound_probe = bind(checked_program, checked_program.probes[0], shape(Point.ENTRY, "I"))
    assert [show(value) for value in bound_probe.body[0].values] == ["<arg0:I>:int"] * 3  # type: ignore[union-attr]
    assert len(bound_probe.inputs) == 1


def test_probe_parameters_must_fit() -> None:
    text = '@OnMethod(class="A") probe b(int x, int y{}) {{ }}'
    assert errors_of(text.format(""), shape(Point.ENTRY, "I")) == ["BT113"]
    assert errors_of(text.format(", .."), shape(Point.ENTRY, "I")) == ["BT113"]
    checked_program = checked(text.format(", .."))
    assert bind(checked_program, checked_program.probes[0], shape(Point.ENTRY, "I I I"))


def test_entry_is_computed_once_for_the_same_expression() -> None:
    checked_program = checked("A::b @return { print(entry($x.y), entry($x.y), entry(depth)) }")
    bound_probe = bind(checked_program, checked_program.probes[0], shape(Point.RETURN, "Ljava/lang/Object;", names="x"))
    assert [show(entry.value) for entry in bound_probe.entries] == [
        "(FieldValue:any <arg0:Object>:java.lang.Object y)",
        "<depth0:I>:int",
    ]
    assert [input_.kind.value for input_ in bound_probe.inputs] == ["entry", "entry"]
    assert [input_.descriptor for input_ in bound_probe.inputs] == ["Ljava/lang/Object;", "I"]


def test_keys_are_long_double_boolean_or_references() -> None:
    checked_program = checked("A::b { @m[$i, $c, $z, $d, $text, null, cls, line] = count() }")
    bound_probe = bind(checked_program, checked_program.probes[0], EVERYTHING)
    assert show(bound_probe.body[0]) == (
        "(Aggregate 0 [(Convert:long <arg4:I>:int) (Convert:any <arg1:C>:char) <arg0:Z>:boolean <arg7:D>:double "
        "<arg8:Object>:string None:any (SiteValue:string cls) (Convert:long (SiteValue:int line))] None False)"
    )


def test_block_scope() -> None:
    assert errors_of("A::b { if true { let x = 1 } print(x) }") == ["BT101"]
    checked_program = checked("A::b { if true { let x = 1; print(x) } else { let x = 2.5; print(x) } }")
    assert bind(checked_program, checked_program.probes[0], shape(Point.ENTRY)).locals_ == ("I", "D")


def test_an_unknown_name_in_a_let_is_reported_once() -> None:
    assert errors_of("A::b { let x = nope; print(x + 1); @m[x] = sum(x) }") == ["BT101"]


def test_a_quoted_percent_and_conversions() -> None:
    checked_program = checked(r'A::b { printf("%5d%% of %-8s\n", tid, method) }')
    assert checked_program.templates[0].parts == (
        Slot(0, LONG, format="%5d"),
        "% of ",
        Slot(SiteFact.METHOD, STRING, format="%-8s"),
    )


def test_unknown_name_lists_the_parameters_of_the_method() -> None:
    checked_program = checked("A::b @return { print($skuu) }")
    with pytest.raises(ScriptError) as caught:
        bind(checked_program, checked_program.probes[0], QUOTE)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.help == ("did you mean `$sku`?",)
    assert diagnostic.notes == ("parameters: $sku, $qty",)
