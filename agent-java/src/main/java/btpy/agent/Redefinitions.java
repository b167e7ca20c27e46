package btpy.agent;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Keeps the code of classes that another agent or a debugger redefined with {@code redefineClasses} while they were
 * woven.
 *
 * <p>Before JDK 20 the JVM forgets that code. It keeps the class file from before the first change of a transformer,
 * and starts every later retransformation from it (JDK-7124710). So the redefined class file is stored here, for all
 * sessions. It replaces the outdated class file whenever the JVM shows the outdated one.
 */
final class Redefinitions {
    private static final String INSTRUMENTATION = "sun.instrument.InstrumentationImpl";

    private static final class Redefined extends WeakReference<Class<?>> {
        /**
         * The {@link Fingerprint} of the class file from which a retransformation starts if the JVM has forgotten the
         * redefinition.
         */
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
     * Returns the class file that a woven class really has, when a transformer is shown {@code shown} in this thread.
     * It is the same array unless the JVM has forgotten a redefinition. If there are several sessions, only the session
     * with the first transformer may call this, because the JVM shows woven code to the others.
     *
     * @param hash fingerprint of {@code shown}
     * @param latest fingerprint of the class file that was shown before
     * @param wasShared whether another session had woven that class file
     */
    static byte[] current(Class<?> type, byte[] shown, byte[] hash, byte[] latest, boolean wasShared) {
        boolean other = latest != null && !Arrays.equals(hash, latest);
        synchronized (ALL) {
            Redefined known = take(type);
            if (known == null && !other) {
                return shown;
            }
            if (!isRetransforming()) {
                if (wasShared) { // the first session, which has nothing to weave in the new code, has stored it
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

    /**
     * Whether {@code retransformClasses} called the transformer. A debugger that redefines a class leaves no stack
     * frame.
     */
    private static boolean isRetransforming() {
        for (StackTraceElement frame : new Throwable().getStackTrace()) {
            if (frame.getClassName().equals(INSTRUMENTATION) && frame.getMethodName().startsWith("retransformClasses")) {
                return true;
            }
        }
        return false;
    }
}
