"""Random scripts: grown from the tables of the language, or real scripts with pieces or words exchanged. Each seed
gives one script.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from btpy.lang.builtins import AGGREGATIONS, ANNOTATIONS, FUNCTIONS, LOCATIONS, VARIABLES, Function
from btpy.lang.syntax.lalr import TooDeep, UnexpectedText
from btpy.lang.syntax.parser import tokens
from btpy.model.source import Source
from btpy.model.types import Kind, Type

_ROOT = Path(__file__).parents[2]
ALL_SCRIPTS = {
    str(path.relative_to(_ROOT)): path.read_text(encoding="utf-8")
    for folder in ("tests/lang/examples", "examples", "probes")
    for path in sorted((_ROOT / folder).rglob("*.bt"))
}
"""Every script of the project, by its path."""

NUMBER, TEXT, TRUTH, ANYTHING, MOMENT = "number", "text", "truth", "anything", "moment"
KINDS = (NUMBER, TEXT, TRUTH, ANYTHING, MOMENT)
LEAVES = {
    NUMBER: ["0", "1", "-1", "3", "7.5", "1e300", "2147483648", "9223372036854775807", "0xff", "tid", "depth", "$qty"],
    TEXT: ['"a"', '""', '"GOLD"', '"日本"', 'f"{cls}"', 'f"{tid:>8}x{depth}"', "cls", "method", "thread_name", "$sku"],
    TRUTH: ["true", "false", "is_virtual", "depth == 0", "self == null", '$sku == "A-1"', '$x == "GOLD"'],
    MOMENT: ["5ms", "2s", "0", "elapsed"],
    ANYTHING: ["null", "self", "$x", "arg0", "arg1", "$x.name", "$x.lines", "$x.lines[1]", "self.name", "thread.a"],
}
POINTS = [
    *("@entry", "@return", "@throw", "@exit", "@line(3)", "@call(a.B::c)", "@call(a.B::c, when=AFTER)", "@new(a.B)"),
    *("@sync", "@set(a.B::c)", "@get(a.B::c)", "@newarray(int[])", "@catch", "@raise"),
]
ARITHMETIC = ("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", ">>>")
ORDER = ("==", "!=", "<", "<=", ">", ">=")


class Grower:
    """Grows scripts whose types mostly fit, so that the checker accepts about half of them."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._locals: list[tuple[str, str]] = []

    def script(self) -> str:
        probes = [self._probe() for _ in range(self._chance.choice((1, 1, 1, 1, 2)))]
        declarations = [self._declaration() for _ in range(self._chance.choice((0, 0, 0, 0, 1)))]
        return "\n".join([*declarations, *probes])

    def _pick(self, *choices: str) -> str:
        return self._chance.choice(choices)

    def _declaration(self) -> str:
        return self._pick(
            f"param p: long = {self._chance.randint(0, 9)};",
            'param q = "a" "help";',
            f"fn f(long a, string b): long = a + {self._expression(NUMBER, 0)};",
            "fn g(object x) { print(x); return }",
            "map @m[string] = lru(10);",
            "map @m[string endpoint, int status];",
            f"config {{ max_map_keys = {self._pick('1', '10', '262144')}; }}",
        )

    def _probe(self) -> str:
        self._locals = []
        head = self._pick(
            *(f"A::b {self._pick(*POINTS)}",) * 12,
            f'@OnMethod(class="A", method="b", location={self._chance.choice(list(LOCATIONS))})',
            self._pick("@OnTimer(1s)", "@OnBegin", "@OnEnd"),
            f"@{self._chance.choice(list(ANNOTATIONS))}" + self._pick("", "(5)", '("a")', "(every=3)"),
        )
        when = f" when {self._expression(TRUTH, 2)}" if self._chance.random() < 0.3 else ""
        body = "; ".join(self._statement(2) for _ in range(self._chance.choice((1, 1, 2, 3))))
        return f"{head}{when} {{ {body} }}"

    def _statement(self, size: int) -> str:
        if size == 0:
            return f"print({self._expression(ANYTHING, 0)})"
        small = size - 1
        roll = self._chance.randrange(18)
        kind = self._chance.choice(KINDS)
        match roll:
            case 0 | 1 | 2:
                return f"print({self._some(size)})"
            case 3:
                return f'emit("e", a={self._expression(kind, size)}, b={self._expression(ANYTHING, small)})'
            case 4 | 5:
                value = self._expression(kind, size)
                name = f"x{len(self._locals)}"
                self._locals.append((name, kind))
                return f"let {name} = {value}"
            case 6:
                then, otherwise = self._nested(small), self._nested(small)
                return f"if {self._expression(TRUTH, size)} {{ {then} }} else {{ {otherwise} }}"
            case 7:
                return f"for k in {self._expression(ANYTHING, 0)} limit 3 {{ {self._nested(small)} }}"
            case 8:
                return f"for k, v in {self._expression(ANYTHING, 0)} {{ {self._nested(small)} }}"
            case 9:
                return f"for k in 0..3 {{ {self._nested(small)} }}"
            case 10 | 11 | 12:
                return f"{self._map()} = {self._aggregation(small)}"
            case 13:
                return f"@v[{self._expression(TEXT, small)}] {self._pick('=', '+=')} {self._expression(NUMBER, small)}"
            case 14:
                return f"thread.{self._pick('a', 'b')} {self._pick('=', '+=')} {self._expression(NUMBER, small)}"
            case 15:
                return f"delete {self._map()}"
            case 16:
                return self._call(self._chance.choice(list(FUNCTIONS.values())), small)
            case _:
                return self._pick("return", "skip()", "@n++")

    def _nested(self, size: int) -> str:
        class_ = len(self._locals)
        text = self._statement(size)
        del self._locals[class_:]
        return text

    def _some(self, size: int) -> str:
        return ", ".join(self._expression(self._chance.choice(KINDS), size) for _ in range(self._chance.randint(1, 3)))

    def _map(self) -> str:
        return self._pick("@m", f"@k[{self._expression(ANYTHING, 1)}]", f"@l[cls, {self._expression(TEXT, 1)}]")

    def _aggregation(self, size: int) -> str:
        name = self._chance.choice(list(AGGREGATIONS))
        if name == "count":
            return "count()"
        arguments = {"lhist": ", 0, 100, 10", "tseries": ", 1s, 60", "topk": ", 3", "sample_of": ", 3", "pctl": ", 50"}
        return f"{name}({self._expression(NUMBER, size)}{arguments.get(name, '')})"

    def _call(self, function: Function, size: int) -> str:
        if not function.signatures:
            return f"{function.name}({self._expression(ANYTHING, size) if self._chance.random() < 0.5 else ''})"
        parameters = self._chance.choice(function.signatures).parameters
        arguments = [parameter for parameter in parameters if parameter.default is None or self._chance.random() < 0.5]
        return f"{function.name}({', '.join(self._expression(_kind(token.type), size) for token in arguments)})"

    def _expression(self, kind: str, size: int) -> str:
        if self._chance.random() < 0.03:
            kind = self._chance.choice(KINDS)
        class_ = [name for name, its in self._locals if its == kind]
        if class_ and self._chance.random() < 0.3:
            return self._chance.choice(class_)
        if size == 0 or self._chance.random() < 0.25:
            rare = self._chance.random() < 0.1
            return self._chance.choice(list(VARIABLES)) if rare else self._chance.choice(LEAVES[kind])
        small = size - 1
        roll = self._chance.randrange(6)
        if roll == 0:
            functions = [
                function for function in FUNCTIONS.values() if not function.statement and _kind(function.result) == kind
            ]
            if functions:
                return self._call(self._chance.choice(functions), small)
        if roll == 1:
            test = self._expression(TRUTH, small)
            return f"({test} ? {self._expression(kind, small)} : {self._expression(kind, small)})"
        if roll == 2:
            return f"({self._expression(ANYTHING, small)} ?? {self._expression(kind, small)})"
        match kind:
            case "number" | "moment":
                left, right = self._expression(kind, small), self._expression(NUMBER, small)
                return f"({left} {self._chance.choice(ARITHMETIC)} {right})"
            case "text":
                return self._pick(
                    f'f"<{{{self._expression(NUMBER, 0)}}}>"',
                    f'("a" + {self._expression(TEXT, small)})',
                    f"typeof({self._expression(ANYTHING, small)})",
                )
            case "truth":
                return self._truth(small)
            case _:
                return self._pick(
                    f"{self._expression(ANYTHING, 0)}.{self._pick('name', 'quantity', 'length')}",
                    f"{self._expression(ANYTHING, 0)}[{self._expression(NUMBER, small)}]",
                    f"({self._expression(ANYTHING, 0)} as java.lang.{self._pick('String', 'Long', 'Object')})",
                    f"{self._expression(TEXT, 0)}.{self._pick('length', 'trim')}()",
                    f"entry({self._expression(ANYTHING, small)})",
                    f"first(e in {self._expression(ANYTHING, 0)}: {self._expression(TRUTH, small)})",
                )

    def _truth(self, size: int) -> str:
        kind = self._pick(NUMBER, NUMBER, MOMENT, ANYTHING)
        left, right = self._expression(kind, size), self._expression(kind, size)
        return self._pick(
            f"{left} {self._chance.choice(ORDER)} {right}",
            f"({self._expression(TRUTH, size)} {self._pick('&&', '||')} {self._expression(TRUTH, size)})",
            f"!({self._expression(TRUTH, size)})",
            f"{left} in [{right}, {self._expression(kind, 0)}]",
            f"{self._expression(ANYTHING, 0)} instanceof {self._pick('java.lang.String', 'A')}",
            f"{self._expression(TEXT, size)} {self._pick('=~', '!~')} " + self._pick('"/a.*b/"', '"java.lang.*"'),
            f"{self._pick('any', 'all', 'none')}(e in $x.lines: {self._expression(TRUTH, size)})",
        )


