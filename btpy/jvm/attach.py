"""Loading the agent into a running JVM through the JVM Attach API (``com.sun.tools.attach``).

The API is Java, so this process runs a small JVM of its own, through JPype. It is started once, on a thread
(:func:`prepare`), while the script is being parsed. Its flags are those with the shortest start, measured on JDK 17,
21 and 25 (0.12 s against 0.15 to 0.22 s without): C1 only, the serial collector, no performance counters, a small
heap. ``-Xrs`` leaves SIGINT, SIGTERM, SIGHUP and SIGQUIT to Python.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

from btpy.errors import AttachError
from btpy.jvm import launch, problems, processes
from btpy.jvm.processes import JvmProcess

_FLAGS = ("-Xrs", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xmx64m", "-Xshare:auto")
_NATIVE_ACCESS = "--enable-native-access=ALL-UNNAMED"  # without it JDK 24+ warns on stderr about JPype's own library
_NATIVE_ACCESS_SINCE = 17


class _OwnJvm:
    """The one JVM of this process: JPype can start no second."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._failure: AttachError | None = None
        self._machine: Any = None

    def begin(self) -> threading.Thread:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._start, name="btpy-jvm", daemon=True)
                # A process that exits while HotSpot is starting in it crashes.
                atexit.register(self._thread.join)
                self._thread.start()
            return self._thread

    def machine(self) -> Any:
        """The class VirtualMachine; waits until it is there. Raises AttachError (BT510)."""
        self.begin().join()
        if self._failure is not None:
            raise self._failure
        return self._machine

    def _start(self) -> None:
        try:
            home = launch.attach_home()
        except AttachError as error:
            self._failure = error
            return
        hidden = {name: os.environ.pop(name) for name in ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS") if name in os.environ}
        try:
            import jpype
            import jpype.config

            if not jpype.isJVMStarted():
                flags = [*_FLAGS]
                if (launch.feature_version(home) or 0) >= _NATIVE_ACCESS_SINCE:
                    flags.append(_NATIVE_ACCESS)
                library = home / "lib" / "server" / "libjvm.so"
                jpype.startJVM(*flags, jvmpath=str(library), interrupt=False, convertStrings=False)
                jpype.config.destroy_jvm = False
            self._machine = jpype.JClass("com.sun.tools.attach.VirtualMachine")
            # A thread must detach before it ends (JNI); DestroyJavaVM would wait for this one, Java's main thread.
            jpype.JClass("java.lang.Thread").detach()
        except Exception as error:
            self._failure = problems.java_unusable(str(home), str(error).partition("\n")[0])
        finally:
            os.environ.update(hidden)


_own = _OwnJvm()


def prepare() -> None:
    """Start this process's own JVM in the background; does nothing when it was started before."""
    _own.begin()


def attach(process: JvmProcess, options: str) -> None:
    """Load the agent into ``process`` and hand it ``options``. Returns when its entry point has returned.

    Raises AttachError with one of the codes of :mod:`btpy.jvm.problems`. Can block for as long as the target's JVM does
    not answer; call it on a thread to bound that.
    """
    if process.obstacle is not None:
        raise process.obstacle
    machine = _own.machine()
    with _visible_jar(process) as jar:
        try:
            target = _explained(process, jar, lambda: machine.attach(str(process.pid)))
            try:
                _explained(process, jar, lambda: target.loadAgent(jar, options))
            finally:
                _detach(target)
        except AttachError:
            if not processes.is_alive(process):
                raise problems.ended(process.pid) from None
            raise


def _explained(process: JvmProcess, jar: str, call: Callable[[], Any]) -> Any:
    """The result of a call into the Attach API, its exceptions as AttachErrors."""
    import jpype

    try:
        return call()
    except jpype.JException as error:
        name = type(error).__name__.rpartition(".")[2]
        detail = str(error.getMessage() or name)
        pid = process.pid
        if name == "AgentInitializationException":
            raise problems.agent_failed(pid, f"{detail} (status {error.returnValue()})") from None
        if name == "AgentLoadException":
            if "Dynamic agent loading is not enabled" in detail or "EnableDynamicAgentLoading" in detail:
                raise problems.agents_disabled(pid) from None
            raise problems.agent_failed(pid, detail) from None
        if name == "AttachNotSupportedException" and process.in_container and process.namespace_pid == pid:
            raise problems.private_tmp(pid) from None
        if name == "AttachNotSupportedException":
            raise problems.no_answer(pid, detail) from None
        if name == "IOException" and ("not secure" in detail or "Permission denied" in detail):
            raise problems.not_permitted(pid, detail) from None
        raise problems.no_answer(pid, detail) from None


def _detach(target: Any) -> None:
    import jpype

    try:
        target.detach()
    except jpype.JException:  # the target has ended; detach only closes this side
        return


@contextmanager
def _visible_jar(process: JvmProcess) -> Iterator[str]:
    """Path of the agent's jar as the target sees it: the installed file where it can be read, else a copy.

    The copy is removed afterwards; the JVM keeps the file open that it has on its class path. Raises AttachError
    (BT509, BT516).
    """
    jar = agent_jar()
    if not process.in_container and _readable_by(jar, process.uid, process.gid):
        yield str(jar)
        return
    parent = process.root / "tmp" if process.in_container else Path(tempfile.gettempdir())
    try:
        directory = Path(tempfile.mkdtemp(prefix="btpy-", dir=parent))
    except OSError as error:
        raise problems.other_container(process.pid, f"its /tmp cannot be written: {error.strerror}") from None
    try:
        directory.chmod(0o755)
        copy = directory / jar.name
        shutil.copyfile(jar, copy)
        copy.chmod(0o644)
        yield "/" + str(copy.relative_to(process.root))
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def agent_jar() -> Path:
    """The agent's jar in this installation. Raises AttachError (BT516)."""
    jar = Path(str(resources.files("btpy") / "_agent" / "btpy-agent.jar")).resolve()
    if not jar.is_file():
        raise problems.no_agent_jar()
    return jar


def _readable_by(path: Path, uid: int, gid: int) -> bool:
    """Whether mode bits let the user read the file and pass every directory above it."""
    if uid in (0, os.geteuid()):
        return os.access(path, os.R_OK)

    def allows(each: Path, bits: int) -> bool:
        about = each.stat()
        shift = 6 if about.st_uid == uid else 3 if about.st_gid == gid else 0
        return about.st_mode >> shift & bits == bits

    return allows(path, 0o4) and all(allows(parent, 0o1) for parent in path.parents)
