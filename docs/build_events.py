"""Writes docs/events.md from its template, the schema and a recorded run: ``python docs/build_events.py``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
EXAMPLES = DOCS.parent / "tests" / "golden" / "recording" / "every_kind.ndjson"


def page(schema: dict[str, Any], lines: list[str]) -> str:
    """The text of docs/events.md."""
    kinds = [kind["$ref"].rpartition("/")[2] for kind in schema["oneOf"]]
    examples: dict[str, str] = {}
    for line in lines:
        examples.setdefault(json.loads(line)["type"], line)
    parts = [(DOCS / "events.template.md").read_text(encoding="utf-8")]
    for kind in kinds:
        record = schema["$defs"][kind]
        example = examples.get(kind) or json.dumps(record["examples"][0], separators=(",", ":"))
        parts.append(f"## {kind}\n\n{record['description']}\n\n{_members(record)}\n\n```json\n{_cut(example)}\n```\n")
    definitions = {}
    for kind, record in schema["$defs"].items():
        if kind not in kinds and "properties" in record:
            definitions[kind] = record
    parts += [f"## In several records: {kind}\n\n{_members(record)}\n" for kind, record in definitions.items()]
    return "\n".join(parts)


def _members(record: dict[str, Any]) -> str:
    rows = ["| member | | |", "|---|---|---|"]
    for name, member in record["properties"].items():
        if name not in ("v", "host", "pid", "type"):
            always = "" if name in record["required"] else "where it applies"
            rows.append(
                f"| `{name}` | {_type(member)} | {'; '.join(filter(None, (member.get('description', ''), always)))} |"
            )
    for pattern in record.get("patternProperties", {}):
        rows.append(
            f"| `{pattern.strip('^$')}` | object | `value`, and where it is known to a range `low` and `high` |"
        )
    return "\n".join(rows)


def _type(member: dict[str, Any]) -> str:
    if "$ref" in member:
        return str(member["$ref"].rpartition("/")[2])
    if "enum" in member:
        return ", ".join(f"`{value}`" for value in member["enum"])
    if "items" in member:
        return f"array of {_type(member['items'])}"
    if "additionalProperties" in member and isinstance(member["additionalProperties"], dict):
        inner = member["additionalProperties"]
        inner = inner.get("anyOf", [inner])[0]
        return f"object of {_type(inner)}"
    if "properties" in member:
        return "object: " + ", ".join(f"`{name}`" for name in member["properties"])
    kind = member.get("type", "any")
    return kind if isinstance(kind, str) else " or ".join(kind)


def _cut(line: str, most: int = 400) -> str:
    return line if len(line) <= most else line[:most] + " …"


def main() -> None:
    schema = json.loads((DOCS / "events.schema.json").read_text(encoding="utf-8"))
    lines = EXAMPLES.read_text(encoding="utf-8").splitlines()
    (DOCS / "events.md").write_text(page(schema, lines), encoding="utf-8")


if __name__ == "__main__":
    main()
