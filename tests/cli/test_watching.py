"""``--watch``: a file that changes while its probes run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_command import btpy
from tests.live.scripts import counted, waited
from tests.targets import Target
from tests.tracer import Tracer, tracing

CALLS = 101


@pytest.fixture(scope="module")
def program() -> Iterator[Target]:
    with counted(17) as jvm:
        yield jvm


def called(program: Target) -> None:
    program.send(f"call {CALLS}")
    program.wait_for(f"called {CALLS}")


def written(path: Path, text: str) -> None:
    """Replaces the whole file, as editors do."""
    new_path = path.with_suffix(".new")
    new_path.write_text(text)
    os.replace(new_path, path)


def told(tracer: Tracer, text: str, times: int = 1) -> None:
    waited(lambda: sum(text in line for line in list(tracer.stderr)) == times, f"no line {text!r}")


def test_a_file_is_swapped_when_it_changes_and_kept_when_it_is_wrong(program: Target, tmp_path: Path) -> None:
    path, library = tmp_path / "script.bt", tmp_path / "own.bt"
    library.write_text("fn big(int n): boolean = n >= 50;\n")
    path.write_text("Counted::step @entry { @n = count(); @old = count(); }")
    with tracing(program.pid, str(path), "--watch") as tracer:
        called(program)
        written(path, "Counted::step @entry { @n = coun(); }")
        told(tracer, "still running the previous version")
        assert any("error[BT101]: unknown function `coun`" in line for line in tracer.stderr)
        called(program)
        written(path, "Counted::nothing @entry { @n = count(); }")
        told(tracer, "still running the previous version", 2)
        called(program)
        written(
            path,
            'import "own.bt" as own;\nCounted::step @entry { @n = count(); }'
            " Counted::step @entry when own.big($number) { @big = count(); }",
        )
        told(tracer, "script.bt has changed: 2 probes → 1 method in 1 class")
        called(program)
        written(library, "fn big(int n): boolean = n >= 90;\n")
        told(tracer, "has changed", 2)
        called(program)
        assert tracer.stop() == 0, tracer.stderr
        tracer.check_complete()
    assert sum(line.startswith("step (replaced): ") for line in tracer.stderr) == 2
    assert sum(line.startswith("step: ") for line in tracer.stderr) == 1
    assert tracer.maps() == {"n": 5 * CALLS, "old": 3 * CALLS, "big": 51 + 11}


def test_impossible_uses_of_watch_are_refused(program: Target, tmp_path: Path) -> None:
    path = tmp_path / "script.bt"
    path.write_text("Counted::step @entry { @n = count(); }")
    for arguments, reason in [
        (["-e", "Counted::step { print(1) }"], "--watch needs the file of a script"),
        ([str(path), "-f", "csv"], "--watch cannot be used with the format csv"),
        ([str(path), "-x"], "-x leaves at once"),
    ]:
        result = btpy(program.pid, *arguments, "--watch")
        assert (result.returncode, reason in result.stderr) == (2, True), result.stderr
