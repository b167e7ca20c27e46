"""The ways to load the agent into a running JVM, with their names in ``--attach``."""

from __future__ import annotations

from enum import Enum


class AttachMethod(Enum):
    """``JPYPE``: by the JVM Attach API, in a Java runtime of this machine. ``DIRECT``: by HotSpot's attach protocol, in
    pure Python. ``AUTO``: by the Attach API if it can reach the JVM, else directly.
    """

    AUTO = "auto"
    JPYPE = "jpype"
    DIRECT = "direct"
