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

    /** Whether a thread has waited for an answer in vain, and none has come since: no other that loads a class is to wait. */
    private boolean silent;

    /**
     * Null when there are too many, the session is leaving, or the class is being loaded and the client is silent. {@code type} null: the class
     * is being loaded. {@code changed}: as of {@link Question}.
     */
    synchronized Question ask(ClassRecord record, Class<?> type, byte[] classFile, byte[] hash, boolean changed) {
        if (closed || open.size() >= MAX_OPEN || silent && type == null) {
            return null;
        }
        Question question = new Question(++lastId, record, type, classFile, hash, changed);
        open.put(question.id, question);
        return question;
    }

    /** The question that an answer is for, no longer open. Null for an id that is not open. */
    synchronized Question take(int id) {
        silent = false;
        return open.remove(id);
    }

    /** A thread that loads a class has missed its deadline. */
    synchronized void missed() {
        silent = true;
    }

    synchronized boolean isClosed() {
        return closed;
    }

    /** A client has come that can answer. */
    synchronized void open() {
        closed = false;
        silent = false;
    }

    /** Ends every wait; the classes stay as they are, and nothing is asked until {@link #open}. */
    void close() {
        Question[] left;
        synchronized (this) {
            closed = true;
            left = open.values().toArray(new Question[0]);
            open.clear();
        }
        for (Question question : left) {
            question.answer(null);
        }
    }
}
