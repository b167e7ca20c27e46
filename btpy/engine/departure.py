"""The client leaves a session: it restores everything, or the session goes on unattended."""

from __future__ import annotations

from collections.abc import Callable

from btpy.engine.agent import Agent
from btpy.engine.delivery import Delivery
from btpy.engine.deployer import Deployer
from btpy.engine.description import Description
from btpy.engine.preweave import Preweaving
from btpy.engine.receipt import Receipt
from btpy.engine.target import Target
from btpy.errors import UsageError
from btpy.events.progress import Work
from btpy.wire.messages import Restored


class Departure:
    """``close`` closes the connection."""

    def __init__(
        self,
        target: Target,
        agent: Agent,
        deployer: Deployer,
        delivery: Delivery,
        preweaving: Preweaving,
        close: Callable[[], None],
    ) -> None:
        self._target = target
        self._agent = agent
        self._deployer = deployer
        self._delivery = delivery
        self._preweaving = preweaving
        self._close = close
        self._restored: Restored | None = None

    def restore(self) -> Restored:
        """Stop all probes, put every class back, then run ``@OnEnd``. Maps can still be read. Later calls return the
        result of the first call.
        """
        with self._deployer.changing:
            if self._restored is None:
                self._preweaving.stop()
                self._delivery.accept_all()
                with self._agent.progress.of(Work.RESTORING, len(self._deployer.weave_state.woven)):
                    self._restored = self._agent.restore()
                self._deployer.run_end_probes()
            return self._restored

    def detach(self) -> Receipt:
        """Restore the classes unless this was done, have the agent empty its buffers, and close the connection. The
        caller can still take the remaining events."""
        restored = self.restore()
        farewell = self._agent.detach()
        self._close()
        return Receipt.of(restored, farewell, tuple(self._delivery.accounts.values()), self._delivery.dropped)

    def leave(self, ttl: float, name: str = "") -> int:
        """Leave the probes in the target for at most ``ttl`` seconds; then the agent restores everything itself.

        The agent keeps their records as far as it has room. A client gets these records when it joins the session by
        the returned id or by ``name``. The limits of the session must have ``unattended``. The caller can still take
        the remaining events. Raises UsageError when the target refuses; the session is then unchanged.
        """
        deployer = self._deployer
        with deployer.changing:
            version = deployer.version
            if version is None:
                raise UsageError("a session without a program cannot be left")
            self._preweaving.end()
            with deployer.weave_state.lock:
                agent_sites = tuple((probe.probe, probe.site) for probe in version.agent_probes)
                description = Description(version.program, tuple(deployer.sites.values()), agent_sites)
            data = description.encode(self._target.agent_build, deployer.place)
            self._delivery.accept_all()
            answer = self._agent.leave(max(1, min(round(ttl * 1000), 0x7FFFFFFF)), name, data)
            if answer.error:
                raise UsageError(f"the session cannot be left: {answer.error}")
            self._close()
            return answer.session
