"""Errors where a script says to which methods a probe attaches.

Each function examines the place where the parser stopped, and returns the diagnostic for one mistake or None.
"""

from __future__ import annotations

import re

from btpy.lang.builtins import ANNOTATIONS
from btpy.lang.hints.failure import Failure, advised, rewritten
from btpy.lang.hints.foreign_names import advice_for_annotation
from btpy.lang.hints.other_tools import VARIABLES_OF_BTRACE, head_of_probe, location_of_btrace
from btpy.lang.syntax.nodes import location_of_point
from btpy.lang.syntax.scanner import BRACE_EXPECTED
from btpy.model.diagnostics import Diagnostic, Fix, Label
from btpy.model.source import Span

_BTRACE_LOCATION = re.compile(
    r"@Location\s*\(\s*(?:value\s*=\s*)?(?:Kind\s*\.\s*)?(?P<kind>\w+)(?:[^()]|\([^()]*\))*\)"
)


def btrace_location(failure: Failure) -> Diagnostic | None:
    match = _BTRACE_LOCATION.match(failure.rest)
    if match is None:
        return None
    replacement = location_of_btrace(match)
    span = failure.ahead(match.end())
    return Diagnostic(
        "BT011",
        "this is BTrace's form of a location",
        Label(span),
        help=(f"write location={replacement}",),
        notes=_btrace_throw_note(match["kind"]),
        fixes=(Fix(span, replacement),),
    )


def _btrace_throw_note(kind: str) -> tuple[str, ...]:
    if kind == "ERROR":
        return ("THROW: an exception leaves the method; RAISE: a `throw` statement runs",)
    if kind == "THROW":
        return ("BTrace's Kind.THROW is RAISE here; THROW means that an exception leaves the method",)
    return ()


def btrace_parameter(failure: Failure) -> Diagnostic | None:
    match = re.match(r"@[A-Z]\w*", failure.rest)
    if match is None or match.group() not in VARIABLES_OF_BTRACE:
        return None
    if "AT_LOC" in failure.accepts:  # behind a point
        replacement = f"@{match.group()[1:].lower()}"
        return rewritten(
            "BT001", "a location behind a point must be in lower case", failure.ahead(match.end()), replacement
        )
    name = VARIABLES_OF_BTRACE[match.group()]
    return advised(
        "BT011",
        f"`{match.group()}` is BTrace's form",
        failure.ahead(match.end()),
        f"leave the parameter out and use `{name}` in the body",
    )


def btrace_class(failure: Failure) -> Diagnostic | None:
    head = failure.source.text[failure.start : failure.at + 40]
    if not re.match(r"\s*(@BTrace\b|import\s+(static\s+)?[\w.]+\s*\.?\*?|public\b|static\b)", head):
        return None
    if not re.match(r"(public|static|class|import|void|\.?\*)", failure.rest) and "@BTrace" not in head:
        return None
    return advised(
        "BT011",
        "this is BTrace's form: a Java class",
        failure.span,
        'a script is a list of probes:  @OnMethod(class="…", method="…", location=RETURN) { … }',
        "a static method with parameters becomes a probe head:  probe name(String arg, int n)",
    )


def btrace_method(failure: Failure) -> Diagnostic | None:
    if not re.match(r"(public|private|static|void)\b", failure.rest) or not failure.before.endswith(")"):
        return None
    return advised(
        "BT011",
        "this is BTrace's form: a Java method",
        failure.span,
        "the body follows the annotation:  @OnMethod(…) { … }",
    )


_ARGUMENTS = r"(?:\s*\((?:[^()\n]|\([^()\n]*\))*\))?"
_ANNOTATION = rf"@[A-Z]\w*{_ARGUMENTS}"
_CLASS_AND_METHOD = r"((?:(?!::)[^\s(){};])+)::([^\s(){};]+)"  # a text with several `::` can be split in only one way
_POINT_WITH_LOCATION = rf"{_CLASS_AND_METHOD}(?:\s*\([^(){{}};]*\))?(?:\s*@([a-z_]+)\b(?:\([^()\n]*\))?)?"
_ANNOTATIONS_BEFORE = re.compile(rf"\s*((?:{_ANNOTATION}\s+)+){_POINT_WITH_LOCATION}")
_ANNOTATIONS_BEHIND = re.compile(rf"\s*{_POINT_WITH_LOCATION}\s*((?:{_ANNOTATION}\s*)+)(?:@([a-z_]+)\b)?")


