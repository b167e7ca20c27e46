"""The shop itself: the same requests give the same counts, on each JDK, and its jar is always the same."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from btpy.cli.commands import NAMES
from btpy.cli.demo import _shop
from btpy.jvm import processes
from examples.shop.build_shop import MAIN, build
from tests.examples.shop import counts, shop_jar
from tests.jdks import all_jdks
from tests.targets import target

REQUESTS = 211
ROOT = Path(__file__).parents[2]
NAMED = re.compile(
    r'btpy\.attach\(\\?"(\w+)\\?"|attach_all\(\[\\?"(\w+)\\?"|^\$? *btpy (\w+) (?:-e|\S+\.bt\b)', re.MULTILINE
)
"""The ways in which documents name a target."""


@all_jdks
def test_counts_are_those_of_the_seed(jdk: int) -> None:
    with target(jdk, MAIN, "--requests", str(REQUESTS), "--rate", "0", "--seed", "7", classpath=[shop_jar()]) as shop:
        shop_counts = counts(shop.wait_for("counts "))
        assert shop.wait() == 0
        assert shop.stderr == []
    assert shop_counts["answered"] == shop_counts["request"] == REQUESTS
    expected = {"place": 67, "quote": 214, "countProducts": 37, "promo": 30, "decline": 8, "find": 327, "mail": 42}
    assert {name: shop_counts[name] for name in expected} == expected


def test_every_order_ends_in_one_way() -> None:
    with target(17, MAIN, "--requests", str(REQUESTS), "--rate", "0", classpath=[shop_jar()]) as shop:
        shop_counts = counts(shop.wait_for("counts "))
    assert (
        sum(count for name, count in shop_counts.items() if name.startswith(("place.", "place!")))
        == shop_counts["place"]
    )
    assert shop_counts["place.ok"] == shop_counts["mail"] == shop_counts["file"] == shop_counts["spend"]


def test_the_jar_is_reproducible(tmp_path: Path) -> None:
    assert _digest(build(tmp_path / "a.jar")) == _digest(build(tmp_path / "b.jar"))
    assert sorted(tmp_path.iterdir()) == [tmp_path / "a.jar", tmp_path / "b.jar"]


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("command", ["docs/tutorial.md", "examples/README.md", "demo"])
def test_the_shop_has_the_name_that_the_documents_use(command: str) -> None:
    """Starts the shop by the commands of the documents, and by ``btpy demo``."""
    if command == "demo":
        with _shop() as pid:
            name = processes.describe(pid).short_main
    else:
        (main_class,) = set(re.findall(r"java -cp (\S+) ([\w.]+)", (ROOT / command).read_text()))
        with target(17, main_class[1], "--rate", "1", classpath=[shop_jar()]) as shop:
            name = processes.describe(shop.pid).short_main
    documents = ["README.md", "docs/tutorial.md", "docs/python.md", "docs/terminal.md", "examples/README.md"]
    documents += ["examples/shop.ipynb", "docs/how-to/over-night.md", "docs/how-to/other-tools.md"]
    for document in documents:
        used = {next(filter(None, names)) for names in NAMED.findall((ROOT / document).read_text())}
        assert used - {"PID", *NAMES} == {name}, document
