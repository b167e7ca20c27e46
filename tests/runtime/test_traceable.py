"""What handlers may call without the guard reaches no method that could itself be traced."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.jdks import javac

UNGUARDED = {
    "Session": "enter enterAgent guard leave fired tested passed took tally add disable sample sampleEnter "
    "sampleLeave failed className methodName signature line map begin putInt putLong putDouble putBoolean putChar "
    "commit printMaps exit depthEnter depthLeave startedNanos tid isVirtual pid newId rand threadValues "
    "threadValuesNow",
    "Aggregation": "count slot",
    "ThreadValues": "has number real setNumber setReal addNumber addReal clear",
}
UNGUARDED_KEYLESS = {"find:()I", "add:(IJ)V", "add:(ID)V", "add:(IJJ)V", "add:(IDJ)V"}  # of Aggregation

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
    """Every method of the run-time, as ``class.name:descriptor``, and what it calls."""
    files = sorted(str(path) for path in classes.glob("btpy/runtime/*.class") if "RuntimeDriver" not in path.name)
    javap = javac().parent / "javap"
    text = subprocess.run(
        [str(javap), "-J-Xmx256m", "-p", "-s", "-c", *files],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    found: dict[str, set[str]] = {}
    owner = name = method = ""
    for line in text.splitlines():
        if header := re.match(r"^(?:\S.*? )??(?:class|interface) ([\w.$]+)", line):
            owner = header[1].replace(".", "/")
        elif member := re.match(r"^  (?:\S.* )?([\w$.]+)\(.*\).*;$", line):
            name = "<init>" if member[1].replace(".", "/") == owner else member[1]
        elif descriptor := re.match(r"^    descriptor: (\(.*)$", line):
            method = f"{owner}.{name}:{descriptor[1]}"
            found[method] = set()
        elif call := re.search(r"// (?:Interface)?Method (\S+)$", line):
            callee = call[1].replace('"', "")
            found[method].add(callee if "." in callee.split(":")[0] else f"{owner}.{callee}")
    return found


def test_unguarded_methods_call_nothing_traceable(classes: Path) -> None:
    graph = calls(classes)
    roots = {
        method
        for method in graph
        for owner, names in UNGUARDED.items()
        if method.startswith(f"btpy/runtime/{owner}.") and method.split(".")[1].split(":")[0] in names.split()
    }
    roots -= {"btpy/runtime/Session.exit:(I)V"}
    roots |= {f"btpy/runtime/Aggregation.{method}" for method in UNGUARDED_KEYLESS}
    assert len(roots) > 30
    # Keys that are not plain are looked for under a guard of its own; the memory of JDK 12 and later stands for both.
    guarded = {"Aggregation.claim", "Keys.same", "Keys.hash", "Keys.held"}
    pending = sorted(roots)
    seen: set[str] = set()
    wrong: set[tuple[str, str]] = set()
    while pending:
        method = pending.pop()
        if method in seen or any(method.startswith(f"btpy/runtime/{name}:") for name in guarded):
            continue
        seen.add(method)
        for callee in graph[method]:
            if callee.startswith("btpy/runtime/Memory."):
                pending.append(callee.replace("/Memory.", "/InternalMemory.") if "instance" not in callee else callee)
            elif callee.startswith("btpy/"):
                pending.append(callee)
            elif callee not in NATIVE and not callee.startswith(NEVER_WOVEN):
                wrong.add((method, callee))
    assert wrong == set()
    assert "btpy/runtime/EventBuffer.claim:(IIJJ)J" in seen
