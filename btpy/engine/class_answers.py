"""Answers the questions of the agent about a class that is being loaded or retransformed. The reading thread calls
:meth:`ClassAnswers.answer`, because an application thread may be waiting. That thread cannot send requests to the
agent, because it reads the answers itself. A class whose plan needs requests gets a separate thread.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Protocol

from btpy.engine.agent import Agent
from btpy.engine.instrumentation import Instrumentation
from btpy.engine.matcher import look_up
from btpy.engine.preweave import Preweaving
from btpy.engine.retransformation import weave_named
from btpy.engine.weave_state import WeaveState
from btpy.errors import BtpyError
from btpy.wire.channel import Channel
from btpy.wire.fingerprint import fingerprint
from btpy.wire.messages import ClassBytes, Late, Verdict, Woven


class Deployed(Protocol):
    """The version of the program in the target (None before the first), and the classes woven so far."""

    @property
    def version(self) -> Instrumentation | None: ...
    @property
    def weave_state(self) -> WeaveState: ...


class ClassAnswers:
    """``changed`` takes the diagnostics of a class that another agent has changed."""

    def __init__(
        self,
        channel: Channel,
        agent: Agent,
        deployed: Deployed,
        preweaving: Preweaving,
        changed: Callable[[Late], None],
    ) -> None:
        self._channel = channel
        self._agent = agent
        self._deployed = deployed
        self._preweaving = preweaving
        self._changed = changed
        self._one_at_a_time = threading.Lock()  # later answers may use the look-ups of an earlier answer

    def answer(self, request: ClassBytes) -> None:
        """Answer at once, or on a separate thread if further requests are needed."""
        self._preweaving.saw(request.name)
        if request.class_id:
            self._agent.progress.advance()
        version = self._deployed.version
        if version is not None and version.depends(request):
            self._on_a_thread(self._answer_with_others, request)
            return
        answer = self._woven(request)
        if answer is not None:
            self._channel.reply(answer)
        else:
            self._on_a_thread(self._answer_with_room, request)

    @staticmethod
    def _on_a_thread(answer: Callable[[ClassBytes], None], request: ClassBytes) -> None:
        threading.Thread(target=answer, args=(request,), name="btpy-others", daemon=True).start()

    def _answer_with_others(self, request: ClassBytes) -> None:
        """Answers for a class if other classes depend on it, or if types have to be looked up for it.

        A thread that loads such a class waits for the look-up, at most as long as for any answer. A loaded class that
        is being retransformed gets its answer at once, because the same thread of the agent retransforms and looks up.
        """
        # The end of the connection is reported by the channel.
        with self._one_at_a_time, contextlib.suppress(BtpyError):
            version = self._deployed.version
            assert version is not None
            if request.class_id:
                self._send(request)
                weave_named(self._agent, version, version.callers(request.name))
                return
            others = (*look_up(self._agent, version), *version.callers(request.name))
            weave_named(self._agent, version, [name for name in others if name != request.name])
            self._send(request)

    def _answer_with_room(self, request: ClassBytes) -> None:
        """The answer for a class that exceeds the limit of a probe if all prewoven classes are loaded."""
        with contextlib.suppress(BtpyError):  # likewise
            self._send(request)

    def _send(self, request: ClassBytes) -> None:
        while (answer := self._woven(request)) is None:
            self._preweaving.end()
        self._channel.send(answer)

    def _woven(self, asked: ClassBytes) -> Woven | None:
        """None: prewoven classes have to be taken back first (:meth:`Instrumentation.answer`)."""
        weave_state = self._deployed.weave_state
        with weave_state.lock:
            old_places = weave_state.places(asked.name, asked.loader)
        while (version := self._deployed.version) is not None:
            answer = version.answer(asked)
            # A newer version that has replaced this version needs no further answers from it.
            if version is self._deployed.version:
                if asked.changed:
                    self._changed(version.changed(asked, old_places))
                return answer
        return Woven(asked.request, fingerprint(asked.data), Verdict.UNCHANGED, (), (), b"")
