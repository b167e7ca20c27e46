"""Prints the tests that a change needs first, for `make check`: those of the rooms whose files differ from `main`.

The base is where the change left `origin/main` as it was fetched last, or else the local `main`. On `main` itself, in a
clone without a remote, that is the last commit."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent

TESTS = {
    "lang": ("tests/lang", "tests/completion", "tests/live/test_reference.py"),
    "agent-java": ("tests/runtime", "tests/agent/test_handshake.py"),
    "api": ("tests/api", "tests/live/test_python.py", "tests/triage/test_judge.py"),
    "engine": ("tests/engine", "tests/live/test_changes.py"),
    "jvm": ("tests/jvm/test_attach.py",),
    "cli": ("tests/cli/test_options.py", "tests/cli/test_words.py", "tests/cli/test_run.py"),
    "output": ("tests/output", "tests/cli/test_command.py"),
    "repl": ("tests/repl/test_commands.py", "tests/repl/test_entry.py"),
    "probes": ("tests/probes/test_manual.py",),
    "docs": ("tests/examples/test_pages.py", "tests/lang/test_reference.py", "tests/output/test_schema.py"),
    "README.md": ("tests/examples/test_pages.py",),
    "CONTRIBUTING.md": ("tests/examples/test_pages.py",),
}
"""Where a room has many slow tests, or none of its name: the ones that find most."""


def changed() -> list[str]:
    """Paths that differ, whether they are committed or not."""
    branches = [branch for branch in ("origin/main", "main") if _git("rev-parse", "--verify", "--quiet", branch)]
    (base,) = _git("merge-base", branches[0], "HEAD") if branches else ("HEAD",)
    names = _git("diff", "--name-only", base) + _git("ls-files", "--others", "--exclude-standard")
    return sorted(set(names))


def tests_of(path: str) -> list[str]:
    """The tests of the room that a file belongs to."""
    parts = Path(path).parts
    if parts[0] == "tests":
        return [path] if parts[-1].startswith("test_") and path.endswith(".py") else []
    room = parts[1] if parts[0] == "btpy" and len(parts) > 2 else parts[0]
    return [test for test in TESTS.get(room, (f"tests/{room}",)) if (ROOT / test).exists()]


def _git(*arguments: str) -> list[str]:
    run = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return run.stdout.splitlines() if run.returncode == 0 else []


if __name__ == "__main__":
    fast = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "tests").glob("test_*.py"))]
    touched = [test for path in changed() for test in tests_of(path) if (ROOT / test).exists()]
    print(*dict.fromkeys([*fast, *touched]))
