"""btpy from its image, in a debug container beside a JVM without Python: by ``kubectl debug`` and ``kubectl btpy``."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_several import told
from tests.cluster.images import BTPY
from tests.cluster.nodes import Cluster
from tests.cluster.pods import NAMESPACE, pod
from tests.targets import Target
from tests.tracer import Tracer

pytestmark = [pytest.mark.proof, pytest.mark.timeout(1200)]

NAMED = "-Dbtpy.name=OrderApp"
COUNT = "Traffic::serve @entry { @n = count() }"


def in_debug_container(kubernetes: Cluster, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["kubectl", "debug", "-n", NAMESPACE, "-i", "orders-7f9c", f"--image={BTPY}", "--target=orders"]
    command += ["--profile=general", "--quiet", "--", "btpy", *arguments]
    env = {**os.environ, **kubernetes.environment}
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=120)


def test_kubectl_debug_runs_the_image_beside_the_jvm(kubernetes: Cluster) -> None:
    with pod(kubernetes, "orders-7f9c", NAMED, "Traffic"):
        output = in_debug_container(kubernetes, "ps")
        assert "Traffic" in output.stdout


def traced_with(kubernetes: Cluster, *options: str) -> Tracer:
    """``kubectl btpy`` with the arguments that the page on Kubernetes shows."""
    arguments = ["--pods", f"orders-7f9c -n {NAMESPACE} --image {BTPY}", "OrderApp", "-e", COUNT, "-f", "ndjson"]
    tracer = Tracer([*arguments, "--hits", "0", *options], kubernetes.environment)
    told(tracer, "tracing 1 JVM on 1 pod")
    return tracer


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_end_of_the_client_leaves_no_process_and_no_probe(kubernetes: Cluster, number: signal.Signals) -> None:
    with pod(kubernetes, "orders-7f9c", NAMED, "Traffic") as orders:
        tracer = traced_with(kubernetes)
        try:
            orders.call(1009)
            status = tracer.stop(number)
            if number == signal.SIGINT:
                assert status == 0, tracer.stderr
                assert tracer.maps() == {"n": 1009}
        finally:
            tracer.kill()
        orders.assert_left_alone()


def test_the_plugin_runs_the_image(kubernetes: Cluster, tmp_path: Path) -> None:
    """``kubectl btpy POD --image IMAGE -- NAME FILE.bt``, with the plugin on the PATH; Ctrl-C ends it."""
    (tmp_path / "slow.bt").write_text(COUNT)
    with pod(kubernetes, "orders-7f9c", NAMED, "Traffic") as orders:
        plugin = plugged_in(kubernetes, f"orders-7f9c -n {NAMESPACE} --image {BTPY} -- OrderApp", tmp_path / "slow.bt")
        try:
            orders.call(1013)
            plugin.process.send_signal(signal.SIGINT)
            assert plugin.wait() == 0, plugin.stderr
            assert "@n  1013" in plugin.stdout, (plugin.stdout, plugin.stderr)
        finally:
            plugin.stop()
        orders.assert_left_alone()


def plugged_in(kubernetes: Cluster, words: str, script: Path, *options: str) -> Target:
    """Starts ``kubectl btpy`` and waits for its probes. kubectl becomes the plugin, so the plugin has the pid of
    kubectl."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, **kubernetes.environment, "PATH": path, "NO_COLOR": "1"}
    plugin = Target(["kubectl", "btpy", *words.split(), str(script), "--budget", "off", *options], env)
    told(plugin, "btpy: tracing")  # type: ignore[arg-type]
    return plugin
