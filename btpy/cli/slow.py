"""``btpy slow``: the slowest requests of a service, as trees of the work and the waits that they consist of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from btpy.cli import measuring
from btpy.cli.console import Console
from btpy.cli.options import Arguments, Command, Option
from btpy.cli.settings import ATTACH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from btpy.api.session import Session
    from btpy.api.slow.collect import Report, Wanted

_DEFAULT_OVER = 0.2
_DEFAULT_TOP = 10
_SHARE_OF_REQUEST = 200
_LEAST_NANOS = (10_000, 1_000_000)
"""Bounds of the default of --least, the shortest time of a part that is shown in its own row."""
_BUDGET = 0.05
"""The share of each processor of the JVM that the probes may take."""

COMMAND = Command(
    name="slow",
    usage=("slow PID|NAME [--over 200ms] [--for 30s] [--top 10] [-f text|ndjson|chrome]",),
    summary="which requests are slow, and what did they wait for? as trees",
    about=(
        "Follows every request of a web server over the threads that work for it. At the end, or with Ctrl-C, it\n"
        "shows the slowest requests that took longer than --over (200ms), each as a tree: SQL statements, HTTP calls\n"
        "to other services, waits for locks and for connections, and the tasks that other threads ran, with the\n"
        "time that they waited in a queue. `itself` is the time in which no part of the tree below ran or waited.\n"
        "Needs no script, and nothing of the application has to be named. --of names other units of work, such as\n"
        "the handler of messages. A part that goes on after its request is shown up to the end of the request."
    ),
    options=(
        Option(("--over",), "requests that take longer are shown (default 200ms)", "200ms"),
        Option(("-d", "--for"), "end after this time (default: with Ctrl-C)", "30s"),
        Option(("--top",), "the number of requests that are shown, the slowest first (default 10)", "N"),
        Option(
            ("--least",),
            "shorter parts and tasks are summed up (default: a 200th of --over, between 10us and 1ms)",
            "1ms",
        ),
        Option(
            ("--of",),
            "methods whose calls are the requests, instead of the requests of web servers",
            "CLASS::METHOD",
            repeat=True,
        ),
        Option(
            ("--monitors",),
            "measure the waits for `synchronized` blocks of these classes, and not only sample them",
            "CLASSES",
        ),
        Option(
            ("--budget",), "the share of one core that the probes may take (default: 5 % of the processors)", "SHARE"
        ),
        Option(
            ("-f", "--format"),
            "text (default); ndjson: one object for a request; chrome: threads and hand-overs for Perfetto",
            "FORMAT",
            choices=("text", "ndjson", "chrome"),
        ),
        Option(("-q", "--quiet"), "only the report"),
        Option(("--allow",), "allow what is refused by default: core, to follow Thread.start()", "WHAT", repeat=True),
        ATTACH,
        Option(("--no-unicode",), "write ASCII only"),
    ),
    positionals=(1, 1),
    examples=(
        ("slow OrderApp --over 50ms --for 30s", "the ten slowest requests of half a minute"),
        ("slow 4711 --over 20ms --of 'com.acme.shop.OrderService::place'", "calls of a method instead of requests"),
        ("slow 4711 -f chrome --for 60s > slow.json", "the same requests over their threads, for ui.perfetto.dev"),
        ("slow 4711 -f ndjson --for 60s | jq '.ms, .what'", "for other programs"),
    ),
)


def run(arguments: Arguments, console: Console) -> int:
    selection = _wanted(arguments)
    duration, budget = arguments.seconds("for", None), arguments.share("budget", None)
    console.verbosity = -1 if arguments.switch("quiet") else 0
    console.unicode = console.unicode and not arguments.switch("no_unicode")
    process = measuring.chosen(arguments)
    from btpy.api.slow.collect import watch  # while the Java that attaches is starting
    from btpy.api.triage.collect import processors

    def begun() -> None:
        end = "Ctrl-C ends it" if duration is None else f"for {duration:g} s; Ctrl-C ends it earlier"
        console.say(f"btpy: following the requests of {process.short_main} ({process.pid}), {end}")

    def measure(session: Session, is_stopped: Callable[[], bool]) -> Report:
        return watch(session, selection, duration, is_stopped=is_stopped, begun=begun)

    def lines(result: Report) -> Iterator[str]:
        return _lines(result, selection, arguments.text("format") or "text", console.unicode)

    share_of_core = _BUDGET * processors(process) if budget is None else budget
    return measuring.run(process, arguments, share_of_core, measure, lines, console, allow=arguments.texts("allow"))


def _wanted(arguments: Arguments) -> Wanted:
    """Raises UsageError."""
    from btpy.api.slow.collect import Wanted

    over, least = round(arguments.seconds("over", _DEFAULT_OVER) * 1e9), arguments.seconds("least", None)
    shortest, longest = _LEAST_NANOS
    by_default = min(max(over // _SHARE_OF_REQUEST, shortest), longest)
    return Wanted(
        over=over,
        least=by_default if least is None else round(least * 1e9),
        top=max(arguments.number("top", _DEFAULT_TOP), 1),
        of=tuple(arguments.texts("of")),
        monitors=arguments.text("monitors") or "",
    )


def _lines(report: Report, selection: Wanted, format_: str, unicode: bool) -> Iterator[str]:
    from btpy.api.slow import tree_of
    from btpy.cli import slow_report
    from btpy.output import chrome_requests

    match format_:
        case "chrome":
            return chrome_requests.chrome(
                [tree_of(request, selection.least, together=False) for request, _ in report.trees]
            )
        case "ndjson":
            return slow_report.ndjson(report)
        case _:
            return slow_report.text(report, selection, unicode)
