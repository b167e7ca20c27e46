"""examples/kubernetes/daemonset.yaml, unchanged except for the name of the image and the budget."""

from __future__ import annotations

import contextlib
import http.client
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cluster.images import BTPY
from tests.cluster.nodes import SERVICE, Cluster
from tests.cluster.pods import NAMESPACE, Pod, pod
from tests.collector import collector
from tests.containers.test_image import KUBERNETES
from tests.live.scripts import waited
from tests.output.otlp.backend import Backend, attributes, backend
from tests.targets import Target

pytestmark = [pytest.mark.proof, pytest.mark.timeout(1200)]

PORT = 4318
"""The port at which the manifest expects the Collector of the node."""

SELECTED = {"app": "orders"}
"""The labels that the rule of the manifest names."""

READY = "the probes are in"
NOTES = "pods: their labels stay as they were"


@contextmanager
def daemonset(kubernetes: Cluster) -> Iterator[str]:
    """Applies the manifest; yields the name of its pod on the node, once the pod runs."""
    text = (KUBERNETES / "daemonset.yaml").read_text()
    assert text.count("image: btpy\n") == 1
    text = text.replace("image: btpy\n", f"image: {BTPY}\n")
    # With 1 % a busy machine makes the probes sample, and the counts are estimates.
    assert text.count('budget = "1%"') == 1
    text = text.replace('budget = "1%"', 'budget = "100%"')
    kubernetes.apply(text)
    try:
        kubernetes.kubectl("-n", "btpy", "rollout", "status", "daemonset/btpy", "--timeout=120s")
        (btpy,) = kubernetes.get("pods", "-n", "btpy", "-l", "app=btpy")["items"]
        yield btpy["metadata"]["name"]
    finally:
        kubernetes.kubectl("delete", "-f", "-", "--ignore-not-found", "--timeout=120s", text=text)


def log(kubernetes: Cluster) -> str:
    return kubernetes.kubectl("-n", "btpy", "logs", "-l", "app=btpy", "--tail=-1")


def request(kubernetes: Cluster, orders: Pod, requests: int) -> None:
    """Lets the web server in the pod answer this number of requests."""
    ready = kubernetes.kubectl("logs", "-n", NAMESPACE, orders.name).split()
    port = ready[ready.index("ready") + 1]
    command = ["kubectl", "port-forward", "-n", NAMESPACE, f"pod/{orders.name}", f":{port}"]
    forwarding = Target(command, {**os.environ, **kubernetes.environment})
    try:
        line = forwarding.wait_for("Forwarding from 127.0.0.1:")
        for number in range(requests):
            connection = http.client.HTTPConnection(line.split()[2], timeout=30)
            connection.request("GET", f"/orders/{number}")
            connection.getresponse().read()
            connection.close()
    finally:
        forwarding.stop()


def requests_of(receiver: Backend, pid: int) -> int:
    """The number of requests of a JVM in the last report about it."""
    for resource, metric in reversed(receiver.reports):
        if metric.name == "btpy.requests" and attributes(list(resource.attributes))["process.pid"] == pid:
            return sum(int(point.count) for point in metric.exponential_histogram.data_points)
    return 0


def warmed_up(kubernetes: Cluster, orders: Pod, receiver: Backend) -> None:
    """Sends requests until one is counted. The web server loads its classes with the first request, and on a busy
    machine that request may pass without a probe."""
    for _ in range(3):
        request(kubernetes, orders, 1)
        with contextlib.suppress(AssertionError):
            waited(lambda: requests_of(receiver, orders.pid) > 0, "a request", 30)
            return
    raise AssertionError(f"no request is counted: {log(kubernetes)}")


def test_standing_probes_follow_the_pods_that_a_rule_names(kubernetes: Cluster, tmp_path: Path) -> None:
    with (
        backend() as receiver,
        collector(tmp_path, PORT, f"http://127.0.0.1:{receiver.port}"),
        daemonset(kubernetes) as btpy,
    ):
        for count, requests in enumerate((211, 101), 1):  # first a pod, then a new pod of the same name
            with pod(kubernetes, "orders-7f9c", "Served", labels=SELECTED) as orders:
                pid = orders.pid
                waited(lambda count=count: log(kubernetes).count(READY) == count, "the probes", 60)  # type: ignore[misc]
                warmed_up(kubernetes, orders, receiver)
                request(kubernetes, orders, requests)
                total = requests + 1
                waited(lambda pid=pid, total=total: requests_of(receiver, pid) == total, f"{total} requests", 60)  # type: ignore[misc]
        with pod(kubernetes, "orders-a1b2", "Served", labels=SELECTED) as orders:
            waited(lambda: log(kubernetes).count(READY) == 3, log(kubernetes), 60)
            names = kubernetes.kubectl("-n", "btpy", "exec", btpy, "--", "btpy", "ps")
            (line,) = [line for line in names.splitlines() if "prod/orders-a1b2" in line]
            assert "registry.acme.com/shop:17" in line
            assert looked_at(kubernetes, btpy, orders, 307) == ["@n  307"]
            kubernetes.kubectl("-n", "btpy", "delete", "daemonset", "btpy", "--timeout=120s")
            orders.assert_left_alone()
            request(kubernetes, orders, 2)


def looked_at(kubernetes: Cluster, btpy: str, orders: Pod, requests: int) -> list[str]:
    """The output of ``btpy pod/NAME`` in the pod of the DaemonSet, while the web server answers this number of
    requests."""
    words = ["-n", "btpy", "exec", btpy, "--", "btpy", f"pod/{orders.name}", "-e", "Served::work { @n = count() }"]
    command = ["kubectl", *words, "--for", "20s", "--budget", "off"]
    looking = Target(command, {**os.environ, **kubernetes.environment})
    try:
        waited(lambda: any("1 probe" in line for line in looking.stderr), f"{looking.stderr}", 60)
        request(kubernetes, orders, requests)
        assert looking.wait(60) == 0, looking.stderr
        return looking.stdout
    finally:
        looking.stop()


