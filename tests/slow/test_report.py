"""The text of ``btpy slow`` where there is no request to show."""

from __future__ import annotations

from btpy.api.slow.collect import Report, Wanted
from btpy.cli import slow_report


def of_nothing(*of: str) -> list[str]:
    report = Report(seconds=2.0, requests=0, mean=0.0, slowest=0, slow=0, trees=(), lost=0, skipped=0, failed={})
    return list(slow_report.text(report, Wanted(over=200_000_000, least=1_000_000, top=10, of=of), unicode=True))


def test_without_requests_the_report_says_what_btpy_follows() -> None:
    head, hint = of_nothing()
    assert head == "0 requests in 2 s, 0 longer than 200ms"
    assert hint.startswith("  btpy knows the requests of Tomcat, Jetty and the JDK's server")


def test_without_calls_of_a_named_method_the_report_says_how_to_check_the_name() -> None:
    _, hint = of_nothing("Nope::x")
    assert hint == "  no method that --of names was called; to see these methods: btpy ls PID 'Nope::x'"
