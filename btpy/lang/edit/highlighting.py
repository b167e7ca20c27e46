"""Colours for scripts in tools that use Pygments. Only this module imports Pygments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from pygments.lexer import RegexLexer, words
from pygments.lexer import bygroups as _bygroups
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

from btpy.lang.edit.vocabulary import VOCABULARY

bygroups: Callable[..., Any] = _bygroups  # Pygments has no type hints
_REGEX = r"/(?:[^/\\\n]|\\.)+/"
_POINTS = "|".join(VOCABULARY["points"])
_UNITS = "|".join(VOCABULARY["units"])


class BtpyLexer(RegexLexer):
    """Registered with Pygments under the name ``btpy`` (pyproject.toml)."""

    name = "btpy"
    aliases: ClassVar = ["btpy"]
    filenames: ClassVar = ["*.bt"]
    url = ""
    tokens: ClassVar = {
        "root": [
            (r"\s+", Text),
            (r"(//|#).*$", Comment.Single),
            (r"/\*(.|\n)*?\*/", Comment.Multiline),
            (r'f"', String.Affix, "formatted"),
            (r'"(\\.|[^"\\\n])*"', String),
            (
                rf"({_REGEX}|[+@]?[\w.$*?<>]+)(::)({_REGEX}|@?[\w.$*?<>]+)(\([^(){{}};\n]*\))?",
                bygroups(Name.Class, Punctuation, Name.Function, Keyword.Type),
            ),
            (words(VOCABULARY["annotations"], prefix="@", suffix=r"\b"), Name.Decorator),
            (rf"(@(?:{_POINTS})\b)(\((?:[^()\n]|\([^()\n]*\))*\))?", bygroups(Name.Decorator, String.Other)),
            (r"@[a-z_]\w*|@", Name.Variable.Global),
            (r"\$[A-Za-z_]\w*|\barg\d+\b", Name.Variable.Instance),
            (rf"\d[\d_]*(\.\d+)?({_UNITS})\b", Number),
            (r"0[xX][0-9a-fA-F]+", Number.Hex),
            (r"\d[\d_]*\.\d+([eE][+-]?\d+)?|\d[\d_]*[eE][+-]?\d+", Number.Float),
            (r"\d[\d_]*", Number.Integer),
            (words(VOCABULARY["functions"], prefix=r"\b", suffix=r"(?=\s*\()"), Name.Builtin),
            (words(VOCABULARY["keywords"], prefix=r"\b", suffix=r"\b"), Keyword),
            (words(VOCABULARY["constants"], prefix=r"\b", suffix=r"\b"), Keyword.Constant),
            (words(VOCABULARY["variables"], prefix=r"\b", suffix=r"\b"), Name.Builtin.Pseudo),
            (words(VOCABULARY["types"], prefix=r"\b", suffix=r"\b"), Keyword.Type),
            (words(VOCABULARY["locations"], prefix=r"\b", suffix=r"\b"), Name.Constant),
            (r"[A-Za-z_]\w*", Name),
            (r"[{}()\[\];,.:]", Punctuation),
            (r"[-+*/%&|^<>=!~?]+", Operator),
            (r".", Text),
        ],
        "formatted": [
            (r"\{\{|\}\}", String.Escape),
            (r"\{[^}\n]*\}", String.Interpol),
            (r"\\.", String.Escape),
            (r'"', String.Affix, "#pop"),
            (r"\n", Text, "#pop"),
            (r'[^"\\{}\n]+', String),
            (r"[{}]", String),
        ],
    }
