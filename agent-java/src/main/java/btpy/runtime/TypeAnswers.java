package btpy.runtime;

import java.lang.ref.WeakReference;

/**
 * Remembers which classes are of which types ({@code x instanceof com.acme.Order}), for all sessions, in a bounded
 * table. It refers weakly to the classes. Two threads may both write an entry; then one answer is lost and computed
 * again later.
 */
final class TypeAnswers {
    private static final int SIZE = 1024;
    private static volatile Answer[] table = {};

    private TypeAnswers() {}

    private static final class Answer extends WeakReference<Class<?>> {
        final String pattern;
        final boolean is;

        Answer(Class<?> type, String pattern, boolean is) {
            super(type);
            this.pattern = pattern;
            this.is = is;
        }
    }

    /** @param pattern a constant of a handler, which is compared by identity */
    static boolean is(Class<?> type, String pattern) {
        Answer[] answers = table;
        if (answers.length == 0) {
            table = answers = new Answer[SIZE];
        }
        int index = System.identityHashCode(type) * 31 + System.identityHashCode(pattern) & SIZE - 1;
        Answer answer = answers[index];
        if (answer != null && answer.pattern == pattern && answer.get() == type) {
            return answer.is;
        }
        boolean is = Dynamic.isSubtype(type, pattern);
        answers[index] = new Answer(type, pattern, is);
        return is;
    }

    /** Called at the end of the last session, when memory may be short. */
    static void clear() {
        table = new Answer[0];
    }
}
