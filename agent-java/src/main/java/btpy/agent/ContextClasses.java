package btpy.agent;

import btpy.runtime.ClassNames;
import btpy.runtime.Contexts;
import java.lang.instrument.Instrumentation;

/**
 * Finds the classes of libraries that store the context of a thread ({@link Contexts}). It searches the loaded classes
 * before the first handler that reads a context, and again when a class with one of their names is loaded later.
 */
final class ContextClasses {
    private static final byte[] CONTEXTS = {
        'b', 't', 'p', 'y', '/', 'r', 'u', 'n', 't', 'i', 'm', 'e', '/', 'C', 'o', 'n', 't', 'e', 'x', 't', 's'
    };
    private static final byte[] SPANS = {'b', 't', 'p', 'y', '/', 'r', 'u', 'n', 't', 'i', 'm', 'e', '/', 'S', 'p', 'a', 'n', 's'};

    /**
     * When the name of such a class has been seen, the event thread looks for the class during this number of its
     * turns. It searches in the turns 1, 2, 4, 8 …, because the JVM does not list a class while it is being loaded.
     */
    private static final int TURNS = 256;

    private static Instrumentation instrumentation;
    private static volatile int turnsLeft;

    private ContextClasses() {
    }

    static synchronized void begin(Instrumentation given) {
        instrumentation = given;
    }

    /** Whether the handler reads a context. */
    static boolean areUsedBy(ClassHeader handler) {
        return handler != null
                && !(handler.mentionedClasses(CONTEXTS).isEmpty() && handler.mentionedClasses(SPANS).isEmpty());
    }

    /** Searches before a handler that reads a context is used. */
    static synchronized void require() {
        if (!Contexts.isSearched()) {
            search();
            Contexts.markSearched();
            search(); // a class that was loaded during the first search was not reported
        }
    }

    /** Called by any thread that loads a class; {@code name} has dots or slashes. */
    static void reportLoading(String name) {
        if (Contexts.isSearched() && Contexts.wants(name.replace('/', '.'))) {
            turnsLeft = TURNS;
        }
    }

    /** Called at each turn of the event thread: searches if a search is due. Only the event thread calls this. */
    static void searchIfDue() {
        int turns = turnsLeft;
        if (turns > 0) {
            searchInTurn(turns);
        }
    }

    private static synchronized void searchInTurn(int turns) {
        turnsLeft = turns - 1;
        int turn = TURNS - turns + 1;
        if ((turn & turn - 1) == 0) {
            search();
        }
    }

    private static void search() {
        for (Class<?> type : instrumentation.getAllLoadedClasses()) {
            if (!type.isArray() && Contexts.wants(ClassNames.of(type))) {
                Contexts.add(type);
            }
        }
    }
}
