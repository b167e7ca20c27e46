"""A program as text, for another btpy that compiles it again: a client that joins a session, a node of several hosts.

It is JSON: the scripts with the texts of their libraries, and the permissions of the user. Nothing is unpickled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from btpy.lang.check.checker import check_source
from btpy.lang.link.libraries import Libraries, packaged_directory
from btpy.lang.program import Program
from btpy.model.carried import carried
from btpy.model.permissions import Permissions
from btpy.model.secrets import NO_SECRETS, Secrets
from btpy.model.source import Source


def scripts_to_json(program: Program) -> list[dict[str, Any]]:
    """The scripts of a program, the oldest first. The changes of flags (--sample, --max-methods) are not in them."""
    return [_script(script) for script in program.scripts]


def _script(program: Program) -> dict[str, Any]:
    """The last script of a program, and the probes of earlier scripts that were removed before that script."""
    source, inputs = program.source, program.given
    return {
        "name": source.name,
        "text": source.text,
        "path": None if source.path is None else str(source.path.absolute()),
        "libraries": [[str(library.path), library.text] for library in program.libraries],
        "directories": [str(directory.absolute()) for directory in inputs.directories],
        "packaged": str(packaged_directory()),
        "arguments": dict(inputs.arguments),
        "allow": sorted(program.permissions.allow),
        "redact": program.permissions.redact,
        "frameworks": list(program.permissions.frameworks),
        "secret_names": program.permissions.secrets.names,
        "secret_texts": program.permissions.secrets.texts,
        "carried": [carried.text for carried in program.permissions.carried],
        "removed": sorted(program.earlier.removed) if program.earlier is not None else [],
    }


def program_from_json(scripts: Iterable[Mapping[str, Any]], hidden: Secrets = NO_SECRETS) -> Program:
    """The program from :func:`scripts_to_json`. ``hidden``: more secrets to hide, unless the program shows all secrets.

    Raises ScriptError, UsageError.
    """
    program: Program | None = None
    for script in scripts:
        earlier = None if program is None else program.without(script["removed"])
        path = None if script["path"] is None else Path(script["path"])
        libraries = Libraries(
            tuple(Path(text) for text in script["directories"]),
            Path(script["packaged"]),
            texts={Path(name): text for name, text in script["libraries"]},
        )
        secrets = Secrets(tuple(script["secret_names"]), tuple(script["secret_texts"]))
        permissions = Permissions(
            frozenset(script["allow"]),
            script["redact"],
            tuple(script["frameworks"]),
            secrets.with_(hidden) if script["redact"] else secrets,
            carried(script["carried"]),
        )
        source = Source(script["name"], script["text"], path=path)
        program = check_source(source, libraries, script["arguments"], permissions, earlier=earlier)
    assert program is not None
    return program
