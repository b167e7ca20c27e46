/** Calls one method a thousand times a second, forever: a target to attach to. */
public final class FirstEvent {
    private FirstEvent() {}

    static int tick(int number) {
        return number + 1;
    }

    public static void main(String[] arguments) throws InterruptedException {
        System.out.println("ready");
        for (int number = 0; ; ) {
            number = tick(number);
            Thread.sleep(1);
        }
    }
}
