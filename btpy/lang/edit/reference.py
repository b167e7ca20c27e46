"""The description of each word of the language, from the checker's tables, with an example: for ``help`` and
docs/language.md."""

from __future__ import annotations

import tomllib
from functools import cache
from pkgutil import get_data
from typing import NamedTuple

from btpy.lang import builtins


class Entry(NamedTuple):
    name: str
    synopsis: str
    doc: str


@cache
def examples() -> dict[str, dict[str, str]]:
    """A script for each word, by table (``examples.toml``)."""
    data = get_data("btpy.lang.edit", "examples.toml")
    if data is None:
        raise FileNotFoundError("btpy/lang/edit/examples.toml is missing from this installation")
    return {
        table: {word: text.strip() for word, text in rows.items()}
        for table, rows in tomllib.loads(data.decode()).items()
    }


def entries() -> dict[str, list[Entry]]:
    """The words, by table."""
    return {
        "annotations": [
            Entry(rule.name, _form(f"@{rule.name}", rule.arguments), rule.doc) for rule in builtins.ANNOTATIONS.values()
        ],
        "locations": [
            Entry(location.name, _form(location.name, location.arguments), _where(location))
            for location in builtins.LOCATIONS.values()
        ],
        "variables": [
            Entry(
                variable.name,
                variable.name,
                f"{variable.type}: {variable.doc}" + (f" ({variable.known_at})" if variable.known_at else ""),
            )
            for variable in builtins.VARIABLES.values()
        ],
        "functions": [
            Entry(function.name, function.synopsis, function.doc) for function in builtins.FUNCTIONS.values()
        ],
        "aggregations": [
            Entry(aggregation.name, aggregation.synopsis, aggregation.doc)
            for aggregation in builtins.AGGREGATIONS.values()
        ],
        "keywords": [
            Entry(word.name, word.synopsis, word.doc)
            for word in (*builtins.KEYWORDS.values(), *builtins.QUANTIFIERS.values())
        ],
        "settings": [
            Entry(setting.name, f"{setting.name} = {setting.type}", setting.doc)
            for setting in builtins.SETTINGS.values()
        ],
    }


def _form(word: str, arguments: tuple[str, ...]) -> str:
    return f"{word}({', '.join(arguments)})" if arguments else word


def example(table: str, word: str) -> str:
    """Raises LookupError with the place where an example is missing."""
    script = examples().get(table, {}).get(word)
    if script is None:
        raise LookupError(f"btpy/lang/edit/examples.toml has no example of {word} in [{table}]")
    return script


def page(name: str) -> str:
    """The description of a word, with an example. Empty if the language has no such word."""
    pages = [
        f"{entry.synopsis}\n    {entry.doc}\n\n"
        + "".join(f"    {line}\n" for line in example(table, entry.name).split("\n"))
        for table, rows in entries().items()
        for entry in rows
        if entry.name == name.lstrip("@")
    ]
    return "\n".join(pages)


def _where(location: builtins.Location) -> str:
    return location.doc + (f"; with `when=AFTER`: {location.after.doc}" if location.after is not None else "")
