"""The sessions of btpy in a JVM, whoever attends them: listed, told something, joined, ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from btpy.api.session import Session
from btpy.engine import session as core
from btpy.engine import sessions
from btpy.engine.description import Unreadable as Unreadable
from btpy.engine.session import Receipt
from btpy.frozen import dataclass
from btpy.jvm.connecting import Connecting
from btpy.jvm.processes import JvmProcess, find
from btpy.model.attachments import event_number
from btpy.wire.messages import SessionInfo, TellKind


@dataclass(frozen=True, slots=True)
class Listed:
    """One session. ``id``: as it is shown and typed, eight hex digits. ``enabled``: of its ``probes``. ``age``,
    ``ttl``: seconds; None: it ends with its client. ``clients``: who are connected; ``waiting``: events that nobody has
    taken."""

    id: str
    name: str
    probes: int
    enabled: int
    classes: int
    age: float
    ttl: float | None
    clients: int
    waiting: int

    @staticmethod
    def of(info: SessionInfo) -> Listed:
        return Listed(
            id=sessions.id_text(info),
            name=sessions.name_of(info),
            probes=info.probes,
            enabled=info.enabled,
            classes=info.classes,
            age=info.age_ns / 1e9,
            ttl=info.ttl_ns / 1e9 if info.ttl_ns else None,
            clients=info.clients,
            waiting=info.waiting,
        )


def listed(target: int | str | JvmProcess) -> list[Listed]:
    """The sessions in a JVM. Raises AttachError."""
    process = target if isinstance(target, JvmProcess) else find(str(target))
    if not process.sessions:  # asking would load the agent into a JVM that may never have had it
        return []
    with _enquiry(process) as enquiry:
        return [Listed.of(each) for each in enquiry.others()]


def send(target: int | str | JvmProcess, wanted: str, event: str) -> None:
    """Run the ``@OnEvent`` probes of that name, of the session with this id (its beginning is enough) or name. Raises
    UsageError when there is none; AttachError."""
    _tell(target, wanted, TellKind.EVENT, event_number(event) & 0xFFFFFFFF)


def set_level(target: int | str | JvmProcess, wanted: str, level: int) -> None:
    """As :meth:`btpy.Session.level`, of the session with this id or name. Raises as :func:`send`."""
    _tell(target, wanted, TellKind.LEVEL, level)


def join(target: int | str | JvmProcess, wanted: str, *, take_over: bool = False, kept: int | None = None) -> Session:
    """Go on with a session that was left (:meth:`btpy.Session.leave`), by its id or name: with its probes, its maps,
    and what they produced meanwhile. ``take_over``: from a client that has joined it. ``kept``: as of
    :func:`btpy.attach`.

    Raises UsageError when there is none, or it cannot be joined; Unreadable when it is not known what its ids mean.
    """
    with Connecting(target) as connecting:
        running = core.Session.join(connecting, wanted, take_over=take_over)
        assert running.program is not None
        return Session(running, running.program.permissions, kept=kept)


def discard(target: int | str | JvmProcess, wanted: str) -> Receipt:
    """End a session, whoever has left or joined it; its results are lost. Raises UsageError, AttachError."""
    with (
        Connecting(target) as connecting,
        core.Session.join(connecting, wanted, take_over=True, read=False) as running,
    ):
        return running.detach()


def _tell(target: int | str | JvmProcess, wanted: str, kind: TellKind, number: int) -> None:
    with _enquiry(target) as enquiry:
        enquiry.tell(sessions.chosen(enquiry.others(), wanted), kind, number)


@contextmanager
def _enquiry(target: int | str | JvmProcess) -> Iterator[core.Session]:
    with Connecting(target) as connecting, core.Session.enquire(connecting) as enquiry:
        yield enquiry
