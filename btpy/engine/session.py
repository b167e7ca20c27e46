"""One attached target, as the parts of a session.

    with Session.attach("OrderApp") as session:
        session.deployer.load(program)
        for item in session.delivery.items(timeout=10):
            …
        receipt = session.departure.detach()

The thread that reads the messages of the target also weaves, immediately and independently of the caller, because an
application thread may be waiting. Leaving the ``with`` block without :meth:`Departure.detach` (because of an exception
or Ctrl-C) closes the connection, and the agent restores every class itself.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from functools import partial
from types import TracebackType

from btpy import timeline
from btpy.dataclass import dataclass
from btpy.engine import sessions
from btpy.engine.agent import ANSWER_SECONDS, Agent
from btpy.engine.class_answers import ClassAnswers
from btpy.engine.delivery import Delivery
from btpy.engine.departure import Departure
from btpy.engine.deployer import Deployer, Deployment
from btpy.engine.description import Description
from btpy.engine.preweave import Preweaving
from btpy.engine.target import Limits, Target
from btpy.engine.target import lost as target_lost
from btpy.errors import AttachError, BtpyError, ProtocolError, TargetGone, UsageError
from btpy.jvm import endings, problems, processes
from btpy.jvm.connecting import Connecting, silent
from btpy.jvm.launching import Launching
from btpy.jvm.processes import JvmProcess
from btpy.wire import messages
from btpy.wire.channel import Channel, Tap
from btpy.wire.messages import ClassBytes, Joined, Late, LateOutcome, Message, SessionInfo, Trouble, Welcome

PREWEAVING_SECONDS = 2.0
"""Seconds that a starting JVM may wait until classes are prewoven."""


@dataclass(frozen=True, slots=True)
class JoinedSession:
    """A session that another client has begun. ``ttl``: remaining seconds; ``age``: seconds since its beginning;
    ``deployment``: the deployment of its program, None if the client only ends the session.
    """

    name: str
    ttl: float
    age: float
    deployment: Deployment | None


class Session:
    """Made by :meth:`attach` or :meth:`join`.

    ``agent`` sends simple requests. ``deployer`` puts probes in and takes them out, ``delivery`` receives their
    records, ``departure`` ends the session. ``joined``: None for a session that this client has begun.

    All methods raise TargetGone when the target has ended or does not answer, and ProtocolError when its agent broke
    the protocol; the connection is over then, and the agent restores the classes if it still runs.
    """

    def __init__(
        self, process: JvmProcess, connection: socket.socket, welcome: Welcome, tap: Tap | None = None
    ) -> None:
        self.target = Target.of(process, welcome)
        self.joined: JoinedSession | None = None
        self._starting = False
        self._ready = threading.Event()
        lost = partial(target_lost, process)
        self._channel = Channel(connection, self._deliver, self._ended, tap, lost)
        self.agent = Agent(self._channel, lost, self.target.loaded_classes)
        self.delivery = Delivery(self.agent, self._release)
        self._preweaving = Preweaving(self.agent, process)
        self.deployer = Deployer(self.target, self.agent, self._preweaving, self.delivery.outline)
        self.departure = Departure(self.target, self.agent, self.deployer, self.delivery, self._preweaving, self.close)
        self._answers = ClassAnswers(self._channel, self.agent, self.deployer, self._preweaving, self.delivery.put)
        self._ready.set()

    @staticmethod
    def attach(target: JvmProcess | int | str, limits: Limits | None = None) -> Session:
        """Attach to a JVM: a found JVM, a pid, or a name for :func:`btpy.jvm.processes.find`.

        Raises AttachError with the obstacle and its remedy.
        """
        with Connecting(target) as connecting:
            return Session.connected(connecting, limits)

    @staticmethod
    def connected(connecting: Connecting | Launching, limits: Limits | None = None, tap: Tap | None = None) -> Session:
        """The session of an attach in progress; ``tap``: as in :class:`Channel`. Raises AttachError like
        :meth:`attach`."""
        session = Session._connected(connecting, tap)
        session._starting = isinstance(connecting, Launching)
        limits = limits or Limits()
        with session._closed_on_error():
            with timeline.step("begin the session"):
                configured = session._channel.configure(limits.message, ANSWER_SECONDS)
            session.deployer.begin(configured.slot, limits)
        return session

    @staticmethod
    def join(connecting: Connecting, name_or_id: str, *, take_over: bool = False, read: bool = True) -> Session:
        """The unattended session with this id or name (:meth:`Departure.leave`), with its program, its maps, and the
        output of its probes since then. Weaves its classes that were loaded in the meantime.

        ``take_over``: take the session from a client that has joined it. ``read``: False if the caller will only end
        the session, so that its program need not be read.

        Raises UsageError when there is no such session, or it cannot be joined; AttachError as :meth:`attach`;
        Unreadable if the meaning of the ids in its records is not known.
        """
        session = Session._connected(connecting)
        with session._closed_on_error():
            info = sessions.chosen(session.agent.sessions(), name_or_id)
            reply = session._join(info, take_over)
            deployment = None
            if read:
                deployer = session.deployer
                description = Description.decode(reply.description, session.target.agent_build, deployer.place)
                deployment = deployer.resume(description)
            session.joined = JoinedSession(sessions.name_of(reply), reply.ttl_ns / 1e9, info.age_ns / 1e9, deployment)
        return session

    @staticmethod
    def enquire(connecting: Connecting) -> Session:
        """A connection without a session, for questions about the sessions in a target."""
        return Session._connected(connecting)

    @staticmethod
    def _connected(connecting: Connecting | Launching, tap: Tap | None = None) -> Session:
        with timeline.step("wait for the agent"):
            connection, welcome = connecting.take()  # tested first, because it gives the best reason
        try:
            process = connecting.process
        except AttachError:
            connection.close()
            raise
        return Session(process, connection, welcome, tap)

    @contextlib.contextmanager
    def _closed_on_error(self) -> Iterator[None]:
        """Closes the connection if no session is created. Raises AttachError if the reason is that the JVM ends (BT507)
        or is stopped (BT513).
        """
        process = self.target.process
        try:
            yield
        except TimeoutError:
            self.close()
            raise silent(process, ANSWER_SECONDS) from None
        except BaseException as error:
            self.close()
            if isinstance(error, TargetGone) and not processes.is_alive(process):
                raise problems.ended(process.pid, endings.likely_causes(process)) from None
            raise

    def _join(self, info: SessionInfo, take_over: bool) -> Joined:
        """The description that the former client left for the next client."""
        answer = self.agent.join(info.id, take_over)
        if answer.error:
            raise UsageError(
                f"session {sessions.id_text(info)} cannot be joined: {answer.error}",
                help=["btpy sessions PID lists the sessions"],
            )
        self.deployer.begin(answer.slot)
        self.delivery.sent_before = {probe.probe: probe.records for probe in answer.handed_over}
        return answer

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def go(self) -> None:
        """Let a JVM that was started with the agent run its main method; has no effect on other JVMs. Waits until
        classes that it may load are woven, for PREWEAVING_SECONDS at most.
        """
        if self._starting:
            self.finish_preweaving(PREWEAVING_SECONDS)
        self.agent.go()

    def finish_preweaving(self, seconds: float) -> None:
        """Wait until the classes that may be loaded later are woven, for ``seconds`` at most."""
        self._preweaving.finish(seconds)

    def close(self) -> None:
        """Close the connection, in any state. Then the agent restores the classes that are still woven, and leaves."""
        self._preweaving.abandon()
        self._channel.close()

    # The methods below run on the reading thread.

    def _deliver(self, message: Message) -> None:
        self._ready.wait()
        if isinstance(message, ClassBytes):
            self._answers.answer(message)
        elif isinstance(message, Late) and message.prewoven:
            weave_state = self.deployer.weave_state
            with weave_state.lock:
                if not weave_state.arrived(message.prewoven, message.loader):
                    raise ProtocolError(f"LATE reports {message.prewoven}, which was not prewoven")
            if message.outcome is LateOutcome.WOVEN:
                self.delivery.put(message)
        elif not isinstance(message, Trouble):  # the channel reports this error
            self.delivery.put(message)

    def _ended(self, failure: BtpyError | None) -> None:
        self._ready.wait()
        self.delivery.end(failure)

    def _release(self, size: int) -> None:
        with contextlib.suppress(BtpyError):  # the connection has ended: the channel reports the reason
            self._channel.send(messages.Release(size))