def annotations_at_point(failure: Failure) -> Diagnostic | None:
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
    matches = list(re.finditer(rf"@([A-Z]\w*){_ARGUMENTS}", annotations))
    for annotation in matches:
        if annotation[1] not in ANNOTATIONS:
            return advised(
                "BT106",
                f"unknown annotation `@{annotation[1]}`",
                failure.between(start + annotation.start(), start + annotation.end(1)),
                *(advice_for_annotation(annotation[1]) or ("leave it out",)),
            )
    others = [annotation[0] for annotation in matches if not ANNOTATIONS[annotation[1]].attaches]
    placed = f", location={location_of_point(location)}" if location else ""
    head = f'@OnMethod(class="{owner}", method="{method}"{placed})'
    return advised(
        "BT001",
        "a probe with annotations does not have the form Class::method",
        failure.span,
        f"write {' '.join((head, *others))} {{ … }}",
    )


def annotation_as_value(failure: Failure) -> Diagnostic | None:
    """``enableAt=@Level("1")``"""
    match = re.match(r"@([A-Z]\w*)", failure.rest)
    argument = re.search(r"(\w+)\s*=$", failure.before)
    if match is None or match[1] not in ANNOTATIONS or argument is None:
        return None
    return advised(
        "BT001",
        f"an annotation cannot stand here: `{match[0]}`",
        failure.ahead(match.end()),
        f"annotations stand one after the other:  @OnMethod(…) {match[0]}(…) {{ … }}",
    )


def bpftrace_predicate(failure: Failure) -> Diagnostic | None:
    match = re.match(r"/([^/\n]*)/\s*(?=\{)", failure.rest)
    if match is None:
        return None
    span = failure.ahead(len(match.group().rstrip()))
    replacement = re.sub(r"(?<![\w.$@])self\s*->\s*", "thread.", match.group(1).strip())
    return rewritten("BT012", "this is bpftrace's form of a predicate", span, f"when {replacement}")


def probe_of_another_tool(failure: Failure) -> Diagnostic | None:
    """``interval:s:1 { … }``, ``tick-5s { … }``, ``probe timer.s(1) { … }`` among probes of our language"""
    head = head_of_probe(failure.source.text, failure.start)
    if head is None:
        return None
    tool, (start, end), replacement = head
    return advised(
        "BT014",
        f"this is {tool}'s form of a probe",
        failure.between(start, end),
        f"write {replacement}"
        if replacement and "(a Java method)" not in replacement
        else f"btpy traces Java methods:  {replacement.partition('    ')[0] or 'com.acme.Foo::bar @entry { … }'}",
    )


_POINT_AND_LOCATION = re.compile(r"(\S+?)::(\S+)\s+@([a-z_]+)$")


def second_location(failure: Failure) -> Diagnostic | None:
    """``A::b @entry, @return``"""
    point = _POINT_AND_LOCATION.search(failure.before)
    second = re.match(r"(?:,|&&|\|\|?|\band\b|\bor\b)?\s*@([a-z_]+)", failure.rest)
    if point is None or second is None:
        return None
    locations = [location_of_point(name) for name in (point[3], second[1])]
    both = {"RETURN", "THROW"} == set(locations)
    replacement = f'@OnMethod(class="{point[1]}", method="{point[2]}", location=[{", ".join(locations)}])'
    return Diagnostic(
        "BT001",
        "a probe point can have only one location",
        Label(failure.ahead(second.end()), "the second"),
        help=("@exit covers both",) if both else (f"write {replacement}",),
    )


def probe_inside(failure: Failure) -> Diagnostic | None:
    """``com.acme.Foo::bar`` between the braces of a probe: the name was read up to the colons."""
    point = re.match(r"[\w.$*<>+]*::[\w*<>$]+", failure.statement + failure.rest)
    if point is None or "{" not in failure.before or not failure.rest.startswith(":"):
        return None
    start = failure.source.text.rindex(failure.statement, failure.start, failure.at)
    return advised(
        "BT001",
        "a probe cannot stand inside another",
        failure.between(start, start + point.end()),
        "a probe passes values to another through a map or a thread variable:  thread.name = …",
    )


_FORMAL_WITH_COLON = re.compile(r":\s*([A-Za-z_][\w.]*(?:\[\])*)")


