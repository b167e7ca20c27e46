"""Tests every step of an attach in order, and gives a remedy if a step fails (``btpy doctor``).

    for step in examine("OrderApp"):
        print(step.name, step.outcome, step.detail)

The first steps examine the JVM from outside, like the attach itself before its first request. Then the agent is loaded,
one probe that does nothing runs, and everything is restored. No class of the target is changed.
"""

from __future__ import annotations

import errno
import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from enum import Enum
from pathlib import Path

from btpy.dataclass import dataclass
from btpy.engine.agent import MAX_CLASSES
from btpy.engine.jdk_faults import loses_parameter_names
from btpy.engine.session import Session
from btpy.errors import AttachError, BtpyError
from btpy.events.items import Records
from btpy.jvm import attach, endings, launch, problems, processes
from btpy.jvm.connecting import Connecting
from btpy.jvm.delegate import Delegate
from btpy.jvm.metaspace import megabytes
from btpy.jvm.processes import JvmProcess
from btpy.lang.check.checker import check_source
from btpy.model.attach_method import AttachMethod
from btpy.model.patterns import class_patterns
from btpy.model.permissions import DEFAULT_PERMISSIONS
from btpy.model.source import Source
from btpy.plan.diagnose import LOADER_HELP
from btpy.temporary import Temporary
from btpy.wire.messages import LoadedClass, LoadedRefusal, Pattern


class Outcome(Enum):
    PASSED = "ok"
    WARNING = "warning"
    FAILED = "failed"
    UNTESTED = "not tested"


@dataclass(frozen=True, slots=True)
class Step:
    """``detail``: the finding; ``help``: the remedy; ``code``: the code for ``btpy explain``, or empty."""

    name: str
    outcome: Outcome
    detail: str = ""
    help: tuple[str, ...] = ()
    code: str = ""


_ROOM = 256 * 1024
"""Bytes of /tmp that an attach may need, for a copy of the agent's jar that the target can read."""

_WARNS_OF_AGENTS_SINCE = 21
_THROWS_CODE_AWAY_UNTIL = 21
_PROBE_SECONDS = 10.0
_PROBE = '@OnBegin { print("here"); }'

_NOT_A_JVM = "BT504"
_STEP_OF_OBSTACLE = {"BT501": "user", "BT513": "running", "BT504": "JVM", "BT505": "attach", "BT506": "agents"}
_NOT_CONNECTED, _NO_RETRANSFORMATION = "BT514", "BT518"
_AFTER_LOADING = (_NOT_CONNECTED, _NO_RETRANSFORMATION)
_AGENT_FLAGS = ("-javaagent:", "-agentpath:", "-agentlib:")
_OTHER_AGENTS = {
    "com.taobao.arthas.**": "Arthas",
    "org.jboss.byteman.agent.**": "Byteman",
    "io.opentelemetry.javaagent.**": "OpenTelemetry",
    "datadog.trace.**": "Datadog",
    "com.newrelic.agent.**": "New Relic",
    "com.dynatrace.**": "Dynatrace",
    "co.elastic.apm.agent.**": "Elastic APM",
    "org.apache.skywalking.apm.agent.**": "SkyWalking",
    "com.navercorp.pinpoint.bootstrap.**": "Pinpoint",
    "com.appdynamics.**": "AppDynamics",
    "org.jacoco.agent.rt.**": "JaCoCo",
    "org.openjdk.btrace.**": "BTrace",
    "net.bytebuddy.agent.**": "an agent made with Byte Buddy",
}
"""Packages of agents that change classes too. Each entry is the package of the agent itself, without its bundled
libraries."""


def examine(target: str, method: AttachMethod = AttachMethod.DIRECT) -> Iterator[Step]:
    """The steps in the order of the test. After a failed step, all later steps are UNTESTED. ``method``: as for
    ``--attach``.
    """
    patient = _Patient(target, method)
    has_failed = False
    try:
        for name, test in patient.steps():
            if has_failed:
                yield Step(name, Outcome.UNTESTED)
                continue
            try:
                step = test(name)
            except BtpyError as error:
                step = Step(name, Outcome.FAILED, str(error), error.help, error.code or "")
            has_failed = step.outcome is Outcome.FAILED
            yield step
    finally:
        patient.leave()


