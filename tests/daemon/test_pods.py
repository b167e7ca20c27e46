"""Rules that name labels and annotations of pods: probes follow them, and stay while the API server is away."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from btpy.api import unattended
from btpy.api.jvms import Container, JvmProcess
from btpy.daemon import api_server, pods, supervisor
from btpy.daemon.placement import Ending, Outcome, Terms
from btpy.daemon.pods import Pods
from btpy.daemon.probes import read
from btpy.daemon.supervisor import Supervisor
from btpy.errors import UsageError
from tests.daemon.api_server import FakeApiServer, fake_api_server
from tests.live.scripts import waited

UIDS = [f"0b7d3c1e-5a0f-4f39-9a53-1f6f0a6c{number}" for number in (4711, 4721)]


class Process:
    """The properties of a JVM that rules use; ``uid``: the uid of its pod."""

    is_btpys_own, attachable, short_main = False, True, "Shop"

    def __init__(self, pid: int, uid: str = "") -> None:
        self.pid = self.start_ticks = pid
        self.container = Container("4711" * 16, "containerd", pod_uid=uid) if uid else None

    def is_named(self, name: str) -> bool:
        return name == "Shop"


class Placed:
    """Replaces a placement: its probes are in at once, and out as soon as the daemon asks for it."""

    running: list[Placed]

    def __init__(self, process: JvmProcess, probe: Any, *members: object, was_in: bool) -> None:
        self.pid = process.pid
        self.title = f"{probe.name} in {process.pid}"
        self.is_in = True
        self.error = self.outcome = None
        self.running.append(self)

    def start(self) -> None:
        pass

    def ask(self, ending: Ending) -> None:
        self.outcome = Outcome.ENDED  # type: ignore[assignment]
        if self in self.running:
            self.running.remove(self)


class Node:
    def __init__(self, directory: Path, fake: FakeApiServer) -> None:
        self.directory = directory
        self.fake = fake
        self.processes = [Process(101, UIDS[0]), Process(103, UIDS[1]), Process(107)]
        self.messages: list[str] = []
        terms = Terms(cast(Any, None), threading.Lock(), 1.0, 60.0, self.messages.append)
        self._supervisor = Supervisor(directory, terms, cast(Any, lambda: self.processes))

    def rule(self, text: str) -> None:
        (self.directory / "slow.toml").write_text(text)

    def traced(self) -> set[int]:
        """The JVMs with probes after a turn of the daemon."""
        self._supervisor.turn()
        return {one.pid for one in Placed.running}


@pytest.fixture
def cleared_pids(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The JVMs in which the daemon has looked for sessions of an earlier daemon."""
    pids: list[int] = []

    def listed(process: JvmProcess) -> tuple[()]:
        pids.append(process.pid)
        return ()

    monkeypatch.setattr(unattended, "listed", listed)
    return pids


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cleared_pids: list[int]) -> Iterator[Node]:
    monkeypatch.setattr(Placed, "running", [], raising=False)
    monkeypatch.setattr(supervisor, "Placement", Placed)
    monkeypatch.setattr(pods, "_SHORTEST_WAIT", 0.0)
    monkeypatch.setattr(pods, "_FIRST_RETRY", 0.0)
    directory = tmp_path / "probes.d"
    directory.mkdir(mode=0o755)
    (directory / "slow.bt").write_text("A::b @return { @n = count() }")
    with fake_api_server(tmp_path) as fake:
        monkeypatch.setattr(api_server, "ACCOUNT", fake.account)
        for name, value in fake.environ.items():
            monkeypatch.setenv(name, value)
        fake.add(UIDS[0], labels={"app": "shop", "tier": "web"}, annotations={"acme.com/probes": "slow"})
        fake.add(UIDS[1], namespace="test", labels={"app": "shop", "tier": "test"})
        yield Node(directory, fake)


@pytest.mark.parametrize(
    ("rule", "traced"),
    [
        ('pods = "app=shop"', {101, 103}),
        ('pods = "app=shop,tier!=test"', {101}),
        ('pods = "!stage"', {101, 103}),  # a JVM outside of pods has no labels to select
        ('pods = "app=shop"\nnamespaces = ["test"]', {103}),
        ('namespaces = ["prod", "test"]', {101, 103}),
        ('annotations = "acme.com/probes=slow"', {101}),
        ('annotations = "!acme.com/probes"', {103}),
        ('pods = "tier in (test)"\nannotations = "acme.com/probes"', set()),
        ('pods = "acme.com/probes"', set()),
        ('annotations = "app"', set()),
        ('jvms = ["Shop"]\npods = "tier=web"', {101}),
        ('jvms = ["Stock"]\npods = "tier=web"', set()),
        ('jvms = ["Shop"]', {101, 103, 107}),
    ],
)
def test_the_jvms_of_a_rule(node: Node, rule: str, traced: set[int]) -> None:
    node.rule(rule)
    assert node.traced() == traced
    assert bool(node.fake.versions) is ("jvms" not in rule or "pods" in rule)  # asks only if a rule needs pods


def test_a_static_pod_is_found_by_the_labels_of_its_mirror(node: Node) -> None:
    static_uid = "74b2f0e6a1c94d53b8e07c1d6f3a9e25"  # a hash, and the mirror has another uid
    node.processes.append(Process(113, static_uid))
    node.rule('pods = "app=stock"\nnamespaces = ["kube-system"]')
    mirror = node.fake.add(
        "0b7d3c1e-5a0f-4f39-9a53-1f6f0a6c4733",
        namespace="kube-system",
        labels={"app": "stock"},
        annotations={"kubernetes.io/config.mirror": static_uid},
    )
    assert node.traced() == {113}
    mirror["labels"] = {}
    assert node.traced() == set()


