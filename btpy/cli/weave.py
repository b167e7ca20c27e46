"""``btpy weave``: weaves a script into class files, without a JVM."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from btpy.cli.console import Console
from btpy.cli.options import SCRIPT_OPTIONS, TEXT, Arguments, Command, Option
from btpy.cli.permissions import ALLOW, FRAMEWORKS, NO_REDACT, SECRET, WITH, permissions
from btpy.errors import OutputError, UsageError

if TYPE_CHECKING:
    from btpy.api.listings import Refusal
    from btpy.api.offline import Classes, MethodFilter, OfflineClass
    from btpy.api.woven_jar import SourceJar
    from btpy.model.diagnostics import Diagnostic

COMMAND = Command(
    name="weave",
    usage=(
        "weave FILE|-e TEXT --cp PATHS [-o DIR|JAR] [--report json] [--diff 'Class::method']",
        "weave FILE|-e TEXT --jdk HOME [-o DIR|JAR] [--report json] [--diff 'Class::method']",
    ),
    summary="weave class files, for review",
    about=(
        "Weaves the classes of a class path or of a JDK as a session would, says what was woven or refused and why,\n"
        "and writes the woven classes. Many classes are woven in a process for each core that btpy may use, eight at\n"
        "most (`taskset -c 0 btpy weave …`: one). Exit code 0: woven, 2: errors in the script, 4: nothing matches."
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
        SECRET,
        NO_REDACT,
        FRAMEWORKS,
        WITH,
        *SCRIPT_OPTIONS,
    ),
    positionals=(0, 1),
    takes_parameters=True,
    examples=(
        ("weave slow.bt --cp app.jar --diff 'PricingEngine::quote'", "the bytecode before and after"),
        ("weave slow.bt --cp app.jar --report json", "what is woven or refused, for programs"),
    ),
)


class _Report(NamedTuple):
    """The report on a class that a probe matches. ``text``: its lines. ``probes``: the probes in the class. ``files``:
    the files to write, by their paths; the class itself is the first.
    """

    origin: str
    text: str
    woven: bool
    sites: int
    probes: frozenset[int]
    refused: int
    problems: tuple[Diagnostic, ...]
    files: tuple[tuple[str, bytes], ...]


class _Totals:
    """The sums over all classes."""

    def __init__(self) -> None:
        self.woven = self.sites = self.refused = 0
        self.probes: set[int] = set()
        self.problems: list[Diagnostic] = []

    def add(self, report: _Report) -> None:
        self.woven += report.woven
        self.sites += report.sites
        self.refused += report.refused
        self.probes |= report.probes
        self.problems += report.problems


def run(arguments: Arguments, console: Console) -> int:
    from btpy.api.offline import MethodFilter, OfflineWeaver, once
    from btpy.cli.script import compile_source, read_script
    from btpy.model.attachments import MethodAttachment
    from btpy.output.stream import Stream

    classes = _classes(arguments)
    filters = [MethodFilter.parse(text) for text in arguments.texts("diff")]
    program = compile_source(read_script(arguments, arguments.positionals), arguments)
    permitted = permissions(arguments)
    names = {probe.id: probe.name for probe in program.probes}
    weaver = OfflineWeaver(program, allow=permitted.allow)
    as_json = arguments.text("report") == "json"
    output = arguments.text("output")

    def report_on(offline: OfflineClass) -> _Report:
        """Runs in the process that weaves the class."""
        if as_json:
            lines = [json.dumps(_members(offline, names), ensure_ascii=False)]
        else:
            lines = _text_lines(offline, names, filters)
        files = () if output is None else tuple(_files(offline))
        return _report(offline, "".join(line + "\n" for line in lines), files)

    stream = Stream.stdout(ascii_only=not console.unicode)
    totals = _Totals()
    with ExitStack() as stack:
        files = None if output is None else _WovenFiles(stack.enter_context(_writing(Path(output), console)))
        for report in stack.enter_context(closing(weaver.weave(classes, report_on))):
            stream.write(report.text)
            stream.flush()
            totals.add(report)
            if files is not None:
                files.add(report)
        if files is not None and output is not None:
            files.add_companions(Path(output), console)
    if totals.problems:
        console.diagnostics(once(totals.problems))
    for probe in program.probes:
        if probe.id not in totals.probes and isinstance(probe.attachment, MethodAttachment):
            console.warning(f"probe {probe.name} is nowhere in these classes")
    console.say(
        f"{weaver.classes} classes: {totals.woven} woven at {totals.sites} sites, {totals.refused} times refused"
    )
    return 0 if totals.woven else 4


def _classes(arguments: Arguments) -> Classes:
    from btpy.api.offline import class_path, jdk

    paths, home = arguments.text("cp"), arguments.text("jdk")
    if (paths is None) == (home is None):
        raise UsageError("btpy weave needs either --cp PATHS or --jdk HOME")
    if home is not None:
        return jdk(Path(home))
    return class_path([Path(path) for path in (paths or "").split(os.pathsep) if path])


def _report(offline: OfflineClass, text: str, files: tuple[tuple[str, bytes], ...]) -> _Report:
    return _Report(
        offline.origin,
        text,
        offline.data is not None,
        len(offline.sites),
        frozenset(site.probe for site in offline.sites),
        len(offline.refusals),
        offline.problems,
        files,
    )


def _text_lines(class_: OfflineClass, names: dict[int, str], filters: Sequence[MethodFilter]) -> list[str]:
    """``filters``: the methods whose code is printed before and after weaving."""
    from btpy.api.offline import differences
    from btpy.output.values import visible

    lines = [class_.name + (f"  ({class_.origin})" if class_.origin else "")]
    methods: dict[str, list[str]] = {}
    for site in class_.sites:
        member = f" {site.target_class}" + (f".{site.member}" if site.member else "") if site.target_class else ""
        line = f" line {site.line}" if site.line else ""
        place = f"{names[site.probe]}: {site.point.name}{member}{line}"
        methods.setdefault(site.method + site.descriptor, []).append(place)
    for method, places in methods.items():
        lines.append(f"  {method}")
        lines += [f"    {place}" for place in places]
    lines += [f"  {_place(refusal)}refused [{refusal.reason.value}]: {refusal.detail}" for refusal in class_.refusals]
    return [visible(line) for line in lines] + [line for method in filters for line in differences(class_, method)]


def _place(refusal: Refusal) -> str:
    return f"{refusal.method} " if refusal.method else ""


def _members(class_: OfflineClass, names: dict[int, str]) -> dict[str, Any]:
    return {
        "v": 1,
        "type": "class",
        "class": class_.name,
        "origin": class_.origin,
        "woven": class_.data is not None,
        "sites": [
            {
                "probe": names[site.probe],
                "point": site.point.name,
                "method": site.method,
                "descriptor": site.descriptor,
                "line": site.line or None,
                "target_class": site.target_class or None,
                "member": site.member or None,
            }
            for site in class_.sites
        ],
        "refused": [
            {"code": refusal.reason.value, "method": refusal.method, "reason": refusal.detail}
            for refusal in class_.refusals
        ],
        "problems": [{"code": problem.code, "message": problem.message} for problem in class_.problems],
    }


def _files(class_: OfflineClass) -> Iterator[tuple[str, bytes]]:
    """The woven class and the handlers that it calls."""
    if class_.data is not None:
        yield class_.entry, class_.data
        for handler in class_.handlers:
            yield f"{handler.class_name.replace('.', '/')}.class", handler.data


Write = Callable[[str, Iterable[bytes]], None]
"""Writes a file: takes its path and its content, in pieces."""


class _WovenFiles:
    """Writes the woven classes, then the other files that a JVM needs."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._written_paths: set[str] = set()
        self._entries: dict[str, set[str]] = {}  # entries of the woven classes, by their jar or directory

    def add(self, report: _Report) -> None:
        if report.files:
            self._entries.setdefault(report.origin, set()).add(report.files[0][0])
        for path, data in report.files:
            self._add_file(path, (data,))

    def add_companions(self, output: Path, console: Console) -> None:
        """The other entries that the woven classes of each jar need, and the manifest."""
        from btpy.api.offline import readable
        from btpy.api.woven_jar import MANIFEST, SourceJar, manifest

        jars = []
        is_jar = output.suffix == ".jar"
        for origin, entries in self._entries.items():
            path = Path(origin)
            if not path.is_file():
                continue  # a directory, or a module of a JDK
            with readable(path):
                jar = SourceJar.read(path)
                for entry, data in jar.companions(entries):
                    self._add_file(entry, data)
            jars.append(jar)
            _warn_of_jar(jar, path, output, console)
        text = manifest(jars) if jars and is_jar else None
        if text is not None:
            self._write(MANIFEST, (text,))

    def _add_file(self, path: str, content: Iterable[bytes]) -> None:
        if path not in self._written_paths:  # a JVM loads the first of two classes with this path
            self._written_paths.add(path)
            self._write(path, content)


