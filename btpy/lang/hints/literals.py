"""Errors in numbers, texts and characters.

Each function examines the place where the parser stopped, and returns the diagnostic for one mistake or None.
"""

from __future__ import annotations

import re
import unicodedata

from btpy.lang.hints.failure import Failure, advised, rewritten
from btpy.lang.syntax.units import UNITS
from btpy.model.diagnostics import Diagnostic, Fix, Label
from btpy.model.source import Span


def percentage(failure: Failure) -> Diagnostic | None:
    """``rate=5%``"""
    share = re.search(r"(\d+(?:\.\d+)?)\s*%$", failure.before)
    if share is None or failure.rest[:1] not in (",", ")", ";"):
        return None
    start = failure.source.text.rindex(share[0], failure.start, failure.at)
    place = failure.between(start, start + len(share[0]))
    replacement = f"{float(share[1]) / 100:.6g}"
    return rewritten("BT016", "`%` is not a unit", place, replacement)


_LOOKALIKES = {
    **dict.fromkeys("\u00a0\u1680\u2002\u2003\u2007\u2009\u202f\u3000", " "),
    **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad", ""),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
    "≥": ">=",
    "≤": "<=",
    "≠": "!=",
    "×": "*",
    "÷": "/",
    "∧": "&&",
    "∨": "||",
    "¬": "!",
    "…": "..",
    "；": ";",
    "，": ",",
    "（": "(",
    "）": ")",
    "｛": "{",
    "｝": "}",
    "：": ":",
    "＝": "=",
    "＠": "@",
    "\u037e": ";",  # the Greek question mark
    "\u2044": "/",
    "\u2215": "/",
    "\u2217": "*",
    "\u2236": ":",
}


def lookalike(failure: Failure) -> Diagnostic | None:
    """A typographic character that a word processor or chat program has put in place of a plain character."""
    replacement = _LOOKALIKES.get(failure.rest[:1])
    if replacement is None:
        return None
    place = failure.ahead(1)
    name = unicodedata.name(failure.rest[0], "").lower()
    spelled = f"{name} (U+{ord(failure.rest[0]):04X})"
    suggestion = {"": "take it out", " ": "write a plain blank"}.get(replacement, f"write {replacement}")
    return Diagnostic(
        "BT001",
        f"this character is not part of the language: {spelled}",
        Label(place),
        help=(suggestion,),
        fixes=(Fix(place, replacement),),
    )


