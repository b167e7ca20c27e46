"""Slips that a parser cannot name: forms of other languages, and a few of our own.

Each function looks at the place where the parser stopped and gives the diagnostic for one slip, or None.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from btpy.lang.builtins import ANNOTATIONS
from btpy.lang.diagnostics import Diagnostic, Fix, Label
from btpy.lang.foreign import BPFTRACE_PROBE, LOCATIONS_OF_BTRACE, VARIABLES_OF_BTRACE
from btpy.lang.parameters import UNITS
from btpy.lang.scanner import starts_line
from btpy.lang.source import Source, Span
from btpy.values import dataclass


@dataclass(frozen=True, slots=True)
class Failure:
    """Where the parser stopped. ``accepts``: names of terminals that could have stood there."""

    source: Source
    start: int  # of the item
    at: int
    end: int  # of the text that is in the way
    token: str  # terminal name, "" where no token could be read
    accepts: frozenset[str]

    @property
    def span(self) -> Span:
        return Span(self.source, self.at, self.end)

    @property
    def rest(self) -> str:
        return self.source.text[self.at : self.at + 400]

    @property
    def before(self) -> str:
        """Text of the item before the place, at most 400 characters, without blanks at its end."""
        return self.source.text[max(self.start, self.at - 400) : self.at].rstrip()

    @property
    def statement(self) -> str:
        """What stands between the last ``;``, ``{`` or ``}`` and the place."""
        return re.split(r"[;{}]", self.before)[-1].strip()

    @property
    def after_previous(self) -> Span:
        end = len(self.source.text[: self.at].rstrip())
        return Span(self.source, end, end + 1)


def _btrace_location(failure: Failure) -> Diagnostic | None:
    match = re.match(r"@Location\s*\(\s*(?:value\s*=\s*)?(?:Kind\s*\.\s*)?(\w+)[^()]*\)?", failure.rest)
    if match is None:
        return None
    location = LOCATIONS_OF_BTRACE.get(match.group(1), match.group(1))
    span = Span(failure.source, failure.at, failure.at + match.end())
    simple = re.fullmatch(r"@Location\s*\(\s*(?:value\s*=\s*)?(?:Kind\s*\.\s*)?\w+\s*\)", match.group()) is not None
    help_ = (
        f"write location={location}"
        if simple
        else f"write location={location}(…) with class=, method=, type= or field="
    )
    return Diagnostic(
        "BT011",
        "this is BTrace's form of a location",
        Label(span),
        help=(help_,),
        notes=_btrace_throw_note(match.group(1)),
        fixes=(Fix(span, location),) if simple else (),
    )


def _btrace_throw_note(kind: str) -> tuple[str, ...]:
    if kind == "ERROR":
        return ("THROW: an exception leaves the method; RAISE: a `throw` statement runs",)
    if kind == "THROW":
        return ("BTrace's Kind.THROW is RAISE here; THROW means that an exception leaves the method",)
    return ()


def _btrace_parameter(failure: Failure) -> Diagnostic | None:
    match = re.match(r"@[A-Z]\w*", failure.rest)
    if match is None or match.group() not in VARIABLES_OF_BTRACE:
        return None
    name = VARIABLES_OF_BTRACE[match.group()]
    return Diagnostic(
        "BT011",
        f"`{match.group()}` is BTrace's form",
        Label(Span(failure.source, failure.at, failure.at + match.end())),
        help=(f"leave the parameter out and use `{name}` in the body",),
    )


def _btrace_class(failure: Failure) -> Diagnostic | None:
    head = failure.source.text[failure.start : failure.at + 40]
    if not re.match(r"\s*(@BTrace\b|import\s+(static\s+)?[\w.]+\s*\.?\*?|public\b|static\b)", head):
        return None
    if not re.match(r"(public|static|class|import|void|\.?\*)", failure.rest) and "@BTrace" not in head:
        return None
    return Diagnostic(
        "BT011",
        "this is BTrace's form: a Java class",
        Label(failure.span),
        help=(
            'a script is a list of probes:  @OnMethod(class="…", method="…", location=RETURN) { … }',
            "what was a static method with parameters is a probe head:  probe name(String arg, int n)",
        ),
    )


def _btrace_method(failure: Failure) -> Diagnostic | None:
    if not re.match(r"(public|private|static|void)\b", failure.rest) or not failure.before.endswith(")"):
        return None
    return Diagnostic(
        "BT011",
        "this is BTrace's form: a Java method",
        Label(failure.span),
        help=("the body follows the annotation:  @OnMethod(…) { … }",),
    )


def _bpftrace_predicate(failure: Failure) -> Diagnostic | None:
    match = re.match(r"/([^/\n]*)/\s*(?=\{)", failure.rest)
    if match is None:
        return None
    span = Span(failure.source, failure.at, failure.at + len(match.group().rstrip()))
    written = match.group(1).strip()
    return Diagnostic(
        "BT012",
        "this is bpftrace's form of a predicate",
        Label(span),
        help=(f"write when {written}",),
        fixes=(Fix(span, f"when {written}"),),
    )


_BPFTRACE_PROBE = re.compile(rf"({BPFTRACE_PROBE}|BEGIN|END|begin|end)(:[\w:./*]*|(?=\s*\{{))")


def _bpftrace_probe(failure: Failure) -> Diagnostic | None:
    match = _BPFTRACE_PROBE.match(failure.source.text, failure.start)
    if match is None:
        return None
    word = match.group(1)
    help_ = {
        "BEGIN": ("write @OnBegin { … }",),
        "END": ("write @OnEnd { … }",),
        "begin": ("write @OnBegin { … }",),
        "end": ("write @OnEnd { … }",),
        "interval": ("write @OnTimer(5s) { … }",),
    }.get(word, ("btpy traces Java methods:  com.acme.Foo::bar @return { … }",))
    return Diagnostic(
        "BT014", "this is bpftrace's form of a probe", Label(Span(failure.source, *match.span())), help=help_
    )


def _null_safe(failure: Failure) -> Diagnostic | None:
    if not failure.before.endswith("?") or not re.match(r"\.\s*[A-Za-z_]", failure.rest):
        return None
    question = failure.source.text.rindex("?", 0, failure.at)
    span = Span(failure.source, question, failure.at + 1)
    return Diagnostic(
        "BT013",
        "navigation is already null-safe",
        Label(span, "a `.` after null gives null"),
        help=("write a plain `.`",),
        fixes=(Fix(span, "."),),
    )


def _loop(failure: Failure) -> Diagnostic | None:
    match = re.match(r"(while|do|loop|for)\b", failure.statement)
    if match is None or (match.group() == "for" and not re.match(r"for\s*\(", failure.statement)):
        return None
    at = failure.source.text.rindex(match.group(), 0, failure.at)
    return Diagnostic(
        "BT404",
        f"`{match.group()}` could run without end",
        Label(Span(failure.source, at, at + len(match.group())), "a probe must end"),
        help=("over a collection:  for x in items limit 20 { … }", "over numbers:  for i in 0..10 { … }"),
    )


def _new(failure: Failure) -> Diagnostic | None:
    if not re.search(r"(?<![\w.$@])new$", failure.before):
        return None
    at = len(failure.source.text[: failure.at].rstrip()) - 3
    return Diagnostic("BT405", "a probe cannot create objects", Label(Span(failure.source, at, failure.end)))


_WORDS = {
    "and": "&&",
    "or": "||",
    "elif": "else if",
    "elsif": "else if",
    "elseif": "else if",
    "is": "==",
    "<>": "!=",
    "===": "==",
    "->": ".",
}


def _other_language(failure: Failure) -> Diagnostic | None:
    match = re.match(r"\w+|<>|===|->", failure.rest)
    word = match.group() if match else ""
    span = Span(failure.source, failure.at, failure.at + len(word))
    if word not in _WORDS and failure.before.endswith("=") and failure.rest.startswith("="):
        word = "==="
        at = failure.at - 2
        span = Span(failure.source, at, at + 3)
    if word not in _WORDS and failure.before.endswith("<") and failure.rest.startswith(">"):
        word = "<>"
        span = Span(failure.source, failure.at - 1, failure.at + 1)
    if word in _WORDS:
        right = _WORDS[word]
        return Diagnostic(
            "BT016",
            f"`{word}` is not an operator here",
            Label(span),
            help=(f"write {right}",),
            fixes=(Fix(span, right),),
        )
    previous = re.search(r"(?<![\w.$@])(not)$", failure.before)
    if previous is not None:
        at = len(failure.source.text[: failure.at].rstrip()) - 3
        place = Span(failure.source, at, at + 3)
        return Diagnostic(
            "BT016", "`not` is not an operator here", Label(place), help=("write !",), fixes=(Fix(place, "!"),)
        )
    return None


def _upper_case_map(failure: Failure) -> Diagnostic | None:
    match = re.match(r"@([A-Z]\w*)", failure.rest)
    if match is None or ("MAP" not in failure.accepts and "MAPK" not in failure.accepts):
        return None
    span = Span(failure.source, failure.at, failure.at + match.end())
    name = match.group(1)
    fixed = "@" + name[0].lower() + name[1:]
    return Diagnostic(
        "BT001",
        f"an annotation cannot stand here: `{match.group()}`",
        Label(span),
        help=(f"maps start with a lower-case letter:  {fixed}",),
        fixes=(Fix(span, fixed),),
    )


def _single_equals(failure: Failure) -> Diagnostic | None:
    if not re.match(r"=(?!=)", failure.rest) or "EQ_OP" not in failure.accepts:
        return None
    span = Span(failure.source, failure.at, failure.at + 1)
    return Diagnostic("BT016", "`=` does not compare", Label(span), help=("write ==",), fixes=(Fix(span, "=="),))


def _no_braces(failure: Failure) -> Diagnostic | None:
    if not re.match(r"if\b|\s*else\b", failure.statement) or "LBRACE" not in failure.accepts:
        return None
    if failure.rest.startswith("{"):
        return None
    return Diagnostic("BT001", "`if` and `else` need braces", Label(failure.span, "`{` expected before this"))


def _late_version(failure: Failure) -> Diagnostic | None:
    if not re.match(r"btpy\s+\d+\s*;", failure.rest):
        return None
    return Diagnostic("BT001", "the language version must come first", Label(failure.span))


_POINT = re.compile(
    r"([+@]?[\w.$*]+?|[\w$]+(?:/[\w$]+)+)(?:\.|#|::|:|/)([\w$*]+)\s*(?:\([^()\n]*\)\s*)?(?=@[a-z]|when\b|\{)"
)


def _item(failure: Failure) -> Diagnostic | None:
    """What begins no item: a probe point in another spelling, an annotation in lower case, a statement."""
    if failure.before:
        return None
    annotation = re.match(r"@([A-Za-z]\w*)", failure.rest)
    if annotation is not None:
        known = [f"@{name}" for name in ANNOTATIONS if name.lower() == annotation[1].lower()]
        place = Span(failure.source, failure.at, failure.at + annotation.end())
        if known:
            return Diagnostic(
                "BT001",
                "annotations start with an upper-case letter",
                Label(place),
                help=(f"write {known[0]}",),
                fixes=(Fix(place, known[0]),),
            )
    point = _POINT.match(failure.rest)
    if point is not None:
        place = Span(failure.source, failure.at, failure.at + point.end(2))
        written = f"{point[1].replace('/', '.')}::{point[2]}"
        return Diagnostic(
            "BT001",
            "a probe point is written Class::method, with dots in the name of the class",
            Label(place),
            help=(f"write {written}",),
            fixes=(Fix(place, written),),
        )
    if re.match(r"\{|[a-z_]\w*\s*\(|@[a-z_]?\w*\s*(?:\[[^\]\n]*\]\s*)?[-+=]|(?:let|if|for|delete)\b", failure.rest):
        return Diagnostic(
            "BT001",
            "this belongs to no probe",
            Label(failure.span, "here begins a probe or a declaration"),
            help=("say when it runs:  com.acme.Foo::bar @return { … }", "at once:  @OnBegin { … }"),
        )
    return None


def _overload(failure: Failure) -> Diagnostic | None:
    types = re.match(r"\(([^()\n]*)\)", failure.rest)
    point = re.search(r"([^\s;{}]+)::([^\s;{}]+)$", failure.before)
    if types is None or point is None:
        return None
    return Diagnostic(
        "BT001",
        "a probe point has no types of parameters",
        Label(Span(failure.source, failure.at, failure.at + types.end())),
        help=(f'write @OnMethod(class="{point[1]}", method="{point[2]}", type="* ({types[1]})")',),
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


def _unit(failure: Failure) -> Diagnostic | None:
    """A unit behind a blank, or one that is none here."""
    before = failure.source.text[max(failure.start, failure.at - 40) : failure.at]
    apart = re.search(r"(\d[\d_]*(?:\.\d+)?)(\s+)$", before)
    word = re.match(r"[A-Za-zµ]+\b", failure.rest)
    if apart is not None and word is not None and (word[0] in UNITS or word[0] in _UNITS_ELSEWHERE):
        place = Span(failure.source, failure.at - len(apart[0]), failure.at + word.end())
        return _misspelt(place, "a unit follows its number without a blank", apart[1], word[0])
    joined = re.match(r"(\d[\d_]*(?:\.\d+)?)([A-Za-zµ]+)\b", failure.rest)
    if joined is None:
        return None
    place = Span(failure.source, failure.at, failure.at + joined.end())
    return _misspelt(place, f"unknown unit `{joined[2]}`", joined[1], joined[2])


def _misspelt(place: Span, problem: str, number: str, unit: str) -> Diagnostic:
    known = unit if unit in UNITS else _UNITS_ELSEWHERE.get(unit)
    if known is None:
        return Diagnostic("BT001", problem, Label(place), help=(f"units are {' '.join(UNITS)}",))
    return Diagnostic(
        "BT001", problem, Label(place), help=(f"write {number}{known}",), fixes=(Fix(place, f"{number}{known}"),)
    )


_STATEMENT = re.compile(r"(?:let|if|for|delete|return)\b|[A-Za-z_]\w*\s*\(|@[a-z_]|thread\.")


def _missing_semicolon(failure: Failure) -> Diagnostic | None:
    if "SEMICOLON" not in failure.accepts or not failure.before:
        return None
    inside = "RBRACE" in failure.accepts and _STATEMENT.match(failure.rest) is not None
    if not (inside or starts_line(failure.source.text, failure.at)):
        return None
    place = failure.after_previous
    return Diagnostic(
        "BT001",
        "a `;` is missing",
        Label(place, "`;` expected here"),
        fixes=(Fix(Span(failure.source, place.start, place.start), ";"),),
    )


SLIPS: tuple[Callable[[Failure], Diagnostic | None], ...] = (
    _btrace_location,
    _btrace_parameter,
    _btrace_class,
    _btrace_method,
    _bpftrace_probe,
    _bpftrace_predicate,
    _null_safe,
    _loop,
    _new,
    _other_language,
    _upper_case_map,
    _single_equals,
    _no_braces,
    _late_version,
    _item,
    _overload,
    _unit,
    _missing_semicolon,
)
