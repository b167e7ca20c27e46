"""Names for the keys of maps, for outputs that show them, and the maps that a print empties."""

from __future__ import annotations

import pytest

from btpy.lang.check.checker import check_source
from btpy.model.source import Source


def names(body: str, declaration: str = "") -> tuple[str, ...]:
    program = check_source(Source("test.bt", f"{declaration} com.acme.A::m @entry {{ {body} }}"))
    return program.maps[0].key_names


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("$sku", ("sku",)),
        ("$order.status", ("status",)),
        ("method, line", ("method", "line")),
        ("arg0, arg0", ("arg0", "arg02")),
        ("arg0 % 3, 'x'", ("key1", "key2")),
        ("stack(5)", ("stack",)),
        ("len($name)", ("name",)),
        ("arg0[1]", ("arg0",)),
    ],
)
def test_a_key_is_named_after_its_expression(keys: str, expected: tuple[str, ...]) -> None:
    assert names(f"@n[{keys}] = count()".replace("'", '"')) == expected


def test_a_local_gives_its_name_and_no_key_no_name() -> None:
    assert names("let customer = $name; @n[customer] = count()") == ("customer",)
    assert names("@n = count()") == ()


@pytest.mark.parametrize(
    ("declaration", "keys", "expected"),
    [
        ("map @n[string endpoint, int status];", "method, arg0", ("endpoint", "status")),
        ("map @n[string endpoint, int status] = lru(7);", "method, arg0", ("endpoint", "status")),
        ('map @n[string "http.route", int status];', "method, arg0", ("http.route", "status")),
        ("map @n[string, int status];", "method, arg0", ("method", "status")),
        ("map @n[string, int method];", "method, arg0", ("method1", "method")),
        ("map @n[java.lang.String[]? all, int];", "$parts, arg0", ("all", "arg0")),
    ],
)
def test_a_declaration_names_keys(declaration: str, keys: str, expected: tuple[str, ...]) -> None:
    assert names(f"@n[{keys}] = count()", declaration) == expected


def test_a_declaration_without_storage_keeps_the_capacity_of_the_script() -> None:
    text = "config { max_map_keys = 17; } map @n[string word]; com.acme.A::m @entry { @n[method] = count() }"
    (map_,) = check_source(Source("test.bt", text)).maps
    assert (map_.capacity, map_.evicts) == (17, False)


def test_a_template_knows_which_maps_its_print_empties() -> None:
    text = """com.acme.A::m @entry { @a[arg0] = count(); @b[arg0] = count(); }
    @OnTimer(1s) { print(@a); print(flush(@a)); plot(flush(@b)); table(@a, flush(@b)); }"""
    program = check_source(Source("test.bt", text))
    assert [template.flushed for template in program.templates] == [(), (0,), (1,), (1,)]
