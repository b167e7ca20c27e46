package btpy.agent;

import java.util.HashMap;
import java.util.Map;

/** The questions that the client has not answered yet. */
final class Questions {
    /** More classes than this being loaded at once pass untouched and are woven afterwards. */
    private static final int MAX_OPEN = 4096;

    private final Map<Integer, Question> open = new HashMap<Integer, Question>();
    private int lastId;
    private boolean closed;

    /** Null when there are too many, or the session is leaving. {@code type} null: the class is being loaded. {@code changed}: as of {@link Question}. */
    synchronized Question ask(ClassRecord record, Class<?> type, byte[] classFile, byte[] hash, boolean changed) {
        if (closed || open.size() >= MAX_OPEN) {
            return null;
        }
        Question question = new Question(++lastId, record, type, classFile, hash, changed);
        open.put(question.id, question);
        return question;
    }

    /** The question that an answer is for, no longer open. Null for an id that is not open. */
    synchronized Question take(int id) {
        return open.remove(id);
    }

    synchronized boolean isClosed() {
        return closed;
    }

    /** A client has come that can answer. */
    synchronized void open() {
        closed = false;
    }

    /** Ends every wait; the classes stay as they are, and nothing is asked until {@link #open}. */
    void close() {
        Question[] left;
        synchronized (this) {
            closed = true;
            left = open.values().toArray(new Question[0]);
            open.clear();
        }
        for (Question each : left) {
            each.answer(null);
        }
    }
}
