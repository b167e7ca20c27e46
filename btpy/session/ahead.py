"""Weaving before the JVM asks.

What a JVM hands out of a loaded class is another writing of the class file that it was loaded from: HotSpot puts it
together again, with the same constant pool, but methods in another order, and so the attributes of their code. Those
bytes cannot be foreseen, but what is woven into a method can: it depends on the constant pool and on the Code attribute
alone. It is woven into the class file, and taken over, method by method, into the bytes that the JVM shows, when all of
that is the same there.
"""

from __future__ import annotations

from btpy.classfile.reader import ClassFile, Member
from btpy.classfile.writer import code_of, with_code
from btpy.plan.plan import Site, Woven
from btpy.values import dataclass

_Method = tuple[str, str]


@dataclass(frozen=True, slots=True)
class WovenAhead:
    """``methods``: of the class file, those into which something was woven; ``woven``: the class file afterwards."""

    file: ClassFile
    methods: tuple[_Method, ...]
    woven: ClassFile
    sites: tuple[Site, ...]

    @staticmethod
    def of(file: ClassFile, woven: Woven) -> WovenAhead | None:
        """None when nothing was woven, or something could not be: the reason is found again with the JVM's bytes."""
        if woven.data is None or woven.refusals:
            return None
        methods = tuple(dict.fromkeys((site.method, site.descriptor) for site in woven.sites))
        return WovenAhead(file, methods, ClassFile.parse(woven.data), woven.sites)

    def taken_over(self, asked: ClassFile) -> bytes | None:
        """The woven bytes of ``asked``; None when it differs in what matters. Raises ClassFileError."""
        if asked.data[8 : asked.pool_end] != self.file.data[8 : self.file.pool_end]:
            return None
        if asked.major != self.file.major:
            return None
        before, after = _by_name(self.file), _by_name(self.woven)
        wanted = frozenset(self.methods)
        replacements = []
        for method in asked.methods:
            key = method.name, method.descriptor
            if key in wanted:
                if not _same_code(before[key], method):
                    return None
                replacements.append((code_of(method), code_of(after[key]).content))
        if len(replacements) != len(self.methods):
            return None
        return with_code(asked, self.woven.pool, replacements)


def _by_name(file: ClassFile) -> dict[_Method, Member]:
    return {(method.name, method.descriptor): method for method in file.methods}


def _same_code(ours: Member, theirs: Member) -> bool:
    """Whether two methods of the same pool have the same Code, but for the order of its attributes."""
    if ours.access_flags != theirs.access_flags:
        return False
    if code_of(ours).content == code_of(theirs).content:
        return True
    first, second = ours.code, theirs.code
    return (
        first is not None
        and second is not None
        and first.code == second.code
        and (first.max_stack, first.max_locals, first.exceptions)
        == (second.max_stack, second.max_locals, second.exceptions)
        and sorted((each.name, each.content) for each in first.attributes)
        == sorted((each.name, each.content) for each in second.attributes)
    )
