"""``btpy send PID SESSION EVENT``: tell a session something, whoever attends it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from btpy.cli.options import Arguments, Command

if TYPE_CHECKING:
    from btpy.cli.console import Console
    from btpy.wire.messages import TellKind

COMMAND = Command(
    name="send",
    usage=("send PID|NAME SESSION EVENT",),
    summary="send an event to a session",
    about="Runs the @OnEvent probes of that name, of a session in the JVM that may have a client or not.",
    options=(),
    positionals=(3, 3),
    examples=(
        ("send shop nightly flush", 'runs @OnEvent("flush")'),
        ("send 4711 1a2b flush", "by the beginning of the id"),
    ),
)


def run(arguments: Arguments, console: Console) -> int:
    from btpy.lang.program import event_number
    from btpy.wire.messages import TellKind

    name, wanted, event = arguments.positionals
    return tell(name, wanted, TellKind.EVENT, event_number(event) & 0xFFFFFFFF)


def tell(name: str, wanted: str, kind: TellKind, number: int) -> int:
    from btpy.jvm.connecting import Connecting
    from btpy.jvm.processes import find
    from btpy.session.session import Session
    from btpy.session.sessions import chosen

    with Connecting(find(name)) as connecting, Session.enquire(connecting) as session:
        session.tell(chosen(session.others(), wanted), kind, number)
    return 0
