"""``btpy check``: checks a script without running it. Needs no JVM, but can ask one."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from btpy.cli.console import Console
from btpy.cli.options import SCRIPT_OPTIONS, TEXT, Arguments, Command, Option
from btpy.cli.permissions import ALLOW, FRAMEWORKS, NO_REDACT, SECRET, WITH
from btpy.cli.printing import print_lines, print_text
from btpy.errors import NothingMatched, ScriptError, UsageError

if TYPE_CHECKING:
    from btpy.api.class_path import ClassPath
    from btpy.api.programs import Program
    from btpy.api.session import Matching
    from btpy.model.diagnostics import Diagnostic
    from btpy.model.source import Source

COMMAND = Command(
    name="check",
    usage=(
        "check FILE [--cp PATHS | --pid PID|NAME] [--plan] [--expand] [--error-format text|json]",
        "check -e 'TEXT' [options]",
    ),
    summary="check a script, also against class files or a JVM",
    about="Checks a script (- for standard input) and prints what is wrong. With --cp or --pid its patterns must match,"
    "\nand its bodies must fit the methods that they match; nothing in the JVM is touched."
    "\nExit code 0: no errors, 2: errors, 4: a pattern matches nothing.",
    options=(
        TEXT,
        Option(("--cp",), "check against jars and directories of classes, separated by a colon", "PATHS"),
        Option(("--pid",), "check against the loaded classes of a JVM", "PID"),
        ALLOW,
        SECRET,
        NO_REDACT,
        FRAMEWORKS,
        WITH,
        Option(("-v", "--verbose"), "list fields that are looked up at each firing"),
        Option(
            ("--plan",), "with --cp or --pid: show what would be woven or refused, the limits and the expected cost"
        ),
        Option(("--expand",), "print the script with its short forms written out"),
        Option(
            ("--error-format",),
            "text (default), or json: one object a line on standard output",
            "FORMAT",
            choices=("text", "json"),
        ),
        *SCRIPT_OPTIONS,
    ),
    positionals=(0, 1),
    takes_parameters=True,
    examples=(
        ("check slow.bt", "check the script alone"),
        ("check slow.bt --cp app.jar:lib.jar --plan", "against class files: what would be woven, and its cost"),
        ("check slow.bt --pid OrderApp", "against the classes of a JVM"),
        ("check -e 'App::main { print(args) }' --cp app.jar", "a one-liner"),
    ),
)


def run(arguments: Arguments, console: Console) -> int:
    from btpy.cli.script import read_script

    source = read_script(arguments, arguments.positionals)
    as_json = arguments.text("error_format") == "json"
    console.verbosity = arguments.count("verbose")
    try:
        program = _compiled(source, arguments)
        matching = _matched(arguments, program, console)
    except (ScriptError, NothingMatched) as error:
        if not as_json:
            raise
        _print_json(error.diagnostics)
        return error.exit_status
    if arguments.switch("expand"):
        from btpy.api.programs import expand_source

        print_text(expand_source(source))
    if arguments.switch("plan"):
        if matching is None:
            raise UsageError("--plan needs classes", help=["--cp app.jar, or --pid PID"])
        from btpy.cli.plan import plan_lines

        print_lines(plan_lines(program, matching))
    warnings = (*program.warnings, *(matching.warnings if matching is not None else ()))
    if as_json:
        _print_json(warnings)
    else:
        if warnings:
            console.diagnostics(warnings)
        console.say(f"{faultless(source, program)}{_facts(matching)}")
    return 0


def faultless(source: Source, program: Program) -> str:
    """The report on a script without errors."""
    probes, maps = len(program.probes), len(program.maps)
    return f"{source.name}: {probes} probe{'s' * (probes != 1)}, {maps} map{'s' * (maps != 1)}, no errors"


def _compiled(source: Source, arguments: Arguments) -> Program:
    """The checked program. Raises ScriptError, which has more details with a class path."""
    from btpy.cli.script import compile_source

    try:
        return compile_source(source, arguments)
    except ScriptError:
        paths = arguments.text("cp")
        if paths is None:
            raise
        from btpy.api.programs import Knowledge

        knowledge = Knowledge()
        with knowledge.asking(_class_path(paths)):
            return compile_source(source, arguments, knowledge)


def _class_path(paths: str) -> ClassPath:
    from btpy.api.class_path import ClassPath
    from btpy.api.offline import class_path

    return ClassPath(class_path([Path(path) for path in paths.split(os.pathsep) if path]))


def _print_json(diagnostics: Sequence[Diagnostic]) -> None:
    from btpy.model.diagnostics import to_json

    print_lines(json.dumps(to_json(diagnostic), ensure_ascii=False) for diagnostic in diagnostics)


def _matched(arguments: Arguments, program: Program, console: Console) -> Matching | None:
    """The matches of the program; None if no classes are given.

    Raises ScriptError for probes that do not fit, and NothingMatched.
    """
    from btpy.api.programs import together
    from btpy.api.scripts import missing_now
    from btpy.api.session import check_limits

    paths, target = arguments.text("cp"), arguments.text("pid")
    if paths is not None and target is not None:
        raise UsageError("--cp and --pid cannot be used together")
    allow = program.permissions.allow
    if paths is not None:
        matching, late_bound = _class_path(paths).match(program, allow=allow)
    elif target is not None:
        from btpy.api import jvms
        from btpy.api.session import attach_pulled

        with attach_pulled(jvms.find(target), program.permissions) as session:
            matching = session.scripts.match(program)
            late_bound = session.scripts.late_bound
    else:
        return None
    if matching.problems:
        raise ScriptError(together(matching.problems))
    if missing := missing_now(program, matching):
        raise NothingMatched(missing)
    check_limits(program.probes, matching)
    for diagnostic in late_bound:
        console.detail(diagnostic)
    return matching


def _facts(matching: Matching | None) -> str:
    if matching is None:
        return ""
    classes = [class_.planned for class_ in matching.classes if class_.planned is not None and class_.planned.methods]
    methods = sum(len(class_.methods) for class_ in classes)
    return f"; {methods} method{'s' * (methods != 1)} in {len(classes)} class{'es' * (len(classes) != 1)}"
