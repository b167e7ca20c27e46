import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.IntBinaryOperator;
import java.util.function.IntSupplier;
import java.util.function.IntUnaryOperator;
import java.util.function.Supplier;

/**
 * Methods of every shape for which javac writes code. The result of each method shows whether the method still computes
 * the same value.
 */
@SuppressWarnings({"fallthrough", "serial", "try"})
class Shapes {
    static int manyReturns(int x) {
        if (x < 0) {
            return -1;
        }
        if (x == 0) {
            return 0;
        }
        for (int i = 2; i < x; i++) {
            if (x % i == 0) {
                return i;
            }
        }
        return x;
    }

    static void returnsNothing(StringBuilder out) {
        if (out.length() > 3) {
            out.setLength(0);
            return;
        }
        out.append('x');
    }

    static boolean returnsBoolean(int x) {
        return x % 2 == 0 ? x > 0 : x < 0;
    }

    static byte returnsByte(int x) {
        return (byte) (x * 37);
    }

    static short returnsShort(int x) {
        return (short) (x * 4099);
    }

    static char returnsChar(int x) {
        return (char) ('a' + x % 26);
    }

    static float returnsFloat(int x) {
        return x / 3f;
    }

    static double returnsDouble(int x) {
        return Math.sqrt(x);
    }

    static long returnsLong(int x) {
        return x == 0 ? Long.MIN_VALUE : 1L << x;
    }

    static String returnsNull(int x) {
        return x % 2 == 0 ? null : "odd";
    }

    static int[][] returnsArray(int x) {
        return new int[x][2];
    }

    /** A return in every arm, and a default that throws. */
    static int dense(int x) {
        switch (x) {
            case 0:
                return 10;
            case 1:
                return 11;
            case 2:
            case 3:
                return 12;
            default:
                throw new IllegalArgumentException("dense " + x);
        }
    }

    static long sparse(int x) {
        long result = 1;
        switch (x) {
            case -100000:
                result = 3;
                break;
            case 7:
                result = 5L;
                // falls through
            case 1 << 20:
                result *= 7;
                break;
            default:
                return -1;
        }
        return result;
    }

    static int byName(String name) {
        switch (name) {
            case "Aa":
                return 1;
            case "BB": // the same hash code as "Aa"
                return 2;
            default:
                return 0;
        }
    }

    /** The loop jumps back to the very first instruction of the method. */
    static void loopToFirstInstruction(int n) {
        do {
            n--;
        } while (n > 0);
    }

    static long factorial(int n) {
        return n <= 1 ? 1 : n * factorial(n - 1);
    }

    static boolean even(int n) {
        return n == 0 || odd(n - 1);
    }

    static boolean odd(int n) {
        return n != 0 && even(n - 1);
    }

    static int labelled(int n) {
        int steps = 0;
        outer:
        for (int i = 0; ; i++) {
            for (int j = 0; j < n; j++) {
                steps++;
                if (i * j > n) {
                    break outer;
                }
                if (j > i) {
                    continue outer;
                }
            }
        }
        return steps;
    }

    /** One slot holds an int, then half a long, then a reference, then a double. */
    static String reusesSlots(int x) {
        String result = "";
        {
            int i = x * 2;
            result += i;
        }
        {
            long l = x * 3L;
            result += l;
        }
        {
            List<String> list = new ArrayList<>();
            list.add("s");
            result += list;
        }
        for (double d = 0; d < 2; d++) {
            result += d;
        }
        return result;
    }

    /** Parameters are written to before the method ends. */
    static long overwritesParameters(int a, long b, String c, double d) {
        a += c.length();
        b = a * 2L;
        c = null;
        d = -b;
        return a + b + (long) d;
    }

    static double wideParameters(
            long a, double b, int c, float d, long e, byte f, short g, char h, boolean i, Object j) {
        return a + b * c - d + e * f + g + h + (i ? 1 : 0) + (j == null ? 0 : 0.5);
    }

