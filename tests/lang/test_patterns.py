"""Mistakes in patterns: for names that no class or method can have, the message shows the right form."""

from __future__ import annotations

import pytest

from btpy.errors import ScriptError
from btpy.lang.check.checker import check_source
from btpy.model.diagnostics import Diagnostic
from btpy.model.source import Source


def diagnosed(arguments: str) -> list[Diagnostic]:
    try:
        return list(check_source(Source("test.bt", f"@OnMethod({arguments}) {{ @n = count() }}")).warnings)
    except ScriptError as error:
        return list(error.diagnostics)


@pytest.mark.parametrize(
    ("pattern", "instead"),
    [
        ("com/acme/Foo", '"com.acme.Foo"'),
        ("+com/acme/Foo", '"+com.acme.Foo"'),
        ("Lcom/acme/Foo;", '"com.acme.Foo"'),
        ("com/acme/Foo.class", '"com.acme.Foo"'),
        ("Foo.java", '"Foo"'),
        ("java.util.List<String>", '"java.util.List"'),
        ("com.acme.Foo[]", '"com.acme.Foo"'),
        ("com.acme.Foo()", '"com.acme.Foo"'),
        ("com.acme..*", '"com.acme.**"'),
        ("com.acme.", '"com.acme.**"'),
        ("com..acme.Foo", '"com.acme.Foo"'),
        ("com.acme.{A,B}", '["com.acme.A", "com.acme.B"]'),
        ("com.acme.A, com.acme.B", '["com.acme.A", "com.acme.B"]'),
        ("!com.acme.Foo", 'class="…", exclude="com.acme.Foo"'),
        ("a.B::c", 'class="a.B", method="c"'),
        ("#{owner}", 'f"{owner}"'),
        ("com.acme.${owner}", 'f"com.acme.{owner}"'),
    ],
)
def test_classes(pattern: str, instead: str) -> None:
    (diagnostic,) = diagnosed(f'class="{pattern}"')
    assert (diagnostic.code, diagnostic.help) == ("BT313", (f"write {instead}",))
    assert [fix.text for fix in diagnostic.fixes] == ([instead] if instead.startswith(('"', 'f"')) else [])


@pytest.mark.parametrize(
    ("pattern", "instead"),
    [
        ("place()", '"place"'),
        ("place(String, int)", 'method="place", type="* (String, int)"'),
        ("com.acme.Foo.place", '"place"'),
        ("Foo::place", 'class="Foo", method="place"'),
        ("place;", '"place"'),
        ("place, cancel", '["place", "cancel"]'),
        ("new", '"<init>"'),
        ("<INIT>", '"<init>"'),
        ("#{name}", 'f"{name}"'),
    ],
)
def test_methods(pattern: str, instead: str) -> None:
    (diagnostic,) = diagnosed(f'class="a.B", method="{pattern}"')
    assert (diagnostic.code, diagnostic.help) == ("BT313", (f"write {instead}",))


@pytest.mark.parametrize(
    ("signature", "instead"),
    [
        ("(String)", "* (String)"),
        ("void (int count)", "void (int)"),
        ("public static void (int)", "void (int)"),
        ("String name(int)", "String (int)"),
        ("void (Map<K, List<V>> m, String... rest)", "void (Map, String[])"),
    ],
)
def test_signatures(signature: str, instead: str) -> None:
    (diagnostic,) = diagnosed(f'class="a.B", type="{signature}"')
    assert (diagnostic.code, diagnostic.help) == ("BT313", (f'write "{instead}"',))


@pytest.mark.parametrize(
    "arguments",
    [
        'class="com.acme.**", method="*"',
        'class="com.acme.Foo$1", method="lambda$run$0"',
        'class="com.acme.Foo$$Lambda$14/0x0000000800c03000", method="run"',
        'class="@org.springframework.*Controller", method="@Get*"',
        'class="com.acme.Scala$colon$colon", method="$plus$eq"',
        'class="a.B", method="value-impl"',
        'class="a.B", method="<clinit>"',
        'class="a.B", type="!void (..)"',
        'class="a.B", type="java.lang.String (int[], *, String[][], ..)"',
    ],
)
def test_patterns_that_can_match(arguments: str) -> None:
    assert diagnosed(arguments) == []
