"""Sends log records, spans and metrics in the background, repeats failed requests, and counts lost records by their
cause.

Each signal has a thread. Log records and spans each wait in a bounded queue. Metrics need no queue, because the next
report includes the values of a report that was not delivered. If a backend is unreachable, only records beyond a queue
are lost.
"""

from __future__ import annotations

import random
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from btpy.errors import OutputError
from btpy.output.otlp.metrics import Metrics, Report
from btpy.output.otlp.settings import Batches, Endpoint, OtlpSettings
from btpy.output.otlp.transport import Delivered, Outcome, Refused, Repeatable, Transport, printable

CLOSING_SECONDS = 10.0
"""Seconds that the end of a run waits for the backend."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0  # seconds before a request is repeated
_QUEUE_BYTES = 64 << 20
_BATCH_BYTES = 4 << 20
_STALLED_SECONDS = 60.0  # seconds for a run that can wait, such as a replay
_ABORT_SECONDS = 1.0  # seconds until an aborted request has ended; a look-up of a host name cannot be ended


class Cause(Enum):
    """The causes of lost log records and spans."""

    QUEUE_FULL = "queue-full"
    REFUSED = "refused"
    REJECTED = "rejected"  # rejected by an answer of partial success
    NOT_SENT = "not-sent"  # at the end


class Tally(NamedTuple):
    """``points``: the points of metrics in the delivered reports. ``lost``: log records."""

    log_records: int
    points: int
    lost: dict[Cause, int]
    rejected_points: int
    unsent_reports: int
    spans: int
    lost_spans: dict[Cause, int]

    @property
    def is_complete(self) -> bool:
        return not (self.lost or self.lost_spans or self.rejected_points or self.unsent_reports)


class Service(NamedTuple):
    """A service of OTLP that takes one kind of records. ``what``: the records, for the user. ``answer``: reads the
    message of an answer. ``fields``: the names of the lists in a request, from the outside: of resources, of scopes and
    of records. ``rejected``: reads the number of rejected records in the partial success of an answer."""

    what: str
    request: type[Message]
    answer: Callable[[bytes], Any]
    fields: tuple[str, str, str]
    rejected: Callable[[Any], int]


LOGS = Service(
    "log records",
    ExportLogsServiceRequest,
    ExportLogsServiceResponse.FromString,
    ("resource_logs", "scope_logs", "log_records"),
    lambda success: success.rejected_log_records,
)
SPANS = Service(
    "spans",
    ExportTraceServiceRequest,
    ExportTraceServiceResponse.FromString,
    ("resource_spans", "scope_spans", "spans"),
    lambda success: success.rejected_spans,
)
METRICS = Service(
    "metrics",
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse.FromString,
    ("resource_metrics", "scope_metrics", "metrics"),
    lambda success: success.rejected_data_points,
)


class Exporter:
    """``patient``: a full queue makes the caller wait instead of losing records; for a replay, which can wait."""

    def __init__(self, settings: OtlpSettings, *, patient: bool = False) -> None:
        """Raises UsageError for certificates that cannot be read."""
        self.settings = settings
        self._notices: deque[str] = deque(maxlen=20)
        self._due = float("inf")
        tell = self._notices.append
        logs, traces = settings.logs, settings.traces
        self._logs = None if logs is None else _RecordSender(LOGS, logs, settings.log_batches, tell, patient)
        self._spans = None if traces is None else _RecordSender(SPANS, traces, settings.span_batches, tell, patient)
        self._metrics = None if settings.metrics is None else _MetricSender(settings.metrics, tell)
        self._senders = [sender for sender in (self._logs, self._spans, self._metrics) if sender is not None]

    @property
    def endpoint_text(self) -> str:
        """The endpoint in messages to the user."""
        return " and ".join(dict.fromkeys(sender.address for sender in self._senders)) or "nowhere"

    def start(self) -> None:
        for sender in self._senders:
            sender.start()

    def log(self, resource: Resource, scope: InstrumentationScope, record: LogRecord) -> None:
        """Raises OutputError when a patient export makes no progress."""
        if self._logs is not None:
            self._logs.put(_Waiting(resource, scope, record, record.ByteSize()))

    def trace(self, resource: Resource, scope: InstrumentationScope, span: Span) -> None:
        """Raises OutputError when a patient export makes no progress."""
        if self._spans is not None:
            self._spans.put(_Waiting(resource, scope, span, span.ByteSize()))

    def begin_report(self) -> bool:
        """Returns whether the metrics are due. They are due for the first time one interval after the first call."""
        now = time.monotonic()
        if now < self._due:
            self._due = min(self._due, now + self.settings.interval)
            return False
        self._due = now + self.settings.interval
        return True

    def add(self, metrics: Metrics) -> None:
        """Adds metrics to all later reports."""
        if self._metrics is not None:
            self._metrics.sources.append(metrics)

    def report(self) -> None:
        """Send all metrics now. The caller has just read them."""
        if self._metrics is not None:
            self._metrics.report()

    def notices(self) -> list[str]:
        """Messages for the user about the connection, since the last call."""
        notices = []
        while self._notices:
            notices.append(self._notices.popleft())
        return notices

    def close(self, seconds: float = CLOSING_SECONDS) -> Tally:
        """Sends all waiting records, for at most ``seconds`` seconds. It also does this after an interrupt."""
        deadline = time.monotonic() + seconds
        for sender in self._senders:
            sender.finish(deadline)
        for sender in self._senders:
            sender.end()
        logs, spans, metrics = self._logs, self._spans, self._metrics
        return Tally(
            0 if logs is None else logs.delivered,
            0 if metrics is None else metrics.delivered,
            {} if logs is None else logs.losses(),
            0 if metrics is None else metrics.rejected,
            0 if metrics is None else metrics.unsent,
            0 if spans is None else spans.delivered,
            {} if spans is None else spans.losses(),
        )


class _Waiting(NamedTuple):
    resource: Resource
    scope: InstrumentationScope
    record: LogRecord | Span
    size: int


class _Sender(ABC):
    """One signal: a thread that posts requests until they are delivered or refused.

    ``delivered``: log records, spans, or points of metrics.
    """

    def __init__(self, service: Service, endpoint: Endpoint, tell: Callable[[str], None]) -> None:
        self.delivered = 0
        self._service = service
        self._transport = Transport(endpoint)
        self._tell = tell
        self._changed = threading.Condition()
        self._deadline: float | None = None  # deadline of the end, by time.monotonic
        self._is_down = False
        self._has_refused = False
        name = f"btpy-otlp-{service.what.replace(' ', '-')}"
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def address(self) -> str:
        return self._transport.endpoint.address

    def start(self) -> None:
        self._thread.start()

    def finish(self, deadline: float) -> None:
        """No more records come: send the rest before the deadline."""
        with self._changed:
            self._deadline = deadline
            self._changed.notify_all()

    def end(self) -> None:
        """Wait until everything is sent or the deadline of :meth:`finish` has passed."""
        assert self._deadline is not None
        if self._thread.ident is not None:
            self._thread.join(max(0.0, self._deadline - time.monotonic()))
            self._transport.abort()
            self._thread.join(_ABORT_SECONDS)
        self._transport.close()

    def _run(self) -> None:
        while self._wait():
            self._send()

    @abstractmethod
    def _wait(self) -> bool:
        """Waits until a request is due; False: all has been sent, or the time is up."""

    @abstractmethod
    def _send(self) -> None:
        """Sends one request until it is delivered, refused or given up."""

    def _post(self, body: bytes, *, repeat: bool) -> Outcome:
        """``repeat``: sends the request again while the outcome is ``Repeatable`` and the time is not over."""
        pause = _FIRST_PAUSE
        while True:
            outcome = self._transport.post(body)
            self._report(outcome)
            if not isinstance(outcome, Repeatable) or not repeat or self._time_is_up():
                return outcome
            retry_after = outcome.seconds or 0.0
            self._rest(max(retry_after, pause * random.uniform(0.5, 1.0)))
            pause = min(2 * pause, _LONGEST_PAUSE)
            if self._time_is_up():
                return outcome

    def _rest(self, seconds: float) -> None:
        """Waits. If the run ends meanwhile, it waits less, so that the last attempts follow each other faster."""
        with self._changed:
            was_ending = self._deadline is not None
            self._changed.wait_for(
                lambda: self._time_is_up() or (self._deadline is not None and not was_ending),
                min(seconds, _FIRST_PAUSE) if was_ending else seconds,
            )

    def _time_is_up(self) -> bool:
        return self._deadline is not None and time.monotonic() >= self._deadline

    def _report(self, outcome: Outcome) -> None:
        """Tells the user once that the backend does not accept requests, and once that it does again."""
        address, what = self.address, self._service.what
        if isinstance(outcome, Delivered):
            if self._is_down:
                self._tell(f"{address} takes {what} again")
            self._is_down = self._has_refused = False
        elif isinstance(outcome, Repeatable) and not self._is_down:
            self._is_down = True
            self._tell(f"{address} does not take {what} at present ({outcome.reason}); btpy tries again")
        elif isinstance(outcome, Refused) and not self._has_refused:
            self._has_refused = True
            self._tell(f"{address} refuses {what}: {outcome.reason}")


class _RecordSender(_Sender):
    """A signal of records that wait in a queue."""

    def __init__(
        self, service: Service, endpoint: Endpoint, batches: Batches, tell: Callable[[str], None], patient: bool
    ) -> None:
        super().__init__(service, endpoint, tell)
        self._lost: Counter[Cause] = Counter()  # lost for any cause except NOT_SENT
        self._accepted = 0  # records that came into the queue
        self._batches = batches
        self._patient = patient
        self._queue: deque[_Waiting] = deque()
        self._bytes = 0

    def put(self, item: _Waiting) -> None:
        with self._changed:
            if self._is_full() and self._patient:
                self._wait_for_room()
            if self._is_full():
                self._lost[Cause.QUEUE_FULL] += 1
                return
            self._accepted += 1
            self._queue.append(item)
            self._bytes += item.size
            if len(self._queue) == self._batches.size or len(self._queue) == 1:
                self._changed.notify_all()

    def losses(self) -> dict[Cause, int]:
        """All records that were not delivered. Records without another cause count as not sent, however the thread
        ended."""
        accounted = self.delivered + self._lost[Cause.REFUSED] + self._lost[Cause.REJECTED]
        lost = {**self._lost, Cause.NOT_SENT: self._accepted - accounted}
        return {cause: count for cause, count in lost.items() if count}

    def _is_full(self) -> bool:
        return len(self._queue) >= self._batches.queue or self._bytes >= _QUEUE_BYTES

    def _wait_for_room(self) -> None:
        if not self._changed.wait_for(lambda: not self._is_full(), _STALLED_SECONDS):
            raise OutputError(
                f"{self.address} has accepted nothing for {_STALLED_SECONDS:.0f} s",
                help=["start the backend and replay again"],
            )

    def _wait(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: bool(self._queue) or self._deadline is not None)
            if self._deadline is None:
                self._changed.wait_for(
                    lambda: len(self._queue) >= self._batches.size or self._deadline is not None,
                    self._batches.delay,
                )
            return bool(self._queue) and not self._time_is_up()

    def _send(self) -> None:
        batch = self._take()
        outcome = self._post(self._message(batch), repeat=True)
        if isinstance(outcome, Delivered):
            rejected, reason = rejected_by(self._service, outcome.answer, len(batch))
            self.delivered += len(batch) - rejected
            if rejected:
                self._lost[Cause.REJECTED] += rejected
                self._tell(f"{self.address} has rejected {rejected} {self._service.what}: {reason}")
        elif isinstance(outcome, Refused):
            self._lost[Cause.REFUSED] += len(batch)

    def _take(self) -> list[_Waiting]:
        batch: list[_Waiting] = []
        size = 0
        with self._changed:
            while self._queue and len(batch) < self._batches.size and (not batch or size < _BATCH_BYTES):
                item = self._queue.popleft()
                batch.append(item)
                size += item.size
            self._bytes -= size
            self._changed.notify_all()
        return batch

    def _message(self, batch: list[_Waiting]) -> bytes:
        """The request with these records."""
        request = self._service.request()
        of_resources, of_scopes, of_records = self._service.fields
        groups: dict[tuple[int, int], Any] = {}
        for item in batch:
            origin = id(item.resource), id(item.scope)
            if origin not in groups:
                group = getattr(request, of_resources).add(resource=item.resource)
                groups[origin] = getattr(getattr(group, of_scopes).add(scope=item.scope), of_records)
            groups[origin].append(item.record)
        return request.SerializeToString()


class _MetricSender(_Sender):
    def __init__(self, endpoint: Endpoint, tell: Callable[[str], None]) -> None:
        super().__init__(METRICS, endpoint, tell)
        self.sources: list[Metrics] = []
        self.rejected = 0
        self._settled = 0  # sources whose last values are delivered
        self._is_due = False
        self._has_ended = False

    @property
    def unsent(self) -> int:
        """The number of sources whose last values were not delivered."""
        return len(self.sources) - self._settled

    def report(self) -> None:
        with self._changed:
            self._is_due = True
            self._changed.notify_all()

    def _wait(self) -> bool:
        """The last report is made after the last values have arrived."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_due or self._deadline is not None)
            if self._has_ended:
                return False
            self._is_due = False
            self._has_ended = self._deadline is not None
            return True

    def _send(self) -> None:
        for source in self.sources:
            report = source.report()
            if report is None:
                self._settled += self._has_ended
                continue
            outcome = self._post(
                ExportMetricsServiceRequest(resource_metrics=[report.message]).SerializeToString(),
                repeat=self._has_ended,
            )
            if isinstance(outcome, Delivered):
                self._note(source, report, outcome)
                self._settled += self._has_ended

    def _note(self, source: Metrics, report: Report, outcome: Delivered) -> None:
        rejected, reason = rejected_by(METRICS, outcome.answer, report.points)
        if rejected:
            self._tell(f"{self.address} has rejected {rejected} points: {reason}")
        self.rejected += rejected
        self.delivered += report.points - rejected
        source.delivered(report)


def rejected_by(service: Service, answer: bytes, sent: int) -> tuple[int, str]:
    """How many of the ``sent`` records the backend has rejected, and the reason. ``answer``: the message of its
    answer."""
    try:
        success = service.answer(answer).partial_success
    except DecodeError:
        return 0, ""
    reason = printable(success.error_message) or "no reason is given"
    return min(max(0, service.rejected(success)), sent), reason
