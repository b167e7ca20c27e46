"""The scopes of script variables: a thread, an object, or a flow."""

from __future__ import annotations

from enum import Enum


class Scope(Enum):
    THREAD = "thread"  # thread.x
    OBJECT = "state"  # state(object).x
    FLOW = "flow"  # flow.x

    def spelled(self, name: str) -> str:
        """The variable as a script writes it."""
        return f"state(…).{name}" if self is Scope.OBJECT else f"{self.value}.{name}"


def variable_key(scope: Scope, name: str) -> str:
    """The name of a variable, unique among the variables of all scopes."""
    return f"{scope.value}.{name}"
