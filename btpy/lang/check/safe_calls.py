"""Methods of the traced program that a script may call: those of ``safe_calls.txt``, and those that the user allows."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from btpy.dataclass import dataclass
from btpy.model.types import ANY, BOOLEAN, CHAR, DOUBLE, INT, LONG, STRING, Kind, Type

ALLOW_CALL = "call:"
"""``--allow call:com.acme.Foo.bar``"""

_METHOD = re.compile(r"(= )?(\w+) (\w+)\(([\w.,]*)\)")
_REFUSAL = re.compile(r"- (\w+)\(\): (.+)")
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
    None: any types and any number of them. ``substituted``: the agent computes the result without the method."""

    owner: str
    subtypes: bool
    name: str
    parameters: tuple[str, ...] | None
    result: Type
    substituted: bool = False

    def spelled(self, count: int) -> str:
        """The methods in the form that the runtime reads (docs/runtime.md, ``call``)."""
        signature = f"({','.join(self.parameters)})" if self.parameters is not None else f"/{count}"
        mark = "=" if self.substituted else "+" if self.subtypes else ""
        return f"{mark}{self.owner}#{self.name}{signature}"

    def takes(self, arguments: tuple[Type, ...]) -> bool:
        """Whether values of these types may be arguments. If a parameter is a string, other known types are refused
        here, and unknown types when the probe fires.
        """
        may_be_string = (Kind.STRING, Kind.ANY, Kind.OBJECT, Kind.NULL)
        return self.parameters is None or all(
            parameter != "java.lang.String" or argument.kind in may_be_string
            for parameter, argument in zip(self.parameters, arguments, strict=True)
        )


class RefusedMethod(NamedTuple):
    """A method of the JDK that looks harmless but has side effects."""

    owner: str
    name: str
    reason: str


class _Listed(NamedTuple):
    methods: tuple[SafeMethod, ...]
    refused: tuple[RefusedMethod, ...]


@cache
def _listed() -> _Listed:
    methods = []
    rows = []
    owner = ""
    for line in (Path(__file__).with_name("safe_calls.txt")).read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        if not line.startswith(" "):
            owner = line
            continue
        refusal = _REFUSAL.fullmatch(line.strip())
        if refusal is not None:
            rows.append(RefusedMethod(owner.lstrip("+"), refusal[1], refusal[2]))
            continue
        match = _METHOD.fullmatch(line.strip())
        if match is None:
            raise ValueError(f"safe_calls.txt: {line!r}")
        parameters = tuple(match[4].split(",")) if match[4] else ()
        result = _RESULTS[match[2]]
        subtypes = owner.startswith("+")
        methods.append(SafeMethod(owner.lstrip("+"), subtypes, match[3], parameters, result, match[1] is not None))
    return _Listed(tuple(methods), tuple(rows))


@cache
def safe_methods() -> dict[tuple[str, int], tuple[SafeMethod, ...]]:
    """The methods that are listed, by name and number of arguments."""
    methods: dict[tuple[str, int], tuple[SafeMethod, ...]] = {}
    for method in _listed().methods:
        key = (method.name, len(method.parameters or ()))
        methods[key] = (*methods.get(key, ()), method)
    return methods


def refused_methods(name: str | None = None) -> tuple[RefusedMethod, ...]:
    """The methods that ``safe_calls.txt`` forbids, with the reasons. ``name``: only the methods of this name."""
    return tuple(method for method in _listed().refused if name in (None, method.name))


def allowed_methods(name: str, count: int, allow: frozenset[str]) -> tuple[SafeMethod, ...]:
    """The methods with this name and number of arguments: first the safe methods, then the methods that ``--allow``
    names."""
    permitted = []
    for permission in sorted(allow):
        owner, _, method = permission.removeprefix(ALLOW_CALL).rpartition(".")
        if permission.startswith(ALLOW_CALL) and method == name and owner:
            permitted.append(SafeMethod(owner, True, name, None, ANY))
    return (*safe_methods().get((name, count), ()), *permitted)


def getters(name: str, allow: frozenset[str]) -> tuple[SafeMethod, ...]:
    """The methods that ``x.name`` may mean if the object has no such field: ``getName()``, ``isName()`` or
    ``name()``."""
    capital = name[:1].upper() + name[1:]
    return tuple(
        method for getter in (f"get{capital}", f"is{capital}", name) for method in allowed_methods(getter, 0, allow)
    )
