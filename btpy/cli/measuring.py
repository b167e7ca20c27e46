"""Commands that measure a JVM for some time with probes of their own, and then report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Protocol, TypeVar

from btpy.cli.options import Arguments
from btpy.cli.settings import attach_method

if TYPE_CHECKING:
    from btpy.api.jvms import JvmProcess
    from btpy.api.session import Session
    from btpy.cli.console import Console
    from btpy.errors import TargetGone


class Measured(Protocol):
    """``failed``: the parts that do not fit the JVM, with the reason."""

    @property
    def failed(self) -> Mapping[str, str]: ...


M = TypeVar("M", bound=Measured)


def chosen(arguments: Arguments) -> JvmProcess:
    """The JVM that the arguments name. The process that attaches to it begins to start. Raises AttachError."""
    from btpy.api import jvms
    from btpy.api.attaching import prepare

    process = jvms.find(arguments.positionals[0])
    if process.obstacle is not None:
        raise process.obstacle
    prepare(process, attach_method(arguments))
    return process


def measured(
    process: JvmProcess,
    arguments: Arguments,
    budget: float,
    measure: Callable[[Session, Callable[[], bool]], M],
    console: Console,
    *,
    allow: Iterable[str] = (),
) -> tuple[M, TargetGone | None]:
    """The result of ``measure``, and the error if the JVM has ended meanwhile. ``measure`` gets the session, and a
    function that says whether the user has stopped it. Raises AttachError, and the errors of ``measure``.
    """
    from btpy.api.session import Limits, attach
    from btpy.cli.signals import Signals
    from btpy.errors import TargetGone

    limits, method = Limits(cpu_budget=budget), attach_method(arguments)
    with Signals(to_file=False) as signals, attach(process, allow=allow, limits=limits, method=method) as session:
        signals.ask()
        report = measure(session, lambda: signals.stop is not None)
        try:
            receipt = session.detach()
        except TargetGone as error:
            return report, error
    for part, reason in report.failed.items():
        console.warning(f"{part} was left out: {reason}")
    console.say(f"btpy: classes restored {receipt.restored}/{receipt.woven}")
    return report, None
