import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;
import java.util.concurrent.atomic.LongAdder;
import java.util.regex.Pattern;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * The least work that an agent can do: ASM puts two counters into every method of the classes whose names fit the
 * regular expression in the options, in the thread that loads them.
 */
public final class CountingAgent {
    public static final LongAdder ENTERED = new LongAdder();
    public static final LongAdder RETURNED = new LongAdder();

    private CountingAgent() {}

    public static void entered() {
        ENTERED.increment();
    }

    public static void returned() {
        RETURNED.increment();
    }

    public static void premain(String options, Instrumentation instrumentation) {
        agentmain(options, instrumentation);
    }

    public static void agentmain(String options, Instrumentation instrumentation) {
        Pattern classes = Pattern.compile(options);
        instrumentation.addTransformer(new ClassFileTransformer() {
            @Override
            public byte[] transform(ClassLoader loader, String name, Class<?> type, ProtectionDomain domain, byte[] bytes) {
                boolean meant = name != null && classes.matcher(name.replace('/', '.')).matches();
                return meant ? counting(bytes) : null;
            }
        });
    }

    private static byte[] counting(byte[] bytes) {
        ClassReader reader = new ClassReader(bytes);
        ClassWriter writer = new ClassWriter(reader, 0);
        reader.accept(new ClassVisitor(Opcodes.ASM9, writer) {
            @Override
            public MethodVisitor visitMethod(int access, String name, String descriptor, String signature, String[] exceptions) {
                return new MethodVisitor(Opcodes.ASM9, super.visitMethod(access, name, descriptor, signature, exceptions)) {
                    @Override
                    public void visitCode() {
                        super.visitCode();
                        call("entered");
                    }

                    @Override
                    public void visitInsn(int opcode) {
                        if (opcode >= Opcodes.IRETURN && opcode <= Opcodes.RETURN) {
                            call("returned");
                        }
                        super.visitInsn(opcode);
                    }

                    private void call(String counter) {
                        super.visitMethodInsn(Opcodes.INVOKESTATIC, "CountingAgent", counter, "()V", false);
                    }
                };
            }
        }, 0);
        return writer.toByteArray();
    }
}
