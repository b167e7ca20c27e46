"""``btpy triage``: what a service is, what it spends its time on, and its most suspicious facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from btpy.cli import measuring
from btpy.cli.console import Console
from btpy.cli.options import Arguments, Command, Option
from btpy.cli.settings import ATTACH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from btpy.api.session import Session
    from btpy.api.triage.collect import Looks
    from btpy.api.triage.findings import Finding
    from btpy.api.triage.report import Report, TimeSpent

_DEFAULT_SECONDS = 20.0
_DEFAULT_FINDINGS = 3

COMMAND = Command(
    name="triage",
    usage=("triage PID|NAME [-d 20s] [--top 3] [--json]",),
    summary="what is wrong with a service? measures 20 s, names suspects",
    about=(
        "Use it for a service that is slow or fails, before you know what to probe. It measures for 20 s (-d) with\n"
        "the libraries of btpy that apply to the JVM, within 1 % of its processors (--budget). Then it says what the\n"
        "service is, what it spends its time on, and the three most suspicious facts (--top), each with the command\n"
        "that shows more: waits for connections, slow, repeated and failing SQL, locks, exceptions, garbage\n"
        "collections, allocations, DNS, HTTP calls, retries, thread pools, threads, files, log messages.\n"
        "Ctrl-C ends the measuring earlier and shows what it has. Every class is put back."
    ),
    options=(
        Option(("-d", "--for"), "measure for this time", "20s"),
        Option(("--top",), "the suspicious facts that are shown (default 3; 0: all)", "N"),
        Option(
            ("--budget",), "the share of one core that the probes may take (default: 1 % of the processors)", "SHARE"
        ),
        Option(("--json",), "one JSON object"),
        Option(("-q", "--quiet"), "only the report"),
        ATTACH,
        Option(("--no-unicode",), "write ASCII only"),
    ),
    positionals=(1, 1),
    examples=(
        ("triage OrderApp", "what is wrong with it?"),
        ("triage 4711 -d 60s --top 0", "everything that is suspicious in a minute"),
        ("triage 4711 --json | jq -r '.findings[].command'", "the commands that show more"),
    ),
)


def run(arguments: Arguments, console: Console) -> int:
    import os

    duration, shown = arguments.seconds("for", _DEFAULT_SECONDS), arguments.number("top", _DEFAULT_FINDINGS)
    budget = arguments.share("budget", None)
    console.verbosity = -1 if arguments.switch("quiet") else 0
    console.unicode = console.unicode and not arguments.switch("no_unicode")
    process = measuring.chosen(arguments)
    from btpy.api.libraries import Libraries  # while the Java that attaches is starting
    from btpy.api.triage.collect import budget_of, examine

    console.say(f"btpy: looking at which libraries apply to {process.short_main} ({process.pid})")

    def begun(looks: Looks) -> None:
        console.say(
            f"btpy: measuring for {duration:g} s with the probes of {len(looks.running) - 1} libraries;"
            " Ctrl-C ends it earlier"
        )

    def measure(session: Session, is_stopped: Callable[[], bool]) -> Report:
        return examine(session, Libraries.of(os.environ, []), duration, is_stopped=is_stopped, begun=begun)

    share_of_core = budget_of(process) if budget is None else budget
    as_json = arguments.switch("json")
    return measuring.run(
        process,
        arguments,
        share_of_core,
        measure,
        lambda result: [_json(result)] if as_json else lines(result, shown),
        console,
    )


_WIDTH = 23


def lines(report: Report, top: int) -> Iterator[str]:
    """The report as text. ``top``: the number of findings; 0: all."""
    from btpy.api.triage.judge import LEAST_SECONDS
    from btpy.output.quantities import duration, size

    service, measured = report.service, report.measured
    heap = f"{size(round(measured.figure('heap_used')))} of {size(round(measured.figure('heap_max')))}"
    yield (
        f"{service.main} ({service.pid}): Java {service.java}, up {duration(round(service.uptime * 1e9))},"
        f" {measured.figure('threads_last'):.0f} threads, heap {heap}"
    )
    yield from _wrapped("built with", service.frameworks)
    yield from _wrapped("libraries that apply", report.libraries)
    yield ""
    about = ", estimated because the budget left hits out" if report.is_estimated else ""
    yield f"threads on average in {measured.seconds:.0f} s{about}:"
    for spent in report.times:
        yield from _time(spent, measured.seconds)
    if not report.times:
        yield "  (nothing happened)"
    yield ""
    shown = report.findings if top == 0 else report.findings[:top]
    if not shown:
        yield (
            "too short a time to find something suspicious"
            if measured.seconds < LEAST_SECONDS
            else "nothing suspicious: no measure is above its threshold"
        )
        return
    rest = len(report.findings) - len(shown)
    yield f"most suspicious{f' ({rest} more with --top 0)' if rest else ''}:"
    for place, finding in enumerate(shown, 1):
        yield from _finding(place, finding, service.pid)


def _wrapped(title: str, words: tuple[str, ...]) -> Iterator[str]:
    import textwrap

    text = ", ".join(words) or "nothing that btpy knows"
    yield from textwrap.wrap(f"{title}: {text}", 100, subsequent_indent="  ", break_long_words=False)


def _time(spent: TimeSpent, seconds: float) -> Iterator[str]:
    from btpy.output.quantities import duration, per_second

    total = spent.total
    each = f"  {per_second(total.count / seconds)}, {duration(total.mean)} each" if total.count else ""
    yield f"  {spent.what:<{_WIDTH}} {spent.threads:>6.2f}{each}"
    for place, share_ in spent.most:
        if share_ >= 0.1:
            yield f"      {share_:>4.0%}  {_cut(place)}"


def _cut(place: str) -> str:
    return place if len(place) <= 88 else f"{place[:87]}…"


def _finding(place: int, finding: Finding, pid: int) -> Iterator[str]:
    yield f"  {place}. {finding.fact}"
    if finding.place:
        yield f"     {finding.place}"
    yield f"     btpy {pid} {finding.command}"


def _json(report: Report) -> str:
    import json

    service, measured = report.service, report.measured
    values: dict[str, Any] = {
        "pid": service.pid,
        "main": service.main,
        "java_version": service.java,
        "uptime_s": round(service.uptime, 3),
        "frameworks": list(service.frameworks),
        "libraries": list(report.libraries),
        "left_out": dict(report.failed),
        "seconds": round(measured.seconds, 3),
        "estimated": report.is_estimated,
        "time": [
            {
                "what": spent.what,
                "threads": round(spent.threads, 4),
                "count": spent.total.count,
                "mean_ns": round(spent.total.mean),
                "places": [{"place": place, "share": round(share_, 4)} for place, share_ in spent.most],
            }
            for spent in report.times
        ],
        "findings": [
            {
                "kind": finding.kind.value,
                "severity": round(finding.severity, 2),
                "fact": finding.fact,
                "place": finding.place or None,
                "command": f"btpy {service.pid} {finding.command}",
            }
            for finding in report.findings
        ],
    }
    return json.dumps(values, ensure_ascii=False, indent=2)
