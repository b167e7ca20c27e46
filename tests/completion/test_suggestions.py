"""Suggestions at the cursor, from the text before it alone."""

from __future__ import annotations

import pytest

from btpy.completion.suggestions import Suggestion, Wanted, suggest
from btpy.lang.builtins import Place

W = Wanted
P = "com.acme.Foo::bar "


def found(text: str) -> list[tuple[Wanted, str, str]]:
    return [(item.wanted, item.word, item.of) for item in suggest(text).items]


@pytest.mark.parametrize(
    ("text", "suggestions"),
    [
        ("", [(W.CLASS, "", "")]),
        ("com.ac", [(W.CLASS, "com.ac", "")]),
        ("+com.acme.Ba", [(W.CLASS, "+com.acme.Ba", "")]),
        ("PrEn::", [(W.METHOD, "", "PrEn")]),
        ("com.acme.Foo::qu", [(W.METHOD, "qu", "com.acme.Foo")]),
        ("@", [(W.ANNOTATION, "@", ""), (W.MAP, "@", "")]),
        ("@OnM", [(W.ANNOTATION, "@OnM", "")]),
        ("@OnMethod(", [(W.ARGUMENT, "", "OnMethod")]),
        ('@OnMethod(class="A", me', [(W.ARGUMENT, "me", "OnMethod")]),
        ('@OnMethod(class="com.ac', [(W.CLASS, "com.ac", "")]),
        ('@OnMethod(class=["com.A", "com.ac', [(W.CLASS, "com.ac", "")]),
        ('@OnMethod(class="com.A", method="q', [(W.METHOD, "q", "com.A")]),
        ('@OnMethod(class="A", location=RE', [(W.LOCATION, "RE", "")]),
        ('@OnMethod(class="A", location=[RETURN, TH', [(W.LOCATION, "TH", "")]),
        ('@OnMethod(class="A", location=CALL(', [(W.ARGUMENT, "", "CALL")]),
        ('@OnMethod(class="A", location=CALL(class="ja', [(W.CLASS, "ja", "")]),
        ('@OnMethod(class="A", location=CALL(class="java.net.URL", method="op', [(W.METHOD, "op", "java.net.URL")]),
        ('@OnMethod(class="A", location=CALL(class="x", when=A', [(W.CHOICE, "A", "AFTER BEFORE")]),
        ('@OnMethod(class="A") @Sa', [(W.ANNOTATION, "@Sa", "")]),
        ("@Sample(e", [(W.ARGUMENT, "e", "Sample")]),
        (P, [(W.POINT, "", ""), (W.KEYWORD, "", "as when")]),
        (P + "@re", [(W.POINT, "@re", "")]),
        (P.rstrip() + "(int, String) @re", [(W.POINT, "@re", "")]),
        (P + "@call(java.ne", [(W.CLASS, "java.ne", "")]),
        (P + "@call(java.net.URL::op", [(W.METHOD, "op", "java.net.URL")]),
        (P + "@call(java.net.URL::open, when=", [(W.CHOICE, "", "AFTER BEFORE")]),
        (P + "@set(com.acme.X::na", [(W.MEMBER_FIELD, "na", "com.acme.X")]),
        (P + "@line(4", [(W.LINE, "4", "")]),
        (P + "@return when du", [(W.NAME, "du", ""), (W.TARGET_VARIABLE, "du", "")]),
        (P + "{ $or", [(W.TARGET_VARIABLE, "$or", "")]),
        (P + "{ print($order.", [(W.FIELD, "", "$order")]),
        (P + "{ print($order.customer.na", [(W.FIELD, "na", "$order.customer")]),
        (P + "{ print(args[0].na", [(W.FIELD, "na", "args[0]")]),
        (P + "{ print((arg0 as com.acme.Foo).na", [(W.FIELD, "na", "(arg0 as com.acme.Foo)")]),
        (P + "{ print(entry($order).na", [(W.FIELD, "na", "entry($order)")]),
        (P + "{ arg0 as com.ac", [(W.CLASS, "com.ac", "")]),
        (P + "when arg0 instanceof java.u", [(W.CLASS, "java.u", "")]),
        (P + "{ @", [(W.MAP, "@", "")]),
        (P + "{ delete @l", [(W.MAP, "@l", "")]),
        (P + '{ print(f"took {$x.', [(W.FIELD, "", "$x")]),
        (P + '{ print(f"took {', [(W.MAP, "", ""), (W.NAME, "", ""), (W.TARGET_VARIABLE, "", "")]),
        (P + '{ print(f"all of {{', []),
        (P + '{ print("no expression {', []),
        ("use btpy.ex", [(W.LIBRARY, "btpy.ex", "")]),
        ("import ", [(W.LIBRARY, "", "")]),
        ("config { max", [(W.SETTING, "max", "")]),
        (P + "{ let ", []),
        ("// com.ac", []),
        (P + "{ /* print(", []),
        ("@hits / @er", [(W.MAP, "@er", "")]),
        (":", [(W.COMMAND, "", "")]),
        (":pro", [(W.COMMAND, "pro", "")]),
        (":enable qu", [(W.COMMAND_ARGUMENT, "qu", "enable")]),
        (":print @l", [(W.COMMAND_ARGUMENT, "@l", "print")]),
        (P + "{ print(1) }\ncom.acme.B", [(W.CLASS, "com.acme.B", "")]),
    ],
)
def test_suggestions(text: str, suggestions: list[tuple[Wanted, str, str]]) -> None:
    assert found(text) == suggestions


