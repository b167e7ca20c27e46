"""``btpy doctor``: tests every step of an attach, and shows a remedy for each failure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from btpy.cli.console import Console, wants_color
from btpy.cli.options import Arguments, Command, Option
from btpy.cli.settings import ATTACH, STYLE_OPTIONS, attach_method

if TYPE_CHECKING:
    from collections.abc import Iterable

    from btpy.api.doctor import Step
    from btpy.output.style import Style

COMMAND = Command(
    name="doctor",
    usage=("doctor PID|NAME [--json]",),
    summary="test every step of attaching to a JVM",
    about=(
        "Tests each step of an attach in order, first from outside, then with the agent. Shows what each step\n"
        "found, the obstacle and its remedy. One probe that does nothing runs; no class is changed.\n"
        "Exit code 0: it can be traced, 3: a step failed."
    ),
    options=(
        ATTACH,
        Option(("--json",), "one JSON object a step, a line each"),
        *STYLE_OPTIONS,
    ),
    positionals=(1, 1),
    examples=(
        ("doctor OrderApp", "why can this JVM not be attached to?"),
        ("doctor 4711 --json | jq 'select(.outcome == \"failed\")'", "for a health check"),
    ),
)

_MARKS = {"ok": "ok", "warning": "note", "failed": "FAIL", "not tested": "-"}
_COLORS = {"ok": "32", "warning": "33", "failed": "1;31", "not tested": "2"}


def run(arguments: Arguments, console: Console) -> int:
    from btpy.api.doctor import Outcome, examine
    from btpy.errors import AttachError
    from btpy.output.stream import Stream
    from btpy.output.style import Style

    console.unicode = console.unicode and not arguments.switch("no_unicode")
    stream = Stream.stdout(ascii_only=not console.unicode)
    style = Style(unicode=console.unicode, color=wants_color(arguments.text("color"), stream.descriptor))
    failed_step = None
    for step in examine(arguments.positionals[0], attach_method(arguments)):
        if step.outcome is Outcome.FAILED:
            failed_step = step
        if arguments.switch("json"):
            import json

            stream.write(json.dumps(_members(step), ensure_ascii=False) + "\n")
        elif step.outcome is not Outcome.UNTESTED:
            stream.write("".join(line + "\n" for line in lines(step, style)))
        stream.flush()  # a step may take long
    if failed_step is None:
        console.say("btpy: this JVM can be traced")
        return 0
    console.say(f"btpy: cannot be traced: “{failed_step.name}” failed; the steps after it were not tested")
    return AttachError.exit_status


def lines(step: Step, style: Style) -> Iterable[str]:
    from btpy.output.values import visible

    mark = f"{_MARKS[step.outcome.value]:<4}"
    if style.color:
        mark = f"\x1b[{_COLORS[step.outcome.value]}m{mark}\x1b[0m"
    code = f" [{step.code}]" if step.code else ""
    yield f"{mark}  {step.name:<16}  {visible(step.detail)}{code}"
    for remedy in step.help:
        yield f"{'':24}{style.arrow} {visible(remedy)}"


def _members(step: Step) -> dict[str, Any]:
    return {
        "step": step.name,
        "outcome": step.outcome.value,
        "detail": step.detail,
        "code": step.code or None,
        "help": list(step.help),
    }
