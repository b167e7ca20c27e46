"""``btpy ps``: its table of JVMs, on wide and narrow terminals and in pipes."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from btpy.cli.ps import _members, table
from btpy.jvm import problems
from btpy.jvm.containers import Container
from btpy.jvm.processes import JvmProcess, describe
from tests.cli.test_command import btpy
from tests.live.scripts import counted, waited
from tests.tracer import tracing


def jvm(**facts: Any) -> JvmProcess:
    plain = JvmProcess(
        pid=4711,
        uid=1000,
        gid=1000,
        user="shop",
        main="com.acme.shop.OrderApp",
        name="",
        command=("java", "com.acme.shop.OrderApp", "--port=80"),
        java_version="17.0.15",
        vm_name="OpenJDK 64-Bit Server VM",
        java_home="/opt/jdk",
        start_ticks=0,
        namespace_pid=4711,
        root=Path("/"),
        obstacle=None,
    )
    return replace(plain, **facts)


@pytest.fixture(autouse=True)
def uptime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(JvmProcess, "uptime", 3 * 86_400 + 3_723.5)
    monkeypatch.setattr(JvmProcess, "session_count", 0)
    monkeypatch.setattr(JvmProcess, "container", None)


OTHERS = [
    jvm(name="orders"),
    jvm(pid=99, user="root", java_version="", main="app\x1b[2J.jar", obstacle=problems.attach_disabled(99)),
    jvm(pid=100, root=Path("/proc/100/root")),
]

PLACES = {
    4711: Container(id="0123456789ab" + "c" * 52, runtime="docker", name="web", image="acme/shop:17"),
    100: Container(id="fedcba987654" + "c" * 52, pod_uid="1-2-3", pod="orders-7f9c", namespace="prod"),
}


def test_in_a_pipe_a_jvm_has_one_line() -> None:
    assert table(OTHERS, None) == [
        " PID  USER  JAVA         UPTIME  BTPY  MAIN",
        "4711  shop  17.0.15  3d01:02:03     -  com.acme.shop.OrderApp [orders]",
        "  99  root  ?        3d01:02:03     -  app\\e[2J.jar  (not traceable: the JVM 99 was started with"
        " -XX:+DisableAttachMechanism)",
        " 100  shop  17.0.15  3d01:02:03     -  com.acme.shop.OrderApp  (a mount namespace of its own)",
    ]


def test_containers_have_columns_where_some_jvm_is_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(JvmProcess, "container", property(lambda process: PLACES.get(process.pid)))
    jvms = [OTHERS[0], OTHERS[2], jvm(pid=101)]
    assert table(jvms, None) == [
        " PID  USER  JAVA         UPTIME  BTPY  CONTAINER     POD               IMAGE         MAIN",
        "4711  shop  17.0.15  3d01:02:03     -  0123456789ab  -                 acme/shop:17  com.acme.shop.OrderApp"
        " [orders]",
        " 100  shop  17.0.15  3d01:02:03     -  fedcba987654  prod/orders-7f9c  -             com.acme.shop.OrderApp",
        " 101  shop  17.0.15  3d01:02:03     -  -             -                 -             com.acme.shop.OrderApp",
    ]
    assert table(jvms[2:], None)[0] == " PID  USER  JAVA         UPTIME  BTPY  MAIN".replace(" PID", "PID")
    assert _members(jvms[1], command=False) | {"uptime_s": 0} == {
        "pid": 100,
        "user": "shop",
        "main": "com.acme.shop.OrderApp",
        "name": None,
        "java_version": "17.0.15",
        "vm_name": "OpenJDK 64-Bit Server VM",
        "uptime_s": 0,
        "attachable": True,
        "obstacle": None,
        "code": None,
        "sessions": 0,
        "container": True,
        "container_id": "fedcba987654" + "c" * 52,
        "container_name": None,
        "runtime": None,
        "pod": "orders-7f9c",
        "pod_uid": "1-2-3",
        "namespace": "prod",
        "image": None,
    }


def test_a_long_image_leaves_room_for_the_class_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    image = "registry.example/team/" + "deep/" * 20 + "shop:17"
    monkeypatch.setattr(JvmProcess, "container", Container(id="c" * 64, image=image))
    (_, line) = table(OTHERS[:1], 120)
    assert line.endswith("…" + image[-31:] + "  com.acme.shop.OrderApp [orders]"), line


def test_a_narrow_terminal_keeps_the_end_of_names() -> None:
    assert table(OTHERS, 66) == [
        " PID  USER  JAVA         UPTIME  BTPY  MAIN",
        "4711  shop  17.0.15  3d01:02:03     -  …cme.shop.OrderApp [orders]",
        "  99  root  ?        3d01:02:03     -  app\\e[2J.jar",
        "    not traceable: the JVM 99 was started with -XX:+DisableAttachMechanism",
        " 100  shop  17.0.15  3d01:02:03     -  com.acme.shop.OrderApp",
        "    a mount namespace of its own",
    ]
    assert table(OTHERS[:1], None, commands=True)[2] == "    java com.acme.shop.OrderApp --port=80"


def test_the_command_asks_no_process_and_imports_little() -> None:
    code = "import sys; from btpy.cli.main import main; main(['ps']); print(*sorted(sys.modules), file=sys.stderr)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"lark", "jpype", "subprocess", "json", "unicodedata", "btpy.events", "btpy.lang", "btpy.engine"}
    assert set(run.stderr.split()).isdisjoint(heavy)


def test_the_sessions_of_a_jvm_are_seen_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    with counted(17) as target:
        assert describe(target.pid).session_count == 0
        with tracing(target.pid, "-e", "Counted::* @entry { @n = count() }") as tracer:
            assert describe(target.pid).session_count == 1
            (line,) = [line for line in btpy("ps").stdout.splitlines() if line.split()[0] == str(target.pid)]
            assert line.split()[4:] == ["1", "Counted"]
            rows = {row["pid"]: row for row in map(json.loads, btpy("ps", "--json", "-a").stdout.splitlines())}
            assert rows[target.pid]["sessions"] == 1
            assert rows[target.pid]["command"][-1] == "Counted"
            assert tracer.stop() == 0
        waited(lambda: describe(target.pid).session_count == 0, "the session ends")
