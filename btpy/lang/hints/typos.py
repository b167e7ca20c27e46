"""Mistakes that a parser cannot name: constructs of other languages, and common typing errors.

Each function examines the place where the parser stopped and returns the diagnostic for one mistake, or None.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import replace

from btpy.frozen import dataclass
from btpy.lang.builtins import ANNOTATIONS
from btpy.lang.hints.foreign_names import FORMS, OPERATORS, expression_in_our_words, in_our_words, of_annotation
from btpy.lang.hints.foreign_names import of_map as of_map_method
from btpy.lang.hints.other_tools import VARIABLES_OF_BTRACE, head_of_probe, location_of_btrace
from btpy.lang.syntax.lalr import END
from btpy.lang.syntax.nodes import location_of_point
from btpy.lang.syntax.scanner import BRACE_EXPECTED, COMMENT_MEANT, starts_line
from btpy.lang.syntax.units import UNITS
from btpy.model.diagnostics import Diagnostic, Fix, Label
from btpy.model.source import Source, Span


@dataclass(frozen=True, slots=True)
class Failure:
    """Where the parser stopped. ``accepts``: names of the terminals that are possible there."""

    source: Source
    start: int  # of the item
    at: int
    end: int  # of the text that the parser could not read
    token: str  # name of the terminal; "" if no token could be read
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
        """The text between the last ``;``, ``{`` or ``}`` and the place."""
        return re.split(r"[;{}]", self.before)[-1].strip()

    @property
    def after_previous(self) -> Span:
        end = self.behind(0).end
        return Span(self.source, end, end + 1)

    def ahead(self, length: int) -> Span:
        """The next characters."""
        return Span(self.source, self.at, self.at + length)

    def behind(self, length: int) -> Span:
        """The last characters before the blanks before the place."""
        end = len(self.source.text[: self.at].rstrip())
        return Span(self.source, end - length, end)


def _rewritten(code: str, message: str, place: Span, written: str, notes: tuple[str, ...] = ()) -> Diagnostic:
    """The replacement is known."""
    return Diagnostic(
        code, message, Label(place), help=(f"write {written}",), notes=notes, fixes=(Fix(place, written),)
    )


_BTRACE_LOCATION = re.compile(
    r"@Location\s*\(\s*(?:value\s*=\s*)?(?:Kind\s*\.\s*)?(?P<kind>\w+)(?:[^()]|\([^()]*\))*\)"
)


def _btrace_location(failure: Failure) -> Diagnostic | None:
    match = _BTRACE_LOCATION.match(failure.rest)
    if match is None:
        return None
    written = location_of_btrace(match)
    span = failure.ahead(match.end())
    return Diagnostic(
        "BT011",
        "this is BTrace's form of a location",
        Label(span),
        help=(f"write location={written}",),
        notes=_btrace_throw_note(match["kind"]),
        fixes=(Fix(span, written),),
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
    if "AT_LOC" in failure.accepts:  # behind a point
        written = f"@{match.group()[1:].lower()}"
        return _rewritten("BT001", "a location behind a point is in lower case", failure.ahead(match.end()), written)
    name = VARIABLES_OF_BTRACE[match.group()]
    return Diagnostic(
        "BT011",
        f"`{match.group()}` is BTrace's form",
        Label(failure.ahead(match.end())),
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
            "a static method with parameters becomes a probe head:  probe name(String arg, int n)",
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


_BTRACE_STATE = re.compile(
    r"@(TLS|Export|Property)\b(?:\s*\([^()]*\))?\s*(?:(?:public|private|static|final|volatile)\s+)*"
    r"[A-Za-z_][\w.]*(?:<[\w\s.,<>?]*>)?\s+([A-Za-z_]\w*)"
)


def _btrace_state(failure: Failure) -> Diagnostic | None:
    """``@TLS long start;``, ``@Export long calls;``"""
    field = _BTRACE_STATE.match(failure.source.text, failure.start)
    if field is None:
        return None
    kind, name = field.groups()
    shared = (
        f"all threads share maps, which need no declaration:  @{name[0].lower()}{name[1:]} += 1",
        "its values are printed at the end, and where a script calls print(@name)",
    )
    own = (f"write thread.{name} where it is used; it exists from its first assignment on",)
    return Diagnostic(
        "BT011",
        f"`@{kind}` is BTrace's form",
        Label(Span(failure.source, *field.span())),
        help=own if kind == "TLS" else shared,
    )


_ARGUMENTS = r"(?:\s*\((?:[^()\n]|\([^()\n]*\))*\))?"
_ANNOTATION = rf"@[A-Z]\w*{_ARGUMENTS}"
_CLASS_AND_METHOD = r"((?:(?!::)[^\s(){};])+)::([^\s(){};]+)"  # one way to split it, however many `::` there are
_POINT_WITH_LOCATION = rf"{_CLASS_AND_METHOD}(?:\s*\([^(){{}};]*\))?(?:\s*@([a-z_]+)\b(?:\([^()\n]*\))?)?"
_ANNOTATIONS_BEFORE = re.compile(rf"\s*((?:{_ANNOTATION}\s+)+){_POINT_WITH_LOCATION}")
_ANNOTATIONS_BEHIND = re.compile(rf"\s*{_POINT_WITH_LOCATION}\s*((?:{_ANNOTATION}\s*)+)(?:@([a-z_]+)\b)?")


def _annotations_at_point(failure: Failure) -> Diagnostic | None:
    """``@Sample(every=10) com.acme.Foo::bar { … }``, ``com.acme.Foo::bar @return @Limit(hits=3) { … }``"""
    text = failure.source.text
    before, behind = (pattern.match(text, failure.start) for pattern in (_ANNOTATIONS_BEFORE, _ANNOTATIONS_BEHIND))
    if failure.token == "POINT" and before is not None and before.start(2) == failure.at:
        annotations, owner, method, location = before.groups()
        start = before.start(1)
    elif failure.token == "ANNOT" and behind is not None and behind.start(4) == failure.at:
        owner, method, location, annotations, after = behind.groups()
        location, start = location or after, behind.start(4)
    else:
        return None
    written = list(re.finditer(rf"@([A-Z]\w*){_ARGUMENTS}", annotations))
    for annotation in written:
        if annotation[1] not in ANNOTATIONS:
            return Diagnostic(
                "BT106",
                f"unknown annotation `@{annotation[1]}`",
                Label(Span(failure.source, start + annotation.start(), start + annotation.end(1))),
                help=of_annotation(annotation[1]) or ("leave it out",),
            )
    others = [annotation[0] for annotation in written if not ANNOTATIONS[annotation[1]].attaches]
    placed = f", location={location_of_point(location)}" if location else ""
    head = f'@OnMethod(class="{owner}", method="{method}"{placed})'
    return Diagnostic(
        "BT001",
        "a probe with annotations does not have the form Class::method",
        Label(failure.span),
        help=(f"write {' '.join((head, *others))} {{ … }}",),
    )


def _annotation_as_value(failure: Failure) -> Diagnostic | None:
    """``enableAt=@Level("1")``"""
    match = re.match(r"@([A-Z]\w*)", failure.rest)
    argument = re.search(r"(\w+)\s*=$", failure.before)
    if match is None or match[1] not in ANNOTATIONS or argument is None:
        return None
    return Diagnostic(
        "BT001",
        f"an annotation cannot stand here: `{match[0]}`",
        Label(failure.ahead(match.end())),
        help=(f"annotations stand one after the other:  @OnMethod(…) {match[0]}(…) {{ … }}",),
    )


def _bpftrace_predicate(failure: Failure) -> Diagnostic | None:
    match = re.match(r"/([^/\n]*)/\s*(?=\{)", failure.rest)
    if match is None:
        return None
    span = failure.ahead(len(match.group().rstrip()))
    written = re.sub(r"(?<![\w.$@])self\s*->\s*", "thread.", match.group(1).strip())
    return _rewritten("BT012", "this is bpftrace's form of a predicate", span, f"when {written}")


def _probe_of_another_tool(failure: Failure) -> Diagnostic | None:
    """``interval:s:1 { … }``, ``tick-5s { … }``, ``probe timer.s(1) { … }`` among probes of ours"""
    head = head_of_probe(failure.source.text, failure.start)
    if head is None:
        return None
    tool, (start, end), written = head
    return Diagnostic(
        "BT014",
        f"this is {tool}'s form of a probe",
        Label(Span(failure.source, start, end)),
        help=(
            f"write {written}"
            if written and "(a Java method)" not in written
            else f"btpy traces Java methods:  {written.partition('    ')[0] or 'com.acme.Foo::bar @entry { … }'}",
        ),
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


_FOR_EACH = re.compile(r"\(\s*(?:[\w.<>\[\], ]+\s)?\s*\$?([A-Za-z_]\w*)\s*(?::|\bin\b|\bof\b)\s*([^(){};]+?)\s*\)")


def _for_each(failure: Failure) -> Diagnostic | None:
    """``for (String s : arg0)``"""
    loop = _FOR_EACH.match(failure.rest)
    if failure.statement != "for" or loop is None:
        return None
    place = failure.ahead(loop.end())
    written = f"{loop[1]} in {loop[2]}" if not loop[2].startswith("@") else f"key, value in {loop[2]} limit 100"
    return Diagnostic(
        "BT016",
        "a loop has no brackets",
        Label(place),
        help=(f"write for {written}",),
        fixes=(Fix(place, written),),
    )


_BLOCKS_OF_OTHERS = {
    "unroll": "numbers from a to b:  for i in 1..{0} {{ … }}",
    "repeat": "numbers from a to b:  for i in 1..{0} {{ … }}",
    "synchronized": "a probe takes no locks: maps and thread variables need none",
    "with": FORMS["with"],
}


def _block_of_others(failure: Failure) -> Diagnostic | None:
    """``unroll(5) { … }``, ``synchronized (x) { … }``: the word was read as the name of a function."""
    call = re.fullmatch(r"(\w+)\s*\(([^()]*)\)", failure.statement)
    if call is None or call[1] not in _BLOCKS_OF_OTHERS or not failure.rest.startswith("{"):
        return None
    at = failure.source.text.rindex(failure.statement, failure.start, failure.at)
    number = call[2].strip() if call[2].strip().isdigit() else "10"
    return Diagnostic(
        "BT016",
        f"there is no `{call[1]}` here",
        Label(Span(failure.source, at, at + len(call[1]))),
        help=(_BLOCKS_OF_OTHERS[call[1]].format(number),),
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


def _arrow(failure: Failure) -> Diagnostic | None:
    """``->``: of C and DTrace between an object and a field, of Java before the body of a lambda."""
    arrow = failure.at - 1 if failure.before.endswith("-") and failure.rest.startswith(">") else failure.at
    if failure.source.text[arrow : arrow + 2] != "->":
        return None
    place = Span(failure.source, arrow, arrow + 2)
    before = failure.source.text[failure.start : arrow].rstrip()
    if "::" in before and "{" not in before:
        return Diagnostic(
            "BT016", "`->` is not an operator here", Label(place), help=("a body is in braces:  { print(1) }",)
        )
    owner = re.search(r"(?<![\w.$@])(self|this)$", before)
    inside = re.match(r"->\s*([A-Za-z_]\w*)", failure.source.text[arrow : arrow + 80])
    if owner is not None and owner[1] == "self" and inside is not None and not re.search(r"[;{}]\s*self$", before):
        whole = Span(failure.source, arrow - len("self"), arrow + inside.end())
        return Diagnostic(
            "BT016",
            "`self->` is DTrace's form",
            Label(whole),
            help=(f"what a thread keeps:  thread.{inside[1]}", f"a field of the object:  self.{inside[1]}"),
        )
    field = re.match(r"->\s*([A-Za-z_]\w*)", failure.source.text[arrow : arrow + 80])
    if owner is not None and field is not None and re.fullmatch(r"\s*(self|this)", re.split(r"[;{}]", before)[-1]):
        written = f"thread.{field[1]}" if owner[1] == "self" else f"let {field[1]}"
        whole = Span(failure.source, arrow - (len(before) - owner.start()), arrow + field.end())
        return _rewritten("BT016", f"`{owner[1]}->` is DTrace's form", whole, written)
    apart = failure.source.text[arrow - 1].isspace() or failure.source.text[arrow + 2 : arrow + 3].isspace()
    if re.search(r"(?<![\w.$@])args$", before) and field is not None and not apart:
        whole = Span(failure.source, arrow - len("args"), arrow + field.end())
        return _rewritten("BT016", "`args->` is bpftrace's form", whole, f"${field[1]}")
    if apart and re.search(r"(?:\(|,)\s*(?:\w+|\([\w\s,]*\))$", before):
        return Diagnostic(
            "BT016",
            "functions cannot be values",
            Label(place, "a lambda"),
            help=("over a collection:  for x in items limit 20 { … }", "a test of all:  any(x in items: x.price > 3)"),
        )
    return _rewritten("BT016", "`->` is not an operator here", place, ".")


def _delete_in_brackets(failure: Failure) -> Diagnostic | None:
    if not re.search(r"(?<![\w.$@])delete$", failure.before):
        return None
    call = re.match(r"\(\s*(@\w*)\s*(\[[^\]\n]*\])?\s*(?:,\s*([^()\n]+?)\s*)?\)", failure.rest)
    if call is None:
        return None
    written = call[1] + (call[2] or (f"[{call[3]}]" if call[3] else ""))
    place = failure.ahead(call.end())
    if written == call[1]:
        return Diagnostic(
            "BT016", "`delete` takes a key", Label(place), help=(f"to empty the whole map:   clear({written})",)
        )
    return Diagnostic(
        "BT016",
        "`delete` is a statement, not a function",
        Label(place),
        help=(f"write delete {written}",),
        fixes=(Fix(place, f" {written}"),),
    )


_DECLARATION = re.compile(
    r"(?!(?:let|return|if|else|for|delete)\b)"
    r"(?:(?:final|const|static)\s+)?[A-Za-z_][\w.]*(?:\s*<[\w\s.,<>?]*>)?(?:\s*\[\s*\])*\s+([A-Za-z_]\w*)(?=\s*=(?!=))"
)


_ANNOTATED = re.compile(r"([A-Za-z_]\w*)\s*(:)\s*[A-Za-z_][\w.\[\] ]*(?=\s=(?!=))")


def _typed_variable(failure: Failure) -> Diagnostic | None:
    """``String name = …``, ``List<String> name = …``, ``name: str = …``: in a body, or outside of all."""
    if not failure.before:
        return _shared_variable(failure)
    start = failure.source.text.rindex(failure.statement, failure.start, failure.at)
    annotated = _ANNOTATED.match(failure.source.text, start)
    if annotated is not None and annotated.start(2) == failure.at:
        place = Span(failure.source, start, annotated.end())
        return _rewritten("BT016", "a variable is made by `let`", place, f"let {annotated[1]}")
    declared = _DECLARATION.match(failure.source.text, start)
    if declared is None or failure.source.text.index("=", declared.end()) < failure.at:
        return None
    place = Span(failure.source, start, declared.end())
    written = f"let {declared[1]}"
    constructor = re.match(
        r"\s*=\s*new\s+\w*(Map|List|Set|Adder|Integer|Long)\b", failure.source.text[declared.end() :]
    )
    problem = _rewritten("BT016", "a variable is made by `let`", place, written)
    if constructor is not None:
        return replace(
            problem, help=(f"a probe makes no objects; a map needs none:  @{declared[1]}[key] = …",), fixes=()
        )
    return problem


def _name_of_map(name: str) -> str:
    """Maps begin with a lower-case letter."""
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


def _conditional(failure: Failure) -> Diagnostic | None:
    """``a if c else b``, ``print(a) if c``"""
    word = re.match(r"if\s+([^{};]+?)\s+else\s+([^{};,)]+)", failure.rest)
    if "MUL_OP" not in failure.accepts:
        return None
    if word is None:
        return _condition_behind(failure)
    value = re.search(r"(\"[^\"\n]*\"|[\w.$@]+)$", failure.before)
    text = expression_in_our_words(value[1]) if value is not None else "…"
    return Diagnostic(
        "BT016",
        "`if` is not an operator here",
        Label(failure.span),
        help=(f"write {expression_in_our_words(word[1])} ? {text} : {expression_in_our_words(word[2].rstrip())}",),
    )


def _condition_behind(failure: Failure) -> Diagnostic | None:
    """``print(a) if c``: on one line, and no block follows"""
    inside = re.match(r"if\s+([^{};,()\n]+?)\s*\)", failure.rest)
    if inside is not None and failure.before.count("(") > failure.before.count(")"):
        return Diagnostic(
            "BT016",
            "`if` is not an operator here",
            Label(failure.ahead(len("if"))),
            help=(f"write {expression_in_our_words(inside[1])} ? … : null",),
        )
    word = re.match(r"(if|unless)\s+([^{};\n]+?)\s*(?=[;}\n])", failure.rest)
    statement = failure.statement
    if word is None or not statement or statement.startswith("if") or "SEMICOLON" not in failure.accepts:
        return None
    condition = expression_in_our_words(word[2])
    return Diagnostic(
        "BT016",
        "a condition stands before its statement",
        Label(failure.ahead(len(word[1]))),
        help=(f"write if {condition if word[1] == 'if' else f'!({condition})'} {{ {statement} }}",),
    )


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


def _cast(failure: Failure) -> Diagnostic | None:
    """``(String) arg0``"""
    type_ = _CAST.search(failure.before)
    operand = re.match(r"[\w$@][\w$.]*(?:\[[^\]\n]*\])?", failure.rest)
    if type_ is None or operand is None or "MUL_OP" not in failure.accepts:
        return None
    start = failure.source.text.rindex(type_[0], failure.start, failure.at)
    place = Span(failure.source, start, failure.at + operand.end())
    written = f"{operand[0]} as {_NUMBERS.get(type_[1], type_[1])}"
    return _rewritten(
        "BT016",
        "a cast follows its value",
        place,
        written,
        notes=("of most values the type is known, and of others it is found when the probe fires: few need one",),
    )


def _share(failure: Failure) -> Diagnostic | None:
    """``rate=5%``"""
    share = re.search(r"(\d+(?:\.\d+)?)\s*%$", failure.before)
    if share is None or failure.rest[:1] not in (",", ")", ";"):
        return None
    start = failure.source.text.rindex(share[0], failure.start, failure.at)
    place = Span(failure.source, start, start + len(share[0]))
    written = f"{float(share[1]) / 100:.6g}"
    return _rewritten("BT016", "`%` is not a unit", place, written)


_POINT_AND_LOCATION = re.compile(r"(\S+?)::(\S+)\s+@([a-z_]+)$")


def _second_location(failure: Failure) -> Diagnostic | None:
    """``A::b @entry, @return``"""
    point = _POINT_AND_LOCATION.search(failure.before)
    second = re.match(r"(?:,|&&|\|\|?|\band\b|\bor\b)?\s*@([a-z_]+)", failure.rest)
    if point is None or second is None:
        return None
    locations = [location_of_point(name) for name in (point[3], second[1])]
    both = {"RETURN", "THROW"} == set(locations)
    written = f'@OnMethod(class="{point[1]}", method="{point[2]}", location=[{", ".join(locations)}])'
    return Diagnostic(
        "BT001",
        "a probe point has one location",
        Label(failure.ahead(second.end()), "the second"),
        help=("@exit covers both",) if both else (f"write {written}",),
    )


def _map_in_braces(failure: Failure) -> Diagnostic | None:
    """``@x{cls} = count()``"""
    name = re.search(r"(@[a-z_]\w*)$", failure.before)
    keys = re.match(r"\{([^{}\n]*)\}\s*(?:[-+]?=|\+\+|--)", failure.rest)
    if name is None or keys is None:
        return None
    place = failure.ahead(keys.end(1) + 1)
    written = f"[{keys[1].strip()}]"
    return Diagnostic(
        "BT001",
        "write keys in square brackets",
        Label(place),
        help=(f"write {name[1]}{written}",),
        fixes=(Fix(place, written),),
    )


_SHELL_VARIABLES = {"$!": "retval", "$^": "exception", "$*": "args", "$@": "args"}


def _bare_dollar(failure: Failure) -> Diagnostic | None:
    if not re.match(r"\$(?![A-Za-z_\d])", failure.rest) or "TARGET_VAR" not in failure.accepts:
        return None
    listed = re.match(r"\$\$(parms|vars|locals|return|name)\b", failure.rest)
    if listed is not None:
        written = {"return": "retval", "parms": "args", "name": "method"}.get(listed[1], "locals()")
        notes = ("locals() is there at @line(n)",) if written == "locals()" else ()
        return _rewritten("BT016", f"`{listed[0]}` is SystemTap's form", failure.ahead(listed.end()), written, notes)
    value = _SHELL_VARIABLES.get(failure.rest[:2])
    if value is not None and re.match(r"..\s*=(?!=)", failure.rest):
        return Diagnostic("BT401", "the traced program is read-only", Label(failure.ahead(2), "cannot be assigned"))
    if value is not None:
        return _rewritten("BT016", f"`{failure.rest[:2]}` is Byteman's form", failure.ahead(2), value)
    if failure.rest.startswith("$#"):
        return Diagnostic(
            "BT016",
            "`$#` is Byteman's form",
            Label(failure.ahead(2)),
            help=(
                "the number of parameters is that of the overload:  com.acme.Foo::bar(int, String)",
                "of a list or an array:  len(x)",
            ),
        )
    return Diagnostic(
        "BT001",
        "a name follows `$`",
        Label(failure.span),
        help=("a parameter of the traced method by its name:  $customer", "by its number:  arg0"),
    )


def _body_without_braces(failure: Failure) -> Diagnostic | None:
    if "LBRACE" not in failure.accepts or "SEMICOLON" in failure.accepts or "{" in failure.before:
        return None
    if not re.search(r"\bwhen\b|::|^@[A-Z]", failure.before) or not _STATEMENT.match(failure.rest):
        return None
    return Diagnostic(
        "BT001",
        "a body is in braces",
        Label(failure.span, BRACE_EXPECTED),
        help=("a probe is:  com.acme.Foo::bar @return when duration > 10ms { print(arg0) }",),
    )


def _dollar_of_a_variable(failure: Failure) -> Diagnostic | None:
    """``let $x = 1``"""
    name = re.match(r"\$([A-Za-z_]\w*)", failure.rest)
    if name is None or not re.search(r"(?<![\w.$@])(?:let|for)$", failure.before):
        return None
    return _rewritten("BT016", "`$` belongs to names of the traced method", failure.ahead(name.end()), name[1])


def _structure(failure: Failure) -> Diagnostic | None:
    """``(struct foo *) arg0``"""
    word = re.search(r"\(\s*(struct|union|enum)$", failure.before)
    name = re.match(r"[\w\s*]+\)", failure.rest)
    if word is None or name is None:
        return None
    start = failure.behind(len(word[0])).start
    return Diagnostic(
        "BT016",
        f"there is no `{word[1]}` here",
        Label(Span(failure.source, start, failure.at + name.end())),
        help=("leave the cast out: fields of an object are read by their names:  arg0.name",),
    )


def _declared_for_a_thread(failure: Failure) -> Diagnostic | None:
    """``self int depth;``, ``this string x;`` outside of probes"""
    declared = re.match(r"(self|this)\s+\w+\s*\*?\s+(\w+)\s*;", failure.rest)
    if failure.before or declared is None:
        return None
    written = f"thread.{declared[2]} = …" if declared[1] == "self" else f"let {declared[2]} = …"
    return Diagnostic(
        "BT016",
        f"`{declared[1]}` declares nothing here",
        Label(failure.ahead(declared.end() - 1)),
        help=(f"leave the declaration out, and write {written}  in the body",),
    )


_ITEMS_OF_OTHERS = {
    "package": "leave it out: a script has no package",
    "with": "a probe is its point and a body:  com.acme.Foo::bar { … }",
    "module": "leave it out: a script is a file",
    "namespace": "leave it out: a script is a file",
    "include": "a library is imported by:  import btpy.jdbc;",
    "class": "leave it out: a script is a list of probes",
    "trace": "a probe is its point and a body:  com.acme.Foo::bar { … }",
    "on": "a probe is its point and a body:  com.acme.Foo::bar { … }",
}


def _item_of_others(failure: Failure) -> Diagnostic | None:
    """``package com.acme;``, ``with A::b { … }``"""
    word = re.match(r"([a-z]+)(?=\s+[\w\"<+@/])", failure.rest)
    if failure.before or word is None or word[1] not in _ITEMS_OF_OTHERS:
        return None
    return Diagnostic(
        "BT016",
        f"there is no `{word[1]}` here",
        Label(failure.ahead(word.end())),
        help=(_ITEMS_OF_OTHERS[word[1]],),
    )


def _deleted(failure: Failure) -> Diagnostic | None:
    """``del @n[k]``, ``unset(@n)``: the word was read as a name"""
    word = re.search(r"(?<![\w.$@])(del|unset|remove)$", failure.before)
    if word is None or not failure.rest.startswith("@"):
        return None
    target = re.match(r"@\w*(\[[^\]\n]*\])?", failure.rest)
    assert target is not None
    place = failure.behind(len(word[1]))
    if target[1]:
        return _rewritten("BT016", f"there is no `{word[1]}` here", place, "delete")
    return Diagnostic("BT016", f"there is no `{word[1]}` here", Label(place), help=(f"write clear({target[0]})",))


def _positional(failure: Failure) -> Diagnostic | None:
    name = re.match(r"\$(\d+)", failure.rest)
    if name is None:
        return None
    field = re.search(r"(?<![\w.$@])\$?([A-Za-z_]\w*)$", failure.source.text[failure.start : failure.at])
    if field is not None:
        whole = Span(failure.source, failure.at - len(field[0]), failure.at + name.end())
        return _rewritten("BT016", "a field belongs to an object", whole, f"self.{field[1]}{name[0]}")
    return Diagnostic(
        "BT016",
        f"`{name[0]}` is the shell's form",
        Label(failure.ahead(name.end())),
        help=(
            f"arguments of the method count from 0:  arg{max(int(name[1][:3]) - 1, 0)}, or by name:  $name",
            *(("the object is `self`",) if name[1] == "0" else ()),
            "a value from the command line is a parameter:  param name = 5;  and  --name 7",
        ),
    )


def _comment_in_the_way(failure: Failure) -> Diagnostic | None:
    """``when #cost > 10 { … }``: the rest of the line is a comment."""
    after = re.match(r"\s*(#)(?=[\w$])", failure.source.text[failure.at :])
    if failure.token != END or after is None:
        return None
    at = failure.at + after.start(1)
    return Diagnostic(
        "BT001",
        "`#` begins a comment",
        Label(Span(failure.source, at, at + 1), "the rest of the line is no code"),
        help=COMMENT_MEANT["#"],
    )


