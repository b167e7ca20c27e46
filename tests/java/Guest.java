/** A class for short-lived loaders; its objects are so large that a leak of them shows in the heap. */
public class Guest implements Runnable {
    private final long[] luggage = new long[1000];
    private int runs;

    @Override
    public void run() {
        luggage[runs++ % luggage.length]++;
    }
}
