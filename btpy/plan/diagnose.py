"""Reasons why a probe matches no code. The user learns the reason before the target changes.

A probe that silently prints nothing is a common complaint about other tools. Each function here reports one reason,
with a correction.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from difflib import get_close_matches

from btpy.dataclass import dataclass
from btpy.errors import UsageError
from btpy.lang.program import Probe
from btpy.model.attachments import LowMemoryAttachment, MethodAttachment
from btpy.model.diagnostics import Diagnostic, Label, Severity, nearest
from btpy.model.patterns import MethodPattern, Pattern, class_patterns, is_regex, simple_name
from btpy.model.points import Point
from btpy.model.source import Span
from btpy.plan.plan import ALLOWED_BY, BEFORE_SUPER, MATCHED, NEEDS_CORE, OF_JFR, Refusal, RefusalReason
from btpy.remedies import Permission


@dataclass(frozen=True, slots=True)
class KnownClass:
    """A loaded class; ``methods``: its methods in the spelling of Java (``quote(String, int)``), None if they were not
    read."""

    name: str
    loader: str
    interface: bool
    methods: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class TargetFacts:
    """``pid`` is 0 if the classes come from the source that ``main`` names, not from a JVM."""

    loaded: int
    loaders: int
    pid: int
    main: str


def nearest_class_names(pattern: str, names: Iterable[str], limit: int = 3) -> list[str]:
    """The loaded classes that the user may have meant: the same simple name in other packages, then similar simple
    names.

    Among equal candidates, names in the package of the pattern come first.
    """
    plain_name = pattern.lstrip("+@").replace("*", "").strip(".")
    package, _, _ = plain_name.rpartition(".")
    wanted_simple = simple_name(plain_name)
    by_simple: dict[str, list[str]] = {}
    for name in names:
        by_simple.setdefault(simple_name(name), []).append(name)
    candidates: list[str] = []
    similar = get_close_matches(
        wanted_simple, by_simple, n=20, cutoff=0.6
    )  # computing edit distances to all names is 20 times slower
    for simple in [wanted_simple, *nearest(wanted_simple, similar, limit * 4)]:
        candidates += sorted(
            by_simple.get(simple, ()), key=lambda name: (not name.startswith(package), len(name), name)
        )
    return [name for name in dict.fromkeys(candidates) if name != plain_name][:limit]


_LIKE_A_GLOB = re.compile(r"[\w.$*?]*[*?][\w.$*?]*")
_LIKE_A_REGEX = re.compile(r"[\w.$*+?|()\[\]\\^{},-]+")


def read_otherwise(pattern: Pattern, names: Iterable[str], *, method: bool) -> tuple[str, ...]:
    """The help for a pattern that matches nothing, but that would match as a glob instead of a regular expression, or
    the reverse.
    """
    text = pattern.text
    spellings: list[tuple[str, str]] = []
    if is_regex(text):
        inside = text[1:-1]
        if _LIKE_A_GLOB.fullmatch(inside):
            spellings.append((inside, "as a glob"))
        spellings.append((f"/.*{inside.strip('^$')}.*/", "a regular expression matches a whole name"))
    elif not text.startswith(("+", "@")):
        if re.search(r"\.[*+]", text):
            spellings.append((re.sub(r"\.[*+]", "*", text), "as a glob"))
        if not method and re.search(r"\.\*+$", text):
            spellings.append((re.sub(r"\*+$", "**", text), "packages below, too"))
        if _LIKE_A_REGEX.fullmatch(text) and re.search(r"[*+?|\[\\]", text):
            spellings.append((f"/{text}/", "as a regular expression"))
    distinct = list(dict.fromkeys(names))
    for spelling, why in spellings:
        matches = [name for name in distinct if _means(spelling, name, method)]
        if matches:
            suffix = f" and {len(matches) - 2} more" if len(matches) > 2 else ""
            replacement = f'"{spelling}"' if pattern.span.text.startswith('"') else spelling
            return (f"{why}:  {replacement}   (matches {', '.join(matches[:2])}{suffix})",)
    return ()


def _means(spelling: str, name: str, method: bool) -> bool:
    try:
        if method:
            return MethodPattern(spelling).matches(name)
        return any(pattern.matches(name, ()) for pattern in class_patterns(spelling))
    except UsageError:  # no regular expression
        return False


def no_class_matches(
    probe: Probe, facts: TargetFacts, nearby: Sequence[KnownClass], names: Iterable[str] = ()
) -> Diagnostic:
    """BT301: none of the class patterns matches a loaded class. ``names``: the names of all loaded classes."""
    attachment = _attachment(probe)
    pattern = attachment.classes[0]
    spelled = ", ".join(f'"{class_.text}"' for class_ in attachment.classes)
    methods = [method.text for method in attachment.methods]
    adjective = "loaded " if facts.pid else ""
    place = f"{facts.loaders} class loaders, pid {facts.pid} {facts.main}" if facts.pid else facts.main
    where = f"0 of {_grouped(facts.loaded)} {adjective}classes ({place})"
    annotated = pattern.text.startswith("@")  # a class with a similar name is not an annotation
    nearby = () if annotated else nearby
    width = max((len(class_.name) for class_ in nearby), default=0)
    lines = [f"{class_.name:<{width}}  ({_describe(class_, methods)})" for class_ in nearby]
    help_ = list(read_otherwise(pattern, names, method=False))
    if lines and not help_:
        help_.append("nearest:  " + "\n          ".join(lines))
    if re.search(r"\$\$|[Ll]ambda", pattern.text):
        return Diagnostic(
            "BT301",
            f"no {adjective}class matches {spelled}",
            Label(pattern.span, where),
            help=_of_lambdas(attachment, ""),
            notes=("the JVM does not allow lambda classes to be changed, not even while they are loaded",),
        )
    if annotated and not any(text.startswith("@") for text in methods):
        help_.append(
            "this pattern matches annotations of classes; for annotations of methods write:"
            f'  class="*", method="{pattern.text}"'
        )
    if facts.pid:
        help_.append("if it is loaded later, add `pending=true` (or run with --pending)")
    return Diagnostic("BT301", f"no {adjective}class matches {spelled}", Label(pattern.span, where), help=tuple(help_))


def interface_without_code(probe: Probe, interface: str, implementors: Sequence[str]) -> Diagnostic:
    """BT302: the pattern names an interface whose matching methods are abstract."""
    attachment = _attachment(probe)
    methods = ", ".join(method.text for method in attachment.methods)
    named_classes = [implementor for implementor in implementors if "$$Lambda" not in implementor]
    examples = ", ".join(simple_name(class_name) for class_name in named_classes[:5])
    suffix = f" and {len(named_classes) - 5} more" if len(named_classes) > 5 else ""
    if implementors and not named_classes:
        return Diagnostic(
            "BT302",
            f'only lambdas implement "{interface}", and the JVM does not allow them to be changed',
            Label(
                attachment.classes[0].span, f"loaded: {len(implementors)} lambda class{'es' * (len(implementors) > 1)}"
            ),
            help=_of_lambdas(attachment, interface),
        )
    loaded_note = f"   (now loaded: {examples}{suffix})" if named_classes else "   (none is loaded now)"
    if any(class_.text.startswith("+") for class_ in attachment.classes):
        note = f"   (loaded without it: {examples}{suffix})" if named_classes else ""
        return Diagnostic(
            "BT302",
            f"{methods} has no code in the loaded classes that match {attachment.classes[0].shown}",
            Label(attachment.classes[0].span, f"matches interfaces only, such as {interface}{note}"),
            help=("if an implementor is loaded later, add `pending=true` (or run with --pending)",),
        )
    return Diagnostic(
        "BT302",
        f'"{interface}" is an interface; {methods} has no code there',
        Label(attachment.classes[0].span, "matches the interface only"),
        help=(f'match its implementors:  class="+{interface}"{loaded_note}',),
    )


def interface_with_some_code(
    probe: Probe, interface: str, abstract: Sequence[str], implementors: Sequence[str]
) -> Diagnostic:
    """BT302, a warning: the probe is in the default and static methods of an interface only. ``abstract``: the names
    of the methods that match and have no code there.
    """
    attachment = _attachment(probe)
    classes = [simple_name(implementor) for implementor in implementors if "$$Lambda" not in implementor]
    suffix = f" and {len(classes) - 5} more" if len(classes) > 5 else ""
    loaded_note = f"   (now loaded: {', '.join(classes[:5])}{suffix})" if classes else ""
    examples = ", ".join(abstract[:4]) + (f" and {len(abstract) - 4} more" if len(abstract) > 4 else "")
    return Diagnostic(
        "BT302",
        f'"{interface}" is an interface; {examples} {"has" if len(abstract) == 1 else "have"} no code there',
        Label(attachment.classes[0].span, "the probe is only in the methods that the interface itself implements"),
        help=(f'match its implementors, too:  class="+{interface}"{loaded_note}',),
        severity=Severity.WARNING,
    )


def _of_lambdas(attachment: MethodAttachment, interface: str) -> tuple[str, ...]:
    """The code that can be traced in place of a lambda class."""
    method = attachment.methods[0].text
    calls = f"{interface}::{method}" if interface else method
    owner = "" if interface else f'method="{method}"'
    pattern = attachment.classes[0].text
    within = pattern.partition("$$")[0] if "$$" in pattern and pattern[0] not in "+@/" else "com.acme.Foo"
    call = owner or f'class="{interface}", method="{method}"'
    short = not attachment.methods[0].span.text.startswith('"') and bool(interface)
    return (
        f"the body of a lambda is a method of the class that contains it:  {within}::lambda$*",
        "its calls can be traced in the callers:  " + (f"@call({calls})" if short else f"location=CALL({call})"),
    )


def no_method_matches(probe: Probe, classes: Sequence[KnownClass]) -> Diagnostic:
    """BT303: the classes match, but they have no method of this name."""
    attachment = _attachment(probe)
    spelled = ", ".join(f'"{method.text}"' for method in attachment.methods)
    names = sorted({_method_name(method) for class_ in classes for method in class_.methods or ()})
    near = nearest(attachment.methods[0].text.strip("*"), names)
    otherwise = read_otherwise(attachment.methods[0], names, method=True)
    constructor = _constructor_help(attachment, classes)
    suggestions = near or [name for name in names if not name.startswith("<")][:8]
    label = "did you mean " if near else "methods there: "
    if all(method.text.startswith("@") for method in attachment.methods):
        return Diagnostic(
            "BT303",
            f"no method of {_class_list(classes)} is annotated with {spelled}",
            Label(_method_span(attachment), "an annotation"),
            help=(f"its methods have names:  {', '.join(names[:4])}",) if names else (),
            notes=("annotations with source retention (@Override) are not in class files",),
        )
    return Diagnostic(
        "BT303",
        f"no method of {_class_list(classes)} matches {spelled}",
        Label(_method_span(attachment), f"0 of {len(names)} method names"),
        help=constructor
        or otherwise
        or ((label + ", ".join(f"`{name}`" for name in suggestions) + ("?" if near else "")),) * bool(suggestions),
    )


def all_excluded(probe: Probe, names: Sequence[str]) -> Diagnostic:
    """BT301: ``exclude`` leaves out each class that matches. ``names``: these classes."""
    first = _attachment(probe).exclude[0].span
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return Diagnostic(
        "BT301",
        f"exclude= leaves out all classes that match: {', '.join(names[:_NAMED])}{more}",
        Label(first, "leaves nothing"),
    )


_NAMED = 3  # the maximum number of excluded classes that are named


def of_untested_version(probe: Probe, reason: Diagnostic) -> Diagnostic:
    """The reason why a probe matches nothing, with the versions that its author has tested."""
    tested = f"this probe is tested with {probe.tested}: other versions may differ"
    return replace(reason, notes=(*reason.notes, tested))


def _constructor_help(attachment: MethodAttachment, classes: Sequence[KnownClass]) -> tuple[str, ...]:
    """The help for a script that names a constructor like its class (``Money::Money``), or ``init``."""
    name = attachment.methods[0].text
    if name not in ("init", "constructor", "__init__", *(simple_name(class_.name) for class_ in classes)):
        return ()
    text = attachment.methods[0].span.text
    return (
        "a constructor is called <init>:  "
        + ('method="<init>"' if text.startswith('"') else f"{attachment.classes[0].text}::<init>"),
    )


def no_overload_fits(probe: Probe, overloads: Sequence[str]) -> Diagnostic:
    """BT305: methods of that name exist, but not with the types of ``type=`` or of the probe's header."""
    attachment = _attachment(probe)
    if attachment.signature is None and probe.formals is not None:
        counts = {_parameter_count(overload) for overload in overloads}
        formal_count = len(probe.formals)
        if formal_count not in counts and not probe.open_formals:
            return _no_such_count(probe, overloads, formal_count, any(formal_count < count for count in counts))
    if attachment.signature is not None:
        place, types = attachment.signature.span, attachment.signature.text
        if place.text.startswith("("):  # behind Class::method
            return _no_such_types(attachment, overloads, attachment.signature)
    else:
        place = probe.span
        types = ", ".join(formal.type for formal in probe.formals or ())
        if probe.formals:
            place = probe.formals[0].span.to(probe.formals[-1].span)
    return Diagnostic(
        "BT305",
        f"no overload has the type ({types})"
        if attachment.signature is None
        else f'no overload has the type "{types}"',
        Label(place, "fits none of them"),
        help=(_listed_overloads(overloads),),
        notes=()
        if attachment.signature is not None
        else _header_notes([formal.type for formal in probe.formals or ()]),
    )


