package btpy.agent;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.Map;

/**
 * Stores the client's answers for class files that no thread has loaded yet. A thread that loads exactly these bytes
 * takes the answer from here and does not wait. Class files are identified by their {@link Fingerprint}.
 *
 * <p>The woven classes are stored in a file, so that the target does not keep classes in memory that it may never load.
 * The file is created in the JVM's directory for temporary files. Only the user of the JVM may open it. It is deleted
 * as soon as it is open, so it disappears when this object is closed and when the JVM ends.
 *
 * <p>A woven class is used once, because its sites belong to one class of one loader. If another loader loads the same
 * bytes, the agent asks the client.
 */
final class PrewovenClasses {
    static final int MOST_CLASSES = 1 << 13;
    private static final long MOST_BYTES = 32 << 20;

    /** An answer. A {@code size} of 0 means that the class is not changed. */
    static final class Answer {
        final int id;
        private final int length;
        private final long at;
        private final int size;

        Answer(int id, int length, long at, int size) {
            this.id = id;
            this.length = length;
            this.at = at;
            this.size = size;
        }

        boolean isUnchanged() {
            return size == 0;
        }
    }

    /** The answers, by the first 8 bytes of the fingerprint. The other 4 bytes are the length of the class file. */
    private final Map<Long, Answer> answers = new HashMap<Long, Answer>();
    private RandomAccessFile file;
    private long end;
    private boolean closed;

    /**
     * Reads a {@code list<PrewovenAnswer>}, the last part of a message. Throws IOException, with the reason, if no more
     * answers can be stored. Only one thread at a time may call it. The file is created before the monitor is taken,
     * because the JDK may have to initialise classes for that, and threads that load classes need the monitor.
     */
    void add(Payload message) throws IOException {
        for (int remaining = message.count(20); remaining > 0; remaining--) {
            int id = message.u4();
            long key = message.u8();
            int length = message.u4();
            byte[] content = message.bytes();
            RandomAccessFile newFile = content.length > 0 && !hasFile() ? unnamed() : null;
            if (!keep(key, id, length, content, newFile)) {
                throw new IOException("no room is left for prewoven classes");
            }
        }
        message.end();
    }

    private synchronized boolean hasFile() {
        return file != null || closed;
    }

    private synchronized boolean keep(long key, int id, int length, byte[] content, RandomAccessFile newFile)
            throws IOException {
        if (closed) {
            if (newFile != null) {
                newFile.close();
            }
            return true;
        }
        if (newFile != null) {
            file = newFile;
        }
        if (content.length > 0 && file == null) {
            return true; // the client has withdrawn the answers in the meantime
        }
        if (answers.size() == MOST_CLASSES || end + content.length > MOST_BYTES) {
            return false;
        }
        Answer answer = new Answer(id, length, end, content.length);
        if (content.length > 0) {
            file.seek(end);
            file.write(content);
            end += content.length;
            if (newFile != null) {
                read(answer); // loads the classes that reading needs, on a thread of the agent
            }
        }
        answers.put(key, answer);
        return true;
    }

    /** Returns null if the client has sent no answer for this class file. */
    synchronized Answer find(byte[] fingerprint) {
        Answer answer = answers.isEmpty() ? null : answers.get((long) u4(fingerprint, 0) << 32 | u4(fingerprint, 4) & 0xFFFFFFFFL);
        return answer != null && answer.length == u4(fingerprint, 8) ? answer : null;
    }

    /**
     * Reads {@code bytes woven class file, list<MethodSites>}. Returns null if the client has taken the answer back, or
     * if the file cannot be read.
     */
    synchronized Payload read(Answer answer) {
        if (file == null) {
            return null;
        }
        byte[] content = new byte[answer.size];
        try {
            file.seek(answer.at);
            file.readFully(content);
            return Payload.part(content);
        } catch (IOException failure) {
            return null;
        }
    }

    /**
     * Takes an answer for the calling thread. Returns false if the answer is no longer available. {@code note} tells
     * the client that the answer is used. Because the client may take answers back, it has been told of every used
     * answer before {@link #forget} returns.
     */
    synchronized boolean take(byte[] fingerprint, Answer answer, Frame note, Outbox outbox) {
        if (find(fingerprint) != answer) {
            return false;
        }
        if (!answer.isUnchanged()) {
            answers.remove((long) u4(fingerprint, 0) << 32 | u4(fingerprint, 4) & 0xFFFFFFFFL);
        }
        outbox.put(note);
        return true;
    }

    /** Forgets all answers, because the client takes them back. */
    synchronized void forget() {
        answers.clear();
        end = 0;
        if (file != null) {
            try {
                file.close();
            } catch (IOException ignored) {
                // the content is not needed any more
            }
            file = null;
        }
    }

    synchronized void close() {
        closed = true;
        forget();
    }

    private static RandomAccessFile unnamed() throws IOException {
        String name = "btpy-" + Digest.hex(Platform.random(8));
        Path path = new File(System.getProperty("java.io.tmpdir"), name).toPath();
        try {
            Files.createFile(path, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
            return new RandomAccessFile(path.toFile(), "rw");
        } catch (UnsupportedOperationException | SecurityException refusal) {
            throw new IOException("no private temporary file can be made: " + refusal.getMessage());
        } finally {
            Files.deleteIfExists(path);
        }
    }

    private static int u4(byte[] b, int at) {
        return (b[at] & 0xFF) << 24 | (b[at + 1] & 0xFF) << 16 | (b[at + 2] & 0xFF) << 8 | b[at + 3] & 0xFF;
    }
}
