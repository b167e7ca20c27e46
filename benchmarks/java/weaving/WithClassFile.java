import java.io.IOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.classfile.ClassModel;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.CodeElement;
import java.lang.classfile.CodeModel;
import java.lang.classfile.CodeTransform;
import java.lang.classfile.Instruction;
import java.lang.classfile.MethodModel;
import java.lang.classfile.Opcode;
import java.lang.classfile.TypeKind;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.classfile.instruction.NewObjectInstruction;
import java.lang.classfile.instruction.ReturnInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.lang.reflect.AccessFlag;

/** {@code java.lang.classfile} of JDK 25 for the weaving benchmark; arguments as for {@code WithAsm}. */
final class WithClassFile {
    private static final ClassDesc HANDLER = ClassDesc.of("btpy.runtime.Handler");
    private static final ClassDesc SYSTEM = ClassDesc.of("java.lang.System");
    private static final MethodTypeDesc FIRE = MethodTypeDesc.of(ConstantDescs.CD_void, ConstantDescs.CD_int);
    private static final MethodTypeDesc NANO_TIME = MethodTypeDesc.of(ConstantDescs.CD_long);

    /** Treats a missing class, which happens in any server, as a direct subclass of Object. */
    private static final ClassHierarchyResolver HIERARCHY =
            ClassHierarchyResolver.defaultResolver()
                    .orElse(absent -> ClassHierarchyResolver.ClassHierarchyInfo.ofClass(ConstantDescs.CD_Object));

    private WithClassFile() {}

    public static void main(String[] arguments) throws IOException {
        Corpus corpus = new Corpus(arguments[0]);
        String task = arguments[2];
        Corpus.Pass pass =
                switch (task) {
                    case "members" -> WithClassFile::readMembers;
                    case "instructions" -> WithClassFile::readInstructions;
                    case "called" -> (data, found) -> weave(data, found, false);
                    case "timed" -> (data, found) -> weave(data, found, true);
                    default -> throw new IllegalArgumentException(task);
                };
        corpus.measure(Integer.parseInt(arguments[1]), pass);
    }

    private static void readMembers(byte[] data, Corpus.Found found) {
        for (MethodModel method : ClassFile.of().parse(data).methods()) {
            if ((method.flags().flagsMask() & (ClassFile.ACC_NATIVE | ClassFile.ACC_ABSTRACT)) == 0) {
                found.methods++;
            }
            found.marks += method.methodName().stringValue().length() + method.methodType().stringValue().length();
        }
    }

    private static void readInstructions(byte[] data, Corpus.Found found) {
        ClassFile reader = ClassFile.of(ClassFile.DebugElementsOption.DROP_DEBUG);
        for (MethodModel method : reader.parse(data).methods()) {
            method.code().ifPresent(code -> {
                found.methods++;
                for (CodeElement element : code) {
                    if (element instanceof Instruction) {
                        found.marks++;
                    }
                }
            });
        }
    }

    private static void weave(byte[] data, Corpus.Found found, boolean timed) {
        ClassFile file = ClassFile.of(ClassFile.ClassHierarchyResolverOption.of(HIERARCHY));
        ClassModel model = file.parse(data);
        ClassTransform transform = (builder, element) -> {
            if (element instanceof MethodModel method && method.code().isPresent()) {
                found.methods++;
                builder.transformMethod(method, (methodBuilder, part) -> {
                    if (part instanceof CodeModel code) {
                        methodBuilder.transformCode(code, new Advice(method, timed, found));
                    } else {
                        methodBuilder.with(part);
                    }
                });
            } else {
                builder.with(element);
            }
        };
        found.bytes += file.transformClass(model, transform).length;
    }

    /** Like {@code Called} and {@code Timed} of {@code WithAsm}. */
    private static final class Advice implements CodeTransform {
        private final MethodTypeDesc type;
        private final boolean isStatic;
        private final boolean isConstructor;
        private final boolean timed;
        private final Corpus.Found found;
        private boolean entered;
        private int made;
        private int start;
        private int duration;
        private int result;

        Advice(MethodModel method, boolean timed, Corpus.Found found) {
            this.type = method.methodTypeSymbol();
            this.isStatic = method.flags().has(AccessFlag.STATIC);
            this.isConstructor = method.methodName().equalsString("<init>");
            this.timed = timed;
            this.found = found;
        }

        private void site(CodeBuilder code) {
            code.loadConstant((int) (found.marks++ & 0x7FFF));
        }

        private static ClassDesc erased(ClassDesc type) {
            return type.isPrimitive() ? type : ConstantDescs.CD_Object;
        }

        @Override
        public void atStart(CodeBuilder code) {
            if (!isConstructor) {
                enter(code);
            }
        }

        private void enter(CodeBuilder code) {
            entered = true;
            site(code);
            if (!timed) {
                code.invokestatic(HANDLER, "fire", FIRE);
                return;
            }
            if (type.parameterCount() == 0) {
                code.invokestatic(HANDLER, "fire", FIRE);
            } else {
                ClassDesc first = type.parameterType(0);
                code.loadLocal(TypeKind.from(first), isStatic ? 0 : 1);
                code.invokestatic(
                        HANDLER, "fire", MethodTypeDesc.of(ConstantDescs.CD_void, ConstantDescs.CD_int, erased(first)));
            }
            start = code.allocateLocal(TypeKind.LONG);
            duration = code.allocateLocal(TypeKind.LONG);
            TypeKind returned = TypeKind.from(type.returnType());
            result = returned == TypeKind.VOID ? 0 : code.allocateLocal(returned);
            code.invokestatic(SYSTEM, "nanoTime", NANO_TIME).lstore(start);
        }

        @Override
        public void accept(CodeBuilder code, CodeElement element) {
            if (element instanceof ReturnInstruction) {
                leave(code);
            }
            code.with(element);
            if (!isConstructor || entered) {
                return;
            }
            if (element instanceof NewObjectInstruction) {
                made++;
            } else if (element instanceof InvokeInstruction call
                    && call.opcode() == Opcode.INVOKESPECIAL
                    && call.name().equalsString("<init>")
                    && made-- == 0) {
                enter(code);
            }
        }

        private void leave(CodeBuilder code) {
            if (!timed) {
                site(code);
                code.invokestatic(HANDLER, "fire", FIRE);
                return;
            }
            ClassDesc returns = type.returnType();
            TypeKind kind = TypeKind.from(returns);
            code.invokestatic(SYSTEM, "nanoTime", NANO_TIME).lload(start).lsub().lstore(duration);
            if (kind != TypeKind.VOID) {
                code.storeLocal(kind, result);
            }
            site(code);
            code.lload(duration);
            if (kind == TypeKind.VOID) {
                code.invokestatic(
                        HANDLER,
                        "fire",
                        MethodTypeDesc.of(ConstantDescs.CD_void, ConstantDescs.CD_int, ConstantDescs.CD_long));
            } else {
                code.loadLocal(kind, result);
                code.invokestatic(
                        HANDLER,
                        "fire",
                        MethodTypeDesc.of(
                                ConstantDescs.CD_void, ConstantDescs.CD_int, ConstantDescs.CD_long, erased(returns)));
                code.loadLocal(kind, result);
            }
        }
    }
}
