"""The meaning of each diagnostic code, with a script that causes it and a script that does not
(``explanations.toml``)."""

from __future__ import annotations

import tomllib
from functools import cache
from pkgutil import get_data
from typing import NamedTuple


class Explanation(NamedTuple):
    """``fails`` and ``works``: scripts, empty where the code is not about scripts. ``against``: "shop" if the scripts
    need the classes of the demonstration shop."""

    code: str
    title: str
    text: str
    fails: str = ""
    works: str = ""
    against: str = ""

    @property
    def page(self) -> str:
        """The whole explanation as text, with a newline at its end."""
        parts = [f"{self.code}: {self.title}", self.text]
        if self.fails:
            parts += ["gets it:", _indented(self.fails)]
        if self.works:
            parts += ["does not:", _indented(self.works)]
        return "\n\n".join(parts) + "\n"


def _indented(text: str) -> str:
    return "\n".join("    " + line for line in text.split("\n"))


@cache
def explanations() -> dict[str, Explanation]:
    """The explanations by code, in order."""
    data = get_data("btpy", "explanations.toml")
    if data is None:
        raise FileNotFoundError("btpy/explanations.toml is missing from this installation")
    return {
        code: Explanation(code, **{key: value.strip("\n") for key, value in entry.items()})
        for code, entry in tomllib.loads(data.decode()).items()
    }
