"""The part of ``--push`` that runs on a host before btpy is there: it needs a plain Python 3.11. :mod:`btpy.api.push`
sends the source of this module, and then calls :func:`unpack`.

The copy of btpy is kept by its SHA-256, in a directory that only the user can enter and write, so that no other user
can put code there.
"""

import contextlib
import hashlib
import io
import os
import pwd
import shutil
import stat
import tempfile
import time
import zipfile

NEEDED, PRESENT = b"\x89BTPneeded\n", b"\x89BTPpresent\n"
_KEPT_SECONDS = 30 * 86_400  # a copy is removed if no run has used it for this time


def unpack(digest: str, size: int) -> str:
    """The directory of the copy, which comes from standard input if it is needed. Raises SystemExit."""
    directory = _private_directory()
    copy = os.path.join(directory, digest)
    if os.path.isdir(copy):
        os.utime(copy)
        os.write(1, PRESENT)
        return copy
    os.write(1, NEEDED)
    data = b""
    while len(data) < size:
        piece = os.read(0, size - len(data))
        if not piece:
            raise SystemExit("btpy: the connection ended while btpy was being sent")
        data += piece
    if hashlib.sha256(data).hexdigest() != digest:
        raise SystemExit("btpy: the copy has arrived with another checksum")
    _remove_old(directory)
    partial = tempfile.mkdtemp(dir=directory)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            archive.extractall(partial)
        with contextlib.suppress(OSError):  # another run may have put the copy there in the meantime
            os.rename(partial, copy)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    if not os.path.isdir(copy):
        raise SystemExit(f"btpy: cannot write {copy}")
    return copy


def _private_directory() -> str:
    """A directory of mode 0700 of this user, in the home directory or in a directory for temporary files."""
    user = os.geteuid()
    places = [f"{place}/btpy-pushed-{user}" for place in ("/var/tmp", "/tmp", "/dev/shm")]
    with contextlib.suppress(KeyError):  # the user has no entry in /etc/passwd, as in containers
        places.insert(0, os.path.join(pwd.getpwuid(user).pw_dir, ".cache", "btpy", "pushed"))
    reasons = []
    for place in places:
        try:
            reason = _make(place, user)
        except OSError as error:
            reason = f"{place}: {error.strerror}"
        if not reason:
            return place
        reasons.append(reason)
    raise SystemExit("btpy: there is no directory for the copy of btpy: " + "; ".join(reasons))


def _make(place: str, user: int) -> str:
    """Makes the directory. Returns the reason why the directory is not safe, or an empty text."""
    parent = os.path.dirname(place)
    absent_parts = []
    while not os.path.isdir(parent):
        absent_parts.append(parent)
        parent = os.path.dirname(parent)
    for directory in [*reversed(absent_parts), place]:
        with contextlib.suppress(FileExistsError):
            os.mkdir(directory, 0o700)
    about = os.lstat(place)
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != user or about.st_mode & 0o077:
        return f"{place} is not a directory that only this user can enter"
    above = os.path.realpath(os.path.dirname(place))
    while True:
        about = os.stat(above)
        if about.st_uid not in (0, user) or (about.st_mode & 0o022 and not about.st_mode & stat.S_ISVTX):
            return f"{above} can be changed by another user"
        if above == "/":
            return ""
        above = os.path.dirname(above)


def _remove_old(directory: str) -> None:
    for entry in os.scandir(directory):
        with contextlib.suppress(OSError):
            if time.time() - entry.stat(follow_symlinks=False).st_mtime > _KEPT_SECONDS:
                shutil.rmtree(entry.path)
