"""A program to trace at the prompt, and a prompt without a terminal."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from btpy.api.session import Session, attach
from btpy.output.style import Style
from btpy.repl.repl import Repl, View
from btpy.repl.screen import Screen
from btpy.repl.start import carry_out
from tests.jdks import compiled
from tests.targets import PATIENCE, Target, target

_EVENT = re.compile(r"#\d+ sold ")
SOURCE = Path(__file__).parents[1] / "java" / "acme" / "Till.java"


@contextmanager
def till(jdk: int = 17) -> Iterator[Target]:
    with target(jdk, "acme.Till", classpath=[compiled([SOURCE])]) as program:
        yield program


def does(program: Target, line: str) -> None:
    """Sends the till an order, and waits until it is done."""
    program.send(line)
    program.wait_for(f"done {line}")


class Person:
    """A user at a prompt: entries, screen and answers. ``answers``: the results of the editor and of questions."""

    def __init__(self, session: Session) -> None:
        self._written: list[str] = []
        self._changed = threading.Condition()
        self.edits: Callable[[str], str | None] = lambda text: text
        self.choice = "d"
        self.views: list[Sequence[str]] = []
        self.repl = Repl("till", session, Screen(self._put, Style()), carry_out)
        self.repl.terminal = self

    def _put(self, text: str) -> None:
        with self._changed:
            self._written += text.splitlines()
            self._changed.notify_all()

    @property
    def seen(self) -> list[str]:
        with self._changed:
            return list(self._written)

    def enter(self, text: str) -> str:
        """The immediate answer to the entry, without events, which come at any time."""
        before = len(self.seen)
        self.repl.enter(text)
        return "\n".join(line for line in self.seen[before:] if not _EVENT.match(line))

    def wait_for(self, text: str, times: int = 1) -> list[str]:
        """Waits for this number of matching lines; returns them."""
        pattern = re.compile(text)
        deadline = time.monotonic() + PATIENCE
        with self._changed:
            while True:
                results = [line for line in self._written if pattern.search(line)]
                if len(results) >= times:
                    return results
                seconds = deadline - time.monotonic()
                assert seconds > 0, "\n".join([f"waited for {times} lines {text!r} in:", *self._written])
                self._changed.wait(seconds)

    def until(self, holds: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < deadline, "\n".join([f"waited for {what}; seen:", *self.seen])
            time.sleep(0.02)

    def watch(self, view: View, interval: float) -> None:
        self.views.append(view.frame(80, 20).lines)

    def edit(self, text: str) -> str | None:
        return self.edits(text)

    def choose(self, question: str, answers: str) -> str:
        self._put(question + "\n")
        return self.choice


@contextmanager
def person(program: Target) -> Iterator[Person]:
    with closing(attach(program.pid)) as session:
        at_the_prompt = Person(session)
        try:
            yield at_the_prompt
        finally:
            at_the_prompt.repl.close()
