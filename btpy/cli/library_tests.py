"""The tests of a probe library, on class files and on a recorded run."""

from __future__ import annotations

import difflib
import json
import os
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from btpy import children
from btpy.cli.options import Arguments
from btpy.dataclass import dataclass
from btpy.errors import UsageError
from btpy.files import open_trusted

_VOLATILE = frozenset(("ts", "tid", "thread", "v", "pid", "percentiles"))
_COSTS = frozenset(("cpu_ns", "ns", "ns_error", "p99_ns", "timed"))  # members of the probes in an `end` record
"""Members of a record that differ between runs."""

_UNTOLD = frozenset(("attached_probes",))
"""Records that are not compared."""


@dataclass(frozen=True, slots=True)
class ClassesTest:
    """``methods``: by probe. ``refused``: methods that a probe selects but that cannot be woven."""

    cp: tuple[Path, ...]
    parameters: dict[str, str]
    methods: dict[str, int]
    refused: int


@dataclass(frozen=True, slots=True)
class RunTest:
    """``java``: the arguments of the java command, which is started in the directory of the file. ``expect``: the
    recorded run. ``ignore``: names of values, maps and types of records that are not compared.
    """

    java: tuple[str, ...]
    parameters: dict[str, str]
    allow: tuple[str, ...]
    expect: Path
    ignore: frozenset[str]


def results(script: Path, arguments: Arguments) -> Iterator[tuple[str, str]]:
    """The title of each test of a script, and its failure; the text is empty if the test passes. Raises UsageError,
    ScriptError.
    """
    specification = script.with_suffix(".test.toml")
    classes, runs = read_tests(specification)
    for number, test in enumerate(classes, 1):
        yield f"{script}: classes {number}", _check_classes(script, test, arguments)
    for number, program in enumerate(runs, 1):
        yield f"{script}: run {number}", _check_run(script, program, arguments, record=arguments.switch("record"))


