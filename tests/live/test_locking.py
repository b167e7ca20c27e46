"""Probes in methods where threads wait, wake, start, end, initialise classes, collect garbage and receive signals: no
thread stalls.
"""

from __future__ import annotations

from btpy.engine.session import Session
from btpy.engine.target import Limits
from btpy.events.aggregates import Count
from tests.jdks import all_jdks, compiled
from tests.live.scripts import JAVA, program
from tests.targets import target

TIMES = 211

SCRIPT = """
@OnMethod(class="java.lang.Object", method="wait", location=EXIT) { @wait = count(); print(stack(3)); }
@OnMethod(class="java.lang.Thread", method="/start|exit|run/", location=ENTRY) {
    @thread[method] = count(); print(thread_name);
}
@OnMethod(class="java.lang.ClassLoader", method="loadClass", location=RETURN) { @load[arg0] = count(); print(arg0); }
@OnMethod(class="java.util.concurrent.locks.LockSupport", method="/(un)?park.*/", location=ENTRY) { @park = count(); }
@OnMethod(class="/java.lang.ref.(Reference|ReferenceQueue|Finalizer|Cleaner).*/", method="*", location=ENTRY) {
    @reference[method] = count();
}
@OnMethod(class="jdk.internal.ref.CleanerImpl", method="*", location=ENTRY) { @cleaner[method] = count(); }
@OnMethod(class="java.util.logging.Logger", method="info", location=ENTRY) { @log = count(); print(stack(5)); }
@OnMethod(class="java.util.logging.Logger", method="log", location=ENTRY) { print(thread_name); }
@OnMethod(class="java.io.PrintStream", method="/print.*|write.*/", location=ENTRY) {
    @print[method] = count(); print(method);
}
@OnMethod(class="java.util.concurrent.locks.ReentrantLock", method="/(un)?lock/", location=ENTRY) { @lock = count(); }
@OnMethod(class="Locking", method="waited", location=RETURN) { @waited = count(); print(retval, stack(4)); }
@OnMethod(class="Locking", method="lock", location=SYNC_ENTER) { @sync = count(); }
@OnMethod(class="Locking$Initialised", method="/<clinit>|value/", location=ENTRY, max=5000, pending=true) {
    @initialised[method] = count(); print(method, stack(6));
}
@OnMethod(class="jdk.internal.misc.Signal", method="*", location=ENTRY) { @signal[method] = count(); print(stack(4)); }
@OnMethod(class="Locking", method="handle", location=ENTRY) { @handled = count(); print(thread_name, stack(5)); }
@OnMethod(class="Locking$Finalized", method="finalize", location=ENTRY, pending=true) { @finalized = count(); }
"""


def run(jdk: int, *, loaded_first: bool) -> None:
    # The client weaves a thousand methods. Meanwhile the application loads a class, which waits for the client.
    flags = ["-Xverify:all", "-Xmx128m", f"-Dstall.millis={1_000 if loaded_first else 5_000}"]
    with target(jdk, "Locking", classpath=[compiled([JAVA / "Locking.java"])], flags=flags) as jvm:
        with Session.attach(jvm.pid, Limits(class_load_deadline_ms=10_000, event_buffer_bytes=1 << 20)) as session:
            if not loaded_first:
                jvm.send()
            session.deployer.load(program(SCRIPT), missing="ignore", allow=["core"])
            if loaded_first:
                jvm.send()
            jvm.wait_for("done")
            if loaded_first:
                maps = {content.map.name: dict(content.entries) for content in session.delivery.snapshot()}
                assert maps["waited"] == {(): Count(TIMES)}
                assert maps["initialised"] == {("<clinit>",): Count(TIMES), ("value",): Count(TIMES)}
                assert maps["log"] == {(): Count(TIMES)}
                assert maps["handled"] == {(): Count(TIMES)}
                assert maps["signal"]["dispatch",] == Count(TIMES)
            # The application's shutdown hook runs while the agent's hook waits for this client.
            jvm.wait_for("hook")
            receipt = session.departure.detach()
            for account in receipt.accounts:
                assert account.produced == account.delivered + account.dropped, account
        assert jvm.wait() == 0
        assert [line for line in jvm.stderr if "Xverify" not in line and "BytecodeVerification" not in line] == []


@all_jdks
def test_no_thread_stalls_with_probes_in_all_classes(jdk: int) -> None:
    run(jdk, loaded_first=True)


def test_nothing_stands_still_while_probes_go_in() -> None:
    run(17, loaded_first=False)
