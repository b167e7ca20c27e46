/** Says when it is initialised, which loading, linking and weaving it do not. */
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
