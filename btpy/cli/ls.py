"""``btpy ls``: the matches of a pattern or a script in a JVM. Instruments nothing there."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from btpy.cli.console import Console, wants_color
from btpy.cli.options import SCRIPT_OPTIONS, Arguments, Command, Option
from btpy.cli.permissions import ALLOW, FRAMEWORKS, NO_REDACT, SECRET
from btpy.cli.printing import print_lines
from btpy.cli.settings import ATTACH, STYLE_OPTIONS, attach_method, begin_attach
from btpy.errors import NothingMatched, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from btpy.api.jvms import JvmProcess
    from btpy.api.listings import ListedProbe
    from btpy.api.programs import Program
    from btpy.api.session import BaseSession, Matching
    from btpy.model.source import Source
    from btpy.output.listing import Detail

COMMAND = Command(
    name="ls",
    usage=("ls PID|NAME PATTERN [-v] [--lines] [--locals] [--json]", "ls PID|NAME -e 'TEXT' | FILE.bt"),
    summary="list the classes and methods that a pattern matches",
    about=(
        "PATTERN is Class, Class::method or Class::method @location, as in a script: globs, +Subtype, @Annotation and\n"
        "/regular expressions/ included. If no class is named PrEn, PrEn::* is short for PricingEngine::*. With a\n"
        "script: the methods that its probes match. Class files are read; nothing in the JVM is instrumented."
    ),
    options=(
        Option(("-v", "--verbose"), "full names of types, supertypes, whole paths"),
        Option(("--lines",), "the source lines that have code"),
        Option(("--locals",), "the local variables, with the lines where they can be read"),
        Option(("--max",), "list at most this many classes (default 50; 0: all)", "N"),
        Option(("--json",), "one JSON object a class, a line each"),
        Option(("-e",), "a program; may be given more than once", "TEXT", repeat=True),
        ALLOW,
        SECRET,
        NO_REDACT,
        FRAMEWORKS,
        ATTACH,
        *SCRIPT_OPTIONS,
        *STYLE_OPTIONS,
    ),
    positionals=(1, 2),
    takes_parameters=True,
    examples=(
        ("ls OrderApp PricingEngine", "the methods of a class by its simple name"),
        ("ls OrderApp '+java.sql.Statement::execute*'", "the methods of all classes that implement an interface"),
        ("ls OrderApp 'com.acme.**::* @call(java.net.URL::open*)'", "the lines that call a method"),
        ("ls OrderApp slow.bt --json", "the methods that the probes of a script match"),
    ),
)

_PATTERN = "<pattern>"


def run(arguments: Arguments, console: Console) -> int:
    from dataclasses import replace

    from btpy.api import jvms
    from btpy.output.listing import Detail

    console.unicode = console.unicode and not arguments.switch("no_unicode")
    console.color = wants_color(arguments.text("color"), 2)
    verbose = arguments.switch("verbose")
    detail = Detail(full_names=verbose, lines=arguments.switch("lines"), locals=arguments.switch("locals"))
    detail = replace(detail, classes=arguments.number("max", detail.classes) or None)
    if verbose or detail.classes is None:
        detail = replace(detail, methods=None)
    source = _source(arguments)
    process = jvms.find(arguments.positionals[0])
    return show(source, process, arguments, detail, console, as_json=arguments.switch("json"))


def show(
    source: Source, process: JvmProcess, arguments: Arguments, detail: Detail, console: Console, *, as_json: bool
) -> int:
    """Lists the matches of the probes of a script. Returns the exit status.

    Raises ScriptError, UsageError, AttachError, and NothingMatched where there is nothing to list.
    """
    from dataclasses import replace

    from btpy.api.listings import takes_every_method
    from btpy.cli.script import compile_source
    from btpy.model.attachments import MethodAttachment
    from btpy.model.diagnostics import Severity
    from btpy.output.listing import listing_json, listing_lines
    from btpy.output.style import Style

    method = attach_method(arguments)
    begin_attach(process, method)
    program = compile_source(source, arguments)
    from btpy.api.session import attach_pulled  # while the process that attaches starts

    def listed(session: BaseSession, program: Program) -> tuple[Matching, tuple[ListedProbe, ...]]:
        attachments = [probe.attachment for probe in program.probes if isinstance(probe.attachment, MethodAttachment)]
        first = detail.classes if all(map(takes_every_method, attachments)) else None
        return session.scripts.listing(program, most=first)

    with attach_pulled(process, program.permissions, method=method) as session:
        matching, probes = listed(session, program)
        if source.name == _PATTERN and not any(probe.classes or probe.unseen for probe in probes):
            full = _expanded(arguments.positionals[1], session)
            if full is not None:
                console.say(f"btpy: {arguments.positionals[1]} is short for {full}")
                matching, probes = listed(session, compile_source(_probe_at(full), arguments))
    if not any(probe.classes or probe.unseen for probe in probes):
        raise NothingMatched(tuple(matching.missing.values()))
    style = Style(unicode=console.unicode, color=wants_color(arguments.text("color"), 1))
    lines: list[str] = []
    for probe in probes:
        if as_json:
            lines += [json.dumps(row, ensure_ascii=False) for row in listing_json(probe, detail.classes)]
        else:
            lines += [style.bold(f"{probe.name}:")] if len(probes) > 1 else []
            lines += listing_lines(probe, style, detail)
    print_lines(lines, ascii_only=not console.unicode)
    for problem in (*matching.problems, *matching.missing.values()):
        console.diagnostics([replace(problem, severity=Severity.WARNING)])
    methods = sum(probe.matching_methods for probe in probes)
    if not methods and not any(probe.unseen or probe.more for probe in probes):
        return NothingMatched.exit_status
    console.say(_summary(probes, matching, process))
    return 0


def _summary(probes: Sequence[ListedProbe], matching: Matching, process: JvmProcess) -> str:
    from btpy.output.quantities import counted, grouped

    methods = counted(sum(probe.matching_methods for probe in probes), "method")
    classes = counted(len({class_.name for probe in probes for class_ in probe.classes if class_.matching}), "class")
    looked = f", of {grouped(matching.loaded)} loaded" if not matching.beyond else " listed"
    return f"btpy: {methods} in {classes} of {process.short_main} ({process.pid}){looked}; nothing was instrumented"


def _source(arguments: Arguments) -> Source:
    """The script, or a script created from a pattern. Raises UsageError."""
    from btpy.cli.script import is_path, libraries, read_source

    files, texts = arguments.positionals[1:], arguments.texts("e")
    if bool(files) == bool(texts):
        problem = f"a program is given twice: {files[0]} and -e" if files else "list what?"
        raise arguments.missing(problem, [f"btpy {line}" for line, _ in COMMAND.examples[:2]])
    if texts or files[0] == "-" or files[0].endswith(".bt") or (is_path(files[0]) and os.path.isfile(files[0])):
        return read_source(files[0] if files else None, texts, libraries(arguments))
    return _probe_at(files[0])


def _probe_at(pattern: str) -> Source:
    """An empty probe at the methods of the pattern. Raises UsageError."""
    from btpy.model.source import Source

    classes, at, location = pattern.partition(" @")
    if "#" in classes:
        raise UsageError(f"{pattern!r} is not a pattern", help=[f"a method is written {classes.replace('#', '::')}"])
    methods = "" if "::" in classes else "::*"
    return Source(_PATTERN, f"{classes.rstrip()}{methods} {at.lstrip() or '@'}{location or 'entry'} {{ }}")


def _expanded(pattern: str, session: BaseSession) -> str | None:
    """The pattern without its abbreviation; None: no loaded class fits. Raises UsageError if several classes fit."""
    from btpy.completion.classes import ClassIndex, LoadedType, expanded

    return expanded(pattern, ClassIndex(map(LoadedType.of, session.classes.all().classes)))
