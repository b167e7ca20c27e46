"""The formatter keeps the program and every comment, and a second run changes nothing."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from btpy.errors import ScriptError
from btpy.lang.edit.formatter import WIDTH, format_source, same_tree
from btpy.lang.syntax import parser
from btpy.model.source import Source
from tests.lang.programs import ALL_SCRIPTS
from tests.lang.test_errors import CASES

ROOT = Path(__file__).parents[2]


def formatted(text: str) -> str:
    return format_source(Source("a.bt", text))


def layout(text: str, expected: str) -> None:
    assert formatted(text) == expected
    assert formatted(expected) == expected


@pytest.mark.parametrize("name", ALL_SCRIPTS)
def test_scripts_keep_their_meaning_and_are_formatted_once(name: str) -> None:
    text = ALL_SCRIPTS[name]
    once = formatted(text)
    assert formatted(once) == once
    assert same_tree(parser.parse(Source("a", text)).items, parser.parse(Source("a", once)).items)


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.bt")), ids=lambda path: path.name)
def test_examples_are_formatted(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert formatted(text) == text


def test_every_head_and_statement_has_its_own_line() -> None:
    layout(
        '@OnMethod( clazz = "A",location=LINE( 3 .. 5 ))@Outermost probe f( String s,.. )'
        "when depth==0{ @n ++;\n@m[ 1 ]=hist( duration,k = 3 ) }",
        '@OnMethod(clazz="A", location=LINE(3..5))\n'
        "@Outermost\n"
        "probe f(String s, ..)\n"
        "when depth == 0 {\n"
        "  @n++;\n"
        "  @m[1] = hist(duration, k=3);\n"
        "}\n",
    )


def test_types_of_parameters_stand_at_the_method() -> None:
    layout("A::b (int, String)@return{print(1)}", "A::b(int, String) @return { print(1) }\n")


def test_a_body_on_one_line_stays_there_while_it_fits() -> None:
    layout("A::b{print(1);print(- 2);}", "A::b { print(1); print(-2) }\n")
    long = "print(" + ", ".join(["1234567"] * 6) + ")"
    layout(f"A::b {{ {long}; {long} }}", f"A::b {{\n  {long};\n  {long};\n}}\n")
    assert all(len(line) <= WIDTH for line in formatted(f"A::b {{ {long}; {long} }}").split("\n"))


def test_only_the_bodies_that_are_too_wide_are_opened() -> None:
    long = "print(" + ", ".join(["1234567"] * 10) + ")"
    layout(
        f"A::b {{ if true {{ {long} }} else {{ @n++ }} }}",
        f"A::b {{\n  if true {{ {long} }} else {{ @n++ }}\n}}\n"
        if len(long) < 60
        else f"A::b {{\n  if true {{\n    {long};\n  }} else {{ @n++ }}\n}}\n",
    )


def test_operators() -> None:
    layout(
        "A::b{let x:long?=a?b:c;let y=x as a.B?!p:~q;let z=(a as c.D).e[0]+[1,2][0]; print(any(e in x:e>1),-x- -y)}",
        "A::b { let x: long? = a ? b : c; let y = x as a.B ? !p : ~q; let z = (a as c.D).e[0] + [1, 2][0]; "
        "print(any(e in x: e > 1), -x - -y) }\n".replace("{ let", "{\n  let")
        .replace("; let", ";\n  let")
        .replace("; print", ";\n  print")
        .replace(" }\n", ";\n}\n"),
    )


def test_declarations() -> None:
    layout(
        'btpy 1;import a.b( x=1 )as c;param p:duration=5ms"help";config{a=1;b=true;}map @s[string,long  id]=lru( 9 );\n'
        "fn f(int a,long b):long=a+b ; fn g( ) { return ; }",
        "btpy 1;\n"
        "import a.b(x=1) as c;\n"
        'param p: duration = 5ms "help";\n'
        "config { a = 1; b = true; }\n"
        "map @s[string, long id] = lru(9);\n"
        "fn f(int a, long b): long = a + b;\n"
        "fn g() { return }\n",
    )


def test_breaks_inside_brackets_stay_and_are_aligned() -> None:
    layout(
        '@OnMethod(class="A",\n method="b")\n{ emit("x",\na=1) ;\nprint(\n1,\n2) }',
        '@OnMethod(class="A",\n          method="b")\n{\n  emit("x",\n       a=1);\n  print(\n      1,\n      2);\n}\n',
    )
    layout("A::b when true &&\nfalse { }", "A::b when true &&\n    false { }\n")


def test_comments_stay_where_they_belong() -> None:
    layout(
        "#!/usr/bin/env btpy\n/* what it does */\n\n\n"
        "@OnEnd{ // at the end\n// first\nprint(1)// one\n\n\n# last\n}// done\n// next\nA::b{/* no */}",
        "#!/usr/bin/env btpy\n/* what it does */\n\n"
        "@OnEnd {  // at the end\n  // first\n  print(1);  // one\n\n  # last\n}  // done\n\n"
        "// next\nA::b { /* no */ }\n",
    )


def test_empty_lines_are_single_and_probes_of_several_lines_apart() -> None:
    layout(
        "param a = 1;\n\n\nparam b = 2;\nA::b { print(1) }\nA::c {\n\nprint(1);\n\n\nprint(2)\n\n}\nA::d { }",
        "param a = 1;\n\nparam b = 2;\nA::b { print(1) }\nA::c {\n  print(1);\n\n  print(2);\n}\n\nA::d { }\n",
    )


def test_text_that_does_not_parse_is_refused() -> None:
    with pytest.raises(ScriptError):
        formatted("A::b { print( }")


@settings(deadline=None)
@given(st.sampled_from(sorted(ALL_SCRIPTS.values())), st.integers(0, 2**32), st.floats(0, 0.3))
def test_any_spacing_and_comments_anywhere(text: str, seed: int, density: float) -> None:
    chance = random.Random(seed)
    tokens = [item for _, item, _ in parser.tokens(Source("a", text))]
    spaced = ""
    comments: list[str] = []
    for token in tokens:
        if chance.random() < density:
            comment = chance.choice(["/* a */", "// b\n", "# c\n", "/* d\n e */"])
            comments.append(comment.strip())
            spaced += chance.choice([" ", "\n", "\n\n\n"]) + comment
        spaced += chance.choice([" ", " ", " ", "\n", "\n\n\n"]) + token
    try:
        before = parser.parse(Source("a", spaced))
    except ScriptError:
        return  # the formatter must not break the pattern of a point
    once = formatted(spaced)
    assert formatted(once) == once
    assert same_tree(before.items, parser.parse(Source("a", once)).items)
    results = [comment for comment in comments if comment in once]
    assert results == comments
    assert sum(once.count(comment) for comment in set(comments)) >= len(comments)


@pytest.mark.parametrize("name", CASES)
def test_everything_that_parses_can_be_formatted(name: str) -> None:
    source = Source("a", CASES[name])
    try:
        parser.parse(source)
    except ScriptError:
        return
    once = format_source(source)
    assert formatted(once) == once
