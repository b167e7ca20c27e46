"""TLS with servers."""

from __future__ import annotations

import ssl
from pathlib import Path


def client_context(authorities: Path | None) -> ssl.SSLContext:
    """A context that checks the name and the certificate of the server. ``authorities``: a file with the trusted
    certificates; None: the trusted certificates of the system. Raises OSError for a file that cannot be read.
    """
    context = ssl.create_default_context(cafile=None if authorities is None else str(authorities))
    context.minimum_version = ssl.TLSVersion.TLSv1_2  # the Python of some distributions allows older versions
    return context
