"""The memory that btpy takes in the target: at rest, for threads that fire, and for each firing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from btpy.engine.session import Session
from btpy.engine.target import Limits
from tests.jdks import all_jdks, compiled
from tests.live.scripts import JAVA, program
from tests.targets import Target, target

BUFFERS = 8 << 20
AT_REST = 1 << 20
METASPACE = 13 << 18
"""JDK 25 needs the most, 3.0 MiB, because it defines all classes of the agent at once, in their own module."""
SMALL_TLABS = ("-XX:TLABSize=4k", "-XX:-ResizeTLAB")
"""A thread that allocates after the collection takes a whole TLAB, by default 0.7 MB here. The whole TLAB counts as
used.
"""

NOISE = 96 << 20
"""Bytes of heap for 100,003 virtual threads: a kilobyte for each, less than any buffer. Their own stacks differ by
hundreds of bytes from one time to the next."""

TIMES = 2_003

SCRIPT = """
Footprint::count @entry { @count = count(); }
Footprint::keyed @entry { @keyed[arg0] = count(); }
Footprint::named @entry { @named[arg0] = count(); }
Footprint::hist @entry { @hist = hist(arg0); }
Footprint::timed @return { @timed = hist(duration); }
Footprint::values @entry { print(arg0, arg1, arg2); }
Footprint::string @entry { print(arg0); }
Footprint::object @entry { print(arg0.field); }
Footprint::stack @entry { print(stack(16)); }
"""
NOTHING = ("count", "keyed", "named", "hist", "timed", "values", "string", "object")
STACK_BYTES = 4096
"""Stacks are the only values that allocate: the JVM creates an object for each frame."""


@contextmanager
def footprint(jdk: int, *flags: str) -> Iterator[Target]:
    with target(jdk, "Footprint", classpath=[compiled([JAVA / "Footprint.java"])], flags=flags) as jvm:
        yield jvm


def asked(jvm: Target, order: str) -> dict[str, int]:
    jvm.send(order)
    words = jvm.wait_for(order.split()[0]).split()[1:]
    return {name: int(value) for name, _, value in (word.partition("=") for word in words)}


def settled(jvm: Target) -> dict[str, int]:
    """The smallest of several readings of the heap, because buffers of recent requests may still be in use."""
    return min((asked(jvm, "state") for _ in range(5)), key=lambda state: state["heap"])


def allocated(jvm: Target, method: str, times: int) -> int:
    jvm.send(f"measure {method} {times}")
    return int(jvm.wait_for("allocated").split()[1])


@all_jdks
def test_at_rest_it_takes_its_buffers_and_little_more(jdk: int) -> None:
    with footprint(jdk, *SMALL_TLABS) as jvm:
        before = asked(jvm, "state")
        with Session.attach(jvm.pid, Limits(event_buffer_bytes=BUFFERS)) as session:
            session.deployer.load(program(SCRIPT))
            within = settled(jvm)
            session.departure.detach()
        heap = within["heap"] - before["heap"]
        metaspace = within["metaspace"] - before["metaspace"]
        assert BUFFERS <= heap <= BUFFERS + AT_REST
        assert metaspace <= METASPACE


@pytest.mark.parametrize("jdk", [25, pytest.param(21, marks=pytest.mark.proof)])
def test_threads_that_fire_take_nothing_of_their_own(jdk: int) -> None:
    with footprint(jdk, "-Xms600m", "-Xmx600m", "-Xmn400m") as jvm:
        counts = (1, 101, 100_003)
        before = {count: asked(jvm, f"virtual {count}")["heap"] for count in counts}
        with Session.attach(jvm.pid, Limits(event_buffer_bytes=BUFFERS)) as session:
            session.deployer.load(program(SCRIPT))
            for count in counts:
                bytes_taken = asked(jvm, f"virtual {count}")["heap"] - before[count]
                assert bytes_taken <= BUFFERS + NOISE, count
            session.departure.detach()


@all_jdks
def test_firings_allocate_nothing(jdk: int) -> None:
    with footprint(jdk) as jvm, Session.attach(jvm.pid, Limits(event_buffer_bytes=BUFFERS)) as session:
        session.deployer.load(program(SCRIPT))
        for method in (*NOTHING, "stack"):
            # The first firing creates keys. Sometimes compiled code, which allocates nothing, is replaced and allocates
            # once more.
            least = min(allocated(jvm, method, TIMES) for _ in range(7))
            assert least == 0 or (method == "stack" and least <= STACK_BYTES * TIMES), method
        session.departure.detach()
