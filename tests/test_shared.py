"""What one worker makes, the other workers find."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shared import made_once


def test_a_directory_is_made_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    makings: list[Path] = []
    directories = {made_once(tmp_path_factory, "once", makings.append) for _ in range(3)}
    assert [*directories] == makings


def test_the_next_worker_tries_again_after_a_failure(tmp_path_factory: pytest.TempPathFactory) -> None:
    def fail(_directory: Path) -> None:
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011
        made_once(tmp_path_factory, "failing", fail)
    makings: list[Path] = []
    made_once(tmp_path_factory, "failing", makings.append)
    assert len(makings) == 1
