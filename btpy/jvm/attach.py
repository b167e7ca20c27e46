"""Loading the agent into a running JVM, in one of two ways (:class:`~btpy.model.attach_method.AttachMethod`).

A :class:`~btpy.jvm.delegate.Delegate` connects to the JVM, and btpy speaks HotSpot's attach protocol. If the user wants
the JVM Attach API (``com.sun.tools.attach``), a helper process (:mod:`btpy.jvm.attacher`) runs a small JVM through
JPype. Both processes are started early (:func:`prepare`), so that they start while this process reads the script.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import json
import os
import re
import socket
import threading
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from btpy import children, timeline
from btpy.errors import AttachError
from btpy.jvm import attach_protocol, endings, heap, jcmd, launch, metaspace, problems, process_limits, processes
from btpy.jvm.attach_protocol import LoadResult
from btpy.jvm.delegate import Delegate
from btpy.jvm.heap import Heap
from btpy.jvm.jcmd import Ask
from btpy.jvm.peers import process_of
from btpy.jvm.perfdata import number
from btpy.jvm.process_limits import Limit
from btpy.jvm.processes import JvmProcess
from btpy.model.attach_method import AttachMethod
from btpy.wire.channel import UNIX_SOCKETS_SINCE

_ATTACHER = "btpy.jvm.attacher"


class _Attacher:
    """The helper process. The process takes one request at a time, and is started again when it has ended."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._writing = threading.Lock()
        self._home: Path | None = None
        self._process: children.TextProcess | None = None
        self._ready = False

    def begin(self) -> children.TextProcess:
        """Starts the process if it does not run. Raises AttachError (BT510) if no Java runtime can run it."""
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._home = launch.attach_home()
                with timeline.step("start the process that attaches"):
                    self._process = children.start(
                        children.helper(_ATTACHER, str(self._home)),
                        inherited=children.LOCALE,
                        stdin=children.PIPE,
                        stdout=children.PIPE,
                    )
                self._ready = False
                atexit.register(_end, self._process)
            return self._process

    def request(self, **request: str) -> dict[str, Any]:
        """The answer. Raises AttachError (BT510) if the JVM of the helper does not start, or ends."""
        with self._lock:
            process = self.begin()
            if not self._ready:
                first = self._answer(process)
                if first["error"] is not None:
                    raise problems.java_unusable(str(self._home), first["message"])
                self._ready = True
            self._write(process, request)
            return self._answer(process)

    def tell(self, **members: str) -> None:
        """Sends a request that needs no answer. Does nothing if there is no process. Does not wait for the end of a
        running request."""
        process = self._process
        if process is not None:
            self._write(process, members)

    def _write(self, process: children.TextProcess, line: dict[str, str]) -> None:
        assert process.stdin is not None
        with self._writing, contextlib.suppress(BrokenPipeError):  # in this case no answer comes
            process.stdin.write(json.dumps(line) + "\n")
            process.stdin.flush()

    def _answer(self, process: children.TextProcess) -> dict[str, Any]:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise problems.java_unusable(str(self._home), f"the process ended with status {process.wait()}")
        answer = json.loads(line)
        assert isinstance(answer, dict)
        for name, begin, end in answer.get("steps", ()):
            timeline.add(name, begin, end, "the process that attaches")
        return answer


