"""The meaning of the word under the cursor, as Markdown: a word of the language, of the script, or of the target's
classes."""

from __future__ import annotations

import re
from itertools import islice

from btpy.api.reference import entries, examples, location_of_point
from btpy.completion.candidates import methods_of
from btpy.completion.metadata import Metadata
from btpy.completion.reading import Reading, tokens
from btpy.dataclass import dataclass
from btpy.explanations import explanations
from btpy.model.diagnostics import Diagnostic
from btpy.output.listing import signature

_METHODS = 10
_WORD = re.compile(r"[@$]?\w+")


@dataclass(frozen=True, slots=True)
class Hover:
    """``start``, ``end``: the offsets of the word."""

    start: int
    end: int
    markdown: str


def hover(text: str, offset: int, diagnostics: tuple[Diagnostic, ...], metadata: Metadata) -> Hover | None:
    """None if there is no description."""
    word = next((match for match in _WORD.finditer(text) if match.start() <= offset <= match.end()), None)
    start, end = (offset, offset) if word is None else word.span()
    parts = [
        _explained(diagnostic)
        for diagnostic in diagnostics
        if diagnostic.primary.span.start <= offset <= diagnostic.primary.span.end
    ]
    if word is not None:
        parts += [
            *_of_language(_entry_of(word[0], text, start)),
            *_of_script(word[0], metadata),
            *_of_target(text, offset, metadata),
        ]
    parts = [part for part in dict.fromkeys(parts) if part]
    return Hover(start, end, "\n\n---\n\n".join(parts)) if parts else None


def _explained(diagnostic: Diagnostic) -> str:
    explanation = explanations().get(diagnostic.code)
    return "" if explanation is None else f"**{explanation.code}: {explanation.title}**\n\n{explanation.text}"


def _entry_of(word: str, text: str, start: int) -> str:
    """The name of the word in the reference: ``@return`` behind a point is the location RETURN."""
    earlier_tokens = [token for token in tokens(text[:start]) if token.kind not in ("space", "comment")]
    if word.startswith("@") and earlier_tokens and earlier_tokens[-1].kind == "point":
        return location_of_point(word[1:])
    return word


def _of_language(word: str) -> list[str]:
    scripts = examples()
    return [
        f"```btpy\n{entry.synopsis}\n```\n\n{entry.doc}\n\n```btpy\n{scripts[table][entry.name]}\n```"
        for table, rows in entries().items()
        for entry in rows
        if word == (f"@{entry.name}" if table == "annotations" else entry.name)
    ]


def _of_script(word: str, metadata: Metadata) -> list[str]:
    words = (*metadata.maps, *metadata.parameters)
    return [f"`{word_.text.rstrip('(')}`  {word_.about}".rstrip() for word_ in words if word_.text.rstrip("(") == word]


def _of_target(text: str, offset: int, metadata: Metadata) -> list[str]:
    """The methods that match the ``Class::method`` in the head of a probe."""
    point = next(
        (token for token in tokens(text) if token.kind == "point" and token.start <= offset <= token.end), None
    )
    if point is None:
        return []
    methods = list(islice(methods_of(Reading.of(text[: point.end]).scene(), metadata), _METHODS + 1))
    lines = [signature(method) for method in methods[:_METHODS]] + (["…"] if len(methods) > _METHODS else [])
    return ["```java\n" + "\n".join(lines) + "\n```"] if lines else []
