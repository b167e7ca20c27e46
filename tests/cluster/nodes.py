"""A cluster of one node on this machine: etcd, the API server with its controllers and scheduler, containerd and
kubelet. Its pods have their own network, a bridge on this machine. The cluster has no DNS, and only one service, the
API server.

The cluster needs root. containerd and kubelet keep their state at the usual paths, because btpy looks for names there.
So a machine can run only one cluster, and cannot run one if it already runs containerd.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.programs import built
from tests.jdks import locked
from tests.live.scripts import waited
from tests.ports import free_ports

NODE = "node-1"
_ADMINISTRATOR = "administrator"
_BRIDGE = "btpy-pods0"
_PODS, _ADDRESS = "10.237.0.0/24", "10.237.0.1"
SERVICE = "10.238.0.1"
"""The address that kubelet gives pods for the API server. The API server itself listens at this address, at port 443.
"""

_CNI_PLUGINS = Path("/usr/lib/cni")
_STATE = Path("/run/containerd")
_LOGS = (Path("/var/log/pods"), Path("/var/log/containers"))
_KERNEL = ("vm/overcommit_memory", "kernel/panic", "kernel/panic_on_oops", "net/ipv4/ip_forward")
"""Parameters of the kernel that kubelet and the network plug-in set."""

_USERS = {
    _ADMINISTRATOR: "system:masters",
    f"system:node:{NODE}": "system:nodes",
    "system:kube-controller-manager": "",
    "system:kube-scheduler": "",
}
_PATIENCE = 180.0

_CONTAINERD = """
version = 2
root = "{directory}/containerd"
state = "{state}"
disabled_plugins = ["io.containerd.internal.v1.opt"]
[grpc]
  address = "{state}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{plugins}"
    conf_dir = "{directory}/cni"
