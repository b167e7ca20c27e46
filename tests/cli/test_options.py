from __future__ import annotations

import pytest

from btpy.cli.options import Arguments, Command, Option, number, parse, seconds
from btpy.errors import UsageError

COMMAND = Command(
    "thing",
    ("thing FILE [MORE]",),
    "does a thing",
    "Does a thing.",
    (
        Option(("-e",), "a text", "TEXT", repeat=True),
        Option(("-o", "--output"), "a file", "FILE"),
        Option(("-f", "--format"), "a format", "FORMAT", choices=("text", "ndjson")),
        Option(("-q", "--quiet"), "less"),
        Option(("-v", "--verbose"), "more"),
        Option(("--no-unicode",), "ASCII"),
    ),
    (1, 2),
)


def parsed(*arguments: str) -> Arguments:
    return parse(COMMAND, arguments)


def test_options_and_positionals_in_any_order() -> None:
    options = parsed("-q", "a", "--output=x=y", "-e", "1", "b", "-e2", "--no-unicode")
    assert options.positionals == ["a", "b"]
    assert (options.text("output"), options.texts("e"), options.text("format")) == ("x=y", ["1", "2"], None)
    assert (options.switch("quiet"), options.switch("no_unicode"), options.count("verbose")) == (True, True, 0)


def test_letters_may_be_joined() -> None:
    options = parsed("-vvqo", "file", "a")
    assert (options.count("verbose"), options.switch("quiet"), options.text("output")) == (2, True, "file")
    assert parsed("-vofile", "a").text("output") == "file"


def test_words_after_two_dashes_are_no_options_and_one_dash_is_a_file() -> None:
    assert parsed("--", "-q", "-v").positionals == ["-q", "-v"]
    assert parsed("a", "-").positionals == ["a", "-"]


def test_help_wins_over_everything_after_it() -> None:
    assert parsed("--help", "--nonsense").wants_help
    assert parsed("-qh").wants_help


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a", "--nonsense"], "unknown option --nonsense"),
        (["a", "-x"], "unknown option -x"),
        (["a", "-qx"], "unknown option -x"),
        (["a", "-o"], "-o needs a value: -o FILE"),
        (["a", "--output"], "--output needs a value: --output FILE"),
        (["a", "--quiet=yes"], "--quiet takes no value"),
        (["a", "-o", "x", "--output", "y"], "--output is given twice"),
        (["a", "-f", "csv"], "-f is 'csv': it can be text or ndjson"),
        (["a", "b", "c"], "one argument too many: 'c'"),
        ([], "an argument is missing"),
    ],
)
def test_invalid_options_are_refused(arguments: list[str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parsed(*arguments)
    assert str(caught.value) == message


def test_a_near_miss_is_suggested() -> None:
    with pytest.raises(UsageError) as caught:
        parsed("a", "--outptu", "x")
    assert caught.value.help[0] == "did you mean --output?"


def test_help_lists_every_option() -> None:
    text = COMMAND.help()
    assert text.startswith("usage: btpy thing FILE [MORE]\n\nDoes a thing.\n")
    for option in COMMAND.options:
        assert all(name in text for name in option.names)


@pytest.mark.parametrize(
    ("text", "expected"), [("30s", 30), ("500ms", 0.5), ("2m", 120), ("1.5h", 5400), ("10us", 1e-5)]
)
def test_durations(text: str, expected: float) -> None:
    assert seconds("--for", text) == pytest.approx(expected)


@pytest.mark.parametrize("text", ["30", "s", "", "-3s", "0s", "3 s", "3x", "1e3s", "٣s", "1.2.3s", ".s"])
def test_durations_that_are_none(text: str) -> None:
    with pytest.raises(UsageError):
        seconds("--for", text)


def test_numbers() -> None:
    assert number("--hits", "17") == 17
    for text in ("-1", "x", "", "1.5", "٣", "9" * 30):
        with pytest.raises(UsageError):
            number("--hits", text)
