"""The texts that explain why a JVM cannot be traced. All AttachErrors of btpy are created here, so that they have the
same style.

The message only states the problem; ``help`` has the remedy. Codes are stable (``btpy explain BT501``).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence

from btpy.distribution import install_command
from btpy.errors import AttachError
from btpy.jvm.heap import LITTLE_HEAP, Heap
from btpy.jvm.metaspace import LITTLE_METASPACE, Space, megabytes
from btpy.jvm.process_limits import LITTLE_MEMORY, Limit
from btpy.remedies import Permission


def someone_elses(pid: int, uid: int, user: str) -> AttachError:
    return AttachError(
        f"cannot attach to pid {pid}: owned by uid {uid} ({user})",
        code="BT501",
        help=[f"sudo -u {user} btpy {pid} …", f"sudo btpy {pid} … (root may attach to any JVM)"],
    )


def not_permitted(pid: int, detail: str) -> AttachError:
    return AttachError(
        f"cannot attach to pid {pid}: {detail}",
        code="BT501",
        help=[
            "run btpy as the user and the group that run the JVM, or as root",
            "in a container: start it with --cap-add=SYS_PTRACE, or run btpy inside of it",
        ],
    )


def no_such_process(pid: int) -> AttachError:
    return AttachError(
        f"there is no process {pid}", code="BT502", help=["btpy ps lists the JVMs that run on this machine"]
    )


def not_a_jvm(pid: int, name: str) -> AttachError:
    return AttachError(
        f"process {pid} ({name}) is not a JVM: it has no libjvm.so",
        code="BT504",
        help=["btpy ps lists the JVMs that run on this machine", "a native image holds no bytecode to trace"],
    )


def not_hotspot(pid: int) -> AttachError:
    return AttachError(
        f"process {pid} is an OpenJ9 JVM: btpy traces HotSpot (OpenJDK, Temurin, Corretto, Zulu, GraalVM, Oracle)",
        code="BT504",
        help=["run the program on one of these"],
    )


def attach_disabled(pid: int) -> AttachError:
    return AttachError(
        f"the JVM {pid} was started with -XX:+DisableAttachMechanism",
        code="BT505",
        help=["restart it without that flag", "or start it with probes in place: btpy run probe.bt -- java …"],
    )


def does_not_listen(pid: int) -> AttachError:
    return AttachError(
        f"the JVM {pid} does not listen to attach requests: it is not up yet, or does not handle SIGQUIT",
        code="BT505",
        help=["if it has just been started: try again", "else start it with -XX:+StartAttachListener"],
    )


def agents_disabled(pid: int) -> AttachError:
    return AttachError(
        f"the JVM {pid} was started with -XX:-EnableDynamicAgentLoading",
        code="BT506",
        help=[
            "restart it with -XX:+EnableDynamicAgentLoading",
            "or start it with probes in place: btpy run probe.bt -- java …",
        ],
    )


def ended(pid: int, causes: Sequence[str] = ()) -> AttachError:
    """``causes``: of :func:`btpy.jvm.endings.likely_causes`."""
    return AttachError(
        f"the JVM {pid} ended during the attach", code="BT507", help=[*causes, "btpy ps lists the JVMs that run"]
    )


def agent_failed(pid: int, detail: str) -> AttachError:
    return AttachError(
        f"the agent could not be started in the JVM {pid}: {detail}",
        code="BT508",
        help=[
            "the JVM needs the module java.instrument: java --list-modules",
            *_memory(pid),
        ],
    )


def unreachable_files(pid: int, number: int) -> AttachError:
    """The attach files of a JVM are in its own /tmp and working directory. ``number``: the errno of the failure."""
    reason = os.strerror(number).lower() if number else "for an unknown reason"
    writable = "a container gets a /tmp that can be written by  docker run --tmpfs /tmp , a pod by an emptyDir at /tmp"
    match number:
        case errno.ENOSPC | errno.EDQUOT:
            needs = "the attach needs space there for the agent (0.3 MB) and for three files"
            remedies = [f"{needs}: df /proc/{pid}/root/tmp; df -i /proc/{pid}/root/tmp", writable]
        case errno.ENOENT | errno.ENOTDIR | errno.EROFS:
            remedies = ["each JVM makes its attach socket there", writable]
        case _:
            remedies = [f"sudo btpy {pid} …", "or run btpy inside the container: docker exec, kubectl exec"]
    return AttachError(f"btpy cannot work in the /tmp of the JVM {pid}: {reason}", code="BT509", help=remedies)


def other_network(pid: int, version: int | None, reason: str) -> AttachError:
    """Before JDK 16 the agent calls back through TCP, on the loopback interface of its own network namespace."""
    return AttachError(
        f"the JVM {pid} has a network namespace of its own, which btpy may not enter ({reason}): the agent in"
        f" Java {version or '?'} can connect only to a port there",
        code="BT509",
        help=[
            f"sudo btpy {pid} … (root with CAP_SYS_ADMIN may enter it)",
            f"or run btpy there: nsenter -t {pid} -n btpy {pid} …",
        ],
    )


def no_loopback(pid: int, version: int | None, reason: str) -> AttachError:
    return AttachError(
        f"the JVM {pid} has a network namespace without a working loopback interface ({reason}): the agent in"
        f" Java {version or '?'} can connect only to a port there",
        code="BT509",
        help=[f"nsenter -t {pid} -n ip link set lo up"],
    )


def no_ptrace(pid: int, user: str, uid: int) -> AttachError:
    as_user = [] if uid == 0 else [f"or run btpy as the user of the JVM: sudo -u {user} btpy {pid} …"]
    return AttachError(
        f"cannot attach to pid {pid}: btpy runs as root without CAP_SYS_PTRACE and cannot reach the files of the JVM",
        code="BT501",
        help=[
            "give the container of btpy that capability: docker run --cap-add=SYS_PTRACE,"
            " or securityContext.capabilities.add: [SYS_PTRACE] in Kubernetes",
            *as_user,
        ],
    )


def other_users(pid: int) -> AttachError:
    return AttachError(
        f"cannot attach to pid {pid}: it runs in another user namespace, and btpy has no privilege there",
        code="BT501",
        help=[
            f"run btpy as root of the host: sudo btpy {pid} …",
            f"or inside the namespaces of the JVM: nsenter -t {pid} --all btpy …",
        ],
    )


def more_privileged(pid: int) -> AttachError:
    return AttachError(
        f"cannot attach to pid {pid}: it has capabilities that btpy lacks, so the system hides its files",
        code="BT501",
        help=[f"sudo btpy {pid} …"],
    )


def cannot_become(pid: int, user: str, uid: int, gid: int, reason: str) -> AttachError:
    """The delegate changes from root to the target's user before it touches any file of the target."""
    return AttachError(
        f"cannot attach to pid {pid}: btpy cannot act as its user {user} ({reason})",
        code="BT501",
        help=[
            "run btpy with the capabilities SETUID and SETGID: docker run --cap-add=SETUID --cap-add=SETGID",
            f"or as that user: setpriv --reuid={uid} --regid={gid} --clear-groups btpy {pid} …",
        ],
    )


