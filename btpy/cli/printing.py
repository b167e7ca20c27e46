"""The output of commands that print at once, on standard output."""

from __future__ import annotations

from collections.abc import Iterable


def print_text(text: str, *, ascii_only: bool = False) -> None:
    """Raises OutputError."""
    from btpy.output.stream import Stream

    stream = Stream.stdout(ascii_only=ascii_only)
    stream.write(text)
    stream.flush()


def print_lines(lines: Iterable[str], *, ascii_only: bool = False) -> None:
    """``lines`` have no line ends. Raises OutputError."""
    print_text("".join(f"{line}\n" for line in lines), ascii_only=ascii_only)
