"""Another user of the machine places files where btpy reads: FIFOs, links, large and strange files. btpy neither waits
for them, nor follows them, nor takes memory for them."""

from __future__ import annotations

import ast
import contextlib
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from btpy import files
from btpy.errors import AttachError
from btpy.jvm import attach, attach_protocol, perfdata, processes
from btpy.jvm.delegate import Delegate
from tests.containers.cells import AS_NOBODY, NEW_TMP, NOBODY, cell, needs_root, require_to_run
from tests.live.scripts import counted

PATIENCE = 30.0


def counters(*entries: bytes) -> bytes:
    head = struct.pack("<4s4BIIQII", perfdata.MAGIC, 1, 2, 0, 1, 0, 0, 0, 32, len(entries))
    return head + b"".join(entries)


def text_counter(name: bytes, value: bytes) -> bytes:
    body = name + b"\0" + value + b"\0"
    body += bytes(-len(body) % 4)
    return struct.pack("<III4BI", 20 + len(body), 20, len(value) + 1, ord("B"), 0, 0, 0, 20 + len(name) + 1) + body


def overlapping(size: int) -> bytes:
    """Entries of 20 bytes, each with the rest of the file as its value: 1 GB of strings in 1 MiB."""
    count = 4096
    entries = b"".join(
        struct.pack("<III4BI", 20, 20 * (count - at) + 8 * at, size, ord("B"), 0, 0, 0, 20 * (count - at) + 8 * count)
        for at in range(count)
    )
    names = b"".join(b"n%06d\0" % at for at in range(count))
    data = struct.pack("<4s4BIIQII", perfdata.MAGIC, 1, 2, 0, 1, 0, 0, 0, 32, count) + entries + names
    return data + b"x" * (size - len(data))


def within(seconds: float, command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=seconds, **options)  # type: ignore[call-overload,no-any-return]


