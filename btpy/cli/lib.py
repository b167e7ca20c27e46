"""``btpy lib``: the libraries of probes, which scripts can import and users can run by name."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from btpy.cli.console import Console
from btpy.cli.options import SCRIPT_OPTIONS, Arguments, Command, Option
from btpy.cli.printing import print_lines
from btpy.cli.settings import ATTACH, attach_method, begin_attach
from btpy.errors import ScriptError, UsageError

if TYPE_CHECKING:
    from btpy.api.applicability import Applicability
    from btpy.api.libraries import Libraries, Library

COMMAND = Command(
    name="lib",
    usage=("lib list [PID|NAME] [--json]", "lib show NAME", "lib search WORD", "lib path", "lib new NAME"),
    summary="libraries of probes: list, show, search, path, new",
    about=(
        "Libraries are scripts that other scripts import, and that run by name: btpy PID exceptions. `list` names all\n"
        "of them, `show` prints one, `search` looks for a word in names and descriptions, `path` shows where btpy\n"
        "searches for them. btpy help NAME shows how to use it. `new` creates your own, with a test that passes:\n"
        "in the directory of -I, else in ~/.config/btpy/probes. It overwrites nothing.\n"
        "\n"
        "With a JVM, `list` says which libraries apply there: libraries with a probe in a class that the JVM has\n"
        "loaded, and libraries for the JDK itself. These come first. If a library does not fit the version of a\n"
        "framework in the JVM, a line below the library says so. Nothing in the JVM is instrumented."
    ),
    options=(
        Option(("--json",), "with list: one JSON object a library, a line each"),
        ATTACH,
        SCRIPT_OPTIONS[0],
    ),
    positionals=(0, 2),
    examples=(
        ("lib list OrderApp", "which libraries apply to this JVM?"),
        ("lib search sql", "which library is about SQL?"),
        ("lib show jdbc", "read how a library is written"),
        ("lib new mine -I .", "create your own in this directory; btpy test mine.bt runs its test"),
    ),
)

_SHOWN = 10
"""Classes of a library in its JSON object."""

_TEMPLATES = Path(__file__).parent / "new_library"
_NEW_FILES = {
    "NAME.bt": "NAME.bt",
    "NAME.test.toml": "NAME.test.toml",
    "NAME.test/Work.java": "Work.java",
    "NAME.test/run.ndjson": "run.ndjson",
}
"""The files of a new library, and where their texts are."""


def run(arguments: Arguments, console: Console) -> int:
    from btpy.cli.script import libraries

    action, *rest = arguments.positionals or ["list"]
    search = libraries(arguments)
    actions = {
        "list": lambda: _list(search, rest, arguments, console),
        "path": lambda: _path(search),
        "show": lambda: _text(search, rest[0]).rstrip("\n").split("\n"),
        "search": lambda: _found(search, rest[0]),
        "new": lambda: _new(search, rest[0], beside_others=bool(arguments.texts("I"))),
    }
    if action not in actions:
        raise UsageError(f"btpy lib has no action {action!r}", help=["btpy lib list, show, search, path or new"])
    takes_name = action in ("show", "search", "new")
    if action != "list" and takes_name != bool(rest):
        expected = "a name" if takes_name else "nothing more"
        raise UsageError(f"btpy lib {action} takes {expected}", help=[f"usage: btpy {line}" for line in COMMAND.usage])
    if action != "list" and arguments.switch("json"):
        raise UsageError("--json belongs to btpy lib list")
    print_lines(actions[action](), ascii_only=not console.unicode)
    return 0


def _list(search: Libraries, rest: list[str], arguments: Arguments, console: Console) -> list[str]:
    """``rest``: the JVM, or nothing. Raises UsageError and AttachError."""
    as_json = arguments.switch("json")
    if not rest:
        libraries = search.all()
        return [_json(search, library, None) for library in libraries] if as_json else _listing(search, libraries)
    from btpy.api import jvms
    from btpy.api.applicability import applicability

    process, method = jvms.find(rest[0]), attach_method(arguments)
    begin_attach(process, method)
    from btpy.api.session import attach_pulled  # while the Java that attaches is starting

    with attach_pulled(process, method=method) as session:
        rows = [(library, applicability(session, library, search)) for library in search.all()]
    rows.sort(key=lambda row: row[1].applies is not True)
    applying = sum(found.applies is True for _, found in rows)
    console.say(
        f"btpy: {applying} of the {len(rows)} libraries apply to {process.short_main} ({process.pid});"
        " nothing was instrumented"
    )
    return [_json(search, *row) for row in rows] if as_json else _marked_listing(search, rows)


_MARKS = {True: "applies", False: "-", None: "?"}


def _marked_listing(search: Libraries, rows: list[tuple[Library, Applicability]]) -> list[str]:
    width = max((len(library.name) for library, _ in rows), default=0)
    lines = []
    for library, applicability in rows:
        lines.append(f"{library.name:<{width}}  {_MARKS[applicability.applies]:<7}  {_about(search, library)}".rstrip())
        lines += [f"{'':{width}}           {note}" for note in applicability.notes]
    return lines


def _json(search: Libraries, library: Library, found: Applicability | None) -> str:
    row: dict[str, object] = {"name": library.name, "about": _about(search, library)}
    if found is not None:
        row |= {"applies": found.applies, "classes": list(found.classes[:_SHOWN]), "notes": list(found.notes)}
    return json.dumps(row, ensure_ascii=False)


def _listing(search: Libraries, libraries: list[Library]) -> list[str]:
    width = max((len(library.name) for library in libraries), default=0)
    return [f"{library.name:<{width}}  {_about(search, library)}".rstrip() for library in libraries]


def _about(search: Libraries, library: Library) -> str:
    """The first paragraph of the description of a library, or the reason why btpy cannot read the library."""
    return " ".join(_doc(search, library).partition("\n\n")[0].split())


def _doc(search: Libraries, library: Library) -> str:
    from btpy.api.editing import leading_comment
    from btpy.api.libraries import LibraryError

    try:
        return leading_comment(search.read(library.path))
    except LibraryError as error:
        return f"({error})"


def _found(search: Libraries, word: str) -> list[str]:
    from btpy.api.libraries import LibraryError
    from btpy.api.reference import manual
    from btpy.model.source import Source

    libraries = []
    for library in search.all():
        try:
            text = manual(Source(library.name, search.read(library.path)))
        except (LibraryError, ScriptError):
            text = ""
        if word.lower() in f"{library.name}\n{text}".lower():
            libraries.append(library)
    if not libraries:
        raise UsageError(f"no library mentions {word!r}", help=["btpy lib list shows all of them"])
    return _listing(search, libraries)


def _text(search: Libraries, name: str) -> str:
    from btpy.api.libraries import LibraryError

    try:
        return search.read(search.named(name))
    except LibraryError as error:
        raise UsageError(str(error), help=error.help) from None


def _path(search: Libraries) -> list[str]:
    lines = ["the directory of the script"]
    for directory in search.directories:
        state = "" if directory.is_dir() else "  (does not exist)"
        lines.append(f"{directory}{state}")
    return [*lines, f"{search.packaged}  (comes with btpy: btpy.NAME)"]


def _new(search: Libraries, name: str, *, beside_others: bool) -> list[str]:
    """Writes a library with a test, and returns the paths. ``beside_others``: whether the library goes into the
    directory of ``-I``.

    Raises UsageError; then nothing is written.
    """
    _require_free(search, name)
    directory = search.directories[0 if beside_others else -1]
    texts = {
        directory / path.replace("NAME", name): (_TEMPLATES / template)
        .read_text(encoding="utf-8")
        .replace("NAME", name)
        for path, template in _NEW_FILES.items()
    }
    for path in texts:
        if os.path.lexists(path):
            raise UsageError(f"{path} exists already", help=["nothing was written"])
    paths: list[Path] = []
    directories: list[Path] = []
    try:
        for path, text in texts.items():
            directories += reversed([parent for parent in path.parents if not parent.exists()])
            path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "w", encoding="utf-8") as file:
                paths.append(path)
                file.write(text)
    except OSError as cause:
        for path in paths:
            path.unlink()
        for made in reversed(directories):
            with contextlib.suppress(OSError):  # another program may use it by now
                made.rmdir()
        raise UsageError(f"cannot write {path}: {(cause.strerror or str(cause)).lower()}") from cause
    return [*map(str, texts), f"btpy test {directory / name}.bt runs its test"]


def _require_free(search: Libraries, name: str) -> None:
    """Raises UsageError for a name that no import can have, or that a library of btpy has."""
    from btpy.api.libraries import PACKAGED, is_name
    from btpy.api.programs import check_source
    from btpy.model.source import Source

    problem = f"{name!r} cannot be the name of a library"
    if not is_name(name) or "." in name:
        raise UsageError(problem, help=["letters, digits and _"])
    if any(library.name == f"{PACKAGED}.{name}" for library in search.all()):
        raise UsageError(problem, help=[f"btpy PID {name} runs {PACKAGED}.{name}, which comes with btpy"])
    try:
        check_source(
            Source("<name>", f'import {PACKAGED}.callers as {name};\n@OnBegin {{ print({name}.short("a.b")) }}'), search
        )
    except ScriptError as error:
        raise UsageError(problem, help=[error.diagnostics[0].message]) from None
