"""Messages of the agent without the secrets in the texts of events, maps and errors."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from btpy.events.secret_texts import masked
from btpy.wire.messages import Errors, Events, Map, Maps, Message

AnyMessage = TypeVar("AnyMessage", bound=Message)


def mask(message: AnyMessage) -> AnyMessage:
    """Secrets are masked as :mod:`btpy.events.secret_texts` says. Lengths stay, so credit counts as before."""
    match message:
        case Events(records=payload):
            hidden = masked(payload)
            return message if hidden == payload else replace(message, records=hidden)
        case Map(contents=payload) | Maps(contents=payload):
            hidden = masked(payload)
            return message if hidden == payload else replace(message, contents=hidden)
        case Errors(failures=failures):
            told = tuple(
                replace(each, message=masked(each.message.encode()).decode(errors="replace")) for each in failures
            )
            return replace(message, failures=told)
        case _:
            return message
