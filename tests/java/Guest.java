/** A class for loaders that come and go; its objects are large enough to be missed. */
public class Guest implements Runnable {
    private final long[] luggage = new long[1000];
    private int runs;

    @Override
    public void run() {
        luggage[runs++ % luggage.length]++;
    }
}
