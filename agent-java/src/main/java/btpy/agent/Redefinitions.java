package btpy.agent;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Classes that somebody gave other code with {@code redefineClasses} while they were woven.
 *
 * <p>Before JDK 20 the JVM forgets that code: it keeps the class file from before the first change of a transformer, and
 * every later retransformation starts from that one (JDK-7124710). So what was redefined is kept here, for all sessions, and
 * takes the place of the outdated class file whenever that is what the JVM shows.
 */
final class Redefinitions {
    private static final String INSTRUMENTATION = "sun.instrument.InstrumentationImpl";

    private static final class Redefined extends WeakReference<Class<?>> {
        /** {@link Fingerprint} of the class file that a retransformation starts from where the JVM has forgotten the redefinition. */
        final byte[] outdated;
        final byte[] current;

        Redefined(Class<?> type, byte[] outdated, byte[] current) {
            super(type);
            this.outdated = outdated;
            this.current = current;
        }
    }

    private static final List<Redefined> ALL = new ArrayList<Redefined>();

    private Redefinitions() {
    }

    /**
     * The class file that a woven class really has, given what a transformer is shown in this thread; the same array unless
     * the JVM has forgotten a redefinition. {@code hash}: of {@code shown}; {@code latest}: of what was shown before. Of several sessions
     * it is for the one whose transformer comes first: what the others are shown has been woven. {@code wasShared}: what was shown
     * before had been.
     */
    static byte[] current(Class<?> type, byte[] shown, byte[] hash, byte[] latest, boolean wasShared) {
        boolean other = latest != null && !Arrays.equals(hash, latest);
        synchronized (ALL) {
            Redefined known = take(type);
            if (known == null && !other) {
                return shown;
            }
            if (!isRetransforming()) {
                if (wasShared) { // the first one, which has nothing to weave in the new code, has seen to it
                    if (known != null) {
                        ALL.add(known);
                    }
                    return shown;
                }
                byte[] outdated = known != null ? known.outdated : latest;
                if (other && !Arrays.equals(hash, outdated)) {
                    ALL.add(new Redefined(type, outdated, shown));
                } else if (known != null && !other) {
                    ALL.add(known);
                }
                return shown;
            }
            if (known == null) {
                return shown;
            }
            ALL.add(known);
            return Arrays.equals(hash, known.outdated) ? known.current : shown;
        }
    }

    private static Redefined take(Class<?> type) {
        Redefined found = null;
        for (int i = ALL.size() - 1; i >= 0; i--) {
            Class<?> redefined = ALL.get(i).get();
            if (redefined == type) {
                found = ALL.remove(i);
            } else if (redefined == null) {
                ALL.remove(i);
            }
        }
        return found;
    }

    /** Whether the transformer is called for {@code retransformClasses}; a debugger that redefines leaves no frame. */
    private static boolean isRetransforming() {
        for (StackTraceElement frame : new Throwable().getStackTrace()) {
            if (frame.getClassName().equals(INSTRUMENTATION) && frame.getMethodName().startsWith("retransformClasses")) {
                return true;
            }
        }
        return false;
    }
}
