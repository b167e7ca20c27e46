"""The exporter with backends that refuse, stall, lie and recover: every record is delivered or counted as dropped."""

from __future__ import annotations

import ssl
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from btpy.errors import OutputError, UsageError
from btpy.output.otlp import exporter as exporter_module
from btpy.output.otlp.exporter import Cause, Exporter
from btpy.output.otlp.settings import Batches, OtlpSettings, settings_of
from tests.output.otlp.backend import Answer, Backend, backend

RESOURCE, SCOPE = Resource(), InstrumentationScope(name="test")
FAST = {"OTEL_BLRP_SCHEDULE_DELAY": "20"}


def started(receiver: Backend, settings: OtlpSettings | None = None, *, patient: bool = False) -> Exporter:
    exporter = Exporter(settings or settings_of(receiver.url, FAST), patient=patient)
    exporter.start()
    return exporter


def log(exporter: Exporter, count: int, first: int = 0) -> None:
    for number in range(first, first + count):
        exporter.log(RESOURCE, SCOPE, LogRecord(time_unix_nano=number + 1))


def numbers(receiver: Backend) -> list[int]:
    return [record.time_unix_nano - 1 for _, record in receiver.logs]


def waited(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporter_module, "_FIRST_PAUSE", 0.02)


def test_all_records_arrive_in_order_and_compressed() -> None:
    with backend() as receiver:
        exporter = started(receiver)
        log(exporter, 10_007)
        tally = exporter.close()
        assert numbers(receiver) == list(range(10_007))
        assert (tally.log_records, tally.is_complete) == (10_007, True)
        path, headers = receiver.requests[0]
        assert path == "/v1/logs"
        assert headers["Content-Type"] == "application/x-protobuf"
        assert headers["Content-Encoding"] == "gzip"


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_request_that_may_be_repeated_is_repeated(status: int) -> None:
    with backend() as receiver:
        receiver.answers.extend([Answer(status), Answer(status)])
        exporter = started(receiver)
        log(exporter, 101)
        tally = exporter.close()
        assert numbers(receiver) == list(range(101))
        assert tally.is_complete
        assert len(receiver.requests) >= 3
        notices = exporter.notices()
        assert [notice.split(" (")[0] for notice in notices] == [
            f"127.0.0.1:{receiver.port} does not take log records at present",
            f"127.0.0.1:{receiver.port} takes log records again",
        ]
        assert str(status) in notices[0]


def test_the_pause_that_the_backend_asks_for_is_kept() -> None:
    with backend() as receiver:
        receiver.answers.append(Answer(503, headers=(("Retry-After", "1"),)))
        exporter = started(receiver)
        began = time.monotonic()
        log(exporter, 1)
        waited(lambda: len(receiver.logs) == 1)
        assert time.monotonic() - began >= 1
        exporter.close()


@pytest.mark.parametrize("status", [400, 401, 404, 413, 500])
def test_a_request_that_is_refused_is_counted_and_not_repeated(status: int) -> None:
    with backend() as receiver:
        receiver.answers.append(Answer(status, b"no such tenant\x1b[2J"))
        exporter = started(receiver)
        log(exporter, 13)
        waited(lambda: len(receiver.requests) == 1)
        time.sleep(0.1)
        log(exporter, 7, first=13)
        tally = exporter.close()
        assert numbers(receiver) == list(range(13, 20))
        assert tally.lost == {Cause.REFUSED: 13}
        (notice,) = exporter.notices()
        assert f"refuses log records: {status}" in notice
        assert "\x1b" not in notice


def test_records_rejected_by_a_partial_success_are_counted() -> None:
    with backend() as receiver:
        receiver.answers.append(Answer.partial(5, "too old"))
        exporter = started(receiver)
        log(exporter, 23)
        tally = exporter.close()
        assert (len(receiver.logs), tally.log_records, tally.lost) == (18, 18, {Cause.REJECTED: 5})
        assert exporter.notices() == [f"127.0.0.1:{receiver.port} has rejected 5 log records: too old"]


