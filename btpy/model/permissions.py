"""What the user allows and forbids for every script of a session."""

from __future__ import annotations

from btpy.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Permissions:
    """What the user says of every script: ``allow`` are the capabilities of ``--allow``; ``redact``: secrets are
    hidden; ``frameworks``: globs of classes that are not the application, beside those that btpy knows."""

    allow: frozenset[str] = frozenset()
    redact: bool = True
    frameworks: tuple[str, ...] = ()


DEFAULT_PERMISSIONS = Permissions()
