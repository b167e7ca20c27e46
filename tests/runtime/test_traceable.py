"""The methods that handlers call without the guard reach no method that could itself be traced."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from btpy.codegen import runtime_api as api
from tests.jdks import QUICK_TOOL, javac
from tests.runtime.harness import RUNTIME_SOURCES

NATIVE = {
    "java/lang/Thread.currentThread:()Ljava/lang/Thread;",
    "java/lang/System.nanoTime:()J",
    "java/lang/Object.getClass:()Ljava/lang/Class;",
    "java/lang/Double.doubleToRawLongBits:(D)J",
    "java/lang/Double.longBitsToDouble:(J)D",
    "java/lang/Class.isInstance:(Ljava/lang/Object;)Z",
}
NEVER_WOVEN = ("jdk/internal/misc/Unsafe.", "sun/misc/Unsafe.", "java/lang/Object.<init>:")


def calls(classes: Path) -> dict[str, set[str]]:
    """Every method of the run-time, as ``class.name:descriptor``, and the methods that it calls."""
    names = {source.stem for source in RUNTIME_SOURCES}
    files = sorted(str(path) for path in classes.glob("btpy/runtime/*.class") if path.stem.split("$")[0] in names)
    javap = javac().parent / "javap"
    text = subprocess.run(
        [str(javap), *QUICK_TOOL, "-p", "-s", "-c", *files],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    results: dict[str, set[str]] = {}
    owner = name = method = ""
    for line in text.splitlines():
        if header := re.match(r"^(?:\S.*? )??(?:class|interface) ([\w.$]+)", line):
            owner = header[1].replace(".", "/")
        elif member := re.match(r"^  (?:\S.* )?([\w$.]+)\(.*\).*;$", line):
            name = "<init>" if member[1].replace(".", "/") == owner else member[1]
        elif descriptor := re.match(r"^    descriptor: (\(.*)$", line):
            method = f"{owner}.{name}:{descriptor[1]}"
            results[method] = set()
        elif call := re.search(r"// (?:Interface)?Method (\S+)$", line):
            callee = call[1].replace('"', "")
            results[method].add(callee if "." in callee.split(":")[0] else f"{owner}.{callee}")
    return results


def test_unguarded_methods_call_nothing_traceable(classes: Path) -> None:
    graph = calls(classes)
    rows = [row for row in api.all_methods() if row.owner.startswith("btpy/") and not row.guarded]
    roots = {f"{row.owner}.{row.name}:{row.descriptor}" for row in rows}
    assert roots <= graph.keys()
    assert len(roots) > 30
    # These methods have their own guard: searches for keys of other types, and the parents of spans. The Memory class
    # of JDK 12 and later stands for both versions of the class.
    guarded = {"Aggregation.claim", "Keys.same", "Keys.hash", "Keys.store", "Spans.open"}
    pending = sorted(roots)
    visited_methods: set[str] = set()
    wrong: set[tuple[str, str]] = set()
    while pending:
        method = pending.pop()
        if method in visited_methods or any(method.startswith(f"btpy/runtime/{name}:") for name in guarded):
            continue
        visited_methods.add(method)
        for callee in graph[method]:
            if callee.startswith("btpy/runtime/Memory."):
                pending.append(callee.replace("/Memory.", "/InternalMemory.") if "instance" not in callee else callee)
            elif callee.startswith("btpy/"):
                pending.append(callee)
            elif callee not in NATIVE and not callee.startswith(NEVER_WOVEN):
                wrong.add((method, callee))
    assert wrong == set()
    assert "btpy/runtime/EventBuffer.claim:(IIJJ)J" in visited_methods
