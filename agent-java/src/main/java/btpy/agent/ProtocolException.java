package btpy.agent;

import java.io.IOException;

/** The client broke docs/protocol.md; the connection is over. */
final class ProtocolException extends IOException {
    private static final long serialVersionUID = 1L;

    ProtocolException(String message) {
        super(message);
    }
}
