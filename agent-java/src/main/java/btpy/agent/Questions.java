package btpy.agent;

import java.util.HashMap;
import java.util.Map;

/** The questions that the client has not answered yet. */
final class Questions {
    /**
     * If more classes than this are being loaded at once, the further classes are loaded unwoven and are woven
     * afterwards.
     */
    private static final int MAX_OPEN = 4096;

    private final Map<Integer, Question> open = new HashMap<Integer, Question>();
    private int lastId;
    private boolean closed;

    /**
     * Whether a thread has missed its deadline and no answer has arrived since. Until then no other loading thread
     * waits.
     */
    private boolean silent;

    /**
     * Returns null if too many questions are open, if the session is leaving, or if the class is being loaded and the
     * client is silent. If {@code type} is null, the class is being loaded. {@code changed}: as in {@link Question}.
     */
    synchronized Question ask(ClassRecord record, Class<?> type, byte[] classFile, byte[] hash, boolean changed) {
        if (closed || open.size() >= MAX_OPEN || silent && type == null) {
            return null;
        }
        Question question = new Question(++lastId, record, type, classFile, hash, changed);
        open.put(question.id, question);
        return question;
    }

    /** Removes and returns the question for an answer. Returns null if no question with this id is open. */
    synchronized Question take(int id) {
        silent = false;
        return open.remove(id);
    }

    /** Called when a thread that loads a class has missed its deadline. */
    synchronized void reportTimeout() {
        silent = true;
    }

    synchronized boolean isClosed() {
        return closed;
    }

    /** Called when a client that can answer has connected. */
    synchronized void open() {
        closed = false;
        silent = false;
    }

    /** Ends every wait, without a change of the classes. The client is not asked again until {@link #open}. */
    void close() {
        Question[] openQuestions;
        synchronized (this) {
            closed = true;
            openQuestions = open.values().toArray(new Question[0]);
            open.clear();
        }
        for (Question question : openQuestions) {
            question.answer(null);
        }
    }
}
