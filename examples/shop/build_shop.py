"""Builds the shop into a jar that runs with ``java -jar`` on Java 11 and later.

python examples/shop/build_shop.py [OUT.jar]        default: btpy/_demo/shop.jar
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
DEFAULT_JAR = HERE.parent.parent / "btpy" / "_demo" / "shop.jar"
MAIN = "com.acme.shop.OrderApp"
_SHORT_RUN = ("-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC")  # they save half of javac's processor time
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip can store, so the same sources give the same jar


def build(out: Path = DEFAULT_JAR, identity: str = "") -> Path:
    """Compile the sources beside this file (``$JAVA_HOME``, else PATH) and write the jar, whole or not at all.

    ``identity``: a hash of the sources, for the manifest.

    Raises FileNotFoundError without javac, subprocess.CalledProcessError when the sources do not compile.
    """
    sources = sorted(HERE.glob("src/**/*.java"))
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent) as scratch:
        classes = Path(scratch) / "classes"
        command = [
            _javac(),
            *_SHORT_RUN,
            "--release",
            "11",
            "-g",
            "-Xlint:all",
            "-Werror",
            "-d",
            str(classes),
            *map(str, sources),
        ]
        subprocess.run(command, check=True)
        jar = Path(scratch) / "shop.jar"
        with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as archive:
            build_id = f"Build-Id: {identity}\r\n" if identity else ""
            manifest = f"Manifest-Version: 1.0\r\nMain-Class: {MAIN}\r\n{build_id}\r\n"
            _add(archive, "META-INF/MANIFEST.MF", manifest.encode())
            for path in sorted(classes.glob("**/*.class")):
                _add(archive, path.relative_to(classes).as_posix(), path.read_bytes())
        jar.replace(out)
    return out


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    archive.writestr(info, data)


def _javac() -> str:
    home = os.environ.get("JAVA_HOME")
    candidate = Path(home) / "bin" / "javac" if home else None
    javac = str(candidate) if candidate is not None and candidate.exists() else shutil.which("javac")
    if javac is None:
        raise FileNotFoundError("no javac: set JAVA_HOME to a JDK (17 or later), or put its bin directory on PATH")
    return javac


if __name__ == "__main__":
    print(build(Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_JAR))