def _no_such_types(attachment: MethodAttachment, overloads: Sequence[str], signature: Pattern) -> Diagnostic:
    """``Class::method(types)`` where no overload has these types."""
    name = attachment.methods[0].text
    text = signature.text.removeprefix("* ")
    return Diagnostic(
        "BT305",
        f"no overload of {name} has the parameters {text}",
        Label(signature.span, "fits none of them"),
        help=(
            _listed_overloads(overloads),
            f"all of them:  {attachment.classes[0].text}::{name}",
        ),
    )


def _listed_overloads(overloads: Sequence[str]) -> str:
    lines = [*overloads[:8], *((f"… and {len(overloads) - 8} more",) if len(overloads) > 8 else ())]
    return "the overloads are:  " + ("\n" + " " * 20).join(lines)


_PRIMITIVES = {
    "Boolean": "boolean",
    "Byte": "byte",
    "Character": "char",
    "Double": "double",
    "Float": "float",
    "Integer": "int",
    "Long": "long",
    "Short": "short",
}


def _header_notes(types: Sequence[str]) -> tuple[str, ...]:
    boxed = next((name for name in types if name.removeprefix("java.lang.") in _PRIMITIVES), None)
    further = "a header may end with `..` for any further parameters"
    if boxed is None:
        return (further,)
    return (
        f"use the types of the method: `{boxed}` is not `{_PRIMITIVES[boxed.removeprefix('java.lang.')]}`",
        further,
    )


