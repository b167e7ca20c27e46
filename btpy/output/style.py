"""The style of text: the abilities of the terminal."""

from __future__ import annotations

from btpy.dataclass import dataclass
from btpy.model.secrets import REDACTED


@dataclass(frozen=True, slots=True)
class Style:
    """``unicode`` False: all output is ASCII. ``width``: columns that charts may take;
    ``fills``: charts use the full width. ``window``: columns of the terminal; None: the output is not a terminal."""

    unicode: bool = True
    color: bool = False
    width: int = 100
    fills: bool = False
    window: int | None = None

    @property
    def ellipsis(self) -> str:
        return "…" if self.unicode else "..."

    @property
    def arrow(self) -> str:
        return "→" if self.unicode else "->"

    @property
    def redacted(self) -> str:
        return REDACTED if self.unicode else "***"

    @property
    def about(self) -> str:
        """The sign before a number that is an estimate."""
        return "≈" if self.unicode else "~"

    @property
    def at_least(self) -> str:
        return "≥" if self.unicode else ">="

    @property
    def at_most(self) -> str:
        return "≤" if self.unicode else "<="

    def bold(self, text: str) -> str:
        return f"\x1b[1m{text}\x1b[0m" if self.color else text

    def dim(self, text: str) -> str:
        return f"\x1b[2m{text}\x1b[0m" if self.color else text

    def bar(self, text: str) -> str:
        return f"\x1b[36m{text}\x1b[0m" if self.color else text

    def focus(self, text: str) -> str:
        """The style of the row to which keys apply."""
        mark = "▸" if self.unicode else ">"
        return f"{mark} {self.bold(text)}"

    def marked(self, text: str, descending: bool) -> str:
        """The heading of the column by which rows are sorted."""
        down, up = ("▼", "▲") if self.unicode else ("v", "^")
        return text + (down if descending else up)
