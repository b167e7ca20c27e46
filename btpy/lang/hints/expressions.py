"""Errors in values: operators, casts, lists and forms of other languages.

Each function examines the place where the parser stopped, and returns the diagnostic for one mistake or None.
"""

from __future__ import annotations

import re

from btpy.lang.hints.failure import Failure, advised, rewritten
from btpy.lang.hints.foreign_names import OPERATORS, advice_for_map, in_our_words
from btpy.model.diagnostics import Diagnostic, Fix, Label


def null_safe(failure: Failure) -> Diagnostic | None:
    if not failure.before.endswith("?") or not re.match(r"\.\s*[A-Za-z_]", failure.rest):
        return None
    question = failure.source.text.rindex("?", 0, failure.at)
    span = failure.between(question, failure.at + 1)
    return Diagnostic(
        "BT013",
        "navigation is already null-safe",
        Label(span, "a `.` after null gives null"),
        help=("write a plain `.`",),
        fixes=(Fix(span, "."),),
    )


def arrow(failure: Failure) -> Diagnostic | None:
    """``->``, which stands between an object and a field in C and DTrace, and before the body of a lambda in Java."""
    arrow = failure.at - 1 if failure.before.endswith("-") and failure.rest.startswith(">") else failure.at
    if failure.source.text[arrow : arrow + 2] != "->":
        return None
    place = failure.between(arrow, arrow + 2)
    before = failure.source.text[failure.start : arrow].rstrip()
    if "::" in before and "{" not in before:
        return advised("BT016", "`->` is not an operator here", place, "write a body in braces:  { print(1) }")
    owner = re.search(r"(?<![\w.$@])(self|this)$", before)
    field = re.match(r"->\s*([A-Za-z_]\w*)", failure.source.text[arrow : arrow + 80])
    if owner is not None and owner[1] == "self" and field is not None and not re.search(r"[;{}]\s*self$", before):
        span = failure.between(arrow - len("self"), arrow + field.end())
        return advised(
            "BT016",
            "`self->` is DTrace's form",
            span,
            f"a variable of the thread:  thread.{field[1]}",
            f"a field of the object:  self.{field[1]}",
        )
    if owner is not None and field is not None and re.fullmatch(r"\s*(self|this)", re.split(r"[;{}]", before)[-1]):
        replacement = f"thread.{field[1]}" if owner[1] == "self" else f"let {field[1]}"
        span = failure.between(arrow - (len(before) - owner.start()), arrow + field.end())
        return rewritten("BT016", f"`{owner[1]}->` is DTrace's form", span, replacement)
    apart = failure.source.text[arrow - 1].isspace() or failure.source.text[arrow + 2 : arrow + 3].isspace()
    if re.search(r"(?<![\w.$@])args$", before) and field is not None and not apart:
        span = failure.between(arrow - len("args"), arrow + field.end())
        return rewritten("BT016", "`args->` is bpftrace's form", span, f"${field[1]}")
    if apart and re.search(r"(?:\(|,)\s*(?:\w+|\([\w\s,]*\))$", before):
        return Diagnostic(
            "BT016",
            "functions cannot be values",
            Label(place, "a lambda"),
            help=(
                "over a collection:  for x in items limit 20 { … }",
                "a test of the elements:  any(x in items: x.price > 3)",
            ),
        )
    return rewritten("BT016", "`->` is not an operator here", place, ".")


_CAST = re.compile(
    r"\(\s*(u?int(?:8|16|32|64)(?:_t)?|int|long|double|boolean|short|byte|char|float|(?:[\w$]+\.)*[A-Z][\w$]*)\s*\)$"
)
_NUMBERS = {
    **{f"{sign}int{bits}{end}": "long" for sign in ("", "u") for bits in (8, 16, 32, 64) for end in ("", "_t")},
    "short": "int",
    "byte": "int",
    "char": "int",
    "float": "double",
}


