"""The bounds of the judgement, in one table, each with its reason."""

from __future__ import annotations

from enum import Enum

from btpy.dataclass import dataclass


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
    SLOW_LOGGING = "slow_logging"
    FAILED_REQUESTS = "failed_requests"
    REDIS = "slow_redis"
    CACHE_MISSES = "cache_misses"
    HOT_CODE = "hot_code"
    STARVED = "starved"
    THROTTLED = "throttled"


@dataclass(frozen=True, slots=True)
class Threshold:
    """A fact is suspicious if its measure is at least ``least``; its severity is the measure divided by ``least``.
    ``reason``: the reason for the value of ``least``.
    """

    least: float
    unit: str
    reason: str


THREADS = "threads on average"

THRESHOLDS = {
    Kind.DEADLOCK: Threshold(1e-3, "threads", "these threads wait forever, so a deadlock comes before all other facts"),
    Kind.DEAD_THREADS: Threshold(1, "threads", "no code expected an exception that ends a thread"),
    Kind.CONNECTION_LEAK: Threshold(
        2, "connections", "the application may be using one connection; two show a pattern"
    ),
    Kind.POOL_WAITS: Threshold(0.1, THREADS, "no thread waits 10 ms for a pool that is large enough"),
    Kind.SLOW_SQL: Threshold(0.1, THREADS, "one statement of 100 ms in each second"),
    Kind.REPEATED_SQL: Threshold(10, "statements in a row", "a join or a batch does the same in one or two statements"),
    Kind.FAILED_SQL: Threshold(
        0.02, "of the statements", "a smaller share can be violations of unique keys, as expected"
    ),
    Kind.LOCK_WAITS: Threshold(0.1, THREADS, "a sample rarely sees a thread that waits for a short time"),
    Kind.EXCEPTIONS: Threshold(20, "a second", "class loading and clients that disconnect cause fewer exceptions"),
    Kind.GC_CALLS: Threshold(0.02, "a second", "one call in 50 s: the JVM itself knows when to collect"),
    Kind.GC_TIME: Threshold(0.05, "of the time", "collectors are built to stay below this share"),
    Kind.ALLOCATIONS: Threshold(
        200e6, "bytes a second", "small heaps can collect this without a delay that users notice"
    ),
    Kind.DNS: Threshold(2, "lookups a second", "with its cache, the JDK looks up a name twice in a minute"),
    Kind.SLOW_CALLS: Threshold(0.1, THREADS, "one call of 500 ms in five seconds"),
    Kind.FAILED_CALLS: Threshold(0.02, "of the calls", "healthy services fail in less than 1 % of the calls"),
    Kind.RETRIES: Threshold(0.2, "a second", "four retries in 20 s are not a coincidence"),
    Kind.QUEUED_TASKS: Threshold(0.5, "tasks on average", "a pool that is large enough has an empty queue"),
    Kind.REJECTED_TASKS: Threshold(0.05, "a second", "the application has not done the work of a rejected task"),
    Kind.FAILED_TASKS: Threshold(0.05, "a second", "the application often ignores the exceptions of tasks"),
    Kind.THREAD_GROWTH: Threshold(20, "threads a minute", "thread pools grow once and then keep their size"),
    Kind.SINGLE_BYTES: Threshold(2_000, "a second", "each byte is a system call, and one call could read a page"),
    Kind.FILES: Threshold(0.1, THREADS, "reads from the page cache take microseconds"),
    Kind.FAILED_FILES: Threshold(1, "a second", "programs look for optional files when they start"),
    Kind.LOGGING: Threshold(200, "a second, not counting five for each request", "no user can read so many messages"),
    Kind.SLOW_LOGGING: Threshold(0.1, THREADS, "a message takes microseconds if its appender does not wait"),
    Kind.FAILED_REQUESTS: Threshold(0.01, "of the requests", "most services promise a smaller share"),
    Kind.REDIS: Threshold(0.3, THREADS, "a command usually takes less than a millisecond"),
    Kind.CACHE_MISSES: Threshold(0.5, "of the reads", "a cache that misses so often saves little work"),
    Kind.STARVED: Threshold(
        3, "times as long as they ran", "a JVM that keeps its processors busy by itself waits about as long as it runs"
    ),
    Kind.THROTTLED: Threshold(0.1, "of the periods", "a smaller share delays only the slowest requests"),
    Kind.HOT_CODE: Threshold(
        0.15, "of the processors", "a line with most of the processor time matters only if the JVM is busy"
    ),
}

SLOW = {
    "slow_sql": "100ms",  # a user notices a page that waits this long for a statement
    "slow_http": "500ms",  # a healthy service in the same data centre takes a tenth of this time
    "slow_pool": "10ms",  # a free connection is handed out in microseconds
}
"""The parameters of the looks: only the totals include shorter waits."""

LONG_WAIT_NS = 20e6
"""If tasks or log messages wait for a shorter time on average, this is no suspicious fact: a free thread and an
appender take microseconds, and on a busy machine some milliseconds.
"""

STARVED_THREADS = 0.3
"""If fewer threads wait for a processor on average, they delay little work, even if they run rarely."""
