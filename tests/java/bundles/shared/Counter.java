package shared;

/** Exported by one bundle, imported by the other. */
public class Counter {
    private int value;

    public int next() {
        return ++value;
    }
}