def cast(failure: Failure) -> Diagnostic | None:
    """``(String) arg0``"""
    type_ = _CAST.search(failure.before)
    operand = re.match(r"[\w$@][\w$.]*(?:\[[^\]\n]*\])?", failure.rest)
    if type_ is None or operand is None or "MUL_OP" not in failure.accepts:
        return None
    start = failure.source.text.rindex(type_[0], failure.start, failure.at)
    place = failure.between(start, failure.at + operand.end())
    replacement = f"{operand[0]} as {_NUMBERS.get(type_[1], type_[1])}"
    return rewritten(
        "BT016",
        "a cast must follow its value",
        place,
        replacement,
        notes=("few values need a cast: btpy knows most types, and finds the other types when the probe fires",),
    )


def structure(failure: Failure) -> Diagnostic | None:
    """``(struct foo *) arg0``"""
    word = re.search(r"\(\s*(struct|union|enum)$", failure.before)
    name = re.match(r"[\w\s*]+\)", failure.rest)
    if word is None or name is None:
        return None
    start = failure.behind(len(word[0])).start
    return advised(
        "BT016",
        f"there is no `{word[1]}` here",
        failure.between(start, failure.at + name.end()),
        "leave the cast out: fields of an object are read by their names:  arg0.name",
    )


def new_object(failure: Failure) -> Diagnostic | None:
    if not re.search(r"(?<![\w.$@])new$", failure.before):
        return None
    return advised(
        "BT405",
        "a probe cannot create objects",
        failure.between(failure.behind(len("new")).start, failure.end),
        'text is built with f"{a} {b}"; new_id() gives a unique number',
    )


_WORDS = {**OPERATORS, **dict.fromkeys(("elif", "elsif", "elseif"), "else if")}


def other_language(failure: Failure) -> Diagnostic | None:
    match = re.match(r"is\s+not\b|not\s+in\b|\w+|<>|===", failure.rest)
    word = " ".join(match.group().split()) if match else ""
    if word == "not in":
        operand = re.search(r"[\w.$@]+$", failure.before)
        list_match = re.match(r"not\s+in\s+(\[[^\[\]\n]*\]|[\w.$@]+)", failure.rest)
        replacement = (
            f"!({operand[0]} in {list_match[1]})" if operand is not None and list_match is not None else "!(x in list)"
        )
        return advised(
            "BT016",
            "`not in` is not an operator here",
            failure.ahead(match.end() if match else 1),
            f"write {replacement}",
        )
    span = failure.ahead(match.end() if match else 0)
    if word not in _WORDS and failure.before.endswith("=") and failure.rest.startswith("="):
        word = "==="
        at = failure.at - 2
        span = failure.between(at, at + 3)
    if word not in _WORDS and failure.before.endswith("<") and failure.rest.startswith(">"):
        word = "<>"
        span = failure.between(failure.at - 1, failure.at + 1)
    if word in _WORDS:
        right = _WORDS[word]
        return rewritten("BT016", f"`{word}` is not an operator here", span, right)
    previous = re.search(r"(?<![\w.$@])(elif|elsif|elseif)$", failure.before)
    if previous is not None:
        place = failure.behind(len(previous[1]))
        return rewritten("BT016", f"`{previous[1]}` is not a keyword here", place, "else if")
    negated = re.search(r"(?<![\w.$@])(not|NOT)$", failure.before)
    if negated is not None:
        return rewritten("BT016", f"`{negated[1]}` is not an operator here", failure.behind(len("not")), "!")
    return None


def range_without_brackets(failure: Failure) -> Diagnostic | None:
    """``if tid in 1..10``"""
    tested = re.search(r"\bin\s+([\w.$@()]+)$", failure.before)
    last = re.match(r"\.\.\s*([\w.$@()]+)", failure.rest)
    if tested is None or last is None or failure.statement.startswith("for"):
        return None
    start = failure.source.text.rindex(tested[1], failure.start, failure.at)
    place = failure.between(start, failure.at + last.end())
    replacement = f"[{tested[1]}..{last[1]}]"
    return rewritten("BT001", "a range after `in` needs brackets", place, replacement)


