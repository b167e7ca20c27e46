"""Pods of a JVM, which a test steers through ``kubectl attach``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from btpy.jvm.processes import describe
from tests.cluster.images import SHOP
from tests.cluster.nodes import Cluster
from tests.live.scripts import waited
from tests.targets import Target

NAMESPACE = "prod"
PATIENCE = 120.0


class Pod:
    """A running pod; ``program``: the standard input and output of its JVM."""

    def __init__(self, cluster: Cluster, name: str, program: Target) -> None:
        self.name = name
        self.program = program
        self._cluster = cluster

    def call(self, calls: int) -> None:
        """Lets the program Traffic call its methods this number of times."""
        self.program.send(f"call {calls}")
        assert self.program.wait_for("called") == f"called {calls}"

    @property
    def pid(self) -> int:
        """The pid of the pod's JVM on the node."""
        waited(lambda: self.row() is not None, f"the JVM of {self.name}")
        row = self.row()
        assert row is not None
        pid = row["pid"]
        assert isinstance(pid, int)
        return pid

    def row(self) -> dict[str, Any] | None:
        """The line of the pod in ``btpy ps`` on the node; None if there is none."""
        rows = [row for row in ps() if (row["namespace"], row["pod"]) == (NAMESPACE, self.name)]
        assert len(rows) <= 1
        return rows[0] if rows else None

    def assert_left_alone(self, sessions: int = 0) -> None:
        """Checks that the pod's JVM has this number of sessions, and that no process of btpy runs in the pod."""
        pid = self.pid
        waited(lambda: describe(pid).session_count == sessions, f"a session is left in {self.name}")
        waited(lambda: not self.processes_of_btpy(), f"left in {self.name}: {self.processes_of_btpy()}")

    def processes_of_btpy(self) -> list[str]:
        """The command lines of btpy in all containers of the pod."""
        uid = self._cluster.get("pod", self.name, "-n", NAMESPACE)["metadata"]["uid"]
        return [command for command in _commands_of_pod(uid) if "btpy" in command and "/opt/java" not in command]


def ps() -> list[dict[str, Any]]:
    """The JVMs that btpy sees on the node."""
    command = [sys.executable, "-m", "btpy", "ps", "--json"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in result.stdout.splitlines()]


def _commands_of_pod(uid: str) -> Iterator[str]:
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cgroup") as groups, open(f"/proc/{pid}/cmdline") as command:
                if f"pod{uid}" in groups.read():
                    yield command.read().replace("\0", " ")
        except OSError:
            continue  # it has ended


def manifest(name: str, image: str, words: Sequence[str], labels: dict[str, str] | None = None) -> dict[str, Any]:
    """A pod whose container is called ``orders``. ``words``: the options of Java and the class."""
    container = {
        "name": "orders",
        "image": image,
        "imagePullPolicy": "Never",
        "command": ["/opt/java/bin/java", "-Xmx64m", "-XX:+UseSerialGC", "-cp", "/opt/shop", *words],
        "stdin": True,
        "securityContext": {"runAsUser": 1000, "runAsGroup": 1000, "readOnlyRootFilesystem": image == SHOP},
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
    }
    spec = {
        "containers": [container],
        "volumes": [{"name": "tmp", "emptyDir": {}}],
        "terminationGracePeriodSeconds": 1,
        "enableServiceLinks": False,
        "automountServiceAccountToken": False,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels or {}},
        "spec": spec,
    }


@contextmanager
def pod(
    cluster: Cluster, name: str, *words: str, image: str = SHOP, labels: dict[str, str] | None = None
) -> Iterator[Pod]:
    """A running pod. ``words``: the options of Java and the class."""
    cluster.apply(manifest(name, image, words, labels))
    try:
        cluster.kubectl("wait", "-n", NAMESPACE, f"pod/{name}", "--for=condition=Ready", f"--timeout={PATIENCE}s")
        waited(lambda: "ready" in cluster.kubectl("logs", "-n", NAMESPACE, name), f"{name} that is ready")
        with attached(cluster, name) as program:
            yield Pod(cluster, name, program)
    finally:
        cluster.kubectl("delete", "pod", "-n", NAMESPACE, name, "--now", "--ignore-not-found", "--timeout=60s")


@contextmanager
def attached(cluster: Cluster, name: str) -> Iterator[Target]:
    command = ["kubectl", "attach", "-i", "-q", "-n", NAMESPACE, name, "-c", "orders"]
    program = Target(command, {**os.environ, **cluster.environment})
    try:
        yield program
    finally:
        program.stop()
