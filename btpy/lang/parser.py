"""Source text → syntax tree, with as many independent errors as there are faulty items.

1. A scanner of brackets, quotes and comments splits the text into top-level items and finds what is never closed: it
   knows the opener, which a parser has long forgotten.
2. The whole text is parsed. If that fails, each item without a scanner error is parsed on its own, so that every item
   reports its own first error and none reports a consequence of another's.
3. An error of the parser is explained by the first of: a table of known slips (other languages' forms), examples of
   faulty text that end in the same state of the parser, the list of what could stand there.
4. Parse trees become the classes of ``syntax``; faults inside literals are found on the way.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from pkgutil import get_data
from typing import TYPE_CHECKING

from btpy.errors import ScriptError
from btpy.lang import syntax
from btpy.lang.builtins import ANNOTATIONS, LANGUAGE_VERSION
from btpy.lang.diagnostics import Diagnostic, Fix, Label, did_you_mean
from btpy.lang.source import Source, Span

if TYPE_CHECKING:
    from lark import Lark, Token
    from lark import Tree as ParseTree
    from lark.exceptions import UnexpectedInput

    Branch = ParseTree[Token]

MAX_LENGTH = (1 << 20) - 1
"""Longest script in code points: the place of a probe error is a packed :class:`Span`, which has 20 bits for its
start."""

MAX_DEPTH = 100
"""Deepest nesting of a syntax tree; the stages after the parser walk trees recursively."""

_MAX_LONG = (1 << 63) - 1
_MAX_INT = (1 << 31) - 1
_UNITS = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
    "d": 86_400_000_000_000,
    "B": 1,
    "KB": 1 << 10,
    "MB": 1 << 20,
    "GB": 1 << 30,
}


def parse(source: Source) -> syntax.Script:
    """The syntax tree of a script. Raises ``ScriptError`` with the errors of all items."""
    if len(source.text) > MAX_LENGTH:
        end = Span(source, MAX_LENGTH, MAX_LENGTH)
        raise ScriptError(
            [Diagnostic("BT008", f"the script has more than {MAX_LENGTH} characters", Label(end, "this is too far"))]
        )
    scan = _scan(source)
    diagnostics = list(scan.diagnostics)
    items: tuple[syntax.Item, ...] = ()
    if not diagnostics:
        whole = _parse_part(source, 0, len(source.text), "start")
        items = whole.items
        diagnostics = whole.diagnostics
    if diagnostics:
        diagnostics = list(scan.diagnostics) or diagnostics
        parts = [_parse_part(source, item.start, item.end, "item") for item in scan.items if not item.faulty]
        found = [diagnostic for part in parts for diagnostic in part.diagnostics]
        if found or scan.diagnostics:
            diagnostics = [*scan.diagnostics, *found]
        raise ScriptError(sorted(diagnostics, key=lambda diagnostic: diagnostic.primary.span.start))
    return syntax.Script(items, _leading_comment(source.text))


def tokens(source: Source) -> Iterator[tuple[str, str, int]]:
    """Terminal name, text and offset of each token of a script that parses; comments are none."""
    for token in _lark().parse_interactive(source.text, start="start").iter_parse():
        yield token.type, str(token), token.start_pos or 0


def is_complete(text: str) -> bool:
    """Whether a prompt may submit ``text``: every bracket, string and comment in it is closed."""
    return not any(problem.code in ("BT002", "BT005") for problem in _scan(Source("<input>", text)).diagnostics)


# ---------------------------------------------------------------- brackets, quotes, comments

_POINT = r"(?:[+@]?[\w.$*?<>^-]+|/(?:[^/\\\n]|\\.)+/)::(?:@?[\w.$*?<>^-]+|/(?:[^/\\\n]|\\.)+/)"
_SCAN = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<comment>(?://|\#)[^\n]*|/\*.*?\*/)
    | (?P<open_comment>/\*)
    | (?P<fstring>f"(?:[^"\\\n{}]|\\[^\n]|\{\{|\}\}|\{(?:[^"{}\n]|"(?:[^"\\\n]|\\[^\n])*")*\})*")
    | (?P<bad_fstring>f"(?:[^"\\\n]|\\[^\n])*")
    | (?P<string>"(?:[^"\\\n]|\\[^\n])*")
    | (?P<open_string>f?"[^\n]*)
    | (?P<quoted>'[^'\n]*')
    | (?P<annotation>@[A-Z]\w*)
    | (?P<word>[\w$]+)
    | (?P<open>[(\[{])
    | (?P<close>[)\]}])
    | (?P<end>;)
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_POINT_AT = re.compile(_POINT)
_CLOSER = {"(": ")", "[": "]", "{": "}"}


@dataclass(slots=True)
class _Item:
    start: int
    end: int
    faulty: bool = False


@dataclass(frozen=True, slots=True)
class _Scan:
    items: list[_Item]
    diagnostics: list[Diagnostic]


def _scan(source: Source) -> _Scan:
    """Top-level items and at most one error for each of them."""
    text = source.text
    items: list[_Item] = []
    diagnostics: list[Diagnostic] = []
    openers: list[int] = []
    current: _Item | None = None
    previous_end = 0
    at = 0

    def fail(diagnostic: Diagnostic) -> None:
        nonlocal current
        if current is None:
            current = _Item(at, at)
        if not current.faulty:
            diagnostics.append(diagnostic)
        current.faulty = True

    def finish(end: int) -> None:
        nonlocal current
        if current is not None:
            current.end = end
            items.append(current)
        current = None
        openers.clear()

    while at < len(text):
        match = (_POINT_AT.match(text, at) if current is None else None) or _SCAN.match(text, at)
        if match is None:  # the pattern ends in "any character"
            raise AssertionError("the scanner stopped")
        kind = match.lastgroup or "point"
        end = match.end()
        here = Span(source, at, end)
        if kind in ("space", "comment"):
            at = end
            continue
        if kind == "annotation" and openers and match.group()[1:] in ANNOTATIONS and _starts_line(text, at):
            fail(_unclosed(source, openers[-1], previous_end, here, "the next probe starts here"))
            finish(previous_end)
        if current is None:
            current = _Item(at, end)
        if kind == "open":
            if match.group() == "{" and openers and text[openers[-1]] != "{":
                fail(_unclosed(source, openers[-1], previous_end, here, "parsing stopped at this `{`"))
                while openers and text[openers[-1]] != "{":
                    openers.pop()
            openers.append(at)
        elif kind == "close":
            closer = match.group()
            if any(_CLOSER[text[opener]] == closer for opener in openers):
                if _CLOSER[text[openers[-1]]] != closer:
                    fail(_unclosed(source, openers[-1], previous_end, here, f"parsing stopped at this `{closer}`"))
                while _CLOSER[text[openers.pop()]] != closer:
                    pass
            else:
                fail(
                    Diagnostic(
                        "BT003",
                        f"this `{closer}` closes nothing",
                        Label(here, "no opening bracket for it"),
                        (Label(Span(source, openers[-1], openers[-1] + 1), "still open"),) if openers else (),
                    )
                )
            if closer == "}" and not openers:
                finish(end)
        elif kind == "end":
            if openers and text[openers[-1]] != "{":
                fail(_unclosed(source, openers[-1], previous_end, here, "parsing stopped at this `;`"))
                while openers and text[openers[-1]] != "{":
                    openers.pop()
            if not openers:
                finish(end)
        elif kind == "open_comment":
            fail(Diagnostic("BT005", "this comment is never closed", Label(Span(source, at, at + 2), "opened here")))
            end = len(text)
            openers.clear()
        elif kind == "open_string":
            fail(
                Diagnostic(
                    "BT004",
                    "this string is never closed",
                    Label(Span(source, at, at + len(match.group().rstrip())), 'no `"` before the end of the line'),
                )
            )
        elif kind == "bad_fstring":
            fail(_brace_fault(source, at, end))
        elif kind == "quoted":
            fixed = '"' + match.group()[1:-1].replace('"', '\\"') + '"'
            fail(
                Diagnostic(
                    "BT004",
                    "strings are written in double quotes",
                    Label(here),
                    help=(f"write {fixed}",),
                    fixes=(Fix(here, fixed),),
                )
            )
        at = previous_end = end
    if openers:
        fail(_unclosed(source, openers[-1], previous_end, None, ""))
    finish(previous_end)
    return _Scan(items, diagnostics)


def _starts_line(text: str, at: int) -> bool:
    return not text[text.rfind("\n", 0, at) + 1 : at].strip()


def _unclosed(source: Source, opener: int, previous_end: int, stop: Span | None, stopped: str) -> Diagnostic:
    bracket = source.text[opener]
    labels = []
    if stop is not None and stop.start - previous_end <= 1 and "\n" not in source.text[previous_end : stop.start]:
        labels.append(Label(stop, f"help: `{_CLOSER[bracket]}` expected before this"))
    else:
        if previous_end > opener + 1:
            expected = Span(source, previous_end, previous_end + 1)
            labels.append(Label(expected, f"help: `{_CLOSER[bracket]}` expected here"))
        if stop is not None:
            labels.append(Label(stop, stopped))
    return Diagnostic(
        "BT002",
        f"this `{bracket}` is never closed",
        Label(Span(source, opener, opener + 1), "opened here"),
        tuple(labels),
    )


def _brace_fault(source: Source, start: int, end: int) -> Diagnostic:
    """An f-string whose braces do not match: points at the brace."""
    opener: int | None = None
    at = start + 2
    while at < end - 1:
        pair = source.text[at : at + 2]
        if opener is None and pair in ("{{", "}}"):
            at += 2
            continue
        if source.text[at] == "{":
            if opener is not None:
                break
            opener = at
        elif source.text[at] == "}":
            if opener is None:
                return Diagnostic(
                    "BT010",
                    "this `}` closes nothing in the f-string",
                    Label(Span(source, at, at + 1)),
                    help=("a brace that is meant as text is written twice: }}",),
                )
            opener = None
        at += 1
    place = start if opener is None else opener
    return Diagnostic(
        "BT010",
        "this `{` is never closed in the f-string",
        Label(Span(source, place, place + 1)),
        help=("a brace that is meant as text is written twice: {{",),
    )


def _leading_comment(text: str) -> str:
    """The first comment block of a file, without shebang line and comment marks."""
    lines: list[str] = []
    at = len(text.partition("\n")[0]) + 1 if text.startswith("#!") else 0
    while match := _SCAN.match(text, at):
        kind, found = match.lastgroup, match.group()
        if kind == "space":
            if lines and found.count("\n") > 1:
                break
        elif kind == "comment":
            body = found[2:-2].strip("*") if found.startswith("/*") else found.lstrip("/#")
            lines += [re.sub(r"^\s*\* ?|^ ", "", line).rstrip() for line in body.split("\n")]
        else:
            break
        at = match.end()
    return "\n".join(lines).strip("\n")


# ---------------------------------------------------------------- the parser


@lru_cache(maxsize=1)
def _lark() -> Lark:
    from lark import Lark

    data = get_data("btpy.lang", "grammar.lark")
    if data is None:
        raise FileNotFoundError("btpy/lang/grammar.lark is missing from this installation")
    grammar = data.decode()
    return Lark(
        grammar,
        parser="lalr",
        start=["start", "item", "expr"],
        propagate_positions=True,
        maybe_placeholders=True,
        cache=_cache_file(grammar) or False,
    )


def _cache_file(grammar: str) -> str | None:
    """Where Lark keeps its tables. They are pickled, so the directory must be ours alone; else nothing is cached."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    directory = Path(base) / "btpy"
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = directory.stat()
    except OSError:
        return None
    if hasattr(os, "getuid") and (
        status.st_uid != os.getuid()
        or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        or not os.access(directory, os.W_OK)
    ):
        return None
    return str(directory / f"grammar-{sha256(grammar.encode()).hexdigest()[:16]}.lark")