def read_tests(path: Path) -> tuple[list[ClassesTest], list[RunTest]]:
    """Raises UsageError: the file does not exist, is not TOML, or has unknown settings."""
    try:
        with open_trusted(path, named=True) as file:
            content = tomllib.load(file)
    except OSError as error:
        raise UsageError(
            f"cannot read {path}: {(error.strerror or str(error)).lower()}",
            help=[
                "the tests of NAME.bt are in NAME.test.toml",
                'a first test, in three lines:  [[classes]]   cp = ["app.jar"]   methods = { PROBE = 1 }',
            ],
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not TOML: {error}") from error
    _known(path, "the file", content, ("classes", "run"))
    classes = [_classes_test(path, entry) for entry in _entries(path, content, "classes")]
    runs = [_run_test(path, entry) for entry in _entries(path, content, "run")]
    if not classes and not runs:
        raise UsageError(f"{path} has no tests", help=["[[classes]] or [[run]]"])
    return classes, runs


def _entries(path: Path, content: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    entries = content.get(name, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise UsageError(f"{path}: {name} must be a list of tables: [[{name}]]")
    return entries


def _classes_test(path: Path, entry: dict[str, Any]) -> ClassesTest:
    _known(path, "[[classes]]", entry, ("cp", "parameters", "methods", "refused"))
    methods = entry.get("methods", {})
    if not isinstance(methods, dict) or not all(isinstance(method, int) for method in methods.values()):
        raise UsageError(f"{path}: methods must be a table with a number for the name of each probe")
    refusal_count = entry.get("refused", 0)
    if not isinstance(refusal_count, int):
        raise UsageError(f"{path}: refused must be a number")
    cp = tuple(path.parent / text for text in _texts(path, entry, "cp"))
    return ClassesTest(cp, _parameters(path, entry), methods, refusal_count)


def _run_test(path: Path, entry: dict[str, Any]) -> RunTest:
    _known(path, "[[run]]", entry, ("java", "parameters", "allow", "expect", "ignore"))
    expect = entry.get("expect")
    if not isinstance(expect, str):
        raise UsageError(f"{path}: a [[run]] needs expect, the file with the recorded run")
    java = tuple(_texts(path, entry, "java"))
    if not java:
        raise UsageError(f"{path}: a [[run]] needs java: the arguments of the command java")
    return RunTest(
        java,
        _parameters(path, entry),
        tuple(_texts(path, entry, "allow")),
        path.parent / expect,
        frozenset(_texts(path, entry, "ignore")),
    )


def _known(path: Path, where: str, entry: Mapping[str, Any], names: tuple[str, ...]) -> None:
    for name in entry:
        if name not in names:
            raise UsageError(f"{path}: {where} has no {name!r}", help=["known: " + ", ".join(names)])


def _texts(path: Path, entry: dict[str, Any], name: str) -> list[str]:
    texts = entry.get(name, [])
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise UsageError(f"{path}: {name} must be a list of strings")
    return texts


def _parameters(path: Path, entry: dict[str, Any]) -> dict[str, str]:
    parameters = entry.get("parameters", {})
    if not isinstance(parameters, dict):
        raise UsageError(f"{path}: parameters must be a table")
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in parameters.items()}


def _check_classes(script: Path, test: ClassesTest, arguments: Arguments) -> str:
    from btpy.api.offline import OfflineClass, OfflineWeaver, class_path
    from btpy.api.programs import check_source
    from btpy.cli.script import libraries, read_source

    search = libraries(arguments)
    program = check_source(read_source(str(script), (), search), search, test.parameters)
    names = {probe.id: probe.name for probe in program.probes}
    weaver = OfflineWeaver(program, allow=frozenset(("core",)))
    selected: dict[str, set[tuple[str, ...]]] = {name: set() for name in test.methods}
    refusals: list[str] = []

    def tell(class_: OfflineClass) -> tuple[set[tuple[str, ...]], list[str]]:
        methods: set[tuple[str, ...]] = {
            (names[site.probe], class_.name, site.method, site.descriptor) for site in class_.sites
        }
        return methods, [
            f"{refusal.class_name}.{refusal.method or ''}: {refusal.detail}" for refusal in class_.refusals
        ]

    for methods, without in weaver.weave(class_path(test.cp), tell):
        for method in methods:
            selected.setdefault(method[0], set()).add(method)
        refusals += without
    counts = {name: len(methods) for name, methods in selected.items()}
    problems = [
        f"{name} selects {counts[name]} methods, not {expected}"
        for name, expected in test.methods.items()
        if counts[name] != expected
    ]
    if len(refusals) != test.refused:
        problems.append(f"{len(refusals)} are refused, not {test.refused}")
        problems += refusals[:10]
    return "\n".join(problems)


def _check_run(script: Path, test: RunTest, arguments: Arguments, *, record: bool) -> str:
    with tempfile.TemporaryDirectory(prefix="btpy-test-") as directory:
        output = Path(directory) / "records.ndjson"
        flags = [part for name, value in test.parameters.items() for part in ("-P", f"{name}={value}")]
        flags += [part for name in test.allow for part in ("--allow", name)]
        flags += [part for name in arguments.texts("I") for part in ("-I", os.path.abspath(name))]
        command = ["run", str(script.resolve()), "-f", "ndjson", "-o", str(output), "-q", "--hits", "0", *flags]
        process = children.run_helper(
            "btpy.cli.main",
            *(*command, "--", "java", *test.java),
            inherited=(*children.LOCALE, *children.PLACES, *children.CHOICES),
            directory=script.parent,
        )
        if process.returncode or not output.exists():
            return f"the run ended with exit code {process.returncode}\n{process.stderr}"
        actual = comparable(output.read_text(encoding="utf-8"), test.ignore)
    if record:
        test.expect.write_text("".join(line + "\n" for line in actual), encoding="utf-8")
        return ""
    try:
        expected = test.expect.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"cannot read {test.expect}: {reason}", help=["btpy test --record writes it"]) from error
    lines = difflib.unified_diff(expected, actual, str(test.expect), "this run", lineterm="")
    return "\n".join(lines)


def comparable(ndjson: str, ignore: frozenset[str]) -> list[str]:
    """The parts of a run's records that are equal in each run: sorted, without times and threads. A distribution
    becomes the number of its samples.
    """
    lines = []
    for line in ndjson.splitlines():
        record = json.loads(line)
        kind = record["type"]
        if kind in _UNTOLD or kind in ignore:
            continue
        members = {name: value for name, value in record.items() if name not in _VOLATILE}
        data = members.get("data")
        if isinstance(data, dict) and kind == "table":
            members["data"] = {row: _cells(cells, ignore) for row, cells in data.items()}
        elif isinstance(data, dict):
            members["data"] = {
                name: _counts(value) if kind in ("hist", "stats") else value
                for name, value in data.items()
                if name not in ignore
            }
        if isinstance(probes := members.get("probes"), list):
            members["probes"] = [
                {name: value for name, value in probe.items() if name not in _COSTS} for probe in probes
            ]
        lines.append(json.dumps(members, ensure_ascii=False, sort_keys=True))
    return sorted(lines)


def _cells(cells: Mapping[str, Any], ignore: frozenset[str]) -> dict[str, Any]:
    """The columns of one row of a table."""
    return {
        name: cell["count"] if isinstance(cell, dict) and "count" in cell else cell
        for name, cell in cells.items()
        if name not in ignore
    }


def _counts(value: Any) -> Any:
    """A distribution, or a distribution for each key, as numbers of samples."""
    if isinstance(value, list):
        return sum(bucket.get("count", 0) for bucket in value)
    if isinstance(value, dict) and isinstance(value.get("count"), int):
        return value["count"]
    return {key: _counts(counts) for key, counts in value.items()} if isinstance(value, dict) else value
