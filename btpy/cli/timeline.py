"""``--timeline FILE``: the times of the steps of a run, from the start of the process."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from btpy import timeline
from btpy.cli.console import Console
from btpy.cli.options import Arguments, Option
from btpy.timeline import FIRST_EVENT, Step, Timeline

TIMELINE = Option(
    ("--timeline",), "write the steps of btpy and how long each takes, for Perfetto; with -v also print them", "FILE"
)

_MILLION = 1_000_000


@contextmanager
def recorded(arguments: Arguments, console: Console) -> Iterator[None]:
    """Records the steps of a run, if the user wants them, and writes them when the run ends. Raises OutputError before
    the run if the file cannot be written.
    """
    path = arguments.text("timeline")
    if path is None:
        yield
        return
    from btpy.api.attaching import started_ns
    from btpy.cli.main import ENTERED_NS
    from btpy.output.stream import Document, Stream

    steps = timeline.record(started_ns(os.getpid()))
    steps.add("start Python", steps.began, ENTERED_NS)
    steps.add("read the command line", ENTERED_NS, time.monotonic_ns())
    with Stream.file(Path(path), append=False) as stream:
        stream.begin(Document("[\n", "\n]\n", ",\n"))
        try:
            yield
        finally:
            timeline.stop()
            for event in steps.trace_events():
                stream.write(json.dumps(event))
            for line in summary(steps):
                console.detail(line)


def summary(steps: Timeline) -> list[str]:
    """The steps up to the first event, in milliseconds. Steps with one name on one thread share a line."""
    first_event = next((step.begin for step in steps.steps if step.name == FIRST_EVENT), None)
    until = first_event or max(step.end for step in steps.steps)
    groups: dict[tuple[str, str], list[Step]] = {}
    for step in sorted(steps.steps, key=lambda step: step.begin):
        if step.begin <= until:
            groups.setdefault((step.thread, step.name), []).append(step)
    main = threading.main_thread().name
    lines = ["timeline in ms: begin, time taken, step"]
    for (thread, name), group in groups.items():
        begin = (group[0].begin - steps.began) / _MILLION
        duration = sum(step.end - step.begin for step in group) / _MILLION
        times = f" ({len(group)} times)" if len(group) > 1 else ""
        where = "" if thread == main else f"  [{thread}]"
        lines.append(f"{begin:8.1f} {duration:8.1f}  {name}{times}{where}")
    heading = (
        "no event was shown" if first_event is None else f"first event after {(until - steps.began) / _MILLION:.1f} ms"
    )
    rest = steps.unaccounted(main, until) / _MILLION
    return [*lines, f"{heading}; {rest:.1f} ms of the main thread are in no step"]