@dataclass(frozen=True, slots=True)
class _Part:
    items: tuple[syntax.Item, ...]
    diagnostics: list[Diagnostic]


def _parse_part(source: Source, start: int, end: int, rule: str) -> _Part:
    from lark.exceptions import UnexpectedInput

    try:
        tree = _lark().parse(source.text[start:end], start=rule)
    except UnexpectedInput as error:
        return _Part((), [_explain(source, start, end, error)])
    too_deep = _too_deep(source, start, tree)
    if too_deep is not None:
        return _Part((), [too_deep])
    builder = _Builder(source, start)
    items = tuple(builder.item(each) for each in _branches(tree.children))
    return _Part(items, builder.diagnostics)


def _branches(children: Iterable[object]) -> Iterator[Branch]:
    from lark import Tree as ParseTree

    return (child for child in children if isinstance(child, ParseTree))


def _too_deep(source: Source, base: int, tree: Branch) -> Diagnostic | None:
    level: list[Branch] = [tree]
    for _ in range(MAX_DEPTH):
        level = [child for branch in level for child in _branches(branch.children)]
        if not level:
            return None
    place = Span(source, base + level[0].meta.start_pos, base + level[0].meta.end_pos)
    return Diagnostic("BT009", f"nested more than {MAX_DEPTH} deep", Label(place))


