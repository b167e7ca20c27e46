"""Text in the columns of a terminal: wide characters take two, combining ones and colours none."""

from __future__ import annotations

import re
from functools import cache

_COLOUR = re.compile(r"\x1b\[\d+m")
_RESET = "\x1b[0m"


def columns_of(text: str) -> int:
    """Columns of the last line of ``text``."""
    line = text.rsplit("\n", 1)[-1]
    if "\x1b" in line:
        line = _COLOUR.sub("", line)
    if line.isascii():
        return len(line)
    from wcwidth import wcswidth

    width: int = wcswidth(line)
    return width if width >= 0 else len(line)


def padded(text: str, width: int, *, right: bool = False) -> str:
    """Filled with blanks, of which there may be none; ``right``: on the left, so that the text stands on the right."""
    space = " " * (width - columns_of(text))
    return space + text if right else text + space


def clipped(text: str, width: int, ellipsis: str = "…") -> str:
    """As much of one line as fits into ``width`` columns, with an ellipsis where something is missing."""
    plain = _COLOUR.sub("", text) if "\x1b" in text else text
    most = _MOST_CHARACTERS * width
    if (len(plain) <= width and plain.isascii()) or (len(plain) <= most and columns_of(plain) <= width):
        return text
    ellipsis = ellipsis[:width]
    room = width - len(ellipsis)
    kept: list[str] = []
    coloured = False
    used = at = 0
    while at < len(text):
        colour = _COLOUR.match(text, at)
        if colour is not None:
            kept.append(colour[0])
            coloured = colour[0] != _RESET
            at = colour.end()
            continue
        used += _width(text[at])
        most -= 1
        if used > room or most < 0:
            break
        kept.append(text[at])
        at += 1
    return "".join(kept) + ellipsis + (_RESET if coloured else "")


_MOST_CHARACTERS = 8  # for each column: what hundreds of combining characters pile up on one is cut too


@cache
def _width(char: str) -> int:
    from wcwidth import wcwidth

    # A selector may make the character before it an emoji of two columns.
    return 1 if char == "\ufe0f" else max(0, wcwidth(char))
