"""Faults of the JDK in retransformation."""

from __future__ import annotations

import re
from functools import cache

from btpy.classfile.reader import ClassFile
from btpy.plan.plan import Refusal, RefusalReason

LOST_PARAMETER_NAMES = "lost-parameter-names"
"""Capability that allows weaving classes that lose their MethodParameters because no class file is available."""

ANNOTATED_RECORDS = "annotated-records"
"""Capability that allows weaving records with annotated types on a JDK with the fault JDK-8376185."""


def harms(java_version: str, name: str, file: ClassFile) -> Refusal | None:
    """The reason why this JDK would damage a class by any retransformation."""
    if breaks_records(java_version) and file.has_annotated_components:
        detail = (
            f"JDK {java_version} may break retransformed records with annotated types (JDK-8376185); 25.0.4 does not"
        )
        return Refusal(RefusalReason.RECORD, name, None, detail)
    return None


@cache
def loses_parameter_names(java_version: str) -> bool:
    """Whether retransformation drops MethodParameters: before JDK 17.0.20, and in 18 (JDK-8240908)."""
    numbers = _numbers(java_version)
    return numbers < [17, 0, 20] or numbers[0] == 18


@cache
def breaks_records(java_version: str) -> bool:
    """Whether a retransformed record with annotated types may be left with wrong constants: from the first JDK with
    records (16) to 25.0.3 (JDK-8376185)."""
    return [16] <= _numbers(java_version) < [25, 0, 4]


def _numbers(java_version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", java_version.removeprefix("1."))[:3]]
