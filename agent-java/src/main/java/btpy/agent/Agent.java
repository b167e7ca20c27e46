package btpy.agent;

import btpy.runtime.AgentThread;
import btpy.runtime.Guard;
import btpy.runtime.Headroom;
import java.io.File;
import java.lang.instrument.Instrumentation;

/**
 * Entry of the agent. Options: {@code socket=<unix:/path | tcp:port>,secret-in=<directory>}. Other users can see the
 * options: the list of processes shows the options of {@code -javaagent}, and events of JFR show the options of any
 * attach. So the secret is the name of a file, {@code secret-<64 hex digits>}, in a directory that only the user can
 * open. The file is empty, so it needs no space on a full disk. {@code survivor=<KiB>} is a part of the heap in which
 * nothing can be allocated, {@code live=<KiB>} is the smallest use of the heap that was seen ({@link Headroom}). With
 * {@code wait=<milliseconds>} the agent returns when the client sends GO or closes the connection, or after that time.
 *
 * <p>All classes of the agent and of the run-time are in the boot loader, where {@code BtpyLauncher} defines them, so
 * that all woven classes share one copy. The agent never prints and never throws: with wrong options, or if the client
 * does not answer, the target continues undisturbed.
 */
public final class Agent {
    /**
     * The Instrumentation of the first attach. Every attach creates another Instrumentation with its own position in
     * the order of transformers. Using only the first keeps the sessions in the order in which they began, with a
     * single JVMTI environment that listens to class loading.
     */
    private static Instrumentation firstInstrumentation;

    private Agent() {
    }

    /** Starts a session. Returns at once, or when the client allows it. */
    public static void start(String options, Instrumentation instrumentation) {
        try {
            String endpoint = null;
            byte[] secret = null;
            int wait = 0;
            for (int at = 0; options != null && at < options.length(); ) {
                int end = options.indexOf(',', at);
                end = end < 0 ? options.length() : end;
                if (options.startsWith("socket=", at)) {
                    endpoint = options.substring(at + 7, end);
                } else if (options.startsWith("secret-in=", at)) {
                    secret = readSecret(options.substring(at + 10, end));
                } else if (options.startsWith("survivor=", at)) {
                    Headroom.exclude(1024L * Integer.parseInt(options.substring(at + 9, end)));
                } else if (options.startsWith("live=", at)) {
                    Headroom.reportUse(1024L * Integer.parseInt(options.substring(at + 5, end)));
                } else if (options.startsWith("wait=", at)) {
                    wait = Integer.parseInt(options.substring(at + 5, end));
                }
                at = end + 1;
            }
            if (endpoint == null || secret == null || secret.length != 32) {
                return;
            }
            synchronized (Agent.class) {
                if (firstInstrumentation == null) {
                    firstInstrumentation = instrumentation;
                }
            }
            Tracer tracer = new Tracer(firstInstrumentation, endpoint, secret);
            start(tracer);
            tracer.startGate.await(wait);
        } catch (Throwable failure) {
            // no error may reach the target's standard error
        }
    }

    /** The calling thread belongs to the JVM. Probes of other sessions must not fire for the work of btpy on it. */
    private static void start(Tracer tracer) {
        int mark = markThread();
        try {
            new AgentThread(tracer, "btpy-reader").start();
        } finally {
            if (mark >= 0) {
                Guard.leave(mark);
            }
        }
    }

    /**
     * @return below 0 if the thread was not marked. Before the first session the run-time cannot be used, and no probe
     * can fire.
     */
    private static int markThread() {
        try {
            return Platform.hasOpenInternals() ? Guard.mark(-1) : -1;
        } catch (LinkageError failure) {
            return -1; // the reader tells the client what the JVM lacks
        }
    }

    private static byte[] readSecret(String directory) {
        String[] names = new File(directory).list();
        for (int i = 0; names != null && i < names.length; i++) {
            if (names[i].startsWith("secret-")) {
                return Digest.parseHex(names[i].substring(7));
            }
        }
        return null;
    }
}
