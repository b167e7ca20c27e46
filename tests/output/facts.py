"""A program that prints the facts about its calls, and the expected records of them, field by field.

The program (Facts.java) prints its thread, and for each call the wall clock before and after it, and its duration by
the program's own clock. All expected values come from these lines and from the script, not from btpy.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from tests.jdks import compiled
from tests.live.scripts import JAVA
from tests.targets import Target, target

CALLS = 23
BIG = 4294967299
"""2**32 + 3: in its multiples, the upper and lower 32 bits differ, so a number with exchanged halves is a different
number.
"""

REFUSED = [number for number in range(CALLS) if number % 7 == 3]
SAMPLED = list(range(1, CALLS, 2))
"""The calls at which a probe with a sampling of one in two fires."""

THREAD = "clerk \N{GREEK CAPITAL LETTER OMEGA} 7"
SLACK_MS = 100
"""The largest adjustment of the clocks of the target and of btpy during a run."""

HOUR = 3_600_000_000_000

SCRIPT = """
map @few[long] = count(1);
map @hsum[long] = sum(2);
map @hhist[long] = hist(2);
map @hstats[long] = stats(2);
map @htop[long] = topk(2);
Facts::step @entry as entry {
  print("entry", arg0, arg1);
  warn("low", arg1);
  emit("step", text=arg0, number=arg1, big=arg1 * 4294967299, odd=arg1 % 2 == 1, half=arg1 * 0.5, none=null,
    at=stack(1), cls=cls, method=method, line=line, tid=tid, name=thread_name, pid=pid, now=now, me=probe);
  @count[arg1 % 3] = count();
  @big[arg1 % 2] = sum(arg1 * 4294967299);
  @stacks[stack(1)] = count();
  @few[arg1] = count();
  if arg1 == 22 { print(@count, top=2); table(@count, @big, top=1); }
}
Facts::step @throw as thrown {
  emit("refused", message=message(exception), took=duration);
  print(arg1 / (arg1 - arg1));
}
Facts::step @exit as timed { @took = stats(duration); }
Facts::step @return as held { speculate(1); print("held", arg1); discard(1); }
@OnMethod(class="Facts", method="step") @Sample(every=2) probe sampled {
  @hsum[arg1 % 3] = sum(arg1 * 4294967299);
  @hhist[arg1 % 3] = hist(arg1 * 4294967299);
  @hstats[arg1 % 3] = stats(arg1 * 4294967299);
  @hser[arg1 % 3] = tseries(arg1, 1h, 3, "sum");
  @htop[arg1 % 3] = topk(arg1 % 5, 2);
  @hsome[arg1 % 3] = sample_of(arg1, 20);
  if arg1 == 21 {
    print(@hsum, top=1); print(@hhist, top=1); print(@hstats, top=1);
    print(@hser, top=1); print(@htop, top=1); print(@hsome, top=1);
  }
}
@OnMethod(class="Facts", method="step") @Limit(rate=1) probe limited { @rated = count(); }
@OnEnd probe finish { exit(67); }
"""


@dataclass(frozen=True)
class Between:
    """Equal to the numbers in a range."""

    least: float
    most: float

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int | float) and self.least <= other <= self.most

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Moment:
    """Equal to times in a range of ms since 1970: ISO texts in UTC, datetimes, and numbers of nanoseconds."""

    least: float
    most: float

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", other):
                return False
            other = datetime.fromisoformat(other)
        ms = (
            other.timestamp() * 1000 if isinstance(other, datetime) else other / 1e6 if isinstance(other, int) else None
        )
        return ms is not None and self.least - SLACK_MS <= ms <= self.most + SLACK_MS

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Same:
    """Equal to sequences with these values in any order."""

    values: Sequence[Any]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, list) and sorted(other) == sorted(self.values)

    __hash__ = None  # type: ignore[assignment]


class Buckets:
    """Equal to buckets in ascending order in which each value is counted ``weight`` times, in the right bucket."""

    def __init__(self, values: Sequence[int], weight: int = 1) -> None:
        self.values, self.weight = values, weight

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, list) or any(set(bucket) != {"min", "max", "count"} for bucket in other):
            return False
        counts = [self.weight * sum(b["min"] <= value <= b["max"] for value in self.values) for b in other]
        in_order = all(one["max"] < two["min"] for one, two in pairwise(other))
        narrow = all(b["max"] < b["min"] * 1.26 for b in other)
        complete = sum(counts) == self.weight * len(self.values)
        return in_order and narrow and complete and [b["count"] for b in other] == counts

    def __repr__(self) -> str:
        return f"Buckets({self.values}, {self.weight})"

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Call:
    """One call of ``step``. Times are in ms since 1970. ``inner`` and ``outer``: the duration of the call in ns,
    measured inside the method and around the call.
    """

    number: int
    before: int
    after: int
    inner: int
    outer: int
    refused: bool

    @property
    def time(self) -> Moment:
        return Moment(self.before, self.after)

    @property
    def duration(self) -> Between:
        return Between(self.inner, self.outer)


@dataclass(frozen=True)
class Facts:
    pid: int
    tid: int
    calls: tuple[Call, ...]

    @property
    def slowest(self) -> int:
        return max(call.outer for call in self.calls)

    def durations(self, refused: bool) -> tuple[int, int, int]:
        """The number of calls, and bounds on the sum of their durations."""
        calls = [call for call in self.calls if call.refused == refused]
        return len(calls), sum(call.inner for call in calls), sum(call.outer for call in calls)


@contextmanager
def facts_program(jdk: int = 17) -> Iterator[Target]:
    with target(jdk, "Facts", classpath=[compiled([JAVA / "Facts.java"], release=11)]) as program:
        yield program


def called(program: Target, calls: int = CALLS) -> Facts:
    """Lets the program make its calls, and returns its facts."""
    first = len(program.stdout)
    program.send(str(calls))
    program.wait_for("called")
    lines = [line.split() for line in program.stdout[first:]]
    (tid,) = [int(words[1]) for words in lines if words[0] == "thread"]
    results = []
    for words in lines:
        if words[0] == "step":
            number, before, after, inner, outer = map(int, words[1:6])
            results.append(Call(number, before, after, inner, outer, refused=words[6] == "true"))
    assert [call.number for call in results] == list(range(calls))
    return Facts(program.pid, tid, tuple(results))


def step_line() -> int:
    """The number of the line with the first statement of the method."""
    lines = (JAVA / "Facts.java").read_text().splitlines()
    return next(at for at, line in enumerate(lines, 1) if " step(" in line) + 1


def script_place(text: str) -> tuple[int, int]:
    """Line and column of a text of the script."""
    before = SCRIPT[: SCRIPT.index(text)]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def step_values(facts: Facts, call: Call) -> dict[str, Any]:
    return {
        "text": "abc",
        "number": call.number,
        "big": call.number * BIG,
        "odd": call.number % 2 == 1,
        "half": call.number * 0.5,
        "none": None,
        "at": [f"Facts.step:{step_line()}"],
        "cls": "Facts",
        "method": "step",
        "line": step_line(),
        "tid": facts.tid,
        "name": THREAD,
        "pid": facts.pid,
        "now": call.time,
        "me": "entry",
    }


def refused_values(call: Call) -> dict[str, Any]:
    return {"message": f"refused {call.number}", "took": call.duration}


def keyed(numbers: Sequence[int], value: Callable[[list[int]], Any], keys: int = 3) -> dict[str, Any]:
    """Groups the numbers by ``number % 3``; gives ``value`` of each group."""
    return {str(key): value([n for n in numbers if n % 3 == key]) for key in range(keys)}


def figures(values: Sequence[int], weight: int = 1) -> dict[str, Any]:
    return {
        "count": weight * len(values),
        "average": sum(values) / len(values),
        "total": weight * sum(values),
        "min": min(values),
        "max": max(values),
    }


def percentiles(values: Sequence[int], weight: int = 1) -> dict[str, Any]:
    ordered = sorted(values)
    bounds = {
        name: ordered[max(0, -(-percent * len(ordered) // 100) - 1)]
        for name, percent in (("p50", 50), ("p90", 90), ("p99", 99))
    }
    estimates = {
        name: {
            "value": Between(true * 0.87, true * 1.13),
            "low": Between(true * 0.79, true),
            "high": Between(true, true * 1.26),
        }
        for name, true in bounds.items()
    }
    return {
        "count": weight * len(values),
        "average": sum(values) / len(values),
        "min": min(values),
        "max": max(values),
        **estimates,
    }


def top(values: Sequence[int], most: int) -> dict[str, Any]:
    """The expected content of a Space-Saving list with ``most`` places or more. If values are equally frequent, the
    list has the smallest ones.
    """
    counts = Counter(values)
    ordered = sorted(counts, key=lambda value: (-counts[value], value))[:most]
    top_values = [{"value": value, "count": 2 * counts[value], "error": 0} for value in ordered]
    return {"count": 2 * len(values), "unseen": 0, "values": top_values}


def series(values: Sequence[int], first_ms: int, last_ms: int) -> dict[str, Any]:
    """A sum for each of three hours; the last hour has everything."""
    ends = Between(first_ms // 3_600_000 + 1, last_ms // 3_600_000 + 1)
    return {
        "interval": HOUR,
        "operator": "sum",
        "end": ends,
        "count": 2 * len(values),
        "values": Padded(2 * sum(values)),
    }


@dataclass(frozen=True)
class Padded:
    """Equal to the sums of three hours if their total is right and the first sum is 0. A run is shorter than an hour,
    so it touches at most two of them."""

    total: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, list) and len(other) == 3 and other[0] == 0 and sum(other) == self.total

    __hash__ = None  # type: ignore[assignment]


def wall_now() -> float:
    """The present time in ms since 1970, by the clock of this process."""
    return datetime.now(UTC).timestamp() * 1000
