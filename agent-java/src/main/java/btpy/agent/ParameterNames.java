package btpy.agent;

import static btpy.agent.ClassHeader.ATTRIBUTE_HEAD;
import static btpy.agent.ClassHeader.MEMBER_HEAD;
import static btpy.agent.ClassHeader.endOfAttribute;
import static btpy.agent.ClassHeader.u2;

import java.io.ByteArrayOutputStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Method;
import java.lang.reflect.Parameter;

/**
 * The MethodParameters attributes (JVMS §4.7.24) of a class, for a JVM that omits them in the class file that it shows
 * at a retransformation (JDK-8240908). The transformer adds them to the class files that it returns, so the class keeps
 * them.
 *
 * <p>They come from the client together with prewoven methods, or from the class file, or from reflection if the loader
 * has no class file. They are kept as text, because another agent or session may have given the class a different
 * constant pool. The index of each text in the class file is stored before the text, because the shown class file nearly
 * always has the text at the same index.
 */
final class ParameterNames {
    /** Whether this JVM omits the attributes. */
    static final boolean ARE_LOST = Platform.losesParameterNames();

    private static final byte[] ATTRIBUTE = modifiedUtf8("MethodParameters");
    private static final int UTF8 = 1;
    private static final int MAX_CONSTANTS = 0xFFFF;

    /** The result for a class without such an attribute. */
    static final ParameterNames NONE = new ParameterNames(0, new byte[0]);

    static {
        // A thread of the application may be the first to need this class, and must not load it.
        Insertion.class.getName();
    }

    private final int methods;

    /** A {@code MethodNames} (docs/protocol.md) for each method. */
    private final byte[] content;

    private ParameterNames(int methods, byte[] content) {
        this.methods = methods;
        this.content = content;
    }

    /** The names that the client has read. Each item is a {@code MethodNames} (docs/protocol.md). */
    static ParameterNames of(byte[][] methodNames) {
        if (methodNames.length == 0) {
            return NONE;
        }
        ByteArrayOutputStream content = new ByteArrayOutputStream();
        for (byte[] names : methodNames) {
            content.write(names, 0, names.length);
        }
        return new ParameterNames(methodNames.length, content.toByteArray());
    }

    /**
     * The names of a loaded class; null if they are not available, because its loader has no class file and reflection
     * fails. Runs the code of the class's loader.
     */
    static ParameterNames of(Class<?> type) {
        if (type.getClassLoader() == null && isOfJdk(type.getName())) {
            return NONE; // the class was compiled without names of parameters
        }
        byte[] classFile = Resources.classFile(type);
        ParameterNames names = classFile == null ? null : read(classFile, type.getName());
        return names != null ? names : reflect(type);
    }

    private static boolean isOfJdk(String name) {
        return name.startsWith("java.") || name.startsWith("jdk.") || name.startsWith("sun.") || name.startsWith("javax.");
    }

    /** Null when it is not a class file of that name. */
    private static ParameterNames read(byte[] b, String name) {
        try {
            ClassHeader header = ClassHeader.parse(b);
            if (header == null || !header.name.equals(name)) {
                return null;
            }
            int[] offsets = header.offsets;
            int attribute = indexOf(b, offsets, ATTRIBUTE, 0, 0, ATTRIBUTE.length);
            if (attribute == 0) {
                return NONE;
            }
            Texts texts = new Texts();
            int methods = 0;
            int at = methodsAt(b, header.poolEnd);
            int remaining = u2(b, at);
            for (at += 2; remaining > 0; remaining--) {
                int head = at;
                at += MEMBER_HEAD;
                for (int attributes = u2(b, head + 6); attributes > 0; attributes--) {
                    if (u2(b, at) == attribute) {
                        methods++;
                        texts.constant(b, offsets, u2(b, head + 2));
                        texts.constant(b, offsets, u2(b, head + 4));
                        int parameters = b[at + ATTRIBUTE_HEAD] & 0xFF;
                        texts.write(parameters);
                        for (int i = 0, parametersAt = at + ATTRIBUTE_HEAD + 1; i < parameters;
                                i++, parametersAt += 4) {
                            write2(texts, u2(b, parametersAt + 2));
                            texts.constant(b, offsets, u2(b, parametersAt));
                        }
                    }
                    at = endOfAttribute(b, at);
                }
            }
            return methods == 0 ? NONE : new ParameterNames(methods, texts.toByteArray());
        } catch (IndexOutOfBoundsException invalidFile) {
            return null;
        }
    }

