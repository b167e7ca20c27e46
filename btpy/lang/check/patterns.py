"""Finds patterns of classes, methods and signatures that cannot be parsed, or that can match nothing."""

from __future__ import annotations

import re
from collections.abc import Callable

from btpy.lang.check.frameworks import APPLICATION
from btpy.model.diagnostics import Diagnostic, Fix, Label, Severity
from btpy.model.patterns import Pattern, java_type

Report = Callable[[Diagnostic], None]

_LIKE_A_REGEX_METHOD = re.compile(r"\.[*+]|\\.|\(.*\||\[.*\]|\|")
_LIKE_A_REGEX_CLASS = re.compile(r"\\.|\(.*\||\.\+|^\^|\[.*\]|\|")


def check_pattern(pattern: Pattern, method: bool, report: Report) -> None:
    """Reports the faults in the pattern of a class or of a method."""
    text = pattern.text
    word = "method" if method else "class"
    if not text.strip() or text in ("+", "@", "/", "//"):
        report(Diagnostic("BT313", f"this {word} pattern is empty", Label(pattern.span)))
    elif text == APPLICATION and not method:
        pass
    elif text.startswith("/"):
        _check_regex(pattern, report)
    elif slip := _slip(text, method):
        report(_with_fix(pattern, *slip))
    elif re.search(r"\s", text):
        report(Diagnostic("BT313", f"a {word} pattern cannot have blanks", Label(pattern.span)))
    elif not text.startswith("@") and (_LIKE_A_REGEX_METHOD if method else _LIKE_A_REGEX_CLASS).search(text):
        glob = re.sub(r"\.[*+]", "*", text).replace("\\", "")
        help_ = [f'"/{text}/" (regex)']
        if not re.search(r"[()|\[\]^]", glob):
            help_.insert(0, f'"{glob}" (glob)')
        report(
            Diagnostic(
                "BT312",
                f'"{text}" looks like a regex but is read as a glob',
                Label(pattern.span),
                help=(" or ".join(help_),),
                severity=Severity.WARNING,
            )
        )


def check_signature(pattern: Pattern, report: Report) -> bool:
    """Whether ``return (parameters)`` can be read; reports its fault."""
    short = pattern.span.text.startswith("(")  # a script writes no return type after Class::method
    if (converted := _of_descriptor(pattern.text.removeprefix("* ") if short else pattern.text)) is not None:
        replacement = "(" + converted.partition("(")[2] if short else f'"{converted}"'
        report(_with_fix(pattern, "types must be written as in Java, not as a descriptor", replacement))
        return False
    readable = re.fullmatch(r"\s*(!?)([^()]*)\(([^()]*)\)\s*", pattern.text)
    if readable is None:
        report(
            Diagnostic(
                "BT313",
                "this signature cannot be read",
                Label(pattern.span),
                help=(
                    'return type and parameter types:  type="int (java.lang.String, *)"',
                    "`*` is any type, `..` any further types",
                ),
            )
        )
        return False
    slip = _slip_of_signature(*readable.groups())
    if slip is not None:
        problem, replacement = slip
        report(_with_fix(pattern, problem, replacement.strip('"').removeprefix("* ") if short else replacement))
    return slip is None


_FIELD_DESCRIPTOR = r"\[*(?:[ZBCSIJFD]|L[\w$/]+;)"
_METHOD_DESCRIPTOR = re.compile(rf"\s*[\w$<>]*\(((?:{_FIELD_DESCRIPTOR})*)\)\s*(V|{_FIELD_DESCRIPTOR})?\s*")


def _of_descriptor(text: str) -> str | None:
    """``(Ljava/lang/String;I)V`` as ``void (java.lang.String, int)``; None where it is not a descriptor of the JVM.

    ``(I)`` alone is a descriptor, too, because no class has the name of a base type.
    """
    match = _METHOD_DESCRIPTOR.fullmatch(text)
    if match is None or not (match[1] or match[2]):
        return None
    parameters = [java_type(descriptor) for descriptor in re.findall(_FIELD_DESCRIPTOR, match[1])]
    return f"{java_type(match[2]) if match[2] else '*'} ({', '.join(parameters)})"


def _check_regex(pattern: Pattern, report: Report) -> None:
    text = pattern.text
    if not text.endswith("/"):
        report(
            Diagnostic("BT313", "this regular expression has no closing `/`", Label(pattern.span), help=(f'"{text}/"',))
        )
        return
    try:
        re.compile(text[1:-1])
    except (re.error, OverflowError, RecursionError) as error:
        glob = re.fullmatch(r"[\w.$*?]+", text[1:-1])
        help_ = (f"a glob cannot have slashes:  {text[1:-1]}",) if glob else ()
        report(
            Diagnostic("BT313", "this regular expression cannot be read", Label(pattern.span, str(error)), help=help_)
        )


def _with_fix(pattern: Pattern, problem: str, replacement: str) -> Diagnostic:
    """``replacement``: the correction. If the correction begins with a quote or ``f"``, an editor can put it there."""
    fixes = (
        (Fix(pattern.span, replacement),)
        if replacement.startswith(('"', 'f"', "(")) and '", ' not in replacement
        else ()
    )
    return Diagnostic("BT313", problem, Label(pattern.span), help=(f"write {replacement}",), fixes=fixes)


