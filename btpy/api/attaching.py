"""How the command line attaches: it begins while it still compiles the script, and goes on with :func:`btpy.attach`."""

from __future__ import annotations

from btpy.jvm.attach import agent_build, prepare
from btpy.jvm.connecting import Connecting
from btpy.jvm.endings import died_of
from btpy.jvm.launch import attach_home
from btpy.jvm.launching import Launching

__all__ = [
    "Connecting",
    "Launching",
    "agent_build",
    "attach_home",
    "died_of",
    "prepare",
]
