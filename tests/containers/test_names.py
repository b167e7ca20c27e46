"""Containers and pods of runc, in control groups with the names that Docker and kubelet give. btpy ps shows the
containers and pods, and their names select the JVM inside.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tests.cli.test_command import btpy
from tests.containers.cells import Cell, cell, container, needs_root
from tests.tracer import tracing

pytestmark = needs_root

UID = "2ec8a8b9-6d1e-4b6c-9f70-1a2b3c4d5e6f"
CALLS = 1013


def unique_id() -> str:
    return os.urandom(32).hex()


def row(target_cell: Cell) -> dict[str, Any]:
    rows = {row["pid"]: row for row in map(json.loads, btpy("ps", "--json").stdout.splitlines())}
    columns: dict[str, Any] = rows[target_cell.process.pid]
    return columns


def assert_traced_as(name: str, target_cell: Cell) -> None:
    with tracing(name, "-e", "Counted::step { @n = count() }") as tracer:
        target_cell.target.send(f"call {CALLS}")
        target_cell.target.wait_for("called")
        assert tracer.stop() == 0
        tracer.check_complete()
        assert tracer.maps() == {"n": CALLS}
    target_cell.assert_undisturbed()


def test_a_container_of_docker_is_shown_and_traced_by_its_id(tmp_path: Path) -> None:
    id_ = unique_id()
    with container(tmp_path, user=0, group=f"/docker/{id_}") as inside, cell(17, prefix=inside) as target_cell:
        columns = row(target_cell)
        assert (columns["container_id"], columns["runtime"], columns["pod"]) == (id_, "docker", None)
        head, *lines = btpy("ps").stdout.splitlines()
        (line,) = [line for line in lines if line.split()[0] == str(target_cell.process.pid)]
        assert "CONTAINER" in head.split()
        assert id_[:12] in line.split()
        assert f"container {id_[:12]}" in btpy("doctor", f"container/{id_}").stdout
        assert_traced_as(f"container/{id_[:20]}", target_cell)


def test_a_pod_is_shown_and_traced_by_the_host_name_of_its_containers(tmp_path: Path) -> None:
    id_, pod = unique_id(), f"orders-{os.urandom(4).hex()}"
    group = f"/kubepods/burstable/pod{UID}/{id_}"
    with (
        container(tmp_path, user=0, group=group, hostname=pod) as inside,
        cell(17, prefix=inside) as target_cell,
    ):
        columns = row(target_cell)
        assert (columns["container_id"], columns["pod_uid"], columns["pod"]) == (id_, UID, pod)
        assert_traced_as(f"pod/{pod}", target_cell)
