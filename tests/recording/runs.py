"""A run of btpy that produces every kind of record, on a program whose methods run a known number of times."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cli.test_trace import ENVIRONMENT, started, until
from tests.live.scripts import counted
from tests.targets import Target

CALLS = 101
REFUSED = len(range(3, CALLS, 7))

EVERY_KIND = """
map @few[long] = count(1);
Counted::step @entry as entry {
  print("entry", arg0, arg1, self);
  printf("%5d|%-6s|\\n", arg1, arg0);
  emit("step", name=arg0, number=arg1, at=stack(3), self=self, odd=arg1 % 2 == 1, half=arg1 * 0.5, none=null);
  @count[arg1 % 3, arg0] = count();
  @calls = count();
  @plain[arg1 % 2] = arg0;
  @sum[arg1 % 3] = sum(arg1);
  @min = min(arg1);
  @avg[arg1 % 2] = avg(arg1);
  @stats[arg1 % 2] = stats(arg1);
  @linear = lhist(arg1, 0, 100, 10);
  @top = topk(arg1 % 5, 3);
  @different = distinct(arg1);
  @first = first(arg1);
  @last = last(arg1);
  @some = sample_of(arg1, 3);
  @stacks[stack(4)] = count();
  @few[arg1] = count();
}
Counted::step @exit as exit {
  @took[exception != null] = hist(duration);
  @slow = pctl(duration, 50, 99);
  @series = tseries(duration, 1s, 5, "max");
}
Counted::step @throw as thrown {
  emit("refused", message=message(exception), took=duration);
  print(arg1 / (arg1 - arg1));
}
Counted::step @entry as held { speculate(arg1); print("held", arg1); if arg1 % 10 == 0 { commit(arg1); } }
@OnEnd { print(@count, top=2); plot(@series); table(@sum, @avg); warn("the end of", @calls); exit(67); }
"""


@contextmanager
def finished(*arguments: Any, script: str = EVERY_KIND, calls: int = CALLS, code: int = 67) -> Iterator[Target]:
    """A run of ``script`` with these arguments that has been stopped with Ctrl-C after ``calls`` calls."""
    with counted(17) as program, started(program.pid, "-e", script, "--hits", 0, *arguments) as tracer:
        until(lambda: any("Ctrl-C to end" in line for line in tracer.stderr))
        program.send(f"call {calls}")
        program.wait_for("called")
        tracer.process.send_signal(signal.SIGINT)
        assert tracer.wait() == code, tracer.stderr
        yield tracer


def replay(file: Path, *arguments: Any) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "btpy", "replay", str(file), *map(str, arguments)]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, check=False)
