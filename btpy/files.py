"""Opening files that other users can make or change.

Two kinds of files need care, most of all where btpy runs as root:

- A *trusted* file controls btpy: a script, a library, a file of tests. :func:`open_trusted` refuses a file that another
  user could have written.
- A *foreign* file belongs to another user and btpy only reads it, such as the files of a JVM in its own ``/tmp``.
  :func:`read_foreign` never waits (a FIFO, a device), follows no link out of the directory tree that it belongs to, and
  reads a limited number of bytes.

Both functions check the open descriptor, because another file can have the name a moment later.
"""

from __future__ import annotations

import contextlib
import errno
import grp
import os
import pwd
import stat
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from btpy.errors import UsageError

TYPE_CHECKING = False  # importing typing would take a tenth of the start of a helper process

if TYPE_CHECKING:
    from typing import BinaryIO

_PATH = getattr(os, "O_PATH", os.O_RDONLY)  # Linux has it; elsewhere btpy only checks scripts and replays recordings
_PATH_OF_DIRECTORY = _PATH | os.O_DIRECTORY | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_ACL = "system.posix_acl_access"


class Untrusted(UsageError):
    """The error for a file that controls btpy, if another user could have written it."""


def trusted_owners() -> frozenset[int]:
    """The users whose files this process trusts: root, its own user, the users of ``$BTPY_TRUST``, and for root the
    caller of ``sudo``.
    """
    owners = {0, os.geteuid()}
    names = os.environ.get("BTPY_TRUST", "").split(",")
    if os.geteuid() == 0:
        names.append(os.environ.get("SUDO_UID", ""))
    for name in names:
        with contextlib.suppress(KeyError):
            owners.add(int(name) if name.isascii() and name.isdigit() else pwd.getpwnam(name).pw_uid)
    return frozenset(owners)