def _no_such_count(probe: Probe, overloads: Sequence[str], count: int, fewer: bool) -> Diagnostic:
    formals = probe.formals or ()
    name = _method_name(overloads[0]) if overloads else _attachment(probe).methods[0].text
    header = ", ".join(f"{formal.type} {formal.name}" for formal in formals)
    help_ = (f"leave the rest open:  ({header}{', ' if header else ''}..)",) if fewer else ()
    return Diagnostic(
        "BT305",
        f"no overload of {name} has {count} parameter{'s' * (count != 1)}",
        Label(formals[0].span.to(formals[-1].span) if formals else probe.span, "fits none of them"),
        help=(*help_, _listed_overloads(overloads)),
    )


def _parameter_count(method: str) -> int:
    inside = method.partition("(")[2].rstrip(")")
    return inside.count(",") + 1 if inside else 0


def native_method(probe: Probe, method: str) -> Diagnostic:
    """BT304: only native methods match. They have no bytecode to weave."""
    attachment = _attachment(probe)
    pattern = attachment.classes[0].text
    name = _method_name(method)
    return Diagnostic(
        "BT304",
        f"{method} is native: it has no bytecode to trace",
        Label(_method_span(attachment), "runs in the JVM itself"),
        help=(_call_sites(pattern, name),),
    )


