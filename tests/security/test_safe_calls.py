"""Methods that a script may call without permission: proven from the class files of each JDK, and attacked."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import pytest

from btpy.engine.session import Session
from btpy.errors import ScriptError
from btpy.events.items import Records
from btpy.lang.check.checker import check_source
from btpy.lang.check.safe_calls import SafeMethod, refused_methods, safe_methods
from btpy.lang.program import Program
from btpy.model.permissions import Permissions
from btpy.model.source import Source
from btpy.wire.messages import ErrorKind, Errors
from tests.jdks import MAJORS, all_jdks, all_jdks_and_8, compiled, java, java_home
from tests.security import call_prover
from tests.security.call_prover import Classes, Prover, RefusedError
from tests.targets import Target, target

JAVA = Path(__file__).parent / "java"
CALLED = tuple(method for methods in safe_methods().values() for method in methods if not method.substituted)


@cache
def prover(jdk: int) -> Prover:
    return Prover(Classes(java_home(jdk)))


def refusal(prover: Prover, method: SafeMethod) -> str | None:
    """The reason why the prover refuses the method; None if it is proven harmless."""
    try:
        prover.prove(method.owner, method.name, method.parameters or (), method.subtypes)
    except RefusedError as error:
        return str(error)
    return None


@all_jdks_and_8
def test_each_method_that_is_called_is_proven(jdk: int) -> None:
    refusals = {f"{method.owner}.{method.name}": refusal(prover(jdk), method) for method in CALLED}
    assert len(refusals) > 80
    assert {name: reason for name, reason in refusals.items() if reason is not None} == {}


@all_jdks_and_8
def test_no_method_that_is_listed_as_refused_can_be_proven(jdk: int) -> None:
    for method in refused_methods():
        if method.owner == "sun.nio.fs.WindowsPath":  # the JDKs of the tests are for Linux
            continue
        with pytest.raises(RefusedError):
            prover(jdk).prove(method.owner, method.name, (), False)


@pytest.mark.parametrize(
    ("owner", "name", "parameters", "reason"),
    [
        ("java.util.Date", "getTime", (), "a virtual call"),
        ("sun.nio.fs.UnixPath", "getNameCount", (), "it enters a monitor"),
        ("java.lang.String", "contains", ("java.lang.CharSequence",), "the class of an argument"),
        ("java.math.BigDecimal", "hashCode", (), "a virtual call of java/math/BigInteger.hashCode"),
    ],
)
def test_harmful_methods_are_refused_for_their_reason(
    owner: str, name: str, parameters: tuple[str, ...], reason: str
) -> None:
    with pytest.raises(RefusedError, match=reason):
        prover(17).prove(owner, name, parameters, False)


def test_every_axiom_is_used() -> None:
    methods: set[str] = set()
    for jdk in (8, *MAJORS):
        one = Prover(Classes(java_home(jdk)))
        for method in CALLED:
            assert refusal(one, method) is None
        methods |= one.used
    tables = (call_prover.INITIALIZED, call_prover.CALLS, call_prover.NATIVES, call_prover.BENIGN)
    assert [axiom for table in tables for axiom in table if axiom not in methods] == []


@all_jdks
def test_classes_assumed_to_be_initialised_are_initialised(jdk: int) -> None:
    command = [str(java(jdk)), "-Xlog:class+init=info", "-version"]
    log = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert [name for name in call_prover.INITIALIZED if f"Initializing '{name}'" not in log] == []


@pytest.mark.parametrize(
    ("method", "reason"),
    [
        ("isSynchronized", "it is synchronized"),
        ("callsSynchronized", "it is synchronized"),
        ("entersMonitor", "it enters a monitor"),
        ("callsSubclasses", "a virtual call of Refused\\$Open.read"),
        ("callsObject", "a virtual call of java/lang/Object.toString"),
        ("callsInterface", "a call by the interface"),
        ("writesField", "a write to the field Refused.seen"),
        ("writesStatic", "a write to the field Refused.written"),
        ("writesArray", "a write to an array"),
        ("allocatesUnbounded", "an array whose length has no bound"),
        ("allocatesDoubled", "an array whose length has no bound"),
        ("loopsUnbounded", "a loop without a bound"),
        ("loopsForever", "a loop without a bound"),
        ("loopsBack", "a loop without a bound"),
        ("loopsFromAnywhere", "a loop without a bound"),
        ("loopsSquared", "more than is linear"),
        ("doubles", "a loop around what is linear"),
        ("recurs", "calls itself"),
        ("callsNative", "a native method"),
        ("initializesMore", "a native method"),
        ("makesLambda", "invokedynamic"),
    ],
)
def test_the_prover_refuses(method: str, reason: str) -> None:
    with pytest.raises(RefusedError, match=reason):
        of_samples().prove("Refused", method, (), False)


def test_the_prover_refuses_arguments_of_any_class_and_methods_that_subclasses_replace() -> None:
    with pytest.raises(RefusedError, match="the class of an argument of type java/lang/Object is not known"):
        of_samples().prove("Refused", "takesObject", ("java.lang.Object",), False)
    with pytest.raises(RefusedError, match="is not final, and may be called on subtypes"):
        of_samples().prove("Refused$Open", "read", (), True)


@pytest.mark.parametrize("method", ["reads", "copies", "countsDown", "locksOwn", "appends"])
def test_the_prover_accepts(method: str) -> None:
    of_samples().prove("Refused", method, (), False)


@cache
def of_samples() -> Prover:
    return Prover(Classes(java_home(17), compiled([JAVA / "Refused.java"], release=11)))


def outcome(jvm: Target, script: str, answer: str) -> tuple[list[tuple[object, ...]], list[tuple[object, str]], str]:
    """Records and errors of one call, and the line that the program prints when it returns."""
    program: Program = check_source(Source("test.bt", script), permissions=Permissions(frozenset(), True))
    with Session.attach(jvm.pid) as session:
        session.deployer.load(program)
        jvm.send("1")
        line = jvm.wait_for(answer)
        assert session.departure.detach().clean
        records: list[tuple[object, ...]] = []
        errors: list[tuple[object, str]] = []
        for item in session.delivery.items(None):
            if isinstance(item, Records):
                records += [record.values for record in item.records]
            elif isinstance(item, Errors):
                errors += [(failure.kind, failure.message) for failure in item.failures]
    return records, errors, line


ATTACKS = {
    "arg0.string.contains(arg0.text)": ErrorKind.BAD_CAST,
    "arg0.string.indexOf(arg0.text)": ErrorKind.BAD_CAST,
    "arg0.string.equals(arg0.text)": False,
    "arg0.string.charAt(9)": ErrorKind.INDEX,
    "arg0.string.substring(3, 2)": ErrorKind.INDEX,
    "arg0.long1.contains(arg0.long2)": ErrorKind.BUDGET,
    "contains(arg0.long1, arg0.long2)": ErrorKind.BUDGET,
    "arg0.long1.lastIndexOf(arg0.long2)": ErrorKind.BUDGET,
    "len(arg0.tooLong.toUpperCase())": ErrorKind.BUDGET,
    "len(upper(arg0.tooLong))": ErrorKind.BUDGET,
    "len(arg0.tooLong.trim())": ErrorKind.BUDGET,
    "len(arg0.tooLong.substring(1))": ErrorKind.BUDGET,
    "arg0.wide.toPlainString()": ErrorKind.BUDGET,
    "arg0.tiny.toPlainString()": ErrorKind.BUDGET,
    "arg0.wide.toString()": "1E+300000000",
    "arg0.wide.intValue()": 0,
    "arg0.wide.longValue()": 0,
    "arg0.wide.doubleValue()": float("inf"),
    "arg0.tiny.doubleValue()": 0.0,
    "arg0.over.signum()": ErrorKind.BAD_CAST,
    "arg0.over.toString()": ErrorKind.BAD_CAST,
    "arg0.over.doubleValue()": ErrorKind.BAD_CAST,
    "arg0.over.intValue()": ErrorKind.BAD_CAST,
    "arg0.over.precision()": ErrorKind.BAD_CAST,
    "arg0.number.longValue()": ErrorKind.NOT_ALLOWED,
    "arg0.number.signum()": ErrorKind.NOT_ALLOWED,
    "arg0.power.doubleValue()": float("inf"),
    "arg0.power.longValue()": 0,
    "arg0.power.bitLength()": (1 << 20) + 1,
    "arg0.path.getNameCount()": 4,
    "arg0.path.toString()": "/some/path/of/names",
}


COPIED = {
    "arg0.over.signum()": 1,
    "arg0.over.toString()": "1234567890123456789012345678.90",
    "arg0.over.doubleValue()": 1.2345678901234569e27,
    "arg0.over.intValue()": -1103563954,
    "arg0.over.precision()": 30,
}
"""From JDK 17 on ``BigDecimal`` makes a copy of a ``BigInteger`` of a subclass."""


@all_jdks_and_8
def test_nothing_that_a_probe_calls_runs_waits_or_takes_memory(jdk: int) -> None:
    """Another thread holds the monitor of the path forever. The heap is small, and an OutOfMemoryError ends the
    JVM.
    """
    probes = "".join(
        f"Treacherous::look @entry {{ print({number}, {call}); }}\n" for number, call in enumerate(ATTACKS)
    )
    classes = compiled([JAVA / "Treacherous.java"], release=8)
    flags = ("-Xmx48m", "-XX:+ExitOnOutOfMemoryError")
    with target(jdk, "Treacherous", classpath=[classes], flags=flags) as program:
        records, errors, line = outcome(program, probes, "ran ")
    assert line == "ran 0"
    results = {int(str(number)): value for number, value in records}
    copied = COPIED if jdk >= 17 else {}
    expected = dict(enumerate((ATTACKS | copied).values()))
    assert results == {number: value for number, value in expected.items() if not isinstance(value, ErrorKind)}
    kinds = sorted(kind.name for kind in expected.values() if isinstance(kind, ErrorKind))
    assert sorted(ErrorKind(int(str(kind))).name for kind, _ in errors) == kinds


def test_a_call_that_was_found_to_be_harmful_needs_permission_and_the_message_says_why() -> None:
    with pytest.raises(ScriptError) as caught:
        check_source(Source("test.bt", "A::b { print(arg0.getTime()); }"))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "BT402"
    assert "Date.getTime(): it may normalise the date, which writes" in str(diagnostic.notes)
    assert any("call:java.util.Date.getTime" in str(line) for line in diagnostic.help)
    allowed = Permissions(frozenset(("call:java.util.Date.getTime",)))
    check_source(Source("test.bt", "A::b { print(arg0.getTime()); }"), permissions=allowed)


def test_an_argument_of_another_type_is_refused_before_the_probe_runs() -> None:
    with pytest.raises(ScriptError) as caught:
        check_source(Source("test.bt", 'A::b { print("text".contains(1)); }'))
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.message) == ("BT201", "`contains` takes a string")


SUBSTITUTES = {
    "text": "arg0.toString()",
    "decimal": "arg0.toString(), arg0.toPlainString(), arg0.doubleValue(), arg0.longValue(), arg0.intValue(),"
    " arg0.signum(), arg0.precision()",
    "integer": "arg0.doubleValue(), arg0.longValue(), arg0.intValue(), arg0.bitLength()",
    "path": "arg0.getNameCount()",
    "day": "arg0.toEpochDay()",
    "second": "arg0.toEpochSecond()",
}


@all_jdks_and_8
def test_substitutes_give_the_results_of_the_methods(jdk: int) -> None:
    classes = compiled([JAVA / "Alike.java"], release=8)
    probes = ""
    for name, calls in SUBSTITUTES.items():
        expected = ", ".join(f"arg{1 + number}" for number in range(calls.count("arg0")))
        probes += f"Alike::{name} @entry {{ print({expected}, {calls}); }}\n"
    with target(jdk, "Alike", classpath=[classes], flags=("-Dsun.jnu.encoding=UTF-8",)) as program:
        records, errors, line = outcome(program, probes, "values ")
    assert errors == []
    assert len(records) == int(line.removeprefix("values "))
    assert [values for values in records if values[: len(values) // 2] != values[len(values) // 2 :]] == []
