package btpy.agent;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Messages that are sent on behalf of threads that must not touch the socket: application threads (an interrupt flag closes the
 * channel), the event thread (which monitors the lease, so it must not wait for a client that does not read) and the
 * reader. One thread writes, questions of loading threads first. When a message cannot be written, the thread stops
 * until the next client comes: {@link #takeUnsent} has this message and those behind it.
 *
 * <p>The lists are linked by hand, because application threads add to them, maybe at the end of their stack. A stack
 * overflow may interrupt the resizing of a collection, but not two assignments.
 */
final class Outbox extends Worker {
    /** The number of waiting bytes at which the outbox is full. */
    private int maxBytes = 4 << 20;

    private static final class Node {
        final Frame frame;
        final Question question;
        Node next;

        Node(Frame frame, Question question) {
            this.frame = frame;
            this.question = question;
        }
    }

    private final Link link;
    private Node firstUrgent;
    private Node lastUrgent;
    private Node first;
    private Node last;
    private int waitingBytes;
    private boolean writing;
    private boolean disconnected;

    Outbox(Link link) {
        this.link = link;
    }

    /** Never blocks on the socket. The question of a client that has left is dropped. */
    void ask(Question question) {
        Node node = new Node(null, question);
        synchronized (this) {
            if (disconnected) {
                return;
            }
            if (firstUrgent == null) {
                firstUrgent = node;
            } else {
                lastUrgent.next = node;
            }
            lastUrgent = node;
            notifyAll();
        }
    }

    /** Never blocks. */
    void post(Frame frame) {
        put(frame);
        wake();
    }

    /**
     * Like {@link #post}, but it wakes no thread: the message is sent with the next message, or at the next {@link
     * #wake}.
     */
    void put(Frame frame) {
        Node node = new Node(frame, null);
        synchronized (this) {
            if (first == null) {
                first = node;
            } else {
                last.next = node;
            }
            last = node;
            waitingBytes += frame.size();
        }
    }

    /** Sends what waits. */
    synchronized void wake() {
        if (first != null) {
            notifyAll();
        }
    }

    synchronized boolean isFull() {
        return waitingBytes > maxBytes;
    }

    synchronized void setLimit(int bytes) {
        maxBytes = Math.min(maxBytes, bytes);
    }

    /**
     * Waits while the outbox is full. The reader calls this, so that a client that only sends requests cannot fill the
     * memory of the target.
     */
    synchronized void awaitRoom() {
        while (waitingBytes > maxBytes && !disconnected && !closed) {
            pause(0);
        }
    }

    /** Waits at most {@code millis} until everything is written; false: the client has not accepted all of it. */
    synchronized boolean flush(long millis) {
        long deadline = System.nanoTime() + millis * 1_000_000L;
        while (!closed && !disconnected && isBusy()) {
            if (!pauseUntil(deadline)) {
                return false;
            }
        }
        return !isBusy();
    }

    /** Called when the client has left. Drops the waiting questions. The other messages wait for {@link #takeUnsent}. */
    synchronized void disconnect() {
        disconnected = true;
        firstUrgent = null;
        notifyAll();
    }

    /** Called for a new client, after {@link #awaitTaken}. */
    synchronized void connect() {
        disconnected = false;
        notifyAll();
    }

    /**
     * Removes the messages that were not written, or only in part, because the client has left. The oldest is the first.
     * Empty while a client is connected, and while a thread is still about to write.
     */
    synchronized List<Frame> takeUnsent() {
        if (!disconnected || writing || first == null) {
            return Collections.emptyList();
        }
        List<Frame> frames = new ArrayList<Frame>();
        for (Node node = first; node != null; node = node.next) {
            frames.add(node.frame);
        }
        first = null;
        waitingBytes = 0;
        notifyAll();
        return frames;
    }

    /** Waits at most {@code millis} until {@link #takeUnsent} has removed everything. Returns whether it has. */
    synchronized boolean awaitTaken(long millis) {
        long deadline = System.nanoTime() + millis * 1_000_000L;
        while (isBusy() && !closed) {
            if (!pauseUntil(deadline)) {
                return false;
            }
        }
        return !closed;
    }

    @Override
    public void run() {
        try {
            for (Node node = take(); node != null; node = take()) {
                try {
                    link.send(node.frame != null ? node.frame : node.question.frame());
                } catch (IOException disconnection) {
                    putBack(node); // the reader will notice the broken connection
                } catch (OutOfMemoryError outOfMemory) {
                    putBack(node);
                    link.cut(); // no message may be lost silently
                }
            }
        } finally {
            synchronized (this) {
                closed = true;
                first = null;
                firstUrgent = null;
                notifyAll();
            }
        }
    }

    private boolean isBusy() {
        return first != null || firstUrgent != null || writing;
    }

    /** The message could not be written, or only in part. */
    private synchronized void putBack(Node node) {
        disconnect();
        if (node.frame != null) {
            node.next = first;
            if (first == null) {
                last = node;
            }
            first = node;
            waitingBytes += node.frame.size();
        }
    }

    private synchronized Node take() {
        writing = false;
        notifyAll();
        while (!closed && (disconnected || first == null && firstUrgent == null)) {
            pause(0);
        }
        if (closed) {
            return null;
        }
        writing = true;
        Node node;
        if (firstUrgent != null) {
            node = firstUrgent;
            firstUrgent = node.next;
        } else {
            node = first;
            first = node.next;
            waitingBytes -= node.frame.size();
        }
        return node;
    }
}
