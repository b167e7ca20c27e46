"""Certificates for tests of TLS, made by ``openssl``."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Pair:
    """A certificate and its key."""

    certificate: Path
    key: Path


def authority(directory: Path, name: str) -> Pair:
    return _made(directory, name, "")


def signed(directory: Path, name: str, by: Pair, *, days: int = 2) -> Pair:
    """A certificate for a server or a client at 127.0.0.1, signed by ``by``."""
    return _made(directory, name, f"-CA {by.certificate} -CAkey {by.key} -addext basicConstraints=CA:FALSE", days)


def _made(directory: Path, name: str, options: str, days: int = 2) -> Pair:
    pair = Pair(directory / f"{name}.pem", directory / f"{name}.key")
    command = (
        f"openssl req -x509 -newkey rsa:2048 -nodes -days {days} -subj /CN={name}"
        f" -addext subjectAltName=IP:127.0.0.1 {options} -keyout {pair.key} -out {pair.certificate}"
    )
    subprocess.run(command.split(), check=True, capture_output=True)
    return pair