PLANTING = """
import os, sys, mmap
pid, library, home, tmp = os.getpid(), sys.argv[1], sys.argv[2], sys.argv[3]
directory = f"{tmp}/hsperfdata_{sys.argv[4]}"
os.mkdir(directory, 0o755)
content = bytes.fromhex(sys.stdin.readline())
with open(f"{directory}/{pid}", "wb") as file:
    file.write(content)
with open(library, "rb") as file:
    kept = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
print(pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def start_impostor(tmp_path: Path) -> Iterator[object]:
    """Starts a process that btpy takes for a JVM: it maps a libjvm.so, and has counters that it wrote itself."""
    clients: list[subprocess.Popen[str]] = []
    results: list[Path] = []

    def start(content: bytes, home: Path) -> int:
        library = home / "lib" / "server" / "libjvm.so"
        library.parent.mkdir(parents=True, exist_ok=True)
        library.write_bytes(bytes(4096))
        name = f"planted-{os.getpid()}-{len(results)}"
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", PLANTING, str(library), str(home), "/tmp", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        clients.append(process)
        results.append(Path(f"/tmp/hsperfdata_{name}"))
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(content.hex() + "\n")
        process.stdin.flush()
        return int(process.stdout.readline())

    yield start
    for process in clients:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()
    for directory in results:
        for path in directory.iterdir():
            path.unlink()
        directory.rmdir()


LIST = "from btpy.jvm.processes import list_jvms; print(*(process.pid for process in list_jvms()))"


@pytest.mark.parametrize("kind", ["fifo", "socket", "directory", "zero", "dangling", "loop"])
def test_the_release_file_of_a_strangers_java_home_is_not_waited_for(start_impostor, kind: str, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    home = tmp_path / "home"
    home.mkdir()
    release = home / "release"
    match kind:
        case "fifo":
            os.mkfifo(release)
        case "socket":
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(str(release))
        case "directory":
            release.mkdir()
        case "zero":
            release.symlink_to("/dev/zero")
        case "dangling":
            release.symlink_to(tmp_path / "nowhere")
        case "loop":
            release.symlink_to(release)
    pid = start_impostor(counters(text_counter(b"java.property.java.home", bytes(home))), home)
    result = within(PATIENCE, [sys.executable, "-c", LIST])
    assert str(pid) in result.stdout.split(), result.stderr
    assert within(PATIENCE, [sys.executable, "-m", "btpy", "ps"]).returncode == 0


def test_counters_that_overlap_take_no_more_than_the_file(start_impostor, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    pid = start_impostor(overlapping(perfdata.MAX_SIZE), tmp_path / "home")
    result = within(
        PATIENCE,
        [sys.executable, "-c", LIST],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20)),
    )
    assert str(pid) in result.stdout.split(), result.stderr


def test_overlapping_strings_are_bounded_together() -> None:
    data = overlapping(perfdata.MAX_SIZE)
    tracemalloc.start()
    try:
        result = perfdata.parse(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert result is not None
    assert sum(map(len, map(str, result.values()))) <= perfdata.MAX_STRINGS
    assert peak < 8 * perfdata.MAX_SIZE


@pytest.mark.parametrize("kind", ["fifo", "link", "directory link"])
def test_counters_are_read_only_from_regular_files(kind: str, tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    directory = tmp_path / "tmp" / "hsperfdata_x"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "7").write_bytes(counters(text_counter(b"sun.rt.javaCommand", b"secret")))
    if kind == "directory link":
        directory.symlink_to(elsewhere)
    else:
        directory.mkdir()
        if kind == "fifo":
            os.mkfifo(directory / "7")
        else:
            (directory / "7").symlink_to(elsewhere / "7")
    assert processes._counters(tmp_path, os.geteuid(), 7) == {}
    (tmp_path / "tmp" / "hsperfdata_y").mkdir()
    (tmp_path / "tmp" / "hsperfdata_y" / "7").write_bytes((elsewhere / "7").read_bytes())
    assert processes._counters(tmp_path, os.geteuid(), 7) == {"sun.rt.javaCommand": "secret"}


@needs_root
@pytest.mark.parametrize("part", ["directory", "file"])
def test_counters_of_another_user_are_not_read(part: str, tmp_path: Path) -> None:
    directory = tmp_path / "tmp" / "hsperfdata_x"
    directory.mkdir(parents=True)
    file = directory / "7"
    file.write_bytes(counters(text_counter(b"a", b"b")))
    assert processes._counters(tmp_path, os.geteuid(), 7) == {"a": "b"}
    os.chown(directory if part == "directory" else file, NOBODY, NOBODY)
    assert processes._counters(tmp_path, os.geteuid(), 7) == {}


def test_a_link_in_the_root_of_a_target_is_resolved_there(tmp_path: Path) -> None:
    """btpy resolves an absolute link in a target's root directory there, and not in its own root directory."""
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    (root / "etc" / "release").write_text("theirs")
    (root / "jdk").mkdir()
    (root / "jdk" / "release").symlink_to("/etc/release")
    (root / "jdk" / "passwd").symlink_to("/etc/passwd")
    (root / "jdk" / "out").symlink_to("../../../../etc/passwd")
    (root / "jdk" / "magic").symlink_to("/proc/self/root/etc/passwd")
    directory = os.open(root, os.O_PATH)
    try:
        assert files.read_foreign("jdk/release", 3, directory=directory, in_root=True) == b"the"
        for name in ("jdk/passwd", "jdk/out", "jdk/magic"):
            with pytest.raises(OSError):  # noqa: PT011
                files.read_foreign(name, 100, directory=directory, in_root=True)
        with pytest.raises(OSError, match="regular"):
            files.read_foreign("jdk", 100, directory=directory)
    finally:
        os.close(directory)


def test_a_command_goes_to_the_jvm_itself_alone(tmp_path: Path) -> None:
    """btpy tells nothing to another process that listens under the name of the attach socket."""
    with counted(17) as target:
        process = processes.describe(target.pid)
        door = Path(f"/tmp/.java_pid{target.pid}")
        heard: list[bytes] = []
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(tmp_path / "other"))
            other.listen()
            door.symlink_to(tmp_path / "other")

            def listen() -> None:
                with other.accept()[0] as connection:
                    heard.append(connection.recv(1))

            listening = threading.Thread(target=listen)
            listening.start()
            try:
                with pytest.raises(PermissionError), attach.asking(process) as ask:
                    ask("GC.heap_info")
            finally:
                door.unlink()
                listening.join()
        assert heard == [b""]