    double wideParametersOfInstance(double a, long b, double c, long d) {
        return a - b + c * d + this.seed;
    }

    static int manyLocals(int x) {
        int a = x, b = a + 1, c = b + 1, d = c + 1, e = d + 1, f = e + 1, g = f + 1, h = g + 1;
        long i = h, j = i + a, k = j + b, l = k + c, m = l + d, n = m + e, o = n + f, p = o + g;
        double q = p, r = q + i, s = r + j, t = s + k;
        if (t > 1000) {
            return (int) (t - s);
        }
        return (int) (q + r + a + h);
    }

    private final int seed;

    Shapes(int seed) {
        this.seed = seed;
    }

    /** The argument of this(…) is a conditional: branches while {@code this} is not initialised. */
    Shapes(boolean large, int x) {
        this(large ? x * 1000 : x > 2 ? -x : x);
    }

    static class Base {
        final Object made;

        Base(Object made) {
            this.made = made;
            if (made == null) {
                throw new NullPointerException("nothing made");
            }
        }
    }

    static class Derived extends Base {
        private final String label = "label" + hashOf(3);
        int more;

        /** new inside the arguments of super(…), twice the same class. */
        Derived(int x) {
            super(x % 2 == 0 ? new StringBuilder(new StringBuilder("even")).append(x) : new ArrayList<>(x));
            more = x;
        }

        /** An exception leaves the constructor before super(…) is called, so it is never entered. */
        Derived(String number) {
            super(Integer.valueOf(number));
        }

        /** An exception leaves super(…) itself. */
        Derived() {
            super(null);
        }

        /** Catches in its own body and returns early. */
        Derived(int[] values) {
            super(values);
            try {
                more = values[7];
                return;
            } catch (ArrayIndexOutOfBoundsException e) {
                more = -1;
            } finally {
                more += 100;
            }
            if (values.length == 0) {
                throw new IllegalStateException("empty");
            }
        }

        private static int hashOf(int x) {
            return x * 31;
        }
    }

    static final class CheckedException extends Exception {
        CheckedException(String message) {
            super(message);
        }
    }

    static int thrower(int x) throws CheckedException {
        if (x % 3 == 0) {
            throw new CheckedException("third " + x);
        }
        return x;
    }

    /** The exception passes through unchanged. */
    static int passes(int x) throws CheckedException {
        return thrower(x) + 1;
    }

    static int wraps(int x) {
        try {
            return passes(x) + 1;
        } catch (CheckedException e) {
            if (x % 2 == 0) {
                throw new IllegalStateException(e);
            }
            return -x;
        }
    }

    static String nestedFinally(int x) {
        StringBuilder trace = new StringBuilder();
        try {
            try {
                trace.append('a');
                if (x == 1) {
                    return trace.append('r').toString();
                }
                if (x == 2) {
                    throw new IllegalArgumentException("inner");
                }
                trace.append('b');
            } finally {
                trace.append('f');
                try {
                    if (x == 3) {
                        throw new IllegalStateException("in finally");
                    }
                } catch (IllegalStateException e) {
                    trace.append('c');
                } finally {
                    trace.append('g');
                }
            }
        } catch (IllegalArgumentException e) {
            trace.append('h');
            if (x == 2) {
                throw new UnsupportedOperationException(trace.toString());
            }
        } finally {
            trace.append('z');
        }
        return trace.toString();
    }

    /** The return in finally replaces the exception, so no exception leaves. */
    @SuppressWarnings("finally")
    static int swallows(int x) {
        try {
            if (x > 1) {
                throw new IllegalStateException("lost");
            }
            return 1;
        } finally {
            if (x > 0) {
                return 2;
            }
        }
    }

    static int divides(int a, int b) {
        return a / b;
    }

    static Object casts(Object o) {
        return ((String) o).length();
    }

    static int indexes(int[] array, int i) {
        return array[i];
    }

    static final class Resource implements AutoCloseable {
        private final boolean failing;

        Resource(boolean failing) {
            this.failing = failing;
        }

