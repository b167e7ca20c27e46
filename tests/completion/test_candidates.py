"""Completions of typed words, on the classes of the shop."""

from __future__ import annotations

import sys
from types import FrameType

import pytest

from btpy.completion.candidates import Candidate, candidates
from btpy.completion.classes import expanded
from btpy.completion.suggestions import suggest
from btpy.errors import UsageError
from btpy.lang.builtins import AGGREGATIONS, ANNOTATIONS, FUNCTIONS, LOCATIONS
from btpy.lang.edit.vocabulary import POINTS
from tests.completion.shop import Large, Shop

QUOTE = "com.acme.shop.PricingEngine::quote "


@pytest.fixture(scope="module")
def shop() -> Shop:
    return Shop()


def texts(text: str, shop: Shop) -> list[str]:
    return [candidate.text for candidate in candidates(suggest(text), shop)]


def one(text: str, candidate: str, shop: Shop) -> Candidate:
    return next(suggestion for suggestion in candidates(suggest(text), shop) if suggestion.text == candidate)


def test_packages_segment_by_segment(shop: Shop) -> None:
    assert texts("com.ac", shop)[0] == "com.acme.shop."
    after = texts("com.acme.shop.", shop)
    assert "com.acme.shop.PricingEngine" in after
    assert "com.acme.shop.http." in after
    assert not any("$" in text for text in after)


def test_humps(shop: Shop) -> None:
    assert texts("PrEn", shop) == ["com.acme.shop.PricingEngine"]
    assert "com.acme.shop.PricingEngine" in texts("pricing", shop)
    assert texts("c.a.s.PrEn", shop) == ["com.acme.shop.PricingEngine"]
    assert texts("+PrEn", shop) == ["+com.acme.shop.PricingEngine"]
    candidate = one("PrEn", "com.acme.shop.PricingEngine", shop)
    assert (candidate.shown, candidate.about, candidate.replaces) == ("PricingEngine", "com.acme.shop  app", 4)


def test_methods_with_signatures(shop: Shop) -> None:
    candidate = one("com.acme.shop.PricingEngine::", "quote", shop)
    assert (candidate.shown, candidate.about) == ("quote(String sku, int quantity): Money", "")
    assert texts("com.acme.shop.PricingEngine::", shop) == ["quote", "tariff", "<init>", "*"]
    assert texts("PricingEngine::qu", shop) == ["quote"]
    assert texts('@OnMethod(class="com.acme.shop.Pric*", method="ta', shop) == ["tariff"]


def test_target_variables_of_the_matched_method(shop: Shop) -> None:
    assert texts(QUOTE + "{ $", shop) == ["$sku", "$quantity"]
    assert one(QUOTE + "{ $", "$sku", shop).about == "string  parameter of quote"
    assert {"$product", "$price"} <= set(texts(QUOTE + "@line(20) { $", shop))


def test_fields_by_type(shop: Shop) -> None:
    place = "com.acme.shop.OrderService::place @return "
    assert texts(place + "{ print(retval.", shop) == ["id", "customer", "basket", "total", "status"]
    assert texts(place + "{ print(retval.customer.", shop) == ["name", "tier", "apiToken", "spentCents"]
    assert texts(place + "{ print(retval.customer.na", shop) == ["name"]
    assert texts(QUOTE + "{ print(self.", shop) == ["catalog"]
    assert texts(QUOTE + "{ print((arg0 as com.acme.shop.Product).pr", shop) == ["price"]
    assert "lines" in texts("com.acme.shop.OrderService::place { print($basket.", shop)
    assert texts(QUOTE + "{ print($nothing.", shop) == []


def test_variables_of_a_thread_a_flow_and_an_object(shop: Shop) -> None:
    assert texts(QUOTE + "{ print(flow.", shop) == ["id", "parent", "elapsed", "customer"]
    assert texts(QUOTE + "{ print(flow.cu", shop) == ["customer"]
    assert texts(QUOTE + "when thread.", shop) == ["last"]
    assert texts(QUOTE + "{ print(state(arg0).", shop) == ["queued"]
    assert texts(QUOTE + "{ print(state.", shop) == []


