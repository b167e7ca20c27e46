"""The address on which an exposition listens, and the token or the certificate that its readers need."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import BinaryIO, NamedTuple

from btpy.dataclass import dataclass
from btpy.errors import UsageError

TOKEN_VARIABLE = "BTPY_PROMETHEUS_TOKEN"
LOOPBACK = "127.0.0.1"

_LEAST_CHARACTERS, _MOST_CHARACTERS = 16, 1024
_HELP = (
    "--prometheus 9464 listens on the loopback interface",
    "--prometheus 0.0.0.0:9464 needs a token, or client certificates",
)


class AccessFiles(NamedTuple):
    """The files that the user names, as texts. ``key``: None if the key is in the file of the certificate."""

    token: str | None = None
    certificate: str | None = None
    key: str | None = None
    client_authorities: str | None = None


class TlsFiles(NamedTuple):
    """Files in PEM format. ``key``: None if the key is in the file of the certificate. ``client_authorities``:
    certificates that sign the certificates of clients; None if clients need no certificate."""

    certificate: Path
    key: Path | None = None
    client_authorities: Path | None = None


@dataclass(frozen=True, slots=True)
class ExpositionSettings:
    """``host``: a numeric address. ``token``: None if readers need no token. ``tls``: None for plain HTTP."""

    host: str
    port: int
    token: str | None = None
    tls: TlsFiles | None = None

    @property
    def is_loopback(self) -> bool:
        return ip_address(self.host).is_loopback

    @property
    def has_client_certificates(self) -> bool:
        return self.tls is not None and self.tls.client_authorities is not None

    @property
    def is_open(self) -> bool:
        """Whether everybody who reaches the address may read."""
        return self.token is None and not self.has_client_certificates


def settings_of(address: str, files: AccessFiles, environment: Mapping[str, str]) -> ExpositionSettings:
    """``address``: ``[HOST:]PORT``. Raises UsageError for an address, a token or files that cannot be used."""
    host, _, port = address.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) < 1 << 16):
        raise UsageError(f"--prometheus takes [HOST:]PORT, not {address!r}", help=_HELP)
    settings = ExpositionSettings(
        _numeric(host.removeprefix("[").removesuffix("]") or LOOPBACK),
        int(port),
        _token(files.token, environment),
        _tls(files),
    )
    if not settings.is_loopback and settings.is_open:
        raise UsageError(
            f"--prometheus {address}: other machines could read the results without a token or a client certificate",
            help=[
                "--prometheus-token-file FILE; in Prometheus: authorization: {credentials_file: FILE}",
                f"or the token in ${TOKEN_VARIABLE}; or --prometheus-client-ca-file FILE with a certificate",
                f"only on this machine:  --prometheus {port}",
            ],
        )
    return settings


def _tls(files: AccessFiles) -> TlsFiles | None:
    """None: plain HTTP. Raises UsageError for files that do not belong together, or a key that other users can read."""
    if files.certificate is None:
        for name, file in (("key-file", files.key), ("client-ca-file", files.client_authorities)):
            if file is not None:
                raise UsageError(f"--prometheus-{name} needs --prometheus-cert-file FILE")
        return None
    with _secret_file(Path(files.key or files.certificate), "key"):
        pass
    return TlsFiles(
        Path(files.certificate),
        None if files.key is None else Path(files.key),
        None if files.client_authorities is None else Path(files.client_authorities),
    )


def _numeric(host: str) -> str:
    """The address on which to listen. Raises UsageError."""
    try:
        return str(ip_address(host))
    except ValueError:
        pass
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as cause:
        raise UsageError(f"--prometheus: {host!r} is not an address of this machine", help=_HELP) from cause
    return str(found[0][4][0])


def _token(token_file: str | None, environment: Mapping[str, str]) -> str | None:
    """The token; None if the user has not set one. Raises UsageError."""
    if token_file is None:
        text = environment.get(TOKEN_VARIABLE)
        return None if not text else _checked(text, TOKEN_VARIABLE)
    with _secret_file(Path(token_file), "token") as file:
        return _checked(file.read(_MOST_CHARACTERS + 2).decode("ascii", "replace"), token_file)


@contextmanager
def _secret_file(path: Path, secret: str) -> Iterator[BinaryIO]:
    """Raises UsageError for a file that cannot be read, or that other users can read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            about = os.fstat(descriptor)
            if not stat.S_ISREG(about.st_mode):
                raise UsageError(f"the {secret} file {path} is not a file")
            if about.st_mode & 0o007:
                raise UsageError(f"other users can read the {secret} in {path}", help=[f"chmod 600 {path}"])
            yield file
    except OSError as cause:
        raise UsageError(f"cannot read {path}: {(cause.strerror or str(cause)).lower()}") from cause


def _checked(text: str, origin: str) -> str:
    """Raises UsageError. No message repeats the token."""
    token = text.strip()
    if not _LEAST_CHARACTERS <= len(token) <= _MOST_CHARACTERS or not all("!" <= char <= "~" for char in token):
        raise UsageError(
            f"the token in {origin} must have {_LEAST_CHARACTERS} to {_MOST_CHARACTERS} printable ASCII characters",
            help=["openssl rand -hex 32 > token; chmod 600 token"],
        )
    return token