@pytest.mark.parametrize("answer", [b"\xff" * 40, b"\x0a\x05\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"])
def test_an_answer_that_makes_no_sense_does_no_harm(answer: bytes) -> None:
    with backend() as receiver:
        receiver.answers.append(Answer(200, answer))
        exporter = started(receiver)
        log(exporter, 3)
        tally = exporter.close()
        assert tally.log_records + sum(tally.lost.values()) == 3


def test_an_answer_of_a_byte_now_and_then_is_given_up() -> None:
    with backend() as receiver:
        settings = settings_of(receiver.url, {**FAST, "OTEL_EXPORTER_OTLP_TIMEOUT": "300"})
        receiver.answers.append(Answer(200, b"x" * 1000, drip=0.1, keeps=False))
        exporter = started(receiver, settings)
        log(exporter, 3)
        waited(lambda: len(receiver.logs) == 3)
        assert exporter.close().log_records == 3


def test_records_beyond_the_queue_are_counted_while_the_backend_is_away() -> None:
    with backend() as receiver:
        port = receiver.port
    exporter = Exporter(settings_of(f"otlp://127.0.0.1:{port}", {**FAST, "OTEL_BLRP_MAX_QUEUE_SIZE": "100"}))
    exporter.start()
    log(exporter, 1_009)
    tally = exporter.close(0.3)
    assert tally.log_records == 0
    assert sum(tally.lost.values()) == 1_009
    assert tally.lost[Cause.QUEUE_FULL] >= 1_009 - 100 - exporter.settings.log_batches.size
    assert "does not take log records at present (connection refused)" in exporter.notices()[0]


def test_a_patient_export_waits_for_room_and_loses_nothing() -> None:
    with backend() as receiver:
        receiver.answers.extend([Answer(503)] * 5)
        settings = replace(settings_of(receiver.url, FAST), log_batches=Batches(0.02, 10, 3))
        exporter = started(receiver, settings, patient=True)
        log(exporter, 211)
        tally = exporter.close()
        assert numbers(receiver) == list(range(211))
        assert tally.is_complete


def test_a_patient_export_gives_up_a_backend_that_takes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporter_module, "_STALLED_SECONDS", 0.2)
    with backend() as receiver:
        receiver.answers.extend([Answer(503, headers=(("Retry-After", "60"),))] * 5)
        exporter = started(
            receiver, replace(settings_of(receiver.url, FAST), log_batches=Batches(0.02, 10, 3)), patient=True
        )
        with pytest.raises(OutputError, match="has accepted nothing"):
            log(exporter, 211)
        exporter.close(0.1)


def test_a_certificate_of_another_authority_is_refused(tmp_path: Path) -> None:
    certificate = tmp_path / "both.pem"
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1"
        f" -addext subjectAltName=IP:127.0.0.1 -keyout {tmp_path}/key.pem -out {certificate}"
    )
    subprocess.run(command.split(), check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, tmp_path / "key.pem")
    with backend(context) as receiver:
        url = f"otlps://127.0.0.1:{receiver.port}"
        exporter = started(receiver, settings_of(url, FAST))
        log(exporter, 3)
        tally = exporter.close()
        assert tally.lost == {Cause.REFUSED: 3}
        assert "the certificate is not trusted" in exporter.notices()[0]
        exporter = started(receiver, settings_of(url, {**FAST, "OTEL_EXPORTER_OTLP_CERTIFICATE": str(certificate)}))
        log(exporter, 3)
        assert exporter.close().log_records == 3


def test_a_certificate_that_is_not_there_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="certificates for the export cannot be read"):
        Exporter(settings_of("otlps://127.0.0.1", {"OTEL_EXPORTER_OTLP_CERTIFICATE": "/no/such.pem"}))
