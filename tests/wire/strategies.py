"""Hypothesis strategies for every message, built from the field annotations themselves."""

from __future__ import annotations

from enum import Enum
from typing import Any, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from btpy.wire import messages
from btpy.wire.messages import Fixed, Message, Remainder, Width, field_names

ALL = (*messages.HANDSHAKE, *messages.FROM_CLIENT, *messages.FROM_AGENT)


def values(annotation: Any) -> st.SearchStrategy[Any]:
    metadata = getattr(annotation, "__metadata__", None)
    if metadata is not None:
        mark = metadata[0]
        if isinstance(mark, Width):
            return st.integers(0, 256**mark - 1)
        if isinstance(mark, Fixed):
            return st.binary(min_size=mark.size, max_size=mark.size)
        assert isinstance(mark, Remainder)
        return st.binary(max_size=40)
    if get_origin(annotation) is tuple:
        return st.lists(values(get_args(annotation)[0]), max_size=4).map(tuple)
    if annotation is str:
        return st.text(st.characters(), max_size=12)  # lone surrogates included: class names of the JDK have them
    if annotation is bytes:
        return st.binary(max_size=40)
    if annotation is bool:
        return st.booleans()
    if issubclass(annotation, Enum):
        words = {getattr(word, "number", word.value): word for word in reversed(list(annotation))}
        return st.sampled_from(list(words.values()))  # if words share a number, the decoded one
    hints = get_type_hints(annotation, include_extras=True)
    return st.builds(annotation, *(values(hints[name]) for name in field_names(annotation)))


def any_message() -> st.SearchStrategy[Message]:
    return st.sampled_from(ALL).flatmap(values)
