"""The commands of the README that go into other tools run as they stand, in their order, against the shop."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.shop.build_shop import MAIN
from tests.examples.shop import shop_jar
from tests.targets import PATIENCE, Target, target

README = (Path(__file__).parents[2] / "README.md").read_text()
COMMANDS = [
    shlex.split(line, comments=True) for line in re.findall(r"^btpy (?:shop |replay run\.).*$", README, re.MULTILINE)
]
SLOW = """
com.acme.shop.PricingEngine::quote @return as quote { emit("slow", sku=$sku, took=duration); }
"""


@pytest.fixture(scope="module")
def shop() -> Iterator[Target]:
    with target(17, MAIN, "--requests", "1000000", "--rate", "300", classpath=[shop_jar()]) as running:
        yield running


def test_the_commands_run(shop: Target, tmp_path: Path) -> None:
    (tmp_path / "slow.bt").write_text(SLOW)
    assert len(COMMANDS) == 7
    for _, *words in COMMANDS:
        arguments = words[: words.index("|")] if "|" in words else words
        if arguments[0] == "shop":  # others may have one running: the pid is meant
            arguments = [str(shop.pid), *arguments[1:], "--for", "1s"]
        arguments = ["1ms" if word == "10s" else word for word in arguments]  # the recording is as short
        ran = subprocess.run(
            [sys.executable, "-m", "btpy", *arguments],
            capture_output=True,
            text=True,
            timeout=PATIENCE * 2,
            check=False,
            cwd=tmp_path,
        )
        assert ran.returncode == 0, (arguments, ran.stderr)
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {
        *("slow.bt", "slow.csv", "slow.ndjson.gz", "run.btz", "quote.csv", "quote.html", "run.trace.json"),
    }
    assert (tmp_path / "quote.csv").read_text().startswith("ts,probe,tid,thread,sku,took\n")
