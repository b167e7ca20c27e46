"""Remedies: lines beside an error or a diagnostic, which tell the user what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class Permission(str):
    """A remedy: allow an operation that btpy refuses by default. The text is for editors and Python programs; where
    there is a command line, :meth:`typed` shows it once more with the permission added."""

    capability: str
    condition: str

    def __new__(cls, capability: str, condition: str = "allow it") -> Permission:
        """``capability``: the value of ``--allow``. ``condition``: the text before the command."""
        text = f'{condition}:  --allow {capability}, in Python allow=["{capability}"]'
        permission = super().__new__(cls, text)
        permission.capability = capability
        permission.condition = condition
        return permission

    def typed(self, arguments: Sequence[str]) -> str:
        """``arguments``: the command line without the name of the program."""
        import shlex

        at = arguments.index("--") if "--" in arguments else len(arguments)
        command = ["btpy", *arguments[:at], "--allow", self.capability, *arguments[at:]]
        return f"{self.condition}:  {shlex.join(command)}"


def as_typed(help: Iterable[str], arguments: Sequence[str]) -> tuple[str, ...]:
    """Remedies for someone who has typed a command with these arguments."""
    return tuple(remedy.typed(arguments) if isinstance(remedy, Permission) else remedy for remedy in help)