# ---------------------------------------------------------------- explaining errors


@dataclass(frozen=True, slots=True)
class _Failure:
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


def _explain(source: Source, base: int, end: int, error: UnexpectedInput) -> Diagnostic:
    from lark.exceptions import UnexpectedToken

    accepts: Iterable[str]
    if isinstance(error, UnexpectedToken):
        # `accepts` is absent when the contextual lexer raised the error
        accepts = error.accepts or error.expected or ()
        token = error.token.type
        text = "" if token == "$END" else str(error.token)
    else:
        accepts = getattr(error, "allowed", None) or ()
        token, text = "", source.text[base + (error.pos_in_stream or 0)][:1]
    if token == "$END":
        at = base + len(source.text[base:end].rstrip())
    else:
        at = base + (error.pos_in_stream or 0)
    failure = _Failure(source, base, at, at + max(len(text), 1), token, frozenset(accepts))
    for slip in _SLIPS:
        diagnostic = slip(failure)
        if diagnostic is not None:
            return diagnostic
    message = error.match_examples(_parse_example, _EXAMPLES, use_accepts=True)
    if message is not None:
        return Diagnostic("BT001", message, Label(failure.after_previous if token == "$END" else failure.span))
    return _expected(failure)


def _parse_example(text: str) -> Branch:
    return _lark().parse(text, start="item")


_BTRACE_KINDS = {
    "ENTRY": "ENTRY",
    "RETURN": "RETURN",
    "ERROR": "THROW",
    "THROW": "RAISE",
    "CATCH": "CATCH",
    "CALL": "CALL",
    "LINE": "LINE",
    "NEW": "NEW",
    "NEWARRAY": "NEWARRAY",
    "FIELD_GET": "FIELD_GET",
    "FIELD_SET": "FIELD_SET",
    "ARRAY_GET": "ARRAY_GET",
    "ARRAY_SET": "ARRAY_SET",
    "CHECKCAST": "CAST",
    "INSTANCEOF": "INSTANCEOF",
    "SYNC_ENTRY": "SYNC_ENTER",
    "SYNC_EXIT": "SYNC_EXIT",
}
_BTRACE_PARAMETERS = {
    "@Self": "self",
    "@Return": "retval",
    "@Duration": "duration",
    "@ProbeClassName": "cls",
    "@ProbeMethodName": "method",
    "@TargetInstance": "target",
    "@TargetMethodOrField": "target_method",
}


def _btrace_location(failure: _Failure) -> Diagnostic | None:
    match = re.match(r"@Location\s*\(\s*(?:value\s*=\s*)?(?:Kind\s*\.\s*)?(\w+)[^()]*\)?", failure.rest)
    if match is None:
        return None
    location = _BTRACE_KINDS.get(match.group(1), match.group(1))
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


