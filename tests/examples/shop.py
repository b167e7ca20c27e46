"""The shop as a target: its jar, built once for each state of its sources, and its own counts."""

from __future__ import annotations

import hashlib
from pathlib import Path

from examples.shop.build_shop import HERE, build
from tests.jdks import cache, locked


def shop_jar() -> Path:
    """The jar of the present sources."""
    key = hashlib.sha256()
    for source in sorted(HERE.glob("src/**/*.java")):
        key.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    jar = cache() / "shop" / f"shop-{key.hexdigest()[:16]}.jar"
    if not jar.exists():
        with locked("shop"):
            if not jar.exists():
                build(jar)
    return jar


def counts(line: str) -> dict[str, int]:
    """The line ``counts a=1 b=2`` as a dictionary. Events that never happened are absent."""
    word, *pairs = line.split()
    assert word == "counts", line
    return {name: int(count) for name, count in (pair.rsplit("=", 1) for pair in pairs)}
