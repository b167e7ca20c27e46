"""``btpy stacks``: shows the callers of methods."""

from __future__ import annotations

from btpy.cli.console import Console
from btpy.cli.options import Arguments, Command, Option, number
from btpy.cli.verbs import preset

COMMAND = Command(
    name="stacks",
    usage=("stacks PID|NAME 'Class::method' [--depth 20] [--when EXPR] [-d 10s] [--top 10]",),
    summary="count call stacks: where methods are called from",
    about=(
        "Counts the stacks of callers of the methods that a pattern matches, and prints the most frequent.\n"
        "A stack costs some microseconds: sample if there are many calls (--when 'rand(100) == 0').\n"
        "First the command shows its script."
    ),
    options=(
        Option(("--depth",), "frames of a stack (default 20)", "N"),
        preset.KEY,
        preset.WHEN,
        preset.TOP,
        preset.JSON,
        *preset.RUNNING,
    ),
    refused=preset.REFUSED,
    positionals=(2, 2),
    examples=(
        ("stacks OrderApp PricingEngine::quote -d 5s", "where prices are asked for"),
        ("stacks OrderApp '+java.lang.Throwable::<init>' --depth 8 --top 3", "where most exceptions are made"),
    ),
)


def run(arguments: Arguments, console: Console) -> int:
    point = preset.subject(arguments)
    frames = f"stack({number('--depth', arguments.text('depth') or '20')})"
    script = f"""\
{point} @entry as stacks{preset.when(arguments)} {{ @stacks{preset.key(arguments, [frames])} = count(); }}
@OnEnd {{ print(@stacks, top={preset.top(arguments)}); }}
"""
    return preset.run(COMMAND.name, script, arguments, console)
