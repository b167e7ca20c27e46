/** Its verification loads another class, to find out whether that class is a {@link Base}. */
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
