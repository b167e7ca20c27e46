/** Prints a line when it is initialised. Loading, linking and weaving do not initialise it. */
public class Shy implements Runnable {
    static {
        System.out.println("initialised");
    }

    private int runs;

    @Override
    public void run() {
        runs += number();
    }

    private static int number() {
        return 7;
    }
}
