"""The JVMs of this machine, found without starting a JVM and without sending them requests.

A process is a JVM if it has mapped ``libjvm.so``. btpy reads its main class from its command line. It reads its
Java version, its flags and whether it takes attach requests from its performance counters (:mod:`btpy.jvm.perfdata`).
A JVM without these counters (``-XX:-UsePerfData``) has the same facts in its command line and in the ``release`` file
of its Java home. For a process in a container, btpy reads through ``/proc/<pid>/root``.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import time
from collections.abc import Sequence
from dataclasses import field, replace
from pathlib import Path

from btpy import files
from btpy.dataclass import dataclass
from btpy.errors import AttachError
from btpy.jvm import containers, perfdata, problems, process_limits, procfs
from btpy.jvm.containers import Container

PROC = Path("/proc")
ARCHIVES = (".jar", ".war", ".ear", ".zip")

_SIGQUIT = 3
_LIBJVM = "/libjvm.so"
_LIBJ9 = "/libj9vm"  # /libj9vm29.so
_COUNTERS = "hsperfdata_"
_MAX_RELEASE = 64 * 1024
_SESSION_THREAD = b"btpy-events"  # Tracer.java
_ATTACHER = "btpy.jvm.attacher"
_AGENT_JAR = "/btpy-agent.jar"
_ENDS_WITHOUT_MEMORY = ("ExitOnOutOfMemoryError", "CrashOnOutOfMemoryError")
_SECURITY_MANAGER, _SECURITY_POLICY = "-Djava.security.manager", "-Djava.security.policy="
_NO_SECURITY_MANAGER = (
    "allow",
    "disallow",
)  # JEP 411: these values set no manager, but allow or forbid setting one later

_CLOCK_SECONDS, _START_SECONDS = 2.0, 30.0
"""Tolerance in seconds: the clock may have been set back, and a launcher may need time before it creates the JVM."""

# Options of the launcher whose value is the next argument (java(1)).
_WITH_VALUE = frozenset(
    {
        *("-cp", "-classpath", "--class-path", "-p", "--module-path", "--upgrade-module-path", "--add-modules"),
        *("--limit-modules", "--add-exports", "--add-opens", "--add-reads", "--patch-module", "--source"),
        "--enable-native-access",
    }
)


@dataclass(frozen=True, slots=True)
class JvmProcess:
    """A running JVM as seen from outside.

    ``main``: the main class, module/class or jar as given on its command line; ``name``: its ``-Dbtpy.name``.
    ``java_version`` and ``vm_name`` are empty if they are not known. ``namespace_pid``: its pid inside its container.
    ``root``: its root directory, as a path of this process. ``obstacle``: why it cannot be traced; None if it can.
    """

    pid: int
    uid: int
    gid: int
    user: str
    main: str
    name: str
    command: tuple[str, ...]
    java_version: str
    vm_name: str
    java_home: str
    start_ticks: int  # start time in clock ticks since boot: a later process with this pid has another start time
    namespace_pid: int
    root: Path
    obstacle: AttachError | None = field(compare=False)
    options: tuple[
        str, ...
    ] = ()  # options of the JVM, with those of JAVA_TOOL_OPTIONS and of files if the counters have them
    oom_kills: tuple[tuple[Path, int], ...] = field(default=(), compare=False)  # as of process_limits.oom_kills
    is_hidden: bool = False  # whether this process has no right to read its root directory and namespaces

    @property
    def attachable(self) -> bool:
        return self.obstacle is None

    @property
    def in_container(self) -> bool:
        return self.root != Path("/")

    @property
    def shares_files(self) -> bool:
        """Whether it has the same user and sees the same files as this process. In this case it can read every file
        that it names to btpy.
        """
        return self.uid == os.geteuid() and not self.in_container

    @property
    def needs_delegate(self) -> bool:
        """Whether its attach files must be created as another user, in another root directory or in another
        namespace.
        """
        return bool(self.separation)

    @property
    def separation(self) -> str:
        """The reason why this process cannot create the attach files of the JVM; empty if it can."""
        if self.uid != os.geteuid():
            return f"it belongs to another user ({self.user})"
        if self.in_container:
            return "it has another root directory or mount namespace"
        if self.is_hidden:
            return "its namespaces are hidden"
        if self.namespace_pid != self.pid:
            return "it has a pid namespace of its own"
        return "" if self.shares_users else "it has a user namespace of its own"

    @property
    def shares_users(self) -> bool:
        """Whether user ids have the same meaning in its namespace. True if they cannot be compared."""
        return procfs.id_map(self.pid) == procfs.id_map("self")

    @property
    def security_manager(self) -> str:
        """The option with which it runs under a security manager; empty without a security manager."""
        options = [option for option in self.options if option.partition("=")[0] == _SECURITY_MANAGER]
        return options[-1] if options and options[-1].partition("=")[2] not in _NO_SECURITY_MANAGER else ""

    @property
    def has_security_policy(self) -> bool:
        """Whether the JVM has its own policy file, which may grant the agent its permissions."""
        return any(option.startswith(_SECURITY_POLICY) for option in self.options)

    @property
    def open_archives(self) -> list[str]:
        """Paths (in its root directory) of its open archives that still exist. Class loaders keep the archives open
        from which they load classes.
        """
        return sorted(file for file in self._open_files if file.startswith("/") and file.endswith(ARCHIVES))

    @property
    def has_agent(self) -> bool:
        """Whether btpy's agent has been loaded into it: it has a session, or the jar is open, even if the file was
        removed. The jar of an agent on the command line does not count, because it may have defined no class yet.
        """
        if self.session_count:
            return True
        if any(option.startswith("-javaagent:") and _AGENT_JAR in option for option in self.options):
            return False
        return any(file.removesuffix(" (deleted)").endswith(_AGENT_JAR) for file in self._open_files)

    @property
    def _open_files(self) -> set[str]:
        directory = PROC / str(self.pid) / "fd"
        paths = set()
        with contextlib.suppress(OSError):
            for descriptor in os.listdir(directory):
                with contextlib.suppress(OSError):
                    paths.add(os.readlink(directory / descriptor))
        return paths

    @property
    def counters(self) -> perfdata.Counters:
        """Its current performance counters; empty if it has no counters or they cannot be read."""
        return _counters(self.root, self.uid, self.namespace_pid)

    @property
    def ends_without_memory(self) -> str:
        """The option with which any OutOfMemoryError ends it; empty if it runs without such an option."""
        return next((f"-XX:+{name}" for name in _ENDS_WITHOUT_MEMORY if _flag(self.options, name)), "")

    @property
    def shares_network(self) -> bool:
        """Whether it has the loopback interface of this process. True if that is not known."""
        try:
            return os.stat(PROC / str(self.pid) / "ns" / "net").st_ino == os.stat(PROC / "self" / "ns" / "net").st_ino
        except OSError:
            return True

    @property
    def feature_version(self) -> int | None:
        """11 for ``11.0.13``, 8 for ``1.8.0_392``, 25 for ``25-ea``; None when it is not known."""
        match = re.match(r"(?:1\.)?(\d+)", self.java_version)
        return int(match[1]) if match else None

    @property
    def short_main(self) -> str:
        """Simple name of the main class or file name of the jar."""
        return self.main.rpartition("/")[2] if self.main.endswith(".jar") else re.split(r"[./$]", self.main)[-1]

    @property
    def uptime(self) -> float:
        """Seconds."""
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - self.start_ticks / os.sysconf("SC_CLK_TCK"))

    @property
    def session_count(self) -> int:
        """The number of its btpy sessions. Each session has an event thread, which the system knows by name."""
        count = 0
        try:
            for task in os.scandir(PROC / str(self.pid) / "task"):
                with contextlib.suppress(OSError), open(f"{task.path}/comm", "rb") as name:  # the thread may end
                    count += name.read().rstrip() == _SESSION_THREAD
        except OSError:
            return 0
        return count

    @property
    def container(self) -> Container | None:
        """The container and the pod in which it runs, read again each time; None if no container is visible."""
        return containers.read(self.pid, self.root, PROC)

    def is_named(self, name: str) -> bool:
        """Whether this process is one of the JVMs that ``name`` means for :func:`find_all`."""
        return _is_called(self, name) or _contains(self, name)

    @property
    def is_btpys_own(self) -> bool:
        """Whether this process is a helper process of btpy, which uses the Attach API."""
        return _ATTACHER in self.command

    @property
    def line(self) -> str:
        """One line for lists in messages."""
        version = f", JDK {self.java_version}" if self.java_version else ""
        name = f" [{self.name}]" if self.name else ""
        container = self.container
        place = f", {container.description}" if container is not None else ""
        return f"{self.pid} {self.main}{name} (user {self.user}{version}{place})"


def list_jvms() -> list[JvmProcess]:
    """All JVMs except this process, by pid. Raises AttachError on systems without /proc."""
    if not (PROC / "self" / "stat").exists():
        raise problems.no_proc()
    pids = sorted(int(entry) for entry in os.listdir(PROC) if entry.isdigit())
    jvms = (_look(pid) for pid in pids if pid != os.getpid())
    return [process for process in jvms if process is not None]


def find(target: str) -> JvmProcess:
    """The JVM that ``target`` names. ``target`` is a pid, a part of the main class, jar or ``-Dbtpy.name`` of only one
    JVM, ``container/ID`` with the beginning of the id of its container, or ``pod/NAME`` with a part of the name of its
    pod.

    A name that is exactly the ``-Dbtpy.name``, the main class or its simple name, or the name of the container or pod,
    has priority over parts of other names. Raises AttachError (BT502, BT504, BT511, BT512).
    """
    if target.isdigit():
        return describe(int(target))
    processes = [process for process in list_jvms() if not process.is_btpys_own]
    for fits in (_is_called, _contains):
        matches = [process for process in processes if fits(process, target)]
        if len(matches) == 1:
            return matches[0]
        if matches:
            lines = [process.line for process in matches]
            raise (problems.ambiguous_place if _is_place(target) else problems.ambiguous)(target, lines)
    raise _no_such_name(target, processes)


def find_all(name: str) -> list[JvmProcess]:
    """All JVMs whose main class, jar or ``-Dbtpy.name`` contains this name, and the JVMs in containers or pods of this
    name.

    Raises AttachError (BT511).
    """
    processes = [process for process in list_jvms() if not process.is_btpys_own]
    matches = [process for process in processes if process.is_named(name)]
    if not matches:
        raise _no_such_name(name, processes)
    return matches


def _no_such_name(name: str, processes: Sequence[JvmProcess]) -> AttachError:
    if _is_place(name):
        return problems.no_such_place(name, [process.line for process in processes if process.container is not None])
    return problems.no_such_name(name, [process.line for process in processes])


def describe(pid: int) -> JvmProcess:
    """The JVM with that pid. Raises AttachError (BT502: no such process, BT504: not a JVM, BT515)."""
    if not (PROC / "self" / "stat").exists():
        raise problems.no_proc()
    process = _look(pid)
    if process is not None:
        return process
    try:
        status = procfs.status(pid)
    except OSError:
        raise problems.no_such_process(pid) from None
    if status["Tgid"] != str(pid) or status["State"].startswith(("Z", "X")):
        raise problems.no_such_process(pid)  # a thread of another process, or a thread that has ended
    raise problems.not_a_jvm(pid, status["Name"])


def is_alive(process: JvmProcess) -> bool:
    """Whether the process still runs. A new process with the same pid does not count."""
    try:
        return (
            not procfs.status(process.pid)["State"].startswith(("Z", "X"))
            and procfs.start_ticks(process.pid) == process.start_ticks
        )
    except OSError:
        return False


def has_ended(process: JvmProcess, within: float) -> bool:
    """Whether the process ends within ``within`` seconds. A killed process closes its connections before it
    disappears."""
    deadline = time.monotonic() + within
    while is_alive(process):
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.01)
    return True


def is_stopped(process: JvmProcess) -> bool:
    """Whether the process is stopped until SIGCONT or a debugger continues it."""
    try:
        return _is_stopped(procfs.status(process.pid))
    except OSError:
        return False


def _is_stopped(status: dict[str, str]) -> bool:
    return status["State"].startswith(("T", "t"))


def _is_place(target: str) -> bool:
    """Whether the name is container/ID or pod/NAME."""
    return target.partition("/")[0] in containers.PREFIXES and "/" in target


def _is_called(process: JvmProcess, target: str) -> bool:
    if target in (process.name, process.main, process.short_main):
        return True
    container = process.container if _is_place(target) else None
    prefix, _, name = target.partition("/")
    return container is not None and container.is_called(prefix, name)


def _contains(process: JvmProcess, target: str) -> bool:
    if not _is_place(target):
        return target in process.name or target in process.main
    container = process.container
    prefix, _, name = target.partition("/")
    return container is not None and container.fits(prefix, name)


def _look(pid: int) -> JvmProcess | None:
    """None if there is no such process or it is not a JVM."""
    try:
        status = procfs.status(pid)
        if status["Tgid"] != str(pid) or status["State"].startswith(("Z", "X")):
            return None
        uid, gid = int(status["Uid"].split()[1]), int(status["Gid"].split()[1])
        namespace_pid = int(status.get("NSpid", str(pid)).split()[-1])
        command = tuple((PROC / str(pid) / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")[:-1])
        library = _jvm_library(pid, command)
        if library is None:
            return None
        is_hidden = not procfs.may_look_into(pid)
        root = Path("/") if is_hidden else _root(pid)
        counters = _counters(root, uid, namespace_pid)
        start_ticks = procfs.start_ticks(pid)
        if is_hidden and not _started_at(counters, start_ticks):
            counters = {}  # the counters belong to another JVM, because this JVM has another /tmp
    except (OSError, KeyError, ValueError):
        return None
    arguments = _jvm_arguments(counters, command)
    home = str(counters.get("java.property.java.home", "")) or _home_of(library)
    version = str(counters.get("java.property.java.version", "")) or _release_version(root, home)
    main = _main(command) or str(counters.get("sun.rt.javaCommand", "")).split(" ")[0]
    process = JvmProcess(
        pid=pid,
        uid=uid,
        gid=gid,
        user=_user(uid),
        main=main or status["Name"],
        name=_property(arguments, "btpy.name"),
        command=command,
        java_version=version,
        vm_name=str(counters.get("java.property.java.vm.name", "")),
        java_home=home,
        start_ticks=start_ticks,
        namespace_pid=namespace_pid,
        root=root,
        obstacle=None,
        options=arguments,
        oom_kills=process_limits.oom_kills(pid, PROC),
        is_hidden=is_hidden,
    )
    return replace(process, obstacle=_obstacle(process, status, library, counters))


def _obstacle(
    process: JvmProcess, status: dict[str, str], library: str, counters: perfdata.Counters
) -> AttachError | None:
    """The reason why btpy cannot attach. btpy must find it before the attach, because the attach mechanism uses a
    signal and a timeout. A JVM that does not expect SIGQUIT prints its threads, or ends.
    """
    me, pid = os.geteuid(), process.pid
    if me not in (0, process.uid):
        return problems.someone_elses(pid, process.uid, process.user)
    if me != 0 and os.getegid() != process.gid:
        return problems.not_permitted(pid, f"it runs with group id {process.gid}, btpy with {os.getegid()}")
    if _is_stopped(status):
        return problems.stopped(pid)
    if _LIBJ9 in library or "OpenJ9" in process.vm_name:
        return problems.not_hotspot(pid)
    if str(counters.get("sun.rt.jvmCapabilities", "1")).startswith("0") or _flag(
        process.options, "DisableAttachMechanism"
    ):
        return problems.attach_disabled(pid)
    if _flag(process.options, "EnableDynamicAgentLoading") is False:
        return problems.agents_disabled(pid)
    if not _listens(process.root, process.namespace_pid) and not procfs.catches(status, _SIGQUIT):
        return problems.does_not_listen(pid)
    return _out_of_sight(process) if process.is_hidden and not counters else None


def _out_of_sight(process: JvmProcess) -> AttachError:
    """The reason not to send a signal to a JVM that possibly has another /tmp. Such a JVM would print its threads."""
    if not process.shares_users:
        return problems.other_users(process.pid)
    if os.geteuid() == 0 and not procfs.has_capability(procfs.status("self"), procfs.CAP_SYS_PTRACE):
        return problems.no_ptrace(process.pid, process.user, process.uid)
    return problems.more_privileged(process.pid)


def _started_at(counters: perfdata.Counters, start_ticks: int) -> bool:
    """Whether the counters belong to a JVM that was created when the process started."""
    created = counters.get("sun.rt.createVmBeginTime")
    if not isinstance(created, int):
        return False
    boot = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    start = boot + start_ticks / os.sysconf("SC_CLK_TCK")
    return -_CLOCK_SECONDS <= created / 1000 - start <= _START_SECONDS


def _jvm_library(pid: int, command: Sequence[str]) -> str | None:
    """The path of its libjvm.so, or of OpenJ9's own library beside it, as the process sees it. None: not a JVM; empty:
    a process of another user that looks like a JVM.
    """
    library = None
    try:
        with (PROC / str(pid) / "maps").open(errors="replace") as maps:
            for line in maps:
                path = line.rstrip("\n").removesuffix(" (deleted)")
                if _LIBJ9 in path:
                    return path[path.index("/") :]
                if library is None and path.endswith(_LIBJVM):
                    library = path[path.index("/") :]
        return library
    except PermissionError:
        launched = bool(command) and command[0].rpartition("/")[2] == "java"
        return "" if launched else None


def _root(pid: int) -> Path:
    """Its root directory, as a path of this process. If it cannot be determined: the root directory of this process."""
    try:
        target_namespace = os.stat(PROC / str(pid) / "ns" / "mnt")
        own_namespace = os.stat(PROC / "self" / "ns" / "mnt")
        same_root = os.path.samefile(PROC / str(pid) / "root", "/")
    except OSError:
        return Path("/")
    return Path("/") if target_namespace.st_ino == own_namespace.st_ino and same_root else PROC / str(pid) / "root"


def _listens(root: Path, namespace_pid: int) -> bool:
    """Whether there is a file with the name of its attach socket."""
    try:
        with files.closing(files.open_directory(root, "tmp")) as tmp:
            os.stat(f".java_pid{namespace_pid}", dir_fd=tmp, follow_symlinks=False)
    except OSError:
        return False
    return True


def _counters(root: Path, uid: int, namespace_pid: int) -> perfdata.Counters:
    """The counters of a JVM; empty if it has no counters or they cannot be read."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    with (
        contextlib.suppress(OSError),
        files.closing(files.open_directory(root, "tmp")) as tmp,
        files.closing(os.open(f"/proc/self/fd/{tmp}", flags)) as names,
        os.scandir(names) as entries,
    ):
        for entry in entries:
            if entry.name.startswith(_COUNTERS) and (counters := _counters_in(tmp, entry.name, uid, namespace_pid)):
                return counters
    return {}