        @Override
        public void close() {
            if (failing) {
                throw new IllegalStateException("close");
            }
        }
    }

    static int withResources(int x) {
        try (Resource a = new Resource(x == 1);
                Resource b = new Resource(x == 2)) {
            if (x >= 2) {
                throw new IllegalArgumentException("body");
            }
            return x;
        }
    }

    private int guarded;

    synchronized int synchronizedMethod(int x) {
        guarded += x;
        if (guarded > 20) {
            guarded = 0;
            throw new IllegalStateException("full");
        }
        return guarded;
    }

    static synchronized int synchronizedStatic(int x) {
        return x + 1;
    }

    int synchronizedBlock(int x) {
        synchronized (this) {
            if (x == 0) {
                return -1;
            }
            synchronized (Shapes.class) {
                if (x == 1) {
                    throw new IllegalStateException("inside two monitors");
                }
                guarded ^= x;
            }
        }
        return guarded;
    }

    enum Operation implements IntBinaryOperator {
        PLUS {
            @Override
            public int applyAsInt(int a, int b) {
                return a + b;
            }
        },
        TIMES("x") {
            @Override
            public int applyAsInt(int a, int b) {
                return a * b;
            }
        };

        final String sign;

        Operation() {
            this("+");
        }

        Operation(String sign) {
            this.sign = sign;
        }
    }

    interface Greeting {
        String name();

        default String greet() {
            return polite("hello ");
        }

        static Greeting of(String name) {
            return () -> name;
        }

        private String polite(String word) {
            return word + name();
        }
    }

    static final class Person implements Greeting {
        @Override
        public String name() {
            return "person";
        }
    }

    class Inner {
        int sum(int x) {
            return seed + x;
        }

        class Innermost {
            int sum(int x) {
                return Inner.this.sum(x) + seed;
            }
        }
    }

    static int local(int x) {
        class Local {
            int twice() {
                return x * 2;
            }
        }
        return new Local().twice();
    }

    static IntUnaryOperator anonymous(int by) {
        return new IntUnaryOperator() {
            @Override
            public int applyAsInt(int x) {
                return x + by;
            }
        };
    }

    int lambdas(int x) {
        IntSupplier capturing = () -> x + seed;
        Supplier<IntSupplier> nested = () -> () -> x * 2;
        return capturing.getAsInt() + nested.get().getAsInt();
    }

    static <T extends Comparable<? super T>> T largest(List<? extends T> list, Comparator<? super T> order) {
        T best = null;
        for (T item : list) {
            if (best == null || order.compare(best, item) < 0) {
                best = item;
            }
        }
        return best;
    }

    /** compareTo(Object) and call() as Object are bridges. */
    static final class Weight implements Comparable<Weight>, Callable<Weight> {
        final int grams;

        Weight(int grams) {
            this.grams = grams;
        }

        @Override
        public int compareTo(Weight other) {
            return Integer.compare(grams, other.grams);
        }

        @Override
        public Weight call() {
            return this;
        }
    }

    static int variable(String format, Object... arguments) {
        return format.length() + arguments.length;
    }

    static int variable(int... numbers) {
        int sum = 0;
        for (int number : numbers) {
            sum += number;
        }
        return sum;
    }

    /** Not loaded before its first use: its static initialiser runs under the tracer. */
    static final class Late {
        static final List<Integer> SQUARES = new ArrayList<>();

        static {
            for (int i = 0; i < 5; i++) {
                SQUARES.add(square(i));
            }
        }

        static int square(int x) {
            return x * x;
        }
    }

    /** Its static initialiser fails. */
    static final class Broken {
        static final int VALUE = fail();

        static int fail() {
            throw new IllegalStateException("no value");
        }

        static int never() {
            return VALUE;
        }
    }

    /** Called by eight threads at once. */
    static long parallel(long a, int b) {
        if ((a + b) % 5 == 0) {
            throw new ArithmeticException("five");
        }
        return a * b;
    }
}