def refused_connection(pid: int, detail: str) -> AttachError:
    return AttachError(
        f"the JVM {pid} refused the attach request: {detail}",
        code="BT501",
        help=["run btpy as the user and the group that run the JVM"],
    )


def delegate_ended(pid: int, detail: str) -> AttachError:
    return AttachError(
        f"the helper process of btpy in the file system of the JVM {pid} ended: {detail}",
        code="BT509",
        help=[f"try again; btpy doctor {pid} tests each step"],
    )


def delegate_silent(pid: int, delegate: int, seconds: float) -> AttachError:
    return AttachError(
        f"the helper process {delegate} of btpy in the file system of the JVM {pid} has not answered for"
        f" {seconds:.0f} s",
        code="BT509",
        help=["the user of the JVM may have stopped it; its file system may hang", f"ps -o pid,stat,wchan {delegate}"],
    )


def foreign_socket(pid: int, path: str) -> AttachError:
    return AttachError(
        f"a process other than the JVM {pid} listens at {path}, so btpy sends it nothing",
        code="BT517",
        help=[f"find and end that process: ss -xlp | grep {path}", f"then: rm {path}"],
    )


def silent_after_signal(pid: int, path: str) -> AttachError:
    return AttachError(
        f"the JVM {pid} does not answer: it has not opened its attach socket",
        code="BT513",
        help=[
            "it may be in a long garbage collection, out of memory or under a debugger: try again",
            f"btpy keeps {path} until the JVM continues, at most 60 s: without it the JVM would print its threads",
        ],
    )


