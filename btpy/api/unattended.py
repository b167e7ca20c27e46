"""The sessions of btpy in a JVM, with or without a client: list them, send to them, join them, end them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from btpy.api.feed import KEPT
from btpy.api.session import PulledSession, Session
from btpy.dataclass import dataclass
from btpy.engine import sessions
from btpy.engine.description import Unreadable as Unreadable
from btpy.engine.receipt import Receipt
from btpy.engine.session import Session as EngineSession
from btpy.jvm.connecting import Connecting
from btpy.jvm.processes import JvmProcess, find
from btpy.lang.link.libraries import Libraries
from btpy.model.attachments import event_number
from btpy.model.permissions import Permissions
from btpy.wire.messages import SessionInfo, TellKind


@dataclass(frozen=True, slots=True)
class Listed:
    """One session. ``id``: eight hex digits, as users read and type them. ``enabled``: the number of enabled
    ``probes``. ``age``, ``ttl``: seconds; None: the session ends with its client. ``clients``: the connected clients;
    ``waiting``: events that no client has taken.
    """

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
    if not process.session_count:  # a request would load the agent into a JVM that possibly never had it
        return []
    with _enquiry(process) as enquiry:
        return [Listed.of(info) for info in enquiry.agent.sessions()]


def send(target: int | str | JvmProcess, name_or_id: str, event: str) -> None:
    """Run the ``@OnEvent`` probes with the name ``event`` in the session with this name or id (the beginning of the id
    is enough). Raises UsageError when there is no such session, and AttachError.
    """
    _tell(target, name_or_id, TellKind.EVENT, event_number(event) & 0xFFFFFFFF)


def set_level(target: int | str | JvmProcess, name_or_id: str, level: int) -> None:
    """Like :meth:`btpy.Session.level`, for the session with this id or name. Raises as :func:`send`."""
    _tell(target, name_or_id, TellKind.LEVEL, level)


def join(target: int | str | JvmProcess, name_or_id: str, *, take_over: bool = False, kept: int = KEPT) -> Session:
    """Join an unattended session (:meth:`btpy.Session.leave`), by its id or name, with its probes, its maps, and the
    records that it kept. ``take_over``: take the session from a client that has joined it. ``kept``: as for
    :func:`btpy.attach`.

    Raises UsageError when there is no such session, or it cannot be joined; Unreadable if the meaning of the ids in its
    records is unknown.
    """
    engine = _joined(target, name_or_id, take_over)
    return Session(engine, _permissions(engine), kept=kept)


def join_pulled(target: int | str | JvmProcess, name_or_id: str, *, take_over: bool = False) -> PulledSession:
    """Like :func:`join`, for a caller that reads the messages of the target at its own pace."""
    engine = _joined(target, name_or_id, take_over)
    return PulledSession(engine, _permissions(engine), Libraries())


def _joined(target: int | str | JvmProcess, name_or_id: str, take_over: bool) -> EngineSession:
    with Connecting(target) as connecting:
        return EngineSession.join(connecting, name_or_id, take_over=take_over)


def _permissions(engine: EngineSession) -> Permissions:
    assert engine.deployer.program is not None
    return engine.deployer.program.permissions


def discard(target: int | str | JvmProcess, name_or_id: str) -> Receipt:
    """End a session, also a session of another client. Its results are lost. Raises UsageError, AttachError."""
    with (
        Connecting(target) as connecting,
        EngineSession.join(connecting, name_or_id, take_over=True, read=False) as engine,
    ):
        return engine.departure.detach()


def _tell(target: int | str | JvmProcess, name_or_id: str, kind: TellKind, number: int) -> None:
    with _enquiry(target) as enquiry:
        session_info = sessions.chosen(enquiry.agent.sessions(), name_or_id)
        enquiry.agent.tell(session_info.id, kind, number)


@contextmanager
def _enquiry(target: int | str | JvmProcess) -> Iterator[EngineSession]:
    with Connecting(target) as connecting, EngineSession.enquire(connecting) as enquiry:
        yield enquiry
