"""``btpy test``: runs the tests of probe libraries and reports failures."""

from __future__ import annotations

from btpy.cli.console import Console
from btpy.cli.options import Arguments, Command, Option

COMMAND = Command(
    name="test",
    usage=("test [--record] FILE.bt…",),
    summary="run the tests of a probe library",
    about=(
        "The tests of NAME.bt are in NAME.test.toml beside it. [[classes]] says how many methods each probe selects\n"
        "in class files; [[run]] starts a Java program with the probes in place and compares what they record with\n"
        "a recorded run. Exit code 0: all pass, 2: some fail. docs/testing.md describes the file."
    ),
    options=(
        Option(("--record",), "write the recorded runs anew instead of comparing"),
        Option(("-I",), "where libraries are looked for, before anywhere else", "DIR", repeat=True),
    ),
    positionals=(1, 1000),
    examples=(
        ("test probes/jdbc.bt", "class files and recorded runs, as jdbc.test.toml says"),
        ("test --record probes/jdbc.bt", "accept the present results"),
    ),
)

EXIT_FAILED = 2


def run(arguments: Arguments, console: Console) -> int:
    from pathlib import Path

    from btpy.cli.library_tests import results

    failures = passed = 0
    for name in arguments.positionals:
        script = Path(name)
        for title, problem in results(script, arguments):
            if problem:
                failures += 1
                console.warning(f"{title} fails")
                console.say(problem.rstrip("\n"))
            else:
                passed += 1
                console.say(f"{title} passes")
    console.say(f"{passed} passed, {failures} failed")
    return EXIT_FAILED if failures else 0
