package acme;

import java.io.BufferedReader;
import java.io.InputStreamReader;

/** A till that carries out the lines of its standard input: {@code sell 7}, {@code refund 3}. */
public final class Till {
    /** The goods that a customer takes home. */
    static final class Receipt {
        private final String item;
        private final int cents;

        Receipt(String item, int cents) {
            this.item = item;
            this.cents = cents;
        }
    }

    private static final String[] ITEMS = {"apple", "pear", "plum"};

    private long taken;

    private Till() {}

    Receipt sell(String item, int count) {
        int cents = 13 * count;
        taken += cents;
        return new Receipt(item, cents);
    }

    long refund(String item) {
        if (taken < 1_000_000) {
            throw new IllegalStateException("no refund for \u001b[31m" + item);
        }
        return taken;
    }

    public static void main(String[] arguments) throws Exception {
        Till till = new Till();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            int times = Integer.parseInt(words[1]);
            for (int i = 0; i < times; i++) {
                String item = ITEMS[i % ITEMS.length];
                if (words[0].equals("sell")) {
                    till.sell(item, i);
                } else {
                    try {
                        till.refund(item);
                    } catch (IllegalStateException refused) {
                        till.taken += 0;
                    }
                }
            }
            System.out.println("done " + line);
            System.out.flush();
        }
    }
}
