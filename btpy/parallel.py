"""One function over many values, in as many processes as there are cores, with the results in the order of the values.

    for woven in parallel.in_order(weave, classes): ...

One thread of Python runs at a time, so pure Python work is spread over processes. They are forked: a worker has all
modules and data of the parent, and starts in milliseconds. The values are divided into numbered runs. Each worker
iterates over all values, and works on the runs whose numbers it draws::

    parent  ── 6 7 8 … ─▶  worker, worker, …     one pipe for all: an idle worker draws a number
            ◀─ results ──                        a pipe for each

The parent gives out numbers only a few ahead of the next result, so that memory is bounded. It gives them out in
ascending order, because a worker can only iterate forwards.

For few values there are no workers, because the parent begins alone.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import struct
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import count, islice
from typing import BinaryIO, Generic, NoReturn, TypeVar

from btpy.errors import BtpyError

T = TypeVar("T")
R = TypeVar("R")

PATIENCE = 0.05
"""Seconds for which the parent works alone."""

_RUN = 32  # values
_AHEAD = 4  # runs that each worker may get ahead of the next result
_MOST = 8  # workers: each iterates over all values, and has its own memory

_HEADER = struct.Struct("<II")  # number of a run, length of its results
_NUMBER = struct.Struct("<I")


def in_order(
    work: Callable[[T], R], values: Callable[[], Iterable[T]], *, processes: int | None = None
) -> Generator[R, None, None]:
    """``values`` must give the same values each time, because each worker iterates over them. ``processes``: by default
    :func:`cores`.

    An error of ``work`` or ``values`` is raised in the place of its result. Raises BtpyError when a worker is killed. A
    caller that stops before the end should close the iterator, which ends the workers.
    """
    processes = cores() if processes is None else processes
    shared = processes > 1 and _is_alone()
    began = time.monotonic()
    count = 0
    for value in values():
        yield work(value)
        count += 1
        if shared and time.monotonic() - began >= PATIENCE:
            break
    else:
        return
    workers = _Workers(work, values, count)
    try:
        alone = not workers.fork(processes)
        yield from map(work, islice(values(), count, None)) if alone else workers.results()
    finally:
        workers.end()


def cores() -> int:
    """The number of processes: one for each core that this process may use (``taskset``), and not more than eight."""
    if hasattr(os, "sched_getaffinity"):  # Linux
        return min(len(os.sched_getaffinity(0)), _MOST)
    return 1


def _is_alone() -> bool:
    """Whether this process has a single thread. Otherwise a worker could wait forever for a lock that another thread
    held."""
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False  # on macOS system libraries have their own threads


class _Workers(Generic[T, R]):
    """``first``: the index of the first value that has no result yet."""

    def __init__(self, work: Callable[[T], R], values: Callable[[], Iterable[T]], first: int) -> None:
        self._work = work
        self._values = values
        self._first = first
        self._number_source, self._numbers = os.pipe()
        self._processes: dict[int, int] = {}  # pids of the workers by the descriptor of their results

    def fork(self, processes: int) -> int:
        """Starts the workers; returns their number, because the system may refuse some."""
        # Ctrl-C goes to all processes of a terminal. Workers ignore it: the parent ends them.
        old_mask = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
        try:
            for _ in range(processes):
                results, sent = os.pipe()
                try:
                    process = os.fork()
                except OSError:
                    os.close(results)
                    os.close(sent)
                    break
                if process == 0:
                    self._be_worker(sent, (self._numbers, results, *self._processes))
                os.close(sent)
                self._processes[results] = process
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)
        return len(self._processes)

    def results(self) -> Iterator[R]:
        """The results of all values from the first one on. Raises BtpyError, and errors of the workers."""
        results_by_index: dict[int, list[R] | Exception] = {}
        given_out = 0
        for turn in count():
            while given_out < turn + _AHEAD * len(self._processes):
                os.write(self._numbers, _NUMBER.pack(given_out))
                given_out += 1
            while turn not in results_by_index:
                for results in select.select(list(self._processes), (), ())[0]:
                    number, results_of_run = self._received(results)
                    results_by_index[number] = results_of_run
            answer = results_by_index.pop(turn)
            if isinstance(answer, Exception):
                raise answer
            yield from answer
            if len(answer) < _RUN:
                return

    def end(self) -> None:
        """Stops the workers at once, because their results are no longer needed."""
        for process in self._processes.values():
            os.kill(process, signal.SIGKILL)
        for results, process in self._processes.items():
            os.waitpid(process, 0)
            os.close(results)
        os.close(self._numbers)
        os.close(self._number_source)

    def _received(self, results: int) -> tuple[int, list[R] | Exception]:
        number, length = _HEADER.unpack(self._read(results, _HEADER.size))
        return number, pickle.loads(self._read(results, length))

    def _read(self, results: int, length: int) -> bytes:
        parts = []
        while length:
            part = os.read(results, length)
            if not part:
                raise self._lost(results)
            parts.append(part)
            length -= len(part)
        return b"".join(parts)

    def _lost(self, results: int) -> BtpyError:
        """The error for a worker that has ended before it had sent all its results."""
        os.close(results)
        status = os.waitstatus_to_exitcode(os.waitpid(self._processes.pop(results), 0)[1])
        cause = f"with status {status}" if status >= 0 else f"by signal {-status} ({signal.strsignal(-status)})"
        remedy = "if memory is short: use one process (taskset -c 0 btpy …), or fewer classes"
        return BtpyError(f"a process that shared the work was ended {cause}", help=[remedy])

    # The methods below run in the worker process.

    def _be_worker(self, sent: int, of_parent: Iterable[int]) -> NoReturn:
        """``of_parent``: ends of pipes that the worker closes, because they must not stay open when the parent is
        gone."""
        status = 1
        try:
            for end in of_parent:
                os.close(end)
            with open(sent, "wb") as out:
                self._serve(out)
            status = 0
        finally:
            os._exit(status)

    def _serve(self, out: BinaryIO) -> None:
        """Works until the parent closes the pipe of the numbers."""
        rest = iter(self._values())
        passed = 0
        while drawn := os.read(self._number_source, _NUMBER.size):
            (number,) = _NUMBER.unpack(drawn)
            first = self._first + number * _RUN
            try:
                results_of_run = [self._work(value) for value in islice(rest, first - passed, first - passed + _RUN)]
                passed = first + len(results_of_run)
                answer = pickle.dumps(results_of_run, pickle.HIGHEST_PROTOCOL)
            except Exception as error:
                import traceback

                error.add_note("".join(traceback.format_tb(error.__traceback__)))
                answer = pickle.dumps(error)
            out.write(_HEADER.pack(number, len(answer)) + answer)
            out.flush()
