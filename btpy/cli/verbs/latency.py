"""``btpy latency``: the durations of methods, as a histogram with percentiles."""

from __future__ import annotations

from btpy.cli.console import Console
from btpy.cli.options import Arguments, Command
from btpy.cli.verbs import preset

COMMAND = Command(
    name="latency",
    usage=("latency PID|NAME 'Class::method' [-k EXPR] [-i 1s] [-d 10s] [--top 10]",),
    summary="draw how long calls take: histogram, p50 to p99.9",
    about=(
        "Times every call of the methods that a pattern matches, to its return or its exception, and draws the\n"
        "distribution. First the command shows its script."
    ),
    options=(preset.KEY, preset.WHEN, preset.TOP, preset.JSON, *preset.RUNNING),
    refused=preset.REFUSED,
    positionals=(2, 2),
    examples=(
        ("latency OrderApp PricingEngine::quote -d 10s", "the distribution of one method"),
        ("latency OrderApp '+java.sql.PreparedStatement::execute*' -i 2s", "all classes that implement an interface"),
        ("latency OrderApp OrderService::place -k 'exception != null'", "failed calls in a distribution of their own"),
    ),
)


def run(arguments: Arguments, console: Console) -> int:
    point = preset.subject(arguments)
    statement = f"@latency{preset.key(arguments, point.keys)} = pctl(duration, 50, 90, 99, 99.9);"
    script = f"""\
{point} @exit as latency{preset.when(arguments)} {{ {statement} }}
@OnEnd {{ plot(@latency, top={preset.top(arguments)}); }}
"""
    return preset.run(COMMAND.name, script, arguments, console)