def _bare_thread(failure: Failure) -> Diagnostic | None:
    word = re.search(r"(?<![\w.$@])thread$", failure.before)
    if word is None or failure.rest.startswith("."):
        return None
    return Diagnostic(
        "BT001",
        "`thread` alone is not a value",
        Label(failure.behind(len("thread"))),
        help=(
            "its name is `thread_name`, its number `tid`",
            "thread.x keeps a value for each thread:  thread.x = nanos",
        ),
    )


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


def _lookalike(failure: Failure) -> Diagnostic | None:
    """A character of word processors and chats in place of a plain one."""
    plain = _LOOKALIKES.get(failure.rest[:1])
    if plain is None:
        return None
    place = failure.ahead(1)
    name = unicodedata.name(failure.rest[0], "").lower()
    spelled = f"{name} (U+{ord(failure.rest[0]):04X})"
    written = {"": "take it out", " ": "write a plain blank"}.get(plain, f"write {plain}")
    return Diagnostic(
        "BT001",
        f"this character is not part of the language: {spelled}",
        Label(place),
        help=(written,),
        fixes=(Fix(place, plain),),
    )


def _probe_inside(failure: Failure) -> Diagnostic | None:
    """``com.acme.Foo::bar`` between the braces of a probe: the name was read up to the colons."""
    point = re.match(r"[\w.$*<>+]*::[\w*<>$]+", failure.statement + failure.rest)
    if point is None or "{" not in failure.before or not failure.rest.startswith(":"):
        return None
    start = failure.source.text.rindex(failure.statement, failure.start, failure.at)
    return Diagnostic(
        "BT001",
        "a probe cannot stand inside another",
        Label(Span(failure.source, start, start + point.end())),
        help=("a probe passes values to another through a map or a thread variable:  thread.name = …",),
    )


