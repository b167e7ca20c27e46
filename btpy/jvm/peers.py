"""The other end of a connection within one machine, as the kernel knows it."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from pathlib import Path

from btpy.jvm.procfs import PROC

_CREDENTIALS = struct.Struct("3i")  # struct ucred: pid, uid, gid
_LOCAL, _REMOTE, _USER = 1, 2, 7  # fields of a line of /proc/net/tcp and tcp6, proc(5)


def process_of(connection: socket.socket) -> int:
    """The pid of the other end of a connection through a Unix socket. Raises OSError."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid: int = _CREDENTIALS.unpack(credentials)[0]
    return pid


def of_user(uid: int, pid: int | str = "self") -> Callable[[socket.socket], bool]:
    """Returns whether a connection to a port, in the network namespace of the process, comes from the user. True if the
    kernel does not say.
    """
    tables = [PROC / str(pid) / "net" / name for name in ("tcp", "tcp6")]

    def is_of_user(connection: socket.socket) -> bool:
        try:
            return peer_user(connection, tables) == uid
        except OSError:
            return True

    return is_of_user


def peer_user(connection: socket.socket, tables: list[Path]) -> int | None:
    """The user of the other end of a connection, whose socket is in one of the tables; None if no table contains it.
    Raises OSError."""
    ports = f"{connection.getpeername()[1]:04X}", f"{connection.getsockname()[1]:04X}"
    for table in tables:
        with table.open(encoding="ascii", errors="replace") as lines:
            next(lines, None)
            for line in lines:
                fields = line.split()
                if len(fields) > _USER and _ports(fields) == ports:
                    return int(fields[_USER])
    return None


def _ports(fields: list[str]) -> tuple[str, str]:
    return fields[_LOCAL].rpartition(":")[2], fields[_REMOTE].rpartition(":")[2]
