"""The names allowed in ``--secret`` and the user's file, and the values that a script then hides."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from btpy.errors import UsageError
from btpy.lang.check.checker import check_source
from btpy.model.permissions import DEFAULT_PERMISSIONS
from btpy.model.secrets import MOST_NAMES, MOST_TEXTS, NO_SECRETS, Secrets
from btpy.model.secrets_file import configured
from btpy.model.source import Source
from tests.lang.test_redaction import redacted_with


@pytest.mark.parametrize(
    ("secret", "names", "others"),
    [
        (
            "customerNumber",
            ["customerNumber", "CUSTOMER_NUMBER", "customer-number", "a.b.customerNumber"],
            ["customer"],
        ),
        ("*number", ["number", "taxNumber", "TAX_NUMBER"], ["numbers", "numberOf"]),
        ("tax*", ["tax", "taxId"], ["syntax"]),
        ("*tax*id*", ["taxId", "myTaxIdNow", "a_tax_b_id_c"], ["idTax"]),
        ("x*x", ["xx", "x1x", "xxx"], ["x", "xy"]),
        ("größe", ["größe", "gr_öße"], ["grosse"]),
        ("a.b", ["a.b", "ab", "x.ab"], ["b", "x.b"]),
    ],
)
def test_names(secret: str, names: list[str], others: list[str]) -> None:
    secrets = Secrets.of([secret])
    assert [name for name in (*names, *others) if secrets.names_secret(name)] == names
    assert secrets.names_secret("password")  # the names that btpy knows are still hidden
    assert secrets.gives_secret(f"get{names[0]}")


def test_a_long_name_is_compared_soon() -> None:
    secrets = Secrets.of(["*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b"])
    assert not secrets.names_secret("a" * 64)
    assert not secrets.names_secret("a" * 10_000 + "b")


def test_values_are_collected() -> None:
    secrets = Secrets.of(["a, b_C", "/x,y/", "a", "/x,y/", "d"])
    assert secrets == Secrets(("a", "bc", "d"), ("x,y",))
    assert secrets.with_(Secrets.of(["d", "e"])) == Secrets(("a", "bc", "d", "e"), ("x,y",))


@pytest.mark.parametrize(
    ("value", "message", "help_"),
    [
        ("", "--secret '' has an empty name", "customerNumber"),
        ("a,,b", "has an empty name", "customerNumber"),
        ("a b", "is neither a name nor a regular expression", "slashes|/AC-"),
        ("a?", "is neither a name nor a regular expression", "a star"),
        ("a,/b+/", "is neither a name nor a regular expression", "must stand alone"),
        ("*", "matches every name", "a letter or a digit"),
        ("_-.", "matches every name", "a letter or a digit"),
        ("a" * 65, "is too long", "64 characters"),
        ("/abc", "is not a regular expression", "between slashes"),
        ("//", "is not a regular expression", "between slashes"),
        ("/" + "a" * 201 + "/", "is too long", "200 characters"),
        ("/^abc/", r"\^ and \$ are not possible", "leave them out"),
        ("/(?i)^abc/", r"\^ and \$ are not possible", "leave them out"),
        (r"/abc\\$/", r"\^ and \$ are not possible", "leave them out"),
        ("/a*/", "also matches an empty text", "at least one"),
        ("/a|/", "also matches an empty text", "at least one"),
        ("/[a/", "never closed, at character 1", r"a bracket itself"),
        (r"/(a)\1/", "is not possible here, at character 4", "possible: "),
        ("/a(?=b)/", "look-around", r"\(\?i\)"),
        ("/(a{99}){99}/", "repeats too much", r"use \* or \+"),
        ("/(a|b)*a(a|b){12}/", "too large", "split it"),
    ],
)
def test_invalid_secrets(value: str, message: str, help_: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        Secrets.of([value])
    assert str(caught.value).startswith("--secret ")
    assert any(re.search(help_, line) for line in caught.value.help)


def test_a_dollar_of_the_text_is_possible() -> None:
    assert Secrets.of([r"/US\$/"]).texts == (r"US\$",)


@pytest.mark.parametrize(("most", "form"), [(MOST_NAMES, "name{}"), (MOST_TEXTS, "/text{}/")])
def test_there_are_not_too_many(most: int, form: str) -> None:
    values = [form.format(number) for number in range(most + 1)]
    assert Secrets.of(values[:-1]) != NO_SECRETS
    with pytest.raises(UsageError, match=f"{most + 1} .* are added, and at most {most} are possible"):
        Secrets.of(values)


@pytest.mark.parametrize(
    ("body", "secret"),
    [
        ("print($x)", "x"),
        ("let y = $x.taxId; print(y)", "tax*"),
        ('let y = $x["Tax-Id"]; print(y)', "taxId"),
        ("print($x.getTaxId())", "taxId"),
        ("print(arg1)", "x"),
        ("print(args[1])", "x"),
        ("print(substr($x.taxId, 0, 3))", "taxId"),
        ("@m = last($x.taxId)", "taxId"),
    ],
)
def test_a_script_hides_added_secrets(body: str, secret: str) -> None:
    script = f"A::b @entry {{ {body} }}"
    assert not redacted_with(script, NO_SECRETS)
    assert redacted_with(script, Secrets.of([secret]))


def test_a_script_is_checked_with_added_secrets() -> None:
    permissions = replace(DEFAULT_PERMISSIONS, secrets=Secrets.of(["a"]))
    assert check_source(Source("a.bt", "A::b { print(1) }"), permissions=permissions).permissions == permissions


def written(directory: Path, content: bytes) -> dict[str, str]:
    path = directory / "btpy" / "redact"
    path.parent.mkdir()
    path.write_bytes(content)
    return {"XDG_CONFIG_HOME": str(directory)}


def test_the_file_of_the_user(tmp_path: Path) -> None:
    environment = written(tmp_path, b"# ours\n\ncustomerNumber, *_id\n/AC-#[0-9]{6}/\n")
    assert configured(environment) == Secrets(("customernumber", "*id"), ("AC-#[0-9]{6}",))


def test_without_the_file_nothing_is_added(tmp_path: Path) -> None:
    assert configured({"XDG_CONFIG_HOME": str(tmp_path)}) == NO_SECRETS


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\n\n/[/\n", r"redact:3: /\[/: this `\[` is never closed"),
        (b"a\xff\n", "is not UTF-8"),
        (b"a\n" * 40_000, "is too long"),
    ],
)
def test_a_file_that_is_wrong_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        configured(written(tmp_path, content))


def test_a_file_that_others_could_have_written_is_refused(tmp_path: Path) -> None:
    environment = written(tmp_path, b"a\n")
    (tmp_path / "btpy" / "redact").chmod(0o666)
    with pytest.raises(UsageError, match="can be written by anybody"):
        configured(environment)


def test_a_file_that_cannot_be_read_is_no_missing_file(tmp_path: Path) -> None:
    (tmp_path / "btpy" / "redact").mkdir(parents=True)
    with pytest.raises(UsageError, match=r"cannot read .*redact: is a directory"):
        configured({"XDG_CONFIG_HOME": str(tmp_path)})
