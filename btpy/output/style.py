"""How text may look: what the terminal can show."""

from __future__ import annotations

from btpy.values import dataclass


@dataclass(frozen=True, slots=True)
class Style:
    """``unicode`` False: everything that is written is ASCII. ``width``: columns of the terminal."""

    unicode: bool = True
    color: bool = False
    width: int = 100

    @property
    def ellipsis(self) -> str:
        return "…" if self.unicode else "..."

    @property
    def redacted(self) -> str:
        return "•••" if self.unicode else "***"

    @property
    def about(self) -> str:
        """Before a number that is an estimate."""
        return "≈" if self.unicode else "~"

    def bold(self, text: str) -> str:
        return f"\x1b[1m{text}\x1b[0m" if self.color else text

    def dim(self, text: str) -> str:
        return f"\x1b[2m{text}\x1b[0m" if self.color else text

    def bar(self, text: str) -> str:
        return f"\x1b[36m{text}\x1b[0m" if self.color else text
