"""The tables that Lark computes from the grammar, run without Lark.

Importing Lark, loading its tables and compiling a lexer for each of its states takes longer than all other work between
a script and its handlers. And its parse trees would be visited only once, to create the syntax tree. Therefore Lark
computes the tables when the package is built (:mod:`btpy.lang.syntax.tables`), and this module runs the tables, by
Lark's rules:

1. *Contextual lexer.* The lexer looks for a terminal only if the state of the parser has an action for it. One pattern
   of all terminals serves most states: if the state accepts the terminal that the pattern finds, the pattern of that
   state would have found the same terminal. Otherwise the pattern of the state decides. It also decides where class
   names are possible, because class names look like expressions. Each pattern begins with the ignored text, so one
   match gives one token.
2. *LALR(1).* Shift, or reduce by a rule. Reductions of a ``?rule`` with one child change nothing but the state (an
   operand passes fifteen levels of precedence), so they are computed once for each state and then looked up.
3. *Shape* of Lark's trees: literal tokens of the grammar are dropped, ``_rules`` become part of their parent, and an
   absent optional part is None. Every other rule calls the function of its name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

END = "$END"
_POINT = "POINT"  # tried before all other terminals, where it is possible
_NAMES_OF_CLASSES = frozenset((_POINT, "QNAME", "AT_LOC", "POINT_TYPES"))

Action = Callable[[int, int, list[Any]], object]
"""Creates the value of a rule from the offsets of its text and the values of its parts."""


class Token(NamedTuple):
    type: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class UnexpectedText(Exception):
    """The text between ``start`` and ``end`` is not possible here. ``terminal``: the terminal that this text is at
    another place, "" if it is no terminal; ``accepts``: terminals that are possible here; ``state``: a number that is
    equal for texts that fail at the same place of the grammar."""

    def __init__(self, terminal: str, start: int, end: int, accepts: frozenset[str], state: tuple[int, int]) -> None:
        super().__init__(terminal, start)
        self.terminal = terminal
        self.start = start
        self.end = end
        self.accepts = accepts
        self.state = state


class TooDeep(Exception):
    """The nesting of the text between ``start`` and ``end`` is too deep."""

    def __init__(self, start: int, end: int) -> None:
        super().__init__(start, end)
        self.start = start
        self.end = end


class _Scanner:
    """Finds the first of some terminals that matches, in Lark's order, after the text that the pattern ``ignored``
    matches.
    """

    def __init__(
        self, ignored: str, terminals: Iterable[tuple[str, str]], words: Mapping[str, Mapping[str, str]]
    ) -> None:
        terminals = list(terminals)
        names = {name for name, _ in terminals}
        self.words = {name: its for name, its in words.items() if name in names}
        spelled = {word for its in self.words.values() for word in its.values()}
        pattern = "|".join(f"(?P<{name}>{pattern})" for name, pattern in terminals if name not in spelled)
        self.match = re.compile(f"{ignored}(?:{pattern})").match


class Parser:
    """Parses texts with the tables of :func:`btpy.lang.syntax.tables.tables`. ``max_depth``: the largest nesting of
    nodes.
    ``grammar``: identifies the grammar of the tables."""

    def __init__(self, tables: str, max_depth: int) -> None:
        data = json.loads(tables)
        self.grammar: str = data["grammar"]
        self.max_depth = max_depth
        self.spellings: dict[str, str] = data["spellings"]
        self._terminals: list[tuple[str, str]] = [(name, pattern) for name, pattern in data["terminals"]]
        self._words: dict[str, dict[str, str]] = data["words"]
        ignored = frozenset(data["ignored"])
        self._ignored = "(?>(?:" + "|".join(pattern for name, pattern in self._terminals if name in ignored) + ")*)"
        self._terminals = [terminal for terminal in self._terminals if terminal[0] not in ignored]
        self._states: list[dict[str, int]] = data["states"]
        self._rules: list[tuple[str, int, str | None, list[int | None]]] = [tuple(rule) for rule in data["rules"]]
        self._plain = [rule[3] == list(range(rule[1])) for rule in self._rules]
        self._units = frozenset(
            number for number, (_, size, name, _) in enumerate(self._rules) if name is None and size == 1
        )
        self._starts: dict[str, tuple[int, int]] = {start: tuple(pair) for start, pair in data["starts"].items()}
        self._passed: dict[tuple[int, int, str], int] = {}
        self._own: dict[frozenset[str], _Scanner] = {}
        self._common = self._scanner(frozenset(name for name, _ in self._terminals) - _NAMES_OF_CLASSES)
        self._point = self._scanner(frozenset((_POINT,)))

    @property
    def rules(self) -> frozenset[str]:
        """Names of the functions that :meth:`parse` calls."""
        return frozenset(name for _, _, name, _ in self._rules if name)

    def parse(
        self,
        text: str,
        begin: int,
        end: int,
        start: str,
        actions: Mapping[str, Action],
        read: list[Token] | None = None,
    ) -> Any:
        """The value of ``text[begin:end]``, a ``start`` of the grammar; ``read`` gets its tokens. Raises
        :class:`UnexpectedText` and :class:`TooDeep`."""
        states, rules, plain, units, passed = self._states, self._rules, self._plain, self._units, self._passed
        state, final = self._starts[start]
        path = [state]
        values: list[Any] = []
        begins: list[int] = []
        ends: list[int] = []
        depths: list[int] = []
        at = begin
        while True:
            kind, first, stop = self._token(path, text, at, end)
            if read is not None and kind != END:
                read.append(Token(kind, text[first:stop], first))
            while True:
                action = states[state].get(kind)
                if action is None:
                    raise UnexpectedText(kind, first, stop, self._accepts(path), (len(path), state))
                if action >= 0:
                    break
                rule = ~action
                if rule in units:
                    key = path[-2], state, kind
                    state = passed.get(key, -1)
                    if state < 0:
                        state = passed[key] = self._pass(*key, final)
                    path[-1] = state
                    if kind == END and state == final:
                        return values[0]
                    continue
                origin, size, name, parts = rules[rule]
                if size:
                    children = values[-size:]
                    started, ended, depth = begins[-size], ends[-1], max(depths[-size:])
                    del values[-size:], begins[-size:], ends[-size:], depths[-size:], path[-size:]
                else:
                    children, started, ended, depth = [], at, at, 0
                value: Any
                if name is None:
                    (part,) = parts
                    value = children[part or 0]
                else:
                    value = children if plain[rule] else _shaped(children, parts)
                    if name:
                        depth += 1
                        if depth > self.max_depth:
                            raise TooDeep(started, ended)
                        value = actions[name](started, ended, value)
                values.append(value)
                begins.append(started)
                ends.append(ended)
                depths.append(depth)
                state = states[path[-1]][origin]
                path.append(state)
                if kind == END and state == final:
                    return value
            at = stop
            path.append(action)
            state = action
            values.append(Token(kind, text[first:stop], first))
            begins.append(first)
            ends.append(at)
            depths.append(0)

    def _pass(self, below: int, state: int, kind: str, final: int) -> int:
        """The state after all reductions that only change the state; ``below`` is the state under it on the stack."""
        while state != final or kind != END:
            action = self._states[state].get(kind, 0)
            if action >= 0 or ~action not in self._units:
                break
            state = self._states[below][self._rules[~action][0]]
        return state

    def _token(self, path: list[int], text: str, at: int, end: int) -> tuple[str, int, int]:
        """The token at ``at``, or after ignored text there: its terminal, its start and its end."""
        accepts = self._states[path[-1]]
        scanner = self._common
        if "QNAME" in accepts or "AT_LOC" in accepts:
            scanner = self._scanner(frozenset(accepts))
        elif _POINT in accepts and (match := self._point.match(text, at, end)):
            return _POINT, match.start(_POINT), match.end()
        while match := scanner.match(text, at, end):
            kind = match.lastgroup or ""
            first, stop = match.span(kind)
            words = scanner.words.get(kind)
            if words is not None:
                word = words.get(text[first:stop], "")
                if word in accepts:
                    return word, first, stop
            if kind in accepts:
                return kind, first, stop
            if scanner is not self._common:
                break
            scanner = self._scanner(frozenset(accepts))
        first = self._first(text, at, end)
        if first < end:
            self._refuse(path, text, first, end)
        return END, end, end

    def _first(self, text: str, at: int, end: int) -> int:
        """The offset after ignored text."""
        if not text[at:end].strip(" \n"):
            return end
        skipped = self._skip.match(text, at, end)
        return at if skipped is None else skipped.end()

    def _refuse(self, path: list[int], text: str, at: int, end: int) -> NoReturn:
        match = self._all.match(text, at, end)
        kind = "" if match is None else match.lastgroup or ""
        stop = at + 1 if match is None else match.end()
        if kind in self._all.words:
            kind = self._all.words[kind].get(text[at:stop], kind)
        raise UnexpectedText(kind, at, stop, self._accepts(path), (len(path), path[-1]))

    def _scanner(self, names: frozenset[str]) -> _Scanner:
        scanner = self._own.get(names)
        if scanner is None:
            terminals = (terminal for terminal in self._terminals if terminal[0] in names)
            scanner = self._own[names] = _Scanner(self._ignored, terminals, self._words)
        return scanner

    @cached_property
    def _skip(self) -> re.Pattern[str]:
        return re.compile(self._ignored)

    @cached_property
    def _all(self) -> _Scanner:
        return self._scanner(frozenset(name for name, _ in self._terminals))

    def _accepts(self, path: list[int]) -> frozenset[str]:
        """Terminals that can follow: after some reductions the parser can shift them."""
        terminals = [name for name in self._states[path[-1]] if name.isupper()]
        return frozenset(name for name in terminals if self._leads_on(list(path), name))

    def _leads_on(self, path: list[int], terminal: str) -> bool:
        finals = {final for _, final in self._starts.values()}
        while path[-1] not in finals or terminal != END:
            action = self._states[path[-1]].get(terminal)
            if action is None:
                return False
            if action >= 0:
                return True
            origin, size, _, _ = self._rules[~action]
            del path[len(path) - size :]
            path.append(self._states[path[-1]][origin])
        return True


def _shaped(children: list[Any], parts: list[int | None]) -> list[Any]:
    shaped: list[Any] = []
    for part in parts:
        if part is None:
            shaped.append(None)
        elif part >= 0:
            shaped.append(children[part])
        elif shaped:
            shaped += children[~part]
        else:
            shaped = children[~part]  # a list that grows to the left is extended, not copied each time
    return shaped
