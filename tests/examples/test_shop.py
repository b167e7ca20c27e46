"""The shop itself: the same requests give the same counts, on each JDK, and its jar is always the same."""

from __future__ import annotations

import hashlib
from pathlib import Path

from examples.shop.build_shop import MAIN, build
from tests.examples.shop import counts, shop_jar
from tests.jdks import all_jdks
from tests.targets import target

REQUESTS = 211


@all_jdks
def test_counts_are_those_of_the_seed(jdk: int) -> None:
    with target(jdk, MAIN, "--requests", str(REQUESTS), "--rate", "0", "--seed", "7", classpath=[shop_jar()]) as shop:
        seen = counts(shop.wait_for("counts "))
        assert shop.wait() == 0
        assert shop.stderr == []
    assert seen["answered"] == seen["request"] == REQUESTS
    expected = {"place": 67, "quote": 214, "countProducts": 37, "promo": 30, "decline": 8, "find": 327, "mail": 42}
    assert {name: seen[name] for name in expected} == expected


def test_every_order_ends_in_one_way() -> None:
    with target(17, MAIN, "--requests", str(REQUESTS), "--rate", "0", classpath=[shop_jar()]) as shop:
        seen = counts(shop.wait_for("counts "))
    assert sum(count for name, count in seen.items() if name.startswith(("place.", "place!"))) == seen["place"]
    assert seen["place.ok"] == seen["mail"] == seen["file"] == seen["spend"]


def test_the_jar_is_reproducible(tmp_path: Path) -> None:
    assert _digest(build(tmp_path / "a.jar")) == _digest(build(tmp_path / "b.jar"))
    assert sorted(tmp_path.iterdir()) == [tmp_path / "a.jar", tmp_path / "b.jar"]


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
