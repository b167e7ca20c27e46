from __future__ import annotations

from pathlib import Path

import pytest

from tests.weave.odd import Execute, executing


@pytest.fixture
def execute(tmp_path: Path) -> Execute:
    return executing(tmp_path)
