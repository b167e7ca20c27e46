"""``kubectl btpy``: the plugin of kubectl, which is ``btpy --pods`` with the options in the order of kubectl."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence

from btpy.api.hosts import MOST_HOSTS
from btpy.cli.main import main as btpy
from btpy.cli.options import Command, Option, parse
from btpy.cli.reach import POD_OPTIONS
from btpy.errors import UsageError

_REACHING = (
    Option(("--context",), "the context of kubectl", "NAME"),
    Option(("--cluster",), "the cluster", "NAME"),
    Option(("--user",), "the user", "NAME"),
    Option(("--kubeconfig",), "the configuration of kubectl", "FILE"),
)
COMMAND = Command(
    name="",
    usage=("[POD…] [options] -- NAME FILE.bt [options of btpy]",),
    summary="",
    about="Traces the JVM NAME in each of these pods, as btpy --pods does.",
    options=(*POD_OPTIONS, *_REACHING),
    positionals=(0, MOST_HOSTS),
    takes_command=True,
    examples=(
        ("-l app=shop -n prod -- OrderApp slow.bt --push", "the pods of an application, with this btpy"),
        ("shop-1 -- OrderApp -e 'Cart::add @entry { @n = count() }'", "one pod"),
    ),
)


def arguments_of(arguments: Sequence[str]) -> list[str]:
    """Converts the arguments of the plugin into arguments of btpy. Empty if the user wants help. Raises UsageError."""
    parsed = parse(COMMAND, arguments)
    if parsed.wants_help:
        return []
    if not parsed.command:
        raise UsageError("NAME and FILE.bt come after --:  kubectl btpy -l app=shop -n prod -- NAME FILE.bt")
    words: dict[tuple[Option, ...], list[str]] = {POD_OPTIONS: [], _REACHING: []}
    for options, values in words.items():
        for option in options:
            if option.metavar:
                values += [f"{option.names[-1]}={text}" for text in parsed.texts(option.key)]
            elif parsed.switch(option.key):
                values.append(option.names[-1])
    pods = shlex.join([*words[POD_OPTIONS], *parsed.positionals])
    return ["--pods", pods, "--kubectl", shlex.join(["kubectl", *words[_REACHING]]), *parsed.command]


def main() -> int:
    try:
        arguments = arguments_of(sys.argv[1:])
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_status
    if arguments:
        return btpy(arguments)
    print(re.sub(r"^(usage: |  )btpy ", r"\1kubectl btpy ", COMMAND.help(), flags=re.MULTILINE), end="")
    return 0