"""
PAUSE = "localhost/pause:1"


@dataclass(frozen=True)
class Cluster:
    """``directory``: its files; ``configuration``: the file for ``kubectl`` of an administrator."""

    directory: Path
    configuration: Path

    @property
    def environment(self) -> dict[str, str]:
        """With this environment, ``kubectl`` and its plugins reach the cluster."""
        return {"KUBECONFIG": str(self.configuration)}

    def kubectl(self, *arguments: str, text: str | None = None, check: bool = True) -> str:
        """The standard output of the real kubectl. ``text``: its standard input."""
        result = subprocess.run(
            ["kubectl", *arguments],
            input=text,
            capture_output=True,
            text=True,
            env={**os.environ, **self.environment},
            timeout=_PATIENCE,
        )
        assert result.returncode == 0 or not check, result.stderr
        return result.stdout

    def get(self, *arguments: str) -> Any:
        """The objects as kubectl prints them in JSON."""
        return json.loads(self.kubectl("get", *arguments, "-o", "json"))

    def apply(self, *documents: dict[str, Any] | str) -> None:
        """Creates or changes objects. A text is YAML."""
        texts = [document if isinstance(document, str) else json.dumps(document) for document in documents]
        self.kubectl("apply", "-f", "-", text="\n---\n".join(texts))

    def import_image(self, archive: Path, name: str = "") -> None:
        """Loads an archive of an image into containerd, by the name that it has or a new one."""
        options = ["--index-name", name] if name else []
        self.ctr("images", "import", *options, str(archive))

    def ctr(self, *arguments: str) -> str:
        command = ["ctr", "--address", str(_STATE / "containerd.sock"), "--namespace", "k8s.io", *arguments]
        result = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE)
        assert result.returncode == 0, result.stderr
        return result.stdout


def why_not() -> str:
    """The reason why no cluster can run here; empty if there is none."""
    if os.geteuid() != 0:
        return "a node of Kubernetes needs root"
    for command in ("containerd", "ctr", "runc", "kubectl", "openssl", "buildah", "iptables"):
        if shutil.which(command) is None:
            return f"{command} is not installed"
    if not (_CNI_PLUGINS / "bridge").exists():
        return "the package containernetworking-plugins is not installed"
    if (_STATE / "containerd.sock").exists():
        return "containerd runs on this machine already"
    if built() is None:
        return "Kubernetes is built with Go, which is not installed"
    return ""


@contextmanager
def cluster() -> Iterator[Cluster]:
    """A cluster whose node is ready. If ``$BTPY_CLUSTER`` is the directory of a cluster that ``python -m
    tests.cluster`` runs, yields that cluster. Skips the test where no cluster can run.
    """
    if existing := os.environ.get("BTPY_CLUSTER"):
        yield Cluster(Path(existing), Path(existing) / f"{_ADMINISTRATOR}.json")
        return
    with locked("cluster"), ExitStack() as stack:
        reason = why_not()
        if reason:
            pytest.skip(reason)
        directory = Path(tempfile.mkdtemp(prefix="btpy-cluster-"))
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        yield _started(directory, stack)


def _started(directory: Path, stack: ExitStack) -> Cluster:
    programs = built()
    assert programs is not None
    stack.enter_context(_machine_as_before())
    etcd_port, peer_port, kubelet_port = free_ports(3)
    etcd = f"http://127.0.0.1:{etcd_port}"
    api = f"https://{SERVICE}"
    configurations = _configure(directory, api)
    kubernetes = str(programs / "kubernetes")

    def start(name: str, *command: str) -> None:
        stack.enter_context(_running(directory / f"{name}.log", command))

    peer = f"http://127.0.0.1:{peer_port}"
    etcd_options = {
        "data-dir": directory / "etcd",
        "listen-client-urls": etcd,
        "advertise-client-urls": etcd,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"default={peer}",
        "unsafe-no-fsync": "true",
    }
    start("etcd", kubernetes, "etcd", *_options(etcd_options))
    start("apiserver", kubernetes, "apiserver", *_options(_api_server(directory, etcd)))
    new_cluster = Cluster(directory, configurations[_ADMINISTRATOR])
    _wait_for_api(new_cluster)
    for name, user in (("controllers", "system:kube-controller-manager"), ("scheduler", "system:kube-scheduler")):
        options: dict[str, object] = {"kubeconfig": configurations[user], "leader-elect": "false", "secure-port": 0}
        if name == "controllers":
            options |= {"use-service-account-credentials": "true"}
            options |= {"root-ca-file": directory / "certificates" / "apiserver.crt"}  # for pods
            options |= {"service-account-private-key-file": directory / "accounts.key"}
        else:
            options["secure-port"] = free_ports(1)[0]
            options["cert-dir"] = directory / "scheduler"
        start(name, kubernetes, name, *_options(options))
    start("containerd", "containerd", "--config", str(directory / "containerd.toml"))
    waited(lambda: (_STATE / "containerd.sock").exists(), "containerd", _PATIENCE)
    new_cluster.import_image(_pause_image(directory, programs / "pause"))
    start("kubelet", kubernetes, "kubelet", *_options(_kubelet(directory, configurations, kubelet_port)))
    stack.callback(_remove_pods, new_cluster)
    _wait_for_node(new_cluster)
    return new_cluster


def _options(values: dict[str, Any]) -> list[str]:
    return [f"--{name}={value}" for name, value in values.items()]


def _api_server(directory: Path, etcd: str) -> dict[str, object]:
    return {
        "etcd-servers": etcd,
        "bind-address": SERVICE,
        "secure-port": 443,
        "cert-dir": directory / "certificates",
        "token-auth-file": directory / "tokens.csv",
        "authorization-mode": "Node,RBAC",
        "enable-admission-plugins": "NodeRestriction",
        "allow-privileged": "true",
        "service-cluster-ip-range": f"{SERVICE}/24",
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": directory / "accounts.key",
        "service-account-signing-key-file": directory / "accounts.key",
        "endpoint-reconciler-type": "none",
        "kubelet-preferred-address-types": "InternalIP",
    }


def _kubelet(directory: Path, configurations: dict[str, Path], port: int) -> dict[str, object]:
    """Writes the configuration of kubelet, and returns its options."""
    settings = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "port": port,
        "address": _ADDRESS,
        "readOnlyPort": 0,
        "healthzPort": 0,
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "containerRuntimeEndpoint": f"unix://{_STATE}/containerd.sock",
        "cgroupDriver": "cgroupfs",
        "failSwapOn": False,
        "makeIPTablesUtilChains": False,
        "evictionHard": {"memory.available": "1Mi"},
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "localStorageCapacityIsolation": False,
        "resolvConf": "",
        "registerNode": True,
        "nodeStatusUpdateFrequency": "2s",
        "syncFrequency": "10s",
    }
    path = directory / "kubelet.json"
    path.write_text(json.dumps(settings))
    return {
        "config": path,
        "kubeconfig": configurations[f"system:node:{NODE}"],
        "hostname-override": NODE,
        "node-ip": _ADDRESS,
        "root-dir": directory / "kubelet",
        "cert-dir": directory / "kubelet-certificates",
    }


def _configure(directory: Path, api: str) -> dict[str, Path]:
    """Writes the files that programs read. Returns the file for kubectl of each user."""
    key = directory / "accounts.key"
    subprocess.run(["openssl", "genrsa", "-out", str(key), "2048"], check=True, capture_output=True)
    tokens = {user: os.urandom(16).hex() for user in _USERS}
    rows = [f'{tokens[user]},{user},{user},"{group}"' for user, group in _USERS.items()]
    (directory / "tokens.csv").write_text("\n".join(rows) + "\n")
    files = {}
    for user, token in tokens.items():
        files[user] = directory / f"{user.replace(':', '-')}.json"
        files[user].write_text(json.dumps(_client(api, user, token)))
    (directory / "containerd.toml").write_text(
        _CONTAINERD.format(directory=directory, state=_STATE, pause=PAUSE, plugins=_CNI_PLUGINS)
    )
    (directory / "cni").mkdir()
    addresses = {"type": "host-local", "dataDir": str(directory / "addresses"), "ranges": [[{"subnet": _PODS}]]}
    bridge = {"type": "bridge", "bridge": _BRIDGE, "isGateway": True, "ipam": addresses}
    network = {"cniVersion": "0.4.0", "name": "pods", "plugins": [bridge]}
    (directory / "cni" / "10-pods.conflist").write_text(json.dumps(network))
    return files


def _client(api: str, user: str, token: str) -> dict[str, object]:
    """A configuration of kubectl. The API server has signed its certificate itself, so kubectl does not check it."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "btpy", "cluster": {"server": api, "insecure-skip-tls-verify": True}}],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": "btpy", "context": {"cluster": "btpy", "user": user}}],
        "current-context": "btpy",
    }