_FORMAL_WITH_COLON = re.compile(r":\s*([A-Za-z_][\w.]*(?:\[\])*)")


def _formal(failure: Failure) -> Diagnostic | None:
    """``name: type``, or a name alone, in the head of a probe or of a function."""
    head = re.search(r"(?:\bprobe(?:\s+\w+)?|\bfn\s+\w+)\s*\(([^()]*)$", failure.before)
    name = re.search(r"([A-Za-z_]\w*)$", failure.before)
    if head is None or name is None:
        return None
    start = failure.source.text.rindex(name[1], failure.start, failure.at)
    colon = _FORMAL_WITH_COLON.match(failure.rest)
    if colon is not None:
        place = Span(failure.source, start, failure.at + colon.end())
        written = f"{colon[1]} {name[1]}"
        return _rewritten("BT016", "the type stands before the name", place, written)
    if failure.rest[:1] not in (",", ")"):
        return None
    return Diagnostic(
        "BT001",
        f"`{name[1]}` has no type",
        Label(Span(failure.source, start, start + len(name[1]))),
        help=(f"write its type before it:  String {name[1]}, int {name[1]}, com.acme.Order {name[1]}",),
    )


def _function(failure: Failure) -> Diagnostic | None:
    word = re.match(r"(def|function|func|fun|sub|proc|macro|inline)\s+([A-Za-z_]\w*)(\s+\w+\s*=)?", failure.rest)
    if failure.before or word is None:
        return None
    if word[3] is not None:
        return _shared_variable(failure)
    return Diagnostic(
        "BT016",
        f"`{word[1]}` declares nothing here",
        Label(failure.ahead(len(word[1]))),
        help=(
            f"a function is:  fn {word[2]}(int n): int = n + 1;",
            "a probe is:  com.acme.Foo::bar @return { print(retval) }",
        ),
    )


