"""The number of examples that Hypothesis makes for a test."""

from __future__ import annotations

from hypothesis import settings

ALL = 100
"""The number of examples of a test that names no other number."""


def examples(number: int) -> int:
    """``number`` with ``--every-jdk``, as in `make proof`, and half as many in `make test`."""
    return number * settings.default.max_examples // ALL  # type: ignore[union-attr]
