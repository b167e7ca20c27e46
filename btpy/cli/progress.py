"""A line on standard error about an operation that takes longer than a second. On a terminal the line is updated in
place and disappears at the end; elsewhere a new line comes every few seconds.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from btpy.api import jvms
from btpy.api.results import Progress, Step, Work
from btpy.cli.console import Console
from btpy.cli.screen import Screen
from btpy.output.columns import clipped
from btpy.output.quantities import counted, duration, grouped

if TYPE_CHECKING:
    from btpy.api.jvms import JvmProcess

_SOON = 1.0  # seconds before the first report
_REDRAW = 0.1  # seconds between two readings of the progress
_REPRINT = 5.0  # seconds between two lines if nothing can be drawn


def words(step: Step, seconds: float) -> str:
    """``weaving 1 204 of 9 876 classes, longest stop so far 12.3ms · 4 s``."""
    of = f"{grouped(step.done)} of {counted(step.classes, 'class')}"
    match step.work:
        case Work.READING:
            work = f"reading {of}"
        case Work.WEAVING:
            work = f"weaving {of}"
        case Work.PREWEAVING:
            work = "weaving classes before they are loaded"
        case Work.RESTORING:
            work = f"putting {counted(step.classes, 'class')} back"
    if step.longest_pause_ns:
        work += f", longest stop so far {duration(step.longest_pause_ns)}"
    return f"{work} · {seconds:.0f} s"


def stopped(process: JvmProcess) -> str:
    return f"the JVM is stopped (kill -CONT {process.pid})"


@contextmanager
def reported(progress: Progress, console: Console, process: JvmProcess) -> Iterator[None]:
    """While the block runs, reports its progress, and whether a stopped ``process`` delays it."""
    if console.verbosity < 0:
        yield
        return
    over = threading.Event()
    teller = threading.Thread(target=_tell, args=(progress, console, process, over), name="btpy-progress", daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()


def _tell(progress: Progress, console: Console, process: JvmProcess, over: threading.Event) -> None:
    began = time.monotonic()
    screen = Screen(2) if Screen.can_be(2) else None
    last_notice = float("-inf")
    wait = _SOON
    while not over.wait(wait):
        wait = _REDRAW
        step, now = progress.step, time.monotonic()
        if step is None:
            continue
        text = words(step, now - began)
        if jvms.is_stopped(process):
            text = f"{stopped(process)} · {text}"
        if not console.unicode:
            text = text.replace("·", "|")
        if screen is not None and screen.in_foreground:
            screen.draw([clipped(text, screen.size[0])])
            console.write = screen.write
        elif screen is None and now - last_notice >= _REPRINT:
            last_notice = now
            console.say(text)
    if screen is not None:
        screen.clear()
        console.write = os.write
