"""Java agents for tests: jars made of compiled classes, loaded with ``-javaagent`` or into a running JVM."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

from tests import jcmd
from tests.jdks import compiled

JAVA = Path(__file__).parent / "java"


def jar(path: Path, classes: Path, manifest: Mapping[str, str]) -> Path:
    """A jar of the classes below a directory."""
    lines = ["Manifest-Version: 1.0", *(f"{name}: {value}" for name, value in manifest.items()), ""]
    with zipfile.ZipFile(path, "w") as out:
        out.writestr("META-INF/MANIFEST.MF", "\r\n".join(lines))
        for file in sorted(classes.rglob("*.class")):
            out.write(file, file.relative_to(classes).as_posix())
    return path


def observer(directory: Path) -> Path:
    """The agent of ``java/Observer.java``."""
    manifest = {
        "Premain-Class": "Observer",
        "Agent-Class": "Observer",
        "Can-Retransform-Classes": "true",
        "Can-Redefine-Classes": "true",
    }
    return jar(directory / "observer.jar", compiled([JAVA / "Observer.java"]), manifest)


def load(pid: int, agent: Path, options: str = "") -> None:
    """Load the agent of a jar into a running JVM."""
    words = ["JVMTI.agent_load", str(agent), *([f'"{options}"'] if options else [])]
    output = jcmd.tell(pid, " ".join(words))
    assert "return code: 0" in output, output
