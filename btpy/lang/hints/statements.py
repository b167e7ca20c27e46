"""Errors in the statements of a body.

Each function examines the place where the parser stopped, and returns the diagnostic for one mistake or None.
"""

from __future__ import annotations

import re

from btpy.lang.hints.failure import Failure, advised, rewritten
from btpy.lang.hints.foreign_names import FORMS, expression_in_our_words
from btpy.lang.syntax.lalr import END
from btpy.lang.syntax.scanner import BRACE_EXPECTED, COMMENT_MEANT, starts_line
from btpy.model.diagnostics import Diagnostic, Fix, Label

_FOR_EACH = re.compile(r"\(\s*(?:[\w.<>\[\], ]+\s)?\s*\$?([A-Za-z_]\w*)\s*(?::|\bin\b|\bof\b)\s*([^(){};]+?)\s*\)")


def for_each(failure: Failure) -> Diagnostic | None:
    """``for (String s : arg0)``"""
    loop = _FOR_EACH.match(failure.rest)
    if failure.statement != "for" or loop is None:
        return None
    place = failure.ahead(loop.end())
    replacement = f"{loop[1]} in {loop[2]}" if not loop[2].startswith("@") else f"key, value in {loop[2]} limit 100"
    return Diagnostic(
        "BT016",
        "a loop must have no brackets",
        Label(place),
        help=(f"write for {replacement}",),
        fixes=(Fix(place, replacement),),
    )


_BLOCKS_OF_OTHERS = {
    "unroll": "numbers from a to b:  for i in 1..{0} {{ … }}",
    "repeat": "numbers from a to b:  for i in 1..{0} {{ … }}",
    "synchronized": "a probe takes no locks: maps and thread variables need no lock",
    "with": FORMS["with"],
}


def block_of_others(failure: Failure) -> Diagnostic | None:
    """``unroll(5) { … }``, ``synchronized (x) { … }``: the word was read as the name of a function."""
    call = re.fullmatch(r"(\w+)\s*\(([^()]*)\)", failure.statement)
    if call is None or call[1] not in _BLOCKS_OF_OTHERS or not failure.rest.startswith("{"):
        return None
    at = failure.source.text.rindex(failure.statement, failure.start, failure.at)
    number = call[2].strip() if call[2].strip().isdigit() else "10"
    return advised(
        "BT016",
        f"there is no `{call[1]}` here",
        failure.between(at, at + len(call[1])),
        _BLOCKS_OF_OTHERS[call[1]].format(number),
    )


def loop(failure: Failure) -> Diagnostic | None:
    match = re.match(r"(while|do|loop|for)\b", failure.statement)
    if match is None or (match.group() == "for" and not re.match(r"for\s*\(", failure.statement)):
        return None
    at = failure.source.text.rindex(match.group(), 0, failure.at)
    return Diagnostic(
        "BT404",
        f"`{match.group()}` could run without end",
        Label(failure.between(at, at + len(match.group())), "a probe must end"),
        help=("over a collection:  for x in items limit 20 { … }", "over numbers:  for i in 0..10 { … }"),
    )


def delete_in_brackets(failure: Failure) -> Diagnostic | None:
    if not re.search(r"(?<![\w.$@])delete$", failure.before):
        return None
    call = re.match(r"\(\s*(@\w*)\s*(\[[^\]\n]*\])?\s*(?:,\s*([^()\n]+?)\s*)?\)", failure.rest)
    if call is None:
        return None
    replacement = call[1] + (call[2] or (f"[{call[3]}]" if call[3] else ""))
    place = failure.ahead(call.end())
    if replacement == call[1]:
        return advised("BT016", "`delete` takes a key", place, f"to empty the whole map:   clear({replacement})")
    return Diagnostic(
        "BT016",
        "`delete` is a statement, not a function",
        Label(place),
        help=(f"write delete {replacement}",),
        fixes=(Fix(place, f" {replacement}"),),
    )


