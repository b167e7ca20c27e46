"""Messages about classes that were loaded, or changed by another agent, after the probes were added."""

from __future__ import annotations

from enum import Enum

from btpy.api.listings import ALLOWED_BY, RefusalReason, failure_reason
from btpy.api.results import Late, LateOutcome
from btpy.dataclass import dataclass
from btpy.remedies import Permission

_CHANGES_TOLD = 10
"""The number of messages about classes that another agent has changed, and whose new code has the probes."""

_REFUSED_TOLD = 10
"""The number of untraceable classes that are reported. Messages about further classes are only shown with ``-v``."""


class Urgency(Enum):
    """DETAIL: only with ``-v``."""

    DETAIL = "detail"
    INFORMATION = "information"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class LateNotice:
    """``permission``: the option that allows btpy to trace the class."""

    urgency: Urgency
    text: str
    permission: Permission | None = None


class LateClasses:
    """The late classes of one session. ``refused``: names of loaded classes that cannot be traced, with the code of the
    reason."""

    def __init__(self) -> None:
        self.refused: dict[str, str] = {}
        self._changes = 0
        self._refusals_told = 0

    def notice(self, late: Late) -> LateNotice:
        name = f"{late.class_name} ({late.loader})"
        match late.outcome:
            case LateOutcome.WOVEN:
                return LateNotice(Urgency.DETAIL, f"{name} was loaded with its probes")
            case LateOutcome.MISSED_DEADLINE:
                text = f"{name} was loaded; its probes were added a moment later: {late.reason}"
                return LateNotice(Urgency.DETAIL, text)
            case LateOutcome.LOST:
                return LateNotice(Urgency.WARNING, f"{name} was without its probes until now: {late.reason}")
            case LateOutcome.CHANGED:
                return self._changed(name, late.reason)
            case _:
                return self._refused(name, late)

    def _changed(self, name: str, lost: str) -> LateNotice:
        """``lost``: the probes of the class that have no place in its new code."""
        if lost:
            return LateNotice(Urgency.WARNING, f"another agent has changed {name}: {lost}")
        self._changes += 1
        text = f"another agent has changed {name}: its probes are in the new code"
        if self._changes == _CHANGES_TOLD:
            text = f"{text} (-v shows further classes)"
        return LateNotice(Urgency.INFORMATION if self._changes <= _CHANGES_TOLD else Urgency.DETAIL, text)

    def _refused(self, name: str, late: Late) -> LateNotice:
        reason = failure_reason(late.reason)
        code = reason.value
        self.refused[late.class_name] = code
        text = f"{name} was loaded, but cannot be traced: {late.reason.removesuffix(f' [{code}]')} [{code}]"
        if reason is RefusalReason.UNMODIFIABLE:  # mostly lambda classes; an attach does not warn of them, either
            return LateNotice(Urgency.DETAIL, text)
        self._refusals_told += 1
        if self._refusals_told > _REFUSED_TOLD:
            return LateNotice(Urgency.DETAIL, text)
        allowed = ALLOWED_BY.get(reason)
        permission = None if allowed is None else Permission(allowed, "to trace it nevertheless")
        return LateNotice(Urgency.WARNING, text, permission)
