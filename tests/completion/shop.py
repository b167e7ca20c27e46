"""The shop for completion without a JVM: its class files, read from the jar that btpy ships."""

from __future__ import annotations

import random
import zipfile
from collections.abc import Sequence
from functools import cache
from importlib import resources

from btpy.completion.classes import ClassIndex, LoadedType
from btpy.completion.members import Members
from btpy.completion.metadata import Word
from btpy.completion.suggestions import Wanted
from btpy.lang.link.libraries import Libraries
from btpy.repl.commands import argument_words, command_words

JDK = ("java.lang.String", "java.lang.System", "java.net.URL", "java.util.HashMap", "java.sql.Statement")
_PARTS = (
    *("Pricing", "Engine", "Order", "Service", "Http", "Server", "Abstract"),
    *("Bean", "Factory", "Context", "Handler", "Mapping", "Data", "Source"),
)


@cache
def _members() -> dict[str, Members]:
    results = {}
    with resources.as_file(resources.files("btpy") / "_demo" / "shop.jar") as jar, zipfile.ZipFile(jar) as archive:
        for name in archive.namelist():
            if name.endswith(".class"):
                members = Members.parse(archive.read(name))
                results[members.name] = members
    return results


class Shop:
    """Metadata of a session on the shop with a map and a probe."""

    def __init__(self) -> None:
        kinds = {
            name: "enum" if class_.superclass == "java.lang.Enum" else "class" for name, class_ in _members().items()
        }
        types = [LoadedType(name, "app", kind) for name, kind in kinds.items()]
        self.classes = ClassIndex([*types, *(LoadedType(name, "boot", "class") for name in JDK)])
        self.maps: Sequence[Word] = [Word("@hits", "count by string"), Word("@lat", "hist by string")]
        self.scoped_variables: Sequence[Word] = [
            Word("thread.last", "String"),
            Word("flow.customer", "String"),
            Word("state(…).queued", "long"),
        ]
        self.probes: Sequence[Word] = [Word("1", "quote"), Word("quote", "#1"), Word("*", "all")]
        self.parameters: Sequence[Word] = [Word("slow", "duration")]
        self.events: Sequence[Word] = [Word("reset", "#2")]
        self.libraries: Sequence[Word] = [Word(library.name, "a library") for library in Libraries().all()]

        self.commands: Sequence[Word] = command_words()

    def arguments_of(self, command: str) -> Sequence[Word] | Wanted:
        return argument_words(command, self)

    def members(self, class_name: str) -> Members | None:
        return _members().get(class_name)


class Large(Shop):
    """The shop and this number of other classes."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        chance = random.Random(17)
        packages = [f"{a}.{b}.{c}" for a in ("com", "org", "io") for b in ("acme", "spring", "netty") for c in _PARTS]
        names = {f"{chance.choice(packages).lower()}.{''.join(chance.choices(_PARTS, k=3))}{n}" for n in range(classes)}
        self.classes = ClassIndex([*self.classes.types, *(LoadedType(name, "app", "class") for name in sorted(names))])
