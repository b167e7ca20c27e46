"""The process that speaks the JVM Attach API. :mod:`btpy.jvm.attach` starts it.

It is a separate process because starting a JVM holds Python's interpreter lock, and the client reads the script during
that time. Each line of its input and output is one JSON object::

    → {"pid": "4711", "jar": "/…/btpy-agent.jar", "options": "…"}
    ← {"error": null, "steps": [["attach", 71…, 71…]]}    or
    ← {"error": "AttachNotSupportedException", "message": "…", "status": 0}
    → {"temporary": "/tmp/btpy-…"}

The first output line reports that the JVM has started, or the reason why not. Steps are for the timeline of the run,
with the times at which they begin and end. The process ends when its standard input is closed, and then removes
remaining temporary files. A client that ends regularly removes these files itself, and then ends this process.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any, NoReturn, TextIO

from btpy.jvm import launch, procfs

# The options of the shortest start, as measured on JDK 17, 21 and 25 (0.12 s instead of 0.15 to 0.22 s): C1 only, the
# serial collector, no performance counters (which also keeps this JVM out of `btpy ps`), a small heap.
_FLAGS = ("-Xrs", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xmx64m", "-Xshare:auto")
_NATIVE_ACCESS = "--enable-native-access=ALL-UNNAMED"  # without it JDK 24+ warns on stderr about JPype's own library
_NATIVE_ACCESS_SINCE = 17


def serve(home: Path, requests: TextIO, answers: TextIO) -> None:
    """Answers requests until there are no more."""
    began = time.monotonic_ns()
    try:
        machine = _start(home)
    except Exception as error:  # JPype raises many kinds of errors of HotSpot's loader and of its own start-up
        _tell(answers, {"error": "JvmNotStarted", "message": str(error).partition("\n")[0]})
        return
    temporary: list[str] = []
    steps = [("start Python", procfs.started_ns(os.getpid()), began), ("start Java", began, time.monotonic_ns())]
    heard = _tell(answers, {"error": None, "steps": steps})
    for line in requests:
        request = json.loads(line)
        if "temporary" in request:
            temporary = [*filter(os.path.lexists, temporary), request["temporary"]]
        elif heard:
            heard = _tell(answers, _attach(machine, request["pid"], request["jar"], request["options"]))
    for path in temporary:
        shutil.rmtree(path, ignore_errors=True)


def _start(home: Path) -> Any:
    """The class VirtualMachine of a JVM in this process."""
    import jpype

    flags = [*_FLAGS]
    if (launch.feature_version(home) or 0) >= _NATIVE_ACCESS_SINCE:
        flags.append(_NATIVE_ACCESS)
    library = home / "lib" / "server" / "libjvm.so"
    jpype.startJVM(*flags, jvmpath=str(library), interrupt=False, convertStrings=False)
    return jpype.JClass("com.sun.tools.attach.VirtualMachine")


def _attach(machine: Any, pid: str, jar: str, options: str) -> dict[str, object]:
    import jpype

    try:
        began = time.monotonic_ns()
        target = machine.attach(pid)
        attach_time = time.monotonic_ns()
        try:
            target.loadAgent(jar, options)
            load_time = time.monotonic_ns()
        finally:
            with contextlib.suppress(jpype.JException):  # the target has ended; detach only closes this side
                target.detach()
    except jpype.JException as error:
        name = type(error).__name__.rpartition(".")[2]
        status = error.returnValue() if name == "AgentInitializationException" else 0
        return {"error": name, "message": str(error.getMessage() or name), "status": int(status)}
    return {"error": None, "steps": [("attach", began, attach_time), ("load the agent", attach_time, load_time)]}


def _tell(answers: TextIO, answer: dict[str, object]) -> bool:
    """Writes an answer. Returns False if the client has been killed."""
    try:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    except BrokenPipeError:
        return False
    return True


def main() -> NoReturn:
    """Runs the process. Its argument is the home of the Java runtime."""
    serve(Path(sys.argv[1]), sys.stdin, sys.stdout)
    os._exit(0)  # skips DestroyJavaVM and atexit, which have no work to do
