"""Which of the sessions in a JVM is meant."""

from __future__ import annotations

from collections.abc import Sequence

from btpy.errors import UsageError
from btpy.wire.messages import Joined, SessionInfo


def id_text(session: SessionInfo) -> str:
    """As it is shown and typed: eight hex digits."""
    return f"{session.id:08x}"


def name_of(session: SessionInfo | Joined) -> str:
    """Its name, which comes from the target: nothing that a terminal would act on."""
    return "".join(char if char.isprintable() else "?" for char in session.name)


def chosen(sessions: Sequence[SessionInfo], wanted: str) -> SessionInfo:
    """The one with this id, or the only one whose id begins so, or that has this name. Raises UsageError."""
    found = [
        session
        for session in sessions
        if wanted and (session.name == wanted or id_text(session).startswith(wanted.lower()))
    ]
    if len(found) == 1:
        return found[0]
    listed = [f"{id_text(session)}  {name_of(session) or '(attended)'}" for session in sessions]
    if found:
        raise UsageError(
            f"{wanted!r} is more than one session",
            help=[f"{id_text(session)}  {name_of(session)}" for session in found],
        )
    raise UsageError(f"no session {wanted!r} in this JVM", help=listed or ["this JVM has no sessions"])