def formal(failure: Failure) -> Diagnostic | None:
    """``name: type``, or a name alone, in the head of a probe or of a function."""
    head = re.search(r"(?:\bprobe(?:\s+\w+)?|\bfn\s+\w+)\s*\(([^()]*)$", failure.before)
    name = re.search(r"([A-Za-z_]\w*)$", failure.before)
    if head is None or name is None:
        return None
    start = failure.source.text.rindex(name[1], failure.start, failure.at)
    colon = _FORMAL_WITH_COLON.match(failure.rest)
    if colon is not None:
        place = failure.between(start, failure.at + colon.end())
        replacement = f"{colon[1]} {name[1]}"
        return rewritten("BT016", "the type must stand before the name", place, replacement)
    if failure.rest[:1] not in (",", ")"):
        return None
    return advised(
        "BT001",
        f"`{name[1]}` has no type",
        failure.between(start, start + len(name[1])),
        f"write its type before it:  String {name[1]}, int {name[1]}, com.acme.Order {name[1]}",
    )


_POINT = re.compile(
    r"([+@]?[\w.$*]+?|/?[\w$]+(?:/[\w$]+)+/?)(?:\.|#|::|:|/)([\w$*]+)\s*(?:\([^()\n]*\)\s*)?(?=@[a-z]|when\b|\{)"
)


def item(failure: Failure) -> Diagnostic | None:
    """Text that cannot begin an item: a misspelled probe point, an annotation in lower case, a statement."""
    if failure.before:
        return None
    annotation = re.match(r"@([A-Za-z]\w*)", failure.rest)
    if annotation is not None:
        names = [f"@{name}" for name in ANNOTATIONS if name.lower() == annotation[1].lower()]
        place = failure.ahead(annotation.end())
        if names:
            return rewritten("BT001", "the names of annotations start with an upper-case letter", place, names[0])
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
        return rewritten("BT001", "write a probe point as Class::method", place, f"{apart[1]}::{apart[2]}")
    clause = re.match(r"([\w.$*]+):([\w$*]+):(entry|return)\b", failure.rest)
    if clause is not None:
        replacement = f"{clause[1]}::{clause[2]} @{clause[3]}"
        return rewritten(
            "BT001", "write a probe point as Class::method @location", failure.ahead(clause.end()), replacement
        )
    point = _POINT.match(failure.rest)
    if point is not None:
        types = re.match(r"\s*(\([^()\n]+\))", failure.rest[point.end(2) :])
        place = failure.ahead(point.end(2))
        replacement = f"{point[1].strip('/').replace('/', '.')}::{point[2]}{types[1] if types is not None else ''}"
        place = failure.ahead(point.end(2) + (types.end() if types is not None else 0))
        return rewritten(
            "BT001", "write a probe point as Class::method, with dots in the name of the class", place, replacement
        )
    if re.match(r"\{|[a-z_]\w*\s*\(|@[a-z_]?\w*\s*(?:\[[^\]\n]*\]\s*)?[-+=]|(?:let|if|for|delete)\b", failure.rest):
        return Diagnostic(
            "BT001",
            "this stands outside of all probes",
            Label(failure.span, "a probe or a declaration is expected here"),
            help=("to run it at a method:  com.acme.Foo::bar @return { … }", "to run it at once:  @OnBegin { … }"),
        )
    return None


def throws(failure: Failure) -> Diagnostic | None:
    """``A::b() throws X``"""
    clause = re.match(r"throws\s+([\w.$, ]*[\w$])", failure.rest)
    if clause is None or "::" not in failure.before:
        return None
    return advised(
        "BT016",
        "a probe point cannot have `throws`",
        failure.ahead(clause.end()),
        f"where such an exception leaves the method:  … @throw({clause[1].split(',')[0]}) {{ … }}",
    )


_CLAUSES = re.compile(
    r"\s*(CLASS|INTERFACE)\s+(\^?)([\w.$*]+)\s+METHOD\s+([\w$*<>]+(?:\([^()\n]*\))?)(?:\s+(AT|AFTER)\s+(ENTRY|EXIT|THROW)\b)?"
)


