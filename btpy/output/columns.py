"""Text in the columns of a terminal. A wide character takes two columns. Combining characters and colours take none."""

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
    """Fills the text with blanks; ``right``: on its left side, so that the text is right-aligned."""
    space = " " * (width - columns_of(text))
    return space + text if right else text + space


def clipped(text: str, width: int, ellipsis: str = "…") -> str:
    """The part of one line that fits into ``width`` columns, with an ellipsis if text is missing."""
    visible_text = _COLOUR.sub("", text) if "\x1b" in text else text
    most = _MOST_CHARACTERS * width
    if (len(visible_text) <= width and visible_text.isascii()) or (
        len(visible_text) <= most and columns_of(visible_text) <= width
    ):
        return text
    ellipsis = ellipsis[:width]
    room = width - len(ellipsis)
    chars: list[str] = []
    coloured = False
    used = at = 0
    while at < len(text):
        colour = _COLOUR.match(text, at)
        if colour is not None:
            chars.append(colour[0])
            coloured = colour[0] != _RESET
            at = colour.end()
            continue
        used += _width(text[at])
        most -= 1
        if used > room or most < 0:
            break
        chars.append(text[at])
        at += 1
    return "".join(chars) + ellipsis + (_RESET if coloured else "")


_PACKAGE = re.compile(r"(?<![\w$./])(?:[a-z_][\w$]*\.){2,}(?=[\w$<])")
_PLACE = re.compile(r"(?<![\w$/])[A-Z][\w$]*\.[\w$<>]+(?::\d+)?$")


def shortened(text: str, width: int, ellipsis: str = "…") -> str:
    """As :func:`clipped`, but it first shortens the middle of package names, and keeps the method and the line at the
    end: ``org.…tomcat.TomcatStarter.start:220``."""
    while columns_of(text) > width:
        packages = [match for match in _PACKAGE.finditer(text) if match[0] != f"{ellipsis}."]
        if not packages:
            break
        longest = max(packages, key=lambda match: len(match[0]))
        first, *others = longest[0].removesuffix(".").split(".")
        over = columns_of(text) - width + len(ellipsis)
        enough = (at for at in range(len(others) + 1) if sum(len(part) + 1 for part in others[:at]) >= over)
        dropped = next(enough, None)
        package = ellipsis if dropped is None else f"{first}.{ellipsis}{'.'.join([*others[dropped:], ''])}"
        text = text[: longest.start()] + package + text[longest.end() :]
    place = _PLACE.search(text)
    if columns_of(text) <= width or place is None or "\x1b" in text:
        return clipped(text, width, ellipsis)
    room = width - columns_of(place[0]) - len(ellipsis)
    if room >= 0:
        return clipped(text[: place.start()], room, "") + ellipsis + place[0]
    return (ellipsis + text[len(ellipsis) - width :] if width > len(ellipsis) else ellipsis)[:width]


_MOST_CHARACTERS = 8  # characters for each column, so that hundreds of combining characters in one column are cut, too


@cache
def _width(char: str) -> int:
    from wcwidth import wcwidth

    # A selector may make the character before it an emoji of two columns.
    return 1 if char == "\ufe0f" else max(0, wcwidth(char))
