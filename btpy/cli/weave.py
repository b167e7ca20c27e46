"""``btpy weave``: what a script would do to classes, without a JVM."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from btpy.cli.options import SCRIPT_OPTIONS, TEXT, Arguments, Command, Option
from btpy.cli.permissions import ALLOW, NO_REDACT, permissions

if TYPE_CHECKING:
    from btpy.cli.console import Console
    from btpy.lang.diagnostics import Diagnostic
    from btpy.live.offline import Classes, OfflineClass, OfflineWeaver
    from btpy.plan.plan import Refusal

COMMAND = Command(
    name="weave",
    usage=(
        "weave FILE|-e TEXT --cp PATHS [-o DIR|JAR] [--report json] [--diff 'Class::method']",
        "weave FILE|-e TEXT --jdk HOME [-o DIR|JAR] [--report json] [--diff 'Class::method']",
    ),
    summary="weave class files, for review",
    about=(
        "Weaves the classes of a class path or of a JDK as a session would, says what was woven or refused and why,\n"
        "and writes the woven classes. Exit code 0: woven, 2: errors in the script, 4: nothing matches."
    ),
    options=(
        TEXT,
        Option(("--cp",), f"directories and jars, separated by {os.pathsep!r}", "PATHS"),
        Option(("--jdk",), "home of a Java runtime", "HOME"),
        Option(("-o", "--output"), "where to write the woven classes and the handlers: a directory, or a .jar", "PATH"),
        Option(
            ("--report",),
            "text (default), or json: one object a line on standard output",
            "FORMAT",
            False,
            ("text", "json"),
        ),
        Option(("--diff",), "show the code of matching methods before and after", "METHOD", repeat=True),
        ALLOW,
        NO_REDACT,
        *SCRIPT_OPTIONS,
    ),
    positionals=(0, 1),
    takes_parameters=True,
    examples=(
        ("weave slow.bt --cp app.jar --diff 'PricingEngine::quote'", "the bytecode before and after"),
        ("weave slow.bt --cp app.jar --report json", "what is woven or refused, for programs"),
    ),
)


def run(arguments: Arguments, console: Console) -> int:
    from btpy.cli.script import compile_source, read_script
    from btpy.lang.program import MethodAttachment
    from btpy.live.offline import MethodFilter, OfflineWeaver, differences
    from btpy.output.stream import Stream

    classes = _classes(arguments)
    wanted = [MethodFilter.parse(text) for text in arguments.texts("diff")]
    program = compile_source(read_script(arguments, arguments.positionals), arguments)
    permitted = permissions(arguments)
    names = {probe.id: probe.name for probe in program.probes}
    weaver = OfflineWeaver(program, allow=permitted.allow)
    as_json = arguments.text("report") == "json"
    stream = Stream.stdout(ascii_only=not console.unicode)
    woven: list[OfflineClass] = []
    problems: list[Diagnostic] = []
    refused = 0
    for each in weaver.weave(classes):
        lines = [json.dumps(_members(each, names), ensure_ascii=False)] if as_json else _text(each, names)
        if not as_json:
            lines += [line for method in wanted for line in differences(each, method)]
        stream.write("".join(line + "\n" for line in lines))
        problems += each.problems
        refused += len(each.refusals)
        if each.data is not None:
            woven.append(each)
    stream.flush()
    if problems:
        console.diagnostics(list(dict.fromkeys(problems)))
    output = arguments.text("output")
    if output is not None and woven:
        _write(Path(output), woven, weaver)
    matched = {site.probe for each in woven for site in each.sites}
    for probe in program.probes:
        if probe.id not in matched and isinstance(probe.attachment, MethodAttachment):
            console.warning(f"probe {probe.name} is nowhere in these classes")
    sites = sum(len(each.sites) for each in woven)
    console.say(f"{weaver.classes} classes: {len(woven)} woven at {sites} sites, {refused} times refused")
    return 0 if woven else 4


def _classes(arguments: Arguments) -> Classes:
    from btpy.errors import UsageError
    from btpy.live.offline import class_path, jdk

    paths, home = arguments.text("cp"), arguments.text("jdk")
    if (paths is None) == (home is None):
        raise UsageError("btpy weave needs either --cp PATHS or --jdk HOME")
    if home is not None:
        return jdk(Path(home))
    return class_path([Path(path) for path in (paths or "").split(os.pathsep) if path])


def _text(woven: OfflineClass, names: dict[int, str]) -> list[str]:
    from btpy.output.values import visible

    lines = [woven.name + (f"  ({woven.found.origin})" if woven.found.origin else "")]
    methods: dict[str, list[str]] = {}
    for site in woven.sites:
        named = f" {site.target_class}" + (f".{site.member}" if site.member else "") if site.target_class else ""
        line = f" line {site.line}" if site.line else ""
        place = f"{names[site.probe]}: {site.point.value}{named}{line}"
        methods.setdefault(site.method + site.descriptor, []).append(place)
    for method, places in methods.items():
        lines.append(f"  {method}")
        lines += [f"    {place}" for place in places]
    lines += [f"  {_place(refusal)}refused [{refusal.reason.value}]: {refusal.detail}" for refusal in woven.refusals]
    return [visible(line) for line in lines]


def _place(refusal: Refusal) -> str:
    return f"{refusal.method} " if refusal.method else ""


def _members(woven: OfflineClass, names: dict[int, str]) -> dict[str, Any]:
    return {
        "v": 1,
        "type": "class",
        "class": woven.name,
        "origin": woven.found.origin,
        "woven": woven.data is not None,
        "sites": [
            {
                "probe": names[site.probe],
                "point": site.point.value,
                "method": site.method,
                "descriptor": site.descriptor,
                "line": site.line or None,
                "target_class": site.target_class or None,
                "member": site.member or None,
            }
            for site in woven.sites
        ],
        "refused": [
            {"code": refusal.reason.value, "method": refusal.method, "reason": refusal.detail}
            for refusal in woven.refusals
        ],
        "problems": [{"code": each.code, "message": each.message} for each in woven.problems],
    }


def _write(output: Path, woven: list[OfflineClass], weaver: OfflineWeaver) -> None:
    """The woven classes and the handlers that they call. Raises OutputError."""
    import zipfile

    from btpy.errors import OutputError

    entries = {each.found.entry: each.data for each in woven if each.data is not None}
    entries.update((f"{name.replace('.', '/')}.class", handler.data) for name, handler in weaver.handlers.items())
    try:
        if output.suffix == ".jar":
            with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as jar:
                for entry, data in entries.items():
                    # The same input gives the same jar: entries have the earliest time that a zip file can hold.
                    jar.writestr(zipfile.ZipInfo(entry), data, zipfile.ZIP_DEFLATED)
            return
        for entry, data in entries.items():
            path = output / entry
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    except OSError as cause:
        raise OutputError(f"cannot write {output}: {(cause.strerror or str(cause)).lower()}") from cause
