"""Works while the events of a run are shown: shows the maps repeatedly, and reacts to keys and signals. On a terminal
the maps are a view that is drawn in place; otherwise they are printed at each interval.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections import Counter, deque
from collections.abc import Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple

from btpy.api.jvms import is_stopped
from btpy.cli.console import Console
from btpy.cli.keyboard import Keyboard
from btpy.cli.progress import stopped
from btpy.cli.screen import Screen
from btpy.model.outline import Moment
from btpy.model.templates import TemplateKind
from btpy.output.columns import clipped
from btpy.output.live import Arrangement, History, LiveText
from btpy.output.values import ValueText
from btpy.present.presenter import in_words
from btpy.present.report import status

if TYPE_CHECKING:
    from btpy.api.jvms import JvmProcess
    from btpy.cli.merged_maps import MergedMaps
    from btpy.cli.signals import Signals
    from btpy.cli.target_run import TargetRun
    from btpy.model.outline import Outline
    from btpy.output.stream import Stream
    from btpy.output.style import Style

USUAL_INTERVAL = 1.0
"""Seconds between two readings of the maps, for a script that shows nothing itself."""

_PRINTING = (TemplateKind.PRINT, TemplateKind.EMIT, TemplateKind.MAP, TemplateKind.PLOT, TemplateKind.TABLE)
_REMEMBERED_TURNS = 5  # the end of the connection may arrive some turns after a pause
_KEY_SECONDS = 0.05  # seconds between two readings of the keyboard
_SILENT_SECONDS = 1.0  # seconds after which the user is told that a JVM does not answer
_STALE_SECONDS = 1.0  # seconds after which the clock and the counts below the maps are redrawn
_REST = 10  # reading maps may use this fraction (1/n) of a processor
_KEPT_SECONDS = 2.0  # seconds between two readings of the maps of several targets that are not shown
_EVENTS_SHARE = 3  # this fraction (1/n) of the lines is for events


def prints_by_itself(outline: Outline) -> bool:
    """Whether a script shows something while it runs, apart from ``@OnEvent`` requests and its end."""
    moments = (Moment.METHOD, Moment.TIMER)
    return any(
        template.kind in _PRINTING and outline.probes[template.probe].moment in moments
        for template in outline.templates
    )


class Terms(NamedTuple):
    """The settings of the live display. ``interval``: seconds between two readings of the maps, None: never.
    ``in_place``: whether maps are shown as a view, if there is an interval; ``keys``: btpy reads the keys of the
    terminal; ``pausable``: the output is for people, so the user may pause it; ``fresh``: the maps were empty when the
    run began; ``level``: the present level; ``levels``: the highest level of the probes.
    """

    style: Style
    interval: float | None = None
    in_place: bool = False
    keys: bool = False
    pausable: bool = False
    fresh: bool = True
    level: int = 0
    levels: int = 0


class Live:
    """A context around the time in which btpy follows the probes. ``targets``: the running targets; some may
    end during the run; ``together``: their maps.
    """

    def __init__(
        self,
        targets: Sequence[TargetRun],
        together: MergedMaps,
        stream: Stream,
        console: Console,
        signals: Signals,
        terms: Terms,
    ) -> None:
        outline = targets[0].context.outline
        self._targets = targets
        self._together = together
        self._showings = [target.showing for target in targets]  # maps of all targets, also of targets that have ended
        self._stream = stream
        self._console = console
        self._signals = signals
        self._terms = terms
        self._style = terms.style
        self._interval = terms.interval or (_KEPT_SECONDS if together.of_several and outline.maps else None)
        self._level = terms.level
        self._answers_signal = any(probe.moment is Moment.EVENT and not probe.event for probe in outline.probes)
        self._prints = prints_by_itself(outline)
        self._keyboard = Keyboard(0) if terms.keys and os.isatty(0) else None
        self._screen = Screen(stream.descriptor) if terms.in_place and terms.interval is not None else None
        self._text = LiveText(ValueText(together.stacks, terms.style), terms.style)
        self._history = History()
        self._arrangement = Arrangement()
        self._help = False
        self._silence = ""  # the reason why the view stands still
        self._began = self._last_turn = time.monotonic()
        self._pauses = deque([0.0, 0.0], maxlen=_REMEMBERED_TURNS)
        if terms.fresh:
            self._history.add(self._began, [])
        self._due = float("inf") if self._interval is None else self._began + self._interval
        self._stale = float("inf") if self._screen is None else self._began

    def __enter__(self) -> Live:
        if self._keyboard is not None:
            self._keyboard.take()
            self._signals.echoed = not self._keyboard.is_ours
        if self._screen is not None:
            self._stream.sink.system_write = self._console.write = self._screen.write
            self._signals.echoed = False  # the view overwrites the ^C that the terminal shows
        self._signals.attend(True)
        for target in self._targets:
            target.session.while_silent(partial(self._goes_on, target.session.target.process))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._signals.attend(False)
        for target in self._targets:
            target.session.while_silent(None)
        if self._screen is not None:
            self._screen.clear()
            self._stream.sink.system_write = self._console.write = os.write
        if self._keyboard is not None:
            self._keyboard.give_back()
        self._signals.echoed = os.isatty(2)
        for target in self._targets:
            target.showing.pause(False)

    @property
    def patience(self) -> float:
        """Seconds until the next work may be due."""
        until_due = max(0.0, min(self._due, self._stale) - time.monotonic())
        return until_due if self._keyboard is None else min(_KEY_SECONDS, until_due)

    @property
    def absent(self) -> float:
        """The longest pause between the latest turns, in seconds. The pause is long when the process was stopped."""
        return max(*self._pauses, time.monotonic() - self._last_turn)

    def turn(self) -> None:
        """Does all due work, and reacts to signals and keys. Raises ProtocolError, OutputError."""
        now = time.monotonic()
        self._silence = ""
        self._pauses.append(now - self._last_turn)
        self._last_turn = now
        for key in self._keyboard.pressed() if self._keyboard is not None else ():
            self._press(key)
        if self._signals.take(signal.SIGQUIT):
            self._pause()
        if self._signals.take(signal.SIGUSR1):
            self._print_now()
        if self._signals.take(signal.SIGTSTP):
            self._suspend()
        if self._signals.take(signal.SIGWINCH):
            self._draw()
        if self._last_turn >= self._due:
            self._look()
        elif self._last_turn >= self._stale:
            self._draw()

    def _goes_on(self, process: JvmProcess, seconds: float) -> bool:
        """Tells the user that a JVM has not answered for so many seconds. Returns False when the run must end."""
        if self._keyboard is not None and "q" in self._keyboard.pressed():
            self._signals.stop = "q"
        if self._signals.stop is not None:
            return False
        if seconds >= _SILENT_SECONDS:
            before = self._silence
            self._silence = stopped(process) if is_stopped(process) else f"the JVM {process.pid} does not answer"
            if self._screen is None and self._silence != before:
                self._console.say(self._silence)
            elif self._screen is not None and time.monotonic() >= self._stale:
                self._draw()
        return True

    def _look(self) -> None:
        """Reads the maps, and shows them if the settings ask for it. The maps of several targets are always read, so
        that the counts of a killed target are not lost.
        """
        assert self._interval is not None
        began = time.process_time()
        if self._screen is None and self._terms.interval is not None and not self._paused:
            self._together.show()
            self._stream.flush()
        elif not self._paused:
            contents = self._together.read()
            if self._screen is not None:
                self._history.add(time.monotonic(), contents)
        processor_time = time.process_time() - began
        now = time.monotonic()
        due = self._due + self._interval
        self._due = max(due if due > now else now + self._interval, now + _REST * processor_time)
        self._draw()

    def _draw(self) -> None:
        self._stale = time.monotonic() + _STALE_SECONDS if self._screen is not None else float("inf")
        if self._screen is None or not self._screen.in_foreground:
            return
        columns, lines = self._size(self._screen)
        below = self._below(columns)[:lines]
        maps = self._text.lines(self._history, self._arrangement, columns, self._room(lines) - len(below))
        self._screen.draw([*maps, *below])

    def _size(self, screen: Screen) -> tuple[int, int]:
        """Columns and lines that the view may take."""
        columns, lines = screen.size
        return min(columns, self._style.width) if self._style.fills else columns, lines

    def _room(self, lines: int) -> int:
        """Lines for the view. If there are events, some lines remain for them."""
        return lines - lines // _EVENTS_SHARE if self._prints else lines

    def _below(self, columns: int) -> list[str]:
        """The state of the run, and the meaning of the keys."""
        text = status(
            seconds=time.monotonic() - self._began,
            events=sum(showing.events for showing in self._showings) if self._prints else None,
            lost=sum(showing.lost for showing in self._showings),
            unseen=in_words(sum((showing.unseen for showing in self._showings), Counter())),
            paused=self._paused,
            level=self._level if self._terms.levels else None,
            running=(len(self._targets), len(self._showings)),
        )
        if self._silence:
            lines = [f"{text} · {self._silence}"]
        elif self._keyboard is None:
            lines = [text]
        elif self._help:
            lines = [text, *_wrapped(self._keys(), columns)]
        else:
            lines = [f"{text} · ? keys"]
        return [self._style.dim(clipped(self._words(line), columns, self._style.ellipsis)) for line in lines]

    def _press(self, key: str) -> None:
        match key:
            case "q":
                self._signals.stop = "q"
            case "p":
                self._pause()
            case "space":
                self._print_now()
            case "l" | "L":
                self._change_level(1 if key == "l" else -1)
            case "?" if self._screen is None:
                self._console.say(" · ".join(self._keys()))
            case "?":
                self._help = not self._help
            case "enter" if self._screen is None:
                with contextlib.suppress(OSError):
                    os.write(2, b"\n")  # users press Enter to separate old output from new
        if self._screen is not None:
            columns, lines = self._size(self._screen)
            room = self._room(lines) - len(self._below(columns))
            changed = self._text.pressed(key, self._history, self._arrangement, columns, room)
            self._arrangement = changed or self._arrangement
            self._draw()

    def _keys(self) -> list[str]:
        keys = ["q quit", "p pause", "space print now", *(["l L level up, down"] if self._terms.levels else [])]
        if self._screen is not None:
            keys += ["s sort by the next column", "S reverse", "h charts", "tab next map", "↑ ↓ scroll"]
        return [self._words(key) for key in keys]

    def _words(self, text: str) -> str:
        return text if self._style.unicode else text.replace("·", "|").replace("↑ ↓", "arrows")

    @property
    def _paused(self) -> bool:
        return any(target.showing.paused for target in self._targets)

    def _pause(self) -> None:
        if not self._terms.pausable:
            self._console.say("not paused: only output to a terminal can be paused")
            return
        paused = not self._paused
        for target in self._targets:
            target.showing.pause(paused)
        self._stream.flush()
        if self._screen is None:
            self._console.say(
                "paused: probes go on; their output is counted, not shown" if paused else "no longer paused"
            )
        self._draw()

    def _print_now(self) -> None:
        """Reacts to SIGUSR1: runs the probes of the script for this signal, or shows all maps if there are none."""
        if self._answers_signal:
            for target in self._targets:
                with target.noticing():
                    target.session.send("")
        else:
            self._together.show()
        self._stream.flush()

    def _change_level(self, step: int) -> None:
        level = max(0, min(self._terms.levels, self._level + step))
        if level != self._level:
            for target in self._targets:
                with target.noticing():
                    target.session.level(level)
            self._level = level
        if not self._terms.levels:
            self._console.say("no probe has a @Level")
        elif self._screen is None:
            self._console.say(f"level {level} of {self._terms.levels}")

    def _suspend(self) -> None:
        """Ctrl-Z: the shell gets its terminal back in the original state, until it continues the run."""
        if self._screen is not None:
            self._screen.clear()
        if self._keyboard is not None:
            self._keyboard.give_back()
        self._signals.suspend()
        if self._keyboard is not None:
            self._keyboard.take()
        self._draw()


def _wrapped(words: list[str], columns: int) -> list[str]:
    lines = [""]
    for word in words:
        longer = f"{lines[-1]} · {word}" if lines[-1] else word
        if len(longer) <= columns or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines
