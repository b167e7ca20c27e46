import java.util.ArrayList;
import java.util.List;
import java.util.function.IntSupplier;
import java.util.function.Supplier;

/** Methods of every shape that compilers emit and that a weaver could handle wrongly. Each is called a prime number of times. */
public class Shapes {
    static final int[] PRIMES = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47};
    static long sum;

    static {
        sum = 1;
    }

    final String label;
    final int size;

    Shapes(String label, int size) {
        this.label = label;
        this.size = size;
    }

    Shapes(int size) {
        this(size > 3 ? "big" : "small", size);
        if (size == 4) {
            throw new IllegalArgumentException("four");
        }
    }

    Shapes(Object unused) {
        this(unused == null ? new String(new char[] {'n', 'u', 'l', 'l'}) : unused.toString(), new Shapes("inner", 1).size);
    }

    static class Failing extends Shapes {
        Failing(String text) {
            super(Integer.parseInt(text));
        }
    }

    interface Named {
        default String name() {
            return prefix() + suffix();
        }

        private String prefix() {
            return "named";
        }

        static String suffix() {
            return "!";
        }
    }

    static class Name implements Named, Comparable<Name> {
        @Override
        public int compareTo(Name other) {
            return 0;
        }
    }

    enum Size {
        SMALL {
            @Override
            int of(int by) {
                return by;
            }
        },
        LARGE {
            @Override
            int of(int by) {
                return by * 100;
            }
        };

        abstract int of(int by);
    }

    static void nothing() {}

    static int loopsToItsStart(int n) {
        do {
            n--;
        } while (n > 0);
        return n;
    }

    static int manyReturns(int n) {
        if (n < 2) {
            return 1;
        }
        if (n < 6) {
            return 2;
        }
        return n > 10 ? 3 : 4;
    }

    static String switches(int n) {
        switch (n) {
            case 0: return "zero";
            case 1: return "one";
            case 2: n = 7; break;
            default: n = 9;
        }
        switch (n * 1000) {
            case 7000: return "seven thousand";
            case 1: return "never";
            case 9000: n++; break;
            default: return "default";
        }
        switch ("s" + n) {
            case "s10": return "ten";
            default: return "other";
        }
    }

    static long wideArguments(long a, double b, int c, float d, boolean e, byte f, char g, short h, Object i) {
        long before = a;
        a = -1;
        b = -1;
        c = -1;
        d = -1;
        e = !e;
        f = -1;
        g = 'z';
        h = -1;
        i = null;
        return before + a + (long) b + c + (long) d + (e ? 1 : 0) + f + g + h + (i == null ? 0 : 1);
    }

    double instanceValue(double by) {
        return size * by;
    }

    float floatValue() {
        return size;
    }

    boolean booleanValue() {
        return size > 2;
    }

    static void thrower(int n) {
        if (n % 2 == 0) {
            throw new IllegalStateException("even");
        }
    }

    static int catcher(int n) {
        try {
            thrower(n);
            return 1;
        } catch (IllegalStateException expected) {
            return 2;
        } finally {
            sum++;
        }
    }

    static int finallyReturns(int n) {
        for (int i = 0; ; i++) {
            try {
                if (i == n) {
                    throw new RuntimeException();
                }
                if (i > n) {
                    return i;
                }
            } catch (RuntimeException expected) {
                continue;
            } finally {
                sum += 2;
            }
        }
    }

    static int divides(int a, int b) {
        return a / b;
    }

    synchronized int synchronizedMethod(int n) {
        if (n == 3) {
            throw new IllegalStateException("three");
        }
        return n;
    }

    int synchronizedBlock(int n) {
        synchronized (this) {
            synchronized (label) {
                if (n == 2) {
                    throw new IllegalStateException("two");
                }
                return n;
            }
        }
    }

    static int recursion(int n) {
        return n == 0 ? 0 : 1 + recursion(n - 1);
    }

    static int recursionThatFails(int n) {
        if (n == 0) {
            throw new IllegalStateException("bottom");
        }
        return recursionThatFails(n - 1);
    }

    static int uninitializedAcrossJumps(boolean flag) {
        return new Shapes(flag ? "yes" : new String(flag ? "never" : "no"), flag ? 1 : 2).label.length();
    }

    static int lambdas(int n) {
        IntSupplier add = () -> n + 1;
        Supplier<List<String>> lists = ArrayList::new;
        return add.getAsInt() + lists.get().size();
    }

    static <T extends Comparable<T>> T generic(List<? extends T> values) {
        T best = null;
        for (T value : values) {
            if (best == null || value.compareTo(best) > 0) {
                best = value;
            }
        }
        return best;
    }

    static int endless(int n) {
        while (true) {
            if (n++ > 5) {
                throw new IndexOutOfBoundsException("" + n);
            }
        }
    }

    static int reusedSlots(String text, int n) {
        {
            long a = n;
            sum += a;
        }
        {
            String b = text + n;
            sum += b.length();
        }
        for (int i = 0; i < n; i++) {
            double c = i;
            sum += (long) c;
        }
        return n;
    }

    static String attempt(Runnable task) {
        try {
            task.run();
            return "ok";
        } catch (RuntimeException error) {
            return error.getClass().getSimpleName() + " " + error.getMessage();
        }
    }

    public static void main(String[] args) {
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < 13; i++) {
            int n = i;
            nothing();
            out.append(loopsToItsStart(n)).append(' ').append(manyReturns(n)).append(' ').append(switches(n)).append(' ');
            out.append(wideArguments(n, n, n, n, n > 4, (byte) n, (char) n, (short) n, "x".repeat(n))).append(' ');
            Shapes shape = new Shapes("shape", n);
            out.append(shape.instanceValue(0.5)).append(shape.floatValue()).append(shape.booleanValue()).append(' ');
            out.append(catcher(n)).append(' ').append(finallyReturns(n)).append(' ');
            out.append(attempt(() -> divides(n, n % 4))).append(' ');
            out.append(attempt(() -> shape.synchronizedMethod(n))).append(' ');
            out.append(attempt(() -> shape.synchronizedBlock(n))).append(' ');
            out.append(recursion(n)).append(attempt(() -> recursionThatFails(n))).append(' ');
            out.append(uninitializedAcrossJumps(n > 3)).append(' ').append(lambdas(n)).append(' ');
            out.append(generic(List.of("a", "b" + n))).append(' ').append(attempt(() -> endless(n))).append(' ');
            out.append(reusedSlots("text", n)).append(' ').append(attempt(() -> new Shapes(n))).append(' ');
            out.append(attempt(() -> new Failing(n > 6 ? "x" : "" + n))).append(' ');
            out.append(new Shapes(n > 4 ? null : (Object) "object").label).append(' ');
            out.append(new Name().name()).append(Size.valueOf(n > 3 ? "SMALL" : "LARGE").of(n)).append('\n');
        }
        System.out.print(out);
        System.out.println(sum);
        Recorder.report(System.err);
    }
}
