"""The command line begins to attach while it compiles the script. :func:`btpy.attach` continues this attach."""

from __future__ import annotations

from btpy.jvm.attach import agent_build, prepare
from btpy.jvm.connecting import Connecting
from btpy.jvm.endings import died_of
from btpy.jvm.launch import attach_home
from btpy.jvm.launching import Launching
from btpy.jvm.procfs import started_ns
from btpy.model.attach_method import AttachMethod
