"""The layout of diagnostics."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from btpy.model.diagnostics import Diagnostic, Fix, Label, Severity, edit_distance, nearest, render, render_all, to_json
from btpy.model.source import Source, Span


def place(text: str, part: str, name: str = "a.bt") -> Span:
    source = Source(name, text)
    start = text.index(part)
    return Span(source, start, start + len(part))


def rows(diagnostic: Diagnostic, *, unicode: bool = True) -> list[str]:
    return render(diagnostic, unicode=unicode).split("\n")[3:]


def test_labels_share_a_row_while_their_texts_fit() -> None:
    span = place("aa bb       cc", "aa")
    other = Span(span.source, 12, 14)
    diagnostic = Diagnostic("BT001", "x", Label(span, "first"), (Label(other, "last"),))
    assert rows(diagnostic) == [" 1 | aa bb       cc", "   | ^^ first    -- last"]


def test_labels_that_do_not_fit_hang_below() -> None:
    span = place("aa bb cc", "aa")
    source = span.source
    secondary = (Label(Span(source, 3, 5), "second"), Label(Span(source, 6, 8), "third"))
    assert rows(Diagnostic("BT001", "x", Label(span, "first"), secondary)) == [
        " 1 | aa bb cc",
        "   | ^^ -- -- third",
        "   | |  |",
        "   | |  second",
        "   | first",
    ]


def test_of_a_long_line_the_part_around_the_mark_is_shown() -> None:
    text = "a" * 300 + " bb " + "c" * 300 + " dd"
    span = place(text, "bb")
    last = Span(span.source, len(text) - 2, len(text))
    source_row, marks = rows(Diagnostic("BT001", "x", Label(span, "here"), (Label(last, "and there"),)))
    source, mark = source_row.removeprefix(" 1 | "), marks.removeprefix("   | ")
    assert (source[0], source[-1], len(source)) == ("…", "…", 162)
    assert source[mark.index("^^") :].startswith("bb")
    assert mark.endswith("- and there"), "what is further right points at the end"
    assert len(rows(Diagnostic("BT001", "x", Label(place("e" * 160, "e"))))[0]) == 5 + 160


def test_a_mistake_again_in_the_same_line_is_counted() -> None:
    source = Source("a.bt", "b;b;b;")
    diagnostics = [Diagnostic("BT101", "unknown", Label(Span(source, at, at + 1))) for at in (0, 2, 4)]
    assert "= note: 2 more in line 1" in render_all(diagnostics)


def test_tabs_stop_every_four_columns() -> None:
    assert rows(Diagnostic("BT001", "x", Label(place("\ta\tb", "b"), "here"))) == [
        " 1 |     a   b",
        "   |         ^ here",
    ]


def test_wide_and_combining_characters_are_counted_in_cells() -> None:
    assert rows(Diagnostic("BT001", "x", Label(place("日本e\u0301 x", "x")))) == [" 1 | 日本e\u0301 x", "   |       ^"]


def test_control_characters_never_reach_the_terminal() -> None:
    text = 'print("\x1b[31m\u202e") x'
    drawn = render(Diagnostic("BT001", "say \x1b", Label(place(text, "x", "a\x07.bt"))))
    assert "\x1b" not in drawn
    assert "\u202e" not in drawn
    assert "\x07" not in drawn
    assert drawn.split("\n")[3] == ' 1 | print("\\x1b[31m\\u202e") x'
    assert drawn.split("\n")[4].index("^") == drawn.split("\n")[3].rindex("x")


def test_ascii_mode_escapes_other_characters() -> None:
    diagnostic = Diagnostic("BT001", "a…b ≤ c", Label(place("é x", "x"), "“here”"))
    drawn = render(diagnostic, unicode=False)
    assert drawn.isascii()
    assert drawn.split("\n")[0] == "error[BT001]: a...b <= c"
    assert drawn.split("\n")[3:] == [" 1 | \\xe9 x", '   |      ^ "here"']


def test_a_span_of_several_lines_is_marked_at_both_ends() -> None:
    span = place("one {\n  two\n  three\n} four", "{\n  two\n  three\n}")
    assert rows(Diagnostic("BT001", "x", Label(span, "all this"))) == [
        " 1 | one {",
        "   |     ^",
        "...",
        " 4 | } four",
        "   | ^ all this",
    ]


def test_the_end_of_the_text_can_be_marked() -> None:
    source = Source("a.bt", "ab\n")
    assert rows(Diagnostic("BT001", "x", Label(Span(source, 2, 3), "here"))) == [" 1 | ab", "   |   ^ here"]
    assert rows(Diagnostic("BT001", "x", Label(Span(source, 3, 3), "here"))) == [" 2 |", "   | ^ here"]


def test_labels_in_another_source_have_a_place_of_their_own() -> None:
    diagnostic = Diagnostic(
        "BT001", "x", Label(place("a b", "b"), "here"), (Label(place("c\nd", "d", "lib.bt"), "there"),)
    )
    assert render(diagnostic).split("\n") == [
        "error[BT001]: x",
        "  --> a.bt:1:3",
        "   |",
        " 1 | a b",
        "   |   ^ here",
        "  ::: lib.bt:2:1",
        "   |",
        " 2 | d",
        "   | - there",
    ]


def test_help_of_several_lines_continues_below_its_first() -> None:
    diagnostic = Diagnostic("BT001", "x", Label(place("a", "a")), help=("one\ntwo",), notes=("three",))
    assert render(diagnostic).split("\n")[-3:] == ["   = help: one", "           two", "   = note: three"]


def test_colour_changes_nothing_but_colour() -> None:
    diagnostic = Diagnostic("BT001", "x", Label(place("aa bb", "aa"), "first"), help=("y",), severity=Severity.WARNING)
    coloured = render(diagnostic, colour=True)
    assert "\x1b[1;33m" in coloured
    assert re.sub("\x1b\\[[0-9;]*m", "", coloured) == render(diagnostic)


def test_only_the_first_ten_are_shown() -> None:
    text = render_all([Diagnostic("BT001", f"x{i}", Label(place("a", "a"))) for i in range(14)])
    assert text.count("error[BT001]") == 10
    assert text.endswith("\n\n… and 4 more\n")
    assert render_all([]) == ""


def test_json_carries_places_and_replacements() -> None:
    span = place("x\n  ab", "ab")
    data = to_json(Diagnostic("BT101", "m", Label(span, "l"), fixes=(Fix(span, "cd"),), help=("h",), notes=("n",)))
    where = {"file": "a.bt", "start": 4, "end": 6, "line": 2, "column": 3, "end_line": 2, "end_column": 5}
    assert data["code"] == "BT101"
    assert data["severity"] == "error"
    assert data["spans"] == [{**where, "primary": True, "label": "l"}]
    assert data["replacements"] == [{**where, "text": "cd"}]
    assert (data["help"], data["notes"]) == (["h"], ["n"])


def test_nearest_names_are_near() -> None:
    assert nearest("durration", ["duration", "depth"]) == ["duration"]
    assert nearest("EXT", ["EXIT", "ENTRY"]) == ["EXIT"]
    assert nearest("hist", ["lhist", "his", "first"]) == ["lhist", "his"]
    assert nearest("a", ["b", "c"]) == []
    assert nearest("foo", ["entirely", "different"]) == []


@given(st.text("abc", max_size=8), st.text("abc", max_size=8), st.text("abc", max_size=8))
def test_edit_distance_counts_edits(a: str, b: str, c: str) -> None:
    assert edit_distance(a, a) == 0
    assert edit_distance(a, b) == edit_distance(b, a)
    assert abs(len(a) - len(b)) <= edit_distance(a, b) <= max(len(a), len(b))
    assert edit_distance(a + c, b + c) <= edit_distance(a, b)
    if len(a) > 1:
        assert edit_distance(a, a[1] + a[0] + a[2:]) <= 1


@given(
    st.text(max_size=40).flatmap(lambda text: st.sampled_from([text, text * 9])),
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 400), st.text(max_size=5)), min_size=1, max_size=4),
)
def test_any_labels_on_any_text_can_be_drawn(text: str, marks: list[tuple[int, int, str]]) -> None:
    source = Source("a.bt", text)
    labels = [Label(Span(source, min(a, b, len(text)), min(max(a, b), len(text))), words) for a, b, words in marks]
    drawn = render(Diagnostic("BT001", "x", labels[0], tuple(labels[1:])))
    assert "^" in drawn
    assert all(char.isprintable() for line in drawn.split("\n") for char in line)


def test_a_mistake_that_is_made_again_is_shown_once() -> None:
    source = Source("a.bt", "durration\nb\ndurration, durration\nc durration")
    starts = [at.start() for at in re.finditer("durration", source.text)]
    diagnostics = [Diagnostic("BT101", "unknown", Label(Span(source, at, at + 9))) for at in starts]
    other = Diagnostic("BT101", "unknown", Label(Span(source, 10, 11)))
    text = render_all([diagnostics[0], other, *diagnostics[1:]])
    assert text.count("error[BT101]") == 2
    assert "a.bt:1:1" in text
    assert "a.bt:2:1" in text
    assert text.count("the same at") == 1
    assert "= note: the same at lines 3, 4" in text
