"""Finding containers and pods from outside: the texts of the kernel, the state files of each runtime, and false claims
of a container.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btpy.errors import AttachError
from btpy.jvm import containers, processes
from btpy.jvm.containers import Container
from btpy.jvm.processes import JvmProcess
from tests.live.scripts import counted

ID = "4f66ad9a0b2e" + "5c" * 26
OTHER = "aa11bb22cc33" + "7d" * 26
UID = "2ec8a8b9-6d1e-4b6c-9f70-1a2b3c4d5e6f"
UNDERLINED = UID.replace("-", "_")
STATIC = "0123456789abcdef0123456789abcdef"

GROUPS = {
    "docker, version 1": (f"12:pids:/docker/{ID}\n11:memory:/docker/{ID}\n0::/\n", Container(ID, "docker")),
    "docker, systemd": (f"0::/system.slice/docker-{ID}.scope\n", Container(ID, "docker")),
    "docker, a group of its own inside": (f"0::/system.slice/docker-{ID}.scope/init\n", Container(ID, "docker")),
    "docker, rootless": (
        f"0::/user.slice/user-1000.slice/user@1000.service/user.slice/docker-{ID}.scope\n",
        Container(ID, "docker"),
    ),
    "containerd in Kubernetes, systemd": (
        f"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{UNDERLINED}.slice"
        f"/cri-containerd-{ID}.scope\n",
        Container(ID, "containerd", pod_uid=UID),
    ),
    "containerd in Kubernetes, guaranteed": (
        f"0::/kubepods.slice/kubepods-pod{UNDERLINED}.slice/cri-containerd-{ID}.scope\n",
        Container(ID, "containerd", pod_uid=UID),
    ),
    "containerd with the path of systemd taken as it is": (
        f"1:name=systemd:/system.slice/containerd.service/kubepods-besteffort-pod{UNDERLINED}.slice"
        f":cri-containerd:{ID}\n",
        Container(ID, "containerd", pod_uid=UID),
    ),
    "Kubernetes, cgroupfs": (f"11:cpu,cpuacct:/kubepods/besteffort/pod{UID}/{ID}\n", Container(ID, pod_uid=UID)),
    "Kubernetes, a pod of a file": (
        f"0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod{STATIC}.slice/cri-containerd-{ID}.scope\n",
        Container(ID, "containerd", pod_uid=STATIC),
    ),
    "cri-o": (
        f"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{UNDERLINED}.slice/crio-{ID}.scope"
        "/container\n",
        Container(ID, "cri-o", pod_uid=UID),
    ),
    "nerdctl": (f"0::/system.slice/nerdctl-{ID}.scope\n", Container(ID, "containerd")),
    "ctr": (f"0::/default/{ID}\n", Container(ID)),
    "podman": (f"0::/machine.slice/libpod-{ID}.scope/container\n", Container(ID, "podman")),
    "podman, cgroupfs": (f"9:cpu:/libpod_parent/libpod-{ID}\n", Container(ID, "podman")),
    "podman, rootless": (
        f"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ID}.scope/container\n",
        Container(ID, "podman"),
    ),
    "podman, in a pod": (
        f"0::/machine.slice/machine-libpod_pod_{OTHER}.slice/libpod-{ID}.scope\n",
        Container(ID, "podman", pod_uid=OTHER),
    ),
    "seen from a neighbour in the pod": (f"0::/../cri-containerd-{ID}.scope\n", Container(ID, "containerd")),
    "in a node that is a container": (
        f"0::/system.slice/docker-{OTHER}.scope/kubelet.slice/kubepods-pod{UNDERLINED}.slice/cri-containerd-{ID}.scope\n",
        Container(ID, "containerd", pod_uid=UID),
    ),
    "the monitor of podman": (f"0::/machine.slice/libpod-conmon-{ID}.scope\n", None),
    "the monitor of cri-o": (f"0::/kubepods.slice/crio-conmon-{ID}.scope\n", None),
    "a service": ("0::/system.slice/shop.service\n", None),
    "a login": ("12:pids:/user.slice/user-1000.slice/session-1.scope\n0::/user.slice/user-1000.slice\n", None),
    "the root group": ("0::/\n", None),
    "no control groups": ("", None),
    "damaged": (f"::\n:\n\n0\n3:cpu:/docker/{ID[:-1]}\n0::/docker/{ID}0\n", None),
}


def proc(directory: Path, *, groups: str = "", mounts: str = "", environment: bytes = b"", uts: str = "uts") -> Path:
    """A /proc with one process, 4711, whose root directory is ``directory``/root."""
    process = directory / "proc" / "4711"
    (process / "ns").mkdir(parents=True)
    (directory / "root" / "etc").mkdir(parents=True)
    (process / "cgroup").write_text(groups)
    (process / "mountinfo").write_text(mounts)
    (process / "environ").write_bytes(environment)
    (process / "ns" / "uts").write_text(uts)
    return directory / "proc"


def read(directory: Path) -> Container | None:
    return containers.read(4711, directory / "root", directory / "proc", directory / "host")


def write(directory: Path, name: str, content: object) -> Path:
    path = directory / "host" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.mark.parametrize("case", GROUPS)
def test_the_control_group_names_container_and_pod(case: str, tmp_path: Path) -> None:
    groups, expected = GROUPS[case]
    proc(tmp_path, groups=groups)
    assert read(tmp_path) == expected


def mount(source: str, place: str) -> str:
    return f"2145 2129 259:1 {source} {place} rw,noatime - ext4 /dev/root rw,discard\n"


KUBELET = "/var/lib/kubelet/pods"
MOUNTS = {
    "docker": (
        mount(f"/var/lib/docker/containers/{ID}/resolv.conf", "/etc/resolv.conf")
        + mount(f"/var/lib/docker/containers/{ID}/hostname", "/etc/hostname"),
        Container(ID, "docker"),
    ),
    "docker with a disk of its own": (mount(f"/containers/{ID}/hosts", "/etc/hosts"), Container(ID, "docker")),
    "podman": (
        mount(f"/containers/storage/overlay-containers/{ID}/userdata/.containerenv", "/run/.containerenv"),
        Container(ID, "podman"),
    ),
    "kubelet": (
        mount(f"{KUBELET}/{UID}/containers/app/1a2b3c4d", "/dev/termination-log")
        + mount(f"{KUBELET}/{UID}/etc-hosts", "/etc/hosts"),
        Container(name="app", pod_uid=UID),
    ),
    "a directory elsewhere": (mount(f"/srv/containers/{ID}/hostname", "/srv/hostname"), None),
    "a line that a name adds": (mount(f"/srv/a\u2028x x x /containers/{ID}/hosts /etc/hosts y", "/srv"), None),
    "damaged": (f"\n 1 2 3\n/containers/{ID}/hosts /etc/hosts\n", None),
}


@pytest.mark.parametrize("case", MOUNTS)
def test_mounts_tell_where_the_control_group_does_not(case: str, tmp_path: Path) -> None:
    mounts, expected = MOUNTS[case]
    proc(tmp_path, groups="0::/\n", mounts=mounts)
    assert read(tmp_path) == expected


def test_the_control_group_is_believed_before_the_mounts(tmp_path: Path) -> None:
    mounts = mount(f"/containers/{OTHER}/hosts", "/etc/hosts")
    proc(tmp_path, groups=GROUPS["docker, systemd"][0], mounts=mounts)
    assert read(tmp_path) == Container(ID, "docker")


IN_POD = GROUPS["Kubernetes, cgroupfs"][0]
ANNOTATIONS = {
    "containerd": {
        "io.kubernetes.cri.container-name": "app",
        "io.kubernetes.cri.image-name": "docker.io/acme/shop:17",
        "io.kubernetes.cri.sandbox-name": "orders-7f9c",
        "io.kubernetes.cri.sandbox-namespace": "prod",
        "io.kubernetes.cri.sandbox-uid": UID,
    },
    "cri-o": {
        "io.kubernetes.container.name": "app",
        "io.kubernetes.cri-o.ImageName": "docker.io/acme/shop:17",
        "io.kubernetes.pod.name": "orders-7f9c",
        "io.kubernetes.pod.namespace": "prod",
        "io.kubernetes.pod.uid": UID,
    },
}
BUNDLES = {
    "containerd": f"run/containerd/io.containerd.runtime.v2.task/k8s.io/{ID}/config.json",
    "cri-o": f"run/containers/storage/overlay-containers/{ID}/userdata/config.json",
}


@pytest.mark.parametrize("runtime", BUNDLES)
def test_the_bundle_of_a_container_names_pod_and_image(runtime: str, tmp_path: Path) -> None:
    proc(tmp_path, groups=IN_POD)
    write(tmp_path, BUNDLES[runtime], {"annotations": ANNOTATIONS[runtime]})
    assert read(tmp_path) == Container(ID, runtime, "app", UID, "orders-7f9c", "prod", "docker.io/acme/shop:17")


@pytest.mark.parametrize(("holder", "status"), [(1, ""), (17, "PPid:\t17\n")], ids=["first process", "runtime"])
def test_a_container_with_the_pids_of_the_machine_reads_the_files_of_the_machine(
    holder: int, status: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """btpy finds the files through process 1 or the container runtime above the process, if these are in the first
    namespaces."""
    directory = proc(tmp_path, groups=IN_POD) / str(holder)
    (directory / "ns").mkdir(parents=True)
    for name in ("pid", "user"):
        (directory / "ns" / name).touch()
    (directory / "root").symlink_to(tmp_path / "host")
    (directory / "status").write_text("PPid:\t1\n")
    (tmp_path / "proc" / "4711" / "status").write_text(status)
    write(tmp_path, BUNDLES["containerd"], {"annotations": ANNOTATIONS["containerd"]})
    assert containers.read(4711, tmp_path / "root", tmp_path / "proc") == Container(ID, "", "", UID)
    inodes = {name: (directory / "ns" / name).stat().st_ino for name in ("pid", "user")}
    monkeypatch.setattr(containers, "_HOST_NAMESPACES", inodes)
    container = containers.read(4711, tmp_path / "root", tmp_path / "proc")
    if directory.stat().st_uid == 0:
        assert container is not None
        assert container.shown_pod == "prod/orders-7f9c"


def test_docker_keeps_name_and_image(tmp_path: Path) -> None:
    proc(tmp_path, groups=GROUPS["docker, version 1"][0])
    state = {"Name": "/shop-web-1", "Config": {"Image": "acme/shop:17", "Labels": {"maintainer": "x"}}}
    write(tmp_path, f"var/lib/docker/containers/{ID}/config.v2.json", state)
    assert read(tmp_path) == Container(ID, "docker", "shop-web-1", image="acme/shop:17")


def test_podman_keeps_name_and_image_in_one_file(tmp_path: Path) -> None:
    proc(tmp_path, groups=GROUPS["podman"][0])
    metadata = json.dumps({"name": "web", "image-name": "localhost/shop:17", "created-at": 1700000000})
    entries = [7, {"id": OTHER, "metadata": "{}"}, {"id": ID, "names": ["web"], "metadata": metadata}]
    write(tmp_path, "var/lib/containers/storage/overlay-containers/containers.json", entries)
    assert read(tmp_path) == Container(ID, "podman", "web", image="localhost/shop:17")


def test_a_container_of_runc_alone_has_any_name(tmp_path: Path) -> None:
    proc(tmp_path, groups="4:memory:/shop-1\n0::/shop-1\n")
    state = {"id": "shop-1", "cgroup_paths": {"": "/sys/fs/cgroup/shop-1", "memory": "/sys/fs/cgroup/memory/shop-1"}}
    path = write(tmp_path, "run/runc/shop-1/state.json", state)
    assert read(tmp_path) == Container("shop-1", "runc")
    path.write_text(json.dumps(state | {"cgroup_paths": {"": "/sys/fs/cgroup/shop-11"}}))
    assert read(tmp_path) is None, "another group has that name"


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "null",
        '{"annotations": 7}',
        '{"annotations": {"io.kubernetes.cri.sandbox-name": ["x"]}}',
        "[" * 100_000,
        '{"annotations": {"io.kubernetes.cri.sandbox-name": "a\\u001b[2Jb", "io.kubernetes.cri.image-name": "a b"}}',
        json.dumps({"annotations": {"io.kubernetes.cri.sandbox-name": "p" * 254}}),
    ],
)
def test_state_of_another_form_tells_nothing(content: str, tmp_path: Path) -> None:
    proc(tmp_path, groups=IN_POD)
    write(tmp_path, BUNDLES["containerd"], content)
    container = read(tmp_path)
    assert container is not None
    assert (container.id, container.pod, container.image, container.namespace) == (ID, "", "", "")


def test_state_that_others_can_write_is_not_read(tmp_path: Path) -> None:
    proc(tmp_path, groups=IN_POD)
    write(tmp_path, BUNDLES["containerd"], {"annotations": ANNOTATIONS["containerd"]}).chmod(0o666)
    assert read(tmp_path) == Container(ID, pod_uid=UID)


@pytest.mark.parametrize("case", ["in a node that is a container", "docker, rootless"])
def test_a_container_that_no_runtime_of_this_machine_made_gets_no_name_of_one(case: str, tmp_path: Path) -> None:
    """A container, or a user who may create control groups, could choose the id of another container."""
    proc(tmp_path, groups=GROUPS[case][0])
    write(tmp_path, BUNDLES["containerd"], {"annotations": ANNOTATIONS["containerd"]})
    write(tmp_path, f"var/lib/docker/containers/{ID}/config.v2.json", {"Config": {"Image": "acme/shop:17"}})
    assert read(tmp_path) == GROUPS[case][1]


def test_kubelet_names_the_pod_in_its_log_directories(tmp_path: Path) -> None:
    proc(tmp_path, groups=IN_POD)
    (tmp_path / "host" / "var/log/pods" / f"prod_orders-7f9c_{UID}").mkdir(parents=True)
    assert read(tmp_path) == Container(ID, pod_uid=UID, pod="orders-7f9c", namespace="prod")
    write(tmp_path, f"var/log/containers/orders-7f9c_prod_app-{ID}.log", "")
    assert read(tmp_path) == Container(ID, name="app", pod_uid=UID, pod="orders-7f9c", namespace="prod")


def test_a_log_directory_that_others_can_write_to_tells_nothing(tmp_path: Path) -> None:
    proc(tmp_path, groups=IN_POD)
    logs = tmp_path / "host" / "var/log/pods"
    (logs / f"prod_orders-7f9c_{UID}").mkdir(parents=True)
    logs.chmod(0o777)
    assert read(tmp_path) == Container(ID, pod_uid=UID)


@pytest.mark.parametrize(
    ("file", "variable", "pod"),
    [
        (b"orders-7f9c\n", b"other", "orders-7f9c"),
        (b"", b"orders-7f9c", "orders-7f9c"),
        (b"\x1b[2Jevil\n", b"orders-7f9c", "orders-7f9c"),
        (b"x" * 100_000, b"y" * 100_000, ""),
        (b"Orders\n", b"..", ""),
        (b"\xff\xfe", b"\xff", ""),
    ],
)
def test_the_host_name_of_a_pod_is_its_name(file: bytes, variable: bytes, pod: str, tmp_path: Path) -> None:
    proc(tmp_path, groups=IN_POD, environment=b"PATH=/bin\0HOSTNAME=" + variable + b"\0A\0=\0")
    (tmp_path / "root" / "etc" / "hostname").write_bytes(file)
    assert read(tmp_path) == Container(ID, pod_uid=UID, pod=pod)


@pytest.mark.parametrize("linked", ["hostname", "etc"])
def test_a_link_in_the_root_directory_of_a_container_is_not_followed(linked: str, tmp_path: Path) -> None:
    proc(tmp_path, groups=IN_POD)
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "hostname").write_text("of-the-machine\n")
    etc = tmp_path / "root" / "etc"
    if linked == "etc":
        etc.rmdir()
        etc.symlink_to(tmp_path / "secret")
    else:
        (etc / "hostname").symlink_to(tmp_path / "secret" / "hostname")
    assert read(tmp_path) == Container(ID, pod_uid=UID)


def test_a_pipe_in_place_of_the_host_name_does_not_block(tmp_path: Path) -> None:
    proc(tmp_path, groups=IN_POD)
    os.mkfifo(tmp_path / "root" / "etc" / "hostname")
    assert read(tmp_path) == Container(ID, pod_uid=UID)


def test_the_name_of_the_machine_is_not_that_of_a_pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With hostNetwork a pod has no host name of its own."""
    directory = proc(tmp_path, groups=IN_POD, environment=b"HOSTNAME=node-1\0")
    monkeypatch.setattr(containers, "_HOST_UTS", os.stat(directory / "4711" / "ns" / "uts").st_ino)
    assert read(tmp_path) == Container(ID, pod_uid=UID)


