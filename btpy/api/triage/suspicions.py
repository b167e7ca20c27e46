"""The suspicions: the facts about each subject that follow from its measurements. The judge compares and ranks them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from btpy.api.triage.findings import Finding
from btpy.api.triage.measurements import NOTHING, Key, Measurements, Total
from btpy.api.triage.thresholds import LONG_WAIT_NS, SLOW, STARVED_THREADS, Kind
from btpy.lang.check.frameworks import frameworks, jdk
from btpy.output.quantities import counted, duration, grouped, size

_SEPARATOR = "  "

_UNKNOWN = "(unknown)"
"""The text that is shown for a statement whose preparation no probe has seen."""

_ENOUGH = 20
"""A smaller number of requests, or of borrowed connections, says little about all of them."""

_USUAL_MESSAGES = 5
"""The number of log messages that is usual for a request: one about the access, and some about the work."""

_USUAL_EXCEPTIONS = 5
"""The number of exceptions that frameworks usually make and catch in a request: Spring Data makes two for some
queries."""

_REFLECTION = ("java.lang.reflect.", "jdk.internal.reflect.")

_MOST = 0.5
"""A line with at least this share of the processor time is suspicious: usually many lines share the processor time."""

_PATTERN = 3
"""The smallest number of repetitions that is reported. Fewer series of a statement, or connections of a place, occur by
chance, or come from a job that has just run.
"""


def _slowest(totals: Mapping[Key, Total]) -> tuple[Key, Total]:
    """The key with the longest time."""
    return max(totals.items(), key=lambda entry: entry[1].sum, default=((), NOTHING))


def _most(totals: Mapping[Key, Total]) -> tuple[Key, Total]:
    """The key with the largest count."""
    return max(totals.items(), key=lambda entry: entry[1].count, default=((), NOTHING))


def _times(total: Total) -> str:
    return f"{grouped(total.count)} times {duration(total.mean)}, at most {duration(total.longest)}"


def number(value: float) -> str:
    """Two significant digits below ten, a whole number above."""
    return grouped(round(value)) if value >= 9.5 else f"{value:.2g}"


def short(frame: str) -> str:
    """``com.acme.shop.Orders.place:41`` as ``Orders.place:41``."""
    return ".".join(frame.rsplit(".", 2)[-2:])


def _pools(measured: Measurements) -> Iterator[Finding]:
    key, waits = _slowest(measured.of("pool_waits"))
    if waits.count:
        average = measured.threads(measured.all("pool_waits"))
        failures = measured.all("pool_failures").count
        in_vain = f"; {grouped(failures)} failed" if failures else ""
        fact = f"{number(average)} threads on average wait for a connection of {key[0]} ({_times(waits)}{in_vain})"
        yield Finding.of(Kind.POOL_WAITS, average, fact, short(key[1]), "pools --slow 100ms --for 30s")


def _leaks(measured: Measurements) -> Iterator[Finding]:
    command = "pools --leak 5s --for 30s"
    held = measured.of("held")
    for site, out in measured.of("out").items():
        in_use = sum(measured.threads(total) for key, total in held.items() if short(key[0]) == site[0])
        # at the end of the measurement about `in_use` connections are in use, and sometimes twice as many
        leaked = out.count - 2 * in_use - 1
        fact = f"{grouped(out.count)} connections were not given back to their pool"
        yield Finding.of(Kind.CONNECTION_LEAK, leaked, fact, site[0], command)
    # A thread in a request rarely needs more than one connection. If the budget skips hits, the times in ``held`` are
    # wrong.
    usual = 2 * (measured.threads(measured.all("requests")) or measured.threads(measured.all("held"))) + 1
    for key, least in measured.of("out_least").items():
        grown = measured.of("out_last").get(key, NOTHING).count - measured.of("out_first").get(key, NOTHING).count
        many = max(least.count, grown)
        never = {at: total for at, total in measured.of("borrowed").items() if at[0] == key[0] and (at[1],) not in held}
        fact = f"{grouped(many)} connections of {key[0]} are lent, more than the threads that can use them"
        place = short(_most(never)[0][1]) if never else ""
        yield Finding.of(Kind.CONNECTION_LEAK, many - usual, fact, place, command)


def _slow_sql(measured: Measurements) -> Iterator[Finding]:
    key, slow = _slowest(_with_text(measured.of("slow_sql")))
    if slow.count:
        average = measured.threads(measured.all("slow_sql"))
        fact = f"{number(average)} threads on average wait for slow SQL ({_times(slow)})"
        yield Finding.of(Kind.SLOW_SQL, average, fact, _statement(key), f"jdbc --slow {SLOW['slow_sql']} --for 30s")


def _repeated_sql(measured: Measurements) -> Iterator[Finding]:
    """Finds repeated statements by the series of a statement on one thread, and by the number of its executions for
    each request and for each borrowed connection. If the budget skips hits, series look shorter or are not seen, but
    the numbers of executions are still right.
    """
    units = [measured.all(name).count for name in ("requests", "borrowed")]
    every, rows, in_rows = (_with_text(measured.of(name)) for name in ("sql", "sql_rows", "sql_in_rows"))
    for key, total in every.items():
        begun = rows.get(key, NOTHING).count
        in_a_row = 4 + in_rows.get(key, NOTHING).count / begun if begun >= _PATTERN else 0.0
        times = max(in_a_row, *(total.count / unit if unit >= _ENOUGH else 0.0 for unit in units))
        rate = number(measured.per_second(total))
        fact = f"a statement runs about {number(times)} times in a row, {rate} times a second (N+1 queries?)"
        library = "hibernate" if "hibernate" in measured.libraries else "jdbc"
        yield Finding.of(Kind.REPEATED_SQL, times, fact, _statement(key), f"{library} --for 30s")


def _with_text(totals: Mapping[Key, Total]) -> dict[Key, Total]:
    """Adds statements without a text to the most frequent statement of the same place: if the budget skips hits, the
    text of a prepared statement may be missing.
    """
    most: dict[str, Key] = {}
    for key, total in totals.items():
        best = most.get(key[1])
        if key[0] != _UNKNOWN and (best is None or total.count > totals[best].count):
            most[key[1]] = key
    merged: dict[Key, Total] = {}
    for key, total in totals.items():
        label = most.get(key[1], key) if key[0] == _UNKNOWN else key
        merged[label] = merged.get(label, NOTHING) + total
    return merged


def _failed_sql(measured: Measurements) -> Iterator[Finding]:
    key, failures = _most(measured.of("failed_sql"))
    if failures.count:
        share = measured.all("failed_sql").count / max(measured.all("sql").count, 1)
        fact = f"{share:.0%} of the SQL statements fail ({grouped(failures.count)} with {key[1]})"
        yield Finding.of(Kind.FAILED_SQL, share, fact, key[0], "jdbc --for 30s")


def _statement(key: Key) -> str:
    return f"{short(key[1])}{_SEPARATOR}{key[0]}"


def _locks(measured: Measurements) -> Iterator[Finding]:
    if deadlocked := measured.figure("deadlocks"):
        fact = f"{deadlocked:.0f} threads wait for each other forever"
        yield Finding.of(Kind.DEADLOCK, deadlocked, fact, "", "-e '@OnBegin { print_deadlocks(); exit(0) }'")
    locked = measured.of("locked")
    sites: dict[Key, Total] = {}
    for (lock, site, _), total in locked.items():
        sites[lock, site] = sites.get((lock, site), NOTHING) + total
    key, waits = _slowest(sites)
    if waits.count:
        average = measured.threads(waits)
        owner = _slowest({lock_key: total for lock_key, total in locked.items() if lock_key[:2] == key})[0][2]
        held = f", held by {short(owner)}" if owner else ""
        fact = f"{number(average)} threads on average wait for a lock, {key[0].rpartition('.')[2]}{held}"
        yield Finding.of(Kind.LOCK_WAITS, average, fact, short(key[1]), "locks --for 30s")


def _exceptions(measured: Measurements) -> Iterator[Finding]:
    made = measured.of("exceptions")
    totals = {key: total for key, total in made.items() if not _is_of_framework(key[2])}
    usual = measured.per_second(sum(totals.values(), NOTHING)) + _USUAL_EXCEPTIONS * measured.per_second(
        measured.all("requests")
    )
    if measured.per_second(measured.all("exceptions")) <= usual:
        made = totals
    key, most = _most(made)
    if most.count:
        rate = measured.per_second(sum(made.values(), NOTHING))
        name = key[0].rpartition(".")[2]
        times = number(measured.per_second(most))
        fact = f"{number(rate)} exceptions a second; the most frequent is {name} ({times} a second)"
        yield Finding.of(Kind.EXCEPTIONS, rate, fact, short(key[1]), "exceptions --for 30s")
    key, died = _most(measured.of("died"))
    if died.count:
        deaths = measured.all("died").count
        fact = f"exceptions have ended {counted(deaths, 'thread')}, mostly {key[0].rpartition('.')[2]}"
        yield Finding.of(Kind.DEAD_THREADS, died.count, fact, short(key[1]), "exceptions --for 30s")


def _is_of_framework(frame: str) -> bool:
    """Whether the frame belongs to a framework. A frame of the JDK counts as a frame of the application, which called
    it; a frame of reflection does not.
    """
    if frame.startswith(_REFLECTION):
        return True
    of_others, of_application = (re.fullmatch(classes.application[1:-1], frame) for classes in (jdk(), frameworks()))
    return of_others is not None and of_application is None


def _collections(measured: Measurements) -> Iterator[Finding]:
    key, calls = _slowest(measured.of("gc_calls"))
    if calls.count:
        rate = measured.per_second(measured.all("gc_calls"))
        fact = f"the program calls System.gc() {number(rate * 60)} times a minute ({_times(calls)})"
        yield Finding.of(Kind.GC_CALLS, rate, fact, short(key[0]), "gc_calls --for 30s")
    share = measured.figure("gc_time") / 1e9 / measured.seconds
    if share:
        fact = f"garbage collections take {share:.0%} of the time ({number(measured.figure('gc_count'))} collections)"
        yield Finding.of(Kind.GC_TIME, share, fact, "", _GROWN_HEAP)


_GROWN_HEAP = "-e '@OnTimer(1s) { print(heap_used(), \"of\", heap_max(), gc_count(), gc_time()) }' --for 30s"


def _allocations(measured: Measurements) -> Iterator[Finding]:
    first, last = measured.of("allocated_first"), measured.of("allocated_last")
    by_requests = sum(total.count - first.get(thread, total).count for thread, total in last.items())
    filled = measured.figure("heap_range") * max(measured.figure("gc_count"), 1)  # before each collection
    rate = max(by_requests, filled) / measured.seconds
    requests = measured.all("requests").count
    place = f"{size(by_requests // requests)} in a request on average" if requests and by_requests else ""
    fact = f"{size(round(rate))} are allocated in a second, in a heap of {size(round(measured.figure('heap_max')))}"
    yield Finding.of(Kind.ALLOCATIONS, rate, fact, place, "allocations --for 10s")


def _names(measured: Measurements) -> Iterator[Finding]:
    key, lookups = _most(measured.of("names"))
    if lookups.count:
        rate = measured.per_second(measured.all("names"))
        unknown = measured.all("unknown_names").count
        failing = f", {grouped(unknown)} fail" if unknown else ""
        fact = f"{number(rate)} DNS lookups a second ({_times(lookups)}{failing})"
        yield Finding.of(Kind.DNS, rate, fact, short(key[0]), "dns --for 30s")


def _calls(measured: Measurements) -> Iterator[Finding]:
    key, slow = _slowest(measured.of("slow_calls"))
    if slow.count:
        average = measured.threads(measured.all("slow_calls"))
        fact = f"{number(average)} threads on average wait for slow HTTP answers of {key[0]} ({_times(slow)})"
        command = f"http_client --slow {SLOW['slow_http']} --for 30s"
        yield Finding.of(Kind.SLOW_CALLS, average, fact, short(key[1]), command)
    key, failures = _most(measured.of("failed_calls"))
    if failures.count:
        share = measured.all("failed_calls").count / max(measured.all("calls").count, 1)
        fact = f"{share:.0%} of the HTTP calls to other services fail ({grouped(failures.count)} with {key[1]})"
        yield Finding.of(Kind.FAILED_CALLS, share, fact, key[0], "http_client --for 30s")
    key, retries = _most(measured.of("retries"))
    if retries.count:
        rate = measured.per_second(measured.all("retries"))
        fact = f"HTTP calls to {key[0]} are repeated after a failure, about {number(rate)} times a second"
        yield Finding.of(Kind.RETRIES, rate, fact, short(key[1]), "http_client --for 30s")


def _tasks(measured: Measurements) -> Iterator[Finding]:
    """Findings about queues of thread pools. The number of tasks that wait on average is the rate of the starts times
    the mean wait (Little's law). The mean length of the queue at the starts is too large if tasks come rarely, but many
    at once. If the budget skips hits, most waits are not known, and some belong to other tasks, so the smaller of the
    two numbers counts.
    """
    waits = measured.of("queued")
    for key in {**measured.of("queue"), **waits}:
        wait, queue = waits.get(key, NOTHING), measured.of("queue").get(key, NOTHING)
        average = measured.threads(wait)
        times = f" ({duration(wait.mean)} on average, at most {duration(wait.longest)})" if wait.count else ""
        if queue.count:
            by_waits = wait.mean * queue.count / 1e9 / measured.seconds
            average = by_waits if wait.count else queue.mean if queue.count >= _ENOUGH else 0.0
            if average > queue.mean:
                average = queue.mean
                times = f" (about {duration(average * measured.seconds * 1e9 / queue.count)} on average)"
        if wait.mean >= LONG_WAIT_NS or not wait.count:
            fact = f"{number(average)} tasks on average wait for a thread of {key[0]}{times}"
            yield Finding.of(Kind.QUEUED_TASKS, average, fact, "", "executors --for 30s")
    key, rejected = _most(measured.of("rejected"))
    if rejected.count:
        rate = measured.per_second(measured.all("rejected"))
        fact = f"the thread pool {key[0]} rejects tasks, {number(rate)} a second"
        yield Finding.of(Kind.REJECTED_TASKS, rate, fact, short(key[1]), "executors --for 30s")
    key, failures = _most(measured.of("failed_tasks"))
    if failures.count:
        rate = measured.per_second(measured.all("failed_tasks"))
        fact = f"tasks of thread pools fail, {number(rate)} a second, mostly with {key[0].rpartition('.')[2]}"
        yield Finding.of(Kind.FAILED_TASKS, rate, fact, short(key[1]), "executors --for 30s")


def _threads(measured: Measurements) -> Iterator[Finding]:
    first, last = measured.figure("threads_first"), measured.figure("threads_last")
    if last > first:
        fact = f"the number of threads grows: from {first:.0f} to {last:.0f} in {measured.seconds:.0f} s"
        growth = (last - first) * 60 / measured.seconds
        yield Finding.of(Kind.THREAD_GROWTH, growth, fact, "", "threads --allow core --for 30s")


def _files(measured: Measurements) -> Iterator[Finding]:
    key, bytes_ = _most(measured.of("single_bytes"))
    if bytes_.count:
        rate = measured.per_second(measured.all("single_bytes"))
        fact = f"files are read or written byte by byte: {number(rate)} calls a second"
        yield Finding.of(Kind.SINGLE_BYTES, rate, fact, key[0], "file_io --for 30s")
    key, slow = max(_slowest(measured.of("files")), _slowest(measured.of("forced")), key=lambda entry: entry[1].sum)
    if slow.count:
        average = measured.threads(measured.all("files") + measured.all("forced"))
        fact = f"{number(average)} threads on average read, write or force files ({_times(slow)})"
        yield Finding.of(Kind.FILES, average, fact, key[0], "file_io --for 30s")
    key, failures = _most(measured.of("not_opened"))
    if failures.count:
        rate = measured.per_second(measured.all("not_opened"))
        fact = f"{number(rate)} attempts a second to open files fail"
        yield Finding.of(Kind.FAILED_FILES, rate, fact, f"{short(key[1])}{_SEPARATOR}{key[0]}", "file_io --for 30s")


def _requests(measured: Measurements) -> Iterator[Finding]:
    key, failures = _most(measured.of("failed_requests"))
    if failures.count:
        share = measured.all("failed_requests").count / max(measured.all("requests").count, 1)
        fact = f"{share:.0%} of the requests to this service end with a server error (5xx)"
        yield Finding.of(Kind.FAILED_REQUESTS, share, fact, key[0], "http_server --for 30s")


def _logging(measured: Measurements) -> Iterator[Finding]:
    key, most = _most(measured.of("logged"))
    if most.count:
        rate = measured.per_second(measured.all("logged"))
        excess = rate - _USUAL_MESSAGES * measured.per_second(measured.all("requests"))
        fact = f"{number(rate)} log messages a second; {short(key[1])} makes most of them, as {key[0]}"
        yield Finding.of(Kind.LOGGING, excess, fact, "", "logging --for 30s")
    key, slowest = _slowest(measured.of("logged"))
    if slowest.mean >= LONG_WAIT_NS:
        average = measured.threads(measured.all("logged"))
        fact = f"{number(average)} threads on average wait until messages are logged ({_times(slowest)})"
        yield Finding.of(Kind.SLOW_LOGGING, average, fact, key[1], "logging --for 30s")


def _processor(measured: Measurements) -> Iterator[Finding]:
    key, hot = _slowest(measured.of("processor"))
    processors = measured.figure("processors")
    share = hot.sum / max(measured.all("processor").sum, 1)
    if processors and share >= _MOST and not _is_of_framework(key[0]):
        busy = measured.threads(hot)
        fact = f"one line of code keeps {number(busy)} of {counted(round(processors), 'processor')} busy"
        fact += f" ({share:.0%} of the processor time of the JVM)"
        yield Finding.of(Kind.HOT_CODE, busy / processors, fact, short(key[0]), "profile --for 30s")


def _scheduling(measured: Measurements) -> Iterator[Finding]:
    ran, waited = measured.figure("ran"), measured.figure("not_run")
    threads = waited / 1e9 / measured.seconds
    if threads >= STARVED_THREADS:
        fact = (
            f"threads that are ready to run wait for a processor {number(waited / max(ran, 1))} times as long as they"
        )
        fact += f" run, {number(threads)} of them on average"
        yield Finding.of(Kind.STARVED, waited / max(ran, 1), fact, _NEIGHBOURS, "profile --for 30s")
    if periods := measured.figure("periods"):
        share = measured.figure("throttled") / periods
        fact = f"the limit of processor time stops the JVM in {share:.0%} of the periods of its group"
        yield Finding.of(Kind.THROTTLED, share, fact, _LIMIT, "profile --for 30s")


_NEIGHBOURS = "other processes use the processors"
_LIMIT = "cpu.max of its cgroup; in Kubernetes limits.cpu"


def _stores(measured: Measurements) -> Iterator[Finding]:
    key, slowest = _slowest(measured.of("redis"))
    if slowest.count:
        average = measured.threads(measured.all("redis"))
        fact = f"{number(average)} threads on average wait for Redis ({_times(slowest)})"
        yield Finding.of(Kind.REDIS, average, fact, f"{key[1]}{_SEPARATOR}{key[0]}", "redis --for 30s")
    for cache, misses in measured.of("cache_misses").items():
        reads = misses.count + measured.of("cache_hits").get(cache, NOTHING).count
        loads = measured.of("cache_loads").get(cache, NOTHING)
        if reads >= 100 and measured.threads(loads) >= 0.05:  # a small or cheap cache costs little time
            share = misses.count / reads
            fact = f"{share:.0%} of {grouped(reads)} reads of a cache find nothing; a load takes {duration(loads.mean)}"
            yield Finding.of(Kind.CACHE_MISSES, share, fact, short(cache[0]), "caches --for 30s")


SUSPICIONS: tuple[Callable[[Measurements], Iterator[Finding]], ...] = (
    _pools,
    _leaks,
    _slow_sql,
    _repeated_sql,
    _failed_sql,
    _locks,
    _exceptions,
    _collections,
    _allocations,
    _names,
    _calls,
    _tasks,
    _threads,
    _files,
    _requests,
    _logging,
    _processor,
    _scheduling,
    _stores,
)