def security_manager(pid: int, option: str, jar: str) -> AttachError:
    return AttachError(
        f"the JVM {pid} runs under a security manager ({option}), which lets the agent do nothing",
        code="BT508",
        help=[
            "start the program without it",
            f'or grant the agent what it needs, in a file of -Djava.security.policy: grant codeBase "file:{jar}"'
            " { permission java.security.AllPermission; };",
        ],
    )


def no_jpype() -> AttachError:
    return AttachError(
        "the package jpype1 is not installed",
        code="BT510",
        help=["pip install jpype1", "or leave out --attach jpype: btpy then needs neither that package nor Java"],
    )


def beyond_the_attach_api(pid: int, separation: str) -> AttachError:
    return AttachError(
        f"the JVM Attach API cannot reach the JVM {pid}: {separation}",
        code="BT527",
        help=["leave out --attach jpype: btpy then speaks the attach protocol itself"],
    )


def no_java(tried: Sequence[str]) -> AttachError:
    return _without_java("btpy finds no Java runtime with the module jdk.attach: " + "; ".join(tried))


def java_unusable(home: str, detail: str) -> AttachError:
    return _without_java(f"the Java runtime {home} cannot be started: {detail}")


def _without_java(message: str) -> AttachError:
    remedy = "or leave out --attach jpype: no other way to attach needs Java"
    return AttachError(
        message, code="BT510", help=["set JAVA_HOME to a JDK, 11 or later", f"or: {install_command('jdk')}", remedy]
    )


def no_such_name(name: str, names: Sequence[str]) -> AttachError:
    if not names:
        return AttachError(
            f"no JVM matches {name!r}: no JVM runs on this machine",
            code="BT511",
            help=["if /proc is mounted with hidepid, only root sees the JVMs of other users"],
        )
    return AttachError(f"no JVM matches {name!r}", code="BT511", help=["running:", *names])


def ambiguous(name: str, matching: Sequence[str]) -> AttachError:
    return AttachError(
        f"{len(matching)} JVMs match {name!r}",
        code="BT512",
        help=["give a pid, or start the JVM with -Dbtpy.name=NAME:", *matching],
    )


def no_such_place(name: str, in_containers: Sequence[str]) -> AttachError:
    """``name``: container/ID or pod/NAME."""
    place = name.partition("/")[0]
    if not in_containers:
        return AttachError(
            f"no JVM matches {name!r}: btpy sees no JVM in a container",
            code="BT511",
            help=[
                f"run btpy on the machine of the {place}, as root: sudo btpy {name} …",
                "btpy ps lists the JVMs that btpy sees; a pid or a part of the main class names a JVM, too",
            ],
        )
    return AttachError(f"no JVM matches {name!r}", code="BT511", help=["running in containers:", *in_containers])


def ambiguous_place(name: str, matching: Sequence[str]) -> AttachError:
    """``name``: container/ID or pod/NAME."""
    return AttachError(
        f"{len(matching)} JVMs match {name!r}",
        code="BT512",
        help=[f"give a pid or a longer part of the name, or trace all of them: btpy --all {name} …", *matching],
    )


def stopped(pid: int) -> AttachError:
    return AttachError(f"the JVM {pid} is stopped", code="BT513", help=[f"kill -CONT {pid}"])


def no_answer(pid: int, detail: str) -> AttachError:
    return AttachError(
        f"the JVM {pid} does not answer: {detail}",
        code="BT513",
        help=["it may be in a long garbage collection, out of memory or under a debugger: try again"],
    )


def did_not_connect(pid: int, detail: str) -> AttachError:
    return AttachError(
        f"the agent in the JVM {pid} did not connect back: {detail}",
        code="BT514",
        help=[
            "if another version of btpy was attached to this JVM before, use that version or restart the JVM",
            *_memory(pid),
        ],
    )


