"""Weaves a plan into each of many classes, and what may be refused of them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from btpy.classfile.reader import ClassFile
from btpy.plan.plan import ClassPlan, Point, Refusal, RefusalReason
from btpy.weave.weaver import weave
from tests.weave import advice

NOTHING = "btpy/proof/Nothing"
JAVA = Path(__file__).parent / "java"

Plan = Callable[[ClassFile], ClassPlan]


def ends(file: ClassFile) -> ClassPlan:
    """Everything at entry, return and throw."""
    return advice.everything(file, NOTHING)


def inside(*points: Point) -> Plan:
    """Everything at these points inside methods; at all of them when none is given."""
    if points == (Point.LINE,):
        return lines
    return lambda file: advice.inside(file, NOTHING, points or advice.INSIDE_POINTS, thrifty=True)


def lines(file: ClassFile) -> ClassPlan:
    """The classes of the JDKs have no line numbers: a line begins at every third instruction."""
    return advice.lines_everywhere(file, NOTHING)


def all_at_once(file: ClassFile) -> ClassPlan:
    return advice.joined(ends(file), inside()(file), advice.lines_everywhere(file, NOTHING, 7))


@dataclass(frozen=True)
class Corpus:
    """``root`` has the woven classes; ``changed``: their paths below it. ``seconds`` of weaving."""

    root: Path
    changed: tuple[Path, ...]
    classes: int
    methods: int
    sites: int
    refusals: tuple[Refusal, ...]
    seconds: float


def weave_all(files: Iterable[tuple[Path, bytes]], root: Path, plan_of: Plan) -> Corpus:
    """Weaves class files, each with its path, into ``root``."""
    paths = []
    refusals: list[Refusal] = []
    classes = methods = sites = 0
    spent = 0.0
    for path, data in files:
        plan = plan_of(ClassFile.parse(data))
        before = time.process_time()
        result = weave(data, plan, (1 << 24) + sites)
        spent += time.process_time() - before
        classes += 1
        methods += len(plan.methods)
        sites += len(result.sites)
        refusals += result.refusals
        if result.data is not None:
            out = root / path
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_bytes(result.data)
            paths.append(path)
    return Corpus(root, tuple(paths), classes, methods, sites, tuple(refusals), spent)


_PROTECTED = RefusalReason.PROTECTED  # the empty finalize()
_EXPLAINED = (RefusalReason.TOO_LARGE, RefusalReason.NO_SUPER_CALL)


def check_refusals(corpus: Corpus, *, dense: bool) -> str:
    """Asserts that of 10,000 methods less than one is refused for want of a better weaver; tells what was refused.

    ``dense``: advice at many instructions, with which a long method passes 64 kB without anything being wrong.
    """
    intended = {_PROTECTED, *([RefusalReason.TOO_LARGE] if dense else [])}
    unintended = [refusal for refusal in corpus.refusals if refusal.reason not in intended]
    assert all(refusal.method == "finalize()V" for refusal in corpus.refusals if refusal.reason is _PROTECTED)
    assert all(refusal.reason in _EXPLAINED for refusal in unintended), unintended
    assert len(unintended) * 10_000 < max(corpus.methods, 10_001), unintended
    reasons = Counter(refusal.reason for refusal in corpus.refusals)
    counts = ", ".join(f"{count} {reason.name}" for reason, count in sorted(reasons.items(), key=str)) or "none"
    lines = [
        f"  {refusal.reason.value} {refusal.class_name}.{refusal.method}: {refusal.detail}"
        for refusal in corpus.refusals
    ]
    return "\n".join([f"  methods refused: {counts}", *lines])