def test_changes_of_labels_are_followed(node: Node) -> None:
    node.rule('pods = "app=shop,tier!=test"')
    assert node.traced() == {101}
    node.fake.pods[0]["labels"]["tier"] = "test"
    del node.fake.pods[1]["labels"]["tier"]
    assert node.traced() == {103}
    node.fake.pods[0]["labels"]["tier"] = "web"
    assert node.traced() == {101, 103}
    del node.fake.pods[1]
    assert node.traced() == {101}
    assert node.fake.versions == ["0", "4711", "4711", "4711"]  # never older than before


def test_a_rule_that_has_expired_asks_for_nothing(node: Node) -> None:
    for key in ('pods = "app=shop"', 'jvms = ["Shop"]'):
        node.rule(f"{key}\nexpires = 2026-01-31T00:00:00Z")
        assert node.traced() == set()
    assert node.fake.versions == []


def test_the_pod_of_a_process_that_has_ended_is_forgotten(node: Node) -> None:
    node.rule('pods = "tier=web"')
    assert node.traced() == {101}
    node.processes.clear()
    assert node.traced() == set()
    node.processes.append(Process(101, UIDS[1]))
    assert node.traced() == set()


def test_probes_stay_while_the_api_server_is_away(node: Node) -> None:
    node.rule('pods = "app=shop"')
    assert node.traced() == {101, 103}
    node.fake.status = 503
    node.processes.append(Process(109, UIDS[0]))  # a new JVM of a known pod
    assert node.traced() == {101, 103, 109}
    node.fake.body = b"[]"
    node.fake.status = 200
    assert node.traced() == {101, 103, 109}
    node.fake.body = None
    node.fake.pods[0]["labels"] = {}
    assert node.traced() == {103}
    assert node.traced() == {103}
    assert [message for message in node.messages if message.startswith("pods: ")] == [
        "pods: their labels stay as they were: the API server refuses to list pods: status 503",
        "pods: their labels stay as they were: the answer of the API server is no list of up to 5000 pods",
        "pods: the API server answers again",
    ]


def test_sessions_of_an_earlier_daemon_stay_until_the_api_server_answers(node: Node, cleared_pids: list[int]) -> None:
    node.rule('pods = "app=shop"')
    node.fake.status = 503
    assert node.traced() == set()
    waited(lambda: cleared_pids == [107], str(cleared_pids))  # clearing needs no labels of pods
    node.fake.status = 200
    assert node.traced() == {101, 103}
    waited(lambda: sorted(cleared_pids) == [101, 103, 107], str(cleared_pids))


def test_a_request_that_hangs_does_not_hold_up_the_daemon(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pods, "_PATIENCE", 0.05)
    node.rule('pods = "app=shop"')
    assert node.traced() == {101, 103}
    released = threading.Event()
    answer = node.fake.answer
    requests: list[str] = []

    def late(path: str, headers: object) -> tuple[int, bytes]:
        requests.append(path)
        released.wait(10)
        return answer(path, headers)

    monkeypatch.setattr(node.fake, "answer", late)
    node.fake.pods[0]["labels"] = {}
    start = time.monotonic()
    for _ in range(3):
        assert node.traced() == {101, 103}
    assert time.monotonic() - start < 5
    assert len(requests) == 1  # no second one while the first one waits
    released.set()
    waited(lambda: node.traced() == {103}, "the late answer")


def test_requests_are_rare_while_the_server_is_away(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(pods, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(pods, "_FIRST_RETRY", 5.0)
    followed = Pods(node.messages.append)
    times = []
    for second in range(200):
        now = float(second)
        node.fake.status = 200 if second == 135 else 503
        count = len(node.fake.versions)
        followed.refresh()
        if len(node.fake.versions) > count:
            times.append(second)
    assert times == [0, 5, 15, 35, 75, 135, 136, 141, 151, 171]
    assert len(node.messages) == 3  # away, back, away


def test_requests_are_two_seconds_apart_while_the_server_answers(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(pods, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(pods, "_SHORTEST_WAIT", 2.0)
    followed = Pods(node.messages.append)
    for tick in range(13):
        now = tick / 2
        followed.refresh()
    assert len(node.fake.versions) == 4


def test_the_pod_of_a_process_is_read_once_and_forgotten_at_its_end(node: Node) -> None:
    followed = Pods(node.messages.append)
    process = Process(101, UIDS[0])

    def uid() -> str:
        return followed.uid_of(cast(Any, process))

    assert uid() == UIDS[0]
    process.container = Process(103, UIDS[1]).container
    followed.forget({(101, 101)})
    assert uid() == UIDS[0]
    followed.forget(set())
    assert uid() == UIDS[1]
    process.start_ticks = 107  # another process has the same pid
    process.container = None
    assert uid() == ""


def test_outside_of_a_cluster_the_error_says_what_to_do(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    node.rule('pods = "app=shop"')
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST")
    with pytest.raises(UsageError, match=r"slow\.toml: .* btpy does not run in a pod") as caught:
        read(node.directory / "slow.toml")
    assert "daemonset.yaml" in caught.value.help[0]
    assert node.traced() == set()
    assert "btpy does not run in a pod" in node.messages[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('pods = ["app=shop"]', "pods must be a text"),
        ('pods = ""', "is no selector"),
        ('annotations = "a b"', "annotations: 'a b' is no selector"),
        ("namespaces = 7", "namespaces must be a list of texts"),
        ("namespaces = []", "does not say which pods"),
        ('pods = "app"\njvms = []', "does not say which JVMs"),
    ],
)
def test_a_faulty_rule_is_refused(node: Node, text: str, message: str) -> None:
    node.rule(text)
    with pytest.raises(UsageError) as caught:
        read(node.directory / "slow.toml")
    assert message in str(caught.value)
