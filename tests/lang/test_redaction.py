"""Values computed from secrets stay hidden; values that only describe them, like lengths, are shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from btpy.lang import typed_tree
from btpy.lang.check.binding import bind
from btpy.lang.check.checker import check_source
from btpy.lang.program import Probe, Program
from btpy.lang.typed_tree import Collect, Emit, MapAdd, MapStore
from btpy.model.permissions import Permissions
from btpy.model.points import Point
from btpy.model.secrets import REDACTED, Secrets
from btpy.model.source import Source
from tests.lang.trees import shape

ALLOWED = frozenset(("sensitive", "call:com.acme.Login.getToken"))


def redacted(text: str, *, redact: bool = True) -> bool:
    """Whether the first value that the last probe prints or stores is hidden."""
    return _is_hidden(text, Permissions(ALLOWED, redact))


def redacted_with(text: str, secrets: Secrets) -> bool:
    """As :func:`redacted`, with secrets that a user added."""
    allowed = frozenset((*ALLOWED, "call:com.acme.Login.getTaxId"))
    return _is_hidden(text, Permissions(allowed, secrets=secrets))


def _is_hidden(text: str, permissions: Permissions) -> bool:
    checked_program = check_source(Source("probe.bt", text), permissions=permissions)
    (value, *_) = _shown(checked_program, checked_program.probes[-1])
    return isinstance(value, typed_tree.Constant) and value.value == REDACTED


def _shown(program: Program, host: Probe) -> Iterator[typed_tree.Expr]:
    bound_probe = bind(program, host, shape(Point.ENTRY, "Ljava/lang/String; Ljava/lang/Object;", "V", "password x"))
    pending: list[object] = [bound_probe.body]
    while pending:
        match pending.pop(0):
            case Emit(values=values) if values:
                yield from values
            case MapStore(value=value) | MapAdd(value=value) | Collect(value=value):
                yield value
            case typed_tree.Subscriber(body=body):
                pending += body
            case typed_tree.ForEach(body=body) | typed_tree.Evaluate(value=typed_tree.Inlined(statements=body)):
                pending += body
            case tuple() as several:
                pending += several
            case _:
                pass


def probe(body: str, before: str = "") -> str:
    return f"{before}A::b @entry {{ {body} }}"


HIDDEN = [
    "print($password)",
    "let x = $password; print(x)",
    "let x = $password; let y = x; print(y)",
    "let x = $x.token; print(x)",
    'let x = $x["apiKey"]; print(x)',
    "print($password ?? 1)",
    "print(len($x) > 3 ? $password : null)",
    'print("p" + $password)',
    "print(substr($password, 0, 3))",
    "print(upper(trim($password)))",
    "print($password as java.lang.String)",
    "print($x.passwords[0])",
    "print(first(e in $x.passwords: len(e) > 3))",
    "print(($x as com.acme.Login).getToken())",
    "for e in $x.passwords { print(e) }",
    "thread.t = $password; print(thread.t)",
    "@m[1] = $password",
    "@m[1] += $password",
    "@m = last($password)",
    "@m = topk($password, 3)",
]
SHOWN = [
    "print($x)",
    "print(len($password))",
    "print(hash($password))",
    'print(indexof($password, "a"))',
    "print(typeof($password))",
    'print($password == "x")',
    "let x = len($password); print(x)",
    "print($x.name)",
    "@m = distinct($password)",
]


FUNCTIONS = [
    ("fn f(object o): string = o.password as java.lang.String;\n", "print(f($x))"),
    ("fn f(object o): object { let p = o.password; return p }\n", "print(f($x))"),
    ("fn f(string s): string = upper(s);\n", "print(f($password))"),
    ("fn f(string s) { print(s) }\n", "f($password)"),
    ("A::b @entry as other { thread.t = $password }\n", "print(thread.t)"),
]


RETURNED = ["print(retval)", "let x = retval; print(x)", "@m[retval] = count()", "@m = last(retval)"]


@pytest.mark.parametrize("body", RETURNED)
def test_the_result_of_a_method_with_the_name_of_a_secret(body: str) -> None:
    checked_program = check_source(Source("probe.bt", f"A::b @return {{ {body} }}"))
    for secret in (True, False):
        return_shape = replace(shape(Point.RETURN, "", "Ljava/lang/String;"), secret_result=secret)
        body_text = repr(bind(checked_program, checked_program.probes[0], return_shape).body)
        assert (REDACTED in body_text) == secret


@pytest.mark.parametrize(
    "body", ["print(arg0)", "print(args)", "print(args[0])", "@m[arg0] = count()", 'print(f"{arg0}")']
)
def test_parameters_by_number(body: str) -> None:
    checked_program = check_source(Source("probe.bt", f"A::b @entry {{ {body} }}"))
    assert REDACTED in repr(
        bind(checked_program, checked_program.probes[0], shape(Point.ENTRY, "Ljava/lang/String;", "V", "token")).body
    )


def test_a_parameter_that_the_head_of_the_probe_names() -> None:
    text = '@OnMethod(class="A", method="b") probe login(string password) { print(args); print(password); }'
    checked_program = check_source(Source("probe.bt", text))
    body = bind(checked_program, checked_program.probes[0], shape(Point.ENTRY, "Ljava/lang/String;", "V", "-")).body
    assert repr(body).count(REDACTED) == 2


@pytest.mark.parametrize("body", HIDDEN)
def test_hidden(body: str) -> None:
    assert redacted(probe(body))
    assert not redacted(probe(body), redact=False)


@pytest.mark.parametrize("body", SHOWN)
def test_shown(body: str) -> None:
    assert not redacted(probe(body))


@pytest.mark.parametrize(("before", "body"), FUNCTIONS)
def test_hidden_through_others(before: str, body: str) -> None:
    assert redacted(probe(body, before))
    assert not redacted(probe(body, before), redact=False)


def test_a_function_that_tells_about_a_secret() -> None:
    assert not redacted(probe("print(f($password))", "fn f(string s): long = len(s) ?? 0;\n"))


def test_values_that_a_subscriber_gets(tmp_path: Path) -> None:
    (tmp_path / "logins.bt").write_text("A::b @entry as login { provide(given=$password) }", encoding="utf-8")
    main = tmp_path / "main.bt"
    main.write_text('import "logins.bt" as logins;\n@OnProbe(logins.login) { print(event.given) }', encoding="utf-8")
    checked_program = check_source(Source("main.bt", main.read_text(encoding="utf-8"), path=main))
    (value, *_) = _shown(checked_program, checked_program.probes[0])
    assert isinstance(value, typed_tree.Constant)
    assert value.value == REDACTED
