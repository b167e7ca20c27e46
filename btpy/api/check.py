"""Checks scripts without a JVM."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from btpy.api.scripts import parameter_texts, source_of
from btpy.errors import ScriptError
from btpy.lang.check.checker import check_source
from btpy.lang.link.libraries import Libraries
from btpy.model.diagnostics import Diagnostic
from btpy.model.permissions import Permissions


def check(
    script: str | Path,
    *,
    name: str = "",
    parameters: Mapping[str, object] | None = None,
    allow: Iterable[str] = (),
    libraries: Sequence[str | Path] = (),
) -> list[Diagnostic]:
    """Errors and warnings of a script (a text, or the file of a Path), found without a JVM. Empty for a script without
    errors and warnings. Raises UsageError for a file that cannot be read and for parameters that do not fit.
    """
    search = Libraries.of(os.environ, [Path(library) for library in libraries])
    source = source_of(script, name or "<script>")
    try:
        return list(check_source(source, search, parameter_texts(parameters), Permissions(frozenset(allow))).warnings)
    except ScriptError as error:
        return list(error.diagnostics)
