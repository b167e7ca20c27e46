"""Flows through frameworks: 401 requests whose work is handed over in each way that the libraries ``flows*.bt`` know.

The work of all requests is in the queues at the same time. The program knows the request of each piece of work, and the
probe compares it with the request of the flow.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from btpy.engine.session import Session
from btpy.events.aggregates import Count
from btpy.wire.messages import Errors
from tests.jdks import compiled
from tests.kafka import kafka
from tests.live.scripts import program
from tests.probes.stacks import jars
from tests.probes.test_libraries import classes
from tests.running.programs import kotlin_classes
from tests.targets import Target, target

ROOT = Path(__file__).parents[2]
JAVA = ROOT / "tests" / "probes" / "java"
REQUESTS, CLIENTS = 401, 5
FEW = 31
"""The number of requests in the sample of `make test`, and in each test that removes a probe from a library."""

SCRIPT = """
HandingOver::handle { begin_flow(); flow.request = arg1; }
HandingOver::work {
  let seen = flow.id == null ? (arg1 < 0 ? "outside" : "missing") : flow.request == arg1 ? "right" : "wrong";
  @seen[arg0, seen] = count();
}
"""


RECORDS = """
HandingOver::handle { begin_flow(); flow.request = -2; }
KafkaFlows::handle { enter_flow(arg0); }
HandingOver::work {
  if flow.request == null { flow.request = arg1 }
  let none = arg0 == "after others" ? "outside" : "missing";
  let seen = flow.id == null ? none : flow.request == arg1 ? "right" : "wrong";
  @seen[arg0, seen] = count();
}
"""
"""The library begins a flow for each record, so a record that is sent outside of a request has a flow, too. The flow of
a record differs from the flow of the request that sends the record.
"""


@dataclass(frozen=True)
class Framework:
    library: str
    main: str
    stack: str
    jdk: int = 21
    beside: str = ""  # another program whose classes this program uses
    renamed: tuple[tuple[str, str], ...] = ()  # packages in the source, and their names in this version
    begun_in: str = "HandingOver"  # the class in which a request begins

    def classpath(self) -> list[Path]:
        libraries = jars(*self.stack.split())
        if self.library == "flows_coroutines":
            base = compiled([JAVA / "HandingOver.java"])
            return [kotlin_classes(JAVA / f"{self.main.removesuffix('Kt')}.kt", base, libraries[1]), base, *libraries]
        if self.renamed:
            return [self.compiled_with_other_packages(libraries), *libraries]
        return classes(self.main, *libraries, beside=["HandingOver", *self.beside.split()])

    def compiled_with_other_packages(self, libraries: list[Path]) -> Path:
        with tempfile.TemporaryDirectory() as directory:
            sources = []
            for name in (self.main, "HandingOver", *self.beside.split()):
                text = (JAVA / f"{name}.java").read_text(encoding="utf-8")
                for package, other in self.renamed:
                    text = text.replace(package, other)
                sources.append(Path(directory) / f"{name}.java")
                sources[-1].write_text(text, encoding="utf-8")
            return compiled(sources, classpath=libraries)

    @property
    def script(self) -> str:
        if self.library == "flows_kafka":
            return RECORDS
        return SCRIPT.replace("HandingOver::handle", f"{self.begun_in}::handle")

    def all_right(self, pieces: dict[str, int], requests: int) -> dict[tuple[object, ...], object]:
        """The counts that the script should have after this number of requests, and one call outside of requests for
        each client.
        """
        counts: Counter[tuple[object, ...]] = Counter()
        for kind, number in pieces.items():
            counts[kind, "right"] += requests * number
            counts[kind, "right" if self.library == "flows_kafka" else "outside"] += CLIENTS * number
        return {key: Count(number) for key, number in counts.items()}


GUARDS = {
    "flows_coroutines": {"worker_runs", "ends", "caller_continues"},
    "flows_guava": {"task_refused", "worker_runs"},
    "flows_netty": {"task_refused", "task_removed", "listener_removed", "listeners_run"},
    "flows_servlet": {"server_runs", "worker_runs"},
    "flows_vertx": {"task_refused", "worker_runs"},
}
"""Probes for cases that the programs do not have: refused tasks, threads that a request starts, requests of one
connection that arrive together, the memory of btpy, and listeners that are removed, or were added before btpy
attached. The test of suspend functions needs ``caller_continues``."""

AKKA = (("org.apache.pekko", "akka"),)
JAVAX = (("jakarta.servlet", "javax.servlet"), ("jetty.ee10.servlet", "jetty.servlet"))

FRAMEWORKS = (
    Framework("flows_reactor", "ReactorSinkFlows", "reactor37", beside="ReactorFlows"),
    Framework("flows", "HttpClientFlows", ""),
    Framework("flows", "SpringFlows", "spring61"),
    Framework("flows_coroutines", "CoroutineFlowsKt", "coroutines110"),
    Framework("flows_guava", "GuavaFlows", "guava33"),
    Framework("flows_kafka", "KafkaFlows", "kafka4", 25),
    Framework("flows_netty", "NettyFlows", "netty42"),
    Framework("flows_rxjava", "RxJavaFlows", "rxjava31"),
    Framework("flows_pekko", "PekkoFlows", "pekko12", 25),
    Framework("flows_pekko", "PekkoTypedFlows", "pekko12 pekkotyped12", 25),
    Framework("flows_scala", "ScalaFlows", "scala213", 25),
    Framework("flows_servlet", "TomcatFlows", "tomcat11", 25, "ServletFlows", begun_in="ServletFlows"),
    Framework("flows_servlet", "JettyFlows", "jetty12", 25, "ServletFlows", begun_in="ServletFlows"),
    Framework(
        "flows_servlet", "SpringMvcFlows", "spring61 webmvc61 tomcat11", 21, "ServletFlows", begun_in="SpringMvcFlows"
    ),
    Framework("flows_vertx", "VertxFlows", "vertx5"),
)
OLDER = (
    Framework("flows_coroutines", "CoroutineFlowsKt", "coroutines16", 17),
    Framework("flows_guava", "GuavaFlows", "guava30", 17),
    Framework("flows_kafka", "KafkaFlows", "kafka2", 17),
    Framework("flows_netty", "NettyFlows", "netty41", 17),
    Framework("flows_reactor", "ReactorFlows", "reactor33", 17),
    Framework("flows_pekko", "PekkoFlows", "akka26", 17, renamed=AKKA),
    Framework("flows_pekko", "PekkoTypedFlows", "akka26 akkatyped26", 17, renamed=AKKA),
    Framework("flows_pekko", "PekkoFlows", "akka25", 17, renamed=AKKA),
    Framework("flows_scala", "ScalaFlows", "scala212", 17),
    Framework("flows_servlet", "TomcatFlows", "tomcat9", 17, "ServletFlows", renamed=JAVAX, begun_in="ServletFlows"),
    Framework("flows_servlet", "JettyFlows", "jetty9", 17, "ServletFlows", renamed=JAVAX, begun_in="ServletFlows"),
    Framework("flows_vertx", "VertxFlows", "vertx4", 17),
)
OF_A_BROKER = (
    *(framework for framework in FRAMEWORKS + OLDER if framework.library == "flows_kafka"),
    Framework("flows_kafka", "SpringKafkaFlows", "kafka4 springkafka40"),
    Framework("flows_kafka", "SpringKafkaFlows", "kafka3 spring61 springkafka32", 17),
)


@contextmanager
def running(framework: Framework, *arguments: str) -> Iterator[Target]:
    with target(framework.jdk, framework.main, *arguments, classpath=framework.classpath()) as process:
        yield process


def traced(process: Target, script: str, requests: int) -> tuple[dict[str, int], dict[tuple[object, ...], object]]:
    """Lets the program handle this number of requests under a script. Returns the number of pieces of work of a request
    by the way in which they are handed over, and the pieces that the script has seen."""
    with Session.attach(process.pid) as session:
        session.deployer.load(program(script), missing="ignore", allow=["core"])
        process.send(f"{requests} {CLIENTS}")
        kinds = process.wait_for("handled").partition(" ")[2].split(",")
        (snapshot,) = (content for content in session.delivery.snapshot() if content.map.name == "seen")
        assert session.departure.detach().clean
        failures = [f for item in session.delivery.items(None) if isinstance(item, Errors) for f in item.failures]
        assert failures == []
    pieces = {kind: int(number) for kind, _, number in (kind.rpartition("=") for kind in kinds)}
    counts: dict[tuple[object, ...], object] = {tuple(key): value for key, value in snapshot.entries}
    counts.pop(("after others", "outside"), None)
    return pieces, counts


def follow(framework: Framework, requests: int, *arguments: str) -> None:
    with running(framework, *arguments) as process:
        pieces, counts = traced(process, f"import btpy.{framework.library};{framework.script}", requests)
        errors = [line for line in process.stderr if not line.startswith(("SLF4J", "WARNING: "))]
        assert (counts, errors) == (framework.all_right(pieces, requests), [])


SAMPLES = [
    framework
    for framework in FRAMEWORKS
    if framework.main in ("ReactorSinkFlows", "KafkaFlows", "PekkoFlows", "JettyFlows")
]


@pytest.mark.parametrize("framework", SAMPLES, ids=lambda framework: framework.main)
def test_a_sample_of_work_is_followed(framework: Framework) -> None:
    follow(framework, FEW)


@pytest.mark.proof
@pytest.mark.parametrize("framework", FRAMEWORKS + OLDER, ids=lambda framework: f"{framework.main}-{framework.stack}")
def test_work_is_followed(framework: Framework) -> None:
    follow(framework, REQUESTS)


@pytest.mark.proof
def test_records_of_a_broker_are_followed() -> None:
    with kafka(jars("kafka-broker")) as port:
        for framework in OF_A_BROKER:
            follow(framework, REQUESTS, str(port))


def probes_of(library: str) -> tuple[str, list[str]]:
    """The text of a library without its probes, and the text of each probe."""
    paragraphs = (ROOT / "probes" / f"{library}.bt").read_text(encoding="utf-8").split("\n\n")
    probes = [text for text in paragraphs if re.search("^probe ", text, flags=re.MULTILINE)]
    return "\n\n".join(text for text in paragraphs if text not in probes), probes


@pytest.mark.proof
@pytest.mark.timeout(900)
@pytest.mark.parametrize("library", sorted({framework.library for framework in FRAMEWORKS} - {"flows"}))
def test_each_probe_is_needed(library: str) -> None:
    """If any one probe of a library is missing, some work has no flow or a wrong one."""
    head, probes = probes_of(library)
    frameworks = [framework for framework in FRAMEWORKS + OLDER if framework.library == library]
    not_needed = set()
    for removed in probes:
        script = "\n\n".join([head, *(probe for probe in probes if probe is not removed)])
        if all(is_followed(framework, f"{script}\n{framework.script}") for framework in frameworks):
            not_needed |= set(re.findall(r"^probe (\w+)", removed, flags=re.MULTILINE))
    assert not_needed == GUARDS.get(library, set())


def is_followed(framework: Framework, script: str) -> bool:
    with running(framework) as process:
        pieces, counts = traced(process, script, FEW)
    return counts == framework.all_right(pieces, FEW)


SUSPENDING = """
import btpy.flows_coroutines as coroutines;
Suspending::/place|free/ when !coroutines.continues(arg1) { coroutines.begins(arg1); flow.order = arg0; }
Suspending::place @exit when flow.order != null {
  flow.ran += duration;
  flow.slices += 1;
  if !coroutines.suspends(retval) {
    let lasted = flow.elapsed as long;
    let ran = flow.ran as long;
    @calls[flow.slices, lasted >= (flow.slices == 4 ? 95000000 : 65000000), ran >= 5000000 && ran < lasted] = count();
  }
}
Suspending::quote { @seen[arg1, flow.order == null ? "none" : flow.order == arg0 ? "right" : "wrong"] = count(); }
"""


@pytest.mark.proof
@pytest.mark.parametrize("stack", ["coroutines110", "coroutines16"])
def test_a_suspend_function_has_its_true_duration(stack: str) -> None:
    """A call takes 5 ms of processor time and suspends for 50 ms. If its number is even, it suspends for another 30 ms.
    Then it calls a function that suspends for 10 ms. The caller has no flow before and after the call."""
    libraries = jars(stack)
    with (
        target(
            21, "SuspendingKt", classpath=[kotlin_classes(JAVA / "Suspending.kt", libraries[1]), *libraries]
        ) as shop,
        Session.attach(shop.pid) as session,
    ):
        session.deployer.load(program(SUSPENDING), missing="ignore")
        shop.send()
        shop.wait_for("done")
        maps = {item.map.name: dict(item.entries) for item in session.delivery.snapshot()}
    assert maps["calls"] == {(3, True, True): Count(2 * 19), (4, True, True): Count(2 * 18)}
    assert maps["seen"] == {("outside", "none"): Count(37 * 5), ("inside", "right"): Count(37 * 5)}
