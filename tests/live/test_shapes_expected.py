"""Compares the counts that RunShapes expects with the counts of the JVM's debugger interface."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

from tests.jdks import compiled, javac
from tests.live.test_shapes import SOURCES, expected

JAVA = Path(__file__).parent.parent / "java"

# The differences between the debugger's counts and those of a probe.
BEFORE_SUPER = {"Shapes$Derived,<init>": 4}  # an exception ended these calls before super(…) had returned
SYNTHETIC = re.compile(r".*,\$values|Shapes(\$Greeting)?\$\$Lambda.*")


def test_expected_counts_are_those_of_the_debugger() -> None:
    shapes = compiled(SOURCES)
    debugger = compiled([JAVA / "CountWithDebugger.java"], flags=["--add-modules", "jdk.jdi"])
    java = javac().resolve().parent / "java"  # the runtimes from pip have no jdk.jdi
    result = subprocess.run(
        [java, "-cp", debugger, "CountWithDebugger", shapes, "53"], capture_output=True, text=True, check=True
    )
    counts: dict[str, Counter[str]] = {"entry": Counter(), "return": Counter()}
    for line in result.stdout.splitlines():
        word, type_name, method, entries, returns = line.split()
        assert word == "counted"
        key = f"{type_name},{re.sub(r'lambda[$].*', 'lambda$*', method)}"
        if not SYNTHETIC.fullmatch(key):
            counts["entry"][key] += int(entries) - BEFORE_SUPER.get(key, 0)
            counts["return"][key] += int(returns)
    process = subprocess.run(
        [java, "-cp", shapes, "RunShapes", "53"], input="\n\n", capture_output=True, text=True, check=True
    )
    expected_counts = expected(process.stdout.splitlines())
    assert expected_counts["entry"] == +counts["entry"]
    assert expected_counts["return"] == +counts["return"]
