"""ClickHouse without a server: chdb, from PyPI, in an environment of its own in the cache:
``python -m tests.clickhouse``. It takes 580 MB on the disk, so only proofs use it. ``.ci/clickhouse.lock`` pins version
and hash.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.environments import environment
from tests.sql import Engine, engine


def python() -> Path:
    """The Python that has ClickHouse. Installs it the first time. Raises CalledProcessError."""
    return environment("clickhouse", ("chdb", "chdb-core"))


@contextmanager
def clickhouse() -> Iterator[Engine]:
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    with engine([python(), Path(__file__).parent / "clickhouse_process.py"], variables) as database:
        yield database


if __name__ == "__main__":
    print(python())