    /** Null when a type in the signature of a method cannot be found. */
    private static ParameterNames reflect(Class<?> type) {
        try {
            Texts texts = new Texts();
            int methods = 0;
            for (Method method : type.getDeclaredMethods()) {
                methods += reflect(method, method.getName(), method.getReturnType(), texts);
            }
            for (Constructor<?> constructor : type.getDeclaredConstructors()) {
                methods += reflect(constructor, "<init>", void.class, texts);
            }
            return methods == 0 ? NONE : new ParameterNames(methods, texts.toByteArray());
        } catch (LinkageError | RuntimeException failure) {
            return null;
        }
    }

    /** Adds a method. Returns the number of added methods: 0 if its parameters have no names, else 1. */
    private static int reflect(Executable method, String name, Class<?> result, Texts texts) {
        Parameter[] parameters = method.getParameters();
        boolean named = false;
        for (Parameter parameter : parameters) {
            named |= parameter.isNamePresent();
        }
        if (!named) {
            return 0;
        }
        StringBuilder descriptor = new StringBuilder("(");
        for (Class<?> type : method.getParameterTypes()) {
            descriptor.append(descriptor(type));
        }
        texts.text(name);
        texts.text(descriptor.append(')').append(descriptor(result)).toString());
        texts.write(parameters.length);
        for (Parameter parameter : parameters) {
            write2(texts, parameter.getModifiers());
            texts.text(parameter.isNamePresent() ? parameter.getName() : "");
        }
        return 1;
    }

    /** The descriptor of a type (JVMS §4.3.2). Before JDK 12, Java gives it only in the name of an array class. */
    private static String descriptor(Class<?> type) {
        String array = java.lang.reflect.Array.newInstance(type == void.class ? Void.class : type, 0).getClass().getName();
        return type == void.class ? "V" : array.substring(1).replace('.', '/');
    }

    /** The class file with the attribute added to each method that lacks it; {@code shownFile} itself if none does. */
    byte[] addTo(byte[] shownFile) {
        if (methods == 0) {
            return shownFile;
        }
        try {
            ClassHeader header = ClassHeader.parse(shownFile);
            return header == null ? shownFile : new Insertion(shownFile, header.offsets, header.poolEnd).run();
        } catch (IndexOutOfBoundsException invalidFile) {
            return shownFile;
        }
    }

    /** Rewrites one class file. */
    private final class Insertion {
        private final byte[] b;
        private final int[] offsets;
        private final int poolEnd;
        private final ByteArrayOutputStream constants = new ByteArrayOutputStream();
        private int constantCount;
        private int attribute;

        /** The offset of the next text in {@link #content}. */
        private int at;

        Insertion(byte[] b, int[] offsets, int poolEnd) {
            this.b = b;
            this.offsets = offsets;
            this.poolEnd = poolEnd;
            this.constantCount = offsets.length;
        }

        byte[] run() {
            int[] starts = new int[methods];
            for (int i = 0; i < methods; i++) {
                starts[i] = at;
                at = endOfMethod(at);
            }
            attribute = indexOf(b, offsets, ATTRIBUTE, 0, 0, ATTRIBUTE.length);
            boolean[] used = new boolean[methods];
            ByteArrayOutputStream out = new ByteArrayOutputStream(b.length + content.length);
            int from = poolEnd;
            int to = methodsAt(b, poolEnd);
            int nextMethod = 0; // the order of methods differs, but most methods still follow the same method as before
            int remaining = u2(b, to);
            for (to += 2; remaining > 0; remaining--) {
                int head = to;
                boolean has = false;
                to += MEMBER_HEAD;
                for (int attributes = u2(b, head + 6); attributes > 0; attributes--) {
                    has |= attribute != 0 && u2(b, to) == attribute;
                    to = endOfAttribute(b, to);
                }
                int method = has ? -1 : find(head, starts, used, nextMethod);
                if (method >= 0) {
                    used[method] = true;
                    nextMethod = method + 1;
                    out.write(b, from, head + 6 - from);
                    write2(out, u2(b, head + 6) + 1);
                    out.write(b, head + MEMBER_HEAD, to - head - MEMBER_HEAD);
                    writeAttribute(out, starts[method]);
                    from = to;
                }
            }
            if (from == poolEnd || constantCount > MAX_CONSTANTS) {
                return b;
            }
            out.write(b, from, b.length - from);
            byte[] result = new byte[poolEnd + constants.size() + out.size()];
            System.arraycopy(b, 0, result, 0, poolEnd);
            result[8] = (byte) (constantCount >>> 8);
            result[9] = (byte) constantCount;
            System.arraycopy(constants.toByteArray(), 0, result, poolEnd, constants.size());
            System.arraycopy(out.toByteArray(), 0, result, poolEnd + constants.size(), out.size());
            return result;
        }

