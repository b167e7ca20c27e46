"""A type or method of the runtime is public only where handlers or the agent use it."""

from __future__ import annotations

import re
import zipfile
from functools import cache
from pathlib import Path

from btpy.classfile.reader import ClassFile
from btpy.codegen import runtime_api as api

ROOT = Path(__file__).parents[2]
JAR = ROOT / "btpy" / "_agent" / "btpy-agent.jar"
PAGE = ROOT / "docs" / "runtime.md"
PUBLIC = 0x0001
REFERENCES = (9, 10, 11)  # Fieldref, Methodref, InterfaceMethodref (JVMS §4.4)
OVERRIDES = {  # they override public methods of JDK types
    ("btpy/runtime/AgentThread", "run"),
    ("btpy/runtime/AgentThread", "uncaughtException"),
    ("btpy/runtime/SampledStack", "fillInStackTrace"),
}
Member = tuple[str, str, str]


@cache
def classes() -> dict[str, ClassFile]:
    with zipfile.ZipFile(JAR) as archive:
        boot = archive.read("btpy/boot.classes")
    parsed = {}
    while boot:
        end = 4 + int.from_bytes(boot[:4])
        class_file = ClassFile.parse(boot[4:end])
        parsed[class_file.name] = class_file
        boot = boot[end:]
    return parsed


def public_types() -> set[str]:
    return {
        name
        for name, class_file in classes().items()
        if name.startswith("btpy/runtime/") and class_file.access_flags & PUBLIC
    }


def used_by_handlers() -> set[Member]:
    return {(row.owner, row.name, row.descriptor) for row in api.all_methods()}


@cache
def used_by_the_agent() -> frozenset[Member]:
    members: set[Member] = set()
    for name, class_file in classes().items():
        if not name.startswith("btpy/runtime/"):
            pool = class_file.pool
            for index in range(1, pool.count):
                if pool.tag_at(index) in REFERENCES:
                    owner, member, descriptor = pool.member_at(index)
                    members.add((owner, member, descriptor))
    return frozenset(members)


def documented() -> dict[str, set[str]]:
    """The table of the page: the users of each public type."""
    section = PAGE.read_text(encoding="utf-8").split("## Public types\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| ([\w, ]+) \|", section, re.MULTILINE)
    return {f"btpy/runtime/{name}": set(users.split(", ")) for name, users in rows}


def test_the_page_has_every_public_type_and_its_users() -> None:
    handlers = {owner for owner, _, _ in used_by_handlers()} | {api.INTERRUPTIONS}  # its fields
    agent = {owner for owner, _, _ in used_by_the_agent()}
    users = {
        name: {user for user, types in (("handlers", handlers), ("agent", agent)) if name in types}
        for name in public_types()
    }
    assert documented() == users


def test_the_page_counts_the_other_types() -> None:
    others = {name for name in classes() if name.startswith("btpy/runtime/") and "$" not in name} - public_types()
    assert f"The {len(others)} other types are package-private" in PAGE.read_text(encoding="utf-8")


def test_every_public_method_is_used_outside() -> None:
    public = {
        (name, method.name, method.descriptor)
        for name in public_types()
        for method in classes()[name].methods
        if method.access_flags & PUBLIC and (name, method.name) not in OVERRIDES
    }
    assert len(public) > 200
    assert public - used_by_handlers() - used_by_the_agent() == set()