def test_an_aggregation_comes_first_behind_a_map_that_is_assigned_to() -> None:
    for text in (P + "{ @m = ", P + "{ @m[cls, len($x)] = hi"):
        kinds = [kind for kind, _, _ in found(text)]
        assert kinds.index(W.AGGREGATION) < kinds.index(W.NAME)
    assert W.AGGREGATION not in [kind for kind, _, _ in found(P + "{ x = ")]


def test_keywords_are_those_that_the_grammar_accepts() -> None:
    def keywords(text: str) -> str:
        return next((item.of for item in suggest(text).items if item.wanted is W.KEYWORD), "")

    assert keywords(P + "{ ") == "let if for delete return thread"
    assert keywords(P + "{ if $x > 3 ") == "as in instanceof"
    assert "else" in keywords(P + "{ if $x > 3 { print(1) } ")
    assert keywords("imp") == "import use param config map fn"


def test_arguments_of_functions_come_before_names() -> None:
    assert found(P + "{ print(@m, to")[0] == (W.ARGUMENT, "to", "print")


@pytest.mark.parametrize(
    ("text", "places"),
    [
        (P + "{", {Place.ENTRY}),
        (P + "@return {", {Place.RETURN}),
        (P + "@call(a.B::c) {", {Place.CALL_BEFORE}),
        (P + "@call(a.B::c, when=AFTER) {", {Place.CALL_AFTER}),
        (P + "@sync {", {Place.SYNC_ENTER_BEFORE}),
        ('@OnMethod(class="A", location=EXIT) {', {Place.EXIT}),
        ('@OnMethod(class="A", location=SYNC_ENTER(when=AFTER)) {', {Place.SYNC_ENTER}),
        ("@OnTimer(5s) {", {Place.TIMER}),
    ],
)
def test_the_scene_knows_where_the_body_runs(text: str, places: set[Place]) -> None:
    assert suggest(text).scene.places == places


def test_the_scene_knows_the_method_and_the_names_of_the_probe() -> None:
    text = '@OnMethod(class="com.acme.Foo", method="bar")\nprobe x(String sku, int[] n, ..) { let y = 1; '
    scene = suggest(text).scene
    assert (scene.class_pattern, scene.method_pattern) == ("com.acme.Foo", "bar")
    assert [name for name, _ in scene.formals] == ["sku", "n"]
    assert scene.names == ("y",)


_SCRIPT = """
param slow: duration = 10ms "help";
@OnMethod(class="com.acme.**", method=["a*", "/b.c/"], location=CALL(class="x.Y", method="z", when=AFTER))
@Sample(every=10)
probe p(String a, int b) when duration > slow && any(x in $items: x.qty < 0) {
  let y = f"{a} {{}} {b:>3} {"q"}"; // comment
  if y =~ "x*" { @m[cls, frame(2)] = hist(duration, k=3); } else { delete @m["x", y]; }
  for e in args limit 10 { print(e.name, (e as com.acme.Foo).id); }
}
"""


def test_every_prefix_of_a_script_can_be_completed() -> None:
    for end in range(len(_SCRIPT)):
        for item in suggest(_SCRIPT[:end]).items:
            assert isinstance(item, Suggestion)
            assert _SCRIPT[:end].endswith(item.word)