def _btrace_parameter(failure: _Failure) -> Diagnostic | None:
    match = re.match(r"@[A-Z]\w*", failure.rest)
    if match is None or match.group() not in _BTRACE_PARAMETERS:
        return None
    name = _BTRACE_PARAMETERS[match.group()]
    return Diagnostic(
        "BT011",
        f"`{match.group()}` is BTrace's form",
        Label(Span(failure.source, failure.at, failure.at + match.end())),
        help=(f"leave the parameter out and use `{name}` in the body",),
    )


def _btrace_class(failure: _Failure) -> Diagnostic | None:
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


def _btrace_method(failure: _Failure) -> Diagnostic | None:
    if not re.match(r"(public|private|static|void)\b", failure.rest) or not failure.before.endswith(")"):
        return None
    return Diagnostic(
        "BT011",
        "this is BTrace's form: a Java method",
        Label(failure.span),
        help=("the body follows the annotation:  @OnMethod(…) { … }",),
    )


def _bpftrace_predicate(failure: _Failure) -> Diagnostic | None:
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


_BPFTRACE_PROBE = re.compile(
    r"(kprobe|kretprobe|uprobe|uretprobe|tracepoint|usdt|profile|interval|software|hardware|fentry|fexit|BEGIN|END|begin|end)"
    r"(:[\w:./*]*|(?=\s*\{))"
)


def _bpftrace_probe(failure: _Failure) -> Diagnostic | None:
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


def _null_safe(failure: _Failure) -> Diagnostic | None:
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


def _loop(failure: _Failure) -> Diagnostic | None:
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


def _new(failure: _Failure) -> Diagnostic | None:
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


def _other_language(failure: _Failure) -> Diagnostic | None:
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


def _upper_case_map(failure: _Failure) -> Diagnostic | None:
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


def _single_equals(failure: _Failure) -> Diagnostic | None:
    if not re.match(r"=(?!=)", failure.rest) or "EQ_OP" not in failure.accepts:
        return None
    span = Span(failure.source, failure.at, failure.at + 1)
    return Diagnostic("BT016", "`=` does not compare", Label(span), help=("write ==",), fixes=(Fix(span, "=="),))


def _no_braces(failure: _Failure) -> Diagnostic | None:
    if not re.match(r"if\b|\s*else\b", failure.statement) or "LBRACE" not in failure.accepts:
        return None
    if failure.rest.startswith("{"):
        return None
    return Diagnostic("BT001", "`if` and `else` need braces", Label(failure.span, "`{` expected before this"))


def _late_version(failure: _Failure) -> Diagnostic | None:
    if not re.match(r"btpy\s+\d+\s*;", failure.rest):
        return None
    return Diagnostic("BT001", "the language version must come first", Label(failure.span))


def _missing_semicolon(failure: _Failure) -> Diagnostic | None:
    if "SEMICOLON" not in failure.accepts or not _starts_line(failure.source.text, failure.at):
        return None
    place = failure.after_previous
    return Diagnostic(
        "BT001",
        "a `;` is missing",
        Label(place, "`;` expected here"),
        fixes=(Fix(Span(failure.source, place.start, place.start), ";"),),
    )


_SLIPS: tuple[Callable[[_Failure], Diagnostic | None], ...] = (
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
    _missing_semicolon,
)

_EXAMPLES = {
    "a probe needs a body: { … }": [
        '@OnMethod(class="A")',
        '@OnMethod(class="A") probe p(..)',
        "A::b @entry",
        "A::b @entry when x",
    ],
    "an annotation's argument needs a value": ["@OnMethod(class=)", "@OnMethod(class=,"],
    "a value is missing": ["@OnEnd { let x = ; }", "@OnEnd { @m = ; }", "@OnEnd { @m[1] = }", "@OnEnd { x = }"],
    "an operand is missing": ["@OnEnd { print(1 + ) }", "@OnEnd { print(a == ) }", "A::b when x && {"],
}

_TOKENS = {
    "$END": "the end",
    "INT": "a number",
    "FLOAT": "a number",
    "DURATION": "a number",
    "SIZE": "a number",
    "STRING": "a string",
    "FSTRING": "a string",
    "IDENT": "a name",
    "QNAME": "a name",
    "QUANT": "a name",
    "TARGET_VAR": "a name",
    "MAP": "a map",
    "MAPK": "a map",
    "ANNOT": "an annotation",
    "POINT": "Class::method",
    "AT_LOC": "@location",
    "TRUE": "true",
    "FALSE": "false",
    "NULL": "null",
    "ARRAY_SUFFIX": "[]",
    "ASSIGN_OP": "=",
    "EQUALS": "=",
    "INCDEC": "++",
}
_OPERATORS = frozenset(
    {
        *("COALESCE_OP", "OR_OP", "AND_OP", "BITOR_OP", "BITXOR_OP", "BITAND_OP", "EQ_OP", "REL_OP", "SHIFT_OP"),
        *("ADD_OP", "MUL_OP", "INSTANCEOF", "IN", "NULLABLE", "DOT", "AS", "LSQB", "ASSIGN_OP", "INCDEC", "RANGE"),
    }
)
_PREFIXES = frozenset(("NOT", "TILDE", "ADD_OP", "LSQB"))