def _statement_of_others(failure: Failure) -> Diagnostic | None:
    """``throw x``, ``try { … }``: the word was read as a name."""
    word = re.match(r"([A-Za-z]+)\b", failure.statement)
    if failure.before.endswith("{") and word is None:
        word = re.search(r"([A-Za-z]+)\s*\{$", failure.before)
    if word is None or "{" not in failure.before or word[1] not in FORMS:
        return None
    action = word[1] == failure.statement and word[1].isupper()  # of Byteman, as RETURN null
    if not (action or word[1].islower()):
        return None
    at = failure.source.text.rindex(word[1], failure.start, failure.at)
    return Diagnostic(
        "BT016",
        f"there is no `{word[1]}` here",
        Label(Span(failure.source, at, at + len(word[1]))),
        help=(FORMS[word[1]],),
    )


def _new(failure: Failure) -> Diagnostic | None:
    if not re.search(r"(?<![\w.$@])new$", failure.before):
        return None
    return Diagnostic(
        "BT405",
        "a probe cannot create objects",
        Label(Span(failure.source, failure.behind(len("new")).start, failure.end)),
        help=('text is built with f"{a} {b}"; new_id() gives a unique number',),
    )


_WORDS = {**OPERATORS, **dict.fromkeys(("elif", "elsif", "elseif"), "else if")}


def _other_language(failure: Failure) -> Diagnostic | None:
    match = re.match(r"is\s+not\b|not\s+in\b|\w+|<>|===", failure.rest)
    word = " ".join(match.group().split()) if match else ""
    if word == "not in":
        operand = re.search(r"[\w.$@]+$", failure.before)
        listed = re.match(r"not\s+in\s+(\[[^\[\]\n]*\]|[\w.$@]+)", failure.rest)
        written = f"!({operand[0]} in {listed[1]})" if operand is not None and listed is not None else "!(x in list)"
        return Diagnostic(
            "BT016",
            "`not in` is not an operator here",
            Label(failure.ahead(match.end() if match else 1)),
            help=(f"write {written}",),
        )
    span = failure.ahead(match.end() if match else 0)
    if word not in _WORDS and failure.before.endswith("=") and failure.rest.startswith("="):
        word = "==="
        at = failure.at - 2
        span = Span(failure.source, at, at + 3)
    if word not in _WORDS and failure.before.endswith("<") and failure.rest.startswith(">"):
        word = "<>"
        span = Span(failure.source, failure.at - 1, failure.at + 1)
    if word in _WORDS:
        right = _WORDS[word]
        return _rewritten("BT016", f"`{word}` is not an operator here", span, right)
    previous = re.search(r"(?<![\w.$@])(elif|elsif|elseif)$", failure.before)
    if previous is not None:
        place = failure.behind(len(previous[1]))
        return _rewritten("BT016", f"`{previous[1]}` is not a keyword here", place, "else if")
    negated = re.search(r"(?<![\w.$@])(not|NOT)$", failure.before)
    if negated is not None:
        return _rewritten("BT016", f"`{negated[1]}` is not an operator here", failure.behind(len("not")), "!")
    return None


def _upper_case_map(failure: Failure) -> Diagnostic | None:
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
        help=(f"maps start with a lower-case letter:  {fixed}",),
        fixes=(Fix(span, fixed),),
    )


def _range_without_brackets(failure: Failure) -> Diagnostic | None:
    """``if tid in 1..10``"""
    tested = re.search(r"\bin\s+([\w.$@()]+)$", failure.before)
    last = re.match(r"\.\.\s*([\w.$@()]+)", failure.rest)
    if tested is None or last is None or failure.statement.startswith("for"):
        return None
    start = failure.source.text.rindex(tested[1], failure.start, failure.at)
    place = Span(failure.source, start, failure.at + last.end())
    written = f"[{tested[1]}..{last[1]}]"
    return _rewritten("BT001", "a range after `in` needs brackets", place, written)


def _single_equals(failure: Failure) -> Diagnostic | None:
    if not re.match(r"=(?!=)", failure.rest) or "EQ_OP" not in failure.accepts:
        return None
    span = failure.ahead(1)
    return _rewritten("BT016", "`=` does not compare", span, "==")


def _no_braces(failure: Failure) -> Diagnostic | None:
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


def _late_version(failure: Failure) -> Diagnostic | None:
    if not re.match(r"btpy\s+\d+\s*;", failure.rest):
        return None
    return Diagnostic("BT001", "the language version must come first", Label(failure.span))


