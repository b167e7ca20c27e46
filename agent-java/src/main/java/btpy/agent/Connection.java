package btpy.agent;

import btpy.runtime.Headroom;
import java.io.EOFException;
import java.io.IOException;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/**
 * Frames over one socket, and the handshake. One thread reads; several may {@link #send}.
 *
 * <p>Only threads of the agent may use it. An application thread whose interrupt flag is set would close the channel by
 * writing to it ({@code java.nio.channels.InterruptibleChannel}).
 *
 * <p>Calls on buffers use the type {@code Buffer}, because JDK 9 narrowed the return types, and code compiled for these
 * does not link on JDK 8.
 */
final class Connection {
    private static final int MAGIC = 0x42545059;
    private static final int VERSION = 14;
    private static final int NONCE = 32;
    private static final byte[] CLIENT = {'c', 'l', 'i', 'e', 'n', 't'};
    private static final byte[] AGENT = {'a', 'g', 'e', 'n', 't'};
    private static final int CHUNK = Frame.CHUNK;

    /**
     * For a message from this size on, the agent waits for free memory first, and for this time until a collection has
     * freed it.
     */
    private static final int LARGE = 128 << 10;
    private static final int PATIENCE_MILLIS = 2_000;

    private final SocketChannel channel;
    private final ByteBuffer incoming = ByteBuffer.allocateDirect(CHUNK);
    private final ByteBuffer outgoing = ByteBuffer.allocateDirect(CHUNK);
    private final Object writing = new Object();

    Connection(SocketChannel channel) {
        this.channel = channel;
        ((Buffer) incoming).limit(0);
    }

    /**
     * Proves knowledge of the secret to the client, and checks the proof of the client. Returns the start of WELCOME,
     * which the caller completes and sends.
     */
    Frame handshake(byte[] secret) throws IOException {
        byte[] nonce = Platform.random(NONCE);
        send(new Frame(Frame.HELLO).u4(MAGIC).u2(VERSION).raw(nonce));
        Payload proof = receive(1 + NONCE + 32);
        if (proof.type != Payload.PROOF) {
            throw new ProtocolException("no PROOF");
        }
        byte[] theirs = proof.raw(NONCE);
        byte[] mac = proof.raw(32);
        proof.end();
        if (!Digest.equal(mac, Digest.hmac(secret, CLIENT, nonce, theirs))) {
            throw new ProtocolException("a wrong PROOF");
        }
        return new Frame(Frame.WELCOME).raw(Digest.hmac(secret, AGENT, theirs, nonce));
    }

    /** The next message of at most {@code limit} bytes, type included. EOFException when the client has closed. */
    Payload receive(int limit) throws IOException {
        int length = readByte() << 24 | readByte() << 16 | readByte() << 8 | readByte();
        if (length < 1 || length > limit) {
            throw new ProtocolException("a frame of " + (length & 0xFFFFFFFFL) + " bytes");
        }
        if (length > LARGE && !Headroom.awaits(2L * length, PATIENCE_MILLIS)) { // its content is copied
            throw new ProtocolException("the heap of the JVM is nearly full");
        }
        byte[] frame = new byte[length];
        for (int have = 0; have < length; ) {
            fill();
            int count = Math.min(incoming.remaining(), length - have);
            incoming.get(frame, have, count);
            have += count;
        }
        return new Payload(frame);
    }

    void send(Frame frame) throws IOException {
        byte[][] chunks = frame.sealed();
        int size = frame.size();
        if (size - 4 > Frame.MAX_LENGTH) {
            throw new ProtocolException("a message of " + size + " bytes to the client");
        }
        synchronized (writing) {
            for (int at = 0; at < size; ) {
                int count = Math.min(Frame.CHUNK, size - at);
                ((Buffer) outgoing).clear();
                outgoing.put(chunks[at / Frame.CHUNK], 0, count);
                ((Buffer) outgoing).flip();
                while (outgoing.hasRemaining()) {
                    channel.write(outgoing);
                }
                at += count;
            }
        }
    }

    /** Ends reads and writes of other threads, too. */
    void close() {
        try {
            // If memory runs out during close, the channel counts as closed, but a thread can remain in its read. This
            // ends the read directly.
            channel.shutdownInput();
        } catch (Throwable closedOrExhausted) {
            // closing ends it
        }
        try {
            channel.close();
        } catch (IOException closedAnyway) {
            // close the descriptor in any case
        }
    }

    private int readByte() throws IOException {
        fill();
        return incoming.get() & 0xFF;
    }

    private void fill() throws IOException {
        if (incoming.hasRemaining()) {
            return;
        }
        ((Buffer) incoming).clear();
        int count = channel.read(incoming);
        ((Buffer) incoming).flip();
        if (count < 0) {
            throw new EOFException("the client closed the connection");
        }
    }
}
