"""The permissions that the user gives to every script of a session."""

from __future__ import annotations

from btpy.dataclass import dataclass
from btpy.model.carried import Carried
from btpy.model.secrets import NO_SECRETS, Secrets


@dataclass(frozen=True, slots=True)
class Permissions:
    """The settings of the user for every script: ``allow`` are the capabilities of ``--allow``; ``redact``: secrets are
    hidden; ``frameworks``: globs of classes that do not belong to the application, in addition to the built-in ones;
    ``secrets``: names and patterns of secrets, in addition to the built-in ones; ``carried``: the parts of a thread's
    context that every event has."""

    allow: frozenset[str] = frozenset()
    redact: bool = True
    frameworks: tuple[str, ...] = ()
    secrets: Secrets = NO_SECRETS
    carried: tuple[Carried, ...] = ()


DEFAULT_PERMISSIONS = Permissions()
