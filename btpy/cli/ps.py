"""``btpy ps``: the JVMs of this machine. Starts no JVM and asks none anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from btpy.cli.options import Arguments, Command, Option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from btpy.api.jvms import JvmProcess
    from btpy.cli.console import Console

COMMAND = Command(
    name="ps",
    usage=("ps [-a] [--json]",),
    summary="list the JVMs of this machine",
    about=(
        "Lists the JVMs of this machine: user, Java version, uptime, how many btpy sessions there are in it, what it\n"
        "runs, its container; and of each that cannot be traced why. Starts no JVM and disturbs none."
    ),
    options=(
        Option(("-a", "--all"), "also the helpers of btpy itself, and whole command lines"),
        Option(("--json",), "one JSON object a line"),
    ),
    positionals=(0, 0),
    examples=(
        ("ps", "what can be traced here"),
        ("ps --json | jq 'select(.attachable) | .pid'", "for programs"),
    ),
)

_LEAST_MAIN = 24  # columns of the last one, however narrow the terminal is


def run(arguments: Arguments, console: Console) -> int:
    from btpy.api.jvms import list_jvms
    from btpy.output.stream import Stream

    everything = arguments.switch("all")
    running = [process for process in list_jvms() if everything or not process.is_btpys_own]
    stream = Stream.stdout(ascii_only=not console.unicode)
    if arguments.switch("json"):
        import json

        for process in running:
            stream.write(json.dumps(_members(process, command=everything), ensure_ascii=False) + "\n")
    elif running:
        width = terminal_width(stream.descriptor)
        stream.write("".join(line + "\n" for line in table(running, width, commands=everything)))
    else:
        console.say("no JVM visible to this user")
    stream.flush()
    return 0


def _members(process: JvmProcess, *, command: bool) -> dict[str, Any]:
    obstacle = process.obstacle
    return ({"command": list(process.command)} if command else {}) | {
        "pid": process.pid,
        "user": process.user,
        "main": process.main,
        "name": process.name or None,
        "java_version": process.java_version or None,
        "vm_name": process.vm_name or None,
        "uptime_s": round(process.uptime, 3),
        "attachable": process.attachable,
        "obstacle": None if obstacle is None else str(obstacle),
        "code": None if obstacle is None else obstacle.code,
        "sessions": process.sessions,
        "container": process.in_container,
        "container_id": process.container or None,
    }


def terminal_width(descriptor: int) -> int | None:
    """Columns of the terminal; None: no terminal, nothing is cut."""
    import os

    try:
        return os.get_terminal_size(descriptor).columns or None
    except OSError:
        return None


def table(running: Sequence[JvmProcess], width: int | None, *, commands: bool = False) -> list[str]:
    """A line a JVM, without line ends. A line wider than ``width`` is cut at the beginning of the class name, whose end
    says most. The reason why a JVM cannot be traced stands below."""
    rows = [("PID", "USER", "JAVA", "UPTIME", "BTPY")]
    for process in running:
        sessions = str(process.sessions or "-")
        rows.append(
            (
                str(process.pid),
                _clean(process.user),
                _clean(process.java_version or "?"),
                _clock(process.uptime),
                sessions,
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [_columns(rows[0], widths) + "  MAIN"]
    head_width = sum(widths) + 2 * len(widths)
    for row, process in zip(rows[1:], running, strict=True):
        room = None if width is None else max(_LEAST_MAIN, width - head_width)
        notes = [] if process.obstacle is None else [f"not traceable: {_clean(str(process.obstacle))}"]
        if process.in_container:
            notes.insert(0, f"container {process.container}".rstrip())
        main = _clean(process.main + (f" [{process.name}]" if process.name else ""))
        whole = "  ".join([main, *(f"({note})" for note in notes)])
        head = _columns(row, widths) + "  "
        if room is None or len(whole) <= room:
            lines.append(head + whole)
        else:
            lines.append(head + _cut_in_front(main, room))
            lines += [" " * 4 + note for note in notes]
        if commands:
            lines.append(" " * 4 + _clean(" ".join(process.command)))
    return lines


def _columns(row: Sequence[str], widths: Sequence[int]) -> str:
    pid, user, java, uptime, sessions = (
        f"{cell:>{width}}" if right else f"{cell:<{width}}"
        for cell, width, right in zip(row, widths, (True, False, False, True, True), strict=True)
    )
    return f"{pid}  {user}  {java}  {uptime}  {sessions}"


def _cut_in_front(text: str, room: int) -> str:
    return text if len(text) <= room else "…" + text[len(text) - room + 1 :]


def _clean(text: str) -> str:
    """Names come from other processes: nothing of them may steer the terminal."""
    if text.isprintable():
        return text
    from btpy.output.values import visible

    return visible(text)


def _clock(uptime: float) -> str:
    minutes, second = divmod(int(uptime), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    return f"{days}d{hour:02d}:{minute:02d}:{second:02d}" if days else f"{hour:02d}:{minute:02d}:{second:02d}"
