"""Requests of OTLP over HTTP, and the meaning of the answers.

Source: OTLP specification 1.9, "OTLP/HTTP Response": 200 is delivered, maybe in part; 429, 502, 503, 504 and broken
connections may be repeated, after the time of ``Retry-After``; other requests may not be repeated.
"""

from __future__ import annotations

import email.utils
import gzip
import http.client
import ssl
import time
from typing import NamedTuple

from btpy.deadline import Deadline
from btpy.distribution import version
from btpy.errors import UsageError
from btpy.output.otlp.settings import Credentials, Endpoint
from btpy.tls import client_context

_REPEATABLE = (429, 502, 503, 504)
_MOST_ANSWER = 1 << 16  # the maximum number of bytes of an answer that are read
_LONGEST_PAUSE = 300.0  # longest pause in seconds that a server may ask for
_MOST_REASON = 200  # the maximum number of characters of an answer that are shown
_LEAST_GZIP = 1024  # size in bytes from which a body is compressed


class Delivered(NamedTuple):
    """``answer``: the message of the service, which may reject a part."""

    answer: bytes


class Repeatable(NamedTuple):
    """The request may be sent again, after ``seconds`` at least if the server says so."""

    reason: str
    seconds: float | None = None


class Refused(NamedTuple):
    """The server will never accept this request."""

    reason: str


Outcome = Delivered | Repeatable | Refused


class Transport:
    """A connection that stays open between requests. One thread uses it; any thread may :meth:`abort`."""

    def __init__(self, endpoint: Endpoint) -> None:
        """Raises UsageError for certificates that cannot be read."""
        self.endpoint = endpoint
        self._tls = _tls(endpoint.credentials) if endpoint.url.scheme == "https" else None
        self._connection: http.client.HTTPConnection | None = None
        self._answer = bytearray(_MOST_ANSWER)
        self._deadline: Deadline | None = None  # of the last request
        self._aborted = False

    def post(self, body: bytes) -> Outcome:
        """Sends a message and waits for the answer, for the timeout of the endpoint at most."""
        if self._aborted:
            return Repeatable("btpy is ending")
        try:
            with Deadline(self.endpoint.timeout) as self._deadline:
                return self._exchange(body, self._deadline)
        except (OSError, http.client.HTTPException, ValueError) as cause:
            self.close()
            if isinstance(cause, ssl.SSLCertVerificationError):
                return Refused(f"the certificate is not trusted: {cause.verify_message}")
            return Repeatable(_reason(cause))

    def abort(self) -> None:
        """Ends the current request, and prevents further requests."""
        self._aborted = True
        if self._deadline is not None:
            self._deadline.expire()

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _exchange(self, body: bytes, deadline: Deadline) -> Outcome:
        endpoint = self.endpoint
        connection = self._connection or self._connect()
        deadline.watch(connection.sock)
        if self._aborted:
            raise TimeoutError
        headers = {
            "Content-Type": "application/x-protobuf",
            "User-Agent": f"OTel-OTLP-Exporter-btpy/{version()}",
            **dict(endpoint.headers),
        }
        if endpoint.gzip and len(body) >= _LEAST_GZIP:
            body = gzip.compress(body, 3)
            headers["Content-Encoding"] = "gzip"
        connection.request("POST", endpoint.url.path, body, headers)
        response = connection.getresponse()
        answer = self._read(response)
        if response.will_close or not response.isclosed():
            self.close()
        if response.status == 200:
            return Delivered(answer)
        reason = f"{response.status} {printable(response.reason)}".rstrip()
        if response.status in _REPEATABLE:
            return Repeatable(reason, _seconds(response.getheader("Retry-After")))
        is_message = response.getheader("Content-Type", "").startswith("application/x-protobuf")
        details = "" if is_message else printable(answer.decode("utf-8", "replace"))
        return Refused(f"{reason}: {details}" if details else reason)

    def _read(self, response: http.client.HTTPResponse) -> bytes:
        """The answer, or its beginning. The buffer limits the memory: ``HTTPResponse.read`` treats a chunk of a
        negative size as a chunk without an end.
        """
        count = response.readinto(self._answer)
        if response.length and count < _MOST_ANSWER:
            raise TimeoutError  # the server or the deadline has closed the connection
        return bytes(self._answer[:count])

    def _connect(self) -> http.client.HTTPConnection:
        url, timeout = self.endpoint.url, self.endpoint.timeout
        host = url.hostname or ""
        if self._tls is None:
            connection = http.client.HTTPConnection(host, self.endpoint.port, timeout=timeout)
        else:
            connection = http.client.HTTPSConnection(host, self.endpoint.port, timeout=timeout, context=self._tls)
        self._connection = connection
        connection.connect()
        return connection


def _tls(credentials: Credentials) -> ssl.SSLContext:
    try:
        context = client_context(credentials.authorities)
        if credentials.certificate is not None:
            context.load_cert_chain(credentials.certificate, credentials.key)
    except (OSError, ssl.SSLError) as cause:
        raise UsageError(
            f"the certificates for the export cannot be read: {_reason(cause)}",
            help=["see OTEL_EXPORTER_OTLP_CERTIFICATE, …_CLIENT_CERTIFICATE and …_CLIENT_KEY"],
        ) from cause
    return context


def _seconds(retry_after: str | None) -> float | None:
    """The seconds in ``Retry-After``, which is a number of seconds or a date; at most ``_LONGEST_PAUSE``."""
    if retry_after is None:
        return None
    text = retry_after.strip()
    try:
        seconds = (
            float(text)
            if text.isascii() and text.isdigit()
            else email.utils.parsedate_to_datetime(text).timestamp() - time.time()
        )
    except (ValueError, OverflowError):
        return None
    return min(max(0.0, seconds), _LONGEST_PAUSE)


def _reason(cause: Exception) -> str:
    if isinstance(cause, TimeoutError):
        return "no answer in time"
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror.lower()
    return printable(str(cause)) or type(cause).__name__


def printable(text: str) -> str:
    """A text of another program, as one line without control characters."""
    return "".join(c if c.isprintable() else " " for c in text)[:_MOST_REASON].strip()
