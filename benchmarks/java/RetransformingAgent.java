import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.LongAdder;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.commons.AdviceAdapter;
import org.objectweb.asm.commons.Method;

/**
 * Measures the cost of retransforming for an agent inside the JVM. Options: "mode methods-file woven-file result-file
 * batch". Retransforms the classes of the methods, in batches of that size, and puts them back.
 *
 * <p>Modes: {@code identity} gives back the bytes that it got. {@code asm} puts two counters into the methods with ASM,
 * like tracers that weave in the JVM, and writes the woven classes to the file. {@code ready} gives back the classes in
 * that file, which this JVM or another JVM with the same program wrote. It measures the remaining work if the classes
 * are already woven.
 *
 * <p>Writes the number of classes; the ns from the start of the agent until all are retransformed; of these, the ns in
 * the calls; the longest time from the last class of a batch to its end; the processor time of its thread; and the ns
 * of putting back.
 */
public final class RetransformingAgent {
    private static volatile long answered;

    private RetransformingAgent() {}

    private interface Weaver {
        byte[] woven(String name, byte[] shown);
    }

    public static void agentmain(String options, Instrumentation instrumentation) throws Exception {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long begin = System.nanoTime();
        long processor = threads.getCurrentThreadCpuTime();
        String[] words = options.split(" ");
        Map<String, Set<String>> methods = methods(Paths.get(words[1]));
        Path file = Paths.get(words[2]);
        Map<String, byte[]> woven = new HashMap<>();
        Weaver weaver = (name, shown) -> shown.clone();
        if (words[0].equals("asm")) {
            weaver = (name, shown) -> {
                byte[] counted = counted(shown, methods.get(name));
                woven.put(name, counted);
                return counted;
            };
        } else if (words[0].equals("ready")) {
            read(file, woven);
            weaver = (name, shown) -> woven.get(name);
        }
        List<Class<?>> found = new ArrayList<>();
        for (Class<?> type : instrumentation.getAllLoadedClasses()) {
            if (methods.containsKey(type.getName().replace('.', '/'))) {
                found.add(type);
            }
        }
        Transformer transformer = new Transformer(methods.keySet(), weaver);
        int batch = Integer.parseInt(words[4]);
        instrumentation.addTransformer(transformer, true);
        long[] there = retransform(instrumentation, found, batch);
        long whole = System.nanoTime() - begin;
        processor = threads.getCurrentThreadCpuTime() - processor;
        instrumentation.removeTransformer(transformer);
        long[] back = retransform(instrumentation, found, batch);
        if (words[0].equals("asm")) {
            write(file, woven);
        }
        String result = found.size() + " " + whole + " " + there[0] + " " + there[1] + " " + processor + " " + back[0] + "\n";
        Files.write(Paths.get(words[3]), result.getBytes());
    }

    private static final class Transformer implements ClassFileTransformer {
        private final Set<String> names;
        private final Weaver weaver;

        Transformer(Set<String> names, Weaver weaver) {
            this.names = names;
            this.weaver = weaver;
        }

        @Override
        public byte[] transform(ClassLoader loader, String name, Class<?> type, ProtectionDomain domain, byte[] shown) {
            byte[] woven = type == null || !names.contains(name) ? null : weaver.woven(name, shown);
            answered = System.nanoTime();
            return woven;
        }
    }

    /** The time in the calls, and the longest time from the last class of a batch to the end of the batch. */
    private static long[] retransform(Instrumentation instrumentation, List<Class<?>> found, int batch) throws Exception {
        long longest = 0;
        long begin = System.nanoTime();
        for (int at = 0; at < found.size(); at += batch) {
            List<Class<?>> some = found.subList(at, Math.min(found.size(), at + batch));
            answered = System.nanoTime();
            instrumentation.retransformClasses(some.toArray(new Class<?>[0]));
            longest = Math.max(longest, System.nanoTime() - answered);
        }
        return new long[] {System.nanoTime() - begin, longest};
    }

    /** The methods that the woven classes call. */
    public static final class Counters {
        private static final LongAdder ENTERED = new LongAdder();
        private static final LongAdder RETURNED = new LongAdder();

        private Counters() {}

        public static void entered(int site) {
            ENTERED.increment();
        }

        public static void returned(int site) {
            RETURNED.increment();
        }
    }

    private static byte[] counted(byte[] shown, Set<String> methods) {
        ClassReader reader = new ClassReader(shown);
        ClassWriter writer = new ClassWriter(reader, 0);
        ClassVisitor visitor = new ClassVisitor(Opcodes.ASM9, writer) {
            @Override
            public MethodVisitor visitMethod(int access, String name, String type, String generic, String[] exceptions) {
                MethodVisitor next = super.visitMethod(access, name, type, generic, exceptions);
                return methods.contains(name + type) ? new Counting(next, access, name, type) : next;
            }
        };
        reader.accept(visitor, ClassReader.EXPAND_FRAMES);
        return writer.toByteArray();
    }

    private static final class Counting extends AdviceAdapter {
        private static final Type COUNTERS = Type.getType(Counters.class);
        private static final Method ENTERED = new Method("entered", "(I)V");
        private static final Method RETURNED = new Method("returned", "(I)V");
        private static int sites;

        Counting(MethodVisitor next, int access, String name, String type) {
            super(Opcodes.ASM9, next, access, name, type);
        }

        @Override
        protected void onMethodEnter() {
            push(sites++ & 0x7FFF);
            invokeStatic(COUNTERS, ENTERED);
        }

        @Override
        protected void onMethodExit(int opcode) {
            if (opcode != ATHROW) {
                push(sites++ & 0x7FFF);
                invokeStatic(COUNTERS, RETURNED);
            }
        }

        @Override
        public void visitMaxs(int stack, int locals) {
            super.visitMaxs(stack + 1, locals);
        }
    }

    /** The methods by the internal name of their class. A line of the file is "class method", with the descriptor. */
    private static Map<String, Set<String>> methods(Path file) throws IOException {
        Map<String, Set<String>> methods = new HashMap<>();
        for (String line : Files.readAllLines(file)) {
            int space = line.indexOf(' ');
            methods.computeIfAbsent(line.substring(0, space), name -> new HashSet<>()).add(line.substring(space + 1));
        }
        return methods;
    }

    private static void write(Path file, Map<String, byte[]> woven) throws IOException {
        try (DataOutputStream out = new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(file)))) {
            out.writeInt(woven.size());
            for (Map.Entry<String, byte[]> class_ : woven.entrySet()) {
                out.writeUTF(class_.getKey());
                out.writeInt(class_.getValue().length);
                out.write(class_.getValue());
            }
        }
    }

    private static void read(Path file, Map<String, byte[]> woven) throws IOException {
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(Files.newInputStream(file)))) {
            for (int left = in.readInt(); left > 0; left--) {
                String name = in.readUTF();
                byte[] data = new byte[in.readInt()];
                in.readFully(data);
                woven.put(name, data);
            }
        }
    }
}