def clauses_of_byteman(failure: Failure) -> Diagnostic | None:
    """``INTERFACE java.util.List METHOD add``, without ``RULE``"""
    clauses = _CLAUSES.match(failure.source.text, failure.start)
    if clauses is None:
        return None
    subtypes = "+" if clauses[1] == "INTERFACE" or clauses[2] else ""
    location = _LOCATION_WORDS[clauses[6] or "ENTRY"]
    start = clauses.start(1)
    place = failure.between(start, clauses.end())
    replacement = f"{subtypes}{clauses[3]}::{clauses[4]} {location}"
    return rewritten("BT016", "these are Byteman's clauses", place, replacement)


def modifiers(failure: Failure) -> Diagnostic | None:
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
    return advised(
        "BT016",
        "a probe point cannot have modifiers or a return type",
        failure.between(start, start + len(method[1].rstrip())),
        f"write {owner}::{name} @entry {{ … }}",
    )


def type_arguments(failure: Failure) -> Diagnostic | None:
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
        "types cannot have type arguments, because class files do not keep them",
        Label(place),
        help=(f"write {type_[1]}{' ' + name[1] if name is not None else ''}",),
        fixes=(Fix(place, ""),),
    )


def head_of_java(failure: Failure) -> Diagnostic | None:
    """``final String name``, ``String... names`` in the head of a probe."""
    if re.search(r"(?:\bprobe(?:\s+\w+)?|\bfn\s+\w+)\s*\([^()]*$", failure.before) is None:
        return None
    final = re.search(r"\b(final|const|var)\s+([\w.$]+)$", failure.before)
    name = re.match(r"[A-Za-z_]\w*", failure.rest)
    if final is not None and name is not None:
        start = failure.behind(len(final[0])).start
        return advised(
            "BT016",
            f"`{final[1]}` is not part of a type here",
            failure.between(start, start + len(final[1])),
            f"write {final[2]} {name[0]}",
        )
    type_ = re.search(r"([\w.$]+)$", failure.before.rstrip("."))
    if type_ is not None and re.match(r"\.{2,3}\s*[A-Za-z_]", failure.rest):
        dots = re.match(r"(\.+)\s*(\w+)", failure.rest)
        assert dots is not None
        return Diagnostic(
            "BT016",
            "further arguments must be an array",
            Label(failure.ahead(len(dots[1]))),
            help=(f"write {type_[1]}[] {dots[2]}",),
            fixes=(Fix(failure.ahead(len(dots[1])), "[]"),),
        )
    return None


def parameters_of_annotation(failure: Failure) -> Diagnostic | None:
    """``@OnError(Throwable t)``"""
    head = re.search(r"@(On\w+)\s*\(\s*[\w.$]+$", failure.before)
    if head is None or re.match(r"[A-Za-z_]\w*\s*[,)]", failure.rest) is None:
        return None
    names = "error.kind, error.message, error.line" if head[1] == "OnError" else "variables of the language"
    return advised(
        "BT011",
        f"`@{head[1]}` cannot have parameters",
        failure.span,
        f"write @{head[1]} {{ … }}; the body sees {names}",
    )


_POINT_LIST = re.compile(r"\s*,\s*([^\s,{}()]+)::([^\s,{}()@]+)")


def second_point(failure: Failure) -> Diagnostic | None:
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
        "a probe can have only one point",
        Label(failure.ahead(second.end()), "the second"),
        help=(f"write @OnMethod(class={written(classes)}, method={written(methods)}) {{ … }}",)
        if one
        else ("write a probe for each",),
    )


def _flag(place: Span, letter: str, number: str) -> Diagnostic:
    """``Foo::bar -n 5``: a flag of a command"""
    replacement = {
        "n": f"to end a probe after {number} hits:  @Limit(hits={number}), or --hits {number} at the command line",
        "x": f"to print an object to a certain depth:  print(show(arg0, {number}))",
        "b": "before the method:  com.acme.Foo::bar @entry { … }",
        "e": "when an exception leaves the method:  com.acme.Foo::bar @throw { … }",
        "f": "when the method ends:  com.acme.Foo::bar @exit { … }",
        "s": "when the method returns:  com.acme.Foo::bar @return { … }",
    }.get(letter, "write flags on the command line, after the script:  btpy PID FILE.bt --for 30s")
    return advised("BT016", "a script cannot contain flags", place, replacement)


_LOCATION_WORDS = {
    "ENTRY": "@entry",
    "EXIT": "@return",
    "RETURN": "@return",
    "THROW": "@throw",
    "EXCEPTION": "@throw",
}


