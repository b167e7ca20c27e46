from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btpy.errors import ProtocolError
from btpy.model.maps import MapKind
from btpy.model.patterns import ClassPatternKind
from btpy.wire import codec, messages
from btpy.wire.messages import (
    ClassBytes,
    Classes,
    Counters,
    Done,
    Errors,
    Events,
    Farewell,
    Hello,
    LoadedClass,
    LoadedRefusal,
    MapDecl,
    Message,
    Pattern,
    Ping,
    Search,
    Welcome,
    Woven,
)
from tests.wire.strategies import ALL, any_message

PROTOCOL = Path(__file__).parents[2] / "docs" / "protocol.md"


def decode(frame: bytes) -> Message:
    assert codec.frame_length(frame[:4]) == len(frame) - 4
    return codec.decode(frame[4], frame[5:])


@given(any_message())
def test_every_message_survives_the_wire(message: Message) -> None:
    assert decode(codec.encode(message)) == message


@given(any_message())
def test_no_proper_prefix_of_a_payload_decodes(message: Message) -> None:
    frame = codec.encode(message)
    for end in range(5, len(frame)):
        if isinstance(message, (messages.Events, messages.Map, messages.Maps)):
            break  # these messages end in bytes without a count
        with pytest.raises(ProtocolError):
            codec.decode(frame[4], frame[5:end])


@given(any_message(), st.binary(min_size=1, max_size=5))
def test_bytes_left_over_are_refused(message: Message, extra: bytes) -> None:
    if isinstance(message, (messages.Events, messages.Map, messages.Maps)):
        return
    frame = codec.encode(message)
    with pytest.raises(ProtocolError, match="left over"):
        codec.decode(frame[4], frame[5:] + extra)


@given(st.integers(0, 255), st.binary(max_size=200))
def test_arbitrary_bytes_decode_or_are_refused(code: int, payload: bytes) -> None:
    try:
        message = codec.decode(code, payload)
    except ProtocolError:
        return
    assert codec.encode(message)[5:] == payload


@given(any_message(), st.data())
def test_a_changed_byte_decodes_or_is_refused(message: Message, data: st.DataObject) -> None:
    frame = bytearray(codec.encode(message))
    if len(frame) == 5:
        return
    at = data.draw(st.integers(5, len(frame) - 1))
    frame[at] = data.draw(st.integers(0, 255))
    try:
        result = codec.decode(frame[4], bytes(frame[5:]))
    except ProtocolError:
        return
    assert codec.encode(result) == frame


def test_bytes_on_the_wire_are_those_of_the_document() -> None:
    search = Search(7, (Pattern(ClassPatternKind.GLOB, "a.é", (b"\1\0\1x",)),), 1000, 5)
    payload = bytes.fromhex("00000007 00000001 02 00000004") + "a.é".encode()
    payload += bytes.fromhex("00000001 00000004 01000178 000003e8 00000005")
    assert codec.encode(search) == struct.pack(">IB", len(payload) + 1, 0x11) + payload
    hello = Hello(messages.MAGIC, messages.VERSION, bytes(range(32)))
    assert codec.encode(hello) == b"\0\0\0\x27\x01BTPY\0\x0f" + bytes(range(32))


def test_a_lone_surrogate_takes_three_bytes() -> None:
    frame = codec.encode(Done(1, "\ud800"))
    assert frame[5:] == bytes.fromhex("00000001 00000003 eda080")
    assert decode(frame) == Done(1, "\ud800")


def test_a_list_that_claims_more_than_the_frame_holds_is_refused_before_it_is_built() -> None:
    claims = struct.pack(">IIII", 1, 2, 3, 0xFFFFFFFF)
    with pytest.raises(ProtocolError, match="Classes is too short"):
        codec.decode(Classes.code, claims)


@pytest.mark.parametrize(
    ("code", "payload", "reason"),
    [
        (0x99, b"", "unknown message type 0x99"),
        (Ping.code, b"\0\0\0", "Ping is too short"),
        (Ping.code, b"\0\0\0\0\0", "1 bytes left over"),
        (Done.code, struct.pack(">II", 1, 1) + b"\xff", "not UTF-8"),
        (Search.code, struct.pack(">IIBI", 1, 1, 9, 0) + b"\0\0\0\0", "9 is not a ClassPatternKind"),
        (messages.Enable.code, struct.pack(">IIB", 1, 1, 2), "2 is not a boolean"),
        (Hello.code, struct.pack(">IH", messages.MAGIC, 1) + bytes(31), "too short"),
    ],
)
def test_each_breach_has_its_reason(code: int, payload: bytes, reason: str) -> None:
    with pytest.raises(ProtocolError, match=reason):
        codec.decode(code, payload)


@pytest.mark.parametrize("length", [0, messages.MAX_FRAME + 1, 0xFFFFFFFF])
def test_frame_lengths_outside_the_limits_are_refused(length: int) -> None:
    with pytest.raises(ProtocolError, match=f"a frame of {length} bytes"):
        codec.frame_length(struct.pack(">I", length))


@pytest.mark.parametrize(
    "message",
    [
        Ping(-1),
        Ping(1 << 32),
        MapDecl(1, MapKind.SUM, 256, 2, 4096, False, ()),
        messages.Proof(b"short", bytes(32)),
        Events(bytes(messages.MAX_FRAME)),
    ],
)
def test_values_that_do_not_fit_are_not_sent(message: object) -> None:
    if isinstance(message, MapDecl):
        message = messages.Install(1, (message,), (), ())
    assert isinstance(message, Message)
    with pytest.raises(ProtocolError):
        codec.encode(message)


def test_the_largest_frame_is_allowed() -> None:
    frame = codec.encode(Events(bytes(messages.MAX_FRAME - 1)))
    assert codec.frame_length(frame[:4]) == messages.MAX_FRAME


def test_type_bytes_are_those_of_the_document() -> None:
    documented = {
        name.replace("_", "").lower(): int(code, 16)
        for name, code in re.findall(r"`([A-Z_]+)` (0x[0-9A-F]{2})\b", PROTOCOL.read_text())
    }
    assert documented == {kind.__name__.lower(): kind.code for kind in ALL}


def test_samples_decode_to_the_sent_values() -> None:
    class_ = LoadedClass(9, "a.B", "app", "java.lang.Object", ("a.I",), 0x21, True, "/x.jar", LoadedRefusal.LOADER)
    for message in (
        Classes(1, 500, 1, (class_,)),
        ClassBytes(3, 0, "a.B", "app", "java.lang.Object", (), b"\xca\xfe\xba\xbe"),
        Woven(3, bytes(12), messages.Verdict.WOVEN, (messages.HandlerClass("h", b"1"),), (), b"2"),
        Welcome(bytes(32), "b1", 7, "17.0.15", "OpenJDK", "a.Main x", 1, 2, 3, True),
        Errors((messages.ProbeFailure(1, 2, messages.ErrorKind.DEPTH, 3, "m"),)),
        Counters((messages.ProbeCounters(*(*range(1, 19), messages.ProbeState.TIME_IS_UP)),)),
        Farewell(5, ("x",), 3, 40),
    ):
        assert decode(codec.encode(message)) == message
