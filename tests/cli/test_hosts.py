"""``btpy --hosts``: one script on several hosts, through a stand-in for ssh that runs the command here."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from btpy.api.hosts import host_names
from btpy.errors import UsageError
from btpy.jvm import procfs
from btpy.jvm.processes import describe
from tests.cli.fake_ssh import REMOTE, fake_ssh, jvms_on, kept_jvms, pid_of
from tests.cli.test_several import SCRIPT, told
from tests.live.scripts import waited
from tests.live.test_otlp import QUICK
from tests.live.traffic import called, traffic
from tests.output.otlp.backend import Backend, attributes, backend
from tests.output.test_schema import check
from tests.ports import free_port
from tests.recording.runs import replay
from tests.targets import PATIENCE, Target
from tests.tracer import Tracer

ALL = ("-e", SCRIPT, "--hits", "0", "-f", "ndjson")


@pytest.fixture(autouse=True, scope="module")
def jvms_of_all_tests() -> Iterator[None]:
    with kept_jvms():
        yield


@contextmanager
def on_hosts(directory: Path, hosts: str, *arguments: str) -> Iterator[Tracer]:
    with fake_ssh(directory) as env:
        tracer = Tracer(["--hosts", hosts, "--remote-btpy", REMOTE, *arguments], env)
        try:
            yield tracer
        finally:
            tracer.kill()


def has_ended(pid: int) -> bool:
    """Whether the process has ended, even if no process has waited for it."""
    try:
        return procfs.status(pid)["State"].startswith("Z")
    except OSError:
        return True


def left_alone(*targets: Target) -> None:
    for target in targets:
        waited(lambda target=target: describe(target.pid).session_count == 0, "a session is left")  # type: ignore[misc]


def reasons(tracer: Tracer) -> dict[str, str]:
    return {record["host"]: record["reason"] for record in tracer.of("end")}


def test_records_have_host_and_pid_and_maps_are_merged(tmp_path: Path) -> None:
    with jvms_on("web1", "web2", "noisy") as (name, targets):
        with on_hosts(tmp_path, "web[1-2],noisy", name, *ALL) as tracer:
            told(tracer, "tracing 3 JVMs on 3 hosts")
            for host, calls in (("web1", 211), ("web2", 101), ("noisy", 53)):
                called(targets[host], calls)
            assert tracer.stop() == 0, tracer.stderr
        counts = Counter((record["host"], record["pid"]) for record in tracer.of("printf"))
        assert counts == {
            ("web1", targets["web1"].pid): 211,
            ("web2", targets["web2"].pid): 101,
            ("noisy", targets["noisy"].pid): 53,
        }
        ends = {
            record["host"]: (record["reason"], record["restored"], record["dropped"]) for record in tracer.of("end")
        }
        assert ends == dict.fromkeys(targets, ("interrupt", 1, 0))
        assert [record["data"] for record in tracer.of("map")] == [{"@n": 365}]
        (hist,) = tracer.of("hist")
        assert not {"host", "pid"} & hist.keys()
        assert hist["percentiles"]["@sizes"]["count"] == 365
        assert "web1  1 JVM, 211 events, 0 lost, 1 of 1 class put back" in tracer.stderr
        left_alone(*targets.values())
        for record in tracer.records:
            check(json.dumps(record))


def counts_by_host(receiver: Backend) -> dict[str, int]:
    """The last value of @n that was exported for each host."""
    return {
        str(attributes(list(resource.attributes))["host.name"]): metric.sum.data_points[0].as_int
        for resource, metric in receiver.reports
        if metric.name == "btpy.n"
    }


def test_what_hosts_find_is_exported_with_the_host_as_its_resource(tmp_path: Path) -> None:
    with backend() as receiver, jvms_on("web1", "web2") as (name, targets):
        port = free_port()
        exports = ("-o", receiver.url, "--prometheus", str(port))
        with fake_ssh(tmp_path) as env:
            tracer = Tracer(["--hosts", "web[1-2]", "--remote-btpy", REMOTE, name, *ALL, *exports], {**env, **QUICK})
            try:
                told(tracer, "tracing 2 JVMs on 2 hosts")
                for host, calls in (("web1", 211), ("web2", 101)):
                    called(targets[host], calls)
                waited(lambda: sum(counts_by_host(receiver).values()) == 312, "metrics while it runs")
                url = f"http://127.0.0.1:{port}/metrics"
                page = urllib.request.urlopen(url, timeout=PATIENCE).read().decode()
                assert sorted(re.findall(r'btpy_n_total\{host="(web.)",.*?\} (\d+)', page)) == [
                    ("web1", "211"),
                    ("web2", "101"),
                ]
                hits = r'btpy_probe_hits_total\{host="(web.)",outcome="fired".*?\} (\d+)'
                assert sum(int(count) for host, count in re.findall(hits, page) if host == "web1") == 211
                called(targets["web1"], 7)  # calls immediately before the end
                assert tracer.stop() == 0, tracer.stderr
            finally:
                tracer.kill()
        assert counts_by_host(receiver) == {"web1": 218, "web2": 101}
        logs = Counter(attributes(list(resource.attributes))["host.name"] for resource, _ in receiver.logs)
        assert logs == {"web1": 218, "web2": 101}
        left_alone(*targets.values())


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ("refuses", ["ssh: connect to host refuses port 22: Connection refused", "could not be reached (status 255"]),
        ("empty", ["btpy was not found on the host", "--remote-btpy /opt/btpy/bin/btpy", "send its own: --push"]),
        (
            "older",
            ["this host has btpy", "the client is btpy 0.0.7", "install the same version on the host and the client"],
        ),
        ("garbage", ["65536 bytes before the stream"]),
        ("hostile", ["a frame of 4294967295 bytes"]),
        ("other", ["error[BT511]: no JVM matches", "traced nothing"]),
    ],
)
def test_a_host_that_fails_is_named_and_the_others_go_on(host: str, words: list[str], tmp_path: Path) -> None:
    with jvms_on("web") as (name, targets):
        with on_hosts(tmp_path, f"{host},web", name, *ALL) as tracer:
            told(tracer, "tracing 1 JVM on 1 host")
            called(targets["web"], 211)
            assert tracer.stop() == 0, tracer.stderr
        lines = "\n".join(line for line in tracer.stderr if line.startswith(f"{host}  ") or "failed" in line)
        assert [word for word in words if word not in lines] == [], tracer.stderr
        assert tracer.stderr[-1].startswith(f"1 of 2 hosts failed: {host}: ")
        assert tracer.maps()["n"] == 211
        left_alone(*targets.values())


def test_what_a_host_with_another_script_sends_counts_nowhere(tmp_path: Path) -> None:
    with jvms_on("another", "web") as (name, targets):
        with on_hosts(tmp_path, "another,web", name, *ALL) as tracer:
            told(tracer, "another  error: the host runs another script")
            told(tracer, "tracing 1 JVM on 1 host")
            called(targets["another"], 101)
            called(targets["web"], 211)
            assert tracer.stop() == 0, tracer.stderr
        assert tracer.stderr[-1] == "1 of 2 hosts failed: another: the host runs another script"
        assert {record.get("host") for record in tracer.of("printf")} == {"web"}
        assert tracer.maps()["n"] == 211
        left_alone(*targets.values())


def test_a_host_without_python_cannot_be_sent_btpy(tmp_path: Path) -> None:
    with on_hosts(tmp_path, "empty", "x", "-e", SCRIPT, "--push") as tracer:
        assert tracer.wait() == 3
    assert "empty  error: neither this version of btpy nor python3 was found on the host" in tracer.stderr
    assert sum("not found" in line and "btpy-that-is-not-there" in line for line in tracer.stderr) == 1
    assert "1 of 1 host failed: empty: has no Python" in tracer.stderr


def test_where_every_host_fails_the_status_says_so(tmp_path: Path) -> None:
    with on_hosts(tmp_path, "refuses1,refuses2", "Nobody", "-e", SCRIPT) as tracer:
        assert tracer.wait() == 3
        assert tracer.stderr[-1] == "error: nothing was traced on any host"
    with on_hosts(tmp_path, "web1,web2", "no-such-jvm-anywhere", "-e", SCRIPT) as tracer:
        assert tracer.wait() == 3
        assert any(line.startswith("web1  error[BT511]: ") for line in tracer.stderr)


def test_a_host_that_vanishes_keeps_its_share(tmp_path: Path) -> None:
    with backend() as receiver, jvms_on("web1", "web2") as (name, targets):
        with on_hosts(tmp_path, "web[1-2]", name, *ALL, "-i", "100ms", "-o", receiver.url) as tracer:
            told(tracer, "tracing 2 JVMs on 2 hosts")
            called(targets["web1"], 211)
            called(targets["web2"], 101)
            waited(lambda: tracer.maps().get("n") == 312, "what had been counted")
            os.kill(pid_of(tmp_path, "web1"), signal.SIGKILL)
            told(tracer, "web1  error: the host was lost")
            called(targets["web2"], 7)
            assert tracer.stop() == 0, tracer.stderr
        assert reasons(tracer) == {"web1": "host-gone", "web2": "interrupt"}
        assert tracer.maps()["n"] == 319
        assert counts_by_host(receiver) == {"web1": 211, "web2": 108}
        assert any("its maps were last read" in line and line.startswith("web1  ") for line in tracer.stderr)
        left_alone(*targets.values())


def test_a_client_that_is_killed_leaves_no_process_and_no_probe(tmp_path: Path) -> None:
    with jvms_on("web1", "web2") as (name, targets):
        with on_hosts(tmp_path, "web[1-2]", name, *ALL) as tracer:
            told(tracer, "tracing 2 JVMs on 2 hosts")
            assert [describe(target.pid).session_count for target in targets.values()] == [1, 1]
            tracer.process.kill()
        for host in targets:
            waited(lambda host=host: has_ended(pid_of(tmp_path, host)), f"{host} runs")  # type: ignore[misc]
        left_alone(*targets.values())


def test_a_second_interrupt_ends_the_client_at_once_and_the_hosts_by_themselves(tmp_path: Path) -> None:
    with jvms_on("web") as (name, targets):
        with on_hosts(tmp_path, "web,silent", name, *ALL) as tracer:
            tracer.wait_for("attached_probes")
            os.kill(pid_of(tmp_path, "web"), signal.SIGSTOP)
            tracer.process.send_signal(signal.SIGINT)
            waited(lambda: has_ended(pid_of(tmp_path, "silent")), "the host is not left")
            assert tracer.stop() == 130
            assert any("takes the probes out by itself" in line for line in tracer.stderr)
        os.kill(pid_of(tmp_path, "web"), signal.SIGCONT)
        waited(lambda: has_ended(pid_of(tmp_path, "web")), "btpy runs there")
        left_alone(*targets.values())


@pytest.mark.parametrize("form", ["ndjson", "text"])
def test_a_reader_that_closes_the_output_ends_all_hosts(form: str, tmp_path: Path) -> None:
    with jvms_on("web1", "web2") as (name, targets), fake_ssh(tmp_path) as env:
        command = [sys.executable, "-m", "btpy", "--hosts", "web[1-2]", "--remote-btpy", REMOTE, name, *ALL[:4]]
        with subprocess.Popen(
            [*command, "-f", form], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **env}
        ) as client:
            assert client.stdout is not None
            assert client.stderr is not None
            while "tracing 2 JVMs" not in client.stderr.readline():
                pass
            client.stdout.close()
            called(targets["web1"], 3)
            assert client.wait(100) == 128 + signal.SIGPIPE
        left_alone(*targets.values())


def test_a_stop_condition_counts_over_hosts(tmp_path: Path) -> None:
    with jvms_on("web1", "web2") as (name, targets):
        with on_hosts(tmp_path, "web[1-2]", name, *ALL, "--until", "@n >= 30") as tracer:
            told(tracer, "tracing 2 JVMs on 2 hosts")
            called(targets["web1"], 11)
            called(targets["web2"], 23)
            assert tracer.wait() == 0
        assert reasons(tracer) == {"web1": "until", "web2": "until"}
        assert tracer.maps()["n"] == 34


def test_a_script_ends_its_own_run_with_its_status(tmp_path: Path) -> None:
    script = "Traffic::serve @entry { @n = count(); if arg0 == 4 { exit(67); } }"
    with jvms_on("web1", "web2") as (name, targets):
        with on_hosts(tmp_path, "web[1-2]", name, "-e", script, "-f", "ndjson") as tracer:
            told(tracer, "tracing 2 JVMs on 2 hosts")
            called(targets["web1"], 5)
            waited(lambda: bool(tracer.of("end")), "the end on one host")
            called(targets["web2"], 3)
            assert tracer.stop() == 67
        assert reasons(tracer) == {"web1": "exit", "web2": "interrupt"}
        assert tracer.maps()["n"] == 8


def test_a_name_that_begins_with_a_hyphen_is_no_option_on_the_host(tmp_path: Path) -> None:
    with on_hosts(tmp_path, "web", "-e", SCRIPT, "--budget", "5%", "--", "--unattended") as tracer:
        assert tracer.wait() == 3
    assert any("no JVM matches '--unattended'" in line for line in tracer.stderr), tracer.stderr


def test_jvms_that_all_end_are_no_success(tmp_path: Path) -> None:
    with jvms_on("web1", "web2") as (name, targets):
        with on_hosts(tmp_path, "web[1-2]", name, *ALL, "-i", "100ms") as tracer:
            told(tracer, "tracing 2 JVMs on 2 hosts")
            called(targets["web1"], 5)
            called(targets["web2"], 3)
            waited(lambda: tracer.maps().get("n") == 8, "what had been counted")
            for target in targets.values():
                target.process.kill()
            assert tracer.wait() == 5
        assert reasons(tracer) == {"web1": "target-exited", "web2": "target-exited"}
        assert tracer.maps()["n"] == 8


def test_every_jvm_of_a_name_is_traced_on_each_host(tmp_path: Path) -> None:
    with traffic(17, "-Dbtpy.name=many-web-1") as one, traffic(17, "-Dbtpy.name=many-web-2") as other:
        with on_hosts(tmp_path, "web", "--all", "many-@HOST@", *ALL) as tracer:
            told(tracer, "tracing")
            waited(lambda: len(tracer.of("attached_probes")) == 2, "both JVMs")
            called(one, 5)
            called(other, 7)
            assert tracer.stop() == 0, tracer.stderr
        assert Counter(record["pid"] for record in tracer.of("printf")) == {one.pid: 5, other.pid: 7}
        assert tracer.maps()["n"] == 12
        assert "web  2 JVMs, 12 events, 0 lost, 2 of 2 classes put back" in tracer.stderr


def test_a_library_and_its_parameters_travel_with_the_script(tmp_path: Path) -> None:
    libraries = tmp_path / "libraries"
    libraries.mkdir(mode=0o755)
    (libraries / "counting.bt").write_text("fn doubled(int x): int = 2 * x;\n")
    script = tmp_path / "script.bt"
    script.write_text(
        "import counting;\nparam above: int = 1000;\n"
        'Traffic::serve @entry when arg0 > above { emit("big", twice=counting.doubled(arg0)); }\n'
    )
    arguments = (str(script), "-I", str(libraries), "--above", "7", "-f", "ndjson")
    with jvms_on("web1", "web2") as (name, targets), on_hosts(tmp_path, "web[1-2]", name, *arguments) as tracer:
        told(tracer, "tracing 2 JVMs on 2 hosts")
        called(targets["web1"], 11)
        called(targets["web2"], 9)
        assert tracer.stop() == 0, tracer.stderr
        twice = sorted((record["host"], record["data"]["twice"]) for record in tracer.of("event"))
        assert twice == [("web1", 16), ("web1", 18), ("web1", 20), ("web2", 16)]


def test_recordings_of_hosts_replay_together(tmp_path: Path) -> None:
    script = 'Traffic::serve @entry { @n = count(); @last = arg0; emit("served", size=arg0); }'
    arguments = ("-e", script, "--hits", "0", "-o", str(tmp_path / "run.btz"))
    with jvms_on("web1", "web2") as (name, targets), on_hosts(tmp_path, "web[1-2]", name, *arguments) as tracer:
        told(tracer, "tracing 2 JVMs on 2 hosts")
        called(targets["web1"], 3)
        called(targets["web2"], 2)
        assert tracer.stop() == 0, tracer.stderr
    pids = {host: target.pid for host, target in targets.items()}
    files = [tmp_path / f"run-{host}-{pid}.btz" for host, pid in pids.items()]
    assert [file.stat().st_mode & 0o777 for file in files] == [0o600, 0o600]
    (first, second) = files
    table = replay(first, second, "-f", "csv", "--only", "served").stdout.decode()
    rows = [(row["host"], int(row["pid"]), row["size"]) for row in csv.DictReader(io.StringIO(table))]
    assert sorted(rows) == [
        (host, pids[host], size)
        for host, size in (("web1", "0"), ("web1", "1"), ("web1", "2"), ("web2", "0"), ("web2", "1"))
    ]
    lines = replay(first, second).stdout.decode().splitlines()
    assert f"web2 {pids['web2']}  @last  1" in lines
    assert "@n  5" in lines
    pairs = replay(first, second, "-f", "logfmt").stdout.decode().splitlines()
    assert sum(f"host=web1 pid={pids['web1']} event=served" in line for line in pairs) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--hosts", "web[1-", "x", "-e", SCRIPT], "error: --hosts 'web[1-'"),
        (["--hosts", "-oProxyCommand=x", "x", "-e", SCRIPT], "is not the name of a host"),
        (["--hosts", "a;b", "x", "-e", SCRIPT], "is not the name of a host"),
        (["--hosts", ",", "x", "-e", SCRIPT], "names no host"),
        (["--hosts", "web", "x", "-e", SCRIPT, "--unattended"], "--unattended does not work with --hosts"),
        (["--hosts", "web", "x", "-e", SCRIPT, "--dry-run"], "--plan does not work with --hosts"),
        (["--hosts", "web", "x", "-e", SCRIPT, "-f", "folded"], "folded"),
        (["--hosts", "web", "x", "-e", "Traffic::serve @entry { @n = coun(); }"], "error[BT"),
        (["--hosts", "web", "x"], "error: no program"),
        (["--remote-btpy", "x", "x", "-e", SCRIPT], "--remote-btpy needs --hosts"),
        (["--canary", "1", "x", "-e", SCRIPT], "--canary needs --hosts or --pods"),
        (["--pods", "shop", "x", "--hosts", "web", "-e", SCRIPT], "--hosts and --pods cannot be used together"),
        (["--pods", "shop", "x", "--ssh", "ssh", "-e", SCRIPT], "--ssh needs --hosts"),
        (["--hosts", "web", "x", "--kubectl", "oc", "-e", SCRIPT], "--kubectl needs --pods"),
        (["--pods", "shop", "x", "--unattended", "-e", SCRIPT], "--unattended does not work with --pods"),
        (["--hosts", "web", "x", "-e", SCRIPT, "--then", "all"], "--then needs --canary"),
        (["--hosts", "web", "x", "-e", SCRIPT, "--canary", "half"], "--canary takes a number of hosts"),
        (["--hosts", "web", "x", "-e", SCRIPT, "--canary", "1", "--budget", "off"], "--canary watches the budget"),
        (["--hosts", "web", "x", "-e", SCRIPT, "--ssh", "no-such-ssh -v"], "there is no 'no-such-ssh' on the PATH"),
        (["--hosts", "web", "x", "-e", SCRIPT, "--ssh", "'"], "--ssh"),
    ],
)
def test_what_cannot_be_done_on_hosts_is_refused_before_ssh(arguments: list[str], message: str, tmp_path: Path) -> None:
    with fake_ssh(tmp_path) as env:
        command = [sys.executable, "-m", "btpy", *arguments]
        result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **env})
    assert (result.returncode, result.stdout) == (2, "")
    assert message in result.stderr
    assert list(tmp_path.glob("*.pid")) == []


def test_without_ssh_the_remedy_is_named(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "btpy", "--hosts", "web", "x", "-e", SCRIPT]
    result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PATH": str(tmp_path)})
    assert result.returncode == 2
    assert "--hosts needs ssh" in result.stderr


def test_sets_of_hosts_have_the_syntax_of_clustershell() -> None:
    assert host_names("web[1-3,7],db-a") == ["db-a", "web1", "web2", "web3", "web7"]
    assert host_names("web[01-11]!web[02-10]") == ["web01", "web11"]
    assert host_names("b,a,b") == ["b", "a"]
    assert host_names("root@b") == ["root@b"]
    for option in ("-v", "web,-oProxyCommand", "-oProxyCommand=x", "a b;c", "$(x)"):
        with pytest.raises(UsageError):
            host_names(option)
    with pytest.raises(UsageError, match="50000 hosts"):
        host_names("web[1-50000]")


def test_names_with_commas_need_no_clustershell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ClusterShell.NodeSet", None)
    assert host_names("web1,web2") == ["web1", "web2"]
    with pytest.raises(UsageError, match="needs the package ClusterShell") as caught:
        host_names("web[1-2]")
    assert "pip install 'btpy-jvm-tracer[hosts]'" in caught.value.help


def test_a_node_without_a_client_says_what_it_is_for() -> None:
    command = [sys.executable, "-m", "btpy", "node"]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (2, "")
    assert "btpy --hosts HOST,… NAME FILE.bt starts this" in result.stderr


IMPATIENT = """
import sys
from btpy.cli import hosts
from btpy.cli.main import main
hosts._ENDING_SECONDS = 4
sys.exit(main())
"""


def test_a_host_that_does_not_end_is_left_and_ends_by_itself(tmp_path: Path) -> None:
    with jvms_on("web1", "web2") as (name, targets), fake_ssh(tmp_path) as env:
        command = [sys.executable, "-c", IMPATIENT, "--hosts", "web[1-2]", "--remote-btpy", REMOTE, name, *ALL]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **env}
        ) as client:
            assert client.stderr is not None
            while "tracing 2 JVMs" not in client.stderr.readline():
                pass
            os.kill(pid_of(tmp_path, "web1"), signal.SIGSTOP)
            client.send_signal(signal.SIGINT)
            _, stderr = client.communicate(timeout=100)
        assert client.returncode == 0, stderr
        assert "web1  warning: the host did not end within 4 s" in stderr
        assert "web2  1 JVM, 0 events, 0 lost, 1 of 1 class put back" in stderr
        os.kill(pid_of(tmp_path, "web1"), signal.SIGCONT)
        left_alone(*targets.values())


def failing(step: str) -> str:
    """A script whose handler fails when the program calls with this number."""
    return f"Traffic::serve @entry {{ @n = count(); if arg0 == {step} {{ @bad = sum(1 / (arg0 - {step})); }} }}"


STAGED = ("--canary", "1", "--then", "60%", "--settle", "1s", "--budget", "100%")


def test_stages_begin_one_after_the_other_and_then_all_is_as_usual(tmp_path: Path) -> None:
    hosts = ("web1", "web2", "web3")
    with jvms_on(*hosts) as (name, targets):
        with on_hosts(tmp_path, "web[1-3]", name, "-e", failing("7"), "-f", "ndjson", *STAGED) as tracer:
            told(tracer, "the probes of stage 1 of 3 are in; it must keep its bounds for 1s")
            assert {record["host"] for record in tracer.of("attached_probes")} == {"web1"}
            told(tracer, "stage 2 of 3 begins: 2 of 3 hosts")
            told(tracer, "all 3 hosts have kept the bounds")
            for at, host in enumerate(hosts):
                called(targets[host], (11, 5, 3)[at])  # fails on the first host: no breach after the last stage
            assert tracer.stop() == 0, tracer.stderr
        assert tracer.maps()["n"] == 19
        lines = [line for line in tracer.stderr if line.startswith("btpy: connecting")]
        assert lines == ["btpy: connecting to the first 1 of 3 hosts. Ctrl-C to end."]
        left_alone(*targets.values())


def test_a_breach_withdraws_the_probes_everywhere_and_says_where_and_by_how_much(tmp_path: Path) -> None:
    with jvms_on("web1", "web2", "web3") as (name, targets):
        arguments = ("-e", failing("7"), "-f", "ndjson", *STAGED[:-4], "--settle", "60s", "--budget", "100%")
        with on_hosts(tmp_path, "web[1-3]", name, "--max-errors", "1", *arguments) as tracer:
            told(tracer, "the probes of stage 1 of 3 are in")
            called(targets["web1"], 11)
            called(targets["web1"], 11)
            assert tracer.wait() == 7
        assert "web1  error: stage 1 of 3: 2 probe errors, 1 are allowed: 1 too many" in tracer.stderr
        assert "btpy: stage 1 of 3 has not kept its bounds: the probes come out of all hosts" in tracer.stderr
        assert tracer.stderr[-1] == "error: the probes were withdrawn from all hosts because of web1"
        assert reasons(tracer) == {"web1": "canary"}
        assert not (tmp_path / "web2.pid").exists()
        left_alone(*targets.values())


def test_a_stage_in_which_nothing_can_be_traced_is_the_last(tmp_path: Path) -> None:
    with on_hosts(tmp_path, "refuses,web", "x", "-e", SCRIPT, *STAGED) as tracer:
        assert tracer.wait() == 7
        assert "error: stage 1 of 2: none of 1 host is traced" in tracer.stderr
    assert not (tmp_path / "web.pid").exists()