def location_word(failure: Failure) -> Diagnostic | None:
    """``A::b AT ENTRY``, ``A::b return``, ``A::b IF x``, ``A::b where x``"""
    if ("AT_LOC" not in failure.accepts and "WHEN" not in failure.accepts) or "::" not in failure.before:
        return None
    clause = re.match(r":(entry|return)\b", failure.rest)
    if clause is not None and "AT_LOC" in failure.accepts:
        return rewritten("BT001", "a location must begin with `@`", failure.ahead(clause.end()), f"@{clause[1]}")
    location = re.match(r"(?:(?:AT|at|ON|on)\s+)?([A-Za-z]+)\b", failure.rest)
    if "AT_LOC" in failure.accepts and location is not None and location[1].upper() in _LOCATION_WORDS:
        place = failure.ahead(location.end())
        return rewritten("BT001", "a location must begin with `@`", place, _LOCATION_WORDS[location[1].upper()])
    operation = re.match(r"(?:AT|AFTER|at)\s+(LINE|INVOKE|CALL|READ|WRITE|SYNCHRONIZE)\s*([\w.$]*)", failure.rest)
    if "AT_LOC" in failure.accepts and operation is not None:
        owner, _, member = operation[2].rpartition(".")
        argument = operation[2] if operation[1] == "LINE" else f"{owner or 'com.acme.Foo'}::{member or 'bar'}"
        short = {"LINE": "line", "READ": "get", "WRITE": "set", "SYNCHRONIZE": "sync"}.get(operation[1], "call")
        after = "when=AFTER" if operation[0].startswith("AFTER") and short in ("call", "sync") else ""
        inside = ", ".join(filter(None, ("" if short == "sync" else argument, after)))
        replacement = f"@{short}" + (f"({inside})" if inside else "")
        return rewritten("BT001", "a location must begin with `@`", failure.ahead(operation.end()), replacement)
    bound = re.match(r"BIND\s+(\w+)\s*(?::\s*[\w.$]+\s*)?=\s*([^\s{};]+)?", failure.rest)
    if bound is not None:
        place = failure.ahead(bound.end())
        value = re.sub(r"^\$(\d)$", lambda digit: f"arg{max(int(digit[1]) - 1, 0)}", bound[2] or "arg0")
        return advised(
            "BT016",
            "`BIND` is Byteman's form",
            place,
            f"declare the variable in the body:  {{ let {bound[1]} = {value}; … }}",
        )
    flag = re.match(r"-([a-zA-Z])\b(?:\s+(\d+))?", failure.rest)
    if flag is not None:
        return _flag(failure.ahead(flag.end()), flag[1], flag[2] or "5")
    word = re.match(r"(IF|if|WHERE|where|WHEN|unless|while)\b", failure.rest)
    if word is not None:
        return rewritten("BT016", "the condition of a probe must follow `when`", failure.ahead(word.end()), "when")
    word = re.match(r"(DO|do|then|THEN|begin|:|=>)(?!\w)", failure.rest)
    if word is not None:
        return Diagnostic(
            "BT016",
            f"`{word[1]}` does not begin a body here",
            Label(failure.ahead(len(word[1])), BRACE_EXPECTED),
            help=("write a body in braces:  { print(arg0) }",),
        )
    return None


def decorator(failure: Failure) -> Diagnostic | None:
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
    return advised(
        "BT001",
        "a probe must begin with one of the annotations of btpy",
        failure.ahead(name.end() if name else 1),
        f'write @OnMethod(class="{owner}", method="{method}") {{ … }}',
    )


def probe_without_annotation(failure: Failure) -> Diagnostic | None:
    """``probe slow(String sku) { … }``"""
    if failure.before or not re.match(r"probe\b", failure.rest):
        return None
    point = re.match(r"probe\s+([^\s{}]+::[^\s{}]+)", failure.rest)
    if point is not None:
        return advised(
            "BT016",
            "a probe point must stand without `probe`",
            failure.ahead(len("probe")),
            f"write {point[1]} {{ … }}; a name follows it:  {point[1]} as name {{ … }}",
        )
    return advised(
        "BT111",
        "this probe does not say where it attaches",
        failure.ahead(len("probe")),
        'write @OnMethod(class="…", method="…") before it',
    )
