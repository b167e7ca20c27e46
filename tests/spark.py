"""Apache Spark in local mode, from PyPI, in an environment of its own in the cache: ``python -m tests.spark``.

It takes 460 MB to download and 520 MB on the disk, so only proofs use it. ``.ci/spark.lock`` pins version and hash.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.jdks import cache, javac, locked
from tests.sql import Engine, engine

ROOT = Path(__file__).parent.parent
_INSTALL = (
    *("-m", "pip", "install", "--quiet", "--no-cache-dir", "--require-hashes", "--no-deps"),
    *("--no-build-isolation", "--use-pep517", "--requirement", "/dev/stdin"),
)
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "4",
}


def requirements(*names: str) -> str:
    """The lines of the lock file for these packages. Their hashes are among them."""
    lock = (ROOT / ".ci" / "spark.lock").read_text(encoding="utf-8")
    entries = re.split(r"\n(?=\S)", lock)
    return "\n".join(entry for entry in entries if entry.partition("==")[0] in names)


def environment() -> Path:
    """The Python that has Spark. Installs it the first time. Raises CalledProcessError."""
    pinned = requirements("pyspark")
    version = pinned.split("==")[1].split()[0]
    directory = cache() / f"spark-{version}"
    python = directory / "bin" / "python"
    with locked("spark"):
        if not (directory / "installed").exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", directory], check=True)
            for text in (requirements("setuptools"), requirements("pyspark", "py4j")):
                subprocess.run([python, *_INSTALL], input=text, text=True, check=True)
            (directory / "installed").touch()
    return python


@contextmanager
def spark(directory: Path) -> Iterator[Engine]:
    """``directory``: the directory of the data sets, for the views of ``btpy help spark``."""
    settings = {**_SETTINGS, "spark.btpy.directory": directory}
    command = [environment(), Path(__file__).parent / "spark_process.py"]
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYTHON"))}
    java_variables = {
        "JAVA_HOME": str(javac().resolve().parent.parent)
    }  # the runtimes of tests lack jdk.incubator.vector
    with engine(
        [*command, *(f"{name}={value}" for name, value in settings.items())], {**variables, **java_variables}
    ) as database:
        yield database


if __name__ == "__main__":
    print(environment())