def _counters_in(tmp: int, name: str, uid: int, namespace_pid: int) -> perfdata.Counters | None:
    """The counters in the file for this pid in one directory. A file of another user is forged, or belongs to an
    earlier process with the same pid.
    """
    flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    with contextlib.suppress(OSError), files.closing(os.open(name, flags, dir_fd=tmp)) as directory:
        if os.fstat(directory).st_uid == uid:
            content = files.read_foreign(str(namespace_pid), perfdata.MAX_SIZE, directory=directory, owners={uid})
            return perfdata.parse(content)
    return None


def _jvm_arguments(counters: perfdata.Counters, command: Sequence[str]) -> tuple[str, ...]:
    """The options of the JVM: first those on the command line, then those that the JVM itself reports."""
    options = command[1 : _launcher_options_end(command)]
    return (
        *options,
        *str(counters.get("java.rt.vmFlags", "")).split(),
        *str(counters.get("java.rt.vmArgs", "")).split(),
    )


def _launcher_options_end(command: Sequence[str]) -> int:
    """Index of the first word of a java command line that is not an option: the main class, or ``-jar`` or ``-m``."""
    at = 1
    while at < len(command):
        word = command[at]
        if word in ("-jar", "-m", "--module") or word.startswith("--module=") or word[:1] not in ("-", "@"):
            break
        at += 2 if word in _WITH_VALUE else 1
    return at


