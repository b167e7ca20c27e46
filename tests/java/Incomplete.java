/** Cannot be linked without {@code Optional$Shape}, like library classes that need another library that is missing. */
class Incomplete {
    static Optional make(boolean shaped) {
        return shaped ? new Optional.Shape() : new Optional();
    }

    static int work(int n) {
        return n + 1;
    }
}

class Optional {
    static class Shape extends Optional {}

    public static void main(String[] arguments) throws Exception {
        try {
            Incomplete.work(1);
            System.out.println("linked after all");
        } catch (NoClassDefFoundError expected) {
            System.out.println("ready");
        }
        System.in.read();
    }
}
