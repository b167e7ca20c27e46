import java.io.FileWriter;
import java.io.Writer;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * What retransforming costs by itself: options "names-file result-file batch". Retransforms the classes of those names, in batches
 * of that size, with a transformer that gives back the bytes that it got, and once more without it; writes how long each took in all
 * the longest time from the last class of a batch to its end, and the processor time of the thread that did it, in ns.
 */
public final class IdentityAgent {
    private static final Set<String> NAMES = new HashSet<>();
    private static volatile long answered;

    private IdentityAgent() {}

    public static void agentmain(String options, Instrumentation instrumentation) throws Exception {
        String[] words = options.split(" ");
        int batch = Integer.parseInt(words[2]);
        NAMES.clear();
        NAMES.addAll(Files.readAllLines(Paths.get(words[0])));
        List<Class<?>> found = new ArrayList<>();
        for (Class<?> each : instrumentation.getAllLoadedClasses()) {
            if (NAMES.contains(each.getName())) {
                found.add(each);
            }
        }
        ClassFileTransformer identity = new ClassFileTransformer() {
            @Override
            public byte[] transform(ClassLoader loader, String name, Class<?> type, ProtectionDomain domain, byte[] bytes) {
                byte[] same = type == null || !NAMES.contains(type.getName()) ? null : bytes.clone();
                answered = System.nanoTime();
                return same;
            }
        };
        instrumentation.addTransformer(identity, true);
        long[] there = retransform(instrumentation, found, batch);
        instrumentation.removeTransformer(identity);
        long[] back = retransform(instrumentation, found, batch);
        try (Writer out = new FileWriter(words[1])) {
            out.write(found.size() + " " + there[0] + " " + there[1] + " " + there[2] + " " + back[0] + " " + back[1] + " " + back[2] + "\n");
        }
    }

    private static long[] retransform(Instrumentation instrumentation, List<Class<?>> found, int batch) throws Exception {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long longest = 0;
        long processor = threads.getCurrentThreadCpuTime();
        long begin = System.nanoTime();
        for (int at = 0; at < found.size(); at += batch) {
            List<Class<?>> some = found.subList(at, Math.min(found.size(), at + batch));
            answered = System.nanoTime();
            instrumentation.retransformClasses(some.toArray(new Class<?>[0]));
            longest = Math.max(longest, System.nanoTime() - answered);
        }
        return new long[] {System.nanoTime() - begin, longest, threads.getCurrentThreadCpuTime() - processor};
    }
}