@dataclass(frozen=True, slots=True)
class MappedLines:
    """A note from the source map of a class about a probe at LINE. ``source``: the file to which its line numbers
    refer.

    ``mapped``: line numbers of the probe, with the original file and line. ``others``: line numbers of code that comes
        from the lines that LINE names in the file ``written``.
    """

    class_name: str
    source: str
    mapped: tuple[tuple[int, str, int], ...]
    written: str
    others: tuple[int, ...]


def no_line(probe: Probe, method: str, lines: Sequence[int], mappings: Sequence[MappedLines] = ()) -> Diagnostic:
    """BT306: the methods match, but they have no code from the lines that LINE names. ``mappings``: lines of the
    methods to which source maps give other numbers.
    """
    attachment = _attachment(probe)
    first, last = _asked_lines(attachment)
    code_lines = sorted(set(lines))
    near = sorted(sorted(code_lines, key=lambda line: min(abs(line - first), abs(line - last)))[:6])
    help_ = (
        f"nearest lines with code: {', '.join(map(str, near))}  (of {code_lines[0]}..{code_lines[-1]})"
        if len(code_lines) > 1
        else f"all its code comes from line {code_lines[0]}"
        if code_lines
        else "compiled without line numbers (javac -g:lines): ENTRY, RETURN and CALL need none"
    )
    return Diagnostic(
        "BT306",
        f"{method} has no code at {_spelled_lines(first, last)}",
        Label(_method_span(attachment), f"has {len(code_lines)} line{'s' * (len(code_lines) != 1)} with code"),
        help=(*_other_numbers(attachment, mappings), help_),
    )


