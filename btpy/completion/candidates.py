"""Turns suggestions into matching words, from the tables of the language and from the target."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice, pairwise

from btpy.completion.members import Field, Members, targets, type_named
from btpy.completion.metadata import Metadata, Word
from btpy.completion.reading import Scene
from btpy.completion.suggestions import Suggestion, Suggestions, Wanted
from btpy.dataclass import dataclass
from btpy.errors import UsageError
from btpy.lang.builtins import (
    AGGREGATIONS,
    ANNOTATIONS,
    FRAME_PLACES,
    FUNCTIONS,
    LOCATIONS,
    QUANTIFIERS,
    SETTINGS,
    VARIABLES,
    Place,
)
from btpy.lang.edit.vocabulary import POINTS
from btpy.lang.syntax.nodes import location_of_point
from btpy.model.patterns import MethodPattern, class_patterns, simple_name
from btpy.model.scopes import Scope
from btpy.model.types import Kind, Type
from btpy.output.listing import signature
from btpy.plan.listing import ListedMethod

MOST = 200
"""The largest number of candidates in a menu."""

_MATCHED_CLASSES = 20  # the largest number of classes of a pattern whose methods are offered
_SUPERTYPES = 50


@dataclass(frozen=True, slots=True)
class Candidate:
    """``text`` replaces the last ``replaces`` characters. ``shown``: the text in the menu; ``about``: beside it;
    ``wanted``: the kind of word.
    """

    text: str
    replaces: int
    shown: str
    about: str
    wanted: Wanted


def candidates(suggestions: Suggestions, metadata: Metadata) -> list[Candidate]:
    """The candidates without duplicates, best first."""
    by_text: dict[str, Candidate] = {}
    for item in suggestions.items:
        suggestion = _of_place(item, metadata)
        rows = _ROWS[suggestion.wanted](suggestion, suggestions.scene, metadata)
        for row in rows if suggestion.wanted is Wanted.CLASS else _fitting(suggestion.word, rows):
            by_text.setdefault(row.text, Candidate(row.text, len(suggestion.word), row.shown, row.about, item.wanted))
            if len(by_text) >= MOST:
                return list(by_text.values())
    return list(by_text.values())


@dataclass(frozen=True, slots=True)
class _Row:
    text: str
    shown: str
    about: str = ""


def _row(text: str, about: str = "") -> _Row:
    return _Row(text, text, about)


def _fitting(word: str, rows: Iterable[_Row]) -> list[_Row]:
    """First the candidates that begin with the word, then candidates that begin with it in another case, then
    candidates with a part that begins with it.
    """
    lower = word.lower()
    ranked: tuple[list[_Row], list[_Row], list[_Row]] = ([], [], [])
    for row in rows:
        if row.text.startswith(word):
            ranked[0].append(row)
        elif row.text.lower().startswith(lower):
            ranked[1].append(row)
        elif len(word) > 1 and _abbreviates(lower, row.text):
            ranked[2].append(row)
    return [*chain(*ranked)]


def _abbreviates(word: str, text: str) -> bool:
    """``tn`` → ``thread_name``, ``sUri`` → ``setUri``: the first letters of the parts of a name, in order."""
    initials = text[:1] + "".join(
        char for before, char in pairwise(text) if before == "_" or (char.isupper() and char != "_")
    )
    return initials.lower().startswith(word)


def _classes(suggestion: Suggestion, scene: Scene, metadata: Metadata) -> Iterator[_Row]:
    word = suggestion.word
    sign = word[:1] if word[:1] in ("+", "@") else ""
    for completed in metadata.classes.complete(word.removeprefix(sign), MOST):
        if completed.type_ is None:
            yield _row(sign + completed.text, f"{completed.classes} classes" if completed.classes > 1 else "1 class")
            continue
        kind = "" if completed.type_.kind == "class" else completed.type_.kind
        package, dot, simple = completed.text.rpartition(".")
        about = "  ".join(part for part in (package if dot else "", kind, completed.type_.loader) if part)
        yield _Row(sign + completed.text, sign + simple, about)


def _methods(suggestion: Suggestion, scene: Scene, metadata: Metadata) -> Iterator[_Row]:
    overloads: dict[str, list[tuple[ListedMethod, str]]] = {}
    for members in matched(suggestion.of, metadata):
        for method in members.methods:
            if method.skipped is None or method.skipped.reason == "native":
                overloads.setdefault(method.name, []).append((method, members.name))
    for name, methods in sorted(overloads.items(), key=lambda entry: (entry[0].startswith("<"), entry[0])):
        method = methods[0][0]
        text = signature(method) + (f"  +{len(methods) - 1}" if len(methods) > 1 else "")
        owners = list(dict.fromkeys(simple_name(owner) for _, owner in methods))
        about = f"{owners[0]}, …" if len(owners) > 1 else "" if method.skipped is None else method.skipped.reason
        yield _Row(name, text, about)
    if overloads:
        yield _row("*", "every method")


def _fields_of_class(suggestion: Suggestion, scene: Scene, metadata: Metadata) -> Iterator[_Row]:
    for members in matched(suggestion.of, metadata):
        for field in members.fields:
            yield _row(field.name, str(field.type))


def _lines(suggestion: Suggestion, scene: Scene, metadata: Metadata) -> Iterator[_Row]:
    for method in methods_of(scene, metadata):
        for line in method.lines:
            yield _row(str(line), signature(method))


def matched(pattern: str, metadata: Metadata) -> Iterator[Members]:
    """The members of loaded classes that match a class pattern, from a few classes at most. For ``+T`` the members of
    T.
    """
    names: Iterable[str]
    prefix = pattern.removeprefix("+")
    index = metadata.classes
    if prefix in index:
        names = [prefix]
    elif prefix.replace("$", "").isidentifier():
        names = index.named(prefix)
    else:
        try:
            patterns = class_patterns(prefix)
        except UsageError:
            return
        names = (
            name for name in (type_.name for type_ in index.types) if any(pattern.matches(name) for pattern in patterns)
        )
    for name in islice(names, _MATCHED_CLASSES):
        members = metadata.members(name)
        if members is not None:
            yield members


def methods_of(scene: Scene, metadata: Metadata) -> Iterator[ListedMethod]:
    """The methods that match the probe at the cursor."""
    try:
        pattern = MethodPattern(scene.method_pattern)
    except UsageError:
        return
    for members in matched(scene.class_pattern, metadata):
        for method in members.methods:
            if method.skipped is None and pattern.matches(method.name, ()):
                yield method


def _targets(suggestion: Suggestion, scene: Scene, metadata: Metadata) -> Iterator[_Row]:
    in_frame = not FRAME_PLACES.isdisjoint(scene.places)
    for method in methods_of(scene, metadata) if scene.class_pattern else ():
        parameters = {name for _, name in method.parameters}
        for name, type_ in targets(method).items():
            if in_frame or name in parameters:
                where = "parameter" if name in parameters else "local variable"
                yield _row(f"${name}", f"{type_named(type_)}  {where} of {method.name}")


def _fields(suggestion: Suggestion, scene: Scene, metadata: Metadata) -> Iterator[_Row]:
    navigation = suggestion.of
    if navigation == "event":
        return
    if navigation == "error":
        for name in ("kind", "line", "count", "message"):
            yield _row(name)
        return
    if scope := _scope(navigation):
        yield from _FLOW_FACTS if scope is Scope.FLOW else ()
        beginning = scope.spelled("")
        variables = [word for word in metadata.scoped_variables if word.text.startswith(beginning)]
        yield from (_row(word.text.removeprefix(beginning), word.about) for word in variables)
        return
    type_ = type_of(navigation, scene, metadata)
    if type_ is None or type_.kind is not Kind.OBJECT or type_.class_name is None:
        return
    for field, owner in all_fields(type_.class_name, metadata):
        if not field.static:
            inherited = "" if owner == type_.class_name else f"  of {simple_name(owner)}"
            yield _row(field.name, f"{field.type}{inherited}")


def _scope(navigation: str) -> Scope | None:
    """The scope whose variables follow a dot: ``thread``, ``flow`` or ``state(object)``."""
    name, bracket, _ = navigation.partition("(")
    of_object = name == Scope.OBJECT.value
    return next((scope for scope in Scope if scope.value == name and bool(bracket) == of_object), None)


def all_fields(class_name: str, metadata: Metadata) -> Iterator[tuple[Field, str]]:
    """The fields of a class and of its superclasses, with the class that declares each."""
    name = class_name
    for _ in range(_SUPERTYPES):
        members = metadata.members(name) if name else None
        if members is None:
            return
        for field in members.fields:
            yield field, members.name
        name = members.superclass


def type_of(navigation: str, scene: Scene, metadata: Metadata) -> Type | None:
    """The declared type of ``$order.customer``, ``args[0]``, ``(x as T).y`` …; None if it is not known."""
    root, steps = _parts(navigation)
    type_ = _type_of_root(root, scene, metadata)
    for step in steps:
        if type_ is None:
            return None
        if step.startswith("["):
            type_ = type_.element
        elif type_.class_name is None:
            return None
        else:
            owner = type_.class_name
            step_field = next((field for field, _ in all_fields(owner, metadata) if field.name == step), None)
            type_ = None if step_field is None else step_field.type
    return type_


def _parts(navigation: str) -> tuple[str, list[str]]:
    parts: list[str] = [""]
    depth = 0
    for char in navigation:
        if char == "[" and not depth:
            parts.append("")
        depth += (char in "([") - (char in ")]")
        if char == "." and not depth:
            parts.append("")
        else:
            parts[-1] += char
    return parts[0], [part for part in parts[1:] if part]


def _type_of_root(root: str, scene: Scene, metadata: Metadata) -> Type | None:
    if root.startswith("(") and " as " in root:
        return Type(Kind.OBJECT, class_name=root.strip("()").rpartition(" as ")[2])
    if root.startswith("entry(") and root.endswith(")"):
        return type_of(root[6:-1], scene, metadata)
    for name, type_name in scene.formals:
        if name == root:
            return _named(type_name, metadata)
    method = next(methods_of(scene, metadata), None) if scene.class_pattern else None
    if method is None:
        return None
    if root == "self":
        owner = next(matched(scene.class_pattern, metadata), None)
        return None if owner is None else Type(Kind.OBJECT, class_name=owner.name)
    if root == "retval" and scene.places & {Place.RETURN, Place.EXIT}:
        return type_named(method.returns) if method.returns != "void" else None
    if root == "exception":
        return Type(Kind.OBJECT, class_name="java.lang.Throwable")
    if root.startswith("arg") and root[3:].isdecimal():
        position = int(root[3:])
        return type_named(method.parameters[position][0]) if position < len(method.parameters) else None
    target_type = targets(method).get(root[1:]) if root.startswith("$") else None
    return None if target_type is None else type_named(target_type)


def _named(type_name: str, metadata: Metadata) -> Type | None:
    if type_name in metadata.classes:
        return Type(Kind.OBJECT, class_name=type_name)
    types = metadata.classes.named(type_name)
    return Type(Kind.OBJECT, class_name=types[0]) if types else None


def _names(suggestion: Suggestion, scene: Scene, metadata: Metadata) -> Iterator[_Row]:
    yield from (_row(name, type_) for name, type_ in scene.formals)
    yield from (_row(name, "of this probe") for name in dict.fromkeys(scene.names))
    for variable in VARIABLES.values():
        if variable.places & scene.places:
            yield _row(variable.name, f"{variable.type}: {variable.doc}")
    yield from (_row(*word) for word in metadata.parameters)
    for function in FUNCTIONS.values():
        if not function.statement and function.places & scene.places:
            yield _Row(f"{function.name}(", function.synopsis, function.doc)
    yield from (_row(word) for word in ("true", "false", "null"))
    yield from (_Row(f"{name}(", f"{name}(x in list: condition)", "of a collection") for name in QUANTIFIERS)


def _statements(suggestion: Suggestion, scene: Scene, metadata: Metadata) -> Iterator[_Row]:
    for function in FUNCTIONS.values():
        if function.statement and function.places & scene.places:
            yield _Row(f"{function.name}(", function.synopsis, function.doc)
    yield from _names(suggestion, scene, metadata)


def _aggregations(suggestion: Suggestion, scene: Scene, metadata: Metadata) -> Iterator[_Row]:
    for aggregation in AGGREGATIONS.values():
        yield _Row(f"{aggregation.name}(" + ("" if aggregation.sampled else ")"), aggregation.synopsis, aggregation.doc)


def _annotations(suggestion: Suggestion, scene: Scene, metadata: Metadata) -> Iterator[_Row]:
    for rule in ANNOTATIONS.values():
        yield _with_arguments(f"@{rule.name}", rule.arguments, rule.doc)


def _with_arguments(name: str, arguments: Sequence[str], doc: str) -> _Row:
    return _Row(f"{name}(", f"{name}({', '.join(arguments)})", doc) if arguments else _row(name, doc)


def _arguments(suggestion: Suggestion, scene: Scene, metadata: Metadata) -> Iterator[_Row]:
    callee = suggestion.of
    annotation, location = ANNOTATIONS.get(callee), LOCATIONS.get(callee)
    if annotation is not None:
        for name in annotation.arguments:
            if name != "clazz":
                yield _Row(f"{name}=", name, _ABOUT_ARGUMENT.get(name, f"of @{callee}"))
    elif location is not None:
        for name in (*location.arguments, *(("when",) if location.after is not None else ())):
            yield _Row(f"{name}=", name, f"of {callee}")
    elif callable_ := FUNCTIONS.get(callee) or AGGREGATIONS.get(callee):
        synopsis = callable_.synopsis
        names = (part.rpartition("(")[2].partition("=")[0].strip() for part in synopsis.split(",") if "=" in part)
        for name in dict.fromkeys(names):
            if name.isidentifier() and name != "name":
                yield _Row(f"{name}=", name, f"of {synopsis}")


_ABOUT_ARGUMENT = {
    "class": 'pattern: "com.acme.Foo" "com.acme.**" "+com.acme.Base" "@Anno" "/regex/"',
    "method": 'pattern: "place" "get*" "<init>" "@Anno" "/regex/"',
    "location": "ENTRY RETURN THROW EXIT CALL LINE …",
    "type": 'return type and parameters: "void (int, *)"',
    "loader": "class loader",
    "exclude": "classes that are left out",
    "pending": "true: wait for classes that are loaded later",
    "max": "methods that may match",
}


def _points(suggestion: Suggestion, scene: Scene, metadata: Metadata) -> Iterator[_Row]:
    for name in POINTS:
        location = LOCATIONS.get(location_of_point(name))
        if location is not None:
            yield _with_arguments(f"@{name}", location.arguments, location.doc)


def _locations(suggestion: Suggestion, scene: Scene, metadata: Metadata) -> Iterator[_Row]:
    for location in LOCATIONS.values():
        row = _with_arguments(location.name, location.arguments, location.doc)
        yield replace(row, text="THROW") if location.name == "THROW" else row


def _settings(suggestion: Suggestion, scene: Scene, metadata: Metadata) -> Iterator[_Row]:
    for setting in SETTINGS.values():
        yield _Row(f"{setting.name} = ", setting.name, f"{setting.wanted}: {setting.doc}")


def _keywords(suggestion: Suggestion, scene: Scene, metadata: Metadata) -> Iterator[_Row]:
    yield from (_row(word, _ABOUT_KEYWORD.get(word, "")) for word in suggestion.of.split())


_FLOW_FACTS = (
    _row("id", "long: the number of the unit of work"),
    _row("parent", "long: the number of the flow in which it began, or null"),
    _row("elapsed", "duration: the time since it began"),
)
_ABOUT_KEYWORD = {
    "when": "when condition: fires only if the condition is true",
    "as": "as name, as Type",
    "use": "use library: runs its probes",
    "import": "import library: uses its names, runs none of its probes",
    "let": "let name = value",
    "if": "if condition { … } else { … }",
    "for": "for x in list { … }",
    "param": 'param name: type = default "help"',
    "config": "config { setting = value; }",
    "fn": "fn name(long x): string = …",
    "map": "map @name[string] = lru(1000)",
    "delete": "delete @map[key]",
    "thread": "thread.name: a variable of the thread",
    "probe": "probe name(String first, ..)",
    "instanceof": "value instanceof Type",
    "in": "x in list",
}


def _choices(suggestion: Suggestion, scene: Scene, metadata: Metadata) -> Iterator[_Row]:
    yield from map(_row, suggestion.of.split())


def _words(words: Iterable[Word]) -> Iterator[_Row]:
    return (_row(word.text, word.about) for word in words)


def _of_place(suggestion: Suggestion, metadata: Metadata) -> Suggestion:
    """Candidates for an argument that is a class or a method."""
    if suggestion.wanted is not Wanted.COMMAND_ARGUMENT or metadata.arguments_of(suggestion.of) is not Wanted.CLASS:
        return suggestion
    class_pattern, colons, method = suggestion.word.partition("::")
    return Suggestion(Wanted.METHOD, method, class_pattern) if colons else Suggestion(Wanted.CLASS, class_pattern)


def _command_arguments(suggestion: Suggestion, scene: Scene, metadata: Metadata) -> Iterator[_Row]:
    argument_kind = metadata.arguments_of(suggestion.of)
    yield from _words(() if isinstance(argument_kind, Wanted) else argument_kind)


_ROWS: dict[Wanted, Callable[[Suggestion, Scene, Metadata], Iterator[_Row]]] = {
    Wanted.CLASS: _classes,
    Wanted.METHOD: _methods,
    Wanted.MEMBER_FIELD: _fields_of_class,
    Wanted.LINE: _lines,
    Wanted.POINT: _points,
    Wanted.LOCATION: _locations,
    Wanted.ANNOTATION: _annotations,
    Wanted.ARGUMENT: _arguments,
    Wanted.FIELD: _fields,
    Wanted.TARGET_VARIABLE: _targets,
    Wanted.NAME: _names,
    Wanted.STATEMENT: _statements,
    Wanted.AGGREGATION: _aggregations,
    Wanted.MAP: lambda _, __, metadata: _words(metadata.maps),
    Wanted.KEYWORD: _keywords,
    Wanted.LIBRARY: lambda _, __, metadata: _words(metadata.libraries),
    Wanted.SETTING: _settings,
    Wanted.COMMAND: lambda _, __, metadata: _words(metadata.commands),
    Wanted.COMMAND_ARGUMENT: _command_arguments,
    Wanted.CHOICE: _choices,
}
