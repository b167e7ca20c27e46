"""``btpy --hosts`` through the real ssh, to machines with an sshd each."""

from __future__ import annotations

import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from btpy.output.quantities import counted
from tests.cli.test_several import SCRIPT, told
from tests.live.scripts import waited
from tests.live.traffic import called
from tests.nodes import Node, Nodes, nodes
from tests.targets import PATIENCE, Target
from tests.tracer import Tracer

ALL = ("-e", SCRIPT, "--hits", "0", "-f", "ndjson")


@contextmanager
def on_nodes(machines: Nodes, hosts: str, *arguments: str) -> Iterator[Tracer]:
    tracer = Tracer(["--hosts", hosts, "--ssh", machines.ssh, *arguments])
    try:
        yield tracer
    finally:
        tracer.kill()


def left_alone(*machines: Node, connected: bool = True) -> None:
    """No process of btpy, probe or connection is left. After the network was cut, sshd keeps connections for
    minutes."""
    for node in machines:
        waited(lambda node=node: not node.of_btpy and not node.sessions, f"btpy is left on {node.name}")  # type: ignore[misc]
        if connected:
            waited(lambda node=node: not node.connections, f"sshd is left on {node.name}")  # type: ignore[misc]


def told_of(tracer: Tracer, host: str) -> str:
    """The messages about a host on standard error."""
    return "\n".join(line for line in tracer.stderr if line.startswith((f"{host}  ", f"{host} ")))


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Nodes, dict[str, Target]]]:
    with nodes(tmp_path_factory.mktemp("nodes"), "web1", "web2", "db") as machines, ExitStack() as stack:
        yield machines, {name: stack.enter_context(machines[name].jvm("orders")) for name in ("web1", "web2")}


def test_hosts_are_reached_through_ssh_and_a_wrong_key_is_reported(three: tuple[Nodes, dict[str, Target]]) -> None:
    machines, jvms = three
    machines.refuse_key("db")
    with on_nodes(machines, "web[1-2],db", "orders", *ALL) as tracer:
        told(tracer, "tracing 2 JVMs on 2 hosts")
        called(jvms["web1"], 211)
        called(jvms["web2"], 101)
        assert tracer.stop() == 0, tracer.stderr
    counts = Counter(record["host"] for record in tracer.of("printf"))
    assert counts == {"web1": 211, "web2": 101}
    assert tracer.maps()["n"] == 312
    assert any(line.startswith("db  ") and "Permission denied (publickey)" in line for line in tracer.stderr)
    assert tracer.stderr[-1] == "1 of 3 hosts failed: db: could not be reached (status 255 of ssh)"
    left_alone(*machines.by_name.values())


def test_a_client_that_is_killed_leaves_no_process_and_no_probe(three: tuple[Nodes, dict[str, Target]]) -> None:
    machines, _ = three
    with on_nodes(machines, "web[1-2]", "orders", *ALL) as tracer:
        told(tracer, "tracing 2 JVMs on 2 hosts")
        assert [machines[name].sessions for name in ("web1", "web2")] == [1, 1]
        tracer.stop(signal.SIGKILL)
    left_alone(*machines.by_name.values())


def test_a_host_without_btpy_gets_it_by_push(three: tuple[Nodes, dict[str, Target]]) -> None:
    """btpy runs in the host's own Python, without the packages of the client's Python."""
    machines, jvms = three
    machines["web1"].program("btpy", "#!/bin/sh\nexit 127\n")
    _pushed(machines, {"web1": jvms["web1"]}, "MB of btpy sent")


@pytest.mark.proof
@pytest.mark.parametrize("version", ["3.6.15", "3.10.13"])
def test_a_host_with_an_old_python_says_so(version: str, tmp_path: Path) -> None:
    python = Path.home() / ".pyenv" / "versions" / version / "bin" / "python3"
    if not python.exists():
        pytest.skip(f"there is no {python}")
    with nodes(tmp_path, "web1") as machines:
        machines["web1"].program("btpy", "#!/bin/sh\nexit 127\n")
        command = f"env PATH=/usr/sbin {python}"
        with on_nodes(machines, "web1", "orders", "--push", "--remote-python", command, *ALL) as tracer:
            assert tracer.wait() == 3
    assert f"web1  btpy: this host has Python {version}, and btpy needs Python 3.11 or later" in tracer.stderr
    assert "1 of 1 host failed: web1: could not run the btpy that was sent" in tracer.stderr


