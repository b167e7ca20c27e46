"""A stand-in for kubectl: it lists pods, and runs the command for a pod on this machine. It records its arguments, one
call per line. In a request it replaces ``@HOST@`` by the name of the pod, as the stand-in for ssh does.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SCRIPT = """#!/usr/bin/env python3
import json, os, subprocess, sys
directory = os.environ["FAKE_KUBECTL"]
with open(directory + "/calls", "a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")
verb = next(word for word in sys.argv[1:] if word in ("get", "exec", "debug"))
if verb == "get":
    sys.stdout.write(open(directory + "/pods").read())
    sys.exit(int(os.environ.get("FAKE_KUBECTL_STATUS", "0")))
at = sys.argv.index("--")
pod, command = sys.argv[at - 1], sys.argv[at + 1:]
if pod.startswith("bare"):
    sys.exit("OCI runtime exec failed: executable file not found in $PATH")
edit = subprocess.Popen(["sed", "-u", "s/@HOST@/%s/" % pod], stdout=subprocess.PIPE)
os.dup2(edit.stdout.fileno(), 0)
os.execvp(command[0], command)
"""


@contextmanager
def fake_kubectl(directory: Path, *pods: str) -> Iterator[dict[str, str]]:
    """The environment in which ``kubectl`` is the stand-in. ``pods``: the lines of the list of pods that it prints."""
    program = directory / "kubectl"
    program.write_text(_SCRIPT)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (directory / "pods").write_text("".join(f"{pod}\n" for pod in pods))
    yield {"PATH": f"{directory}{os.pathsep}{os.environ['PATH']}", "FAKE_KUBECTL": str(directory)}


def calls(directory: Path) -> list[list[str]]:
    """The arguments of each call so far."""
    path = directory / "calls"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
