"""The image of btpy, as `make image` builds it: on a node as examples/kubernetes/daemonset.yaml runs it, and beside a
JVM as a debug container. The image has Python and btpy, no Java, and nothing of this machine.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from tests.containers.cells import (
    DEBUGGING,
    ROOT,
    SCRIPT,
    Cell,
    assert_counts,
    cell,
    container,
    needs_root,
    sets_of,
    specification,
)
from tests.live.scripts import waited
from tests.targets import Target

pytestmark = [needs_root, pytest.mark.proof]

KUBERNETES = ROOT / "examples" / "kubernetes"


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The root directory of the unpacked image."""
    for command in ("buildah", "mmdebstrap", "runc"):
        if shutil.which(command) is None:
            pytest.skip(f"{command} is not installed")
    subprocess.run(["make", "image"], cwd=ROOT, check=True, capture_output=True)
    archive = ROOT / "dist" / "btpy-image.tar"
    assert archive.stat().st_size < 100e6
    name = _said("buildah", "from", f"oci-archive:{archive}")
    try:
        yield Path(_said("buildah", "mount", name))
    finally:
        subprocess.run(["buildah", "rm", name], check=True, capture_output=True)


def _said(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@contextmanager
def running(
    image: Path, directory: Path, arguments: Sequence[str], capabilities: Sequence[str], *, pids: str, **mounts: Path
) -> Iterator[Target]:
    """``btpy arguments`` in a container with a root directory that cannot be written. ``pids``: the path of its pid
    namespace; empty for the namespace of the node. ``mounts``: the files to mount, by their names below
    /etc/btpy/probes.d.
    """
    content = specification(directory)
    content["root"] = {"path": str(image), "readonly": True}
    content["process"] |= {"args": ["btpy", *arguments], "capabilities": sets_of(capabilities)}
    content["process"]["noNewPrivileges"] = True
    content["process"]["env"].append("XDG_STATE_HOME=/tmp/state")
    others = [one for one in content["linux"]["namespaces"] if one["type"] not in ("pid", "network")]
    content["linux"]["namespaces"] = [*others, *([{"type": "pid", "path": pids}] if pids else [])]
    binds = [
        {"destination": f"/etc/btpy/probes.d/{name}", "type": "bind", "source": str(path), "options": ["bind", "ro"]}
        for name, path in mounts.items()
    ]
    temporary = {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["mode=1777"]}
    content["mounts"] += [*binds, temporary]
    (directory / "config.json").write_text(json.dumps(content))
    name = f"btpy-image-{uuid.uuid4().hex[:12]}"
    runc = ("runc", "--root", str(directory / "state"))
    btpy = Target([*runc, "run", "--bundle", str(directory), name])
    try:
        yield btpy
    finally:
        subprocess.run([*runc, "delete", "--force", name], capture_output=True)
        btpy.stop()


def the_container_of_the_manifest() -> Mapping[str, Any]:
    documents = list(yaml.safe_load_all((KUBERNETES / "daemonset.yaml").read_text()))
    (pod,) = [document["spec"]["template"]["spec"] for document in documents if document["kind"] == "DaemonSet"]
    assert pod["hostPID"]
    (one,) = pod["containers"]
    assert isinstance(one, dict)
    return one


def capabilities_of_the_manifest() -> list[str]:
    changes = the_container_of_the_manifest()["securityContext"]["capabilities"]
    assert changes["drop"] == ["ALL"]
    return [f"CAP_{name}" for name in changes["add"]]


@contextmanager
def jvm(directory: Path) -> Iterator[Cell]:
    """A JVM in a container of its own."""
    directory.mkdir()
    with container(directory, user=1000) as inside, cell(17, prefix=inside, readable=True) as jvm_cell:
        yield jvm_cell


def bundle(tmp_path: Path) -> Path:
    directory = tmp_path / "bundle"
    directory.mkdir()
    return directory


def test_on_a_node_with_the_capabilities_of_the_manifest(image: Path, tmp_path: Path) -> None:
    with jvm(tmp_path / "jvm") as jvm_cell:
        arguments = [str(jvm_cell.process.pid), "-e", SCRIPT, "--budget", "off"]
        with running(image, bundle(tmp_path), arguments, capabilities_of_the_manifest(), pids="") as btpy:
            assert_counts(btpy, jvm_cell)


def test_beside_a_jvm_as_a_debug_container(image: Path, tmp_path: Path) -> None:
    """btpy sees the processes of the JVM's container, but neither its files nor its network."""
    with jvm(tmp_path / "jvm") as jvm_cell:
        arguments = [str(jvm_cell.process.namespace_pid), "-e", SCRIPT, "--budget", "off"]
        pids = f"/proc/{jvm_cell.process.pid}/ns/pid"
        with running(image, bundle(tmp_path), arguments, DEBUGGING, pids=pids) as btpy:
            assert_counts(btpy, jvm_cell)


def test_the_daemon_of_the_manifest_puts_its_probes_in(image: Path, tmp_path: Path) -> None:
    """The files of the probes are mounted one by one, as from a ConfigMap."""
    with jvm(tmp_path / "jvm") as jvm_cell:
        files = {"steps.toml": 'jvms = ["Counted"]\nscript = "steps.bt"\n', "steps.bt": SCRIPT}
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        arguments = ["daemon", "/etc/btpy/probes.d", "-o", "otlp://127.0.0.1:9", "--scan", "200ms"]
        mounts = {name: tmp_path / name for name in files}
        with running(image, bundle(tmp_path), arguments, capabilities_of_the_manifest(), pids="", **mounts) as btpy:
            waited(lambda: any("the probes are in 1 method" in line for line in btpy.stderr), "the probes")
        jvm_cell.assert_undisturbed()