_POINT = re.compile(
    r"([+@]?[\w.$*]+?|/?[\w$]+(?:/[\w$]+)+/?)(?:\.|#|::|:|/)([\w$*]+)\s*(?:\([^()\n]*\)\s*)?(?=@[a-z]|when\b|\{)"
)


def _item(failure: Failure) -> Diagnostic | None:
    """Text that cannot begin an item: a misspelled probe point, an annotation in lower case, a statement."""
    if failure.before:
        return None
    annotation = re.match(r"@([A-Za-z]\w*)", failure.rest)
    if annotation is not None:
        names = [f"@{name}" for name in ANNOTATIONS if name.lower() == annotation[1].lower()]
        place = failure.ahead(annotation.end())
        if names:
            return _rewritten("BT001", "annotations start with an upper-case letter", place, names[0])
    option = re.match(r"--?[A-Za-z][\w-]*(?:[= ]\w+)?", failure.rest)
    if option is not None:
        return Diagnostic(
            "BT001",
            "an option of the command stands in the script",
            Label(failure.ahead(option.end()), "not part of the language"),
            help=(f"write it outside of the quotes:  btpy PID -e '…' {option[0]}",),
        )
    apart = re.match(r"([+@]?[\w.$*]*[\w$*])\s+([\w$*<>]+)\s*(?=\{|@[a-z]|when\b)", failure.rest)
    if apart is not None and re.search(r"\.|^[A-Z]", apart[1]) and apart[2] != "probe":
        place = failure.ahead(apart.end(2))
        return _rewritten("BT001", "a probe point is written Class::method", place, f"{apart[1]}::{apart[2]}")
    clause = re.match(r"([\w.$*]+):([\w$*]+):(entry|return)\b", failure.rest)
    if clause is not None:
        written = f"{clause[1]}::{clause[2]} @{clause[3]}"
        return _rewritten(
            "BT001", "a probe point is written Class::method @location", failure.ahead(clause.end()), written
        )
    point = _POINT.match(failure.rest)
    if point is not None:
        types = re.match(r"\s*(\([^()\n]+\))", failure.rest[point.end(2) :])
        place = failure.ahead(point.end(2))
        written = f"{point[1].strip('/').replace('/', '.')}::{point[2]}{types[1] if types is not None else ''}"
        place = failure.ahead(point.end(2) + (types.end() if types is not None else 0))
        return _rewritten(
            "BT001", "a probe point is written Class::method, with dots in the name of the class", place, written
        )
    if re.match(r"\{|[a-z_]\w*\s*\(|@[a-z_]?\w*\s*(?:\[[^\]\n]*\]\s*)?[-+=]|(?:let|if|for|delete)\b", failure.rest):
        return Diagnostic(
            "BT001",
            "this stands outside of all probes",
            Label(failure.span, "a probe or a declaration is expected here"),
            help=("to run it at a method:  com.acme.Foo::bar @return { … }", "to run it at once:  @OnBegin { … }"),
        )
    return None


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


def _unit(failure: Failure) -> Diagnostic | None:
    """A unit after a blank, or an unknown unit."""
    before = failure.source.text[max(failure.start, failure.at - 40) : failure.at]
    apart = re.search(r"(\d[\d_]*(?:\.\d+)?)(\s+)$", before)
    word = re.match(r"[A-Za-zµ]+\b", failure.rest)
    if apart is not None and word is not None and (word[0] in UNITS or word[0] in _UNITS_ELSEWHERE):
        place = Span(failure.source, failure.at - len(apart[0]), failure.at + word.end())
        return _misspelt(place, "a unit follows its number without a blank", apart[1], word[0])
    joined = re.match(r"(\d[\d_]*(?:\.\d+)?)([A-Za-zµ]+)\b", failure.rest)
    if joined is None:
        return None
    place = failure.ahead(joined.end())
    if "IDENT" in failure.accepts and "INT" not in failure.accepts and not before.endswith("."):
        return Diagnostic("BT001", "a name does not begin with a digit", Label(place))
    if joined[2] in ("L", "l", "f", "F", "D"):
        whole = re.search(r"\d[\d_]*\.$", before)  # 1.5f is read as 1. and 5f
        number = (whole[0] if whole else "") + joined[1]
        place = Span(failure.source, failure.at - (len(whole[0]) if whole else 0), failure.at + joined.end())
        written = f"{number} as long" if joined[2] in "Ll" else number
        return _rewritten("BT016", "numbers have no suffix", place, written)
    return _misspelt(place, f"unknown unit `{joined[2]}`", joined[1], joined[2])


def _misspelt(place: Span, problem: str, number: str, unit: str) -> Diagnostic:
    suffix = unit if unit in UNITS else _UNITS_ELSEWHERE.get(unit) or _UNITS_IN_LOWER_CASE.get(unit.lower())
    if suffix is None:
        return Diagnostic("BT001", problem, Label(place), help=(f"units are {' '.join(UNITS)}",))
    return Diagnostic(
        "BT001", problem, Label(place), help=(f"write {number}{suffix}",), fixes=(Fix(place, f"{number}{suffix}"),)
    )


_STATEMENT = re.compile(r"(?:let|if|for|delete|return)\b|[A-Za-z_]\w*\s*\(|@[a-z_]|thread\.")


def _missing_semicolon(failure: Failure) -> Diagnostic | None:
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
        fixes=(Fix(Span(failure.source, place.start, place.start), ";"),),
    )


# ---------------------------------------------------------------- forms of other languages, by what stops the parser


def _elvis(failure: Failure) -> Diagnostic | None:
    """``a ?: b``"""
    if not failure.rest.startswith(":") or not failure.before.endswith("?"):
        return None
    place = Span(failure.source, failure.behind(1).start, failure.at + 1)
    return _rewritten("BT016", "`?:` is not an operator here", place, "??")


def _pattern_variable(failure: Failure) -> Diagnostic | None:
    """``x instanceof String s``"""
    tested = re.search(r"([\w.$@\[\]]+)\s+instanceof\s+[\w.$]+$", failure.before)
    name = re.match(r"[A-Za-z_]\w*\b", failure.rest)
    if tested is None or name is None or name[0] in _WORDS or ("MUL_OP" in failure.accepts and name[0] in ("in", "as")):
        return None
    return Diagnostic(
        "BT016",
        "`instanceof` gives no variable here",
        Label(failure.ahead(name.end())),
        help=(f"leave it out; a name of its own is:  let {name[0]} = {tested[1]};",),
    )


def _throws(failure: Failure) -> Diagnostic | None:
    """``A::b() throws X``"""
    clause = re.match(r"throws\s+([\w.$, ]*[\w$])", failure.rest)
    if clause is None or "::" not in failure.before:
        return None
    return Diagnostic(
        "BT016",
        "a probe point has no `throws`",
        Label(failure.ahead(clause.end())),
        help=(f"where such an exception leaves the method:  … @throw({clause[1].split(',')[0]}) {{ … }}",),
    )


_CLAUSES = re.compile(
    r"\s*(CLASS|INTERFACE)\s+(\^?)([\w.$*]+)\s+METHOD\s+([\w$*<>]+(?:\([^()\n]*\))?)(?:\s+(AT|AFTER)\s+(ENTRY|EXIT|THROW)\b)?"
)


def _clauses_of_byteman(failure: Failure) -> Diagnostic | None:
    """``INTERFACE java.util.List METHOD add``, without ``RULE``"""
    clauses = _CLAUSES.match(failure.source.text, failure.start)
    if clauses is None:
        return None
    subtypes = "+" if clauses[1] == "INTERFACE" or clauses[2] else ""
    location = _LOCATION_WORDS[clauses[6] or "ENTRY"]
    start = clauses.start(1)
    place = Span(failure.source, start, clauses.end())
    written = f"{subtypes}{clauses[3]}::{clauses[4]} {location}"
    return _rewritten("BT016", "these are Byteman's clauses", place, written)


def _modifiers(failure: Failure) -> Diagnostic | None:
    """``public void com.acme.Foo::bar() { … }``"""
    method = re.match(
        r"((?:(?:public|private|protected|static|final|synchronized|void|int|long|boolean|double|[A-Z]\w*)\s+)+)"
        r"([\w.$*]+(?:::|\.|#)[\w$*<>]+)",
        failure.source.text[failure.start :].lstrip(),
    )
    if method is None or "{" in failure.before:
        return None
    start = (
        failure.start + len(failure.source.text[failure.start :]) - len(failure.source.text[failure.start :].lstrip())
    )
    owner, name = re.split(r"::|#", method[2]) if re.search("::|#", method[2]) else method[2].rsplit(".", 1)
    return Diagnostic(
        "BT016",
        "a probe point has no modifiers and no return type",
        Label(Span(failure.source, start, start + len(method[1].rstrip()))),
        help=(f"write {owner}::{name} @entry {{ … }}",),
    )