def _end(process: children.TextProcess) -> None:
    """Kills the helper process, because it may be waiting for a target that does not answer, and has no state to
    save."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        with contextlib.suppress(OSError):
            pipe.close()


_attacher = _Attacher()
_delegates: dict[tuple[int, int], Delegate] = {}  # started by prepare(), by pid and start of the JVM


def prepare(process: JvmProcess | None, method: AttachMethod = AttachMethod.DIRECT) -> None:
    """Start the helper process of an attach to that JVM, if it does not run yet. ``process`` is None if the JVM is not
    known yet. If the helper cannot be started, attaching reports the reason.
    """
    if method is AttachMethod.JPYPE:
        with contextlib.suppress(AttachError):
            _attacher.begin()
    elif process is not None and process.obstacle is None and _key(process) not in _delegates:
        _delegates[_key(process)] = _new_delegate(process)


def delegate_of(process: JvmProcess) -> Delegate:
    """The delegate that :func:`prepare` has started, or a new one. The caller closes it."""
    return _delegates.pop(_key(process), None) or _new_delegate(process)


def _key(process: JvmProcess) -> tuple[int, int]:
    return process.pid, process.start_ticks


def _new_delegate(process: JvmProcess) -> Delegate:
    return Delegate(process, tcp=not has_unix_sockets(process))


def has_unix_sockets(process: JvmProcess) -> bool:
    """Whether an agent in that JVM can connect to a Unix socket (JEP 380). False if the version of Java is not
    known."""
    return (process.feature_version or 0) >= UNIX_SOCKETS_SINCE


def attach_api_home(process: JvmProcess) -> Path:
    """The Java runtime that runs the JVM Attach API. Raises AttachError if the API cannot reach the JVM (BT527), or if
    there is no such runtime (BT510)."""
    separation = process.separation or _network(process)
    if separation:
        raise problems.beyond_the_attach_api(process.pid, separation)
    if find_spec("jpype") is None:
        raise problems.no_jpype()
    return launch.attach_home()


def _network(process: JvmProcess) -> str:
    """The reason why the agent cannot connect to a port of this process; empty if it can."""
    if has_unix_sockets(process) or process.shares_network:
        return ""
    return f"it has a network namespace of its own, in which Java {process.feature_version or '?'} needs a port"


def entrust(directory: Path) -> None:
    """Have the helper process remove a temporary directory if this process is killed."""
    _attacher.tell(temporary=str(directory))


def attach(
    process: JvmProcess,
    options: str,
    delegate: Delegate | None,
    allow: Collection[str] = (),
) -> None:
    """Load the agent into ``process`` with ``options``. Returns when the agent's entry point has returned.

    ``delegate``: speaks to the JVM; None: the JVM Attach API loads the agent. ``allow``: capabilities, as for
    ``--allow``.

    Raises AttachError with one of the codes of :mod:`btpy.jvm.problems`. This function can block as long as the
    target's JVM does not answer. Call it on a separate thread to limit the time.
    """
    try:
        with timeline.step("wake the attach listener"):
            wake(process, delegate, allow)
        with timeline.step("ask for the room in the JVM"):
            options += require_room(process, allow, delegate)
        with timeline.step("load the agent"):
            result = _loaded(process, options, delegate)
    except AttachError:
        if not processes.is_alive(process):
            raise problems.ended(process.pid, endings.likely_causes(process)) from None
        if processes.is_stopped(process):
            raise problems.stopped(process.pid) from None
        raise
    if result.status != 0:
        if not processes.is_alive(process):
            raise problems.ended(process.pid, endings.likely_causes(process))
        raise _refusal(process.pid, result)


def require_permission(process: JvmProcess) -> None:
    """Raises AttachError if facts known in advance prevent the attach."""
    if process.obstacle is not None:
        raise process.obstacle
    require_agent_permissions(process)


def require_agent_permissions(process: JvmProcess) -> None:
    """Raises AttachError (BT508) if a security manager has no policy that could grant permissions to the agent."""
    if process.security_manager and not process.has_security_policy:
        raise problems.security_manager(process.pid, process.security_manager, str(agent_jar()))


def _loaded(process: JvmProcess, options: str, delegate: Delegate | None) -> LoadResult:
    """The answer of the JVM."""
    if delegate is not None:
        return delegate.load(agent_jar(), options, copy=needs_copy(process))
    answer = _attacher.request(pid=str(process.pid), jar=str(agent_jar()), options=options)
    if answer["error"] is None:
        return attach_protocol.status_result(0)
    return _of_exception(process, answer["error"], answer["message"], answer["status"])


def remove_stale_socket(process: JvmProcess) -> bool:
    """Remove the attach socket of a JVM that was killed and had the pid that ``process`` has now. Returns whether there
    was one; otherwise the socket accepts connections.

    Call it only for a JVM that needs no delegate. HotSpot removes the socket when it starts, except one of another
    user: in /tmp only the owner of a file may remove it. In this case the Attach API uses that file, and can never
    connect. If a socket refuses connections, its JVM has ended.

    Raises AttachError (BT517) if it exists and this process cannot remove it, and OSError if there is no socket, or the
    JVM of another user listens.
    """
    path = Path(f"/tmp/.java_pid{process.pid}")
    try:
        with socket.socket(socket.AF_UNIX) as asking:
            asking.settimeout(jcmd.PATIENCE)  # a full queue of connections must not block for longer
            asking.connect(str(path))
    except ConnectionRefusedError:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise problems.stale_socket(process.pid, str(path), error.strerror or str(error)) from None
        return True
    return False


def require_room(process: JvmProcess, allow: Collection[str], delegate: Delegate | None = None) -> str:
    """The options of the agent about the heap.

    For a JVM with a session the limits do not apply, because the user may have to stop the session. Raises AttachError
    (BT519, BT525, BT526) if the agent could exhaust a resource of the JVM, unless the user allows it.
    """
    with asking(process, delegate) as ask:
        if metaspace.LITTLE_METASPACE not in allow:
            require_metaspace(process, ask)
        if process.session_count:
            return ""
        if process_limits.LITTLE_MEMORY not in allow:
            require_limits(process, ask)
        room = _heap_of(process, ask) if heap.LITTLE_HEAP in allow else require_heap(process, ask)
    return f",survivor={room.survivor},live={room.used}" if room is not None else ""


def require_metaspace(process: JvmProcess, ask: Ask) -> tuple[metaspace.Space, ...]:
    """The limited spaces for classes; none if the JVM does not report them. Raises AttachError (BT519) if the agent is
    not loaded yet and could exhaust one of them.
    """
    spaces = metaspace.spaces(ask)
    for space in spaces:
        if space.is_scarce and not process.has_agent:
            raise problems.little_metaspace(process.pid, space, process.ends_without_memory)
    return spaces


def require_heap(process: JvmProcess, ask: Ask) -> Heap | None:
    """The heap; None if the JVM does not report it. Raises AttachError (BT525) if the agent could exhaust the heap."""
    classes = number(process.counters, "java.cls.loadedClasses")
    room = heap.look(lambda: _heap_of(process, ask), classes)
    if room is not None and room.free < room.needed(classes):
        raise problems.little_heap(process.pid, room, room.needed(classes), process.ends_without_memory)
    return room


def _heap_of(process: JvmProcess, ask: Ask) -> Heap | None:
    """The current heap; None if the JVM does not report it."""
    with contextlib.suppress(OSError):  # attaching will meet the error again and report it better
        if heap_info := heap.parse(ask("GC.heap_info")):
            return heap_info
    return heap.of_counters(process.counters)


def require_limits(process: JvmProcess, ask: Ask) -> tuple[Limit, ...]:
    """The limits of the operating system, and of the code cache. Raises AttachError (BT526) if the agent could reach
    one of them.
    """
    limits = process_limits.limits(process.pid)
    with contextlib.suppress(OSError):
        cache = process_limits.code_cache(ask("Compiler.codecache"))
        limits += (cache,) if cache is not None else ()
    for limit in limits:
        if limit.is_near:
            raise problems.near_limit(process.pid, limit)
    return limits


@contextlib.contextmanager
def asking(process: JvmProcess, delegate: Delegate | None = None) -> Iterator[Ask]:
    """Sends requests to a JVM that has been woken. If the JVM has other files than this process, a delegate makes the
    connection."""
    with ExitStack() as closing:

        def ask(command: str) -> str:
            nonlocal delegate
            if delegate is None and process.needs_delegate:
                delegate = closing.enter_context(Delegate(process))
            try:
                connection = _connection(process) if delegate is None else delegate.connect()
            except AttachError as error:
                raise OSError(str(error)) from error
            with connection:
                return jcmd.answer(connection, command)

        yield ask


def _connection(process: JvmProcess) -> socket.socket:
    """Connects to the attach socket of a JVM of this user with the same files. Raises OSError. A process other than the
    JVM that listens is an error too, because any user can put a link into /tmp.
    """
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(jcmd.PATIENCE)
        connection.connect(f"/tmp/.java_pid{process.pid}")
        if process_of(connection) != process.pid:
            raise PermissionError(errno.EPERM, "another process listens there")
    except BaseException:
        connection.close()
        raise
    return connection


def wake(process: JvmProcess, delegate: Delegate | None = None, allow: Collection[str] = ()) -> None:
    """Have the JVM open its attach socket, if the socket is not open yet. ``allow``: as for :func:`attach`.

    The Attach API would do the same. But it looks for the socket only every 100 ms, sends SIGQUIT again if the socket
    does not appear, and leaves its file if its process is killed. Raises AttachError.
    """
    most = heap.too_small_to_ask(process.counters)
    if most is not None and heap.LITTLE_HEAP not in allow and not process.session_count:
        raise problems.tiny_heap(process.pid, most)
    if delegate is not None:
        delegate.wake()
        return
    if not process.needs_delegate:
        with contextlib.suppress(OSError):  # the Attach API reports the problem
            remove_stale_socket(process)
        if (Path("/tmp") / f".java_pid{process.pid}").exists():  # HotSpot ignores TMPDIR
            return
    with Delegate(process) as delegate:
        delegate.wake()


def _of_exception(process: JvmProcess, name: str, detail: str, status: int) -> LoadResult:
    """Translates an exception of the Attach API. Raises AttachError if the answer is not about the agent."""
    if name == "AgentInitializationException":
        return LoadResult(status or None, detail)
    if name == "AgentLoadException":
        # JDK 8 answers with a plain number, which the API treats as an error.
        return attach_protocol.output_result(detail)
    if name == "IOException" and ("not secure" in detail or "Permission denied" in detail):
        raise problems.not_permitted(process.pid, detail)
    raise problems.no_answer(process.pid, detail)


def _refusal(pid: int, result: LoadResult) -> AttachError:
    if "EnableDynamicAgentLoading" in result.detail or "Dynamic agent loading is not enabled" in result.detail:
        return problems.agents_disabled(pid)
    status = f" (status {result.status})" if result.status else ""
    return problems.agent_failed(pid, f"{result.detail}{status}" if result.detail else f"it ended with {result.status}")


def needs_copy(process: JvmProcess) -> bool:
    """Whether the target cannot read the installed jar. Raises AttachError (BT516)."""
    return process.in_container or not _readable_by(agent_jar(), process.uid, process.gid)


def agent_jar() -> Path:
    """The agent's jar in this installation. Raises AttachError (BT516)."""
    jar = (Path(__file__).parents[1] / "_agent" / "btpy-agent.jar").resolve()
    if not jar.is_file():
        raise problems.no_agent_jar()
    return jar


def agent_build() -> str:
    """The build id of the agent's jar. The agent also reports its own build id, because a JVM keeps the agent that was
    loaded first.
    """
    with agent_jar().open("rb") as jar:
        start = jar.read(1024)  # the manifest is the first entry, and not compressed
    match = re.search(rb"^Build-Id: ([0-9a-f]+)", start, re.MULTILINE)
    return match[1].decode() if match else ""


def _readable_by(path: Path, uid: int, gid: int) -> bool:
    """Whether mode bits let the user read the file and pass every directory above it."""
    if uid in (0, os.geteuid()):
        return os.access(path, os.R_OK)

    def allows(path: Path, bits: int) -> bool:
        about = path.stat()
        shift = 6 if about.st_uid == uid else 3 if about.st_gid == gid else 0
        return about.st_mode >> shift & bits == bits

    return allows(path, 0o4) and all(allows(parent, 0o1) for parent in path.parents)
