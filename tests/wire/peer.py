"""The agent's side of the protocol, for tests of the client's side: only a socket and the messages."""

from __future__ import annotations

import hashlib
import hmac
import os
import socket
from types import TracebackType

from btpy.wire import codec
from btpy.wire.messages import MAGIC, VERSION, Hello, Message, Proof, Welcome


class Peer:
    def __init__(self, options: str) -> None:
        fields = dict(part.split("=", 1) for part in options.split(","))
        (name,) = (name for name in os.listdir(fields["secret-in"]) if name.startswith("secret-"))
        self.secret = bytes.fromhex(name.removeprefix("secret-"))
        kind, _, address = fields["socket"].partition(":")
        if kind == "unix":
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(address)
        else:
            self.socket = socket.socket(socket.AF_INET)
            self.socket.connect(("127.0.0.1", int(address)))
        self.socket.settimeout(20)

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.socket.close()

    def send(self, *messages: Message) -> None:
        self.socket.sendall(b"".join(codec.encode(message) for message in messages))

    def receive(self) -> Message | None:
        """The next message; The next message; None when the client has closed the connection."""
        header = self.exactly(5)
        if header is None:
            return None
        payload = self.exactly(codec.frame_length(header[:4]) - 1)
        assert payload is not None
        return codec.decode(header[4], payload)

    def exactly(self, size: int) -> bytes | None:
        data = b""
        while len(data) < size:
            try:
                part = self.socket.recv(size - len(data))
            except ConnectionResetError:
                return None
            if not part:
                return None
            data += part
        return data

    def hello(self, version: int = VERSION) -> bytes:
        nonce = os.urandom(32)
        self.send(Hello(MAGIC, version, nonce))
        return nonce

    def welcome(self) -> None:
        """The whole handshake; checks the client's proof as the agent does."""
        nonce = self.hello()
        proof = self.receive()
        assert isinstance(proof, Proof)
        assert proof.mac == hmac.new(self.secret, b"client" + nonce + proof.nonce, hashlib.sha256).digest()
        mac = hmac.new(self.secret, b"agent" + proof.nonce + nonce, hashlib.sha256).digest()
        self.send(Welcome(mac, "build", 42, "17.0.15", "HotSpot", "Main", 1, 2, 3, True))
