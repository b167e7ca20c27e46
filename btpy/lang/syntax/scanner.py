"""Brackets, quotes and comments of a text that possibly does not parse: it finds the beginnings of items, and brackets
and quotes that are never closed."""

from __future__ import annotations

import re

from btpy.dataclass import dataclass
from btpy.lang.builtins import ANNOTATIONS
from btpy.lang.hints.foreign_names import in_our_words
from btpy.model.diagnostics import Diagnostic, Fix, Label
from btpy.model.source import Source, Span

_POINT = r"(?:[+@]?[\w.$*?<>^-]+|/(?!\*)(?:[^/\\\n]|\\.)+/)::(?:@?[\w.$*?<>^-]+|/(?:[^/\\\n]|\\.)+/)"
_SCAN = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<dollar>\$[!^*@\#])
    | (?P<comment>(?://|\#)[^\n]*|/\*.*?\*/)
    | (?P<open_comment>/\*)
    | (?P<fstring>f"[^"\\\n{}]*+(?:(?:\\[^\n]|\{\{|\}\}|\{(?:[^"{}\n]|"(?:[^"\\\n]|\\[^\n])*+")*+\})[^"\\\n{}]*+)*+")
    | (?P<bad_fstring>f"[^"\\\n]*+(?:\\[^\n][^"\\\n]*+)*+")
    | (?P<string>"[^"\\\n]*+(?:\\[^\n][^"\\\n]*+)*+")
    | (?P<open_string>f?"[^\n]*)
    | (?P<quoted>f?'[^'\n]*'|`[^`\n]*`|[“”„«][^“”«»\n]*[“”»]|[‘’‚][^‘’\n]*[‘’])
    | (?P<annotation>@[A-Z]\w*)
    | (?P<word>[\w$]+)
    | (?P<open>[(\[{])
    | (?P<close>[)\]}])
    | (?P<end>;)
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_COUNTED_LOOP = re.compile(r"\bfor\s*\Z")
_POINT_AT = re.compile(_POINT)
_CLOSER = {"(": ")", "[": "]", "{": "}"}


BRACE_EXPECTED = "`{` expected before this"
"""The label for a surplus closing brace, which is the consequence of a missing opening brace."""


@dataclass(slots=True)
class Item:
    start: int
    end: int
    faulty: bool = False


@dataclass(frozen=True, slots=True)
class Scan:
    items: list[Item]
    diagnostics: list[Diagnostic]


def scan(source: Source) -> Scan:
    """Top-level items and at most one error for each of them."""
    text = source.text
    items: list[Item] = []
    diagnostics: list[Diagnostic] = []
    openers: list[int] = []
    current: Item | None = None
    previous_end = 0
    at = 0

    def fail(diagnostic: Diagnostic) -> None:
        nonlocal current
        if current is None:
            current = Item(at, at)
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
        span = Span(source, at, end)
        if kind in ("space", "comment"):
            if kind == "comment" and openers and (swallowed := _swallowed(source, at, end, openers)) is not None:
                fail(swallowed)
            at = end
            continue
        if kind == "annotation" and openers and match.group()[1:] in ANNOTATIONS and starts_line(text, at):
            fail(_unclosed(source, openers[-1], previous_end, span, "the next probe starts here"))
            finish(previous_end)
        if current is None:
            current = Item(at, end)
        if kind == "open":
            if match.group() == "{" and text[at - 1 : at] == ".":
                fail(_projection(source, at))
            elif match.group() == "{" and openers and text[openers[-1]] == "(" and (values := _VALUES.match(text, at)):
                fail(_values_in_braces(source, at, values))
            elif match.group() == "{" and openers and text[openers[-1]] != "{":
                fail(_unclosed(source, openers[-1], previous_end, span, "parsing stopped at this `{`"))
                while openers and text[openers[-1]] != "{":
                    openers.pop()
            openers.append(at)
        elif kind == "close":
            closer = match.group()
            if any(_CLOSER[text[opener]] == closer for opener in openers):
                if _CLOSER[text[openers[-1]]] != closer:
                    fail(_unclosed(source, openers[-1], previous_end, span, f"parsing stopped at this `{closer}`"))
                while _CLOSER[text[openers.pop()]] != closer:
                    pass
            elif closer == "}" and _is_probe(text, current.start) and "{" not in text[current.start : at]:
                pass  # the parser reports the missing opening brace
            else:
                fail(
                    Diagnostic(
                        "BT003",
                        f"this `{closer}` closes nothing",
                        Label(span, "it has no opening bracket"),
                        (Label(Span(source, openers[-1], openers[-1] + 1), "still open"),) if openers else (),
                        help=("take it out",) if not openers else (),
                    )
                )
            if closer == "}" and not openers:
                finish(end)
        elif kind == "end":
            if openers and text[openers[-1]] != "{":
                counted = _COUNTED_LOOP.search(text, current.start, openers[-1])
                stopped = "parsing stopped at this `;`"
                fail(
                    _counted_loop(source, counted.start())
                    if counted is not None
                    else _unclosed(source, openers[-1], previous_end, span, stopped)
                )
                while openers and text[openers[-1]] != "{":
                    openers.pop()
            if not openers and not (_is_probe(text, current.start) and "{" not in text[current.start : at]):
                finish(end)
        elif kind == "open_comment":
            regex = re.match(r"/(\*[^\n/]*)/(?=::)|/(\*[^\n/]*)/", text[at:])
            help_ = (f"a regular expression for any text is  /.{regex[1] or regex[2]}/",) if regex is not None else ()
            place = Label(Span(source, at, at + 2), "opened here")
            fail(Diagnostic("BT005", "this comment is never closed", place, help=help_))
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
            prefix = "f" if match.group().startswith("f") else ""
            fixed = prefix + '"' + match.group().removeprefix("f")[1:-1].replace('"', '\\"') + '"'
            fail(
                Diagnostic(
                    "BT004",
                    "strings must have double quotes",
                    Label(span),
                    help=(f"write {fixed}",),
                    fixes=(Fix(span, fixed),),
                )
            )
        at = previous_end = end
    if openers:
        fail(_unclosed(source, openers[-1], previous_end, None, ""))
    finish(previous_end)
    return Scan(items, diagnostics)


def _is_probe(text: str, start: int) -> bool:
    """Whether an item begins as a probe, whose body is in braces."""
    annotation = re.match(r"@([A-Z]\w*)", text[start : start + 40])
    return _POINT_AT.match(text, start) is not None or (annotation is not None and annotation[1] in ANNOTATIONS)


COMMENT_MEANT = {
    "//": ("a quotient is a / b; the quotient of whole numbers is a whole number",),
    "#": ("leave the # out:  arg0.name, self.name", "the time that the method took is `duration`"),
}


def _swallowed(source: Source, at: int, end: int, openers: list[int]) -> Diagnostic | None:
    """A comment that holds the closing brackets of code before it: the user meant `//` as an operator, or `#` as part
    of a name.
    """
    text = source.text
    if starts_line(text, at) or "\n" in text[openers[-1] : at]:
        return None
    begins = text[at : at + 2] if text.startswith("//", at) else text[at]
    code = re.match(r"(?:\s*[\w.$@\"]+)", text[at + len(begins) : end])
    closers = re.sub(r'"[^"\n]*"|[^\]\[(){}]', "", text[at:end])
    missing = "".join(_CLOSER[text[opener]] for opener in reversed(openers))
    while (shorter := re.sub(r"\(\)|\[\]|\{\}", "", closers)) != closers:
        closers = shorter
    if code is None or begins not in COMMENT_MEANT or not closers.endswith(missing):
        return None
    return Diagnostic(
        "BT002",
        f"`{begins}` begins a comment, in which brackets close nothing",
        Label(Span(source, at, at + len(begins)), "the rest of the line is not code"),
        (Label(Span(source, openers[-1], openers[-1] + 1), "still open"),),
        help=COMMENT_MEANT[begins],
    )


def _projection(source: Source, at: int) -> Diagnostic:
    """``params.{name}``"""
    owner = re.search(r"([\w.$]+)\.$", source.text[max(0, at - 80) : at])
    element = re.match(r"\{\s*(?:#this\.?|\?\s*)?(\w*)", source.text[at : at + 80])
    items = owner[1] if owner is not None and owner[1] != "params" else "arg0"
    example = f"x.{element[1]}" if element is not None and element[1] else "x"
    return Diagnostic(
        "BT016",
        "`.{…}` is OGNL's form of a projection",
        Label(Span(source, at - 1, at + 1)),
        help=(f"write for x in {items} limit 20 {{ print({example}) }}", "all arguments of the method:  print(args)"),
    )


def _counted_loop(source: Source, at: int) -> Diagnostic:
    return Diagnostic(
        "BT404",
        "`for` could run without end",
        Label(Span(source, at, at + 3), "a loop of C's form"),
        help=("over numbers:  for i in 0..9 { … }", "over a collection:  for x in items limit 20 { … }"),
    )


_VALUES = re.compile(r"\{\s*([\w.$\[\]\"]+(?:\s*[,:]\s*[\w.$\[\]\"]+)*)\s*\}(?=\s*[,)])")


def _values_in_braces(source: Source, at: int, values: re.Match[str]) -> Diagnostic:
    """``print({a, b})``: OGNL's list, Python's set; ``print({a: b})``"""
    if ":" in values[1]:
        pairs = ", ".join(f"{key}={value}" for key, value in re.findall(r"\"?(\w+)\"?\s*:\s*([^,]+)", values[1]))
        helps = (f'named values need an event:  emit("name", {pairs})',)
        return Diagnostic("BT016", "braces do not make a value", Label(Span(source, at, values.end())), help=helps)
    return Diagnostic(
        "BT016",
        "braces do not make a value",
        Label(Span(source, at, values.end())),
        help=(f"list several values:  print({in_our_words(values[1])})",),
    )


def starts_line(text: str, at: int) -> bool:
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
            if opener is not None and ":" in source.text[opener:at]:
                return Diagnostic(
                    "BT010",
                    "the format of a value must be a constant",
                    Label(Span(source, at, at + 1)),
                    help=('for a computed width:  printf("%*s", width, value)',),
                )
            if opener is not None:
                break
            opener = at
        elif source.text[at] == "}":
            if opener is None:
                return Diagnostic(
                    "BT010",
                    "this `}` closes nothing in the f-string",
                    Label(Span(source, at, at + 1)),
                    help=("write a brace twice if it is text: }}",),
                )
            opener = None
        at += 1
    place = start if opener is None else opener
    return Diagnostic(
        "BT010",
        "this `{` is never closed in the f-string",
        Label(Span(source, place, place + 1)),
        help=("write a brace twice if it is text: {{",),
    )


def leading_comment(text: str) -> str:
    """The first comment block of a file, without shebang line and comment marks."""
    lines: list[str] = []
    at = len(text.partition("\n")[0]) + 1 if text.startswith("#!") else 0
    while match := _SCAN.match(text, at):
        kind, text_of_token = match.lastgroup, match.group()
        if kind == "space":
            if lines and text_of_token.count("\n") > 1:
                break
        elif kind == "comment":
            body = text_of_token[2:-2].strip("*") if text_of_token.startswith("/*") else text_of_token.lstrip("/#")
            lines += [re.sub(r"^\s*\* ?|^ ", "", line).rstrip() for line in body.split("\n")]
        else:
            break
        at = match.end()
    return "\n".join(lines).strip("\n")
