"""Fixtures for all tests. Java versions: ``tests.jdks.all_jdks``; programs to trace: ``tests.targets.target``."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes depends on what else the machine does: no test is about that.
settings.register_profile("btpy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("btpy")

for _number, _default in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    # Background jobs ignore them, and what a process ignores its children do: no test could press Ctrl-C.
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _default)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write tests/golden anew instead of comparing with it"
    )


class Golden:
    """Compares text with a file under tests/golden, or writes the file with ``--update-golden``."""

    def __init__(self, directory: Path, update: bool) -> None:
        self._directory = directory
        self._update = update

    def check(self, name: str, actual: str) -> None:
        """``name``: path under tests/golden, such as ``lang/unknown_name.txt``."""
        path = self._directory / name
        if self._update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(actual, encoding="utf-8")
            return
        if not path.exists():
            pytest.fail(f"no golden file {name}: run pytest with --update-golden and read what it writes")
        assert actual == path.read_text(encoding="utf-8")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    return Golden(Path(__file__).parent / "golden", request.config.getoption("--update-golden"))
