"""Matches the probes of a program with a class path, without a JVM: for ``btpy check --cp``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from btpy.api.offline import Classes, supertypes
from btpy.classfile.reader import ClassFile
from btpy.engine.matching import Inventory, MatchedClass, Matching, doubtful, looked_at, other_lines, why_missing
from btpy.errors import ClassFileError
from btpy.lang.program import Program
from btpy.model.attachments import MethodAttachment
from btpy.plan.diagnose import TargetFacts
from btpy.plan.hierarchy import Hierarchy
from btpy.plan.planner import Planner
from btpy.wire.messages import LoadedClass, LoadedRefusal

LOADER = "class path"
_NOT_ON_CLASS_PATH = ("java.", "javax.", "jdk.", "sun.", "com.sun.")  # every JDK has these classes


class ClassPath:
    """The classes of a class path (``plan.knowledge.ClassFiles``). Unreadable classes are omitted."""

    def __init__(self, classes: Classes) -> None:
        self.hierarchy = Hierarchy()
        self.classes: list[tuple[LoadedClass, ClassFile]] = []
        self._data: dict[str, bytes] = {}
        for class_file in classes():
            try:
                file = ClassFile.parse(class_file.read())
            except ClassFileError:
                continue
            name, superclass, interfaces = supertypes(file)
            number = len(self.classes) + 1
            loaded_class = LoadedClass(
                number,
                name,
                LOADER,
                superclass,
                interfaces,
                file.access_flags,
                True,
                class_file.origin,
                LoadedRefusal.NONE,
            )
            self._data.setdefault(name, file.data)
            self.hierarchy.add(name, superclass, interfaces)
            self.classes.append((loaded_class, file))

    def class_file(self, name: str) -> bytes | None:
        return self._data.get(name)

    def subtypes(self, name: str, most: int) -> Iterator[bytes]:
        for loaded_class, _ in self.classes:
            if name in self.hierarchy.ancestors(loaded_class.name):
                yield self._data[loaded_class.name]

    def match(self, program: Program, *, allow: Iterable[str] = ()) -> tuple[Matching, tuple[str, ...]]:
        """The matches of the probes, and the fields that each firing looks up by name. Raises UsageError for a
        malformed pattern.
        """
        planner = Planner(program, allow=allow, supertypes=self.hierarchy.ancestors)
        classes = []
        with planner.knowledge.asking(self):
            for loaded_class, file in self.classes:
                ancestors = self.hierarchy.ancestors(loaded_class.name)
                planned_class = planner.plan_class(file, in_jdk=False, ancestors=ancestors)
                classes.append(MatchedClass(loaded_class, file, planned_class))
        planned_classes = [planned_class for _, planned_class in looked_at(classes)]
        problems = dict.fromkeys(problem for planned_class in planned_classes for problem in planned_class.problems)
        refusals = tuple(refusal for planned_class in planned_classes for refusal in planned_class.refusals)
        matching = Matching(len(classes), tuple(classes), refusals, tuple(problems), {})
        inventory = Inventory(
            facts=TargetFacts(len(classes), 1, 0, LOADER),
            names=lambda: [loaded for loaded, _ in self.classes],
            subtypes=lambda name: [
                loaded.name for loaded, _ in self.classes if name in self.hierarchy.ancestors(loaded.name)
            ],
            ancestors=self.hierarchy.ancestors,
            class_file=self.class_file,
        )
        missing = {
            probe.id: why_missing(probe, planner, classes, refusals, inventory)
            for probe in program.probes
            if isinstance(probe.attachment, MethodAttachment)
            and not problems
            and not matching.has_methods(probe.id)
            and not probe.attachment.uncaught
        }
        notes = (
            *other_lines(program.probes, planner, looked_at(classes)),
            *doubtful(program.probes, classes, inventory, lambda loader, name: name.startswith(_NOT_ON_CLASS_PATH)),
        )
        matching = replace(matching, missing=missing, warnings=notes)
        return matching, tuple(planner.knowledge.late_bound)