_TEMPLATE = re.compile(r"[#$]?\{([A-Za-z_]\w*)\}")
_CLASS_NAME = re.compile(r"[\w$.*?]+")
_METHOD_NAME = re.compile(r"[\w$*?]+|<init>|<clinit>")


def _slip(text: str, method: bool) -> tuple[str, str] | None:
    """The fault of a name or a glob that no class or method can have, and its correction."""
    sign = text[0] if text[0] in "+@" else ""
    name = text.removeprefix(sign)
    if _TEMPLATE.search(name):
        return "write f before the text, so that parameters are inserted", 'f"' + sign + _TEMPLATE.sub(
            r"{\1}", name
        ) + '"'
    return _slip_of_method(name) if method and not sign else _slip_of_class(sign, name)


def _slip_of_class(sign: str, name: str) -> tuple[str, str] | None:
    braces = re.fullmatch(r"(.*)\{([^{}]*,[^{}]*)\}(.*)", name)
    alternatives = (
        [f"{braces[1]}{spelling.strip()}{braces[3]}" for spelling in braces[2].split(",")]
        if braces
        else name.split(",")
    )
    if len(alternatives) > 1 and all(_CLASS_NAME.fullmatch(spelling.strip()) for spelling in alternatives):
        return "write several patterns as a list", "[" + ", ".join(
            f'"{sign}{spelling.strip()}"' for spelling in alternatives
        ) + "]"
    if name.startswith("!"):
        return "exclusions must be a separate argument", f'class="…", exclude="{name[1:]}"'
    if "::" in name:
        owner, _, member = name.partition("::")
        return "class and method must be two arguments", f'class="{sign}{owner}", method="{member}"'
    plain = name
    if re.fullmatch(r"L[\w$/]+;", plain):
        plain = plain[1:-1]
    plain = re.sub(r"\.(class|java)$", "", plain)
    if "/" in plain and "/0x" not in plain:  # the name of a hidden class ends in a number
        plain = plain.replace("/", ".")
    plain = re.sub(r"<.*>$|\([^()|]*\)$|(?:\[\])+$", "", plain).lstrip(".")
    plain = re.sub(r"\.\.+(?=[\w$])", ".", re.sub(r"\.\.+\*?$|\.$", ".**", plain))
    if plain == name or not plain:
        return None
    return "this is not how the JVM names a class", f'"{sign}{plain}"'


def _slip_of_method(name: str) -> tuple[str, str] | None:
    alternatives = [spelling.strip() for spelling in name.split(",")]
    if len(alternatives) > 1 and all(_METHOD_NAME.fullmatch(spelling) for spelling in alternatives):
        return "write several patterns as a list", "[" + ", ".join(f'"{spelling}"' for spelling in alternatives) + "]"
    match = re.fullmatch(r"([^()]+)\(([^()]*)\)", name)
    if match is not None and _METHOD_NAME.fullmatch(match[1].strip()):
        plain = match[1].strip()
        if not match[2].strip():
            return "write only the name of the method", f'"{plain}"'
        return "parameter types must be a separate argument", f'method="{plain}", type="* ({match[2].strip()})"'
    owner, _, member = name.rpartition("::")
    if owner and _METHOD_NAME.fullmatch(member):
        return "class and method must be two arguments", f'class="{owner}", method="{member}"'
    location = re.fullmatch(r"([\w$*]+)\.(return|call|callee|exported|inline)", name)
    if location is not None:
        return (
            "the location must stand behind the method",
            f"{location[1]} @{'return' if location[2] == 'return' else 'entry'}",
        )
    if re.fullmatch(r"(?:[\w$]+\.)+[\w$]+", name):
        return "write only the name of the method", f'"{name.rpartition(".")[2]}"'
    if name.endswith(";") and _METHOD_NAME.fullmatch(name[:-1]):
        return "write only the name of the method", f'"{name[:-1]}"'
    if name == "new" or (name.lower() in ("<init>", "<clinit>") and name != name.lower()):
        return "a constructor is called <init>", f'"{"<init>" if name == "new" else name.lower()}"'
    return None


_MODIFIERS = re.compile(r"\b(?:public|private|protected|static|final|synchronized|abstract|native|default)\s+")


def _slip_of_signature(negated: str, returns: str, parameters: str) -> tuple[str, str] | None:
    result = _MODIFIERS.sub("", _without_arguments(returns).strip())
    types = [_plain_type(parameter) for parameter in _without_arguments(parameters).split(",") if parameter.strip()]
    replacement = f'"{negated}{_plain_type(result) if result else "*"} ({", ".join(types)})"'
    if not returns.strip():
        return "a signature must begin with the return type, `*` for any", replacement
    if len(result.split()) > 1 or result != _without_arguments(returns).strip():
        return "a signature cannot have a name or modifiers", replacement
    if [
        parameter.strip() for parameter in parameters.split(",") if parameter.strip()
    ] != types or result != returns.strip():
        return "write types as in the class file, without parameter names and type arguments", replacement
    return None


def _without_arguments(text: str) -> str:
    """Removes type arguments, between ``<`` and ``>``."""
    while (shorter := re.sub(r"<[^<>]*>", "", text)) != text:
        text = shorter
    return text


def _plain_type(text: str) -> str:
    """Removes the name of a parameter; ``...`` is an array."""
    type_text = re.sub(r"\s*\.\.\.", "[]", re.sub(r"\s+\[", "[", _MODIFIERS.sub("", text.strip())))
    return type_text.split()[0] if type_text.split() else type_text
