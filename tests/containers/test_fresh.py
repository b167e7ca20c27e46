"""btpy in a new container that has Python and the wheel only: it traces JVMs of other containers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from btpy.distribution import NAME
from tests.containers.cells import ROOT, SCRIPT, assert_counts, cell, container, needs_root
from tests.containers.fresh import ENVIRONMENT, download, install, printed, python_root, tracing_container
from tests.containers.test_names import unique_id
from tests.targets import Target
from tests.wheels import pure_wheel

pytestmark = [needs_root, pytest.mark.proof]

BTPY = f"{ENVIRONMENT}/bin/btpy"


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, ...]]:
    """The prefix that starts a command in the container, in which pip has installed btpy."""
    directory, wheels = tmp_path_factory.mktemp("python"), tmp_path_factory.mktemp("wheels")
    root = python_root(directory)
    pure_wheel(ROOT, wheels)
    download("runtime.lock", wheels)
    with tracing_container(root, wheels, directory) as prefix:
        install(prefix, NAME)
        yield prefix


def test_the_container_has_neither_java_nor_a_network(inside: tuple[str, ...]) -> None:
    assert printed(inside, "sh", "-c", "command -v java; find / -xdev -name 'libjvm*'") == ""
    interfaces = "import socket; print(*(name for _, name in socket.if_nameindex()))"
    assert printed(inside, "python3", "-c", interfaces) == "lo"


@pytest.mark.parametrize("jdk", [17, 25])
def test_a_jvm_of_another_container_is_listed_and_traced(jdk: int, inside: tuple[str, ...], tmp_path: Path) -> None:
    id_ = unique_id()
    with (
        container(tmp_path, user=1000, group=f"/docker/{id_}") as other,
        cell(jdk, prefix=other, readable=True) as jvm_cell,
    ):
        rows = {row["pid"]: row for row in map(json.loads, printed(inside, BTPY, "ps", "--json").splitlines())}
        row = rows[jvm_cell.process.pid]
        assert (row["container_id"], row["runtime"]) == (id_, "docker")
        btpy = Target([*inside, BTPY, f"container/{id_}", "-e", SCRIPT, "--budget", "off"])
        try:
            assert_counts(btpy, jvm_cell)
        finally:
            btpy.stop()
