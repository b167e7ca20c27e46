"""``thread.x`` in programs with many threads, and in probes when the application runs out of stack or memory."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from btpy.engine.session import Session
from btpy.events.aggregates import Count
from btpy.wire.messages import ErrorKind, Errors
from tests.jdks import all_jdks, compiled
from tests.live.scripts import program, values_until
from tests.targets import Target, target

JAVA = Path(__file__).parents[1] / "java"
THREADS, STEPS = 211, 13

CORRELATED = """
@OnMethod(class="Requests", method="handle", location=ENTRY) { thread.id = arg0; thread.sum = 0; }
@OnMethod(class="Requests", method="step", location=ENTRY) when thread.id != null {
  thread.sum += arg1;
  thread.steps++;
  thread.share += 0.5;
}
@OnMethod(class="Requests", method="handle", location=RETURN) {
  print(arg0, thread.id, thread.sum, thread.steps, thread.share, thread.gets > 0, is_virtual);
  clear_thread();
  print(thread.id, thread.share);
}
@OnMethod(class=["java.lang.ThreadLocal", "java.lang.Thread", "java.util.concurrent.ConcurrentHashMap"],
          method="*get*") {
  thread.gets++;
}
"""


@contextmanager
def requests(jdk: int, *flags: str) -> Iterator[Target]:
    with target(jdk, "Requests", classpath=[compiled([JAVA / "Requests.java"], release=11)], flags=flags) as jvm:
        yield jvm


@all_jdks
def test_each_thread_has_its_own(jdk: int) -> None:
    kinds = ["platform"] + (["virtual"] if jdk >= 21 else [])
    with requests(jdk) as jvm, Session.attach(jvm.pid) as session:
        session.deployer.load(program(CORRELATED), allow=["core"])
        for kind in kinds:
            jvm.send(f"{kind} {THREADS} {STEPS}")
            assert jvm.wait_for("handled") == f"handled {THREADS}"
            result = values_until(session, lambda result: len(result) == 2 * THREADS)
            values = [values for _, values in result]
            expected = [
                (id_, id_, STEPS * (STEPS + 1) // 2, STEPS, STEPS * 0.5, True, kind == "virtual")
                for id_ in range(THREADS)
            ]
            assert sorted(value for value in values if len(value) == 7) == expected
            assert [value for value in values if len(value) == 2] == [(None, None)] * THREADS
        receipt = session.departure.detach()
        assert receipt.clean
        assert all(account.produced == account.delivered for account in receipt.accounts)


@pytest.mark.parametrize("jdk", [17, 25])
def test_an_application_that_runs_out_of_stack_or_memory(jdk: int) -> None:
    script = """
    @OnMethod(class="Requests", method="endless", location=ENTRY) { @entered = count(); thread.depth = depth; }
    @OnMethod(class="Requests", method="endless", location=THROW) {
      @left[typeof(exception)] = count();
      for i in 1 .. 3 { @text = f"{i} {thread.depth}"; }
    }
    @OnMethod(class="Requests", method="allocate", location=THROW) { @failed[typeof(exception)] = count(); }
    """
    with requests(jdk, "-Xss512k", "-Xmx64m") as jvm, Session.attach(jvm.pid) as session:
        session.deployer.load(program(script))
        jvm.send("overflow 31")
        assert jvm.wait_for("overflows") == "overflows 31"
        time.sleep(2.2)  # two periods, after which the agent releases a guard that a full stack left set
        jvm.send("exhaust 7")
        assert jvm.wait_for("failures") == "failures 7"
        maps = {content.map.name: dict(content.entries) for content in session.delivery.snapshot()}
        assert maps["failed"] == {("java.lang.OutOfMemoryError",): Count(7)}
        assert set(maps["left"]) <= {("java.lang.StackOverflowError",)}  # a guard that is still set stops all probes
        receipt = session.departure.detach()
        assert receipt.clean
        kinds = {
            failure.kind
            for item in session.delivery.items(None)
            if isinstance(item, Errors)
            for failure in item.failures
        }
        assert kinds <= {ErrorKind.DEPTH, ErrorKind.NULL_OPERAND}
