import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Methods that each have one kind of place for probes. {@code main} calls each a prime number of times. */
public class Places {
    static long total;
    static int count;
    long big;
    String label;
    boolean flag;

    Places(String label) {
        this.label = label;
    }

    Places(int size) {
        this(size > 3 ? text(size) : "small");
        big = size;
    }

    static class Nested {
        final Object one;
        final Nested inner;

        Nested(Object one, Nested inner) {
            this.one = one;
            this.inner = inner;
        }
    }

    class Inner {
        int outer() {
            return label.length();
        }
    }

    static String text(int size) {
        return "size " + size;
    }

    static long wide(long first, int second, double third, String fourth, byte fifth) {
        return first + second + (long) third + fourth.length() + fifth;
    }

    /** A call with arguments of many sizes and a result of two slots. */
    static long callsWide(int n) {
        return wide(n, 2, 3.5, "four", (byte) 5);
    }

    int own(int n) {
        return n + 1;
    }

    static int callsOwn(Places target, int n) {
        return target.own(n) + target.own(n + 1);
    }

    static int fails(int n) {
        if (n % 3 == 0) {
            throw new IllegalStateException("three");
        }
        return n;
    }

    /** An exception leaves a call inside a try block. Its handler needs the values that variables have at the call. */
    static String callsFailing(int n) {
        String before = "n" + n;
        long wide = n * 10L;
        try {
            int got = fails(n);
            return before + got + wide;
        } catch (IllegalStateException caught) {
            return before + caught.getMessage() + wide;
        } finally {
            count++;
        }
    }

    static int makes(int n) {
        Nested nested = new Nested(new Nested(null, new Nested("a", null)), n > 2 ? new Nested(null, null) : null);
        return nested.inner == null ? 0 : 1;
    }

    static int arrays(int n) {
        int[] ints = new int[n];
        String[] strings = new String[n + 1];
        long[][][] deep = new long[n][2][];
        boolean[] flags = new boolean[3];
        byte[] bytes = {1, 2};
        flags[1] = n > 2;
        bytes[0] = (byte) n;
        strings[n] = "text";
        deep[n - 1][1] = new long[] {n};
        double[] doubles = new double[2];
        doubles[1] = n;
        char[] chars = new char[1];
        chars[0] = 'a';
        short[] shorts = new short[1];
        shorts[0] = 3;
        float[] floats = new float[1];
        floats[0] = 2.5f;
        return ints.length + strings[n].length() + (int) deep[n - 1][1][0] + (flags[1] ? 1 : 0) + bytes[0]
            + (int) doubles[1] + chars[0] + shorts[0] + (int) floats[0];
    }

    void fields(int n) {
        big = n;
        label = n % 2 == 0 ? "even" : null;
        flag = n > 3;
        total += big;
        count = n;
    }

    static long foreign(Places other, int n) {
        other.big += n;
        return other.big;
    }

    static int casts(Object value) {
        int found = 0;
        if (value instanceof String) {
            found += ((String) value).length();
        }
        try {
            found += ((Integer) value);
        } catch (ClassCastException wrong) {
            found += 100;
        }
        return found;
    }

    static int raises(int n) throws IOException {
        if (n == 5) {
            throw new IOException("five");
        }
        try {
            if (n > 7) {
                throw new IllegalArgumentException("big");
            }
            return n;
        } catch (IllegalArgumentException | IllegalStateException caught) {
            return caught.getMessage().length();
        } finally {
            total++;
        }
    }

    static int blocks(Object lock, int n) {
        synchronized (lock) {
            if (n == 4) {
                throw new IllegalStateException("locked");
            }
            synchronized (Places.class) {
                return n;
            }
        }
    }

    synchronized int synchronizedMethod(int n) {
        if (n == 6) {
            throw new IllegalStateException("six");
        }
        return n;
    }

    static synchronized int synchronizedStatic(int n) {
        return n;
    }

    static int lines(int n) {
        int sum = 0;
        for (int i = 0; i < n; i++) {
            long square = (long) i * i;
            sum += square;
        }
        String done = "sum";
        return sum + done.length();
    }

    static int reads(int[] nothing) {
        return nothing[0];
    }

    static void nulls(Places none, Places[] nones) {
        Runnable[] failing = {
            () -> none.own(1), () -> System.out.println(none.big), () -> reads(null),
            () -> nones[0].own(2), () -> { synchronized (none) { count++; } },
        };
        for (Runnable failure : failing) {
            try {
                failure.run();
            } catch (NullPointerException expected) {
                System.out.println(expected.getMessage());
            }
        }
        try {
            none.label = "x";
        } catch (NullPointerException expected) {
            System.out.println(none);
        }
    }

    public static void main(String[] args) throws Exception {
        List<Object> results = new ArrayList<>();
        Places places = new Places(2);
        for (int n = 1; n <= 13; n++) {
            results.add(callsWide(n));
            results.add(callsOwn(places, n));
            results.add(callsFailing(n));
            results.add(makes(n));
            results.add(arrays(n));
            places.fields(n);
            results.add(foreign(places, n));
            results.add(casts(n % 3 == 0 ? "text" : (Object) n));
            try {
                results.add(raises(n));
            } catch (IOException expected) {
                results.add(expected.getMessage());
            }
            try {
                results.add(blocks(places, n));
            } catch (IllegalStateException expected) {
                results.add(expected.getMessage());
            }
            try {
                results.add(places.synchronizedMethod(n));
            } catch (IllegalStateException expected) {
                results.add(expected.getMessage());
            }
            results.add(synchronizedStatic(n));
            results.add(lines(n));
            results.add(new Places(n).label);
            results.add(new Places("inner").new Inner().outer());
        }
        System.out.println(results + " " + total + " " + count);
        nulls(null, new Places[1]);
        Recorder.report(System.err);
    }
}