def lines_of_others(probe: Probe, mappings: Sequence[MappedLines]) -> Diagnostic:
    """BT309: by the source map of a class, the lines of the probe have other numbers in the class file."""
    attachment = _attachment(probe)
    mapped = dict.fromkeys(line for lines in mappings for line in lines.mapped)
    examples = [f"{number} is line {line} of {file}" for number, file, line in list(mapped)[:_LINES_SHOWN]]
    rest = [f"and {len(mapped) - len(examples)} more"] if len(mapped) > len(examples) else []
    label = ", ".join([*examples, *rest]) or "other line numbers are not traced"
    first = mappings[0]
    lines = _asked_lines(attachment)
    message = f"{_spelled_lines(*lines)} of {first.class_name} comes from another line of the source"
    if not mapped:
        message = f"{first.class_name} has more code from {_spelled_lines(*lines)} of {first.written}"
    elif lines[0] != lines[1]:
        message = f"some of {_spelled_lines(*lines)} of {first.class_name} come from other lines of the source"
    return Diagnostic(
        "BT309",
        message,
        Label(_method_span(attachment), label),
        help=_other_numbers(attachment, mappings),
        notes=(f"LINE uses the line numbers of the class file ({first.source}), as stack traces do",),
        severity=Severity.WARNING,
    )


_LINES_SHOWN = 3


def _other_numbers(attachment: MethodAttachment, mappings: Sequence[MappedLines]) -> tuple[str, ...]:
    lines = _spelled_lines(*_asked_lines(attachment))
    numbers_of: dict[str, set[int]] = {}
    for mapping in mappings:
        if mapping.others:
            numbers_of.setdefault(mapping.written, set()).update(mapping.others)
    return tuple(
        f"code from {lines} of {file} is at  {', '.join(f'LINE({number})' for number in sorted(numbers)[:8])}"
        for file, numbers in numbers_of.items()
    )


def _asked_lines(attachment: MethodAttachment) -> tuple[int, int]:
    return (attachment.operation.lines if attachment.operation else None) or (0, 0)


def _spelled_lines(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first}..{last}"


def no_operation(probe: Probe, methods: int, descriptions: Sequence[str]) -> Diagnostic:
    """BT307: the methods match, but they do not contain the instruction that the location names. ``descriptions``:
    their operations."""
    attachment = _attachment(probe)
    operation = attachment.operation
    parts = (
        [selector.text for selector in (operation.owner, operation.member) if selector is not None] if operation else []
    )
    operand = "::".join(parts) + "[]" * (bool(parts) and attachment.points[0] is Point.NEWARRAY)
    point = attachment.points[0].name.partition("_")[0] if attachment.points[0].name[:4] == "CALL" else None
    label = point or attachment.points[0].name
    with_dot = [name for name in set(descriptions) if name.replace("::", ".") == operand]
    near = with_dot or nearest(operand, descriptions, 5) or sorted(set(descriptions))[:8]
    plural = "s" * (methods != 1)
    return Diagnostic(
        "BT307",
        f"the matching method{plural} contain{'' if plural else 's'} no {label}({operand})"
        if operand
        else f"there is no {label} there",
        Label(_method_span(attachment), f"{methods} method{plural} searched"),
        help=(f"write {with_dot[0]}",) if with_dot else (f"the code has: {', '.join(near)}",) if near else (),
        notes=("the class is the static type of the receiver in the bytecode; +Type includes its subtypes",)
        if parts and label in ("CALL", "FIELD_GET", "FIELD_SET")
        else (),
    )


