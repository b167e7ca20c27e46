"""WireMock under load: every request once, by path and status, and the slow ones with their URL."""

from __future__ import annotations

from pathlib import Path

from tests.jdks import all_jdks, compiled
from tests.maven import WIREMOCK, artifact
from tests.targets import target
from tests.tracer import tracing

TESTS = Path(__file__).parent.parent
SCRIPT = TESTS.parent / "examples" / "wiremock_slow.bt"
REQUESTS = 211


@all_jdks
def test_every_request_once(jdk: int) -> None:
    jar = artifact(WIREMOCK)
    classes = compiled([TESTS / "java" / "Gate.java", TESTS / "java" / "WireMockLoad.java"], classpath=[jar])
    with target(jdk, "WireMockLoad", str(REQUESTS), classpath=[classes, jar], flags=["-Xverify:all"]) as server:
        with tracing(server.pid, SCRIPT) as tracer:
            server.send()
            server.wait_for("done")
            assert tracer.stop() == 0, tracer.stderr
            tracer.check_complete()
        answers = {}
        for line in server.stdout:
            if line.startswith("answered "):
                _, answer, times = line.split()
                answers[answer.replace("=", ",")] = int(times)
        assert sum(answers.values()) == REQUESTS
        assert tracer.maps()["requests"] == answers
        slow = [event for event in tracer.events("slow_request") if event["path"] == "/slow"]
        assert sorted(event["query"] for event in slow) == sorted(f"n={i}" for i in range(REQUESTS) if i % 13 == 4)
        assert all(event["status"] == 200 and event["took"] >= 60_000_000 for event in slow)
