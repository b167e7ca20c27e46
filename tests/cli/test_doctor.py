"""``btpy doctor``: a healthy JVM passes every step; for any other JVM, doctor names the problem and its remedy."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from btpy.api.doctor import Outcome, Step, examine
from btpy.jvm import launch, problems, processes
from btpy.model.attach_method import AttachMethod
from tests.cli.test_command import UNUSED_PID, btpy
from tests.conftest import Golden
from tests.jdks import all_jdks_and_8
from tests.jvm.test_attach import namespaces, needs_root
from tests.live.scripts import counted, waited
from tests.maven import JACOCO_AGENT, artifact


def failing(target: Any, method: AttachMethod = AttachMethod.DIRECT) -> Step:
    """The one step that fails. The steps before it pass, and the steps after it are not tested."""
    steps = list(examine(str(target), method))
    outcomes = [step.outcome for step in steps]
    at = outcomes.index(Outcome.FAILED)
    assert not {Outcome.FAILED, Outcome.UNTESTED} & set(outcomes[:at])
    assert set(outcomes[at + 1 :]) <= {Outcome.UNTESTED}
    return steps[at]


@all_jdks_and_8
def test_a_sound_jvm_passes_and_is_left_clean(jdk: int, golden: Golden) -> None:
    with counted(jdk) as target:
        result = btpy("doctor", target.pid)
        assert result.returncode == 0, result.stdout
    text = re.sub(rf"(?<![\d.]){target.pid}(?![\d.])", "PID", result.stdout)
    text = re.sub(r"\d+ (ms|classes|idle)|(?<=loaders     )\d+", "N", re.sub(r"(JDK|Java) [\d.]+", r"\1 V", text))
    text = re.sub(r"[\d.]+ MB", "N MB", text)
    text = re.sub(r"(own Java +|build )[/\w][^\s;]*", r"\1X", text)
    text = re.sub(r"(?<=[(:])/\S*\.jar", "JAR", text)
    text = re.sub(r"JDK V, .*", "JDK V, VM", text)
    text = re.sub(r"(?<=limits            ).*", "LIMITS", text)  # limits of the machine and its control groups
    if jdk == 17:
        golden.check("cli/doctor.txt", text + "---\n" + result.stderr)


@pytest.mark.parametrize(
    ("flag", "step", "code"),
    [
        ("-XX:+DisableAttachMechanism", "attach", "BT505"),
        ("-XX:-EnableDynamicAgentLoading", "agents", "BT506"),
    ],
)
def test_a_jvm_started_not_to_be_traced(flag: str, step: str, code: str) -> None:
    with counted(17, flag) as target:
        result = btpy("doctor", target.pid, "--json")
        assert result.returncode == 3
        steps = [json.loads(line) for line in result.stdout.splitlines()]
        (failed_step,) = [step for step in steps if step["outcome"] == "failed"]
        assert (failed_step["step"], failed_step["code"]) == (step, code)
        assert failed_step["help"]
        assert [step["outcome"] for step in steps].count("not tested") == len(steps) - steps.index(failed_step) - 1
        assert f"“{step}” failed" in result.stderr


def test_a_stopped_jvm() -> None:
    with counted(17) as target:
        os.kill(target.pid, signal.SIGSTOP)
        try:
            waited(lambda: not processes.describe(target.pid).attachable, "it stops")
            step = failing(target.pid)
        finally:
            os.kill(target.pid, signal.SIGCONT)
        assert (step.name, step.code, step.help) == ("running", "BT513", (f"kill -CONT {target.pid}",))


def test_no_such_process_and_no_jvm() -> None:
    assert (failing(UNUSED_PID).name, failing(UNUSED_PID).code) == ("process", "BT502")
    assert (failing("no.such.Main").name, failing("no.such.Main").code) == ("process", "BT511")
    result = btpy("doctor", os.getpid())
    assert result.returncode == 3
    assert re.search(r"^FAIL  JVM .* is not a JVM: it has no libjvm.so \[BT504\]$", result.stdout, re.MULTILINE)
    assert "→ btpy ps lists the JVMs" in result.stdout


def test_the_jvm_of_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    with counted(17) as target:
        monkeypatch.setattr(os, "geteuid", lambda: 4711)
        step = failing(target.pid)
        assert (step.name, step.code) == ("user", "BT501")
        assert step.help[0].startswith("sudo -u ")


def test_openj9(monkeypatch: pytest.MonkeyPatch) -> None:
    with counted(17) as target:
        process = replace(processes.describe(target.pid), obstacle=problems.not_hotspot(target.pid))
        monkeypatch.setattr(processes, "find", lambda name: process)
        step = failing(target.pid)
        assert (step.name, step.code) == ("JVM", "BT504")


def test_a_stale_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    with counted(17) as target:
        path = Path("/tmp") / f".java_pid{target.pid}"
        with socket.socket(socket.AF_UNIX) as stale_socket:
            stale_socket.bind(str(path))

        def refuse(path: Path, missing_ok: bool = False) -> None:
            raise PermissionError(1, "Operation not permitted")

        with monkeypatch.context() as patched:
            patched.setattr(Path, "unlink", refuse)
            step = failing(target.pid)
        assert (step.name, step.code) == ("attach socket", "BT517")
        steps = {step.name: step for step in examine(str(target.pid))}
        assert steps["attach socket"].detail == f"{path} was left by a JVM that was killed, and is removed"
        assert steps["leaves clean"].outcome is Outcome.PASSED


def test_no_java_for_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing() -> Path:
        raise problems.no_java(["no JAVA_HOME", "no java on PATH"])

    with counted(17) as target:
        monkeypatch.setattr(launch, "attach_home", nothing)
        step = failing(target.pid, AttachMethod.JPYPE)
        assert (step.name, step.code) == ("own Java", "BT510")


def test_an_agent_that_does_not_call_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(connecting: object, limits: object = None) -> None:
        raise problems.did_not_connect(4711, "the agent did not connect")

    with counted(17) as target:
        monkeypatch.setattr("btpy.api.doctor.Session.connected", silent)
        step = failing(target.pid)
        assert (step.name, step.code) == ("connection", "BT514")


def test_a_jvm_that_cannot_retransform(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(connecting: object, limits: object = None) -> None:
        raise problems.no_retransformation(4711)

    with counted(17) as target:
        monkeypatch.setattr("btpy.api.doctor.Session.connected", refused)
        step = failing(target.pid)
        assert (step.name, step.code) == ("retransform", "BT518")


@needs_root
@pytest.mark.parametrize(
    ("mount", "outcome"),
    [("size=512k", "note  room in /tmp"), ("size=512k,nr_inodes=12", "FAIL  room in /tmp")],
)
def test_a_full_tmp(mount: str, outcome: str) -> None:
    """On a full disk btpy cannot copy the agent's jar; without free inodes it cannot create a socket, either."""
    namespaces()
    if Path(sys.prefix).is_relative_to("/tmp") or Path.cwd().is_relative_to("/tmp"):
        pytest.skip("the file system that hides /tmp would hide btpy itself")
    fill = "dd if=/dev/zero of=/tmp/fill bs=4k 2>/dev/null; i=0; while : > /tmp/name$i; do i=$((i+1)); done 2>/dev/null"
    prefix = ["unshare", "--mount", "sh", "-c", f'mount -t tmpfs -o {mount} none /tmp && exec "$@"', "sh"]
    with counted(17, prefix=prefix) as target:
        inside = ["nsenter", "--mount", f"--target={target.pid}", "--wd=" + os.getcwd()]
        names = fill if "inodes" in mount else fill.partition(";")[0]
        subprocess.run([*inside, "sh", "-c", names], check=False)
        command = [*inside, sys.executable, "-m", "btpy", "doctor", str(target.pid)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert outcome in result.stdout, result.stdout + result.stderr
        assert "no space left on device" in result.stdout
        assert "free some space: df -h /tmp; df -i /tmp" in result.stdout
        assert result.returncode == (3 if outcome.startswith("FAIL") else 0)
        if outcome.startswith("FAIL"):
            command = [
                *inside,
                "env",
                f"TMPDIR={os.getcwd()}",
                sys.executable,
                "-m",
                "btpy",
                "ls",
                str(target.pid),
                "Counted",
            ]
            result = subprocess.run(command, capture_output=True, text=True, check=False)
            assert (result.returncode, "no free inodes" in result.stderr) == (3, True), result.stderr


def test_other_agents_are_named() -> None:
    with counted(17, f"-javaagent:{artifact(JACOCO_AGENT)}=output=none") as target:
        (step,) = [step for step in examine(str(target.pid)) if step.name == "other agents"]
        assert step.outcome is Outcome.WARNING
        assert re.match(r"-javaagent:/.*\.jar, JaCoCo: ", step.detail)
