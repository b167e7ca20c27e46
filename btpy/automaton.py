"""Regular expressions as tables that a handler can run: text → parts → NFA → DFA → one string.

A regular expression runs on threads of the traced program, so it must need only one step for each character of the
text: no backtracking, no allocation. Features that a finite automaton lacks (back references, look-around, possessive
repetition, boundaries) are refused. The syntax is the syntax of ``java.util.regex``. The expression must match the
whole text. A character above U+FFFF counts as one character. The algorithms are Thompson's construction (1968) and the
subset construction. ``btpy.runtime.Patterns.automaton`` reads the table.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import field

from btpy.dataclass import dataclass

MAX_STATES = 512
"""The largest number of states of a table. In the table, a state takes one character for each class of characters."""

_MAX_PARTS = 5000  # the maximum number of states of the NFA
_MAX_DEPTH = 100  # of groups
_MAX_TABLE = 30_000  # characters; each needs up to three of the 65,535 bytes of a constant (JVMS §4.4.7)
_LAST = 0x10FFFF

Ranges = tuple[tuple[int, int], ...]
"""Sorted ranges of code points, ends included, with gaps between them."""


class PatternError(Exception):
    """``at``: the offset of the fault in the pattern; ``help``: the remedy."""

    def __init__(self, message: str, at: int, help: str = "") -> None:
        super().__init__(message)
        self.at = at
        self.help = help


def compile_regex(text: str) -> str:
    """The table for a regular expression without its slashes. Raises PatternError."""
    reader = _Reader(text)
    return _table(reader.states, reader.whole())


def _ranges(pairs: Iterable[tuple[int, int]]) -> Ranges:
    merged: list[tuple[int, int]] = []
    for low, high in sorted(pairs):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(high, merged[-1][1])
        else:
            merged.append((low, high))
    return tuple(merged)


def _complement(ranges: Ranges) -> Ranges:
    """All other code points, without surrogates, because half a pair is not a character."""
    gaps = []
    start = 0
    for low, high in (*ranges, (_LAST + 1, _LAST + 1)):
        if low > start:
            gaps.append((start, low - 1))
        start = high + 1
    pieces = [piece for low, high in gaps for piece in ((low, min(high, 0xD7FF)), (max(low, 0xE000), high))]
    return _ranges((low, high) for low, high in pieces if low <= high)


def _of(characters: str) -> Ranges:
    return _ranges((ord(char), ord(char)) for char in characters)


_DIGIT: Ranges = ((0x30, 0x39),)
_WORD = _ranges([(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)])
_SPACE = _of(" \t\n\x0b\f\r")
_ANY = _complement(_of("\n\r\x85\u2028\u2029"))
_CLASSES = {"d": _DIGIT, "w": _WORD, "s": _SPACE}
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}


def _both_cases(ranges: Ranges) -> Ranges:
    """The set, and its ASCII letters in the other case, like ``(?i)`` in Java."""
    pairs = list(ranges)
    for low, high in ranges:
        for first, last, shift in ((0x41, 0x5A, 32), (0x61, 0x7A, -32)):
            if low <= last and high >= first:
                pairs.append((max(low, first) + shift, min(high, last) + shift))
    return _ranges(pairs)


@dataclass(slots=True)
class _State:
    """``edges``: transitions on a UTF-16 unit in the range to a state; ``free``: without one."""

    edges: list[tuple[int, int, int]] = field(default_factory=list)
    free: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Part:
    """The first and the last state of a part of the pattern."""

    start: int
    end: int


class _Reader:
    """Reads a pattern by recursive descent: alternatives, sequences, repetitions, atoms. ``states``: the NFA so far."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self.states: list[_State] = []
        self._ignore_case = False
        self._depth = 0

    def whole(self) -> _Part:
        """The part for the whole pattern."""
        if self._text.startswith("(?i)"):
            self._ignore_case = True
            self._at = 4
        result = self._alternatives()
        if self._at < len(self._text):
            raise PatternError("this `)` closes nothing", self._at, r"a bracket itself is written \)")
        return result

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self) -> str:
        char = self._peek()
        self._at += 1
        return char

    def _state(self) -> int:
        if len(self.states) >= _MAX_PARTS:
            raise PatternError("this pattern repeats too much", 0, "repeat fewer times, or use * or +")
        self.states.append(_State())
        return len(self.states) - 1

    def _free(self, start: int, end: int) -> None:
        self.states[start].free.append(end)

    def _empty(self) -> _Part:
        state = self._state()
        return _Part(state, state)

    def _alternatives(self) -> _Part:
        part = self._sequence()
        while self._peek() == "|":
            self._at += 1
            other = self._sequence()
            both = _Part(self._state(), self._state())
            for alternative in (part, other):
                self._free(both.start, alternative.start)
                self._free(alternative.end, both.end)
            part = both
        return part

    def _sequence(self) -> _Part:
        result: _Part | None = None
        while self._peek() not in ("", "|", ")"):
            part = self._repetition()
            if result is None:
                result = part
            else:
                self._free(result.end, part.start)
                result = _Part(result.start, part.end)
        return result or self._empty()

    def _repetition(self) -> _Part:
        start = self._at
        part = self._atom()
        while self._peek() and self._peek() in "*+?{":
            least, most = self._times()
            if self._peek() == "+":
                raise PatternError("possessive repetition is not possible here", self._at, "leave out the second +")
            if self._peek() == "?":  # lazy repetition matches the same texts
                self._at += 1
            part = self._repeated(start, self._at, part, least, most)
        return part

    def _times(self) -> tuple[int, int | None]:
        at = self._at
        match self._take():
            case "*":
                return 0, None
            case "+":
                return 1, None
            case "?":
                return 0, 1
        end = self._text.find("}", at)
        least, comma, most = self._text[at + 1 : max(end, at)].partition(",")
        if end < 0 or not least.isdecimal() or (most and not most.isdecimal()):
            raise PatternError("this `{` begins no repetition", at, r"a brace itself is written \{")
        self._at = end + 1
        if not comma:
            return int(least), int(least)
        if most and int(most) < int(least):
            raise PatternError("the minimum of this repetition is above its maximum", at)
        return int(least), int(most) if most else None

    def _repeated(self, start: int, end: int, part: _Part, least: int, most: int | None) -> _Part:
        """``part`` was parsed from ``start``. For further copies it is parsed again."""
        result = self._empty()
        count = max(least, 1) if most is None else most
        for number in range(count):
            if number:
                self._at = start
                part = self._atom()
            following = _Part(result.start, part.end)
            self._free(result.end, part.start)
            if number >= least:
                skip = self._state()
                self._free(result.end, skip)
                self._free(part.end, skip)
                following = _Part(result.start, skip)
            if number == count - 1 and most is None:
                self._free(part.end, part.start)
            result = following
        self._at = end
        return result

    def _atom(self) -> _Part:
        at = self._at
        char = self._take()
        if char == "(":
            return self._group(at)
        if char == "[":
            return self._set(self._bracketed(at))
        if char == ".":
            return self._set(_ANY)
        if char == "\\":
            return self._set(self._escape(at))
        if char == "^" or char == "$":
            if (at == 0 or self._text[:at] == "(?i)") if char == "^" else self._at == len(self._text):
                return self._empty()
            raise PatternError(f"`{char}` stands only at the {'beginning' if char == '^' else 'end'}", at)
        if char in "*+?{":
            raise PatternError(f"`{char}` repeats nothing", at, rf"the character itself is written \{char}")
        return self._set(_of(char))

    def _group(self, at: int) -> _Part:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise PatternError("this pattern is nested too deeply", at)
        if self._peek() == "?":
            if self._text.startswith("?:", self._at):
                self._at += 2
            elif self._text.startswith("?<", self._at) and self._text[self._at + 2 : self._at + 3].isalpha():
                self._at = self._text.find(">", self._at) + 1
                if self._at == 0:
                    raise PatternError("this group name never ends", at)
            else:
                raise PatternError("look-around and flags are not possible here", at, "(?i) can stand at the beginning")
        part = self._alternatives()
        if self._take() != ")":
            raise PatternError("this `(` is never closed", at, r"a bracket itself is written \(")
        self._depth -= 1
        return part

    def _escape(self, at: int) -> Ranges:
        char = self._take()
        if char and char in "dws":
            return _CLASSES[char]
        if char and char in "DWS":
            return _complement(_CLASSES[char.lower()])
        if char in _ESCAPES:
            return _of(_ESCAPES[char])
        digits = {"x": 2, "u": 4}.get(char)
        if digits is not None:
            number = self._text[self._at : self._at + digits]
            if len(number) != digits or not all(digit in "0123456789abcdefABCDEF" for digit in number):
                raise PatternError(rf"`\{char}` needs {digits} hexadecimal digits", at)
            self._at += digits
            return ((int(number, 16), int(number, 16)),)
        if not char or char.isalnum():
            raise PatternError(rf"`\{char}` is not possible here", at, r"possible: \d \w \s \D \W \S \t \n \xHH \uHHHH")
        return _of(char)

    def _bracketed(self, at: int) -> Ranges:
        negated = self._peek() == "^"
        self._at += negated
        pairs: list[tuple[int, int]] = []
        first = True
        while first or self._peek() != "]":
            first = False
            if self._at >= len(self._text):
                raise PatternError("this `[` is never closed", at, r"a bracket itself is written \[")
            if self._peek() == "[" or self._text.startswith("&&", self._at):
                raise PatternError("classes inside classes are not possible here", self._at)
            start = self._at
            ranges = self._member()
            if self._peek() == "-" and self._text[self._at + 1 : self._at + 2] not in ("", "]"):
                self._at += 1
                last = self._member()
                low, high = ranges[0][0], last[-1][1]
                if len(ranges) + len(last) > 2 or ranges[0][0] != ranges[0][1] or low > high:
                    raise PatternError("this is not a range of characters", start)
                ranges = ((low, high),)
            pairs += ranges
        self._at += 1
        ranges = _both_cases(_ranges(pairs)) if self._ignore_case else _ranges(pairs)
        return _complement(ranges) if negated else ranges

    def _member(self) -> Ranges:
        at = self._at
        char = self._take()
        return self._escape(at) if char == "\\" else _of(char)

    def _set(self, ranges: Ranges) -> _Part:
        """The part for one character of the set, which has one UTF-16 unit or two."""
        if self._ignore_case:
            ranges = _both_cases(ranges)
        part = _Part(self._state(), self._state())
        for low, high in ranges:
            if low <= 0xFFFF:
                self.states[part.start].edges.append((low, min(high, 0xFFFF), part.end))
            if high > 0xFFFF:
                self._astral(part, max(low, 0x10000), high)
        return part

    def _astral(self, part: _Part, low: int, high: int) -> None:
        """Pairs of surrogates for code points above U+FFFF: the first and the last high surrogate may allow only some
        of the low surrogates.
        """
        first, last = low - 0x10000, high - 0x10000
        for above in {first >> 10, last >> 10, (first >> 10) + 1}:
            if above > last >> 10:
                continue
            until = above if above in (first >> 10, last >> 10) else (last >> 10) - 1
            lowest = first & 0x3FF if above == first >> 10 else 0
            highest = last & 0x3FF if above == last >> 10 else 0x3FF
            if until < above:
                continue
            middle = self._state()
            self.states[part.start].edges.append((0xD800 + above, 0xD800 + until, middle))
            self.states[middle].edges.append((0xDC00 + lowest, 0xDC00 + highest, part.end))