def _warn_of_jar(jar: SourceJar, path: Path, output: Path, console: Console) -> None:
    if jar.is_whole:
        reason = (
            "is signed: {} holds the whole jar without the signature"
            if jar.is_signed
            else "is sealed: {} has all of it"
        )
        console.warning(f"{path} {reason.format(output)}, use that in its place")
    if jar.is_multi_release and output.suffix != ".jar":
        console.warning(f"{path} has classes in several versions, which a directory cannot have: write -o NAME.jar")


@contextmanager
def _writing(output: Path, console: Console) -> Iterator[Write]:
    """Raises OutputError."""

    try:
        with _into_jar(output) if output.suffix == ".jar" else _into_directory(output, console) as write:
            yield write
    except OSError as cause:
        reason = (cause.strerror or str(cause)).lower()
        is_full = cause.errno in (errno.ENOSPC, errno.EDQUOT)
        remedy = "free some space, or write elsewhere with -o" if is_full else "write elsewhere with -o"
        raise OutputError(f"cannot write {output}: {reason}", help=[remedy]) from cause


@contextmanager
def _into_directory(directory: Path, console: Console) -> Iterator[Write]:
    from btpy.files import create_below, open_path

    count = 0
    folded: dict[str, str] = {}
    directory.mkdir(parents=True, exist_ok=True)
    opened = open_path(directory)

    def write(path: str, content: Iterable[bytes]) -> None:
        nonlocal count
        file = directory / path
        other = folded.setdefault(path.casefold(), path)
        if other != path and file.exists() and file.samefile(directory / other):
            raise OutputError(
                f"{other} and {path} are one file in {directory}, which does not distinguish upper and lower case",
                help=["write a jar with -o NAME.jar"],
            )
        try:
            created = create_below(opened, path, 0o666)
        except OSError as cause:
            link = next(
                (part for part in (file, *file.parents) if directory in part.parents and part.is_symlink()), None
            )
            if link is None:
                raise
            raise OutputError(
                f"cannot write {file}: {link} is a symbolic link, and btpy does not follow links there",
                help=["write elsewhere with -o, or remove the link"],
            ) from cause
        with created:
            try:
                created.writelines(content)
                created.flush()
            except BaseException:
                file.unlink()  # the temporary file has only a part of the class
                raise
        count += 1

    try:
        yield write
    except BaseException:
        if count:
            console.warning(f"{directory} has the first {count} class files only")
        raise
    finally:
        os.close(opened)


@contextmanager
def _into_jar(jar: Path) -> Iterator[Write]:
    """The jar gets its name when it is complete, unless it is empty."""
    import zipfile

    part = jar.with_name(f"{jar.name}.part")
    try:
        with part.open("wb") as stream:
            file = zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED)

            def write(path: str, content: Iterable[bytes]) -> None:
                # The same input gives the same jar: entries have the earliest time that a zip file can hold.
                entry = zipfile.ZipInfo(path)
                entry.compress_type = zipfile.ZIP_DEFLATED
                with file.open(entry, "w") as content_stream:
                    for piece in content:
                        content_stream.write(piece)

            try:
                yield write
                file.close()
            except BaseException:
                # An interrupted entry makes ZipFile.close raise an error that would hide the interrupt.
                file.fp = None
                raise
        if file.namelist():
            part.replace(jar)
    finally:
        part.unlink(missing_ok=True)
