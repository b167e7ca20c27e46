"""btpy reads the limits of the operating system and of the code cache from outside, and an attach needs some room below
them.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from btpy.api.classes import LoadedClasses
from btpy.api.doctor import Outcome, examine
from btpy.engine.session import Session
from btpy.errors import AttachError, TargetGone
from btpy.jvm import endings, process_limits, processes
from btpy.jvm.process_limits import MIB, code_cache, limits
from tests.jdks import compiled
from tests.live.scripts import JAVA
from tests.targets import target

STATUS = (
    "Name:\tjava\nUid:\t1000\t1000\t1000\t1000\nVmSize:\t 4000000 kB\nThreads:\t{threads}\nCapEff:\t{capabilities}\n"
)
LIMITS = """Limit                     Soft Limit           Hard Limit           Units
Max processes             {processes:<20} 4096                 processes
Max address space         {space:<20} unlimited            bytes
"""


def files(root: Path, contents: dict[str, str]) -> Path:
    for name, text in contents.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def process(root: Path, group: str, processes: str = "unlimited", space: str = "unlimited", can: str = "0") -> Path:
    about = {
        "17/status": STATUS.format(threads=40, capabilities=can),
        "17/limits": LIMITS.format(processes=processes, space=space),
        "17/cgroup": group,
        "18/status": STATUS.format(threads=7, capabilities=can),
        "19/status": "Uid:\t0\t0\t0\t0\nThreads:\t900\n",
    }
    return files(root / "proc", about)


def test_the_nearest_limit_of_a_control_group_of_version_2_counts(tmp_path: Path) -> None:
    """The kernel can reclaim pages of files. A parent group has its own limit, and a child group has none."""
    proc = process(tmp_path, "0::/kubepods/pod1/java\n")
    contents = {
        "kubepods/pod1/java/memory.max": "max\n",
        "kubepods/pod1/java/memory.current": f"{90 * MIB}\n",
        "kubepods/pod1/memory.max": f"{200 * MIB}\n",
        "kubepods/pod1/memory.current": f"{196 * MIB}\n",
        "kubepods/pod1/memory.stat": f"anon 1\ninactive_file {3 * MIB}\nactive_file {2 * MIB}\nshmem 7\n",
        "kubepods/memory.max": f"{900 * MIB}\n",
        "kubepods/memory.current": f"{300 * MIB}\n",
        "kubepods/pod1/java/pids.max": "100\n",
        "kubepods/pod1/java/pids.current": "95\n",
    }
    memory, threads = limits(17, proc, files(tmp_path / "cgroup", contents))
    assert (memory.name, memory.left, memory.is_near) == ("memory", 9 * MIB, True)
    assert memory.set_by == "memory.max of its control group"
    assert (threads.name, threads.left, threads.is_near) == ("threads", 5, True)


def test_version_1_and_a_path_whose_end_alone_is_mounted(tmp_path: Path) -> None:
    proc = process(tmp_path, "5:cpu,cpuacct:/x\n4:memory:/docker/1234\n3:pids:/docker/1234\n0::/\n")
    contents = {
        "memory/memory.limit_in_bytes": f"{64 * MIB}\n",
        "memory/memory.usage_in_bytes": f"{60 * MIB}\n",
        "memory/memory.stat": f"cache 1\ntotal_inactive_file {30 * MIB}\n",
        "pids/pids.max": "max\n",
        "pids/pids.current": "12\n",
    }
    (memory,) = limits(17, proc, files(tmp_path / "cgroup", contents))
    assert (memory.left, memory.is_near) == (34 * MIB, False)
    unlimited = files(tmp_path / "cgroup", {"memory/memory.limit_in_bytes": "9223372036854771712\n"})
    assert limits(17, proc, unlimited) == ()


def test_limits_of_the_user_and_of_the_address_space(tmp_path: Path) -> None:
    """All threads of the same user count, and root has no such limit."""
    space = 4_000_000 * 1024 + 60 * MIB
    threads, memory = sorted(
        limits(17, process(tmp_path, "", "50", str(space)), tmp_path), key=lambda limit: limit.needed
    )
    assert (threads.name, threads.left, threads.is_near) == ("threads", 3, True)
    assert (memory.name, memory.left, memory.is_near) == ("address space", 60 * MIB, True)
    assert limits(17, process(tmp_path, "", "50", can="000001ffffffffff"), tmp_path) == ()
    assert limits(4711, tmp_path, tmp_path) == ()


SEGMENTED = """CodeHeap 'non-profiled nmethods': size=1200Kb used=968Kb max_used=968Kb free=232Kb
 bounds [0x00007f7f424c7000, 0x00007f7f42737000, 0x00007f7f49a00000]
