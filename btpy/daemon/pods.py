"""The pods of this node, for rules that name labels or annotations."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping

from btpy.api.jvms import JvmProcess
from btpy.daemon.api_server import Access, ApiServer, ApiServerError, PodMetadata
from btpy.errors import UsageError

_SHORTEST_WAIT = 2.0
"""The minimum number of seconds between two requests, because ``--scan`` may be shorter."""

_FIRST_RETRY, _LAST_RETRY = 5.0, 60.0
"""Seconds from a failed request to the next request: the first wait, and the longest wait."""

_PATIENCE = 1.0
"""Seconds that :meth:`Pods.refresh` waits for an answer."""


class Pods:
    """The pods, as the API server listed them last. While the server does not answer, the list stays as it was.
    ``report``: takes messages for the user. All methods are for one thread.
    """

    def __init__(self, report: Callable[[str], None], environ: Mapping[str, str] = os.environ) -> None:
        self._report = report
        self._environ = environ
        self._listed: dict[str, PodMetadata] | None = None
        self._uids: dict[tuple[int, int], str] = {}
        self._server: ApiServer | None = None
        self._request: threading.Thread | None = None
        self._due = 0.0
        self._retry = _FIRST_RETRY
        self._trouble = ""  # the fault of the last request

    @property
    def are_known(self) -> bool:
        """Whether the API server has answered once."""
        return self._listed is not None

    def refresh(self, patience: float = _PATIENCE) -> None:
        """Asks the API server on a thread, unless it is too early, and waits for a short time. A later answer counts
        for the calls after it."""
        if self._request is None or (not self._request.is_alive() and time.monotonic() >= self._due):
            self._request = threading.Thread(target=self._ask, name="btpy-pods", daemon=True)
            self._request.start()
        self._request.join(patience)

    def of(self, process: JvmProcess) -> PodMetadata | None:
        """The pod of a process; None: it runs in no pod, or in a pod that has not been listed."""
        return self._listed.get(self.uid_of(process)) if self._listed is not None else None

    def uid_of(self, process: JvmProcess) -> str:
        """The uid of the pod of a process, read once for each process; empty: it runs in no pod."""
        identity = (process.pid, process.start_ticks)
        if identity not in self._uids:
            container = process.container
            self._uids[identity] = container.pod_uid if container is not None else ""
        return self._uids[identity]

    def forget(self, processes: set[tuple[int, int]]) -> None:
        """Forgets processes that have ended."""
        for identity in self._uids.keys() - processes:
            del self._uids[identity]

    def _ask(self) -> None:
        """Runs on the thread of the request."""
        try:
            if self._server is None:
                self._server = ApiServer(Access.of(self._environ))
            self._listed = self._server.pods()
        except (ApiServerError, UsageError) as error:
            if str(error) != self._trouble:
                self._report(f"pods: their labels stay as they were: {error}")
            self._trouble = str(error)
            self._due = time.monotonic() + self._retry
            self._retry = min(_LAST_RETRY, 2 * self._retry)
            return
        if self._trouble:
            self._report("pods: the API server answers again")
        self._trouble = ""
        self._due = time.monotonic() + _SHORTEST_WAIT
        self._retry = _FIRST_RETRY
