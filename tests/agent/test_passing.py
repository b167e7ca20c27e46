"""The agent searches again for classes that its transformer did not weave for internal reasons."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.jdks import java, javac_command
from tests.runtime.harness import EXPORT

SOURCES = Path(__file__).parents[2] / "agent-java" / "src" / "main" / "java"


def test_classes_that_load_unwoven_are_found_later(tmp_path: Path) -> None:
    """The reasons: a thread of the agent loads the class, the transformer fails (for example because the stack is
    full), or too many classes load at once.
    """
    driver = Path(__file__).parent / "java" / "Passing.java"
    (tmp_path / "Build.java").write_text(
        'package btpy.agent;\n\nfinal class Build {\n    static final String ID = "";\n}\n'
    )
    options = ["-source", "8", "-target", "8", "-Xlint:-options", "-XDignore.symbol.file", "-nowarn"]
    sources = ["-sourcepath", f"{SOURCES}:{tmp_path}", str(tmp_path / "Build.java"), str(driver)]
    subprocess.run([*javac_command(), *options, "-d", str(tmp_path), *sources], check=True, capture_output=True)
    command = [str(java(17)), *EXPORT, f"-Xbootclasspath/a:{tmp_path}", "btpy.agent.Passing"]
    process = subprocess.run(command, check=True, capture_output=True, text=True)
    result = dict(line.split() for line in process.stdout.splitlines())
    assert result == {"other": "false", "agent": "true", "own": "false", "failed": "true", "full": "true"}