def elvis(failure: Failure) -> Diagnostic | None:
    """``a ?: b``"""
    if not failure.rest.startswith(":") or not failure.before.endswith("?"):
        return None
    place = failure.between(failure.behind(1).start, failure.at + 1)
    return rewritten("BT016", "`?:` is not an operator here", place, "??")


def pattern_variable(failure: Failure) -> Diagnostic | None:
    """``x instanceof String s``"""
    tested = re.search(r"([\w.$@\[\]]+)\s+instanceof\s+[\w.$]+$", failure.before)
    name = re.match(r"[A-Za-z_]\w*\b", failure.rest)
    if tested is None or name is None or name[0] in _WORDS or ("MUL_OP" in failure.accepts and name[0] in ("in", "as")):
        return None
    return advised(
        "BT016",
        "`instanceof` gives no variable here",
        failure.ahead(name.end()),
        f"leave it out; a new variable is:  let {name[0]} = {tested[1]};",
    )


def statistics_operator(failure: Failure) -> Diagnostic | None:
    """``counts[cls] <<< 1``: read as ``<<`` and ``<``"""
    target = re.search(r"(@?)([A-Za-z_]\w*)(\[[^\]\n]*\])?\s*<<$", failure.before)
    if target is None or not failure.rest.startswith("<"):
        return None
    value = re.match(r"<\s*([^;}\n]*[^;}\s])", failure.rest)
    place = failure.between(failure.behind(2).start, failure.at + 1)
    replacement = "count()" if value is None or value[1] == "1" else f"stats({value[1]})"
    return advised("BT016", "`<<<` is SystemTap's form", place, f"write @{target[2]}{target[3] or ''} = {replacement}")


def spread(failure: Failure) -> Diagnostic | None:
    """``print(*args)``"""
    spread = re.match(r"\*{1,2}([A-Za-z_$][\w$.]*)", failure.rest)
    if spread is None or failure.before[-1:] not in ("(", ","):
        return None
    return rewritten("BT016", "a list is printed as it is", failure.ahead(spread.end()), in_our_words(spread[1]))


def projection(failure: Failure) -> Diagnostic | None:
    """``params.{name}`` of OGNL, ``[x.name for x in items]`` of Python"""
    loop = re.match(r"for\s+(\w+)\s+in\s+([\w.$@]+)", failure.rest)
    element = re.search(r"\[\s*([^\[\]]+?)$", failure.before)
    if loop is not None and element is not None:
        return advised(
            "BT016",
            "a loop does not make a list here",
            failure.span,
            f"write for {loop[1]} in {loop[2]} limit 20 {{ print({element[1].strip()}) }}",
        )
    return None


def slicing(failure: Failure) -> Diagnostic | None:
    """``x[1:3]``"""
    ends = re.search(r"([\w.$]+)\[\s*(\w*)$", failure.before)
    if ends is None or not failure.rest.startswith(":"):
        return None
    last = re.match(r":\s*(\w*)", failure.rest)
    return advised(
        "BT016",
        "an index must be one number",
        failure.ahead(1),
        f"a part of a text:  substr({ends[1]}, {ends[2] or '0'}, {(last[1] if last else '') or '…'})",
        f"elements of a list:  for x in {ends[1]} limit 3 {{ … }}",
    )


def braces_as_value(failure: Failure) -> Diagnostic | None:
    """``counts = {}``, ``let m = {…}``"""
    match = re.match(r"\{\s*([\w.$\[\]]+(?:\s*,\s*[\w.$\[\]]+)+)\s*\}", failure.rest)
    if match is not None and "{" in failure.before:
        return advised(
            "BT016",
            "braces do not make a value",
            failure.ahead(match.end()),
            f"list several values:  print({in_our_words(match[1])})",
        )
    name = re.search(r"(?:let\s+)?@?(\w+)\s*=$", failure.before)
    braces = re.match(r"\{[^{}\n]*\}", failure.rest)
    if name is None or braces is None or "{" not in failure.before:
        return None
    return advised(
        "BT016",
        "braces do not make a value",
        failure.ahead(braces.end()),
        f"a map needs no declaration:  @{name[1]}[key] = …",
    )


