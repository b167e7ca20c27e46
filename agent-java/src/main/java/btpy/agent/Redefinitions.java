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
 * sessions. Whenever the JVM shows the outdated class file, the stored one replaces it.
 */
final class Redefinitions {
    private static final String INSTRUMENTATION = "sun.instrument.InstrumentationImpl";

    private static final class Redefined extends WeakReference<Class<?>> {
        /**
         * The {@link Fingerprint} of the class file from which a retransformation starts if the JVM has forgotten the
         * redefinition.
         */
        final byte[] outdatedHash;
        final byte[] currentFile;

        Redefined(Class<?> type, byte[] outdatedHash, byte[] currentFile) {
            super(type);
            this.outdatedHash = outdatedHash;
            this.currentFile = currentFile;
        }
    }

    private static final List<Redefined> ALL = new ArrayList<Redefined>();

    private Redefinitions() {
    }

    /**
     * Returns the class file that a woven class really has, when a transformer is shown {@code shownFile} in this
     * thread. It is the same array unless the JVM has forgotten a redefinition. If there are several sessions, only the
     * session with the first transformer may call this, because the JVM shows woven code to the other sessions.
     *
     * @param hash fingerprint of {@code shownFile}
     * @param latestHash fingerprint of the class file that was shown before
     * @param wasShared whether another session had woven that class file
     */
    static byte[] current(Class<?> type, byte[] shownFile, byte[] hash, byte[] latestHash, boolean wasShared) {
        boolean other = latestHash != null && !Arrays.equals(hash, latestHash);
        synchronized (ALL) {
            Redefined redefinition = take(type);
            if (redefinition == null && !other) {
                return shownFile;
            }
            if (!isRetransforming()) {
                if (wasShared) { // the first session weaves nothing in the new code, and has stored it
                    if (redefinition != null) {
                        ALL.add(redefinition);
                    }
                    return shownFile;
                }
                byte[] outdatedHash = redefinition != null ? redefinition.outdatedHash : latestHash;
                if (other && !Arrays.equals(hash, outdatedHash)) {
                    ALL.add(new Redefined(type, outdatedHash, shownFile));
                } else if (redefinition != null && !other) {
                    ALL.add(redefinition);
                }
                return shownFile;
            }
            if (redefinition == null) {
                return shownFile;
            }
            ALL.add(redefinition);
            return Arrays.equals(hash, redefinition.outdatedHash) ? redefinition.currentFile : shownFile;
        }
    }

    private static Redefined take(Class<?> type) {
        Redefined redefinition = null;
        for (int i = ALL.size() - 1; i >= 0; i--) {
            Class<?> redefinedType = ALL.get(i).get();
            if (redefinedType == type) {
                redefinition = ALL.remove(i);
            } else if (redefinedType == null) {
                ALL.remove(i);
            }
        }
        return redefinition;
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
