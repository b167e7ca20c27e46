"""The description of an unattended session: another client needs it to read the session's records.

The agent keeps it as bytes. The target returns it, and may be hostile. So btpy reads the description only after a MAC
has proven that this user wrote it for this session (the key is in ``~/.local/state/btpy/key``, which only this user can
read). The description is text: the script and its libraries are compiled again, and no object is unpickled.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import zlib
from pathlib import Path
from typing import Any, NamedTuple

from btpy.dataclass import dataclass
from btpy.distribution import version
from btpy.errors import UsageError
from btpy.lang import transfer
from btpy.lang.program import Program
from btpy.model.points import Point
from btpy.plan.plan import Site

_KEY_BYTES = 32
_MAC_BYTES = 32
_REMEDY = "`btpy stop` can still end it; its results are lost"


class Unreadable(UsageError):
    """Another user or another version of btpy left the session."""


class Place(NamedTuple):
    """The session of a description. A target, or any process that may read its memory, can keep every description that
    it ever got. So a description that was signed for another session proves nothing about this session.

    ``boot``: the id of the system's boot; ``start_ticks``: the start of the JVM after the boot; ``slot``: the slot of
    the session in the JVM.
    """

    boot: str
    start_ticks: int
    slot: int


@dataclass(frozen=True, slots=True)
class Description:
    """``sites``: all woven places. ``agent_sites``: the site of each probe that runs on the agent's thread."""

    program: Program
    sites: tuple[Site, ...]
    agent_sites: tuple[tuple[int, int], ...]

    def encode(self, build: str, place: Place) -> bytes:
        """``build``: the build of the agent. Raises UsageError if the key cannot be read or created."""
        facts = {
            "version": [version(), build],
            "place": [*place],
            "scripts": transfer.scripts_to_json(self.program),
            "removed": sorted(self.program.removed),
            "shape": _shape(self.program),
            "sites": [[*site[:2], site.point.name, *site[3:]] for site in self.sites],
            "agent_sites": self.agent_sites,
        }
        data = zlib.compress(json.dumps(facts).encode())
        return hmac.digest(_key(), data, hashlib.sha256) + data

    @staticmethod
    def decode(data: bytes, build: str, place: Place) -> Description:
        """Raises Unreadable, with a remedy, if another user or another version of btpy wrote it, or if it is for
        another session.
        """
        mac, text = data[:_MAC_BYTES], data[_MAC_BYTES:]
        if not hmac.compare_digest(mac, hmac.digest(_key(), text, hashlib.sha256)):
            raise Unreadable(
                "the session was left by another user, or from another home directory",
                help=["join it as the user who started it", _REMEDY],
            )
        facts = json.loads(zlib.decompress(text))  # safe to inflate, because this user has written it
        if facts["version"] != [version(), build]:
            raise Unreadable(
                f"the session was left by btpy {facts['version'][0]}, and this is another build",
                help=["join it with that build", _REMEDY],
            )
        if facts["place"] != [*place]:
            raise Unreadable("the target hands out the script of another session", help=[_REMEDY])
        program = transfer.program_from_json(facts["scripts"]).without(facts["removed"])
        if _shape(program) != facts["shape"]:
            raise Unreadable("the session's script now compiles to something else", help=[_REMEDY])
        sites = tuple(Site(id_, probe, Point[point], *rest) for id_, probe, point, *rest in facts["sites"])
        return Description(program, sites, tuple((probe, site) for probe, site in facts["agent_sites"]))


def _shape(program: Program) -> list[Any]:
    """The outline, which gives ids their meaning."""
    return [
        [probe.name for probe in program.probes],
        [map_.title for map_ in program.maps],
        [[template.kind.name, template.probe] for template in program.templates],
    ]


def _key() -> bytes:
    """The key of this user. The key is created if there is none. Raises UsageError."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    path = Path(state) / "btpy" / "key"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            _write_once(path, secrets.token_bytes(_KEY_BYTES))
        about = path.stat()
        if about.st_uid != os.geteuid() or about.st_mode & 0o077:
            raise UsageError(f"other users can read {path}", help=[f"rm {path}", _REMEDY])
        key = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", help=["set XDG_STATE_HOME to a directory of yours"]) from None
    if len(key) != _KEY_BYTES:
        raise UsageError(f"{path} is not a key of btpy", help=[f"rm {path}", _REMEDY])
    return key


def _write_once(path: Path, key: bytes) -> None:
    """Writes the whole file or nothing. If several processes write it, the file of the first process stays."""
    fresh = path.with_name(f"key.{secrets.token_hex(8)}")
    descriptor = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        os.write(descriptor, key)
        os.close(descriptor)
        os.link(fresh, path)
    except FileExistsError:
        pass
    finally:
        fresh.unlink()
