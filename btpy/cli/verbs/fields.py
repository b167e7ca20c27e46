"""``btpy fields``: the fields of the object before and after each call."""

from __future__ import annotations

from btpy.cli.console import Console
from btpy.cli.options import Arguments, Command
from btpy.cli.verbs import preset

COMMAND = Command(
    name="fields",
    usage=("fields PID|NAME 'Class::method' [--when EXPR] [-n 100] [-d 10s]",),
    summary="print the fields of `this` before and after each call",
    about=(
        "Prints the fields of the object whose method is called, at entry and at the end of the call. The\n"
        "command ends after 100 lines (-n). First the command shows its script."
    ),
    options=(preset.WHEN, preset.JSON, *preset.RUNNING),
    refused=preset.REFUSED,
    positionals=(2, 2),
    examples=(
        ("fields OrderApp Order::become -n 4", "the fields that a call changes in its object"),
        ("fields OrderApp 'Basket::add' --when 'id(self) % 10 == 0'", "the same for some of the objects"),
    ),
)


def run(arguments: Arguments, console: Console) -> int:
    point = preset.subject(arguments)
    condition = preset.when(arguments)
    call = "{thread_name}  {cls}.{method}@{id(self)}"
    script = f"""\
{point} @entry as before{condition} {{ print(f"{call}  before {{fields(self)}}"); }}
{point} @exit as after{condition} {{ print(f"{call}  after  {{fields(self)}}"); }}
"""
    return preset.run(COMMAND.name, script, arguments, console, prints_each=True)
