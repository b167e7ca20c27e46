"""The commands of the pages about Kubernetes, typed without a change in a cluster with the pods that the pages name."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cluster.images import SHOP_WITH_PYTHON
from tests.cluster.nodes import Cluster
from tests.cluster.pods import NAMESPACE, Pod, pod
from tests.cluster.test_daemonset import SELECTED, daemonset
from tests.examples.pages import ROOT, blocks, commands
from tests.terminal.tmux import terminal

pytestmark = [pytest.mark.proof, pytest.mark.timeout(1200)]

PAGES = [ROOT / "docs" / "how-to" / name for name in ("kubernetes.md", "many-hosts.md")]
TYPED = [command.text for page in PAGES for block in blocks(page) for command in commands(block)]
SHOP = ("-Dbtpy.name=OrderApp", "Traffic")
CALLS = 211
PATIENCE = 120.0

# kubectl debug attaches its terminal after btpy has started, so the first lines may be missing; a printed map also
# shows that btpy traces.
_TRACING = re.compile(r"btpy: (\d+ probe|tracing)|^@\w+ ", re.MULTILINE)


def on_page(beginning: str) -> list[str]:
    texts = [text for text in TYPED if text.startswith(beginning)]
    assert texts, beginning
    return texts


@pytest.fixture
def env(kubernetes: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str | None]:
    """The environment of an administrator who works in the namespace ``prod`` and in a directory with ``slow.bt``."""
    configuration = json.loads(kubernetes.configuration.read_text())
    configuration["contexts"][0]["context"]["namespace"] = NAMESPACE
    (tmp_path / "config").write_text(json.dumps(configuration))
    (tmp_path / "slow.bt").write_text("Traffic::serve @entry { @n = count() }")
    monkeypatch.chdir(tmp_path)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {"KUBECONFIG": str(tmp_path / "config"), "PATH": path}


def traced(command: str, env: dict[str, str | None], pods: Sequence[Pod], sessions: int = 0) -> str:
    """The screen after Ctrl-C has ended the command. While the command runs, the program in each pod makes its calls.
    ``sessions``: the number of sessions that the daemon has in each JVM."""
    with terminal(["sh", "-c", f"exec {command}"], env=env, columns=200, lines=40) as screen:
        screen.wait_for(_TRACING, patience=PATIENCE)
        for one in pods:
            one.call(CALLS)
        screen.press("C-c")
        assert screen.wait_for_end(PATIENCE) == 0, screen.text()
        text = screen.text()
    for one in pods:
        one.assert_left_alone(sessions)
    return text


def test_kubectl_debug(kubernetes: Cluster, env: dict[str, str | None]) -> None:
    with pod(kubernetes, "orders-7f9c", *SHOP) as orders:
        list_jvms, trace = on_page("kubectl debug")
        with terminal(["sh", "-c", list_jvms], env=env, columns=200, lines=40) as screen:
            assert screen.wait_for_end(PATIENCE) == 0
            assert "Traffic" in screen.text()
        traced(trace, env, [orders])
        (plugin,) = [text for text in on_page("kubectl btpy") if "--image" in text]
        assert f"@n  {CALLS}" in traced(plugin, env, [orders])


def test_pods_and_the_plugin(kubernetes: Cluster, env: dict[str, str | None]) -> None:
    labels = {"app": "shop"}
    with (
        pod(kubernetes, "shop-1", *SHOP, image=SHOP_WITH_PYTHON, labels=labels) as one,
        pod(kubernetes, "shop-2", *SHOP, image=SHOP_WITH_PYTHON, labels=labels) as other,
    ):
        plugin = [text for text in on_page("kubectl btpy") if "--image" not in text]
        for command in (*on_page("btpy --pods"), *plugin):
            assert f"@n  {2 * CALLS}" in traced(command, env, [one, other])


def test_the_daemonset_and_a_look_by_hand(kubernetes: Cluster, env: dict[str, str | None]) -> None:
    with pod(kubernetes, "orders-7f9c", *SHOP, labels=SELECTED) as orders, daemonset(kubernetes) as btpy:
        (follow,) = on_page("kubectl -n btpy logs")
        with terminal(["sh", "-c", follow], env=env, columns=200, lines=40) as screen:
            screen.wait_for("btpy: standing probes of /etc/btpy/probes.d, exported to", patience=PATIENCE)
            screen.press("C-c")
        (look,) = on_page("kubectl -n btpy exec")
        traced(look.replace("btpy-x7k2p", btpy), env, [orders], sessions=1)
