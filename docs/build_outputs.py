"""Runs each library on its test program, and puts what it prints into the header of the library: python
docs/build_outputs.py [NAME …]
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # this script runs as a file, and imports from tests/

from tests.jdks import compiled  # noqa: E402
from tests.kafka import kafka  # noqa: E402
from tests.probes.stacks import jars  # noqa: E402
from tests.probes.test_libraries import classes  # noqa: E402
from tests.redis import redis  # noqa: E402
from tests.targets import Target, target  # noqa: E402

PROBES = ROOT / "probes"
_MOST_LINES = 18
_WIDTH = 79


@dataclass(frozen=True)
class Workload:
    """The test program of a library, with its arguments, and the options of btpy. In ``arguments``, ``{files}`` is an
    empty directory, and ``{port}`` the port of ``server``. ``request``: the line that makes the program begin its work,
    and ``answer`` the beginning of the line that says that it has done its work. ``from_the_start``: the first lines of
    the output are shown, not the last ones. ``ends``: the program ends by itself after the next line.
    """

    program: str
    options: tuple[str, ...] = ()
    stacks: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    server: str = ""
    request: str = ""
    answer: str = "done"
    from_the_start: bool = False
    ends: bool = False
    jdk: int = 21


COMPUTING = Workload("Computing", arguments=("{files}/mapped",))

WORKLOADS = {
    "allocations": Workload("Allocating"),
    "buffers": COMPUTING,
    "caches": Workload("Caching", stacks=("caffeine3",)),
    "classload": Workload("DefiningClasses"),
    "crypto": COMPUTING,
    "dns": Workload("Naming", flags=("-Djdk.net.hosts.file={files}/hosts",)),
    "exceptions": Workload("Failing", ("--of", "*Failing*")),
    "exec": COMPUTING,
    "executors": Workload("Executing", ("--top", "3"), arguments=("7",)),
    "exit": Workload("Leaving", ("--frames", "3"), ends=True),
    "file_io": Workload("Reading", ("--path", "{files}/*"), arguments=("{files}",)),
    "futures": Workload("Awaiting"),
    "gc_calls": Workload("Failing", ("--frames", "2")),
    "grpc": Workload("RpcCalls", ("--slow", "105ms"), stacks=("grpc76",)),
    "hibernate": Workload("Persisting", stacks=("h2", "hibernate7")),
    "http_client": Workload("Calling", ("--slow", "250ms"), stacks=("okhttp5", "hc55")),
    "http_server": Workload("HttpServing", ("--slow", "50ms")),
    "jackson": Workload("Jackson3", stacks=("jackson3",), beside=("Mapping",)),
    "jdbc": Workload("Transactions", ("--slow", "10ms", "--top", "3"), stacks=("h2",)),
    "kafka": Workload("Messages", ("--slow", "20ms"), stacks=("kafka4",), arguments=("{port}",), server="kafka"),
    "locks": Workload("Waiting", ("--monitors", "Waiting")),
    "logging": Workload("Logging", ("--slow", "250ms", "--top", "3"), stacks=("logback15", "log4j225")),
    "park": Workload("Awaiting"),
    "pools": Workload("Pooling", ("--slow", "100ms", "--leak", "700ms"), stacks=("h2", "hikari7", "tjdbc11")),
    "profile": Workload("Sampled", request="2000", answer="used", from_the_start=True),
    "redis": Workload("RedisCalls", stacks=("jedis7", "lettuce7"), arguments=("{port}",), server="redis"),
    "reflection": COMPUTING,
    "regex": COMPUTING,
    "serialization": COMPUTING,
    "sockets": Workload("Talking"),
    "spring_mvc": Workload("SpringMvc", stacks=("springtx7", "webmvc7", "tomcat11"), jdk=25),
    "spring_tx": Workload("SpringTransactions", stacks=("springtx7",), jdk=25),
    "spring_webflux": Workload("SpringWebFlux", stacks=("webflux7",), jdk=25),
    "threads": Workload("Starting", ("--allow", "core"), arguments=("19",)),
    "time": COMPUTING,
    "tls": Workload("Handshaking"),
    "uncaught": Workload("Dying", arguments=("virtual",)),
    "virtual_threads": Workload("Pinning"),
}


@contextmanager
def started(workload: Workload, files: Path) -> Iterator[Target]:
    with ExitStack() as stack:
        port = 0
        if workload.server == "kafka":
            port = stack.enter_context(kafka(jars("kafka-broker")))
        elif workload.server == "redis":
            port = stack.enter_context(redis()).port
        (files / "hosts").write_text("127.0.0.2 prices.test\n127.0.0.3 stock.test\n")
        path = _class_path(workload)
        arguments, flags = (
            [text.format(files=files, port=port) for text in texts] for texts in (workload.arguments, workload.flags)
        )
        yield stack.enter_context(target(workload.jdk, workload.program, *arguments, classpath=path, flags=flags))


def _class_path(workload: Workload) -> list[Path]:
    source = ROOT / "tests" / "java" / f"{workload.program}.java"
    if source.exists():
        return [compiled([source], release=8)]
    return classes(workload.program, *jars(*workload.stacks), beside=workload.beside)


def output(name: str) -> list[str]:
    """The command, and a screen of what btpy prints. Durations and sizes differ from run to run."""
    workload = WORKLOADS[name]
    with tempfile.TemporaryDirectory(prefix="files-") as directory, started(workload, Path(directory)) as program:
        options = [option.format(files=directory) for option in workload.options]
        command = [sys.executable, "-m", "btpy", str(program.pid), name, *options, "--budget", "off"]
        btpy = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "NO_COLOR": "1", "COLUMNS": str(_WIDTH)},
        )
        assert btpy.stderr is not None
        messages = iter(btpy.stderr.readline, "")
        if not any(_IN.match(message) for message in messages):
            raise SystemExit(f"btpy {name} did not begin")
        program.send(workload.request)
        program.wait_for(workload.answer)
        if workload.ends:
            program.send()
        else:
            btpy.send_signal(signal.SIGINT)
        printed, _ = btpy.communicate()
        lines = [_cut(line) for line in printed.splitlines()]
        part = lines[:_MOST_LINES] if workload.from_the_start else lines[-_MOST_LINES:]
        return [_cut(f"$ btpy 4711 {shlex.join([name, *options])}"), *part]


def _cut(line: str) -> str:
    return line.rstrip() if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…"


def with_output(header: str, lines: list[str]) -> str:
    """The script with these lines in the place of the output in its first comment."""
    indented = "".join(f"//     {line}".rstrip() + "\n" for line in lines)
    return _OUTPUT.sub(lambda _: indented, header, count=1)


_IN = re.compile(r"btpy: \d+ probes? ")
_OUTPUT = re.compile(r"^//     \$ .*\n(?://.+\n)*", re.MULTILINE)


def main(names: list[str]) -> None:
    for name in names or WORKLOADS:
        path = PROBES / f"{name}.bt"
        path.write_text(with_output(path.read_text(encoding="utf-8"), output(name)), encoding="utf-8")
        sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
