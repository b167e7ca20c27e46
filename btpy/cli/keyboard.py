"""Reads keys one by one at once, without Enter. Ctrl-C and similar keys remain signals."""

from __future__ import annotations

import contextlib
import os
import select
import termios
from typing import Any

_SEQUENCES = {
    "[A": "up",
    "[B": "down",
    "OA": "up",
    "OB": "down",
    "[5~": "pageup",
    "[6~": "pagedown",
    "[H": "home",
    "[1~": "home",
    "OH": "home",
    "[F": "end",
    "[4~": "end",
    "OF": "end",
}
_NAMES = {" ": "space", "\t": "tab", "\r": "enter", "\n": "enter"}
_LOCAL_MODES = 3  # index in the result of tcgetattr


class Keyboard:
    """A terminal as keyboard, from :meth:`take` to :meth:`give_back`.

    In the background, btpy does not change the terminal, because the shell uses it.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._attributes: list[Any] | None = None  # while keys come one by one: the previous state of the terminal
        self._rest = b""
        self._is_closed = False

    @property
    def is_ours(self) -> bool:
        """Whether btpy receives the keys now, without an echo."""
        return self._attributes is not None

    @property
    def in_foreground(self) -> bool:
        try:
            return os.tcgetpgrp(self._descriptor) == os.getpgrp()
        except OSError:
            return False

    def take(self) -> None:
        """Make keys come one by one, unless another job uses the terminal."""
        if self._attributes is not None or self._is_closed or not self.in_foreground:
            return
        try:
            attributes = termios.tcgetattr(self._descriptor)
            modes = termios.tcgetattr(self._descriptor)
            modes[_LOCAL_MODES] &= ~(termios.ICANON | termios.ECHO)
            termios.tcsetattr(self._descriptor, termios.TCSANOW, modes)
            self._attributes = attributes
        except termios.error:
            self._is_closed = True

    def give_back(self) -> None:
        attributes, self._attributes = self._attributes, None
        if attributes is not None and self.in_foreground:
            with contextlib.suppress(termios.error):  # the terminal was closed
                termios.tcsetattr(self._descriptor, termios.TCSANOW, attributes)

    def pressed(self) -> list[str]:
        """Names of the keys since the last call: ``q``, ``space``, ``up``. Never waits."""
        self.take()
        if not self.is_ours or not self.in_foreground:
            return []
        try:
            if not select.select((self._descriptor,), (), (), 0)[0]:
                self._rest = b""  # the beginning of the sequence was the Escape key
                return []
            data = os.read(self._descriptor, 1024)
        except OSError:
            data = b""
        if not data:
            self._is_closed = True
            self.give_back()
            return []
        keys, self._rest = decoded(self._rest + data)
        return keys


def decoded(data: bytes) -> tuple[list[str], bytes]:
    """Names of keys, and an unfinished sequence that may be the beginning of another key. Keys without a name are left
    out."""
    text = data.decode("utf-8", "replace")
    keys: list[str] = []
    at = 0
    while at < len(text):
        char = text[at]
        at += 1
        if char != "\x1b":
            if char in _NAMES or char.isprintable():
                keys.append(_NAMES.get(char, char))
            continue
        end = at + 1
        if text[at : at + 1] == "[":
            while end < len(text) and not "@" <= text[end] <= "~":
                end += 1
        if text[at : at + 1] in ("[", "O") or at == len(text):
            if end >= len(text):
                return keys, text[at - 1 :].encode()
            name = _SEQUENCES.get(text[at : end + 1])
            keys += [name] if name else []
            at = end + 1
    return keys, b""