def power(failure: Failure) -> Diagnostic | None:
    """``x ** 2``"""
    operand = re.search(r"([\w.$]+)\s*\*$", failure.before)
    if operand is None or not failure.rest.startswith("*"):
        return None
    place = failure.between(failure.behind(1).start, failure.at + 1)
    return advised("BT016", "there is no operator `**`", place, f"write x * x, here {operand[1]} * {operand[1]}")


def method_reference(failure: Failure) -> Diagnostic | None:
    """``items.forEach(System.out::println)``"""
    owner = re.search(r"[(,]\s*([\w.]+)(?:\.\.|:)?$", failure.before)
    name = re.match(r":{1,2}(\w+)", failure.rest)
    if (
        owner is None
        or name is None
        or "{" not in failure.before
        or "::" not in failure.source.text[failure.at - 1 : failure.at + 2]
    ):
        return None
    start = failure.at - (1 if failure.source.text[failure.at - 1] == ":" else 0)
    of_map = re.search(r"(@\w*)\.(\w+)\(([^()]*),[^(),]*$", failure.before)
    advice = () if of_map is None else advice_for_map(of_map[1], of_map[2], of_map[3].split(","))
    return Diagnostic(
        "BT016",
        "functions cannot be values",
        Label(failure.between(start, failure.at + name.end()), "a method reference"),
        help=advice
        or (
            "over a collection:  for x in items limit 20 { print(x) }",
            "a test of the elements:  any(x in items: x.price > 3)",
        ),
    )


def list_in_parentheses(failure: Failure) -> Diagnostic | None:
    """``x in (1, 2)``"""
    several = re.search(r"(?<![\w.$@(\[,])([A-Za-z_]\w*)$", failure.before)
    names = re.match(r",\s*([A-Za-z_]\w*)\s*=(?!=)\s*([^,;{}]+),\s*([^,;{}]+)", failure.rest)
    if several is not None and names is not None and failure.statement == several[1]:
        return advised(
            "BT016",
            "a statement can give a value to only one name",
            failure.ahead(1),
            f"write let {several[1]} = {names[2].strip()}; let {names[1]} = {names[3].strip()};",
        )
    stored = re.search(r"(@\w*)(\[[^\]\n]*\])?\s*=\s*\(([^()]*)$", failure.before)
    if stored is not None and failure.rest.startswith(","):
        return advised(
            "BT016",
            "a map can hold only one value for a key",
            failure.ahead(1),
            f"use a map for each value;  table(@a, @b)  prints them side by side:  {stored[1]}_1"
            f"{stored[2] or ''} = {stored[3].strip()}",
        )
    grouped = re.search(r"[(,]\s*\(\s*([\w.$@\"]+)$", failure.before)
    further = re.match(r"((?:,\s*[\w.$@\"]+)+)\s*\)", failure.rest)
    if grouped is not None and further is not None and not re.search(r"\bin\s*\([^()]*$", failure.before):
        start = failure.source.text.rindex("(", failure.start, failure.at)
        place = failure.between(start, failure.at + further.end())
        return rewritten("BT016", "values cannot be grouped in brackets", place, f"{grouped[1]}{further[1]}")
    values = re.search(r"\bin\s*\(([^()]*)$", failure.before)
    rest = re.match(r"([^()\n]*)\)", failure.rest)
    if values is None or rest is None or not failure.rest.startswith(","):
        return None
    start = failure.source.text.rindex("(", failure.start, failure.at)
    place = failure.between(start, failure.at + rest.end())
    return rewritten("BT016", "write a list in square brackets", place, f"[{place.text[1:-1]}]")
