"""The program text: from a file, from standard input, from ``-e``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from btpy.errors import UsageError

if TYPE_CHECKING:
    from btpy.api.libraries import Libraries
    from btpy.api.programs import Classes, Program
    from btpy.cli.options import Arguments
    from btpy.model.source import Source

COMMAND_LINE = "<command line>"
STANDARD_INPUT = "<standard input>"


def read_source(path: str | None, texts: Sequence[str], search: Libraries | None = None) -> Source:
    """``path``: a file, the name of a library of ``search``, or ``-`` for standard input. Without a path, ``texts`` has
    the texts of ``-e``. With ``search``, a file must be given as a path (:func:`is_path`), because its script will run.

    Raises UsageError.
    """
    from btpy import files
    from btpy.model.source import Source, read_text

    if path is None:
        return Source(COMMAND_LINE, "\n".join(texts))
    if search is not None and path != "-" and not is_path(path):
        library, text = _library(path, search)
        return Source(str(library), text, path=library)
    name = STANDARD_INPUT if path == "-" else path
    try:
        if path == "-":
            text = read_text(sys.stdin.buffer)
        else:
            with open(path, "rb") if search is None else files.open_trusted(path, named=True) as file:
                text = read_text(file)
    except OSError as cause:
        raise UsageError(
            f"cannot read {name}: {(cause.strerror or str(cause)).lower()}", help=_instead_of_directory(path)
        ) from cause
    except ValueError as cause:
        raise UsageError(f"{name} is {cause}") from cause
    return Source(name, text, path=None if path == "-" else Path(path))


def read_script(arguments: Arguments, files: Sequence[str]) -> Source:
    """The script of the command line: the only file of ``files``, or the texts of ``-e``. Raises UsageError."""
    texts = arguments.texts("e")
    if texts and files:
        raise UsageError(f"a program is given twice: {files[0]} and -e")
    if not texts and not files:
        remedy = f"FILE.bt, the name of a library, - for standard input, or -e '{EXAMPLE}'"
        raise arguments.missing("no program", [remedy])
    source = read_source(files[0] if files else None, texts, libraries(arguments))
    parameter_texts(source, arguments)  # report mistakes in the command line first
    return source


def _instead_of_directory(path: str) -> list[str]:
    scripts = sorted(Path(path).glob("*.bt"))[:3] if os.path.isdir(path) else []
    return [f"name one of its scripts: {', '.join(map(str, scripts))}, …"] if scripts else []


def is_path(text: str) -> bool:
    """Whether a word of the command line is the path of a script: it has a slash, or the ending of a script. Any other
    word is the name of a library, even if a file has this name, because another user may have put it into the working
    directory.
    """
    return "/" in text or text.endswith(".bt")


def _library(name: str, search: Libraries) -> tuple[Path, str]:
    """The file of the library of that name, and its text. Raises UsageError."""
    from btpy.api.libraries import LibraryError, NoLibrary

    try:
        path = search.named(name)
        return path, search.read(path)
    except NoLibrary as error:
        if os.path.exists(name):
            raise UsageError(
                f"there is no library {name!r}; a file is written as a path", help=[f"btpy … ./{name}"]
            ) from None
        order = ["the JVM comes first:  btpy PID|NAME FILE.bt|LIBRARY"] if name.isdigit() else []
        raise UsageError(
            f"{name} is neither a file nor a library", help=[*order, *error.help, "btpy lib list shows all libraries"]
        ) from None
    except LibraryError as error:
        raise UsageError(str(error), help=error.help) from None


def compile_source(
    source: Source,
    arguments: Arguments | None = None,
    classes: Classes | None = None,
    earlier: Program | None = None,
) -> Program:
    """The checked program; ``arguments``: the search path for libraries and the values of parameters; ``classes``:
    facts about the traced program for messages; ``earlier``: the program that it extends.

    Raises ScriptError for an error in the program, and UsageError for an empty program and for wrong parameters.
    """
    if not source.text.strip():
        raise UsageError(f"{source.name} is empty", help=[f"an example: {EXAMPLE}"])
    from btpy.api.programs import NOTHING_KNOWN, check_source
    from btpy.cli.permissions import permissions

    if arguments is None:
        program = check_source(source)
    else:
        texts, known_classes = parameter_texts(source, arguments), classes or NOTHING_KNOWN
        program = check_source(
            source, libraries(arguments), texts, permissions(arguments), known_classes, earlier=earlier
        )
    if not program.own:
        raise UsageError(f"{source.name} has no probes", help=[f"an example: {EXAMPLE}"])
    return program


def libraries(arguments: Arguments) -> Libraries:
    """The search path of the command. Raises UsageError."""
    from btpy.api.libraries import Libraries

    directories = [Path(text) for text in arguments.texts("I")]
    for directory in directories:
        if not directory.is_dir():
            raise UsageError(f"-I {directory} is not a directory")
    return Libraries.of(os.environ, directories)


def parameter_texts(source: Source, arguments: Arguments) -> dict[str, str]:
    """The texts of the parameters. Raises UsageError if the script does not have a parameter, or if its value does not
    fit.
    """
    parameter_values: dict[str, str | None] = dict(arguments.parameters)
    for text in arguments.texts("P"):
        name, assigned, rest = text.partition("=")
        if name in parameter_values:
            raise UsageError(f"the parameter {name} is given twice")
        parameter_values[name] = rest if assigned else None
    if not parameter_values:
        return {}
    from btpy.api.programs import described, parameters, settled

    parameters_by_name = {parameter.name: parameter for parameter in parameters(source)}
    texts: dict[str, str] = {}
    for name, value in parameter_values.items():
        parameter = parameters_by_name.get(name)
        if parameter is None:
            raise arguments.unknown(name, parameters_by_name, described(parameters_by_name.values()))
        if value is None and parameter.type != "boolean":
            raise UsageError(f"--{name} needs a value", help=described([parameter]))
        texts[name] = "true" if value is None else value
    settled(parameters_by_name.values(), texts)
    return texts


EXAMPLE = "com.acme.Foo::bar @return { print(method, duration); }"