def _table(nfa: list[_State], whole: _Part) -> str:
    starts, class_of, classes = _alphabet(nfa)
    steps: list[list[tuple[int, int]]] = [  # class and target for each NFA state
        [
            (class_, target)
            for low, high, target in state.edges
            for class_ in sorted({class_of[at] for at in _intervals(starts, low, high)})
        ]
        for state in nfa
    ]
    dead: frozenset[int] = frozenset()
    start = _closure(nfa, {whole.start})
    ids = {dead: 0, start: 1}
    order = [dead, start]
    rows: list[list[int]] = [[0] * classes]
    while len(rows) < len(order):
        targets: list[set[int]] = [set() for _ in range(classes)]
        for state in order[len(rows)]:
            for class_, target in steps[state]:
                targets[class_].add(target)
        row = []
        for reached in targets:
            closed = _closure(nfa, reached)
            if closed not in ids:
                if len(order) >= MAX_STATES:
                    raise PatternError("this pattern is too large", 0, "repeat fewer times, or split it into several")
                ids[closed] = len(order)
                order.append(closed)
            row.append(ids[closed])
        rows.append(row)
    if len(order) * classes > _MAX_TABLE:
        raise PatternError("this pattern is too large", 0, "use fewer different characters, or split it into several")
    numbers = [len(starts), classes, len(order)]
    for first, its_class in zip(starts, class_of, strict=True):
        numbers += [first, its_class]
    numbers += [int(whole.end in states) for states in order]
    for row in rows:
        numbers += row
    return "".join(map(chr, numbers))


