"""The front end answers every text with a program or a ScriptError."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from btpy.errors import ScriptError
from btpy.lang.check.binding import bind
from btpy.lang.check.checker import check_source
from btpy.lang.typed_tree import Shape
from btpy.model.attachments import MethodAttachment
from btpy.model.diagnostics import render_all, to_json
from btpy.model.points import Point
from btpy.model.source import Source
from tests.generated import examples
from tests.lang.test_checker import EVERYTHING, SCRIPTS
from tests.lang.test_errors import CASES
from tests.lang.trees import operation, shape

EXAMPLES = [path.read_text(encoding="utf-8") for path in (Path(__file__).parent / "examples").glob("*.bt")]
SEEDS = [*EXAMPLES, *SCRIPTS.values(), *(text for text in CASES.values() if len(text) < 1000)]
PIECES = [
    *("(", ")", "[", "]", "{", "}", '"', "'", "\\", 'f"{', "/*", "*/", "//", "#", ";", ",", "..", "::", ":", "?", "??"),
    *(
        "@",
        "@m",
        "@m[",
        "@On",
        "@OnEnd",
        "$",
        "$x",
        "=",
        "==",
        "++",
        "+=",
        "-",
        "!",
        "~",
        "%",
        "0",
        "1",
        "1.5",
        "9" * 30,
    ),
    *("targs", "target", "oldval", "size", "locals()", "LINE", "CALL", "(", "when=AFTER", '"a[]"', "1..2", "@line("),
    *("5ms", "1KB", "null", "true", "args", "retval", "entry(", "stack(", "print(", "hist(", "count()", "if ", "else "),
    *(
        "let ",
        "for ",
        "in ",
        "as ",
        "when ",
        "while ",
        "new ",
        "instanceof ",
        "return",
        "\n",
        "\t",
        "\0",
        "\ud800",
        "é",
        "日",
    ),
]
SHAPES = [
    EVERYTHING,
    shape(Point.ENTRY),
    shape(Point.THROW, "Ljava/lang/String; I", "V", "sku qty"),
    shape(Point.RETURN, "I J", "D", static=True),
    *(
        shape(
            point,
            "I J",
            "D",
            operation=operation("La/B;", "I Ljava/lang/String;", "J", element_size=2, dimensions=2),
            variables="x I password Ljava/lang/String;",
            absent="y",
        )
        for point in Point
        if point not in (Point.ENTRY, Point.RETURN, Point.THROW)
    ),
]
LOCATIONS = ["exit", "line(3)", "line", "call(when=AFTER)", "call(a::b)", "set(a::b)", "newarray", "sync", "catch(+a)"]


def run(text: str) -> None:
    try:
        checked_program = check_source(Source("hostile.bt", text))
    except ScriptError as error:
        draw(error)
        return
    templates = {template.id for template in checked_program.templates}
    assert templates == set(range(len(checked_program.templates)))
    for probe in checked_program.probes:
        against: list[Shape | None] = [None]
        if isinstance(probe.attachment, MethodAttachment):
            against = [candidate for candidate in SHAPES if candidate.point in probe.attachment.points]
        for candidate in against:
            try:
                bind(checked_program, probe, candidate)
            except ScriptError as error:
                draw(error)


def draw(error: ScriptError) -> None:
    assert error.diagnostics
    assert render_all(error.diagnostics)
    for diagnostic in error.diagnostics:
        assert to_json(diagnostic)
        assert 0 <= diagnostic.primary.span.start <= diagnostic.primary.span.end


@settings(max_examples=examples(600), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_mutated_scripts(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(SEEDS))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 12)))
        text = text[:start] + data.draw(st.sampled_from(["", *PIECES])) + text[end:]
    run(text)


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25))
def test_any_sequence_of_tokens(pieces: list[str]) -> None:
    run("".join(pieces))
    for location in LOCATIONS:
        run(f"A::b @{location} {{ " + " ".join(pieces) + " }")
    run(f'@OnMethod(class="A", location={"".join(pieces)}) {{ print(line) }}')
    run(f"A::b @call({''.join(pieces)}) {{ print(line) }}")


@settings(max_examples=examples(200), deadline=None)
@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    run(text)
    run(f'A::b {{ print(f"{text}") }}')


@pytest.mark.parametrize(
    "text",
    [
        "(" * 50_000,
        "A::b { " + "{" * 50_000,
        "A::b { print(" + "[" * 50_000,
        "/" * 50_000,
        "a" * 50_000 + ":",
        "@" * 20_000,
        'f"' + "{" * 50_000,
        'f"{' + '""' * 20_000,
        "A::b { x = " + "a." * 20_000 + "b }",
        "A::b { x = " + "a + " * 20_000 + "b }",
        "A::b { x = " + "!" * 20_000 + "b }",
        "A::b { " + "if a { } else " * 5_000 + "{ } }",
        "A::b { " + "if a { " * 5_000 + "}" * 5_001,
        "A::b { print(" + "1, " * 20_000 + "1) }",
        "A::b { " + "print(@m" + "[1]" * 5_000 + ") }",
        "A::b { } " * 2_000,
        "/* " * 20_000,
        '"' * 50_001,
    ],
    ids=lambda text: text[:20],
)
def test_large_input_ends(text: str) -> None:
    run(text)