def test_variables_are_those_of_the_place(shop: Shop) -> None:
    assert "duration" in texts(QUOTE + "@return when dur", shop)
    assert "duration" not in texts(QUOTE + "@entry when dur", shop)
    assert "retval" in texts(QUOTE + "@exit { print(ret", shop)
    assert "thread_name" in texts(QUOTE + "{ print(tn", shop)
    assert "used" in texts('@OnLowMemory(pool="x", above=0.9) { print(us', shop)


def test_tables_of_the_language_are_complete(shop: Shop) -> None:
    stripped = [text.rstrip("(").rstrip(")").rstrip("(") for text in texts(QUOTE + "{ @m = ", shop)]
    assert stripped[: len(AGGREGATIONS) + 2][-len(AGGREGATIONS) :] == list(AGGREGATIONS)
    assert {text.rstrip("(") for text in texts("@O", shop)} == {
        f"@{name}" for name in ANNOTATIONS if name.startswith("O")
    }
    assert {text.rstrip("(") for text in texts('@OnMethod(class="A", location=', shop)} == set(LOCATIONS)
    assert {text.rstrip("(") for text in texts(QUOTE + "@", shop)} == {f"@{name}" for name in POINTS}
    names = set()
    for name in FUNCTIONS:
        for head in (QUOTE + "{ ", QUOTE + "@exit { ", "@OnTimer(1s) { "):
            names |= {text.rstrip("(") for text in texts(head + name, shop)}
    assert set(FUNCTIONS) - names == set()


def test_functions_show_their_parameters(shop: Shop) -> None:
    candidate = one(QUOTE + "{ print(substr", "substr(", shop)
    assert candidate.shown == "substr(text, start, end)"
    assert "top=" in texts(QUOTE + "{ print(@lat, t", shop)
    assert "k=" in texts(QUOTE + "{ @m = hist(duration, ", shop)


def test_words_of_the_session(shop: Shop) -> None:
    assert texts("@l", shop) == ["@lat"]
    assert texts("@hits / @", shop) == ["@hits", "@lat"]
    assert "btpy.exceptions" in texts("use btpy.ex", shop)
    assert texts(":enable ", shop) == ["1", "quote", "*"]
    assert texts(":print @h", shop) == ["@hits"]
    assert texts(":send ", shop) == ["reset"]
    assert texts(":ls PricingEngine::q", shop) == ["quote"]
    assert texts(":ls PrEn", shop) == ["com.acme.shop.PricingEngine"]
    assert "slow" in texts(QUOTE + "when duration > sl", shop)
    assert "BT301" in texts(":explain BT30", shop)
    assert "hist" in texts(":help hi", shop)
    assert texts(":prob", shop) == ["probes"]
    assert texts(":nothing ", shop) == []


def test_the_long_form_of_an_abbreviation(shop: Shop) -> None:
    def short_for(pattern: str) -> str | None:
        return expanded(pattern, shop.classes)

    engine = "com.acme.shop.PricingEngine"
    assert [short_for(text) for text in ("PrEn", "c.a.s.PrEn", "+PrEn")] == [engine, engine, f"+{engine}"]
    assert short_for("PrEn::quote @return") == f"{engine}::quote @return"
    assert short_for("Inv") == "com.acme.shop.Inventory"  # InventoryLock has a second capital letter
    assert short_for("HaMa") == "java.util.HashMap"
    assert [short_for(text) for text in ("XxYy", "pren", "Pr*En", "/PrEn/", "@PrEn", "")] == [None] * 6
    with pytest.raises(UsageError, match="Cat is short for 2 classes") as error:
        short_for("Cat::find")
    assert error.value.help == ("com.acme.shop.Catalog::find", "com.acme.shop.Category::find")


@pytest.mark.parametrize(
    "word", ["", "c", "com.", "PrEn", "P", "pricing", "c.a.s.PrEn", "Nothing.At.All", "HttpServer"]
)
def test_few_of_many_classes_are_looked_at(word: str) -> None:
    """btpy looks only at the classes with the word's first letter, or below its first package. The test counts calls: a
    search of all classes would make one for each class. Ten thousand calls take about a millisecond.
    """
    known_classes = Large(classes := 30_000)
    suggestions = suggest(word)
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        candidates(suggestions, known_classes)
    finally:
        sys.setprofile(None)
    assert calls < classes