def _main(command: Sequence[str]) -> str:
    """The main class or jar of a java command line; empty when an argument file hides it or the program is not the
    launcher."""
    if not command or not command[0].rpartition("/")[2].startswith("java"):
        return ""
    end = _launcher_options_end(command)
    rest = command[end:]
    if not rest:
        return ""
    if rest[0].startswith("--module="):
        return rest[0].partition("=")[2]
    return rest[0] if not rest[0].startswith("-") else (rest[1] if len(rest) > 1 else "")


def _flag(arguments: Sequence[str], name: str) -> bool | None:
    """The last ``-XX:+name`` or ``-XX:-name``; None when there is neither."""
    flags = [argument for argument in arguments if argument in (f"-XX:+{name}", f"-XX:-{name}")]
    return flags[-1][4] == "+" if flags else None


def _property(arguments: Sequence[str], name: str) -> str:
    options = [argument for argument in arguments if argument.startswith(f"-D{name}=")]
    return options[0].partition("=")[2] if options else ""


def _home_of(library: str) -> str:
    """``/opt/jdk`` of ``/opt/jdk/lib/server/libjvm.so``; ``/opt/jdk/jre`` of ``/opt/jdk/jre/lib/amd64/server/…``."""
    return library.rpartition("/lib/")[0]


def _release_version(root: Path, home: str) -> str:
    """The version in the file ``release`` of the runtime; a JDK 8 has it in the directory above its ``jre``. ``home``
    comes from a process of another user, so it can be any path."""
    homes = [home, home.rpartition("/")[0]] if home.endswith("/jre") else [home] if home else []
    for directory in homes:
        try:
            with files.closing(files.open_path(root)) as top:
                path = f"{directory}/release".lstrip("/")
                text = files.read_foreign(path, _MAX_RELEASE, directory=top, in_root=True).decode("utf-8", "replace")
        except (OSError, ValueError):  # ValueError: the path contains a zero byte
            continue
        match = re.search(r'^JAVA_VERSION="([^"]+)"', text, re.MULTILINE)
        if match:
            return match[1]
    return ""


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"#{uid}"  # the form that sudo -u accepts