SWAPPING = """
import ctypes, os, select, sys
tmp, victim, copy = sys.argv[1:4]
libc = ctypes.CDLL(None)
watch = libc.inotify_init1(os.O_NONBLOCK)
created, moved = 0x100, 0x80
assert libc.inotify_add_watch(watch, tmp.encode(), created | moved) >= 0
events = select.poll()
events.register(watch, select.POLLIN)

def swap():
    for name in os.listdir(tmp):
        path = f"{tmp}/{name}"
        if name.endswith(".old"):
            continue
        try:
            if name.startswith((".java_pid", ".attach_pid")):
                os.rename(path, path + ".old")
                os.symlink(victim, path)
            elif name.startswith("btpy-"):
                for inner in ("socket", "btpy-agent.jar", "lock", "making"):
                    try:
                        os.symlink(victim, f"{path}/{inner}")
                    except FileExistsError:
                        os.unlink(f"{path}/{inner}")
                        os.symlink(victim, f"{path}/{inner}")
                os.rename(path, path + ".old")
                os.symlink(copy, path)
        except OSError:
            pass

print("swapping", flush=True)
while True:
    if events.poll(1):  # another process has created a file: swap again and again while it works
        for _ in range(500):
            swap()
    else:
        swap()
    try:
        while os.read(watch, 1 << 16):
            pass  # events of this process
    except BlockingIOError:
        pass
"""
"""Sleeps at most a millisecond, and wakes up at once when another process creates a file."""


def identity(path: Path) -> tuple[int, ...]:
    about = path.stat()
    return about.st_uid, about.st_gid, about.st_mode, about.st_size, about.st_mtime_ns


@needs_root
@pytest.mark.parametrize("jdk", [11, 17])
def test_links_that_a_target_swaps_in_give_nothing_away(jdk: int, tmp_path: Path) -> None:
    """An unprivileged user with a private /tmp replaces all files that btpy creates by links to files of root."""
    require_to_run(*NEW_TMP)
    victims = tmp_path / "victims"
    victims.mkdir(mode=0o755)
    secret = victims / "secret"
    secret.write_text("root's own")
    secret.chmod(0o600)
    before = identity(secret)
    directory = (victims.stat().st_uid, victims.stat().st_mode)
    with cell(jdk, prefix=(*NEW_TMP, *AS_NOBODY), readable=True) as target_cell:
        tmp = f"/proc/{target_cell.process.pid}/root/tmp"
        enter = ("nsenter", "-t", str(target_cell.process.pid), "--mount", "--")
        python = (os.path.realpath(sys.executable), "-I", "-c")
        swapper = subprocess.Popen(
            [*enter, *AS_NOBODY, *python, SWAPPING, "/tmp", str(secret), str(victims)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert swapper.stdout is not None
        assert swapper.stderr is not None
        try:
            if swapper.stdout.readline() != "swapping\n":
                pytest.skip(f"another user cannot run this Python: {swapper.stderr.read()}")
            command = [sys.executable, "-m", "btpy"]
            script = ["-e", "Counted::step { @n = count() }", "--for", "100ms"]
            for arguments in ([str(target_cell.process.pid), *script], ["doctor", str(target_cell.process.pid)]) * 3:
                result = within(60, [*command, *arguments])
                assert result.returncode in (0, 3), result.stderr
        finally:
            swapper.kill()
            swapper.communicate()
        assert os.path.isdir(tmp)
    assert (identity(secret), secret.read_text()) == (before, "root's own")
    assert (victims.stat().st_uid, victims.stat().st_mode) == directory
    assert os.listdir(victims) == ["secret"]


def test_no_other_module_works_in_the_root_of_a_target() -> None:
    """btpy follows a path below /proc/PID/root by name, link by link. The delegate opens the root directory and reports
    if it is missing; :mod:`btpy.jvm.processes` opens the directory for :mod:`btpy.files`.
    """
    package = Path(files.__file__).parent
    users = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr == "root" and "tree" not in path.name
    }
    assert users == {"jvm/delegate.py", "jvm/processes.py"}


@needs_root
def test_a_delegate_that_its_user_has_stopped_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The delegate runs as the user of the JVM, so this user may send it any signal."""
    monkeypatch.setattr("btpy.jvm.delegate.ANSWER_SECONDS", 0.5)
    with cell(17, prefix=AS_NOBODY, readable=True) as target_cell, Delegate(target_cell.process) as delegate:
        delegate.listen().close()
        helper = delegate._child.pid
        subprocess.run([*AS_NOBODY, "kill", "-STOP", str(helper)], check=True)
        try:
            with pytest.raises(AttachError, match=f"the helper process {helper} of btpy .* has not answered"):
                delegate.wake()
        finally:
            os.kill(helper, signal.SIGCONT)


def test_an_attach_answer_of_a_byte_now_and_then_is_given_up() -> None:
    own_end, other_end = socket.socketpair()

    def drip() -> None:
        with contextlib.suppress(OSError):
            while True:
                other_end.sendall(b"0")
                time.sleep(0.05)

    thread = threading.Thread(target=drip, daemon=True)
    thread.start()
    with other_end:
        with own_end, pytest.raises(TimeoutError):
            attach_protocol.answer(own_end, b"", 0.5)
        thread.join()