def open_trusted(path: str | Path, *, named: bool = False) -> BinaryIO:
    """Open a file that controls btpy. ``named``: the user wrote its path, and did not let btpy look for it.

    The file and its directory must belong to :func:`trusted_owners`, and no other user may write to them. A directory
    with the sticky bit may be open to all. A normal user may also name a file of another user that only that user can
    write. This is safe, because the script has only the rights of the user who runs it.

    Raises Untrusted, with a remedy, and OSError.
    """
    path = Path(path)
    owners = trusted_owners()
    with closing(os.open(path.parent, _PATH_OF_DIRECTORY)) as parent:
        descriptor = os.open(path.name or ".", _READ, dir_fd=parent)
        try:
            about = os.fstat(descriptor)
            if stat.S_ISDIR(about.st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
            if not (stat.S_ISREG(about.st_mode) or (named and stat.S_ISFIFO(about.st_mode))):
                raise OSError(errno.EINVAL, "neither a file nor a pipe", str(path))
            if named and os.geteuid() != 0:
                owners |= {about.st_uid}
            _require_trust(path, path, descriptor, about, owners)
            _require_trust(path, path.parent, parent, os.fstat(parent), owners)
            os.set_blocking(descriptor, True)
            return os.fdopen(descriptor, "rb")
        except BaseException:
            os.close(descriptor)
            raise


def require_trusted(path: Path, *, named: bool = False) -> None:
    """Like :func:`open_trusted`, for a file or a directory that the caller opens in another way."""
    with closing(os.open(path, _PATH | os.O_NONBLOCK | os.O_CLOEXEC)) as descriptor:
        about = os.fstat(descriptor)
        owners = trusted_owners() | ({about.st_uid} if named and os.geteuid() != 0 else frozenset())
        _require_trust(path, path, descriptor, about, owners)


def objection(about: os.stat_result, owners: Collection[int], *, has_acl: bool = False) -> str:
    """The reason not to trust a file or directory, as a predicate of it; empty if there is none."""
    if about.st_uid not in owners:
        return f"belongs to user {_name(about.st_uid)}"
    if stat.S_ISDIR(about.st_mode) and about.st_mode & stat.S_ISVTX:
        return ""  # only its owner can rename or remove a file there
    if about.st_mode & stat.S_IWOTH:
        return "can be written by anybody"
    if about.st_mode & stat.S_IWGRP and (has_acl or not _is_private(about.st_gid, about.st_uid)):
        return f"can be written by group {_group(about.st_gid)}"
    return ""


def _require_trust(path: Path, part: Path, descriptor: int, about: os.stat_result, owners: Collection[int]) -> None:
    reason = objection(about, owners, has_acl=_has_acl(descriptor))
    if not reason:
        return
    remedies = []
    if about.st_uid not in owners:
        remedies.append("copy it to a directory of yours, when you have read it")
        remedies.append(f"or, if you trust everything of that user: BTPY_TRUST={_name(about.st_uid)} btpy …")
    else:
        remedies.append(f"chmod go-w {part}")
    subject = "it" if part == path else f"its directory {part.absolute()}"
    raise Untrusted(f"{path} is refused: {subject} {reason}", help=remedies)


def _has_acl(descriptor: int) -> bool:
    """Whether the file has an access control list, which may let other users write. The mode shows the mask of the list
    as the rights of the group."""
    if not hasattr(os, "getxattr"):
        return False
    try:
        os.getxattr(f"/proc/self/fd/{descriptor}", _ACL)
    except OSError:
        return False
    return True


def _is_private(gid: int, uid: int) -> bool:
    """Whether a group is the private group of its owner: it has the owner's name and no other members. Most
    distributions make such a group for each user."""
    try:
        owner, group = pwd.getpwuid(uid), grp.getgrgid(gid)
    except KeyError:
        return False
    return group.gr_name == owner.pw_name and owner.pw_gid == gid and set(group.gr_mem) <= {owner.pw_name}


def _name(uid: int) -> str:
    with contextlib.suppress(KeyError):
        return pwd.getpwuid(uid).pw_name
    return str(uid)


def _group(gid: int) -> str:
    with contextlib.suppress(KeyError):
        return grp.getgrgid(gid).gr_name
    return str(gid)


def read_foreign(
    name: str,
    limit: int,
    *,
    directory: int,
    owners: Collection[int] | None = None,
    in_root: bool = False,
    follow: bool = False,
) -> bytes:
    """At most ``limit`` bytes of a regular file that other users may have made.

    ``name``: relative to the open ``directory``. Symbolic links are not followed, unless ``in_root`` or ``follow`` is
    set. ``in_root`` resolves links like a process whose root is the directory, ``follow`` like this process.
    ``owners``: the allowed owners of the file; None: any. Raises OSError.
    """
    if in_root:
        place = _open_in_root(directory, name, _PATH)
    else:
        flags = _PATH | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
        place = os.open(name, flags, dir_fd=directory)
    with closing(place):
        about = os.fstat(place)
        if not stat.S_ISREG(about.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", name)
        if owners is not None and about.st_uid not in owners:
            raise PermissionError(errno.EPERM, "it belongs to another user", name)
        # Opens the same file for reading, because the checks have found it harmless.
        descriptor = os.open(f"/proc/self/fd/{place}", _READ) if _PATH != os.O_RDONLY else os.dup(place)
    with closing(descriptor):
        parts = []
        while limit > 0 and (part := os.read(descriptor, limit)):
            parts.append(part)
            limit -= len(part)
        return b"".join(parts)


@contextlib.contextmanager
def closing(descriptor: int) -> Iterator[int]:
    """A context that closes the descriptor at its end."""
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def open_path(directory: Path) -> int:
    """A descriptor of a directory, for work inside of it. Raises OSError."""
    return os.open(directory, _PATH_OF_DIRECTORY)


def create_below(directory: int, path: str, mode: int) -> BinaryIO:
    """Opens an empty file for writing, below an open directory, and creates missing directories of its path. Follows no
    symbolic link in the path, or in place of the file. Raises OSError."""
    *parents, name = path.split("/")
    with closing(directory_below(directory, parents)) as below:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        return os.fdopen(os.open(name, flags, mode, dir_fd=below), "wb")


def directory_below(directory: int, parts: Sequence[str], mode: int = 0o777) -> int:
    """A descriptor of a directory below an open directory. Creates the missing directories of the path. Follows no
    symbolic link. Raises OSError."""
    below = os.dup(directory)
    try:
        for part in parts:
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, mode, dir_fd=below)
            above, below = below, os.open(part, _PATH_OF_DIRECTORY | os.O_NOFOLLOW, dir_fd=below)
            os.close(above)
    except BaseException:
        os.close(below)
        raise
    return below


def open_directory(root: Path, name: str) -> int:
    """A descriptor of a directory in the root directory of a process, to be used only in paths. Symbolic links are
    resolved as that process resolves them, never in the root directory of this process. Raises OSError."""
    with closing(os.open(root, _PATH_OF_DIRECTORY)) as top:
        if stat.S_ISLNK(os.stat(name, dir_fd=top, follow_symlinks=False).st_mode):
            return _open_in_root(top, name, _PATH_OF_DIRECTORY)
        return os.open(name, _PATH_OF_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)


_OPENAT2 = 437
_RESOLVE_NO_MAGICLINKS, _RESOLVE_IN_ROOT = 0x02, 0x10


def _open_in_root(top: int, name: str, flags: int) -> int:
    """openat2(2), which Python lacks."""
    import ctypes

    how = (ctypes.c_uint64 * 3)(flags | os.O_CLOEXEC, 0, _RESOLVE_IN_ROOT | _RESOLVE_NO_MAGICLINKS)
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(_OPENAT2, top, os.fsencode(name), how, ctypes.c_size_t(ctypes.sizeof(how)))
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(descriptor)
