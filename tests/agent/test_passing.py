"""The agent searches again for classes that its transformer did not weave for internal reasons."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.jdks import OF_THE_AGENT, compiled, java
from tests.runtime.harness import EXPORT

SOURCES = Path(__file__).parents[2] / "agent-java" / "src" / "main" / "java"


def test_classes_that_load_unwoven_are_found_later(tmp_path: Path) -> None:
    """The reasons: a thread of the agent loads the class, the transformer fails (for example because the stack is
    full), or too many classes load at once.
    """
    driver = Path(__file__).parent / "java" / "Passing.java"
    build = tmp_path / "Build.java"
    build.write_text('package btpy.agent;\n\nfinal class Build {\n    static final String ID = "";\n}\n')
    flags = [*OF_THE_AGENT, "-sourcepath", str(SOURCES)]
    classes = compiled([build, driver], release=None, flags=flags, uses=SOURCES.rglob("*.java"))
    command = [str(java(17)), *EXPORT, f"-Xbootclasspath/a:{classes}", "btpy.agent.Passing"]
    process = subprocess.run(command, check=True, capture_output=True, text=True)
    result = dict(line.split() for line in process.stdout.splitlines())
    assert result == {"other": "false", "agent": "true", "own": "false", "failed": "true", "full": "true"}
