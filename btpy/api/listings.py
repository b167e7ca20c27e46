"""The matches of probes, and the reasons for omitted code."""

from __future__ import annotations

from btpy.plan.listing import ListedMethod, ListedProbe, takes_every_method
from btpy.plan.plan import ALLOWED_BY, Refusal, RefusalReason, failure_reason
