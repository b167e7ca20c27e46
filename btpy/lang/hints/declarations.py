"""Errors in items that are not probes: imports, functions, maps and variables.

Each function examines the place where the parser stopped, and returns the diagnostic for one mistake or None.
"""

from __future__ import annotations

import re
from dataclasses import replace

from btpy.lang.hints.failure import Failure, advised, rewritten
from btpy.model.diagnostics import Diagnostic, Fix, Label

_BTRACE_STATE = re.compile(
    r"@(TLS|Export|Property)\b(?:\s*\([^()]*\))?\s*(?:(?:public|private|static|final|volatile)\s+)*"
    r"[A-Za-z_][\w.]*(?:<[\w\s.,<>?]*>)?\s+([A-Za-z_]\w*)"
)


def btrace_state(failure: Failure) -> Diagnostic | None:
    """``@TLS long start;``, ``@Export long calls;``"""
    field = _BTRACE_STATE.match(failure.source.text, failure.start)
    if field is None:
        return None
    kind, name = field.groups()
    shared = (
        f"all threads share maps, which need no declaration:  @{name[0].lower()}{name[1:]} += 1",
        "the values of the map are printed at the end, and where a script calls print(@name)",
    )
    advice = (f"write thread.{name} where it is used; the variable exists from its first assignment on",)
    return advised(
        "BT011", f"`@{kind}` is BTrace's form", failure.between(*field.span()), *(advice if kind == "TLS" else shared)
    )


_DECLARATION = re.compile(
    r"(?!(?:let|return|if|else|for|delete)\b)"
    r"(?:(?:final|const|static)\s+)?[A-Za-z_][\w.]*(?:\s*<[\w\s.,<>?]*>)?(?:\s*\[\s*\])*\s+([A-Za-z_]\w*)(?=\s*=(?!=))"
)


_ANNOTATED = re.compile(r"([A-Za-z_]\w*)\s*(:)\s*[A-Za-z_][\w.\[\] ]*(?=\s=(?!=))")


def typed_variable(failure: Failure) -> Diagnostic | None:
    """``String name = …``, ``List<String> name = …``, ``name: str = …``, in a body or between the items."""
    if not failure.before:
        return _shared_variable(failure)
    start = failure.source.text.rindex(failure.statement, failure.start, failure.at)
    annotated = _ANNOTATED.match(failure.source.text, start)
    if annotated is not None and annotated.start(2) == failure.at:
        place = failure.between(start, annotated.end())
        return rewritten("BT016", "a variable must be declared by `let`", place, f"let {annotated[1]}")
    match = _DECLARATION.match(failure.source.text, start)
    if match is None or failure.source.text.index("=", match.end()) < failure.at:
        return None
    place = failure.between(start, match.end())
    replacement = f"let {match[1]}"
    constructor = re.match(r"\s*=\s*new\s+\w*(Map|List|Set|Adder|Integer|Long)\b", failure.source.text[match.end() :])
    problem = rewritten("BT016", "a variable must be declared by `let`", place, replacement)
    if constructor is not None:
        return replace(
            problem, help=(f"a probe creates no objects; a map exists without one:  @{match[1]}[key] = …",), fixes=()
        )
    return problem


def _name_of_map(name: str) -> str:
    """The name for a map, which begins with a lower-case letter."""
    return name.lower() if name.isupper() else name[0].lower() + name[1:]


def _shared_variable(failure: Failure) -> Diagnostic | None:
    """``int calls = 0;`` outside of all probes."""
    outside = re.match(r"(?:[A-Za-z]\w*\s+)+([A-Za-z_]\w*)(?:\[[\w\s,]*\])*\s*(?:=(?!=)|;)", failure.rest)
    if failure.before or outside is None:
        return None
    return Diagnostic(
        "BT001",
        "this stands outside of all probes",
        Label(failure.ahead(outside.end(1)), "a probe or a declaration is expected here"),
        help=(
            f"all probes share maps, which need no declaration:  @{_name_of_map(outside[1])} = …",
            "a parameter can be set on the command line:  param name = 5;",
        ),
    )