@pytest.mark.proof
def test_btpy_is_sent_once_to_a_host_without_it_or_with_another_version(tmp_path: Path) -> None:
    with nodes(tmp_path, "web1", "web2") as machines, ExitStack() as stack:
        jvms = {name: stack.enter_context(machines[name].jvm("orders")) for name in ("web1", "web2")}
        for name, program in (("web1", "#!/bin/sh\nexit 127\n"), ("web2", _OLDER)):
            machines[name].program("btpy", program)
        for note in ("MB of btpy sent", "btpy was sent before"):
            _pushed(machines, jvms, note)


def _pushed(machines: Nodes, jvms: dict[str, Target], note: str) -> None:
    with on_nodes(machines, ",".join(jvms), "orders", "--push", "-v", *ALL) as tracer:
        told(tracer, f"tracing {counted(len(jvms), 'JVM')} on {counted(len(jvms), 'host')}")
        for jvm in jvms.values():
            called(jvm, 23)
        assert tracer.stop() == 0, tracer.stderr
    assert tracer.maps()["n"] == 23 * len(jvms)
    for name in jvms:
        assert note in told_of(tracer, name)
        assert "this host has btpy" not in told_of(tracer, name)
    left_alone(*machines.by_name.values())


@pytest.mark.proof
@pytest.mark.parametrize("push", [(), ("--push",)], ids=["installed", "push"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_end_at_any_moment_leaves_no_process_and_no_probe(
    number: signal.Signals, push: tuple[str, ...], three: tuple[Nodes, dict[str, Target]]
) -> None:
    """btpy ends at moments from the start of the client to some seconds after the probes are in."""
    machines, _ = three
    if push:
        machines["web1"].program("btpy", "#!/bin/sh\nexit 127\n")
    for tenths in range(2, 40, 2):
        if push:
            machines["web1"].run("sh", "-c", "rm -rf ~/.cache/btpy/pushed/*")
        with on_nodes(machines, "web[1-2]", "orders", *ALL, *push) as tracer:
            time.sleep(tenths / 10)
            tracer.stop(number)
        left_alone(*machines.by_name.values())


@pytest.mark.proof
@pytest.mark.timeout(1200)
def test_twenty_hosts_with_a_hundred_jvms(tmp_path: Path) -> None:
    """Counts are exact for the hosts that answered, and btpy names the other hosts. Some machines are switched off, one
    is cut from the network, on some btpy is stopped, one has another key, and one another version."""
    _fleet(tmp_path, jvms=5, good=10, killed=5, unplugged=1, stalled=2)


@pytest.mark.proof
@pytest.mark.timeout(600)
@pytest.mark.parametrize("limit", ["budget", "lost"])
def test_a_breach_of_one_host_leaves_nothing_anywhere_after_two_seconds(limit: str, tmp_path: Path) -> None:
    names = [f"web{at}" for at in range(1, 9)]
    script = "Traffic::serve @entry { @n[arg0 % 1009] = count(); @sizes = hist(arg0); }"
    arguments = ("--canary", "2", "--then", "75%", "--settle", "5s", "--budget", "2%", "--attach", "direct")
    with nodes(tmp_path, *names) as machines, ExitStack() as stack:
        jvms = {name: stack.enter_context(machines[name].jvm("orders")) for name in names}
        with on_nodes(machines, "web[1-8]", "orders", "-e", script, "-f", "ndjson", *arguments) as tracer:
            waited(lambda: "stage 2 of 3 are in" in "\n".join(tracer.stderr), "stage 2", PATIENCE * 3)
            assert sum(machines[name].sessions for name in names) == 6
            if limit == "budget":
                jvms["web5"].send("start 2")
            else:
                machines["web5"].kill()
                del jvms["web5"], machines.by_name["web5"]
            told(tracer, "stage 2 of 3 has not kept its bounds")
            began = time.monotonic()
            waited(lambda: not sum(node.sessions for node in machines.by_name.values()), "a session is left")
            seconds = time.monotonic() - began
            assert tracer.wait() == 7
        lines = [line for line in tracer.stderr if line.startswith("web5  error: stage 2 of 3: ")]
        print(f"{seconds:.2f} s", *lines, sep="\n")
        expected = "% of one core, 2 % are allowed: " if limit == "budget" else "the host was lost (status 255 of ssh)"
        assert any(expected in line for line in lines), tracer.stderr
        assert {record["host"] for record in tracer.of("attached_probes")} == set(names[:6])
        left_alone(*machines.by_name.values())
        assert seconds < 2


def _fleet(directory: Path, *, jvms: int, good: int, killed: int, unplugged: int, stalled: int) -> None:
    kinds = {"good": good, "killed": killed, "unplugged": unplugged, "stalled": stalled, "locked": 1, "older": 1}
    names = [f"{kind}{at}" for kind, count in kinds.items() for at in range(count)]
    hosts = [name for name in names if not name.startswith(("locked", "older"))]
    primes = iter(_primes())
    with nodes(directory, *names) as machines, ExitStack() as stack:
        machines.refuse_key("locked0")
        machines["older0"].program("btpy", _OLDER)
        targets = {name: [stack.enter_context(machines[name].jvm("orders")) for _ in range(jvms)] for name in names}
        arguments = ("--all", "orders", *ALL, "-i", "2s", "--fan-out", "2", "--attach", "direct")
        with on_nodes(machines, ",".join(names), *arguments) as tracer:
            waited(lambda: any("tracing " in line for line in list(tracer.stderr)), "all are traced", PATIENCE * 5)
            assert f"btpy: tracing {jvms * len(hosts)} JVMs on {len(hosts)} hosts. Ctrl-C to end." in tracer.stderr
            first = _call(targets, hosts, primes)
            waited(lambda: tracer.maps().get("n") == sum(first.values()), "all calls are counted")
            _break(machines, names)
            waited(
                lambda: all(_is_gone(tracer, name) for name in names if name.startswith("killed")), "told of the killed"
            )
            second = _call(targets, [name for name in hosts if name.startswith("good")], primes)
            status = tracer.stop()
        _check(tracer, first, second, jvms)
        assert status == 0, tracer.stderr
        for name in names:
            if name.startswith("stalled"):
                machines[name].signal(signal.SIGCONT, "-m btpy")
        alive = [name for name in names if not name.startswith("killed")]
        left_alone(*(machines[name] for name in alive if not name.startswith("unplugged")))
        left_alone(*(machines[name] for name in alive if name.startswith("unplugged")), connected=False)


def _call(jvms: dict[str, list[Target]], names: Sequence[str], primes: Iterator[int]) -> Counter[str]:
    """Lets each JVM of these machines make a prime number of calls. Returns the number of calls of each machine."""
    calls: Counter[str] = Counter()
    for name in names:
        for jvm in jvms[name]:
            number = next(primes)
            called(jvm, number)
            calls[name] += number
    return calls


def _break(machines: Nodes, names: Sequence[str]) -> None:
    for name in names:
        if name.startswith("killed"):
            machines[name].kill()
        elif name.startswith("unplugged"):
            machines[name].unplug()
        elif name.startswith("stalled"):
            assert machines[name].signal(signal.SIGSTOP, "-m btpy")


def _is_gone(tracer: Tracer, name: str) -> bool:
    return f"{name}  error: the host" in told_of(tracer, name)


def _check(tracer: Tracer, first: Counter[str], second: Counter[str], jvms: int) -> None:
    assert tracer.maps()["n"] == sum(first.values()) + sum(second.values())
    assert Counter(record["host"] for record in tracer.of("printf")) == first + second
    reasons = {(record["host"], record["reason"]) for record in tracer.of("end")}
    assert reasons == {(name, "interrupt" if name in second else "host-gone") for name in first}
    for name in second:
        summary = f"{name}  {counted(jvms, 'JVM')}, {counted(first[name] + second[name], 'event')}, 0 lost"
        assert f"{summary}, {jvms} of {counted(jvms, 'class')} put back" in tracer.stderr
    for name in first.keys() - second.keys():
        lines = told_of(tracer, name)
        assert "its maps were last read" in lines, lines
        assert f"{counted(first[name], 'event')}, 0 lost" in lines
        assert name.startswith("killed") or "did not end within 15 s" in lines
    assert "Permission denied (publickey)" in told_of(tracer, "locked0")
    assert "this host has btpy 0.0.7, and the client is btpy" in told_of(tracer, "older0")
    last_line = tracer.stderr[-1]
    assert last_line.startswith(f"{len(first) - len(second) + 2} of {len(first) + 2} hosts failed: "), last_line


def _primes() -> Iterator[int]:
    number = 2
    while True:
        if all(number % divisor for divisor in range(2, int(number**0.5) + 1)):
            yield number
        number += 1


_OLDER = f"""#!{sys.executable}
import sys
from btpy import distribution
from btpy.cli.main import main
distribution.version = lambda: "0.0.7"
sys.exit(main())
"""
