"""Messages from the target: events, maps, and the accounts of probes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping

from btpy.engine.agent import Agent
from btpy.engine.event_queue import EventQueue
from btpy.engine.receipt import accounts
from btpy.engine.secret_messages import AnyMessage, mask
from btpy.errors import BtpyError
from btpy.events.accounts import ProbeAccount
from btpy.events.added_secrets import AddedSecrets
from btpy.events.aggregates import MapContent, decode_contents
from btpy.events.items import Item, ItemDecoder
from btpy.events.reading_limit import ReadingLimit
from btpy.events.stacks import StackTable
from btpy.model.maps import Map
from btpy.model.outline import Outline
from btpy.model.permissions import Permissions
from btpy.model.secrets import NO_SECRETS
from btpy.wire.messages import Counters, Maps, Message, Stacks


class Delivery:
    """One thread takes the messages or the items; any thread may read maps and counters.

    ``outline``: the outline of all programs whose records the target may send. It grows with the program. ``stacks``:
    the stack traces that records refer to. ``reading_limit``: limits decoding; None: no limit. ``sent_before``:
    records, by probe, that went to clients which have left the session. ``release`` gives credit for further events
    back.
    """

    def __init__(self, agent: Agent, release: Callable[[int], None]) -> None:
        self._agent = agent
        self.outline = Outline([], [], [], [])
        self.stacks = StackTable()
        self.reading_limit: ReadingLimit | None = None
        self.sent_before: Mapping[int, int] = {}
        self._added_secrets: AddedSecrets | None = None
        self._decoder = ItemDecoder()
        self._queue = EventQueue(release)
        self._accounts: Mapping[int, ProbeAccount] = {}
        self._accounted: tuple[Counters, int, int] | None = None  # the data from which ``_accounts`` was made

    def hide(self, permissions: Permissions) -> None:
        """From now on hide, in all messages, the secrets that these permissions name."""
        self.outline.redact = permissions.redact
        secrets = permissions.secrets
        self._added_secrets = AddedSecrets(secrets) if secrets != NO_SECRETS else None

    def put(self, message: Message) -> None:
        """Runs on the reading thread. Raises ProtocolError like :meth:`EventQueue.put`."""
        if isinstance(message, Stacks):
            for stack in message.stacks:
                self.stacks.add(stack)
        else:
            self._queue.put(message)

    def end(self, failure: BtpyError | None) -> None:
        """The connection has ended: no more messages will come. Runs on the reading thread."""
        self._queue.end(failure)

    def items(self, timeout: float | None = None) -> Iterator[Item]:
        """As :meth:`received`, decoded."""
        for message in self.received(timeout):
            yield self.item(message)

    def received(self, timeout: float | None = None) -> Iterator[Message]:
        """The messages that arrive within ``timeout`` seconds (None: until the session ends), in order, with secrets in
        their texts masked.

        When the time is over, the iteration ends even if more messages wait. It yields at least one message if a
        message waits. Taking the next message gives the target credit for more events. When the connection has ended,
        all earlier messages are yielded first. Then raises the error that ended the connection, unless the client ended
        it.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while (message := self._queue.take(deadline)) is not None:
            yield self._without_secrets(message)
            if deadline is not None and time.monotonic() >= deadline:
                return
        if self._queue.exhausted and self._queue.failure is not None:
            raise self._queue.failure

    def item(self, message: Message) -> Item:
        """Decode a message. The caller must pass every message once, in order. Raises ProtocolError."""
        return self._decoder.item(message, self.outline, self.reading_limit)

    def accept_all(self) -> None:
        """From now on give all credit back at once: the agent is leaving, and has to empty its buffers."""
        self._queue.accept_all()

    def snapshot(self, maps: Iterable[int] | None = None) -> list[MapContent]:
        """The current maps of the program. ``maps``: their ids; None: all. Raises as :class:`Agent`."""
        return [content for answer in self.snapshots(maps) for content in self.contents(answer)]

    def snapshots(self, maps: Iterable[int] | None = None) -> list[Maps]:
        """Like :meth:`snapshot`, but gives the raw messages. Each message has one map, so that a large map has a frame
        for itself.
        """
        ids = [map_.id for map_ in self.outline.maps] if maps is None else maps
        answers = [self._agent.snapshot(id_) for id_ in ids]
        return [self._without_secrets(answer) for answer in answers]

    def contents(self, answer: Maps) -> list[MapContent]:
        """Decode the answer to SNAPSHOT. Raises ProtocolError."""
        return decode_contents(answer.contents, self._maps)

    @property
    def dropped(self) -> int:
        """The number of messages that came too fast and were dropped."""
        return self._queue.dropped

    @property
    def accounts(self) -> Mapping[int, ProbeAccount]:
        """The account of each probe, by id, as far as the target has reported it; exact after the agent has left."""
        queue, probes = self._queue, len(self.outline.probes)
        state = queue.counters, queue.delivered_records, probes
        if state != self._accounted:
            self._accounts = accounts(probes, queue.counters, queue.delivered.copy(), self.sent_before)
            self._accounted = state
        return self._accounts

    def _without_secrets(self, message: AnyMessage) -> AnyMessage:
        return mask(message, self._added_secrets, self._maps) if self.outline.redact else message

    @property
    def _maps(self) -> dict[int, Map]:
        return {map_.id: map_ for map_ in self.outline.maps}
