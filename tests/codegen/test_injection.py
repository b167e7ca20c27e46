"""Errors at every instruction of a handler, and at every run-time call below it.

After any error: the traced method sees nothing; each record is whole, or dropped and counted; fired = delivered +
dropped + errors; and the next firing is normal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from btpy.codegen.handler import compile_fire
from btpy.codegen.handler_class import HandlerClass
from btpy.engine.declarations import map_declarations
from btpy.events import aggregates
from btpy.events.records import Record, StackRef
from btpy.lang.check import checker
from btpy.lang.check.binding import bind
from btpy.lang.inputs import Input, InputKind
from btpy.lang.typed_tree import Shape
from btpy.model.points import Point
from btpy.model.source import Source
from tests.codegen.injection import HANDLER, Points, handler_variant, runtime_variant, uncovered
from tests.codegen.target import Box, Result, Target, target
from tests.jdks import MAJORS
from tests.lang.trees import shape

RETURN = shape(
    Point.RETURN,
    "Ljava/lang/String; I Lcom/acme/Order; J D",
    "D",
    "sku quantity order price rate",
)
LINE = shape(
    Point.LINE,
    "Ljava/lang/String; I",
    "V",
    "sku quantity",
    variables="total J order Lcom/acme/Order; name Ljava/lang/String;",
)
THROW = shape(Point.THROW, "Ljava/lang/String;", "V", "sku")

SINGLE, NO_MORE_CALLS = 0, 1
NEVER = -1
_TIMED_AT_LATEST = 9


@dataclass(frozen=True)
class Kind:
    """A script of one probe. The sums are exact if a firing makes one record, or counts once in its map."""

    text: str
    shape: Shape = RETURN
    exact: bool = True


def _body(body: str, location: str = "RETURN") -> str:
    return f'@OnMethod(class="com.acme.Shop", method="sell", location={location}) {{ {body} }}'


KINDS = {
    "numbers": Kind(_body("print(line, $quantity, $price, duration);")),
    "strings": Kind(_body('print($sku, upper($sku) + "x", f"{$quantity:>5}/{$rate:.2f}");')),
    "fields": Kind(_body("print($order.quantity, $order.customer.name, $order.lines[1]);")),
    "objects": Kind(_body("print($order, self);")),
    "args": Kind(_body("print(args, retval);")),
    "locals": Kind(_body("print(line, locals());", "LINE(3)"), LINE),
    "stack": Kind(_body("print(stack());")),
    "jstack": Kind(_body("print(caller(), frame(2));")),
    "exception": Kind(_body("print(exception, message(exception));", "THROW"), THROW),
    "predicate": Kind(_body("print($quantity);").replace(") {", ")\nwhen $order.quantity > 2 {", 1), exact=False),
    "loop": Kind(_body("for item in $order.lines { @seen[item] = count(); } print(1);")),
    "two records": Kind(_body("print($sku); print($order);"), exact=False),
    "tally": Kind(_body("@n = count();")),
    "count": Kind(_body("@n[$sku] = count();")),
    "counts": Kind(_body("@n[$sku, $quantity] = count();")),
    "counts of fields": Kind(_body("@n[$order.customer.name] = count();")),
    "sum": Kind(_body("@n = sum($price);")),
    "avg": Kind(_body("@n[$sku] = avg(duration);")),
    "min": Kind(_body("@n[$sku] = min($rate);"), exact=False),
    "max": Kind(_body("@n = max(duration);"), exact=False),
    "hist": Kind(_body("@n[$sku] = hist(duration);")),
    "distinct": Kind(_body("@n = distinct($sku);"), exact=False),
    "top": Kind(_body("@n = topk($sku, 3);"), exact=False),
    "store": Kind(_body("@n[$sku] = $price; @n[$sku] += 2; @m++; delete @n[$sku];"), exact=False),
    "thread": Kind(_body("thread.last = $sku; thread.n = $quantity; print(thread.last, thread.n);")),
    "exit": Kind(_body("exit(3);"), exact=False),
}

SAMPLE = ("numbers", "sum", "counts")

_VALUES: dict[InputKind, Result] = {
    InputKind.SELF: Box("a", "order"),
    InputKind.RETVAL: 12.5,
    InputKind.DURATION: 1_500_000,
    InputKind.DEPTH: 1,
    InputKind.EXCEPTION: Box("a", "failure"),
}


def _value(input_: Input) -> Result:
    if input_.kind in _VALUES:
        return _VALUES[input_.kind]
    match input_.descriptor:
        case "I":
            return 3
        case "J":
            return 2**40
        case "D":
            return 0.5
    return Box("a", "order") if input_.index in (2, 3) else "A-1"


@dataclass(frozen=True)
class Account:
    """The effects of one firing."""

    fired: int
    delivered: tuple[tuple[object, ...], ...]
    dropped: int
    errors: int
    counted: int | None
    met: tuple[int, ...]
    failed: int
    thrown: bool

    @property
    def balance(self) -> int:
        """The number of firings without an effect: neither delivered, counted or dropped, nor an error."""
        results = len(self.delivered) if self.counted is None else self.counted
        return self.fired - results - self.dropped - self.errors


class Bench:
    """A handler that is fired again and again in one session."""

    def __init__(self, jvm: Target, kind: Kind) -> None:
        self._jvm = jvm
        self._program = checker.check_source(Source("injected.bt", kind.text))
        (probe,) = self._program.probes
        bound_probe = bind(self._program, probe, kind.shape)
        jvm.open()
        for declaration in map_declarations(self._program.maps):
            jvm.command("map", declaration.id, declaration.kind.number, declaration.keys, *declaration.parameters)
        handler = compile_fire(self._program, bound_probe)
        self.handler = handler
        data, self.points = handler_variant(handler.data)
        jvm.prepare(HandlerClass(handler.class_name, data, handler.descriptor), *map(_value, bound_probe.inputs))
        self.exact = kind.exact
        self._counted = kind.exact and bool(self._program.maps) and "print" not in kind.text
        self._before = self._counters()
        self._content = self._sum()
        usual = self.fire()
        self.whole, self.met = usual.delivered, usual.met

    def _counters(self) -> tuple[int, int]:
        row = self._jvm.counters()[0]
        return row[7], sum(row[1:6]) + row[6]

    def _sum(self) -> int | None:
        if not self._counted:
            return None
        (map_,) = self._program.maps
        entries = aggregates.decode_content(self._jvm.content(map_.id), {map_.id: map_}).entries
        samples: Iterable[Any] = dict(entries).values()
        return sum(int(aggregate.n) for aggregate in samples)

    def inject(self, first: int, second: int = NEVER, *, mode: int = SINGLE, memory: bool = False) -> None:
        self._jvm.command("inject", first, second, mode, "memory" if memory else "stack")

    def fire(self) -> Account:
        result, failures, *met = self._jvm.command("again").split()
        records = self._jvm.events()
        errors = sum(error.count for error in self._jvm.errors())
        (firings, drops), (fired_before, dropped_before) = self._counters(), self._before
        content = self._sum()
        count = None if content is None or self._content is None else content - self._content
        self._before, self._content = (firings, drops), content
        return Account(
            firings - fired_before,
            tuple(self._shown(record) for record in records),
            drops - dropped_before,
            errors,
            count,
            tuple(map(int, met)),
            int(failures),
            result == "thrown",
        )

    def _shown(self, record: Record) -> tuple[object, ...]:
        return tuple("stack" if isinstance(value, StackRef) else value for value in record.values)


@dataclass(frozen=True)
class Fault:
    """The damage that an error at these places has caused."""

    places: tuple[str, ...]
    what: str


class Proof:
    """Errors at all places of one kind of handler, and of the methods that it calls."""

    def __init__(self, bench: Bench, runtime: Points) -> None:
        self._bench = bench
        self._points = {**runtime, **bench.points}
        self._exact = bench.exact
        self.injected: dict[tuple[int, int], int] = {}
        self.faults: list[Fault] = []

    def run(self, keep: Callable[[int], bool] = lambda point: True) -> None:
        """``keep``: selects the points to try from all that firings reach."""
        bench = self._bench
        bench.inject(NEVER)
        normal = list(bench.met)
        for _ in range(_TIMED_AT_LATEST):
            normal += self._good(bench.fire()).met
        for memory in (False, True):
            waiting, tried = list(dict.fromkeys(normal)), set(normal)
            while waiting:
                point = waiting.pop(0)
                if not keep(point):
                    continue
                after = self._try(point, NEVER, SINGLE, memory)
                waiting += [met for met in after if met in normal and met not in tried]
                tried.update(after)
                place = self._points[point]
                # Only a call can abandon a record that has no array yet, and the array is made by a deeper call.
                opens = place.called == "words" or place.method == "words"
                if place.fallible and not opens:
                    self._try(point, NEVER, NO_MORE_CALLS, memory)
                if not memory and not opens:
                    for second in after:
                        if second not in normal and keep(second) and self._points[second].fallible:
                            self._try(point, second, SINGLE, memory)

    def _try(self, first: int, second: int, mode: int, memory: bool) -> tuple[int, ...]:
        """Returns the points that only this firing has reached."""
        bench = self._bench
        bench.inject(first, second, mode=mode, memory=memory)
        places = tuple(str(self._points[point]) for point in (first, second) if point != NEVER)
        if mode == NO_MORE_CALLS:
            places += ("no more calls",)
        for _ in range(_TIMED_AT_LATEST):
            account = bench.fire()
            if account.failed:
                break
            self._good(account)
        else:
            return ()
        self.injected[first, second] = self.injected.get((first, second), 0) + 1
        certain = all(self._points[point].fallible for point in (first, second) if point != NEVER)
        if account.thrown:
            self._fault(places, "the traced method sees the error")
        if any(values not in bench.whole for values in account.delivered):
            self._fault(places, f"a record that is not whole: {account.delivered}")
        if self._exact and (account.balance if certain else abs(account.balance) > 1):
            self._fault(places, f"{account}")
        bench.inject(NEVER)
        self._good(bench.fire(), places)
        return account.met

    def _good(self, account: Account, places: tuple[str, ...] = ()) -> Account:
        problems = [
            (account.thrown, "an error reaches the traced method"),
            (account.delivered != self._bench.whole, f"records {account.delivered}"),
            (account.errors, f"{account.errors} errors"),
            (account.dropped, f"{account.dropped} dropped"),
            (self._exact and account.balance, f"{account}"),
            (account.fired != 1, f"fired {account.fired} times"),
        ]
        for wrong, what in problems:
            if wrong:
                self._fault(places, f"the next firing: {what}")
        return account

    def _fault(self, places: tuple[str, ...], what: str) -> None:
        self.faults.append(Fault(places, what))


@pytest.fixture(scope="module")
def classes_and_points(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Points]:
    """The directory of the run-time classes that may fail, and their points."""
    directory = tmp_path_factory.mktemp("runtime")
    return directory, runtime_variant(directory)


def _prove(jvm: Target, kinds: Mapping[str, Kind], runtime: Points, keep: Callable[[int], bool]) -> list[str]:
    faults = []
    for name, kind in kinds.items():
        bench = Bench(jvm, kind)
        proof = Proof(bench, runtime)
        proof.run(keep)
        firsts = {first for first, _ in proof.injected}
        of_handler = sum(point >= HANDLER for point in firsts)
        print(
            f"{name}: {of_handler} places of the handler, {len(firsts) - of_handler} of the run-time,",
            f"{sum(proof.injected.values())} errors, {len(proof.faults)} faults",
            flush=True,
        )
        faults += [f"{name}: {' then '.join(fault.places)}: {fault.what}" for fault in proof.faults]
    return faults


def test_uncovered_places_cannot_fail() -> None:
    for kind in KINDS.values():
        program = checker.check_source(Source("injected.bt", kind.text))
        handler = compile_fire(program, bind(program, program.probes[0], kind.shape))
        assert list(uncovered(handler_variant(handler.data)[1])) == []


def test_errors_at_some_places(classes_and_points: tuple[Path, Points]) -> None:
    directory, runtime = classes_and_points
    with target(17, classes=directory) as jvm:
        kinds = {name: KINDS[name] for name in SAMPLE}
        assert _prove(jvm, kinds, runtime, lambda point: point % 5 == 0) == []


@pytest.mark.proof
@pytest.mark.parametrize("jdk", MAJORS)
def test_errors_everywhere(jdk: int, classes_and_points: tuple[Path, Points]) -> None:
    directory, runtime = classes_and_points
    with target(jdk, classes=directory) as jvm:
        print(f"JDK {jdk}")
        faults = _prove(jvm, KINDS, runtime, lambda point: True)
    print("\n".join(faults))
    assert faults == []
