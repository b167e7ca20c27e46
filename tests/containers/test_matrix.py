"""Containers with fewer files and rights than usual: btpy traces each JVM, or says what is missing and what to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.containers.cells import (
    Cell,
    assert_traced,
    bind,
    cell,
    first_process,
    needs_root,
    passable,
    readable_cache,
    refusal,
    require,
    specification,
    with_files_of_this_machine,
)
from tests.jdks import QUICK_TOOL, java_home
from tests.live.scripts import counted_classes

pytestmark = needs_root

Specification = dict[str, Any]

FORBIDDEN_CALLS = (
    *("add_key", "bpf", "clock_settime", "init_module", "kexec_load", "keyctl", "mount", "perf_event_open"),
    *("pivot_root", "process_vm_readv", "process_vm_writev", "ptrace", "reboot", "request_key", "setns", "swapon"),
    *("umount2", "unshare", "userfaultfd"),
)
"""Calls of the system that Docker's profile forbids to a program without capabilities."""


def without_rights(content: Specification) -> None:
    """As ``docker run --cap-drop=ALL --security-opt=no-new-privileges`` with the usual seccomp profile."""
    content["process"]["capabilities"] = {}
    content["process"]["noNewPrivileges"] = True
    content["linux"]["seccomp"] = {
        "defaultAction": "SCMP_ACT_ALLOW",
        "syscalls": [{"names": list(FORBIDDEN_CALLS), "action": "SCMP_ACT_ERRNO"}],
    }


def read_only(content: Specification) -> None:
    content["root"]["readonly"] = True


def user_of_no_file(content: Specification) -> None:
    """A user that /etc/passwd does not know."""
    content["process"]["user"] = {"uid": 54321, "gid": 54321}


def user_1000(content: Specification) -> None:
    content["process"]["user"] = {"uid": 1000, "gid": 1000}


def users_of_its_own(content: Specification) -> None:
    """The root of the container is an ordinary user outside."""
    content["linux"]["namespaces"].append({"type": "user"})
    os.chown(content["root"]["path"], 165536, 165536)  # it makes the directories of the mounts
    for mapping in ("uidMappings", "gidMappings"):
        content["linux"][mapping] = [{"containerID": 0, "hostID": 165536, "size": 65536}]


def little_memory(content: Specification) -> None:
    content["linux"]["cgroupsPath"] = f"/btpy-test-{uuid.uuid4().hex[:12]}"
    content["linux"]["resources"] = {"memory": {"limit": 96 << 20}}
    content["mounts"].append({"destination": "/sys/fs/cgroup", "type": "cgroup", "source": "cgroup", "options": ["ro"]})


def tmp_without_space(content: Specification) -> None:
    tmp_of(content)["options"] += ["size=4k"]


def tmp_without_files(content: Specification) -> None:
    tmp_of(content)["options"] += ["nr_inodes=2"]  # the directory itself, and the performance data of the JVM


def tmp_read_only(content: Specification) -> None:
    tmp_of(content)["options"] += ["ro"]


def no_tmp(content: Specification) -> None:
    content["mounts"].remove(tmp_of(content))


def tmp_of(content: Specification) -> Specification:
    (tmp,) = [mount for mount in content["mounts"] if mount["destination"] == "/tmp"]
    return tmp  # type: ignore[no-any-return]


@contextmanager
def contained(directory: Path, content: Specification, jdk: int) -> Iterator[Cell]:
    """The program as the only process of a container."""
    with (
        readable_cache(),
        passable(directory),
        first_process(directory, content) as prefix,
        cell(jdk, prefix=prefix) as target_cell,
    ):
        yield target_cell


def changed(directory: Path, change: Callable[[Specification], None]) -> Specification:
    """The usual container of the tests, except for one change."""
    content = with_files_of_this_machine(directory)
    change(content)
    return content


@pytest.mark.parametrize(
    "change",
    [without_rights, read_only, user_of_no_file, user_1000, users_of_its_own, little_memory],
    ids=lambda change: change.__name__,
)
@pytest.mark.parametrize("jdk", [8, 25])
def test_a_jvm_is_traced(change: Callable[[Specification], None], jdk: int, tmp_path: Path) -> None:
    with contained(tmp_path, changed(tmp_path, change), jdk) as target_cell:
        assert target_cell.process.namespace_pid == 1
        assert_traced(target_cell)
        target_cell.assert_undisturbed()


@pytest.mark.parametrize(
    ("change", "reason", "remedy"),
    [
        (tmp_without_space, "no space left on device", "df /proc/"),
        (tmp_without_files, "no space left on device", "df -i /proc/"),
        (tmp_read_only, "read-only file system", "docker run --tmpfs /tmp"),
        (no_tmp, "no such file or directory", "docker run --tmpfs /tmp"),
    ],
)
def test_a_tmp_that_cannot_be_used_is_named(
    change: Callable[[Specification], None], reason: str, remedy: str, tmp_path: Path
) -> None:
    with contained(tmp_path, changed(tmp_path, change), 17) as target_cell:
        message = refusal(target_cell)
        assert f"btpy cannot work in the /tmp of the JVM {target_cell.process.pid}: {reason}" in message
        assert remedy in message
        target_cell.assert_undisturbed()


def of_an_image(directory: Path, modules: str, *options: str) -> Specification:
    """A container with a runtime image of these modules and the libraries that it needs. It has no shell. ``options``:
    more options of jlink.
    """
    require("runc", "jlink")
    rootfs = directory / "rootfs"
    image = inside(rootfs, java_home(17))
    image.parent.mkdir(parents=True)
    jlink = ["jlink", *QUICK_TOOL, "--add-modules", modules, *options, "--no-man-pages", "--output", str(image)]
    subprocess.run(jlink, check=True, capture_output=True)
    for library in needed_libraries(image):
        place = inside(rootfs, library)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, place)
    classes = counted_classes(17)
    for place in (inside(rootfs, classes), *(rootfs / name for name in ("dev", "proc", "tmp"))):
        place.mkdir(parents=True)
    content = specification(directory)
    content["root"] = {"path": str(rootfs), "readonly": True}
    tmp = {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["mode=1777"]}
    content["mounts"] += [tmp, bind(classes, str(classes))]
    return content


def inside(rootfs: Path, path: Path) -> Path:
    """The place in the container's root directory that its programs see at this path."""
    return rootfs / path.relative_to("/")


def needed_libraries(home: Path) -> set[Path]:
    """The libraries of this machine that a runtime image loads."""
    files = [home / "bin/java", *home.rglob("*.so")]
    listed = subprocess.run(["ldd", *files], check=True, capture_output=True, text=True).stdout
    paths = {Path(word) for word in listed.split() if word.startswith("/") and not word.endswith(":")}
    return {path for path in paths if not path.is_relative_to(home)}


def test_a_runtime_image_without_a_shell_is_traced(tmp_path: Path) -> None:
    with contained(tmp_path, of_an_image(tmp_path, "java.instrument", "--strip-debug"), 17) as target_cell:
        assert not (tmp_path / "rootfs/bin").exists()
        assert_traced(target_cell)
        target_cell.assert_undisturbed()


def test_a_runtime_image_without_agents_is_named(tmp_path: Path) -> None:
    with contained(tmp_path, of_an_image(tmp_path, "java.base"), 17) as target_cell:
        message = refusal(target_cell)
        assert "the JVM needs the module java.instrument" in message
        target_cell.assert_undisturbed()
