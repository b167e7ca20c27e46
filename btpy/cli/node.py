"""``btpy node``: the part of ``btpy --hosts`` on one of the hosts. ``ssh`` starts it, never a user. Standard input
brings a request, a line of JSON, and then a byte a second. Standard output takes a stream of recordings
(:mod:`btpy.recording.multiplex`), standard error the messages for people. The node takes its probes out and ends when
standard input asks for the end, is closed, or brings nothing for some time because the client was killed or cannot be
reached.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from btpy.cli.console import Console
from btpy.cli.options import Arguments, Command

if TYPE_CHECKING:
    from btpy.api.programs import Program
    from btpy.api.recordings import StreamWriter

COMMAND = Command(
    name="node",
    usage=("node",),
    summary="trace for btpy --hosts, which starts it through ssh",
    about=(
        "The part of btpy --hosts on one of the hosts: it takes a request and a script from standard input, and sends\n"
        "recordings to standard output. It ends when the client ends, and takes its probes out."
    ),
    options=(),
    positionals=(0, 0),
    examples=(
        ("--hosts web[1-3] OrderApp slow.bt", "starts it on three hosts"),
        ("--hosts web1 --remote-btpy /opt/btpy/bin/btpy OrderApp slow.bt", "the same, where btpy is not on the PATH"),
    ),
)

SILENT_SECONDS = 20.0
"""Seconds without a byte from the client after which the node ends."""

_ENDING_SECONDS = 30.0  # after these seconds the process ends at once; the agent takes the probes out by itself
_MAX_REQUEST = 16 << 20


def run(arguments: Arguments, console: Console) -> int:
    from btpy.api.recordings import StreamWriter
    from btpy.cli import multi_target, run_script
    from btpy.cli.destination import Channel, Destination
    from btpy.cli.options import parse
    from btpy.cli.settings import present, settings_of

    stream = StreamWriter(os.dup(1))
    os.dup2(2, 1)  # nothing else may write into the stream
    request = _request()
    run_arguments = parse(run_script.COMMAND, request["arguments"])
    destination = Destination(silent=True, channel=Channel(request["host"], stream))
    settings = settings_of(run_arguments, run_arguments.positionals[1:])._replace(destination=destination)
    present(run_arguments, console)
    stream.begin()
    for work in (_watch, partial(_say_alive, stream)):
        threading.Thread(target=work, name="btpy-node", daemon=True).start()
    program = _program(request)
    return multi_target.run(lambda: program, run_arguments, settings, console)


def _request() -> dict[str, Any]:
    """Raises UsageError."""
    import json

    from btpy.api.hosts import STATUS_OTHER_VERSION
    from btpy.distribution import version
    from btpy.errors import UsageError

    data = b""
    while not data.endswith(b"\n"):
        piece = os.read(0, 1 << 16)
        data += piece
        if not piece or len(data) > _MAX_REQUEST:
            raise UsageError("no request came on standard input", help=["btpy --hosts HOST,… NAME FILE.bt starts this"])
        head, line_end, _ = data.partition(b"\n")  # a byte that only says that the client is alive may follow
        data = head + line_end if line_end else data
    request: dict[str, Any] = json.loads(data)
    if request["btpy"] != version():
        error = UsageError(
            f"this host has btpy {version()}, and the client is btpy {request['btpy']}",
            help=["install the same version on the host and the client", "or let the client send its own: --push"],
        )
        error.exit_status = STATUS_OTHER_VERSION
        raise error
    return request


def _program(request: dict[str, Any]) -> Program:
    """Secrets that the user has configured on this host are hidden, too. Raises ScriptError, UsageError."""
    from btpy.api.programs import program_from_json
    from btpy.model.secrets_file import configured

    return program_from_json(request["scripts"], configured(os.environ))


def _watch() -> None:
    """Waits until the client is gone or asks for the end."""
    from btpy.api.hosts import STOP

    while select.select([0], [], [], SILENT_SECONDS)[0]:
        data = os.read(0, 1 << 12)
        if not data or STOP[:1] in data:
            break
    _end()


def _say_alive(stream: StreamWriter) -> None:
    from btpy.api.recordings import ALIVE_SECONDS

    try:
        while True:
            time.sleep(ALIVE_SECONDS)
            stream.report_alive()
    except OSError:  # the stream has no reader any more
        _end()


_ending = threading.Lock()


def _end() -> None:
    """Ends the run as Ctrl-C does, once."""
    if not _ending.acquire(blocking=False):
        return
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_ENDING_SECONDS)
    os._exit(1)
