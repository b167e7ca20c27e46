"""Several JVMs at a terminal: one view of their merged maps, which stays when one JVM ends."""

from __future__ import annotations

import re
import sys

from tests.conftest import Golden
from tests.jdks import compiled
from tests.targets import target
from tests.terminal.test_live import JAVA, VARYING, counted, sell
from tests.terminal.tmux import normalised, terminal

SCRIPT = "Clerk::sell @entry { @sold[$thing] = count(); @latest_size = $size; }"


def test_maps_are_merged_in_one_view_in_which_the_share_of_one_that_is_killed_stays(golden: Golden) -> None:
    classpath = [compiled([JAVA / "Clerk.java"])]
    with target(17, "Clerk", classpath=classpath) as one, target(21, "Clerk", classpath=classpath) as other:
        pids = f"{one.pid},{other.pid}"
        with terminal([sys.executable, "-m", "btpy", pids, "-e", SCRIPT], columns=80, lines=24) as screen:
            screen.wait_for("2 JVMs · ? keys")
            for clerk, fruit, times, size in ((one, "pear", 31, 5), (other, "pear", 11, 7), (other, "apple", 97, 7)):
                sell(clerk, fruit, times, size=size)
            screen.wait_for(counted("pear", 42))
            screen.wait_for(counted("apple", 97))
            screen.press("s", "s")
            screen.wait_for("@sold▲")
            text = normalised(screen.text(), (str(one.pid), "PID"), (str(other.pid), "PID"), *VARYING)
            golden.check("terminal/several.txt", re.sub(r"PID +\d", "PID  N", text[text.index("@sold") :]))
            other.process.kill()
            screen.wait_for("1 of 2 JVMs · ? keys")
            sell(one, "pear", 13)
            screen.wait_for(counted("pear", 55))
            assert counted("apple", 97).search(screen.text())
            screen.press("Space")
            screen.wait_for("@sold[pear]   55")
            screen.press("q")
            assert screen.wait_for_end() == 0
            assert screen.cooked
            end = screen.text(scrolled=True)
            assert end.count("@sold[pear]   55") == 2
            assert end.rstrip().endswith("1 of 2 JVMs ended meanwhile")
