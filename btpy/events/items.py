"""The items of a session, decoded from the messages of the agent, for output and for replay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, Union

from btpy.dataclass import dataclass
from btpy.errors import ProtocolError
from btpy.events.aggregates import PRESENT_FORM, ContentForm, MapContent, decode_contents
from btpy.events.reading_limit import ReadingLimit
from btpy.events.record_decoder import RecordDecoder
from btpy.events.records import Record
from btpy.model.outline import Outline
from btpy.wire import messages
from btpy.wire.messages import (
    UNKNOWN_PROBE,
    Counters,
    ErrorKind,
    Errors,
    Events,
    Exiting,
    Late,
    Message,
    ProbeFailure,
    Restrained,
)

MAX_MESSAGE: Final = 10_000
"""The largest number of characters of an error message that btpy keeps. The agent sends shorter messages."""


@dataclass(frozen=True, slots=True)
class Unread:
    """The number of firings that are only counted, by probe."""

    counts: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Records:
    """Firings, in the order in which the agent drained them. ``unread``: other firings in the same message, which are
    only counted. ``malformed``: an error for each record that could not be read."""

    records: list[Record]
    unread: Unread | None = None
    malformed: Errors | None = None


@dataclass(frozen=True, slots=True)
class PrintedMaps:
    """``print(@m)``, ``plot(@m)`` or ``table(@a, @b, …)`` ran at ``nano_time``."""

    template: int
    nano_time: int
    contents: tuple[MapContent, ...]


Item = Union[Records, Unread, PrintedMaps, Errors, Counters, Late, Exiting, Restrained]


class ItemDecoder:
    """Decodes the messages of one session. The messages must come in order, because records refer to threads that were
    named before. ``form``: the form of the contents of maps.
    """

    def __init__(self, form: ContentForm = PRESENT_FORM) -> None:
        self._records = RecordDecoder()
        self._form = form

    def item(self, message: Message, outline: Outline, limit: ReadingLimit | None = None) -> Item:
        """``outline``: the outline of the program. If ``limit`` is None, all records are read. Raises ProtocolError."""
        if isinstance(message, Events):
            self._records.expect(outline.templates, len(outline.probes))
            unread: Mapping[int, int] = {}
            if limit is None:
                records = self._records.decode(message.records)
            else:
                records, unread = self._records.decode_some(message.records, limit)
            return Records(records, Unread(unread) if unread else None, self._malformed(outline))
        if isinstance(message, messages.Map):
            maps = {map_.id: map_ for map_ in outline.maps}
            contents = tuple(decode_contents(message.contents, maps, self._form))
            _check_maps(message.template, contents, outline)
            return PrintedMaps(message.template, message.nano_time, contents)
        if isinstance(message, Errors):
            for failure in message.failures:
                _check_probe(failure.probe, outline)
            return _with_short_texts(message)
        if isinstance(message, Restrained):
            _check_probe(message.probe, outline)
            return message
        if isinstance(message, Counters):
            for counted in message.probes:
                _check_probe(counted.probe, outline)
            return message
        if isinstance(message, (Late, Exiting)):
            return message
        raise ProtocolError(f"{type(message).__name__} from the agent")

    def _malformed(self, outline: Outline) -> Errors | None:
        """Records that could not be decoded since the last call, as errors of their probes."""
        malformed, self._records.malformed = self._records.malformed, []
        return errors_of(malformed, outline)


def errors_of(malformed: Sequence[tuple[int, str]], outline: Outline) -> Errors | None:
    """The errors of records that cannot be read, from the probe of each and the reason. None: there are none."""
    if not malformed:
        return None
    return Errors(
        tuple(
            ProbeFailure(
                probe if 0 <= probe < len(outline.probes) else UNKNOWN_PROBE,
                0,
                ErrorKind.INTERNAL,
                1,
                f"a record that cannot be read: {why}",
            )
            for probe, why in malformed
        )
    )


def _with_short_texts(errors: Errors) -> Errors:
    """Shortens the messages of the errors, because the readers of the session keep many errors."""
    if all(len(failure.message) <= MAX_MESSAGE for failure in errors.failures):
        return errors
    return Errors(tuple(replace(failure, message=failure.message[:MAX_MESSAGE]) for failure in errors.failures))


def _check_probe(id_: int, outline: Outline) -> None:
    """Raises ProtocolError for a report on a probe that the program does not have."""
    if id_ != UNKNOWN_PROBE and id_ >= len(outline.probes):
        raise ProtocolError(f"a report on probe {id_}, of {len(outline.probes)}")


def _check_maps(id_: int, contents: Sequence[MapContent], outline: Outline) -> None:
    """Raises ProtocolError for maps that the template does not print."""
    if id_ >= len(outline.templates):
        raise ProtocolError(f"maps for template {id_}, of {len(outline.templates)}")
    if tuple(content.map.id for content in contents) != outline.templates[id_].maps:
        raise ProtocolError(f"template {id_} without its maps")
