"""btpy shows values of the JDK as Java does, and reads only their fields."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.jdks import all_jdks, compiled
from tests.targets import PATIENCE, target

JAVA = Path(__file__).parent.parent / "java"
SCRIPT = "Known::take { print(arg0) }"


@all_jdks
def test_as_java_writes_them(jdk: int) -> None:
    classes = compiled([JAVA / "Gate.java", JAVA / "Known.java"])
    with target(jdk, "Known", classpath=[classes]) as program:
        command = [sys.executable, "-m", "btpy", str(program.pid), "-e", SCRIPT, "--budget", "off", "--hits", "35"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as tracer:
            assert tracer.stderr is not None
            assert tracer.stderr.readline().startswith("btpy: 1 probe")
            program.send()
            program.wait_for("done")
            stdout, _ = tracer.communicate(timeout=PATIENCE)
    java_values = [line.removeprefix("value ") for line in program.stdout if line.startswith("value ")]
    assert stdout.splitlines() == [*java_values, "Known$Refused: by the bank {code=51}"]
