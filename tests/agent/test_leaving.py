from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from btpy.model.patterns import ClassPatternKind
from btpy.wire.messages import ClassBytes, Configure, Detach, Farewell, Pattern, Ping, Pong, Search, Weave
from tests.agent.client import Serving
from tests.agent.conftest import ROOT, Attach, Subject, agent_threads_end, answer
from tests.agent.test_weave import mark
from tests.jdks import all_jdks
from tests.targets import Target


def says(program: Target, text: str) -> None:
    """Waits until the program answers ``base`` with this text."""
    for _ in range(600):
        if answer(program, "base") == f"Base says {text}":
            return
        time.sleep(0.05)
    raise AssertionError(answer(program, "base"))


@all_jdks
def test_when_the_connection_ends_everything_is_put_back(jdk: int, subject: Subject, attach: Attach) -> None:
    with subject(jdk) as program:
        client = attach(program, jdk)
        client.weaver = mark
        client.weave(*client.ids("Subject$Base", "Subject$Derived"))
        assert answer(program, "base") == "Base says woven!"
        client.close()
        says(program, "plain!")
        agent_threads_end(program)
        assert answer(program, "derived") == "Derived says plain!"


@all_jdks
def test_when_the_connection_ends_while_the_target_has_no_memory_everything_is_put_back(
    jdk: int, subject: Subject, attach: Attach
) -> None:
    with subject(jdk, "-Xmx32m") as program:
        client = attach(program, jdk)
        client.weaver = mark
        client.weave(*client.ids("Subject$Base", "Subject$Derived"))
        program.send("hoard 1500")
        time.sleep(0.7)
        client.close()
        assert program.wait_for("> ").startswith("> free")
        says(program, "plain!")
        agent_threads_end(program)
        assert answer(program, "derived") == "Derived says plain!"


@all_jdks
def test_when_the_lease_runs_out_while_the_target_has_no_memory_everything_is_put_back(
    jdk: int, subject: Subject, attach: Attach
) -> None:
    with subject(jdk, "-Xmx32m") as program:
        client = attach(program, jdk, lease_ms=1000)
        client.weaver = mark
        client.weave(*client.ids("Subject$Base", "Subject$Derived"))
        program.send("hoard 2000")
        assert program.wait_for("> ").startswith("> free")
        says(program, "plain!")
        agent_threads_end(program)
        assert answer(program, "derived") == "Derived says plain!"