def _alphabet(nfa: list[_State]) -> tuple[list[int], list[int], int]:
    """Intervals of UTF-16 units that all edges treat equally: their first units, their classes, and the number of
    classes.
    """
    edges = [(low, high, state, target) for state, node in enumerate(nfa) for low, high, target in node.edges]
    starts = sorted({0, *(low for low, *_ in edges), *(high + 1 for _, high, *_ in edges if high < 0xFFFF)})
    leading: list[set[tuple[int, int]]] = [set() for _ in starts]
    for low, high, state, target in edges:
        for at in _intervals(starts, low, high):
            leading[at].add((state, target))
    class_numbers: dict[frozenset[tuple[int, int]], int] = {}
    class_of = [class_numbers.setdefault(frozenset(edges_), len(class_numbers)) for edges_ in leading]
    return starts, class_of, len(class_numbers)


def _intervals(starts: list[int], low: int, high: int) -> range:
    """Numbers of the intervals from unit ``low`` to unit ``high``."""
    return range(bisect_right(starts, low) - 1, bisect_right(starts, high))


def _closure(nfa: list[_State], states: Iterable[int]) -> frozenset[int]:
    """The states, and all states that can be reached from them without a character."""
    reached = set(states)
    stack = list(reached)
    while stack:
        for target in nfa[stack.pop()].free:
            if target not in reached:
                reached.add(target)
                stack.append(target)
    return frozenset(reached)
