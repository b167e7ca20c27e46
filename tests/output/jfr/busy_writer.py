"""Writes the same chunk again and again, until it is killed: ``python -m tests.output.jfr.busy_writer FILE``."""

from __future__ import annotations

import sys
from pathlib import Path

from btpy.output.jfr.writer import JfrWriter
from btpy.output.stream import Stream
from tests.output.jfr.test_writer import event
from tests.output.program import context, record, slot

EVENTS = 2003


def main() -> None:
    path = Path(sys.argv[1])
    with Stream.file(path, append=False) as stream:
        writer = JfrWriter(stream, context(event(slot(0, label="n"), slot(1, label="text"))))
        writer.records([record(number, f"{number:0400}") for number in range(EVENTS)])
        writer.close()
        stream.flush()
        chunk = path.read_bytes()
        print("ready", flush=True)
        while True:
            stream.write(chunk)
            stream.flush()


if __name__ == "__main__":
    main()
