"""``btpy ps``: the JVMs of this machine. Starts no JVM and asks none anything."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from btpy.cli.options import Arguments, Command, Option

if TYPE_CHECKING:
    from btpy.cli.console import Console
    from btpy.jvm.processes import JvmProcess

COMMAND = Command(
    name="ps",
    usage=("ps [--json]",),
    summary="list the JVMs of this machine",
    about="Lists the JVMs of this machine and says of each that cannot be traced why.",
    options=(Option(("--json",), "one JSON object a line"),),
    positionals=(0, 0),
)


def run(arguments: Arguments, console: Console) -> int:
    from btpy.jvm.processes import list_jvms
    from btpy.output.stream import Stream

    running = list_jvms()
    stream = Stream.stdout(ascii_only=not console.unicode)
    if arguments.switch("json"):
        for process in running:
            stream.write(json.dumps(_members(process), ensure_ascii=False) + "\n")
    elif running:
        stream.write("".join(line + "\n" for line in _table(running)))
    else:
        console.say("no JVM runs on this machine (of those that you may see)")
    stream.flush()
    return 0


def _members(process: JvmProcess) -> dict[str, Any]:
    return {
        "pid": process.pid,
        "user": process.user,
        "main": process.main,
        "name": process.name or None,
        "java_version": process.java_version or None,
        "vm_name": process.vm_name or None,
        "uptime_s": round(process.uptime, 3),
        "attachable": process.attachable,
        "obstacle": None if process.obstacle is None else str(process.obstacle),
        "container": process.in_container,
    }


def _table(running: list[JvmProcess]) -> list[str]:
    from btpy.output.values import visible

    rows = [("PID", "USER", "JAVA", "UPTIME", "MAIN")]
    for process in running:
        name = f" [{process.name}]" if process.name else ""
        note = f"  ({process.obstacle})" if process.obstacle is not None else ""
        container = "  (in a container)" if process.in_container else ""
        rows.append(
            (
                str(process.pid),
                visible(process.user),
                visible(process.java_version or "?"),
                _clock(process.uptime),
                visible(f"{process.main}{name}{container}{note}"),
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return [
        f"{row[0]:>{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]:<{widths[2]}}  {row[3]:>{widths[3]}}  {row[4]}"
        for row in rows
    ]


def _clock(uptime: float) -> str:
    minutes, second = divmod(int(uptime), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    return f"{days}d{hour:02d}:{minute:02d}:{second:02d}" if days else f"{hour:02d}:{minute:02d}:{second:02d}"
