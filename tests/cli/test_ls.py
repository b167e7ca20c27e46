"""``btpy ls`` and ``-l``: the matches of a pattern or a script in a running program. They change nothing in the
program.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from examples.shop.build_shop import MAIN
from tests.cli.test_command import btpy
from tests.conftest import Golden
from tests.examples.shop import shop_jar
from tests.targets import Target, target

REDEFINED = "[redefine"


@pytest.fixture(scope="module")
def shop() -> Iterator[Target]:
    flags = ["-Xlog:redefine+class*=debug"]
    with target(17, MAIN, "--rate", "20", classpath=[shop_jar()], flags=flags) as program:
        yield program


def plain(text: str, shop: Target) -> str:
    text = text.replace(str(shop.pid), "PID").replace(str(shop_jar()), "/shop.jar").replace(shop_jar().name, "shop.jar")
    text = re.sub(r"now loaded: .*\)", "now loaded: …)", text)
    text = re.sub(r"and \d+ (more|hidden)", r"and N \1", text)
    return re.sub(r"of \d+ \d+ loaded", "of N loaded", text)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("class", ["Catalog"]),
        ("locals", ["com.acme.shop.Catalog::<init>", "--lines", "--locals"]),
        ("verbose", ["com.acme.shop.Cat*::find", "-v"]),
        ("places", ["com.acme.**::* @call(com.acme.shop.Money::of*)"]),
        ("subtypes", ["+com.acme.shop.http.Endpoint::handle"]),
        ("interface", ["java.lang.Comparable"]),
        ("bounded", ["com.acme.shop.Order*::*", "--max", "2"]),
    ],
)
def test_listing(name: str, arguments: list[str], shop: Target, golden: Golden) -> None:
    result = btpy("ls", shop.pid, *arguments)
    golden.check(f"cli/ls/{name}.txt", plain(f"exit {result.returncode}\n{result.stdout}---\n{result.stderr}", shop))


def test_nothing_is_redefined(shop: Target) -> None:
    assert btpy("ls", shop.pid, "com.acme.**").returncode == 0
    assert not any(REDEFINED in line for line in shop.stdout)
    result = btpy(shop.pid, "-e", "com.acme.shop.PricingEngine::quote @entry { print(1) }", "--hits", "1")
    assert result.returncode == 0
    shop.wait_for(lambda line: REDEFINED in line)  # shows that the check above would notice a woven class


def test_a_class_a_line_in_json(shop: Target) -> None:
    result = btpy("ls", shop.pid, "com.acme.shop.Order*", "--json", "--max", "1")
    first, rest = map(json.loads, result.stdout.splitlines())
    assert (first["class"], first["kind"], first["loader"], first["skipped"]) == (
        "com.acme.shop.Order",
        "class",
        "app",
        None,
    )
    place = next(method for method in first["methods"] if method["name"] == "<init>")
    assert place["lines"] == sorted(place["lines"])
    assert all(method["skipped"] is None and method["returns"] for method in first["methods"])
    assert rest == {"type": "more", "probe": rest["probe"], "classes": rest["classes"], "made_at_run_time": 0}
    assert rest["classes"] >= 3


def test_a_script_is_listed_probe_by_probe(shop: Target) -> None:
    text = (
        "PricingEngine::quote @entry as quote { print(1) } +java.lang.Throwable::<init> @entry as thrown { print(2) }"
    )
    result = btpy(shop.pid, "-e", text, "-l")
    assert result.returncode == 0
    assert result.stdout.startswith("quote:\ncom.acme.shop.PricingEngine  class")
    assert "\nthrown:\n" in result.stdout
    assert "java.lang.NullPointerException  class" in result.stdout
    verbose = btpy(shop.pid, "-e", text, "-lv")
    assert "      java.lang.String sku  16-25\n" in verbose.stdout
    assert len(verbose.stdout) > len(result.stdout)


def test_an_abbreviation_that_can_mean_one_class_only(shop: Target) -> None:
    result = btpy("ls", shop.pid, "PrEn::quote")
    assert (result.returncode, result.stdout.split()[0]) == (0, "com.acme.shop.PricingEngine")
    assert "PrEn::quote is short for com.acme.shop.PricingEngine::quote" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "messages"),
    [
        (["PricingEngone"], 4, ["error[BT301]", "nearest:  com.acme.shop.PricingEngine"]),
        (["PricingEngine::quot"], 4, ["error[BT303]", "did you mean `quote`?"]),
        (["PricingEngine#quote"], 2, ["error: 'PricingEngine#quote' is not a pattern", "PricingEngine::quote"]),
        (["InCat"], 4, ["error[BT301]"]),
        (["Cat::find"], 2, ["Cat is short for 2 classes", "com.acme.shop.Category::find"]),
        (["/com.acme(/"], 2, ["error[BT313]: this regular expression cannot be read"]),
        ([], 2, ["error: list what?", "btpy ls OrderApp PricingEngine"]),
        (["Foo", "-e", "x"], 2, ["error: a program is given twice"]),
        (["missing.bt"], 2, ["error: cannot read missing.bt"]),
    ],
)
def test_mistakes(arguments: list[str], status: int, messages: list[str], shop: Target) -> None:
    result = btpy("ls", shop.pid, *arguments)
    assert result.returncode == status, result.stderr
    for message in messages:
        assert message in result.stderr
