"""Temporary directories of processes that may be killed.

A process that is killed cannot clean up after itself. So each directory has a file that its process keeps locked: the
lock disappears with the process, however the process ends. A process that removes its own directory also removes other
directories whose lock is free.

The helper process of each attach uses this module, and loading :mod:`tempfile` and :mod:`shutil` would take a fifth of
its time.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

_PREFIX = "btpy-"
_LOCK = "lock"


class Temporary:
    """A fresh directory of mode 0700 in ``parent``, by default where temporary files go. Raises OSError."""

    def __init__(self, parent: Path | None = None) -> None:
        self.path = _created(parent)
        try:
            self._lock: int | None = _locked(self.path)
        except OSError:
            _delete(self.path)
            raise

    def remove(self) -> None:
        """Removes the directory with its content; can be called more than once. In another mount namespace the
        directory may be gone with its container."""
        lock, self._lock = self._lock, None
        if lock is not None:
            _delete(self.path)
            os.close(lock)
            _sweep(self.path.parent)


def _created(parent: Path | None) -> Path:
    if parent is None:
        import tempfile

        parent = Path(tempfile.gettempdir())
    path = parent / f"{_PREFIX}{os.urandom(6).hex()}"  # a name that nobody can guess or already has
    path.mkdir(0o700)
    return path


def _delete(path: str | Path) -> None:
    """Removes the directory with its content, or what can be removed of it. Follows no link."""
    try:
        directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            for name in os.listdir(directory):
                os.unlink(name, dir_fd=directory)
        finally:
            os.close(directory)
        os.rmdir(path)
    except OSError:  # it has other directories, which are rare
        import shutil

        shutil.rmtree(path, ignore_errors=True)


def _locked(directory: Path) -> int:
    """The lock file gets its name only when it is locked, so no process finds the directory unlocked."""
    nameless = directory / "making"
    lock = os.open(nameless, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        nameless.rename(directory / _LOCK)
    except OSError:
        os.close(lock)
        raise
    return lock


def _sweep(parent: Path) -> None:
    """Removes the directories that this user's processes have left in ``parent``."""
    try:
        with os.scandir(parent) as entries:
            paths = [entry.path for entry in entries if entry.name.startswith(_PREFIX) and _is_ours(entry)]
    except OSError:
        return
    for path in paths:
        try:
            lock = os.open(f"{path}/{_LOCK}", os.O_RDWR | os.O_NOFOLLOW)
        except OSError:
            continue  # the directory is not one of btpy's, or another process has just removed it
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _delete(path)
        except OSError:
            pass  # the directory is in use
        finally:
            os.close(lock)


def _is_ours(entry: os.DirEntry[str]) -> bool:
    """Skips directories of another user, who could have put any file there."""
    return entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_uid == os.geteuid()
