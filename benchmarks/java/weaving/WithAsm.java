import java.io.IOException;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.FieldVisitor;
import org.objectweb.asm.Handle;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.commons.AdviceAdapter;
import org.objectweb.asm.commons.GeneratorAdapter;
import org.objectweb.asm.commons.Method;

/**
 * ASM for the weaving benchmark: {@code CORPUS ROUNDS TASK}. Tasks: {@code members} and {@code instructions}
 * read; {@code called} and {@code timed} weave and keep the stack map frames, {@code called-computed} and
 * {@code timed-computed} have ASM compute them.
 */
final class WithAsm {
    private static final Type HANDLER = Type.getObjectType("btpy/runtime/Handler");
    private static final Type SYSTEM = Type.getObjectType("java/lang/System");
    private static final Method FIRE = new Method("fire", "(I)V");
    private static final Method NANO_TIME = new Method("nanoTime", "()J");

    private WithAsm() {}

    public static void main(String[] arguments) throws IOException {
        Corpus corpus = new Corpus(arguments[0]);
        String task = arguments[2];
        boolean timed = task.startsWith("timed");
        boolean computed = task.endsWith("-computed");
        Corpus.Pass pass;
        if (task.equals("members")) {
            pass = WithAsm::readMembers;
        } else if (task.equals("instructions")) {
            pass = WithAsm::readInstructions;
        } else {
            pass = (data, found) -> weave(data, found, timed, computed);
        }
        corpus.measure(Integer.parseInt(arguments[1]), pass);
    }

    private static void readMembers(byte[] data, Corpus.Found found) {
        ClassVisitor visitor =
                new ClassVisitor(Opcodes.ASM9) {
                    @Override
                    public FieldVisitor visitField(int access, String name, String type, String generic, Object value) {
                        return null;
                    }

                    @Override
                    public MethodVisitor visitMethod(
                            int access, String name, String type, String generic, String[] exceptions) {
                        if ((access & (Opcodes.ACC_NATIVE | Opcodes.ACC_ABSTRACT)) == 0) {
                            found.methods++;
                        }
                        found.marks += name.length() + type.length();
                        return null;
                    }
                };
        new ClassReader(data).accept(visitor, ClassReader.SKIP_CODE);
    }

    private static void readInstructions(byte[] data, Corpus.Found found) {
        ClassVisitor visitor =
                new ClassVisitor(Opcodes.ASM9) {
                    @Override
                    public MethodVisitor visitMethod(
                            int access, String name, String type, String generic, String[] exceptions) {
                        return new Counter(found);
                    }
                };
        new ClassReader(data).accept(visitor, ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES);
    }

    private static final class Counter extends MethodVisitor {
        private final Corpus.Found found;

        Counter(Corpus.Found found) {
            super(Opcodes.ASM9);
            this.found = found;
        }

        @Override
        public void visitCode() {
            found.methods++;
        }

        @Override
        public void visitInsn(int opcode) {
            found.marks++;
        }

        @Override
        public void visitIntInsn(int opcode, int operand) {
            found.marks++;
        }

        @Override
        public void visitVarInsn(int opcode, int index) {
            found.marks++;
        }

        @Override
        public void visitTypeInsn(int opcode, String type) {
            found.marks++;
        }

        @Override
        public void visitFieldInsn(int opcode, String owner, String name, String type) {
            found.marks++;
        }

        @Override
        public void visitMethodInsn(int opcode, String owner, String name, String type, boolean isInterface) {
            found.marks++;
        }

        @Override
        public void visitInvokeDynamicInsn(String name, String type, Handle bootstrap, Object... arguments) {
            found.marks++;
        }

        @Override
        public void visitJumpInsn(int opcode, Label label) {
            found.marks++;
        }

        @Override
        public void visitLdcInsn(Object value) {
            found.marks++;
        }

        @Override
        public void visitIincInsn(int index, int increment) {
            found.marks++;
        }

        @Override
        public void visitTableSwitchInsn(int low, int high, Label otherwise, Label... labels) {
            found.marks++;
        }

        @Override
        public void visitLookupSwitchInsn(Label otherwise, int[] keys, Label[] labels) {
            found.marks++;
        }

