"""The JVMs of this machine."""

from __future__ import annotations

from btpy.jvm.containers import Container
from btpy.jvm.processes import JvmProcess, describe, find, find_all, is_alive, is_stopped, list_jvms
