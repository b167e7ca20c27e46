"""Writes a recording: the messages of the agent in order of arrival, and the entries to which they refer.

The recorder decodes no records; the replay decodes them. Before a message the recorder writes what was added since the
last message: parts of the program, woven places, stacks.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import fields
from operator import attrgetter

from btpy.events.accounts import ProbeAccount
from btpy.events.stacks import StackTable
from btpy.model.outline import Outline
from btpy.model.sites import Site
from btpy.recording.entries import (
    Counted,
    Ended,
    MapsAtEnd,
    MapsShown,
    OnHost,
    ProbeCount,
    ProbesAttached,
    Sites,
    Started,
    WovenSite,
)
from btpy.recording.file import CHUNK_BYTES, ChunkWriter
from btpy.recording.outlines import OutlineWriter
from btpy.wire import codec, messages
from btpy.wire.messages import Counters, Events, Maps, Message, Stacks

FLUSH_SECONDS = 0.25
"""Seconds of messages that may be lost when the recording process is killed."""

_MOST = 1_000  # sites or stacks in one entry

_facts = attrgetter(*[field.name for field in fields(WovenSite)])
"""The fields of a site, in the order of an entry."""


class Recorder:
    """Records one session. ``outline``, ``sites`` and ``stacks`` grow. ``host``: the host, for a run on several hosts.
    All methods raise OutputError."""

    def __init__(
        self,
        file: ChunkWriter,
        started: Started,
        outline: Outline,
        sites: Mapping[int, Site],
        stacks: StackTable,
        host: str | None = None,
    ) -> None:
        self._file = file
        self._outline = OutlineWriter(outline)
        self._sites = sites
        self._known_sites = 0
        self._written_sites: set[int] = set()
        self._stacks = stacks
        self._written_stacks = 0
        self._last_write = time.monotonic()
        self._add(started)
        if host is not None:
            self._add(OnHost(host))
        self._add_what_is_new()

    def attached(self, probes: int, methods: int, classes: int) -> None:
        self._add_what_is_new()
        self._add(ProbesAttached(probes, methods, classes))
        self._write()

    def message(self, message: Message) -> None:
        """Records a message of the agent."""
        self._add_what_is_new()
        if isinstance(message, Events):
            self._file.add(Events.code, message.records)  # not decoded, because it is most of the recorded data
        elif isinstance(message, Counters):
            self._add(Counted(tuple(ProbeCount.of(ProbeAccount.of(counters)) for counters in message.probes)))
        else:
            self._add(message)
        if self._file.waiting >= CHUNK_BYTES:
            self._write()

    def maps_shown(self, answers: Iterable[Maps]) -> None:
        self._add_what_is_new()
        for answer in answers:
            self._add(MapsShown(answer.contents))

    def maps_at_end(self, answers: Iterable[Maps]) -> None:
        self._add_what_is_new()
        for answer in answers:
            self._add(MapsAtEnd(answer.contents))

    def ended(self, reason: str, accounts: Iterable[ProbeAccount], *, left: tuple[int, int, int] | None) -> None:
        """``left``: the numbers of woven, restored and unloaded classes; None if the target could not report them."""
        woven, restored, unloaded = left or (0, 0, 0)
        probes = tuple(map(ProbeCount.of, accounts))
        self._add_what_is_new()
        self._add(Ended(reason, left is not None, woven, restored, unloaded, probes))
        self._write()

    def flush(self) -> None:
        """Writes entries that have waited long enough."""
        if self._file.waiting and time.monotonic() - self._last_write >= FLUSH_SECONDS:
            self._write()

    def _write(self) -> None:
        self._file.write(time.time_ns())
        self._last_write = time.monotonic()

    def _add(self, message: Message) -> None:
        self._file.add(message.code, codec.encode(message)[5:])

    def _add_what_is_new(self) -> None:
        addition = self._outline.addition()
        if addition is not None:
            self._add(addition)
        if len(self._sites) != self._known_sites:
            self._add_sites()
        if len(self._stacks) != self._written_stacks:
            self._add_stacks()

    def _add_sites(self) -> None:
        self._known_sites = len(self._sites)
        sites = [site for site in list(self._sites.values()) if site.id not in self._written_sites]
        for start in range(0, len(sites), _MOST):
            some = sites[start : start + _MOST]
            self._written_sites.update(site.id for site in some)
            self._add(Sites(tuple(WovenSite(*_facts(site)) for site in some)))

    def _add_stacks(self) -> None:
        stacks = self._stacks.since(self._written_stacks)
        self._written_stacks += len(stacks)
        for start in range(0, len(stacks), _MOST):
            self._add(
                Stacks(
                    tuple(
                        messages.Stack(id_, tuple(messages.StackFrame(*frame) for frame in frames))
                        for id_, frames in stacks[start : start + _MOST]
                    )
                )
            )
