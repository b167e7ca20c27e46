"""A Kafka broker in KRaft mode on a free port, for tests of clients."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.jdks import compiled, java
from tests.ports import free_ports, wait_until_it_listens

JAVA = Path(__file__).parent / "java"

_PATIENCE = 120  # seconds until the broker listens

_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}
controller.listener.names=CONTROLLER
log.dirs={directory}/logs
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
group.initial.rebalance.delay.ms=0
"""


@contextmanager
def kafka(jars: list[Path]) -> Iterator[int]:
    """Runs an empty broker until the block ends, and gives its port. ``jars``: the jars of the broker (Kafka 4). It
    runs without the optimizing compiler, because no test looks at it.
    """
    flags = ["-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    classes = compiled([JAVA / "Broker.java"], release=17, classpath=jars)
    command = [str(java(21)), *flags, "-cp", os.pathsep.join(map(str, [classes, *jars]))]
    with tempfile.TemporaryDirectory(prefix="btpy-kafka-") as directory:
        broker, controller = free_ports(2)
        properties = Path(directory) / "server.properties"
        properties.write_text(_PROPERTIES.format(broker=broker, controller=controller, directory=directory))
        with (Path(directory) / "broker.log").open("w") as log:
            process = subprocess.Popen(
                [*command, "Broker", str(properties)], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
            try:
                wait_until_it_listens(broker, process, _PATIENCE)
                yield broker
            finally:
                process.kill()
                process.wait()