def counted(kubernetes: Cluster, orders: Pod, receiver: Backend, requests: int) -> None:
    """Checks that the backend counts exactly this number of further requests."""
    total = requests_of(receiver, orders.pid) + requests
    request(kubernetes, orders, requests)
    with contextlib.suppress(AssertionError):
        waited(lambda: requests_of(receiver, orders.pid) == total, "the requests", 60)
    assert requests_of(receiver, orders.pid) == total, log(kubernetes)


def logged(kubernetes: Cluster, text: str, times: int = 1) -> None:
    waited(lambda: log(kubernetes).count(text) == times, f"{times} times {text!r}", 90)


def test_standing_probes_follow_the_labels_of_pods(kubernetes: Cluster, tmp_path: Path) -> None:
    with (
        backend() as receiver,
        collector(tmp_path, PORT, f"http://127.0.0.1:{receiver.port}"),
        pod(kubernetes, "shop-1", "Served", labels=SELECTED) as one,
        pod(kubernetes, "shop-2", "Served", labels={"app": "stock"}) as other,
        daemonset(kubernetes),
    ):
        logged(kubernetes, f"in Served ({one.pid}): {READY}")
        warmed_up(kubernetes, one, receiver)
        kubernetes.kubectl("label", "-n", NAMESPACE, "pod/shop-2", "app=orders", "--overwrite")
        logged(kubernetes, f"in Served ({other.pid}): {READY}")
        warmed_up(kubernetes, other, receiver)
        counted(kubernetes, one, receiver, 101)
        counted(kubernetes, other, receiver, 211)
        kubernetes.kubectl("label", "-n", NAMESPACE, "pod/shop-1", "app-")
        logged(kubernetes, f"in Served ({one.pid}): the probes were taken out")
        one.assert_left_alone()
        request(kubernetes, one, 2)
        counted(kubernetes, other, receiver, 53)


def test_probes_stay_while_the_api_server_is_away(kubernetes: Cluster, tmp_path: Path) -> None:
    """First nothing reaches the port of the API server, then the account has no rights, then everything works again."""
    with (
        backend() as receiver,
        collector(tmp_path, PORT, f"http://127.0.0.1:{receiver.port}"),
        pod(kubernetes, "shop-1", "Served", labels=SELECTED) as one,
        daemonset(kubernetes),
    ):
        logged(kubernetes, READY)
        warmed_up(kubernetes, one, receiver)
        with no_way_to_the_api_server():
            time.sleep(15)
        logged(kubernetes, f"{NOTES}: the API server does not answer")
        logged(kubernetes, "pods: the API server answers again")
        counted(kubernetes, one, receiver, 307)
        binding = kubernetes.get("clusterrolebinding", "btpy")
        kubernetes.kubectl("delete", "clusterrolebinding", "btpy")
        logged(kubernetes, f"{NOTES}: the API server refuses to list pods: the service account must not list pods")
        kubernetes.kubectl("label", "-n", NAMESPACE, "pod/shop-1", "app-")
        counted(kubernetes, one, receiver, 103)
        binding["metadata"] = {"name": "btpy"}
        kubernetes.apply(binding)
        logged(kubernetes, f"in Served ({one.pid}): the probes were taken out")
        one.assert_left_alone()


@contextmanager
def no_way_to_the_api_server() -> Iterator[None]:
    rule = ["OUTPUT", "-p", "tcp", "-d", SERVICE, "--dport", "443", "-j", "REJECT", "--reject-with", "tcp-reset"]
    subprocess.run(["iptables", "-I", *rule], check=True)
    try:
        yield
    finally:
        subprocess.run(["iptables", "-D", *rule], check=True)


CHECK = """
import os, subprocess
os.mkdir("/tmp/probes.d", 0o755)
for name, text in (("slow.bt", "A::b @return { @n = count() }"), ("slow.toml", RULE)):
    with open(f"/tmp/probes.d/{name}", "w") as file:
        file.write(text)
subprocess.run(["btpy", "daemon", "/tmp/probes.d", "--check"], check=True)
"""


def test_annotations_and_a_check_of_the_directory(kubernetes: Cluster) -> None:
    with (
        pod(kubernetes, "shop-1", "Served", labels={"app": "shop"}) as one,
        pod(kubernetes, "shop-2", "Served", labels={"app": "shop"}),
        daemonset(kubernetes) as btpy,
    ):
        kubernetes.kubectl("annotate", "-n", NAMESPACE, "pod/shop-1", "acme.com/probes=slow")
        rule = 'pods = "app in (shop),tier!=test"\nannotations = "acme.com/probes=slow"\n'
        program = f"RULE = {rule!r}\n{CHECK}"
        output = kubernetes.kubectl("-n", "btpy", "exec", btpy, "--", "python3", "-c", program)
        assert output == f"slow: 1 probe; Served ({one.pid})\n"


def test_least_rights(kubernetes: Cluster) -> None:
    """The account of the manifest may list pods, and nothing else."""
    questions = ("list pods", "get pods", "watch pods", "create pods/exec", "list secrets", "list nodes")
    with daemonset(kubernetes):
        answers = {question: may(kubernetes, question) for question in questions}
    assert [question for question, answer in answers.items() if answer != "no"] == ["list pods"]
    assert answers["list pods"] == "yes"


def may(kubernetes: Cluster, question: str) -> str:
    command = ["kubectl", "auth", "can-i", *question.split(), "-A", "--as=system:serviceaccount:btpy:btpy"]
    result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **kubernetes.environment})
    return result.stdout.strip()
