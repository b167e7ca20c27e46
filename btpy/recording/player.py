"""Reads a recording: the messages in order of arrival, each after the entries to which it refers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Union

from btpy.dataclass import dataclass
from btpy.errors import ProtocolError, UsageError
from btpy.events.accounts import ProbeAccount
from btpy.events.aggregates import ContentForm, MapContent, decode_contents
from btpy.events.items import Item, ItemDecoder
from btpy.events.record_decoder import tally
from btpy.events.stacks import StackTable
from btpy.model.maps import Map
from btpy.model.outline import Outline
from btpy.recording.entries import (
    ENTRIES,
    Counted,
    Ended,
    MapsAtEnd,
    MapsShown,
    OnHost,
    ProbesAttached,
    Program,
    Sites,
    Started,
    WovenSite,
)
from btpy.recording.file import ChunkReader, Entry
from btpy.recording.outlines import grow
from btpy.wire import codec, messages
from btpy.wire.messages import (
    FROM_AGENT,
    Errors,
    Events,
    Exiting,
    Late,
    Message,
    Restrained,
    Stacks,
)

MAX_SITES = 1 << 20

_KINDS: dict[int, type[Message]] = {kind.code: kind for kind in ENTRIES}
_SHOWN = (Events, Stacks, messages.Map, Errors, Late, Exiting, Restrained)
_KINDS |= {kind.code: kind for kind in FROM_AGENT if kind in _SHOWN}


@dataclass(frozen=True, slots=True)
class ShownMaps:
    """Maps that were read during the run."""

    contents: tuple[MapContent, ...]


@dataclass(frozen=True, slots=True)
class Totals:
    """The counts of the agent so far."""

    accounts: tuple[ProbeAccount, ...]


@dataclass(frozen=True, slots=True)
class Ending:
    """``contents``: the maps at the end. ``left``: the numbers of woven, restored and unloaded classes; None if the
    target ended before it could report them."""

    reason: str
    contents: tuple[MapContent, ...]
    accounts: tuple[ProbeAccount, ...]
    left: tuple[int, int, int] | None


Recorded = Union[Item, ProbesAttached, ShownMaps, Totals, Ending]


class Playback:
    """Turns the entries of a recording, in their order, into items. ``outline``, ``sites`` and ``stacks`` grow.
    ``host``: the host, for a run on several hosts; else None. ``complete``: whether the entry of the end was taken.
    ``version``: the version of the format.
    """

    def __init__(self, version: int) -> None:
        self.outline = Outline([], [], [], [])
        self.sites: dict[int, WovenSite] = {}
        self.stacks = StackTable()
        self.host: str | None = None
        self.form = ContentForm(skips=version >= 3, exponential=version >= 4, exemplars=version >= 5)
        self._decoder = ItemDecoder(self.form)
        self._started: Started | None = None
        self._at_end: list[MapContent] = []
        self._delivered: Counter[int] = Counter()
        self._agent_accounts: dict[int, ProbeAccount] = {}
        self.complete = False

    @property
    def started(self) -> Started:
        """The target; known from the first entry on."""
        assert self._started is not None
        return self._started

    @property
    def accounts(self) -> tuple[ProbeAccount, ...]:
        """The account of each probe in the entries that were read."""
        return tuple(
            self._agent_accounts.get(probe, ProbeAccount(probe)).with_delivered(self._delivered[probe])
            for probe in range(len(self.outline.probes))
        )

    def take(self, entry: Entry) -> Recorded | None:
        """The item of an entry; None for an entry to which only later entries refer. Raises ProtocolError."""
        message = codec.decode(entry.code, entry.payload, _KINDS)
        if self._started is not None:
            return self._item(message)
        if not isinstance(message, Started):
            raise ProtocolError("the recording does not begin with its target")
        self._started = message
        self.outline.redact, self.outline.print_maps = message.redact, message.print_maps
        return None

    def _item(self, message: Message) -> Recorded | None:
        if isinstance(message, OnHost):
            self.host = message.name
        elif isinstance(message, Program):
            grow(self.outline, message)
        elif isinstance(message, Sites):
            self.sites.update((site.id, site) for site in message.sites)
            if len(self.sites) > MAX_SITES:
                raise ProtocolError(f"more than {MAX_SITES} woven places")
        elif isinstance(message, Stacks):
            for stack in message.stacks:
                self.stacks.add(stack)
        elif isinstance(message, MapsAtEnd):
            self._at_end += self._contents(message.contents)
            if len(self._at_end) > len(self.outline.maps):
                raise ProtocolError("more maps at the end than there are")
        elif isinstance(message, MapsShown):
            return ShownMaps(tuple(self._contents(message.contents)))
        elif isinstance(message, Counted):
            if any(count.probe >= len(self.outline.probes) for count in message.probes):
                raise ProtocolError("counters of a probe that is not there")
            counted = [count.account.with_delivered(self._delivered[count.probe]) for count in message.probes]
            self._agent_accounts.update({account.probe: account for account in counted})
            return Totals(tuple(counted))
        elif isinstance(message, ProbesAttached):
            return message
        elif isinstance(message, Ended):
            return self._ending(message)
        else:
            if isinstance(message, Events):
                for (_, probe), count in tally(message.records).items():
                    self._delivered[probe] += count
            return self._decoder.item(message, self.outline)
        return None

    def _ending(self, ended: Ended) -> Ending:
        accounts = tuple(count.account for count in ended.probes)
        self.complete = True
        restoration = (ended.woven, ended.restored, ended.unloaded) if ended.orderly else None
        return Ending(ended.reason, tuple(self._at_end), accounts, restoration)

    def _contents(self, contents: bytes) -> list[MapContent]:
        return decode_contents(contents, self._maps(), self.form)

    def _maps(self) -> dict[int, Map]:
        return {map_.id: map_ for map_ in self.outline.maps}


class Recording(Playback):
    """A recording that is read from a file."""

    def __init__(self, reader: ChunkReader) -> None:
        """Raises UsageError, ProtocolError."""
        super().__init__(reader.version)
        self._reader = reader
        self._entries = reader.entries()
        first = next(self._entries, None)
        if first is None:
            raise UsageError(f"nothing was recorded: {reader.torn or 'the file is empty'}")
        self.take(first)
        self._next = self._advance()  # reads the program, too, if it was recorded at the start

    @staticmethod
    def open(path: Path) -> Recording:
        """Raises UsageError, ProtocolError."""
        reader = ChunkReader.open(path)
        try:
            return Recording(reader)
        except BaseException:
            reader.__exit__(None, None, None)
            raise

    @property
    def torn(self) -> str:
        """After all items: the reason why the file is incomplete; empty if it is complete."""
        return self._reader.torn

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._reader.__exit__(kind, error, at)

    def items(self) -> Iterator[tuple[int, Recorded]]:
        """Each item with the time of its recording (ns since 1970). Raises ProtocolError."""
        while self._next is not None:
            yield self._next
            self._next = self._advance()

    def _advance(self) -> tuple[int, Recorded] | None:
        for entry in self._entries:
            item = self.take(entry)
            if item is not None:
                return entry.wall_nanos, item
        return None
