"""Changes a checked program by the flags of the command line."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from btpy import timeline
from btpy.cli.console import Console
from btpy.errors import UsageError

if TYPE_CHECKING:
    from btpy.api.programs import Program
    from btpy.cli.settings import Settings
    from btpy.model.attachments import MethodAttachment
    from btpy.model.sampling import Sampling


def checked(compile_: Callable[[], Program], console: Console) -> Program:
    """Returns the program, after its warnings were shown. Raises ScriptError, UsageError."""
    start = time.monotonic()
    with timeline.step("compile the script"):
        program = compile_()
    console.detail(f"script checked in {(time.monotonic() - start) * 1000:.0f} ms")
    if program.warnings and console.verbosity >= 0:
        console.diagnostics(program.warnings)
    return program


def bounded(program: Program, settings: Settings) -> Program:
    """Applies --max-methods, --max-classes and --sample to every method probe. Raises UsageError for invalid values of
    these flags or of --until.
    """
    if settings.until is not None:
        from btpy.api.stop_condition import StopCondition

        StopCondition(settings.until, program)
    if settings.sample is not None:
        from btpy.api.programs import resampled

        program = resampled(program, _sampling(settings.sample))

    if settings.budget is not None:  # the flag overrides the script
        program = replace(
            program, settings=tuple(setting for setting in program.settings if setting[0] != "cpu_budget")
        )
    if settings.max_methods is None and settings.max_classes is None:
        return program
    from btpy.model.attachments import MethodAttachment

    probes = tuple(
        replace(probe, attachment=_bounded(probe.attachment, settings))
        if isinstance(probe.attachment, MethodAttachment)
        else probe
        for probe in program.probes
    )
    return replace(program, probes=probes)


def _bounded(attachment: MethodAttachment, settings: Settings) -> MethodAttachment:
    most = attachment.max_methods if settings.max_methods is None else settings.max_methods
    return replace(attachment, max_methods=most, max_classes=settings.max_classes)


def _sampling(text: str) -> Sampling:
    """The sampling for ``1/100``, ``5%`` or ``50/s``. Raises UsageError."""
    import re

    from btpy.model.sampling import SampleMode, Sampling

    forms = (
        (SampleMode.EVERY, r"1/([1-9]\d{0,8})", 1.0),
        (SampleMode.RATE, r"(\d{1,2}(?:\.\d{1,6})?)%", 0.01),
        (SampleMode.MAX_RATE, r"([1-9]\d{0,6})/s", 1.0),
    )
    for mode, form, scale in forms:
        match = re.fullmatch(form, text)
        if match is not None and float(match[1]) > 0:
            return Sampling(mode, float(match[1]) * scale, by_thread=False, adaptive=False, group=0)
    raise UsageError(f"--sample {text} is not a sampling rate", help=["--sample 1/100, --sample 5%, --sample 50/s"])
