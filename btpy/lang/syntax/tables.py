"""The tables of the parser, computed by Lark when the package is built; Lark also refuses a grammar with conflicts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

STARTS = ("start", "item", "expr")
"""The rules that can be parsed by themselves."""


def identity(grammar: bytes) -> str:
    """The grammar from which tables were made."""
    return sha256(grammar).hexdigest()[:16]


def tables(grammar: str, starts: Sequence[str]) -> str:
    """The tables that Lark makes of a grammar, as JSON for :class:`Parser`. The same grammar gives the same text."""
    from lark import Lark
    from lark.grammar import Rule
    from lark.lexer import TerminalDef

    parser = Lark(grammar, parser="lalr", start=list(starts), maybe_placeholders=True)
    data, rules = parser.memo_serialize([Rule, TerminalDef])
    table = data["parser"]["parser"]
    names = table["tokens"]
    actions = {
        number: {names[symbol]: action for symbol, action in row.items()} for number, row in table["states"].items()
    }
    starting = [table["start_states"][start] for start in starts]
    order: dict[int, int] = {}  # the rules in use, by Lark's number
    numbers = _numbered(actions, starting)
    states = [
        {
            symbol: ~order.setdefault(target["@"], len(order)) if reduces else numbers[target]
            for symbol, (reduces, target) in sorted(actions[number].items())
        }
        for number in numbers
    ]
    terminals = sorted(
        parser.terminals,
        key=lambda terminal: (
            -terminal.priority,
            -terminal.pattern.max_width,
            -len(terminal.pattern.value),
            terminal.name,
        ),
    )
    return json.dumps(
        {
            "grammar": identity(grammar.encode()),
            "terminals": [[terminal.name, terminal.pattern.to_regexp()] for terminal in terminals],
            "words": {
                terminal.name: words
                for terminal in terminals
                if terminal.pattern.type == "re" and (words := _words(terminal, terminals))
            },
            "spellings": {
                terminal.name: terminal.pattern.value for terminal in terminals if terminal.pattern.type == "str"
            },
            "ignored": parser.ignore_tokens,
            "states": states,
            "rules": [_shape(rules[number]) for number in order],
            "starts": {
                start: [numbers[table["start_states"][start]], numbers[table["end_states"][start]]] for start in starts
            },
        }
    )


def _numbered(actions: Mapping[int, Mapping[str, tuple[bool, Any]]], starts: Iterable[int]) -> dict[int, int]:
    """Numbers for the states, in the order in which they are reached from the start states. Lark's own numbers differ
    from run to run.
    """
    numbers = {state: number for number, state in enumerate(starts)}
    reached = list(numbers)
    for state in reached:  # which grows
        for _, (reduces, target) in sorted(actions[state].items(), key=lambda item: item[0]):
            if not reduces and target not in numbers:
                numbers[target] = len(numbers)
                reached.append(target)
    return numbers


def _words(pattern: Any, terminals: Iterable[Any]) -> dict[str, str]:
    """Keywords that the pattern of another terminal also matches. A keyword wins where it is possible."""
    return {
        terminal.pattern.value: terminal.name
        for terminal in terminals
        if terminal.pattern.type == "str"
        and terminal.priority == pattern.priority
        and re.fullmatch(pattern.pattern.to_regexp(), terminal.pattern.value)
    }


def _shape(rule: dict[str, Any]) -> list[Any]:
    """A rule: its symbol, the number of its symbols, the name of its function, and its parts in order. A part is the
    index of a symbol, −1 − index if the parts of that symbol become parts of this rule, or None if it is absent.

    The function is "" for ``_rules``, whose value is the list of their parts, and None for ``?rules`` with one part,
    whose value is that part.
    """
    options = rule["options"]
    absent = iter(options["empty_indices"] or [False] * len(rule["expansion"]))
    parts: list[int | None] = []
    for place, symbol in enumerate(rule["expansion"]):
        while next(absent):
            parts.append(None)
        if symbol["__type__"] == "Terminal":
            if not symbol["filter_out"]:
                parts.append(place)
        else:
            parts.append(-1 - place if symbol["name"].startswith("_") else place)
    parts += [None for flag in absent if flag]
    origin = rule["origin"]["name"]
    name = rule["alias"] or origin
    if name.startswith("_"):
        name = ""
    elif options["expand1"] and not rule["alias"] and len(parts) == 1:
        name = None
    return [origin, len(rule["expansion"]), name, parts]