def _expected(failure: _Failure) -> Diagnostic:
    names: list[str] = []
    operators = "MUL_OP" in failure.accepts
    hidden = _OPERATORS if operators else _PREFIXES
    for terminal in sorted(failure.accepts):
        if terminal in hidden:
            continue
        name = _TOKENS.get(terminal) or f"`{_spelling(terminal)}`"
        if name not in names:
            names.append(name)
    if operators:
        names.append("an operator")
    found = "end" if failure.token == "$END" else f"`{failure.span.text}`"
    listed = " or ".join(names) if len(names) < 3 else ", ".join(names[:-1]) + f" or {names[-1]}"
    place = failure.after_previous if failure.token == "$END" else failure.span
    word = re.match(r"\w+", failure.rest)
    keywords = [_spelling(terminal) for terminal in failure.accepts if _spelling(terminal).isalpha()]
    return Diagnostic(
        "BT001",
        f"unexpected {found}",
        Label(place, f"expected {listed}" if 0 < len(names) <= 4 else ""),
        help=did_you_mean(word.group(), keywords) if word and failure.token != "$END" else (),
        notes=(f"here can stand {listed}",) if len(names) > 4 else (),
    )


@lru_cache(maxsize=256)
def _spelling(terminal: str) -> str:
    for definition in _lark().terminals:
        if definition.name == terminal and definition.pattern.type == "str":
            return definition.pattern.value
    return terminal.lower()


# ---------------------------------------------------------------- parse tree → syntax tree

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", '"': '"', "\\": "\\", "{": "{", "}": "}"}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_FORMAT = re.compile(
    r"(?:[^{}]?[<>^=])?[+\- ]?\#?0?\d{0,4},?(?:\.\d{1,3})?(?:[dxXobceEfFgGs%]|ns|us|ms|s|m|h|B|KB|MB|GB)?"
)


