"""The requests of btpy to the API server, and answers that are late, false or too large."""

from __future__ import annotations

import json
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from btpy.daemon import api_server
from btpy.daemon.api_server import Access, ApiServer, ApiServerError, PodMetadata
from btpy.errors import UsageError
from tests.daemon.api_server import FakeApiServer, fake_api_server

UID = "0b7d3c1e-5a0f-4f39-9a53-1f6f0a6c4711"
STATIC_UID = "74b2f0e6a1c94d53b8e07c1d6f3a9e25"
MIRROR = "kubernetes.io/config.mirror"


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[FakeApiServer]:
    with fake_api_server(tmp_path) as fake_server:
        fake_server.add(UID, labels={"app": "shop"}, annotations={"acme.com/probes": "slow"})
        yield fake_server


def asked(fake: FakeApiServer) -> ApiServer:
    return ApiServer(Access.of(fake.environ, fake.account))


def test_the_pods_of_the_node(fake: FakeApiServer) -> None:
    fake.add("other", namespace="test", labels=None)
    assert asked(fake).pods() == {
        UID: PodMetadata("prod", {"app": "shop"}, {"acme.com/probes": "slow"}),
        "other": PodMetadata("test", {}, {}),
    }


def test_no_version_of_tls_before_1_2_is_spoken(fake: FakeApiServer) -> None:
    context: ssl.SSLContext = asked(fake)._connection()._context  # type: ignore[attr-defined]
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2


def test_the_token_is_read_for_each_request(fake: FakeApiServer) -> None:
    server = asked(fake)
    server.pods()
    fake.rotate("second-token\n".strip())
    server.pods()  # the stand-in expects the new token


def test_an_answer_is_never_older_than_the_last_one(fake: FakeApiServer) -> None:
    server = asked(fake)
    server.pods()
    server.pods()
    fake.status = 410  # the server answers so after its data was restored
    with pytest.raises(ApiServerError, match="status 410"):
        server.pods()
    fake.status = 200
    server.pods()
    assert fake.versions == ["0", "4711", "4711", "0"]


def test_a_faulty_version_is_not_sent_back(fake: FakeApiServer) -> None:
    server = asked(fake)
    fake.version = "4711&limit=1"
    server.pods()
    server.pods()
    assert fake.versions == ["0", "0"]


@pytest.mark.parametrize(
    ("status", "message"),
    [(401, "the token of the service account is not valid"), (403, "must not list pods"), (500, "500"), (302, "302")],
)
def test_a_refusal(fake: FakeApiServer, status: int, message: str) -> None:
    fake.status, fake.body = status, b'{"message": "\x1b[31mlies"}'
    with pytest.raises(ApiServerError, match=message) as caught:
        asked(fake).pods()
    assert "lies" not in str(caught.value)


def listed(*metadata: Any) -> bytes:
    return json.dumps({"items": [{"metadata": one} for one in metadata]}).encode()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "no list"),
        (b'{"items": {}}', "no list"),
        (listed(*[{"uid": "a", "namespace": "b"}] * 5001), "no list of up to 5000"),
        (b'{"items": [7]}', "without uid"),
        (listed({"uid": 7, "namespace": "prod"}), "without uid"),
        (listed({"uid": "../..", "namespace": "prod"}), "without uid"),
        (listed({"uid": UID}), "without uid or namespace"),
        (listed(), "knows no pods of the node node-1"),
        (b" " * (17 << 20), "larger than 16 MiB"),
    ],
)
def test_a_false_answer(fake: FakeApiServer, body: bytes, message: str) -> None:
    fake.body = body
    with pytest.raises(ApiServerError, match=message):
        asked(fake).pods()


def test_an_answer_that_is_cut_off_does_not_count(fake: FakeApiServer) -> None:
    fake.missing = 1
    with pytest.raises(ApiServerError, match="is cut off"):
        asked(fake).pods()


def test_a_static_pod_is_listed_with_the_uid_of_its_control_groups(fake: FakeApiServer) -> None:
    labels = {"app": "stock"}
    mirror = fake.add("0b7d3c1e-0000-4f39-9a53-1f6f0a6c4711", labels=labels, annotations={MIRROR: STATIC_UID})
    assert asked(fake).pods()[STATIC_UID] == PodMetadata("prod", labels, mirror["annotations"])


