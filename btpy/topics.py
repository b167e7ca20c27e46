"""Texts of ``btpy help`` about topics that are not words of the probe language (``topics.toml``), and the
macros for DuckDB, which are a file of their own."""

from __future__ import annotations

import tomllib
from functools import cache
from pkgutil import get_data


@cache
def topics() -> dict[str, str]:
    """The texts by name; each ends with a newline."""
    data = get_data("btpy", "topics.toml")
    assert data is not None
    macros = get_data("btpy", "output/parquet/duckdb.sql")
    assert macros is not None
    texts = {name: text.lstrip("\n") for name, text in tomllib.loads(data.decode("utf-8")).items()}
    return {**texts, "duckdb": macros.decode("utf-8")}