def _type_arguments(failure: Failure) -> Diagnostic | None:
    """``probe p(List<String> names)``"""
    inside = re.match(r"<[\w\s.,<>?$\[\]]*>", failure.rest)
    type_ = re.search(r"([\w.$]+)$", failure.before)
    head = re.search(r"(?:\bprobe(?:\s+\w+)?|\bfn\s+\w+)\s*\([^()]*$", failure.before)
    if inside is None or type_ is None or (head is None and "IDENT" not in failure.accepts):
        return None
    name = re.match(r"(?:\[\])*\s*([A-Za-z_]\w*)", failure.rest[inside.end() :])
    place = failure.ahead(inside.end())
    return Diagnostic(
        "BT016",
        "types have no type arguments: class files do not keep them",
        Label(place),
        help=(f"write {type_[1]}{' ' + name[1] if name is not None else ''}",),
        fixes=(Fix(place, ""),),
    )


def _head_of_java(failure: Failure) -> Diagnostic | None:
    """``final String name``, ``String... names`` in the head of a probe."""
    if re.search(r"(?:\bprobe(?:\s+\w+)?|\bfn\s+\w+)\s*\([^()]*$", failure.before) is None:
        return None
    final = re.search(r"\b(final|const|var)\s+([\w.$]+)$", failure.before)
    name = re.match(r"[A-Za-z_]\w*", failure.rest)
    if final is not None and name is not None:
        start = failure.behind(len(final[0])).start
        return Diagnostic(
            "BT016",
            f"`{final[1]}` is no part of a type here",
            Label(Span(failure.source, start, start + len(final[1]))),
            help=(f"write {final[2]} {name[0]}",),
        )
    type_ = re.search(r"([\w.$]+)$", failure.before.rstrip("."))
    if type_ is not None and re.match(r"\.{2,3}\s*[A-Za-z_]", failure.rest):
        dots = re.match(r"(\.+)\s*(\w+)", failure.rest)
        assert dots is not None
        return Diagnostic(
            "BT016",
            "further arguments are an array",
            Label(failure.ahead(len(dots[1]))),
            help=(f"write {type_[1]}[] {dots[2]}",),
            fixes=(Fix(failure.ahead(len(dots[1])), "[]"),),
        )
    return None


def _parameters_of_annotation(failure: Failure) -> Diagnostic | None:
    """``@OnError(Throwable t)``"""
    head = re.search(r"@(On\w+)\s*\(\s*[\w.$]+$", failure.before)
    if head is None or re.match(r"[A-Za-z_]\w*\s*[,)]", failure.rest) is None:
        return None
    names = "error.kind, error.message, error.line" if head[1] == "OnError" else "variables of the language"
    return Diagnostic(
        "BT011",
        f"`@{head[1]}` has no parameters",
        Label(failure.span),
        help=(f"write @{head[1]} {{ … }}; the body sees {names}",),
    )


_POINT_LIST = re.compile(r"\s*,\s*([^\s,{}()]+)::([^\s,{}()@]+)")


def _second_point(failure: Failure) -> Diagnostic | None:
    """``A::b, A::c { … }``"""
    first = re.search(r"([^\s,{}()]+)::([^\s,{}()@]+)$", failure.before)
    second = _POINT_LIST.match(failure.rest)
    if first is None or second is None:
        return None
    classes, methods = dict.fromkeys((first[1], second[1])), dict.fromkeys((first[2], second[2]))

    def written(names: dict[str, None]) -> str:
        quoted = [f'"{name}"' for name in names]
        return quoted[0] if len(quoted) == 1 else f"[{', '.join(quoted)}]"

    one = len(classes) == 1 or len(methods) == 1
    return Diagnostic(
        "BT001",
        "a probe has one point",
        Label(failure.ahead(second.end()), "the second"),
        help=(f"write @OnMethod(class={written(classes)}, method={written(methods)}) {{ … }}",)
        if one
        else ("write a probe for each",),
    )


def _aggregation_by(failure: Failure) -> Diagnostic | None:
    """``@n = count() by (cls)``"""
    by = re.match(r"by\s*\(?\s*([\w.$, ]*\w)\s*\)?", failure.rest)
    store = re.search(r"(@\w*)\s*=\s*(\w+\([^()]*\))$", failure.before)
    if by is None or store is None:
        return None
    return Diagnostic(
        "BT016",
        "keys belong to the map, before the `=`",
        Label(failure.ahead(2)),
        help=(f"write {store[1]}[{by[1]}] = {store[2]}",),
    )


def _statistics_operator(failure: Failure) -> Diagnostic | None:
    """``counts[cls] <<< 1``: read as ``<<`` and ``<``"""
    target = re.search(r"(@?)([A-Za-z_]\w*)(\[[^\]\n]*\])?\s*<<$", failure.before)
    if target is None or not failure.rest.startswith("<"):
        return None
    value = re.match(r"<\s*([^;}\n]*[^;}\s])", failure.rest)
    place = Span(failure.source, failure.behind(2).start, failure.at + 1)
    written = "count()" if value is None or value[1] == "1" else f"stats({value[1]})"
    return Diagnostic(
        "BT016",
        "`<<<` is SystemTap's form",
        Label(place),
        help=(f"write @{target[2]}{target[3] or ''} = {written}",),
    )


_FOR_EACH_OF_OTHERS = re.compile(
    r"(foreach|forEach)\s*\(\s*\[?([\w, ]+?)\]?\s+(?:in|as|of)\s+([^()]+?)[-+]?(?:\s*limit\s+(\d+)\s*)?\)"
)


def _foreach(failure: Failure) -> Diagnostic | None:
    """``foreach (k in @m) { … }``"""
    word = re.search(r"\b(?:foreach|forEach)\b", failure.statement)
    if word is None:
        return None
    start = failure.source.text.rindex(word[0], failure.start, failure.at)
    loop = _FOR_EACH_OF_OTHERS.match(failure.source.text, start)
    if loop is None:
        return None
    return Diagnostic(
        "BT016",
        f"there is no `{loop[1]}` here",
        Label(Span(failure.source, start, start + len(loop[1]))),
        help=(f"write for {loop[2].strip()} in {loop[3].strip()} limit {loop[4] or 100} {{ … }}",),
    )


_OF_STATISTICS = {"hist_log": "hist(value)", "hist_linear": "lhist(value, min, max, step)"}
_OPERATORS_OF_SYSTEMTAP = {
    "entry": "entry(value)",
    "defined": "nothing: that a name is there is checked before the probe runs, and null is tested by  x != null",
    "cast": "value as com.acme.Foo",
    "var": "$name, or self.field",
    "perf": "nothing: there are no counters of the processor here",
}


def _called_map(failure: Failure) -> Diagnostic | None:
    """``@count(x)``: an operator of SystemTap's; ``@java.lang.System@getProperty("x")``: OGNL"""
    dotted = re.search(r"@([a-z]\w*(?:\.\w+)+)$", failure.before)
    static = re.match(r"@(\w+)\s*(\()?", failure.rest)
    if dotted is not None and static is not None:
        whole = Span(failure.source, failure.behind(len(dotted[0])).start, failure.at + static.end())
        helps = ['a property of the JVM:  property("user.dir")'] if "System" in dotted[1] else []
        return Diagnostic(
            "BT016",
            "this is OGNL's form of a static member",
            Label(whole),
            help=(*helps, "static methods are not called; what a method returns is `retval` at @return"),
        )
    name = re.search(r"@([a-z_]\w*)$", failure.before)
    if name is None or not failure.rest.startswith("("):
        return None
    place = failure.behind(len(name[0]))
    if name[1] in _OPERATORS_OF_SYSTEMTAP:
        return Diagnostic(
            "BT016",
            f"`{name[0]}(…)` is SystemTap's form",
            Label(place),
            help=(f"write {_OPERATORS_OF_SYSTEMTAP[name[1]]}",),
        )
    written = _OF_STATISTICS.get(name[1], f"{name[1]}()" if name[1] == "count" else f"{name[1]}(value)")
    return Diagnostic(
        "BT016",
        f"`{name[0]}` is a map: it cannot be called",
        Label(place),
        help=(f"an aggregation is stored:  @name = {written}", "and printed:  print(@name)"),
    )


def _block_of_text(failure: Failure) -> Diagnostic | None:
    """``\"\"\"text\"\"\"``: read as an empty text and another one"""
    if not failure.before.endswith('""') or not failure.rest.startswith('"'):
        return None
    start = failure.behind(2).start
    return Diagnostic(
        "BT016",
        "a text has one quote at each end",
        Label(Span(failure.source, start, start + 3)),
        help=('write "…"; a new line in a text is  \\n',),
    )