@pytest.mark.parametrize("is_first", [True, False])
def test_a_false_mirror_does_not_replace_a_pod(fake: FakeApiServer, is_first: bool) -> None:
    fake.add("false", labels={"app": "stock"}, annotations={MIRROR: UID})
    if is_first:
        fake.pods.reverse()
    pods = asked(fake).pods()
    assert pods.keys() == {UID, "false"}
    assert pods[UID].labels == {"app": "shop"}


@pytest.mark.parametrize("uid", ["", "../..", "0" * 65])
def test_a_mirror_without_a_valid_uid_is_listed_by_its_own(fake: FakeApiServer, uid: str) -> None:
    fake.add("mirror", annotations={MIRROR: uid})
    assert asked(fake).pods().keys() == {UID, "mirror"}


def test_labels_that_are_no_texts_are_dropped(fake: FakeApiServer) -> None:
    fake.body = listed({"uid": UID, "namespace": "prod", "labels": {"a": 1, "b": "2"}, "annotations": ["x"]})
    assert asked(fake).pods() == {UID: PodMetadata("prod", {"b": "2"}, {})}


def test_a_server_that_does_not_answer(fake: FakeApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    closed_server = ApiServer(Access("127.0.0.1", 1, fake.account, "node-1"))
    with pytest.raises(ApiServerError, match="does not answer: connection refused"):
        closed_server.pods()
    monkeypatch.setattr(api_server, "_STEP_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = ApiServer(Access("127.0.0.1", silent.getsockname()[1], fake.account, "node-1"))
        with pytest.raises(ApiServerError, match="does not answer: time-out"):
            server.pods()


@pytest.mark.parametrize(
    "beginning",
    [b"", b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", b"HTTP/1.0 200 OK\r\n\r\n"],
    ids=["status", "header", "body", "body without a length"],
)
def test_a_server_that_sends_a_byte_now_and_then(
    fake: FakeApiServer, beginning: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No step takes long, but all together would."""
    monkeypatch.setattr(api_server, "_ALL_SECONDS", 0.5)
    fake.trickled = beginning
    server = asked(fake)
    start = time.monotonic()
    with pytest.raises(ApiServerError, match="does not answer: time-out"):
        server.pods()
    assert time.monotonic() - start < 5
    fake.trickled = None
    assert server.pods().keys() == {UID}


def test_a_server_of_another_authority_gets_no_token(fake: FakeApiServer) -> None:
    authorities = ssl.get_default_verify_paths().cafile
    (fake.account / "ca.crt").write_text(Path(authorities).read_text() if authorities else "")
    with pytest.raises(ApiServerError, match="does not answer"):
        asked(fake).pods()
    assert fake.versions == []


@pytest.mark.parametrize("token", ["", "two\nlines", "täuschend"])
def test_a_faulty_token_is_not_sent(fake: FakeApiServer, token: str) -> None:
    server = asked(fake)
    fake.rotate(token)
    with pytest.raises(ApiServerError, match="empty or faulty"):
        server.pods()
    assert fake.versions == []


@pytest.mark.parametrize(
    ("missing", "message", "remedy"),
    [
        ({"KUBERNETES_SERVICE_HOST": ""}, "btpy does not run in a pod", "daemonset.yaml"),
        ({"KUBERNETES_SERVICE_HOST": "a b"}, "are no address", ""),
        ({"KUBERNETES_SERVICE_PORT": "x"}, "are no address", ""),
        ({"BTPY_NODE": ""}, "need the name of the node in BTPY_NODE", "spec.nodeName"),
        ({"BTPY_NODE": "a,metadata.name=b"}, "need the name of the node", ""),
    ],
)
def test_where_the_server_cannot_be_asked(
    fake: FakeApiServer, missing: dict[str, str], message: str, remedy: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        Access.of({**fake.environ, **missing}, fake.account)
    assert remedy in " ".join(caught.value.help)


def test_a_pod_without_a_token(fake: FakeApiServer, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="need the token of a service account") as caught:
        Access.of(fake.environ, tmp_path)
    assert "automountServiceAccountToken" in caught.value.help[0]
