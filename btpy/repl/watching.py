"""``:watch @map``: a map that is redrawn; keys change the arrangement."""

from __future__ import annotations

import time

from btpy.output.live import Arrangement, History, LiveText
from btpy.output.quantities import counted
from btpy.repl.repl import Frame, Repl

_KEYS = {"c-i": "tab", "s-tab": "tab"}
_FOOTER = "q quits · s sorts · S reverses · h histogram · r resets · ↑↓ rows · p pauses"


class MapView:
    def __init__(self, repl: Repl, name: str) -> None:
        self._repl = repl
        self._name = name
        self._text = LiveText(repl.feed.values, repl.screen.style)
        self._history = History()
        self._arrangement = Arrangement()
        self._size = (80, 24)
        self._paused = False

    def frame(self, columns: int, lines: int) -> Frame:
        """Raises the errors of reading the map."""
        self._size = columns, lines
        if not self._paused:
            self._history.add(time.monotonic(), [self._repl.content(self._name)])
        line_count = self._repl.screen.waiting
        state = [
            *(["paused"] if self._paused else []),
            *([self._repl.left] if self._repl.left else []),
            *([f"{counted(line_count, 'line')} printed meanwhile"] if line_count else []),
        ]
        footer = " · ".join([*state, _FOOTER])  # the keys are cut off if there is little space
        map_lines = self._text.lines(self._history, self._arrangement, columns, lines)
        return Frame(
            map_lines, footer if self._repl.screen.style.unicode else footer.replace("·", "|").replace("↑↓", "up down")
        )

    def key(self, name: str) -> None:
        if name == "p":
            self._paused = not self._paused
        elif name == "r":
            self._history, self._arrangement = History(), Arrangement()
        else:
            pressed = self._text.pressed(_KEYS.get(name, name), self._history, self._arrangement, *self._size)
            self._arrangement = pressed or self._arrangement
