"""The text before the cursor, which rarely parses: its tokens, its open brackets, and the probe at the cursor."""

from __future__ import annotations

import re
from collections.abc import Iterator

from btpy.dataclass import dataclass
from btpy.lang.builtins import LOCATIONS, ON_TARGET, Place
from btpy.lang.syntax import nodes

_NAME = r"[\w.$*?<>^-]+"
_REGEX = r"/(?:[^/\\\n]|\\.)+/"
_POINT = re.compile(rf"(?:[+@]?{_NAME}|{_REGEX})::(?:@?{_NAME}|{_REGEX})?")
_TOKEN = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<comment>(?://|\#)[^\n]*|/\*.*?(?:\*/|\Z))
    | (?P<string>f?"(?:[^"\\\n{]|\\[^\n]|\{\{|\{(?:[^"{}\n]|"(?:[^"\\\n]|\\[^\n])*")*\}|\{(?=[^{}"\n]*"))*")
    | (?P<open_string>f?"[^\n]*)
    | (?P<annotation>@[A-Z]\w*)
    | (?P<at>@\w*)
    | (?P<target>\$\w*)
    | (?P<number>\d\w*(?:\.\d\w*)?)
    | (?P<word>[A-Za-z_]\w*)
    | (?P<open>[(\[{])
    | (?P<close>[)\]}])
    | (?P<other>\.\.|[=!<>+*/%&|^-]?=[=~]?|&&|\|\||\?\?|::|.)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def tokens(text: str) -> Iterator[Token]:
    """Matches any text."""
    at = depth = 0
    begins = True  # an item does
    while at < len(text):
        match = (_POINT.match(text, at) if begins else None) or _TOKEN.match(text, at)
        assert match is not None, "the last alternative of the pattern is any character"
        token = Token(match.lastgroup or "point", match.group(), at)
        yield token
        at = token.end
        if token.kind in ("space", "comment"):
            continue
        depth = max(0, depth + (token.kind == "open") - (token.kind == "close"))
        begins = not depth and token.text in ("}", ";")


@dataclass(slots=True)
class Frame:
    """An open bracket. ``callee``: the text before the bracket: ``print``, ``OnMethod``, ``CALL``, ``@call``, ``@map``;
    ``argument``: the name before the last ``=`` of the argument that the cursor is in.
    """

    bracket: str
    callee: str
    argument: str = ""

    def take(self, tokens: list[Token]) -> None:
        """``tokens``: the tokens of the item; the last one is directly inside the bracket."""
        token = tokens[-1]
        if token.text in (",", ";"):
            self.argument = ""
        elif token.text == "=" and len(tokens) > 1 and tokens[-2].kind == "word":
            self.argument = tokens[-2].text


@dataclass(frozen=True, slots=True)
class Scene:
    """The probe that the cursor is in. ``places``: where its body may run; ``formals``: the name and type of each
    formal; ``names``: the variables of ``let`` and ``for``.
    """

    class_pattern: str = ""
    method_pattern: str = ""
    places: frozenset[Place] = ON_TARGET
    formals: tuple[tuple[str, str], ...] = ()
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """``tokens``: the tokens of the item that the cursor is in, up to the cursor, without spaces and comments;
    ``start``: where the item begins. ``in_comment``: the cursor is in a comment.
    """

    text: str
    tokens: tuple[Token, ...]
    frames: tuple[Frame, ...]
    start: int
    in_comment: bool

    @staticmethod
    def of(text: str) -> Reading:
        tokens_read: list[Token] = []
        frames: list[Frame] = []
        start = 0
        in_comment = False
        for token in tokens(text):
            in_comment = token.kind == "comment" and token.end == len(text) and not token.text.endswith("*/")
            if token.kind in ("space", "comment"):
                continue
            if not tokens_read:
                start = token.start
            tokens_read.append(token)
            if token.kind == "open":
                frames.append(Frame(token.text, _callee(tokens_read)))
            elif token.kind == "close":
                if frames:
                    frames.pop()
                if token.text == "}" and not frames:
                    tokens_read, start = [], token.end
            elif token.text == ";" and not frames:
                tokens_read, start = [], token.end
            elif frames:
                frames[-1].take(tokens_read)
        return Reading(text, tuple(tokens_read), tuple(frames), start, in_comment)

    @property
    def frame(self) -> Frame | None:
        return self.frames[-1] if self.frames else None

    def scene(self) -> Scene:
        """The facts about the probe in its head."""
        tokens = self.tokens
        names = [
            tokens[at + 1].text
            for at, token in enumerate(tokens[:-1])
            if token.text in ("let", "for") and tokens[at + 1].kind == "word"
        ]
        first = tokens[0] if tokens else None
        if first is None or first.kind not in ("point", "annotation"):
            return Scene(names=tuple(names))
        if first.kind == "point":
            class_pattern, _, method_pattern = first.text.partition("::")
            at = self._location
            place = None if at is None else _place(nodes.location_of_point(tokens[at].text[1:]), self._after(at))
            places = frozenset({Place.ENTRY}) if place is None else place
            return Scene(class_pattern, method_pattern, places, (), tuple(names))
        return self._annotated(tuple(names))

    @property
    def _location(self) -> int | None:
        """The index of ``@location`` after a point. Types of parameters may be between the point and ``@location``."""
        texts = [token.text for token in self.tokens]
        at = texts.index(")") + 1 if texts[1:2] == ["("] and ")" in texts else 1
        return at if at < len(texts) and self.tokens[at].kind == "at" else None

    def _after(self, at: int) -> bool:
        """Whether ``when=AFTER`` follows before the body."""
        head = []
        for token in self.tokens[at:]:
            if token.text == "{":
                break
            head.append(token.text)
        return "AFTER" in head

    def _annotated(self, names: tuple[str, ...]) -> Scene:
        tokens = self.tokens
        attaching = next((token for token in tokens if token.kind == "annotation" and token.text in _ATTACHING), None)
        if attaching is None:
            return Scene(names=names)
        if attaching.text != "@OnMethod":
            places = frozenset({_ATTACHING[attaching.text]})
            return Scene(places=places, names=names)
        arguments = {"class": "", "clazz": "", "method": "*", "location": "ENTRY"}
        for at, token in enumerate(tokens[:-2]):
            if token.text in arguments and tokens[at + 1].text == "=":
                arguments[token.text] = tokens[at + 2].text.strip('"')
        location = next((at for at, token in enumerate(tokens) if token.text == "location"), 0)
        places = _place(arguments["location"], self._after(location)) or ON_TARGET
        return Scene(arguments["class"] or arguments["clazz"], arguments["method"], places, self._formals(), names)

    def _formals(self) -> tuple[tuple[str, str], ...]:
        """The formals of ``probe name(String sku, int qty)``."""
        at = next((at for at, token in enumerate(self.tokens) if token.text == "probe"), None)
        if at is None:
            return ()
        formals: list[tuple[str, str]] = []
        type_: list[str] = []
        opened = False
        for token in self.tokens[at + 1 :]:
            if token.text == "(":
                opened = True
            elif token.text in (")", "{"):
                break
            elif opened and token.text == ",":
                type_ = []
            elif opened:
                following = self.text[token.end : token.end + 1]
                if token.kind == "word" and type_ and following in (",", ")", " "):
                    formals.append((token.text, "".join(type_)))
                type_.append(token.text)
        return tuple(formals)


def _callee(tokens: list[Token]) -> str:
    """The tokens right before the bracket that is the last token."""
    if len(tokens) < 2 or tokens[-2].kind not in ("word", "annotation", "at"):
        return ""
    word = tokens[-2]
    return word.text.lstrip("@") if word.kind == "annotation" else word.text


_ATTACHING = {
    "@OnMethod": Place.ENTRY,
    "@OnTimer": Place.TIMER,
    "@OnSample": Place.SAMPLE,
    "@OnBegin": Place.BEGIN,
    "@OnEnd": Place.END,
    "@OnEvent": Place.EVENT,
    "@OnUncaught": Place.UNCAUGHT,
    "@OnClassLoad": Place.CLASS_LOAD,
    "@OnLowMemory": Place.LOW_MEMORY,
    "@OnProbe": Place.PROBE,
    "@OnError": Place.FAILURE,
}


def _place(location: str, after: bool) -> frozenset[Place] | None:
    place = LOCATIONS.get(location)
    if place is None:
        return None
    if after and place.after is not None:
        place = place.after
    return frozenset({place.place})