def conditional(failure: Failure) -> Diagnostic | None:
    """``a if c else b``, ``print(a) if c``"""
    word = re.match(r"if\s+([^{};]+?)\s+else\s+([^{};,)]+)", failure.rest)
    if "MUL_OP" not in failure.accepts:
        return None
    if word is None:
        return _condition_behind(failure)
    value = re.search(r"(\"[^\"\n]*\"|[\w.$@]+)$", failure.before)
    text = expression_in_our_words(value[1]) if value is not None else "…"
    return advised(
        "BT016",
        "`if` is not an operator here",
        failure.span,
        f"write {expression_in_our_words(word[1])} ? {text} : {expression_in_our_words(word[2].rstrip())}",
    )


def _condition_behind(failure: Failure) -> Diagnostic | None:
    """``print(a) if c``: the statement is on one line, and no block follows"""
    inside = re.match(r"if\s+([^{};,()\n]+?)\s*\)", failure.rest)
    if inside is not None and failure.before.count("(") > failure.before.count(")"):
        return advised(
            "BT016",
            "`if` is not an operator here",
            failure.ahead(len("if")),
            f"write {expression_in_our_words(inside[1])} ? … : null",
        )
    word = re.match(r"(if|unless)\s+([^{};\n]+?)\s*(?=[;}\n])", failure.rest)
    statement = failure.statement
    if word is None or not statement or statement.startswith("if") or "SEMICOLON" not in failure.accepts:
        return None
    condition = expression_in_our_words(word[2])
    return advised(
        "BT016",
        "a condition must stand before its statement",
        failure.ahead(len(word[1])),
        f"write if {condition if word[1] == 'if' else f'!({condition})'} {{ {statement} }}",
    )


def body_without_braces(failure: Failure) -> Diagnostic | None:
    if "LBRACE" not in failure.accepts or "SEMICOLON" in failure.accepts or "{" in failure.before:
        return None
    if not re.search(r"\bwhen\b|::|^@[A-Z]", failure.before) or not _STATEMENT.match(failure.rest):
        return None
    return Diagnostic(
        "BT001",
        "a body must be in braces",
        Label(failure.span, BRACE_EXPECTED),
        help=("a probe is:  com.acme.Foo::bar @return when duration > 10ms { print(arg0) }",),
    )


def deleted(failure: Failure) -> Diagnostic | None:
    """``del @n[k]``, ``unset(@n)``: the word was read as a name"""
    word = re.search(r"(?<![\w.$@])(del|unset|remove)$", failure.before)
    if word is None or not failure.rest.startswith("@"):
        return None
    target = re.match(r"@\w*(\[[^\]\n]*\])?", failure.rest)
    assert target is not None
    place = failure.behind(len(word[1]))
    if target[1]:
        return rewritten("BT016", f"there is no `{word[1]}` here", place, "delete")
    return advised("BT016", f"there is no `{word[1]}` here", place, f"write clear({target[0]})")


def comment_in_the_way(failure: Failure) -> Diagnostic | None:
    """``when #cost > 10 { … }``: the rest of the line is a comment."""
    after = re.match(r"\s*(#)(?=[\w$])", failure.source.text[failure.at :])
    if failure.token != END or after is None:
        return None
    at = failure.at + after.start(1)
    return Diagnostic(
        "BT001",
        "`#` begins a comment",
        Label(failure.between(at, at + 1), "the rest of the line is not code"),
        help=COMMENT_MEANT["#"],
    )


def statement_of_others(failure: Failure) -> Diagnostic | None:
    """``throw x``, ``try { … }``: the word was read as a name."""
    word = re.match(r"([A-Za-z]+)\b", failure.statement)
    if failure.before.endswith("{") and word is None:
        word = re.search(r"([A-Za-z]+)\s*\{$", failure.before)
    if word is None or "{" not in failure.before or word[1] not in FORMS:
        return None
    action = word[1] == failure.statement and word[1].isupper()  # a statement of Byteman, as in RETURN null
    if not (action or word[1].islower()):
        return None
    at = failure.source.text.rindex(word[1], failure.start, failure.at)
    return advised("BT016", f"there is no `{word[1]}` here", failure.between(at, at + len(word[1])), FORMS[word[1]])


def single_equals(failure: Failure) -> Diagnostic | None:
    if not re.match(r"=(?!=)", failure.rest) or "EQ_OP" not in failure.accepts:
        return None
    span = failure.ahead(1)
    return rewritten("BT016", "`=` does not compare", span, "==")