def _prefix_of_text(failure: Failure) -> Diagnostic | None:
    """``r"\\d"``, ``u"x"``, ``b"x"``"""
    prefix = re.search(r"(?<![\w.$@])([rubRUB]{1,2})$", failure.source.text[failure.start : failure.at])
    if prefix is None or not failure.rest.startswith('"'):
        return None
    place = failure.behind(len(prefix[1]))
    note = ("a backslash in a text is written twice; a regular expression is  /…/",) if "r" in prefix[1].lower() else ()
    return Diagnostic(
        "BT016",
        f"a text has no `{prefix[1]}` before it",
        Label(place),
        help=("leave it out", *note),
        fixes=(Fix(place, ""),),
    )


def _spread(failure: Failure) -> Diagnostic | None:
    """``print(*args)``"""
    spread = re.match(r"\*{1,2}([A-Za-z_$][\w$.]*)", failure.rest)
    if spread is None or failure.before[-1:] not in ("(", ","):
        return None
    return _rewritten("BT016", "a list is printed as it is", failure.ahead(spread.end()), in_our_words(spread[1]))


def _joined_by_a_dot(failure: Failure) -> Diagnostic | None:
    """``tid . "x"``"""
    if not failure.before.endswith(".") or not failure.rest.startswith('"'):
        return None
    return Diagnostic(
        "BT016",
        "`.` does not join texts",
        Label(failure.behind(1)),
        help=('write f"{a} {b}"',),
    )


def _flag(place: Span, letter: str, number: str) -> Diagnostic:
    """``Foo::bar -n 5``: a flag of a command"""
    written = {
        "n": f"a probe that ends after so many hits:  @Limit(hits={number}), or --hits {number} at the command line",
        "x": f"how deep an object is shown is said where it is printed:  print(show(arg0, {number}))",
        "b": "before the method:  com.acme.Foo::bar @entry { … }",
        "e": "when an exception leaves the method:  com.acme.Foo::bar @throw { … }",
        "f": "when the method ends:  com.acme.Foo::bar @exit { … }",
        "s": "when the method returns:  com.acme.Foo::bar @return { … }",
    }.get(letter, "flags stand at the command line, after the script:  btpy PID FILE.bt --for 30s")
    return Diagnostic("BT016", "a script has no flags", Label(place), help=(written,))


_LOCATION_WORDS = {
    "ENTRY": "@entry",
    "EXIT": "@return",
    "RETURN": "@return",
    "THROW": "@throw",
    "EXCEPTION": "@throw",
}


def _location_word(failure: Failure) -> Diagnostic | None:
    """``A::b AT ENTRY``, ``A::b return``, ``A::b IF x``, ``A::b where x``"""
    if ("AT_LOC" not in failure.accepts and "WHEN" not in failure.accepts) or "::" not in failure.before:
        return None
    clause = re.match(r":(entry|return)\b", failure.rest)
    if clause is not None and "AT_LOC" in failure.accepts:
        return _rewritten("BT001", "a location begins with `@`", failure.ahead(clause.end()), f"@{clause[1]}")
    location = re.match(r"(?:(?:AT|at|ON|on)\s+)?([A-Za-z]+)\b", failure.rest)
    if "AT_LOC" in failure.accepts and location is not None and location[1].upper() in _LOCATION_WORDS:
        place = failure.ahead(location.end())
        return _rewritten("BT001", "a location begins with `@`", place, _LOCATION_WORDS[location[1].upper()])
    operation = re.match(r"(?:AT|AFTER|at)\s+(LINE|INVOKE|CALL|READ|WRITE|SYNCHRONIZE)\s*([\w.$]*)", failure.rest)
    if "AT_LOC" in failure.accepts and operation is not None:
        owner, _, member = operation[2].rpartition(".")
        argument = operation[2] if operation[1] == "LINE" else f"{owner or 'com.acme.Foo'}::{member or 'bar'}"
        short = {"LINE": "line", "READ": "get", "WRITE": "set", "SYNCHRONIZE": "sync"}.get(operation[1], "call")
        after = "when=AFTER" if operation[0].startswith("AFTER") and short in ("call", "sync") else ""
        inside = ", ".join(filter(None, ("" if short == "sync" else argument, after)))
        written = f"@{short}" + (f"({inside})" if inside else "")
        return _rewritten("BT001", "a location begins with `@`", failure.ahead(operation.end()), written)
    bound = re.match(r"BIND\s+(\w+)\s*(?::\s*[\w.$]+\s*)?=\s*([^\s{};]+)?", failure.rest)
    if bound is not None:
        place = failure.ahead(bound.end())
        value = re.sub(r"^\$(\d)$", lambda digit: f"arg{max(int(digit[1]) - 1, 0)}", bound[2] or "arg0")
        return Diagnostic(
            "BT016",
            "`BIND` is Byteman's form",
            Label(place),
            help=(f"a variable is made in the body:  {{ let {bound[1]} = {value}; … }}",),
        )
    flag = re.match(r"-([a-zA-Z])\b(?:\s+(\d+))?", failure.rest)
    if flag is not None:
        return _flag(failure.ahead(flag.end()), flag[1], flag[2] or "5")
    word = re.match(r"(IF|if|WHERE|where|WHEN|unless|while)\b", failure.rest)
    if word is not None:
        return _rewritten("BT016", "the condition of a probe follows `when`", failure.ahead(word.end()), "when")
    word = re.match(r"(DO|do|then|THEN|begin|:|=>)(?!\w)", failure.rest)
    if word is not None:
        return Diagnostic(
            "BT016",
            f"`{word[1]}` does not begin a body here",
            Label(failure.ahead(len(word[1])), BRACE_EXPECTED),
            help=("a body is in braces:  { print(arg0) }",),
        )
    return None


def _projection(failure: Failure) -> Diagnostic | None:
    """``params.{name}`` of OGNL, ``[x.name for x in items]`` of Python"""
    loop = re.match(r"for\s+(\w+)\s+in\s+([\w.$@]+)", failure.rest)
    element = re.search(r"\[\s*([^\[\]]+?)$", failure.before)
    if loop is not None and element is not None:
        return Diagnostic(
            "BT016",
            "a loop does not make a list here",
            Label(failure.span),
            help=(f"write for {loop[1]} in {loop[2]} limit 20 {{ print({element[1].strip()}) }}",),
        )
    return None


def _slice(failure: Failure) -> Diagnostic | None:
    """``x[1:3]``"""
    ends = re.search(r"([\w.$]+)\[\s*(\w*)$", failure.before)
    if ends is None or not failure.rest.startswith(":"):
        return None
    last = re.match(r":\s*(\w*)", failure.rest)
    return Diagnostic(
        "BT016",
        "an index is one number",
        Label(failure.ahead(1)),
        help=(
            f"a part of a text:  substr({ends[1]}, {ends[2] or '0'}, {(last[1] if last else '') or '…'})",
            f"elements of a list:  for x in {ends[1]} limit 3 {{ … }}",
        ),
    )


def _braces_as_value(failure: Failure) -> Diagnostic | None:
    """``counts = {}``, ``let m = {…}``"""
    listed = re.match(r"\{\s*([\w.$\[\]]+(?:\s*,\s*[\w.$\[\]]+)+)\s*\}", failure.rest)
    if listed is not None and "{" in failure.before:
        return Diagnostic(
            "BT016",
            "braces do not make a value",
            Label(failure.ahead(listed.end())),
            help=(f"several values are listed:  print({in_our_words(listed[1])})",),
        )
    name = re.search(r"(?:let\s+)?@?(\w+)\s*=$", failure.before)
    braces = re.match(r"\{[^{}\n]*\}", failure.rest)
    if name is None or braces is None or "{" not in failure.before:
        return None
    return Diagnostic(
        "BT016",
        "braces do not make a value",
        Label(failure.ahead(braces.end())),
        help=(f"a map needs no declaration:  @{name[1]}[key] = …",),
    )


def _power(failure: Failure) -> Diagnostic | None:
    """``x ** 2``"""
    operand = re.search(r"([\w.$]+)\s*\*$", failure.before)
    if operand is None or not failure.rest.startswith("*"):
        return None
    place = Span(failure.source, failure.behind(1).start, failure.at + 1)
    return Diagnostic(
        "BT016", "there is no operator `**`", Label(place), help=(f"write x * x, here {operand[1]} * {operand[1]}",)
    )


def _word_of_others(failure: Failure) -> Diagnostic | None:
    """``import time``, ``lambda x: x``, ``assert x``: a word that was read as a name, and what follows it"""
    word = re.search(
        r"(?<![\w.$@])(import|from|lambda|assert|pass|next|yield|await|async|goto|global|nonlocal|with)$",
        failure.before,
    )
    if word is None or "{" not in failure.before or not re.match(r"[\w$@\"(]", failure.rest):
        return None
    return Diagnostic(
        "BT016",
        f"there is no `{word[1]}` here",
        Label(failure.behind(len(word[1]))),
        help=(FORMS[word[1]],),
    )


