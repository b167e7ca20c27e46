"""Work in forked processes. Each test runs it in its own program, because a test runner has threads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

ALONE = 1  # the parent computes this number of values itself before a child is ready
RUN = 32
AHEAD = 4

_BEGINNING = """
import os, signal, sys, time
from pathlib import Path
from btpy import parallel
from btpy.errors import BtpyError

parallel.PATIENCE = 0.0
parent = os.getpid()

def wait_for(path):
    while not path.exists():
        time.sleep(0.001)

def has_children():
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return False
    return True
"""


@contextmanager
def running(program: str, *arguments: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", _BEGINNING + program, *map(str, arguments)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def said(program: str, *arguments: Path) -> str:
    """Runs the program; returns its output. It must succeed, with an empty standard error."""
    with running(program, *arguments) as process:
        out, err = process.communicate(timeout=120)
        assert (process.returncode, err) == (0, "")
    return out.strip()


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_results_are_those_of_map(processes: int) -> None:
    program = f"""
for count in 0, 1, 2, {ALONE + RUN - 1}, {ALONE + RUN}, {ALONE + RUN + 1}, 997:
    squares = parallel.in_order(lambda number: number * number, lambda: range(count), processes={processes})
    print([*squares] == [number * number for number in range(count)])
"""
    assert said(program).split() == ["True"] * 7


def test_workers_are_at_work_at_the_same_time(tmp_path: Path) -> None:
    """Each of three runs ends when the others have begun."""
    program = f"""
marks = [Path(sys.argv[1]) / str({ALONE} + {RUN} * run) for run in range(3)]

def work(number):
    mark = marks[0].with_name(str(number))
    if mark in marks:
        mark.touch()
        for other in marks:
            wait_for(other)
    return os.getpid()

pids = list(parallel.in_order(work, lambda: range({ALONE} + 3 * {RUN}), processes=3))
print(len(set(pids)), pids[0] == parent, parent in pids[1:], has_children())
"""
    assert said(program, tmp_path) == "4 True False False"


def test_workers_are_a_few_runs_ahead_at_most(tmp_path: Path) -> None:
    program = f"""
marks = Path(sys.argv[1])
last = {ALONE} + 2 * {AHEAD} * {RUN} - 1

def work(number):
    (marks / str(number)).touch()
    return number

for number in parallel.in_order(work, lambda: range(5000), processes=2):
    if number == {ALONE}:
        for earlier in range(last + 1):
            wait_for(marks / str(earlier))
        print(max(int(mark.name) for mark in marks.iterdir()) == last)
    if number > last:
        break
"""
    assert said(program, tmp_path) == "True"


def test_an_error_comes_when_its_turn_comes() -> None:
    program = """
def work(number):
    if number in (500, 501, 900):
        raise KeyError(number)
    return number

numbers = []
try:
    for number in parallel.in_order(work, lambda: range(1000), processes=3):
        numbers.append(number)
except KeyError as error:
    last = numbers[-1]
    print(numbers == list(range(last + 1)), last // 32 == 499 // 32, error, "in work" in error.__notes__[0])
print(has_children())
"""
    assert said(program) == "True True 500 True\nFalse"


def test_so_does_an_error_of_the_values() -> None:
    program = """
def values():
    yield from range(200)
    raise BtpyError("no more", help=["look elsewhere"])

numbers = []
try:
    for number in parallel.in_order(abs, values, processes=3):
        numbers.append(number)
except BtpyError as error:
    print(numbers == list(range(numbers[-1] + 1)), error, error.help)
"""
    assert said(program) == "True no more ('look elsewhere',)"


def test_a_worker_that_is_killed_is_an_error_with_a_remedy() -> None:
    program = """
def work(number):
    if number == 500:
        os.kill(os.getpid(), signal.SIGKILL)
    return number

try:
    print(sum(parallel.in_order(work, lambda: range(1000), processes=2)))
except BtpyError as error:
    print(error, *error.help, sep="\\n")
print(has_children())
"""
    error, remedy, children = said(program).splitlines()
    assert error == f"a process that shared the work was ended by signal 9 ({signal.strsignal(9)})"
    assert "taskset -c 0 btpy" in remedy
    assert children == "False"


def test_an_interrupt_is_for_the_parent() -> None:
    program = """
def work(number):
    if number == 500:
        os.kill(os.getpid(), signal.SIGINT)
    return number

print(sum(parallel.in_order(work, lambda: range(1000), processes=2)))
"""
    assert said(program) == "499500"


def test_a_caller_that_stops_early_leaves_no_process_behind() -> None:
    program = """
shared = parallel.in_order(lambda number: time.sleep(number > 500 and 1000), lambda: range(1000), processes=3)
for _ in range(100):
    next(shared)
print(has_children())
shared.close()
print(has_children())
"""
    assert said(program) == "True\nFalse"


def test_a_process_with_other_threads_works_alone() -> None:
    program = """
import threading
done = threading.Event()
threading.Thread(target=done.wait).start()
print({*parallel.in_order(lambda number: os.getpid(), lambda: range(1000), processes=3)} == {parent})
done.set()
"""
    assert said(program) == "True"


def test_without_worker_processes_the_parent_does_all_the_work() -> None:
    program = """
def refused():
    raise BlockingIOError
os.fork = refused
print([*parallel.in_order(abs, lambda: range(1000), processes=3)] == [*range(1000)])
"""
    assert said(program) == "True"


_SLEEPING = """
def work(number):
    if number > 200:
        os.write(1, b"%d\\n" % os.getpid())
        time.sleep(1000)
    return number

try:
    for _ in parallel.in_order(work, lambda: range(1000), processes=2): pass
except KeyboardInterrupt:
    print("interrupted", has_children())
"""


def test_ctrl_c_ends_all_of_them() -> None:
    with running(_SLEEPING) as process:
        assert process.stdout is not None
        workers = {int(process.stdout.readline()) for _ in range(2)}
        assert len(workers - {process.pid}) == 2
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert (out.split(), err) == (["interrupted", "False"], "")


def test_workers_do_not_outlive_a_parent_that_is_killed() -> None:
    with running(_SLEEPING.replace("time.sleep(1000)", "time.sleep(0.01)")) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
        process.communicate(timeout=60)  # returns when no process has the other end of the pipes
