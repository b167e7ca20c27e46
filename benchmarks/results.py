"""RESULTS.md in sections; each benchmark writes its own section."""

from __future__ import annotations

import fcntl
import os
import platform
import re
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = Path(__file__).resolve().parent / "RESULTS.md"
_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)


def write(title: str, text: str, results: Path = RESULTS) -> None:
    """Replace the section ``title``, or add it at the end; other sections do not change."""
    with results.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        old = results.read_text()
        section = f"## {title}\n\n{text.strip()}\n"
        starts = {result[1]: result.start() for result in _SECTION.finditer(old)}
        if title in starts:
            begin = starts[title]
            after = [start for start in starts.values() if start > begin]
            new = old[:begin] + section + (f"\n{old[min(after) :]}" if after else "")
        else:
            new = f"{old.rstrip()}\n\n{section}"
        with tempfile.NamedTemporaryFile("w", dir=results.parent, suffix=".md", delete=False) as new_file:
            new_file.write(new)
        os.replace(new_file.name, results)


def publish(title: str, text: str, *, stdout: bool) -> None:
    """Print a section, or :func:`write` it."""
    if stdout:
        print(f"## {title}\n\n{text.strip()}\n")
    else:
        write(title, text)


def origin(command: str, java: Path | None = None) -> str:
    """The origin of a figure: the command, the commit, the machine, and its load at the end."""
    commit = _output("git", "-C", str(ROOT), "rev-parse", "--short", "HEAD")
    changes = _output("git", "-C", str(ROOT), "status", "--porcelain", "btpy", "agent-java")
    facts = [
        f"`{command}` at commit {commit}{' with local changes' if changes else ''}",
        *([] if java is None else [_version(java)]),
        f"{processor()}, {os.cpu_count()} cores",
        f"Python {platform.python_version()}, {platform.system()} {platform.release()}",
        f"load average at the end {os.getloadavg()[0]:.1f}",
    ]
    return "; ".join(facts) + ". A load above the number of cores means that other programs share in the figures."


def _version(java: Path) -> str:
    result = subprocess.run([str(java), "-version"], capture_output=True, text=True, check=True)
    return result.stderr.splitlines()[0]


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def processor() -> str:
    """The model of this machine's processor."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
