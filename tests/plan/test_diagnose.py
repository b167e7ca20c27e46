from __future__ import annotations

from dataclasses import replace

from btpy.lang.program import Probe
from btpy.model.attachments import MethodAttachment
from btpy.model.diagnostics import Diagnostic, Label, Severity
from btpy.model.patterns import OperationPattern, Pattern
from btpy.model.points import Point
from btpy.model.source import Source, Span
from btpy.plan import diagnose
from btpy.plan.diagnose import KnownClass, MappedLines, TargetFacts
from btpy.plan.plan import BEFORE_SUPER, NEEDS_CORE, Refusal, RefusalReason
from btpy.remedies import Permission

TEXT = '@OnMethod(class="com.acme.shop.OrderServce", method="place")\n{ print(arg0); }\n'
LOADED = [
    "com.acme.shop.OrderService",
    "com.acme.shop.OrderServiceImpl",
    "com.acme.shop.v2.OrderService",
    "java.lang.String",
    "com.other.Basket",
]


def probe(class_text: str = "com.acme.shop.OrderServce", method_text: str = "place") -> Probe:
    source = Source("orders.bt", TEXT)
    class_at, method_at = TEXT.index('"com'), TEXT.index('"place')
    attachment = MethodAttachment(
        classes=(Pattern(class_text, Span(source, class_at, class_at + 27)),),
        methods=(Pattern(method_text, Span(source, method_at, method_at + 7)),),
        exclude=(),
        signature=None,
        loader=None,
        points=(Point.ENTRY,),
        thrown=None,
        pending=False,
        max_methods=500,
    )
    return Probe(0, "place", attachment, None, False, None, Span(source, 0, len(TEXT)))  # type: ignore[arg-type]


def test_nearest_classes_put_the_same_simple_name_first_and_then_similar_ones() -> None:
    assert diagnose.nearest_class_names("com.acme.OrderService", LOADED)[:2] == [
        "com.acme.shop.OrderService",
        "com.acme.shop.v2.OrderService",
    ]
    assert diagnose.nearest_class_names("com.acme.shop.OrderServce", LOADED)[0] == "com.acme.shop.OrderService"
    assert diagnose.nearest_class_names("zzz.Qqqq", LOADED) == []


def test_a_missing_class_is_answered_with_the_nearest_classes() -> None:
    nearby = [
        KnownClass("com.acme.shop.OrderService", "app", False, ("place(String, int)", "cancel(long)")),
        KnownClass("com.acme.shop.v2.OrderService", "app", True, ("place(Order)",)),
    ]
    diagnostic = diagnose.no_class_matches(probe(), TargetFacts(18204, 7, 31337, "OrderApp"), nearby)
    assert diagnostic.code == "BT301"
    assert diagnostic.message == 'no loaded class matches "com.acme.shop.OrderServce"'
    assert diagnostic.primary.text == "0 of 18 204 loaded classes (7 class loaders, pid 31337 OrderApp)"
    assert diagnostic.help == (
        "nearest:  com.acme.shop.OrderService     (loader app, 2 methods, has `place`)\n"
        "          com.acme.shop.v2.OrderService  (interface, 1 method, has `place`)",
        "if it is loaded later, add `pending=true` (or run with --pending)",
    )


def test_an_interface_is_answered_with_its_implementors() -> None:
    diagnostic = diagnose.interface_without_code(probe(method_text="execute*"), "java.sql.Statement", ["a.PgStatement"])
    assert diagnostic.code == "BT302"
    assert diagnostic.message == '"java.sql.Statement" is an interface; execute* has no code there'
    assert diagnostic.help == ('match its implementors:  class="+java.sql.Statement"   (now loaded: PgStatement)',)


