"""``btpy sessions PID``: the sessions of btpy in a JVM, also the unattended sessions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from btpy.cli.console import Console
from btpy.cli.options import Arguments, Command, Option
from btpy.cli.printing import print_lines

if TYPE_CHECKING:
    from btpy.api.unattended import Listed

COMMAND = Command(
    name="sessions",
    usage=("sessions PID|NAME [--json]",),
    summary="list the sessions in a JVM",
    about=(
        "Lists the sessions of btpy in a JVM. A session with a client ends with its client. A session that was left\n"
        "with -x or --keep goes on until its time is over: btpy attach joins it, btpy stop ends it."
    ),
    options=(Option(("--json",), "one JSON object a line"),),
    positionals=(1, 1),
    examples=(
        ("sessions shop", "the sessions there, and their remaining time"),
        ("sessions 4711 --json | jq -r .id", "for programs"),
    ),
)


def run(arguments: Arguments, console: Console) -> int:
    from btpy.api.jvms import find

    process = find(arguments.positionals[0])
    sessions: Sequence[Listed] = ()
    if process.session_count:  # otherwise no request is needed, which is faster
        from btpy.api.unattended import listed

        sessions = listed(process)
    lines: list[str] = []
    if arguments.switch("json"):
        lines = [json.dumps(_members(session)) for session in sessions]
    elif sessions:
        lines = _table(sessions)
    else:
        console.say(f"{process.short_main} ({process.pid}) has no sessions")
    print_lines(lines, ascii_only=not console.unicode)
    return 0


def _members(session: Listed) -> dict[str, Any]:
    return {
        "id": session.id,
        "name": session.name or None,
        "probes": session.probes,
        "enabled": session.enabled,
        "classes": session.classes,
        "age_s": round(session.age, 3),
        "ttl_s": None if session.ttl is None else round(session.ttl, 3),
        "clients": session.clients,
        "waiting": session.waiting,
    }


def _table(sessions: Sequence[Listed]) -> list[str]:
    rows = [("ID", "NAME", "PROBES", "CLASSES", "AGE", "TTL LEFT", "CLIENT", "WAITING")]
    for session in sessions:
        probes = f"{session.enabled}/{session.probes}" if session.enabled != session.probes else str(session.probes)
        ttl = "-" if session.ttl is None else _time(session.ttl)
        client = "yes" if session.clients else "no"
        row = (probes, str(session.classes), _time(session.age), ttl, client, str(session.waiting))
        rows.append((session.id, session.name or "-", *row))
    widths = [max(len(row[column]) for row in rows) for column in range(8)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _time(seconds: float) -> str:
    from btpy.output.quantities import duration

    return duration(round(seconds * 1e9))