KILLED = """
import sys, time
from pathlib import Path
from tests.agent.client import connect
from tests.agent.test_weave import mark
client = connect(int(sys.argv[1]), Path(sys.argv[2]))
client.configure()
client.weaver = mark
client.weave(*client.ids("Subject$Base"))
print("woven", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_a_client_that_is_killed_or_stopped_leaves_nothing_behind(
    subject: Subject, jar: Path, how: signal.Signals
) -> None:
    with subject(17) as program:
        command = [sys.executable, "-c", KILLED.replace("configure()", "configure(lease_ms=1500)"), str(program.pid)]
        client = subprocess.Popen([*command, str(jar)], stdout=subprocess.PIPE, text=True, cwd=ROOT)
        assert client.stdout is not None
        try:
            assert client.stdout.readline() == "woven\n"
            client.send_signal(how)
            says(program, "plain!")
            agent_threads_end(program)
        finally:
            client.kill()
            client.wait()
            client.stdout.close()


def test_when_both_are_suspended_beyond_the_lease_nothing_is_left_behind(subject: Subject, jar: Path) -> None:
    """The agent stops, as when the machine sleeps. The client sends no further ping, so the session ends."""
    with subject(17) as program:
        command = [sys.executable, "-c", KILLED.replace("configure()", "configure(lease_ms=1500)"), str(program.pid)]
        client = subprocess.Popen([*command, str(jar)], stdout=subprocess.PIPE, text=True, cwd=ROOT)
        assert client.stdout is not None
        try:
            assert client.stdout.readline() == "woven\n"
            program.process.send_signal(signal.SIGSTOP)
            client.send_signal(signal.SIGSTOP)
            time.sleep(2.5)
            client.send_signal(signal.SIGCONT)
            program.process.send_signal(signal.SIGCONT)
            says(program, "plain!")
            agent_threads_end(program)
            assert client.poll() is None
        finally:
            client.kill()
            client.wait()
            client.stdout.close()


def test_a_target_that_stands_still_beyond_the_lease_keeps_its_session(subject: Subject, attach: Attach) -> None:
    """The agent stops, as in a frozen container or a long collection, so it does not see that the client is alive."""
    with subject(17) as program:
        client = attach(program, 17, lease_ms=4000)
        client.weaver = mark
        client.weave(*client.ids("Subject$Base"))
        program.process.send_signal(signal.SIGSTOP)
        time.sleep(4.5)
        program.process.send_signal(signal.SIGCONT)
        time.sleep(0.3)  # gives the threads of the agent time to run again
        client.call(Pong, Ping)
        assert answer(program, "base") == "Base says woven!"
        client.detach()


def test_a_client_may_be_busy_before_it_configures(subject: Subject, attach: Attach) -> None:
    """The client checks a long script while the JVM loads the agent, and sends nothing until both have finished."""
    with subject(17) as program:
        client = attach(program, 17, configure=False)
        time.sleep(6)  # longer than the handshake may take
        client.configure()
        client.detach()


def test_pings_keep_the_lease(subject: Subject, attach: Attach) -> None:
    with subject(17) as program:
        client = attach(program, 17, lease_ms=1000)
        client.weaver = mark
        client.weave(*client.ids("Subject$Base"))
        until = time.monotonic() + 3
        while time.monotonic() < until:
            client.call(Pong, Ping)
            time.sleep(0.1)
        assert answer(program, "base") == "Base says woven!"
        says(program, "plain!")
        agent_threads_end(program)


def test_a_client_that_reads_nothing_loses_its_lease(subject: Subject, attach: Attach) -> None:
    with subject(17) as program:
        client = attach(program, 17, lease_ms=1000)
        client.weaver = mark
        client.weave(*client.ids("Subject$Base"))
        for request in range(200):  # answers of some hundred kB each, which stay in the socket
            client.send(Search(request, (Pattern(ClassPatternKind.GLOB, "**"),), 100_000, 0))
        says(program, "plain!")
        agent_threads_end(program)


def test_a_client_that_reads_nothing_while_a_class_is_woven_loses_its_lease(subject: Subject, attach: Attach) -> None:
    """The thread that retransforms is blocked in its question, so other threads must put the classes back."""
    with subject(17) as program:
        client = attach(program, 17, lease_ms=1000)
        client.weaver = mark
        base, derived = client.ids("Subject$Base", "Subject$Derived")
        client.weave(base)
        for _ in range(2000):  # each answer takes some space of the socket
            client.send(Ping(0xFFFFFFFF))
        client.send(Weave(1, (derived,)))
        says(program, "plain!")
        agent_threads_end(program)


def test_a_client_that_ends_while_a_class_is_being_woven(subject: Subject, attach: Attach) -> None:
    with subject(17) as program:
        client = attach(program, 17)
        client.send(Weave(1, client.ids("Subject$Base")))
        client.expect(ClassBytes)
        client.close()
        agent_threads_end(program)
        assert answer(program, "base") == "Base says plain!"


def test_a_client_that_ends_while_a_class_is_being_loaded(subject: Subject, attach: Attach) -> None:
    with subject(17) as program:
        client = attach(program, 17, deadline_ms=600_000)
        client.watch(Pattern(ClassPatternKind.EXACT, "Subject$Later"))
        program.send("make Subject$Later")
        client.expect(ClassBytes)
        client.close()
        assert program.wait_for("> ") == "> Later says plain!"
        agent_threads_end(program)


def test_detaching_restores_first(subject: Subject, attach: Attach) -> None:
    with subject(17) as program:
        client = attach(program, 17)
        client.weaver = mark
        client.weave(*client.ids("Subject$Base"))
        client.detach()
        with pytest.raises(EOFError):
            client.read()
        assert answer(program, "base") == "Base says plain!"
        agent_threads_end(program)


def test_slots_are_given_back(subject: Subject, attach: Attach) -> None:
    with subject(17) as program:
        first = attach(program, 17)
        second = attach(program, 17)
        assert first.slot != second.slot
        for _ in range(3):
            client = attach(program, 17)
            assert client.slot not in (first.slot, second.slot)
            client.detach()
        first.detach()
        second.close()
        agent_threads_end(program)


@pytest.mark.parametrize("order", ["first leaves first", "second leaves first"])
@all_jdks
def test_two_sessions_on_one_class_leave_in_any_order(jdk: int, subject: Subject, attach: Attach, order: str) -> None:
    with subject(jdk) as program:
        one = attach(program, jdk)
        two = attach(program, jdk)
        one.weaver = lambda question: question.data.replace(b"Base says", b"Base SAYS")
        two.weaver = mark
        one.weave(*one.ids("Subject$Base"))
        with Serving(one):
            two.weave(*two.ids("Subject$Base"))
        assert answer(program, "base") == "Base SAYS woven!"
        stays, leaves = (two, one) if order.startswith("first") else (one, two)
        with Serving(stays):
            receipt = leaves.restore()
            assert (receipt.woven, receipt.restored, receipt.not_restored) == (1, 1, ())
            leaves.detach()
        text = "Base says woven!" if stays is two else "Base SAYS plain!"
        assert answer(program, "base") == text
        receipt = stays.restore()
        assert (receipt.woven, receipt.restored, receipt.not_restored) == (1, 1, ())
        assert answer(program, "base") == "Base says plain!"
        stays.detach()
        agent_threads_end(program)


def test_attaching_again_and_again_leaves_no_class_and_no_thread_more(subject: Subject, attach: Attach) -> None:
    with subject(17) as program:
        counts = []
        for _ in range(6):
            client = attach(program, 17)
            client.weaver = mark
            client.weave(*client.ids("Subject$Base"))
            counts.append((client.welcome.loaded_classes, client.detach().agent_classes))
            client.close()
            agent_threads_end(program)
        assert len({agent_classes for _, agent_classes in counts[1:]}) == 1
        # The JDK may load a class of its own late. If each attach loaded a class, four classes would be added.
        assert counts[5][0] - counts[1][0] < 4


def test_farewell_comes_after_the_last_class_is_back_and_carries_the_request(subject: Subject, attach: Attach) -> None:
    with subject(17) as program:
        client = attach(program, 17, configure=False)
        client.send(Configure(10_000, 1000, 1 << 20, 100, 2, 5, 5, 16, 20, True))
        client.weaver = mark
        client.weave(*client.ids("Subject$Base"))
        client.send(Detach(4711))
        assert client.expect(Farewell).request == 4711
        assert answer(program, "base") == "Base says plain!"
        agent_threads_end(program)
