"""Methods of the traced program that a script may call: those of ``safe_calls.txt``, and those that the user allows."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from btpy.lang.types import ANY, BOOLEAN, CHAR, DOUBLE, INT, LONG, STRING, Type
from btpy.values import dataclass

ALLOW_CALL = "call:"
"""``--allow call:com.acme.Foo.bar``"""

_METHOD = re.compile(r"(\w+) (\w+)\(([\w.,]*)\)")
_RESULTS = {
    "string": STRING,
    "int": INT,
    "long": LONG,
    "double": DOUBLE,
    "boolean": BOOLEAN,
    "char": CHAR,
    "object": ANY,
}


@dataclass(frozen=True, slots=True)
class SafeMethod:
    """``subtypes``: it may be called on subtypes of the owner too. ``parameters`` as ``Class.getName`` spells them;
    None: any, as many as are given."""

    owner: str
    subtypes: bool
    name: str
    parameters: tuple[str, ...] | None
    result: Type

    def spelled(self, count: int) -> str:
        """As the run time reads it (docs/runtime.md, ``call``)."""
        signature = f"({','.join(self.parameters)})" if self.parameters is not None else f"/{count}"
        return f"{'+' if self.subtypes else ''}{self.owner}#{self.name}{signature}"


@cache
def safe_methods() -> dict[tuple[str, int], tuple[SafeMethod, ...]]:
    """The built-in and the audited methods, by name and number of arguments."""
    found: dict[tuple[str, int], tuple[SafeMethod, ...]] = {}
    owner = ""
    for line in (Path(__file__).with_name("safe_calls.txt")).read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        if not line.startswith(" "):
            owner = line
            continue
        match = _METHOD.fullmatch(line.strip())
        if match is None:
            raise ValueError(f"safe_calls.txt: {line!r}")
        parameters = tuple(match[3].split(",")) if match[3] else ()
        method = SafeMethod(owner.lstrip("+"), owner.startswith("+"), match[2], parameters, _RESULTS[match[1]])
        key = (match[2], len(parameters))
        found[key] = (*found.get(key, ()), method)
    return found


def allowed_methods(name: str, count: int, allow: frozenset[str]) -> tuple[SafeMethod, ...]:
    """Of the given name and number of arguments: the safe ones, then those that ``--allow`` names."""
    given = []
    for each in sorted(allow):
        owner, _, method = each.removeprefix(ALLOW_CALL).rpartition(".")
        if each.startswith(ALLOW_CALL) and method == name and owner:
            given.append(SafeMethod(owner, True, name, None, ANY))
    return (*safe_methods().get((name, count), ()), *given)


def getters(name: str, allow: frozenset[str]) -> tuple[SafeMethod, ...]:
    """What ``x.name`` may mean where the object has no such field: ``getName()``, ``isName()`` or ``name()``."""
    capital = name[:1].upper() + name[1:]
    return tuple(
        method for getter in (f"get{capital}", f"is{capital}", name) for method in allowed_methods(getter, 0, allow)
    )
