"""Apache Spark in local mode, from PyPI, in an environment of its own in the cache: ``python -m tests.spark``.

It takes 460 MB to download and 520 MB on the disk, so only proofs use it. ``.ci/spark.lock`` pins version and hash.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.environments import environment
from tests.jdks import javac
from tests.sql import Engine, engine

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "4",
}


def python() -> Path:
    """The Python that has Spark. The first call installs Spark. Raises CalledProcessError."""
    return environment("spark", ("setuptools",), ("pyspark", "py4j"))


@contextmanager
def spark(directory: Path) -> Iterator[Engine]:
    """``directory``: the directory of the data sets, for the views of ``btpy help spark``."""
    settings = {**_SETTINGS, "spark.btpy.directory": directory}
    command = [python(), Path(__file__).parent / "spark_process.py"]
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYTHON"))}
    variables["JAVA_HOME"] = str(javac().resolve().parent.parent)  # the runtimes of tests lack jdk.incubator.vector
    with engine([*command, *(f"{name}={value}" for name, value in settings.items())], variables) as database:
        yield database


if __name__ == "__main__":
    print(python())
