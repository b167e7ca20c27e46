"""Scripts and their parameters as Python programs give them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from btpy.errors import UsageError
from btpy.files import open_trusted
from btpy.model.source import Source, read_text


def source_of(script: str | Path, name: str) -> Source:
    """A text of that name, or the file of a Path. Raises UsageError."""
    if isinstance(script, str):
        return Source(name, script)
    try:
        with open_trusted(script, named=True) as file:
            return Source(str(script), read_text(file), path=script)
    except OSError as cause:
        raise UsageError(f"cannot read {script}: {(cause.strerror or str(cause)).lower()}") from cause
    except ValueError as cause:
        raise UsageError(f"{script} is {cause}") from cause


def parameter_texts(values: Mapping[str, object] | None) -> dict[str, str]:
    """As the command line would have them."""
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in (values or {}).items()
    }
