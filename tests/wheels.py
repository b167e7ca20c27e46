"""Wheels of btpy, as pip builds them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_COMMAND = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir")


def pure_wheel(source: Path, directory: Path) -> Path:
    """The pure wheel of this source tree, in this directory. Raises CalledProcessError."""
    subprocess.run([*_COMMAND, str(directory), str(source)], check=True)
    (wheel,) = directory.glob("btpy_jvm_tracer-*.whl")
    return wheel
