/** Its verification loads another class: whether that one is a {@link Base} is only seen by loading it. */
public class Verified implements Runnable {
    private int sum;

    @Override
    public void run() {
        sum += taken(new Derived());
    }

    private static int taken(Base one) {
        return one.value();
    }

    static class Base {
        int value() {
            return 1;
        }
    }

    static final class Derived extends Base {
        @Override
        int value() {
            return 2;
        }
    }
}
