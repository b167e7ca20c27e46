"""``btpy count``: counts the calls of methods."""

from __future__ import annotations

from btpy.cli.console import Console
from btpy.cli.options import Arguments, Command
from btpy.cli.verbs import preset

COMMAND = Command(
    name="count",
    usage=("count PID|NAME 'Class::method' [-k EXPR] [-i 1s] [-d 10s] [--top 10]",),
    summary="count calls, by method or by an expression",
    about="Counts the calls of all methods that a pattern matches. First the command shows its script.",
    options=(preset.KEY, preset.WHEN, preset.TOP, preset.JSON, *preset.RUNNING),
    refused=preset.REFUSED,
    positionals=(2, 2),
    examples=(
        ("count OrderApp 'com.acme.shop.*::*' -d 10s", "which methods are called most in ten seconds"),
        ("count OrderApp PricingEngine::quote -k '$sku' --top 5", "which articles are priced most often"),
        ("count OrderApp '+java.sql.Statement::execute*' -k 'thread_name' -i 1s", "by thread, shown every second"),
    ),
)


def run(arguments: Arguments, console: Console) -> int:
    point = preset.subject(arguments)
    script = f"""\
{point} @entry as count{preset.when(arguments)} {{ @count{preset.key(arguments, point.keys)} = count(); }}
@OnEnd {{ print(@count, top={preset.top(arguments)}); }}
"""
    return preset.run(COMMAND.name, script, arguments, console)