def test_a_pattern_of_subtypes_without_a_loaded_class_says_to_wait() -> None:
    diagnostic = diagnose.interface_without_code(
        probe("+java.sql.Statement", method_text="execute*"), "java.sql.CallableStatement", []
    )
    assert diagnostic.code == "BT302"
    assert diagnostic.message == "execute* has no code in the loaded classes that match +java.sql.Statement"
    assert diagnostic.help == ("if an implementor is loaded later, add `pending=true` (or run with --pending)",)


def test_a_method_that_is_not_there_is_answered_with_the_nearest() -> None:
    class_ = KnownClass("com.acme.Order", "app", False, ("place(String)", "cancel()", "<init>()"))
    near = diagnose.no_method_matches(probe(method_text="plaec"), [class_])
    assert near.help == ("did you mean `place`?",)
    far = diagnose.no_method_matches(probe(method_text="xyzzy"), [class_])
    assert far.help == ("methods there: `cancel`, `place`",)


def test_a_native_method_is_answered_with_its_call_sites() -> None:
    diagnostic = diagnose.native_method(probe("java.lang.Thread", "sleep0"), "sleep0(long)")
    assert diagnostic.message == "sleep0(long) is native: it has no bytecode to trace"
    assert diagnostic.help == (
        'its call sites can be traced:  location=CALL(class="java.lang.Thread", method="sleep0")  in the callers',
    )


def test_a_method_without_room_is_answered_with_its_call_sites() -> None:
    refusal = Refusal(RefusalReason.POOL_FULL, "com.acme.Table", "row(I)I", "the constant pool is full")
    diagnostic = diagnose.place_refused(probe("com.acme.Table", "row"), refusal)
    assert diagnostic.help == (
        'its call sites can be traced:  location=CALL(class="com.acme.Table", method="row")  in the callers',
    )
    assert str(refusal) == "com.acme.Table.row(int) is not traced [BT333]: the constant pool is full"


def test_a_place_before_super_is_answered_with_entry() -> None:
    refusal = Refusal(RefusalReason.NO_VALUE, "com.acme.Order", "<init>()V", BEFORE_SUPER)
    (help_,) = diagnose.place_refused(probe("com.acme.Order", "<init>"), refusal).help
    assert "ENTRY" in help_
    assert str(refusal).startswith("a place in com.acme.Order.<init>() is not traced [BT342]")


def test_a_class_that_the_jdk_would_harm_is_answered_with_the_permission() -> None:
    refusal = Refusal(RefusalReason.PARAMETER_NAMES, "com.acme.Order", None, "JDK 17.0.9 drops them")
    allow = Permission("lost-parameter-names", "to trace it nevertheless")
    assert diagnose.protected_class(probe("com.acme.Order", "place"), refusal).help == (allow,)
    by_pattern = diagnose.protected_class(probe("com.acme.*", "place"), refusal)
    assert by_pattern.help == (allow, 'leave the class out:  exclude="com.acme.Order"')


def test_a_hidden_class_is_answered_with_the_calls_of_it() -> None:
    refusal = Refusal(RefusalReason.UNMODIFIABLE, "com.acme.Rule/0x80", None, "the JVM lets nobody")
    (help_,) = diagnose.classes_refused(probe("com.acme.Rule*", "apply"), [refusal]).help
    assert help_ == 'its calls can be traced:  location=CALL(method="apply")  in the callers'


def test_a_method_annotation_that_is_nowhere_is_not_taken_for_a_name() -> None:
    class_ = diagnose.KnownClass("com.acme.Order", "app", False, ("place(int)", "cancel()"))
    diagnostic = diagnose.no_method_matches(probe(method_text="@com.acme.Timed"), [class_])
    assert diagnostic.message == 'no method of com.acme.Order is annotated with "@com.acme.Timed"'
    assert diagnostic.help == ("its methods have names:  cancel, place",)


