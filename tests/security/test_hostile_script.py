"""A script by somebody who wants to harm the program that it traces, the user who runs it, or their memory.

It tries to run long, to allocate, to lock, to recurse, to fill maps, to print without end, and to be too large for
every stage. btpy must refuse it with a clear error before it attaches, or bound its effects. Then the application
computes the same as without btpy, no process runs out of memory, and the receipt is clean.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from btpy.engine.session import Session
from btpy.engine.target import Limits
from btpy.errors import BtpyError, ProtocolError, TargetGone
from btpy.lang.check.checker import check_source
from btpy.model.source import Source
from tests import jcmd
from tests.containers.cells import AS_NOBODY, needs_root, readable_cache
from tests.jdks import compiled
from tests.live.scripts import drained
from tests.targets import Target, target

JDKS = (11, 25)
CALLS = 1009
SUM = sum(number % 7 for number in range(CALLS))
LIMIT = 60.0
"""Seconds for one script. Most scripts take less than a second."""

MEMORY = 1 << 30
"""Address space of btpy while it checks a script."""

TAKE = "Circles::take"


def repeated(text: str, count: int) -> str:
    """``#`` in the text becomes the number of the repetition."""
    return "\n".join(text.replace("#", str(number)) for number in range(count))


TOO_MUCH: dict[str, str] = {
    "parentheses": f"{TAKE} {{ print({'(' * 100_000}1{')' * 100_000}) }}",
    "nested conditions": f"{TAKE} {{ {'if arg2 > 1 { ' * 20_000}{'}' * 20_000} }}",
    "nested choices": f"{TAKE} {{ print({'arg2 > 1 ? ' * 20_000}1{' : 2' * 20_000}) }}",
    "a long sum": f"{TAKE} {{ print({'1 + ' * 50_000}1) }}",
    "an enormous number": f"{TAKE} {{ print({'9' * 500_000}) }}",
    "an enormous exponent": f"{TAKE} {{ print(1e{'9' * 1000}) }}",
    "a text of a megabyte": f'{TAKE} {{ print("{"x" * 1_000_000}") }}',
    "a formatted text of a megabyte": f'{TAKE} {{ print(f"{"x" * 1_000_000}") }}',
    "points without an end, and a fault": f"{'::'.join(['a'] * 30_000)} {{ print(1 }}",
    "a class name of 64 KiB": f"{'a' * 65_536}::take {{ print(1) }}",
    "a map name of 64 KiB": f"{TAKE} {{ @{'m' * 65_536} = count() }}",
    "a kind of event of 64 KiB": f'{TAKE} {{ emit("{"k" * 65_536}", x=1) }}',
    "a width of a thousand million": f'{TAKE} {{ printf("%999999999d", arg2) }}',
    "a map of 2^31 keys": f"map @m[int] = fixed(2147483647);\n{TAKE} {{ @m[arg2] = count() }}",
    "a histogram of 2^31 buckets": f"{TAKE} {{ @h = lhist(arg2, 0, 2147483647, 1) }}",
    "the finest histogram": f"{TAKE} {{ @h = hist(arg2, k=1000) }}",
    "a million windows": f"{TAKE} {{ @t = tseries(arg2, 1ns, 1000000000) }}",
    "a top of 2^31": f"{TAKE} {{ @t = topk(arg2, 2147483647) }}",
    "a sample of 2^31": f"{TAKE} {{ @s = sample_of(arg2, 2147483647) }}",
    "a stack of a million frames": f"{TAKE} {{ print(stack(1000000)) }}",
    "a timer of a nanosecond": "@OnTimer(1ns) { @n = count() }",
    "a function that calls itself": f"fn f(long n): long = f(n);\n{TAKE} {{ print(f(1)) }}",
    "functions in a circle": f"fn f(long n): long = g(n);\nfn g(long n): long = f(n);\n{TAKE} {{ print(f(1)) }}",
    "functions that double": repeated("fn f#(long n): long = f#_(n) + f#_(n);", 40).replace("f39_(n)", "n")
    + f"\n{TAKE} {{ print(f0(1)) }}",
    "a pattern of stars": f"{'*' * 60_000}::take {{ print(1) }}",
    "a pattern that explodes": '/(a+)+(b+)+$/::/(.*)*(.*)*x/ { print(matches(arg1, "/(a|aa)+$/")) }',
    "a hundred thousand probes": repeated(f"{TAKE} {{ @n = count() }}", 100_000),
    "a million maps": f"{TAKE} {{ {repeated('@m# = count();', 60_000)} }}",
    "a hundred thousand parameters": repeated('param p#: int = # "p";', 30_000),
    "control characters": f'{TAKE} {{ print("\x1b[2J\x07\x9b31m\u202e", $\x1b]0;x\x07) }}',
    "bytes of zero": "\0" * 100_000,
    "an open comment": "/*" * 200_000,
    "an open text": '"' + "\\" * 200_001,
    "a library of its own name": "use hostile;\nimport hostile as hostile;",
}
for _number in range(39):  # each function calls the next one twice
    TOO_MUCH["functions that double"] = TOO_MUCH["functions that double"].replace(f"f{_number}_(", f"f{_number + 1}(")


