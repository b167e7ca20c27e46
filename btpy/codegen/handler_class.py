"""Classes for the boot loader of the target, named by their content."""

from __future__ import annotations

import hashlib

from btpy.codegen import runtime_api as api
from btpy.dataclass import dataclass

PLACEHOLDER = api.HANDLER_PREFIX + "0" * 40
"""The name of a class while its content is not complete."""


@dataclass(frozen=True, slots=True)
class HandlerClass:
    """A class for the boot loader. ``class_name``: its binary name; ``descriptor``: the descriptor of its ``fire``.

    The name is a function of the content: equal handlers are one class, in every session.
    """

    class_name: str
    data: bytes
    descriptor: str


def content_name(anonymous: bytes) -> str:
    """The internal name of a class that has the PLACEHOLDER in place of its name, and is otherwise complete."""
    return api.HANDLER_PREFIX + hashlib.sha1(anonymous, usedforsecurity=False).hexdigest()