def test_a_process_outside_of_pods_has_no_pod_whatever_its_host_name(tmp_path: Path) -> None:
    proc(tmp_path, groups=GROUPS["docker, systemd"][0], environment=b"HOSTNAME=orders-7f9c\0")
    assert read(tmp_path) == Container(ID, "docker")


@given(st.text(max_size=200), st.text(max_size=200), st.binary(max_size=200))
def test_no_text_breaks_the_reader(groups: str, mounts: str, environment: bytes) -> None:
    container, _ = containers._from_groups(f"0::/docker/{ID}{groups}\n{groups}")
    assert container.id in ("", ID)
    containers._from_mounts(mounts + mount(groups, mounts) + mounts)


@pytest.fixture
def place_containers(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[int, Container]], None]:
    """Puts JVMs into containers by their pids, and hides all others."""

    def place(places: dict[int, Container]) -> None:
        list_jvms = processes.list_jvms
        monkeypatch.setattr(processes, "list_jvms", lambda: [jvm for jvm in list_jvms() if jvm.pid in places])
        monkeypatch.setattr(JvmProcess, "container", property(lambda process: places.get(process.pid)))

    return place


def test_containers_and_pods_name_the_jvm_in_them(place_containers: Callable[[dict[int, Container]], None]) -> None:
    with counted(17) as one, counted(17) as two:
        place_containers(
            {
                one.pid: Container(ID, "docker", "web", pod_uid=UID, pod="orders-1", namespace="prod"),
                two.pid: Container(OTHER, "docker", "app", pod_uid=STATIC, pod="orders-12", namespace="prod"),
            }
        )
        for target, name in (
            (one, f"container/{ID[:4]}"),
            (one, f"container/{ID}"),
            (one, "container/web"),
            (one, "pod/orders-1"),
            (one, "pod/prod/orders-1"),
            (one, f"pod/{UID}"),
            (two, "container/aa"),
            (two, "pod/12"),
            (two, "pod/prod/12"),
        ):
            assert processes.find(name).pid == target.pid, name
        for both in ("pod/orders", "pod/prod/orders"):
            assert [jvm.pid for jvm in processes.find_all(both)] == sorted((one.pid, two.pid))
        with pytest.raises(AttachError, match="2 JVMs match 'pod/orders'") as caught:
            processes.find("pod/orders")
        assert caught.value.code == "BT512"
        assert "btpy --all pod/orders …" in caught.value.help[0]
        lines = sorted(caught.value.help[1:])
        assert [f"container {ID[:12]} web, pod prod/orders-1" in line for line in lines].count(True) == 1
        assert all(any(line.startswith(f"{target.pid} Counted") for line in lines) for target in (one, two))


@pytest.mark.parametrize("name", ["container/ff", "pod/payments", "pod/prod/orders", "container/", "pod/"])
def test_a_name_of_no_container_lists_those_that_there_are(
    name: str, place_containers: Callable[[dict[int, Container]], None]
) -> None:
    with counted(17) as target:
        place_containers({target.pid: Container(ID, pod_uid=UID, pod="orders-1")})
        with pytest.raises(AttachError) as caught:
            processes.find(name)
        assert caught.value.code == "BT511"
        assert caught.value.help[0] == "running in containers:"
        assert f"container {ID[:12]}, pod orders-1" in caught.value.help[1]


def test_without_containers_the_remedy_is_another_place_to_run(
    place_containers: Callable[[dict[int, Container]], None],
) -> None:
    place_containers({})
    with pytest.raises(AttachError, match="btpy sees no JVM in a container") as caught:
        processes.find_all("pod/orders")
    assert caught.value.code == "BT511"
    assert "sudo btpy pod/orders …" in caught.value.help[0]
