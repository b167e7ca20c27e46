"""HotSpot's own log of compiled code when btpy changes the first class."""

from __future__ import annotations

from pathlib import Path

import pytest

from btpy.jvm import attach
from tests.cli.test_command import btpy
from tests.live.scripts import counted

ALL_THROWN_AWAY = "Marked all nmethods for deopt"
ONE_CHANGED = "redefined name=Counted,"
RUN_TIME = "btpy.agent."


@pytest.mark.parametrize("jdk", [17, 21])
def test_compiled_code_stays_where_the_agent_was_there_from_the_start(jdk: int, tmp_path: Path) -> None:
    early = logged(jdk, tmp_path / "early", f"-javaagent:{attach.agent_jar()}")
    assert ALL_THROWN_AWAY not in early
    assert ALL_THROWN_AWAY in logged(jdk, tmp_path / "late")


def logged(jdk: int, log: Path, *flags: str) -> str:
    """The JVM's log of classes while btpy counted one method."""
    tags = "redefine+class+nmethod=debug,redefine+class+load,class+load"
    with counted(jdk, *flags, f"-Xlog:{tags}:file={log}") as target:
        assert RUN_TIME not in log.read_text()
        result = btpy(target.pid, "-e", "Counted::* @entry { @n = count() }", "--for", "100ms")
        assert result.returncode == 0, result.stderr
        text = log.read_text()
    assert RUN_TIME in text
    assert ONE_CHANGED in text
    return text
