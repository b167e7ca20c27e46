"""Typed entries: their kind, their end, their indentation."""

from __future__ import annotations

import pytest

from btpy.repl.entry import Kind, as_script, indentation, is_complete, kind_of, pattern_at, waiting_for, word_at


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", Kind.NOTHING),
        ("  \n", Kind.NOTHING),
        (":probes", Kind.COMMAND),
        (" :ls com.acme.**", Kind.COMMAND),
        ("help", Kind.COMMAND),
        ("help hist", Kind.COMMAND),
        ("quit", Kind.COMMAND),
        ("exit", Kind.COMMAND),
        ("ls com.acme.Foo::*", Kind.COMMAND),
        ("!!", Kind.AGAIN),
        ("!12", Kind.AGAIN),
        ("@hits", Kind.EXPRESSION),
        ("@", Kind.EXPRESSION),
        ("@hits / @errors", Kind.EXPRESSION),
        ("size(@hits)", Kind.EXPRESSION),
        ("(@a + @b) / 2", Kind.EXPRESSION),
        ("-@a", Kind.EXPRESSION),
        ("@OnEnd { print(1); }", Kind.PROBES),
        ("com.acme.Foo::bar { print(1) }", Kind.PROBES),
        ("+java.sql.Statement::execute* { print(1) }", Kind.PROBES),
        ("/com\\.acme\\..*/::/get.*/ { print(1) }", Kind.PROBES),
        ("use btpy.exceptions(top=5)", Kind.PROBES),
        ("exit::x { }", Kind.PROBES),
        ("// a comment", Kind.PROBES),
        ("durration", Kind.PROBES),
    ],
)
def test_kinds(text: str, kind: Kind) -> None:
    assert kind_of(text) is kind


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        (":enable (", True),
        ("@hits", True),
        ("(@hits +", False),
        ("A::b { print(1) }", True),
        ("A::b {", False),
        ("A::b { print(1", False),
        ("A::b { /* never closed", False),
        ("A::b @return", False),
        ("A::b @return\n", True),
        ('@OnMethod(class="A")', False),
        ('@OnMethod(class="A") {}', True),
        ("A::b {} C::d", False),
        ("use btpy.exceptions", True),
        ("com.acme.Foo", True),
        ('A::b { print("} { (") }', True),
    ],
)
def test_enter_submits_complete_entries(text: str, complete: bool) -> None:
    assert is_complete(text) is complete


@pytest.mark.parametrize(
    ("text", "blanks"),
    [
        ("A::b {", 2),
        ("A::b {\n  if x {", 4),
        ("A::b {\n  if x { y }", 2),
        ("A::b { print(", 4),
        ("A::b { }", 0),
        ("", 0),
    ],
)
def test_the_next_line_is_indented_by_open_brackets(text: str, blanks: int) -> None:
    assert indentation(text) == blanks


def test_declarations_may_go_without_semicolon() -> None:
    assert as_script("use btpy.exceptions(top=5)") == "use btpy.exceptions(top=5);"
    assert as_script("use btpy.exceptions;") == "use btpy.exceptions;"
    assert as_script("param slow: duration = 1ms") == "param slow: duration = 1ms;"
    assert as_script("A::b { }\n") == "A::b { }"


def test_the_word_under_the_cursor() -> None:
    assert word_at("A::b { print(duration) }", 15) == "duration"
    assert word_at("@OnMethod(class", 3) == "@OnMethod"
    assert word_at(":watch @lat", 3) == ":watch"
    assert word_at("a + b", 2) == ""


def test_the_class_or_method_under_the_cursor() -> None:
    text = "com.acme.Foo::bar @entry { print(self.x, Foo, arg0.name) }"
    for cursor, expected in ((0, "com.acme.Foo::bar"), (17, "com.acme.Foo::bar"), (41, "Foo"), (35, ""), (47, "")):
        assert pattern_at(text, cursor) == expected
    assert pattern_at("+com.acme.Base::*", 3) == "+com.acme.Base::*"
    assert pattern_at(":ls Pric", 6) == "Pric"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a.B::c { print(1", ""),  # one line: the user sees the open brackets
        ("a.B::c {\n  print(1", "`(` of line 2 is not closed yet"),
        ("a.B::c {\n  print(1)", "`{` of line 1 is not closed yet"),
        ("a.B::c {\n  print(1)\n}", ""),
        ("/* why\n", "`/*` of line 1 is not closed yet"),
        ('@OnMethod(class="a.B",\n  method="c")', "the probe has no body yet: { … }, or an empty line"),
        (":ls\nx", ""),
    ],
)
def test_the_screen_names_the_open_part_of_an_entry(text: str, words: str) -> None:
    assert waiting_for(text) == words
