"""Real programs from Maven Central, fetched with Maven by their coordinates, pinned by SHA-256, kept in the cache."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

from tests.jdks import cache, locked

WIREMOCK = "org.wiremock:wiremock-standalone:3.13.2"
H2 = "com.h2database:h2:2.5.252"

_SHA256 = {
    WIREMOCK: "d097b19bd483c5038479b13a5c71e9faf8f2f5106584f0c120a7770ab0bdb367",
    H2: "90b11dc413da82070ef15fc943282c1408e6ffd34fa68998335fea8603b5ff20",
}
_GET = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:get"


class MissingArtifactError(Exception):
    """An artifact that cannot be fetched, or is not the one that was pinned."""


def artifact(coordinates: str) -> Path:
    """The jar of ``group:name:version``, without its dependencies. Needs the network only the first time.

    Raises MissingArtifactError.
    """
    group, name, version = coordinates.split(":")
    repository = cache() / "maven"
    jar = repository.joinpath(*group.split("."), name, version, f"{name}-{version}.jar")
    with locked("maven"):  # a local repository is not made for two Mavens at once
        if not jar.exists():
            _fetch(coordinates, repository)
    digest = hashlib.sha256(jar.read_bytes()).hexdigest()
    if digest != _SHA256[coordinates]:
        raise MissingArtifactError(
            f"{jar} has SHA-256 {digest}, pinned is {_SHA256[coordinates]}: delete it or change the pin"
        )
    return jar


def _fetch(coordinates: str, repository: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise MissingArtifactError(f"{coordinates} needs Maven to be fetched: install mvn")
    command = [maven, "--quiet", "--batch-mode", f"-Dmaven.repo.local={repository}", _GET]
    options = [f"-Dartifact={coordinates}", "-Dtransitive=false"]
    done = subprocess.run([*command, *options], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise MissingArtifactError(f"Maven cannot fetch {coordinates}:\n{done.stdout}{done.stderr}")
