"""Messages of the agent without the secrets in the texts of events, maps and errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from btpy.events.added_secrets import AddedSecrets
from btpy.events.secret_records import masked_records
from btpy.events.secret_texts import masked
from btpy.model.maps import Map as ProgramMap
from btpy.wire.messages import Errors, Events, Map, Maps, Message

AnyMessage = TypeVar("AnyMessage", bound=Message)


def mask(message: AnyMessage, added_secrets: AddedSecrets | None, maps: Mapping[int, ProgramMap]) -> AnyMessage:
    """Mask the secrets that :mod:`btpy.events.secret_texts` recognises, and ``added_secrets``, those of the user.
    Lengths stay the same, so the credit does not change. ``maps``: the maps of the program, by id. Raises ProtocolError
    for a payload in which the texts cannot be found.
    """
    match message:
        case Events(records=payload):
            masked_payload = masked_records(payload if added_secrets is None else added_secrets.records(payload))
            return message if masked_payload is payload else replace(message, records=masked_payload)
        case Map(contents=payload) | Maps(contents=payload):
            masked_payload = masked(payload if added_secrets is None else added_secrets.maps(payload, maps))
            return message if masked_payload == payload else replace(message, contents=masked_payload)
        case Errors(failures=failures):
            masked_failures = tuple(
                replace(failure, message=_masked_text(failure.message, added_secrets)) for failure in failures
            )
            return replace(message, failures=masked_failures)
        case _:
            return message


def _masked_text(text: str, added_secrets: AddedSecrets | None) -> str:
    text = text if added_secrets is None else added_secrets.text(text)
    return masked(text.encode(errors="surrogatepass")).decode(errors="replace")
