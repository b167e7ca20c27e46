"""Searches texts for a regular expression, in a bounded time for each text.

The expression is a table of :mod:`btpy.automaton`. From each place where a match can begin, the search continues until
the automaton stops. The longest match counts. Most texts need one step for each character, but malicious texts need the
square of their length. Therefore the steps are counted, and a text that needs too many steps counts as one match.
"""

from __future__ import annotations

import re
from bisect import bisect_right

_STEPS, _STEPS_A_CHARACTER = 20_000, 64
_DEAD, _START = 0, 1


class _ClassOf(dict[str, int]):
    """The class of each character of the alphabet of an automaton, computed on first use."""

    def __init__(self, starts: list[int], classes: list[int]) -> None:
        super().__init__()
        self._starts, self._classes = starts, classes

    def __missing__(self, char: str) -> int:
        class_number = self[char] = self._classes[bisect_right(self._starts, ord(char)) - 1]
        return class_number


class TextSearch:
    """``table``: the result of :func:`btpy.automaton.compile_regex`; it does not accept the empty text."""

    def __init__(self, table: str) -> None:
        numbers = list(map(ord, table))
        intervals, classes, states = numbers[:3]
        at = 3 + 2 * intervals
        starts = numbers[3:at:2]
        self._class_of = _ClassOf(starts, numbers[4:at:2])
        self._accepts = [accepting == 1 for accepting in numbers[at : at + states]]
        at += states
        self._rows = [numbers[at + state * classes : at + (state + 1) * classes] for state in range(states)]
        ends = [*(start - 1 for start in starts[1:]), 0xFFFF]
        firsts = [
            f"\\u{start:04x}-\\u{end:04x}"
            for start, end in zip(starts, ends, strict=True)
            if self._rows[_START][self._class_of[chr(start)]] != _DEAD
        ]
        self._first = re.compile(f"[{''.join(firsts)}]") if firsts else None

    def spans(self, text: str, *, cut: bool = False) -> list[tuple[int, int]]:
        """The begin and end of each match, in order. ``text``: one character for each UTF-16 unit. ``cut``: its end is
        missing, so a possible beginning of a match counts as a match.
        """
        spans: list[tuple[int, int]] = []
        if self._first is None:
            return spans
        class_of, rows, accepts, length = self._class_of, self._rows, self._accepts, len(text)
        steps = _STEPS + _STEPS_A_CHARACTER * length
        candidate = self._first.search(text)
        while candidate is not None:
            start = at = candidate.start()
            end, state = 0, _START
            while at < length:
                state = rows[state][class_of[text[at]]]
                if state == _DEAD:
                    break
                at += 1
                if accepts[state]:
                    end = at
            else:
                end = length if cut else end
            steps -= at - start + 1
            if steps < 0:
                return [(0, length)]
            if end:
                spans.append((start, end))
            candidate = self._first.search(text, end or start + 1)
        return spans
