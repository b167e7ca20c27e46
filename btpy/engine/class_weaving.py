"""Weaving one class with the probes of a program: a pure function of the program, the class file and its plan.

:class:`btpy.plan.planner.Planner` plans the class. The session weaves the bytes that the JVM shows, the preweaver
weaves class files that may be loaded later, and :mod:`btpy.api.offline` and :mod:`btpy.api.preview` weave class files
without a JVM. These uses differ only in the time of weaving and in the use of the result.
"""

from __future__ import annotations

from typing import NamedTuple

from btpy.classfile.reader import ClassFile
from btpy.codegen.advice import AdvisedClass, HandlerFactory
from btpy.codegen.handler_class import HandlerClass
from btpy.errors import ClassFileError, CompileError
from btpy.plan.plan import Refusal, RefusalReason, Site
from btpy.plan.planner import PlannedClass
from btpy.weave.weaver import weave


class WovenClass(NamedTuple):
    """``data``: None means nothing was woven. ``handlers``: the classes that woven code calls. ``refusals``: refusals
    that are not in the plan.
    """

    data: bytes | None
    sites: tuple[Site, ...]
    handlers: tuple[HandlerClass, ...]
    refusals: tuple[Refusal, ...]


def weave_class(
    factory: HandlerFactory,
    file: ClassFile,
    planned_class: PlannedClass,
    first_site: int,
    advised: AdvisedClass | None = None,
    loader: str = "",
) -> WovenClass:
    """Weave a class by its plan; sites are numbered from ``first_site``. ``advised``: the result for the plan, if
    the caller has it already. ``loader``: the loader of the class, for its sites. Raises CompileError when a probe is
    too large for a method of the JVM."""
    if not planned_class.methods:
        return WovenClass(None, (), (), ())
    if advised is None:
        advised = factory.advise(planned_class)
    woven_class = weave(file, advised.plan, first_site, loader)
    refusals = (*advised.refusals, *woven_class.refusals)
    if woven_class.data is None:
        return WovenClass(None, (), (), refusals)
    return WovenClass(woven_class.data, woven_class.sites, advised.handlers, refusals)


def malformed(class_name: str, error: Exception) -> Refusal:
    """The reason why a class stays unchanged although probes match it. An unexpected error is a defect of btpy: the
    class stays unchanged, and the user gets a message.
    """
    is_refusal = isinstance(error, ClassFileError | CompileError)
    detail = str(error) if is_refusal else f"internal error of the weaver: {type(error).__name__}: {error}"
    return Refusal(RefusalReason.MALFORMED, class_name, None, detail)
