"""Real programs from Maven Central, fetched with Maven by their coordinates, pinned by SHA-256, kept in the cache."""

from __future__ import annotations

import functools
import hashlib
import shutil
import subprocess
from pathlib import Path

from tests.jdks import cache, locked

WIREMOCK = "org.wiremock:wiremock-standalone:3.13.2"
H2 = "com.h2database:h2:2.5.252"
FELIX = "org.apache.felix:org.apache.felix.framework:7.0.5"
JACOCO_AGENT = "org.jacoco:org.jacoco.agent:0.8.14:jar:runtime"
JACOCO_CLI = "org.jacoco:org.jacoco.cli:0.8.14:jar:nodeps"
BYTEMAN = "org.jboss.byteman:byteman:4.0.24"

_PINS = Path(__file__).parent / "artifacts.sha256"
_ATTEMPTS = 3
_FETCH_SECONDS = 90
_IMPATIENT = ("-Dmaven.wagon.rto=20000", "-Daether.connector.requestTimeout=20000")
"""Milliseconds without a byte after which a download is begun again; Maven itself waits for half an hour."""

_GET = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:get"


class MissingArtifactError(Exception):
    """An artifact that cannot be fetched, or that has another checksum."""


def artifact(coordinates: str) -> Path:
    """The file of ``group:name:version`` or ``group:name:version:type:classifier``, without its dependencies.

    Needs the network only the first time. Raises MissingArtifactError.
    """
    group, name, version, *kind = coordinates.split(":")
    repository = cache() / "maven"
    suffix = kind[0] if kind else "jar"
    jar = repository.joinpath(*group.split("."), name, version, f"{'-'.join([name, version, *kind[1:]])}.{suffix}")
    with locked("maven"):  # two Maven processes cannot share a local repository
        if not jar.exists():
            _fetch(coordinates, repository)
    digest = hashlib.sha256(jar.read_bytes()).hexdigest()
    pinned = _pinned()[coordinates]
    if digest != pinned:
        raise MissingArtifactError(f"{jar} has SHA-256 {digest}, pinned is {pinned}: delete it or change the pin")
    return jar


@functools.cache
def _pinned() -> dict[str, str]:
    """SHA-256 by coordinates, from lines as sha256sum writes them."""
    rows = [line.split() for line in _PINS.read_text(encoding="utf-8").splitlines()]
    return {coordinates: digest for digest, coordinates in rows}


def _fetch(coordinates: str, repository: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise MissingArtifactError(f"{coordinates} needs Maven to be fetched: install mvn")
    command = [maven, "--quiet", "--batch-mode", f"-Dmaven.repo.local={repository}", *_IMPATIENT, _GET]
    command += [f"-Dartifact={coordinates}", "-Dtransitive=false"]
    problem = ""
    for _ in range(_ATTEMPTS):
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_FETCH_SECONDS
            )
        except subprocess.TimeoutExpired:
            problem = f"it does not end in {_FETCH_SECONDS} s"
            continue
        if done.returncode == 0:
            return
        problem = f"{done.stdout}{done.stderr}"
    raise MissingArtifactError(f"Maven cannot fetch {coordinates}:\n{problem}")
