import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.math.BigInteger;
import java.security.MessageDigest;
import java.security.ProtectionDomain;

/**
 * An agent that weaves nothing: it reads the class file of a class, and can redefine classes. The JVM asks agents in the order of loading,
 * so this agent sees the class files of the agents before it. It may be loaded again.
 */
public final class Observer {
    private static volatile Instrumentation instrumentation;

    private Observer() {}

    public static void premain(String arguments, Instrumentation instrumentation) {
        Observer.instrumentation = instrumentation;
    }

    public static void agentmain(String arguments, Instrumentation instrumentation) {
        Observer.instrumentation = instrumentation;
    }

    static Instrumentation instrumentation() {
        return instrumentation;
    }

    /** SHA-256 of the class file after the agents up to the newest observer, in hexadecimal digits. */
    static String digest(Class<?> type) throws Exception {
        byte[][] seen = new byte[1][];
        ClassFileTransformer last = new ClassFileTransformer() {
            @Override
            public byte[] transform(ClassLoader loader, String name, Class<?> of, ProtectionDomain domain, byte[] bytes) {
                if (of == type) {
                    seen[0] = bytes.clone();
                }
                return null;
            }
        };
        instrumentation.addTransformer(last, true);
        try {
            instrumentation.retransformClasses(type);
        } finally {
            instrumentation.removeTransformer(last);
        }
        return String.format("%064x", new BigInteger(1, MessageDigest.getInstance("SHA-256").digest(seen[0])));
    }
}
