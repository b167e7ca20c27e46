"""``thread.x`` and ``state(object).x``, from script text to records."""

from __future__ import annotations

import re

import pytest

from btpy.lang.check import checker
from btpy.model import types as t
from btpy.model.source import Source
from tests.codegen.target import Target
from tests.codegen.test_loops import BAD_CAST, NULL_OPERAND, handler, printed, run

GUARD = b"btpy/runtime/Guard"


OF_AN_OBJECT = re.compile(r"\bthread\.")


@pytest.mark.parametrize("owner", ["thread", "state($b)"])
def test_numbers(jvm: Target, owner: str) -> None:
    body = """
    print(thread.a, thread.a == null, thread.a != null);
    thread.a = 5; thread.a += 2; thread.a++; thread.a -= 1; thread.a *= 3;
    print(thread.a, thread.a > 20, thread.a == null, thread.a + 1, thread.a ?? 0);
    thread.a = null;
    print(thread.a, thread.a ?? 7);
    thread.d = 1.5; thread.d -= 1; thread.d *= 4;
    print(thread.d, thread.d > 1.9);
    thread.e += 1ms; thread.e += 1us;
    print(thread.e, thread.e > 1ms);
    thread.big = 9223372036854775807; thread.big++;
    print(thread.big);
    """
    assert printed(jvm, OF_AN_OBJECT.sub(f"{owner}.", body)) == [
        (None, True, False),
        (21, True, False, 22, 21),
        (None, 7),
        (2.0, True),
        (1_001_000, True),
        (-(2**63),),
    ]


def test_other_values(jvm: Target) -> None:
    body = """
    thread.s += "x"; thread.s += "y";
    thread.b = true;
    thread.o = $b;
    thread.any = 1; thread.any = "text";
    thread.mixed = 1; thread.mixed = 2.5;
    print(thread.s, thread.b ? 1 : 2, typeof(thread.o), thread.any, thread.mixed);
    clear_thread();
    print(thread.s, thread.b, thread.o, thread.any, thread.mixed);
    """
    assert printed(jvm, body) == [("xy", 1, "java.lang.String", "text", 2.5), (None,) * 5]


def test_other_values_of_an_object(jvm: Target) -> None:
    body = """
    state($b).s += "x"; state($b).s += "y";
    state($b).mixed = 1; state($b).mixed = 2.5;
    state($b.list).s = "of the list";
    print(state($b).s, state($b).mixed, state($b.list).s, state($numbers).s);
    clear_state($b);
    print(state($b).s, state($b).mixed, state($b.list).s);
    """
    assert printed(jvm, body) == [("xy", 2.5, "of the list", None), (None, None, "of the list")]


def test_what_has_no_state(jvm17: Target) -> None:
    assert printed(jvm17, "print(state($b.list[2]).n); if state(self).n == 1 { state(self).n = 1 }") == [(None,)]
    assert run(jvm17, "state($b.list[2]).n = 1;") == ([], [(NULL_OPERAND, "$b.list[2]")])
    assert run(jvm17, "state($b.list[0]).n = 1;") == ([], [(BAD_CAST, "$b.list[0]")])
    assert GUARD in handler("state($b).n += 1;")[1].data


def test_a_null_value_unsets_a_thread_variable(jvm17: Target) -> None:
    assert printed(jvm17, "thread.n = 1; thread.n = len($b.list[2]); print(thread.n);") == [(None,)]
    assert printed(jvm17, "thread.n = 1; thread.n = len($b.list); print(thread.n);") == [(4,)]
    assert run(jvm17, "print(thread.n + 1); thread.n = 2;") == ([], [(NULL_OPERAND, "thread.n")])


def test_values_live_from_one_firing_to_the_next(jvm17: Target) -> None:
    jvm17.open()
    _, fire, _ = handler("thread.n++; print(thread.n);")
    for _ in range(3):
        assert jvm17.fire(fire) == "void"
    assert [record.values for record in jvm17.events()] == [(1,), (2,), (3,)]


def test_adding_to_a_number_calls_nothing_that_can_be_traced() -> None:
    assert GUARD not in handler("thread.n += 1;")[1].data
    assert GUARD not in handler("if thread.n != null && thread.n > 2 { thread.n = 0; }  thread.n++;")[1].data
    assert GUARD in handler("thread.o = $b;")[1].data


@pytest.mark.parametrize(
    ("body", "type_"),
    [
        ("thread.x = 1", t.LONG),
        ("thread.x += 2; thread.x = now", t.LONG),
        ("thread.x = 1; thread.x = 1.5", t.DOUBLE),
        ("thread.x += duration", t.DURATION),
        ("thread.x = 64KB", t.BYTES),
        ("thread.x = duration; thread.x = 1", t.ANY),
        ("thread.x = true", t.BOOLEAN),
        ("thread.x = cls; thread.x = null", t.STRING),
        ("thread.x = arg0", t.ANY),
        ("thread.x = null", t.ANY),
    ],
)
def test_types(body: str, type_: t.Type) -> None:
    (variable,) = checker.check_source(Source("test.bt", f"A::b @return {{ {body} }}")).scoped_variables
    assert (variable.name, variable.type) == ("x", type_)