def _kind(type_: Type) -> str:
    if type_.kind in (Kind.DURATION,):
        return MOMENT
    if type_.is_numeric:
        return NUMBER
    return {Kind.STRING: TEXT, Kind.BOOLEAN: TRUTH}.get(type_.kind, ANYTHING)


def mutated(seed: int, texts: Sequence[str], pieces: Sequence[str]) -> str:
    """One of ``texts`` with up to four stretches replaced by pieces."""
    chance = random.Random(seed)
    text = chance.choice(texts)
    for _ in range(chance.randint(1, 4)):
        start = chance.randint(0, len(text))
        end = chance.randint(start, min(len(text), start + 12))
        text = text[:start] + chance.choice(["", *pieces]) + text[end:]
    return text


EXTREMES = {
    "INT": ["0", "1", "2147483648", "9223372036854775807", "0xffffffffffffffff"],
    "FLOAT": ["0.0", "1e308", "0.1"],
    "DURATION": ["0ns", "1ms", "9000000000s"],
    "SIZE": ["0B", "8589934591GB"],
    "STRING": ['""', '"*"', '"/(a|b)*c/"', '"日本"', '"{"'],
    "FSTRING": ['f"{cls}"', 'f"{tid:>8x}"', 'f"{{}}"'],
}


def varied(seed: int, scripts: Sequence[str]) -> str:
    """One of ``scripts``, which all parse, with up to three words replaced by other words of the same kind. Most
    results still parse, and the checker accepts many.
    """
    chance = random.Random(seed)
    text = chance.choice(scripts)
    words = list(tokens(Source("seed.bt", text)))
    for _ in range(chance.randint(1, 3)):
        word = chance.choice(words)
        alike = [function.text for function in words if function.type == word.type] + EXTREMES.get(word.type, [])
        text = text[: word.start] + chance.choice(alike) + text[word.end :]
        try:
            words = list(tokens(Source("seed.bt", text)))
        except (UnexpectedText, TooDeep):
            break
    return text