class _Builder:
    """Makes syntax nodes of the parse tree of one item; ``base`` is the offset of its text in the source."""

    def __init__(self, source: Source, base: int) -> None:
        self._source = source
        self._base = base
        self.diagnostics: list[Diagnostic] = []

    # ---- places

    def _span(self, branch: Branch) -> Span:
        return Span(self._source, self._base + branch.meta.start_pos, self._base + branch.meta.end_pos)

    def _place(self, token: Token) -> Span:
        start = token.start_pos or 0
        return Span(self._source, self._base + start, self._base + start + len(token))

    def _identifier(self, token: Token) -> syntax.Identifier:
        return syntax.Identifier(self._place(token), str(token))

    def _optional(self, token: Token | None) -> syntax.Identifier | None:
        return None if token is None else self._identifier(token)

    # ---- items

    def item(self, branch: Branch) -> syntax.Item:
        build: Callable[[Branch], syntax.Item] = getattr(self, f"_{branch.data}")
        return build(branch)

    def _version(self, branch: Branch) -> syntax.Item:
        token = _token(branch, 0)
        number = self._integer(token)
        if number > LANGUAGE_VERSION:
            self.diagnostics.append(
                Diagnostic(
                    "BT015",
                    f"language version {number} is newer than this btpy",
                    Label(self._place(token)),
                    help=(f"this btpy knows version {LANGUAGE_VERSION}",),
                )
            )
        return syntax.Version(self._span(branch), number)

    def _import_decl(self, branch: Branch) -> syntax.Item:
        library, arguments, alias = branch.children
        return syntax.Import(
            self._span(branch),
            self._library(library),
            self._arguments(arguments),
            self._optional(_as_token(alias)),
            False,
        )

    def _use_decl(self, branch: Branch) -> syntax.Item:
        library, arguments = branch.children
        return syntax.Import(self._span(branch), self._library(library), self._arguments(arguments), None, True)

    def _library(self, child: object) -> syntax.Identifier:
        token = _as_token(child)
        if token is not None:
            return syntax.Identifier(self._place(token), self._string(token))
        return self._identifier(_token(_as_branch(child), 0))

    def _param_decl(self, branch: Branch) -> syntax.Item:
        _, type_, default, help_ = branch.children
        text = _as_token(help_)
        return syntax.ScriptParameter(
            self._span(branch),
            self._identifier(_token(branch, 0)),
            None if type_ is None else self._type(_as_branch(type_)),
            None if default is None else self.expression(_as_branch(default)),
            None if text is None else self._string(text),
        )

    def _config_block(self, branch: Branch) -> syntax.Item:
        settings = [
            syntax.Setting(
                self._span(each), self._identifier(_token(each, 0)), self.expression(_as_branch(each.children[1]))
            )
            for each in _branches(branch.children)
        ]
        return syntax.Config(self._span(branch), tuple(settings))

    def _map_decl(self, branch: Branch) -> syntax.Item:
        *head, storage, arguments = branch.children
        name = _token(branch, 0)
        keys = tuple(self._type(each) for each in _branches(_as_branch(head[1]).children)) if len(head) > 1 else ()
        storage_token = _as_token(storage)
        if storage_token is None:
            raise AssertionError("map declaration without storage")
        return syntax.MapDeclaration(
            self._span(branch),
            syntax.Identifier(self._place(name), str(name)[1:]),
            keys,
            self._identifier(storage_token),
            self._arguments(arguments),
        )

    def _fn_decl(self, branch: Branch) -> syntax.Item:
        _, formals, result, body = branch.children
        declared, _ = self._formals(_as_branch(formals))
        tree = _as_branch(body)
        return syntax.Function(
            self._span(branch),
            self._identifier(_token(branch, 0)),
            declared,
            None if result is None else self._type(_as_branch(result)),
            self._block(tree) if tree.data == "block" else self.expression(_as_branch(tree.children[0])),
        )

    def _probe(self, branch: Branch) -> syntax.Item:
        *annotations, head, when, body = branch.children
        name: syntax.Identifier | None = None
        formals: tuple[syntax.Formal, ...] | None = None
        open_formals = False
        if head is not None:
            name_token, formal_list = _as_branch(head).children
            name = self._optional(_as_token(name_token))
            if formal_list is not None:
                formals, open_formals = self._formals(_as_branch(formal_list))
        return syntax.Probe(
            self._span(branch),
            tuple(self._annotation(_as_branch(each)) for each in annotations),
            name,
            formals,
            open_formals,
            self._when(when),
            self._block(_as_branch(body)),
        )

    def _annotation(self, branch: Branch) -> syntax.Annotation:
        token = _token(branch, 0)
        return syntax.Annotation(
            self._span(branch),
            syntax.Identifier(self._place(token), str(token)[1:]),
            self._arguments(branch.children[1]),
        )

    def _point_probe(self, branch: Branch) -> syntax.Item:
        _, location, name, when, body = branch.children
        point = _token(branch, 0)
        place = self._place(point)
        split = str(point).index("::")
        at = _as_token(location)
        location_name: syntax.Identifier | None = None
        argument: syntax.Identifier | None = None
        if at is not None:
            start = self._place(at).start
            word, bracket, inside = str(at).partition("(")
            location_name = syntax.Identifier(Span(self._source, start, start + len(word)), word[1:])
            if bracket:
                first = start + len(word) + 1
                argument = syntax.Identifier(Span(self._source, first, first + len(inside) - 1), inside[:-1])
        return syntax.PointProbe(
            self._span(branch),
            syntax.Identifier(Span(self._source, place.start, place.start + split), str(point)[:split]),
            syntax.Identifier(Span(self._source, place.start + split + 2, place.end), str(point)[split + 2 :]),
            location_name,
            argument,
            self._optional(_as_token(name)),
            self._when(when),
            self._block(_as_branch(body)),
        )

    def _when(self, child: object) -> syntax.Expression | None:
        return None if child is None else self.expression(_as_branch(_as_branch(child).children[0]))

    def _formals(self, formal_list: Branch) -> tuple[tuple[syntax.Formal, ...], bool]:
        formals: list[syntax.Formal] = []
        for inner in _branches(formal_list.children):
            for each in _branches(inner.children):
                if each.data == "ellipsis":
                    return tuple(formals), True
                name = _as_token(each.children[1])
                if name is not None:
                    formals.append(
                        syntax.Formal(
                            self._span(each), self._type(_as_branch(each.children[0])), self._identifier(name)
                        )
                    )
        return tuple(formals), False

    def _type(self, branch: Branch) -> syntax.TypeName:
        qualname, *suffixes, nullable = branch.children
        return syntax.TypeName(
            self._span(branch), str(_token(_as_branch(qualname), 0)), len(suffixes), nullable is not None
        )

    def _qualname(self, child: object) -> syntax.TypeName:
        branch = _as_branch(child)
        return syntax.TypeName(self._span(branch), str(_token(branch, 0)))

    def _arguments(self, child: object) -> tuple[syntax.Argument, ...]:
        if child is None:
            return ()
        arguments: list[syntax.Argument] = []
        for each in _branches(_as_branch(child).children):
            if each.data == "kwarg":
                value = self.expression(_as_branch(each.children[1]))
                arguments.append(syntax.Argument(self._span(each), self._identifier(_token(each, 0)), value))
            elif each.data == "lines":
                arguments.append(syntax.Argument(self._span(each), None, self._range(each)))
            else:
                value = self.expression(each)
                arguments.append(syntax.Argument(value.span, None, value))
        return tuple(arguments)

    # ---- statements

    def _block(self, branch: Branch) -> syntax.Block:
        return syntax.Block(self._span(branch), tuple(self._statement(each) for each in _branches(branch.children)))

    def _statement(self, branch: Branch) -> syntax.Statement:
        span = self._span(branch)
        children = branch.children
        match branch.data:
            case "let_stmt":
                return syntax.Let(
                    span,
                    self._identifier(_token(branch, 0)),
                    None if children[1] is None else self._type(_as_branch(children[1])),
                    self.expression(_as_branch(children[2])),
                )
            case "assign":
                target, _, value = children
                return syntax.Assign(
                    span,
                    self.expression(_as_branch(target)),
                    self._identifier(_token(branch, 1)),
                    self.expression(_as_branch(value)),
                )
            case "step":
                return syntax.Step(span, self.expression(_as_branch(children[0])), self._identifier(_token(branch, 1)))
            case "delete_stmt":
                return syntax.Delete(span, self._map_ref(_as_branch(children[0])))
            case "return_stmt":
                return syntax.Return(span, None if children[0] is None else self.expression(_as_branch(children[0])))
            case "if_stmt":
                return self._if(branch)
            case "for_stmt":
                return self._for(branch)
            case _:
                return syntax.ExpressionStatement(span, self.expression(_as_branch(children[0])))

    def _if(self, branch: Branch) -> syntax.If:
        test, then, otherwise = branch.children
        rest: syntax.Block | syntax.If | None = None
        if otherwise is not None:
            tree = _as_branch(otherwise)
            rest = self._if(tree) if tree.data == "if_stmt" else self._block(tree)
        return syntax.If(self._span(branch), self.expression(_as_branch(test)), self._block(_as_branch(then)), rest)

    def _for(self, branch: Branch) -> syntax.For:
        first, second, iterable, limit, body = branch.children
        over = _as_branch(iterable)
        walked: syntax.Expression | syntax.Range
        if over.data == "range":
            walked = self._range(over)
        else:
            walked = self.expression(over)
        variables = [self._identifier(token) for token in map(_as_token, (first, second)) if token is not None]
        return syntax.For(
            self._span(branch),
            tuple(variables),
            walked,
            None if limit is None else self.expression(_as_branch(limit)),
            self._block(_as_branch(body)),
        )

    def _range(self, branch: Branch) -> syntax.Range:
        first, end = _branches(branch.children)  # what is between them is no branch
        return syntax.Range(self._span(branch), self.expression(first), self.expression(end))

    # ---- expressions

    def expression(self, branch: Branch) -> syntax.Expression:
        span = self._span(branch)
        children = branch.children
        match branch.data:
            case "literal":
                return self._literal(_token(branch, 0))
            case "name":
                return syntax.Name(span, str(children[0]))
            case "target_var":
                return syntax.TargetVariable(span, str(children[0])[1:])
            case "map_ref":
                return self._map_ref(branch)
            case "thread_ref":
                return syntax.ThreadVariable(span, str(children[0]))
            case "call":
                return syntax.Call(span, self._identifier(_token(branch, 0)), self._arguments(children[1]))
            case "method_call":
                return syntax.MethodCall(
                    span,
                    self.expression(_as_branch(children[0])),
                    self._identifier(_token(branch, 1)),
                    self._arguments(children[2]),
                )
            case "field":
                return syntax.Field(span, self.expression(_as_branch(children[0])), self._identifier(_token(branch, 1)))
            case "index":
                target, index = _branches(children)
                return syntax.Index(span, self.expression(target), self.expression(index))
            case "cast":
                return syntax.Cast(span, self.expression(_as_branch(children[0])), self._qualname(children[1]))
            case "prefix":
                return syntax.Prefix(
                    span, self._identifier(_token(branch, 0)), self.expression(_as_branch(children[1]))
                )
            case "binary":
                return syntax.Binary(
                    span,
                    self._identifier(_token(branch, 1)),
                    self.expression(_as_branch(children[0])),
                    self.expression(_as_branch(children[2])),
                )
            case "instanceof":
                return syntax.InstanceOf(span, self.expression(_as_branch(children[0])), self._qualname(children[1]))
            case "membership":
                element, container = _branches(children)
                return syntax.Membership(span, self.expression(element), self.expression(container))
            case "conditional":
                test, then, otherwise = _branches(children)
                return syntax.Conditional(
                    span, self.expression(test), self.expression(then), self.expression(otherwise)
                )
            case "quantified":
                container, test = _branches(children)
                return syntax.Quantified(
                    span,
                    self._identifier(_token(branch, 0)),
                    self._identifier(_token(branch, 1)),
                    self.expression(container),
                    self.expression(test),
                )
            case "list":
                return syntax.ListDisplay(span, self._arguments(children[0]))
            case other:
                raise AssertionError(f"no syntax node for {other}")

    def _map_ref(self, branch: Branch) -> syntax.MapReference:
        name = str(branch.children[0])[1:]
        return syntax.MapReference(
            self._span(branch), name, tuple(self.expression(each) for each in _branches(branch.children))
        )

    def _literal(self, token: Token) -> syntax.Expression:
        span = self._place(token)
        match token.type:
            case "INT":
                return syntax.Literal(span, syntax.LiteralKind.INTEGER, self._integer(token))
            case "FLOAT":
                return syntax.Literal(span, syntax.LiteralKind.FLOAT, float(token.replace("_", "")))
            case "DURATION":
                return syntax.Literal(span, syntax.LiteralKind.DURATION, self._quantity(token))
            case "SIZE":
                return syntax.Literal(span, syntax.LiteralKind.SIZE, self._quantity(token))
            case "STRING":
                return syntax.Literal(span, syntax.LiteralKind.STRING, self._string(token))
            case "FSTRING":
                return self._formatted(token)
            case "TRUE" | "FALSE":
                return syntax.Literal(span, syntax.LiteralKind.BOOLEAN, token.type == "TRUE")
            case _:
                return syntax.Literal(span, syntax.LiteralKind.NULL, None)

    def _integer(self, token: Token) -> int:
        digits = token.replace("_", "")
        hexadecimal = digits[:2] in ("0x", "0X")
        # int() refuses thousands of decimal digits
        value = int(digits, 16) if hexadecimal else (int(digits) if len(digits) <= 40 else _MAX_LONG + 1)
        if value > _MAX_LONG and not (hexadecimal and value < 1 << 64):
            return self._too_large(token, "a long ends at 9223372036854775807")
        return value if value <= _MAX_LONG else value - (1 << 64)

    def _quantity(self, token: Token) -> int:
        match = re.fullmatch(r"([\d.]+)([A-Za-z]+)", token.replace("_", ""))
        if match is None:
            raise AssertionError(f"not a quantity: {token}")
        whole, _, fraction = match.group(1).partition(".")
        unit = _UNITS[match.group(2)]
        if len(whole) > 40:
            return self._too_large(token, "a quantity is held as a long")
        value = int(whole) * unit + int(fraction[:18] or 0) * unit // 10 ** len(fraction[:18])
        return value if value <= _MAX_LONG else self._too_large(token, "a quantity is held as a long")

    def _too_large(self, token: Token, reason: str) -> int:
        self.diagnostics.append(
            Diagnostic("BT006", "this number is too large", Label(self._place(token)), notes=(reason,))
        )
        return 0

    def _string(self, token: Token) -> str:
        """The value of a string. A pattern between slashes keeps its backslashes."""
        body = str(token)[1:-1]
        if len(body) > 1 and body.startswith("/") and body.endswith("/"):
            return body.replace('\\"', '"')
        return self._unescape(body, self._place(token).start + 1)

    def _unescape(self, text: str, start: int) -> str:
        def replace(match: re.Match[str]) -> str:
            escape = match.group(1)
            if len(escape) > 1:
                return chr(int(escape[1:], 16))
            if escape not in _ESCAPES:
                place = Span(self._source, start + match.start(), start + match.end())
                self.diagnostics.append(
                    Diagnostic(
                        "BT007",
                        f"unknown escape `{match.group()}`",
                        Label(place),
                        help=("a backslash is written twice: \\\\",),
                        notes=('known are \\n \\t \\r \\0 \\" \\\\ \\u0041',),
                    )
                )
                return escape
            return _ESCAPES[escape]

        return _ESCAPE.sub(replace, text)

    def _formatted(self, token: Token) -> syntax.FormattedString:
        start = self._place(token).start
        text = str(token)
        parts: list[str | syntax.Interpolation] = []
        literal = ""
        at = 2
        while at < len(text) - 1:
            if text.startswith(("{{", "}}"), at):
                literal += text[at]
                at += 2
            elif text[at] == "\\":
                escape = _ESCAPE.match(text, at)
                if escape is None:
                    raise AssertionError("a backslash at the end of an f-string")
                literal += self._unescape(escape.group(), start + at)
                at = escape.end()
            elif text[at] == "{":
                if literal:
                    parts.append(literal)
                    literal = ""
                at, colon, end = _interpolation(text, at)
                part = self._interpolate(start + at, start + colon, start + end)
                if part is not None:
                    parts.append(part)
                at = end + 1
            else:
                literal += text[at]
                at += 1
        if literal:
            parts.append(literal)
        return syntax.FormattedString(self._place(token), tuple(parts))

    def _interpolate(self, start: int, colon: int, end: int) -> syntax.Interpolation | None:
        """``start`` to ``colon`` is the expression, what follows the colon up to ``end`` the format (offsets of the
        source)."""
        from lark.exceptions import UnexpectedInput

        span = Span(self._source, start - 1, end + 1)
        text = self._source.text[start:colon]
        if not text.strip():
            self.diagnostics.append(
                Diagnostic(
                    "BT010", "nothing between the braces of an f-string", Label(span), help=("braces as text: {{}}",)
                )
            )
            return None
        try:
            tree = _lark().parse(text, start="expr")
        except UnexpectedInput as error:
            self.diagnostics.append(_explain(self._source, start, colon, error))
            return None
        too_deep = _too_deep(self._source, start, tree)
        if too_deep is not None:
            self.diagnostics.append(too_deep)
            return None
        inner = _Builder(self._source, start)
        value = inner.expression(tree)
        self.diagnostics += inner.diagnostics
        format_ = self._source.text[colon + 1 : end]
        if not _FORMAT.fullmatch(format_):
            place = Span(self._source, colon + 1, end)
            self.diagnostics.append(
                Diagnostic(
                    "BT207",
                    f"unknown format `{format_}`",
                    Label(place),
                    help=(
                        "as in Python: width, alignment, precision, one of d x o b e f g s %",
                        "or a unit: ns us ms s KB MB",
                    ),
                )
            )
        return syntax.Interpolation(span, value, format_)


def _interpolation(text: str, brace: int) -> tuple[int, int, int]:
    """Of the interpolation that opens at ``brace``: where its expression starts, its colon (or end), its closing
    brace."""
    depth = conditionals = 0
    colon: int | None = None
    at = brace + 1
    while text[at] != "}":
        char = text[at]
        if char == '"':
            at += 1
            while text[at] != '"':
                at += 2 if text[at] == "\\" else 1
        elif text.startswith("??", at):
            at += 1
        elif char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == "?" and depth == 0:
            conditionals += 1
        elif char == ":" and depth == 0 and colon is None:
            if conditionals:
                conditionals -= 1
            else:
                colon = at
        at += 1
    return brace + 1, at if colon is None else colon, at


def _token(branch: Branch, index: int) -> Token:
    token = _as_token(branch.children[index])
    if token is None:
        raise AssertionError(f"{branch.data}: child {index} is no token")
    return token


def _as_token(child: object) -> Token | None:
    from lark import Token

    return child if isinstance(child, Token) else None


def _as_branch(child: object) -> Branch:
    from lark import Tree as ParseTree

    if not isinstance(child, ParseTree):
        raise AssertionError("a token where a tree is expected")
    return child
