"""Writes docs/language.md and the files of editors from the tables of the checker: python docs/build_reference.py"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from btpy.lang.edit.reference import entries, example
from btpy.lang.edit.vocabulary import VOCABULARY

HERE = Path(__file__).parent
_NOTICE = (
    "<!-- Written by docs/build_reference.py from language.template.md and the tables in btpy/lang: do not edit. -->"
)


def language() -> str:
    """The text of docs/language.md."""
    text = (HERE / "language.template.md").read_text(encoding="utf-8").replace("<!-- generated -->", _NOTICE)
    for table, rows in entries().items():
        lines: list[str] = []
        for name, synopsis, doc in rows:
            lines += [f"**`{synopsis}`** {doc}", "", "```btpy", example(table, name), "```", ""]
        text = text.replace(f"<!-- table: {table} -->", "\n".join(lines).rstrip())
    return text


def textmate() -> str:
    """A TextMate grammar, for Visual Studio Code and other editors."""

    def words(group: str) -> str:
        return r"\b(?:" + "|".join(VOCABULARY[group]) + r")\b"

    patterns = [
        {"name": "comment.line.btpy", "match": r"(//|#).*$"},
        {"name": "comment.block.btpy", "begin": r"/\*", "end": r"\*/"},
        {
            "name": "string.quoted.double.btpy",
            "begin": 'f?"',
            "end": '"|$',
            "patterns": [{"name": "constant.character.escape.btpy", "match": r"\\."}],
        },
        {"name": "entity.name.tag.btpy", "match": "@(?:" + "|".join(VOCABULARY["annotations"]) + r")\b"},
        {"name": "keyword.other.location.btpy", "match": r"@(?:" + "|".join(VOCABULARY["points"]) + r")\b"},
        {"name": "variable.other.map.btpy", "match": r"@[a-z_]\w*|@(?=[\[\s,;)])"},
        {"name": "variable.parameter.btpy", "match": r"\$[A-Za-z_]\w*|\barg\d+\b"},
        {
            "name": "constant.numeric.btpy",
            "match": r"\b(0[xX][0-9a-fA-F]+|\d[\d_]*(\.\d+)?([eE][+-]?\d+)?)(?:" + _units() + r")?\b",
        },
        {"name": "keyword.control.btpy", "match": words("keywords")},
        {"name": "constant.language.btpy", "match": words("constants")},
        {"name": "support.type.btpy", "match": words("types")},
        {"name": "support.constant.location.btpy", "match": words("locations")},
        {"name": "support.function.btpy", "match": words("functions") + r"(?=\s*\()"},
        {"name": "variable.language.btpy", "match": words("variables")},
    ]
    grammar = {
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "name": "btpy",
        "scopeName": "source.btpy",
        "fileTypes": ["bt"],
        "firstLineMatch": r"^#!.*\bbtpy\b|^btpy \d+;|^@On[A-Z]",
        "patterns": patterns,
    }
    return json.dumps(grammar, indent=2) + "\n"


def _units() -> str:
    return "|".join(VOCABULARY["units"])


_VIM_ARGUMENTS = frozenset(("conceal", "concealends", "contained", "containedin", "contains", "display", "extend"))
_VIM_ARGUMENTS |= frozenset(
    ("fold", "keepend", "nextgroup", "oneline", "skipempty", "skipnl", "skipwhite", "transparent")
)


def _vim_words(group: str, words: Sequence[str]) -> list[str]:
    """Words that ``:syntax keyword`` would read as its own arguments become patterns (``:help :syn-keyword``)."""
    plain = " ".join(word for word in words if word not in _VIM_ARGUMENTS)
    odd = [word for word in words if word in _VIM_ARGUMENTS]
    return [f"syntax keyword btpy{group} {plain}", *(f"syntax match btpy{group} /\\<{word}\\>/" for word in odd)]


def vim() -> str:
    """A syntax file for vim."""
    groups = {
        "keywords": "Keyword",
        "constants": "Constant",
        "types": "Type",
        "locations": "Special",
        "functions": "Function",
        "variables": "Identifier",
    }
    lines = [
        '" Written by docs/build_reference.py from the tables in btpy/lang: do not edit.',
        'if exists("b:current_syntax")',
        "  finish",
        "endif",
        *(line for name, group in groups.items() for line in _vim_words(group, VOCABULARY[name])),
        r"syntax match btpyAnnotation /@\%(" + r"\|".join(VOCABULARY["annotations"]) + r"\)\>/",
        r"syntax match btpyMap /@[a-z_]\w*/",
        r"syntax match btpyTarget /\$\h\w*\|\<arg\d\+\>/",
        r"syntax match btpyNumber /\<\%(0[xX]\x\+\|\d[0-9_]*\%(\.\d\+\)\?\)\%("
        + _units().replace("|", r"\|")
        + r"\)\?\>/",
        r'syntax region btpyString start=/f\?"/ skip=/\\./ end=/"\|$/',
        r"syntax match btpyComment /\%(\/\/\|#\).*$/",
        r"syntax region btpyComment start=/\/\*/ end=/\*\//",
        *(f"highlight default link btpy{group} {group}" for group in dict.fromkeys(groups.values())),
        "highlight default link btpyAnnotation PreProc",
        "highlight default link btpyMap Identifier",
        "highlight default link btpyTarget Identifier",
        "highlight default link btpyNumber Number",
        "highlight default link btpyString String",
        "highlight default link btpyComment Comment",
        'let b:current_syntax = "btpy"',
    ]
    return "\n".join(lines) + "\n"


def outputs() -> dict[Path, str]:
    """The files that this script writes, with their content."""
    return {
        HERE / "language.md": language(),
        HERE / "editors" / "btpy.tmLanguage.json": textmate(),
        HERE / "editors" / "vim" / "syntax" / "btpy.vim": vim(),
        HERE / "editors" / "vim" / "ftdetect" / "btpy.vim": _FTDETECT,
    }


_FTDETECT = r"""" Files of bpftrace have the same ending: the first line decides.
autocmd BufNewFile,BufRead *.bt if getline(1) =~# '^#!.*btpy\|^btpy \d\|^@On\|^//' | setfiletype btpy | endif
autocmd BufNewFile,BufRead * if getline(1) =~# '^#!.*\<btpy\>' | setfiletype btpy | endif
"""


if __name__ == "__main__":
    for path, text in outputs().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(HERE.parent))
