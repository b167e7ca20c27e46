"""Possible effects of a script on the traced program: btpy refuses or bounds each.

One row for each statement, expression, annotation and function that reaches the target, and tests that notice a new
kind of statement or function.
"""

from __future__ import annotations

import re

import pytest

from btpy.errors import ScriptError
from btpy.lang.builtins import FUNCTIONS, ON_TARGET, Group
from btpy.lang.check.checker import check_source
from btpy.lang.syntax import nodes
from btpy.lang.typed_tree import Statement
from btpy.model.source import Source

REFUSED = {
    # writes
    "self.count = 1": "BT401",
    "self.count += 1": "BT401",
    "self.count++": "BT401",
    "self.next.next.count = 1": "BT401",
    "arg0[3] = 1": "BT401",
    "args[0] = 1": "BT401",
    "arg0 = 1": "BT401",
    "self = null": "BT401",
    "retval = 7": "BT401",
    "exception = null": "BT401",
    "duration = 5ms": "BT401",
    'cls = "x"': "BT401",
    "$quantity = 1": "BT403",
    "$quantity++": "BT403",
    "$items[0] = null": "BT401",
    "(self as a.B).count = 1": "BT401",
    "delete self.count": "BT016",
    # calls
    "self.refresh()": "BT402",
    "print($list.get(0))": "BT402",
    "print($map.clear())": "BT402",
    "print(arg0.wait())": "BT402",
    "print(arg0.notifyAll())": "BT402",
    "print($thread.interrupt())": "BT402",
    "print($lock.lock())": "BT402",
    "print($future.get(1, 2))": "BT402",
    "print($text.intern())": "BT402",
    "print($atomic.incrementAndGet())": "BT402",
    "print($builder.append(1))": "BT402",
    "print($file.delete())": "BT402",
    "print($path.toRealPath())": "BT402",
    "print($uri.toURL())": "BT402",
    "print($type.newInstance())": "BT402",
    "print($method.invoke(self))": "BT402",
    "print($field.get(self))": "BT402",
    "java.lang.System.exit(1)": "BT213",
    "print(System.getenv())": "BT101",
    # objects and control flow
    "let x = new Object();": "BT405",
    "throw exception;": "BT016",
    "synchronized (self) { }": "BT016",
    "while true { }": "BT404",
    "for x in self.stream() { }": "BT402",
    # allowed only on the agent's thread, or only with permission
    "print(deadlocks())": "BT105",
    "print_threads()": "BT105",
    'heap_dump("/tmp/a.hprof")': "BT105",
    'print(property("x"))': "BT105",
    'print(environment("x"))': "BT105",
}

REFUSED_ELSEWHERE = {
    '@OnTimer(1s) { heap_dump("/tmp/a.hprof"); }': "BT411",
    "@OnTimer(1us) { print(1); }": "BT107",
    "@OnTimer(1s) { print(self); }": "BT105",
    '@OnEvent("a") { send("a"); }': "BT410",
    "fn f(int n): int = f(n - 1);\nA::b { print(f(1)); }": "BT407",
    "A::b { " + "@n = count(); " * 1001 + "}": "BT406",
}


def codes(text: str) -> set[str]:
    try:
        check_source(Source("test.bt", text))
        return set()
    except ScriptError as error:
        return {diagnostic.code for diagnostic in error.diagnostics}


@pytest.mark.parametrize(("statement", "code"), REFUSED.items())
def test_refused_in_methods(statement: str, code: str) -> None:
    assert code in codes(f'@OnMethod(class="a.B", method="c", location=EXIT)\n{{ {statement} }}')


@pytest.mark.parametrize(("script", "code"), REFUSED_ELSEWHERE.items())
def test_refused_elsewhere(script: str, code: str) -> None:
    assert code in codes(script)


OWN = r"Let|Collect|(Map|Thread|Scoped|State|Flow|Aggregate|Emit|Print|Flush|Table|Plot|Warn)\w*"
"""Statements that change only state of btpy: variables, maps, records."""
RECORDED = "WriteJfr"
"""A statement whose events go into the recordings that somebody has started in the target."""
CONTROL = r"If|For\w*|Evaluate|Stop|Leave|Subscriber|ExitSession|Send|Disable\w*"
PERMITTED = "HeapDump"


def test_no_statement_of_the_typed_tree_changes_the_target() -> None:
    """A new kind of statement belongs in one of the sets, or needs a permission."""
    assert [
        name for name in _names(Statement) if not re.fullmatch(f"{OWN}|{RECORDED}|{CONTROL}|{PERMITTED}", name)
    ] == []


def _names(union: object) -> set[str]:
    return {function.__name__ for function in union.__args__}  # type: ignore[attr-defined]


def test_the_syntax_has_no_way_to_make_or_throw_objects() -> None:
    names = _names(nodes.Statement) | _names(nodes.Expression)
    assert not any(word in name for name in names for word in ("New", "Throw", "While", "Synchronized"))


def test_functions_that_stop_or_change_the_target_need_a_permission() -> None:
    permitted = {name for name, function in FUNCTIONS.items() if function.allow}
    assert permitted == {"heap_dump"}
    slow = {
        name for name, member in FUNCTIONS.items() if member.group is Group.JVM and member.places.isdisjoint(ON_TARGET)
    }
    assert slow == {name for name, member in FUNCTIONS.items() if member.group is Group.JVM} - {
        "heap_used",
        "heap_committed",
        "heap_max",
        "cpu_time",
        "allocated",
    }
