/** Every kind of place inside a method, each in a separate method that runs a known number of times. */
public final class Locations {
    private static long shared;

    private final Object monitor = new Object();
    private int count;
    private String label = "none";
    private int results;

    private Locations() {}

    public static void main(String[] arguments) {
        new Part(0).twice(1, "warm", 2L, 3.0); // loads all classes before the tracer attaches
        Gate.await();
        for (int round = 1; round <= 2; round++) {
            System.out.println("round " + round + " " + new Locations().run());
            System.out.flush();
            Gate.pass();
        }
    }

    /** Returns a number that depends on every value that the round computes. */
    private int run() {
        shared = 0;
        for (int n = 0; n < 13; n++) {
            calls(n);
        }
        for (int n = 0; n < 11; n++) {
            objects(n);
        }
        for (int n = 0; n < 7; n++) {
            arrays(n);
        }
        for (int n = 0; n < 17; n++) {
            fields(n);
        }
        Object[] values = {"text", 5, null, 2.5, "more"};
        for (Object value : values) {
            types(value);
        }
        for (int n = 0; n < 19; n++) {
            exceptions(n);
        }
        for (int n = 0; n < 23; n++) {
            monitors(n);
        }
        for (int n = 0; n < 5; n++) {
            synchronizedMethod(n);
        }
        for (int n = 0; n < 3; n++) {
            lines(n, "secret " + n);
        }
        return results;
    }

    private void add(int result) {
        results = results * 31 + result;
    }

    private void calls(int n) {
        Part part = new Part(n);
        add(part.twice(n, "l" + n, (1L << 40) + n, n / 2.0));
        add((int) Part.sum(n, 5));
        try {
            part.fail(n % 3 == 0 ? null : "why " + n);
        } catch (IllegalStateException e) {
            add(n);
        }
        n = -1; // probes see the parameter's value at entry
        part.rest(n);
    }

    private void objects(int n) {
        Part outer = new Part(new Part(n).id + 100);
        try {
            add(new Part(n % 2 == 0 ? -1 : n).id + outer.id);
        } catch (IllegalArgumentException e) {
            add(7);
        }
    }

    private void arrays(int n) {
        byte[] bytes = new byte[n];
        int[][] table = new int[n][3];
        long[][][] open = new long[2][n][];
        String[] words = {"a", "b"};
        boolean[] flags = new boolean[1];
        double[] ratios = {0.5};
        flags[0] = n > 3;
        words[n % 2] = "w" + n;
        ratios[0] += n;
        if (n > 0) {
            bytes[n - 1] = (byte) -n;
            table[n - 1][2] = n * 1000;
            add(bytes[n - 1] + table[n - 1][2]);
        }
        add(words[0].length() + open.length + (int) ratios[0] + (flags[0] ? 1 : 0));
    }

    private void fields(int n) {
        count = n * 2;
        label = n % 5 == 0 ? label : "label " + n;
        shared = shared + ((long) n << 33);
        add(count + label.length() + (int) (shared >> 33));
    }

    private void types(Object value) {
        if (value instanceof String) {
            add(((String) value).length());
        }
        if (value instanceof Number) {
            add(((Number) value).intValue());
        }
    }

    private void exceptions(int n) {
        int half = n / 2;
        try {
            half += n;
            if (n % 2 == 0) {
                throw new IllegalArgumentException("even " + n);
            }
            throw new IllegalStateException("odd " + n);
        } catch (IllegalArgumentException e) {
            add(e.getMessage().length());
        } catch (RuntimeException e) {
            add(n);
        }
    }

    private void monitors(int n) {
        synchronized (monitor) {
            add(n);
        }
    }

    private synchronized void synchronizedMethod(int n) {
        add(n * 3);
    }

    private void lines(int n, String apiToken) {
        int sum = n; // @first
        double ratio = 0.25 * n; // @second
        for (int i = 0; i <= n; i++) {
            sum += i; // @loop
        }
        String text = "t" + sum; // @text
        n = 99;
        add(sum + text.length() + apiToken.length()); // @last
    }

    static final class Part {
        final int id;

        Part(int id) {
            if (id < 0) {
                throw new IllegalArgumentException("id " + id);
            }
            this.id = id;
        }

        int twice(int number, String text, long wide, double ratio) {
            return number * 2 + text.length() + (int) wide + (int) ratio;
        }

        static long sum(long a, int b) {
            return a + b;
        }

        void fail(String why) {
            if (why != null) {
                throw new IllegalStateException(why);
            }
        }

        void rest(int n) {}
    }
}
