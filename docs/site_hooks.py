"""Hooks of MkDocs: links from docs/ into the rest of the repository, and colours for scripts."""

from __future__ import annotations

import logging
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
_LINK = re.compile(r"(\]\()(\.\./[^)#\s]+)")
_log = logging.getLogger("mkdocs.hooks.repository")


def on_config(config: Any) -> Any:
    """Registers the lexer of scripts with Pygments. btpy itself is not installed where the site is built."""
    from pygments.lexers import LEXERS

    sys.path.insert(0, str(ROOT))
    LEXERS["BtpyLexer"] = ("btpy.lang.edit.highlighting", "btpy", ("btpy",), ("*.bt",), ())
    return config


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Links that leave docs/ lead to the repository. A missing file is a warning, so --strict fails."""
    folder = posixpath.dirname(f"docs/{page.file.src_uri}")

    def absolute(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, link[2]))
        if path.startswith("docs/"):
            return link[0]
        if not (ROOT / path).exists():
            _log.warning("%s links to %s, which is not in the repository", page.file.src_uri, path)
        return f"{link[1]}{config.repo_url}/main/{path}"

    return _LINK.sub(absolute, markdown)