def place_refused(probe: Probe, refusal: Refusal) -> Diagnostic:
    """BT332 … BT344: the methods that the probe selects cannot be woven, or their places lack a value that it uses."""
    if refusal.method is None and refusal.reason in ALLOWED_BY:
        return protected_class(probe, refusal)
    help_: tuple[str, ...] = ()
    if refusal.method and refusal.reason in (RefusalReason.TOO_LARGE, RefusalReason.POOL_FULL):
        help_ = (_call_sites(refusal.class_name, refusal.method.partition("(")[0]),)
    elif refusal.detail == BEFORE_SUPER:
        help_ = ("do not use `self` and `depth` there, or use ENTRY, which runs after super(…) in a constructor",)
    return Diagnostic(
        refusal.reason.value,
        f"the probe cannot be placed in {refusal.where}",
        Label(_method_span(_attachment(probe)), "matches it"),
        help=help_,
        notes=(refusal.detail,),
    )


def _call_sites(class_name: str, method: str) -> str:
    return f'its call sites can be traced:  location=CALL(class="{class_name}", method="{method}")  in the callers'


def protected_class(probe: Probe, refusal: Refusal) -> Diagnostic:
    """BT338, BT340, BT347: a class that is traced only with an explicit permission."""
    help_: tuple[str, ...] = ()
    classes = _attachment(probe).classes
    is_named = any(class_.text == refusal.class_name for class_ in classes)
    if refusal.detail == NEEDS_CORE:
        write = () if is_named else (f'name it:  class="{refusal.class_name}"',)
        help_ = (*write, Permission("core"))
    elif refusal.reason in ALLOWED_BY:
        help_ = (Permission(ALLOWED_BY[refusal.reason], "to trace it nevertheless"),)
        help_ += () if is_named else (f'leave the class out:  exclude="{refusal.class_name}"',)
    return Diagnostic(
        refusal.reason.value,
        f"{refusal.class_name} is not traced by this probe"
        if refusal.detail == OF_JFR
        else f"{refusal.class_name} is traced only with permission",
        Label(classes[0].span, "matches it"),
        help=help_,
        notes=(refusal.detail,),
    )


def no_pool(probe: Probe, reason: str) -> Diagnostic:
    """BT308: no memory pool has the name in ``@OnLowMemory``."""
    annotation = probe.tree.annotations[0]
    pool = probe.attachment.pool if isinstance(probe.attachment, LowMemoryAttachment) else None
    problem, _, place = reason.partition("; ")
    return Diagnostic(
        "BT308", problem, Label(pool.span if pool else annotation.span, "0 pools"), notes=(place,) if place else ()
    )


LOADER_HELP = (
    "OSGi: start the framework with org.osgi.framework.bootdelegation=btpy.handlers",
    "JBoss Modules: start it with -Djboss.modules.system.pkgs=btpy.handlers",
)


def classes_refused(probe: Probe, refusals: Sequence[Refusal]) -> Diagnostic:
    """BT332, BT336, BT337: classes match, but none of them can be woven."""
    first = refusals[0]
    help_: tuple[str, ...] = ()
    if first.reason is RefusalReason.LOADER:
        help_ = LOADER_HELP
    elif first.reason is RefusalReason.UNMODIFIABLE:
        attachment = _attachment(probe)
        method = attachment.methods[0].text
        help_ = (f'its calls can be traced:  location=CALL(method="{method}")  in the callers',)
        if "$$Lambda" in first.class_name:
            help_ = _of_lambdas(attachment, "")
    suffix = f" and {len(refusals) - 1} more" if len(refusals) > 1 else ""
    return Diagnostic(
        first.reason.value,
        f"{first.class_name}{suffix} cannot be traced",
        Label(_attachment(probe).classes[0].span, "matches no other loaded class"),
        help=help_,
        notes=(first.detail,),
    )


