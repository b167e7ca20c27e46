"""Files that the first worker of a run of the tests makes, and the other workers read."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """A directory of this run that ``make`` has filled. Another worker waits for it. If ``make`` fails, the next worker
    tries again, in another directory.
    """
    base = factory.getbasetemp()
    run = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with (run / f"{name}.lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.seek(0)
        made = lock.read()
        if made:
            return Path(made)
        directory = factory.mktemp(name)
        make(directory)
        lock.write(str(directory))
        return directory