@contextmanager
def _running(log: Path, command: Sequence[str]) -> Iterator[None]:
    """Runs the program until the block ends, with its output in a file. Ctrl-C at this terminal does not reach it."""
    with log.open("w") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for_api(kubernetes: Cluster) -> None:
    def is_ready() -> bool:
        return kubernetes.kubectl("get", "--raw", "/readyz", check=False) == "ok"

    waited(is_ready, _last_lines(kubernetes, "apiserver"), _PATIENCE)
    waited(
        lambda: "default" in kubernetes.kubectl("get", "namespaces", "-o", "name", check=False),
        "the default namespace",
        _PATIENCE,
    )


def _wait_for_node(kubernetes: Cluster) -> None:
    def is_ready() -> bool:
        nodes = json.loads(kubernetes.kubectl("get", "nodes", "-o", "json", check=False) or '{"items": []}')["items"]
        conditions = [condition for node in nodes for condition in node.get("status", {}).get("conditions", [])]
        accounts = kubernetes.kubectl("get", "serviceaccounts", "-o", "name", check=False)
        return ("Ready", "True") in {(one["type"], one["status"]) for one in conditions} and "default" in accounts

    waited(is_ready, "a node that is ready", _PATIENCE)


def _last_lines(kubernetes: Cluster, program: str) -> str:
    return f"{program} that is ready; see {kubernetes.directory}/{program}.log"


def _pause_image(directory: Path, pause: Path) -> Path:
    return image(directory / "pause.tar", PAUSE, "scratch", {"/": [pause]}, ["/pause"])


def image(archive: Path, name: str, base: str, files: dict[str, Sequence[Path]], entrypoint: Sequence[str]) -> Path:
    """Makes an archive of an image. ``files``: for each directory of the image, the files to copy into it."""
    container = _said("buildah", "from", "--pull-never", base)
    try:
        for target, sources in files.items():
            _said("buildah", "copy", "--quiet", container, *map(str, sources), f"{target.rstrip('/')}/")
        _said("buildah", "config", "--entrypoint", json.dumps(list(entrypoint)), "--cmd", "", container)
        _said("buildah", "commit", "--quiet", container, name)
        _said("buildah", "push", "--quiet", name, f"oci-archive:{archive}:{name}")
        _said("buildah", "rmi", name)
    finally:
        _said("buildah", "rm", container)
    return archive


def _said(*command: str) -> str:
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, f"{command}: {result.stderr}"
    return result.stdout.strip()


def _remove_pods(kubernetes: Cluster) -> None:
    """Deletes all pods, because kubelet would leave them running."""
    kubernetes.kubectl("delete", "daemonsets,deployments", "--all", "-A", "--wait=false", check=False)
    kubernetes.kubectl("delete", "pods", "--all", "-A", "--grace-period=1", "--timeout=60s", check=False)


@contextmanager
def _machine_as_before() -> Iterator[None]:
    """Restores parameters of the kernel, and removes files, mounts and control groups of containers at the end."""
    parameters = {path: path.read_text() for path in (Path("/proc/sys", name) for name in _KERNEL)}
    existing = [path for path in (_STATE, *_LOGS) if path.exists()]
    try:
        for command in (
            f"link add {_BRIDGE} type bridge",
            f"addr add {_ADDRESS}/24 dev {_BRIDGE}",
            f"addr add {SERVICE}/32 dev {_BRIDGE}",
            f"link set {_BRIDGE} up",
        ):
            subprocess.run(["ip", *command.split()], check=True)
        yield
    finally:
        for path, value in parameters.items():
            path.write_text(value)
        _end_shims()
        _unmount()
        subprocess.run(["ip", "link", "delete", _BRIDGE], capture_output=True)
        for path in (_STATE, *_LOGS):
            if path not in existing:
                shutil.rmtree(path, ignore_errors=True)
        _remove_groups()


def _end_shims() -> None:
    """Ends the processes that supervise containers of containerd, if some are left."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"containerd-shim-runc-v2" in command[0] and f"{_STATE}/containerd.sock".encode() in command:
            os.kill(int(entry.name), signal.SIGKILL)


def _unmount() -> None:
    places = [line.split(" ")[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for place in reversed(places):
        if place.startswith((f"{_STATE}/", f"{tempfile.gettempdir()}/btpy-cluster-")):
            subprocess.run(["umount", "--lazy", place], capture_output=True)


def _remove_groups() -> None:
    for top in Path("/sys/fs/cgroup").glob("*/kubepods"):
        for directory, _, _ in os.walk(top, topdown=False):
            for _ in range(20):
                try:
                    os.rmdir(directory)
                    break
                except OSError:
                    time.sleep(0.1)
