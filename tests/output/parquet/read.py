"""Reads data sets of Parquet files, by each of the readers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow
from pyarrow import dataset

from btpy.output.parquet.schemas import PARTITIONS

Row = dict[str, Any]


def by_pyarrow(directory: Path, data_set: str) -> list[Row]:
    fields = pyarrow.schema([(name, pyarrow.string()) for name in PARTITIONS])
    partitioning = dataset.partitioning(fields, flavor="hive")
    rows: list[Row] = dataset.dataset(directory / data_set, partitioning=partitioning).to_table().to_pylist()
    return rows


def by_duckdb(directory: Path, data_set: str) -> list[Row]:
    with duckdb.connect() as connection:
        rows = connection.sql(
            f"from read_parquet('{directory}/{data_set}/**/*.parquet', hive_partitioning=true, "
            "hive_types_autocast=false)"
        )
        return [dict(zip(rows.columns, row, strict=True)) for row in rows.fetchall()]


def part_files(directory: Path, pattern: str = "*.parquet") -> list[Path]:
    return sorted(path for path in directory.rglob(pattern) if path.is_file())
