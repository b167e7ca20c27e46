"""Class loaders that are short-lived, that hide their classes, or that do not see btpy's run-time classes."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from btpy.engine.session import Session
from btpy.errors import NothingMatched
from btpy.events.aggregates import Count
from btpy.plan.plan import RefusalReason
from tests import agents
from tests.cli.test_trace import started
from tests.jdks import all_jdks, compiled
from tests.live.scripts import program, values_until, waited
from tests.live.test_companions import JAVA, asked, counted, stage
from tests.maven import FELIX, artifact
from tests.targets import Target, target

GUEST = '@OnMethod(class="Guest", method="run", location=EXIT, pending=true) {{ @n = count(); @by[{key}] = count(); }}'


def guests() -> Path:
    return compiled([JAVA / "Guest.java"])


def test_a_loader_that_is_dropped_is_unloaded_and_its_counts_stay(tmp_path: Path) -> None:
    """On two Java versions at the same time: the agent forgets its stacks every few seconds."""
    with ThreadPoolExecutor() as pool:
        list(pool.map(check_dropped, (11, 25), (tmp_path / "11", tmp_path / "25")))


def check_dropped(jdk: int, directory: Path) -> None:
    """The probe has read an object of the class, and the agent keeps the layout and the name of the class, and a stack
    with it.
    """
    directory.mkdir()
    key = "typeof(self), len(self.luggage), frame(0)"
    with stage(jdk, directory) as jvm:
        asked(jvm, f"invite {guests()} Guest")
        with Session.attach(jvm.pid) as session:
            session.deployer.load(program(GUEST.format(key=key)))
            asked(jvm, "run 13")
            assert asked(jvm, "drop") == "gone"
            for _ in range(2):  # loaded again, woven at loading, and unloaded again
                asked(jvm, f"invite {guests()} Guest")
                asked(jvm, "run 11")
                assert asked(jvm, "drop") == "gone"
            assert counted(session) == 13 + 22
            maps = {content.map.name: dict(content.entries) for content in session.delivery.snapshot()}
            assert maps["by"] == {("Guest", 1000, "Guest.run:9"): Count(35)}
            receipt = session.departure.detach()
        assert receipt.clean
        assert (receipt.woven, receipt.restored, receipt.unloaded) == (3, 0, 3)


SHY = '@OnMethod(class="Shy", method="run") { @n = count(); }'


@all_jdks
def test_a_class_that_is_loaded_and_not_linked_is_woven_and_not_initialised(jdk: int, tmp_path: Path) -> None:
    """JDK-8277444: retransformation races with linking, so btpy links the class first."""
    with stage(jdk, tmp_path) as jvm:
        asked(jvm, f"load {compiled([JAVA / 'Shy.java'])} Shy")
        with Session.attach(jvm.pid) as session:
            assert session.deployer.load(program(SHY)).methods == 1
            assert "initialised" not in jvm.stdout
            assert asked(jvm, "begin") == "begun"
            assert "initialised" in jvm.stdout
            asked(jvm, "run 13")
            assert counted(session) == 13
            assert session.departure.detach().clean


@all_jdks
def test_classes_that_weaving_itself_loads_are_woven(jdk: int, tmp_path: Path) -> None:
    """Linking verifies the class, and the verifier loads other classes. This happens in the agent's thread, which must
    not wait for probes.
    """
    script = '@OnMethod(class="Verified*", method=["run", "value"]) { @n = count(); @by[cls, method] = count(); }'
    with stage(jdk, tmp_path) as jvm:
        asked(jvm, f"load {compiled([JAVA / 'Verified.java'])} Verified")
        with Session.attach(jvm.pid) as session:
            session.deployer.load(program(script))
            assert asked(jvm, "begin") == "begun"
            asked(jvm, "run 13")
            maps = {content.map.name: dict(content.entries) for content in session.delivery.snapshot()}
            assert maps["by"] == {("Verified", "run"): Count(13), ("Verified$Derived", "value"): Count(13)}
            assert session.departure.detach().clean


@all_jdks
def test_classes_that_weaving_itself_loads_are_reported(jdk: int, tmp_path: Path) -> None:
    script = """
    @OnClassLoad(class="Verified*") { print(cls); }
    @OnMethod(class="Verified", method="run") { @n = count(); }
    """
    with stage(jdk, tmp_path) as jvm:
        asked(jvm, f"load {compiled([JAVA / 'Verified.java'])} Verified")
        with Session.attach(jvm.pid) as session:
            session.deployer.load(program(script))
            result = values_until(session, lambda result: len(result) == 2)
            assert {values for _, values in result} == {("Verified$Derived",), ("Verified$Base",)}
            assert session.departure.detach().clean


@all_jdks
def test_a_class_that_cannot_be_linked_is_refused_and_fails_as_before(jdk: int, tmp_path: Path) -> None:
    classes = tmp_path / "classes"
    classes.mkdir()
    data = (compiled([JAVA / "Shy.java"]) / "Shy.class").read_bytes()
    assert data.count(b"\x10\x07\xac") == 1  # bipush 7, ireturn
    (classes / "Shy.class").write_bytes(data.replace(b"\x10\x07\xac", b"\x10\x07\xb0"))  # areturn
    with stage(jdk, tmp_path) as jvm:
        asked(jvm, f"load {classes} Shy")
        with Session.attach(jvm.pid) as session:
            deployment = session.deployer.load(program(SHY), missing="ignore")
            assert deployment.methods == 0
            (refusal,) = deployment.refusals
            assert (refusal.reason, refusal.class_name) == (RefusalReason.REJECTED, "Shy")
            assert refusal.detail.startswith("it cannot be linked: VerifyError: ")
            assert session.departure.detach().clean
        assert asked(jvm, "begin") == "java.lang.VerifyError"


@pytest.mark.parametrize("jdk", [17, 25], ids=["jdk17", "jdk25"])
def test_hidden_classes_are_refused_and_run(jdk: int, tmp_path: Path) -> None:
    script = '@OnMethod(class="/Guest.*/", method="run") { @n = count(); }'
    with stage(jdk, tmp_path) as jvm:
        asked(jvm, f"hide {guests()} Guest")
        with Session.attach(jvm.pid) as session:
            with pytest.raises(NothingMatched) as caught:
                session.deployer.load(program(script))
            (diagnostic,) = caught.value.diagnostics
            assert diagnostic.code == "BT337"
            assert "does not let a hidden class be changed" in diagnostic.notes[0]
        with Session.attach(jvm.pid) as session:
            deployment = session.deployer.load(program(script), missing="ignore")
            (refusal,) = deployment.refusals
            assert refusal.reason is RefusalReason.UNMODIFIABLE
            assert refusal.class_name.startswith("Guest")
            asked(jvm, f"hide {guests()} Guest")  # a loader that is created while the agent watches the pattern
            asked(jvm, "run 13")
            assert session.departure.detach().woven == 0


def test_a_watcher_is_told_of_a_class_whose_loader_hides_the_run_time(tmp_path: Path) -> None:
    with stage(17, tmp_path) as jvm, started(jvm.pid, "-e", GUEST.format(key="cls")) as tracer:
        waited(lambda: any("Ctrl-C to end" in line for line in tracer.stderr), "the banner")
        asked(jvm, f"seclude {guests()} Guest")
        asked(jvm, "run 3")
        why = "was loaded, but cannot be traced: its loader does not see btpy's run-time classes [BT336]"
        waited(lambda: any(line.endswith(why) for line in tracer.stderr), why)
        tracer.process.send_signal(signal.SIGINT)
        assert tracer.wait() == 0
        assert "run: 0 hits: its methods cannot be traced [BT336]" in tracer.stderr


BUNDLES = """
@OnMethod(class=["plugin.Plugin", "shared.Counter"], location=[EXIT, CALL(class="shared.Counter")])
{ @n = count(); @by[cls, method] = count(); }
"""


@contextmanager
def framework(jdk: int, directory: Path, delegation: str) -> Iterator[Target]:
    """Felix with two bundles: the bundle ``plugin`` uses a class of the bundle ``shared`` (Bundles.java)."""
    felix = artifact(FELIX)
    shared = compiled([JAVA / "bundles" / "shared" / "Counter.java"])
    plugin = compiled([JAVA / "bundles" / "plugin" / "Plugin.java"], classpath=[shared])
    bundles = []
    for classes, name, needs in ((shared, "shared", "Export-Package"), (plugin, "plugin", "Import-Package")):
        manifest = {"Bundle-ManifestVersion": "2", "Bundle-SymbolicName": name, needs: "shared"}
        bundles.append(str(agents.jar(directory / f"{name}.jar", classes, manifest)))
    classpath = [compiled([JAVA / "Bundles.java"], classpath=[felix]), felix]
    arguments = [str(directory / "cache"), delegation, *bundles]
    with target(jdk, "Bundles", *arguments, classpath=classpath, flags=["-Xverify:all"]) as jvm:
        yield jvm
        jvm.send("end")
        jvm.wait_for("stopped")


@pytest.mark.parametrize(("jdk", "delegation"), [(11, "implicit"), (25, "implicit"), (17, "btpy.handlers")])
def test_bundles_are_traced_where_the_agent_is_found(jdk: int, delegation: str, tmp_path: Path) -> None:
    """With "implicit" Felix finds the handlers for the agent, but not for the bundle whose class calls them."""
    with framework(jdk, tmp_path, delegation) as jvm:
        with Session.attach(jvm.pid) as session:
            session.deployer.load(program(BUNDLES))
            assert asked(jvm, "run 13") == "ran 14"
            maps = {content.map.name: dict(content.entries) for content in session.delivery.snapshot()}
            calls = {("plugin.Plugin", "run"): Count(2 * 13), ("plugin.Plugin", "toString"): Count(2)}
            assert maps["by"] == {**calls, ("shared.Counter", "next"): Count(14)}
            receipt = session.departure.detach()
            assert receipt.clean
            assert receipt.woven == 2
        assert asked(jvm, "run 13") == "ran 28"


def test_bundles_that_find_nothing_are_refused_and_run(tmp_path: Path) -> None:
    with framework(17, tmp_path, "strict") as jvm:
        with Session.attach(jvm.pid) as session, pytest.raises(NothingMatched) as caught:
            session.deployer.load(program(BUNDLES))
        (diagnostic,) = caught.value.diagnostics
        assert diagnostic.code == "BT336"
        assert "bootdelegation" in diagnostic.help[0]
        with Session.attach(jvm.pid) as session:
            deployment = session.deployer.load(program(BUNDLES), missing="ignore")
            assert [refusal.reason for refusal in deployment.refusals] == [RefusalReason.LOADER] * 2
            assert asked(jvm, "run 13") == "ran 14"
            assert session.departure.detach().woven == 0
