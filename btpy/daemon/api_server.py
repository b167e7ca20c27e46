"""Asks the API server of Kubernetes about the pods of this node, with the service account of btpy's own pod.

btpy asks for the metadata of pods only: it never sees their specifications, which may have secrets in them. The answers
are bounded and checked, and no text of the server gets into a message.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from btpy.dataclass import dataclass
from btpy.deadline import Deadline
from btpy.errors import BtpyError, UsageError
from btpy.tls import client_context

NODE_VARIABLE = "BTPY_NODE"
ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where kubelet writes the token of the account and the certificate of the API server."""

_METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_STEP_SECONDS = 5.0  # the time limit of a step of the connection
_ALL_SECONDS = 20.0  # the time limit of a request with its whole answer
_MOST_BYTES, _MOST_TOKEN, _MOST_PODS = 16 << 20, 64 << 10, 5000
_PIECE = 64 << 10

_HOST = r"[A-Za-z0-9.:-]{1,253}"
_NODE = r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?"
_TOKEN = r"[A-Za-z0-9._~+/=-]+"
_VERSION = r"[A-Za-z0-9]{1,64}"
_UID = r"[A-Za-z0-9-]{1,64}"

_MIRROR = "kubernetes.io/config.mirror"
"""kubelet starts static pods from files, and makes a pod of its own in the API server for each, the mirror. It copies
labels and annotations into the mirror. This annotation has the uid of the static pod, which its control groups have.
"""

_REASONS = {
    401: "the token of the service account is not valid",
    403: "the service account must not list pods; examples/kubernetes/daemonset.yaml has the ClusterRole for it",
}
_TOO_OLD = (410, 504)  # the server does not have the state of the last answer: it was restored, or it is behind


class ApiServerError(BtpyError):
    """The API server did not give the pods of the node."""


@dataclass(frozen=True, slots=True)
class PodMetadata:
    namespace: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Access:
    """The address of the API server, the directory of the service account, and the name of the node."""

    host: str
    port: int
    account: Path
    node: str

    @classmethod
    def of(cls, environ: Mapping[str, str], account: Path | None = None) -> Access:
        """Raises UsageError outside of a pod, and in a pod without an address, a token or the name of the node."""
        account = account or ACCOUNT
        host, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "443")
        if not host:
            raise UsageError(
                "labels and annotations of pods come from the API server, and btpy does not run in a pod",
                help=[
                    "run the daemon as examples/kubernetes/daemonset.yaml does",
                    'or name pods and main classes:  jvms = ["pod/prod/shop"]',
                ],
            )
        if not re.fullmatch(_HOST, host) or not re.fullmatch(r"\d{1,5}", port) or int(port) > 65535:
            raise UsageError("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are no address")
        if not (account / "token").exists():
            raise UsageError(
                f"labels and annotations of pods need the token of a service account, and {account} has none",
                help=["remove  automountServiceAccountToken: false  from the account and the pod of btpy"],
            )
        node = environ.get(NODE_VARIABLE, "")
        if not re.fullmatch(_NODE, node):
            raise UsageError(
                f"labels and annotations of pods need the name of the node in {NODE_VARIABLE}",
                help=[f"env: [{{name: {NODE_VARIABLE}, valueFrom: {{fieldRef: {{fieldPath: spec.nodeName}}}}}}]"],
            )
        return cls(host, int(port), account, node)