def test_a_core_class_is_answered_with_the_command_that_allows_it() -> None:
    refusal = Refusal(RefusalReason.PROTECTED, "java.lang.Thread", None, NEEDS_CORE)
    exact = diagnose.protected_class(probe("java.lang.Thread", "start"), refusal)
    assert exact.help == (Permission("core"),)
    assert exact.as_typed(["4711", "-e", "A::b { }"]).help == ("allow it:  btpy 4711 -e 'A::b { }' --allow core",)
    assert exact.as_typed(["run", "a.bt", "--", "java", "-v"]).help == (
        "allow it:  btpy run a.bt --allow core -- java -v",
    )
    assert exact.notes == (NEEDS_CORE,)
    by_pattern = diagnose.protected_class(probe("java.lang.*", "start"), refusal)
    assert by_pattern.help == ('name it:  class="java.lang.Thread"', *exact.help)


def at_lines(first: int, last: int) -> Probe:
    plain = probe()
    assert isinstance(plain.attachment, MethodAttachment)
    attachment = replace(plain.attachment, points=(Point.LINE,), operation=OperationPattern(lines=(first, last)))
    return replace(plain, attachment=attachment)


def test_lines_of_other_sources_are_answered_with_the_right_numbers() -> None:
    inlined = MappedLines("shop.OrdersKt", "Orders.kt", ((57, "Timing.kt", 7),), "", ())
    notes = diagnose.lines_of_others(at_lines(57, 57), [inlined])
    assert notes.message == "line 57 of shop.OrdersKt comes from another line of the source"
    assert notes.primary.text == "57 is line 7 of Timing.kt"
    assert (notes.severity, notes.help) == (Severity.WARNING, ())
    many = replace(inlined, mapped=tuple((57 + n, "Timing.kt", 7 + n) for n in range(5)))
    notes = diagnose.lines_of_others(at_lines(1, 70), [many])
    assert notes.message == "some of lines 1..70 of shop.OrdersKt come from other lines of the source"
    assert notes.primary.text.endswith("59 is line 9 of Timing.kt, and 2 more")
    elsewhere = MappedLines("shop.OrdersKt", "Orders.kt", (), "Orders.kt", (61, 57))
    notes = diagnose.lines_of_others(at_lines(12, 12), [elsewhere])
    assert notes.message == "shop.OrdersKt has more code from line 12 of Orders.kt"
    assert notes.help == ("code from line 12 of Orders.kt is at  LINE(57), LINE(61)",)


def test_an_interface_of_lambdas_is_answered_with_their_bodies_and_calls() -> None:
    diagnostic = diagnose.interface_without_code(
        probe("+a.Rule", method_text="apply"), "a.Rule", ["a.Main$$Lambda/0x7f", "a.Main$$Lambda/0x80"]
    )
    assert diagnostic.message == 'only lambdas implement "a.Rule", and the JVM does not allow them to be changed'
    assert "lambda$*" in diagnostic.help[0]
    assert diagnostic.help[1].endswith('location=CALL(class="a.Rule", method="apply")')
    assert "pending" not in "".join(diagnostic.help)


def test_the_class_of_a_lambda_is_not_waited_for() -> None:
    diagnostic = diagnose.no_class_matches(probe("a.Main$$Lambda*", "run"), TargetFacts(10, 1, 7, "Main"), [])
    assert "a.Main::lambda$*" in diagnostic.help[0]
    assert "pending" not in "".join(diagnostic.help)


def test_how_many_others_have_the_same_problem() -> None:
    where = probe().span

    def problem(code: str, method: str) -> Diagnostic:
        return Diagnostic(code, "the same", Label(where), notes=(f"matched  {method}",))

    overloads = [problem("BT112", f"Order.place({types})") for types in ("int", "long", "String")]
    assert diagnose.together(overloads)[0].notes[-1] == "2 other overloads lack it too"
    methods = [problem("BT201", "Order.place(int)"), problem("BT201", "Order.find(int)")]
    assert diagnose.together(methods)[0].notes[-1] == "1 other matching method has the same problem"