def missing_braces(failure: Failure) -> Diagnostic | None:
    if not re.match(r"if\b|\s*else\b", failure.statement) or "LBRACE" not in failure.accepts:
        return None
    if failure.rest.startswith("{"):
        return None
    return Diagnostic(
        "BT001",
        "`if` and `else` need braces",
        Label(failure.span, BRACE_EXPECTED),
        help=("write if … { … } else { … }",),
    )


_STATEMENT = re.compile(r"(?:let|if|for|delete|return)\b|[A-Za-z_]\w*\s*\(|@[a-z_]|thread\.")


def missing_semicolon(failure: Failure) -> Diagnostic | None:
    if "SEMICOLON" not in failure.accepts or not failure.before:
        return None
    if failure.token == END and re.match(r"(?:import|use|param|map)\b[^{}]*$", failure.before):
        return _semicolon_after_previous(failure)
    inside = "RBRACE" in failure.accepts and _STATEMENT.match(failure.rest) is not None
    if not (inside or starts_line(failure.source.text, failure.at)):
        return None
    return _semicolon_after_previous(failure)


def _semicolon_after_previous(failure: Failure) -> Diagnostic:
    place = failure.after_previous
    return Diagnostic(
        "BT001",
        "a `;` is missing",
        Label(place, "`;` expected here"),
        fixes=(Fix(failure.between(place.start, place.start), ";"),),
    )


def aggregation_by(failure: Failure) -> Diagnostic | None:
    """``@n = count() by (cls)``"""
    by = re.match(r"by\s*\(?\s*([\w.$, ]*\w)\s*\)?", failure.rest)
    store = re.search(r"(@\w*)\s*=\s*(\w+\([^()]*\))$", failure.before)
    if by is None or store is None:
        return None
    return advised(
        "BT016", "keys belong to the map, before the `=`", failure.ahead(2), f"write {store[1]}[{by[1]}] = {store[2]}"
    )


_FOR_EACH_OF_OTHERS = re.compile(
    r"(foreach|forEach)\s*\(\s*\[?([\w, ]+?)\]?\s+(?:in|as|of)\s+([^()]+?)[-+]?(?:\s*limit\s+(\d+)\s*)?\)"
)


def foreach(failure: Failure) -> Diagnostic | None:
    """``foreach (k in @m) { … }``"""
    word = re.search(r"\b(?:foreach|forEach)\b", failure.statement)
    if word is None:
        return None
    start = failure.source.text.rindex(word[0], failure.start, failure.at)
    loop = _FOR_EACH_OF_OTHERS.match(failure.source.text, start)
    if loop is None:
        return None
    return advised(
        "BT016",
        f"there is no `{loop[1]}` here",
        failure.between(start, start + len(loop[1])),
        f"write for {loop[2].strip()} in {loop[3].strip()} limit {loop[4] or 100} {{ … }}",
    )


def word_of_others(failure: Failure) -> Diagnostic | None:
    """``import time``, ``lambda x: x``, ``assert x``: a word that was read as a name, and the text after it"""
    word = re.search(
        r"(?<![\w.$@])(import|from|lambda|assert|pass|next|yield|await|async|goto|global|nonlocal|with)$",
        failure.before,
    )
    if word is None or "{" not in failure.before or not re.match(r"[\w$@\"(]", failure.rest):
        return None
    return advised("BT016", f"there is no `{word[1]}` here", failure.behind(len(word[1])), FORMS[word[1]])


def delete_of_a_name(failure: Failure) -> Diagnostic | None:
    """``delete counts``"""
    name = re.match(r"([A-Za-z_]\w*)(\[[^\]\n]*\])?", failure.rest)
    if name is None or not re.search(r"(?<![\w.$@])delete$", failure.before):
        return None
    replacement = f"delete @{name[1]}{name[2]}" if name[2] else f"clear(@{name[1]})"
    return advised(
        "BT016",
        "a map must have an @ before its name",
        failure.ahead(name.end()),
        f"write {replacement}",
        *(() if name[2] else (f"one key:  delete @{name[1]}[key]",)),
    )
