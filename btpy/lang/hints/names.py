"""Errors in names: parameters with `$`, maps with `@`, variables of a thread.

Each function examines the place where the parser stopped, and returns the diagnostic for one mistake or None.
"""

from __future__ import annotations

import re

from btpy.lang.hints.failure import Failure, advised, rewritten
from btpy.model.diagnostics import Diagnostic, Fix, Label


def map_in_braces(failure: Failure) -> Diagnostic | None:
    """``@x{cls} = count()``"""
    name = re.search(r"(@[a-z_]\w*)$", failure.before)
    keys = re.match(r"\{([^{}\n]*)\}\s*(?:[-+]?=|\+\+|--)", failure.rest)
    if name is None or keys is None:
        return None
    place = failure.ahead(keys.end(1) + 1)
    replacement = f"[{keys[1].strip()}]"
    return Diagnostic(
        "BT001",
        "write keys in square brackets",
        Label(place),
        help=(f"write {name[1]}{replacement}",),
        fixes=(Fix(place, replacement),),
    )


_SHELL_VARIABLES = {"$!": "retval", "$^": "exception", "$*": "args", "$@": "args"}


def bare_dollar(failure: Failure) -> Diagnostic | None:
    if not re.match(r"\$(?![A-Za-z_\d])", failure.rest) or "TARGET_VAR" not in failure.accepts:
        return None
    match = re.match(r"\$\$(parms|vars|locals|return|name)\b", failure.rest)
    if match is not None:
        replacement = {"return": "retval", "parms": "args", "name": "method"}.get(match[1], "locals()")
        notes = ("locals() is there at @line(n)",) if replacement == "locals()" else ()
        return rewritten("BT016", f"`{match[0]}` is SystemTap's form", failure.ahead(match.end()), replacement, notes)
    value = _SHELL_VARIABLES.get(failure.rest[:2])
    if value is not None and re.match(r"..\s*=(?!=)", failure.rest):
        return Diagnostic("BT401", "the traced program is read-only", Label(failure.ahead(2), "cannot be assigned"))
    if value is not None:
        return rewritten("BT016", f"`{failure.rest[:2]}` is Byteman's form", failure.ahead(2), value)
    if failure.rest.startswith("$#"):
        return advised(
            "BT016",
            "`$#` is Byteman's form",
            failure.ahead(2),
            "choose the number of parameters by the overload:  com.acme.Foo::bar(int, String)",
            "of a list or an array:  len(x)",
        )
    return advised(
        "BT001",
        "a name follows `$`",
        failure.span,
        "a parameter of the traced method by its name:  $customer",
        "by its number:  arg0",
    )


def dollar_of_a_variable(failure: Failure) -> Diagnostic | None:
    """``let $x = 1``"""
    name = re.match(r"\$([A-Za-z_]\w*)", failure.rest)
    if name is None or not re.search(r"(?<![\w.$@])(?:let|for)$", failure.before):
        return None
    return rewritten("BT016", "`$` is only for names of the traced method", failure.ahead(name.end()), name[1])


def positional(failure: Failure) -> Diagnostic | None:
    name = re.match(r"\$(\d+)", failure.rest)
    if name is None:
        return None
    field = re.search(r"(?<![\w.$@])\$?([A-Za-z_]\w*)$", failure.source.text[failure.start : failure.at])
    if field is not None:
        span = failure.between(failure.at - len(field[0]), failure.at + name.end())
        return rewritten("BT016", "a field belongs to an object", span, f"self.{field[1]}{name[0]}")
    return advised(
        "BT016",
        f"`{name[0]}` is the shell's form",
        failure.ahead(name.end()),
        f"arguments of the method count from 0:  arg{max(int(name[1][:3]) - 1, 0)}, or by name:  $name",
        *(("the object is `self`",) if name[1] == "0" else ()),
        "a value from the command line is a parameter:  param name = 5;  and  --name 7",
    )


def bare_thread(failure: Failure) -> Diagnostic | None:
    word = re.search(r"(?<![\w.$@])thread$", failure.before)
    if word is None or failure.rest.startswith("."):
        return None
    return advised(
        "BT001",
        "`thread` alone is not a value",
        failure.behind(len("thread")),
        "its name is `thread_name`, its number `tid`",
        "thread.x keeps a value for each thread:  thread.x = nanos",
    )


_OF_STATISTICS = {"hist_log": "hist(value)", "hist_linear": "lhist(value, min, max, step)"}
_OPERATORS_OF_SYSTEMTAP = {
    "entry": "entry(value)",
    "defined": "nothing: btpy checks names before the probe runs; a test for null is  x != null",
    "cast": "value as com.acme.Foo",
    "var": "$name, or self.field",
    "perf": "nothing: there are no counters of the processor here",
}


def called_map(failure: Failure) -> Diagnostic | None:
    """``@count(x)``: an operator of SystemTap's; ``@java.lang.System@getProperty("x")``: OGNL"""
    dotted = re.search(r"@([a-z]\w*(?:\.\w+)+)$", failure.before)
    static = re.match(r"@(\w+)\s*(\()?", failure.rest)
    if dotted is not None and static is not None:
        span = failure.between(failure.behind(len(dotted[0])).start, failure.at + static.end())
        helps = ['a property of the JVM:  property("user.dir")'] if "System" in dotted[1] else []
        return advised(
            "BT016",
            "this is OGNL's form of a static member",
            span,
            *helps,
            "a probe cannot call static methods; the result of a method is `retval` at @return",
        )
    name = re.search(r"@([a-z_]\w*)$", failure.before)
    if name is None or not failure.rest.startswith("("):
        return None
    place = failure.behind(len(name[0]))
    if name[1] in _OPERATORS_OF_SYSTEMTAP:
        return advised(
            "BT016", f"`{name[0]}(…)` is SystemTap's form", place, f"write {_OPERATORS_OF_SYSTEMTAP[name[1]]}"
        )
    replacement = _OF_STATISTICS.get(name[1], f"{name[1]}()" if name[1] == "count" else f"{name[1]}(value)")
    return advised(
        "BT016",
        f"`{name[0]}` is a map: it cannot be called",
        place,
        f"store the aggregation:  @name = {replacement}",
        "and print it:  print(@name)",
    )
