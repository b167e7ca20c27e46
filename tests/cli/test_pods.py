"""``btpy --pods``: one script in several pods, through a stand-in for kubectl that runs the command here."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qs

import pytest

from btpy.cli.kubectl_plugin import arguments_of
from btpy.cli.options import parse
from btpy.cli.reach import reached
from btpy.cli.run_script import COMMAND
from btpy.errors import AttachError, UsageError
from tests.cli.fake_kubectl import calls, fake_kubectl
from tests.cli.fake_ssh import REMOTE, jvms_on
from tests.cli.test_hosts import ALL, left_alone
from tests.cli.test_several import SCRIPT, told
from tests.live.traffic import called, traffic
from tests.tracer import Tracer

PODS = "-l app=shop -n prod"


def test_pods_are_selected_as_by_kubectl_and_merged_as_hosts(tmp_path: Path) -> None:
    pods = ("prod shop-1 Running", "prod shop-2 Running", "prod shop-3 Pending", "prod bare Running")
    with jvms_on("shop-1", "shop-2") as (name, targets), fake_kubectl(tmp_path, *pods) as env:
        tracer = Tracer(["--pods", f"{PODS} -c app", "--remote-btpy", REMOTE, name, *ALL], env)
        try:
            told(tracer, "tracing 2 JVMs on 2 pods")
            called(targets["shop-1"], 211)
            called(targets["shop-2"], 101)
            assert tracer.stop() == 0, tracer.stderr
        finally:
            tracer.kill()
        counts = Counter((record["host"], record["pid"]) for record in tracer.of("printf"))
        assert counts == {("shop-1", targets["shop-1"].pid): 211, ("shop-2", targets["shop-2"].pid): 101}
        assert tracer.maps()["n"] == 312
        assert any(line.startswith("bare  OCI runtime exec failed") for line in tracer.stderr)
        assert tracer.stderr[-1] == "1 of 3 pods failed: bare: could not be reached (status 1 of kubectl)"
        left_alone(*targets.values())
    listing, *executed = calls(tmp_path)
    assert listing[:5] == ["get", "pods", "--selector=app=shop", "--namespace=prod", "--request-timeout=30s"]
    assert sorted(call[:5] for call in executed) == [
        ["exec", "-i", "--container=app", "--namespace=prod", pod] for pod in ("bare", "shop-1", "shop-2")
    ]
    assert {tuple(call[5:]) for call in executed} == {("--", *shlex.split(REMOTE), "node")}


def selected(directory: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str, pods: Sequence[str] = ()) -> list[str]:
    """The names of the pods. Raises BtpyError."""
    with fake_kubectl(directory, *pods) as env:
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        return reached(parse(COMMAND, [*arguments, "x"]))[0]


@pytest.mark.parametrize(
    ("pods", "message"),
    [
        ("", "--pods '' names no pod"),
        ("-l", "--pods '-l': -l needs a value"),
        ("-x", "--pods '-x': unknown option -x"),
        ("'", "No closing quotation"),
        ("shop;reboot", "names no pod"),
        ("-- -oops", "names no pod"),
    ],
)
def test_what_names_no_pod_is_refused_before_kubectl(
    pods: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        selected(tmp_path, monkeypatch, "--pods", pods)
    assert calls(tmp_path) == []


@pytest.mark.parametrize(
    "line", ["prod -oops Running", "prod shop;x Running", "--all shop Running", "prod", "", "prod \x1b[2J Running"]
)
def test_a_list_with_something_else_than_pods_is_refused(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(AttachError, match="which is not a pod") as caught:
        selected(tmp_path, monkeypatch, "--pods", PODS, pods=("prod shop-1 Running", line))
    assert "\x1b" not in str(caught.value)
    assert len(calls(tmp_path)) == 1


def test_pods_that_do_not_run_and_a_kubectl_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AttachError, match="no such pod runs") as caught:
        selected(tmp_path, monkeypatch, "--pods", PODS, pods=("prod shop-1 Pending",))
    assert caught.value.help == ("kubectl get pods -l app=shop -n prod",)
    monkeypatch.setenv("FAKE_KUBECTL_STATUS", "7")
    with pytest.raises(AttachError, match=r"kubectl could not list the pods \(status 7\)"):
        selected(tmp_path, monkeypatch, "--pods", PODS)


def test_values_that_begin_with_a_hyphen_are_no_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pods, kubectl = "-l --kubeconfig=x -n -v9 shop", "kubectl --context -c"
    assert selected(tmp_path, monkeypatch, "--pods", pods, "--kubectl", kubectl, pods=["v shop Running"]) == ["shop"]
    (listing,) = calls(tmp_path)
    assert listing[:5] == ["--context", "-c", "get", "pods", "--selector=--kubeconfig=x"]
    assert listing[5] == "--namespace=-v9"
    assert listing[-1] == "shop"


def test_pods_of_all_namespaces_have_the_namespace_in_their_names(tmp_path: Path) -> None:
    with fake_kubectl(tmp_path, "prod bare Running", "test bare Running") as env:
        command = [sys.executable, "-m", "btpy", "--pods", "-A", "x", "-e", SCRIPT]
        result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **env})
    assert result.returncode == 3
    assert "2 of 2 pods failed: prod:bare: could not be reached" in result.stderr
    executed = sorted(call[2:4] for call in calls(tmp_path)[1:])
    assert executed == [["--namespace=prod", "bare"], ["--namespace=test", "bare"]]


def test_an_image_runs_in_a_debug_container_beside_that_of_the_jvm(tmp_path: Path) -> None:
    """The target is the container that -c names, else the container that kubectl takes, else the first container."""
    pod_rows = ("prod bare-1 Running app <none>", "prod bare-2 Running app other")
    with fake_kubectl(tmp_path, *pod_rows) as env:
        for options in ([], ["-c", "web"]):
            pods = shlex.join([*shlex.split(PODS), "--image", "btpy:1", *options])
            command = [sys.executable, "-m", "btpy", "--pods", pods, "x", "-e", SCRIPT]
            subprocess.run(command, capture_output=True, text=True, env={**os.environ, **env})
    debug = ["debug", "-i", "--quiet", "--profile=general", "--image=btpy:1"]
    made = sorted(call for call in calls(tmp_path) if "debug" in call)
    assert made == [
        [*debug, f"--target={target}", "--namespace=prod", pod, "--", "btpy", "node"]
        for target, pod in (("app", "bare-1"), ("other", "bare-2"), ("web", "bare-1"), ("web", "bare-2"))
    ]


def test_the_plugin_of_kubectl_is_the_same_in_its_order() -> None:
    flags = ["shop-1", "-n", "prod", "-l", "a=b c", "-A", "--context", "x", "--", "OrderApp", "slow.bt", "-n"]
    pods = "'--selector=a=b c' --namespace=prod --all-namespaces shop-1"
    assert arguments_of(flags) == ["--pods", pods, "--kubectl", "kubectl --context=x", "OrderApp", "slow.bt", "-n"]
    debugging = arguments_of(["shop-1", "--image", "btpy:1", "--", "1", "slow.bt"])
    assert debugging == ["--pods", "--image=btpy:1 shop-1", "--kubectl", "kubectl", "1", "slow.bt"]
    assert arguments_of(["--help"]) == []
    with pytest.raises(UsageError, match="come after --"):
        arguments_of(["-l", "app=shop", "OrderApp", "slow.bt"])


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kubectl_finds_its_plugin() -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = ["kubectl", "btpy", "-l", "app=shop", "--", "x", "-e", "nonsense"]
    result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PATH": path})
    assert (result.returncode, "error[BT" in result.stderr) == (2, True), result.stderr


class FakeApiServer(BaseHTTPRequestHandler):
    """Lists two pods, and refuses exec."""

    requests: ClassVar[list[tuple[str, dict[str, list[str]]]]] = []

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        pods = [_pod("shop-1", "Running"), _pod("shop-2", "Pending")]
        answers: dict[str, object] = {
            "/api": {"kind": "APIVersions", "versions": ["v1"]},
            "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
            "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": [_RESOURCE]},
            "/api/v1/namespaces/prod/pods": {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": pods},
            "/api/v1/namespaces/prod/pods/shop-1": pods[0],
        }
        self.requests.append((path, parse_qs(query)))
        data = json.dumps(answers.get(path, {})).encode()
        self.send_response(200 if path in answers else 403)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *arguments: object) -> None:
        pass


_RESOURCE = {"name": "pods", "singularName": "pod", "namespaced": True, "kind": "Pod", "verbs": ["get", "list"]}


def _pod(name: str, phase: str) -> dict[str, object]:
    about = {"name": name, "namespace": "prod"}
    spec = {"containers": [{"name": "app"}]}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": about, "spec": spec, "status": {"phase": phase}}


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
@pytest.mark.parametrize("pods", ["-l app=shop -n prod -c app", "shop-1 -n prod"])
def test_the_real_kubectl_takes_the_arguments(pods: str, tmp_path: Path) -> None:
    """kubectl asks an API server for the pods, and then for the command in each running pod."""
    FakeApiServer.requests.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), FakeApiServer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        kubectl = f"kubectl --server http://127.0.0.1:{server.server_port}"
        command = [sys.executable, "-m", "btpy", "--pods", pods, "--kubectl", kubectl, "x", "-e", SCRIPT]
        env = {**os.environ, "KUBECONFIG": "/dev/null", "HOME": str(tmp_path)}
        result = subprocess.run(command, capture_output=True, text=True, env=env)
        server.shutdown()
    assert "1 of 1 pod failed: shop-1: could not be reached (status 1 of kubectl)" in result.stderr, result.stderr
    requests = dict(FakeApiServer.requests)
    execution = requests["/api/v1/namespaces/prod/pods/shop-1/exec"]
    assert (execution["command"], execution["stdin"]) == (["btpy", "node"], ["true"])
    if pods.startswith("-l"):
        assert requests["/api/v1/namespaces/prod/pods"]["labelSelector"] == ["app=shop"]
        assert execution["container"] == ["app"]


_SEND_BTPY = """#!/bin/sh
while [ "$1" != "--" ]; do
    if [ "$1" = get ]; then echo prod shop-1 Running; exit; fi
    shift
done
shift
if [ "$1" = btpy ]; then echo executable file not found >&2; exit 1; fi
exec unshare --mount sh -c 'mkdir -p ~/.cache/btpy/pushed; mount -t tmpfs none ~/.cache/btpy/pushed; exec "$@"' sh "$@"
"""


@pytest.mark.proof
@pytest.mark.skipif(os.geteuid() != 0, reason="makes a namespace")
def test_a_pod_without_btpy_gets_it_by_push(tmp_path: Path) -> None:
    (tmp_path / "kubectl").write_text(_SEND_BTPY)
    (tmp_path / "kubectl").chmod(0o755)
    with traffic(17, "-Dbtpy.name=pushed-pod") as target:
        arguments = ["--pods", "shop-1", "--kubectl", str(tmp_path / "kubectl"), "--push", "-v", "pushed-pod", *ALL]
        tracer = Tracer(arguments)
        try:
            told(tracer, "tracing 1 JVM on 1 pod")
            called(target, 23)
            assert tracer.stop() == 0, tracer.stderr
        finally:
            tracer.kill()
        assert tracer.maps()["n"] == 23
        assert not any("not found" in line for line in tracer.stderr)
        left_alone(target)
