package btpy.agent;

/** A class file that the client was asked to weave, and on which a thread waits. */
final class Question {
    final int id;
    final ClassRecord record;
    final byte[] classFile;
    final byte[] hash;

    /** Null for a class that is being loaded. */
    private final Class<?> type;

    /** Whether another agent has changed the class since it was last shown. */
    private final boolean changed;
    private final Gate gate = new Gate();
    private boolean over;
    private boolean abandoned;
    private byte[] woven;

    Question(int id, ClassRecord record, Class<?> type, byte[] classFile, byte[] hash, boolean changed) {
        this.id = id;
        this.record = record;
        this.type = type;
        this.classFile = classFile;
        this.hash = hash;
        this.changed = changed;
    }

    /** Whether the class is being loaded, in which case it has no number yet. */
    boolean isLoading() {
        return type == null;
    }

    /** The message CLASS_BYTES. */
    Frame frame() {
        String superclass = "";
        String[] interfaces = {};
        if (type != null) {
            superclass = type.getSuperclass() == null ? "" : type.getSuperclass().getName();
            Class<?>[] types = type.getInterfaces();
            interfaces = new String[types.length];
            for (int i = 0; i < types.length; i++) {
                interfaces[i] = types[i].getName();
            }
        } else {
            ClassHeader header = ClassHeader.parse(classFile);
            if (header != null) {
                superclass = header.superclass;
                interfaces = header.interfaces;
            }
        }
        Frame frame = new Frame(Frame.CLASS_BYTES, classFile.length + 512).u4(id).u4(type == null ? 0 : record.id);
        frame.string(record.name).string(record.loaderName).string(superclass).u4(interfaces.length);
        for (String name : interfaces) {
            frame.string(name);
        }
        return frame.bytes(classFile).bool(changed);
    }

    /**
     * Waits until the question is answered or closed, at most {@code millis}. Returns false after a timeout; the thread
     * will not wait for the answer again.
     */
    boolean await(long millis) {
        if (gate.await(millis)) {
            return true;
        }
        synchronized (this) {
            abandoned = !over;
            return over;
        }
    }

    /**
     * Sets the answer. If {@code woven} is null, the class is not changed. Only the first answer counts. Returns false
     * if no thread waits any more.
     */
    synchronized boolean answer(byte[] woven) {
        if (!over) {
            this.woven = woven;
            over = true;
            gate.open();
        }
        return !abandoned;
    }

    /** The woven class file, or null if the class is not changed. */
    synchronized byte[] woven() {
        return woven;
    }
}
