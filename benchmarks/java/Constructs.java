import java.io.BufferedReader;
import java.io.InputStreamReader;

/**
 * One method of about two nanoseconds. One script after the other puts a probe with one construct into it.
 *
 * <p>Commands on stdin: {@code measure WARMUPS ROUNDS CALLS} prints {@code result ns ns …}, nanoseconds for a call, one
 * figure for each round; {@code end} ends.
 */
public final class Constructs {
    private static final long MIX = 0x9E3779B97F4A7C15L;
    private static final String[] KEYS = new String[16];
    private static final Item[] ITEMS = new Item[16];

    static {
        for (int i = 0; i < KEYS.length; i++) {
            KEYS[i] = "customer-" + (i * 7919);
            ITEMS[i] = new Item(KEYS[i], i);
        }
    }

    static final class Item {
        private final String name;
        private final int size;

        Item(String name, int size) {
            this.name = name;
            this.size = size;
        }
    }

    private Constructs() {}

    static long call(long x, int i, String key, Item item) {
        return (x * MIX ^ x >>> 29) * MIX + i + item.size;
    }

    private static long run(int calls) {
        long x = 1;
        for (int i = 0; i < calls; i++) {
            x = call(x, i, KEYS[i & 15], ITEMS[i & 15]);
        }
        return x;
    }

    private static long sink;

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        String line;
        while ((line = in.readLine()) != null && !line.equals("end")) {
            String[] words = line.split(" ");
            int warmups = Integer.parseInt(words[1]);
            int rounds = Integer.parseInt(words[2]);
            int calls = Integer.parseInt(words[3]);
            StringBuilder text = new StringBuilder("result");
            for (int round = -warmups; round < rounds; round++) {
                long start = System.nanoTime();
                sink += run(calls);
                long took = System.nanoTime() - start;
                if (round >= 0) {
                    text.append(' ').append((double) took / calls);
                }
            }
            System.out.println(text);
        }
        System.out.println("sink " + sink);
    }
}
