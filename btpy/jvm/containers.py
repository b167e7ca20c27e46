"""The container and the pod in which a process runs, found from outside: btpy asks no runtime and starts no process.

The kernel names the control group of the process (``/proc/PID/cgroup``). Container runtimes put the id of the
container into that name, and kubelet puts the uid of the pod into it. If btpy shares the container, or runs beside it,
the group has no name. In this case btpy reads the ids from the sources of the mounts (``/proc/PID/mountinfo``). Names
and images come from the state files of the runtimes and from the log directories of kubelet, which belong to root.

These texts may be false, because a process that may make control groups or mounts can choose them. Therefore btpy
limits their lengths and drops invalid names. It follows no link in the root directory of the process, and looks up
state files only for ids that the runtimes of this machine can have given.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from itertools import islice
from pathlib import Path
from typing import Any

from btpy import files
from btpy.dataclass import dataclass
from btpy.errors import UsageError
from btpy.jvm import procfs

PREFIXES = ("container", "pod")
"""The beginnings of the names ``container/ID`` and ``pod/NAME``. With such a name, a user selects the JVM in a
container or pod."""

_SHORT = 12  # characters of an id, as in docker ps
_MAX_GROUPS, _MAX_MOUNTS, _MAX_STATE = 64 << 10, 1 << 20, 8 << 20  # bytes
_MAX_HOSTNAME, _MAX_STATUS = 256, 8192
_MAX_ENTRIES = 20_000  # characters of the name of a directory of logs
_HOST_UTS = 0xEFFFFFFE  # the inode of the first UTS namespace, which has the host name of the machine
_HOST_NAMESPACES = {"pid": 0xEFFFFFFC, "user": 0xEFFFFFFD}  # the inodes of the machine's own namespaces
_MAX_ANCESTORS = 32

# Compiled at the first use.
_ID = r"[0-9a-f]{64}"
_UID = r"[0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32}"  # the second form: a pod that a file defines
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_POD = r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?"
_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}"
_IMAGE = r"[A-Za-z0-9][A-Za-z0-9_.:/@+-]{0,254}"

_SCOPE = rf"(?:(docker|cri-containerd|nerdctl|crio|libpod)-)?({_ID})(?:\.scope)?"
_POD_GROUP = rf"(?:[a-z]+-){{0,4}}pod({_UID})(?:\.slice)?"
_PODMAN_POD_GROUP = rf"(?:machine-|user-)?libpod_pod_({_ID})(?:\.slice)?"
_RUNTIMES = {
    "docker": "docker",
    "cri-containerd": "containerd",
    "nerdctl": "containerd",
    "crio": "cri-o",
    "libpod": "podman",
}

# The source of a mount in its file system, then the place where the container sees it.
_DOCKER_MOUNT = rf"\S*/containers/({_ID})/(?:hostname|hosts|resolv\.conf) /etc/(?:hostname|hosts|resolv\.conf)"
_PODMAN_MOUNT = rf"\S*/overlay-containers/({_ID})/userdata/\S+ /run/\.containerenv"
_KUBELET_MOUNT = (
    rf"\S*/pods/({_UID})/(?:etc-hosts /etc/hosts|containers/([a-z0-9-]{{1,63}})/[0-9a-f]+ /dev/termination-log)"
)


@dataclass(frozen=True, slots=True)
class Container:
    """``id``: 64 hexadecimal digits, or the name that runc was given; ``name``: its name in its runtime, in Kubernetes
    the name in the pod. ``runtime``: docker, containerd, cri-o, podman or runc. Unknown fields are empty.
    """

    id: str = ""
    runtime: str = ""
    name: str = ""
    pod_uid: str = ""
    pod: str = ""
    namespace: str = ""
    image: str = ""

    @property
    def short_id(self) -> str:
        return self.id[:_SHORT] if re.fullmatch(_ID, self.id) else self.id

    @property
    def shown_pod(self) -> str:
        """The namespace and name of the pod, or its uid if the name is not known."""
        name = f"{self.namespace}/{self.pod}" if self.namespace else self.pod
        return name if self.pod else self.pod_uid

    @property
    def description(self) -> str:
        """The text for the container and its pod in lists of messages."""
        container = self.id and f"container {self.short_id}" + (f" {self.name}" if self.name else "")
        return ", ".join(filter(None, (container, self.shown_pod and f"pod {self.shown_pod}")))

    def is_called(self, prefix: str, name: str) -> bool:
        """Whether ``name`` is the whole name or id of the container or pod."""
        if prefix == "pod":
            return name in filter(None, (self.pod, f"{self.namespace}/{self.pod}", self.pod_uid))
        return name in filter(None, (self.id, self.name))

    def fits(self, prefix: str, name: str) -> bool:
        """Whether ``name`` is the beginning of the container's id, or a part of its pod's name, with or without the
        namespace in front."""
        if prefix != "pod":
            return bool(name) and self.id.startswith(name)
        namespace, slash, part = name.rpartition("/")
        return bool(part) and part in self.pod and (not slash or namespace == self.namespace)


def read(pid: int, root: Path, proc: Path = Path("/proc"), host: Path | None = None) -> Container | None:
    """The container of a process; None: no container is visible. ``root``: the root directory of the process. ``host``:
    the root directory with the files of runtimes and kubelet, by default the root directory of this process or of the
    machine.
    """
    directory = proc / str(pid)
    hosts = [host] if host is not None else _host_roots(pid, proc)
    groups = procfs.text(directory / "cgroup", _MAX_GROUPS)
    container, is_of_host = _from_groups(groups)
    for host in hosts:
        if is_of_host:
            container = _completed(container, _from_state(container, host))
        elif not container.id:
            container = _of_runc(groups, host)
    container = _completed(container, _from_mounts(procfs.text(directory / "mountinfo", _MAX_MOUNTS)))
    if not container.id and not container.pod_uid:
        return None
    for host in hosts:
        if container.pod_uid and not container.pod:
            container = _completed(container, _from_logs(container, host))
    if container.pod_uid and not container.pod:
        container = replace(container, pod=_hostname(directory, root))
    return container


def _host_roots(pid: int, proc: Path) -> list[Path]:
    """The root directory of btpy and, in a container that shares the pid namespace of the machine, the root directory
    of the machine. Process 1 has the machine's root directory, or the oldest ancestor of the process has it (for
    example the part of containerd that holds the container).
    """
    if _is_of_host(1, proc):
        return [Path("/"), proc / "1" / "root"]
    ancestor = _oldest(pid, proc)
    return [Path("/"), proc / str(ancestor) / "root"] if _is_of_host(ancestor, proc) else [Path("/")]


def _is_of_host(pid: int, proc: Path) -> bool:
    """Whether root started the process outside of all containers."""
    directory = proc / str(pid)
    with contextlib.suppress(OSError):
        inodes = {name: os.stat(directory / "ns" / name).st_ino for name in _HOST_NAMESPACES}
        return inodes == _HOST_NAMESPACES and os.stat(directory).st_uid == 0
    return False


def _oldest(pid: int, proc: Path) -> int:
    """The ancestor whose parent is process 1."""
    for _ in range(_MAX_ANCESTORS):
        parent = re.search(r"^PPid:\t(\d+)$", procfs.text(proc / str(pid) / "status", _MAX_STATUS), re.MULTILINE)
        if parent is None or int(parent[1]) <= 1:
            break
        pid = int(parent[1])
    return pid


def _completed(container: Container, other: Container) -> Container:
    """The container with the additional fields of ``other``."""
    return Container(*(getattr(container, field.name) or getattr(other, field.name) for field in fields(Container)))


def _from_groups(groups: str) -> tuple[Container, bool]:
    """The innermost container that a control group names, and whether a runtime of this machine can have made that
    container. A group inside of another container or below a user's group does not count, because that user can choose
    its name.
    """
    for path in _paths(groups):
        segments = re.split("[/:]", path)
        scopes = [at for at, segment in enumerate(segments) if _scope(segments, at)]
        if scopes:
            at = scopes[-1]
            runtime, id_ = _scope(segments, at) or ("", "")
            uid = next(filter(None, map(_pod_of, reversed(segments[:at]))), "")
            is_of_host = len(scopes) == 1 and "user.slice" not in segments
            return Container(id=id_, runtime=runtime, pod_uid=uid), is_of_host
    return Container(), False


def _paths(groups: str) -> Iterator[str]:
    return (line.split(":", 2)[2] for line in groups.split("\n") if line.count(":") >= 2)


def _scope(segments: list[str], at: int) -> tuple[str, str] | None:
    """The runtime and the id of the container that a part of a path names. In old forms the runtime is the previous
    part of the path.
    """
    match = re.fullmatch(_SCOPE, segments[at])
    if match is None:
        return None
    return _RUNTIMES.get(match[1] or (segments[at - 1] if at else ""), ""), match[2]


def _pod_of(segment: str) -> str:
    match = re.fullmatch(_POD_GROUP, segment)
    if match is not None:
        return match[1].replace("_", "-")
    match = re.fullmatch(_PODMAN_POD_GROUP, segment)
    return match[1] if match is not None else ""


def _from_mounts(mounts: str) -> Container:
    """The facts in the files that a runtime and kubelet have mounted into the container."""
    container = Container()
    for line in mounts.split("\n"):
        mount = " ".join(line.split(" ", 5)[3:5])
        if match := re.fullmatch(_KUBELET_MOUNT, mount):
            container = _completed(container, Container(pod_uid=match[1], name=match[2] or ""))
        elif match := re.fullmatch(_DOCKER_MOUNT, mount):
            container = _completed(container, Container(id=match[1], runtime="docker"))
        elif match := re.fullmatch(_PODMAN_MOUNT, mount):
            container = _completed(container, Container(id=match[1], runtime="podman"))
    return container


def _hostname(directory: Path, root: Path) -> str:
    """The name of the pod, which is the host name of the container; empty if the container has the host name of the
    machine."""
    try:
        if os.stat(directory / "ns" / "uts").st_ino == _HOST_UTS:
            return ""
    except OSError:
        return ""
    for text in (_hostname_file(root), procfs.environment(directory).get("HOSTNAME", "")):
        if name := _valid(text.strip(), _POD):
            return name
    return ""


def _hostname_file(root: Path) -> str:
    flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    with (
        contextlib.suppress(OSError),
        files.closing(files.open_path(root)) as top,
        files.closing(os.open("etc", flags, dir_fd=top)) as etc,
    ):
        return files.read_foreign("hostname", _MAX_HOSTNAME, directory=etc).decode("ascii", "replace")
    return ""


def _of_runc(groups: str, host: Path) -> Container:
    """The container that a user created with runc. Its id can have any form, but the state file of this id must name
    the same control group."""
    for path in _paths(groups):
        id_ = path.rpartition("/")[2].rpartition(":")[2]
        if _valid(id_, _NAME):
            state = _json(host / "run" / "runc" / id_ / "state.json")
            directories = _members(state, "cgroup_paths").values()
            if state.get("id") == id_ and any(str(directory).endswith(path) for directory in directories):
                return Container(id=id_, runtime="runc")
    return Container()


def _from_state(container: Container, host: Path) -> Container:
    """The facts in the state files of the runtime. If the control group does not name the runtime, all runtimes are
    tried."""
    readers = {"docker": _docker, "containerd": _containerd, "cri-o": _crio, "podman": _podman}
    runtimes = [container.runtime] if container.runtime else ["containerd", "cri-o", "docker"]
    for runtime in runtimes:
        reader = readers.get(runtime)
        facts = reader(container.id, host) if reader is not None else Container()
        if facts != Container():
            return replace(facts, runtime=runtime)
    return Container()


def _docker(id_: str, host: Path) -> Container:
    state = _json(host / "var/lib/docker/containers" / id_ / "config.v2.json")
    config = _members(state, "Config")
    facts = _annotated(_members(config, "Labels"), "io.kubernetes.container.name", "io.kubernetes.pod", "")
    name = _valid(str(state.get("Name", "")).removeprefix("/"), _NAME)
    return replace(facts, name=facts.name or name, image=_valid(config.get("Image"), _IMAGE))


def _containerd(id_: str, host: Path) -> Container:
    for namespace in ("k8s.io", "default"):
        bundle = host / "run/containerd/io.containerd.runtime.v2.task" / namespace / id_
        annotations = _members(_json(bundle / "config.json"), "annotations")
        if annotations:
            name = "io.kubernetes.cri.container-name" if namespace == "k8s.io" else "nerdctl/name"
            return _annotated(annotations, name, "io.kubernetes.cri.sandbox", "io.kubernetes.cri.image-name", "-")
    return Container()


def _crio(id_: str, host: Path) -> Container:
    bundle = host / "run/containers/storage/overlay-containers" / id_ / "userdata"
    annotations = _members(_json(bundle / "config.json"), "annotations")
    image = "io.kubernetes.cri-o.ImageName"
    return _annotated(annotations, "io.kubernetes.container.name", "io.kubernetes.pod", image)


def _podman(id_: str, host: Path) -> Container:
    entries = _json(host / "var/lib/containers/storage/overlay-containers/containers.json")
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and entry.get("id") == id_:
            metadata = _parsed(entry.get("metadata"))
            return Container(name=_valid(metadata.get("name"), _NAME), image=_valid(metadata.get("image-name"), _IMAGE))
    return Container()


def _annotated(annotations: dict[str, Any], name: str, pod: str, image: str, separator: str = ".") -> Container:
    """``pod``: the beginning of the keys of the pod's name, namespace and uid."""
    return Container(
        name=_valid(annotations.get(name), _NAME),
        pod_uid=_valid(annotations.get(f"{pod}{separator}uid"), _UID),
        pod=_valid(annotations.get(f"{pod}{separator}name"), _POD),
        namespace=_valid(annotations.get(f"{pod}{separator}namespace"), _LABEL),
        image=_valid(annotations.get(image), _IMAGE),
    )