def together(problems: Iterable[Diagnostic]) -> list[Diagnostic]:
    """One diagnostic for each place and message: methods that a pattern matches often lack the same thing."""
    groups: dict[tuple[str, Span, str], list[Diagnostic]] = {}
    for problem in problems:
        groups.setdefault((problem.code, problem.primary.span, problem.message), []).append(problem)
    return [_with_number_of(others, first) for first, *others in groups.values()]


def _with_number_of(others: Sequence[Diagnostic], first: Diagnostic) -> Diagnostic:
    """The first of several equal diagnostics, with the number of other methods that have the same problem."""
    if not others:
        return first
    methods = {_matched_method(other) for other in (first, *others)}
    noun = (
        "overload"
        if "" not in methods and len({_method_name(method) for method in methods}) == 1
        else "matching method"
    )
    lacks = "lack" if len(others) > 1 else "lacks"
    same = f"{lacks} it too" if first.code == "BT112" else f"{'have' if len(others) > 1 else 'has'} the same problem"
    return replace(first, notes=(*first.notes, f"{len(others)} other {noun}{'s' * (len(others) > 1)} {same}"))


def _matched_method(diagnostic: Diagnostic) -> str:
    """The method in the diagnostic, empty if it names none."""
    notes = [note.removeprefix(MATCHED) for note in diagnostic.notes if note.startswith(MATCHED)]
    return notes[0] if notes else ""


def no_such_exception(probe: Probe, names: Sequence[str], facts: TargetFacts) -> Diagnostic:
    """BT310: no class has the name of the exception in ``type=``. ``names``: all loaded classes."""
    pattern = _attachment(probe).thrown
    assert pattern is not None
    adjective = "loaded " if facts.pid else ""
    thrown = [name for name in names if name.endswith(("Exception", "Error", "Throwable"))]
    near = nearest_class_names(pattern.text, thrown)
    return Diagnostic(
        "BT310",
        f'no {adjective}class matches "{pattern.text}"',
        Label(pattern.span, "the probe cannot fire for this class"),
        help=("nearest:  " + ", ".join(near),) if near else (),
        notes=("if the class is loaded later, the probe fires from then on",) if facts.pid else (),
        severity=Severity.WARNING,
    )


def always_null_self(probe: Probe, span: Span, methods: Sequence[str]) -> Diagnostic:
    """BT311: ``self`` in a probe whose methods are all static."""
    names = ", ".join(methods[:3]) + (f" and {len(methods) - 3} more" if len(methods) > 3 else "")
    return Diagnostic(
        "BT311",
        "`self` is always null here",
        Label(span, "a static method has no object"),
        (Label(_method_span(_attachment(probe)), f"static: {names}"),),
        help=("the class is `cls`, an argument `arg0`",),
        severity=Severity.WARNING,
    )


def _attachment(probe: Probe) -> MethodAttachment:
    assert isinstance(probe.attachment, MethodAttachment)
    return probe.attachment


def _method_span(attachment: MethodAttachment) -> Span:
    return attachment.methods[0].span


def _describe(class_: KnownClass, searched: Sequence[str]) -> str:
    parts = ["interface" if class_.interface else f"loader {class_.loader}"]
    if class_.methods is not None:
        names = {_method_name(method) for method in class_.methods}
        parts.append(f"{len(class_.methods)} method{'s' * (len(class_.methods) != 1)}")
        parts += [f"has `{name}`" for name in searched if name in names]
    return ", ".join(parts)


def _method_name(method: str) -> str:
    return method.partition("(")[0]


def _class_list(classes: Sequence[KnownClass]) -> str:
    if len(classes) == 1:
        return classes[0].name
    return f"{classes[0].name} and {len(classes) - 1} more"


def _grouped(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def method_of(class_name: str, method: str) -> str:
    """``PricingEngine.quote``"""
    return f"{simple_name(class_name)}.{method}"


def java_method(name: str, parameters: Sequence[str]) -> str:
    """``quote(String, int)``: simple type names, as messages and listings show a method."""
    return f"{name}({', '.join(simple_name(parameter) for parameter in parameters)})"
