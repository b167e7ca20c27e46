"""The ways to load the agent into a running JVM, with their names in ``--attach``."""

from __future__ import annotations

from enum import Enum


class AttachMethod(Enum):
    """``DIRECT``: by HotSpot's attach protocol, in Python. ``JPYPE``: by the JVM Attach API, in a Java runtime of this
    machine.
    """

    DIRECT = "direct"
    JPYPE = "jpype"
