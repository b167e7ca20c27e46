"""Texts of ``btpy help`` about topics that are not words of the probe language (``topics.toml``), and the
SQL for DuckDB and for Spark, which are files of their own."""

from __future__ import annotations

import tomllib
from functools import cache
from pkgutil import get_data


@cache
def topics() -> dict[str, str]:
    """The texts by name; each ends with a newline."""
    data = get_data("btpy", "topics.toml")
    assert data is not None
    texts = {name: text.lstrip("\n") for name, text in tomllib.loads(data.decode("utf-8")).items()}
    return {**texts, **{name: _sql(name) for name in ("duckdb", "spark")}}


def _sql(name: str) -> str:
    data = get_data("btpy", f"output/parquet/{name}.sql")
    assert data is not None
    return data.decode("utf-8")