def _import_from(failure: Failure) -> Diagnostic | None:
    """``from btpy import jdbc;``"""
    source = re.match(r"from\s+([\w.]+)\s+import\s+(\w+)", failure.source.text[failure.start :].lstrip())
    if source is None:
        return None
    start = failure.source.text.index("from", failure.start)
    place = Span(failure.source, start, start + source.end())
    return _rewritten("BT016", "this is Python's form", place, f"import {source[1]}.{source[2]}")


def _method_reference(failure: Failure) -> Diagnostic | None:
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
    help_ = () if of_map is None else of_map_method(of_map[1], of_map[2], of_map[3].split(","))
    if help_:
        return Diagnostic(
            "BT016",
            "functions cannot be values",
            Label(Span(failure.source, start, failure.at + name.end()), "a method reference"),
            help=help_,
        )
    return Diagnostic(
        "BT016",
        "functions cannot be values",
        Label(Span(failure.source, start, failure.at + name.end()), "a method reference"),
        help=(
            "over a collection:  for x in items limit 20 { print(x) }",
            "a test of all:  any(x in items: x.price > 3)",
        ),
    )


def _conversion(failure: Failure) -> Diagnostic | None:
    """``{x!r}`` in an f-string"""
    debugged = re.search(r"\{\s*([^{}\"]+)$", failure.source.text[: failure.at])
    if debugged is not None and re.match(r"=\s*[}!:]", failure.rest):
        written = f"{debugged[1].strip()}={{{debugged[1].strip()}}}"
        return Diagnostic(
            "BT016",
            "a value in an f-string is printed without its name",
            Label(failure.ahead(1)),
            help=(f'write f"{written}"',),
        )
    if not re.match(r"![rsa](?=[}:])", failure.source.text[failure.at : failure.at + 3]):
        return None
    return Diagnostic(
        "BT016",
        "values in an f-string have no conversion",
        Label(failure.ahead(2)),
        help=("leave it out; all of an object is:  print(show(arg0))",),
        fixes=(Fix(failure.ahead(2), ""),),
    )


def _config_with_equals(failure: Failure) -> Diagnostic | None:
    """``config = { … }``"""
    if not re.match(r"config$", failure.before) or not failure.rest.startswith("="):
        return None
    return Diagnostic(
        "BT016",
        "settings have no `=` before their braces",
        Label(failure.ahead(1)),
        help=("write config { max_map_keys = 8192; }",),
    )


def _delete_of_a_name(failure: Failure) -> Diagnostic | None:
    """``delete counts``"""
    name = re.match(r"([A-Za-z_]\w*)(\[[^\]\n]*\])?", failure.rest)
    if name is None or not re.search(r"(?<![\w.$@])delete$", failure.before):
        return None
    written = f"delete @{name[1]}{name[2]}" if name[2] else f"clear(@{name[1]})"
    return Diagnostic(
        "BT016",
        "a map has an @ before its name",
        Label(failure.ahead(name.end())),
        help=(f"write {written}", *(() if name[2] else (f"one key:  delete @{name[1]}[key]",))),
    )


def _tuple(failure: Failure) -> Diagnostic | None:
    """``x in (1, 2)``"""
    several = re.search(r"(?<![\w.$@(\[,])([A-Za-z_]\w*)$", failure.before)
    names = re.match(r",\s*([A-Za-z_]\w*)\s*=(?!=)\s*([^,;{}]+),\s*([^,;{}]+)", failure.rest)
    if several is not None and names is not None and failure.statement == several[1]:
        return Diagnostic(
            "BT016",
            "a statement gives a value to one name",
            Label(failure.ahead(1)),
            help=(f"write let {several[1]} = {names[2].strip()}; let {names[1]} = {names[3].strip()};",),
        )
    stored = re.search(r"(@\w*)(\[[^\]\n]*\])?\s*=\s*\(([^()]*)$", failure.before)
    if stored is not None and failure.rest.startswith(","):
        return Diagnostic(
            "BT016",
            "a map holds one value for a key",
            Label(failure.ahead(1)),
            help=(
                f"several values are several maps, which  table(@a, @b)  prints beside each other:  {stored[1]}_1"
                f"{stored[2] or ''} = {stored[3].strip()}",
            ),
        )
    grouped = re.search(r"[(,]\s*\(\s*([\w.$@\"]+)$", failure.before)
    further = re.match(r"((?:,\s*[\w.$@\"]+)+)\s*\)", failure.rest)
    if grouped is not None and further is not None and not re.search(r"\bin\s*\([^()]*$", failure.before):
        start = failure.source.text.rindex("(", failure.start, failure.at)
        place = Span(failure.source, start, failure.at + further.end())
        return _rewritten("BT016", "values are not grouped in brackets", place, f"{grouped[1]}{further[1]}")
    values = re.search(r"\bin\s*\(([^()]*)$", failure.before)
    rest = re.match(r"([^()\n]*)\)", failure.rest)
    if values is None or rest is None or not failure.rest.startswith(","):
        return None
    start = failure.source.text.rindex("(", failure.start, failure.at)
    place = Span(failure.source, start, failure.at + rest.end())
    return _rewritten("BT016", "write a list in square brackets", place, f"[{place.text[1:-1]}]")


def _decorator(failure: Failure) -> Diagnostic | None:
    """``@btpy.probe("com.acme.Foo", "bar")``, ``@probe(…)``"""
    if failure.before:
        return None
    decorator = re.match(
        r"@[a-z]\w*(?:\.\w+)*\s*(?:\(([^()\n]*)\))?\s*\n?\s*(?:def|public|void|function|class)?", failure.rest
    )
    word = re.match(r"@([a-z]\w*)(?:\.\w+|\s*\()", failure.rest)
    if decorator is None or word is None or word[1].lower() in {annotation.lower() for annotation in ANNOTATIONS}:
        return None
    names = re.findall(r'"([\w.$*]+)"', decorator[1] or "")
    owner, method = (*names, "com.acme.Foo", "bar")[:2] if len(names) != 1 else (names[0], "bar")
    name = re.match(r"@[\w.]+", failure.rest)
    return Diagnostic(
        "BT001",
        "a probe begins with one of the annotations of btpy",
        Label(failure.ahead(name.end() if name else 1)),
        help=(f'write @OnMethod(class="{owner}", method="{method}") {{ … }}',),
    )


def _probe_without_annotation(failure: Failure) -> Diagnostic | None:
    """``probe slow(String sku) { … }``"""
    if failure.before or not re.match(r"probe\b", failure.rest):
        return None
    point = re.match(r"probe\s+([^\s{}]+::[^\s{}]+)", failure.rest)
    if point is not None:
        return Diagnostic(
            "BT016",
            "a probe point stands without `probe`",
            Label(failure.ahead(len("probe"))),
            help=(f"write {point[1]} {{ … }}; a name follows it:  {point[1]} as name {{ … }}",),
        )
    return Diagnostic(
        "BT111",
        "this probe does not say where it attaches",
        Label(failure.ahead(len("probe"))),
        help=('write @OnMethod(class="…", method="…") before it',),
    )


SLIPS: tuple[Callable[[Failure], Diagnostic | None], ...] = (
    _btrace_location,
    _btrace_parameter,
    _btrace_state,
    _import_from,
    _clauses_of_byteman,
    _annotations_at_point,
    _modifiers,
    _btrace_class,
    _btrace_method,
    _probe_of_another_tool,
    _bpftrace_predicate,
    _lookalike,
    _comment_in_the_way,
    _null_safe,
    _elvis,
    _pattern_variable,
    _throws,
    _type_arguments,
    _head_of_java,
    _parameters_of_annotation,
    _second_point,
    _aggregation_by,
    _statistics_operator,
    _called_map,
    _block_of_text,
    _prefix_of_text,
    _spread,
    _joined_by_a_dot,
    _projection,
    _slice,
    _braces_as_value,
    _power,
    _tuple,
    _method_reference,
    _conversion,
    _config_with_equals,
    _delete_of_a_name,
    _decorator,
    _probe_without_annotation,
    _dollar_of_a_variable,
    _structure,
    _declared_for_a_thread,
    _item_of_others,
    _deleted,
    _annotation_as_value,
    _for_each,
    _location_word,
    _loop,
    _foreach,
    _block_of_others,
    _new,
    _arrow,
    _word_of_others,
    _other_language,
    _delete_in_brackets,
    _cast,
    _share,
    _second_location,
    _positional,
    _map_in_braces,
    _bare_dollar,
    _bare_thread,
    _conditional,
    _probe_inside,
    _formal,
    _function,
    _upper_case_map,
    _typed_variable,
    _single_equals,
    _range_without_brackets,
    _no_braces,
    _body_without_braces,
    _late_version,
    _item,
    _unit,
    _statement_of_others,
    _missing_semicolon,
)
