"""The choice between the JVM Attach API, which needs a Java runtime, and the attach protocol in pure Python."""

from __future__ import annotations

from importlib.util import find_spec

from btpy.dataclass import dataclass
from btpy.errors import AttachError
from btpy.jvm import launch, problems
from btpy.jvm.processes import JvmProcess
from btpy.model.attach_method import AttachMethod
from btpy.wire.channel import UNIX_SOCKETS_SINCE

_REQUESTED = "--attach direct"


@dataclass(frozen=True, slots=True)
class AttachChoice:
    """``is_direct``: whether btpy attaches without a Java runtime; ``reason``: the reason for this, in words. ``home``:
    the Java runtime, if one is used. ``is_fixed``: the user has chosen the way by ``--attach``.
    """

    is_direct: bool
    reason: str = ""
    home: str = ""
    is_fixed: bool = False

    @property
    def description(self) -> str:
        """The way in words, for lists of details, after "attached"."""
        return f"directly, without Java: {self.reason}" if self.is_direct else f"through JPype and Java at {self.home}"


def choose(process: JvmProcess, method: AttachMethod = AttachMethod.AUTO) -> AttachChoice:
    """The way to attach to the process. Raises AttachError if the user asks for JPYPE, but JPYPE cannot reach the JVM
    (BT527), or there is no Java (BT510)."""
    if method is AttachMethod.DIRECT:
        return AttachChoice(True, _REQUESTED, is_fixed=True)
    is_fixed = method is AttachMethod.JPYPE
    separation = process.separation or _network(process)
    if separation:
        if is_fixed:
            raise problems.beyond_the_attach_api(process.pid, separation)
        return AttachChoice(True, separation)
    try:
        if find_spec("jpype") is None:
            raise problems.no_jpype()
        return AttachChoice(False, home=str(launch.attach_home()), is_fixed=is_fixed)
    except AttachError as error:
        if is_fixed:
            raise
        return AttachChoice(True, str(error))


def has_unix_sockets(process: JvmProcess) -> bool:
    """Whether an agent in that JVM can connect to a Unix socket (JEP 380). False if the version of Java is not
    known."""
    return (process.feature_version or 0) >= UNIX_SOCKETS_SINCE


def _network(process: JvmProcess) -> str:
    """The reason why the agent cannot connect to a port of this process; empty if it can."""
    if has_unix_sockets(process) or process.shares_network:
        return ""
    return f"it has a network namespace of its own, in which Java {process.feature_version or '?'} needs a port"
