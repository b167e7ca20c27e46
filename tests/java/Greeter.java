/** The smallest target: greets once for each line of stdin after the first, and ends when stdin ends. */
public final class Greeter {
    private int greeted;

    String greet(String name) {
        greeted++;
        return "hello " + name;
    }

    public static void main(String[] arguments) {
        Greeter greeter = new Greeter();
        Gate.await();
        int times = Integer.parseInt(arguments.length > 0 ? arguments[0] : "3");
        for (int i = 0; i < times; i++) {
            System.out.println(greeter.greet("number " + i));
        }
        System.out.println("done " + greeter.greeted);
        System.out.flush();
        Gate.pass();
    }
}