class _Patient:
    """The known facts about the target so far. Every test may use the facts of earlier tests."""

    def __init__(self, target: str, method: AttachMethod) -> None:
        self._target = target
        self._method = method
        self._jvm_process: JvmProcess | None = None
        self._connecting: Connecting | None = None
        self._attached: Session | None = None
        self._listens = False
        self._no_jvm: AttachError | None = None
        self._refusal: AttachError | None = None  # reported by the loaded agent

    def steps(self) -> tuple[tuple[str, Callable[[str], Step]], ...]:
        return (
            ("process", self._find),
            ("JVM", self._jvm),
            ("user", self._user),
            ("running", self._running),
            ("container", self._container),
            ("attach", self._attach),
            ("agents", self._agents),
            ("attach socket", self._attach_socket),
            ("room in /tmp", self._room),
            ("own Java", self._own_java),
            ("agent's jar", self._jar),
            ("compiled code", self._compiled_code),
            ("metaspace", self._metaspace),
            ("heap", self._heap),
            ("limits", self._limits),
            ("agent loads", self._load),
            ("connection", self._connect),
            ("retransform", self._retransformation),
            ("agent's build", self._build),
            ("parameter names", self._parameter_names),
            ("other agents", self._other_agents),
            ("class loaders", self._loaders),
            ("a probe runs", self._probe),
            ("leaves clean", self._leaves),
        )

    def leave(self) -> None:
        """Closes the connections and helpers of the test."""
        if self._attached is not None:
            self._attached.close()
        elif self._connecting is not None:
            self._connecting.__exit__(None, None, None)

    @property
    def _process(self) -> JvmProcess:
        assert self._jvm_process is not None
        return self._jvm_process

    @property
    def _session(self) -> Session:
        assert self._attached is not None
        return self._attached

    def _find(self, name: str) -> Step:
        try:
            self._jvm_process = processes.find(self._target)
        except AttachError as error:
            if error.code != _NOT_A_JVM:
                raise
            self._no_jvm = error
            return Step(name, Outcome.PASSED, self._target)
        return Step(name, Outcome.PASSED, f"{self._process.pid} {self._process.main}")

    def _obstacle(self, name: str, otherwise: str) -> Step:
        """Fails if the obstacle belongs to this step."""
        obstacle = self._process.obstacle
        if obstacle is not None and _STEP_OF_OBSTACLE.get(obstacle.code or "", "attach") == name:
            raise obstacle
        return Step(name, Outcome.PASSED, otherwise)

    def _user(self, name: str) -> Step:
        is_root = os.geteuid() == 0
        step = self._obstacle(name, f"{self._process.user}; btpy runs as {'root' if is_root else 'you'}")
        process = self._process
        if is_root and process.uid != 0 and not process.in_container:
            return replace(step, help=(f"root may do more than this needs:  sudo -u {process.user} btpy …",))
        return step

    def _running(self, name: str) -> Step:
        if not processes.is_alive(self._process):
            raise problems.ended(self._process.pid, endings.likely_causes(self._process))
        return self._obstacle(name, "it is not stopped")

    def _jvm(self, name: str) -> Step:
        if self._no_jvm is not None:
            raise self._no_jvm
        process = self._process
        return self._obstacle(name, f"JDK {process.java_version or '?'}, {process.vm_name or 'HotSpot'}")

    def _container(self, name: str) -> Step:
        process = self._process
        if not process.in_container and not process.is_hidden:
            return Step(name, Outcome.PASSED, "none: it sees the same files as btpy")
        if process.is_hidden:
            return Step(name, Outcome.PASSED, "not known; its performance counters are in the same /tmp as btpy's")
        container = process.container
        place = "a mount namespace of its own" if container is None else container.description
        detail = f"{place}, its pid there is {process.namespace_pid}"
        return Step(name, Outcome.PASSED, detail)

    def _attach(self, name: str) -> Step:
        return self._obstacle(name, "it takes requests (no -XX:+DisableAttachMechanism, it handles SIGQUIT)")

    def _agents(self, name: str) -> Step:
        step = self._obstacle(name, "agents may be loaded")
        attach.require_agent_permissions(self._process)
        version = self._process.feature_version or 0
        if version < _WARNS_OF_AGENTS_SINCE or "-XX:+EnableDynamicAgentLoading" in self._process.options:
            return step
        detail = f"agents may be loaded; Java {version} warns of each agent on the standard error of the program"
        return Step(name, Outcome.PASSED, detail, ("silent with -XX:+EnableDynamicAgentLoading",))

    def _attach_socket(self, name: str) -> Step:
        if self._process.needs_delegate:
            attach.wake(self._process)
            self._listens = True
            return Step(name, Outcome.PASSED, f"/tmp/.java_pid{self._process.namespace_pid} there answers")
        path = Path("/tmp") / f".java_pid{self._process.pid}"
        try:
            if attach.remove_stale_socket(self._process):
                return Step(name, Outcome.PASSED, f"{path} was left by a JVM that was killed, and is removed")
        except FileNotFoundError:
            return Step(name, Outcome.PASSED, f"none yet: the JVM opens {path} when asked to")
        except OSError as error:
            raise problems.not_permitted(self._process.pid, f"{path}: {_reason(error)}") from None
        self._listens = True
        return Step(name, Outcome.PASSED, f"{path} answers")

    def _room(self, name: str) -> Step:
        """The directory of the JVM's attach socket, which does not depend on TMPDIR. A socket needs a directory entry,
        but no space.
        """
        if self._process.needs_delegate:
            with Delegate(self._process) as delegate:
                delegate.room(_ROOM)
            return Step(name, Outcome.PASSED, f"its /tmp can be written by {self._process.user}")
        parent, has_socket = Path("/tmp"), False
        try:
            directory = Temporary(parent)
            try:
                with socket.socket(socket.AF_UNIX) as trying:
                    trying.bind(str(directory.path / "socket"))
                has_socket = True
                (directory.path / "room").write_bytes(bytes(_ROOM))
            finally:
                directory.remove()
        except OSError as error:
            problem = _no_room(parent, error)
            if attach.needs_copy(self._process) if has_socket else not self._listens:
                raise problem from None
            detail = "a socket can be made there" if has_socket else "the attach socket already exists"
            return Step(name, Outcome.WARNING, f"{problem}; {detail}", problem.help)
        return Step(name, Outcome.PASSED, f"{parent} can be written")

    def _own_java(self, name: str) -> Step:
        if self._method is AttachMethod.DIRECT:
            return Step(name, Outcome.PASSED, "not needed: btpy speaks the attach protocol itself")
        home = attach.attach_api_home(self._process)
        return Step(name, Outcome.PASSED, f"{home} (Java {launch.feature_version(home) or '?'})")

    def _jar(self, name: str) -> Step:
        jar = attach.agent_jar()
        copied = attach.needs_copy(self._process)
        detail = "is copied to where the JVM can read it" if copied else "the JVM can read it"
        return Step(name, Outcome.PASSED, f"build {attach.agent_build()[:12]}; {detail} ({jar})")

    def _compiled_code(self, name: str) -> Step:
        version = self._process.feature_version or 0
        if version > _THROWS_CODE_AWAY_UNTIL:
            return Step(name, Outcome.PASSED, f"Java {version} keeps the compiled code of all other methods")
        early = [option for option in self._process.options if option.startswith(_AGENT_FLAGS)]
        if early:
            return Step(name, Outcome.PASSED, f"kept for all other methods, if {early[0]} may retransform")
        detail = (
            f"Java {version} throws all compiled code away when the first class is changed: "
            "a busy JVM is slower for seconds"
        )
        remedy = (
            f"to avoid it, start the JVM with -javaagent:{attach.agent_jar()} (it does nothing until btpy attaches)"
        )
        return Step(name, Outcome.PASSED, detail, (remedy,))

    def _metaspace(self, name: str) -> Step:
        process = self._process
        if process.has_agent:
            return Step(name, Outcome.PASSED, "enough: the agent was loaded before")
        attach.wake(process)
        with attach.asking(process) as ask:
            spaces = [f"{megabytes(space.left)} of {space.name}" for space in attach.require_metaspace(process, ask)]
        detail = f"left: {', '.join(spaces)}" if spaces else "this JVM does not report its free space"
        return Step(name, Outcome.PASSED, detail)

    def _heap(self, name: str) -> Step:
        with attach.asking(self._process) as ask:
            heap = attach.require_heap(self._process, ask)
        if heap is None:
            return Step(name, Outcome.PASSED, "this JVM does not report its free space")
        return Step(name, Outcome.PASSED, f"at least {megabytes(heap.free)} free, of {megabytes(heap.most)}")

    def _limits(self, name: str) -> Step:
        with attach.asking(self._process) as ask:
            limits = attach.require_limits(self._process, ask)
        limit_texts = [f"{limit.shown(limit.left)} of {limit.name} ({limit.set_by})" for limit in limits]
        return Step(name, Outcome.PASSED, f"left: {', '.join(limit_texts)}" if limit_texts else "none is set")

    def _load(self, name: str) -> Step:
        start = time.monotonic()
        self._connecting = Connecting(self._process, method=self._method)
        try:
            self._attached = Session.connected(self._connecting)
        except AttachError as error:
            if error.code not in _AFTER_LOADING:
                raise
            self._refusal = error
        return Step(name, Outcome.PASSED, f"{_milliseconds(start)} after the request")

    def _connect(self, name: str) -> Step:
        assert self._connecting is not None
        if self._refusal is not None and self._refusal.code == _NOT_CONNECTED:
            raise self._refusal
        way = "a Unix socket" if self._connecting.address.startswith("unix:") else "TCP on the loopback interface"
        return Step(name, Outcome.PASSED, f"the agent has called back through {way} and proved its identity")

    def _build(self, name: str) -> Step:
        agent_build = self._session.target.agent_build
        if agent_build == attach.agent_build():
            return Step(name, Outcome.PASSED, "the build of this btpy")
        detail = f"an agent of another btpy ({agent_build[:12]}) was loaded before, and stays until the JVM ends"
        return Step(name, Outcome.WARNING, detail, ("use that btpy, or restart the JVM, if anything looks wrong",))

    def _retransformation(self, name: str) -> Step:
        if self._refusal is not None:
            raise self._refusal
        return Step(name, Outcome.PASSED, f"possible; {self._session.target.loaded_classes} classes are loaded")

    def _parameter_names(self, name: str) -> Step:
        version = self._session.target.java_version
        if not loses_parameter_names(version):
            return Step(name, Outcome.PASSED, f"JDK {version} keeps the parameter names of woven classes")
        detail = f"JDK {version} drops the MethodParameters of woven classes (JDK-8240908), and btpy gives them back"
        return Step(name, Outcome.PASSED, detail)

    def _other_agents(self, name: str) -> Step:
        flags = [option.partition("=")[0] for option in self._process.options if option.startswith(_AGENT_FLAGS)]
        agents = list(dict.fromkeys(flags))
        agents += [agent for pattern, agent in _OTHER_AGENTS.items() if self._loaded(pattern, 1)]
        if not agents:
            return Step(name, Outcome.PASSED, "none that btpy knows")
        detail = f"{', '.join(agents)}: they may change the same classes; each keeps its own changes"
        return Step(name, Outcome.WARNING, detail, ("the receipt at the end says which classes have their bytes back",))

    def _loaders(self, name: str) -> Step:
        classes = self._loaded("**", MAX_CLASSES)
        counts = Counter(class_.loader for class_ in classes if class_.refusal is LoadedRefusal.LOADER)
        loaders = len({class_.loader for class_ in classes})
        if not counts:
            return Step(name, Outcome.PASSED, f"{loaders}, and all of them see btpy's run time")
        described = ", ".join(
            f"{loader} ({count} class{'es' * (count != 1)})" for loader, count in counts.most_common(3)
        )
        suffix = f" and {len(counts) - 3} more" if len(counts) > 3 else ""
        detail = f"{len(counts)} of {loaders} hide btpy's run time, so their classes are not woven: {described}{suffix}"
        return Step(name, Outcome.WARNING, detail, LOADER_HELP, "BT336")

    def _loaded(self, pattern: str, most: int) -> tuple[LoadedClass, ...]:
        """Loaded classes that match a pattern of ``class=``."""
        patterns = tuple(Pattern(class_pattern.kind, class_pattern.text) for class_pattern in class_patterns(pattern))
        return self._session.agent.search(patterns, most).classes

    def _probe(self, name: str) -> Step:
        """A handler is verified, defined and run, and its event comes back."""
        start = time.monotonic()
        self._session.deployer.load(check_source(Source("<doctor>", _PROBE), permissions=DEFAULT_PERMISSIONS))
        for item in self._session.delivery.items(_PROBE_SECONDS):
            if isinstance(item, Records):
                duration = _milliseconds(start)
                return Step(name, Outcome.PASSED, f"and its event arrived {duration} after the probe was sent")
        raise BtpyError(f"no event in {_PROBE_SECONDS:.0f} s", help=["the JVM may be out of CPU or memory: try again"])

    def _leaves(self, name: str) -> Step:
        receipt = self._session.departure.detach()
        if not receipt.clean:
            raise BtpyError(f"left behind: {', '.join(receipt.left_behind)}", help=["report this: it is a bug of btpy"])
        if causes := endings.died_of(self._process):
            raise problems.ended(self._process.pid, causes)
        idle = receipt.handler_classes + receipt.agent_classes
        return Step(name, Outcome.PASSED, f"no class was changed; {idle} idle agent classes remain")


def _no_room(parent: Path, error: OSError) -> AttachError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return AttachError(
        f"{parent} cannot be written: {_reason(error)}",
        help=[f"free some space: df -h {parent}; df -i {parent}" if full else f"ls -ld {parent}; df {parent}"],
    )


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _milliseconds(start: float) -> str:
    return f"{(time.monotonic() - start) * 1000:.0f} ms"
