"""Packages from PyPI that only proofs use, each with its dependencies in an environment of its own in the cache."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.jdks import cache, locked

ROOT = Path(__file__).parent.parent
_INSTALL = (
    *("-m", "pip", "install", "--quiet", "--no-cache-dir", "--require-hashes", "--no-deps"),
    *("--no-build-isolation", "--use-pep517", "--requirement", "/dev/stdin"),
)


def requirements(lock: str, names: Sequence[str]) -> str:
    """The lines of the file ``.ci/LOCK.lock`` for these packages. Their hashes are among them."""
    entries = re.split(r"\n(?=\S)", (ROOT / ".ci" / f"{lock}.lock").read_text(encoding="utf-8"))
    return "\n".join(entry for entry in entries if entry.partition("==")[0] in names)


def environment(lock: str, *stages: Sequence[str]) -> Path:
    """The Python that has these packages. ``stages``: the packages that are installed one after the other; the version
    of the first package of the last stage is the version of the environment. Raises CalledProcessError.
    """
    version = requirements(lock, stages[-1][:1]).split("==")[1].split()[0]
    directory = cache() / f"{lock}-{version}"
    python = directory / "bin" / "python"
    with locked(lock):
        if not (directory / "installed").exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", directory], check=True)
            for names in stages:
                subprocess.run([python, *_INSTALL], input=requirements(lock, names), text=True, check=True)
            (directory / "installed").touch()
    return python
