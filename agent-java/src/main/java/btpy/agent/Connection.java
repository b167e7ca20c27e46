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
    private static final int VERSION = 15;
    private static final int NONCE = 32;
    private static final byte[] CLIENT = {'c', 'l', 'i', 'e', 'n', 't'};
    private static final byte[] AGENT = {'a', 'g', 'e', 'n', 't'};
    private static final int CHUNK = Frame.CHUNK;

    /**
     * Before the agent reads a message of at least this size, it waits for free memory. {@code PATIENCE_MILLIS}: the
     * longest time that it waits for a collection to free the memory.
     */
    private static final int LARGE = 128 << 10;
    private static final int PATIENCE_MILLIS = 2_000;

    private final SocketChannel channel;
    private final ByteBuffer input = ByteBuffer.allocateDirect(CHUNK);
    private final ByteBuffer output = ByteBuffer.allocateDirect(CHUNK);
    private final Object writeLock = new Object();

    Connection(SocketChannel channel) {
        this.channel = channel;
        ((Buffer) input).limit(0);
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
        byte[] clientNonce = proof.raw(NONCE);
        byte[] mac = proof.raw(32);
        proof.end();
        if (!Digest.equal(mac, Digest.hmac(secret, CLIENT, nonce, clientNonce))) {
            throw new ProtocolException("a wrong PROOF");
        }
        return new Frame(Frame.WELCOME).raw(Digest.hmac(secret, AGENT, clientNonce, nonce));
    }

    /**
     * The next message, of at most {@code limit} bytes with its type. Throws EOFException when the client has closed
     * the connection.
     */
    Payload receive(int limit) throws IOException {
        int length = readByte() << 24 | readByte() << 16 | readByte() << 8 | readByte();
        if (length < 1 || length > limit) {
            throw new ProtocolException("a frame of " + (length & 0xFFFFFFFFL) + " bytes");
        }
        // Twice the length, because the content is copied.
        if (length > LARGE && !Headroom.await(2L * length, PATIENCE_MILLIS)) {
            throw new ProtocolException("the heap of the JVM is nearly full");
        }
        byte[] frame = new byte[length];
        for (int size = 0; size < length; ) {
            fill();
            int count = Math.min(input.remaining(), length - size);
            input.get(frame, size, count);
            size += count;
        }
        return new Payload(frame);
    }

    void send(Frame frame) throws IOException {
        byte[][] chunks = frame.toChunks();
        int size = frame.size();
        if (size - 4 > Frame.MAX_LENGTH) {
            throw new ProtocolException("a message of " + size + " bytes to the client");
        }
        synchronized (writeLock) {
            for (int at = 0; at < size; ) {
                int count = Math.min(Frame.CHUNK, size - at);
                ((Buffer) output).clear();
                output.put(chunks[at / Frame.CHUNK], 0, count);
                ((Buffer) output).flip();
                while (output.hasRemaining()) {
                    channel.write(output);
                }
                at += count;
            }
        }
    }

    /** Ends reads and writes of other threads, too. */
    void close() {
        try {
            // If memory runs out during close, the channel counts as closed, but a thread can remain in its read.
            // Shutting the input down ends the read.
            channel.shutdownInput();
        } catch (Throwable failure) {
            // closing ends it
        }
        try {
            channel.close();
        } catch (IOException ignored) {
            // close the descriptor nevertheless
        }
    }

    private int readByte() throws IOException {
        fill();
        return input.get() & 0xFF;
    }

    private void fill() throws IOException {
        if (input.hasRemaining()) {
            return;
        }
        ((Buffer) input).clear();
        int count = channel.read(input);
        ((Buffer) input).flip();
        if (count < 0) {
            throw new EOFException("the client closed the connection");
        }
    }
}
