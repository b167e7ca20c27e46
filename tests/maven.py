"""Real programs from Maven Central, fetched with Maven by their coordinates, pinned by SHA-256, kept in the cache.

``python -m tests.maven`` fetches all that ``make test`` needs with one Maven, which takes seconds to start.
"""

from __future__ import annotations

import functools
import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.jdks import cache, locked

WIREMOCK = "org.wiremock:wiremock-standalone:3.13.2"
H2 = "com.h2database:h2:2.5.252"
FELIX = "org.apache.felix:org.apache.felix.framework:7.0.5"
JACOCO_AGENT = "org.jacoco:org.jacoco.agent:0.8.14:jar:runtime"
JACOCO_CLI = "org.jacoco:org.jacoco.cli:0.8.14:jar:nodeps"
BYTEMAN = "org.jboss.byteman:byteman:4.0.24"

_DIRECTORY = Path(__file__).parent
_OF_TESTS = _DIRECTORY / "artifacts.sha256"
_OF_PROOFS = _DIRECTORY / "proof_artifacts.sha256"
_ATTEMPTS = 3
_FETCH_SECONDS = 90
_FETCH_ALL_SECONDS = 600
_IMPATIENT = ("-Dmaven.wagon.rto=20000", "-Daether.connector.requestTimeout=20000")
"""Milliseconds without a byte after which a download is begun again; Maven itself waits for half an hour."""

_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"
_PROJECT = """<project><modelVersion>4.0.0</modelVersion>
<groupId>tests</groupId><artifactId>tests</artifactId><version>1</version><packaging>pom</packaging>
<build><plugins><plugin>
<groupId>org.apache.maven.plugins</groupId><artifactId>maven-dependency-plugin</artifactId><version>3.6.1</version>
<configuration><outputDirectory>{directory}</outputDirectory><artifactItems>{items}</artifactItems></configuration>
</plugin></plugins></build></project>
"""


class MissingArtifactError(Exception):
    """An artifact that cannot be fetched, or that has another checksum."""


def artifact(coordinates: str) -> Path:
    """The file of ``group:name:version`` or ``group:name:version:type:classifier``, without its dependencies.

    Needs the network only the first time. Raises MissingArtifactError.
    """
    jar = _place(coordinates)
    with locked("maven"):  # two Maven processes cannot share a local repository
        if not jar.exists():
            _fetch([coordinates], _FETCH_SECONDS)
    digest = hashlib.sha256(jar.read_bytes()).hexdigest()
    pinned = (_pinned(_OF_TESTS) | _pinned(_OF_PROOFS))[coordinates]
    if digest != pinned:
        raise MissingArtifactError(f"{jar} has SHA-256 {digest}, pinned is {pinned}: delete it or change the pin")
    return jar


def _place(coordinates: str) -> Path:
    """The file of an artifact in the local repository."""
    group, name, version, *kind = coordinates.split(":")
    suffix = kind[0] if kind else "jar"
    file = f"{'-'.join([name, version, *kind[1:]])}.{suffix}"
    return _repository().joinpath(*group.split("."), name, version, file)


def _repository() -> Path:
    return cache() / "maven"


@functools.cache
def _pinned(pins: Path) -> dict[str, str]:
    """SHA-256 by coordinates, from lines as sha256sum writes them."""
    rows = [line.split() for line in pins.read_text(encoding="utf-8").splitlines()]
    return {coordinates: digest for digest, coordinates in rows}


def _fetch(coordinates: Sequence[str], seconds: float) -> None:
    """Without their dependencies. ``seconds``: the time that one attempt may take. Raises MissingArtifactError."""
    maven = shutil.which("mvn")
    if maven is None:
        raise MissingArtifactError(f"{coordinates[0]} needs Maven to be fetched: install mvn")
    with tempfile.TemporaryDirectory(prefix="btpy-maven-") as directory:
        project = Path(directory) / "pom.xml"
        project.write_text(
            _PROJECT.format(directory=directory, items="".join(map(_item, coordinates))), encoding="utf-8"
        )
        command = [maven, "--quiet", "--batch-mode", "--file", str(project), f"-Dmaven.repo.local={_repository()}"]
        command += [*_IMPATIENT, f"{_PLUGIN}:copy"]
        problem = ""
        for _ in range(_ATTEMPTS):
            try:
                result = subprocess.run(
                    command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds
                )
            except subprocess.TimeoutExpired:
                problem = f"it does not end in {seconds:.0f} s"
                continue
            if result.returncode == 0:
                return
            problem = f"{result.stdout}{result.stderr}"
    raise MissingArtifactError(f"Maven cannot fetch {', '.join(coordinates)}:\n{problem}")


def _item(coordinates: str) -> str:
    group, name, version, *kind = coordinates.split(":")
    values = {"groupId": group, "artifactId": name, "version": version}
    values |= dict(zip(("type", "classifier"), kind, strict=False))
    return f"<artifactItem>{''.join(f'<{key}>{value}</{key}>' for key, value in values.items())}</artifactItem>"


def _fetch_all() -> None:
    absent_artifacts = [coordinates for coordinates in _pinned(_OF_TESTS) if not _place(coordinates).exists()]
    if not absent_artifacts:
        return
    try:
        with locked("maven"):
            _fetch(absent_artifacts, _FETCH_ALL_SECONDS)
    except MissingArtifactError as error:
        print(f"{error}\nThe tests that need one of them fetch it.", file=sys.stderr)


if __name__ == "__main__":
    _fetch_all()
