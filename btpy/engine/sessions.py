"""Finds the session in a JVM that the user means."""

from __future__ import annotations

from collections.abc import Sequence

from btpy.errors import UsageError
from btpy.wire.messages import Joined, SessionInfo


def id_text(session: SessionInfo) -> str:
    """The id of a session as users see it: eight hexadecimal digits."""
    return f"{session.id:08x}"


def name_of(session: SessionInfo | Joined) -> str:
    """The name of a session, without control characters, because it comes from the target."""
    return "".join(char if char.isprintable() else "?" for char in session.name)


def chosen(sessions: Sequence[SessionInfo], name_or_id: str) -> SessionInfo:
    """The session with this id or this name, or the only session whose id has this prefix. Raises UsageError."""
    matches = [
        session
        for session in sessions
        if name_or_id and (session.name == name_or_id or id_text(session).startswith(name_or_id.lower()))
    ]
    if len(matches) == 1:
        return matches[0]
    lines = [f"{id_text(session)}  {name_of(session) or '(attended)'}" for session in sessions]
    if matches:
        raise UsageError(
            f"{name_or_id!r} means more than one session",
            help=[f"{id_text(session)}  {name_of(session)}" for session in matches],
        )
    raise UsageError(f"no session {name_or_id!r} in this JVM", help=lines or ["this JVM has no sessions"])
