"""The bounds of the judgement, in one table, each with its reason."""

from __future__ import annotations

from enum import Enum

from btpy.frozen import dataclass


class Kind(Enum):
    """The kinds of suspicious facts. The values are the names in JSON."""

    DEADLOCK = "deadlock"
    DEAD_THREADS = "dead_threads"
    CONNECTION_LEAK = "connection_leak"
    POOL_WAITS = "pool_waits"
    SLOW_SQL = "slow_sql"
    REPEATED_SQL = "repeated_sql"
    FAILED_SQL = "failed_sql"
    LOCK_WAITS = "lock_waits"
    EXCEPTIONS = "exceptions"
    GC_CALLS = "gc_calls"
    GC_TIME = "gc_time"
    ALLOCATIONS = "allocations"
    DNS = "dns"
    SLOW_CALLS = "slow_http_calls"
    FAILED_CALLS = "failed_http_calls"
    RETRIES = "retries"
    QUEUED_TASKS = "queued_tasks"
    REJECTED_TASKS = "rejected_tasks"
    FAILED_TASKS = "failed_tasks"
    THREAD_GROWTH = "thread_growth"
    SINGLE_BYTES = "single_bytes"
    FILES = "slow_files"
    FAILED_FILES = "failed_files"
    LOGGING = "logging"
    FAILED_REQUESTS = "failed_requests"
    REDIS = "slow_redis"
    CACHE_MISSES = "cache_misses"


@dataclass(frozen=True, slots=True)
class Threshold:
    """A fact is suspicious if its measure is at least ``least``, and the more so the larger it is in comparison.
    ``reason``: why it begins there.
    """

    least: float
    unit: str
    reason: str


_THREADS = "threads on average"

THRESHOLDS = {
    Kind.DEADLOCK: Threshold(1e-3, "threads", "such threads never go on: it comes before everything else"),
    Kind.DEAD_THREADS: Threshold(1, "threads", "an exception that ends a thread was expected by nobody"),
    Kind.CONNECTION_LEAK: Threshold(2, "connections", "one may be in use; two that nobody gives back are a pattern"),
    Kind.POOL_WAITS: Threshold(0.1, _THREADS, "a pool that is large enough makes nobody wait 10 ms"),
    Kind.SLOW_SQL: Threshold(0.1, _THREADS, "one slow statement in a second: a report at night stays below"),
    Kind.REPEATED_SQL: Threshold(10, "statements in a row", "a join or a batch does the same in one or two"),
    Kind.FAILED_SQL: Threshold(0.02, "of the statements", "unique keys that are tried on purpose stay below 2 %"),
    Kind.LOCK_WAITS: Threshold(0.1, _THREADS, "a lock that is held shortly is found taken by hardly any sample"),
    Kind.EXCEPTIONS: Threshold(20, "a second", "class loading and clients that hang up make fewer"),
    Kind.GC_CALLS: Threshold(0.02, "a second", "once in 20 s is too often: the collector knows when it is time"),
    Kind.GC_TIME: Threshold(0.05, "of the time", "the goal of the collectors is 1 to 5 %"),
    Kind.ALLOCATIONS: Threshold(200e6, "bytes a second", "collectors of small heaps cope with 200 MB a second"),
    Kind.DNS: Threshold(2, "lookups a second", "with the cache of the JDK a name is looked up twice in a minute"),
    Kind.SLOW_CALLS: Threshold(0.1, _THREADS, "one call of half a second in five seconds"),
    Kind.FAILED_CALLS: Threshold(0.02, "of the calls", "a service that works fails in less than 1 %"),
    Kind.RETRIES: Threshold(0.2, "a second", "four in 20 s are no coincidence"),
    Kind.QUEUED_TASKS: Threshold(0.5, "tasks on average", "a pool that is large enough has an empty queue"),
    Kind.REJECTED_TASKS: Threshold(0.05, "a second", "each is work that was not done"),
    Kind.FAILED_TASKS: Threshold(0.05, "a second", "hardly anybody reads the exceptions of tasks"),
    Kind.THREAD_GROWTH: Threshold(20, "threads a minute", "pools grow once, by ten or so, and then stay"),
    Kind.SINGLE_BYTES: Threshold(2_000, "a second", "each is a call of the system: 2,000 copy one page"),
    Kind.FILES: Threshold(0.1, _THREADS, "reads from the cache of the system take microseconds"),
    Kind.FAILED_FILES: Threshold(1, "a second", "looking for a file that may be missing happens at the start only"),
    Kind.LOGGING: Threshold(200, "a second", "nobody reads 200 lines a second"),
    Kind.FAILED_REQUESTS: Threshold(0.01, "of the requests", "the usual goal is below 1 %, and mostly far below"),
    Kind.REDIS: Threshold(0.3, _THREADS, "a command takes less than a millisecond"),
    Kind.CACHE_MISSES: Threshold(0.5, "of the reads", "a cache that has less than half of the values costs more"),
}

SLOW = {
    "slow_sql": "100ms",  # a person notices the page that waits for it
    "slow_http": "500ms",  # a healthy service in the same data centre takes a tenth
    "slow_pool": "10ms",  # a free connection is handed out in microseconds
}
"""The parameters of the looks: shorter waits are in the totals only."""

LONG_WAIT_NS = 20e6
"""Tasks that wait less on average are no fact: a free thread takes one in less than a millisecond."""
