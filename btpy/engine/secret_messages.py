"""Messages of the agent without the secrets in the texts of events, maps and errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from btpy.events.added_secrets import AddedSecrets
from btpy.events.secret_texts import masked
from btpy.model.maps import Map as ProgramMap
from btpy.wire.messages import Errors, Events, Map, Maps, Message

AnyMessage = TypeVar("AnyMessage", bound=Message)


def mask(message: AnyMessage, added: AddedSecrets | None, maps: Mapping[int, ProgramMap]) -> AnyMessage:
    """Mask the secrets that :mod:`btpy.events.secret_texts` recognises, and the secrets that the user has ``added``.
    Lengths stay the same, so the credit does not change. ``maps``: the maps of the program, by id. Raises ProtocolError
    for a payload in which the texts cannot be found.
    """
    match message:
        case Events(records=payload):
            hidden = masked(payload if added is None else added.records(payload))
            return message if hidden == payload else replace(message, records=hidden)
        case Map(contents=payload) | Maps(contents=payload):
            hidden = masked(payload if added is None else added.maps(payload, maps))
            return message if hidden == payload else replace(message, contents=hidden)
        case Errors(failures=failures):
            masked_failures = tuple(
                replace(failure, message=_masked_text(failure.message, added)) for failure in failures
            )
            return replace(message, failures=masked_failures)
        case _:
            return message


def _masked_text(text: str, added: AddedSecrets | None) -> str:
    text = text if added is None else added.text(text)
    return masked(text.encode(errors="surrogatepass")).decode(errors="replace")