        @Override
        public void visitMultiANewArrayInsn(String type, int dimensions) {
            found.marks++;
        }
    }

    private static void weave(byte[] data, Corpus.Found found, boolean timed, boolean computed) {
        ClassReader reader = new ClassReader(data);
        ClassWriter writer = new Writer(reader, computed ? ClassWriter.COMPUTE_FRAMES : 0);
        ClassVisitor visitor =
                new ClassVisitor(Opcodes.ASM9, writer) {
                    @Override
                    public MethodVisitor visitMethod(
                            int access, String name, String type, String generic, String[] exceptions) {
                        MethodVisitor next = super.visitMethod(access, name, type, generic, exceptions);
                        if ((access & (Opcodes.ACC_NATIVE | Opcodes.ACC_ABSTRACT)) != 0) {
                            return next;
                        }
                        found.methods++;
                        return timed
                                ? new Timed(next, access, name, type, found)
                                : new Called(next, access, name, type, found);
                    }
                };
        reader.accept(visitor, computed ? ClassReader.SKIP_FRAMES : ClassReader.EXPAND_FRAMES);
        found.bytes += writer.toByteArray().length;
    }

    /** Uses Object as the common superclass if a class is missing, which happens in any server. */
    private static final class Writer extends ClassWriter {
        Writer(ClassReader reader, int flags) {
            super(reader, flags);
        }

        @Override
        protected String getCommonSuperClass(String one, String other) {
            try {
                return super.getCommonSuperClass(one, other);
            } catch (TypeNotPresentException absent) {
                return "java/lang/Object";
            }
        }
    }

    /** A handler is called at entry and before each return. */
    private static class Called extends AdviceAdapter {
        final Corpus.Found found;

        Called(MethodVisitor next, int access, String name, String type, Corpus.Found found) {
            super(Opcodes.ASM9, next, access, name, type);
            this.found = found;
        }

        final void site() {
            push((int) (found.marks++ & 0x7FFF));
        }

        @Override
        protected void onMethodEnter() {
            site();
            invokeStatic(HANDLER, FIRE);
        }

        @Override
        protected void onMethodExit(int opcode) {
            if (opcode != ATHROW) {
                site();
                invokeStatic(HANDLER, FIRE);
            }
        }

        @Override
        public void visitMaxs(int stack, int locals) {
            super.visitMaxs(stack + 6, locals);
        }
    }

    /** The handler at entry gets the first argument, the handlers at returns get the duration and the result. */
    private static final class Timed extends Called {
        private final Type returned;
        private final Type[] taken;
        private int start;
        private int duration = -1;
        private int result;

        Timed(MethodVisitor next, int access, String name, String type, Corpus.Found found) {
            super(next, access, name, type, found);
            returned = Type.getReturnType(type);
            taken = Type.getArgumentTypes(type);
        }

        private static String erased(Type type) {
            return type.getSort() >= Type.ARRAY ? "Ljava/lang/Object;" : type.getDescriptor();
        }

        @Override
        protected void onMethodEnter() {
            site();
            if (taken.length == 0) {
                invokeStatic(HANDLER, FIRE);
            } else {
                loadArg(0);
                invokeStatic(HANDLER, new Method("fire", "(I" + erased(taken[0]) + ")V"));
            }
            invokeStatic(SYSTEM, NANO_TIME);
            start = newLocal(Type.LONG_TYPE);
            storeLocal(start);
        }

        @Override
        protected void onMethodExit(int opcode) {
            if (opcode == ATHROW) {
                return;
            }
            boolean results = returned.getSort() != Type.VOID;
            if (duration < 0) {
                duration = newLocal(Type.LONG_TYPE);
                result = results ? newLocal(returned) : 0;
            }
            invokeStatic(SYSTEM, NANO_TIME);
            loadLocal(start);
            math(GeneratorAdapter.SUB, Type.LONG_TYPE);
            storeLocal(duration);
            if (results) {
                storeLocal(result);
            }
            site();
            loadLocal(duration);
            if (results) {
                loadLocal(result);
                invokeStatic(HANDLER, new Method("fire", "(IJ" + erased(returned) + ")V"));
                loadLocal(result);
            } else {
                invokeStatic(HANDLER, new Method("fire", "(IJ)V"));
            }
        }
    }
}