CodeHeap 'profiled nmethods': size=1200Kb used=1200Kb max_used=1200Kb free=0Kb
CodeHeap 'non-nmethods': size=1600Kb used=1580Kb max_used=1600Kb free=20Kb
CodeCache: size=4000Kb, used=1349Kb, max_used=1349Kb, free=252Kb
"""


@pytest.mark.parametrize(
    ("answer", "space"),
    [
        (SEGMENTED, (4000, 252, True)),
        (
            "CodeCache: size=49152Kb used=3968Kb max_used=3971Kb free=45183Kb\n bounds [1, 2, 3]\n",
            (49152, 45183, False),
        ),
    ],
)
def test_the_code_cache(answer: str, space: tuple[int, int, bool]) -> None:
    limit = code_cache(answer)
    assert limit is not None
    assert (limit.most // 1024, limit.left // 1024, limit.is_near) == space
    assert code_cache("java.lang.IllegalArgumentException: Unknown diagnostic command") is None


def bound(pid: int, space: str) -> None:
    subprocess.run(["prlimit", "--pid", str(pid), f"--as={space}:"], check=True)


def test_a_jvm_near_a_limit_is_refused_before_anything_is_loaded() -> None:
    classes = compiled([JAVA / "Filled.java"], release=11)
    with target(17, "Filled", "40000", classpath=[classes], flags=["-Xmx64m"]) as jvm:
        size = re.search(r"VmSize:\s+(\d+)", Path(f"/proc/{jvm.pid}/status").read_text())
        assert size is not None
        bound(jvm.pid, str(int(size[1]) * 1024 + 30 * MIB))
        with pytest.raises(AttachError) as caught:
            Session.attach(jvm.pid)
        assert caught.value.code == "BT526"
        assert " of address space left, of " in str(caught.value)
        assert (
            caught.value.help[-1] == 'to attach all the same:  --allow little-memory, in Python allow=["little-memory"]'
        )
        steps = {step.name: step for step in examine(str(jvm.pid))}
        assert (steps["limits"].outcome, steps["limits"].code) == (Outcome.FAILED, "BT526")
        assert not processes.describe(jvm.pid).has_agent
        bound(jvm.pid, "unlimited")
        with Session.attach(jvm.pid) as session:
            assert session.departure.detach().clean


def test_the_likely_cause_of_the_end_is_reported() -> None:
    classes = compiled([JAVA / "Filled.java"], release=11)
    with target(17, "Filled", "40000", classpath=[classes], flags=["-Xmx64m", "-XX:+CrashOnOutOfMemoryError"]) as jvm:
        process = processes.describe(jvm.pid)
        assert endings.died_of(process) == []
        with Session.attach(jvm.pid) as session:
            jvm.stop()
            with pytest.raises(TargetGone) as caught:
                LoadedClasses(session.agent).all()
    assert str(caught.value) == f"the JVM {jvm.pid} has ended"
    assert caught.value.help[0].startswith("it ran with -XX:+CrashOnOutOfMemoryError, which ends it when any thread")
    assert endings.died_of(process) == list(caught.value.help)


def test_a_kill_by_the_kernel_for_lack_of_memory_is_reported(tmp_path: Path) -> None:
    events = files(tmp_path, {"memory.events": "low 0\noom 3\noom_kill 2\n"}) / "memory.events"
    assert process_limits.oom_kills_in(events) == 2
    groups = files(tmp_path, {"proc/17/cgroup": "0::/a\n", "cgroup/a/memory.events": "oom_kill 4\n"})
    assert process_limits.oom_kills(17, groups / "proc", groups / "cgroup") == ((groups / "cgroup/a/memory.events", 4),)