TAKEN = (
    "parentheses",
    "an enormous exponent",
    "a text of a megabyte",
    "a formatted text of a megabyte",
    "a class name of 64 KiB",
    "a map name of 64 KiB",
    "a kind of event of 64 KiB",
    "a stack of a million frames",
    "a pattern of stars",
    "a pattern that explodes",
)
"""Scripts that the check accepts. The tests also run these scripts."""


@pytest.mark.parametrize("name", TOO_MUCH)
def test_a_script_that_is_too_much_is_refused_or_taken(name: str, tmp_path: Path) -> None:
    """Runs the check in its own process, with bounded memory and time."""
    file = tmp_path / "hostile.bt"
    file.write_text(TOO_MUCH[name])
    result = subprocess.run(
        [sys.executable, "-m", "btpy", "check", str(file)],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert result.returncode == (0 if name in TAKEN else 2), result.stderr[:10_000]
    assert name in TAKEN or "error" in result.stdout + result.stderr
    for text in (result.stdout, result.stderr):
        assert "internal error" not in text
        assert "Traceback" not in text
        assert all(char.isprintable() or char == "\n" for char in text)


GROWING = "let s0 = arg1;\n" + repeated("let s#_ = s# + s#;", 40)
for _number in range(40):
    GROWING = GROWING.replace(f"s{_number}_ ", f"s{_number + 1} ")

BOUNDED: dict[str, str] = {
    "loops in loops": ("Circles::take { for i in 0..999 { for j in 0..999 { @n = count(); } } }"),
    "any in any": (
        "Circles::take { print(any(i in [0..999]: any(j in [0..999]: any(k in [0..999]: i + j + k == arg2 - 5)))) }"
    ),
    "a text built in a loop": (
        "Circles::take { let s = arg1; for i in 0..999 { s = s + s; } print(s); thread.s = s; }"
    ),
    "functions of long texts": (
        'Circles::take { print(upper(arg1), normalize_sql(arg1), url_path(arg1), split(arg1, "a", -1)) }'
    ),
    "a regular expression": (
        'Circles::take { @n[arg1 =~ "/(a|aa|aaa)+b/", matches(arg1, "/(a*)*c/"), matches(arg1, "*a*a*a*b")] = count() }'
    ),
    "keys without end": (
        "Circles::take { @k[new_id(), arg1] = hist(arg2); @l[new_id()] = distinct(arg2); @s[new_id()] = last(arg0); }"
    ),
    "the largest maps": (
        "map @a[long, string] = fixed(262144);\n"
        "map @b[long] = lru(262144);\n"
        "Circles::take { for i in 0..400 { @a[new_id(), arg1] = hist(i, k=4); "
        "@b[new_id()] = lhist(i, 0, 1000, 1); } }"
    ),
    "values that contain themselves": (
        "Circles::take { print(arg0, show(arg0, 100), fields(arg0, 100), args); @k[arg0] = count(); }"
    ),
    "loops through circles": (
        "Circles::take { for x in arg0 limit 1000 { print(x); for y in x limit 1000 { print(y) } } }"
    ),
    "megabytes": (
        "Circles::take { for i in 0..900 { print(arg1, arg0, args, stack(500)); "
        'warn(arg1); emit("e", x=arg1, y=arg0) } }'
    ),
    "stacks": (
        "Circles::take { for i in 0..300 { print(stack(500)); @s[stack(500)] = count(); "
        "@f[frame(100000), caller()] = count(); } }"
    ),
    "threads and properties": (
        "@OnTimer(1ms) { print_threads(500); print_deadlocks(500); print_properties(); "
        "print_environment(); print(deadlocks(), lock_waits()) }"
    ),
    "events in a circle": ('@OnBegin { send("x") }\n@OnEvent("x") { send("x"); send("x"); @n = count() }'),
    "errors in a circle": (
        "Circles::take { @n = max(1 / (arg2 - arg2)) }\n@OnError { @m = max(1 / (error.count - error.count)) }"
    ),
    "speculation without end": ("Circles::take { for i in 0..300 { speculate(new_id()); print(arg1) } }"),
    "every method": ("Circles*::* { print(args, self, stack(100)); @n[new_id()] = count() }"),
    "the application's monitor": (
        "Circles::take { print(owner_name(arg0), thread_state(arg0), len(arg0), id(arg0), hash(arg1), typeof(arg0)) }"
    ),
    "provided without end": (
        "Circles::take as p { for i in 0..300 { provide(x=arg1) } }\n"
        "@OnProbe(p) { print(event.x); @e[event.x, new_id()] = count() }"
    ),
    "flushes": (
        "Circles::take { for i in 0..300 { @k[new_id()] = count(); print(flush(@k)); "
        "print(@k); plot(@k); clear(@k) } }\n"
        "@OnTimer(1ms) { print(keys(@k), size(@k)) }"
    ),
    "texts that double": f"{TAKE} {{ {GROWING} print(s40); @k[s40] = count(); }}",
    "texts that grow": TAKE + " { print(" + "replace(" * 12 + "arg1" + ', "a", "aaaaaaaa")' * 12 + ") }",
    "timers": repeated("@OnTimer(1ms) { for i in 0..300 { @t[#, new_id()] = count() } print(now) }", 50),
    "four thousand probes": repeated(f"{TAKE} {{ @n# = sum(arg2) }}", 4096),
}


class Traced:
    """The program that hostile scripts are attached to, one after the other."""

    def __init__(self, program: Target) -> None:
        self.running = program

    def trace(self, text: str) -> str:
        """Runs a script while the program works. Returns the reason if btpy refused it, else an empty text."""
        if jcmd.listens(self.running.pid):
            jcmd.tell(self.running.pid, "GC.run")  # btpy refuses a heap that is full of what the last script left
        with Session.attach(self.running.pid, Limits.of({})) as session:
            refusal = ""
            try:
                session.deployer.load(check_source(Source("hostile.bt", text)))
            except (TargetGone, ProtocolError):
                raise
            except BtpyError as error:
                refusal = str(error) or type(error).__name__
            self.check()
            drained(session, 0.05)
            session.delivery.snapshot()
            receipt = session.departure.detach()
            assert receipt.clean, receipt
            for account in receipt.accounts:
                assert account.produced == account.delivered + sum(account.dropped_by.values()), account
        self.check()
        return refusal

    def check(self) -> None:
        self.running.send(f"call {CALLS}")
        assert self.running.wait_for("called") == f"called {CALLS} sum {SUM}"
        assert self.running.stderr == []


def circles() -> list[Path]:
    return [compiled([Path(__file__).parent / "java" / "Circles.java"])]


@pytest.fixture(scope="module")
def traced_program() -> Iterator[Callable[[int], Traced]]:
    """The program on a version of Java; one process each for the whole module."""
    managers = []
    programs: dict[int, Traced] = {}

    def get(jdk: int) -> Traced:
        if jdk not in programs:
            managers.append(target(jdk, "Circles", classpath=circles(), flags=["-Xmx64m"]))
            programs[jdk] = Traced(managers[-1].__enter__())
        return programs[jdk]

    yield get
    for manager in managers:
        manager.__exit__(None, None, None)


REFUSED = ("any in any", "events in a circle")
"""Scripts that the check refuses. All other scripts run."""

FILLING = ("the largest maps",)
"""Scripts whose maps leave little room in the heap. The agent then needs some seconds to leave, and until it has left,
the next attach would be refused."""

DEAR = ("four thousand probes", "timers", "flushes")
"""Scripts that take btpy or the program more than ten seconds."""


@pytest.mark.parametrize("name", [name for name in BOUNDED if name not in (*DEAR, *FILLING)])
def test_a_script_is_bounded_while_it_runs(name: str, traced_program: Callable[[int], Traced]) -> None:
    """Alternates between JDK 11 and 25."""
    jdk = JDKS[list(BOUNDED).index(name) % 2]
    refusal = traced_program(jdk).trace(BOUNDED[name])
    assert bool(refusal) == (name in REFUSED), refusal


@pytest.mark.proof  # a proof, because in a small heap the agent sometimes finds no memory and gives up
@pytest.mark.parametrize("jdk", JDKS)
@pytest.mark.parametrize("name", FILLING)
def test_a_script_that_fills_the_heap_leaves_room(name: str, jdk: int) -> None:
    with target(jdk, "Circles", classpath=circles(), flags=["-Xmx64m"]) as program:
        Traced(program).trace(BOUNDED[name])


@pytest.mark.parametrize("name", TAKEN)
def test_a_script_that_the_check_takes_is_bounded_or_refused(
    name: str, traced_program: Callable[[int], Traced]
) -> None:
    jdk = JDKS[TAKEN.index(name) % 2]
    traced_program(jdk).trace(TOO_MUCH[name])


@pytest.mark.proof
@pytest.mark.parametrize("jdk", JDKS)
@pytest.mark.parametrize("name", [name for name in BOUNDED if name not in (*DEAR, *FILLING)])
def test_a_script_is_bounded_on_each_jdk(name: str, jdk: int, traced_program: Callable[[int], Traced]) -> None:
    traced_program(jdk).trace(BOUNDED[name])


@pytest.mark.proof
@pytest.mark.parametrize("jdk", JDKS)
@pytest.mark.parametrize("name", DEAR)
def test_a_dear_script_is_bounded(name: str, jdk: int) -> None:
    with target(jdk, "Circles", classpath=circles(), flags=["-Xmx256m"]) as program:
        Traced(program).trace(BOUNDED[name])


@pytest.mark.parametrize(
    "jdk", [JDKS[0], pytest.param(JDKS[1], marks=pytest.mark.proof)], ids=[f"jdk{jdk}" for jdk in JDKS]
)
@needs_root
def test_scripts_at_a_jvm_of_another_user(jdk: int) -> None:
    """Root traces the program of an ordinary user."""
    with (
        readable_cache(),
        target(jdk, "Circles", classpath=circles(), flags=["-Xmx64m"], prefix=AS_NOBODY) as program,
    ):
        for name in ("megabytes", "keys without end", "values that contain themselves"):
            Traced(program).trace(BOUNDED[name])
