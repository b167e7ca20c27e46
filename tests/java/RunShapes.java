import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Calls every shape a known, mostly prime number of times and prints the results, then the number of calls of each. The
 * argument is the number of calls of Shapes.parallel by each of eight threads.
 */
public final class RunShapes {
    private RunShapes() {}

    private interface Body {
        Object run() throws Throwable;
    }

    /** The result or exception of a call, as text without addresses. */
    private static String outcome(Body body) {
        try {
            Object result = body.run();
            return result instanceof Object[] ? Arrays.deepToString((Object[]) result) : String.valueOf(result);
        } catch (Throwable t) {
            StringBuilder text = new StringBuilder(t.toString());
            for (Throwable suppressed : t.getSuppressed()) {
                text.append(" + ").append(suppressed);
            }
            for (StackTraceElement frame : t.getStackTrace()) {
                if (frame.getClassName().startsWith("Shapes")) {
                    text.append(" at ").append(frame.getMethodName()).append(':').append(frame.getLineNumber());
                }
            }
            return text.toString();
        }
    }

    private static void show(String what, Body body) {
        System.out.println(what + " = " + outcome(body));
    }

    public static void main(String[] arguments) throws Exception {
        new Shapes(0); // loads the class before the tracer attaches
        Gate.await();
        exits();
        loops();
        slots();
        constructors();
        exceptions();
        monitors();
        classes();
        threads(arguments.length > 0 ? Integer.parseInt(arguments[0]) : 10_007);
        Expected.print();
        System.out.println("done");
        System.out.flush();
        Gate.pass();
    }

