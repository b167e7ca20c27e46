"""The target of an export."""

from __future__ import annotations

from btpy.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Origin:
    """A target, as an export describes it. ``instance``: a text that only this process has. ``given``: attributes
    that the application has set itself. They override all other attributes.
    """

    service: str
    instance: str
    host: str = ""
    pid: int = 0
    java_version: str = ""
    vm_name: str = ""
    given: tuple[tuple[str, str], ...] = ()
