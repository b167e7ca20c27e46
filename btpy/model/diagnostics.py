"""The errors and warnings of a script, and how they are shown.

A :class:`Diagnostic` is data: a stable code, one sentence, places with labels, remedies. :func:`render` draws it over
its source::

    error[BT101]: unknown name `durration`
      --> slow.bt:2:6
       |
     2 | when durration > 50ms {
       |      ^^^^^^^^^ not defined here
       |
       = help: did you mean `duration`?

Labels of a line share a row while their texts fit. The other labels are drawn in rows below, connected by ``|``, the
leftmost label at the bottom. Columns are terminal cells: tabs stop every four, wide and combining characters count as a
terminal counts them, and control characters of the script never reach the terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from enum import Enum
from functools import lru_cache

from btpy.dataclass import dataclass
from btpy.model.source import Source, Span
from btpy.remedies import Permission, as_typed


class Severity(Enum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Label:
    """A place and a text about it; ``text`` may be empty."""

    span: Span
    text: str = ""


@dataclass(frozen=True, slots=True)
class Fix:
    """A replacement that an editor can apply directly."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """``message`` states the problem only, in lower case and without a period; ``help`` says how to correct it,
    ``notes`` give context. A help or note of several lines continues below its first line.
    """

    code: str
    message: str
    primary: Label
    secondary: tuple[Label, ...] = ()
    help: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    fixes: tuple[Fix, ...] = ()
    severity: Severity = Severity.ERROR

    def as_typed(self, arguments: Sequence[str]) -> Diagnostic:
        """This diagnostic for a user who has typed a command with these arguments: the remedy repeats that command."""
        if not any(isinstance(remedy, Permission) for remedy in self.help):
            return self
        from dataclasses import replace

        return replace(self, help=as_typed(self.help, arguments))

    def __str__(self) -> str:
        source = self.primary.span.source
        line, column = source.position(self.primary.span.start)
        return f"{source.name}:{line}:{column}: {self.severity.value}[{self.code}]: {self.message}"


def nearest(name: str, candidates: Iterable[str], limit: int = 3) -> list[str]:
    """The candidates that the user may have meant by ``name``, best first, at most ``limit``.

    A candidate is close enough at an edit distance of at most a third of the length of ``name`` (at least 1). If there
    is none, a candidate is close enough that has the same beginning, or that has all words of ``name`` (``max_keys``,
    ``max_map_keys``; ``$customer``, ``$customerName``), or whose words ``name`` has.
    """
    candidates = list(candidates)
    reach = max(1, len(name) // 3)
    lower = name.lower()
    ranked: list[tuple[int, float, str]] = []
    for candidate in candidates:
        if candidate == name or abs(len(candidate) - len(name)) > reach:
            continue
        other = candidate.lower()
        if sum([char not in other for char in lower]) > reach:  # each such letter is an edit
            continue
        distance = edit_distance(lower, other)
        if distance <= reach and distance < len(name):
            ranked.append((distance, -SequenceMatcher(None, name, candidate).ratio(), candidate))
    if not ranked:
        least = 1 if len(candidates) <= _FEW_NAMES else _LETTERS_OF_A_PART
        likenesses = [(_likeness(name, candidate, least), candidate) for candidate in candidates if candidate != name]
        ranked = [(rank, 0.0, candidate) for rank, candidate in likenesses if rank is not None]
    ranked.sort()
    return [candidate for distance, _, candidate in ranked if distance == ranked[0][0]][:limit]


_WORD_OF_NAME = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_FEW_NAMES = 12  # among at most 12 candidates, one letter is enough: `$q`, `$quantity`
_LETTERS_OF_A_PART = 3


def _likeness(name: str, candidate: str, least: int) -> int | None:
    """The distance by common words, 0 for the best candidate; None if they have no word in common. ``least``: the
    smallest length of a common beginning.
    """
    plain, other = name.lstrip("$@").lower(), candidate.lstrip("$@").lower()
    words, others = _words(name), _words(candidate)
    if not words or not others or (name[:1] in "$@") != (candidate[:1] in "$@"):
        return None
    if others[: len(words)] == words:
        return 0
    if len(plain) >= least and other.startswith(plain):
        return 1
    if len(plain) < _LETTERS_OF_A_PART:
        return None
    if set(words) <= set(others):
        return 2
    if len(other) >= _LETTERS_OF_A_PART and set(others) < set(words):
        return 3
    return None


@lru_cache(maxsize=1024)
def _words(name: str) -> tuple[str, ...]:
    return tuple([word.lower() for word in _WORD_OF_NAME.findall(name)])


def edit_distance(left: str, right: str) -> int:
    """Insertions, deletions, replacements and swaps of neighbours that turn one text into the other text (optimal
    string alignment)."""
    last_row: list[int] = []
    previous = list(range(len(right) + 1))
    for row, char in enumerate(left, 1):
        current = [row]
        for column, other in enumerate(right, 1):
            cost = min(previous[column] + 1, current[column - 1] + 1, previous[column - 1] + (char != other))
            if row > 1 and column > 1 and char == right[column - 2] and left[row - 2] == other:
                cost = min(cost, last_row[column - 2] + 1)
            current.append(cost)
        last_row, previous = previous, current
    return previous[-1]


def did_you_mean(name: str, candidates: Iterable[str]) -> tuple[str, ...]:
    """The help line for a misspelled name, or nothing if no candidate is similar."""
    return did_you_mean_one_of(nearest(name, candidates))


def did_you_mean_one_of(candidates: Sequence[str]) -> tuple[str, ...]:
    """Like ``did_you_mean``, for names that are known to be similar."""
    if not candidates:
        return ()
    return (_MEANT + " or ".join(f"`{candidate}`" for candidate in candidates) + "?",)


_MEANT = "did you mean "


def suggested_names(diagnostic: Diagnostic) -> list[str]:
    """The replacement for the text at its place, if ``did_you_mean`` has suggested one."""
    lines = [line for line in diagnostic.help if line.startswith(_MEANT)]
    names = [name for line in lines for name in re.findall("`([^`]+)`", line)]
    return [name for name in names if nearest(diagnostic.primary.span.text, [name])]


_TAB = 4
_LINES = 8  # the largest number of line numbers that are shown for a repeated mistake
_LONGEST = 160  # characters of a source line that are shown; of a longer line, the part around the mark
_BEFORE = 60  # characters of that part in front of the mark
_COLOURS = {Severity.ERROR: "\x1b[1;31m", Severity.WARNING: "\x1b[1;33m"}
_BOLD, _BLUE, _RESET = "\x1b[1m", "\x1b[1;34m", "\x1b[0m"


@dataclass(frozen=True, slots=True)
class _Style:
    colour: bool
    unicode: bool

    def paint(self, text: str, code: str) -> str:
        return f"{code}{text}{_RESET}" if self.colour and text else text

    def clean(self, text: str) -> str:
        """``text`` made safe for a terminal: without control characters, and in ASCII mode only ASCII."""
        return text if _is_plain(text) else "".join(self.glyph(char) for char in text)

    def glyph(self, char: str) -> str:
        if char.isascii():
            return char if char.isprintable() else f"\\x{ord(char):02x}"
        if not self.unicode:
            return _ASCII.get(char) or char.encode("ascii", "backslashreplace").decode()
        return char if char.isprintable() else char.encode("ascii", "backslashreplace").decode()


_ASCII = {
    "…": "...",
    "–": "-",
    "—": "-",
    "≤": "<=",
    "≥": ">=",
    "→": "->",
    "×": "x",
    "·": "-",
    "“": '"',
    "”": '"',
    "’": "'",
}


def _is_plain(text: str) -> bool:
    """Whether all characters are shown as they are, in one column each."""
    return text.isascii() and text.isprintable()


def _cells(text: str) -> int:
    if text.isascii():
        return len(text)
    from wcwidth import wcwidth

    return sum(max(wcwidth(char), 0) for char in text)


@dataclass(frozen=True, slots=True)
class _Line:
    """A source line in the form of the output; ``cells[i]`` is the column of the terminal at which character ``i``
    starts."""

    text: str
    cells: tuple[int, ...]


def _show_line(text: str, style: _Style) -> _Line:
    if _is_plain(text):
        return _Line(text, tuple(range(len(text) + 1)))
    output: list[str] = []
    cells = [0]
    for char in text:
        if char == "\t":
            glyph = " " * (_TAB - cells[-1] % _TAB)
        else:
            glyph = style.glyph(char)
        output.append(glyph)
        cells.append(cells[-1] + _cells(glyph))
    return _Line("".join(output), tuple(cells))


@dataclass(frozen=True, slots=True)
class _Mark:
    """A label on one line: columns of the terminal, ``end`` exclusive."""

    start: int
    end: int
    text: str
    primary: bool


def render(diagnostic: Diagnostic, *, colour: bool = False, unicode: bool = True) -> str:
    """The diagnostic as text, without a newline at the end."""
    style = _Style(colour, unicode)
    heading = f"{diagnostic.severity.value}[{diagnostic.code}]"
    rows = [
        style.paint(heading, _COLOURS[diagnostic.severity]) + style.paint(f": {style.clean(diagnostic.message)}", _BOLD)
    ]
    labels = [(diagnostic.primary, True), *((label, False) for label in diagnostic.secondary)]
    sources: dict[int, list[tuple[Label, bool]]] = {}
    for label, primary in labels:
        sources.setdefault(id(label.span.source), []).append((label, primary))
    gutter = max(len(str(label.span.source.position(label.span.end)[0])) for label, _ in labels) + 1
    for group in sources.values():
        source, place = group[0][0].span.source, group[0][0].span.start
        line, column = source.position(place)
        arrow = "-->" if group[0][1] else ":::"
        rows.append(" " * gutter + style.paint(arrow, _BLUE) + f" {style.clean(source.name)}:{line}:{column}")
        rows.append(" " * (gutter + 1) + style.paint("|", _BLUE))
        rows += _source_rows(source, group, gutter, diagnostic.severity, style)
    remedies = [("help", text) for text in diagnostic.help] + [("note", text) for text in diagnostic.notes]
    if remedies:
        rows.append(" " * (gutter + 1) + style.paint("|", _BLUE))
    for word, text in remedies:
        first, *more = text.split("\n")
        head = " " * (gutter + 1)
        rows.append(head + style.paint("=", _BLUE) + " " + style.paint(f"{word}:", _BOLD) + " " + style.clean(first))
        rows += [head + " " * (len(word) + 4) + style.clean(row) for row in more]
    return "\n".join(row.rstrip() for row in rows)


def render_all(
    diagnostics: Sequence[Diagnostic], *, colour: bool = False, unicode: bool = True, limit: int = 10
) -> str:
    """At most ``limit`` diagnostics with empty lines between them, and the number of omitted diagnostics. The text ends
    with a newline.

    An identical message is shown once, with all its lines.
    """
    diagnostics = _once(diagnostics)
    texts = [render(diagnostic, colour=colour, unicode=unicode) for diagnostic in diagnostics[:limit]]
    if len(diagnostics) > limit:
        texts.append(_Style(colour, unicode).clean(f"… and {len(diagnostics) - limit} more"))
    return "\n\n".join(texts) + "\n" if texts else ""


def _once(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    groups: dict[object, list[Diagnostic]] = {}
    for diagnostic in diagnostics:
        span = diagnostic.primary.span
        key = (
            diagnostic.code,
            diagnostic.message,
            diagnostic.primary.text,
            span.text,
            span.source,
            diagnostic.help,
            diagnostic.notes,
        )
        groups.setdefault(key, []).append(diagnostic)
    return [_repeated(first, more) if more else first for first, *more in groups.values()]


def _repeated(diagnostic: Diagnostic, more: Sequence[Diagnostic]) -> Diagnostic:
    from dataclasses import replace

    rows = list(
        dict.fromkeys(duplicate.primary.span.source.position(duplicate.primary.span.start)[0] for duplicate in more)
    )
    lines = f"line{'s' if len(rows) > 1 else ''} {', '.join(map(str, rows[:_LINES]))}"
    if len(rows) > _LINES:
        lines += f" and {len(rows) - _LINES} more"
    first = diagnostic.primary.span.source.position(diagnostic.primary.span.start)[0]
    again = f"{len(more)} more in line {first}" if rows == [first] else f"the same at {lines}"
    return replace(diagnostic, notes=(*diagnostic.notes, again))


def _source_rows(
    source: Source, labels: list[tuple[Label, bool]], gutter: int, severity: Severity, style: _Style
) -> list[str]:
    marks: dict[int, list[_Mark]] = {}
    source_lines: dict[int, tuple[int, _Line]] = {}

    def line(number: int) -> tuple[int, _Line]:
        if number not in source_lines:
            hidden, text = _excerpt(source, labels, number)
            source_lines[number] = hidden, _show_line(text, style)
        return source_lines[number]

    def mark(number: int, start: int, end: int, text: str, primary: bool) -> None:
        hidden, shown = line(number)
        cells = shown.cells
        first = cells[min(max(start - hidden, 0), len(cells) - 1)]
        last = cells[min(max(end - hidden, 0), len(cells) - 1)]
        marks.setdefault(number, []).append(_Mark(first, max(last, first + 1), style.clean(text), primary))

    for label, primary in labels:
        row, column = source.position(label.span.start)
        last_row, last_column = source.position(max(label.span.end, label.span.start))
        if last_column == 1 and last_row > row:  # the span ends with a line break
            last_row, last_column = last_row - 1, len(source.line(last_row - 1)) + 1
        if last_row == row:
            mark(row, column - 1, last_column - 1, label.text, primary)
        else:
            text = source.line(last_row)
            mark(row, column - 1, len(source.line(row)), "", primary)
            mark(last_row, len(text) - len(text.lstrip()), last_column - 1, label.text, primary)

    rows: list[str] = []
    previous: int | None = None
    bar = style.paint("|", _BLUE)
    for number in sorted(marks):
        if previous is not None and number - previous == 2:
            rows.append(f" {style.paint(str(number - 1).rjust(gutter - 1), _BLUE)} {bar} {line(number - 1)[1].text}")
        elif previous is not None and number - previous > 2:
            rows.append(style.paint("...", _BLUE))
        rows.append(f" {style.paint(str(number).rjust(gutter - 1), _BLUE)} {bar} {line(number)[1].text}")
        rows += [" " * (gutter + 1) + f"{bar} {row}" for row in _mark_rows(marks[number], severity, style)]
        previous = number
    return rows


def _excerpt(source: Source, labels: list[tuple[Label, bool]], number: int) -> tuple[int, str]:
    """The number of characters that are hidden at the start of a line, and the part that is shown. A mark outside of
    this part points at the ellipsis.
    """
    text = source.line(number)
    if len(text) <= _LONGEST:
        return 0, text
    marked = {
        primary: column - 1
        for label, primary in labels
        for row, column in [source.position(label.span.start)]
        if row == number
    }
    start = max(0, min(marked.get(True, marked.get(False, 0)) - _BEFORE, len(text) - _LONGEST))
    end = start + _LONGEST
    return max(start - 1, 0), "…" * (start > 0) + text[start:end] + "…" * (end < len(text))


def _mark_rows(marks: list[_Mark], severity: Severity, style: _Style) -> list[str]:
    """The rows under one source line: markers with the texts that fit beside them, then the other texts."""
    marks = sorted(marks, key=lambda mark: (mark.start, mark.end))
    markers = [""] * max(mark.end for mark in marks)
    for mark in sorted(marks, key=lambda mark: mark.primary):  # the primary label is drawn over the others
        for cell in range(mark.start, mark.end):
            markers[cell] = "^" if mark.primary else "-"
    colours = [_COLOURS[severity] if char == "^" else _BLUE for char in markers]
    pieces: list[tuple[int, str, str]] = [
        (cell, char, colour) for cell, (char, colour) in enumerate(zip(markers, colours, strict=True)) if char
    ]
    hanging: list[_Mark] = []
    for position, mark in enumerate(marks):
        if not mark.text:
            continue
        room = min((other.start for other in marks[position + 1 :]), default=None)
        covered = any(other is not mark and other.end > mark.end and other.start <= mark.end for other in marks)
        if not covered and (room is None or mark.end + 1 + _cells(mark.text) + 1 <= room):
            pieces.append((mark.end + 1, mark.text, _colour(mark, severity)))
        else:
            hanging.append(mark)
    rows = [_row(pieces, style)]
    if hanging:
        rows.append(_row([(mark.start, "|", _colour(mark, severity)) for mark in hanging], style))
    while hanging:
        mark = hanging.pop()
        bars = [(other.start, "|", _colour(other, severity)) for other in hanging if other.start < mark.start]
        rows.append(_row([*bars, (mark.start, mark.text, _colour(mark, severity))], style))
    return rows


def _colour(mark: _Mark, severity: Severity) -> str:
    return _COLOURS[severity] if mark.primary else _BLUE


def _row(pieces: list[tuple[int, str, str]], style: _Style) -> str:
    row = ""
    at = 0
    for cell, text, colour in sorted(pieces, key=lambda piece: piece[0]):
        if cell < at:
            continue  # two bars in one column
        row += " " * (cell - at) + style.paint(text, colour)
        at = cell + _cells(text)
    return row


def to_json(diagnostic: Diagnostic) -> dict[str, object]:
    """The diagnostic for machines: offsets are code points, lines and columns count from 1, ends are exclusive."""

    def place(span: Span) -> dict[str, object]:
        line, column = span.source.position(span.start)
        end_line, end_column = span.source.position(span.end)
        return {
            "file": span.source.name,
            "start": span.start,
            "end": span.end,
            "line": line,
            "column": column,
            "end_line": end_line,
            "end_column": end_column,
        }

    return {
        "type": "diagnostic",
        "v": 1,
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "spans": [
            {**place(label.span), "primary": primary, "label": label.text}
            for label, primary in [
                (diagnostic.primary, True),
                *((secondary, False) for secondary in diagnostic.secondary),
            ]
        ],
        "help": list(diagnostic.help),
        "notes": list(diagnostic.notes),
        "replacements": [{**place(fix.span), "text": fix.text} for fix in diagnostic.fixes],
        "rendered": render(diagnostic),
    }


def quote(names: Iterable[str], limit: int = 8) -> str:
    """Names for a note: at most ``limit`` of them, separated by commas, ``…`` when there are more."""
    name_list = list(names)
    return ", ".join(name_list[:limit]) + (", …" if len(name_list) > limit else "")