    private static void exits() {
        for (int i = -2; i < 11; i++) {
            int x = i;
            show("manyReturns", () -> Shapes.manyReturns(x));
        }
        Expected.calls("Shapes", "manyReturns", 13);
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < 11; i++) {
            Shapes.returnsNothing(out);
        }
        show("returnsNothing", () -> out);
        Expected.calls("Shapes", "returnsNothing", 11);
        for (int i = 0; i < 7; i++) {
            int x = i;
            show("returnsBoolean", () -> Shapes.returnsBoolean(x));
            show("returnsByte", () -> Shapes.returnsByte(x));
            show("returnsShort", () -> Shapes.returnsShort(x));
            show("returnsChar", () -> Shapes.returnsChar(x));
            show("returnsFloat", () -> Shapes.returnsFloat(x));
            show("returnsDouble", () -> Shapes.returnsDouble(x));
            show("returnsLong", () -> Shapes.returnsLong(x));
            show("returnsNull", () -> Shapes.returnsNull(x));
            show("returnsArray", () -> Shapes.returnsArray(x));
            show("dense", () -> Shapes.dense(x)); // 0 to 3 return, 4 to 6 throw
        }
        for (String type : "Boolean Byte Short Char Float Double Long Null Array".split(" ")) {
            Expected.calls("Shapes", "returns" + type, 7);
        }
        Expected.calls("Shapes", "dense", 7, 3);
        for (int x : new int[] {-100000, 7, 1 << 20, 0, 8}) {
            show("sparse", () -> Shapes.sparse(x));
        }
        Expected.calls("Shapes", "sparse", 5);
        for (String name : new String[] {"Aa", "BB", "C"}) {
            show("byName", () -> Shapes.byName(name));
        }
        Expected.calls("Shapes", "byName", 3);
    }

    private static void loops() {
        for (int i = 0; i < 5; i++) {
            Shapes.loopToFirstInstruction(i * 3);
        }
        Expected.calls("Shapes", "loopToFirstInstruction", 5);
        show("factorial", () -> Shapes.factorial(17));
        Expected.calls("Shapes", "factorial", 17);
        show("even", () -> Shapes.even(19)); // even(19), even(17), … even(1) call odd(18), … odd(0)
        Expected.calls("Shapes", "even", 10);
        Expected.calls("Shapes", "odd", 10);
        for (int i = 0; i < 3; i++) {
            int x = 5 + i;
            show("labelled", () -> Shapes.labelled(x));
        }
        Expected.calls("Shapes", "labelled", 3);
    }

    private static void slots() {
        Shapes shapes = new Shapes(3);
        for (int i = 0; i < 5; i++) {
            int x = i;
            show("reusesSlots", () -> Shapes.reusesSlots(x));
            show("overwritesParameters", () -> Shapes.overwritesParameters(x, x, "cc", x));
            show("wideParameters", () -> Shapes.wideParameters(
                    x, x + 0.5, x, x / 4f, -x, (byte) x, (short) x, (char) x, x > 2, x > 3 ? "" : null));
            show("wideParametersOfInstance", () -> shapes.wideParametersOfInstance(x, x * 3L, x / 7.0, 1L << x));
            show("manyLocals", () -> Shapes.manyLocals(x * 100));
        }
        for (String name : new String[] {
            "reusesSlots", "overwritesParameters", "wideParameters", "wideParametersOfInstance", "manyLocals"
        }) {
            Expected.calls("Shapes", name, 5);
        }
        Expected.calls("Shapes", "<init>", 1);
    }

    private static void constructors() {
        for (int i = 0; i < 5; i++) {
            int x = i;
            show("Shapes", () -> new Shapes(x % 2 == 0, x).lambdas(x));
        }
        Expected.calls("Shapes", "<init>", 10); // each of the five constructors calls this(…)
        Expected.calls("Shapes", "lambdas", 5);
        Expected.calls("Shapes", "lambda$*", 15);

        for (int i = 0; i < 7; i++) {
            int x = i;
            show("Derived", () -> new Shapes.Derived(x).made);
        }
        Expected.calls("Shapes$Base", "<init>", 7);
        Expected.calls("Shapes$Derived", "<init>", 7);
        Expected.calls("Shapes$Derived", "hashOf", 7);

        show("Derived of text", () -> new Shapes.Derived("12").made);
        show("Derived of text", () -> new Shapes.Derived("twelve").made); // never entered: throws before super(…)
        Expected.calls("Shapes$Base", "<init>", 1);
        Expected.calls("Shapes$Derived", "<init>", 1);
        Expected.calls("Shapes$Derived", "hashOf", 1);

        for (int i = 0; i < 3; i++) {
            show("Derived of nothing", () -> new Shapes.Derived().made); // Derived is never entered: super(…) throws
        }
        Expected.calls("Shapes$Base", "<init>", 3, 3);

        for (int length : new int[] {0, 3, 8, 0, 9}) {
            show("Derived of numbers", () -> new Shapes.Derived(new int[length]).more);
        }
        Expected.calls("Shapes$Base", "<init>", 5);
        Expected.calls("Shapes$Derived", "<init>", 5, 2);
        Expected.calls("Shapes$Derived", "hashOf", 5);
    }

    private static void exceptions() {
        for (int i = 1; i <= 13; i++) {
            int x = i;
            show("wraps", () -> Shapes.wraps(x)); // `passes` throws for 3, 6, 9, 12; `wraps` throws for 6, 12
        }
        Expected.calls("Shapes", "wraps", 13, 2);
        Expected.calls("Shapes", "passes", 13, 4);
        Expected.calls("Shapes", "thrower", 13, 4);
        Expected.calls("Shapes$CheckedException", "<init>", 4);
        for (int i = 0; i < 5; i++) {
            int x = i;
            show("nestedFinally", () -> Shapes.nestedFinally(x));
            show("swallows", () -> Shapes.swallows(x - 1));
            show("divides", () -> Shapes.divides(x, x - 2));
            show("casts", () -> Shapes.casts(x == 3 ? (Object) x : "text"));
            show("indexes", () -> Shapes.indexes(x == 4 ? null : new int[2], x));
        }
        Expected.calls("Shapes", "nestedFinally", 5, 1);
        Expected.calls("Shapes", "swallows", 5);
        Expected.calls("Shapes", "divides", 5, 1);
        Expected.calls("Shapes", "casts", 5, 1);
        Expected.calls("Shapes", "indexes", 5, 3);
        for (int i = 0; i < 3; i++) {
            int x = i;
            show("withResources", () -> Shapes.withResources(x));
        }
        Expected.calls("Shapes", "withResources", 3, 2);
        Expected.calls("Shapes$Resource", "<init>", 6);
        Expected.calls("Shapes$Resource", "close", 6, 2);
    }

    private static void monitors() {
        Shapes shapes = new Shapes(5);
        Expected.calls("Shapes", "<init>", 1);
        for (int i = 0; i < 11; i++) {
            int x = i;
            show("synchronizedMethod", () -> shapes.synchronizedMethod(x)); // throws for 6 and 9: sum > 20
            show("synchronizedStatic", () -> Shapes.synchronizedStatic(x));
            show("synchronizedBlock", () -> shapes.synchronizedBlock(x % 3));
        }
        Expected.calls("Shapes", "synchronizedMethod", 11, 2); // synchronizedBlock changes the sum between these calls
        Expected.calls("Shapes", "synchronizedStatic", 11);
        Expected.calls("Shapes", "synchronizedBlock", 11, 4);
        show("lock is free", () -> Thread.holdsLock(shapes) || Thread.holdsLock(Shapes.class));
    }

    private static void classes() {
        for (Shapes.Operation operation : Shapes.Operation.values()) {
            show("Operation", () -> operation.sign + operation.applyAsInt(6, 7));
            Expected.calls(operation.getClass().getName(), "applyAsInt", 1);
            Expected.calls(operation.getClass().getName(), "<init>", 1);
        }
        show("Operation", () -> Shapes.Operation.valueOf("PLUS"));
        show("Operation", () -> Shapes.Operation.valueOf("MINUS"));
        Expected.calls("Shapes$Operation", "values", 2); // Enum.valueOf also calls values()
        Expected.calls("Shapes$Operation", "valueOf", 2, 1);
        Expected.calls("Shapes$Operation", "<clinit>", 1);
        Expected.calls("Shapes$Operation", "<init>", 3); // the constructor of PLUS calls this(…)

        show("Greeting", () -> new Shapes.Person().greet() + Shapes.Greeting.of("lambda").greet());
        Expected.calls("Shapes$Person", "<init>", 1);
        Expected.calls("Shapes$Person", "name", 1);
        Expected.calls("Shapes$Greeting", "greet", 2);
        Expected.calls("Shapes$Greeting", "polite", 2);
        Expected.calls("Shapes$Greeting", "of", 1);
        Expected.calls("Shapes$Greeting", "lambda$*", 1);

        Shapes.Inner inner = new Shapes(11).new Inner();
        Shapes.Inner.Innermost innermost = inner.new Innermost();
        for (int i = 0; i < 3; i++) {
            int x = i;
            show("Inner", () -> innermost.sum(x) + Shapes.local(x) + Shapes.anonymous(x).applyAsInt(5));
        }
        Expected.calls("Shapes", "<init>", 1);
        Expected.calls("Shapes$Inner", "<init>", 1);
        Expected.calls("Shapes$Inner", "sum", 3);
        Expected.calls("Shapes$Inner$Innermost", "<init>", 1);
        Expected.calls("Shapes$Inner$Innermost", "sum", 3);
        Expected.calls("Shapes", "local", 3);
        Expected.calls("Shapes$1Local", "<init>", 3);
        Expected.calls("Shapes$1Local", "twice", 3);
        Expected.calls("Shapes", "anonymous", 3);
        Expected.calls("Shapes$1", "<init>", 3);
        Expected.calls("Shapes$1", "applyAsInt", 3);

        List<Shapes.Weight> weights = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            weights.add(new Shapes.Weight(i * 7 % 5));
        }
        show("largest", () -> Shapes.largest(weights, Comparator.naturalOrder()).grams); // 4 calls of a bridge
        show("call", () -> ((Shapes.Weight) ((Callable<?>) weights.get(0)).call()).grams);
        Expected.calls("Shapes", "largest", 1);
        Expected.calls("Shapes$Weight", "<init>", 5);
        Expected.calls("Shapes$Weight", "compareTo", 4);
        Expected.calls("Shapes$Weight", "call", 1);

        show("variable", () -> Shapes.variable("a%s", 1, "b") + Shapes.variable("none"));
        show("variable", () -> Shapes.variable(1, 2, 3) + Shapes.variable());
        Expected.calls("Shapes", "variable", 4);

        show("Late", () -> Shapes.Late.SQUARES);
        Expected.calls("Shapes$Late", "<clinit>", 1);
        Expected.calls("Shapes$Late", "square", 5);
        show("Broken", Shapes.Broken::never);
        Expected.calls("Shapes$Broken", "<clinit>", 1, 1);
        Expected.calls("Shapes$Broken", "fail", 1, 1);
    }

    private static void threads(int each) throws InterruptedException {
        AtomicLong sum = new AtomicLong();
        AtomicLong thrown = new AtomicLong();
        Thread[] threads = new Thread[8];
        for (int t = 0; t < threads.length; t++) {
            int number = t;
            threads[t] = new Thread(() -> {
                for (int i = 0; i < each; i++) {
                    try {
                        sum.addAndGet(Shapes.parallel(i, number));
                    } catch (ArithmeticException e) {
                        thrown.incrementAndGet();
                    }
                }
            });
            threads[t].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("parallel = " + sum + " and " + thrown + " thrown");
        Expected.calls("Shapes", "parallel", 8L * each, thrown.get());
    }
}
