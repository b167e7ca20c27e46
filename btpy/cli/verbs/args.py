"""``btpy args``: each call with its arguments and its outcome."""

from __future__ import annotations

from btpy.cli.console import Console
from btpy.cli.options import Arguments, Command
from btpy.cli.verbs import preset

COMMAND = Command(
    name="args",
    usage=("args PID|NAME 'Class::method' [--when EXPR] [-n 100] [-d 10s]",),
    summary="print calls: arguments, result or exception, time",
    about=(
        "Prints each call of the methods that a pattern matches, at its end, with its arguments as they were at\n"
        "entry. The command ends after 100 calls (-n). First the command shows its script."
    ),
    options=(preset.WHEN, preset.JSON, *preset.RUNNING),
    refused=preset.REFUSED,
    positionals=(2, 2),
    examples=(
        ("args OrderApp PricingEngine::quote -n 5", "five calls"),
        ("args OrderApp OrderService::place --when 'duration > 100ms'", "the slow ones"),
        ("args OrderApp 'com.acme.**::*' --when 'exception != null'", "all calls that fail, with their arguments"),
    ),
)

_CALL = "{thread_name}  {cls}.{method}({args})"


def run(arguments: Arguments, console: Console) -> int:
    point = preset.subject(arguments)
    where = f"class={preset.quoted(point.owner)}, method={preset.quoted(point.method)}"
    condition = preset.when(arguments)
    script = f"""\
@OnMethod({where}, type="!void (..)", location=EXIT)
probe args{condition} {{
  if exception == null {{ print(f"{_CALL} = {{retval}}  {{duration}}"); }}
  else {{ print(f"{_CALL} threw {{typeof(exception)}}: {{message(exception)}}  {{duration}}"); }}
}}
@OnMethod({where}, type="void (..)", location=EXIT)
probe args_of_void{condition} {{
  if exception == null {{ print(f"{_CALL}  {{duration}}"); }}
  else {{ print(f"{_CALL} threw {{typeof(exception)}}: {{message(exception)}}  {{duration}}"); }}
}}
"""
    return preset.run(COMMAND.name, script, arguments, console, prints_each=True, missing="all")