class ApiServer:
    """Only one thread at a time may use it."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._version = "0"  # any state that the server has in its memory, so that etcd is not asked

    def pods(self) -> dict[str, PodMetadata]:
        """The pods of the node by uid, never older than in the last answer. A static pod has its own uid and that of
        its mirror. Raises ApiServerError."""
        try:
            answer = self._answer()
        except (OSError, http.client.HTTPException) as cause:
            raise ApiServerError(f"the API server does not answer: {_reason(cause)}") from cause
        version, pods = _pods(answer)
        if not pods:  # the pod of btpy is a pod of this node
            raise ApiServerError(f"the API server knows no pods of the node {self._access.node}: {NODE_VARIABLE}")
        self._version = version
        return pods

    def _answer(self) -> bytes:
        with Deadline(_ALL_SECONDS) as deadline, contextlib.closing(self._connection()) as connection:
            # kubelet replaces the token before it expires.
            headers = {"Authorization": f"Bearer {self._token()}", "Accept": _METADATA, "User-Agent": "btpy"}
            connection.connect()
            deadline.watch(connection.sock)
            connection.request("GET", f"/api/v1/pods?{urlencode(self._query())}", headers=headers)
            with connection.getresponse() as response:
                if response.status in _TOO_OLD:
                    self._version = "0"
                if response.status != 200:
                    reason = _REASONS.get(response.status, f"status {response.status}")
                    raise ApiServerError(f"the API server refuses to list pods: {reason}")
                return _body(response)

    def _query(self) -> dict[str, str]:
        query = {"fieldSelector": f"spec.nodeName={self._access.node}", "resourceVersion": self._version}
        return query if self._version == "0" else {**query, "resourceVersionMatch": "NotOlderThan"}

    def _connection(self) -> http.client.HTTPSConnection:
        context = client_context(self._access.account / "ca.crt")
        # Certificates of many clusters lack extensions that Python 3.13 asks for.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        return http.client.HTTPSConnection(self._access.host, self._access.port, timeout=_STEP_SECONDS, context=context)

    def _token(self) -> str:
        with (self._access.account / "token").open("rb") as file:
            token = file.read(_MOST_TOKEN).decode("ascii", "replace").strip()
        if not re.fullmatch(_TOKEN, token):
            raise ApiServerError("the token of the service account is empty or faulty")
        return token


def _body(response: http.client.HTTPResponse) -> bytes:
    body = bytearray()
    while piece := response.read1(_PIECE):
        body += piece
        if len(body) > _MOST_BYTES:
            raise ApiServerError(f"the answer of the API server is larger than {_MOST_BYTES >> 20} MiB")
    if response.length:
        raise ApiServerError("the answer of the API server is cut off")
    return bytes(body)


def _reason(cause: Exception) -> str:
    """The reason without the text of an HTTP exception, which can have bytes from the server."""
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"its certificate is not valid for this cluster ({cause.verify_message})"
    if isinstance(cause, TimeoutError):
        return "time-out"
    if isinstance(cause, OSError):
        return (cause.strerror or type(cause).__name__).lower()
    return f"not HTTP ({type(cause).__name__})"


def _pods(answer: bytes) -> tuple[str, dict[str, PodMetadata]]:
    try:
        parsed = json.loads(answer)
    except (ValueError, RecursionError) as cause:
        raise ApiServerError("the answer of the API server is not JSON") from cause
    items = parsed.get("items") if isinstance(parsed, dict) else None
    if not isinstance(items, list) or len(items) > _MOST_PODS:
        raise ApiServerError(f"the answer of the API server is no list of up to {_MOST_PODS} pods")
    pods, static_pods = {}, {}
    for item in items:
        metadata = _object(item, "metadata")
        uid, namespace = metadata.get("uid"), metadata.get("namespace")
        if not isinstance(uid, str) or not re.fullmatch(_UID, uid) or not isinstance(namespace, str):
            raise ApiServerError("the answer of the API server has a pod without uid or namespace")
        pod = PodMetadata(namespace, _texts(metadata, "labels"), _texts(metadata, "annotations"))
        pods[uid] = pod
        if re.fullmatch(_UID, mirrored := pod.annotations.get(_MIRROR, "")):
            static_pods[mirrored] = pod
    # A user who may create pods may also write the annotation. So an annotation never lets a pod replace another pod.
    version = _object(parsed, "metadata").get("resourceVersion")
    return version if isinstance(version, str) and re.fullmatch(_VERSION, version) else "0", static_pods | pods


def _object(value: Any, name: str) -> dict[str, Any]:
    """The member of that name of a JSON object, if it is an object, too; otherwise an empty object."""
    member = value.get(name) if isinstance(value, dict) else None
    return member if isinstance(member, dict) else {}


def _texts(metadata: dict[str, Any], name: str) -> dict[str, str]:
    return {key: value for key, value in _object(metadata, name).items() if isinstance(value, str)}
