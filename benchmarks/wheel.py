"""The compiled wheel, for benchmarks that compare it with the sources."""

from __future__ import annotations

import compileall
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def unpacked(scratch: Path) -> Path | None:
    """A directory for PYTHONPATH with the wheel of `make compiled`; None: there is no wheel for this Python."""
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    wheel = next(ROOT.glob(f"dist/compiled/*-{tag}-{tag}-*.whl"), None)
    if wheel is None:
        return None
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(scratch / "wheel")
    compileall.compile_dir(scratch / "wheel", quiet=2)  # an installed package has compiled modules, too
    return scratch / "wheel"
