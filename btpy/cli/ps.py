"""``btpy ps``: the JVMs of this machine. It starts no JVM, and sends requests to none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from btpy.api.jvms import Container
from btpy.cli.console import Console
from btpy.cli.options import Arguments, Command, Option
from btpy.cli.printing import print_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from btpy.api.jvms import JvmProcess

COMMAND = Command(
    name="ps",
    usage=("ps [-a] [--json]",),
    summary="list the JVMs of this machine",
    about=(
        "Lists the JVMs of this machine: user, Java version, uptime, the number of btpy sessions in the JVM, and what\n"
        "it runs; its container, pod and image, if there are any; and the reason if it cannot be traced. container/ID\n"
        "and pod/NAME name such a JVM in other commands. Starts no JVM and disturbs none."
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

_MOST_PLACE = 32  # the largest width of a pod or an image on a terminal
_LEAST_MAIN = 24  # minimum width of the last cell on a narrow terminal


def run(arguments: Arguments, console: Console) -> int:
    from btpy.api.jvms import list_jvms

    everything = arguments.switch("all")
    processes = [process for process in list_jvms() if everything or not process.is_btpys_own]
    lines: list[str] = []
    if arguments.switch("json"):
        import json

        lines = [json.dumps(_members(process, command=everything), ensure_ascii=False) for process in processes]
    elif processes:
        lines = table(processes, terminal_width(1), commands=everything)
    else:
        console.say("no JVM visible to this user")
    print_lines(lines, ascii_only=not console.unicode)
    return 0


def _members(process: JvmProcess, *, command: bool) -> dict[str, Any]:
    obstacle = process.obstacle
    container = process.container or Container()
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
        "sessions": process.session_count,
        "container": process.in_container,
        "container_id": container.id or None,
        "container_name": container.name or None,
        "runtime": container.runtime or None,
        "pod": container.pod or None,
        "pod_uid": container.pod_uid or None,
        "namespace": container.namespace or None,
        "image": container.image or None,
    }


def terminal_width(descriptor: int) -> int | None:
    """Columns of the terminal; None: there is no terminal, so lines are not cut."""
    import os

    try:
        return os.get_terminal_size(descriptor).columns or None
    except OSError:
        return None


def table(processes: Sequence[JvmProcess], width: int | None, *, commands: bool = False) -> list[str]:
    """One line for each JVM, without line ends. A line wider than ``width`` is cut at the beginning of the class name,
    whose end is most informative. The next line has the reason if a JVM cannot be traced."""
    places = [process.container for process in processes]
    columns = [
        _column("PID", [str(process.pid) for process in processes], is_right=True),
        _column("USER", [_clean(process.user) for process in processes]),
        _column("JAVA", [_clean(process.java_version or "?") for process in processes]),
        _column("UPTIME", [_clock(process.uptime) for process in processes], is_right=True),
        _column("BTPY", [str(process.session_count or "-") for process in processes], is_right=True),
        *_place_columns(places, None if width is None else _MOST_PLACE),
    ]
    title, *heads = ("".join(f"{cell}  " for cell in row) for row in zip(*columns, strict=True))
    room = None if width is None else max(_LEAST_MAIN, width - len(title))
    lines = [f"{title}MAIN"]
    for process, place, head in zip(processes, places, heads, strict=True):
        notes = [] if process.obstacle is None else [f"not traceable: {_clean(str(process.obstacle))}"]
        if process.in_container and place is None:
            notes.insert(0, "a mount namespace of its own")
        main = _clean(process.main + (f" [{process.name}]" if process.name else ""))
        whole = "  ".join([main, *(f"({note})" for note in notes)])
        if room is None or len(whole) <= room:
            lines.append(head + whole)
        else:
            lines.append(head + _cut_in_front(main, room))
            lines += [" " * 4 + note for note in notes]
        if commands:
            lines.append(" " * 4 + _clean(" ".join(process.command)))
    return lines


def _place_columns(places: Sequence[Container | None], most: int | None) -> Iterator[list[str]]:
    """The columns about containers in which some JVM has a value. ``most``: the largest width of a cell."""
    containers = [place or Container() for place in places]
    for title, cells in (
        ("CONTAINER", [place.short_id or place.name for place in containers]),
        ("POD", [place.shown_pod for place in containers]),
        ("IMAGE", [place.image for place in containers]),
    ):
        if any(cells):
            texts = [_clean(cell) or "-" for cell in cells]
            yield _column(title, texts if most is None else [_cut_in_front(cell, most) for cell in texts])


def _column(title: str, cells: Sequence[str], *, is_right: bool = False) -> list[str]:
    """The title and the cells of all JVMs, in one width."""
    width = max(map(len, [title, *cells]))
    return [f"{cell:>{width}}" if is_right else f"{cell:<{width}}" for cell in (title, *cells)]


def _cut_in_front(text: str, room: int) -> str:
    return text if len(text) <= room else "…" + text[len(text) - room + 1 :]


def _clean(text: str) -> str:
    """Names come from other processes, so control characters are removed."""
    if text.isprintable():
        return text
    from btpy.output.values import visible

    return visible(text)


def _clock(uptime: float) -> str:
    minutes, second = divmod(int(uptime), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    return f"{days}d{hour:02d}:{minute:02d}:{second:02d}" if days else f"{hour:02d}:{minute:02d}:{second:02d}"
