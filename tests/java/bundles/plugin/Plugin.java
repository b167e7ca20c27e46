package plugin;

import shared.Counter;

/** The class of the bundle that imports {@link Counter}. */
public class Plugin implements Runnable {
    private final Counter counter = new Counter();

    @Override
    public void run() {
        int value = counter.next();
        if (value < 0) {
            throw new IllegalStateException("counted below zero");
        }
    }

    @Override
    public String toString() {
        return "ran " + (counter.next() - 1);
    }
}