def _memory(pid: int) -> tuple[str, str]:
    return (
        f"the agent needs memory, 5 to 8 MB of the heap with every collector: jcmd {pid} GC.heap_info",
        f"and 3 MB of metaspace, where -XX:MaxMetaspaceSize bounds it: jcmd {pid} VM.metaspace",
    )


def little_metaspace(pid: int, space: Space, ends_it: str) -> AttachError:
    """``ends_it``: the option, if any, with which the JVM ends when it runs out of memory."""
    end = f", and {ends_it} ends the JVM in that case" if ends_it else ""
    return AttachError(
        f"the JVM {pid} has {megabytes(space.left)} of {space.name} left, of {megabytes(space.limit)}"
        f" ({space.flag}): the agent and its probes could use all of it{end}",
        code="BT519",
        help=[
            f"start it with a larger {space.flag}: btpy needs {megabytes(space.needed)} free",
            f"jcmd {pid} GC.run (a full collection) frees the memory of classes that are no longer used:"
            " then try again",
            Permission(LITTLE_METASPACE, "to attach all the same"),
        ],
    )


def little_heap(pid: int, heap: Heap, needed: int, ends_it: str) -> AttachError:
    """``needed``: KiB. ``ends_it``: as in :func:`little_metaspace`."""
    end = f", and {ends_it} ends the JVM in that case" if ends_it else ""
    return AttachError(
        f"the JVM {pid} has {megabytes(heap.free)} of heap free, of {megabytes(heap.most)} (-Xmx):"
        f" the agent and its probes could use all of it{end}",
        code="BT525",
        help=[
            f"start it with a larger -Xmx: btpy needs {megabytes(needed)} free",
            f"jcmd {pid} GC.run (a full collection) frees garbage: then try again",
            Permission(LITTLE_HEAP, "to attach all the same"),
        ],
    )


def tiny_heap(pid: int, most: int) -> AttachError:
    """``most``: KiB."""
    return AttachError(
        f"the JVM {pid} has a heap of {megabytes(most)} (-Xmx), which ZGC divides into pages of 2 MB:"
        " the thread that answers btpy could take the last page",
        code="BT525",
        help=["start it with a larger -Xmx, or another collector", Permission(LITTLE_HEAP, "to attach all the same")],
    )


def near_limit(pid: int, limit: Limit) -> AttachError:
    return AttachError(
        f"the JVM {pid} has {limit.shown(limit.left)} of {limit.name} left, of {limit.shown(limit.most)}"
        f" ({limit.set_by}): {limit.then}",
        code="BT526",
        help=[
            f"{limit.remedy}: btpy needs {limit.shown(limit.needed)} left",
            Permission(LITTLE_MEMORY, "to attach all the same"),
        ],
    )


def no_proc() -> AttachError:
    return AttachError(
        "btpy finds JVMs through /proc, which does not exist here",
        code="BT515",
        help=["on Linux, mount it: mount -t proc proc /proc", "other systems have no /proc: run btpy on Linux"],
    )


def no_agent_jar() -> AttachError:
    return AttachError(
        "btpy-agent.jar is missing from the installation",
        code="BT516",
        help=["install btpy from a wheel, or build the agent: make setup"],
    )


def no_retransformation(pid: int) -> AttachError:
    return AttachError(
        f"the JVM {pid} cannot retransform classes",
        code="BT518",
        help=["run the program on HotSpot: another JVM, or a build without JVM TI, cannot be traced"],
    )


def no_names_left(pid: int, directory: str) -> AttachError:
    return AttachError(
        f"the JVM {pid} cannot make its attach socket: {directory} has no free inodes",
        help=[f"remove files there: df -i {directory}", f"btpy doctor {pid} checks this again"],
    )


def stale_socket(pid: int, path: str, detail: str) -> AttachError:
    return AttachError(
        f"{path} is left from another JVM, which was killed, and prevents an attach to the JVM {pid} ({detail})",
        code="BT517",
        help=[f"sudo rm {path}", f"sudo btpy {pid} … (root removes it)"],
    )
