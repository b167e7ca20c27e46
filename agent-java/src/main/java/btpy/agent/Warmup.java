package btpy.agent;

import btpy.runtime.Contexts;
import btpy.runtime.Guard;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;

/**
 * Executes all steps between the loading of a class and the client's answer once before the transformer is registered,
 * so that all classes that these steps need are loaded. Otherwise the class being loaded could be one that the
 * transformer itself needs. The result would be a ClassCircularityError in the application's thread, or a wait until
 * the deadline in an agent thread.
 */
final class Warmup {
    private static final String SUBJECT = "warmup.Nothing";

    /**
     * Classes that a handler may be the first to use. A static initialiser that begins at the very end of an
     * application's stack fails, and its class is then unusable for the life of the JVM. {@code Jvm} is not included,
     * because it loads the management classes.
     */
    private static final String[] HANDLER_CLASSES = {
        "AdaptiveSampler", "Aggregation", "Budget", "Calls", "Cells", "ClassNames", "Containers", "Contexts", "Costs", "Depths",
        "Drain", "Dynamic", "Elements", "Entry", "ErrorTable", "EventBuffer", "Exemplars", "ExponentialBuckets", "Fields", "Flow", "FlowRun", "FlowStack", "Flows", "Formats", "FrameFilter", "Frames", "Guard",
        "Headroom", "HyperLogLog", "Interruptions", "KeyTable", "KeyedHash", "Keys", "KnownField", "Layout", "Layouts",
        "MapShape", "Memory", "ObjectState", "ObjectStates", "Output", "OwnedByThread", "Owners", "Patterns", "Probe", "ProbeCounter", "ProbeError", "Rates", "Records", "Request", "Run", "SampledStack",
        "Sampler", "SecretNames", "Secrets", "SelfTimes", "Session", "SharedValues", "Shown", "Site", "Skips", "SpaceSaving", "Stack", "StackLookup",
        "StackTable", "Strings", "Stripes", "SumFastPath", "Texts", "ThreadNames", "ThreadRows", "ThreadTable", "ThreadValues",
        "Threads", "TypeAnswers", "Values", "Weights", "Windows",
    };

    /** Classes that a handler with calls may be the first to use. Most programs use none of them. */
    private static final String[] CALL_CLASSES = {"Calendars", "Decimals", "Servlets", "Substitutes"};

    /** Classes that a handler which asks for a context may be the first to use. */
    private static final String[] CONTEXT_CLASSES = {
        "BraveLibrary", "ContextWarnings", "DatadogLibrary", "LoggingLibrary", "OpenSpan", "OpenTelemetryLibrary", "Spans", "StaticField", "ThreadLocals",
        "TraceLibrary",
    };

    private static final byte[] CALLS = {'b', 't', 'p', 'y', '/', 'r', 'u', 'n', 't', 'i', 'm', 'e', '/', 'C', 'a', 'l', 'l', 's'};

    /**
     * Whether the warm-up has begun. Classes of the boot loader are never unloaded, so one warm-up is enough for the
     * life of the JVM.
     */
    private static boolean done;

    private Warmup() {
    }

    static synchronized void run(Instrumentation instrumentation) throws Exception {
        if (done) {
            return;
        }
        done = true;
        initialize(HANDLER_CLASSES);
        fillBoxCaches();
        byte[] classFile = subject();
        Inventory inventory = new Inventory();
        Questions questions = new Questions();
        Watch watch = new Watch(new ClassPattern[] {
            new ClassPattern(ClassPattern.GLOB, "**.?othings*"),
            new ClassPattern(ClassPattern.ANNOTATED, "**.Deprecated"), new ClassPattern(ClassPattern.SUBTYPE, SUBJECT),
        });
        Transformer transformer = new Transformer(inventory, questions, new PrewovenClasses(), null, new Outbox(null), null, new Sweeper(), 1, false);
        Resources.classFile(ClassLoader.getSystemClassLoader(), SUBJECT);
        Resources.classFile(ClassLoader.getSystemClassLoader(), "BtpyLauncher");
        transformer.watch(watch);
        transformer.load(null, SUBJECT, classFile);
        transformer.load(ClassLoader.getSystemClassLoader(), SUBJECT, classFile);
        inventory.link(ClassLoader.getSystemClassLoader(), classFile);
        inventory.linkAdded(ClassLoader.getSystemClassLoader(), classFile);
        inventory.find(Warmup.class);
        Inventory.isWoven(classFile);
        Sessions.areSeveral();
        watch.matchesLoaded(Warmup.class, SUBJECT, false);
        questions.open(); // otherwise no question would be asked, because the earlier questions got no answer
        Question question = questions.ask(new ClassRecord(SUBJECT, null, "boot"), null, classFile, Fingerprint.of(classFile), false);
        Frame frame = question.frame();
        frame.toChunks();
        new Payload(frame.copy(4, frame.size() - 4)).u4();
        question.answer(classFile);
        HandlerClasses.verify(SUBJECT, classFile);
        byte[] hash = Fingerprint.of(classFile);
        byte[] otherHash = Fingerprint.of(hash);
        Redefinitions.current(Warmup.class, classFile, hash, otherHash, false);
        // The class is unchanged, so nothing is kept.
        Redefinitions.current(Warmup.class, classFile, otherHash, hash, false);
        Transformer.late(SUBJECT, "boot", 0, "");
        Guard.leave(Guard.mark(-1)); // the first step of the transformer, here on a thread for which the transformer does nothing
        Contexts.wants(SUBJECT);
        ContextClasses.reportLoading(SUBJECT);
        Platform.readFromBase();
        instrumentation.addTransformer(transformer, true);
        instrumentation.removeTransformer(transformer);
        questions.close();
    }

    /** Loads the classes that a handler may be the first to use, before it is defined. */
    static void loadClassesOf(byte[] handler) throws ClassNotFoundException {
        ClassHeader header = ClassHeader.parse(handler);
        if (header != null && !header.mentionedClasses(CALLS).isEmpty()) {
            initialize(CALL_CLASSES);
        }
        if (ContextClasses.areUsedBy(header)) {
            initialize(CONTEXT_CLASSES);
        }
    }

    private static void initialize(String[] names) throws ClassNotFoundException {
        for (String name : names) {
            Class.forName("btpy.runtime." + name, true, null);
        }
    }

    /**
     * Fills the caches of boxes, because even a handler at the end of a stack may be the first in the JVM to box a
     * number.
     */
    private static void fillBoxCaches() {
        Byte.valueOf((byte) 0);
        Character.valueOf('0');
        Short.valueOf((short) 0);
        Integer.valueOf(0);
        Long.valueOf(0);
    }

    /** An interface without members (JVMS §4.1): version 49, four constants. */
    private static byte[] subject() {
        Frame frame = new Frame(0).u4(0xCAFEBABE).u4(49).u2(5);
        modifiedUtf8(frame, SUBJECT.replace('.', '/'));
        frame.u1(7).u2(1);
        modifiedUtf8(frame, "java/lang/Object");
        frame.u1(7).u2(3).u2(0x0600).u2(2).u2(4).u8(0);
        return frame.copy(5, frame.size() - 5);
    }

    private static void modifiedUtf8(Frame frame, String ascii) {
        frame.u1(1).u2(ascii.length());
        for (int i = 0; i < ascii.length(); i++) {
            frame.u1(ascii.charAt(i));
        }
    }
}
