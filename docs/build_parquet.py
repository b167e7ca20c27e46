"""Writes docs/parquet.md from its template and the schemas: ``python docs/build_parquet.py``."""

from __future__ import annotations

from pathlib import Path

from btpy.output.parquet.schemas import DATA_SETS, DataSet

DOCS = Path(__file__).parent


def page() -> str:
    """The text of docs/parquet.md."""
    parts = [(DOCS / "parquet.template.md").read_text(encoding="utf-8").rstrip("\n") + "\n"]
    return "\n".join([*parts, *map(_section, DATA_SETS)])


def _section(data_set: DataSet) -> str:
    rows = [f"| `{column.name}` | {column.type} | {column.about} |" for column in data_set.columns]
    return "\n".join(
        [f"## {data_set.name}\n", f"{data_set.about}\n", "| column | type | |", "|---|---|---|", *rows, ""]
    )


def main() -> None:
    (DOCS / "parquet.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
