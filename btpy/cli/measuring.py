"""Commands that measure a JVM for some time with probes of their own, and then report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Protocol, TypeVar

from btpy.cli.console import Console
from btpy.cli.options import Arguments
from btpy.cli.printing import print_lines
from btpy.cli.settings import attach_method, begin_attach

if TYPE_CHECKING:
    from btpy.api.jvms import JvmProcess
    from btpy.api.session import Session


class Measured(Protocol):
    """``failed``: the parts that do not fit the JVM, with the reason."""

    @property
    def failed(self) -> Mapping[str, str]: ...


M = TypeVar("M", bound=Measured)


def chosen(arguments: Arguments) -> JvmProcess:
    """The JVM that the arguments name. The process that attaches to it begins to start. Raises AttachError."""
    from btpy.api import jvms

    process = jvms.find(arguments.positionals[0])
    begin_attach(process, attach_method(arguments))
    return process


def run(
    process: JvmProcess,
    arguments: Arguments,
    budget: float,
    measure: Callable[[Session, Callable[[], bool]], M],
    lines: Callable[[M], Iterable[str]],
    console: Console,
    *,
    allow: Iterable[str] = (),
) -> int:
    """Measures, and prints ``lines`` of the result. ``measure`` gets the session, and a function that says whether the
    user has stopped it. Raises AttachError, the errors of ``measure``, and, after the report, TargetGone if the JVM has
    ended meanwhile.
    """
    from btpy.api.session import Limits, attach
    from btpy.cli.signals import Signals
    from btpy.errors import TargetGone
    from btpy.present.report import restored_classes

    limits, method = Limits(cpu_budget=budget), attach_method(arguments)
    with Signals(to_file=False) as signals, attach(process, allow=allow, limits=limits, method=method) as session:
        signals.ask()
        result = measure(session, lambda: signals.stop is not None)
        loss: TargetGone | None = None
        try:
            receipt = session.detach()
        except TargetGone as error:
            loss = error
    if loss is None:
        for part, reason in result.failed.items():
            console.warning(f"{part} was left out: {reason}")
        console.say(f"btpy: {restored_classes(receipt)}")
    print_lines(lines(result), ascii_only=not console.unicode)
    if loss is not None:
        raise loss
    return 0
