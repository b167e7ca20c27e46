"""The server's side of TLS, by the standard library."""

from __future__ import annotations

import ssl

from btpy.errors import UsageError
from btpy.output.prometheus.settings import TlsFiles


def server_context(files: TlsFiles) -> ssl.SSLContext:
    """With ``files.client_authorities``, each handshake needs a client certificate that one of them has signed. Raises
    UsageError for files that cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION
    context.num_tickets = 0  # each connection proves its certificate anew
    try:
        context.load_cert_chain(files.certificate, files.key, password=_no_password)
    except (OSError, ValueError) as cause:
        key = "" if files.key is None else f" with the key of {files.key}"
        raise _unusable(f"the certificate in {files.certificate}{key}", cause) from cause
    if files.client_authorities is not None:
        try:
            context.load_verify_locations(files.client_authorities)
        except (OSError, ValueError) as cause:
            raise _unusable(f"the certificates in {files.client_authorities}", cause) from cause
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _no_password() -> str:
    """OpenSSL would ask for the password of the key at the terminal."""
    raise ValueError("the key needs a password")


def _unusable(what: str, cause: Exception) -> UsageError:
    if isinstance(cause, ssl.SSLError) and cause.reason:
        reason = cause.reason.lower().replace("_", " ")
    else:
        reason = ((cause.strerror if isinstance(cause, OSError) else None) or str(cause)).lower()
    return UsageError(f"cannot use {what}: {reason}", help=["the files of --prometheus are PEM"])