def _from_logs(container: Container, host: Path) -> Container:
    """The facts in the names that kubelet gives to directories (NAMESPACE_POD_UID) and links
    (POD_NAMESPACE_CONTAINER-ID.log) of logs.
    """
    facts = Container()
    for entry in _entries(host / "var/log/containers", f"-{container.id}.log") if container.id else ():
        pod, namespace, name = [*entry.removesuffix(f"-{container.id}.log").split("_"), "", ""][:3]
        facts = Container(name=_valid(name, _LABEL), pod=_valid(pod, _POD), namespace=_valid(namespace, _LABEL))
    for entry in _entries(host / "var/log/pods", f"_{container.pod_uid}"):
        namespace, pod = [*entry.split("_"), ""][:2]
        facts = _completed(facts, Container(pod=_valid(pod, _POD), namespace=_valid(namespace, _LABEL)))
    return facts


def _entries(directory: Path, end: str) -> Iterable[str]:
    """The file names that end with ``end``, in a directory that only root can write to."""
    try:
        files.require_trusted(directory)
        with os.scandir(directory) as entries:
            return [entry.name for entry in islice(entries, _MAX_ENTRIES) if entry.name.endswith(end)]
    except (OSError, UsageError):
        return ()


def _json(path: Path) -> Any:
    """A state file; an empty object if it cannot be read, is not trusted or has another form."""
    try:
        with files.open_trusted(path) as file:
            return _parsed(file.read(_MAX_STATE))
    except (OSError, UsageError):
        return {}


def _parsed(text: object) -> Any:
    import json  # imported only if there are containers

    try:
        return json.loads(text) if isinstance(text, (str, bytes)) else {}
    except (ValueError, RecursionError):
        return {}


def _members(value: object, name: str) -> dict[str, Any]:
    """The JSON object with this name in a JSON object; empty if there is none."""
    member = value.get(name) if isinstance(value, dict) else None
    return member if isinstance(member, dict) else {}


def _valid(text: object, pattern: str) -> str:
    """The name, or empty if it is not a valid name."""
    return text if isinstance(text, str) and re.fullmatch(pattern, text) else ""