_UNITS_ELSEWHERE = {
    **dict.fromkeys(("nsec", "nsecs", "nanos", "nanoseconds"), "ns"),
    **dict.fromkeys(("usec", "usecs", "micros", "microseconds", "µs"), "us"),
    **dict.fromkeys(("msec", "msecs", "millis", "milliseconds"), "ms"),
    **dict.fromkeys(("sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), "m"),
    **dict.fromkeys(("hour", "hours"), "h"),
    **dict.fromkeys(("day", "days"), "d"),
    **dict.fromkeys(("byte", "bytes"), "B"),
    **dict.fromkeys(("k", "kb", "KiB", "K"), "KB"),
    **dict.fromkeys(("mb", "MiB", "M"), "MB"),
    **dict.fromkeys(("g", "gb", "GiB", "G"), "GB"),
}
_UNITS_IN_LOWER_CASE = {unit.lower(): unit for unit in UNITS} | {
    name.lower(): unit for name, unit in _UNITS_ELSEWHERE.items()
}


def unit(failure: Failure) -> Diagnostic | None:
    """A unit after a blank, or an unknown unit."""
    before = failure.source.text[max(failure.start, failure.at - 40) : failure.at]
    apart = re.search(r"(\d[\d_]*(?:\.\d+)?)(\s+)$", before)
    word = re.match(r"[A-Za-zµ]+\b", failure.rest)
    if apart is not None and word is not None and (word[0] in UNITS or word[0] in _UNITS_ELSEWHERE):
        place = failure.between(failure.at - len(apart[0]), failure.at + word.end())
        return _misspelt(place, "a unit must follow its number without a blank", apart[1], word[0])
    match = re.match(r"(\d[\d_]*(?:\.\d+)?)([A-Za-zµ]+)\b", failure.rest)
    if match is None:
        return None
    place = failure.ahead(match.end())
    if "IDENT" in failure.accepts and "INT" not in failure.accepts and not before.endswith("."):
        return Diagnostic("BT001", "a name cannot begin with a digit", Label(place))
    if match[2] in ("L", "l", "f", "F", "D"):
        number_match = re.search(r"\d[\d_]*\.$", before)  # 1.5f is read as 1. and 5f
        number = (number_match[0] if number_match else "") + match[1]
        place = failure.between(failure.at - (len(number_match[0]) if number_match else 0), failure.at + match.end())
        replacement = f"{number} as long" if match[2] in "Ll" else number
        return rewritten("BT016", "numbers cannot have a suffix", place, replacement)
    return _misspelt(place, f"unknown unit `{match[2]}`", match[1], match[2])


def _misspelt(place: Span, problem: str, number: str, unit: str) -> Diagnostic:
    suffix = unit if unit in UNITS else _UNITS_ELSEWHERE.get(unit) or _UNITS_IN_LOWER_CASE.get(unit.lower())
    if suffix is None:
        return advised("BT001", problem, place, f"units are {' '.join(UNITS)}")
    return Diagnostic(
        "BT001", problem, Label(place), help=(f"write {number}{suffix}",), fixes=(Fix(place, f"{number}{suffix}"),)
    )


def block_of_text(failure: Failure) -> Diagnostic | None:
    """``\"\"\"text\"\"\"``: read as an empty text and another text"""
    if not failure.before.endswith('""') or not failure.rest.startswith('"'):
        return None
    start = failure.behind(2).start
    return advised(
        "BT016",
        "a text must have one quote at each end",
        failure.between(start, start + 3),
        'write "…"; a new line in a text is  \\n',
    )


def prefix_of_text(failure: Failure) -> Diagnostic | None:
    """``r"\\d"``, ``u"x"``, ``b"x"``"""
    prefix = re.search(r"(?<![\w.$@])([rubRUB]{1,2})$", failure.source.text[failure.start : failure.at])
    if prefix is None or not failure.rest.startswith('"'):
        return None
    place = failure.behind(len(prefix[1]))
    note = ("write a backslash in a text twice; a regular expression is  /…/",) if "r" in prefix[1].lower() else ()
    return Diagnostic(
        "BT016",
        f"a text cannot have `{prefix[1]}` before it",
        Label(place),
        help=("leave it out", *note),
        fixes=(Fix(place, ""),),
    )


def joined_by_a_dot(failure: Failure) -> Diagnostic | None:
    """``tid . "x"``"""
    if not failure.before.endswith(".") or not failure.rest.startswith('"'):
        return None
    return advised("BT016", "`.` does not join texts", failure.behind(1), 'write f"{a} {b}"')


def conversion(failure: Failure) -> Diagnostic | None:
    """``{x!r}`` in an f-string"""
    debugged = re.search(r"\{\s*([^{}\"]+)$", failure.source.text[: failure.at])
    if debugged is not None and re.match(r"=\s*[}!:]", failure.rest):
        replacement = f"{debugged[1].strip()}={{{debugged[1].strip()}}}"
        return advised(
            "BT016", "a value in an f-string is printed without its name", failure.ahead(1), f'write f"{replacement}"'
        )
    if not re.match(r"![rsa](?=[}:])", failure.source.text[failure.at : failure.at + 3]):
        return None
    return Diagnostic(
        "BT016",
        "values in an f-string cannot have a conversion",
        Label(failure.ahead(2)),
        help=("leave it out; to print all of an object:  print(show(arg0))",),
        fixes=(Fix(failure.ahead(2), ""),),
    )
