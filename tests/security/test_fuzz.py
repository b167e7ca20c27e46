"""Random frames to both sides: each is refused, or handled as the message that it is."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from btpy.engine.event_queue import EventQueue
from btpy.errors import ProtocolError
from btpy.events.aggregates import decode_contents
from btpy.events.items import ItemDecoder
from btpy.events.stacks import StackTable
from btpy.lang.check.checker import check_source
from btpy.lang.outline import outline_of
from btpy.model.source import Source
from btpy.wire import codec
from btpy.wire.messages import FROM_AGENT, FROM_CLIENT, Events, Leave, Maps, Message, Restore, Stacks
from tests.agent.attach import load_agent
from tests.agent.client import Client, Door, shake_hands
from tests.agent.conftest import agent_threads_end, answer, attach, hatch_build, jar, subject, subject_classes
from tests.security.frames import Frames
from tests.targets import Target

__all__ = ["attach", "hatch_build", "jar", "subject", "subject_classes"]

SCRIPT = """
A::b @entry { @n = count(); @s[method] = stats(arg1); @h = hist(arg1); print(@n); }
"""


def client_takes(seed: int, count: int) -> int:
    """Gives the client's decoders this number of frames; returns how many were messages. Any exception but
    ProtocolError fails the test.
    """
    program = check_source(Source("fuzz.bt", SCRIPT))
    maps = {map_.id: map_ for map_ in program.maps}
    outline = outline_of(program)
    decoder, stacks, inbox = ItemDecoder(), StackTable(capacity=1000), EventQueue(lambda size: None)
    accepted_count = 0
    for number, (kind, payload) in enumerate(Frames(seed, FROM_AGENT).payloads()):
        if number == count:
            return accepted_count
        try:
            message: Message = codec.decode(kind, payload)
            accepted_count += 1
            if isinstance(message, Stacks):
                for stack in message.stacks:
                    stacks.add(stack)
            elif isinstance(message, Maps):
                decode_contents(message.contents, maps)
            else:
                inbox.put(message)
                inbox.take(time.monotonic())
                if isinstance(message, Events):
                    inbox = EventQueue(lambda size: None)
                decoder.item(message, outline)
        except ProtocolError:
            continue
    raise AssertionError


def agent_takes(program: Target, jar: Path, seed: int, count: int) -> None:
    """Sends this number of frames to agents, from clients that know the secret. A new client replaces one that the
    agent has disconnected.
    """
    frames = Frames(seed, [kind for kind in FROM_CLIENT if kind not in (Restore, Leave)])  # these two end the session
    sent = 0
    while sent < count:
        door = Door(tcp=False)
        try:
            load_agent(program.pid, jar, door.options)
            with door.accept() as connection:
                client = Client(connection, shake_hands(connection, door.secret))
                if sent % 3:
                    client.configure()
                try:
                    for _ in range(40):
                        connection.sendall(frames.frame())
                        sent += 1
                except (BrokenPipeError, ConnectionResetError):
                    pass
        finally:
            door.close()


def check_unharmed(program: Target) -> None:
    agent_threads_end(program)
    assert answer(program, "base") == "Base says plain!"


def test_frames_of_a_hostile_target_are_refused_or_accepted() -> None:
    assert client_takes(1, 20_000) > 5_000


def test_frames_of_a_broken_client_have_no_effect(subject: object, jar: Path) -> None:
    with subject(17, "-Xmx64m") as program:  # type: ignore[operator]
        agent_takes(program, jar, 1, 2_000)
        check_unharmed(program)


@pytest.mark.proof
@pytest.mark.parametrize("seed", range(10))
def test_a_hundred_thousand_frames_at_the_client(seed: int) -> None:
    assert client_takes(100 + seed, 100_000) > 25_000


@pytest.mark.proof
@pytest.mark.parametrize("seed", range(10))
def test_a_hundred_thousand_frames_at_the_agent(subject: object, jar: Path, seed: int) -> None:
    with subject((11, 17, 21, 25)[seed % 4] if seed % 4 else 17, "-Xmx64m") as program:  # type: ignore[operator]
        agent_takes(program, jar, 200 + seed, 100_000)
        check_unharmed(program)
