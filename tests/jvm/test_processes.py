"""Finding JVMs from outside: real JVMs of each version, and misleading command lines and files."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btpy.errors import AttachError
from btpy.jvm import perfdata, processes
from btpy.jvm.connecting import Connecting
from btpy.jvm.processes import describe, find, is_alive, list_jvms
from btpy.model.attach_method import AttachMethod
from tests.jdks import all_jdks_and_8, java_home
from tests.live.scripts import counted, waited


@all_jdks_and_8
def test_a_running_jvm_is_described(jdk: int) -> None:
    with counted(jdk, f"-Dbtpy.name=shop-counter-{jdk}") as target:
        process = describe(target.pid)
        assert process in list_jvms()
        assert (process.pid, process.uid, process.gid) == (target.pid, os.geteuid(), os.getegid())
        assert (process.main, process.short_main, process.name) == ("Counted", "Counted", f"shop-counter-{jdk}")
        assert process.feature_version == jdk
        assert Path(process.java_home).samefile(java_home(jdk))
        assert "VM" in process.vm_name
        assert process.attachable
        assert not process.in_container
        assert process.namespace_pid == target.pid
        assert is_alive(process)
        assert find(str(target.pid)) == find(f"shop-counter-{jdk}") == process
    assert not is_alive(process)


@all_jdks_and_8
def test_a_jvm_without_performance_counters_is_described_too(jdk: int) -> None:
    with counted(jdk, "-XX:-UsePerfData", f"-Dbtpy.name=quiet-{jdk}") as target:
        process = describe(target.pid)
        assert (process.main, process.name, process.feature_version) == ("Counted", f"quiet-{jdk}", jdk)
        assert process.attachable
        assert find(f"quiet-{jdk}").pid == target.pid


def test_a_name_has_to_be_that_of_one_jvm() -> None:
    with counted(17, "-Dbtpy.name=twin-1") as one, counted(17, "-Dbtpy.name=twin-12") as two:
        with pytest.raises(AttachError) as caught:
            find("twin")
        assert caught.value.code == "BT512"
        assert [str(target.pid) in " ".join(caught.value.help) for target in (one, two)] == [True, True]
        assert find("twin-1").pid == one.pid  # this exact name wins, although the other name contains it
        assert find("win-12").pid == two.pid
        with pytest.raises(AttachError) as caught:
            find("triplet")
        assert caught.value.code == "BT511"
        assert any(str(one.pid) in line for line in caught.value.help)


def test_no_process_has_that_pid() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    with pytest.raises(AttachError) as caught:
        describe(child.pid)
    assert caught.value.code == "BT502"


def test_a_process_that_has_ended_but_was_not_waited_for_is_no_process() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    waited(lambda: Path(f"/proc/{child.pid}/stat").read_text().split()[2] == "Z", "it does not end")
    with pytest.raises(AttachError) as caught:
        describe(child.pid)
    assert caught.value.code == "BT502"
    child.wait()


def test_other_programs_are_not_jvms() -> None:
    child = subprocess.Popen(["sleep", "600"])
    with pytest.raises(AttachError) as caught:
        describe(child.pid)
    assert caught.value.code == "BT504"
    assert "sleep" in str(caught.value)
    assert child.pid not in [process.pid for process in list_jvms()]
    child.kill()
    child.wait()


@pytest.mark.parametrize(
    ("flag", "code"), [("-XX:+DisableAttachMechanism", "BT505"), ("-XX:-EnableDynamicAgentLoading", "BT506")]
)
@pytest.mark.parametrize("counters", ["-XX:+UsePerfData", "-XX:-UsePerfData"])
def test_jvms_that_cannot_be_traced_say_why(flag: str, code: str, counters: str) -> None:
    with counted(17, flag, counters) as target:
        obstacle = describe(target.pid).obstacle
        assert obstacle is not None
        assert obstacle.code == code
        assert str(target.pid) in str(obstacle)
        assert obstacle.help


def test_a_stopped_jvm_is_distinguished_from_a_dead_one() -> None:
    with counted(17) as target:
        os.kill(target.pid, signal.SIGSTOP)
        waited(lambda: Path(f"/proc/{target.pid}/stat").read_text().split()[2] == "T", "it does not stop")
        obstacle = describe(target.pid).obstacle
        assert obstacle is not None
        assert (obstacle.code, obstacle.help) == ("BT513", (f"kill -CONT {target.pid}",))
        os.kill(target.pid, signal.SIGCONT)
        waited(lambda: describe(target.pid).attachable, "it does not go on")


def test_a_jvm_of_another_user_has_the_line_that_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    with counted(17) as target:
        monkeypatch.setattr(os, "geteuid", lambda: 54321)
        obstacle = describe(target.pid).obstacle
        assert obstacle is not None
        assert obstacle.code == "BT501"
        assert any(line.startswith("sudo -u ") and str(target.pid) in line for line in obstacle.help)


@pytest.mark.parametrize(
    ("command", "main"),
    [
        ("java -cp a:b com.acme.Main x", "com.acme.Main"),
        ("/opt/jdk/bin/java -Xmx1g -jar /srv/my.jar --port 1", "/srv/my.jar"),
        ("java --add-opens java.base/java.lang=ALL-UNNAMED -p mods -m mod/a.B -jar x", "mod/a.B"),
        ("java --module-path mods --module=mod/a.B", "mod/a.B"),
        ("java -version", ""),
        ("java", ""),
        ("java -cp", ""),
        ("java -jar", ""),
        ("python app.py", ""),
        ("", ""),
    ],
)
def test_the_main_class_of_a_command_line(command: str, main: str) -> None:
    words = command.split(" ") if command else []
    assert processes._main(words) == main


def entry(name: bytes, kind: bytes, vector: int, value: bytes) -> bytes:
    name_offset = 20
    value_offset = name_offset + len(name) + 1
    value_offset += -value_offset % 8
    length = value_offset + len(value)
    length += -length % 8
    header = struct.pack("<III4BI", length, name_offset, vector, ord(kind), 0, 0, 0, value_offset)
    return (header + name).ljust(value_offset, b"\0") + value.ljust(length - value_offset, b"\0")


def counters(*entries: bytes, claimed: int | None = None) -> bytes:
    count = len(entries) if claimed is None else claimed
    head = b"\xca\xfe\xc0\xc0" + bytes([1, 2, 0, 1]) + struct.pack("<IIQII", 0, 0, 0, 32, count)
    return head + b"".join(entries)


def test_counters_are_read_by_their_layout() -> None:
    data = counters(entry(b"a.text", b"B", 8, b"hello\0\0\0"), entry(b"a.number", b"J", 0, struct.pack("<q", -5)))
    assert perfdata.parse(data) == {"a.text": "hello", "a.number": -5}


def test_counters_that_claim_too_much_end_where_the_file_does() -> None:
    good = entry(b"a.number", b"J", 0, struct.pack("<q", 7))
    assert perfdata.parse(counters(good, claimed=0xFFFFFFFF)) == {"a.number": 7}
    assert perfdata.parse(counters(good, good[:24])) == {"a.number": 7}
    assert perfdata.parse(counters(bytes(20), good)) == {}


@pytest.mark.parametrize("data", [b"", b"\xca\xfe\xc0\xc0", b"x" * 64, counters()[:5] + b"\x01" + counters()[6:]])
def test_other_files_are_not_read_as_counters(data: bytes) -> None:
    assert perfdata.parse(data) is None


@given(st.binary(max_size=200), st.binary(max_size=40))
def test_no_bytes_break_the_reader(body: bytes, tail: bytes) -> None:
    perfdata.parse(counters(claimed=3) + body)
    perfdata.parse(tail)


def test_a_system_without_proc_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(processes, "PROC", tmp_path)
    for look in (processes.list_jvms, lambda: processes.describe(os.getpid())):
        with pytest.raises(AttachError) as caught:
            look()
        assert caught.value.code == "BT515"
        assert caught.value.help


OPENJ9 = """
import mmap, signal, sys
signal.signal(signal.SIGQUIT, lambda number, frame: print("a dump", flush=True))
mapped = []
for path in sys.argv[1:]:
    with open(path, "rb") as library:
        mapped.append(mmap.mmap(library.fileno(), 4096, prot=mmap.PROT_READ))
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("libjvm_first", [True, False])
def test_openj9_is_refused_by_name_and_gets_no_signal(libjvm_first: bool, tmp_path: Path) -> None:
    """OpenJ9 has a libjvm.so, too, and writes a dump on SIGQUIT. The system lists mapped files by address, so either
    library may come first."""
    libraries = [tmp_path / "lib" / "default" / name for name in ("libjvm.so", "libj9vm29.so")]
    libraries[0].parent.mkdir(parents=True)
    for library in libraries:
        library.write_bytes(bytes(4096))
    ordered = map(str, libraries if libjvm_first else reversed(libraries))
    command = [sys.executable, "-c", OPENJ9, *ordered]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        for method in AttachMethod:
            with pytest.raises(AttachError, match=f"process {child.pid} is an OpenJ9 JVM") as caught:
                Connecting(child.pid, method=method)
            assert caught.value.code == "BT504"
        assert child.communicate()[0] == ""