def declared_for_a_thread(failure: Failure) -> Diagnostic | None:
    """``self int depth;``, ``this string x;`` outside of probes"""
    match = re.match(r"(self|this)\s+\w+\s*\*?\s+(\w+)\s*;", failure.rest)
    if failure.before or match is None:
        return None
    replacement = f"thread.{match[2]} = …" if match[1] == "self" else f"let {match[2]} = …"
    return advised(
        "BT016",
        f"`{match[1]}` declares nothing here",
        failure.ahead(match.end() - 1),
        f"leave the declaration out, and write {replacement}  in the body",
    )


_ITEMS_OF_OTHERS = {
    "package": "leave it out: a script has no package",
    "with": "write a probe as its point and a body:  com.acme.Foo::bar { … }",
    "module": "leave it out: a script is a file",
    "namespace": "leave it out: a script is a file",
    "include": "to import a library:  import btpy.jdbc;",
    "class": "leave it out: a script is a list of probes",
    "trace": "write a probe as its point and a body:  com.acme.Foo::bar { … }",
    "on": "write a probe as its point and a body:  com.acme.Foo::bar { … }",
}


def item_of_others(failure: Failure) -> Diagnostic | None:
    """``package com.acme;``, ``with A::b { … }``"""
    word = re.match(r"([a-z]+)(?=\s+[\w\"<+@/])", failure.rest)
    if failure.before or word is None or word[1] not in _ITEMS_OF_OTHERS:
        return None
    return advised("BT016", f"there is no `{word[1]}` here", failure.ahead(word.end()), _ITEMS_OF_OTHERS[word[1]])


def function(failure: Failure) -> Diagnostic | None:
    word = re.match(r"(def|function|func|fun|sub|proc|macro|inline)\s+([A-Za-z_]\w*)(\s+\w+\s*=)?", failure.rest)
    if failure.before or word is None:
        return None
    if word[3] is not None:
        return _shared_variable(failure)
    return advised(
        "BT016",
        f"`{word[1]}` declares nothing here",
        failure.ahead(len(word[1])),
        f"a function is:  fn {word[2]}(int n): int = n + 1;",
        "a probe is:  com.acme.Foo::bar @return { print(retval) }",
    )


def upper_case_map(failure: Failure) -> Diagnostic | None:
    match = re.match(r"@([A-Z]\w*)", failure.rest)
    if match is None or ("MAP" not in failure.accepts and "MAPK" not in failure.accepts):
        return None
    span = failure.ahead(match.end())
    name = match.group(1)
    fixed = "@" + name[0].lower() + name[1:]
    return Diagnostic(
        "BT001",
        f"an annotation cannot stand here: `{match.group()}`",
        Label(span),
        help=(f"the names of maps start with a lower-case letter:  {fixed}",),
        fixes=(Fix(span, fixed),),
    )


def late_version(failure: Failure) -> Diagnostic | None:
    if not re.match(r"btpy\s+\d+\s*;", failure.rest):
        return None
    return Diagnostic("BT001", "the language version must come first", Label(failure.span))


def import_from(failure: Failure) -> Diagnostic | None:
    """``from btpy import jdbc;``"""
    source = re.match(r"from\s+([\w.]+)\s+import\s+(\w+)", failure.source.text[failure.start :].lstrip())
    if source is None:
        return None
    start = failure.source.text.index("from", failure.start)
    place = failure.between(start, start + source.end())
    return rewritten("BT016", "this is Python's form", place, f"import {source[1]}.{source[2]}")


def config_with_equals(failure: Failure) -> Diagnostic | None:
    """``config = { … }``"""
    if not re.match(r"config$", failure.before) or not failure.rest.startswith("="):
        return None
    return advised(
        "BT016", "settings have no `=` before their braces", failure.ahead(1), "write config { max_map_keys = 8192; }"
    )