        /**
         * The number in {@link #content} of the method at {@code head} in the class file; −1 if the method has no
         * names.
         */
        private int find(int head, int[] starts, boolean[] used, int nextMethod) {
            for (int i = 0; i < starts.length; i++) {
                int method = (nextMethod + i) % starts.length;
                int name = starts[method];
                if (!used[method] && isText(u2(b, head + 2), name)
                        && isText(u2(b, head + 4), name + 4 + u2(content, name + 2))) {
                    return method;
                }
            }
            return -1;
        }

        private boolean isText(int index, int text) {
            return isUtf8(b, offsets[index], content, text + 4, u2(content, text + 2));
        }

        private void writeAttribute(ByteArrayOutputStream out, int method) {
            if (attribute == 0) {
                attribute = constant(ATTRIBUTE, 0, ATTRIBUTE.length);
            }
            at = endOfText(endOfText(method));
            int parameters = content[at++] & 0xFF;
            write2(out, attribute);
            write2(out, 0);
            write2(out, 1 + 4 * parameters);
            out.write(parameters);
            for (int i = 0; i < parameters; i++) {
                int flags = u2(content, at);
                int text = at + 2;
                int length = u2(content, text + 2);
                int index = length == 0 ? 0 : indexOf(b, offsets, content, u2(content, text), text + 4, length);
                write2(out, length == 0 || index != 0 ? index : constant(content, text + 4, length));
                write2(out, flags);
                at = endOfText(text);
            }
        }

        /** The index of a new Utf8. Duplicate texts get two entries. */
        private int constant(byte[] text, int from, int length) {
            constants.write(UTF8);
            write2(constants, length);
            constants.write(text, from, length);
            return constantCount++;
        }

        private int endOfText(int text) {
            return text + 4 + u2(content, text + 2);
        }

        private int endOfMethod(int method) {
            int parameters = endOfText(endOfText(method));
            int end = parameters + 1;
            for (int i = content[parameters] & 0xFF; i > 0; i--) {
                end = endOfText(end + 2);
            }
            return end;
        }
    }

    /** Texts in the stored form: u2 index in the class file, u2 length, modified UTF-8. */
    private static final class Texts extends ByteArrayOutputStream {
        /** Empty for the index 0: the parameter has no name. */
        void constant(byte[] b, int[] offsets, int index) {
            int length = index == 0 ? 0 : u2(b, offsets[index] + 1);
            write2(this, index);
            write2(this, length);
            write(b, offsets[index] + 3, length);
        }

        void text(String text) {
            byte[] utf8 = modifiedUtf8(text);
            write2(this, 0);
            write2(this, utf8.length);
            write(utf8, 0, utf8.length);
        }
    }

    /** The index of a Utf8 entry of the constant pool, 0 when there is none; {@code likely} is tried first. */
    private static int indexOf(byte[] b, int[] offsets, byte[] text, int likely, int from, int length) {
        if (likely > 0 && likely < offsets.length && isUtf8(b, offsets[likely], text, from, length)) {
            return likely;
        }
        for (int i = 1; i < offsets.length; i++) {
            if (isUtf8(b, offsets[i], text, from, length)) {
                return i;
            }
        }
        return 0;
    }

    private static boolean isUtf8(byte[] b, int at, byte[] text, int from, int length) {
        return at != 0 && b[at] == UTF8 && u2(b, at + 1) == length && ClassHeader.equal(b, at + 3, text, from, length);
    }

    /** The offset of the table of methods, which begins with their number. */
    private static int methodsAt(byte[] b, int poolEnd) {
        int at = ClassHeader.fieldsAt(b, poolEnd);
        int fields = u2(b, at);
        for (at += 2; fields > 0; fields--) {
            int attributes = u2(b, at + 6);
            for (at += MEMBER_HEAD; attributes > 0; attributes--) {
                at = endOfAttribute(b, at);
            }
        }
        return at;
    }

    private static byte[] modifiedUtf8(String text) {
        ByteArrayOutputStream out = new ByteArrayOutputStream(text.length());
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c != 0 && c < 0x80) {
                out.write(c);
            } else {
                if (c < 0x800) {
                    out.write(0xC0 | c >> 6);
                } else {
                    out.write(0xE0 | c >> 12);
                    out.write(0x80 | c >> 6 & 0x3F);
                }
                out.write(0x80 | c & 0x3F);
            }
        }
        return out.toByteArray();
    }

    private static void write2(ByteArrayOutputStream out, int value) {
        out.write(value >>> 8);
        out.write(value);
    }
}
